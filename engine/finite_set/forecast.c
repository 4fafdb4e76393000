#include "engine/finite_set/forecast.h"

#include "engine/finite_set/row_policy.h"
#include "engine/gp/rff.h"
#include "engine/math/rng.h"

#include <math.h>
#include <string.h>

enum { FEATURES = 512, OPTIONS_MAX = 32, SEARCH_BYTES = 256 << 20 };

/* A drawn function, and the rows among which to search its maximum. */
struct trial_world {
    struct arena *arena;
    size_t        n, columns;
    double       *raw;    /* [n][columns] */
    double       *values; /* [n] of the function at the rows */
    double        best, sd;
    struct rng    bits; /* of the noise: reproducible, and good for nothing else */
};

/* The data a search sees: candidates, and for each the row whose value answers. */
struct view {
    size_t                  n;
    const double           *places;    /* [n][columns] */
    const double           *variances; /* [n][columns] or NULL */
    const size_t           *row;       /* [n]; NULL: the candidate's own */
    const struct mechanism *noise;     /* of the places; NULL: none, or in the variances */
};

static enum status draw_bits(void *arg, void *out, size_t length, struct error *err)
{
    (void)err;
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = rng_u64(arg);
        memcpy((char *)out + i, &word, length - i < 8 ? length - i : 8);
    }
    return STATUS_OK;
}

static double scaled(const struct forecast *f, size_t c, double raw)
{
    return (raw - f->scale.centre[c]) * (MECHANISM_NORM / (f->scale.length_scales[c] * f->scale.radius));
}

static double *doubles(struct arena *arena, size_t count)
{
    return ARENA_NEW(arena, double, count);
}

/* Rows uniform in the public box, and a function with the length-scales in the place of units. */
static enum status draw_world(const struct forecast *f, struct rng *rng, struct trial_world *w, struct error *err)
{
    size_t d = w->columns;
    double length_scales[MECHANISM_COLUMNS_MAX], omega[FEATURES], spare[2 * FEATURES], x[MECHANISM_COLUMNS_MAX],
        mean = 0;
    w->raw = doubles(w->arena, w->n * d);
    w->values = doubles(w->arena, w->n);
    if (w->raw == NULL || w->values == NULL)
        return error_no_memory(err);
    for (size_t c = 0; c < d; c++)
        length_scales[c] = MECHANISM_NORM / f->scale.radius;
    struct rff    rff;
    struct kernel kernel = {.kind = &kernel_se, .dims = d, .variance = 1, .length_scales = length_scales};
    TRY(rff_draw(&rff, &kernel, FEATURES, rng, w->arena, err));
    for (size_t m = 0; m < FEATURES; m++)
        omega[m] = rng_normal(rng);
    w->best = -INFINITY;
    for (size_t i = 0; i < w->n; i++) {
        for (size_t c = 0; c < d; c++) {
            double reach = f->scale.radius * f->scale.length_scales[c];
            double low = f->scale.low != NULL ? f->scale.low[c] : f->scale.centre[c] - reach;
            double high = f->scale.high != NULL ? f->scale.high[c] : f->scale.centre[c] + reach;
            w->raw[i * d + c] = low + (high - low) * rng_uniform(rng);
            x[c] = scaled(f, c, w->raw[i * d + c]);
        }
        w->values[i] = rff_value(&rff, omega, x, NULL, spare);
        w->best = fmax(w->best, w->values[i]);
        mean += w->values[i] / (double)w->n;
    }
    w->sd = 0;
    for (size_t i = 0; i < w->n; i++)
        w->sd += (w->values[i] - mean) * (w->values[i] - mean) / (double)w->n;
    w->sd = w->sd > 0 ? sqrt(w->sd) : 1;
    return STATUS_OK;
}

static enum status view_open(const struct forecast *f, struct trial_world *w, struct view *out, struct error *err)
{
    double *places = doubles(w->arena, w->n * w->columns);
    if (places == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < w->n * w->columns; k++)
        places[k] = scaled(f, k % w->columns, w->raw[k]);
    *out = (struct view){.n = w->n, .places = places};
    return STATUS_OK;
}

/* The view of a plain release: rotation and permutation mean nothing to the model. */
static enum status view_rows(const struct forecast *f, struct trial_world *w, struct sampler *sampler, struct view *out,
                             struct error *err)
{
    struct release r = {.mechanism = f->mechanism, .scale = f->scale, .is_plain = true};
    r.mechanism.rows = w->n;
    size_t  p = f->mechanism.dims;
    double *places = doubles(w->arena, w->n * p);
    r.indices = ARENA_NEW(w->arena, int64_t, w->n * p);
    if (places == NULL || r.indices == NULL)
        return error_no_memory(err);
    TRY(release_make(&r, w->raw, sampler, w->arena, err));
    for (size_t k = 0; k < w->n * p; k++)
        places[k] = (double)r.indices[k] * r.mechanism.gamma;
    *out = (struct view){.n = w->n, .places = places, .noise = &f->mechanism};
    return STATUS_OK;
}

/* A blank is answered by any row; see quadtree.h. */
static enum status view_tree(const struct forecast *f, struct trial_world *w, struct sampler *sampler, struct view *out,
                             struct error *err)
{
    size_t                 n = w->n, d = w->columns, at = 0;
    struct quadtree        tree = {.rows = n, .columns = d, .epsilon = f->mechanism.epsilon};
    struct quadtree_leaves leaves;
    TRY(quadtree_grow(&tree, &(struct quadtree_data){.scale = f->scale, .rows = w->raw}, sampler, w->arena, &leaves,
                      err));
    double *places = doubles(w->arena, n * d), *variances = doubles(w->arena, n * d);
    size_t *rows = ARENA_NEW(w->arena, size_t, n), *scratch = ARENA_NEW(w->arena, size_t, n);
    if (places == NULL || variances == NULL || rows == NULL || scratch == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < leaves.len; i++) {
        const int64_t *index = leaves.indices + i * d;
        double         variance = quadtree_variance(quadtree_level(&tree, index));
        TRY(quadtree_deal(&leaves.leaves[i], leaves.order, sampler, scratch, rows + at, err));
        for (size_t end = at + leaves.leaves[i].deck; at < end; at++) {
            rows[at] = rows[at] == QUADTREE_BLANK ? rng_below(&w->bits, n) : rows[at];
            for (size_t c = 0; c < d; c++) {
                places[at * d + c] = (double)index[c] * tree.gamma;
                variances[at * d + c] = variance;
            }
        }
    }
    *out = (struct view){.n = at, .places = places, .variances = variances, .row = rows};
    return STATUS_OK;
}

/* The view of a partition: a random row of each kept cell; for an empty cell any row. */
static enum status view_cells(const struct forecast *f, struct trial_world *w, struct sampler *sampler,
                              struct view *out, struct error *err)
{
    size_t              d = w->columns, cells = release_cells_count(f->sides, d);
    double              low[MECHANISM_COLUMNS_MAX], high[MECHANISM_COLUMNS_MAX];
    struct release      r = {.mechanism = f->mechanism, .scale = f->scale};
    struct release_grid grid = {.sides = f->sides,
                                .low = low,
                                .high = high,
                                .keep_from = NAN,
                                .counts = ARENA_NEW(w->arena, int64_t, cells),
                                .kept = ARENA_NEW(w->arena, size_t, cells),
                                .indices = ARENA_NEW(w->arena, int64_t, cells * d),
                                .cell_of_row = ARENA_NEW(w->arena, size_t, w->n)};
    double             *places = doubles(w->arena, cells * d), *variances = doubles(w->arena, cells * d);
    size_t             *rows = ARENA_NEW(w->arena, size_t, cells);
    if (grid.counts == NULL || grid.kept == NULL || grid.indices == NULL || grid.cell_of_row == NULL ||
        places == NULL || variances == NULL || rows == NULL)
        return error_no_memory(err);
    for (size_t c = 0; c < d; c++) {
        low[c] = f->scale.centre[c] - f->scale.radius * f->scale.length_scales[c];
        high[c] = f->scale.centre[c] + f->scale.radius * f->scale.length_scales[c];
    }
    r.mechanism.rows = w->n;
    TRY(release_cells(&r, &grid, w->raw, sampler, err));
    for (size_t k = 0; k < grid.kept_len; k++) {
        rows[k] = rng_below(&w->bits, w->n);
        for (size_t i = 0; i < w->n; i++) /* rows come in random order: the last is as good as any */
            rows[k] = grid.cell_of_row[i] == grid.kept[k] ? i : rows[k];
        for (size_t c = 0; c < d; c++) {
            places[k * d + c] = (double)grid.indices[k * d + c] * r.mechanism.gamma;
            variances[k * d + c] = pow(2.0 * MECHANISM_NORM / (double)f->sides[c], 2) / 12;
        }
    }
    *out = (struct view){.n = grid.kept_len, .places = places, .variances = variances, .row = rows};
    return STATUS_OK;
}

static enum status view_released(const struct forecast *f, struct trial_world *w, struct view *out, struct error *err)
{
    struct sampler sampler;
    sampler_init(&sampler, draw_bits, &w->bits);
    switch (f->mechanism.kind) {
    case MECHANISM_QUADTREE:
        return view_tree(f, w, &sampler, out, err);
    case MECHANISM_CELLS:
        return view_cells(f, w, &sampler, out, err);
    default:
        return view_rows(f, w, &sampler, out, err);
    }
}

/* The options of po-gp-ucb as a study's session has them. */
static void set_options(const struct view *view, double *options)
{
    const struct policy *policy = &policy_po_gp_ucb;
    for (size_t i = 0; policy->options[i].name != NULL; i++)
        options[i] = policy->options[i].fallback;
    const struct mechanism *noise = view->noise;
    if (noise == NULL)
        return;
    options[policy_option(policy, "release_noise")] = noise->variance;
    options[policy_option(policy, "release_dims")] = (double)noise->dims;
    options[policy_option(policy, "release_bound")] = MECHANISM_NORM;
    options[policy_option(policy, "denoise")] =
        noise->kind != MECHANISM_PROJECTED_GAUSSIAN && noise->dims == noise->columns;
}

static void note_value(const struct trial_world *w, double value, size_t trial, double *best, double *regret)
{
    *best = fmax(*best, value);
    regret[trial] = (w->best - *best) / w->sd;
}

static enum status run_session(const struct forecast *f, const struct trial_world *w, const struct view *view,
                               struct session *session, double *regret, struct error *err)
{
    const struct policy *policy = &policy_po_gp_ucb;
    struct proposal     *proposal = ARENA_NEW(w->arena, struct proposal, 1);
    double               best = -INFINITY;
    if (proposal == NULL)
        return error_no_memory(err);
    for (size_t t = 0; t < f->trials && t < view->n; t++) {
        TRY(policy->ask(session, &(struct ask){.trial = t + 1}, proposal, err));
        size_t row = view->row != NULL ? view->row[proposal->row] : proposal->row;
        note_value(w, w->values[row], t, &best, regret);
        struct event event = {.kind = EVENT_SUGGESTED,
                              .trial = t + 1,
                              .row = proposal->row,
                              .note = proposal->note_bytes > 0 ? proposal->note : NULL,
                              .note_bytes = proposal->note_bytes};
        TRY(policy->tell(session, &event, err));
        event = (struct event){.kind = EVENT_OBSERVED, .trial = t + 1, .row = proposal->row, .value = w->values[row]};
        TRY(policy->tell(session, &event, err));
    }
    for (size_t t = view->n; t < f->trials; t++) /* candidates have run out */
        note_value(w, best, t, &best, regret);
    return STATUS_OK;
}

static enum status search(const struct forecast *f, const struct trial_world *w, const struct view *view, uint64_t seed,
                          double *regret, struct error *err)
{
    double          options[OPTIONS_MAX];
    struct space    space = {.kind = SPACE_CANDIDATES,
                             .rows = view->places,
                             .rows_len = view->n,
                             .columns = view->noise != NULL ? view->noise->dims : w->columns,
                             .row_variances = view->variances};
    struct problem  problem = {.space = &space, .options = options, .seed = seed, .memory_bytes = SEARCH_BYTES};
    struct session *session = NULL;
    set_options(view, options);
    TRY(space_init(&space, err));
    TRY(policy_po_gp_ucb.open(&policy_po_gp_ucb, &problem, &session, err));
    enum status status = run_session(f, w, view, session, regret, err);
    policy_po_gp_ucb.close(session);
    return status;
}

static void search_randomly(const struct forecast *f, const struct trial_world *w, struct rng *rng, double *regret)
{
    double best = -INFINITY;
    for (size_t t = 0; t < f->trials; t++)
        note_value(w, w->values[rng_below(rng, w->n)], t, &best, regret);
}

static enum status run_pair(const struct forecast *f, uint64_t pair, struct arena *scratch,
                            double regret[FORECAST_ARMS][FORECAST_TRIALS_MAX], struct error *err)
{
    struct rng         rng = rng_at(f->seed, pair, RNG_INITIAL);
    size_t             n = f->mechanism.rows < FORECAST_ROWS_MAX ? f->mechanism.rows : FORECAST_ROWS_MAX;
    struct trial_world w = {.arena = scratch,
                            .n = n,
                            .columns = f->mechanism.columns,
                            .bits = rng_at(f->seed ^ 0x6E6F697365u, pair, RNG_INITIAL)};
    struct view        open, released;
    TRY(draw_world(f, &rng, &w, err));
    TRY(view_open(f, &w, &open, err));
    TRY(view_released(f, &w, &released, err));
    TRY(search(f, &w, &open, pair, regret[FORECAST_OPEN], err));
    TRY(search(f, &w, &released, pair, regret[FORECAST_RELEASED], err));
    search_randomly(f, &w, &rng, regret[FORECAST_RANDOM]);
    return STATUS_OK;
}

/* Mean and standard error of the mean. */
static void summarise(const double *x, size_t n, double *mean, double *se)
{
    *mean = *se = 0;
    for (size_t i = 0; i < n; i++)
        *mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        *se += (x[i] - *mean) * (x[i] - *mean);
    *se = sqrt(*se / (double)(n - 1) / (double)n);
}

enum status forecast_run(struct forecast *f, struct arena *scratch, struct error *err)
{
    double costs[FORECAST_MARKS + 1][FORECAST_PAIRS_MAX], began = f->clock_ms != NULL ? f->clock_ms() : 0;
    double regret[FORECAST_ARMS][FORECAST_TRIALS_MAX];
    if (f->trials < 4 || f->trials > FORECAST_TRIALS_MAX)
        return error_set(err, STATUS_INVALID, "bad_size", "/trials", "a forecast is of 4 to %d trials",
                         FORECAST_TRIALS_MAX);
    for (size_t k = 0; k < FORECAST_MARKS; k++)
        f->mark[k] = f->trials >> (FORECAST_MARKS - 1 - k);
    memset(f->regret, 0, sizeof f->regret);
    for (f->pairs = 0; f->pairs < FORECAST_PAIRS_MAX; f->pairs++) {
        if (f->pairs >= 2 && f->clock_ms != NULL && f->clock_ms() - began > f->limit_ms)
            break;
        struct arena_mark mark = arena_mark(scratch);
        enum status       status = run_pair(f, f->pairs, scratch, regret, err);
        arena_release(scratch, mark);
        TRY(status);
        double sum = 0;
        for (size_t t = 0; t < f->trials; t++) {
            for (size_t arm = 0; arm < FORECAST_ARMS; arm++)
                f->regret[arm][t] += regret[arm][t];
            sum += regret[FORECAST_RELEASED][t] - regret[FORECAST_OPEN][t];
        }
        for (size_t k = 0; k < FORECAST_MARKS; k++)
            costs[k][f->pairs] = regret[FORECAST_RELEASED][f->mark[k] - 1] - regret[FORECAST_OPEN][f->mark[k] - 1];
        costs[FORECAST_MARKS][f->pairs] = sum / (double)f->trials;
    }
    for (size_t arm = 0; arm < FORECAST_ARMS; arm++)
        for (size_t t = 0; t < f->trials; t++)
            f->regret[arm][t] /= (double)f->pairs;
    for (size_t k = 0; k < FORECAST_MARKS; k++)
        summarise(costs[k], f->pairs, &f->cost[k], &f->cost_se[k]);
    summarise(costs[FORECAST_MARKS], f->pairs, &f->mean_cost, &f->mean_cost_se);
    return STATUS_OK;
}
