/* The model's view of the function: importances, slices, leave-one-out residuals.  All of it is read, nothing is stored, and
 * the model is the one that the next suggestion would use (without pending trials). */
#ifndef GNOMON_SERVICE_STUDY_INSIGHT_H
#define GNOMON_SERVICE_STUDY_INSIGHT_H

#include "engine/math/sensitivity.h"
#include "service/app/app.h"
#include "service/model/study.h"

enum { INSIGHT_PARAMS_MAX = 100, SLICE_AXIS_MAX = 1000, SLICE_POINTS_MAX = 10000 };

/* The quantity asked for: the metric's value, or the probability that a trial there is feasible: that every constraint holds
 * and the trial has values at all, each by its own model, taken for independent.  CONFLICT "no_constraints" when there is
 * nothing that a trial could violate. */
enum quantity { QUANTITY_VALUE, QUANTITY_FEASIBILITY };
extern const char *const insight_quantity_names[];

/* Sobol' indices of the posterior mean, every parameter uniform on its scale.  Errors of all three: CONFLICT
 * "no_model", "no_observations"; of importances and slices of candidates: CONFLICT "no_parameters". */
struct importances {
    struct study              study;
    struct sensitivity_result result;
    enum quantity             quantity; /* set by the caller */
    size_t                    metric;
    int64_t                   revision, observations;
};
/* CONFLICT "too_many_parameters" beyond INSIGHT_PARAMS_MAX. */
MUST_CHECK enum status insight_importances(struct app *app, struct caller *caller, const char *id, const char *metric,
                                           struct importances *out, struct error *err);

/* Posterior over a grid of one or two parameters, the others as in a trial. */
struct slice_request {
    const char *x, *y;  /* names; y NULL: one parameter */
    int64_t     points; /* of an axis, at most; all values of a categorical; 0: 50, or 20 with two parameters */
    int64_t     trial;  /* 0: the best; of several objectives the feasible trial with the best value of the metric; when
                           none is feasible, of those that violate the fewest constraints */
    const char *metric; /* or NULL */
    enum quantity quantity;
};
struct slice {
    struct study  study;
    size_t        axes, param[2], len[2];
    double       *grid[2];                 /* [len] */
    double       *mean, *sd, *sd_observed; /* [len[0]][len[1]]; NaN where the grid leaves the space */
    const double *point;                   /* [params_len] the trial's */
    enum quantity quantity;                /* FEASIBILITY: mean is the probability, the deviations are NaN */
    size_t        metric;
    int64_t       trial, revision, observations;
};
/* INVALID "unknown_parameter" (path "/x" or "/y"), "bad_combination", "out_of_range" (path "/points": the grid is too
 * large); NOT_FOUND "trial_not_found". */
MUST_CHECK enum status insight_slice(struct app *app, struct caller *caller, const char *id,
                                     const struct slice_request *request, struct slice *out, struct error *err);

/* Every completed trial in the model, predicted by the model of the others; the metric's own units and sign. */
struct residuals {
    struct study     study;
    size_t           metric;
    struct residual *items;
    size_t           len;
    double           log_density;              /* mean over the trials */
    double           rms;                      /* of value - mean */
    double           coverage_68, coverage_95; /* part of the trials whose value lies in the central interval */
    int64_t          revision, observations;
};
MUST_CHECK enum status insight_residuals(struct app *app, struct caller *caller, const char *id, const char *metric,
                                         struct residuals *out, struct error *err);

struct predict_request {
    const double *points;
    const size_t *rows; /* or NULL */
    size_t        len;
    const char   *metric; /* NULL: the first objective */
    enum quantity quantity;
};
struct predict_reply {
    double     *mean, *sd, *sd_observed;
    double     *feasible; /* constraints: the probability that the metric is within its bounds; otherwise NULL */
    size_t      metric;
    int64_t     revision, observations;
    const char *diagnostics; /* of the model, as codec_diagnostics makes it; or NULL */
};
/* FEASIBILITY: mean is the probability, the deviations are NaN, and there are no diagnostics.
 * Posterior at points [len][space_point_len], or at rows (graph: sites) [len].
 * CONFLICT "no_model", "no_observations"; INVALID "unknown_metric". */
MUST_CHECK enum status insight_predict(struct app *app, struct caller *caller, const char *study,
                                       const struct predict_request *request, struct predict_reply *out,
                                       struct error *err);

#endif
