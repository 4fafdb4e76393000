/* Where rows were before their noise: against the closed form of normal rows, and where it must leave rows alone. */
#include "engine/privacy/denoise.h"

#include "engine/base/numbers.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

enum { N = 2000, D_MAX = 4 };

struct world {
    struct arena arena;
    double       truth[N * D_MAX], rows[N * D_MAX], means[N * D_MAX], variances[N * D_MAX];
};

static double laplace(struct rng *rng, double sd)
{
    double u = rng_uniform(rng) - 0.5;
    return (u < 0 ? 1 : -1) * log1p(-2 * fabs(u)) * sd * SQRT_HALF;
}

/* Rows of `clusters` normal clusters (one: around 0), and noise of variance s2. */
static struct denoise fill(struct world *w, size_t d, size_t clusters, double s2, bool is_laplace)
{
    struct rng rng = rng_at(91 + d + clusters, 1, RNG_TEST);
    arena_init(&w->arena, 1 << 26);
    for (size_t i = 0; i < N; i++) {
        size_t k = rng_below(&rng, clusters);
        for (size_t c = 0; c < d; c++) {
            double centre = clusters == 1 ? 0 : 14 * sin(7.3 * (double)k + 2.1 * (double)c);
            w->truth[i * d + c] = centre + (clusters == 1 ? 3 : 0.7) * rng_normal(&rng);
            w->rows[i * d + c] =
                w->truth[i * d + c] + (is_laplace ? laplace(&rng, sqrt(s2)) : sqrt(s2) * rng_normal(&rng));
        }
    }
    return (struct denoise){.rows = w->rows,
                            .n = N,
                            .columns = d,
                            .variance = s2,
                            .bound = 25,
                            .shape = is_laplace ? DENOISE_LAPLACE : DENOISE_NORMAL,
                            .means = w->means,
                            .variances = w->variances};
}

/* Mean square of the means' errors, and mean of what was said of it. */
static void errors_of(const struct world *w, const struct denoise *d, double *error, double *said)
{
    *error = *said = 0;
    for (size_t k = 0; k < N * d->columns; k++) {
        double count = (double)(N * d->columns);
        *error += (w->means[k] - w->truth[k]) * (w->means[k] - w->truth[k]) / count;
        *said += w->variances[k] / count;
    }
}

/* x ~ N(0, 9), z = x + N(0, 4): the mean is z 9/13, the variance 36/13. */
static void test_normal_rows(void)
{
    for (size_t d = 1; d <= D_MAX; d++) {
        static struct world w;
        struct denoise      given = fill(&w, d, 1, 4, false);
        bool                helps = false;
        double              error, said, away = 0;
        CU_ASSERT_EQUAL_FATAL(denoise_rows(&given, &w.arena, &helps, NULL), STATUS_OK);
        CU_ASSERT_FATAL(helps);
        errors_of(&w, &given, &error, &said);
        for (size_t k = 0; k < N * d; k++)
            away += pow(w.means[k] - w.rows[k] * 9 / 13, 2) / (double)(N * d);
        CU_ASSERT(away < (d < 3 ? 0.35 : 0.9));
        CHECK_NEAR(error / (36.0 / 13), 1, d < 3 ? 0.1 : 0.35);
        CHECK_NEAR(said / error, 1, d < 3 ? 0.15 : 0.3);
        arena_fini(&w.arena);
    }
}

/* Clusters hidden by Laplace noise are found to less than half of its variance; knowing that it is Laplace noise helps. */
static void test_clusters(void)
{
    static struct world w;
    for (size_t d = 2; d <= D_MAX; d++) {
        struct denoise given = fill(&w, d, 6, 49, true);
        bool           helps = false;
        double         error, said, normal;
        CU_ASSERT_EQUAL_FATAL(denoise_rows(&given, &w.arena, &helps, NULL), STATUS_OK);
        errors_of(&w, &given, &error, &said);
        CU_ASSERT(helps && error < 25 && said > 0.8 * error && said < 2.5 * error);
        given.shape = DENOISE_NORMAL;
        CU_ASSERT_EQUAL_FATAL(denoise_rows(&given, &w.arena, &helps, NULL), STATUS_OK);
        errors_of(&w, &given, &normal, &said);
        CU_ASSERT(helps && normal > error);
        arena_fini(&w.arena);
    }
}

/* Isotropic noise: a normal direction and a radius of Gamma(2, b), variance (2 + 1) b^2; its own shape finds most. */
static void test_isotropic(void)
{
    static struct world w;
    struct denoise      given = fill(&w, 2, 6, 49, false);
    struct rng          rng = rng_at(97, 1, RNG_TEST);
    double              error[2], said;
    bool                helps = false;
    for (size_t i = 0; i < N; i++) {
        double angle = 2 * PI * rng_uniform(&rng), r = -sqrt(49.0 / 3) * log(rng_uniform(&rng) * rng_uniform(&rng));
        w.rows[2 * i] = w.truth[2 * i] + r * cos(angle);
        w.rows[2 * i + 1] = w.truth[2 * i + 1] + r * sin(angle);
    }
    for (int is_known = 0; is_known < 2; is_known++) {
        given.shape = is_known ? DENOISE_ISOTROPIC : DENOISE_NORMAL;
        CU_ASSERT_EQUAL_FATAL(denoise_rows(&given, &w.arena, &helps, NULL), STATUS_OK);
        errors_of(&w, &given, &error[is_known], &said);
        CU_ASSERT(helps && error[is_known] < 30);
    }
    CU_ASSERT(error[1] < error[0]);
    arena_fini(&w.arena);
}

/* Few rows, too much noise, too little for the grid, rows far apart in many dimensions, no memory. */
static void test_no_help(void)
{
    static struct world w;
    struct arena        small;
    struct denoise      good = fill(&w, 2, 6, 49, false), given = good;
    bool                helps = true;
    given.n = 49;
    CU_ASSERT(denoise_rows(&given, &w.arena, &helps, NULL) == STATUS_OK && !helps);
    given = good, given.columns = 300, given.n = 1700; /* too many numbers: not looked at */
    CU_ASSERT(denoise_rows(&given, &w.arena, &helps, NULL) == STATUS_OK && !helps);
    given = good, given.variance = 200, helps = true;
    CU_ASSERT(denoise_rows(&given, &w.arena, &helps, NULL) == STATUS_OK && !helps);
    given = good, given.variance = 0.01, helps = true;
    CU_ASSERT(denoise_rows(&given, &w.arena, &helps, NULL) == STATUS_OK && !helps);
    arena_init(&small, 1 << 20);
    CU_ASSERT(denoise_rows(&good, &small, &helps, NULL) == STATUS_NO_MEMORY && !helps);
    arena_fini(&small);
    arena_fini(&w.arena);
    given = fill(&w, D_MAX, 6, 20, false), helps = true;
    CU_ASSERT(denoise_rows(&given, &w.arena, &helps, NULL) == STATUS_OK && !helps);
    arena_fini(&w.arena);
}

CU_TestInfo suite_denoise[] = {
    {"normal rows", test_normal_rows}, {"clusters", test_clusters}, {"isotropic", test_isotropic},
    {"no help", test_no_help},         CU_TEST_INFO_NULL,
};
