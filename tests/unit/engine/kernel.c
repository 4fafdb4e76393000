/* Covariance functions: published formulas, and matrices against a plain double loop for sizes on both sides of the
 * tiles' edges.  What every kind must keep is in kernel_contract.c. */
#include "engine/base/numbers.h"
#include "engine/gp/kernel.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

static void test_values(void)
{
    double r = 0.731, r2 = r * r;
    CHECK_NEAR(kernel_value(&kernel_se, r2), exp(-r2 / 2.0), 1e-15);
    CHECK_NEAR(kernel_value(&kernel_matern12, r2), exp(-r), 1e-15);
    CHECK_NEAR(kernel_value(&kernel_matern32, r2), (1 + sqrt(3) * r) * exp(-sqrt(3) * r), 1e-15);
    CHECK_NEAR(kernel_value(&kernel_periodic, kernel_periodic.part(r) / 0.49),
               exp(-2.0 * pow(sin(PI * r) / (2.0 * PI * 0.7), 2)), 1e-15); /* MacKay, l = 2 pi 0.7 */
    CHECK_NEAR(kernel_value(&kernel_matern52, r2), (1 + sqrt(5) * r + 5 * r2 / 3) * exp(-sqrt(5) * r), 1e-15);
}

enum { N_MAX = 71, D_MAX = 35 };

struct plain {
    double        X[N_MAX * D_MAX], length_scales[D_MAX], W[N_MAX * N_MAX];
    struct kernel kernel;
};

static void plain_fill(struct plain *p, const struct kernel_kind *kind, size_t dims)
{
    struct rng rng = rng_at(71, dims, RNG_TEST);
    for (size_t i = 0; i < N_MAX * D_MAX; i++)
        p->X[i] = rng_uniform(&rng);
    for (size_t j = 0; j < D_MAX; j++)
        p->length_scales[j] = 0.4 + 2.0 * rng_uniform(&rng);
    for (size_t i = 0; i < N_MAX * N_MAX; i++)
        p->W[i] = rng_normal(&rng);
    p->kernel = (struct kernel){.kind = kind, .dims = dims, .variance = 1.723, .length_scales = p->length_scales};
}

static double plain_part(const struct plain *p, size_t i, size_t k, size_t j)
{
    double d = p->X[i * p->kernel.dims + j] - p->X[k * p->kernel.dims + j], l = p->length_scales[j];
    return p->kernel.kind->part == NULL ? pow(d / l, 2) : p->kernel.kind->part(d) / (l * l);
}

static double plain_r2(const struct plain *p, size_t i, size_t k)
{
    double r2 = 0.0;
    for (size_t j = 0; j < p->kernel.dims; j++)
        r2 += plain_part(p, i, k, j);
    return r2;
}

/* Values made row by row or from distances agree with those made point by point; nothing is written beyond. */
static void check_rows(const struct kernel_kind *kind, size_t n, size_t dims)
{
    static struct plain p;
    static double       R[N_MAX * N_MAX];
    plain_fill(&p, kind, dims);
    kernel_distance_matrix(&p.kernel, p.X, n, R);
    for (size_t i = 0; i < n; i++) {
        double row[N_MAX], slope[N_MAX], value[N_MAX + 1], other[N_MAX + 1];
        value[i + 1] = other[i + 1] = 77.5;
        kernel_row_slope(&p.kernel, p.X + i * dims, p.X, n, row, slope);
        kernel_map(&p.kernel, 0.64, R + i * n, i + 1, value, other);
        CU_ASSERT(value[i + 1] == 77.5 && other[i + 1] == 77.5);
        for (size_t k = 0; k < i; k++) {
            double r2 = plain_r2(&p, i, k);
            CHECK_NEAR(R[i * n + k], r2, 1e-13 * (1.0 + r2));
            CHECK_NEAR(row[k], 1.723 * kernel_value(kind, r2), 1e-13);
            CHECK_NEAR(slope[k] / (1.723 * kind->slope(r2)), 1.0, 1e-9);
            CHECK_NEAR(value[k], 1.723 * kernel_value(kind, 0.64 * r2), 1e-13);
            CHECK_NEAR(other[k] / (1.723 * kind->slope(0.64 * r2)), 1.0, 1e-9);
        }
    }
}

static void check_matrices(const struct kernel_kind *kind, size_t n, size_t dims)
{
    static struct plain p;
    static double       K[N_MAX * (N_MAX + 3)], S[N_MAX * N_MAX], V[N_MAX * N_MAX], C[N_MAX * N_MAX], sums[D_MAX];
    size_t              ld = n + 3;
    plain_fill(&p, kind, dims);
    for (size_t i = 0; i < n * ld; i++)
        K[i] = 77.5;
    kernel_matrix(&p.kernel, p.X, n, K, ld);
    kernel_matrix_slope(&p.kernel, p.X, n, V, S);
    kernel_cross(&p.kernel, p.X, n, p.X, n, C);
    for (size_t i = 0; i < n; i++) {
        double row[N_MAX];
        kernel_row(&p.kernel, p.X + i * dims, p.X, n, row);
        for (size_t k = 0; k < n; k++) {
            double r2 = plain_r2(&p, i, k), value = 1.723 * kernel_value(kind, r2);
            CHECK_NEAR(row[k], value, 1e-13);
            CHECK_NEAR(C[i * n + k], value, 1e-13);
            CHECK_NEAR(K[i * ld + k], k <= i ? value : 77.5, 1e-13);
            if (k < i) {
                CHECK_NEAR(V[i * n + k], value, 1e-13);
                CHECK_NEAR(S[i * n + k] / (1.723 * kind->slope(r2)), 1.0, 1e-9);
            }
        }
    }
    kernel_weigh_distances(&p.kernel, p.X, n, p.W, sums);
    for (size_t j = 0; j < dims; j++) {
        double sum = 0.0;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < i; k++)
                sum += p.W[i * n + k] * plain_part(&p, i, k, j);
        CHECK_NEAR(sums[j], sum, 1e-9);
    }
}

static void test_matrices(void)
{
    static const size_t ns[] = {1, 2, 31, 32, 33, 71}, ds[] = {1, 6, 16, 17, 35};
    for (size_t a = 0; a < sizeof ns / sizeof ns[0]; a++)
        for (size_t b = 0; b < sizeof ds / sizeof ds[0]; b++) {
            check_matrices(kernel_kinds[(a + b) % KERNELS], ns[a], ds[b]);
            check_rows(kernel_kinds[(a + b) % KERNELS], ns[a], ds[b]);
        }
}

CU_TestInfo suite_kernel[] = {
    {"values", test_values},
    {"matrices", test_matrices},
    CU_TEST_INFO_NULL,
};
