/* The regret tables of PO-GP-UCB (Kharkovskii, section 3.6): simple regret after 5 random rows and 50 queries over
 * projected grids (grids.h), through projection.h and the policy interface.
 * usage: po_gp_ucb [--runs N] [--dataset gp|branin]      N defaults to 12, the full table has 100
 * Prints one CSV line per cell.  A cell deviates by z = (mean - reference) / sqrt(se^2 + reference_se^2), where se is
 * at least what the reference's spread gives for as many runs (a few runs may all have regret 0).  Among many cells
 * some exceed 2 by chance, so the exit code is 1 when one exceeds 3.6 (two-sided 1 % over 40 comparisons), or when more
 * exceed 2 than 99 % of samples of independent cells would, or when in a table some r beats the largest r that is not
 * lifted by more than 3.6 standard errors of the difference (the thesis advises that r; 30 comparisons). */
#include "engine/privacy/projection.h"
#include "engine/registry.h"
#include "tests/bench/grids.h"

#include <string.h>

enum { RUNS_MAX = 1000, REFERENCE_RUNS = 50 };
static const double Z_MAX = 3.6, Z_COUNTED = 2;

/* Reference means of an independent implementation, and their standard errors (from 50 runs each). */
struct cell {
    double log_epsilon;
    size_t r; /* 0: the grid itself; 1: random rows */
    double reference, se;
    int    table; /* cells of a table share epsilon; 0: none */
};

static const struct cell gp_cells[] = {
    {0, 1, .4265, .0429, 0},    {0, 0, .0102, .0029, 0},    {1.1, 3, .0874, .0302, 1},  {1.1, 6, .0145, .0044, 1},
    {1.1, 8, .0117, .0047, 1},  {1.1, 10, .0168, .0055, 1}, {1.1, 15, .1130, .0148, 1}, {1.1, 20, .1155, .0122, 1},
    {1.3, 3, .0628, .0211, 2},  {1.3, 9, .0205, .0070, 2},  {1.3, 12, .0090, .0033, 2}, {1.3, 15, .0169, .0057, 2},
    {1.3, 20, .1076, .0126, 2}, {1.3, 30, .1110, .0112, 2}, {1.5, 5, .0203, .0055, 3},  {1.5, 10, .0177, .0056, 3},
    {1.5, 15, .0130, .0037, 3}, {1.5, 20, .0170, .0057, 3}, {1.5, 30, .1045, .0145, 3}, {1.5, 50, .1092, .0119, 3},
    {0.9, 10, .0814, .0120, 0}, {0.0, 10, .0863, .0131, 0},
};
static const struct cell branin_cells[] = {
    {0, 1, .3409, .0441, 0},    {0, 0, .0184, .0031, 0},    {2.3, 3, .0798, .0237, 1},  {2.3, 6, .0181, .0031, 1},
    {2.3, 8, .0159, .0030, 1},  {2.3, 10, .0161, .0030, 1}, {2.3, 15, .0240, .0033, 1}, {2.3, 20, .0210, .0032, 1},
    {2.5, 3, .1031, .0286, 2},  {2.5, 9, .0215, .0066, 2},  {2.5, 12, .0183, .0032, 2}, {2.5, 15, .0150, .0030, 2},
    {2.5, 20, .0203, .0032, 2}, {2.5, 30, .0242, .0033, 2}, {2.7, 5, .0181, .0053, 3},  {2.7, 10, .0097, .0026, 3},
    {2.7, 15, .0187, .0031, 3}, {2.7, 20, .0116, .0028, 3}, {2.7, 30, .0166, .0031, 3}, {2.7, 50, .0267, .0032, 3},
    {2.0, 10, .0184, .0032, 0}, {1.8, 10, .0240, .0033, 0}, {1.0, 10, .0312, .0030, 0}, {0.0, 10, .3348, .0664, 0},
};
enum { CELLS_MAX = 24 };

struct dataset {
    const struct grid *grid;
    const struct cell *cells;
    size_t             cells_len;
};

static const struct dataset datasets[] = {
    {&grid_gp, gp_cells, sizeof gp_cells / sizeof gp_cells[0]},
    {&grid_branin, branin_cells, sizeof branin_cells / sizeof branin_cells[0]},
};

struct result {
    double mean, se; /* over the runs */
    double se_floor; /* the larger of se and what the reference's spread gives */
    double z;
    bool   lifted;
};

/* The rows the modeller sees for one cell and run: [n][*columns]; *scale out, from grid to norm 25. */
static double *transformed(const struct grid *set, const struct cell *cell, uint64_t stream, size_t *columns,
                           double *scale, bool *lifted)
{
    size_t       n = set->side * set->side;
    double      *X = grid_points(set);
    struct error err = {0};
    must(projection_prepare(X, n, 2, set->length_scales, scale, &err), &err);
    *columns = 2;
    *lifted = false;
    if (cell->r < 2)
        return X;
    struct projection p = {.epsilon = exp(cell->log_epsilon), .delta = set->delta, .dims = cell->r};
    double           *M = doubles(2 * cell->r), *Z = doubles(n * cell->r);
    struct rng        rng = rng_at(stream, 2, RNG_TEST);
    struct arena      arena;
    for (size_t i = 0; i < 2 * cell->r; i++)
        M[i] = rng_normal(&rng);
    arena_init(&arena, 1 << 24);
    must(projection_apply(&p, (struct projection_rows){X, n, 2}, M, Z, &arena, &err), &err);
    arena_fini(&arena);
    free(X), free(M);
    *columns = cell->r;
    *lifted = p.lifted;
    return Z;
}

/* Simple regret of one run of one cell. */
static double regret_of_run(const struct dataset *table, const struct cell *cell, uint64_t run, const double *f,
                            bool *lifted)
{
    const struct grid   *set = table->grid;
    const struct policy *policy = policy_find(cell->r == 1 ? "random" : "po-gp-ucb");
    double               scale, options[32];
    size_t               columns, n = set->side * set->side;
    uint64_t             stream = run * CELLS_MAX + (uint64_t)(cell - table->cells);
    double              *rows = transformed(set, cell, stream, &columns, &scale, lifted);
    struct space         space = {.kind = SPACE_CANDIDATES, .rows = rows, .rows_len = n, .columns = columns};
    struct problem       problem = {.space = &space, .options = options, .seed = run, .memory_bytes = 1 << 27};
    struct error         err = {0};
    policy_defaults(policy, options);
    if (cell->r != 1) {
        options[policy_option(policy, "delta")] = 0.025;
        options[policy_option(policy, "length_scale")] = scale;
        options[policy_option(policy, "signal_variance")] = set->variance;
        options[policy_option(policy, "noise_variance")] = set->noise;
        options[policy_option(policy, "mean")] = 0;
        options[policy_option(policy, "initial")] = INITIAL;
        options[policy_option(policy, "release_noise")] = options[policy_option(policy, "release_dims")] = 0;
    }
    must(space_init(&space, &err), &err);
    double regret = largest(f, n) - best_of_study(&problem, policy, f, set->noise, NULL, NULL);
    free(rows);
    return regret;
}

static struct result summarise(const struct cell *cell, const double *regrets, int runs, bool lifted)
{
    struct result result = {.lifted = lifted};
    double        squares = 0, n = runs;
    for (int i = 0; i < runs; i++)
        result.mean += regrets[i] / n;
    for (int i = 0; i < runs; i++)
        squares += pow(regrets[i] - result.mean, 2);
    double expected = cell->se * sqrt(REFERENCE_RUNS / n);
    result.se = runs > 1 ? sqrt(squares / (n - 1) / n) : expected;
    result.se_floor = fmax(result.se, expected);
    result.z = (result.mean - cell->reference) / hypot(result.se_floor, cell->se);
    return result;
}

static void run_dataset(const struct dataset *set, int runs, struct result *results)
{
    size_t  n = set->grid->side * set->grid->side;
    double *f = doubles(n), *regrets = doubles(CELLS_MAX * (size_t)runs);
    bool    lifted[CELLS_MAX] = {false};
    for (int run = 0; run < runs; run++) {
        fill(set->grid, (uint64_t)run + 1, f);
        for (size_t c = 0; c < set->cells_len; c++)
            regrets[c * (size_t)runs + (size_t)run] =
                regret_of_run(set, &set->cells[c], (uint64_t)run + 1, f, &lifted[c]);
    }
    for (size_t c = 0; c < set->cells_len; c++) {
        const struct cell *cell = &set->cells[c];
        results[c] = summarise(cell, regrets + c * (size_t)runs, runs, lifted[c]);
        const char *branch = cell->r == 0 ? "non-private" : cell->r == 1 ? "random" : lifted[c] ? "yes" : "no";
        printf("%s,%.1f,%zu,%s,%d,%.4f,%.4f,%.4f,%.4f,%.2f\n", set->grid->name, cell->log_epsilon, cell->r, branch,
               runs, results[c].mean, results[c].se, cell->reference, cell->se, results[c].z);
        fflush(stdout);
    }
    free(f), free(regrets);
}

/* The least k with P(Binomial(n, p) > k) <= 1 %. */
static int binomial_limit(size_t n, double p)
{
    double term = pow(1 - p, (double)n), sum = term;
    int    k = 0;
    while (sum < 0.99) {
        term *= ((double)n - k) / (k + 1) * p / (1 - p);
        sum += term;
        k++;
    }
    return k;
}

static int count_deviating(const struct dataset *set, const struct result *results)
{
    int over = 0, failures = 0;
    for (size_t c = 0; c < set->cells_len; c++) {
        over += fabs(results[c].z) > Z_COUNTED;
        failures += fabs(results[c].z) > Z_MAX;
    }
    int limit = binomial_limit(set->cells_len, 0.0455);
    fprintf(stderr, "%s: %d of %zu cells beyond %g standard errors (at most %d), %d beyond %g\n", set->grid->name, over,
            set->cells_len, Z_COUNTED, limit, failures, Z_MAX);
    return failures + (over > limit);
}

/* In each table the largest r that is not lifted is best, or tied with the best. */
static int count_untied(const struct dataset *set, const struct result *results)
{
    int failures = 0;
    for (int table = 1; table <= 3; table++) {
        size_t best = 0, chosen = 0; /* cell 0 is in no table */
        for (size_t c = 0; c < set->cells_len; c++) {
            if (set->cells[c].table != table)
                continue;
            best = best == 0 || results[c].mean < results[best].mean ? c : best;
            chosen = results[c].lifted ? chosen : c;
        }
        double se = hypot(results[best].se_floor, results[chosen].se_floor);
        bool   tied = results[chosen].mean <= results[best].mean + Z_MAX * se;
        fprintf(stderr, "%s, epsilon e^%.1f: r = %zu (largest not lifted) %.4f, best r = %zu %.4f: %s\n",
                set->grid->name, set->cells[chosen].log_epsilon, set->cells[chosen].r, results[chosen].mean,
                set->cells[best].r, results[best].mean, tied ? "best or tied" : "worse");
        failures += !tied;
    }
    return failures;
}

int main(int argc, char **argv)
{
    int         runs = 12, failures = 0;
    const char *only = NULL;
    for (int i = 1; i < argc; i += 2) {
        bool has_value = i + 1 < argc;
        if (has_value && strcmp(argv[i], "--runs") == 0 && atoi(argv[i + 1]) > 0 && atoi(argv[i + 1]) <= RUNS_MAX)
            runs = atoi(argv[i + 1]);
        else if (has_value && strcmp(argv[i], "--dataset") == 0)
            only = argv[i + 1];
        else
            return fprintf(stderr, "usage: po_gp_ucb [--runs 1..%d] [--dataset gp|branin]\n", RUNS_MAX), 2;
    }
    mat_use_one_thread();
    puts("dataset,log_eps,r,lifted,runs,mean,se,reference,reference_se,z");
    for (size_t i = 0; i < sizeof datasets / sizeof datasets[0]; i++) {
        struct result results[CELLS_MAX];
        if (only != NULL && strcmp(only, datasets[i].grid->name) != 0)
            continue;
        run_dataset(&datasets[i], runs, results);
        failures += count_deviating(&datasets[i], results) + count_untied(&datasets[i], results);
    }
    return failures == 0 ? 0 : 1;
}
