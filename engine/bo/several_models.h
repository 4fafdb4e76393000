/* The models of studies of several metrics, or with infeasible trials: one Gaussian process (gp_model) for each metric
 * and, once a trial was infeasible, one for whether a trial has values at all (0.5 or -0.5, a constraint like the
 * others).  Each has its own fit and factor, and its own log of the trials: when there is one metric, made for each
 * proposal from the study's.  The fits leave together in one note.  Knows nothing of acquisition. */
#ifndef GNOMON_ENGINE_SEVERAL_MODELS_H
#define GNOMON_ENGINE_SEVERAL_MODELS_H

#include "engine/acquisition/acq_several.h"
#include "engine/surrogate/gp_failure.h"
#include "engine/surrogate/gp_note.h"

struct several_part {
    struct trial_log log;
    struct gp_memory memory;
    struct gp_model  model; /* of the proposal being made */
    double          *theta; /* [params_len + GP_SCALARS] under which it is conditioned */
    double          *work;  /* [3 n + 2 dims] of its gradients */
};

/* Parts 0 .. objectives - 1 are the objectives, then the constraints, then the one for infeasible trials. */
struct several {
    struct gp_study          *study;
    const struct kernel_kind *kernel;
    struct several_part      *parts;                      /* [len + 1] */
    size_t                    objectives, len;            /* len: without the last part */
    size_t                    metric_of[ACQ_METRICS_MAX]; /* which metric of the problem a part models */
    size_t                    shown;                      /* the part that several_model is of */
    struct gp_note            head;                       /* of the last recorded fits, and these */
    struct gp_record          records[ACQ_METRICS_MAX];
    struct gp_trend           trend; /* that the last part's values were freed of, in this proposal */
};

/* INVALID "not_supported" when the fits of so many metrics and parameters do not fit into a note. */
MUST_CHECK enum status several_check(const struct problem *problem, struct error *err);

/* Lies in study->base.kept, as does everything that outlives a proposal but the factors.  *out NULL on failure.
 * Errors: NO_MEMORY. */
MUST_CHECK enum status several_open(struct gp_study *study, const struct kernel_kind *kernel, struct several **out,
                                    struct error *err);
MUST_CHECK enum status several_tell(struct several *own, const struct event *event, struct error *err);
size_t                 several_bytes(const struct several *own); /* beyond kept */
void                   several_drop(struct several *own);        /* what lies outside kept; NULL is allowed */

/* How many parts are in use; one Gaussian process of the values does when it is one. */
size_t several_active(const struct several *own);

/* Which metric of the problem several_model is of from now on; beyond them the last part, and false while it is not in
 * use. */
bool several_show(struct several *own, size_t metric);

/* begin, models, end: memory of the parts lasts until end, which is to be called in every case.  is_search: failures that are
 * the fault of their places get a trend.  Errors: NO_MEMORY, NUMERIC. */
MUST_CHECK enum status several_begin(struct several *own, bool is_search, struct error *err);
void                   several_end(struct several *own);

bool several_is_due(const struct several *own); /* new fits */

/* Observed, with no constraint violated. */
bool several_is_feasible(const struct several *own, size_t place);

/* Whether less than an eighth of the finished trials were infeasible or beyond a constraint.  Then the search is inside, and
 * nothing that is better seems to lie behind them. */
bool several_is_inside(const struct several *own);

/* The posterior of part p under the recorded fit, or a new one when is_due; pending as in gp_model_condition.
 * Errors: NO_MEMORY, NUMERIC. */
MUST_CHECK enum status several_condition(struct several *own, size_t p, const struct ask *ask, bool is_due,
                                         struct rng *pending, struct error *err);

/* theta of every part in use, as the note of out. */
void several_note(const struct several *own, struct proposal *out);

/* The trend at u [dims] in the units of the last part, and gp_trend_at's gradient. */
double several_trend(const struct several *own, const double *u, double weight, double *gradient);

#endif
