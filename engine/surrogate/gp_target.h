/* The acquisition function of one model as acq_search sees it. */
#ifndef GNOMON_ENGINE_GP_TARGET_H
#define GNOMON_ENGINE_GP_TARGET_H

#include "engine/acquisition/acq.h"
#include "engine/surrogate/gp_model.h"

/* Forecasts of a chunk of points, at most GP_CHUNK. */
struct gp_forecasts {
    double *U, *mean, *var; /* [n][dims], [n], [n] */
    size_t  n;              /* 0: not made yet */
};

/* When the searches of a box score the same points one after the other, the first of them are forecast once: each search
 * begins with next = 0. */
struct gp_target {
    struct gp_model    *model;
    struct acq          acq;
    struct rng          rng;            /* Thompson */
    double             *work;           /* [3 n + 2 dims] */
    struct gp_forecasts kept[2];        /* in the order of a search */
    size_t              kept_len, next; /* 0 until gp_target_keep; which of kept comes next */
};

/* Standard deviation of what the model takes for noise, beyond the traces that a fit leaves. */
double gp_target_noise_sd(const struct gp_model *model);

/* Log-EI over the model's best value. */
struct acq gp_target_log_ei(const struct gp_model *model);

/* Room for work.  model is conditioned.  Errors: NO_MEMORY. */
MUST_CHECK enum status gp_target_init(struct gp_target *target, struct error *err);

/* Room for forecasts that later searches take over.  Errors: NO_MEMORY. */
MUST_CHECK enum status gp_target_keep(struct gp_target *target, struct error *err);

/* arg: a gp_target; otherwise as in struct acq_search. */
MUST_CHECK enum status gp_target_scores(void *arg, const double *U, size_t m, double *out, struct error *err);
double                 gp_target_slope(void *arg, const double *u, double *gradient);

#endif
