/* Proposals for studies of several metrics, or with infeasible trials: one Gaussian process (gp_model) for each metric
 * and, once a trial was infeasible, one for whether a trial has values at all (0.5 or -0.5, a constraint like the
 * others).  A part of policy_gp, which brings the initial design and the set of used points.
 * Each has its own fit and factor, and its own log of the trials: when there is one metric, made for each proposal from
 * that of policy_gp.  The fits leave together in one note.  A proposal is a function of
 * (problem, log, trial), as policy.h wants it. */
#ifndef GNOMON_ENGINE_POLICY_METRICS_H
#define GNOMON_ENGINE_POLICY_METRICS_H

#include "engine/finite.h"
#include "engine/gp_model.h"
#include "engine/policy.h"

struct metrics;
struct metrics_rule {
    enum kernel_kind        kind;
    const struct finite    *used;
    const struct trial_log *log;      /* of the session: enough to know when there is one metric */
    const size_t           *group_of; /* [dims] */
};

/* INVALID "not_supported" when the fits of so many metrics and parameters do not fit into a note. */
MUST_CHECK enum status metrics_check(const struct problem *problem, struct error *err);

/* Lies in kept, as does everything that outlives a proposal; rule is copied, what it points to outlives the session.
 * Errors: NO_MEMORY. */
MUST_CHECK enum status metrics_open(const struct problem *problem, const struct metrics_rule *rule, struct arena *kept,
                                    struct metrics **out, struct error *err);
MUST_CHECK enum status metrics_tell(struct metrics *metrics, const struct event *event, struct error *err);

/* True when one Gaussian process of the values would not do. */
bool metrics_is_needed(const struct metrics *metrics);

/* The proposal of the models in view, the space with what the ask holds; at least one trial is observed.  out is only changed when there is one.
 * Errors: NO_MEMORY, NUMERIC, BUSY "deadline", CONFLICT "search_space_exhausted". */
MUST_CHECK enum status metrics_ask(struct metrics *metrics, const struct ask *ask, const struct space *view,
                                   struct proposal *out, struct error *err);
/* The model of the first objective given every value, without pending trials; it lasts until metrics_end_model, which
 * is to be called in every case.  Errors: NO_MEMORY, NUMERIC. */
MUST_CHECK enum status metrics_begin_model(struct metrics *metrics, struct gp_model *model, struct error *err);
void                   metrics_end_model(struct metrics *metrics);
size_t                 metrics_bytes(const struct metrics *metrics); /* beyond kept */
void                   metrics_drop(struct metrics *metrics);        /* what lies outside kept; NULL is allowed */

#endif
