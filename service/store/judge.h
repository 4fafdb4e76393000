/* Which trials are feasible.  It is stored with each, since lists are read by it, and follows from the specification and
 * the log. */
#ifndef GNOMON_SERVICE_STORE_JUDGE_H
#define GNOMON_SERVICE_STORE_JUDGE_H

#include "service/store/task.h"

/* Judges all completed trials anew, after the space or the baseline's result has changed.  *has_changed: some are judged
 * otherwise; then the best is found anew, too. */
MUST_CHECK enum status judge_all(struct db_conn *conn, struct task *task, bool *has_changed, struct error *err);

#endif
