/* Rows <-> structs, in the column order of db/sql.h. */
#include "service/rows.h"

#include "service/codec.h"
#include "service/log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const study_state_names[STUDY_STATE_COUNT] = {
    [STUDY_AWAITING_CANDIDATES] = "awaiting_candidates",
    [STUDY_ACTIVE] = "active",
    [STUDY_PAUSED] = "paused",
    [STUDY_COMPLETED] = "completed",
};

// clang-format off
const char *const trial_state_names[TRIAL_STATE_COUNT] = {
    [TRIAL_QUEUED] = "queued",       [TRIAL_RUNNING] = "running",       [TRIAL_COMPLETED] = "completed",
    [TRIAL_FAILED] = "failed",       [TRIAL_INFEASIBLE] = "infeasible", [TRIAL_ABANDONED] = "abandoned",
    [TRIAL_STOPPED] = "stopped",
};
// clang-format on

static int name_index(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/* A NULL column stays NULL; a copy that fails sets *failed. */
static const char *text(const struct db_rows *rows, int column, struct arena *arena, bool *failed)
{
    if (db_is_null(rows, column))
        return NULL;
    const char *copy = db_text_copy(rows, column, arena);
    *failed |= copy == NULL;
    return copy;
}

static double number(const struct db_rows *rows, int column)
{
    return db_is_null(rows, column) ? NAN : db_double(rows, column);
}

static const double *numbers(const struct db_rows *rows, int column, struct arena *arena, bool *failed)
{
    size_t      bytes;
    const void *blob = db_blob(rows, column, &bytes);
    double     *copy = blob == NULL ? NULL : arena_alloc(arena, bytes, 1);
    *failed |= blob != NULL && copy == NULL;
    return copy == NULL ? NULL : memcpy(copy, blob, bytes);
}

enum status rows_study(const struct db_rows *rows, bool with_spec, struct arena *arena, struct study *out,
                       struct error *err)
{
    bool failed = false;
    *out = (struct study){0};
    snprintf(out->id, sizeof out->id, "%s", db_text(rows, 0));
    out->name = text(rows, 1, arena, &failed);
    int state = name_index(study_state_names, STUDY_STATE_COUNT, db_text(rows, 2));
    if (state < 0)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "study %s has no such state", out->id);
    out->state = (enum study_state)state;
    out->reason = text(rows, 3, arena, &failed);
    out->labels = text(rows, 5, arena, &failed);
    out->notes = text(rows, 6, arena, &failed);
    out->budget_trials = db_int(rows, 7);
    out->revision = db_int(rows, 8);
    out->version = db_int(rows, 9);
    out->trials_total = db_int(rows, 10);
    for (int i = 0; i < TRIAL_STATE_COUNT; i++)
        out->trials[i] = db_int(rows, 11 + i);
    out->best_trial = db_int(rows, 18);
    out->best_value = number(rows, 19);
    out->created_ms = db_int(rows, 20);
    out->updated_ms = db_int(rows, 21);
    out->imported = db_int(rows, 22);
    if (failed)
        return app_no_memory(err);
    return with_spec ? codec_spec_parse(db_text(rows, 4), arena, &out->spec, err) : STATUS_OK;
}

enum status rows_study_get(struct db_conn *conn, const char *id, bool with_spec, struct arena *arena, struct study *out,
                           struct error *err)
{
    struct db_rows rows;
    bool           more;
    TRY(db_query(conn, &rows, err, SQL_STUDY_GET, id));
    enum status status = db_next(&rows, &more, err);
    if (status == STATUS_OK)
        status = more ? rows_study(&rows, with_spec, arena, out, err)
                      : error_set(err, STATUS_NOT_FOUND, "study_not_found", "", "there is no such study");
    db_done(&rows);
    return status;
}

enum status rows_trial(const struct db_rows *rows, struct arena *arena, struct trial *out, struct error *err)
{
    bool failed = false;
    *out = (struct trial){.number = db_int(rows, 0)};
    int state = name_index(trial_state_names, TRIAL_STATE_COUNT, db_text(rows, 1));
    if (state < 0)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "trial %lld has no such state",
                         (long long)out->number);
    out->state = (enum trial_state)state;
    out->point = numbers(rows, 2, arena, &failed);
    out->row = db_int(rows, 3);
    out->worker = text(rows, 4, arena, &failed);
    out->lease_ms = db_int(rows, 5);
    out->value = number(rows, 6);
    out->stddev = number(rows, 7);
    out->reason = text(rows, 8, arena, &failed);
    out->external_id = text(rows, 9, arena, &failed);
    out->model.policy = text(rows, 10, arena, &failed);
    out->model.fallback = text(rows, 11, arena, &failed);
    out->model.revision = db_int(rows, 12);
    out->model.observations = db_int(rows, 13);
    out->model.mean = number(rows, 14);
    out->model.sd = number(rows, 15);
    out->model.milliseconds = db_double(rows, 16);
    out->created_ms = db_int(rows, 17);
    out->finished_ms = db_int(rows, 18);
    out->model.diagnostics = text(rows, 19, arena, &failed);
    out->values = numbers(rows, 20, arena, &failed);
    out->lease = db_int(rows, 21);
    out->holder = text(rows, 22, arena, &failed);
    out->is_taken_over = db_int(rows, 23) != 0;
    return failed ? app_no_memory(err) : STATUS_OK;
}

enum status rows_trial_get(struct db_conn *conn, const char *study, int64_t trial, struct arena *arena,
                           struct trial *out, struct error *err)
{
    struct db_rows rows;
    bool           more;
    TRY(db_query(conn, &rows, err, SQL_TRIAL_GET, study, trial));
    enum status status = db_next(&rows, &more, err);
    if (status == STATUS_OK)
        status = more ? rows_trial(&rows, arena, out, err)
                      : error_set(err, STATUS_NOT_FOUND, "trial_not_found", "/trial", "there is no trial %lld",
                                  (long long)trial);
    db_done(&rows);
    return status;
}

enum status rows_check_lease(const struct trial *trial, int64_t lease, bool is_needed, struct error *err)
{
    bool is_free = trial->state == TRIAL_QUEUED && trial->lease > 0;
    if (is_free && is_needed)
        return error_set(err, STATUS_CONFLICT, "lease_lost", lease == 0 ? "" : "/lease",
                         "trial %lld is to be tried again: nobody holds it", (long long)trial->number);
    if (lease == trial->lease || (lease == 0 && !(trial->is_taken_over && is_needed)))
        return STATUS_OK;
    return error_set(err, STATUS_CONFLICT, "lease_lost", lease == 0 ? "" : "/lease",
                     lease == 0 ? "trial %lld was handed on: who has it now says so with lease.id"
                                : "trial %lld is not held under this lease any more",
                     (long long)trial->number);
}

enum status rows_trials(struct db_rows *rows, struct arena *arena, struct trial **out, size_t *len, struct error *err)
{
    struct trial *trials = NULL;
    size_t        n = 0, room = 0;
    bool          more;
    enum status   status;
    while ((status = db_next(rows, &more, err)) == STATUS_OK && more) {
        if (n == room) {
            room = room == 0 ? 16 : 2 * room;
            struct trial *grown = ARENA_NEW(arena, struct trial, room);
            if (grown == NULL) {
                status = app_no_memory(err);
                break;
            }
            if (n > 0)
                memcpy(grown, trials, n * sizeof *grown);
            trials = grown;
        }
        status = rows_trial(rows, arena, &trials[n], err);
        if (status != STATUS_OK)
            break;
        n++;
    }
    db_done(rows);
    *out = trials;
    *len = n;
    return status;
}

static bool is_possible(const struct space *space, const struct trial *trial, const double *fixed)
{
    if (space->kind == SPACE_CANDIDATES)
        return trial->point == NULL && trial->row >= 0 && trial->row < (int64_t)space->rows_len;
    if (trial->point == NULL || !space_nearly_has(space, trial->point, CODEC_ROUNDING_SLACK))
        return false;
    for (size_t i = 0; fixed != NULL && i < space->params_len; i++)
        if (!isnan(fixed[i]) && trial->point[i] != fixed[i])
            return false;
    return true;
}

enum status rows_impossible(struct app *app, const struct study *study, const struct trial *trial, struct error *err)
{
    atomic_fetch_add(&app->counters.impossible_points, 1);
    log_event(LOG_ERROR, "impossible_point", "study=%s trial=%lld policy=%s", study->id, (long long)trial->number,
              trial->model.policy == NULL ? "none" : trial->model.policy);
    return error_set(err, STATUS_INTERNAL, "impossible_point", "",
                     "trial %lld would not lie in the space: nothing was stored", (long long)trial->number);
}

enum status rows_trial_add(struct db_conn *conn, struct app *app, struct study *study, const struct new_trial *new,
                           struct error *err)
{
    const struct space *space = &study->spec.space;
    const struct trial *trial = new->trial;
    bool                is_row = space->kind == SPACE_CANDIDATES;
    if (!is_possible(space, trial, new->fixed))
        return rows_impossible(app, study, trial, err);
    size_t bytes = is_row ? 0 : space_point_len(space) * sizeof *trial->point;
    TRY(db_exec(conn, NULL, err, SQL_TRIAL_ADD, study->id, trial->number, trial_state_names[trial->state], trial->point,
                bytes, is_row ? trial->row : (int64_t)-1, trial->worker, trial->lease_ms, trial->external_id,
                trial->model.policy, trial->model.fallback, trial->model.revision, trial->model.observations,
                trial->model.mean, trial->model.sd, trial->model.milliseconds, new->note, new->note_bytes,
                trial->created_ms, trial->model.diagnostics));
    rows_count(study, TRIAL_STATE_COUNT, trial->state);
    return STATUS_OK;
}

enum status rows_curve(struct db_conn *conn, const char *study, struct arena *arena, struct trial *trial,
                       struct error *err)
{
    struct db_rows      rows;
    struct curve_point *points = NULL;
    size_t              room = 0;
    bool                more;
    enum status         status;
    TRY(db_query(conn, &rows, err, SQL_MEASUREMENT_LIST, study, trial->number, trial->lease));
    for (trial->curve_len = 0; (status = db_next(&rows, &more, err)) == STATUS_OK && more; trial->curve_len++) {
        if (trial->curve_len == room) {
            room = room == 0 ? 64 : 2 * room;
            struct curve_point *grown = ARENA_NEW(arena, struct curve_point, room);
            if (grown == NULL) {
                status = app_no_memory(err);
                break;
            }
            if (points != NULL)
                memcpy(grown, points, trial->curve_len * sizeof *grown);
            points = grown;
        }
        points[trial->curve_len] = (struct curve_point){db_int(&rows, 0), db_int(&rows, 2), db_double(&rows, 1)};
    }
    db_done(&rows);
    trial->curve = points;
    return status;
}

enum status rows_check_row(struct db_conn *conn, const struct study *study, int64_t row, const char *path,
                           struct error *err)
{
    struct db_rows rows;
    bool           more;
    if (!study->spec.policy->uses_each_row_once)
        return STATUS_OK;
    TRY(db_query(conn, &rows, err, SQL_TRIAL_HAS_ROW, study->id, row));
    enum status status = db_next(&rows, &more, err);
    if (status == STATUS_OK && more)
        status = error_set(err, STATUS_CONFLICT, "row_taken", path, "row %lld already is trial %lld", (long long)row,
                           (long long)db_int(&rows, 0));
    db_done(&rows);
    return status;
}

enum status rows_log(struct db_conn *conn, struct study *study, const struct change *change, struct error *err)
{
    study->revision++;
    return db_exec(conn, NULL, err, SQL_EVENT_ADD, change->at_ms, change->kind, study->id, study->revision,
                   change->trial, change->actor, change->detail);
}

void rows_count(struct study *study, enum trial_state from, enum trial_state to)
{
    if (from == TRIAL_STATE_COUNT)
        study->trials_total++;
    else
        study->trials[from]--;
    study->trials[to]++;
}

int64_t rows_allowance(const struct study *study)
{
    int64_t given_back = study->trials[TRIAL_FAILED] + study->trials[TRIAL_ABANDONED];
    int64_t used = study->trials_total - given_back - study->imported;
    return study->budget_trials == 0 ? INT64_MAX : used < study->budget_trials ? study->budget_trials - used : 0;
}

enum status rows_complete_if_spent(struct db_conn *conn, struct study *study, const char *actor, int64_t now_ms,
                                   struct error *err)
{
    const int64_t *trials = study->trials;
    int64_t finished = trials[TRIAL_COMPLETED] + trials[TRIAL_INFEASIBLE] + trials[TRIAL_STOPPED] - study->imported;
    int64_t open = trials[TRIAL_QUEUED] + trials[TRIAL_RUNNING];
    if (study->state != STUDY_ACTIVE || study->budget_trials == 0 || finished < study->budget_trials || open > 0)
        return STATUS_OK;
    struct change change = {"study.completed", actor, "budget_exhausted", 0, now_ms};
    TRY(db_exec(conn, NULL, err, SQL_STUDY_STATE, study->id, study_state_names[STUDY_COMPLETED], "budget_exhausted",
                now_ms));
    return rows_log(conn, study, &change, err);
}

enum status rows_study_save(struct db_conn *conn, const struct study *study, int64_t at_ms, struct error *err)
{
    const int64_t *trials = study->trials;
    return db_exec(conn, NULL, err, SQL_STUDY_COUNT, study->id, study->revision, study->trials_total,
                   trials[TRIAL_QUEUED], trials[TRIAL_RUNNING], trials[TRIAL_COMPLETED], trials[TRIAL_FAILED],
                   trials[TRIAL_INFEASIBLE], trials[TRIAL_ABANDONED], trials[TRIAL_STOPPED], at_ms, study->imported);
}
