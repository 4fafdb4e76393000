/* Counts of a study for its rules: struct tally, which task_save writes.  Trials that an import brought are not counted:
 * they ran elsewhere. */
#ifndef GNOMON_SERVICE_STORE_TALLY_H
#define GNOMON_SERVICE_STORE_TALLY_H

#include "service/store/task.h"

/* Counts the end of a trial, as it was before; its caller sets since_best back if it is the best trial. */
void tally_end(struct task *task, const struct trial *trial, const struct trial_end *end);
/* Undoes the end of a trial, as it was before, that goes on; the store has the change already. */
MUST_CHECK enum status tally_resume(struct db_conn *conn, struct task *task, const struct trial *trial,
                                    struct error *err);
/* Counts a change of a trial's members; before_seconds: its duration as known until then. */
void tally_annotated(struct task *task, const struct trial *trial, double before_seconds);
/* Another trial is the best one, which the store and the study know already. */
MUST_CHECK enum status tally_best(struct db_conn *conn, struct task *task, struct error *err);
/* Counts a correction or retraction, which is in the store already, as is the study's best.  Spending stays, unless another
 * value is the truth. */
MUST_CHECK enum status tally_correct(struct db_conn *conn, struct task *task, const struct trial *before,
                                     const struct trial *after, struct error *err);
/* The cost of all trials, when the rules name another. */
MUST_CHECK enum status tally_cost(struct db_conn *conn, struct task *task, struct error *err);
/* The counts of stop_when begin anew. */
void tally_anew(struct task *task);
/* The time of a study counts while it is active, from its first trial on.  When it is up; 0: never, or not yet known. */
int64_t tally_time_ends(const struct task *task);
/* ... and keeps it: the last count of a transaction.  is_over: by some rule. */
void tally_time(struct task *task, bool is_over);

#endif
