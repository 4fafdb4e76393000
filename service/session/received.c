/* See received.h. */
#include "service/session/received.h"

#include "service/base/npy.h"
#include "service/model/federation_spec.h"

#include <stdlib.h>
#include <string.h>

struct vectors {
    double *numbers; /* [rows][columns]; NULL: there is no such broadcast */
    size_t  rows, columns;
};

/* As it came with the study from elsewhere, or of the federation here. */
static enum status read_vectors(struct db_conn *conn, const struct live *live, int64_t round, struct arena *arena,
                                struct vectors *out, struct error *err)
{
    struct db_rows rows =
        db_query(conn, NULL, err, SQL_RECEIVED_ROUND, BIND(TEXT(live->study), TEXT(live->spec.federation), INT(round)));
    struct npy npy;
    *out = (struct vectors){.numbers = NULL};
    if (db_next(&rows)) {
        struct db_blob file = row_blob(&rows)->data;
        rows.status = npy_header(file.bytes, file.length, &npy, err);
        if (rows.status == STATUS_OK) {
            size_t count = npy.rows * npy.columns;
            *out =
                (struct vectors){.numbers = ARENA_NEW(arena, double, count), .rows = npy.rows, .columns = npy.columns};
            if (out->numbers == NULL)
                rows.status = error_no_memory(err);
            else
                memcpy(out->numbers, (const char *)file.bytes + npy.data_offset, count * sizeof(double));
        }
    }
    return db_done(&rows);
}

/* Whether the vector comes from another seat, is not zero, and has changed. */
static bool is_news(const struct live *live, const struct vectors *now, const struct vectors *before, size_t row)
{
    const double *vector = now->numbers + row * now->columns;
    bool          is_zero = true;
    for (size_t i = 0; i < now->columns; i++)
        is_zero = is_zero && vector[i] == 0.0;
    bool is_known = before->numbers != NULL &&
                    memcmp(before->numbers + row * now->columns, vector, now->columns * sizeof *vector) == 0;
    return (int64_t)row + 1 != live->spec.seat && !is_zero && !is_known;
}

static enum status tell_vectors(struct live *live, int64_t round, const struct vectors *now,
                                const struct vectors *before, struct error *err)
{
    bool         is_private = federation_aggregates(live->spec.policy);
    struct event event = {.kind = EVENT_RECEIVED, .round = (uint64_t)round};
    if (is_private) {
        event.vectors = now->numbers;
        event.vectors_len = now->rows * now->columns;
        return streams_tell(&live->streams, &live->curves, &event, err);
    }
    for (size_t row = 0; row < now->rows; row++) {
        if (!is_news(live, now, before, row))
            continue;
        event.sender = row + 1;
        event.vectors = now->numbers + row * now->columns;
        event.vectors_len = now->columns;
        TRY(streams_tell(&live->streams, &live->curves, &event, err));
    }
    return STATUS_OK;
}

enum status received_tell(struct db_conn *conn, struct live *live, const char *detail, struct error *err)
{
    struct arena   arena;
    struct vectors now, before;
    const char    *space = detail == NULL ? NULL : strchr(detail, ' ');
    int64_t        round = space == NULL ? 0 : strtoll(space + 1, NULL, 10);
    if (live->spec.federation == NULL || round <= 0)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "a line of the log names no broadcast");
    arena_init(&arena, live->arena.limit_bytes);
    enum status status = read_vectors(conn, live, round, &arena, &now, err);
    if (status == STATUS_OK)
        status = read_vectors(conn, live, live->round, &arena, &before, err);
    if (status == STATUS_OK && now.numbers == NULL)
        status = error_set(err, STATUS_INTERNAL, "store_corrupt", "", "a broadcast of the log is not there");
    if (status == STATUS_OK)
        status = tell_vectors(live, round, &now, &before, err);
    arena_fini(&arena);
    live->round = round;
    live->sent = live->sent > round ? live->sent : round;
    return status;
}
