/* Trials that failed, and what they say of their places.
 * Whether they failed by chance is found by trying again: at the 1st, 4th, 16th ... place that failed its trial is proposed once
 * more.  If at least as many of these have a value now as have failed twice, failures are chance, and say nothing; otherwise a
 * place that failed counts as infeasible.  All this is a function of the log.
 * The trend is a logistic regression of "has a value" on the coordinates and, of numbers on a linear scale, their logarithms:
 * on logarithmic scales a product of numbers is a straight line.  It goes on beyond what was tried, which a Gaussian process
 * does not. */
#ifndef GNOMON_ENGINE_GP_FAILURE_H
#define GNOMON_ENGINE_GP_FAILURE_H

#include "engine/policy/trial_log.h"

/* Failed trials of the log become LOG_INFEASIBLE or LOG_FAILED, and log->regional says how many are the former.  The place in
 * the log of the trial that is to be tried once more, log->len: none.  O(failed trials times len). */
size_t gp_failure_settle(struct trial_log *log);

/* Whether a point failed at least twice.  O(len). */
bool gp_failure_is_twice(const struct trial_log *log, const double *point);

struct gp_trend {
    const struct space *space;
    double             *weights; /* [1 + 2 dims]: of 1, of u - 1/2, of logarithms; NULL: the trend is 0 */
};

/* The maximum of the posterior given the log's rows, each weight but the first N(0, 10^2).  Lies in arena.  NULL weights where the
 * space has more than 200 coordinates.  Errors: NO_MEMORY, NUMERIC. */
MUST_CHECK enum status gp_trend_fit(const struct space *space, const struct trial_log *log, struct arena *arena,
                                    struct gp_trend *out, struct error *err);

/* P(has a value) - 1/2 at u [dims]; times weight its derivatives are added to gradient [dims], unless NULL. */
double gp_trend_at(const struct gp_trend *trend, const double *u, double weight, double *gradient);

#endif
