/* The trials that exist already, of which a plan takes what it can have; internal to suggest.c. */
#ifndef GNOMON_SERVICE_STUDY_SUGGEST_CLAIM_H
#define GNOMON_SERVICE_STUDY_SUGGEST_CLAIM_H

#include "service/suggest/suggest.h"

/* How many more trials the request is to have. */
int64_t plan_missing(const struct plan *plan);

/* Each adds trials to plan->out, within a transaction.  CONFLICT "fixed_conflict". */
MUST_CHECK enum status plan_take_own(struct db_conn *conn, struct plan *plan, struct error *err);
MUST_CHECK enum status plan_take_waiting(struct db_conn *conn, struct plan *plan, struct error *err);
MUST_CHECK enum status plan_take_stopped(struct db_conn *conn, struct plan *plan, struct error *err);
/* plan->waiting and plan->unfit. */
MUST_CHECK enum status plan_count_waiting(struct db_conn *conn, struct plan *plan, struct error *err);

enum status plan_fixed_conflict(struct error *err, int64_t trial, const char *what);

#endif
