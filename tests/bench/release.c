/* The cost of a guarantee: simple regret of po-gp-ucb over rows released by the mechanisms of release.h, after 5 random rows
 * and 50 queries, against an independent implementation (50 runs a cell).
 * usage: release [--runs N] [--dataset gp|branin]      N defaults to 3, the reference has 50 Prints one CSV line per cell.
 * z = (mean - reference) / sqrt(se^2 + reference_se^2), where se is at least what the reference's spread gives for as many
 * runs.  The exit code is 1 when a cell is worse by more than 3.6 (1 % over 40 cells) or the last lines are too slow.
 * "naive" ignores the noise of the rows; outcome_sensitivity > 0 releases the answers too, with the same epsilon again.
 * projected-gaussian is released with 12 to 16 % (gp) or 16 to 21 % (branin) more noise than the reference's has: see
 * release.h.
 * Last, the time of releasing 100,000 x 50; the bits of this program are no secret, so nothing here is private. */
#include "engine/privacy/release.h"
#include "engine/registry.h"
#include "tests/bench/grids.h"
#include "tests/unit/bits.h"

#include <assert.h>
#include <string.h>
#include <time.h>

enum { RUNS_MAX = 1000, REFERENCE_RUNS = 50, CELLS_MAX = 40 };
static const double Z_MAX = 3.6, SPEED_LIMIT_S = 20;

#define DL MECHANISM_DISCRETE_LAPLACE
#define DG MECHANISM_DISCRETE_GAUSSIAN
#define PG MECHANISM_PROJECTED_GAUSSIAN

enum model { EFFECTIVE, NAIVE };
static const char *const models[] = {"effective", "naive"};

struct cell {
    enum mechanism_kind kind;
    double              epsilon;
    enum model          model;
    double              outcome_range, outcome_sensitivity; /* 0: answers as they are */
    double              reference, se;
};

static const struct cell gp_cells[] = {
    {DL, 1, EFFECTIVE, 0, 0, .0810, .0137},
    {DL, 2.718281828459045, EFFECTIVE, 0, 0, .0313, .0073},
    {DL, 7.38905609893065, EFFECTIVE, 0, 0, .0095, .0032},
    {DL, 10, EFFECTIVE, 0, 0, .0031, .0013},
    {DG, 1, EFFECTIVE, 0, 0, .1810, .0371},
    {DG, 2.718281828459045, EFFECTIVE, 0, 0, .0504, .0135},
    {DG, 7.38905609893065, EFFECTIVE, 0, 0, .0140, .0025},
    {DG, 10, EFFECTIVE, 0, 0, .0100, .0034},
    {DG, 1, NAIVE, 0, 0, .2354, .0360},
    {DG, 2.718281828459045, NAIVE, 0, 0, .1216, .0183},
    {DG, 7.38905609893065, NAIVE, 0, 0, .0798, .0125},
    {DG, 10, NAIVE, 0, 0, .0490, .0078},
    {PG, 1, EFFECTIVE, 0, 0, .3518, .0566},
    {PG, 2.718281828459045, EFFECTIVE, 0, 0, .3170, .0577},
    {PG, 7.38905609893065, EFFECTIVE, 0, 0, .0417, .0105},
    {PG, 10, EFFECTIVE, 0, 0, .0399, .0085},
    {DL, 1, EFFECTIVE, 8, 8, .4892, .0531},
    {DL, 2.718281828459045, EFFECTIVE, 8, 8, .2423, .0318},
    {DL, 7.38905609893065, EFFECTIVE, 8, 8, .1372, .0212},
    {DL, 10, EFFECTIVE, 8, 8, .1085, .0157},
    {DL, 1, EFFECTIVE, 8, .77, .2032, .0347},
    {DL, 2.718281828459045, EFFECTIVE, 8, .77, .0648, .0089},
    {DL, 7.38905609893065, EFFECTIVE, 8, .77, .0174, .0049},
    {DL, 10, EFFECTIVE, 8, .77, .0146, .0042},
};
static const struct cell branin_cells[] = {
    {DL, 1, EFFECTIVE, 0, 0, .0435, .0064},
    {DL, 2.718281828459045, EFFECTIVE, 0, 0, .0295, .0031},
    {DL, 7.38905609893065, EFFECTIVE, 0, 0, .0193, .0031},
    {DL, 10, EFFECTIVE, 0, 0, .0165, .0030},
    {DG, 1, EFFECTIVE, 0, 0, .0872, .0178},
    {DG, 2.718281828459045, EFFECTIVE, 0, 0, .0347, .0038},
    {DG, 7.38905609893065, EFFECTIVE, 0, 0, .0270, .0033},
    {DG, 10, EFFECTIVE, 0, 0, .0200, .0032},
    {DG, 1, NAIVE, 0, 0, .1320, .0234},
    {DG, 2.718281828459045, NAIVE, 0, 0, .0975, .0153},
    {DG, 7.38905609893065, NAIVE, 0, 0, .0563, .0109},
    {DG, 10, NAIVE, 0, 0, .0304, .0052},
    {PG, 1, EFFECTIVE, 0, 0, .2706, .0424},
    {PG, 2.718281828459045, EFFECTIVE, 0, 0, .2046, .0534},
    {PG, 7.38905609893065, EFFECTIVE, 0, 0, .0526, .0214},
    {PG, 10, EFFECTIVE, 0, 0, .0483, .0116},
    {DL, 1, EFFECTIVE, 6, 6, .2832, .0555},
    {DL, 2.718281828459045, EFFECTIVE, 6, 6, .4345, .0770},
    {DL, 7.38905609893065, EFFECTIVE, 6, 6, .0329, .0029},
    {DL, 10, EFFECTIVE, 6, 6, .0314, .0029},
    {DL, 1, EFFECTIVE, 6, 1.24, .2383, .0503},
    {DL, 2.718281828459045, EFFECTIVE, 6, 1.24, .0334, .0028},
    {DL, 7.38905609893065, EFFECTIVE, 6, 1.24, .0267, .0031},
    {DL, 10, EFFECTIVE, 6, 1.24, .0297, .0029},
};

static const struct {
    const struct grid *grid;
    const struct cell *cells;
    size_t             len;
} tables[] = {
    {&grid_gp, gp_cells, sizeof gp_cells / sizeof gp_cells[0]},
    {&grid_branin, branin_cells, sizeof branin_cells / sizeof branin_cells[0]},
};

/* The curator of one run: rows and answers. */
struct curator {
    struct rng               rng;
    struct sampler           sampler;
    struct release           release;
    struct mechanism_outcome outcome;
    bool                     releases_outcomes;
    double                  *rows;  /* [len][p] released */
    size_t                  *order; /* [len] row of the grid that answers */
    size_t                   len;
    double                   unit; /* of the length-scales, in scaled space */
};

static void make_noisy(struct curator *curator, const double *X)
{
    struct arena arena;
    struct error err = {0};
    arena_init(&arena, 1 << 20);
    must(release_make(&curator->release, X, &curator->sampler, &arena, &err), &err);
    arena_fini(&arena);
    curator->len = curator->release.mechanism.rows;
}

/* The corners of the grid lie on the public ball. */
static void make_release(const struct grid *set, const struct cell *cell, struct curator *curator)
{
    size_t n = set->side * set->side, p = cell->kind == PG ? 10 : 2;
    double centre[2], radius = 0, *X = grid_points(set);
    for (size_t c = 0; c < 2; c++) {
        centre[c] = (set->low[c] + set->high[c]) / 2;
        radius = hypot(radius, (set->high[c] - centre[c]) / set->length_scales[c]);
    }
    curator->order = checked(malloc(n * sizeof *curator->order));
    curator->release = (struct release){
        .mechanism = {.kind = cell->kind,
                      .epsilon = cell->epsilon,
                      .delta = set->delta,
                      .distance = 1,
                      .rows = n,
                      .columns = 2,
                      .dims = p},
        .scale = {.centre = centre, .length_scales = set->length_scales, .radius = radius},
        .indices = checked(malloc(n * p * sizeof(int64_t))),
        .order = curator->order,
    };
    make_noisy(curator, X);
    curator->rows = doubles(curator->len * p);
    for (size_t i = 0; i < curator->len * p; i++)
        curator->rows[i] = (double)curator->release.indices[i] * curator->release.mechanism.gamma;
    free(curator->release.indices), free(X);
    curator->unit = MECHANISM_NORM / radius;
}

static void plan_outcomes(const struct cell *cell, const double *f, size_t n, struct curator *curator)
{
    double       low = f[0], high = f[0];
    struct error err = {0};
    for (size_t i = 1; i < n; i++)
        low = fmin(low, f[i]), high = fmax(high, f[i]);
    double middle = cell->outcome_range == 8 ? 0 : (low + high) / 2;
    curator->releases_outcomes = cell->outcome_sensitivity > 0;
    curator->outcome = (struct mechanism_outcome){.low = middle - cell->outcome_range / 2,
                                                  .high = middle + cell->outcome_range / 2,
                                                  .sensitivity = cell->outcome_sensitivity,
                                                  .epsilon = cell->epsilon};
    if (curator->releases_outcomes)
        must(mechanism_plan_outcome(&curator->outcome, &err), &err);
}

static double answer(void *arg, double value)
{
    struct curator *curator = arg;
    struct error    err = {0};
    int64_t         steps = 0;
    if (!curator->releases_outcomes)
        return value;
    must(release_outcome(&curator->outcome, value, &curator->sampler, &steps, &err), &err);
    return release_outcome_value(&curator->outcome, steps);
}

/* Sets the modeller's knowledge of the rows' noise. */
static void set_model(const struct grid *set, const struct cell *cell, const struct curator *curator,
                      const struct policy *policy, double *options)
{
    const struct mechanism *plan = &curator->release.mechanism;
    double                  noise_of_rows = cell->model == NAIVE ? 0 : plan->variance;
    policy_defaults(policy, options);
    options[policy_option(policy, "delta")] = 0.025;
    options[policy_option(policy, "length_scale")] = curator->unit;
    options[policy_option(policy, "signal_variance")] = set->variance;
    options[policy_option(policy, "noise_variance")] =
        set->noise + (curator->releases_outcomes ? curator->outcome.variance : 0);
    options[policy_option(policy, "mean")] = 0;
    options[policy_option(policy, "initial")] = INITIAL;
    options[policy_option(policy, "release_noise")] = noise_of_rows;
    options[policy_option(policy, "release_dims")] = (double)plan->dims;
}

static double regret_of_run(const struct grid *set, const struct cell *cell, uint64_t stream, uint64_t run,
                            const double *f)
{
    const struct policy  *policy = policy_find("po-gp-ucb");
    size_t                n = set->side * set->side;
    double                options[32];
    static struct curator curator;
    struct error          err = {0};
    curator.rng = rng_at(stream, 2, RNG_TEST);
    sampler_init(&curator.sampler, bits_of_rng, &curator.rng);
    make_release(set, cell, &curator);
    plan_outcomes(cell, f, n, &curator);
    double *ordered = doubles(curator.len);
    for (size_t i = 0; i < curator.len; i++)
        ordered[i] = f[curator.order[i]];
    struct space   space = {.kind = SPACE_CANDIDATES,
                            .rows = curator.rows,
                            .rows_len = curator.len,
                            .columns = curator.release.mechanism.dims};
    struct problem problem = {.space = &space, .options = options, .seed = run, .memory_bytes = 1 << 27};
    set_model(set, cell, &curator, policy, options);
    must(space_init(&space, &err), &err);
    double regret = largest(f, n) - best_of_study(&problem, policy, ordered, set->noise, answer, &curator);
    free(curator.rows), free(curator.order), free(ordered);
    return regret;
}

/* Prints a line; true when the cell is worse than the reference. */
static bool report(const struct grid *set, const struct cell *cell, const double *regrets, int runs)
{
    double mean = 0, squares = 0, n = runs;
    for (int i = 0; i < runs; i++)
        mean += regrets[i] / n;
    for (int i = 0; i < runs; i++)
        squares += pow(regrets[i] - mean, 2);
    double expected = cell->se * sqrt(REFERENCE_RUNS / n), se = runs > 1 ? sqrt(squares / (n - 1) / n) : expected;
    double z = (mean - cell->reference) / hypot(fmax(se, expected), cell->se);
    printf("%s,%s,%.3f,%s,%.2f,%d,%.4f,%.4f,%.4f,%.4f,%.2f\n", set->name, mechanism_name(cell->kind), cell->epsilon,
           models[cell->model], cell->outcome_sensitivity, runs, mean, se, cell->reference, cell->se, z);
    fflush(stdout);
    return z > Z_MAX;
}

static int run_table(size_t table, int runs)
{
    const struct grid *set = tables[table].grid;
    size_t             n = set->side * set->side;
    double            *f = doubles(n), *regrets = doubles(CELLS_MAX * (size_t)runs);
    int                failures = 0;
    for (int run = 0; run < runs; run++) {
        fill(set, (uint64_t)run + 1, f);
        for (size_t c = 0; c < tables[table].len; c++)
            regrets[c * (size_t)runs + (size_t)run] =
                regret_of_run(set, &tables[table].cells[c], (uint64_t)run * CELLS_MAX + c + 1, (uint64_t)run + 1, f);
    }
    for (size_t c = 0; c < tables[table].len; c++)
        failures += report(set, &tables[table].cells[c], regrets + c * (size_t)runs, runs);
    free(f), free(regrets);
    return failures;
}

/* 100,000 x 50: five million exact draws, in processor time. */
static int run_speed(enum mechanism_kind kind, size_t dims)
{
    enum { N = 100000, D = 50 };
    static double         centre[D], ones[D];
    static struct curator curator;
    double               *X = doubles((size_t)N * D);
    struct arena          arena;
    struct error          err = {0};
    curator.rng = rng_at(1, 1, RNG_TEST);
    sampler_init(&curator.sampler, bits_of_rng, &curator.rng);
    for (size_t i = 0; i < (size_t)N * D; i++)
        X[i] = rng_normal(&curator.rng);
    for (size_t c = 0; c < D; c++)
        ones[c] = 1;
    struct release release = {
        .mechanism = {.kind = kind, .epsilon = 1, .delta = 1e-6, .distance = 1, .rows = N, .columns = D, .dims = dims},
        .scale = {.centre = centre, .length_scales = ones, .radius = 10},
        .indices = checked(malloc((size_t)N * D * sizeof(int64_t))),
        .order = checked(malloc(N * sizeof(size_t)))};
    arena_init(&arena, 1 << 22);
    clock_t begin = clock();
    must(release_make(&release, X, &curator.sampler, &arena, &err), &err);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    arena_fini(&arena);
    printf("speed,%s,%d,%d,%zu,%.2f s\n", mechanism_name(kind), N, D, release.mechanism.dims, seconds);
    free(X), free(release.indices), free(release.order);
    return seconds > SPEED_LIMIT_S;
}

int main(int argc, char **argv)
{
    int         runs = 3, failures = 0;
    const char *only = NULL;
    for (int i = 1; i < argc; i += 2) {
        bool has_value = i + 1 < argc;
        if (has_value && strcmp(argv[i], "--runs") == 0 && atoi(argv[i + 1]) > 0 && atoi(argv[i + 1]) <= RUNS_MAX)
            runs = atoi(argv[i + 1]);
        else if (has_value && strcmp(argv[i], "--dataset") == 0)
            only = argv[i + 1];
        else
            return fprintf(stderr, "usage: release [--runs 1..%d] [--dataset gp|branin]\n", RUNS_MAX), 2;
    }
    mat_use_one_thread();
    puts("dataset,mechanism,epsilon,kernel,outcome_sensitivity,runs,mean,se,reference,reference_se,z");
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (only == NULL || strcmp(only, tables[i].grid->name) == 0)
            failures += run_table(i, runs);
    failures += run_speed(MECHANISM_DISCRETE_LAPLACE, 0) + run_speed(MECHANISM_DISCRETE_GAUSSIAN, 0) +
                run_speed(MECHANISM_PROJECTED_GAUSSIAN, 20);
    return failures == 0 ? 0 : 1;
}
