/* The perturbation loop of BOS2: an additive Gaussian process over the coordinates of one size, and Add-GP-UCB. */
#include "engine/bos2/bos2.h"
#include "engine/base/numbers.h"
#include "engine/gp/gp_loo.h"
#include "engine/math/minimize.h"

#include <math.h>
#include <string.h>

enum {
    ROWS_MAX = 600, /* values in the model: the most recent, and the best */
    PENDING_MAX = 200,
    REFIT = 5,          /* values between two estimates of theta */
    FIT_ROWS_MAX = 128, /* values that hyper-parameters and decompositions are judged by */
    FIT_EVALUATIONS = 25,
    CANDIDATES = 96, /* scored in each group */
    STARTS = 2,      /* of them refined */
    ANCHORS = 4,     /* best points whose coordinates are candidates */
    EVALUATIONS = 20,
};

struct rows {
    size_t             n, known;
    size_t            *place; /* [n] in the log: observed trials by number, then pending and failed ones */
    double            *U, *y; /* [n][dims], [known] */
    struct value_scale scale;
    size_t             best[ANCHORS], best_len; /* rows */
};

/* ---- rows ---- */

static void choose_rows(const struct trial_log *log, struct rows *rows)
{
    size_t observed = log->count[LOG_OBSERVED], skipped = observed > ROWS_MAX ? observed - ROWS_MAX : 0;
    size_t best = trial_log_best(log), pending = 0;
    for (size_t i = 0; i < log->len; i++) {
        if (log->trials[i].state != LOG_OBSERVED)
            continue;
        if (skipped > 0 && i != best)
            skipped--;
        else
            rows->place[rows->n++] = i;
    }
    rows->known = rows->n;
    for (size_t i = log->len; i-- > 0 && pending < PENDING_MAX;)
        if (log->trials[i].state == LOG_PENDING || log->trials[i].state == LOG_FAILED) {
            rows->place[rows->n++] = i;
            pending++;
        }
}

/* The best few rows, best first. */
static void choose_anchors(struct rows *rows)
{
    for (size_t i = 0; i < rows->known; i++) {
        size_t at = rows->best_len < ANCHORS ? rows->best_len++ : ANCHORS;
        for (; at > 0 && rows->y[rows->best[at - 1]] < rows->y[i]; at--)
            if (at < ANCHORS)
                rows->best[at] = rows->best[at - 1];
        if (at < ANCHORS)
            rows->best[at] = i;
    }
}

static enum status rows_make(const struct bos2_log *log, size_t size, struct rows *rows, struct arena *scratch,
                             struct error *err)
{
    size_t len = log->log.len, dims = bos2_dims(log, size);
    *rows = (struct rows){.place = ARENA_NEW(scratch, size_t, len), .y = ARENA_NEW(scratch, double, len)};
    if (rows->place == NULL || rows->y == NULL)
        return error_no_memory(err);
    choose_rows(&log->log, rows);
    rows->U = arena_alloc(scratch, rows->n, dims * sizeof *rows->U);
    if (rows->U == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < rows->n; i++)
        memcpy(rows->U + i * dims, trial_log_point(&log->log, rows->place[i]) + log->offset[size],
               dims * sizeof *rows->U);
    for (size_t i = 0; i < rows->known; i++)
        rows->y[i] = log->log.trials[rows->place[i]].value;
    rows->scale = values_standardise(rows->y, rows->known);
    choose_anchors(rows);
    return STATUS_OK;
}

/* ---- decomposition and hyper-parameters ---- */

static enum status draw(const struct bos2_search *search, size_t which, struct partition *partition, struct error *err)
{
    struct rng rng = rng_at(search->seed, search->note.first * DECOMPOSITIONS_MAX + which, RNG_PARTITION);
    return partition_draw(partition, bos2_dims(search->log, search->note.size), search->settings->groups, &rng,
                          search->scratch, err);
}

static enum status fit(struct bos2_search *search, const struct partition *partition, const struct additive_data *data,
                       const double *warm, struct error *err)
{
    const struct additive_fit settings = {
        .warm = warm, .evaluations = FIT_EVALUATIONS, .late = search->ask->late, .late_arg = search->ask->late_arg};
    search->note.fitted = (uint32_t)search->log->log.count[LOG_OBSERVED];
    return additive_fit(partition, data, &settings, search->note.theta, search->scratch, err);
}

/* The decomposition under which the values are likeliest, of several random ones; theta is estimated for the first. */
static enum status decompose(struct bos2_search *search, const struct additive_data *data, struct error *err)
{
    struct partition partition;
    double           best = -HUGE_VAL;
    TRY(draw(search, 0, &partition, err));
    TRY(fit(search, &partition, data, NULL, err));
    search->note.decomposition = 0;
    for (size_t k = 0; k < search->settings->decompositions && !ask_is_late(search->ask); k++) {
        double            value;
        struct arena_mark mark = arena_mark(search->scratch);
        TRY(draw(search, k, &partition, err));
        enum status status = additive_likelihood(&partition, data, search->note.theta, &value, NULL, search->scratch);
        arena_release(search->scratch, mark);
        if (status == STATUS_NO_MEMORY)
            return error_no_memory(err);
        if (status == STATUS_OK && value > best) {
            best = value;
            search->note.decomposition = (uint32_t)k;
        }
    }
    return STATUS_OK;
}

/* Every k-th row up to the last, so that there are not too many. */
static enum status thin(const struct additive_data *all, size_t dims, struct additive_data *out, struct arena *scratch,
                        struct error *err)
{
    size_t  step = (all->known + FIT_ROWS_MAX - 1) / FIT_ROWS_MAX, n = (all->known + step - 1) / step;
    double *U = arena_alloc(scratch, n, dims * sizeof *U), *y = ARENA_NEW(scratch, double, n);
    if (U == NULL || y == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < n; k++) {
        size_t i = all->known - 1 - (n - 1 - k) * step;
        memcpy(U + k * dims, all->U + i * dims, dims * sizeof *U);
        y[k] = all->y[i];
    }
    *out = (struct additive_data){.n = n, .known = n, .U = U, .y = y};
    return STATUS_OK;
}

/* Everything of the note, and the partition it stands for. */
static enum status learn(struct bos2_search *search, const struct additive_data *all, struct partition *partition,
                         struct error *err)
{
    double               began = ask_clock_ms(search->ask);
    struct additive_data data;
    TRY(thin(all, bos2_dims(search->log, search->note.size), &data, search->scratch, err));
    bool is_due = search->is_new || search->log->log.count[LOG_OBSERVED] >= search->note.fitted + REFIT;
    if (search->is_new)
        TRY(decompose(search, &data, err));
    TRY(draw(search, search->note.decomposition, partition, err));
    search->fit_ms = NAN;
    if (!is_due)
        return STATUS_OK;
    TRY(fit(search, partition, &data, search->note.theta, err));
    search->fit_ms = ask_clock_ms(search->ask) - began;
    return STATUS_OK;
}

/* ---- Add-GP-UCB ---- */

struct group {
    const struct additive *model;
    size_t                 j, width;
    double                 sqrt_beta;
    double                *work;
    double                *z;   /* [width] out: argmax of the upper confidence bound */
    double                 ucb; /* out: its value there */
};

static double minus_ucb(void *arg, const double *z, double *gradient)
{
    struct group *group = arg;
    double        value = additive_group_ucb(group->model, group->j, z, group->sqrt_beta, gradient, group->work);
    for (size_t k = 0; k < group->width; k++)
        gradient[k] = -gradient[k];
    return -value;
}

/* Corners and points between them by turns, after the group's coordinates of the best points. */
static void fill_candidates(const struct group *group, const struct rows *rows, struct rng *rng, double *Z)
{
    const struct partition *partition = group->model->partition;
    for (size_t c = 0; c < CANDIDATES; c++)
        for (size_t k = 0; k < group->width; k++, Z++) {
            double v = 2.0 * rng_uniform(rng) - 1.0;
            if (c < rows->best_len)
                *Z = rows->U[rows->best[c] * partition->dims + partition->order[partition->start[group->j] + k]];
            else
                *Z = c % 2 == 0 ? v : copysign(1.0, v);
        }
}

/* The candidate of the largest score, which is taken out. */
static size_t take_best(double *score)
{
    size_t best = numbers_largest(score, CANDIDATES);
    score[best] = -HUGE_VAL;
    return best;
}

static enum status maximise(struct group *group, const struct rows *rows, struct rng *rng, struct arena *scratch,
                            struct error *err)
{
    size_t  width = group->width;
    double *Z = ARENA_NEW(scratch, double, CANDIDATES *width), *bounds = ARENA_NEW(scratch, double, 2 * width);
    double  mean[CANDIDATES], score[CANDIDATES], best = HUGE_VAL, value;
    if (Z == NULL || bounds == NULL)
        return error_no_memory(err);
    struct minimize problem = {.dims = width,
                               .lower = bounds,
                               .upper = bounds + width,
                               .function = minus_ucb,
                               .arg = group,
                               .evaluations = EVALUATIONS,
                               .f_tolerance = 1e-5,
                               .x_tolerance = 1e-3};
    for (size_t k = 0; k < width; k++)
        bounds[k] = -1.0, bounds[width + k] = 1.0;
    fill_candidates(group, rows, rng, Z);
    TRY(additive_group(group->model, (struct group_points){group->j, Z, CANDIDATES}, mean, score, scratch, err));
    for (size_t c = 0; c < CANDIDATES; c++)
        score[c] = mean[c] + group->sqrt_beta * sqrt(score[c]);
    for (size_t s = 0; s < STARTS; s++) {
        double *from = Z + take_best(score) * width;
        TRY(minimize_lbfgs(&problem, from, &value, scratch, err));
        if (value < best) {
            best = value;
            memcpy(group->z, from, width * sizeof *from);
        }
    }
    group->ucb = -best;
    return isfinite(best) ? STATUS_OK
                          : error_set(err, STATUS_NUMERIC, "not_finite", "", "the upper bound is not finite");
}

static bool is_known(const struct rows *rows, size_t dims, const double *u)
{
    for (size_t i = 0; i < rows->n; i++)
        if (memcmp(rows->U + i * dims, u, dims * sizeof *u) == 0)
            return true;
    return false;
}

/* Nothing is measured twice: one group, at random, goes to a corner of its own. */
static void leave_known(const struct bos2_search *search, const struct partition *partition, const struct rows *rows,
                        struct rng *rng)
{
    for (int attempt = 0; attempt < 8 && is_known(rows, partition->dims, search->u); attempt++) {
        size_t j = rng_below(rng, partition->groups);
        for (size_t k = partition->start[j]; k < partition->start[j + 1]; k++)
            search->u[partition->order[k]] = copysign(attempt < 4 ? 1.0 : rng_uniform(rng), rng_uniform(rng) - 0.5);
    }
}

/* ucb: the sum of the groups' upper bounds at the point. */
static void diagnose(const struct bos2_search *search, const struct additive *model, double ucb)
{
    struct diagnostics *out = search->ask->diagnostics;
    if (out == NULL)
        return;
    out->acquisition = "add-gp-ucb";
    out->kernel = kernel_matern52.name;
    out->acquisition_value = ucb;
    out->signal_variance = model->variance * (double)model->partition->groups;
    out->noise_variance = model->noise_variance;
    out->jitter = model->jitter;
    out->condition = gp_loo_condition(model->L, model->n, model->n);
    out->fit_ms = search->fit_ms;
    out->length_scales[0] = model->length;
}

static enum status propose(struct bos2_search *search, const struct additive *model, const struct rows *rows,
                           struct error *err)
{
    const struct partition *partition = model->partition;
    struct arena           *scratch = search->scratch;
    struct rng              rng = rng_at(search->seed, search->ask->trial, RNG_STARTS);
    double                 *work = ARENA_NEW(scratch, double, 2 * model->n + partition->dims), mean, var, ucb = 0.0;
    double                 *z = ARENA_NEW(scratch, double, partition->dims);
    if (work == NULL || z == NULL)
        return error_no_memory(err);
    for (size_t j = 0; j < partition->groups; j++) {
        struct group      group = {.model = model,
                                   .j = j,
                                   .width = partition->start[j + 1] - partition->start[j],
                                   .sqrt_beta = search->settings->sqrt_beta,
                                   .work = work,
                                   .z = z};
        struct arena_mark mark = arena_mark(scratch);
        if (ask_is_late(search->ask))
            return error_set(err, STATUS_BUSY, "deadline", "", "there was no time for all groups");
        enum status status = maximise(&group, rows, &rng, scratch, err);
        arena_release(scratch, mark);
        TRY(status);
        ucb += group.ucb;
        for (size_t k = 0; k < group.width; k++)
            search->u[partition->order[partition->start[j] + k]] = z[k];
    }
    leave_known(search, partition, rows, &rng);
    additive_posterior(model, search->u, work, &mean, &var);
    search->mean = (mean * rows->scale.spread + rows->scale.centre) * rows->scale.unit;
    search->sd = sqrt(var) * rows->scale.spread * rows->scale.unit;
    search->sd_observed = sqrt(var + model->noise_variance) * rows->scale.spread * rows->scale.unit;
    if (!isfinite(search->mean) || !isfinite(search->sd))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "the posterior is not finite");
    diagnose(search, model, ucb);
    return STATUS_OK;
}

enum status bos2_search_run(struct bos2_search *search, struct error *err)
{
    struct rows      rows;
    struct partition partition;
    struct additive  model;
    TRY(rows_make(search->log, search->note.size, &rows, search->scratch, err));
    const struct additive_data data = {.n = rows.n, .known = rows.known, .U = rows.U, .y = rows.y};
    TRY(learn(search, &data, &partition, err));
    TRY(additive_condition(&model, &partition, &data, search->note.theta, search->scratch, err));
    search->observations = rows.known;
    return propose(search, &model, &rows, err);
}
