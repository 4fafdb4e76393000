/* Proposals for studies of several metrics, or with infeasible trials: the acquisition function over all of their models.
 * A part of policy_gp, which brings the first points and the log.  A proposal is a function of (problem, log, trial), as
 * policy.h wants it. */
#ifndef GNOMON_ENGINE_SEVERAL_SEARCH_H
#define GNOMON_ENGINE_SEVERAL_SEARCH_H

#include "engine/bo/several_models.h"

/* The proposal of the models in view, the space with what the ask holds; at least one trial is observed.  out is only
 * changed when there is one.  Errors: NO_MEMORY, NUMERIC, CONFLICT "search_space_exhausted". */
MUST_CHECK enum status several_ask(struct several *own, const struct ask *ask, const struct space *view,
                                   struct proposal *out, struct error *err);
/* The expected gain (gp_gain.h) of the next trial in one objective, times the probability that it is feasible, by the
 * recorded fits and without what is pending.  out stays while nothing feasible is known, and for several objectives.
 * Errors: as several_ask. */
MUST_CHECK enum status several_gain(struct several *own, const struct ask *ask, const struct space *view,
                                    struct gain *out, struct error *err);
/* The model of the metric that is shown (several_show) given every value, without pending trials; it lasts until
 * several_end, which is to be called in every case.  Errors: NO_MEMORY, NUMERIC. */
MUST_CHECK enum status several_model(struct several *own, struct gp_model *model, struct error *err);

#endif
