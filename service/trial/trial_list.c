/* Pages of trials: in several orders, of those that are asked for.  Each order has its index, and a page begins behind the
 * place at which the one before ended. */
#include "service/trial/trial.h"

#include "service/base/page.h"
#include "service/base/text.h"
#include "service/store/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a page ended: at a trial, with what it is ordered by; or among those that have not got that (is_tail). */
struct place {
    int64_t number;
    double  key;
    bool    is_tail;
};

struct work {
    struct task                task;
    const struct trial_filter *filter;
    struct place               from, after; /* from: where the page begins */
    int64_t                    limit;
    size_t                     tail_from; /* where in the page those begin that have no place in the order */
    struct trial_page         *out;
};

/* tail: those without a place in the order are in one of these states. */
#define STATE(name) (INT64_C(1) << TRIAL_##name)
static const struct {
    enum sql page[2]; /* upwards, downwards */
    int64_t  tail;
} orders[TRIAL_ORDER_COUNT] = {
    [TRIAL_ORDER_NUMBER] = {.page = {SQL_TRIALS_NUMBER, SQL_TRIALS_NUMBER_DOWN}},
    [TRIAL_ORDER_VALUE] = {.page = {SQL_TRIALS_VALUE, SQL_TRIALS_VALUE_DOWN}, .tail = ~STATE(COMPLETED)},
    [TRIAL_ORDER_FINISHED] = {.page = {SQL_TRIALS_FINISHED, SQL_TRIALS_FINISHED_DOWN},
                              .tail = STATE(QUEUED) | STATE(RUNNING)},
    [TRIAL_ORDER_UPDATED] = {.page = {SQL_TRIALS_UPDATED, SQL_TRIALS_UPDATED_DOWN}},
};
static const enum sql of_state[2] = {SQL_TRIALS_OF_STATE, SQL_TRIALS_OF_STATE_DOWN};
static const enum sql of_worker[2] = {SQL_TRIALS_OF_WORKER, SQL_TRIALS_OF_WORKER_DOWN};

/* ---- places ---- */

static struct place start(bool is_down)
{
    return (struct place){.number = is_down ? INT64_MAX : 0, .key = is_down ? INFINITY : -INFINITY};
}

static enum status read_place(const struct trial_filter *filter, struct place *out, struct error *err)
{
    long long number = 0;
    int       tail = 0, used = 0;
    *out = start(filter->is_down);
    if (filter->cursor == NULL)
        return STATUS_OK;
    if (sscanf(filter->cursor, "%18lld:%1d:%40lf%n", &number, &tail, &out->key, &used) != 3 || number <= 0 ||
        filter->cursor[used] != '\0')
        return page_bad(err);
    out->number = number;
    out->is_tail = tail != 0;
    return STATUS_OK;
}

/* ---- reading ---- */

/* Appends trials to the page. */
static enum status append(struct db_conn *conn, struct work *work, enum sql sql, int64_t states, int64_t most,
                          struct error *err)
{
    struct trial_page         *out = work->out;
    const struct trial_filter *filter = work->filter;
    struct arena              *arena = work->task.caller->arena;
    char                       names[TEXT_NAMES_BYTES];
    struct trial_page          more;
    struct db_values           values = BIND(
                  TEXT(work->task.id), TEXT(text_names(trial_state_names, states, names)), TEXT(text_or_empty(filter->worker)),
                  TEXT(text_or_empty(filter->external_id)), INT(filter->updated_since_ms), INT(work->after.number), INT(most),
                  TEXT(text_or_empty(filter->labels[0])), TEXT(text_or_empty(filter->labels[1])),
                  TEXT(text_or_empty(filter->labels[2])), TEXT(text_or_empty(filter->labels[3])), REAL(work->after.key));
    values.len = strlen(sql_table[sql].parameters); // by number alone: without a key
    TRY(rows_trials(db_query(conn, arena, err, sql, values), &more.trials, &more.len, err));
    struct trial *all = ARENA_NEW(arena, struct trial, out->len + more.len + 1);
    if (all == NULL)
        return error_no_memory(err);
    if (out->len > 0)
        memcpy(all, out->trials, out->len * sizeof *all);
    if (more.len > 0)
        memcpy(all + out->len, more.trials, more.len * sizeof *all);
    out->trials = all;
    out->len += more.len;
    return STATUS_OK;
}

static int upwards(const void *a, const void *b)
{
    int64_t left = ((const struct trial *)a)->number, right = ((const struct trial *)b)->number;
    return (left > right) - (left < right);
}

static int downwards(const void *a, const void *b)
{
    return upwards(b, a);
}

/* Reads by state, each of which has its part of an index: of each as many as the whole page could need. */
static enum status read_states(struct db_conn *conn, struct work *work, int64_t states, struct error *err)
{
    struct trial_page *out = work->out;
    const size_t       from = out->len;
    const int64_t      most = work->limit + 1 - (int64_t)from;
    bool               is_down = work->filter->is_down;
    for (int state = 0; state < TRIAL_STATE_COUNT; state++)
        if (states >> state & 1)
            TRY(append(conn, work, of_state[is_down], INT64_C(1) << state, most, err));
    if (out->len > from)
        qsort(out->trials + from, out->len - from, sizeof *out->trials, is_down ? downwards : upwards);
    return STATUS_OK;
}

/* Reads in the order asked for, then the trials that have no place in it. */
static enum status read_order(struct db_conn *conn, struct work *work, struct error *err)
{
    const struct trial_filter *filter = work->filter;
    const int64_t              asked = filter->states == 0 ? -1 : filter->states;
    if (!work->after.is_tail)
        TRY(append(conn, work, orders[filter->order].page[filter->is_down], filter->states, work->limit + 1, err));
    if (orders[filter->order].tail == 0 || (int64_t)work->out->len > work->limit)
        return STATUS_OK;
    work->tail_from = work->out->len;
    if (!work->after.is_tail)
        work->after = start(filter->is_down);
    return read_states(conn, work, orders[filter->order].tail & asked, err);
}

static enum status read_page(struct db_conn *conn, struct work *work, struct error *err)
{
    const struct trial_filter *filter = work->filter;
    if (filter->external_id != NULL) {
        work->after = start(false);
        return append(conn, work, SQL_TRIALS_OF_EXTERNAL_ID, filter->states, 1, err);
    }
    if (filter->order == TRIAL_ORDER_NUMBER && filter->worker != NULL)
        return append(conn, work, of_worker[filter->is_down], filter->states, work->limit + 1, err);
    if (filter->order == TRIAL_ORDER_NUMBER && filter->states != 0)
        return read_states(conn, work, filter->states, err);
    return read_order(conn, work, err);
}

/* ---- the page ---- */

static enum status find_key(struct db_conn *conn, const struct work *work, const struct trial *trial, double *key,
                            struct error *err)
{
    struct db_rows rows;
    *key = work->filter->order == TRIAL_ORDER_VALUE ? trial->value : (double)trial->finished_ms;
    if (work->filter->order != TRIAL_ORDER_UPDATED)
        return STATUS_OK;
    TRY(db_find(conn, NULL, &rows, err, SQL_TRIAL_CHANGED, BIND(TEXT(work->task.id), INT(trial->number))));
    *key = row_count(&rows) == NULL ? 0 : (double)row_count(&rows)->count;
    return STATUS_OK;
}

static enum status end_page(struct db_conn *conn, struct work *work, struct error *err)
{
    struct trial_page *out = work->out;
    double             key;
    if ((int64_t)out->len <= work->limit)
        return STATUS_OK;
    out->len = (size_t)work->limit;
    const struct trial *last = &out->trials[out->len - 1];
    TRY(find_key(conn, work, last, &key, err));
    out->next_cursor =
        text_format(work->task.caller->arena, "%lld:%d:%a", (long long)last->number, out->len > work->tail_from, key);
    return out->next_cursor == NULL ? error_no_memory(err) : STATUS_OK;
}

static enum status list(struct db_conn *conn, void *arg, struct error *err)
{
    struct work       *work = arg;
    struct trial_page *out = work->out;
    *out = (struct trial_page){0};
    work->tail_from = SIZE_MAX;
    work->after = work->from;
    TRY(task_open(conn, &work->task, err));
    if (work->limit > (int64_t)trial_points_max(&work->task.study.spec.space))
        work->limit = (int64_t)trial_points_max(&work->task.study.spec.space);
    TRY(read_page(conn, work, err));
    TRY(end_page(conn, work, err));
    for (size_t i = 0; i < out->len && work->filter->with_curves; i++)
        TRY(rows_curve(conn, &work->task, &out->trials[i], err));
    return STATUS_OK;
}

enum status trial_list(struct app *app, struct caller *caller, const char *id, const struct trial_filter *filter,
                       struct trial_page *out, struct error *err)
{
    struct work work = {
        .task = task_of(app, caller, id), .filter = filter, .limit = page_limit(filter->limit), .out = out};
    TRY(read_place(filter, &work.from, err));
    return task_read(&work.task, list, err);
}
