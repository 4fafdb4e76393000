/* The acquisition function of one model as acq_search sees it. */
#ifndef GNOMON_ENGINE_GP_TARGET_H
#define GNOMON_ENGINE_GP_TARGET_H

#include "engine/acquisition/acq.h"
#include "engine/surrogate/gp_model.h"

struct gp_target {
    struct gp_model *model;
    struct acq       acq;
    struct rng       rng;  /* Thompson */
    double          *work; /* [3 n + 2 dims] */
};

/* Standard deviation of what the model takes for noise, beyond the traces that a fit leaves. */
double gp_target_noise_sd(const struct gp_model *model);

/* Log-EI over the model's best value. */
struct acq gp_target_log_ei(const struct gp_model *model);

/* Room for work.  model is conditioned.  Errors: NO_MEMORY. */
MUST_CHECK enum status gp_target_init(struct gp_target *target, struct error *err);

/* arg: a gp_target; otherwise as in struct acq_search. */
MUST_CHECK enum status gp_target_scores(void *arg, const double *U, size_t m, double *out, struct error *err);
double                 gp_target_slope(void *arg, const double *u, double *gradient);

#endif
