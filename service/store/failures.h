/* After how many failures a study ends, and why its trials fail.  A program that fails everywhere for the same reason is taken to be
 * broken; one that is out of memory, or fails for several reasons, may work elsewhere, which algorithms look for. */
#ifndef GNOMON_SERVICE_STORE_FAILURES_H
#define GNOMON_SERVICE_STORE_FAILURES_H

#include "service/store/task.h"

enum { FAILURES_LOOKED_AT = 100, FAILURES_REASONS = 5 };

/* After how many failures in a row the study ends whatever the reasons; RULES_NEVER: never.  Unless stop_when says it: while no trial
 * has a value 20, and with more than two parameters 4 for each and 12, up to 50; then 50. */
int64_t failures_allowed(const struct study *study);

/* Whether the study ends before that: no trial has a value, ten failed in a row, all that failed did so for the same reason, and
 * that is not memory.  Reads failed trials only where this depends on them. */
MUST_CHECK enum status failures_are_alike(struct db_conn *conn, const struct task *task, bool *out, struct error *err);

/* As JSON text, {"in_a_row": n, "allowed": n or null, "reasons": [{"reason", "trials", "last", "out_of_memory"}, ...]}: the
 * commonest reasons of the last FAILURES_LOOKED_AT failed trials, the commonest first, by their first lines.  Reasons that differ
 * in digits alone are one.  NULL when no trial failed. */
MUST_CHECK enum status failures_get(struct db_conn *conn, const struct task *task, const char **out, struct error *err);

#endif
