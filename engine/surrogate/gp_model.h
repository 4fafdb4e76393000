/* From a study's trials to a Gaussian process and back: which rows are used, transformed values, hyper-parameters,
 * pending points.  A pure function of (log, recorded fit).
 *
 * Rows come in the order in which their trials finished.  The first `base` of them are those the fit knew: the
 * transform of the values is made from them, and they are factored at once; later rows are appended one by one.  So a
 * factor that was kept (gp_cache) and one that is made anew are the same bit by bit.
 * Observed values v become y = (v / unit - centre) / spread, mean 0 and standard deviation 1 on the base (more where a
 * penalty would make the deviation; 0 when all are equal), and then z by the warp of the fit.  Before that, a few values
 * that lie far beyond the others are brought nearer (value_limits), and where values may be in doubt
 * (trial_log_doubts) those that are count for nothing.  An infeasible trial counts as the
 * worst value seen.  Values that are to lie in a band are modelled as they are: no warp bends them, none is in doubt.
 * Pending trials stand with values drawn from their joint posterior (Snoek, Larochelle & Adams 2012, one draw for each
 * proposal), and as if these were free of noise: a second measurement there is worth nothing until the first is in.
 * Draws of many workers differ, so that not all of them go to where the mean is best, and a draw of the function given
 * them is one of the posterior without them: parallel Thompson sampling (Kandasamy et al. 2018).  A search for the
 * greatest gain does better with near_mean: a value that luck has raised sends it after gains that are not there.
 * Failed trials (those that failed by chance: gp_failure.h) stand with the posterior mean as their value: means stay as they are, variances shrink there.  A failed
 * trial says nothing about its point, but without this the same point would come next.  An abandoned trial does not
 * count.  One observed outside the space is a row as any other, but neither an anchor nor the best.
 * Beyond MODEL_ROWS_MAX, or limit, the base is a third each of: the best, the most recent, the nearest to the best. */
#ifndef GNOMON_ENGINE_GP_MODEL_H
#define GNOMON_ENGINE_GP_MODEL_H

#include "engine/gp/gp_fit.h"
#include "engine/math/rng.h"
#include "engine/policy/trial_log.h"

#include <math.h>

enum { MODEL_ROWS_MAX = 2000, MODEL_FIT_ROWS_MAX = 256, MODEL_PENDING_MAX = 500, MODEL_ANCHORS = 5 };

/* Which coordinates of the unit cube share a length-scale: those of one parameter.  group_of [dims] out. */
void gp_model_groups(const struct space *space, size_t *group_of);

/* The factor of the last proposal.  Dropping it changes nothing but time. */
struct gp_cache {
    struct arena arena;
    struct gp    gp;
    size_t       rows, base; /* of gp: real rows, and how many of them were factored at once; 0: empty */
    double       noise;      /* variance, before it was raised */
    size_t       limit_bytes;
};
void gp_cache_drop(struct gp_cache *cache);

/* The places in a log with the largest keys, largest first; all 0: none. */
struct gp_anchors {
    size_t len, place[MODEL_ANCHORS];
    double key[MODEL_ANCHORS];
};
void gp_anchors_keep(struct gp_anchors *anchors, size_t place, double key);

struct gp_model {
    const struct space     *space;
    const struct trial_log *log;
    struct gp_cache        *cache;
    struct arena           *scratch; /* everything of the model but gp lies here */
    size_t                  skipped; /* finished trials that are left out, from the first on; fitted counts the rest */
    size_t                  limit;   /* rows instead of MODEL_ROWS_MAX, if there shall be fewer; 0 */
    bool                    doubts;  /* whether values may be in doubt (trial_log_doubts) */
    bool          is_robust;      /* a few of the worst values may not make the spread; nor may penalties otherwise */
    bool          near_mean;      /* pending trials' values are drawn at a part of their deviations */
    const double *trend;          /* [log->len] what a fit lets all values have besides (gp_data); NULL: nothing */
    const struct trial_log *told; /* the log as it was told, where log is another; or NULL */
    double drift, now;            /* what log's values were freed of, per time, up to now (gp_drift.h); 0: nothing */
    double from;                  /* of a step, which drift then is; 0: of none */
    /* set by gp_model_rows */
    double              above, below;  /* values beyond are in doubt, and count for nothing; infinite: none is */
    size_t              again;         /* the place of a trial whose point is to be measured again; log->len: none */
    size_t              n, base;       /* observed and infeasible trials in use; those known to the fit */
    size_t             *row;           /* [n] places in the log */
    double             *X, *y, *noise; /* [n][dims], [n], [n] variances beyond the noise variance */
    double              unit, centre, spread;
    struct value_limits limits; /* values beyond count as these; of all values, base or not */
    /* set by gp_model_condition */
    struct warp       warp;
    double           *z, *warped_noise; /* [n] */
    struct gp        *gp;               /* lies in the cache */
    size_t            settled;          /* rows of gp before those of pending trials */
    double           *alpha;            /* [settled] its weights without them */
    double            best;    /* largest worth of a posterior mean, or drawn value, at a point tried, in units of z */
    struct gp_anchors anchors; /* the best observed points by posterior mean */
    struct band       band;    /* log->band in units of z, its middle once a mean lies in it; low NaN: none */
};

/* Selects and standardises as many rows as fit into the limits of cache and scratch; fitted: how many values the fit
 * knew, 0 or more than there are: all.  At least one trial is observed.  Errors: NO_MEMORY. */
MUST_CHECK enum status gp_model_rows(struct gp_model *model, size_t fitted, struct error *err);

/* MAP estimate of theta on the base (every k-th of its rows when there are more than MODEL_FIT_ROWS_MAX).
 * Errors: NO_MEMORY. */
MUST_CHECK enum status gp_model_fit(struct gp_model *model, const struct gp_fit *fit, const double *warm, double *theta,
                                    struct error *err);

/* The log posterior density of theta that a fit of these rows maximises.  Errors: NO_MEMORY. */
MUST_CHECK enum status gp_model_likelihood(struct gp_model *model, const struct gp_fit *fit, const double *theta,
                                           double *value, struct error *err);

/* z and warped_noise from y, by a warp of the strength log_a. */
void gp_model_warp(struct gp_model *model, double log_a);

/* The posterior given the rows, and the failed and pending trials if there is a stream for the values of these; NULL:
 * without them.  When the matrix cannot be factored, the noise variance is raised by factors of 100 up to that of the
 * values.  Errors: NO_MEMORY, NUMERIC. */
MUST_CHECK enum status gp_model_condition(struct gp_model *model, const struct gp_fit *fit, const double *theta,
                                          struct rng *pending, struct error *err);

/* gp as it would be without the pending trials; a view of it. */
struct gp gp_model_settled(const struct gp_model *model);

/* Whether the value of row k is in doubt: the row then has so much noise that it says nothing. */
bool gp_model_is_doubted(const struct gp_model *model, size_t k);

/* A value in units of z. */
double gp_model_standard(const struct gp_model *model, double value);

/* The variance of all noise at row k, in units of z. */
double gp_model_noise_at(const struct gp_model *model, size_t k);

/* How good z is: itself, or minus its distance from the band. */
static inline double gp_model_worth(const struct gp_model *model, double z)
{
    return isnan(model->band.low) ? z : band_worth(&model->band, z);
}

/* The value of a trial as the model takes it, one far beyond the others brought nearer. */
double gp_model_limited(const struct gp_model *model, double value);

/* The posterior mean at row k, in units of z; no kernel is evaluated. */
double gp_model_mean_at(const struct gp_model *model, size_t k);

/* Median and standard deviation (by the slope at the median) in the units of the observations; *observed, unless NULL:
 * that of a value measured there, noise included. */
void gp_model_units(const struct gp_model *model, double *mean, double *sd, double *observed);

#endif
