/* Many given trials: what the model says of the function, what a suggestion costs, and what a search gains that goes on.
 *   large [SEEDS [FIRST_SEED [NAME ...]]]            1 seed from 6001 of what choices are made on; NAME: as printed below
 * Given are n trials of a simple search: a quarter random, the others random steps of many sizes from one of the twenty
 * best so far.  Lines are CSV, means over the seeds (of regrets, geometric ones):
 * near, elsewhere      root mean square error of the mean at TESTED points, in a box of sides 2 NEAR around the best given
 *                      one, and everywhere; in standard deviations of the function there, so that 1 is a constant's
 * density_*            mean log density of the function's values, sd of a measurement included, in the same units
 * ms_point             processor time of a prediction with its deviation, for each of 2 TESTED points
 * ms, ms_most          processor time of a suggestion, median and longest of FURTHER
 * before, regret       simple regret of those given, and after FURTHER more
 * Methods: gp and turbo of the registry; exact: all n trials (4,000 at most), hyper-parameters from FIT_ROWS random ones;
 * local, which is what anybody could do: the NEIGHBOURS nearest in plain distance, one length-scale, mean and variance
 * of their own by maximum likelihood, and as a search the best expected improvement of SCORED random points in the box of
 * those nearest to the best.
 * The exit code is 1 when the errors of gp are on the whole larger than so many times those of local (NEAR_MAX,
 * ELSEWHERE_MAX), or a suggestion takes longer (MS_MAX, the median). */
#include "engine/base/numbers.h"
#include "engine/gp/gp_fit.h"
#include "engine/math/mat.h"
#include "engine/math/rng.h"
#include "engine/registry.h"
#include "tests/bench/bench.h"
#include "tests/bench/functions.h"

enum { TESTED = 100, FURTHER = 30, NEIGHBOURS = 256, FIT_ROWS = 512, EXACT_MAX = 4000, SCORED = 512, PARENTS = 20 };
enum { METHODS = 4, MEASURES = 9 };
static const double NEAR = 0.05, MS_MAX = 100.0, NEAR_MAX = 1.0, ELSEWHERE_MAX = 1.5;

/* development: what choices are made on. */
static const struct cell {
    const char     *name;
    bool            is_development;
    size_t          n;
    struct function function;
} cells[] = {
#define CELL(NAME, DEVELOPMENT, LOWER, UPPER, D, N)                                               \
    {                                                                                             \
#NAME #D "_" #N, DEVELOPMENT, N,                                                          \
        {                                                                                         \
            .name = "shifted_" #NAME, .value = NAME, .d = (D), .lower = (LOWER), .upper = (UPPER) \
        }                                                                                         \
    }
#define CELLS(NAME, DEVELOPMENT, LOWER, UPPER)                                                        \
    CELL(NAME, DEVELOPMENT, LOWER, UPPER, 10, 4000), CELL(NAME, DEVELOPMENT, LOWER, UPPER, 20, 4000), \
        CELL(NAME, DEVELOPMENT, LOWER, UPPER, 10, 20000), CELL(NAME, DEVELOPMENT, LOWER, UPPER, 20, 20000)
    CELLS(rosenbrock, true, -5, 10),    CELLS(styblinski, true, -5, 5),
    CELLS(levy, true, -10, 10),         CELLS(ackley, false, -5, 10),
    CELLS(dixon_price, false, -10, 10), CELLS(rotated, false, -1, 1),
    CELLS(griewank, false, -10, 10),    CELL(dixon_price, false, -10, 10, 20, 100000),
};

static void *claim(size_t count, size_t size)
{
    void *at = count > 0 ? calloc(count, size) : NULL;
    if (at == NULL)
        abort();
    return at;
}

/* ---- what is given ---- */

struct given {
    struct study *study;
    size_t        n, d, best;
    double       *U, *y; /* [n + FURTHER][d] of the unit cube, [n + FURTHER] values */
};

static double regret_at(struct study *study, const double *u)
{
    double point[DIMS_MAX], regret;
    for (size_t j = 0; j < study->function->d; j++)
        point[j] = study->function->lower + u[j] * (study->function->upper - study->function->lower);
    (void)study_measure(study, point, &regret);
    return regret;
}

static void step_from(struct rng *rng, const double *from, size_t d, double *u)
{
    double size = pow(10.0, -2.0 + 1.5 * rng_uniform(rng));
    for (size_t j = 0; j < d; j++)
        u[j] = rng_uniform(rng) < 0.5 ? from[j] : fmin(fmax(from[j] + size * rng_normal(rng), 0.0), 1.0);
}

static void random_point(struct rng *rng, size_t d, double *u)
{
    for (size_t j = 0; j < d; j++)
        u[j] = rng_uniform(rng);
}

static void keep_parent(const struct given *given, size_t i, size_t *parents)
{
    size_t at = i < PARENTS ? i : PARENTS - 1;
    if (i >= PARENTS && given->y[i] <= given->y[parents[at]])
        return;
    for (; at > 0 && given->y[i] > given->y[parents[at - 1]]; at--)
        parents[at] = parents[at - 1];
    parents[at] = i;
}

static struct given give(struct study *study, size_t n, uint64_t seed)
{
    size_t       d = study->function->d, parents[PARENTS] = {0};
    struct given given = {.study = study, .n = n, .d = d};
    struct rng   rng = rng_at(seed, 1, RNG_TEST);
    given.U = claim((n + FURTHER) * d, sizeof(double));
    given.y = claim(n + FURTHER, sizeof(double));
    for (size_t i = 0; i < n; i++) {
        double *u = given.U + i * d;
        if (i < PARENTS || rng_uniform(&rng) < 0.25)
            random_point(&rng, d, u);
        else
            step_from(&rng, given.U + parents[rng_below(&rng, PARENTS)] * d, d, u);
        given.y[i] = -regret_at(study, u);
        keep_parent(&given, i, parents);
    }
    given.best = parents[0];
    return given;
}

/* ---- posteriors ---- */

struct said {
    double mean[TESTED], sd[TESTED];
};

struct tested {
    double U[TESTED * DIMS_MAX], y[TESTED], centre, scale;
};

static void make_tested(const struct given *given, const double *around, struct rng *rng, struct tested *out)
{
    out->centre = out->scale = 0.0;
    for (size_t i = 0; i < TESTED; i++) {
        double *u = out->U + i * given->d;
        random_point(rng, given->d, u);
        for (size_t j = 0; around != NULL && j < given->d; j++)
            u[j] = fmin(fmax(around[j] + NEAR * (2.0 * u[j] - 1.0), 0.0), 1.0);
        out->y[i] = -regret_at(given->study, u);
        out->centre += out->y[i] / TESTED;
    }
    for (size_t i = 0; i < TESTED; i++)
        out->scale += square(out->y[i] - out->centre) / TESTED;
    out->scale = sqrt(out->scale);
}

/* error, density: [1] out. */
static void judge(const struct tested *tested, const struct said *said, double *error, double *density)
{
    double squares = 0.0, sum = 0.0;
    for (size_t i = 0; i < TESTED; i++) {
        double z = (said->mean[i] - tested->y[i]) / said->sd[i];
        squares += square(said->mean[i] - tested->y[i]);
        sum -= 0.5 * log(2.0 * PI) + log(said->sd[i] / tested->scale) + 0.5 * z * z;
    }
    *error += sqrt(squares / TESTED) / tested->scale;
    *density += sum / TESTED;
}

static void predict_policy(const struct given *given, const struct tested *tested, struct said *said)
{
    static double     points[TESTED * DIMS_MAX], sd[TESTED];
    struct study     *study = given->study;
    struct error      err = {0};
    struct prediction wanted = {
        .points = points, .m = TESTED, .mean = said->mean, .sd = sd, .sd_observed = said->sd, .looks_near = true};
    for (size_t i = 0; i < TESTED * given->d; i++)
        points[i] = study->function->lower + tested->U[i] * (study->function->upper - study->function->lower);
    must(study->policy->predict(study->session, &wanted, &err), &err);
}

/* ---- exact ---- */

struct exact {
    struct arena arena;
    struct warp  warp;
    struct gp    gp;
    double       centre, spread;
};

static void exact_make(const struct given *given, uint64_t seed, struct exact *exact)
{
    struct rng    rng = rng_at(seed, 3, RNG_TEST);
    struct error  err = {0};
    size_t        group_of[DIMS_MAX], d = given->d, n = given->n;
    double        theta[DIMS_MAX + GP_SCALARS], length_scales[DIMS_MAX], noise;
    double       *X = claim(FIT_ROWS * d, sizeof *X), *y = claim(FIT_ROWS, sizeof *y), *z = claim(n, sizeof *z);
    struct kernel kernel;
    struct gp_fit fit = {.kind = &kernel_matern52, .dims = d, .groups = d, .group_of = group_of, .evaluations = 60};
    for (size_t j = 0; j < d; j++)
        group_of[j] = j;
    exact->centre = exact->spread = 0.0;
    for (size_t i = 0; i < n; i++)
        exact->centre += given->y[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        exact->spread += square(given->y[i] - exact->centre) / (double)n;
    exact->spread = sqrt(exact->spread);
    for (size_t i = 0; i < n; i++)
        z[i] = (given->y[i] - exact->centre) / exact->spread;
    for (size_t k = 0; k < FIT_ROWS; k++) {
        size_t i = rng_below(&rng, n);
        memcpy(X + k * d, given->U + i * d, d * sizeof *X);
        y[k] = z[i];
    }
    arena_init(&exact->arena, SIZE_MAX);
    must(
        gp_fit_run(&fit, &(struct gp_data){.n = FIT_ROWS, .dims = d, .X = X, .y = y}, NULL, theta, &exact->arena, &err),
        &err);
    gp_fit_expand(&fit, theta, length_scales, &kernel, &noise);
    warp_make(&exact->warp, z, n, theta[d + 2]);
    for (size_t i = 0; i < n; i++)
        z[i] = warp_value(&exact->warp, z[i]);
    must(gp_init(&exact->gp, &exact->arena, &kernel, noise, n, &err), &err);
    must(gp_set_points_raised(&exact->gp, given->U, NULL, n, &err), &err);
    must(gp_set_values(&exact->gp, z, &err), &err);
    free(X), free(y), free(z);
}

static void exact_predict(struct exact *exact, const struct tested *tested, struct said *said)
{
    struct error err = {0};
    must(gp_posterior(&exact->gp, (struct points){tested->U, TESTED}, said->mean, said->sd, &exact->arena, &err), &err);
    for (size_t i = 0; i < TESTED; i++) {
        double y = warp_inverse(&exact->warp, said->mean[i]), sd = sqrt(said->sd[i] + exact->gp.noise_variance);
        said->sd[i] = sd / warp_slope(&exact->warp, y) * exact->spread;
        said->mean[i] = exact->centre + exact->spread * y;
    }
}

/* ---- local ---- */

struct local {
    struct arena arena;
    struct gp    gp;
    double       mean, variance, radius;
};

struct distance {
    double d2;
    size_t i;
};

static int distance_order(const void *a, const void *b)
{
    const struct distance *x = a, *y = b;
    return x->d2 != y->d2 ? (x->d2 > y->d2) - (x->d2 < y->d2) : (x->i > y->i) - (x->i < y->i);
}

/* The likelihood's logarithm, the mean and variance that make it largest put in; alpha for them. */
static double local_likelihood(struct local *local, const double *y)
{
    double       ones[NEIGHBOURS], b[NEIGHBOURS], along = 0.0, total = 0.0, squares = 0.0;
    struct gp   *gp = &local->gp;
    struct error err = {0};
    for (size_t i = 0; i < NEIGHBOURS; i++)
        ones[i] = 1.0, b[i] = y[i];
    mat_solve_lower(gp->L, NEIGHBOURS, gp->capacity, ones);
    mat_solve_lower(gp->L, NEIGHBOURS, gp->capacity, b);
    for (size_t i = 0; i < NEIGHBOURS; i++)
        along += ones[i] * b[i], total += square(ones[i]);
    local->mean = along / total;
    for (size_t i = 0; i < NEIGHBOURS; i++)
        squares += square(b[i] - local->mean * ones[i]);
    local->variance = fmax(squares / NEIGHBOURS, 1e-300);
    for (size_t i = 0; i < NEIGHBOURS; i++)
        b[i] = y[i] - local->mean;
    must(gp_set_values(gp, b, &err), &err);
    return -0.5 * NEIGHBOURS * log(local->variance) - 0.5 * mat_log_det(gp->L, NEIGHBOURS, gp->capacity);
}

/* Around u, from the first n rows. */
static void local_make(const struct given *given, size_t n, const double *u, struct local *local)
{
    static const double shares[] = {0.5, 1.0, 2.0, 4.0, 8.0, 16.0};
    size_t              d = given->d, tries = sizeof shares / sizeof *shares;
    struct distance    *nearest = claim(n, sizeof *nearest);
    double             *X = claim(NEIGHBOURS * d, sizeof *X), y[NEIGHBOURS], best = -HUGE_VAL, best_share = 0.0;
    struct error        err = {0};
    for (size_t i = 0; i < n; i++) {
        nearest[i].i = i;
        for (size_t j = 0; j < d; j++)
            nearest[i].d2 += square(given->U[i * d + j] - u[j]);
    }
    qsort(nearest, n, sizeof *nearest, distance_order);
    for (size_t k = 0; k < NEIGHBOURS; k++) {
        memcpy(X + k * d, given->U + nearest[k].i * d, d * sizeof *X);
        y[k] = given->y[nearest[k].i];
    }
    local->radius = sqrt(nearest[NEIGHBOURS / 2].d2);
    for (size_t t = 0; t <= tries; t++) {
        double        length_scales[DIMS_MAX];
        struct kernel kernel = {.kind = &kernel_matern52, .dims = d, .variance = 1.0, .length_scales = length_scales};
        for (size_t j = 0; j < d; j++)
            length_scales[j] = local->radius * (t < tries ? shares[t] : best_share);
        arena_init(&local->arena, SIZE_MAX);
        must(gp_init(&local->gp, &local->arena, &kernel, 1e-6, NEIGHBOURS, &err), &err);
        must(gp_set_points_raised(&local->gp, X, NULL, NEIGHBOURS, &err), &err);
        double value = local_likelihood(local, y);
        if (t < tries && value > best)
            best = value, best_share = shares[t];
        if (t < tries)
            arena_fini(&local->arena);
    }
    free(nearest), free(X);
}

static void local_posterior(struct local *local, const double *U, size_t m, double *mean, double *sd)
{
    struct error err = {0};
    must(gp_posterior(&local->gp, (struct points){U, m}, mean, sd, &local->arena, &err), &err);
    for (size_t i = 0; i < m; i++) {
        mean[i] += local->mean;
        sd[i] = sqrt(local->variance * (sd[i] + local->gp.noise_variance));
    }
}

static void local_predict(const struct given *given, const struct tested *tested, struct said *said)
{
    struct local local;
    for (size_t i = 0; i < TESTED; i++) {
        local_make(given, given->n, tested->U + i * given->d, &local);
        local_posterior(&local, tested->U + i * given->d, 1, said->mean + i, said->sd + i);
        arena_fini(&local.arena);
    }
}

static void local_ask(const struct given *given, size_t n, struct rng *rng, double *u)
{
    static double U[SCORED * DIMS_MAX], mean[SCORED], sd[SCORED];
    size_t        best = 0, chosen = 0, d = given->d;
    double        most = -HUGE_VAL;
    struct local  local;
    for (size_t i = 1; i < n; i++)
        best = given->y[i] > given->y[best] ? i : best;
    local_make(given, n, given->U + best * d, &local);
    double side = local.radius / sqrt((double)d);
    for (size_t i = 0; i < SCORED * d; i++) {
        double from = given->U[best * d + i % d];
        U[i] = fmin(fmax(from + side * (2.0 * rng_uniform(rng) - 1.0), 0.0), 1.0);
    }
    local_posterior(&local, U, SCORED, mean, sd);
    for (size_t i = 0; i < SCORED; i++) {
        double z = (mean[i] - given->y[best]) / sd[i];
        double gain = sd[i] * (z * 0.5 * erfc(-z / sqrt(2.0)) + exp(-0.5 * z * z) / sqrt(2.0 * PI));
        if (gain > most)
            most = gain, chosen = i;
    }
    arena_fini(&local.arena);
    memcpy(u, U + chosen * d, d * sizeof *u);
}

/* ---- searches ---- */

enum measure { NEAR_ERROR, NEAR_DENSITY, FAR_ERROR, FAR_DENSITY, POINT_MS, MS, MS_MOST, LOG_BEFORE, LOG_AFTER };

static void tell_policy(const struct given *given, size_t i, bool is_given)
{
    struct study *study = given->study;
    struct error  err = {0};
    double        point[DIMS_MAX];
    for (size_t j = 0; j < given->d; j++)
        point[j] =
            study->function->lower + given->U[i * given->d + j] * (study->function->upper - study->function->lower);
    struct event event = {.kind = EVENT_SUGGESTED, .trial = i + 1, .point = point, .is_given = true};
    if (is_given)
        must(study->policy->tell(study->session, &event, &err), &err);
    study_tell(study, i + 1, point, -given->y[i]);
}

static void search(struct given *given, uint64_t seed, double *measures)
{
    struct study *study = given->study;
    struct rng    rng = rng_at(seed, 4, RNG_TEST);
    double        ms[FURTHER], point[DIMS_MAX], best = given->y[given->best];
    for (size_t k = 0; k < FURTHER; k++) {
        size_t i = given->n + k;
        double start = cpu_ms(), *u = given->U + i * given->d;
        if (study->policy == NULL)
            local_ask(given, i, &rng, u);
        else
            study_ask(study, i + 1, point);
        ms[k] = cpu_ms() - start;
        for (size_t j = 0; study->policy != NULL && j < given->d; j++)
            u[j] = (point[j] - study->function->lower) / (study->function->upper - study->function->lower);
        given->y[i] = -regret_at(study, u);
        best = fmax(best, given->y[i]);
        if (study->policy != NULL)
            tell_policy(given, i, false);
    }
    qsort(ms, FURTHER, sizeof *ms, numbers_order);
    measures[MS] += ms[FURTHER / 2];
    measures[MS_MOST] += ms[FURTHER - 1];
    measures[LOG_BEFORE] += log(-given->y[given->best]);
    measures[LOG_AFTER] += log(-best);
}

static const char *const names[METHODS] = {"gp", "turbo", "exact", "local"};
enum { GP, TURBO, EXACT, LOCAL };

static void measure(struct given *given, int method, uint64_t seed, const struct tested *tested, double *measures)
{
    struct said  said;
    struct exact exact;
    if (method == EXACT)
        exact_make(given, seed, &exact);
    for (size_t i = 0; method <= TURBO && i < given->n; i++)
        tell_policy(given, i, true);
    for (int t = 0; t < 2; t++) {
        double start = cpu_ms();
        if (method <= TURBO)
            predict_policy(given, &tested[t], &said);
        else if (method == EXACT)
            exact_predict(&exact, &tested[t], &said);
        else
            local_predict(given, &tested[t], &said);
        measures[POINT_MS] += (cpu_ms() - start) / (2 * TESTED);
        judge(&tested[t], &said, &measures[NEAR_ERROR + 2 * t], &measures[NEAR_DENSITY + 2 * t]);
    }
    if (method == EXACT)
        arena_fini(&exact.arena);
    else
        search(given, seed, measures);
}

static void print(const struct cell *cell, int method, const double *sums, double seeds)
{
    double m[MEASURES];
    for (int k = 0; k < MEASURES; k++)
        m[k] = sums[k] / seeds;
    printf("%s,%s,%.3g,%.2f,%.3g,%.2f,%.2f,", cell->name, names[method], m[NEAR_ERROR], m[NEAR_DENSITY], m[FAR_ERROR],
           m[FAR_DENSITY], m[POINT_MS]);
    if (method == EXACT)
        printf(",,,\n");
    else
        printf("%.0f,%.0f,%.3g,%.3g\n", m[MS], m[MS_MOST], exp(m[LOG_BEFORE]), exp(m[LOG_AFTER]));
    fflush(stdout);
}

/* sums [METHODS][MEASURES] out. */
static void run_cell(const struct cell *cell, const struct function_seeds *seeds, double (*sums)[MEASURES])
{
    static struct tested tested[2];
    memset(sums, 0, METHODS * sizeof *sums);
    for (uint64_t seed = seeds->first; seed < seeds->first + seeds->seeds; seed++)
        for (int method = 0; method < METHODS; method++) {
            struct study         study;
            const struct policy *policy = method <= TURBO ? policy_find(names[method]) : NULL;
            struct rng           rng = rng_at(seed, 2, RNG_TEST);
            if (method == EXACT && cell->n > EXACT_MAX)
                continue;
            if (policy != NULL)
                study_open(&study, &cell->function, policy, seed, NULL, 0);
            else
                study_place(&study, &cell->function, seed);
            struct given given = give(&study, cell->n, seed);
            make_tested(&given, given.U + given.best * given.d, &rng, &tested[0]);
            make_tested(&given, NULL, &rng, &tested[1]);
            measure(&given, method, seed, tested, sums[method]);
            if (policy != NULL)
                study_close(&study);
            free(given.U), free(given.y);
        }
    for (int method = 0; method < METHODS; method++)
        if (method != EXACT || cell->n <= EXACT_MAX)
            print(cell, method, sums[method], (double)seeds->seeds);
}

static bool is_named(const struct cell *cell, char *const *wanted)
{
    for (char *const *name = wanted; *name != NULL; name++)
        if (strcmp(*name, cell->name) == 0)
            return true;
    return *wanted == NULL && cell->is_development;
}

int main(int argc, char **argv)
{
    struct function_seeds seeds = {.first = 6001};
    double                sums[METHODS][MEASURES], near = 0.0, elsewhere = 0.0, slowest = 0.0, count = 0.0;
    char                 *one[] = {argv[0], "1", NULL};
    if (!function_seeds_read(argc > 1 ? argc : 2, argc > 1 ? argv : one, 100, &seeds))
        return 64;
    mat_use_one_thread();
    printf("cell,method,near,density_near,elsewhere,density_elsewhere,ms_point,ms,ms_most,before,regret\n");
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) {
        if (!is_named(&cells[c], seeds.names))
            continue;
        run_cell(&cells[c], &seeds, sums);
        near += log(sums[GP][NEAR_ERROR] / sums[LOCAL][NEAR_ERROR]);
        elsewhere += log(sums[GP][FAR_ERROR] / sums[LOCAL][FAR_ERROR]);
        slowest = fmax(slowest, sums[GP][MS] / (double)seeds.seeds);
        count += 1.0;
    }
    if (count == 0.0) {
        fprintf(stderr, "large: no cell of that name\n");
        return 64;
    }
    near = exp(near / count);
    elsewhere = exp(elsewhere / count);
    printf("gp to local: near %.3g (limit %.3g), elsewhere %.3g (limit %.3g); slowest %.0f ms (limit %.0f)\n", near,
           NEAR_MAX, elsewhere, ELSEWHERE_MAX, slowest, MS_MAX);
    return near <= NEAR_MAX && elsewhere <= ELSEWHERE_MAX && slowest <= MS_MAX ? 0 : 1;
}
