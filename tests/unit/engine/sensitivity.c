/* Sobol' indices against closed forms: Ishigami's function, a linear one, the g-function of Sobol' as a product and as a
 * sum; that the standard errors are honest; constant, huge, not finite and too large functions.
 * Tolerance with 8 x 1024 base points: 0.012 on every index (measured over 40 seeds: 0.008 for Ishigami's function). */
#include "engine/math/sensitivity.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

static const double PI = 3.14159265358979323846;
enum { D = 3, G = 5 };
static const double linear[D] = {2.385, -1.7, 0.0};
static const double g_weights[G] = {0.0, 0.5, 3.1, 9.7, 99.3};

struct function {
    double (*value)(const double *v);
    size_t dims, calls;
};

static double ishigami(const double *v)
{
    double x = PI * (2.0 * v[0] - 1.0), y = PI * (2.0 * v[1] - 1.0), z = PI * (2.0 * v[2] - 1.0);
    return sin(x) + 7.0 * sin(y) * sin(y) + 0.1 * z * z * z * z * sin(x);
}

static double plane(const double *v)
{
    return 41.3 + linear[0] * v[0] + linear[1] * v[1] + linear[2] * v[2];
}

static double g_product(const double *v)
{
    double product = 1.0;
    for (size_t i = 0; i < G; i++)
        product *= (fabs(4.0 * v[i] - 2.0) + g_weights[i]) / (1.0 + g_weights[i]);
    return product;
}

static double g_sum(const double *v)
{
    double sum = 0.0;
    for (size_t i = 0; i < G; i++)
        sum += (fabs(4.0 * v[i] - 2.0) + g_weights[i]) / (1.0 + g_weights[i]);
    return sum;
}

static double huge(const double *v)
{
    return 1e300 * (plane(v) - 41.0);
}

static double level(const double *v)
{
    return 0.1 + 1e-18 * v[0];
}

static double broken(const double *v)
{
    return v[1] > 0.99 ? NAN : v[0];
}

/* 70 coordinates: the base points need 140, more than the Sobol' table has. */
static double wide(const double *v)
{
    return v[0] + 2.0 * v[69];
}

static enum status evaluate(void *arg, const double *V, size_t m, double *out, struct error *err)
{
    struct function *f = arg;
    f->calls++;
    for (size_t k = 0; k < m; k++) {
        for (size_t i = 0; i < f->dims; i++)
            CU_ASSERT(V[k * f->dims + i] >= 0.0 && V[k * f->dims + i] < 1.0);
        out[k] = f->value(V + k * f->dims);
    }
    return f->value == NULL ? error_set(err, STATUS_BUSY, "busy", "", "never") : STATUS_OK;
}

static enum status run(double (*value)(const double *), size_t dims, uint64_t seed, struct arena *arena,
                       struct sensitivity_result *out)
{
    struct function    f = {.value = value, .dims = dims};
    struct sensitivity s = {.dims = dims, .samples = dims > 8 ? 64 : 1024, .seed = seed, .values = evaluate, .arg = &f};
    enum status        status = sensitivity_run(&s, arena, out, NULL);
    CU_ASSERT_EQUAL(f.calls, 1);
    CU_ASSERT(out->samples == 8 * s.samples && out->evaluations == out->samples * (dims + 2));
    return status;
}

/* The true moments and indices of f, by coordinate. */
struct truth {
    double mean, sd, sum, first[G], total[G];
};

static void check_against(double (*value)(const double *), size_t dims, const struct truth *truth)
{
    struct arena              arena;
    struct sensitivity_result r;
    size_t                    far = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        arena_init(&arena, 1 << 24);
        CU_ASSERT_EQUAL_FATAL(run(value, dims, seed, &arena, &r), STATUS_OK);
        CU_ASSERT(!r.is_constant);
        CHECK_NEAR(r.mean, truth->mean, 2e-3 * truth->sd);
        CHECK_NEAR(r.sd, truth->sd, 4e-3 * truth->sd);
        CHECK_NEAR(r.sum, truth->sum, 2e-2);
        for (size_t i = 0; i < dims; i++) {
            CHECK_NEAR(r.index[i].first, truth->first[i], 1.2e-2);
            CHECK_NEAR(r.index[i].total, truth->total[i], 1.2e-2);
            CU_ASSERT(r.index[i].first_error < 8e-3 && r.index[i].total_error < 8e-3);
            far += fabs(r.index[i].first - truth->first[i]) > 3.5 * r.index[i].first_error + 1e-12;
            far += fabs(r.index[i].total - truth->total[i]) > 3.5 * r.index[i].total_error + 1e-12;
        }
        arena_fini(&arena);
    }
    CU_ASSERT(far <= dims); /* of 24 dims; 1 % of them by Student's t with 7 degrees of freedom */
}

static void test_ishigami(void)
{
    double       p4 = pow(PI, 4), p8 = p4 * p4, a = 7.0, b = 0.1;
    double       v1 = 0.5 * pow(1.0 + b * p4 / 5.0, 2), v2 = a * a / 8.0, v13 = 8.0 * b * b * p8 / 225.0;
    double       v = v1 + v2 + v13;
    struct truth truth = {.mean = a / 2.0,
                          .sd = sqrt(v),
                          .sum = (v1 + v2) / v,
                          .first = {v1 / v, v2 / v, 0.0},
                          .total = {(v1 + v13) / v, v2 / v, v13 / v}};
    CHECK_NEAR(truth.first[0], 0.3139, 1e-4); /* as published */
    CHECK_NEAR(truth.total[2], 0.2437, 1e-4);
    check_against(ishigami, D, &truth);
}

static void test_linear(void)
{
    double       v = (linear[0] * linear[0] + linear[1] * linear[1]) / 12.0;
    struct truth truth = {.mean = 41.3 + (linear[0] + linear[1]) / 2.0, .sd = sqrt(v), .sum = 1.0};
    for (size_t i = 0; i < D; i++)
        truth.first[i] = truth.total[i] = linear[i] * linear[i] / 12.0 / v;
    check_against(plane, D, &truth);
}

static void test_g_functions(void)
{
    struct truth product = {.mean = 1.0}, sum = {.mean = G, .sum = 1.0};
    double       all = 1.0, added = 0.0;
    for (size_t i = 0; i < G; i++) {
        double v = 1.0 / 3.0 / pow(1.0 + g_weights[i], 2);
        all *= 1.0 + v;
        added += v;
    }
    for (size_t i = 0; i < G; i++) {
        double v = 1.0 / 3.0 / pow(1.0 + g_weights[i], 2);
        product.first[i] = v / (all - 1.0);
        product.total[i] = v * (all / (1.0 + v)) / (all - 1.0);
        product.sum += product.first[i];
        sum.first[i] = sum.total[i] = v / added;
    }
    product.sd = sqrt(all - 1.0);
    sum.sd = sqrt(added);
    check_against(g_product, G, &product);
    check_against(g_sum, G, &sum);
}

/* The indices do not depend on the scale; the same seed gives the same bits, another one others. */
static void test_scale_and_seed(void)
{
    struct arena              arena;
    struct sensitivity_result a, b, c;
    arena_init(&arena, 1 << 24);
    CU_ASSERT_EQUAL_FATAL(run(huge, D, 77, &arena, &a), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(run(huge, D, 77, &arena, &b), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(run(huge, D, 78, &arena, &c), STATUS_OK);
    double v = linear[0] * linear[0] + linear[1] * linear[1];
    CHECK_NEAR(a.index[0].first, linear[0] * linear[0] / v, 4e-3);
    CHECK_NEAR(a.sd / 1e300, sqrt(v / 12.0), 4e-3);
    CU_ASSERT(memcmp(a.index, b.index, D * sizeof *a.index) == 0 && a.mean == b.mean);
    CU_ASSERT(memcmp(a.index, c.index, D * sizeof *a.index) != 0);
    arena_fini(&arena);
}

static void test_many_dimensions(void)
{
    struct arena              arena;
    struct sensitivity_result r;
    arena_init(&arena, 1 << 26);
    CU_ASSERT_EQUAL_FATAL(run(wide, 70, 5, &arena, &r), STATUS_OK);
    CHECK_NEAR(r.index[69].first, 0.8, 0.1);
    CHECK_NEAR(r.index[69].total, 0.8, 0.1);
    CHECK_NEAR(r.index[0].total, 0.2, 0.05);
    for (size_t i = 1; i < 69; i++)
        CU_ASSERT(r.index[i].first == 0.0 && r.index[i].total == 0.0);
    arena_fini(&arena);
}

static void test_constant(void)
{
    struct arena              arena;
    struct sensitivity_result r;
    arena_init(&arena, 1 << 24);
    CU_ASSERT_EQUAL_FATAL(run(level, D, 9, &arena, &r), STATUS_OK);
    CU_ASSERT(r.is_constant && r.sd == 0.0 && r.sum == 0.0);
    CHECK_NEAR(r.mean, 0.1, 1e-15);
    for (size_t i = 0; i < D; i++)
        CU_ASSERT(r.index[i].first == 0.0 && r.index[i].total == 0.0 && r.index[i].total_error == 0.0);
    arena_fini(&arena);
}

static enum status refuse(void *arg, const double *V, size_t m, double *out, struct error *err)
{
    (void)arg, (void)V, (void)m, (void)out;
    return error_set(err, STATUS_BUSY, "busy", "", "not now");
}

static void test_failures(void)
{
    struct arena              arena;
    struct sensitivity_result r;
    struct error              err;
    struct function           f = {.value = broken, .dims = D};
    struct sensitivity        s = {.dims = D, .samples = 64, .values = evaluate, .arg = &f};
    arena_init(&arena, 1 << 24);
    CU_ASSERT_EQUAL(sensitivity_run(&s, &arena, &r, &err), STATUS_NUMERIC);
    s.values = refuse;
    CU_ASSERT_EQUAL(sensitivity_run(&s, &arena, &r, &err), STATUS_BUSY);
    arena_fini(&arena);
    arena_init(&arena, 20000);
    CU_ASSERT_EQUAL(sensitivity_run(&s, &arena, &r, &err), STATUS_NO_MEMORY);
    arena_fini(&arena);
}

CU_TestInfo suite_sensitivity[] = {
    {"Ishigami's function", test_ishigami},
    {"a linear function", test_linear},
    {"the g-function as product and sum", test_g_functions},
    {"scale and seed", test_scale_and_seed},
    {"more dimensions than the Sobol table", test_many_dimensions},
    {"a constant", test_constant},
    {"failures", test_failures},
    CU_TEST_INFO_NULL,
};
