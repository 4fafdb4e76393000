/* The policy is asked for a plan's proposals, in a slot; internal to suggest.c.  The session's lock is held. */
#ifndef GNOMON_SERVICE_STUDY_SUGGEST_ASK_H
#define GNOMON_SERVICE_STUDY_SUGGEST_ASK_H

#include "service/suggest/suggest_claim.h"

/* The fixed values of proposal i, from 0; NULL: none. */
const double *plan_fixed(const struct plan *plan, size_t i);
/* Announces the price of so many proposals, before the lock. */
MUST_CHECK enum status plan_announce(const struct plan *plan, int64_t count, struct error *err);
/* Fills plan->resumed, where the study goes on with stopped trials: at most so many.  The session's curves then have them as
 * running, which the log is to say, or the session is forgotten. */
MUST_CHECK enum status plan_ask_rule(struct plan *plan, int64_t count, struct error *err);
/* Asks for the expected gain of another trial; plan->end is PLAN_NOT_WORTH when that is not worth it. */
MUST_CHECK enum status plan_ask_gain(struct plan *plan, struct error *err);
/* Fills plan->fresh.  A space with nothing left ends the list, and so does the end of the time for all of them; that is an
 * error only if the list is then empty.  What was being made when the time ended is not a proposal. */
MUST_CHECK enum status plan_propose(struct plan *plan, int64_t count, struct error *err);
/* As plan_propose for trials to be queued: all of plan->part, or none. */
MUST_CHECK enum status plan_propose_part(struct plan *plan, struct error *err);

#endif
