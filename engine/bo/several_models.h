/* The models of studies of several metrics, or with infeasible trials: one Gaussian process (gp_model) for each metric
 * and, once a trial was infeasible, one for whether a trial has values at all (0.5 or -0.5, a constraint like the
 * others).  Each has its own fit and factor, and its own log of the trials: when there is one metric, made for each
 * proposal from the study's.  The fits leave together in one note.  Knows nothing of acquisition. */
#ifndef GNOMON_ENGINE_SEVERAL_MODELS_H
#define GNOMON_ENGINE_SEVERAL_MODELS_H

#include "engine/acquisition/acq_several.h"
#include "engine/bo/gp_note.h"

enum { METRICS_PARTS_MAX = ACQ_METRICS_MAX };

struct metrics_part {
    struct trial_log log;
    struct gp_memory memory;
    struct gp_model  model; /* of the proposal being made */
    double          *work;  /* [3 n + 2 dims] of its gradients */
};

/* Parts 0 .. objectives - 1 are the objectives, then the constraints, then the one for infeasible trials. */
struct metrics {
    struct gp_study          *study;
    const struct kernel_kind *kernel;
    struct metrics_part      *parts;                        /* [len + 1] */
    size_t                    objectives, len;              /* len: without the last part */
    size_t                    metric_of[METRICS_PARTS_MAX]; /* which metric of the problem a part models */
    size_t                    shown;                        /* the part that metrics_model is of */
    struct gp_note            head;                         /* of the last recorded fits, and these */
    struct gp_record          records[METRICS_PARTS_MAX];
};

/* INVALID "not_supported" when the fits of so many metrics and parameters do not fit into a note. */
MUST_CHECK enum status metrics_check(const struct problem *problem, struct error *err);

/* Lies in study->kept, as does everything that outlives a proposal but the factors.  *out NULL on failure.
 * Errors: NO_MEMORY. */
MUST_CHECK enum status metrics_open(struct gp_study *study, const struct kernel_kind *kernel, struct metrics **out,
                                    struct error *err);
MUST_CHECK enum status metrics_tell(struct metrics *own, const struct event *event, struct error *err);
size_t                 metrics_bytes(const struct metrics *own); /* beyond kept */
void                   metrics_drop(struct metrics *own);        /* what lies outside kept; NULL is allowed */

/* How many parts are in use; one Gaussian process of the values does when it is one. */
size_t metrics_active(const struct metrics *own);

/* Which metric of the problem metrics_model is of from now on. */
void metrics_show(struct metrics *own, size_t metric);

/* begin, models, end: memory of the parts lasts until end, which is to be called in every case.  Errors: NO_MEMORY. */
MUST_CHECK enum status metrics_begin(struct metrics *own, struct error *err);
void                   metrics_end(struct metrics *own);

bool metrics_is_due(const struct metrics *own); /* new fits */

/* Observed, with no constraint violated. */
bool metrics_is_feasible(const struct metrics *own, size_t place);

/* The posterior of part p under the recorded fit, or a new one when is_due; theta [params_len + HYPER] out; pending as in
 * gp_model_condition.  Errors: NO_MEMORY, NUMERIC. */
MUST_CHECK enum status metrics_condition(struct metrics *own, size_t p, const struct ask *ask, bool is_due,
                                         struct rng *pending, double *theta, struct error *err);

/* theta of every part in use, as the note of out. */
void metrics_note(const struct metrics *own, double *const *theta, struct proposal *out);

/* A value of a part's metric in the units of its model. */
double metrics_standard(const struct gp_model *model, double value);

#endif
