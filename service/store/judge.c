/* See judge.h. */
#include "service/store/judge.h"

#include "service/codec/codec_trial.h"
#include "service/store/rows.h"

enum { BATCH = 500 };

struct judged {
    int64_t number;
    bool    is_feasible;
};

/* Judges a batch of trials behind *last; *last out: its last trial, 0 when there was none. */
static enum status judge_batch(struct db_conn *conn, const struct task *task, int64_t *last, bool *has_changed,
                               struct error *err)
{
    const struct spec *spec = &task->study.spec;
    struct judged      changed[BATCH];
    size_t             len = 0;
    struct db_rows rows = db_query(conn, NULL, err, SQL_TRIAL_OUTCOMES, BIND(TEXT(task->id), INT(*last), INT(BATCH)));
    *last = 0;
    while (db_next(&rows)) {
        const struct row_trial_outcome *row = row_trial_outcome(&rows);
        bool is_feasible = spec_is_feasible(spec, row->outcome.bytes) && !codec_is_outside(spec, row->point.bytes);
        *last = row->number;
        if (is_feasible != (row->feasible != 0))
            changed[len++] = (struct judged){.number = row->number, .is_feasible = is_feasible};
    }
    TRY(db_done(&rows));
    for (size_t i = 0; i < len; i++)
        TRY(db_exec(conn, NULL, err, SQL_TRIAL_JUDGE,
                    BIND(TEXT(task->id), INT(changed[i].number), INT(changed[i].is_feasible))));
    *has_changed = *has_changed || len > 0;
    return STATUS_OK;
}

enum status judge_all(struct db_conn *conn, struct task *task, bool *has_changed, struct error *err)
{
    int64_t last = 0;
    *has_changed = false;
    TRY(rows_baseline(conn, task->id, INT64_MAX, NULL, &task->study.spec, err)); // a batch gives its items' memory back
    do
        TRY(judge_batch(conn, task, &last, has_changed, err));
    while (last > 0);
    return *has_changed ? task_find_best(conn, task, err) : STATUS_OK;
}
