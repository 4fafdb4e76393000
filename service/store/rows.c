/* Rows <-> structs. */
#include "service/store/rows.h"

#include "service/codec/codec_study.h"
#include "service/codec/codec_spec.h"

#include <stdio.h>
#include <string.h>

enum status rows_state(const char *const *names, const char *stored, const char *what, int *state, struct error *err)
{
    for (*state = 0; names[*state] != NULL; ++*state)
        if (strcmp(names[*state], stored) == 0)
            return STATUS_OK;
    return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "%s has no such state", what);
}

enum status rows_study(const struct row_study *from, struct arena *arena, struct study *out, struct error *err)
{
    int state;
    TRY(rows_state(study_state_names, from->state, from->id, &state, err));
    *out = (struct study){.state = (enum study_state)state,
                          .project = from->project,
                          .reason = from->reason,
                          .tally = {STUDY_TALLY(TAKE)},
                          .revision = from->revision,
                          .version = from->version,
                          .space_revision = from->space_revision,
                          .trials_total = from->total,
                          .trials = {[TRIAL_QUEUED] = from->queued,
                                     [TRIAL_RUNNING] = from->running,
                                     [TRIAL_COMPLETED] = from->completed,
                                     [TRIAL_FAILED] = from->failed,
                                     [TRIAL_INFEASIBLE] = from->infeasible,
                                     [TRIAL_ABANDONED] = from->abandoned,
                                     [TRIAL_STOPPED] = from->stopped,
                                     [TRIAL_RETRACTED] = from->retracted},
                          .best_trial = from->best_trial,
                          .best_value = from->best_value,
                          .imported = from->imported,
                          STUDY_SAID(TAKE) STUDY_OWNED(TAKE) STUDY_KEPT(TAKE)};
    snprintf(out->id, sizeof out->id, "%s", from->id);
    return codec_rules_parse(from->rules, arena, &out->rules, err);
}

enum status rows_study_get(struct db_conn *conn, const char *id, struct arena *arena, struct study *out,
                           struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, arena, &rows, err, SQL_STUDY_GET, BIND(TEXT(id))));
    const struct row_study *row = row_study(&rows);
    return row != NULL ? rows_study(row, arena, out, err) : caller_no_such("study", err);
}

/* Leaves out the text, which is as large as the specification. */
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

enum status rows_baseline(struct db_conn *conn, const char *study, int64_t last, struct arena *arena, struct spec *spec,
                          struct error *err)
{
    if (spec->baseline == NULL)
        return STATUS_OK;
    struct db_rows rows = db_query(conn, NULL, err, SQL_BASELINE, BIND(TEXT(study), INT(last)));
    while (db_next(&rows)) {
        const struct row_baseline *row = row_baseline(&rows);
        struct baseline_end        end = {.revision = row->ended, .values = row->outcome.bytes};
        if (strcmp(row->state, trial_state_names[TRIAL_COMPLETED]) != 0 || row->ended > last)
            end = (struct baseline_end){0};
        rows.status = spec_set_baseline(spec, end, arena, err);
    }
    return db_done(&rows);
}

enum status rows_trial(const struct row_trial *row, struct trial *out, struct error *err)
{
    const struct row_trial *from = row;
    int                     state;
    TRY(rows_state(trial_state_names, row->state, "a trial", &state, err));
    *out = trial_none();
    out->number = row->number;
    out->state = (enum trial_state)state;
    out->point = row->point.bytes;
    out->row = row->row;
    out->worker = row->worker;
    out->lease_ms = row->lease_ms;
    out->told = (struct trial_told){TRIAL_TOLD(TAKE)};
    out->said = (struct trial_annotations){TRIAL_ANNOTATIONS(TAKE)};
    out->model.algorithm = row->algorithm;
    out->model.fallback = row->fallback;
    out->model.revision = row->seen;
    out->model.observations = row->observations;
    out->model.mean = row->model_mean;
    out->model.stddev = row->model_stddev;
    out->model.stddev_observed = row->model_stddev_observed;
    out->model.compute_ms = row->milliseconds;
    out->created_ms = row->created_ms;
    out->finished_ms = row->finished_ms;
    out->model.diagnostics = row->diagnostics;
    out->values = row->outcome.bytes;
    out->lease = row->lease;
    out->holder = row->holder;
    out->is_taken_over = row->taken_over != 0;
    out->started_ms = row->started_ms;
    out->ended = row->ended;
    out->corrected_ms = row->corrected_ms;
    out->is_imported = row->imported != 0;
    return STATUS_OK;
}

enum status rows_trial_get(struct db_conn *conn, const struct task *task, int64_t trial, struct trial *out,
                           struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, task->caller->arena, &rows, err, SQL_TRIAL_GET, BIND(TEXT(task->id), INT(trial))));
    const struct row_trial *row = row_trial(&rows);
    return row != NULL ? rows_trial(row, out, err)
                       : error_set(err, STATUS_NOT_FOUND, "trial_not_found", "/trial", "there is no trial %lld",
                                   (long long)trial);
}

enum status rows_refuse(const struct trial *trial, const char *code, struct error *err)
{
    return error_set(err, STATUS_CONFLICT, code, "", "trial %lld is %s", (long long)trial->number,
                     trial_state_names[trial->state]);
}

enum status rows_check_lease(const struct trial *trial, int64_t lease, bool is_needed, struct error *err)
{
    bool        is_free = trial->state == TRIAL_QUEUED && trial->lease > 0;
    const char *path = lease == 0 ? "" : "/lease";
    if (is_free && is_needed)
        (void)error_set(err, STATUS_CONFLICT, "lease_lost", path, "trial %lld is queued again: no worker holds it",
                        (long long)trial->number);
    else if (lease == trial->lease || (lease == 0 && !(trial->is_taken_over && is_needed)))
        return STATUS_OK;
    else
        (void)error_set(err, STATUS_CONFLICT, "lease_lost", path,
                        lease == 0
                            ? "trial %lld was handed to another worker meanwhile: its lease.id is required as lease"
                            : "trial %lld is not held under this lease any more",
                        (long long)trial->number);
    if (err != NULL)
        err->next = study_next_evaluate; // another one
    return STATUS_CONFLICT;
}

bool rows_grow(struct arena *arena, void **items, size_t len, size_t *room, size_t item_bytes)
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
        bool has_room = rows_grow(rows.arena, &trials, *len, &room, sizeof **out);
        rows.status =
            has_room ? rows_trial(row_trial(&rows), (struct trial *)trials + *len, err) : error_no_memory(err);
    }
    *out = trials;
    return db_done(&rows);
}

enum status rows_curve(struct db_conn *conn, const struct task *task, struct trial *trial, struct error *err)
{
    void          *points = NULL;
    size_t         room = 0, *len = &trial->curve_len;
    struct db_rows rows = db_query(conn, task->caller->arena, err, SQL_MEASUREMENT_LIST,
                                   BIND(TEXT(task->id), INT(trial->number), INT(trial->lease)));
    for (*len = 0; db_next(&rows); ++*len) {
        const struct row_measurement *row = row_measurement(&rows);
        if (rows_grow(task->caller->arena, &points, *len, &room, sizeof(struct curve_point)))
            ((struct curve_point *)points)[*len] = (struct curve_point){
                .step = row->step, .at_ms = row->at_ms, .value = row->value, .values = row->outcome.bytes};
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
