/* A study's matrix: declared, received in order and in pieces, checked as a whole, then never changed.
 * The digest is computed from what the store holds, not from what went by, so that it vouches for what is served. */
#include "service/candidates.h"

#include "service/digest.h"
#include "service/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEADER_MAX = 4096 };

struct upload {
    struct app               *app;
    struct caller            *caller;
    const char               *id;
    const struct manifest    *manifest; /* declare */
    int64_t                   offset, total_bytes; /* append */
    const void               *bytes;
    size_t                    length;
    struct study              study;
    char                      sha256[SHA256_HEX_BYTES];
    struct candidates_status *out;
    int64_t                   now_ms;
};

static enum status check_study(const struct caller *caller, const struct study *study, struct error *err)
{
    TRY(study_visible(caller, study->id, err));
    if (study->spec.space.kind != SPACE_CANDIDATES)
        return error_set(err, STATUS_CONFLICT, "not_candidates", "", "the study's space is not a set of candidates");
    return STATUS_OK;
}

/* What the store has of the matrix; manifest NULL when nothing was declared. */
static enum status load_status(struct db_conn *conn, struct upload *up, struct error *err)
{
    struct db_rows rows;
    bool more;
    *up->out = (struct candidates_status){0};
    TRY(db_query(conn, &rows, err, SQL_CANDIDATES_GET, up->id));
    enum status status = db_next(&rows, &more, err);
    if (status == STATUS_OK && more) {
        *up->out = (struct candidates_status){db_text_copy(&rows, 0, up->caller->arena), db_int(&rows, 2),
                                              db_int(&rows, 3), db_int(&rows, 4) != 0};
        snprintf(up->sha256, sizeof up->sha256, "%s", db_text(&rows, 1)); // "" for a file that declares itself
        if (up->out->manifest == NULL)
            status = app_no_memory(err);
    }
    db_done(&rows);
    return status;
}

static enum status begin(struct db_conn *conn, struct upload *up, struct error *err)
{
    TRY(rows_study_get(conn, up->id, true, up->caller->arena, &up->study, err));
    TRY(check_study(up->caller, &up->study, err));
    return load_status(conn, up, err);
}

static enum status log_kind(struct db_conn *conn, struct upload *up, const char *kind, const char *detail,
                            struct error *err)
{
    struct change change = {kind, up->caller->token_id, detail, 0, up->now_ms};
    TRY(rows_log(conn, &up->study, &change, err));
    return rows_study_save(conn, &up->study, up->now_ms, err);
}

/* ---- the manifest ---- */

static enum status add_manifest(struct db_conn *conn, struct upload *up, const struct manifest *manifest,
                                struct error *err)
{
    const struct space *space = &up->study.spec.space;
    if ((size_t)manifest->rows != space->rows_len || (size_t)manifest->columns != space->columns)
        return error_set(err, STATUS_INVALID, "wrong_shape", "/rows", "the study was created for %zu rows and %zu columns",
                         space->rows_len, space->columns);
    int64_t least = manifest->rows * manifest->columns * (manifest->is_f4 ? 4 : 8);
    if (manifest->bytes <= least || manifest->bytes > least + HEADER_MAX)
        return error_set(err, STATUS_INVALID, "wrong_shape", "/bytes", "a file of this shape has %lld bytes and a header",
                         (long long)least);
    if (up->study.state != STUDY_AWAITING_CANDIDATES)
        return error_set(err, STATUS_CONFLICT, "wrong_state", "", "the study is %s", study_state_names[up->study.state]);
    TRY(db_exec(conn, NULL, err, SQL_CANDIDATES_ADD, up->id, manifest->text, manifest->sha256, manifest->bytes));
    *up->out = (struct candidates_status){manifest->text, manifest->bytes, 0, false};
    memcpy(up->sha256, manifest->sha256, SHA256_HEX_BYTES);
    return log_kind(conn, up, "candidates.declared", manifest->sha256, err);
}

static enum status forget_pieces(struct db_conn *conn, struct upload *up, struct error *err)
{
    TRY(db_exec(conn, NULL, err, SQL_CANDIDATES_DROP, up->id));
    TRY(db_exec(conn, NULL, err, SQL_CANDIDATES_FORGET, up->id)); // what only its own header declared
    return db_exec(conn, NULL, err, SQL_CANDIDATES_RECEIVED, up->id, (int64_t)0, (int64_t)0);
}

static enum status declare(struct db_conn *conn, void *arg, struct error *err)
{
    struct upload *up = arg;
    TRY(begin(conn, up, err));
    if (up->sha256[0] == '\0' && !up->out->complete) { // nothing, or half of a file that came without a manifest
        TRY(forget_pieces(conn, up, err));
        return add_manifest(conn, up, up->manifest, err);
    }
    if (strcmp(up->out->manifest, up->manifest->text) != 0)
        return error_set(err, STATUS_CONFLICT, "manifest_conflict", "", "the study has another manifest already");
    return STATUS_OK;
}

enum status candidates_declare(struct app *app, struct caller *caller, const char *study,
                               const struct manifest *manifest, struct candidates_status *out, struct error *err)
{
    struct upload up = {.app = app, .caller = caller, .id = study, .manifest = manifest, .out = out, .now_ms = app->now_ms()};
    TRY(app_transact(app, caller, declare, &up, err));
    study_cache_forget(app, study);
    return STATUS_OK;
}

static enum status read_status(struct db_conn *conn, void *arg, struct error *err)
{
    return begin(conn, arg, err);
}

enum status candidates_status(struct app *app, struct caller *caller, const char *study, struct candidates_status *out,
                              struct error *err)
{
    struct upload up = {.app = app, .caller = caller, .id = study, .out = out};
    return db_read(app->db, read_status, &up, err);
}

/* ---- reading what was received ---- */

/* A cursor over the file as the pieces hold it, number by number. */
struct reader {
    struct npy           npy;
    struct sha256_state *digest;    /* NULL: not wanted */
    double              *out;       /* NULL: only checked */
    size_t               want, got; /* numbers */
    unsigned char        carry[8];  /* a number cut by the end of a piece */
    size_t               carry_len;
    unsigned char        head[HEADER_MAX]; /* the file's first bytes, until the header is read */
    size_t               head_len;
    bool                 has_header, is_finite;
};

static double number_at(const unsigned char *bytes, bool is_f4)
{
    if (!is_f4) {
        double value;
        memcpy(&value, bytes, sizeof value);
        return value;
    }
    float value;
    memcpy(&value, bytes, sizeof value);
    return (double)value;
}

static void take_number(struct reader *reader, const unsigned char *bytes)
{
    double value = number_at(bytes, reader->npy.is_f4);
    reader->is_finite = reader->is_finite && isfinite(value);
    if (reader->out != NULL && reader->got < reader->want)
        reader->out[reader->got] = value;
    reader->got++;
}

static void take_bytes(struct reader *reader, const unsigned char *bytes, size_t length)
{
    size_t width = reader->npy.is_f4 ? 4 : 8;
    while (length > 0) {
        if (reader->carry_len == 0 && length >= width) {
            take_number(reader, bytes);
            bytes += width;
            length -= width;
            continue;
        }
        reader->carry[reader->carry_len++] = *bytes++;
        length--;
        if (reader->carry_len == width) {
            take_number(reader, reader->carry);
            reader->carry_len = 0;
        }
    }
}

/* The header may lie across pieces: it is read when enough of the file is there, or all of it. */
static enum status take_head(struct reader *reader, struct error *err)
{
    TRY(npy_header(reader->head, reader->head_len, &reader->npy, err));
    reader->has_header = true;
    take_bytes(reader, reader->head + reader->npy.data_offset, reader->head_len - reader->npy.data_offset);
    return STATUS_OK;
}

static enum status take_piece(struct reader *reader, const unsigned char *bytes, size_t length, struct error *err)
{
    if (reader->digest != NULL)
        sha256_add(reader->digest, bytes, length);
    if (!reader->has_header) {
        size_t part = HEADER_MAX - reader->head_len < length ? HEADER_MAX - reader->head_len : length;
        memcpy(reader->head + reader->head_len, bytes, part);
        reader->head_len += part;
        bytes += part;
        length -= part;
        if (reader->head_len == HEADER_MAX)
            TRY(take_head(reader, err));
    }
    if (length > 0)
        take_bytes(reader, bytes, length);
    return STATUS_OK;
}

static enum status read_pieces(struct db_conn *conn, const char *study, struct reader *reader, struct error *err)
{
    struct db_rows rows;
    bool more;
    enum status status;
    TRY(db_query(conn, &rows, err, SQL_CANDIDATES_PIECES, study));
    while ((status = db_next(&rows, &more, err)) == STATUS_OK && more) {
        size_t length;
        const void *bytes = db_blob(&rows, 1, &length);
        status = take_piece(reader, bytes, length, err);
        if (status != STATUS_OK)
            break;
    }
    db_done(&rows);
    return status == STATUS_OK && !reader->has_header ? take_head(reader, err) : status;
}

enum status candidates_complete(struct db_conn *conn, const char *study, bool *is_complete, struct error *err)
{
    struct db_rows rows;
    bool more;
    TRY(db_query(conn, &rows, err, SQL_CANDIDATES_GET, study));
    enum status status = db_next(&rows, &more, err);
    *is_complete = status == STATUS_OK && more && db_int(&rows, 4) != 0;
    db_done(&rows);
    return status;
}

enum status candidates_load(struct db_conn *conn, const char *study, struct space *space, struct arena *arena,
                            struct error *err)
{
    size_t count = space->rows_len * space->columns;
    bool is_complete;
    TRY(candidates_complete(conn, study, &is_complete, err));
    if (!is_complete)
        return error_set(err, STATUS_CONFLICT, "awaiting_candidates", "", "the study waits for its candidates");
    struct reader reader = {.want = count, .is_finite = true, .out = ARENA_NEW(arena, double, count)};
    if (reader.out == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "the candidates do not fit into memory");
    TRY(read_pieces(conn, study, &reader, err));
    if (reader.got != count)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "the study's candidates are not whole");
    space->rows = reader.out;
    return STATUS_OK;
}

/* ---- receiving ---- */

/* The whole file is there: is it what was declared? */
static enum status check_whole(struct db_conn *conn, struct upload *up, struct error *err)
{
    const struct space *space = &up->study.spec.space;
    struct reader reader = {.want = space->rows_len * space->columns, .is_finite = true, .digest = sha256_start()};
    if (reader.digest == NULL)
        return app_no_memory(err);
    char sha256_found[SHA256_HEX_BYTES];
    enum status status = read_pieces(conn, up->id, &reader, err);
    sha256_hex_final(reader.digest, sha256_found);
    TRY(status);
    if (reader.npy.rows != space->rows_len || reader.npy.columns != space->columns || reader.got != reader.want ||
        reader.carry_len != 0)
        return error_set(err, STATUS_INVALID, "wrong_shape", "", "the file does not hold %zu rows of %zu columns",
                         space->rows_len, space->columns);
    if (up->sha256[0] != '\0' && strcmp(sha256_found, up->sha256) != 0)
        return error_set(err, STATUS_INVALID, "digest_mismatch", "", "the file is not the one that the manifest declares");
    if (!reader.is_finite)
        return error_set(err, STATUS_INVALID, "not_finite", "", "the file holds a number that is not finite");
    memcpy(up->sha256, sha256_found, SHA256_HEX_BYTES);
    return STATUS_OK;
}

static enum status finish(struct db_conn *conn, struct upload *up, struct error *err)
{
    TRY(check_whole(conn, up, err));
    up->out->complete = true;
    TRY(db_exec(conn, NULL, err, SQL_CANDIDATES_RECEIVED, up->id, up->out->received_bytes, (int64_t)1));
    if (up->study.state == STUDY_AWAITING_CANDIDATES) // one that was closed meanwhile stays closed
        TRY(db_exec(conn, NULL, err, SQL_STUDY_STATE, up->id, study_state_names[STUDY_ACTIVE], NULL, up->now_ms));
    return log_kind(conn, up, "candidates.received", up->sha256, err);
}

/* A whole file for an open study needs no manifest: it declares itself by its header. */
static enum status declare_open(struct db_conn *conn, struct upload *up, struct error *err)
{
    if (up->study.spec.is_private || up->offset != 0)
        return error_set(err, STATUS_CONFLICT, "manifest_required", "", "post the manifest first");
    struct npy npy;
    TRY(npy_header(up->bytes, up->length, &npy, err));
    struct manifest manifest = {.rows = (int64_t)npy.rows, .columns = (int64_t)npy.columns, .bytes = up->total_bytes,
                                .is_f4 = npy.is_f4};
    manifest.text = app_text(up->caller->arena, "{\"mechanism\":\"none\",\"rows\":%zu,\"columns\":%zu,\"bytes\":%lld}", npy.rows,
                             npy.columns, (long long)up->total_bytes);
    if (manifest.text == NULL)
        return app_no_memory(err);
    return add_manifest(conn, up, &manifest, err);
}

static enum status check_piece(const struct upload *up, struct error *err)
{
    const struct candidates_status *have = up->out;
    if (have->complete)
        return error_set(err, STATUS_CONFLICT, "candidates_complete", "", "the study has its candidates");
    if (up->total_bytes != have->bytes)
        return error_set(err, STATUS_INVALID, "wrong_shape", "", "%lld bytes were declared, not %lld",
                         (long long)have->bytes, (long long)up->total_bytes);
    if (up->offset != have->received_bytes || up->length == 0 || (int64_t)up->length > have->bytes - have->received_bytes)
        return error_set(err, STATUS_CONFLICT, "wrong_offset", "", "the next byte is number %lld",
                         (long long)have->received_bytes);
    return STATUS_OK;
}

static enum status append(struct db_conn *conn, void *arg, struct error *err)
{
    struct upload *up = arg;
    TRY(begin(conn, up, err));
    if (up->out->manifest == NULL)
        TRY(declare_open(conn, up, err));
    TRY(check_piece(up, err));
    TRY(db_exec(conn, NULL, err, SQL_CANDIDATES_PIECE_ADD, up->id, up->offset, up->bytes, up->length));
    up->out->received_bytes += (int64_t)up->length;
    if (up->out->received_bytes == up->out->bytes)
        return finish(conn, up, err);
    return db_exec(conn, NULL, err, SQL_CANDIDATES_RECEIVED, up->id, up->out->received_bytes, (int64_t)0);
}

/* What was received of the file whose end was refused, unless someone else has ended it well or begun another. */
static enum status drop(struct db_conn *conn, void *arg, struct error *err)
{
    struct upload *up = arg;
    TRY(load_status(conn, up, err));
    if (up->out->complete || up->out->received_bytes != up->offset)
        return STATUS_OK;
    up->out->received_bytes = 0;
    return forget_pieces(conn, up, err);
}

enum status candidates_append(struct app *app, struct caller *caller, const char *study, int64_t offset,
                              int64_t total_bytes, const void *bytes, size_t length, struct candidates_status *out,
                              struct error *err)
{
    struct upload up = {.app = app, .caller = caller, .id = study, .offset = offset, .total_bytes = total_bytes,
                        .bytes = bytes, .length = length, .out = out, .now_ms = app->now_ms()};
    enum status status = db_transact(app->db, append, &up, err);
    bool is_refused_file = status == STATUS_INVALID && out->manifest != NULL && out->received_bytes == out->bytes;
    struct error why;
    enum status dropped = is_refused_file ? db_transact(app->db, drop, &up, &why) : STATUS_OK;
    if (dropped != STATUS_OK) { // its pieces are still there: the last one can be sent again
        *err = why;
        status = dropped;
    }
    study_cache_forget(app, study);
    return status;
}
