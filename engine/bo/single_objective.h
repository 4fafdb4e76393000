/* Proposals for studies of one metric without infeasible trials: one Gaussian process (gp_model) of the values.  A part
 * of policy_gp, which brings the first points and the log.
 * Under log-ei three searches follow each other until one finds what is worth a trial: for an upper confidence bound with
 * a quarter of the customary beta in a trust region, which promises a gain over the best that matters (GAIN of gp_schedule.c,
 * and GAIN_OF_NOISE of gp_bound.c standard deviations of the noise); for log-EI there, an expected improvement that does; and for
 * log-EI everywhere.  With few values log-EI alone goes too far from what is known, and a rugged function is only
 * learnt where trials are close to each other.  Every INSIST_EVERY-th trial is the bound's in any case, unless values are
 * noisy; models with more than GREEDY_ROWS rows do without it otherwise.  Where values have steps (gp_steps.h) the third
 * search is the only one. */
#ifndef GNOMON_ENGINE_SINGLE_OBJECTIVE_H
#define GNOMON_ENGINE_SINGLE_OBJECTIVE_H

#include "engine/acquisition/acq.h"
#include "engine/bo/gp_single.h"

struct single_objective_rule {
    const struct kernel_kind *kernel;
    enum acq_kind             acquisition;
    double                    beta; /* of ACQ_UCB; NaN: acq_beta */
};
struct single_objective {
    struct gp_single             single;
    struct single_objective_rule rule;
};

MUST_CHECK enum status single_objective_open(struct gp_study *study, const struct single_objective_rule *rule,
                                             struct single_objective *own, struct error *err);

/* The proposal of the model in view, the space with what the ask holds; at least one trial is observed, and
 * gp_study_begin was called.  out is only changed when there is one.
 * Errors: NO_MEMORY, NUMERIC, CONFLICT "search_space_exhausted". */
MUST_CHECK enum status single_objective_ask(struct single_objective *own, const struct ask *ask,
                                            const struct space *view, struct proposal *out, struct error *err);

/* The expected gain (gp_gain.h) of the next trial, by the recorded fit and without what is pending; otherwise as
 * single_objective_ask. */
MUST_CHECK enum status single_objective_gain(struct single_objective *own, const struct ask *ask,
                                             const struct space *view, struct gain *out, struct error *err);

#endif
