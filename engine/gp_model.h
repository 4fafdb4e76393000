/* From a study's trials to a Gaussian process and back: which rows are used, standardised values, hyper-parameters,
 * pending points.  A pure function of (log, hyper-parameters): nothing is kept between proposals, because a
 * factorisation costs less than the search that follows it.
 *
 * Observed values v become y = (v / unit - centre) / spread: mean 0 and standard deviation 1 (or 0 when all are equal).
 * An infeasible trial counts as the worst value seen.  Pending trials, and failed ones, stand with the posterior mean
 * as their value (kriging believer): means stay as they are, variances shrink there.  A failed trial says nothing
 * about its point, but without this the same point would come next.  An abandoned trial does not count.
 * Beyond rows_max observations the model sees a third each of: the best, the most recent, the nearest to the best. */
#ifndef GNOMON_ENGINE_GP_MODEL_H
#define GNOMON_ENGINE_GP_MODEL_H

#include "engine/gp_fit.h"
#include "engine/trial_log.h"

enum { MODEL_ROWS_MAX = 2000, MODEL_FIT_ROWS_MAX = 400, MODEL_PENDING_MAX = 500, MODEL_ANCHORS = 5 };

/* Which coordinates of the unit cube share a length-scale: those of one parameter.  group_of [dims] out. */
void gp_model_groups(const struct space *space, size_t *group_of);

struct gp_model {
    const struct space     *space;
    const struct trial_log *log;
    struct arena           *scratch; /* everything of the model lies here */
    /* set by gp_model_rows */
    size_t  n;             /* observed and infeasible trials in use */
    size_t *row;           /* [n] places in the log, ascending */
    double *X, *y, *noise; /* [n][dims], [n], [n] variances beyond the noise variance */
    double  unit, centre, spread;
    /* set by gp_model_condition */
    struct gp gp;
    double    best;                   /* largest posterior mean at an observed or pending point, standardised */
    size_t    anchors[MODEL_ANCHORS]; /* places in the log of the best observed points, best first */
    size_t    anchors_len;
};

/* Selects and standardises.  At least one trial is observed.  Errors: NO_MEMORY. */
MUST_CHECK enum status gp_model_rows(struct gp_model *model, const struct space *space, const struct trial_log *log,
                                     size_t memory_bytes, struct arena *scratch, struct error *err);

/* MAP estimate of theta on the rows (every k-th of them when there are more than MODEL_FIT_ROWS_MAX).
 * Errors: NO_MEMORY. */
MUST_CHECK enum status gp_model_fit(struct gp_model *model, const struct gp_fit *fit, const double *warm, double *theta,
                                    struct error *err);

/* The posterior given the rows, and the pending trials if wanted.  When the matrix cannot be factored, the noise
 * variance is raised by factors of 100 up to that of the values.  Errors: NO_MEMORY, NUMERIC. */
MUST_CHECK enum status gp_model_condition(struct gp_model *model, const struct gp_fit *fit, const double *theta,
                                          bool with_pending, struct error *err);

/* Mean and standard deviation in the units of the observations. */
double gp_model_mean(const struct gp_model *model, double mean);
double gp_model_sd(const struct gp_model *model, double sd);

#endif
