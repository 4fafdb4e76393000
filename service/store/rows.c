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

enum status rows_study(const struct row_study *row, struct study *out, struct error *err)
{
    int state;
    TRY(rows_state(study_state_names, row->state, row->id, &state, err));
    *out = (struct study){.name = row->name,
                          .state = (enum study_state)state,
                          .reason = row->reason,
                          .labels = row->labels,
                          .notes = row->notes,
                          .budget_trials = row->budget,
                          .revision = row->revision,
                          .version = row->version,
                          .trials_total = row->total,
                          .trials = {[TRIAL_QUEUED] = row->queued,
                                     [TRIAL_RUNNING] = row->running,
                                     [TRIAL_COMPLETED] = row->completed,
                                     [TRIAL_FAILED] = row->failed,
                                     [TRIAL_INFEASIBLE] = row->infeasible,
                                     [TRIAL_ABANDONED] = row->abandoned,
                                     [TRIAL_STOPPED] = row->stopped},
                          .best_trial = row->best_trial,
                          .best_value = row->best_value,
                          .created_ms = row->created_ms,
                          .updated_ms = row->updated_ms,
                          .imported = row->imported};
    snprintf(out->id, sizeof out->id, "%s", row->id);
    return STATUS_OK;
}

enum status rows_study_get(struct db_conn *conn, const char *id, struct arena *arena, struct study *out,
                           struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, arena, &rows, err, SQL_STUDY_GET, BIND(TEXT(id))));
    const struct row_study *row = row_study(&rows);
    return row != NULL ? rows_study(row, out, err) : caller_no_such("study", err);
}

/* The text is as large as the specification, and is not kept beside it. */
enum status rows_spec_get(struct db_conn *conn, const char *id, struct arena *arena, struct spec *out,
                          struct error *err)
{
    struct db_rows rows = db_query(conn, NULL, err, SQL_STUDY_SPEC, BIND(TEXT(id)));
    if (db_next(&rows))
        rows.status = codec_spec_parse(row_spec(&rows)->spec, arena, out, err);
    else if (rows.status == STATUS_OK)
        rows.status = caller_no_such("study", err);
    return db_done(&rows);
}

enum status rows_trial(const struct row_trial *row, struct trial *out, struct error *err)
{
    int state;
    TRY(rows_state(trial_state_names, row->state, "a trial", &state, err));
    *out = trial_none();
    out->number = row->number;
    out->state = (enum trial_state)state;
    out->point = row->point.bytes;
    out->row = row->row;
    out->worker = row->worker;
    out->lease_ms = row->lease_ms;
#define SAME(name, ...) out->name = row->name;
    TRIAL_NUMBERS(SAME)
    TRIAL_TEXTS(SAME)
#undef SAME
    out->model.policy = row->policy;
    out->model.fallback = row->fallback;
    out->model.revision = row->seen;
    out->model.observations = row->observations;
    out->model.mean = row->mean;
    out->model.sd = row->sd;
    out->model.milliseconds = row->milliseconds;
    out->created_ms = row->created_ms;
    out->finished_ms = row->finished_ms;
    out->model.diagnostics = row->diagnostics;
    out->values = row->outcome.bytes;
    out->lease = row->lease;
    out->holder = row->holder;
    out->is_taken_over = row->taken_over != 0;
    return STATUS_OK;
}

enum status rows_trial_get(struct db_conn *conn, const char *study, int64_t trial, struct arena *arena,
                           struct trial *out, struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, arena, &rows, err, SQL_TRIAL_GET, BIND(TEXT(study), INT(trial))));
    const struct row_trial *row = row_trial(&rows);
    return row != NULL ? rows_trial(row, out, err)
                       : error_set(err, STATUS_NOT_FOUND, "trial_not_found", "/trial", "there is no trial %lld",
                                   (long long)trial);
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

/* Room for one more of len items in the arena, doubling; *items NULL: none yet. */
static bool grow(struct arena *arena, void **items, size_t len, size_t *room, size_t item_bytes)
{
    if (len < *room)
        return true;
    *room = *room == 0 ? 16 : 2 * *room;
    void *grown = arena_alloc(arena, *room, item_bytes);
    if (grown != NULL && len > 0)
        memcpy(grown, *items, len * item_bytes);
    *items = grown;
    return grown != NULL;
}

enum status rows_trials(struct db_rows rows, struct trial **out, size_t *len, struct error *err)
{
    void  *trials = NULL;
    size_t room = 0;
    for (*len = 0; db_next(&rows); ++*len) {
        bool has_room = grow(rows.arena, &trials, *len, &room, sizeof **out);
        rows.status =
            has_room ? rows_trial(row_trial(&rows), (struct trial *)trials + *len, err) : error_no_memory(err);
    }
    *out = trials;
    return db_done(&rows);
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
    void          *points = NULL;
    size_t         room = 0, *len = &trial->curve_len;
    struct db_rows rows =
        db_query(conn, NULL, err, SQL_MEASUREMENT_LIST, BIND(TEXT(study), INT(trial->number), INT(trial->lease)));
    for (*len = 0; db_next(&rows); ++*len) {
        const struct row_measurement *row = row_measurement(&rows);
        if (grow(arena, &points, *len, &room, sizeof(struct curve_point)))
            ((struct curve_point *)points)[*len] =
                (struct curve_point){.step = row->step, .at_ms = row->at_ms, .value = row->value};
        else
            rows.status = error_no_memory(err);
    }
    trial->curve = points;
    return db_done(&rows);
}

enum status rows_check_row(struct db_conn *conn, const struct study *study, int64_t row, const char *path,
                           struct error *err)
{
    struct db_rows rows;
    if (!study->spec.policy->uses_each_row_once)
        return STATUS_OK;
    TRY(db_find(conn, NULL, &rows, err, SQL_TRIAL_HAS_ROW, BIND(TEXT(study->id), INT(row))));
    const struct row_trial_number *taken = row_trial_number(&rows);
    return taken == NULL ? STATUS_OK
                         : error_set(err, STATUS_CONFLICT, "row_taken", path, "row %lld already is trial %lld",
                                     (long long)row, (long long)taken->number);
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
