/* See worth.h. */
#include "service/suggest/worth.h"

#include "engine/base/numbers.h"
#include "service/codec/codec_trial.h"

#include <math.h>
#include <stdlib.h>

enum { LOOK_BACK = 1000 }; /* trials: as many may be suggested between five results */

/* The median of the first values; NaN while there are fewer. */
static enum status find_first(struct db_conn *conn, const struct task *task, double *median, struct error *err)
{
    double         first[WORTH_FIRST] = {0};
    size_t         len = 0;
    struct db_rows rows = db_query(conn, NULL, err, SQL_TRIAL_FIRST_VALUES, BIND(TEXT(task->id), INT(WORTH_FIRST)));
    while (db_next(&rows))
        first[len++] = row_best(&rows)->value;
    qsort(first, len, sizeof *first, numbers_order);
    *median = len < WORTH_FIRST ? NAN : 0.5 * (first[WORTH_FIRST / 2 - 1] + first[WORTH_FIRST / 2]);
    return db_done(&rows);
}

/* Finds the limit of the gain; NaN: there is none, and nothing is below it. */
static enum status find_limit(struct db_conn *conn, const struct task *task, double *limit, struct error *err)
{
    const struct study *study = &task->study;
    const struct rules *rules = &study->rules;
    double              median;
    *limit = rules->worth_gain;
    if (isnan(rules->worth_share))
        return STATUS_OK;
    TRY(find_first(conn, task, &median, err));
    if (study->best_trial > 0)
        *limit = rules->worth_share * (spec_worth(&study->spec, study->best_value) - spec_worth(&study->spec, median));
    return STATUS_OK;
}

enum status worth_is_over(struct db_conn *conn, const struct task *task, const struct gain *now, bool *out,
                          struct error *err)
{
    const struct study *study = &task->study;
    double              limit, trials = (double)study->rules.worth_trials;
    struct gain         gain = *now;
    int64_t             since = study->space_revision;
    *out = false;
    if (!rules_ask_worth(&study->rules) || isnan(now->expected))
        return STATUS_OK;
    TRY(find_limit(conn, task, &limit, err));
    if (study->tally.counted_from > since)
        since = study->tally.counted_from;
    int            states = trials * gain.expected < limit;
    struct db_rows rows = db_query(conn, NULL, err, SQL_TRIAL_DIAGNOSED,
                                   BIND(TEXT(task->id), INT(study->trials_total - LOOK_BACK), INT(since)));
    while (states > 0 && states < WORTH_STATES && db_next(&rows)) {
        struct gain before;
        rows.status = codec_diagnostics_gain(row_detail(&rows)->detail, &before, err);
        if (rows.status != STATUS_OK || isnan(before.expected) || before.finished >= gain.finished)
            continue;
        gain = before;
        states = trials * gain.expected < limit ? states + 1 : 0;
    }
    *out = states == WORTH_STATES;
    return db_done(&rows);
}
