/* Savings and losses of the rules that end a study early.  Each study runs to its whole budget, and each rule is asked before
 * every trial, by what was known then: when it would have ended the study, and what the rest of the budget still brought.
 *   worth [SEEDS [FIRST [BUDGET [FUNCTION ...]]]]   (20, 8001, 100, the functions that figures are reported of)
 * development among the functions: those that choices were made on.  each, first: one line per function and rule.
 * One CSV line per rule: how many of the studies it ended; which share of the budget was used (those that went on count in
 * full); the loss: how much better the best trial of the whole budget is, as a share of what the study won over the middle
 * of its first eight values.  Rules:
 *   not_worth_it S   the service's: ten more trials are expected to gain less than the share S of what was won,
 *                    five times in a row
 *   none in N        no better value among the last N trials
 *   bound S          an upper bound of the regret is less than S of what was won: the largest mean + b sd anywhere minus the
 *                    largest mean - b sd at a trial, of a plain Gaussian process of the better half of the trials (at
 *                    least 20), b^2 = 2/5 log(d n^2 pi^2 / 0.6): Makarova et al. 2022 as Optuna has it
 *   window           the last five trials improved the best by less than a tenth of the quartiles' distance of all values:
 *                    Ax */
#include "engine/surrogate/gp_model.h"
#include "engine/math/mat.h"
#include "engine/registry.h"
#include "tests/bench/functions.h"

enum {
    BUDGET_MAX = 400,
    RUNS_MAX = 4000,
    FIRST = 8,
    STATES = 5,
    HORIZON = 10,
    BOUND_LEAST = 20,
    WIDE = 1024,
    NEAR = 256
};

struct record {
    double best, truth; /* of the trials before: measured, and without noise */
    double value;       /* that the trial got */
    double gain, bound; /* before it */
};
struct run {
    const struct function *function;
    struct record          at[BUDGET_MAX + 1]; /* from trial 1, [0] */
};

/* ---- the regret bound ---- */

struct plain {
    struct arena     arena, scratch;
    struct trial_log log;
    struct gp_cache  cache;
    struct gp_model  model;
    size_t           group_of[DIMS_MAX];
};

static int by_value(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    return (x->value < y->value) - (x->value > y->value);
}

/* A model of the better half. */
static void plain_open(struct plain *plain, const struct study *study, struct event *trials, size_t n)
{
    size_t half = n / 2 < BOUND_LEAST ? BOUND_LEAST : n / 2;
    double theta[DIMS_MAX + GP_SCALARS];
    *plain = (struct plain){.cache.limit_bytes = 8 << 20};
    arena_init(&plain->arena, 8 << 20);
    arena_init(&plain->scratch, 32 << 20);
    trial_log_init(&plain->log, &plain->arena, study->space.params_len);
    gp_model_groups(&study->space, plain->group_of);
    qsort(trials, n, sizeof *trials, by_value);
    for (size_t i = 0; i < half && i < n; i++)
        must(trial_log_tell(&plain->log, &trials[i], NULL), NULL);
    plain->model = (struct gp_model){
        .space = &study->space, .log = &plain->log, .cache = &plain->cache, .scratch = &plain->scratch};
    const struct gp_fit fit = {.kind = &kernel_matern52,
                               .dims = study->space.dims,
                               .groups = study->space.params_len,
                               .group_of = plain->group_of,
                               .from_default = true,
                               .evaluations = 60,
                               .least_a = HUGE_VAL};
    must(gp_model_rows(&plain->model, 0, NULL), NULL);
    must(gp_model_fit(&plain->model, &fit, NULL, theta, NULL), NULL);
    must(gp_model_condition(&plain->model, &fit, theta, NULL, NULL), NULL);
}

static void plain_close(struct plain *plain)
{
    gp_cache_drop(&plain->cache);
    arena_fini(&plain->scratch);
    arena_fini(&plain->arena);
}

/* The trials, random points, and points around the best trial. */
static double *places(const struct plain *plain, uint64_t seed, size_t n, size_t *m)
{
    const struct gp *gp = plain->model.gp;
    size_t           dims = gp->kernel.dims;
    struct rng       rng = rng_at(seed, n, RNG_TEST);
    double          *U = malloc((gp->n + WIDE + NEAR) * dims * sizeof *U);
    memcpy(U, gp->X, gp->n * dims * sizeof *U);
    *m = gp->n;
    for (size_t k = 0; k < WIDE + NEAR; k++, (*m)++)
        for (size_t j = 0; j < dims; j++) {
            double reach = 0.1 * pow(10, -3.0 * ((double)k - WIDE) / NEAR), x = rng_uniform(&rng);
            if (k >= WIDE)
                x = fmin(fmax(gp->X[j] + reach * rng_normal(&rng), 0), 1);
            U[*m * dims + j] = x;
        }
    return U;
}

static double bound(const struct study *study, struct event *trials, size_t n, uint64_t seed)
{
    struct plain plain;
    size_t       m, d = study->space.params_len;
    double       b = sqrt(0.4 * log((double)(d * n * n) * PI * PI / 0.6)), high = -HUGE_VAL, low = -HUGE_VAL;
    if (n < BOUND_LEAST)
        return NAN;
    plain_open(&plain, study, trials, n);
    double *U = places(&plain, seed, n, &m), *mean = malloc(2 * m * sizeof *mean), *var = mean + m;
    must(gp_posterior(plain.model.gp, (struct points){U, m}, mean, var, &plain.scratch, NULL), NULL);
    for (size_t i = 0; i < m; i++) {
        high = fmax(high, mean[i] + b * sqrt(var[i]));
        if (i < plain.model.n)
            low = fmax(low, mean[i] - b * sqrt(var[i]));
    }
    high = (high - low) * plain.model.warp.scale * plain.model.spread * plain.model.unit;
    free(mean);
    free(U);
    plain_close(&plain);
    return high;
}

/* ---- a study ---- */

static void run_study(const struct function *function, uint64_t seed, size_t budget, struct run *run)
{
    static double       points[BUDGET_MAX][DIMS_MAX];
    static struct event trials[BUDGET_MAX], sorted[BUDGET_MAX];
    struct study        study;
    double              now;
    struct record       next = {.best = INFINITY, .truth = INFINITY};
    run->function = function;
    study_open(&study, function, policy_find("gp"), seed, NULL, 0);
    for (uint64_t trial = 1; trial <= budget; trial++) {
        struct gain gain;
        double     *point = points[trial - 1];
        must(study.policy->gain(study.session, &(struct ask){.trial = trial}, &gain, NULL), NULL);
        memcpy(sorted, trials, (trial - 1) * sizeof *trials);
        next.gain = gain.expected;
        next.bound = bound(&study, sorted, trial - 1, seed);
        study_ask(&study, trial, point);
        next.value = study_measure(&study, point, &now);
        study_tell(&study, trial, point, next.value);
        trials[trial - 1] =
            (struct event){.kind = EVENT_OBSERVED, .trial = trial, .point = point, .value = -next.value};
        run->at[trial - 1] = next;
        next.best = fmin(next.best, next.value);
        next.truth = fmin(next.truth, now);
    }
    run->at[budget] = next;
    study_close(&study);
}

/* ---- rules ---- */

static double won(const struct run *run, size_t n)
{
    double first[FIRST];
    for (size_t i = 0; i < FIRST; i++)
        first[i] = run->at[i].value;
    qsort(first, FIRST, sizeof *first, numbers_order);
    return 0.5 * (first[FIRST / 2 - 1] + first[FIRST / 2]) - run->at[n].best;
}

/* After n trials, n >= FIRST. */
static bool not_worth_it(const struct run *run, size_t n, double share)
{
    for (size_t i = 0; i < STATES; i++)
        if (n - i < FIRST || !(HORIZON * run->at[n - i].gain < share * won(run, n)))
            return false;
    return true;
}

static bool none_in(const struct run *run, size_t n, double trials)
{
    return (double)n > trials && run->at[n - (size_t)trials].best <= run->at[n].best;
}

static bool bound_below(const struct run *run, size_t n, double share)
{
    return run->at[n].bound < share * won(run, n);
}

static bool window(const struct run *run, size_t n, double size)
{
    double values[BUDGET_MAX];
    for (size_t i = 0; i < n; i++)
        values[i] = run->at[i].value;
    qsort(values, n, sizeof *values, numbers_order);
    double range = quantile(values, n, 0.75) - quantile(values, n, 0.25);
    return run->at[n - (size_t)size].best - run->at[n].best < 0.1 * range;
}

static const struct rule {
    const char *name;
    bool (*ends)(const struct run *run, size_t n, double size);
    double size;
} rules[] = {
    {"not_worth_it 3%", not_worth_it, 0.03},
    {"not_worth_it 1%", not_worth_it, 0.01},
    {"not_worth_it 0.3%", not_worth_it, 0.003},
    {"not_worth_it 0.1%", not_worth_it, 0.001},
    {"none in 10", none_in, 10},
    {"none in 15", none_in, 15},
    {"none in 20", none_in, 20},
    {"none in 30", none_in, 30},
    {"bound 10%", bound_below, 0.1},
    {"bound 3%", bound_below, 0.03},
    {"bound 1%", bound_below, 0.01},
    {"window", window, 5},
};

/* ---- figures ---- */

static void report(const char *name, const struct rule *rule, const struct run *runs, size_t len, size_t budget)
{
    static double loss[RUNS_MAX];
    double        ended = 0, used = 0, sum = 0;
    for (size_t r = 0; r < len; r++) {
        size_t n = FIRST;
        while (n < budget && !rule->ends(&runs[r], n, rule->size))
            n++;
        ended += n < budget;
        used += (double)n / (double)budget;
        loss[r] = (runs[r].at[n].truth - runs[r].at[budget].truth) / won(&runs[r], budget);
        sum += loss[r];
    }
    qsort(loss, len, sizeof *loss, numbers_order);
    printf("%s,%s,%zu,%.2f,%.2f,%.4f,%.4f,%.4f\n", name, rule->name, len, ended / (double)len, used / (double)len,
           sum / (double)len, quantile(loss, len, 0.9), loss[len - 1]);
}

static bool is_chosen(const struct function *f, char *const *names)
{
    if (*names == NULL)
        return !function_is_development(f) && f->d < 10;
    for (; *names != NULL; names++)
        if (strcmp(*names, f->name) == 0 || (strcmp(*names, "development") == 0 && function_is_development(f)))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    bool is_each = argc > 1 && strcmp(argv[1], "each") == 0;
    argc -= is_each;
    argv += is_each;
    size_t       seeds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20, len = 0;
    uint64_t     first = argc > 2 ? strtoul(argv[2], NULL, 10) : 8001;
    size_t       budget = argc > 3 ? strtoul(argv[3], NULL, 10) : 100;
    char *const *names = argc > 4 ? argv + 4 : argv + argc;
    if (budget <= FIRST || budget > BUDGET_MAX || seeds == 0 || seeds * FUNCTIONS > RUNS_MAX)
        return 64;
    struct run *runs = calloc(FUNCTIONS * seeds, sizeof *runs);
    if (runs == NULL)
        return 70;
    mat_use_one_thread();
    printf("functions,rule,studies,ended,used,loss,loss_90,loss_most\n");
    for (const struct function *f = functions; f < functions + FUNCTIONS; f++) {
        size_t from = len;
        for (size_t s = 0; is_chosen(f, names) && s < seeds; s++)
            run_study(f, first + s, budget, &runs[len++]);
        for (size_t i = 0; is_each && len > from && i < sizeof rules / sizeof *rules; i++)
            report(f->name, &rules[i], runs + from, len - from, budget);
        fflush(stdout);
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        report("all", &rules[i], runs, len, budget);
    free(runs);
    return 0;
}
