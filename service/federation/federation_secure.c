/* See federation_secure.h. */
#include "service/federation/federation_secure.h"

#include "service/base/digest.h"
#include "service/base/npy.h"

#include <string.h>

enum { NPY_HEADER_MAX = 128 };

enum status federation_secure_expect(struct db_conn *conn, struct federation *federation, struct error *err)
{
    int64_t           messages[SECURE_ROUNDS + 1] = {federation->spec.seats}; /* of each closed round, from 1 */
    int64_t           round = federation->round;
    struct masked_sum plan;
    struct db_rows    rows =
        db_query(conn, NULL, err, SQL_FEDERATION_ROUNDS, BIND(TEXT(federation->id), INT(0), INT(SECURE_ROUNDS)));
    while (db_next(&rows))
        messages[row_round(&rows)->round] = row_round(&rows)->messages;
    TRY(db_done(&rows));
    if (round > SECURE_ROUNDS)
        return STATUS_OK;
    federation->expected = messages[round - 1];
    if (round == SECURE_KEYS) {
        federation->needed =
            federation->spec.minimum > MASKED_MEMBERS_MIN ? federation->spec.minimum : MASKED_MEMBERS_MIN;
        return STATUS_OK;
    }
    TRY(masked_plan((size_t)messages[SECURE_KEYS], federation->spec.broadcast.z, &plan, err));
    federation->needed = (int64_t)(round == SECURE_OPENINGS ? plan.openings : plan.listed);
    return STATUS_OK;
}

/* A broadcast as numbers. */
static enum status numbers_of(struct db_conn *conn, const struct secure *secure, enum secure_round round,
                              struct arena *arena, double **out, struct error *err)
{
    struct db_rows rows;
    size_t         height, width;
    struct npy     npy;
    secure_shape(secure, round, &height, &width);
    *out = ARENA_NEW(arena, double, height *width);
    if (*out == NULL)
        return error_no_memory(err);
    TRY(db_find(conn, arena, &rows, err, SQL_FEDERATION_BROADCAST_GET, BIND(TEXT(secure->federation), INT(round))));
    const struct row_blob *row = row_blob(&rows);
    if (row == NULL || npy_header(row->data.bytes, row->data.length, &npy, NULL) != STATUS_OK || npy.rows != height ||
        npy.columns != width || row->data.length != npy.data_offset + height * width * sizeof **out)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "a broadcast has another shape");
    memcpy(*out, (const unsigned char *)row->data.bytes + npy.data_offset, height * width * sizeof **out);
    return STATUS_OK;
}

static enum status was_there(struct db_conn *conn, const struct federation *federation,
                             const struct federation_message *message, bool *is_there, struct arena *arena,
                             struct error *err)
{
    const struct secure secure = federation_secure(&federation->spec, federation->id);
    enum secure_round   before = (enum secure_round)(message->round - 1);
    size_t              seat = (size_t)message->seat - 1, rows, columns;
    double             *numbers = NULL;
    *is_there = message->seat <= federation->spec.seats;
    if (before < SECURE_KEYS || !*is_there)
        return STATUS_OK;
    TRY(numbers_of(conn, &secure, before, arena, &numbers, err));
    secure_shape(&secure, before, &rows, &columns);
    *is_there = rows == 1 ? numbers[seat] == 1 : secure_has(numbers + seat * columns, columns);
    return STATUS_OK;
}

enum status federation_secure_check(struct db_conn *conn, const struct federation *federation,
                                    const struct federation_message *message, struct arena *arena, struct error *err)
{
    struct arena_mark mark = arena_mark(arena);
    bool              is_there;
    TRY(was_there(conn, federation, message, &is_there, arena, err));
    arena_release(arena, mark);
    if (!is_there)
        return error_set(err, STATUS_CONFLICT, "round_closed", "",
                         "the others go on without this member, which was not there in the round before");
    return message->round == SECURE_KEYS ? secure_check_keys(message->vector, err) : STATUS_OK;
}

enum status federation_secure_sum(struct db_conn *conn, struct secure *secure, const double *openings, double *out,
                                  struct arena *arena, struct error *err)
{
    double              *keys = NULL, *shares = NULL, *vectors = NULL;
    struct secure_opened opened = {.openings = openings};
    TRY(numbers_of(conn, secure, SECURE_KEYS, arena, &keys, err));
    TRY(numbers_of(conn, secure, SECURE_SHARES, arena, &shares, err));
    TRY(numbers_of(conn, secure, SECURE_VECTORS, arena, &vectors, err));
    opened.shares = shares;
    opened.vectors = vectors;
    TRY(secure_learn(secure, keys, arena, err));
    return secure_sum(secure, &opened, out, arena, err);
}

enum status federation_secure_column(const struct federation *federation, int64_t seat, struct federation_file *file,
                                     struct arena *arena, struct error *err)
{
    const struct secure secure = federation_secure(&federation->spec, federation->id);
    size_t              len = secure_message_len(&secure, SECURE_SHARES), share = 2 * SECURE_WORDS;
    bool                is_seat = seat >= 1 && seat <= federation->spec.seats;
    size_t              columns = is_seat ? SECURE_COLUMN_LEN : SECURE_WORDS;
    unsigned char      *made = arena_alloc(arena, NPY_HEADER_MAX + secure.seats * columns * sizeof(double), 1);
    struct npy          npy;
    if (made == NULL)
        return error_no_memory(err);
    TRY(npy_header(file->bytes, file->length, &npy, err));
    const unsigned char *from = (const unsigned char *)file->bytes + npy.data_offset;
    size_t               used = npy_write_header(secure.seats, columns, NPY_F8, made);
    for (size_t i = 0; i < secure.seats; i++, from += len * sizeof(double)) {
        memcpy(made + used, from, SECURE_WORDS * sizeof(double));
        used += SECURE_WORDS * sizeof(double);
        if (!is_seat)
            continue;
        memcpy(made + used, from + (SECURE_WORDS + share * (size_t)(seat - 1)) * sizeof(double),
               share * sizeof(double));
        used += share * sizeof(double);
    }
    *file = (struct federation_file){.bytes = made, .length = used};
    sha256_hex(made, used, file->sha256);
    return STATUS_OK;
}
