/* A study as the algorithms that learn from earlier ones see it: a Gaussian process over points of the target's
 * space, and the units of its values.  The target is such a task too, made anew for each proposal.
 *   value = centre + spread y      y: the unit in which tasks are compared and combined
 *   y     = shift + scale z        z: what the process models; mean 0, standard deviation 1 unless told otherwise
 * Knows nothing of weights, logs or proposals. */
#ifndef GNOMON_ENGINE_TRANSFER_TASK_H
#define GNOMON_ENGINE_TRANSFER_TASK_H

#include "engine/gp/gp_fit.h"

enum { TRANSFER_TASK_FIT_ROWS = 100 };

/* The parts of a model that all tasks of a session share. */
struct transfer_model {
    struct gp_fit fit;  /* kernel, groups of coordinates */
    double        unit; /* length-scales of a theta are in this many units of the coordinates */
};

struct transfer_task {
    size_t    n;
    double   *X;     /* [n][dims] */
    double   *z;     /* [n] */
    double   *noise; /* [n] variances of z beyond the noise variance, or NULL */
    double   *theta; /* [groups + GP_SCALARS] */
    bool     *lacks; /* [dims] coordinates that it lacks, along which its process is constant; or NULL */
    double    centre, spread, shift, scale;
    bool      has_theta, is_ready, is_broken; /* broken: cannot be factored; it counts for nothing */
    struct gp gp;                             /* once ready */
};

static inline double transfer_task_y(const struct transfer_task *task, size_t i)
{
    return task->shift + task->scale * task->z[i];
}

/* theta := the MAP estimate from up to TRANSFER_TASK_FIT_ROWS rows, spread evenly, rounded to single precision.
 * A function of the task alone.  Errors: NO_MEMORY. */
MUST_CHECK enum status transfer_task_fit(struct transfer_task *task, const struct transfer_model *model,
                                         const double *warm, struct arena *scratch, struct error *err);

/* Factors the task with its theta, raising the noise when it must; room for more rows than n may be asked for.
 * Errors: NO_MEMORY.  A matrix that cannot be factored makes it broken, which is no error.  O(n^3/3). */
MUST_CHECK enum status transfer_task_ready(struct transfer_task *task, const struct transfer_model *model, size_t room,
                                           struct arena *arena, struct error *err);

/* Posterior mean and standard deviation in y at U [m][dims].  Errors: NO_MEMORY.  O(n^2 m). */
MUST_CHECK enum status transfer_task_posterior(const struct transfer_task *task, struct points U, double *mean,
                                               double *sd, struct arena *scratch, struct error *err);

/* As transfer_task_posterior at one point, with gradients: out->dvar is of the standard deviation.  work [3 n].  O(n^2). */
double transfer_task_slope(const struct transfer_task *task, const double *u, double *work, struct gp_slope *out);

#endif
