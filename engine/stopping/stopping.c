/* The decay kernel's fit and posterior, its paths in tiles of columns, and backward induction on counts.
 * Paths are never kept: a path adds one to the transition of each of its steps from cell to cell, and the induction
 * needs nothing but these counts.  A running mean of s + 1 epochs moves by at most 1/(s + 1) when the next is added, so
 * the transitions of step s are a band that narrows with s.  Knows nothing of who measures. */
#include "engine/stopping/stopping.h"
#include "engine/math/mat.h"
#include "engine/math/minimize.h"

#include <math.h>
#include <string.h>

enum { TILE = 256, FIT_EVALUATIONS = 200 };
static const double ALPHA_MIN = 1e-2, BETA_MIN = 1e-2, BETA_MAX = 1e3, RANK_TOLERANCE = 1e-11;

struct stopping stopping_recommended(void)
{
    return (struct stopping){.k1 = 100.0,
                             .k2 = 99.0,
                             .cost = 1.0,
                             .noise_variance = 1e-4,
                             .alpha = NAN,
                             .beta = NAN,
                             .alpha_max = 2.0,
                             .paths = 100000};
}

static bool curve_is_sound(const struct stopping *problem)
{
    bool sound = problem->seen >= 1 && problem->seen <= STOPPING_SEEN_MAX && problem->last <= STOPPING_EPOCHS_MAX;
    for (size_t i = 0; sound && i < problem->seen; i++)
        sound = problem->epochs[i] > (i == 0 ? 0.0 : problem->epochs[i - 1]) && problem->errors[i] >= 0.0 &&
                problem->errors[i] <= 1.0;
    return sound && problem->epochs[problem->seen - 1] < (double)problem->last;
}

static bool settings_are_sound(const struct stopping *problem)
{
    bool has_alpha = isnan(problem->alpha) || (problem->alpha > 0.0 && isfinite(problem->alpha));
    bool has_beta = isnan(problem->beta) || (problem->beta > 0.0 && isfinite(problem->beta));
    return problem->k1 > 0.0 && problem->k2 > 0.0 && problem->cost > 0.0 && isfinite(problem->k1) &&
           isfinite(problem->k2) && isfinite(problem->cost) && problem->noise_variance > 0.0 &&
           isfinite(problem->noise_variance) && problem->offset_variance >= 0.0 && isfinite(problem->offset_variance) &&
           problem->alpha_max > ALPHA_MIN && isfinite(problem->alpha_max) && isfinite(problem->incumbent) &&
           problem->paths > 0 && has_alpha && has_beta;
}

/* --- the curve's Gaussian process --- */

struct decay {
    double alpha, beta, offset;
};

static double covariance(const struct decay *decay, double n, double m)
{
    return decay->offset + exp(-decay->alpha * log1p((n + m) / decay->beta));
}

struct fit {
    const struct stopping *problem;
    double                *A, *spare, *alpha; /* [seen][seen], [seen], [seen] */
};

/* Minus the log marginal likelihood without its constant, and its gradient by log alpha and log beta:
 * -1/2 tr((a a' - K^-1) dK), dK = -alpha log(1 + s) k and alpha s / (1 + s) k for s = (n + n') / beta. */
static double likelihood(void *arg, const double *x, double *gradient)
{
    const struct fit      *fit = arg;
    const struct stopping *problem = fit->problem;
    struct decay           decay = {.alpha = exp(x[0]), .beta = exp(x[1]), .offset = problem->offset_variance};
    size_t                 n = problem->seen;
    double                 jitter;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            fit->A[i * n + j] =
                covariance(&decay, problem->epochs[i], problem->epochs[j]) + (i == j ? problem->noise_variance : 0.0);
    memcpy(fit->alpha, problem->errors, n * sizeof *fit->alpha);
    if (mat_cholesky(fit->A, n, n, fit->spare, &jitter, NULL) != STATUS_OK)
        return HUGE_VAL;
    mat_solve_lower(fit->A, n, n, fit->alpha);
    double value = 0.5 * mat_dot(fit->alpha, fit->alpha, n) + 0.5 * mat_log_det(fit->A, n, n);
    mat_solve_upper(fit->A, n, n, fit->alpha);
    if (mat_inverse_from_cholesky(fit->A, n, n, fit->A, NULL) != STATUS_OK)
        return HUGE_VAL;
    gradient[0] = gradient[1] = 0.0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double s = (problem->epochs[i] + problem->epochs[j]) / decay.beta, k = exp(-decay.alpha * log1p(s));
            double weight =
                (i == j ? -0.5 : -1.0) * (fit->alpha[i] * fit->alpha[j] - fit->A[i * n + j]) * decay.alpha * k;
            gradient[0] -= weight * log1p(s);
            gradient[1] += weight * s / (1.0 + s);
        }
    return value;
}

/* The decay of greatest likelihood where it is not given; from (1, 1), or as near as the bounds allow. */
static enum status fit_decay(const struct stopping *problem, struct decay *decay, struct arena *scratch,
                             struct error *err)
{
    size_t     n = problem->seen;
    bool       alpha_is_given = !isnan(problem->alpha), beta_is_given = !isnan(problem->beta);
    double     alpha = alpha_is_given ? problem->alpha : fmin(1.0, problem->alpha_max);
    double     beta = beta_is_given ? problem->beta : 1.0, value;
    double     lower[2] = {log(alpha_is_given ? alpha : ALPHA_MIN), log(beta_is_given ? beta : BETA_MIN)};
    double     upper[2] = {log(alpha_is_given ? alpha : problem->alpha_max), log(beta_is_given ? beta : BETA_MAX)};
    double     x[2] = {log(alpha), log(beta)};
    struct fit fit = {.problem = problem,
                      .A = ARENA_NEW(scratch, double, n *n),
                      .spare = ARENA_NEW(scratch, double, n),
                      .alpha = ARENA_NEW(scratch, double, n)};
    const struct minimize search = {.dims = 2,
                                    .lower = lower,
                                    .upper = upper,
                                    .function = likelihood,
                                    .arg = &fit,
                                    .evaluations = FIT_EVALUATIONS,
                                    .f_tolerance = 1e-9,
                                    .x_tolerance = 1e-6};
    *decay = (struct decay){.alpha = alpha, .beta = beta, .offset = problem->offset_variance};
    if (fit.A == NULL || fit.spare == NULL || fit.alpha == NULL)
        return error_no_memory(err);
    if (alpha_is_given && beta_is_given)
        return STATUS_OK;
    TRY(minimize_lbfgs(&search, x, &value, scratch, err));
    if (isfinite(value))
        *decay = (struct decay){.alpha = exp(x[0]), .beta = exp(x[1]), .offset = problem->offset_variance};
    return STATUS_OK;
}

/* The posterior of the epochs first .. last as mean + factor z, z of N(0, I): the covariance's singular vectors times
 * the roots of its singular values, which for a covariance are its eigenvalues; what rounding made negative is among
 * the smallest and is cut off with them. */
struct posterior {
    size_t  steps, rank;
    double *mean;   /* [steps] */
    double *factor; /* [steps][rank] */
    double  sd;     /* at the last epoch */
};

static enum status factor_covariance(double *C, struct posterior *out, struct arena *scratch, struct error *err)
{
    size_t  steps = out->steps;
    double *s = ARENA_NEW(scratch, double, steps), *Vt = ARENA_NEW(scratch, double, steps *steps);
    if (s == NULL || Vt == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < steps; i++)
        for (size_t j = i + 1; j < steps; j++)
            C[i * steps + j] = C[j * steps + i];
    TRY(mat_svd(C, steps, steps, s, Vt, err));
    while (out->rank < steps && s[out->rank] > RANK_TOLERANCE * s[0])
        out->rank++;
    out->factor = ARENA_NEW(scratch, double, steps * out->rank + 1);
    if (out->factor == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < steps; i++)
        for (size_t k = 0; k < out->rank; k++)
            out->factor[i * out->rank + k] = C[i * steps + k] * sqrt(s[k]);
    return STATUS_OK;
}

static enum status find_posterior(const struct stopping *problem, const struct decay *decay, size_t first,
                                  struct posterior *out, struct arena *scratch, struct error *err)
{
    size_t  n = problem->seen, steps = problem->last - first + 1;
    double *A = ARENA_NEW(scratch, double, n *n), *spare = ARENA_NEW(scratch, double, n);
    double *V = ARENA_NEW(scratch, double, n *steps), *C = ARENA_NEW(scratch, double, steps *steps);
    double *y = ARENA_NEW(scratch, double, n), jitter;
    *out = (struct posterior){.steps = steps, .mean = ARENA_NEW(scratch, double, steps)};
    if (A == NULL || spare == NULL || V == NULL || C == NULL || y == NULL || out->mean == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++)
            A[i * n + j] =
                covariance(decay, problem->epochs[i], problem->epochs[j]) + (i == j ? problem->noise_variance : 0.0);
        for (size_t j = 0; j < steps; j++)
            V[i * steps + j] = covariance(decay, problem->epochs[i], (double)(first + j));
    }
    for (size_t i = 0; i < steps; i++)
        for (size_t j = 0; j <= i; j++)
            C[i * steps + j] = covariance(decay, (double)(first + i), (double)(first + j));
    memcpy(y, problem->errors, n * sizeof *y);
    TRY(mat_cholesky(A, n, n, spare, &jitter, err));
    mat_solve_lower(A, n, n, y);
    mat_solve_lower_many(A, n, n, V, steps, steps);
    mat_vector(V, n, steps, true, y, out->mean);
    mat_subtract_gram(V, n, steps, C);
    out->sd = sqrt(fmax(C[steps * steps - 1], 0.0));
    return factor_covariance(C, out, scratch, err);
}

/* --- simulation --- */

/* Counts of the simulated paths.  Step s is epoch first + s; its transitions lead to step s + 1. */
struct counts {
    size_t    steps, kept;
    size_t   *half, *start;    /* [steps] of each band: half its width, and where it starts */
    uint32_t *transitions;     /* start[s] + cell (2 half[s] + 1) + next - cell + half[s] */
    uint32_t *visits, *better; /* [steps][STOPPING_CELLS] */
};

static enum status counts_init(struct counts *counts, size_t steps, struct arena *scratch, struct error *err)
{
    size_t total = 0;
    *counts = (struct counts){.steps = steps,
                              .half = ARENA_NEW(scratch, size_t, steps),
                              .start = ARENA_NEW(scratch, size_t, steps),
                              .visits = arena_zalloc(scratch, steps * STOPPING_CELLS, sizeof(uint32_t)),
                              .better = arena_zalloc(scratch, steps * STOPPING_CELLS, sizeof(uint32_t))};
    if (counts->half == NULL || counts->start == NULL || counts->visits == NULL || counts->better == NULL)
        return error_no_memory(err);
    for (size_t s = 0; s < steps; s++) {
        counts->half[s] = STOPPING_CELLS / (s + 2) + 1;
        counts->start[s] = total;
        total += STOPPING_CELLS * (2 * counts->half[s] + 1);
    }
    counts->transitions = arena_zalloc(scratch, total, sizeof(uint32_t));
    return counts->transitions == NULL ? error_no_memory(err) : STATUS_OK;
}

struct tile {
    double   z[TILE], sum[TILE], low[TILE], high[TILE];
    double  *normals, *values; /* [rank][TILE], [steps][TILE] */
    int32_t *cells;            /* [steps][TILE] */
};

/* Turns the tile's values, made of its normals, into cells of running means. */
static void tile_summarise(struct tile *tile, const struct posterior *posterior)
{
    for (size_t p = 0; p < TILE; p++)
        tile->sum[p] = 0.0, tile->low[p] = 1.0, tile->high[p] = 0.0;
    for (size_t s = 0; s < posterior->steps; s++) {
        const double *value = tile->values + s * TILE;
        double        mean = posterior->mean[s], scale = STOPPING_CELLS / (double)(s + 1);
        int32_t      *cells = tile->cells + s * TILE;
        for (size_t p = 0; p < TILE; p++) {
            double e = value[p] + mean;
            tile->low[p] = e < tile->low[p] ? e : tile->low[p];
            tile->high[p] = e > tile->high[p] ? e : tile->high[p];
            tile->sum[p] += e;
            tile->z[p] = e;
        }
        for (size_t p = 0; p < TILE; p++) {
            double x = tile->sum[p] * scale;
            x = x > 0.0 ? x : 0.0;
            x = x < STOPPING_CELLS - 1 ? x : STOPPING_CELLS - 1;
            cells[p] = (int32_t)x;
        }
    }
}

/* Adds the first `paths` of the tile that stay inside (0, 1).  z holds the errors at the last epoch. */
static void tile_count(const struct tile *tile, size_t paths, double incumbent, struct counts *counts)
{
    uint16_t kept[TILE];
    size_t   n = 0;
    for (size_t p = 0; p < paths; p++)
        if (tile->low[p] > 0.0 && tile->high[p] < 1.0)
            kept[n++] = (uint16_t)p;
    for (size_t s = 0; s < counts->steps; s++) {
        const int32_t *cells = tile->cells + s * TILE;
        uint32_t      *visits = counts->visits + s * STOPPING_CELLS, *better = counts->better + s * STOPPING_CELLS;
        for (size_t k = 0; k < n; k++) {
            visits[cells[kept[k]]]++;
            better[cells[kept[k]]] += tile->z[kept[k]] < incumbent;
        }
    }
    for (size_t s = 0; s + 1 < counts->steps; s++) {
        const int32_t *cells = tile->cells + s * TILE, *next = cells + TILE;
        int32_t        width = 2 * (int32_t)counts->half[s]; /* cell (width + 1) - cell is cell width */
        uint32_t      *middle = counts->transitions + counts->start[s] + counts->half[s];
        for (size_t k = 0; k < n; k++)
            middle[cells[kept[k]] * width + next[kept[k]]]++;
    }
    counts->kept += n;
}

static enum status simulate(const struct stopping *problem, const struct posterior *posterior, struct counts *counts,
                            struct arena *scratch, struct error *err)
{
    size_t       steps = posterior->steps, rank = posterior->rank;
    struct rng   rng = problem->rng;
    struct tile *tile = ARENA_NEW(scratch, struct tile, 1);
    if (tile == NULL)
        return error_no_memory(err);
    tile->normals = ARENA_NEW(scratch, double, rank *TILE + 1);
    tile->values = arena_zalloc(scratch, steps * TILE, sizeof(double));
    tile->cells = ARENA_NEW(scratch, int32_t, steps * TILE);
    if (tile->normals == NULL || tile->values == NULL || tile->cells == NULL)
        return error_no_memory(err);
    for (size_t done = 0; done < problem->paths; done += TILE) {
        rng_fill_normal(&rng, tile->normals, rank * TILE);
        if (rank > 0)
            mat_multiply(posterior->factor, tile->normals, steps, rank, TILE, tile->values);
        tile_summarise(tile, posterior);
        size_t left = problem->paths - done;
        tile_count(tile, left < TILE ? left : TILE, problem->incumbent, counts);
    }
    return STATUS_OK;
}

/* --- backward induction --- */

/* Least expected losses at one step, from those of the next.  decisions NULL: the last epoch, where d0 is no choice. */
static void induce(const struct stopping *problem, const struct counts *counts, size_t s, const double *next,
                   double *loss, unsigned char *decisions)
{
    size_t half = counts->half[s], width = 2 * half;
    for (size_t cell = 0; cell < STOPPING_CELLS; cell++) {
        size_t at = s * STOPPING_CELLS + cell;
        double visits = (double)counts->visits[at], share = (double)counts->better[at] / visits, later = 0.0;
        loss[cell] = 0.0;
        if (counts->visits[at] == 0)
            continue;
        double worse = problem->k1 * share, better = problem->k2 * (1.0 - share), terminal = fmin(worse, better);
        loss[cell] = terminal;
        if (decisions == NULL)
            continue;
        const uint32_t *middle = counts->transitions + counts->start[s] + half + cell * width;
        size_t          low = cell > half ? cell - half : 0;
        size_t          high = cell + half < STOPPING_CELLS ? cell + half : STOPPING_CELLS - 1;
        for (size_t to = low; to <= high; to++)
            later += (double)middle[to] * next[to];
        later = problem->cost + later / visits;
        if (counts->visits[at] <= STOPPING_CELL_PATHS || later < terminal)
            loss[cell] = later;
        else
            decisions[cell] = worse <= better ? STOPPING_WORSE : STOPPING_BETTER;
    }
}

static void solve_backwards(const struct stopping *problem, const struct counts *counts, struct stopping_rule *rule)
{
    double losses[2][STOPPING_CELLS];
    size_t s = counts->steps - 1;
    induce(problem, counts, s, NULL, losses[s % 2], NULL);
    while (s-- > 0)
        induce(problem, counts, s, losses[(s + 1) % 2], losses[s % 2], rule->decisions + s * STOPPING_CELLS);
}

enum status stopping_solve(const struct stopping *problem, struct arena *arena, struct arena *scratch,
                           struct stopping_rule *rule, struct error *err)
{
    struct decay     decay;
    struct posterior posterior;
    struct counts    counts;
    if (!curve_is_sound(problem) || !settings_are_sound(problem))
        return error_set(err, STATUS_INVALID, "bad_curve", "", "not a learning curve with sound settings");
    size_t first = (size_t)problem->epochs[problem->seen - 1] + 1;
    *rule = (struct stopping_rule){.first = first, .last = problem->last};
    rule->decisions = arena_zalloc(arena, (problem->last - first) * STOPPING_CELLS + 1, 1);
    if (rule->decisions == NULL)
        return error_no_memory(err);
    TRY(fit_decay(problem, &decay, scratch, err));
    TRY(find_posterior(problem, &decay, first, &posterior, scratch, err));
    TRY(counts_init(&counts, posterior.steps, scratch, err));
    TRY(simulate(problem, &posterior, &counts, scratch, err));
    if (counts.kept >= STOPPING_PATHS_MIN)
        solve_backwards(problem, &counts, rule);
    rule->alpha = decay.alpha;
    rule->beta = decay.beta;
    rule->mean = posterior.mean[posterior.steps - 1];
    rule->sd = posterior.sd;
    rule->kept = counts.kept;
    return STATUS_OK;
}

enum status stopping_forecast(const struct stopping *problem, double *mean, double *sd, struct arena *scratch,
                              struct error *err)
{
    struct decay     decay;
    struct posterior posterior;
    if (!curve_is_sound(problem) || !settings_are_sound(problem))
        return error_set(err, STATUS_INVALID, "bad_curve", "", "not a learning curve with sound settings");
    TRY(fit_decay(problem, &decay, scratch, err));
    TRY(find_posterior(problem, &decay, problem->last, &posterior, scratch, err));
    *mean = posterior.mean[0];
    *sd = posterior.sd;
    return isfinite(*mean) && isfinite(*sd) ? STATUS_OK
                                            : error_set(err, STATUS_NUMERIC, "not_finite", "", "no forecast");
}

/* --- use --- */

size_t stopping_cell(double mean)
{
    if (!(mean >= 0.0 && mean <= 1.0))
        return STOPPING_CELLS;
    return mean < 1.0 ? (size_t)(mean * STOPPING_CELLS) : STOPPING_CELLS - 1;
}

enum stopping_decision stopping_decide(const struct stopping_rule *rule, size_t epoch, double mean)
{
    size_t cell = stopping_cell(mean);
    if (epoch < rule->first || epoch >= rule->last || cell == STOPPING_CELLS)
        return STOPPING_CONTINUE;
    return (enum stopping_decision)rule->decisions[(epoch - rule->first) * STOPPING_CELLS + cell];
}

/* Each epoch from first on, by the two given ones around it. */
double stopping_mean(const double *epochs, const double *errors, size_t n, size_t first)
{
    double sum = 0.0;
    size_t last = (size_t)epochs[n - 1], right = 0;
    for (size_t epoch = first; epoch <= last; epoch++) {
        while (epochs[right] < (double)epoch)
            right++;
        size_t left = right > 0 ? right - 1 : 0;
        double gap = epochs[right] - epochs[left];
        double share = gap > 0.0 ? ((double)epoch - epochs[left]) / gap : 1.0;
        sum += errors[left] + fmin(share, 1.0) * (errors[right] - errors[left]);
    }
    return sum / (double)(last - first + 1);
}
