/* Incumbents, reference points and weights. */
#include "engine/bo/several_acquisition.h"

#include "engine/acquisition/pareto.h"
#include "engine/bo/several_front.h"
#include "engine/surrogate/gp_context.h"
#include "engine/math/rng.h"

#include <math.h>
#include <string.h>

/* Once a trial was infeasible every fourth looks elsewhere, unless the search is inside.  Of two or three objectives all
 * others aim at the volume, but every eighth at an end of the front, since parts of it that lie apart are out of sight of the
 * reference point.  Of four the boxes would be too many.  Where every objective has a threshold the end is where it is, and
 * all trials aim at the volume; of four, while there are few places above the thresholds. */
enum { EVERY = 4, END_EVERY = 8, VOLUME_OBJECTIVES_MAX = 3, VOLUME_PLACES_MAX = 128 };
static const double GREEDY_SD = 0.1;
static const double EVEN = 0.2;  /* of the directions: the larger the more alike */
static const double END = 1e-3;  /* of an end: what the other objectives weigh */
static const double FLOOR = 0.3; /* beside a trend, which would leave no doubt of anything */
static const double FAR = 1e6;   /* a threshold counts as no farther, in spreads of the values */

/* Places of the log that the acquisition function starts from: observed, or pending with a guess of their values. */
struct known {
    const struct space *view; /* the space with what the ask holds */
    size_t              len;
    size_t             *place;       /* [len] */
    double             *f;           /* [len][objectives] what posterior means are worth */
    bool               *is_observed; /* [len] */
    bool               *is_best;     /* [len] of several objectives: that no other dominates */
};

/* f [log.len], stride apart := posterior means at the rows of the model; in its context, where there are any. */
static enum status fill_rows(const struct gp_model *model, const struct space *view, double *f, size_t stride,
                             struct error *err)
{
    struct arena_mark mark = arena_mark(model->scratch);
    double           *mean = ARENA_NEW(model->scratch, double, model->n);
    if (mean == NULL)
        return error_no_memory(err);
    if (space_has_context(view))
        TRY(gp_context_means(model, view, mean, err));
    else
        for (size_t k = 0; k < model->n; k++)
            mean[k] = gp_model_mean_at(model, k);
    for (size_t k = 0; k < model->n; k++)
        f[model->row[k] * stride] = mean[k];
    arena_release(model->scratch, mark);
    return STATUS_OK;
}

/* f [log.len][parts] := posterior means at the rows of the models and at the pending points, observed objectives that a
 * model has no row of as they are, NaN elsewhere: where there is a limit to rows, each model has rows of its own, and the
 * front would lose what only some of them have. */
static enum status fill_means(struct several *own, const struct space *view, double *f, size_t parts, struct error *err)
{
    const struct trial_log *log = &own->parts[0].log;
    struct arena           *scratch = &own->parts[0].memory.scratch;
    size_t                  dims = view->dims, len = view->params_len, waiting = 0;
    double                 *u = ARENA_NEW(scratch, double, dims), *point = ARENA_NEW(scratch, double, len), var;
    bool                    has_context = space_has_context(view);
    if (u == NULL || point == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < log->len * parts; i++)
        f[i] = NAN;
    for (size_t p = 0; p < parts; p++)
        TRY(fill_rows(&own->parts[p].model, view, f + p, parts, err));
    for (size_t i = 0; i < log->len * parts; i++)
        if (!has_context && isnan(f[i]) && i % parts < own->objectives && log->trials[i / parts].state == LOG_OBSERVED)
            f[i] = gp_model_standard(&own->parts[i % parts].model, own->parts[i % parts].log.trials[i / parts].value);
    for (size_t i = log->len; i-- > 0 && waiting < MODEL_PENDING_MAX;) {
        bool is_known = own->parts[own->len].log.trials[i].state == LOG_OBSERVED;
        if (is_known || (log->trials[i].state != LOG_PENDING && log->trials[i].state != LOG_FAILED))
            continue;
        memcpy(point, trial_log_point(log, i), len * sizeof *point);
        if (has_context)
            gp_context_move(view, point);
        space_encode(view, point, u);
        for (size_t p = 0; p < parts; p++)
            TRY(gp_posterior(own->parts[p].model.gp, (struct points){u, 1}, &f[i * parts + p], &var, scratch, err));
        waiting++;
    }
    for (size_t i = 0; i < log->len && parts > own->len; i++) {
        memcpy(point, trial_log_point(log, i), len * sizeof *point);
        if (has_context)
            gp_context_move(view, point);
        space_encode(view, point, u);
        f[i * parts + own->len] += several_trend(own, u, 0.0, NULL);
    }
    return STATUS_OK;
}

/* Feasible as observed, or as far as the means of a pending trial go, or in its context those of any.  Of an observed one
 * the constraints' models need no row: where there is a limit to rows, each model has rows of its own. */
static bool is_usable(const struct several *own, const struct acq_several *acq, const double *f, size_t place,
                      size_t parts)
{
    enum log_state state = own->parts[0].log.trials[place].state;
    bool           is_observed = state == LOG_OBSERVED && !space_has_context(own->study->base.problem->space);
    if (state == LOG_CONTEXT || state == LOG_FORECAST || (is_observed && !several_is_feasible(own, place)))
        return false;
    for (size_t p = 0; p < (is_observed ? own->objectives : parts); p++)
        if (isnan(f[p]) || (p >= own->objectives && f[p] < acq->bound[p]))
            return false;
    return true;
}

static enum status find_known(struct several *own, const struct space *view, const struct acq_several *acq,
                              size_t parts, struct known *known, struct error *err)
{
    const struct trial_log *log = &own->parts[0].log;
    struct arena           *scratch = &own->parts[0].memory.scratch;
    double                 *f = arena_alloc(scratch, log->len, parts * sizeof *f);
    known->f = arena_alloc(scratch, log->len, own->objectives * sizeof *f);
    known->place = ARENA_NEW(scratch, size_t, log->len);
    known->is_observed = ARENA_NEW(scratch, bool, log->len);
    known->is_best = ARENA_NEW(scratch, bool, log->len);
    known->view = view;
    if (f == NULL || known->f == NULL || known->place == NULL || known->is_observed == NULL || known->is_best == NULL)
        return error_no_memory(err);
    TRY(fill_means(own, view, f, parts, err));
    for (size_t i = 0; i < log->len; i++) {
        if (!is_usable(own, acq, f + i * parts, i, parts))
            continue;
        known->place[known->len] = i;
        known->is_observed[known->len] = log->trials[i].state == LOG_OBSERVED;
        for (size_t p = 0; p < own->objectives; p++)
            known->f[known->len * own->objectives + p] = gp_model_worth(&own->parts[p].model, f[i * parts + p]);
        known->len++;
    }
    return own->objectives == 1 ? STATUS_OK
                                : pareto_front(known->f, known->len, own->objectives, known->is_best, scratch, err);
}

/* Weights of a scalarisation.  Their inverses are uniform on the simplex (except where a weight would become too large):
 * then the point of the front that maximises it lies in a uniformly distributed direction from the ideal point.  One
 * trial of END_EVERY takes the direction of an end of the front instead. */
static void draw_direction(size_t m, uint64_t trial, struct rng *rng, double *direction)
{
    double total = 0.0;
    for (size_t k = 0; k < m; k++) {
        direction[k] = 1.0 / (EVEN - log1p(-rng_uniform(rng)));
        if (trial % END_EVERY == 0)
            direction[k] = k == trial / END_EVERY % m ? 1.0 : END;
        total += direction[k];
    }
    for (size_t k = 0; k < m; k++)
        direction[k] /= total;
}

/* reference [objectives]: the threshold of each that has one, in the units of its model.  Returns whether all have. */
static bool put_thresholds(const struct several *own, double *reference)
{
    const double *thresholds = own->study->base.problem->thresholds;
    bool          has_all = thresholds != NULL;
    for (size_t k = 0; k < own->objectives && thresholds != NULL; k++) {
        const struct gp_model *model = &own->parts[k].model;
        double                 given = thresholds[own->metric_of[k]];
        double                 y = fmax(-FAR, fmin(FAR, (given / model->unit - model->centre) / model->spread));
        has_all = has_all && !isnan(given);
        if (!isnan(given))
            reference[k] = model->log->band == NULL
                               ? warp_value(&model->warp, y)
                               : fmax(-FAR, given / model->unit / model->spread / model->warp.scale);
    }
    return has_all;
}

/* reference [objectives]: the thresholds, or where the front ends. */
static enum status put_reference(struct several *own, const struct known *known, const struct ask *ask,
                                 const struct acq_several *acq, double *reference, struct error *err)
{
    struct arena             *scratch = &own->parts[0].memory.scratch;
    const struct space       *view = known->view;
    double                   *point = ARENA_NEW(scratch, double, view->params_len);
    struct several_front_task task = {.own = own, .ask = ask, .view = view, .bound = acq->bound};
    if (put_thresholds(own, reference))
        return STATUS_OK;
    task.u = arena_alloc(scratch, known->len, view->dims * sizeof *task.u);
    if (task.u == NULL || point == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < known->len; i++) {
        if (!known->is_best[i])
            continue;
        memcpy(point, trial_log_point(&own->parts[0].log, known->place[i]), view->params_len * sizeof *point);
        if (space_has_context(view))
            gp_context_move(view, point);
        space_encode(view, point, task.u + task.len++ * view->dims);
    }
    TRY(several_front_reference(&task, reference, err));
    (void)put_thresholds(own, reference);
    return STATUS_OK;
}

/* The volume above all that is known, and random places of the front to start from. */
static enum status aim_at_volume(struct several *own, const struct known *known, const struct ask *ask,
                                 struct acq_several *acq, struct gp_anchors *anchors, struct error *err)
{
    size_t        m = own->objectives, len = 0;
    struct arena *scratch = &own->parts[0].memory.scratch;
    struct rng    rng = rng_at(own->study->base.problem->seed, ask->trial, RNG_WEIGHTS);
    double       *front = arena_alloc(scratch, known->len, m * sizeof *front), reference[OBJECTIVES_MAX];
    if (front == NULL)
        return error_no_memory(err);
    TRY(put_reference(own, known, ask, acq, reference, err));
    for (size_t i = 0; i < known->len; i++) {
        if (known->is_observed[i])
            gp_anchors_keep(anchors, known->place[i], rng_uniform(&rng) - (known->is_best[i] ? 0.0 : 1.0));
        if (known->is_best[i])
            memcpy(front + len++ * m, known->f + i * m, m * sizeof *front);
    }
    acq->is_volume = true;
    return ehvi_init(&acq->ehvi, &(struct pareto_set){.values = front, .n = len, .m = m, .reference = reference},
                     scratch, err);
}

static bool is_wide(const struct several *own, const struct ask *ask)
{
    return several_active(own) > own->len && ask->trial % EVERY == 2 && !several_is_inside(own);
}

static bool is_for_volume(const struct several *own, const struct known *known, const struct ask *ask)
{
    size_t m = own->objectives, above = 0;
    double reference[OBJECTIVES_MAX];
    if (m < 2)
        return false;
    if (!put_thresholds(own, reference))
        return m <= VOLUME_OBJECTIVES_MAX && !is_wide(own, ask) && ask->trial % END_EVERY != 0;
    for (size_t i = 0; i < known->len; i++) {
        size_t k = 0;
        while (k < m && known->f[i * m + k] > reference[k])
            k++;
        above += k == m;
    }
    return !is_wide(own, ask) && (m <= VOLUME_OBJECTIVES_MAX || above <= VOLUME_PLACES_MAX);
}

/* In units of the extent of the front.  Of four objectives every other trial improves the scalarised posterior mean. */
static void scalarise(struct several *own, const struct known *known, const struct ask *ask, struct acq_several *acq)
{
    size_t     m = own->objectives;
    struct rng rng = rng_at(own->study->base.problem->seed, ask->trial, RNG_WEIGHTS);
    double     direction[OBJECTIVES_MAX];
    draw_direction(m, ask->trial, &rng, direction);
    for (size_t k = 0; k < m; k++) {
        double high, extent = several_front_extent(known->f, known->is_best, known->len, m, k, &high);
        acq->reference[k] = ask->trial % END_EVERY == 0 ? high + extent : high;
        acq->weight[k] = direction[k] / extent;
    }
    acq->reach = ask->trial % 2 == 1 ? ACQ_GREEDY : is_wide(own, ask) ? ACQ_WIDE : ACQ_EXPECTED;
    for (size_t s = 0; s < ACQ_SAMPLES; s++)
        for (size_t k = 0; k < m; k++)
            acq->samples[s][k] = acq->reach == ACQ_WIDE     ? ACQ_WIDE_SD
                                 : acq->reach == ACQ_GREEDY ? GREEDY_SD
                                 : s % 2 == 0               ? rng_normal(&rng)
                                                            : -acq->samples[s - 1][k];
}

/* Nothing feasible: the places that miss the bounds by least. */
static void rank_by_violation(const struct several *own, const struct acq_several *acq, struct gp_anchors *anchors)
{
    for (size_t i = 0; i < own->parts[0].log.len; i++) {
        double key = 0.0;
        if (own->parts[0].log.trials[i].state != LOG_OBSERVED)
            continue;
        for (size_t p = own->objectives; p < own->len; p++)
            key +=
                fmin(0.0, gp_model_standard(&own->parts[p].model, own->parts[p].log.trials[i].value) - acq->bound[p]);
        gp_anchors_keep(anchors, i, key);
    }
}

enum status several_acquisition(struct several *own, const struct ask *ask, const struct space *view,
                                struct acq_several *acq, struct gp_anchors *anchors, struct error *err)
{
    struct known known = {0};
    size_t       parts = several_active(own), worst, observed = 0;
    *anchors = (struct gp_anchors){0};
    *acq = (struct acq_several){.objectives = own->objectives,
                                .first = own->objectives,
                                .len = parts,
                                .best = -HUGE_VAL,
                                .beta = ACQ_WIDE_SD * ACQ_WIDE_SD};
    for (size_t p = 0; p < own->objectives; p++) {
        acq->band[p] = own->parts[p].model.band;
        acq->is_banded[p] = !isnan(acq->band[p].low);
    }
    for (size_t p = own->objectives; p < parts; p++)
        acq->bound[p] = gp_model_standard(&own->parts[p].model, 0.0);
    if (parts > own->len && own->study->log.regional > 0) {
        acq->floor = FLOOR / own->parts[own->len].model.unit / own->parts[own->len].model.spread;
        acq->is_demanded = !is_wide(own, ask);
    }
    TRY(find_known(own, view, acq, parts, &known, err));
    for (size_t i = 0; i < known.len; i++)
        observed += known.is_observed[i];
    if (observed == 0) {
        acq->objectives = 0;
        rank_by_violation(own, acq, anchors);
        return STATUS_OK;
    }
    if (is_for_volume(own, &known, ask))
        return aim_at_volume(own, &known, ask, acq, anchors, err);
    if (own->objectives == 1)
        acq->reach = is_wide(own, ask) ? ACQ_WIDE : ACQ_EXPECTED;
    else
        scalarise(own, &known, ask, acq);
    for (size_t i = 0; i < known.len; i++) {
        const double *f = known.f + i * own->objectives;
        double        key = own->objectives == 1 ? f[0] : acq_several_scalar(acq, f, &worst);
        acq->best = fmax(acq->best, key);
        if (known.is_observed[i])
            gp_anchors_keep(anchors, known.place[i], key);
    }
    return STATUS_OK;
}
