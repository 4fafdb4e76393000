/* See tally.h. */
#include "service/store/tally.h"

#include "service/app/steady.h"
#include "service/codec/codec_trial.h"
#include "service/store/rows.h"

#include <math.h>
#include <string.h>

/* ---- the cost ---- */

static bool costs_seconds(const struct task *task)
{
    const char *name = task->study.rules.cost_of;
    return name != NULL && strcmp(name, RULES_COST_SECONDS) == 0;
}

/* The cost by these values; NaN when they have none. */
static double cost_of_values(const struct task *task, double value, const double *values)
{
    const struct spec *spec = &task->study.spec;
    const char        *name = task->study.rules.cost_of;
    size_t             k = 0;
    if (name == NULL || costs_seconds(task))
        return (double)NAN;
    while (k < spec_metrics_all(spec) && strcmp(spec->metrics[k].name, name) != 0)
        k++;
    if (values != NULL)
        return k < spec_metrics_all(spec) ? values[2 * k] : (double)NAN;
    return k == spec->first ? value : (double)NAN;
}

static double cost_of_seconds(const struct task *task, double seconds)
{
    return costs_seconds(task) ? seconds : (double)NAN;
}

static double or_nothing(double cost)
{
    return isnan(cost) ? 0 : cost;
}

/* The cost of a trial: by its values, or by the last values that had a cost. */
static enum status cost_of_trial(struct db_conn *conn, const struct task *task, const struct trial *trial, double *out,
                                 struct error *err)
{
    double cost = cost_of_values(task, trial->value, trial->values);
    if (isnan(cost) && trial->corrected_ms > 0) {
        struct db_rows rows = db_query(conn, task->caller->arena, err, SQL_CORRECTIONS_OF_TRIAL,
                                       BIND(TEXT(task->id), INT(trial->number)));
        while (isnan(cost) && db_next(&rows))
            cost = cost_of_values(task, row_correction(&rows)->value, row_correction(&rows)->outcome.bytes);
        TRY(db_done(&rows));
    }
    *out = or_nothing(cost) + or_nothing(cost_of_seconds(task, trial->said.duration_seconds));
    return STATUS_OK;
}

enum status tally_cost(struct db_conn *conn, struct task *task, struct error *err)
{
    struct arena  *arena = task->caller->arena;
    struct db_rows rows =
        db_query(conn, arena, err, SQL_TRIAL_LIST, BIND(TEXT(task->id), INT(0), TEXT(""), INT(INT64_MAX)));
    task->study.tally.cost = 0;
    for (struct arena_mark mark = arena_mark(arena); db_next(&rows); arena_release(arena, mark)) {
        struct trial trial;
        double       cost = 0;
        rows.status = rows_trial(row_trial(&rows), &trial, err);
        if (rows.status == STATUS_OK && !trial.is_imported)
            rows.status = cost_of_trial(conn, task, &trial, &cost, err);
        task->study.tally.cost += cost;
    }
    return db_done(&rows);
}

/* ---- ends ---- */

static bool has_run(enum trial_state state)
{
    return state == TRIAL_COMPLETED || state == TRIAL_INFEASIBLE || state == TRIAL_STOPPED;
}

static bool is_counted(const struct task *task, const struct trial *trial)
{
    return !trial->is_imported && trial->ended > task->study.tally.counted_from;
}

void tally_end(struct task *task, const struct trial *trial, const struct trial_end *end)
{
    struct tally *tally = &task->study.tally;
    bool          has_failed = end->state == TRIAL_FAILED;
    if (trial->is_imported)
        return;
    tally->cost += or_nothing(cost_of_values(task, end->item->value, end->item->values)) -
                   or_nothing(cost_of_values(task, trial->value, trial->values));
    if (end->state == TRIAL_ABANDONED)
        return;
    tally->failures += has_failed;
    tally->failures -= trial->state == TRIAL_FAILED && is_counted(task, trial); // a value that was late
    tally->failures_in_a_row = has_failed ? tally->failures_in_a_row + 1 : 0;
    bool is_try = has_run(end->state) && !has_run(trial->state); // what lies outside was no attempt to be better
    tally->since_best += is_try && !codec_is_outside(&task->study.spec, trial->point);
}

enum status tally_resume(struct db_conn *conn, struct task *task, const struct trial *trial, struct error *err)
{
    if (!trial->is_imported)
        task->study.tally.cost -= or_nothing(cost_of_values(task, trial->value, trial->values));
    return tally_best(conn, task, err);
}

void tally_annotated(struct task *task, const struct trial *trial, double before_seconds)
{
    double seconds = trial->said.duration_seconds;
    if (!trial->is_imported)
        task->study.tally.cost +=
            or_nothing(cost_of_seconds(task, seconds)) - or_nothing(cost_of_seconds(task, before_seconds));
}

enum status tally_best(struct db_conn *conn, struct task *task, struct error *err)
{
    struct tally  *tally = &task->study.tally;
    struct db_rows rows = db_query(conn, NULL, err, SQL_STUDY_SINCE_BEST,
                                   BIND(TEXT(task->id), INT(tally->counted_from), INT(task->study.best_trial)));
    tally->since_best = 0;
    while (db_next(&rows))
        tally->since_best += !codec_is_outside(&task->study.spec, row_trial_place(&rows)->point.bytes);
    return db_done(&rows);
}

enum status tally_correct(struct db_conn *conn, struct task *task, const struct trial *before,
                          const struct trial *after, struct error *err)
{
    struct tally  *tally = &task->study.tally;
    struct db_rows rows;
    double         was, is;
    TRY(tally_best(conn, task, err));
    if (before->is_imported)
        return STATUS_OK;
    TRY(cost_of_trial(conn, task, before, &was, err));
    TRY(cost_of_trial(conn, task, after, &is, err));
    tally->cost += is - was;
    if ((before->state == TRIAL_FAILED) == (after->state == TRIAL_FAILED) || !is_counted(task, after))
        return STATUS_OK;
    tally->failures += after->state == TRIAL_FAILED ? 1 : -1;
    TRY(db_find(conn, NULL, &rows, err, SQL_STUDY_FAILURES_IN_A_ROW, BIND(TEXT(task->id), INT(tally->counted_from))));
    tally->failures_in_a_row = row_count(&rows)->count;
    return STATUS_OK;
}

void tally_anew(struct task *task)
{
    struct tally *tally = &task->study.tally;
    tally->since_best = tally->failures = tally->failures_in_a_row = 0;
    tally->counted_from = task->study.revision;
}

/* ---- the time ---- */

int64_t tally_time_ends(const struct task *task)
{
    const struct tally *tally = &task->study.tally;
    int64_t             budget_ms = 1000 * task->study.rules.budget_seconds, left_ms = budget_ms - tally->used_ms;
    return tally->since_ms == 0 || budget_ms == 0 ? 0 : tally->since_ms + (left_ms > 0 ? left_ms : 0);
}

void tally_time(struct task *task, bool is_over)
{
    const struct study *study = &task->study;
    struct tally       *tally = &task->study.tally;
    int64_t             now_ms = steady_ms(task->app);
    bool                has_begun = study->trials_total > study->imported + study->trials[TRIAL_QUEUED];
    bool                runs = study->state == STUDY_ACTIVE && has_begun;
    if (runs && tally->since_ms == 0)
        tally->since_ms = now_ms;
    if (!runs && tally->since_ms > 0) {
        tally->used_ms += now_ms - tally->since_ms;
        tally->since_ms = 0;
    }
    int64_t time_ends = tally_time_ends(task);
    tally->ends_ms = is_over && study->state == STUDY_ACTIVE ? now_ms : time_ends;
    tally->ends_at_ms = time_ends == 0 ? 0 : time_ends + steady_shift_ms(task->app);
}
