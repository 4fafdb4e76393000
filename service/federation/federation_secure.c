/* See federation_secure.h. */
#include "service/federation/federation_secure.h"

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
    double              *keys = NULL, *digests = NULL, *vectors = NULL;
    struct secure_opened opened = {.openings = openings};
    TRY(numbers_of(conn, secure, SECURE_KEYS, arena, &keys, err));
    TRY(numbers_of(conn, secure, SECURE_SHARES, arena, &digests, err));
    TRY(numbers_of(conn, secure, SECURE_VECTORS, arena, &vectors, err));
    opened.digests = digests;
    opened.vectors = vectors;
    TRY(secure_learn(secure, keys, arena, err));
    return secure_sum(secure, &opened, out, arena, err);
}

void federation_secure_deal(const struct secure *secure, size_t seat, const double *message, double *digests,
                            double *shares)
{
    size_t row = SECURE_SHARE_LEN * secure->seats;
    memcpy(digests + seat * SECURE_WORDS, message, SECURE_WORDS * sizeof *message);
    for (size_t to = 0; to < secure->seats; to++)
        memcpy(shares + to * row + seat * SECURE_SHARE_LEN, message + SECURE_WORDS + to * SECURE_SHARE_LEN,
               SECURE_SHARE_LEN * sizeof *message);
}

enum status federation_secure_hand_out(struct db_conn *conn, const struct secure *secure, const double *shares,
                                       int64_t now_ms, struct error *err)
{
    size_t row = SECURE_SHARE_LEN * secure->seats;
    for (size_t to = 0; to < secure->seats; to++)
        if (secure_has(shares + to * row, row))
            TRY(db_exec(conn, NULL, err, SQL_FEDERATION_MESSAGE_ADD,
                        BIND(TEXT(secure->federation), INT(SECURE_SHARES), INT((int64_t)to + 1),
                             BLOB(shares + to * row, row * sizeof *shares), INT(now_ms))));
    return STATUS_OK;
}

enum status federation_secure_column(struct db_conn *conn, const struct federation *federation, int64_t seat,
                                     struct federation_file *file, struct arena *arena, struct error *err)
{
    const struct secure secure = federation_secure(&federation->spec, federation->id);
    size_t              share = SECURE_SHARE_LEN * sizeof(double), digest = SECURE_WORDS * sizeof(double);
    unsigned char      *made = arena_alloc(arena, NPY_HEADER_MAX + secure.seats * (digest + share), 1);
    struct npy          npy;
    struct db_rows      rows;
    if (made == NULL)
        return error_no_memory(err);
    TRY(npy_header(file->bytes, file->length, &npy, err));
    TRY(db_find(conn, arena, &rows, err, SQL_FEDERATION_MESSAGE_GET,
                BIND(TEXT(federation->id), INT(SECURE_SHARES), INT(seat))));
    const struct row_blob *row = row_blob(&rows);
    if (row == NULL || row->data.length != secure.seats * share)
        return STATUS_OK;
    const unsigned char *digests = (const unsigned char *)file->bytes + npy.data_offset, *shares = row->data.bytes;
    size_t               used = npy_write_header(secure.seats, SECURE_COLUMN_LEN, NPY_F8, made);
    for (size_t i = 0; i < secure.seats; i++) {
        memcpy(made + used, digests + i * digest, digest);
        memcpy(made + used + digest, shares + i * share, share);
        used += digest + share;
    }
    *file = (struct federation_file){.bytes = made, .length = used};
    return STATUS_OK;
}
