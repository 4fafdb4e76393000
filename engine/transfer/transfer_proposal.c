/* Proposals of the algorithms that learn from earlier studies: the models are brought up to date, the rule weighs them,
 * and the acquisition function is maximised, by acq_search over parameters and by looking at every row of candidates.
 * Pending and failed trials stand with their means in every model that takes part (kriging believer); the earlier
 * studies forget them afterwards.  A note leaves with every proposal of the models. */
#include "engine/transfer/transfer.h"

#include "engine/base/numbers.h"
#include "engine/acquisition/acq_search.h"
#include "engine/gp/gp_loo.h"
#include "engine/math/mat.h"
#include "engine/transfer/transfer_session.h"
#include "engine/math/sobol.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { FEATURES = 120 /* D.5 */, BLOCK = 256, ANCHORS_MAX = 5 };
static const double FACTOR_MIN = 1e-9;

/* ---- one ask ---- */

/* A function drawn from a task: value = factor (shift + scale phi'omega). */
struct drawn {
    const struct rff *rff;
    double           *omega, weight;
};

struct asking {
    struct session      *s;
    const struct ask    *ask;
    struct transfer_view view;
    struct transfer_task target;
    bool                 fits;                    /* the target's hyper-parameters are new */
    size_t              *active, active_len;      /* [earlier_len + 1] tasks with a factor */
    size_t               pending;                 /* rows appended to every active task of parameters */
    double              *mean, *sd, *dmean, *dsd; /* [earlier_len + 1] at one point */
    double              *work, *gradients;        /* slopes: [3 n + ..], [2 dims] */
    struct drawn        *drawn;                   /* [active_len], or NULL */
    double               constant;                /* what drawn functions leave out */
};

static struct transfer_task *task_at(struct asking *a, size_t i)
{
    return i < a->s->base.problem->earlier_len ? &a->s->task[i] : &a->target;
}

/* ---- weighing ---- */

/* The first values are the initial ones, whoever chose their points; after them one counts if the study asked for it. */
static void count_rounds(const struct session *s, struct transfer_view *view)
{
    double initial = s->base.problem->options[TRANSFER_INITIAL], seen = 0.0;
    for (size_t i = 0; i < s->log.len; i++) {
        const struct log_trial *trial = &s->log.trials[i];
        if (trial->state != LOG_OBSERVED || seen++ < initial)
            continue;
        view->rounds += !trial->is_given;
        view->has_given = view->has_given || trial->is_given;
    }
}

static enum status init_view(struct asking *a, struct error *err)
{
    struct session *s = a->s;
    struct arena   *scratch = &s->base.scratch;
    size_t          len = s->base.problem->earlier_len, k = len + 1, largest = a->target.n;
    for (size_t i = 0; i < len; i++)
        largest = s->task[i].n > largest ? s->task[i].n : largest;
    double *arrays = ARENA_NEW(scratch, double, 10 * k);
    a->active = ARENA_NEW(scratch, size_t, k);
    a->work = ARENA_NEW(scratch, double, 3 * (largest + TRANSFER_PENDING) + 2 * FEATURES);
    a->gradients = arena_alloc(scratch, k, 2 * s->dims * sizeof(double));
    if (arrays == NULL || a->active == NULL || a->work == NULL || a->gradients == NULL)
        return error_no_memory(err);
    a->mean = arrays, a->sd = arrays + k, a->dmean = arrays + 2 * k, a->dsd = arrays + 3 * k;
    a->view = (struct transfer_view){.problem = s->base.problem,
                                     .trial = a->ask->trial,
                                     .len = len,
                                     .observations = s->log.count[LOG_OBSERVED],
                                     .tried = trial_log_tried(&s->log),
                                     .task = s->task,
                                     .target = &a->target,
                                     .seen = s->seen,
                                     .nu = s->nu,
                                     .sums = arrays + 4 * k,
                                     .gaps = arrays + 5 * k,
                                     .weights = arrays + 6 * k,
                                     .factors = arrays + 7 * k,
                                     .widths = arrays + 8 * k,
                                     .bests = arrays + 9 * k,
                                     .scratch = scratch};
    count_rounds(s, &a->view);
    for (size_t i = 0; i < len; i++) {
        a->view.sums[i] = s->sums[i];
        a->view.gaps[i] = NAN;
    }
    return STATUS_OK;
}

/* Predicts the study's own points by every earlier study, for the rules that compare orders. */
static enum status predict_points(struct asking *a, struct error *err)
{
    struct session *s = a->s;
    size_t          n = a->target.n, len = s->base.problem->earlier_len;
    double *y = ARENA_NEW(&s->base.scratch, double, n), *mean = arena_zalloc(&s->base.scratch, len * n, sizeof *mean);
    double *sd = arena_zalloc(&s->base.scratch, len * n, sizeof *sd);
    if (y == NULL || mean == NULL || sd == NULL)
        return error_no_memory(err);
    for (size_t j = 0; j < n; j++)
        y[j] = transfer_task_y(&a->target, j);
    for (size_t i = 0; i < len && n > 0; i++)
        if (!s->task[i].is_broken)
            TRY(transfer_task_posterior(&s->task[i], (struct points){a->target.X, n}, mean + i * n, sd + i * n,
                                        &s->base.scratch, err));
    a->view.y = y;
    a->view.point_mean = mean;
    a->view.point_sd = sd;
    return STATUS_OK;
}

/* A broken task counts for nothing; when nothing is left, the study's own counts alone. */
static void choose_active(struct asking *a)
{
    size_t len = a->s->base.problem->earlier_len;
    for (size_t i = 0; i <= len; i++) {
        bool is_used = fabs(a->view.factors[i]) > FACTOR_MIN && !task_at(a, i)->is_broken;
        if (is_used)
            a->active[a->active_len++] = i;
    }
    if (a->active_len > 0)
        return;
    a->view.factors[len] = 1.0;
    a->active[a->active_len++] = len;
}

static enum status weigh(struct asking *a, struct error *err)
{
    struct session *s = a->s;
    TRY(transfer_session_ready(s, a->ask, err));
    TRY(transfer_session_target(s, a->ask, &a->target, &a->fits, err));
    if (a->target.is_broken)
        return error_set(err, STATUS_NUMERIC, "singular", "", "the study's own model cannot be factored");
    TRY(init_view(a, err));
    if (s->rule->wants_points)
        TRY(predict_points(a, err));
    TRY(s->rule->weigh(&a->view, err));
    choose_active(a);
    return STATUS_OK;
}

/* ---- pending trials ---- */

/* Pending trials as if their values, the posterior means, were known; failed ones as measured. */
static enum status append_one(struct gp *gp, const double *u, enum log_state state, struct error *err)
{
    return state == LOG_PENDING ? gp_append_exact(gp, u, err) : gp_append(gp, u, 0.0, err);
}

static enum status append_pending(struct asking *a, struct error *err)
{
    struct session         *s = a->s;
    const struct trial_log *log = &s->log;
    double                 *u = ARENA_NEW(&s->base.scratch, double, s->dims);
    if (u == NULL)
        return error_no_memory(err);
    size_t taken = 0;
    for (size_t i = log->len; i-- > 0 && taken < TRANSFER_PENDING;) {
        if (log->trials[i].state != LOG_PENDING && log->trials[i].state != LOG_FAILED)
            continue;
        transfer_session_encode(s, trial_log_point(log, i), u);
        for (size_t k = 0; k < a->active_len; k++) /* the candidates' own values of the earlier studies are kept */
            if ((!transfer_session_on_rows(s) || a->active[k] == s->base.problem->earlier_len) &&
                append_one(&task_at(a, a->active[k])->gp, u, log->trials[i].state, err) == STATUS_NO_MEMORY)
                return STATUS_NO_MEMORY;
        taken++;
    }
    return STATUS_OK;
}

static void forget_pending(struct asking *a)
{
    for (size_t i = 0; i < a->s->base.problem->earlier_len; i++)
        if (a->s->task[i].is_ready && a->s->task[i].gp.n > a->s->task[i].n)
            gp_truncate(&a->s->task[i].gp, a->s->task[i].n);
}

/* ---- the acquisition function ---- */

static enum status combined_scores(struct asking *a, const double *U, size_t m, double *out, struct error *err)
{
    struct arena_mark mark = arena_mark(&a->s->base.scratch);
    size_t            k = a->active_len;
    double *mean = ARENA_NEW(&a->s->base.scratch, double, k *m), *sd = ARENA_NEW(&a->s->base.scratch, double, k *m);
    if (mean == NULL || sd == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < k; i++)
        TRY(transfer_task_posterior(task_at(a, a->active[i]), (struct points){U, m}, mean + i * m, sd + i * m,
                                    &a->s->base.scratch, err));
    for (size_t p = 0; p < m; p++) {
        for (size_t i = 0; i < k; i++) {
            a->mean[i] = mean[i * m + p];
            a->sd[i] = sd[i * m + p];
        }
        out[p] = a->s->rule->combine(
            &a->view, &(struct transfer_parts){
                          .active = a->active, .k = k, .mean = a->mean, .sd = a->sd, .dmean = a->dmean, .dsd = a->dsd});
    }
    arena_release(&a->s->base.scratch, mark);
    return STATUS_OK;
}

static double combined_slope(struct asking *a, const double *u, double *gradient)
{
    size_t dims = a->s->dims, k = a->active_len;
    for (size_t i = 0; i < k; i++) {
        struct gp_slope at = {.dmean = a->gradients + 2 * i * dims, .dvar = a->gradients + (2 * i + 1) * dims};
        a->sd[i] = transfer_task_slope(task_at(a, a->active[i]), u, a->work, &at);
        a->mean[i] = at.mean;
    }
    double value = a->s->rule->combine(
        &a->view, &(struct transfer_parts){
                      .active = a->active, .k = k, .mean = a->mean, .sd = a->sd, .dmean = a->dmean, .dsd = a->dsd});
    memset(gradient, 0, dims * sizeof *gradient);
    for (size_t i = 0; i < k; i++) {
        mat_axpy(dims, a->dmean[i], a->gradients + 2 * i * dims, gradient);
        mat_axpy(dims, a->dsd[i], a->gradients + (2 * i + 1) * dims, gradient);
    }
    return value;
}

/* ---- draws ---- */

/* The features of an earlier study are drawn once, as its data never change (D.5). */
static enum status ready_draws(struct session *s, size_t i, struct error *err)
{
    struct transfer_draws *draws = &s->draws[i];
    struct transfer_task  *task = &s->task[i];
    struct arena_mark      mark = arena_mark(&s->base.scratch);
    struct rng             rng = rng_at(s->base.problem->seed, UINT64_MAX - i, RNG_FEATURES);
    double                *phi = arena_alloc(&s->base.scratch, task->n, FEATURES * sizeof *phi);
    if (draws->is_ready)
        return STATUS_OK;
    if (phi == NULL)
        return error_no_memory(err);
    TRY(rff_draw(&draws->rff, &task->gp.kernel, FEATURES, &rng, &s->tasks, err));
    rff_features(&draws->rff, task->X, task->n, phi);
    const struct rff_data given = {
        .n = task->n, .count = FEATURES, .phi = phi, .y = task->z, .noise = task->gp.noise_variance};
    TRY(rff_condition(&draws->posterior, &given, &s->tasks, err));
    draws->is_ready = true;
    arena_release(&s->base.scratch, mark);
    return STATUS_OK;
}

/* The study's own: features are new for each proposal, pending trials stand with their means. */
static enum status draw_target(struct asking *a, struct rng *rng, struct drawn *out, struct error *err)
{
    struct arena        *scratch = &a->s->base.scratch;
    const struct gp     *gp = &a->target.gp;
    struct rng           stream = rng_at(a->s->base.problem->seed, a->ask->trial, RNG_FEATURES);
    struct rff          *rff = ARENA_NEW(scratch, struct rff, 1);
    double              *phi = arena_alloc(scratch, gp->n + 1, FEATURES * sizeof *phi);
    double              *z = ARENA_NEW(scratch, double, gp->n + 1), *spare = ARENA_NEW(scratch, double, gp->n + 1);
    struct rff_posterior posterior;
    if (rff == NULL || phi == NULL || z == NULL || spare == NULL)
        return error_no_memory(err);
    memcpy(z, a->target.z, a->target.n * sizeof *z);
    size_t added = gp->n - a->target.n;
    if (added > 0)
        TRY(transfer_task_posterior(&a->target, (struct points){gp->X + a->target.n * a->s->dims, added},
                                    z + a->target.n, spare, scratch, err));
    for (size_t i = a->target.n; i < gp->n; i++)
        z[i] = (z[i] - a->target.shift) / a->target.scale;
    TRY(rff_draw(rff, &gp->kernel, FEATURES, &stream, scratch, err));
    rff_features(rff, gp->X, gp->n, phi);
    const struct rff_data given = {.n = gp->n, .count = FEATURES, .phi = phi, .y = z, .noise = gp->noise_variance};
    TRY(rff_condition(&posterior, &given, scratch, err));
    out->rff = rff;
    rff_sample(&posterior, rng, out->omega);
    return STATUS_OK;
}

static enum status draw_functions(struct asking *a, struct error *err)
{
    struct session *s = a->s;
    struct rng      rng = rng_at(s->base.problem->seed, a->ask->trial, RNG_THOMPSON);
    double         *omega = arena_alloc(&s->base.scratch, a->active_len, FEATURES * sizeof *omega);
    a->drawn = ARENA_NEW(&s->base.scratch, struct drawn, a->active_len);
    if (a->drawn == NULL || omega == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < a->active_len; k++) {
        size_t        i = a->active[k];
        struct drawn *drawn = &a->drawn[k];
        *drawn = (struct drawn){.omega = omega + k * FEATURES, .weight = a->view.factors[i] * task_at(a, i)->scale};
        a->constant += a->view.factors[i] * task_at(a, i)->shift;
        if (i == s->base.problem->earlier_len) {
            TRY(draw_target(a, &rng, drawn, err));
            continue;
        }
        TRY(ready_draws(s, i, err));
        drawn->rff = &s->draws[i].rff;
        rff_sample(&s->draws[i].posterior, &rng, drawn->omega);
    }
    return STATUS_OK;
}

static double drawn_slope(struct asking *a, const double *u, double *gradient)
{
    double value = a->constant, *own = a->gradients;
    if (gradient != NULL)
        memset(gradient, 0, a->s->dims * sizeof *gradient);
    for (size_t k = 0; k < a->active_len; k++) {
        const struct drawn *drawn = &a->drawn[k];
        value += drawn->weight * rff_value(drawn->rff, drawn->omega, u, gradient == NULL ? NULL : own, a->work);
        if (gradient != NULL)
            mat_axpy(a->s->dims, drawn->weight, own, gradient);
    }
    return value;
}

static enum status scores(void *arg, const double *U, size_t m, double *out, struct error *err)
{
    struct asking *a = arg;
    if (a->drawn == NULL)
        return combined_scores(a, U, m, out, err);
    for (size_t p = 0; p < m; p++)
        out[p] = drawn_slope(a, U + p * a->s->dims, NULL);
    return STATUS_OK;
}

static double slope(void *arg, const double *u, double *gradient)
{
    struct asking *a = arg;
    return a->drawn == NULL ? combined_slope(a, u, gradient) : drawn_slope(a, u, gradient);
}

/* ---- the search over parameters ---- */

/* The study's best point and those of the earlier studies with the largest factors. */
static size_t choose_anchors(struct asking *a, double *anchors)
{
    const struct session   *s = a->s;
    const struct trial_log *log = &s->log;
    size_t                  params_len = s->base.problem->space->params_len, len = 0, best = log->len;
    bool                    used[EARLIER_STUDIES_MAX] = {false};
    for (size_t i = 0; i < log->len; i++)
        if (log->trials[i].state == LOG_OBSERVED &&
            (best == log->len || log->trials[i].value > log->trials[best].value))
            best = i;
    if (best < log->len)
        memcpy(anchors, trial_log_point(log, best), params_len * sizeof *anchors), len++;
    while (len < ANCHORS_MAX) {
        size_t most = s->base.problem->earlier_len;
        for (size_t k = 0; k < a->active_len; k++) {
            size_t i = a->active[k];
            if (i < s->base.problem->earlier_len && !used[i] &&
                (most == s->base.problem->earlier_len || a->view.factors[i] > a->view.factors[most]))
                most = i;
        }
        if (most == s->base.problem->earlier_len)
            break;
        const struct earlier_study *study = &s->base.problem->earlier[most];
        used[most] = true;
        memcpy(anchors + len++ * params_len, study->points + numbers_largest(study->values, study->n) * params_len,
               params_len * sizeof *anchors);
    }
    return len;
}

/* Effort falls with the size of the models that take part. */
static enum status search_points(struct asking *a, const struct space *view, double *point, struct error *err)
{
    struct session *s = a->s;
    double          cost = 1.0, *anchors;
    for (size_t k = 0; k < a->active_len; k++) {
        double n = (double)task_at(a, a->active[k])->gp.n;
        cost += a->drawn == NULL ? n * n + 100.0 * n : 2000.0 * FEATURES;
    }
    anchors = arena_alloc(&s->base.scratch, ANCHORS_MAX, view->params_len * sizeof *anchors);
    if (anchors == NULL)
        return error_no_memory(err);
    struct acq_search search = {
        .space = view,
        .used = &s->used,
        .anchors = anchors,
        .anchors_len = choose_anchors(a, anchors),
        .seed = s->base.problem->seed,
        .trial = a->ask->trial,
        .samples = numbers_clamp(1.2e8 / cost, 24, numbers_clamp(1e6 / (double)s->dims, 64, 500)),
        .starts = cost < 2.5e5 ? 4 : 2,
        .evaluations = numbers_clamp(1.6e7 / cost, 5, 40),
        .late = a->ask->late,
        .late_arg = a->ask->late_arg,
        .scores = scores,
        .slope = slope,
        .arg = a,
    };
    TRY(trial_log_pending(&s->log, &s->base.scratch, &search.pending, &search.pending_len, err));
    return acq_search_run(&search, point, &s->base.scratch, err);
}

/* ---- the search over rows ---- */

/* Mean and sd of an earlier study at every row, in single precision; NULL when there is no room. */
static enum status ready_rows(struct asking *a, size_t i, struct error *err)
{
    struct session     *s = a->s;
    const struct space *space = s->base.problem->space;
    size_t              n = space->rows_len;
    double              mean[BLOCK], sd[BLOCK];
    if (s->row_values[i] != NULL)
        return STATUS_OK;
    struct arena_mark mark = arena_mark(&s->tasks);
    float            *values = ARENA_NEW(&s->tasks, float, 2 * n);
    if (values == NULL)
        return error_no_memory(err);
    for (size_t from = 0; from < n; from += BLOCK) {
        size_t      m = n - from < BLOCK ? n - from : BLOCK;
        enum status status =
            ask_is_late(a->ask)
                ? error_set(err, STATUS_BUSY, "deadline", "", "no time left")
                : transfer_task_posterior(&s->task[i], (struct points){space->rows + from * space->columns, m}, mean,
                                          sd, &s->base.scratch, err);
        if (status != STATUS_OK) {
            arena_release(&s->tasks, mark);
            return status;
        }
        for (size_t k = 0; k < m; k++) {
            values[from + k] = (float)mean[k];
            values[n + from + k] = (float)sd[k];
        }
    }
    s->row_values[i] = values;
    return STATUS_OK;
}

/* Scores of rows from .. from + m - 1. */
static enum status row_scores(struct asking *a, size_t from, size_t m, double *out, struct error *err)
{
    struct session     *s = a->s;
    const struct space *space = s->base.problem->space;
    const double       *U = space->rows + from * space->columns;
    double              mean[BLOCK], sd[BLOCK];
    size_t              k = a->active_len, target = s->base.problem->earlier_len;
    if (a->drawn != NULL)
        return scores(a, U, m, out, err);
    if (a->active[k - 1] == target)
        TRY(transfer_task_posterior(&a->target, (struct points){U, m}, mean, sd, &s->base.scratch, err));
    for (size_t p = 0; p < m; p++) {
        for (size_t i = 0; i < k; i++) {
            const float *values = a->active[i] == target ? NULL : s->row_values[a->active[i]];
            a->mean[i] = values == NULL ? mean[p] : (double)values[from + p];
            a->sd[i] = values == NULL ? sd[p] : (double)values[space->rows_len + from + p];
        }
        out[p] = s->rule->combine(
            &a->view, &(struct transfer_parts){
                          .active = a->active, .k = k, .mean = a->mean, .sd = a->sd, .dmean = a->dmean, .dsd = a->dsd});
    }
    return STATUS_OK;
}

static enum status search_rows(struct asking *a, size_t *row, struct error *err)
{
    struct session *s = a->s;
    size_t          n = s->base.problem->space->rows_len;
    double          score[BLOCK], highest = -INFINITY;
    for (size_t k = 0; k < a->active_len && a->drawn == NULL; k++)
        if (a->active[k] < s->base.problem->earlier_len)
            TRY(ready_rows(a, a->active[k], err));
    *row = n;
    for (size_t from = 0; from < n && (*row == n || !ask_is_late(a->ask)); from += BLOCK) {
        size_t m = n - from < BLOCK ? n - from : BLOCK;
        TRY(row_scores(a, from, m, score, err));
        for (size_t k = 0; k < m; k++)
            if (score[k] > highest && score[k] < INFINITY && !s->taken[from + k]) {
                highest = score[k];
                *row = from + k;
            }
    }
    return *row < n ? STATUS_OK : error_set(err, STATUS_NUMERIC, "not_finite", "", "no row has a finite score");
}

/* ---- the proposal ---- */

static void diagnose_model(const struct session *s, const struct gp *gp, struct diagnostics *out)
{
    for (size_t j = s->dims; j-- > 0;)
        out->length_scales[s->group_of[j]] = gp->kernel.length_scales[j];
    out->kernel = s->model.fit.kind->name;
    out->signal_variance = gp->kernel.variance;
    out->noise_variance = gp->noise_variance;
    out->jitter = gp->jitter;
    out->condition = gp->n > 0 ? gp_loo_condition(gp->L, gp->n, gp->capacity) : 1.0;
}

static void diagnose(struct asking *a, const double *u, struct diagnostics *out)
{
    double       gradient_free;
    struct error ignored;
    diagnose_model(a->s, &a->target.gp, out);
    out->acquisition = a->s->rule->acquisition;
    out->acquisition_value = scores(a, u, 1, &gradient_free, &ignored) == STATUS_OK ? gradient_free : (double)NAN;
}

static void write_note(const struct asking *a, struct proposal *out)
{
    const struct transfer_view *view = &a->view;
    const struct transfer_note  note = {.seen = view->seen,
                                        .nu = view->nu,
                                        .sums = view->sums,
                                        .gaps = view->gaps,
                                        .weights = view->weights,
                                        .theta = a->fits ? a->target.theta : NULL,
                                        .fitted = (double)view->observations};
    transfer_session_note(a->s, &note, out);
}

/* Values of the study's own posterior in the units of the observations. */
static void to_values(const struct transfer_task *task, double *mean, double *sd)
{
    *mean = fmin(fmax(task->centre + task->spread * *mean, -DBL_MAX), DBL_MAX);
    if (sd != NULL)
        *sd = fmin(task->spread * *sd, DBL_MAX);
}

/* From the standard deviation of a task's mean to that of a value measured there, both in the units of the values. */
static double with_noise(const struct transfer_task *task, double sd)
{
    double noise = task->spread * task->scale * sqrt(task->gp.noise_variance);
    return fmin(sqrt(sd * sd + noise * noise), DBL_MAX);
}

/* Before the study has values of its own: what the earlier studies say, in values. */
static enum status foretell(struct asking *a, const double *u, struct proposal *out, struct error *err)
{
    double total = 0.0, mean, sd;
    out->mean = out->sd = out->sd_observed = 0.0;
    for (size_t k = 0; k < a->active_len; k++)
        total += a->active[k] < a->view.len ? a->view.factors[a->active[k]] : 0.0;
    for (size_t k = 0; k < a->active_len && a->active[k] < a->view.len; k++) {
        const struct transfer_task *task = task_at(a, a->active[k]);
        double                      share = a->view.factors[a->active[k]] / total;
        TRY(transfer_task_posterior(task, (struct points){u, 1}, &mean, &sd, &a->s->base.scratch, err));
        to_values(task, &mean, &sd);
        out->mean += share * mean;
        out->sd += share * sd;
        out->sd_observed += share * with_noise(task, sd);
    }
    return STATUS_OK;
}

static enum status describe(struct asking *a, struct proposal *out, struct error *err)
{
    struct session *s = a->s;
    double         *u = ARENA_NEW(&s->base.scratch, double, s->dims), row = (double)out->row;
    if (u == NULL)
        return error_no_memory(err);
    transfer_session_encode(s, transfer_session_on_rows(s) ? &row : out->point, u);
    if (a->ask->diagnostics != NULL)
        diagnose(a, u, a->ask->diagnostics);
    if (a->target.n > 0) {
        struct transfer_task settled = a->target;
        settled.gp.n = settled.n; /* without what is pending, and with its own values, whatever the rule put there */
        TRY(gp_set_values(&settled.gp, settled.z, err));
        TRY(transfer_task_posterior(&settled, (struct points){u, 1}, &out->mean, &out->sd, &s->base.scratch, err));
        to_values(&a->target, &out->mean, &out->sd);
        out->sd_observed = with_noise(&a->target, out->sd);
    } else {
        TRY(foretell(a, u, out, err));
    }
    out->observations = a->target.n;
    write_note(a, out);
    return STATUS_OK;
}

static enum status propose(struct asking *a, const struct space *view, struct proposal *out, struct error *err)
{
    struct session *s = a->s;
    double         *point = ARENA_NEW(&s->base.scratch, double, s->base.problem->space->params_len + 1),
           began = ask_clock_ms(a->ask);
    size_t row = 0;
    if (point == NULL)
        return error_no_memory(err);
    TRY(weigh(a, err));
    if (a->ask->diagnostics != NULL)
        a->ask->diagnostics->fit_ms = a->fits ? ask_clock_ms(a->ask) - began : (double)NAN;
    TRY(append_pending(a, err));
    if (a->view.draws)
        TRY(draw_functions(a, err));
    s->leaves = a->view.leaves;
    if (a->view.plain || a->view.leaves)
        return describe(a, out, err);
    if (transfer_session_on_rows(s))
        TRY(search_rows(a, &row, err));
    else
        TRY(search_points(a, view, point, err));
    if (transfer_session_on_rows(s))
        out->row = row;
    else
        memcpy(out->point, point, s->base.problem->space->params_len * sizeof *point);
    return describe(a, out, err);
}

/* ---- asking ---- */

static bool is_initial(const struct session *s)
{
    return (double)trial_log_tried(&s->log) < s->base.problem->options[TRANSFER_INITIAL] ||
           (s->base.problem->earlier_len == 0 && s->log.count[LOG_OBSERVED] == 0);
}

static enum status plain_row(struct session *s, uint64_t trial, size_t *row, struct error *err)
{
    size_t n = s->base.problem->space->rows_len;
    if (s->taken_len == n)
        return used_points_exhausted(err);
    struct rng rng = rng_at(s->base.problem->seed, trial, RNG_INITIAL);
    size_t     skip = rng_below(&rng, n - s->taken_len), at = 0;
    while (s->taken[at] || skip-- > 0)
        at++;
    *row = at;
    return STATUS_OK;
}

/* A Sobol point at the quantiles of the priors, or the next one that is not used; a random row. */
static enum status plain(struct session *s, const struct ask *ask, const struct space *view, struct proposal *out,
                         struct error *err)
{
    if (transfer_session_on_rows(s))
        return plain_row(s, ask->trial, &out->row, err);
    if (s->rule->starts_as_gp)
        sobol_start(s->base.problem->seed, ask->trial - (s->base.problem->earlier_len > 0), view->params_len, s->v);
    else
        sobol_point(s->base.problem->seed, ask->trial, view->params_len, s->v);
    (void)space_prior_quantile(view, s->v, out->point);
    return used_points_find(&s->used, view, out->point) ? STATUS_OK : used_points_exhausted(err);
}

static enum status ask_in(struct session *s, const struct ask *ask, const struct space *view, struct proposal *out,
                          struct error *err)
{
    TRY(plain(s, ask, view, out, err));
    if (is_initial(s))
        return STATUS_OK;
    struct asking a = {.s = s, .ask = ask};
    enum status   status = ask_is_late(ask) ? STATUS_BUSY : propose(&a, view, out, err);
    forget_pending(&a);
    arena_fini(&s->base.scratch);
    if (status == STATUS_OK)
        return STATUS_OK;
    out->mean = out->sd = out->sd_observed = NAN;
    out->observations = out->note_bytes = 0;
    out->fallback = proposal_fallback(status);
    return STATUS_OK;
}

enum status transfer_ask(struct session *s, const struct ask *ask, struct proposal *out, struct error *err)
{
    struct space      view = *s->base.problem->space;
    struct arena_mark mark = arena_mark(&s->base.kept);
    proposal_clear(out);
    s->leaves = false;
    if (!transfer_session_on_rows(s))
        TRY(space_hold(s->base.problem->space, ask->fixed, &s->base.kept, &view, err));
    enum status status = ask_in(s, ask, &view, out, err);
    arena_release(&s->base.kept, mark);
    return status;
}

/* ---- predictions: the study's own model ---- */

static enum status begin_model(struct session *s, struct transfer_task *target, struct error *err)
{
    bool fits;
    if (s->log.count[LOG_OBSERVED] == 0)
        return policy_no_values(err);
    TRY(transfer_session_ready(s, NULL, err));
    TRY(transfer_session_target(s, NULL, target, &fits, err));
    return target->is_broken ? error_set(err, STATUS_NUMERIC, "singular", "", "the model cannot be factored")
                             : STATUS_OK;
}

static enum status predict_in(struct session *s, const struct prediction *wanted, struct error *err)
{
    struct transfer_task target;
    TRY(begin_model(s, &target, err));
    double *u = ARENA_NEW(&s->base.scratch, double, s->dims), deviation;
    if (u == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < wanted->m; i++) {
        bool   on_rows = transfer_session_on_rows(s);
        double row = on_rows ? (double)wanted->rows[i] : 0.0;
        if (on_rows && wanted->rows[i] >= s->base.problem->space->rows_len)
            return error_set(err, STATUS_INVALID, "no_such_row", "/candidates", "there is no row %zu", wanted->rows[i]);
        transfer_session_encode(s, on_rows ? &row : wanted->points + i * s->base.problem->space->params_len, u);
        TRY(transfer_task_posterior(&target, (struct points){u, 1}, &wanted->mean[i], &deviation, &s->base.scratch,
                                    err));
        to_values(&target, &wanted->mean[i], &deviation);
        if (wanted->sd != NULL)
            wanted->sd[i] = deviation;
        if (wanted->sd_observed != NULL)
            wanted->sd_observed[i] = with_noise(&target, deviation);
    }
    if (wanted->diagnostics != NULL)
        diagnose_model(s, &target.gp, wanted->diagnostics);
    return mat_is_finite(wanted->mean, wanted->m)
               ? STATUS_OK
               : error_set(err, STATUS_NUMERIC, "not_finite", "", "the posterior is not finite");
}

enum status transfer_predict(struct session *s, const struct prediction *wanted, struct error *err)
{
    enum status status = predict_in(s, wanted, err);
    arena_fini(&s->base.scratch);
    return status;
}

/* The trials of the model, in its order: by number. */
static enum status residuals_in(struct session *s, const struct ask *ask, struct arena *arena, struct residual **out,
                                size_t *len, struct error *err)
{
    struct transfer_task target;
    TRY(begin_model(s, &target, err));
    double *mean = ARENA_NEW(&s->base.scratch, double, target.n), *sd = ARENA_NEW(&s->base.scratch, double, target.n);
    *out = ARENA_NEW(arena, struct residual, target.n);
    if (mean == NULL || sd == NULL || *out == NULL)
        return error_no_memory(err);
    struct gp_values values = {.at = target.z, .n = target.n};
    if (ask != NULL)
        values.late = ask->late, values.late_arg = ask->late_arg;
    TRY(gp_loo(&target.gp, values, mean, sd, &s->base.scratch, err));
    size_t skip = trial_log_finished(&s->log) - target.n, k = 0;
    *len = 0;
    for (size_t i = 0; i < s->log.len; i++) {
        const struct log_trial *trial = &s->log.trials[i];
        if (!log_trial_is_row(trial) || (skip > 0 && skip-- > 0))
            continue;
        double z = (target.z[k] - mean[k]) / sd[k], at = target.shift + target.scale * mean[k];
        double noise = target.gp.noise_variance + target.gp.noise[k] + target.gp.jitter;
        double deviation = target.scale * sd[k], own = target.scale * sqrt(fmax(sd[k] * sd[k] - noise, 0.0)), same = at;
        k++;
        to_values(&target, &at, &deviation);
        to_values(&target, &same, &own);
        if (trial->state == LOG_OBSERVED)
            (*out)[(*len)++] = (struct residual){.trial = trial->number,
                                                 .value = trial->value,
                                                 .mean = at,
                                                 .sd = own,
                                                 .sd_observed = deviation,
                                                 .z = z,
                                                 .log_density = gp_loo_log_density(z, deviation)};
    }
    return STATUS_OK;
}

enum status transfer_residuals(struct session *s, const struct ask *ask, struct arena *arena, struct residual **out,
                               size_t *len, struct error *err)
{
    enum status status = residuals_in(s, ask, arena, out, len, err);
    arena_fini(&s->base.scratch);
    return status;
}
