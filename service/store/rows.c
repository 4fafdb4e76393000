/* Rows <-> structs. */
#include "service/store/rows.h"

#include "service/codec/codec_spec.h"
#include "service/codec/codec_trial.h"
#include "service/base/log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum status rows_state(const char *const *names, const char *stored, const char *what, int *state, struct error *err)
{
    for (*state = 0; names[*state] != NULL; ++*state)
        if (strcmp(names[*state], stored) == 0)
            return STATUS_OK;
    return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "%s has no such state", what);
}

enum status rows_study(const struct row_study *row, struct arena *arena, struct study *out, struct error *err)
{
    bool failed = false;
    int  state;
    *out = (struct study){0};
    snprintf(out->id, sizeof out->id, "%s", row->id);
    out->name = db_keep_text(row->name, arena, &failed);
    TRY(rows_state(study_state_names, row->state, row->id, &state, err));
    out->state = (enum study_state)state;
    out->reason = db_keep_text(row->reason, arena, &failed);
    out->labels = db_keep_text(row->labels, arena, &failed);
    out->notes = db_keep_text(row->notes, arena, &failed);
    out->budget_trials = row->budget;
    out->revision = row->revision;
    out->version = row->version;
    out->trials_total = row->total;
    out->trials[TRIAL_QUEUED] = row->queued;
    out->trials[TRIAL_RUNNING] = row->running;
    out->trials[TRIAL_COMPLETED] = row->completed;
    out->trials[TRIAL_FAILED] = row->failed;
    out->trials[TRIAL_INFEASIBLE] = row->infeasible;
    out->trials[TRIAL_ABANDONED] = row->abandoned;
    out->trials[TRIAL_STOPPED] = row->stopped;
    out->best_trial = row->best_trial;
    out->best_value = row->best_value;
    out->created_ms = row->created_ms;
    out->updated_ms = row->updated_ms;
    out->imported = row->imported;
    return failed ? error_no_memory(err) : STATUS_OK;
}

enum status rows_study_get(struct db_conn *conn, const char *id, struct arena *arena, struct study *out,
                           struct error *err)
{
    struct db_rows rows;
    bool           more;
    TRY(db_query(conn, &rows, err, SQL_STUDY_GET, BIND(TEXT(id))));
    enum status status = db_next(&rows, &more, err);
    if (status == STATUS_OK)
        status = more ? rows_study(row_study(&rows), arena, out, err) : caller_no_such("study", err);
    db_done(&rows);
    return status;
}

enum status rows_spec_get(struct db_conn *conn, const char *id, struct arena *arena, struct spec *out,
                          struct error *err)
{
    struct db_rows rows;
    bool           more;
    TRY(db_query(conn, &rows, err, SQL_STUDY_SPEC, BIND(TEXT(id))));
    enum status status = db_next(&rows, &more, err);
    if (status == STATUS_OK)
        status = more ? codec_spec_parse(row_spec(&rows)->spec, arena, out, err) : caller_no_such("study", err);
    db_done(&rows);
    return status;
}

enum status rows_trial(const struct row_trial *row, struct arena *arena, struct trial *out, struct error *err)
{
    bool failed = false;
    int  state;
    *out = trial_none();
    out->number = row->number;
    TRY(rows_state(trial_state_names, row->state, "a trial", &state, err));
    out->state = (enum trial_state)state;
    out->point = db_keep_blob(row->point, arena, &failed);
    out->row = row->row;
    out->worker = db_keep_text(row->worker, arena, &failed);
    out->lease_ms = row->lease_ms;
#define NUMBER(name, ...)    out->name = row->name;
#define TEXT_COPY(name, ...) out->name = db_keep_text(row->name, arena, &failed);
    TRIAL_NUMBERS(NUMBER)
    TRIAL_TEXTS(TEXT_COPY)
#undef NUMBER
#undef TEXT_COPY
    out->model.policy = db_keep_text(row->policy, arena, &failed);
    out->model.fallback = db_keep_text(row->fallback, arena, &failed);
    out->model.revision = row->seen;
    out->model.observations = row->observations;
    out->model.mean = row->mean;
    out->model.sd = row->sd;
    out->model.milliseconds = row->milliseconds;
    out->created_ms = row->created_ms;
    out->finished_ms = row->finished_ms;
    out->model.diagnostics = db_keep_text(row->diagnostics, arena, &failed);
    out->values = db_keep_blob(row->outcome, arena, &failed);
    out->lease = row->lease;
    out->holder = db_keep_text(row->holder, arena, &failed);
    out->is_taken_over = row->taken_over != 0;
    return failed ? error_no_memory(err) : STATUS_OK;
}

enum status rows_trial_get(struct db_conn *conn, const char *study, int64_t trial, struct arena *arena,
                           struct trial *out, struct error *err)
{
    struct db_rows rows;
    bool           more;
    TRY(db_query(conn, &rows, err, SQL_TRIAL_GET, BIND(TEXT(study), INT(trial))));
    enum status status = db_next(&rows, &more, err);
    if (status == STATUS_OK)
        status = more ? rows_trial(row_trial(&rows), arena, out, err)
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
                         "trial %lld is queued again: no worker holds it", (long long)trial->number);
    if (lease == trial->lease || (lease == 0 && !(trial->is_taken_over && is_needed)))
        return STATUS_OK;
    return error_set(err, STATUS_CONFLICT, "lease_lost", lease == 0 ? "" : "/lease",
                     lease == 0 ? "trial %lld was handed to another worker meanwhile: its lease.id is required as lease"
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
                status = error_no_memory(err);
                break;
            }
            if (n > 0)
                memcpy(grown, trials, n * sizeof *grown);
            trials = grown;
        }
        status = rows_trial(row_trial(rows), arena, &trials[n], err);
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
    log_event(LOG_ERROR, "impossible_point", "study=%s trial=%lld algorithm=%s", study->id, (long long)trial->number,
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
    TRY(db_exec(conn, NULL, err, SQL_TRIAL_ADD,
                BIND(TEXT(study->id), INT(trial->number), TEXT(trial_state_names[trial->state]),
                     BLOB(trial->point, bytes), INT(is_row ? trial->row : (int64_t)-1), TEXT(trial->worker),
                     INT(trial->lease_ms), TEXT(trial->external_id), TEXT(trial->model.policy),
                     TEXT(trial->model.fallback), INT(trial->model.revision), INT(trial->model.observations),
                     REAL(trial->model.mean), REAL(trial->model.sd), REAL(trial->model.milliseconds),
                     BLOB(new->note, new->note_bytes), INT(trial->created_ms), TEXT(trial->model.diagnostics))));
    rows_count(study, TRIAL_STATE_COUNT, trial->state);
    return STATUS_OK;
}

enum status rows_trial_finish(struct db_conn *conn, const char *study, int64_t trial, const struct trial_end *end,
                              struct error *err)
{
    const struct observation *item = end->item;
#define BIND_D(name)           REAL(item->name),
#define BIND_S(name)           TEXT(item->name),
#define BIND_ONE(name, letter) BIND_##letter(name)
    return db_exec(conn, NULL, err, SQL_TRIAL_FINISH,
                   BIND(TEXT(study), INT(trial), TEXT(trial_state_names[end->state]), TEXT(item->external_id),
                        INT(end->at_ms), BLOB(item->values, item->values == NULL ? 0 : end->value_bytes),
                        INT(end->is_feasible), TRIAL_RESULT(BIND_ONE)));
#undef BIND_ONE
#undef BIND_D
#undef BIND_S
}

enum status rows_curve(struct db_conn *conn, const char *study, struct arena *arena, struct trial *trial,
                       struct error *err)
{
    struct db_rows      rows;
    struct curve_point *points = NULL;
    size_t              room = 0;
    bool                more;
    enum status         status;
    TRY(db_query(conn, &rows, err, SQL_MEASUREMENT_LIST, BIND(TEXT(study), INT(trial->number), INT(trial->lease))));
    const struct row_measurement *row = row_measurement(&rows);
    for (trial->curve_len = 0; (status = db_next(&rows, &more, err)) == STATUS_OK && more; trial->curve_len++) {
        if (trial->curve_len == room) {
            room = room == 0 ? 64 : 2 * room;
            struct curve_point *grown = ARENA_NEW(arena, struct curve_point, room);
            if (grown == NULL) {
                status = error_no_memory(err);
                break;
            }
            if (points != NULL)
                memcpy(grown, points, trial->curve_len * sizeof *grown);
            points = grown;
        }
        points[trial->curve_len] = (struct curve_point){.step = row->step, .at_ms = row->at_ms, .value = row->value};
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
    TRY(db_query(conn, &rows, err, SQL_TRIAL_HAS_ROW, BIND(TEXT(study->id), INT(row))));
    enum status status = db_next(&rows, &more, err);
    if (status == STATUS_OK && more)
        status = error_set(err, STATUS_CONFLICT, "row_taken", path, "row %lld already is trial %lld", (long long)row,
                           (long long)row_trial_number(&rows)->number);
    db_done(&rows);
    return status;
}

enum status rows_log(struct db_conn *conn, struct study *study, const struct change *change, struct error *err)
{
    study->revision++;
    return db_exec(conn, NULL, err, SQL_EVENT_ADD,
                   BIND(INT(change->at_ms), TEXT(change->kind), TEXT(study->id), INT(study->revision),
                        INT(change->trial), TEXT(change->actor), TEXT(change->detail)));
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
    struct change change = {
        .kind = "study.completed", .actor = actor, .detail = "budget_exhausted", .trial = 0, .at_ms = now_ms};
    TRY(db_exec(
        conn, NULL, err, SQL_STUDY_STATE,
        BIND(TEXT(study->id), TEXT(study_state_names[STUDY_COMPLETED]), TEXT("budget_exhausted"), INT(now_ms))));
    return rows_log(conn, study, &change, err);
}

enum status rows_study_save(struct db_conn *conn, const struct study *study, int64_t at_ms, struct error *err)
{
    const int64_t *trials = study->trials;
    return db_exec(conn, NULL, err, SQL_STUDY_COUNT,
                   BIND(TEXT(study->id), INT(study->revision), INT(study->trials_total), INT(trials[TRIAL_QUEUED]),
                        INT(trials[TRIAL_RUNNING]), INT(trials[TRIAL_COMPLETED]), INT(trials[TRIAL_FAILED]),
                        INT(trials[TRIAL_INFEASIBLE]), INT(trials[TRIAL_ABANDONED]), INT(trials[TRIAL_STOPPED]),
                        INT(at_ms), INT(study->imported)));
}
