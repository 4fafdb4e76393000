/* Resizing against closed forms and scipy.ndimage.zoom (order 1, grid_mode), the additive process against scikit-learn's
 * Matern kernels and finite differences of what they give.  The reference numbers were made with scipy 1.10.1 and
 * scikit-learn 1.2.1 from the inputs that stand here. */
#include "engine/gp/additive.h"
#include "engine/space/image.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

/* ---- resizing ---- */

static void test_closed_forms(void)
{
    const struct image_shape line = {1, 2, 1}, wide = {1, 4, 1}, one = {1, 1, 1}, three = {3, 3, 1};
    const double             ends[] = {-2.5, 1.5}, dot[] = {2.385};
    double                   out[9], back[2];
    image_resize(ends, &line, out, &wide); /* quarters between the centres, the ends beyond them */
    CU_ASSERT(out[0] == -2.5 && out[1] == -1.5 && out[2] == 0.5 && out[3] == 1.5);
    image_resize(out, &wide, back, &line); /* the means of the pairs */
    CU_ASSERT(back[0] == -2.0 && back[1] == 1.0);
    image_resize(dot, &one, out, &three);
    for (size_t i = 0; i < 9; i++)
        CU_ASSERT(out[i] == 2.385);
    image_resize(ends, &line, back, &line);
    CU_ASSERT(memcmp(back, ends, sizeof ends) == 0);
}

/* A plane stays a plane where all of it lies between centres. */
static void test_plane(void)
{
    const struct image_shape from = {5, 4, 2}, to = {11, 9, 2};
    double                   in[40], out[198];
    for (size_t i = 0; i < 40; i++) {
        double row = ((double)(i / 8) + 0.5) / 5, column = ((double)(i / 2 % 4) + 0.5) / 4;
        in[i] = i % 2 == 0 ? 0.3 + 1.7 * row - 2.385 * column : -row;
    }
    image_resize(in, &from, out, &to);
    for (size_t i = 0; i < 198; i++) {
        double row = ((double)(i / 18) + 0.5) / 11, column = ((double)(i / 2 % 9) + 0.5) / 9;
        row = fmin(fmax(row, 0.1), 0.9);
        column = fmin(fmax(column, 0.125), 0.875);
        CHECK_NEAR(out[i], i % 2 == 0 ? 0.3 + 1.7 * row - 2.385 * column : -row, 1e-14);
    }
}

static void test_reference(void)
{
    static const double      in[] = {0.375, -1.25, 2.385, 0.5, 3.125, -0.75, 1.0625, 0.25, -2.5, -0.125, 1.75, 0.875};
    static const double      up[] = {0.375,
                                     0.14285714285714296,
                                     -0.5535714285714285,
                                     -1.25,
                                     0.3078571428571423,
                                     1.8657142857142859,
                                     2.385,
                                     0.4625,
                                     0.655357142857143,
                                     1.2339285714285717,
                                     1.8125000000000007,
                                     1.1173571428571434,
                                     0.42221428571428526,
                                     0.19049999999999934,
                                     0.78125,
                                     0.9107142857142856,
                                     1.2991071428571428,
                                     1.6875,
                                     0.26785714285714335,
                                     -1.1517857142857146,
                                     -1.625};
    static const double      down[] = {0.5625, 0.8475, 0.6015625, -0.359375};
    const struct image_shape from = {4, 3, 1}, larger = {5, 7, 1}, smaller = {2, 2, 1};
    double                   out[35];
    image_resize(in, &from, out, &larger);
    for (size_t i = 0; i < sizeof up / sizeof *up; i++)
        CHECK_NEAR(out[i], up[i], 1e-13);
    image_resize(in, &from, out, &smaller);
    for (size_t i = 0; i < 4; i++)
        CHECK_NEAR(out[i], down[i], 1e-13);
}

CU_TestInfo suite_image[] = {
    {"closed forms", test_closed_forms},
    {"a plane", test_plane},
    {"against scipy", test_reference},
    CU_TEST_INFO_NULL,
};

/* ---- the additive process ---- */

enum { N = 7, D = 5 };
static const double U[N * D] = {0.61,  0.616,  0.031,  -0.428, -0.892, -0.233, -0.183, -0.909, -0.902,
                                0.998, 0.305,  -0.531, -0.13,  0.948,  0.795,  0.688,  -0.215, -0.014,
                                0.353, -0.878, 0.111,  -0.457, 0.759,  -0.872, 0.358,  0.74,   -0.545,
                                0.791, 0.744,  -0.963, 0.415,  -0.998, 0.007,  -0.127, -0.593};
static const double y[N] = {-0.396, -1.091, -1.355, 0.225, -1.109, 1.17, 0.717};
static const double z[D] = {0.31, -0.62, 0.155, 0.93, -0.48};

struct fixture {
    struct arena     arena;
    size_t           order[D];
    struct partition partition;
    double           theta[ADDITIVE_HYPER];
};

static void fixture_init(struct fixture *f)
{
    static const size_t order[D] = {3, 0, 4, 1, 2};
    arena_init(&f->arena, 1 << 20);
    memcpy(f->order, order, sizeof order);
    f->partition = (struct partition){.dims = D, .groups = 3, .order = f->order, .start = {0, 1, 3, 5}};
    f->theta[0] = log(0.8), f->theta[1] = log(1.7), f->theta[2] = log(0.03);
}

static void test_likelihood(void)
{
    static const double        expected[] = {-1.989411011749098, 0.7758498385967981, 0.20190804574937712};
    const struct additive_data data = {.n = N, .known = N, .U = U, .y = y};
    struct fixture             f;
    double                     value, gradient[ADDITIVE_HYPER];
    fixture_init(&f);
    CU_ASSERT(additive_likelihood(&f.partition, &data, f.theta, &value, gradient, &f.arena) == STATUS_OK);
    CHECK_NEAR(value, -10.178840472909757, 1e-12);
    for (size_t i = 0; i < ADDITIVE_HYPER; i++)
        CHECK_NEAR(gradient[i], expected[i], 1e-8);
    arena_fini(&f.arena);
}

static void test_posterior(void)
{
    static const double  means[] = {0.13913192962008258, 0.24202810459862945, -0.198529350959874};
    static const double  vars[] = {0.24337455797900664, 0.36312841214265135, 0.3228494353779855};
    struct additive_data data = {.n = N, .known = N, .U = U, .y = y};
    struct fixture       f;
    struct additive      model;
    double               mean, var, work[2 * N + D], group[2];
    fixture_init(&f);
    CU_ASSERT(additive_condition(&model, &f.partition, &data, f.theta, &f.arena, NULL) == STATUS_OK);
    additive_posterior(&model, z, work, &mean, &var);
    CHECK_NEAR(mean, 0.1826306832588389, 1e-12);
    CHECK_NEAR(var, 0.20802349196068426, 1e-12);
    for (size_t j = 0; j < 3; j++) {
        for (size_t k = f.partition.start[j]; k < f.partition.start[j + 1]; k++)
            group[k - f.partition.start[j]] = z[f.order[k]];
        CU_ASSERT(additive_group(&model, (struct group_points){j, group, 1}, &mean, &var, &f.arena, NULL) == STATUS_OK);
        CHECK_NEAR(mean, means[j], 1e-12);
        CHECK_NEAR(var, vars[j], 1e-12);
    }
    double known_var = var;
    data.known = N - 1; /* the last row is pending: it takes variance away and leaves the mean to the others */
    CU_ASSERT(additive_condition(&model, &f.partition, &data, f.theta, &f.arena, NULL) == STATUS_OK);
    additive_posterior(&model, z, work, &mean, &var);
    CHECK_NEAR(mean, -0.1238348101847091, 1e-12);
    CHECK_NEAR(var, 0.20802349196068426, 1e-12);
    CU_ASSERT(additive_group(&model, (struct group_points){2, group, 1}, &mean, &var, &f.arena, NULL) == STATUS_OK &&
              var == known_var);
    arena_fini(&f.arena);
}

/* The upper bound's gradient by central differences, and its value from additive_group. */
static void test_bound(void)
{
    const struct additive_data data = {.n = N, .known = N, .U = U, .y = y};
    struct fixture             f;
    struct additive            model;
    double                     work[2 * N], gradient[2], unused[2], mean, var, h = 1e-6;
    fixture_init(&f);
    CU_ASSERT(additive_condition(&model, &f.partition, &data, f.theta, &f.arena, NULL) == STATUS_OK);
    for (size_t j = 0; j < 3; j++) {
        double at[2] = {0.385 - (double)j / 4, -0.71};
        double value = additive_group_ucb(&model, j, at, 1.75, gradient, work);
        CU_ASSERT(additive_group(&model, (struct group_points){j, at, 1}, &mean, &var, &f.arena, NULL) == STATUS_OK);
        CHECK_NEAR(value, mean + 1.75 * sqrt(var), 1e-12);
        for (size_t k = 0; k < f.partition.start[j + 1] - f.partition.start[j]; k++) {
            double up[2] = {at[0], at[1]}, down[2] = {at[0], at[1]};
            up[k] += h, down[k] -= h;
            double slope = (additive_group_ucb(&model, j, up, 1.75, unused, work) -
                            additive_group_ucb(&model, j, down, 1.75, unused, work)) /
                           (2 * h);
            CHECK_NEAR(gradient[k], slope, 1e-8);
        }
    }
    arena_fini(&f.arena);
}

/* Every coordinate once, groups as even as can be; the same stream gives the same one, another stream another. */
static void test_partition(void)
{
    static const struct {
        size_t dims, groups;
    } cases[] = {{1, 12}, {5, 12}, {36, 12}, {37, 12}, {324, 12}, {1024, 64}};
    struct arena arena;
    arena_init(&arena, 1 << 20);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct partition a, b, other;
        struct rng       rng = rng_at(7, 1, RNG_PARTITION), again = rng, third = rng_at(7, 2, RNG_PARTITION);
        bool             seen[1024] = {false};
        size_t           dims = cases[c].dims, groups = cases[c].groups < dims ? cases[c].groups : dims;
        CU_ASSERT(partition_draw(&a, dims, cases[c].groups, &rng, &arena, NULL) == STATUS_OK);
        CU_ASSERT(partition_draw(&b, dims, cases[c].groups, &again, &arena, NULL) == STATUS_OK);
        CU_ASSERT(partition_draw(&other, dims, cases[c].groups, &third, &arena, NULL) == STATUS_OK);
        CU_ASSERT(a.groups == groups && a.start[0] == 0 && a.start[groups] == dims);
        for (size_t i = 0; i < dims; i++) {
            CU_ASSERT(a.order[i] < dims && !seen[a.order[i]]);
            seen[a.order[i]] = true;
        }
        for (size_t j = 0; j < groups; j++) {
            size_t width = a.start[j + 1] - a.start[j];
            CU_ASSERT(width == dims / groups || width == dims / groups + 1);
        }
        CU_ASSERT(memcmp(a.order, b.order, dims * sizeof *a.order) == 0);
        CU_ASSERT(dims < 30 || memcmp(a.order, other.order, dims * sizeof *a.order) != 0);
    }
    arena_fini(&arena);
}

/* The fit climbs; on data of a sum of functions the right decomposition is the likelier one. */
static void test_fit(void)
{
    enum { ROWS = 60, COORDINATES = 6 };
    double       points[ROWS * COORDINATES], values[ROWS], theta[ADDITIVE_HYPER], other[ADDITIVE_HYPER], right, wrong;
    size_t       pairs[] = {0, 1, 2, 3, 4, 5}, crossed[] = {0, 2, 4, 1, 3, 5};
    struct rng   rng = rng_at(11, 1, RNG_TEST);
    struct arena arena;
    const struct partition     partition = {.dims = 6, .groups = 3, .order = pairs, .start = {0, 2, 4, 6}};
    const struct partition     mixed = {.dims = 6, .groups = 3, .order = crossed, .start = {0, 2, 4, 6}};
    const struct additive_data data = {.n = ROWS, .known = ROWS, .U = points, .y = values};
    const struct additive_fit  fit = {.evaluations = 60};
    arena_init(&arena, 1 << 22);
    for (size_t i = 0; i < ROWS; i++) {
        double *u = points + i * COORDINATES;
        for (size_t k = 0; k < COORDINATES; k++)
            u[k] = 2 * rng_uniform(&rng) - 1;
        values[i] = 1.5 * u[0] * u[1] + sin(3 * u[2] * u[3]) - u[4] * u[5];
    }
    CU_ASSERT(additive_fit(&partition, &data, &fit, theta, &arena, NULL) == STATUS_OK);
    CU_ASSERT(additive_fit(&mixed, &data, &fit, other, &arena, NULL) == STATUS_OK);
    CU_ASSERT(additive_likelihood(&partition, &data, theta, &right, NULL, &arena) == STATUS_OK);
    CU_ASSERT(additive_likelihood(&mixed, &data, other, &wrong, NULL, &arena) == STATUS_OK);
    CU_ASSERT(right > wrong + 10);
    CU_ASSERT(exp(theta[2]) < 0.05);
    arena_fini(&arena);
}

CU_TestInfo suite_additive[] = {
    {"partition", test_partition},
    {"likelihood", test_likelihood},
    {"posterior", test_posterior},
    {"upper bound", test_bound},
    {"fit", test_fit},
    CU_TEST_INFO_NULL,
};
