/* A study's matrix: declared, received in order and in pieces, checked as a whole, then never changed.
 * The digest is computed from what the store holds, not from what went by, so that it vouches for what is served. */
#include "service/candidates/candidates.h"

#include "engine/privacy/denoise.h"
#include "engine/privacy/release_checks.h"
#include "service/app/quota.h"
#include "service/app/price.h"
#include "service/app/slots.h"
#include "service/app/study_cache.h"
#include "service/base/text.h"
#include "service/manifest/manifest.h"
#include "service/candidates/curator_ledger.h"
#include "service/candidates/matrix.h"
#include "service/store/task.h"
#include "service/app/steady.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REFUSALS_MAX = 3, REFUSALS_MS = 3600 * 1000, UNDECLARED = -1 };

/* The check of a whole file, which runs outside of any transaction. */
struct check {
    struct arena            arena;
    struct matrix           matrix;
    struct release_manifest release; /* private */
    char                    sha256[SHA256_HEX_BYTES];
    int64_t                 attempt, revision; /* of the checked upload */
    bool                    is_refused, is_declared_file;
};

struct upload {
    struct task                    task;
    const struct manifest         *manifest;                 /* declare */
    const struct candidates_piece *piece;                    /* append */
    struct check                  *check;                    /* append, the last piece */
    char                           sha256[SHA256_HEX_BYTES]; /* as declared; "": a file that declares itself */
    int64_t                        attempt; /* how often what was received was dropped; UNDECLARED without a manifest */
    struct candidates_status      *out;
};

/* Locked: the last REFUSALS_MAX refusals came within an hour. */
static enum status load_lock(struct db_conn *conn, const char *study, bool *locked, struct error *err)
{
    struct db_rows rows = db_query(conn, NULL, err, SQL_CANDIDATES_REFUSALS, BIND(TEXT(study), INT(REFUSALS_MAX)));
    int64_t        first = 0, last = 0;
    size_t         n = 0;
    while (db_next(&rows)) {
        first = row_refusal(&rows)->at_ms;
        last = n++ == 0 ? first : last;
    }
    *locked = n == REFUSALS_MAX && last - first < REFUSALS_MS;
    return db_done(&rows);
}

/* Loads the stored state of the matrix; manifest NULL when nothing was declared. */
static enum status load_status(struct db_conn *conn, struct upload *up, struct error *err)
{
    struct db_rows rows;
    *up->out = (struct candidates_status){0};
    up->attempt = UNDECLARED;
    TRY(db_find(conn, up->task.caller->arena, &rows, err, SQL_CANDIDATES_GET, BIND(TEXT(up->task.id))));
    const struct row_candidates *row = row_candidates(&rows);
    if (row != NULL) {
        *up->out = (struct candidates_status){.manifest = row->manifest,
                                              .bytes = row->bytes,
                                              .received_bytes = row->received_bytes,
                                              .complete = row->complete != 0};
        snprintf(up->sha256, sizeof up->sha256, "%s", row->sha256);
        up->attempt = row->attempt;
    }
    return load_lock(conn, up->task.id, &up->out->locked, err);
}

static enum status begin(struct db_conn *conn, struct upload *up, struct error *err)
{
    TRY(task_open(conn, &up->task, err));
    if (up->task.study.spec.space.kind != SPACE_CANDIDATES)
        return error_set(err, STATUS_CONFLICT, "not_candidates", "", "the study's space is not a set of candidates");
    return load_status(conn, up, err);
}

static enum status log_kind(struct db_conn *conn, struct upload *up, const char *kind, const char *detail,
                            struct error *err)
{
    TRY(task_log(conn, &up->task, kind, 0, detail, err));
    return task_save(conn, &up->task, err);
}

static enum status check_lock(const struct upload *up, struct error *err)
{
    return up->out->locked
               ? error_set(err, STATUS_CONFLICT, "uploads_locked", "",
                           "%d files were refused within an hour; the study's owner can resume it", REFUSALS_MAX)
               : STATUS_OK;
}

/* ---- the manifest ---- */

enum status candidates_read_manifest(const struct study *study, const char *text, size_t length, struct arena *arena,
                                     struct manifest *out, struct error *err)
{
    struct release_manifest release;
    char                   *canonical = NULL;
    TRY(manifest_read(text, length, &release, err));
    if (strcmp(release.key, study->spec.curator_key) != 0)
        return error_set(err, STATUS_INVALID, "wrong_key", "/key", "the manifest is not of the study's curator");
    TRY(manifest_check_signature(&release, err));
    TRY(manifest_check_numbers(&release, err));
    TRY(manifest_text(&release, &canonical, err));
    *out = (struct manifest){.rows = release.rows,
                             .columns = release.columns,
                             .bytes = release.bytes,
                             .type = release.dtype,
                             .text = arena_strndup(arena, canonical, strlen(canonical))};
    free(canonical);
    memcpy(out->sha256, release.sha256, sizeof out->sha256);
    struct manifest_ledger *ledger = arena_alloc(arena, 1, sizeof *ledger);
    if (out->text == NULL || ledger == NULL)
        return error_no_memory(err);
    *ledger = release.ledger;
    out->ledger = ledger;
    return STATUS_OK;
}

static enum status check_manifest(const struct upload *up, const struct manifest *manifest, struct error *err)
{
    const struct space *space = &up->task.study.spec.space;
    if ((size_t)manifest->rows != space->rows_len || (size_t)manifest->columns != space->columns)
        return error_set(err, STATUS_INVALID, "wrong_shape", "/rows",
                         "the study was created for %zu rows and %zu columns", space->rows_len, space->columns);
    int64_t least = manifest->rows * manifest->columns * (int64_t)npy_type_bytes(manifest->type);
    if (manifest->bytes <= least || manifest->bytes > least + MATRIX_HEADER_MAX)
        return error_set(err, STATUS_INVALID, "wrong_shape", "/bytes",
                         "a file of this shape has %lld bytes and a header", (long long)least);
    if (up->task.study.state != STUDY_AWAITING_CANDIDATES)
        return study_refuse(&up->task.study, err);
    return check_lock(up, err);
}

/* The log of an imported study names the file that its trials are about: no other will do.  sha256 "": not known yet. */
static enum status check_known(struct db_conn *conn, const struct upload *up, const char *sha256, struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, up->task.caller->arena, &rows, err, SQL_CANDIDATES_KNOWN, BIND(TEXT(up->task.id))));
    const struct row_detail *known = row_detail(&rows);
    if (known == NULL || known->detail == NULL || sha256[0] == '\0' || strcmp(known->detail, sha256) == 0)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "digest_mismatch", "/sha256", "the study was made with another file: %.64s",
                     known->detail);
}

static enum status add_manifest(struct db_conn *conn, struct upload *up, const struct manifest *manifest,
                                struct error *err)
{
    TRY(app_check_store(up->task.app, err));
    TRY(check_manifest(up, manifest, err));
    TRY(check_known(conn, up, manifest->sha256, err));
    if (manifest->ledger != NULL)
        TRY(curator_ledger_extend(conn,
                                  &(struct curator_release){.key = up->task.study.spec.curator_key,
                                                            .sha256 = manifest->sha256,
                                                            .ledger = manifest->ledger},
                                  up->task.caller->arena, err));
    TRY(db_exec(conn, NULL, err, SQL_CANDIDATES_ADD,
                BIND(TEXT(up->task.id), TEXT(manifest->text), TEXT(manifest->sha256), INT(manifest->bytes))));
    *up->out = (struct candidates_status){.manifest = manifest->text, .bytes = manifest->bytes};
    memcpy(up->sha256, manifest->sha256, SHA256_HEX_BYTES);
    return log_kind(conn, up, "candidates.declared", manifest->sha256, err);
}

/* with_manifest: also what a manifest declared, not only what a file declared by its own header. */
static enum status forget_pieces(struct db_conn *conn, struct upload *up, bool with_manifest, struct error *err)
{
    TRY(db_exec(conn, NULL, err, SQL_CANDIDATES_DROP, BIND(TEXT(up->task.id))));
    TRY(db_exec(conn, NULL, err, SQL_CANDIDATES_FORGET, BIND(TEXT(up->task.id), INT(with_manifest))));
    return db_exec(conn, NULL, err, SQL_CANDIDATES_RESTART, BIND(TEXT(up->task.id)));
}

static enum status declare(struct db_conn *conn, void *arg, struct error *err)
{
    struct upload *up = arg;
    TRY(begin(conn, up, err));
    if (up->sha256[0] == '\0' && !up->out->complete) { // nothing, or half of a file that came without a manifest
        TRY(forget_pieces(conn, up, false, err));
        return add_manifest(conn, up, up->manifest, err);
    }
    if (strcmp(up->out->manifest, up->manifest->text) != 0)
        return error_set(err, STATUS_CONFLICT, "manifest_conflict", "", "the study has another manifest already");
    return STATUS_OK;
}

enum status candidates_declare(struct app *app, struct caller *caller, const char *study,
                               const struct manifest *manifest, struct candidates_status *out, struct error *err)
{
    struct upload up = {.task = task_of(app, caller, study), .manifest = manifest, .out = out};
    return task_write(&up.task, declare, err);
}

static enum status read_status(struct db_conn *conn, void *arg, struct error *err)
{
    struct upload *up = arg;
    TRY(begin(conn, up, err));
    return up->task.study.spec.is_private ? curator_ledger_count(conn, up->task.study.spec.curator_key,
                                                                 up->task.caller->arena, &up->out->ledgers, err)
                                          : STATUS_OK;
}

enum status candidates_status(struct app *app, struct caller *caller, const char *study, struct candidates_status *out,
                              struct error *err)
{
    struct upload up = {.task = task_of(app, caller, study), .out = out};
    return task_read(&up.task, read_status, err);
}

enum status candidates_unlock(struct db_conn *conn, const char *study, bool *was_locked, struct error *err)
{
    TRY(load_lock(conn, study, was_locked, err));
    return *was_locked ? db_exec(conn, NULL, err, SQL_CANDIDATES_UNLOCK, BIND(TEXT(study))) : STATUS_OK;
}

/* ---- reading what was received ---- */

static enum status read_pieces(struct db_conn *conn, const char *study, struct matrix *matrix, struct error *err)
{
    struct db_rows rows = db_query(conn, NULL, err, SQL_CANDIDATES_PIECES, BIND(TEXT(study)));
    while (db_next(&rows)) {
        struct db_blob data = row_piece(&rows)->data;
        rows.status = matrix_take(matrix, data.bytes, data.length, err);
    }
    return db_done(&rows);
}

/* Whether the matrix is there and checked; of a private study (else release NULL) what its manifest says of the noise. */
static enum status find_complete(struct db_conn *conn, const char *study, bool *is_complete,
                                 struct release_manifest *release, struct error *err)
{
    struct db_rows rows = db_query(conn, NULL, err, SQL_CANDIDATES_GET, BIND(TEXT(study)));
    *is_complete = db_next(&rows) && row_candidates(&rows)->complete != 0;
    if (*is_complete && release != NULL) {
        const char *text = row_candidates(&rows)->manifest;
        rows.status = manifest_read(text, strlen(text), release, err);
        if (rows.status == STATUS_INVALID)
            rows.status = error_set(err, STATUS_INTERNAL, "store_corrupt", "", "the study has no manifest");
    }
    return db_done(&rows);
}

enum status candidates_complete(struct db_conn *conn, const char *study, bool *is_complete, struct error *err)
{
    return find_complete(conn, study, is_complete, NULL, err);
}

/* Loads the variance of each row's place in its cell. */
static enum status load_variances(const struct release_manifest *release, struct space *space, struct arena *arena,
                                  struct error *err)
{
    const struct quadtree *tree = &release->tree;
    bool                   is_tree = release->mechanism.kind == MECHANISM_QUADTREE;
    size_t                 d = space->columns;
    double                *variances = ARENA_NEW(arena, double, space->rows_len *d);
    if (variances == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < space->rows_len; i++) {
        int64_t index[MANIFEST_SIDES_MAX];
        for (size_t c = 0; c < d && is_tree; c++)
            index[c] = (int64_t)rint(space->rows[i * d + c] / tree->gamma);
        double leaf = is_tree ? quadtree_variance(quadtree_level(tree, index)) : 0;
        for (size_t c = 0; c < d; c++)
            variances[i * d + c] = is_tree ? leaf : pow(2.0 * MECHANISM_NORM / (double)release->sides[c], 2) / 12;
    }
    space->row_variances = variances;
    return STATUS_OK;
}

/* The noise of the rows as the model sees it.  A rotation mixes the columns, so that Laplace noise along each is nearly
 * normal. */
static struct candidates_noise noise_of(const struct mechanism *m)
{
    bool               has_all = m->kind != MECHANISM_PROJECTED_GAUSSIAN && m->dims == m->columns;
    bool               is_laplace = m->kind == MECHANISM_DISCRETE_LAPLACE && (m->columns == 1 || m->keeps_axes);
    enum denoise_shape shape = m->kind == MECHANISM_ISOTROPIC_LAPLACE ? DENOISE_ISOTROPIC
                               : is_laplace                           ? DENOISE_LAPLACE
                                                                      : DENOISE_NORMAL;
    return (struct candidates_noise){.variance = m->variance,
                                     .dims = (double)m->dims,
                                     .bound = MECHANISM_NORM,
                                     .shape = (double)shape,
                                     .denoise = has_all};
}

enum status candidates_load(struct db_conn *conn, const char *study, struct spec *spec, struct candidates_noise *noise,
                            struct arena *arena, struct error *err)
{
    size_t                  count = spec->space.rows_len * spec->space.columns;
    struct release_manifest release = {.differentially_private = false};
    bool                    is_complete;
    TRY(find_complete(conn, study, &is_complete, spec->is_private ? &release : NULL, err));
    if (!is_complete)
        return error_set(err, STATUS_CONFLICT, "awaiting_candidates", "", "the study waits for its candidates");
    bool          is_noisy = release.differentially_private;
    struct matrix matrix = {.want = count, .scale = release.mechanism.gamma, .reals = ARENA_NEW(arena, double, count)};
    if (matrix.reals == NULL)
        return error_no_memory(err);
    TRY(read_pieces(conn, study, &matrix, err));
    TRY(matrix_end(&matrix, err));
    if (matrix.got != count)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "the study's candidates are not whole");
    spec->space.rows = matrix.reals;
    noise->variance = noise->dims = noise->bound = noise->shape = noise->denoise = (double)NAN;
    bool is_counted = release.mechanism.kind == MECHANISM_CELLS || release.mechanism.kind == MECHANISM_QUADTREE;
    if (is_noisy && is_counted)
        return load_variances(&release, &spec->space, arena, err);
    if (is_noisy)
        *noise = noise_of(&release.mechanism);
    return STATUS_OK;
}

/* ---- receiving ---- */

/* A whole file for an open study needs no manifest: it declares itself by its header. */
static enum status describe_open(const struct upload *up, struct manifest *out, struct error *err)
{
    if (up->task.study.spec.is_private || up->piece->offset != 0)
        return error_set(err, STATUS_CONFLICT, "manifest_required", "", "post the manifest first");
    struct npy npy;
    TRY(npy_header(up->piece->bytes, up->piece->length, &npy, err));
    *out = (struct manifest){
        .rows = (int64_t)npy.rows, .columns = (int64_t)npy.columns, .bytes = up->piece->total_bytes, .type = npy.type};
    out->text =
        text_format(up->task.caller->arena, "{\"mechanism\":\"none\",\"rows\":%zu,\"columns\":%zu,\"bytes\":%lld}",
                    npy.rows, npy.columns, (long long)up->piece->total_bytes);
    return out->text == NULL ? error_no_memory(err) : STATUS_OK;
}

static enum status check_piece(const struct upload *up, struct error *err)
{
    const struct candidates_status *have = up->out;
    if (have->complete)
        return error_set(err, STATUS_CONFLICT, "candidates_complete", "", "the study has its candidates");
    TRY(check_lock(up, err));
    if (up->piece->total_bytes != have->bytes)
        return error_set(err, STATUS_INVALID, "wrong_shape", "", "%lld bytes were declared, not %lld",
                         (long long)have->bytes, (long long)up->piece->total_bytes);
    if (up->piece->offset != have->received_bytes || up->piece->length == 0 ||
        (int64_t)up->piece->length > have->bytes - have->received_bytes)
        return error_set(err, STATUS_CONFLICT, "wrong_offset", "", "the next byte is number %lld",
                         (long long)have->received_bytes);
    return STATUS_OK;
}

/* ---- the check of the whole ---- */

/* The values are kept only for a private study, whose release is looked at. */
static enum status prepare_check(struct upload *up, struct error *err)
{
    struct check *check = up->check;
    size_t        count = up->task.study.spec.space.rows_len * up->task.study.spec.space.columns;
    check->attempt = up->attempt;
    check->revision = up->task.study.revision;
    check->matrix = (struct matrix){.want = count, .scale = 1};
    if (up->task.study.spec.is_private) {
        TRY(manifest_read(up->out->manifest, strlen(up->out->manifest), &check->release, err));
        if (check->release.differentially_private)
            check->matrix.integers = ARENA_NEW(&check->arena, int64_t, count);
        else
            check->matrix.reals = ARENA_NEW(&check->arena, double, count);
        if (check->matrix.integers == NULL && check->matrix.reals == NULL)
            return error_no_memory(err);
    }
    check->matrix.digest = sha256_start();
    return check->matrix.digest == NULL ? error_no_memory(err) : STATUS_OK;
}

/* The last piece is not in the store yet. */
static enum status read_whole(struct db_conn *conn, void *arg, struct error *err)
{
    struct upload  *up = arg;
    struct check   *check = up->check;
    struct manifest own;
    TRY(begin(conn, up, err));
    if (up->out->manifest == NULL) {
        TRY(describe_open(up, &own, err));
        TRY(check_manifest(up, &own, err));
        *up->out = (struct candidates_status){.manifest = own.text, .bytes = own.bytes};
    }
    TRY(check_piece(up, err));
    TRY(prepare_check(up, err));
    enum status status = read_pieces(conn, up->task.id, &check->matrix, err);
    if (status == STATUS_OK)
        status = matrix_take(&check->matrix, up->piece->bytes, up->piece->length, err);
    if (status == STATUS_OK)
        status = matrix_end(&check->matrix, err);
    sha256_hex_final(check->matrix.digest, check->sha256);
    if (status == STATUS_OK)
        status = check_known(conn, up, check->sha256, err);
    check->is_refused = status == STATUS_INVALID;
    return status;
}

static enum status refuse(const char *code, const char *text, struct error *err)
{
    return error_set(err, STATUS_INVALID, code, "", "%s", text);
}

/* Is it the file that was declared, and of the study's shape? */
static enum status check_file(struct upload *up, struct error *err)
{
    const struct matrix *matrix = &up->check->matrix;
    const struct space  *space = &up->task.study.spec.space;
    if (up->sha256[0] != '\0' && strcmp(up->check->sha256, up->sha256) != 0)
        return refuse("digest_mismatch", "the file is not the one that the manifest declares", err);
    up->check->is_declared_file = true;
    if (matrix->npy.rows == space->rows_len && matrix->npy.columns == space->columns && matrix->got == matrix->want &&
        matrix->carry_len == 0)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "wrong_shape", "", "the file does not hold %zu rows of %zu columns",
                     space->rows_len, space->columns);
}

/* May such a file be a study's?  O(rows columns (columns + log rows)): nothing waits for it but the caller. */
static enum status check_values(struct upload *up, struct error *err)
{
    struct check        *check = up->check;
    const struct matrix *matrix = &check->matrix;
    bool                 is_integer = matrix->npy.type == NPY_I4 || matrix->npy.type == NPY_I8;
    if (!up->task.study.spec.is_private) {
        if (is_integer)
            return refuse("not_npy", "not an .npy file that is accepted: it has integers", err);
        return matrix->is_finite ? STATUS_OK : refuse("not_finite", "the file holds a number that is not finite", err);
    }
    if (matrix->npy.type != check->release.dtype)
        return refuse("not_a_release", "L1: the file's numbers are not of the type that the manifest declares", err);
    if (!matrix->is_finite && is_integer)
        return refuse("not_a_release", "L1: a number is too far from zero for the lattice", err);
    if (!matrix->is_finite)
        return refuse("not_finite", "the file holds a number that is not finite", err);
    size_t                  n = matrix->npy.rows, p = matrix->npy.columns;
    const struct mechanism *plan = &check->release.mechanism;
    if (!check->release.differentially_private)
        return release_check_projection(
            &(struct release_projection){
                .Z = matrix->reals, .n = n, .r = p, .omega = check->release.projection.omega, .columns = plan->columns},
            &check->arena, err);
    if (plan->kind == MECHANISM_CELLS) // centres of a public grid: there is no noise to look for
        return STATUS_OK;
    if (plan->kind == MECHANISM_QUADTREE)
        return quadtree_is_partition(&check->release.tree, matrix->integers, n)
                   ? STATUS_OK
                   : refuse("not_a_release", "T1: the rows are not leaves of the tree that the manifest declares", err);
    return release_check_lattice(
        &(struct release_lattice){
            .K = matrix->integers, .n = n, .p = p, .noise_sd = sqrt(plan->variance) / plan->gamma},
        &check->arena, err);
}

/* Sets check->is_refused when the file, not the request, is what is wrong. */
static enum status check_whole(struct upload *up, struct error *err)
{
    const struct matrix *matrix = &up->check->matrix;
    double               price_ms = price_check(up->task.app, (double)matrix->npy.rows, (double)matrix->npy.columns);
    TRY(slots_enter(up->task.app, up->task.caller, price_ms, err));
    enum status status = db_read(up->task.app->db, read_whole, up, err);
    if (status == STATUS_OK)
        status = slots_go_on(up->task.app, up->task.caller, err);
    if (status == STATUS_OK) {
        status = check_file(up, err);
        if (status == STATUS_OK)
            status = check_values(up, err);
        up->check->is_refused = status == STATUS_INVALID;
    }
    double took_ms = slots_leave(up->task.app, up->task.caller, NULL);
    if (status == STATUS_OK)
        price_learn_part(up->task.app, PRICE_CHECK, price_ms, took_ms);
    return status;
}

static enum status finish(struct db_conn *conn, struct upload *up, struct error *err)
{
    const char *sha256_found = up->check->sha256;
    up->out->complete = true;
    TRY(db_exec(conn, NULL, err, SQL_CANDIDATES_RECEIVED,
                BIND(TEXT(up->task.id), INT(up->out->received_bytes), INT(1))));
    bool was_paused = up->task.study.reason != NULL && strcmp(up->task.study.reason, STUDY_WAS_PAUSED) == 0;
    if (up->task.study.state == STUDY_AWAITING_CANDIDATES) // one that was closed meanwhile stays closed
        TRY(task_set_state(conn, &up->task, was_paused ? STUDY_PAUSED : STUDY_ACTIVE, NULL, NULL, err));
    return log_kind(conn, up, "candidates.received", sha256_found, err);
}

static bool is_as_checked(const struct upload *up)
{
    return up->attempt == up->check->attempt && up->task.study.revision == up->check->revision;
}

static enum status add_piece(struct db_conn *conn, struct upload *up, struct error *err)
{
    struct manifest own;
    TRY(begin(conn, up, err));
    if (up->check != NULL && !up->out->complete && !is_as_checked(up))
        return error_set(err, STATUS_BUSY, "busy", "", "the study changed meanwhile; send the last piece again");
    if (up->out->manifest == NULL) {
        TRY(describe_open(up, &own, err));
        TRY(add_manifest(conn, up, &own, err));
    }
    TRY(check_piece(up, err));
    TRY(db_exec(conn, NULL, err, SQL_CANDIDATES_PIECE_ADD,
                BIND(TEXT(up->task.id), INT(up->piece->offset), BLOB(up->piece->bytes, up->piece->length))));
    up->out->received_bytes += (int64_t)up->piece->length;
    if (up->check != NULL)
        return finish(conn, up, err);
    return db_exec(conn, NULL, err, SQL_CANDIDATES_RECEIVED,
                   BIND(TEXT(up->task.id), INT(up->out->received_bytes), INT(0)));
}

static enum status append(struct db_conn *conn, void *arg, struct error *err)
{
    struct upload    *up = arg;
    struct quota_mark mark;
    TRY(quota_begin(conn, up->task.caller, &mark, err));
    TRY(add_piece(conn, up, err));
    return quota_end(conn, up->task.caller, &mark, err);
}

/* Drops the received bytes of a file that was refused, unless another client has completed it or begun a new one meanwhile.
 * A manifest that declares a file that is no release can never be fulfilled: it goes too. */
static enum status drop(struct db_conn *conn, void *arg, struct error *err)
{
    struct upload *up = arg;
    TRY(load_status(conn, up, err));
    if (up->out->manifest == NULL || up->out->complete || up->attempt != up->check->attempt)
        return STATUS_OK;
    up->out->received_bytes = 0;
    bool is_private = up->task.study.spec.is_private;
    if (is_private)
        TRY(db_exec(conn, NULL, err, SQL_CANDIDATES_REFUSE, BIND(TEXT(up->task.id), INT(steady_ms(up->task.app)))));
    return forget_pieces(conn, up, is_private && up->check->is_declared_file, err);
}

enum status candidates_append(struct app *app, struct caller *caller, const char *study,
                              const struct candidates_piece *piece, struct candidates_status *out, struct error *err)
{
    struct check  check = {.is_refused = false};
    bool          is_last = piece->offset + (int64_t)piece->length == piece->total_bytes;
    struct upload up = {
        .task = task_of(app, caller, study), .piece = piece, .check = is_last ? &check : NULL, .out = out};
    TRY(caller_sees(caller, "study", study, err));
    arena_init(&check.arena, app->options.session_bytes);
    enum status status = is_last ? check_whole(&up, err) : STATUS_OK;
    if (status == STATUS_OK)
        status = db_transact(app->db, append, &up, err);
    arena_fini(&check.arena);
    struct error why;
    enum status  dropped = check.is_refused ? db_transact(app->db, drop, &up, &why) : STATUS_OK;
    if (dropped != STATUS_OK) { // its pieces are still there: the last one can be sent again
        *err = why;
        status = dropped;
    }
    study_cache_forget(app, study);
    return status;
}
