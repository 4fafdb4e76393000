/* stop_when.not_worth_it: whether a study goes on when another trial is expected to gain hardly anything. */
#ifndef GNOMON_SERVICE_STUDY_WORTH_H
#define GNOMON_SERVICE_STUDY_WORTH_H

#include "service/store/task.h"

/* Over when worth_trials times the expected gain was below the limit WORTH_STATES times in a row: now, and when the last
 * trials were suggested, which recorded it (what several workers asked between two results counts once).  One look is not
 * enough: the next value may teach the model better.  What was recorded before a correction, a growth of the space or a
 * reopening does not count.  The limit is the rule's gain, or its share of what was won: the best value less the median of
 * the first WORTH_FIRST; with fewer there is none.
 * False while the gain is not known, and without the rule. */
enum { WORTH_STATES = 5, WORTH_FIRST = 8 };
MUST_CHECK enum status worth_is_over(struct db_conn *conn, const struct task *task, const struct gain *now, bool *out,
                                     struct error *err);

#endif
