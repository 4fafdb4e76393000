/* Linear algebra against products and closed forms: L L' = A, the jitter ladder, refusal of NaN, SVD. */
#include "engine/math/mat.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

enum { N = 37, LD = 41, WIDE = 35 };

/* A = G G' / N + shift I, G random: lower triangle of [N][LD]. */
static void random_spd(double *A, double shift)
{
    static double G[N * N];
    struct rng    rng = rng_at(2385, 1, RNG_TEST);
    for (size_t i = 0; i < N * N; i++)
        G[i] = rng_normal(&rng);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k <= i; k++)
            A[i * LD + k] = mat_dot(G + i * N, G + k * N, N) / N + (i == k ? shift : 0.0);
}

static double product_at(const double *L, size_t i, size_t k)
{
    double sum = 0.0;
    for (size_t j = 0; j <= k; j++)
        sum += L[i * LD + j] * L[k * LD + j];
    return sum;
}

static void test_factor(void)
{
    static double A[N * LD], L[N * LD];
    double        spare[N], jitter = 7.0, log_det = 0.0;
    random_spd(A, 0.317);
    memcpy(L, A, sizeof A);
    CU_ASSERT_EQUAL_FATAL(mat_cholesky(L, N, LD, spare, &jitter, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(jitter, 0.0);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k <= i; k++)
            CHECK_NEAR(product_at(L, i, k), A[i * LD + k], 1e-13);
    for (size_t i = 0; i < N; i++)
        log_det += 2.0 * log(L[i * LD + i]);
    CHECK_NEAR(mat_log_det(L, N, LD), log_det, 1e-12);
}

static void test_solves(void)
{
    static double L[N * LD], B[N * 3], wide[N * WIDE], inverse[N * N];
    double        spare[N], jitter, x[N], y[N];
    random_spd(L, 0.317);
    CU_ASSERT_EQUAL_FATAL(mat_cholesky(L, N, LD, spare, &jitter, NULL), STATUS_OK);
    for (size_t i = 0; i < N; i++) {
        x[i] = y[i] = 0.3 + sin(2.385 * (double)i);
        for (size_t k = 0; k < 3; k++)
            B[i * 3 + k] = x[i] * (1.7 + (double)k);
        for (size_t k = 0; k < WIDE; k++)
            wide[i * WIDE + k] = x[i] * (1.7 + (double)k);
    }
    mat_multiply_lower(L, N, LD, y);
    mat_solve_lower(L, N, LD, y);
    for (size_t i = 0; i < N; i++)
        CHECK_NEAR(y[i], x[i], 1e-12);
    mat_solve_lower(L, N, LD, y);
    mat_solve_lower_many(L, N, LD, B, 3, 3);
    mat_solve_lower_many(L, N, LD, wide, WIDE, WIDE);
    for (size_t i = 0; i < N; i++) {
        CHECK_NEAR(B[i * 3 + 2], 3.7 * y[i], 1e-11);
        CHECK_NEAR(wide[i * WIDE + WIDE - 1], (0.7 + WIDE) * y[i], 1e-9);
    }
    mat_solve_upper(L, N, LD, y);
    CU_ASSERT_EQUAL_FATAL(mat_inverse_from_cholesky(L, N, LD, inverse, NULL), STATUS_OK);
    for (size_t i = 0; i < N; i++) {
        double sum = 0.0;
        for (size_t k = 0; k < N; k++)
            sum += (k <= i ? inverse[i * N + k] : inverse[k * N + i]) * x[k];
        CHECK_NEAR(sum, y[i], 1e-11);
    }
}

static void test_append(void)
{
    static double A[N * LD], L[N * LD], row[N];
    double        spare[N], jitter;
    random_spd(A, 0.317);
    memcpy(L, A, sizeof A);
    memcpy(row, A + (N - 1) * LD, sizeof row);
    CU_ASSERT_EQUAL_FATAL(mat_cholesky(L, N, LD, spare, &jitter, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(mat_cholesky_append(L, N - 1, LD, row, 0.0, NULL), STATUS_OK);
    for (size_t i = 0; i < N; i++)
        CHECK_NEAR(row[i], L[(N - 1) * LD + i], 1e-13);
    memcpy(row, A + (N - 2) * LD, (N - 1) * sizeof *row);
    row[N - 1] = row[N - 2]; /* the row before, again: the pivot is 0 up to rounding */
    CU_ASSERT_EQUAL(mat_cholesky_append(L, N - 1, LD, row, 1e-9, NULL), STATUS_NUMERIC);
    row[3] = NAN;
    CU_ASSERT_EQUAL(mat_cholesky_append(L, N - 1, LD, row, 0.0, NULL), STATUS_NUMERIC);
}

/* v v' has rank one: only jitter makes it definite, and A + jitter I is what is factored. */
static void test_jitter(void)
{
    static double A[N * LD], v[N];
    double        spare[N], jitter, mean = 0.0;
    for (size_t i = 0; i < N; i++) {
        v[i] = 1.3 + cos((double)i);
        for (size_t k = 0; k <= i; k++)
            A[i * LD + k] = v[i] * v[k] - (i == k ? 1e-7 : 0.0);
        mean += A[i * LD + i] / N;
    }
    CU_ASSERT_EQUAL_FATAL(mat_cholesky(A, N, LD, spare, &jitter, NULL), STATUS_OK);
    CHECK_NEAR(log10(jitter / mean), -7.0 + (1e-7 * mean > 1e-7 ? 0.0 : 1.0), 1e-9);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k <= i; k++)
            CHECK_NEAR(product_at(A, i, k), v[i] * v[k] + (i == k ? jitter - 1e-7 : 0.0), 1e-12);
    random_spd(A, -2.0);
    struct error err;
    CU_ASSERT_EQUAL(mat_cholesky(A, N, LD, spare, &jitter, &err), STATUS_NUMERIC);
    CU_ASSERT_STRING_EQUAL(err.code, "not_positive_definite");
}

static void test_not_finite(void)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    static double       A[N * LD], Vt[N * N], s[N];
    double              spare[N], jitter;
    struct error        err;
    for (size_t b = 0; b < 3; b++)
        for (size_t i = 0; i < N; i += 6) {
            random_spd(A, 0.317);
            A[i * LD + i / 2] = bad[b];
            CU_ASSERT_EQUAL(mat_cholesky(A, N, LD, spare, &jitter, &err), STATUS_NUMERIC);
            CU_ASSERT_STRING_EQUAL(err.code, "not_finite");
            CU_ASSERT_FALSE(mat_is_finite(A + i * LD, i + 1));
            CU_ASSERT_TRUE(mat_is_finite(A + i * LD + i / 2 + 1, i / 2));
            CU_ASSERT_EQUAL(mat_svd(A + i * LD, i + 1, 1, s, Vt, &err), STATUS_NUMERIC);
        }
    random_spd(A, 0.317);
    A[N - 1] = NAN; /* the upper triangle is not read */
    CU_ASSERT_EQUAL(mat_cholesky(A, N, LD, spare, &jitter, &err), STATUS_OK);
}

static void check_svd(size_t m, size_t n)
{
    static double A[31 * 31], U[31 * 31], Vt[31 * 31], s[31];
    struct rng    rng = rng_at(m, n, RNG_TEST);
    for (size_t i = 0; i < m * n; i++)
        A[i] = U[i] = rng_normal(&rng);
    CU_ASSERT_EQUAL_FATAL(mat_svd(U, m, n, s, Vt, NULL), STATUS_OK);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++)
                sum += U[i * n + k] * s[k] * Vt[k * n + j];
            CHECK_NEAR(sum, A[i * n + j], 1e-12);
        }
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b <= a; b++) {
            double columns = 0.0;
            for (size_t i = 0; i < m; i++)
                columns += U[i * n + a] * U[i * n + b];
            CHECK_NEAR(columns, a == b ? 1.0 : 0.0, 1e-12);
            CHECK_NEAR(mat_dot(Vt + a * n, Vt + b * n, n), a == b ? 1.0 : 0.0, 1e-12);
            CU_ASSERT(s[b] >= s[a]);
        }
}

static void test_svd(void)
{
    check_svd(31, 5);
    check_svd(17, 16);
    check_svd(9, 9);
    check_svd(4, 1);
}

static void test_products(void)
{
    static const double A[6] = {1.5, -2.25, 0.75, 3.5, 0.5, -1.25}, B[6] = {2.5, 1.25, -0.5, 4.0, 1.75, -3.0};
    double              C[4], y[3], gram[9] = {9.0, 0, 0, 9.0, 9.0, 0, 9.0, 9.0, 9.0};
    mat_multiply(A, B, 2, 3, 2, C);
    CHECK_NEAR(C[0], 1.5 * 2.5 + 2.25 * 0.5 + 0.75 * 1.75, 1e-15);
    CHECK_NEAR(C[3], 3.5 * 1.25 + 0.5 * 4.0 + 1.25 * 3.0, 1e-14);
    mat_vector(A, 2, 3, false, B, y);
    CHECK_NEAR(y[1], 3.5 * 2.5 + 0.5 * 1.25 + 1.25 * 0.5, 1e-14);
    mat_vector(A, 2, 3, true, B, y);
    CHECK_NEAR(y[2], 0.75 * 2.5 - 1.25 * 1.25, 1e-15);
    mat_subtract_gram(A, 2, 3, gram);
    CHECK_NEAR(gram[3], 9.0 - (-2.25 * 1.5 + 0.5 * 3.5), 1e-14);
    CU_ASSERT_EQUAL(gram[1], 0.0);
    mat_axpy(3, 2.5, A, y);
    CHECK_NEAR(y[2], 0.75 * 2.5 - 1.25 * 1.25 + 2.5 * 0.75, 1e-15);
}

/* A v = w v, by rows of length 1, the least first; nothing above the diagonal is read. */
static void test_eigen(void)
{
    static double A[N * LD], E[N * N];
    double        w[N], y[N];
    random_spd(A, -0.75);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < N; k++)
            E[i * N + k] = k <= i ? A[i * LD + k] : 1e9;
    CU_ASSERT_EQUAL_FATAL(mat_eigen(E, N, w, NULL), STATUS_OK);
    CU_ASSERT(w[0] < 0 && w[N - 1] > 0);
    for (size_t k = 0; k < N; k++) {
        for (size_t i = 0; i < N; i++) {
            y[i] = 0;
            for (size_t j = 0; j < N; j++)
                y[i] += A[i >= j ? i * LD + j : j * LD + i] * E[k * N + j];
            CHECK_NEAR(y[i], w[k] * E[k * N + i], 1e-13);
        }
        CU_ASSERT(k == 0 || w[k] >= w[k - 1]);
        CHECK_NEAR(mat_dot(E + k * N, E + k * N, N), 1, 1e-13);
    }
    E[3 * N + 1] = NAN;
    CU_ASSERT_EQUAL(mat_eigen(E, N, w, NULL), STATUS_NUMERIC);
}

CU_TestInfo suite_mat[] = {
    {"factor", test_factor},     {"solves", test_solves},         {"append", test_append},
    {"jitter", test_jitter},     {"not finite", test_not_finite}, {"svd", test_svd},
    {"products", test_products}, {"eigen", test_eigen},           CU_TEST_INFO_NULL,
};
