/* Proposals for studies of one metric without infeasible trials: one Gaussian process (gp_model) of the values.  A part
 * of policy_gp, which brings the first points and the log.
 * The model is made anew from the log for each proposal, with the hyper-parameters of the last note in the log; they are
 * fitted again, and leave as a note, on the schedule of gp_schedule.h.
 * Under log-ei three searches follow each other until one finds what is worth a trial: for an upper confidence bound with
 * a quarter of the customary beta in a trust region, which promises a gain over the best that matters (gp_schedule, and
 * GAIN_OF_NOISE standard deviations of the noise); for log-EI there, an expected improvement that does; and for
 * log-EI everywhere.  With few values log-EI alone goes too far from what is known, and a rugged function is only
 * learnt where trials are close to each other.  Every INSIST_EVERY-th trial is the bound's in any case, unless values
 * are noisy; models with more than GREEDY_ROWS rows do without it otherwise. */
#ifndef GNOMON_ENGINE_SINGLE_OBJECTIVE_H
#define GNOMON_ENGINE_SINGLE_OBJECTIVE_H

#include "engine/acquisition/acq.h"
#include "engine/bo/gp_study.h"

struct single_objective_rule {
    const struct kernel_kind *kernel;
    enum acq_kind             acquisition;
    double                    beta; /* of ACQ_UCB; NaN: acq_beta */
};
struct single_objective {
    struct gp_study             *study;
    struct single_objective_rule rule;
    struct gp_record             record; /* the last one of the log */
};

MUST_CHECK enum status single_objective_open(struct gp_study *study, const struct single_objective_rule *rule,
                                             struct single_objective *own, struct error *err);

/* Reads the note of an event that the study has been told. */
void single_objective_tell(struct single_objective *own, const struct event *event);

/* The proposal of the model in view, the space with what the ask holds; at least one trial is observed, and
 * gp_study_begin was called.  out is only changed when there is one.
 * Errors: NO_MEMORY, NUMERIC, CONFLICT "search_space_exhausted". */
MUST_CHECK enum status single_objective_ask(struct single_objective *own, const struct ask *ask,
                                            const struct space *view, struct proposal *out, struct error *err);

/* The model given every value, without pending trials; gp_study_begin was called.  Errors: NO_MEMORY, NUMERIC. */
MUST_CHECK enum status single_objective_model(struct single_objective *own, struct gp_model *model, struct error *err);

#endif
