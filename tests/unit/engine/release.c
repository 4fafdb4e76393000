/* Whole releases: geometry, noise, the sensitivity that the proof rests on, grids, outcomes, and every refusal. */
#include "engine/privacy/release.h"
#include "tests/unit/bits.h"
#include "tests/unit/engine/suites.h"

#include <stdlib.h>
#include <string.h>

enum { N = 400, D = 3, P_MAX = 12 };
static const double centre[D] = {3.1, -40, 0.07}, length_scales[D] = {2.385, 11, 0.4};

struct fixture {
    struct arena   arena;
    struct rng     rng;
    struct sampler sampler;
    double        *rows;
    int64_t       *indices;
    size_t        *order;
};

static void *must(void *memory)
{
    CU_ASSERT_FATAL(memory != NULL);
    return memory;
}

static void setup(struct fixture *f, uint64_t seed)
{
    struct rng data = rng_at(17, 1, RNG_TEST);
    arena_init(&f->arena, 1 << 22);
    f->rng = rng_at(seed, 2, RNG_TEST);
    sampler_init(&f->sampler, bits_of_rng, &f->rng);
    f->rows = must(ARENA_NEW(&f->arena, double, N *D));
    f->indices = must(ARENA_NEW(&f->arena, int64_t, N * P_MAX));
    f->order = must(ARENA_NEW(&f->arena, size_t, N));
    for (size_t i = 0; i < N * D; i++)
        f->rows[i] = centre[i % D] + length_scales[i % D] * rng_normal(&data);
}

static struct release request(struct fixture *f, enum mechanism_kind kind, double epsilon, size_t dims)
{
    return (struct release){
        .mechanism =
            {.kind = kind, .epsilon = epsilon, .delta = 1e-5, .distance = 1, .rows = N, .columns = D, .dims = dims},
        .scale = {.centre = centre, .length_scales = length_scales, .radius = 3},
        .indices = f->indices,
        .order = f->order,
    };
}

static enum status make(struct fixture *f, struct release *release, struct error *err)
{
    return release_make(release, f->rows, &f->sampler, &f->arena, err);
}

/* The scaled, clipped row by another road. */
static void expected_row(const double *raw, double *x)
{
    double norm = 0;
    for (size_t c = 0; c < D; c++) {
        x[c] = 25 * (raw[c] - centre[c]) / length_scales[c] / 3;
        norm = hypot(norm, x[c]);
    }
    for (size_t c = 0; c < D && norm > 25; c++)
        x[c] *= 25 / norm;
}

static double squared_distance(const double *x, const double *z, size_t d)
{
    double sum = 0;
    for (size_t c = 0; c < d; c++)
        sum += (x[c] - z[c]) * (x[c] - z[c]);
    return sum;
}

/* Plain rows carry the noise of the plan and nothing else; rows outside the ball are counted and brought back. */
static void test_plain(void)
{
    static const enum mechanism_kind kinds[] = {MECHANISM_DISCRETE_LAPLACE, MECHANISM_DISCRETE_GAUSSIAN,
                                                MECHANISM_ISOTROPIC_LAPLACE};
    for (size_t k = 0; k < 3; k++) {
        struct fixture f;
        size_t         outside = 0;
        double         squares = 0, sum = 0, x[D];
        setup(&f, 31 + k);
        struct release r = request(&f, kinds[k], 2.385, 0);
        r.is_plain = true;
        r.order = NULL;
        CU_ASSERT_FATAL(make(&f, &r, NULL) == STATUS_OK);
        for (size_t i = 0; i < N; i++) {
            expected_row(f.rows + i * D, x);
            outside += squared_distance(x, (double[D]){0}, D) > 625 * (1 - 1e-12);
            for (size_t c = 0; c < D; c++) {
                double noise = (double)f.indices[i * D + c] * r.mechanism.gamma - x[c];
                sum += noise / (N * D);
                squares += noise * noise / (N * D);
            }
        }
        CU_ASSERT(outside > 3 && outside < 60 && r.clipped == outside);
        CHECK_NEAR(squares / r.mechanism.variance, 1, 4.5 * sqrt(5.0 / (N * D)));
        CHECK_NEAR(sum, 0, 4.5 * sqrt(r.mechanism.variance / (N * D)));
        arena_fini(&f.arena);
    }
}

/* With next to no noise a rotation keeps every distance, in a secret order; and another draw gives another rotation. */
static void test_rotation(void)
{
    struct fixture f, g;
    setup(&f, 33);
    setup(&g, 34);
    struct release r = request(&f, MECHANISM_DISCRETE_LAPLACE, 1000, 0),
                   other = request(&g, MECHANISM_DISCRETE_LAPLACE, 1000, 0);
    CU_ASSERT_FATAL(make(&f, &r, NULL) == STATUS_OK && make(&g, &other, NULL) == STATUS_OK);
    bool   seen[N] = {false}, moved = false;
    double across = 0;
    for (size_t i = 0; i < N; i++) {
        CU_ASSERT_FATAL(f.order[i] < N && !seen[f.order[i]]);
        seen[f.order[i]] = true;
        moved |= f.order[i] != i;
    }
    CU_ASSERT(moved && memcmp(f.order, g.order, N * sizeof *f.order) != 0);
    for (size_t i = 1; i < N; i++) {
        double a[D], b[D], x[D], y[D];
        expected_row(f.rows + f.order[i] * D, x);
        expected_row(f.rows + f.order[i - 1] * D, y);
        for (size_t c = 0; c < D; c++) {
            a[c] = (double)f.indices[i * D + c] * r.mechanism.gamma;
            b[c] = (double)f.indices[(i - 1) * D + c] * r.mechanism.gamma;
        }
        CHECK_NEAR(sqrt(squared_distance(a, b, D)), sqrt(squared_distance(x, y, D)), 0.1);
        across += fabs(a[0] - x[0]) / N;
    }
    CU_ASSERT(across > 1);
    arena_fini(&f.arena), arena_fini(&g.arena);
}

/* Without one every column is where it was; the order is secret all the same.  Fewer dimensions are always mixed. */
static void test_axes(void)
{
    struct fixture f;
    setup(&f, 35);
    struct release r = request(&f, MECHANISM_ISOTROPIC_LAPLACE, 1000, 0),
                   fewer = request(&f, MECHANISM_DISCRETE_LAPLACE, 1000, 2);
    bool moved = false;
    r.mechanism.keeps_axes = fewer.mechanism.keeps_axes = true;
    CU_ASSERT_FATAL(make(&f, &r, NULL) == STATUS_OK);
    CU_ASSERT(r.mechanism.keeps_axes);
    for (size_t i = 0; i < N; i++) {
        double x[D];
        expected_row(f.rows + f.order[i] * D, x);
        for (size_t c = 0; c < D; c++)
            CHECK_NEAR((double)f.indices[i * D + c] * r.mechanism.gamma, x[c], 0.05);
        moved |= f.order[i] != i;
    }
    CU_ASSERT(moved);
    CU_ASSERT_FATAL(make(&f, &fewer, NULL) == STATUS_OK);
    CU_ASSERT(!fewer.mechanism.keeps_axes);
    arena_fini(&f.arena);
}

/* Squared distances of released rows are unbiased after taking off 2 p s^2: fewer dimensions, more, and projected. */
static void test_distances(void)
{
    static const struct {
        enum mechanism_kind kind;
        size_t              dims;
        double              epsilon;
    } rows[] = {
        {MECHANISM_DISCRETE_LAPLACE, 2, 8},
        {MECHANISM_DISCRETE_GAUSSIAN, 3, 8},
        {MECHANISM_PROJECTED_GAUSSIAN, 2, 8},
        {MECHANISM_PROJECTED_GAUSSIAN, 10, 8},
    };
    enum { DRAWS = 400 };
    for (size_t k = 0; k < 4; k++) {
        double ratio = 0, squares = 0;
        size_t p = rows[k].dims;
        for (uint64_t draw = 0; draw < DRAWS; draw++) {
            struct fixture f;
            double         x[D], y[D], a[P_MAX], b[P_MAX];
            setup(&f, 1000 * k + draw);
            struct release r = request(&f, rows[k].kind, rows[k].epsilon, p);
            r.mechanism.rows = 20;
            CU_ASSERT_FATAL(make(&f, &r, NULL) == STATUS_OK);
            expected_row(f.rows + f.order[4] * D, x);
            expected_row(f.rows + f.order[13] * D, y);
            for (size_t c = 0; c < p; c++) {
                a[c] = (double)f.indices[4 * p + c] * r.mechanism.gamma;
                b[c] = (double)f.indices[13 * p + c] * r.mechanism.gamma;
            }
            double before = squared_distance(x, y, D), noise = 2 * (double)p * r.mechanism.variance;
            double here = (squared_distance(a, b, p) - noise) / before;
            ratio += here / DRAWS;
            squares += here * here / DRAWS;
            arena_fini(&f.arena);
        }
        CHECK_NEAR(ratio, 1, 4.5 * sqrt((squares - ratio * ratio) / DRAWS));
        CU_ASSERT(squares - ratio * ratio > 0.5 * 2 / 10 * (rows[k].kind == MECHANISM_PROJECTED_GAUSSIAN));
    }
}

/* The noise of a projected release, with rows that are all at the centre: K M is 0. */
static void test_projected_noise(void)
{
    struct fixture f;
    double         squares = 0;
    setup(&f, 35);
    for (size_t i = 0; i < N * D; i++)
        f.rows[i] = centre[i % D];
    struct release r = request(&f, MECHANISM_PROJECTED_GAUSSIAN, 1.3, 10);
    CU_ASSERT_FATAL(make(&f, &r, NULL) == STATUS_OK);
    for (size_t i = 0; i < N * 10; i++)
        squares += pow((double)f.indices[i] * r.mechanism.gamma, 2) / (N * 10);
    CHECK_NEAR(squares / r.mechanism.variance, 1, 4.5 * sqrt(2.0 / (N * 10)));
    arena_fini(&f.arena);
}

/* Equal bits give equal noise, so two plain releases differ as much as the data: never by more than the sensitivity that the
 * noise was made for, and sometimes by almost as much. */
static void test_sensitivity(void)
{
    struct rng rng = rng_at(36, 1, RNG_TEST);
    double     most = 0;
    for (int pair = 0; pair < 3000; pair++) {
        struct fixture f, g;
        double         v[D], norm = 0;
        setup(&f, 37);
        setup(&g, 37);
        bool diagonal = pair % 2 == 0;
        for (size_t c = 0; c < D; c++) {
            v[c] = diagonal ? 1 : rng_normal(&rng);
            norm = hypot(norm, v[c]);
        }
        double reach = diagonal && pair % 4 == 0 ? 20 * rng_uniform(&rng) : 0.01; /* far out rows are clipped */
        for (size_t c = 0; c < D; c++) {
            f.rows[c] = centre[c] + length_scales[c] * 3.0 / 25 * reach * rng_normal(&rng);
            g.rows[c] = f.rows[c] + length_scales[c] * 3.0 / 25 * v[c] / norm;
        }
        struct release r = request(&f, MECHANISM_DISCRETE_LAPLACE, 1, 0),
                       other = request(&g, MECHANISM_DISCRETE_LAPLACE, 1, 0);
        r.is_plain = other.is_plain = true;
        r.order = other.order = NULL;
        r.mechanism.rows = other.mechanism.rows = 1;
        r.mechanism.delta = other.mechanism.delta = 0;
        CU_ASSERT_FATAL(make(&f, &r, NULL) == STATUS_OK && make(&g, &other, NULL) == STATUS_OK);
        double steps = 0;
        for (size_t c = 0; c < D; c++)
            steps += fabs((double)(f.indices[c] - g.indices[c]));
        CU_ASSERT(steps <= r.mechanism.sensitivity);
        most = fmax(most, steps / r.mechanism.sensitivity);
        arena_fini(&f.arena), arena_fini(&g.arena);
    }
    CU_ASSERT(most > 0.998);
}

static void test_outcome(void)
{
    struct fixture           f;
    struct mechanism_outcome plan = {.low = -1.7, .high = 4.3, .sensitivity = 2, .epsilon = 2.385};
    double                   sum = 0, squares = 0;
    int64_t                  steps = 0;
    enum { DRAWS = 20000 };
    setup(&f, 39);
    CU_ASSERT_FATAL(mechanism_plan_outcome(&plan, NULL) == STATUS_OK);
    for (int i = 0; i < DRAWS; i++) {
        CU_ASSERT_FATAL(release_outcome(&plan, i % 2 == 0 ? 4.3 : 77, &f.sampler, &steps, NULL) == STATUS_OK);
        double z = release_outcome_value(&plan, steps);
        CHECK_NEAR((z + 1.7) / plan.gamma, (double)steps, 1e-9);
        sum += (z - 4.3) / DRAWS;
        squares += (z - 4.3) * (z - 4.3) / DRAWS;
    }
    CHECK_NEAR(sum, 0, 4.5 * sqrt(plan.variance / DRAWS));
    CHECK_NEAR(squares / plan.variance, 1, 4.5 * sqrt(5.0 / DRAWS));
    CU_ASSERT(release_outcome(&plan, NAN, &f.sampler, &steps, NULL) == STATUS_INVALID);
    arena_fini(&f.arena);
}

static void check_refusal(struct fixture *f, struct release r, const char *code)
{
    struct error err = {0};
    CU_ASSERT(make(f, &r, &err) != STATUS_OK && strcmp(err.code, code) == 0);
}

static void test_refused(void)
{
    struct fixture f;
    setup(&f, 40);
    const struct release good = request(&f, MECHANISM_AUTO, 1, 0);
    struct release       r = good;
    r.mechanism.epsilon = 0;
    check_refusal(&f, r, "bad_epsilon");
    r = good, r.mechanism.delta = 1.0 / N;
    check_refusal(&f, r, "bad_delta");
    r = good, r.mechanism.dims = D + 1;
    check_refusal(&f, r, "bad_dims");
    r = good, r.scale.radius = 0;
    check_refusal(&f, r, "bad_scale");
    r = good, r.scale.radius = 1e-310;
    check_refusal(&f, r, "bad_scale");
    r = good, r.scale.length_scales = (double[]){1, -1, 1};
    check_refusal(&f, r, "bad_scale");
    r = good, r.scale.centre = (double[]){1, NAN, 1};
    check_refusal(&f, r, "bad_scale");
    r = good, r.mechanism.kind = MECHANISM_CELLS;
    check_refusal(&f, r, "bad_mechanism");
    r = good, r.order = NULL;
    check_refusal(&f, r, "bad_mechanism");
    f.rows[3 * D + 1] = NAN;
    check_refusal(&f, good, "not_finite");
    f.rows[3 * D + 1] = 1.7e308;
    r = good, r.scale.length_scales = (double[]){1, 1e-3, 1};
    check_refusal(&f, r, "not_finite");
    f.rows[3 * D + 1] = 1e200; /* its square would overflow: a row like any other outside of the ball */
    r = good;
    CU_ASSERT(make(&f, &r, NULL) == STATUS_OK);
    struct arena small;
    arena_init(&small, 64);
    CU_ASSERT(release_make(&r, f.rows, &f.sampler, &small, NULL) == STATUS_NO_MEMORY);
    arena_fini(&small);
    arena_fini(&f.arena);
}

/* The first words are random, for the secret order and the rotation; then the source goes wrong. */
struct breaking {
    struct rng rng;
    int        good, calls;
    uint32_t   word;
    bool       fails;
};

static enum status bits_breaking(void *arg, void *out, size_t length, struct error *err)
{
    struct breaking *b = arg;
    if (++b->calls <= b->good)
        return bits_of_rng(&b->rng, out, length, err);
    if (b->fails)
        return error_set(err, STATUS_INTERNAL, "no_entropy", "", "no bits");
    for (size_t i = 0; i < length; i += 4)
        memcpy((char *)out + i, &b->word, 4);
    return STATUS_OK;
}

static void test_broken_bits(void)
{
    static const struct {
        struct breaking bits;
        const char     *code;
    } rows[] = {
        {{.good = 1, .fails = true}, "no_entropy"},
        {{.good = 0, .word = 0}, "not_random"},
        {{.good = 2, .word = 0x60001001}, "noise_test"}, /* every variate is the same small number */
    };
    for (size_t i = 0; i < 3; i++) {
        struct fixture  f;
        struct breaking bits = rows[i].bits;
        struct error    err = {0};
        setup(&f, 42);
        bits.rng = f.rng;
        sampler_init(&f.sampler, bits_breaking, &bits);
        struct release r = request(&f, MECHANISM_DISCRETE_LAPLACE, 1, 0);
        CU_ASSERT(make(&f, &r, &err) == STATUS_INTERNAL && strcmp(err.code, rows[i].code) == 0);
        arena_fini(&f.arena);
    }
}

static void test_width(void)
{
    CU_ASSERT(release_fits_int32((int64_t[]){INT32_MIN, 17, INT32_MAX}, 3));
    CU_ASSERT(!release_fits_int32((int64_t[]){17, (int64_t)INT32_MAX + 1}, 2));
    CU_ASSERT(!release_fits_int32((int64_t[]){(int64_t)INT32_MIN - 1}, 1));
}

CU_TestInfo suite_release[] = {
    {"plain", test_plain},
    {"rotation", test_rotation},
    {"axes", test_axes},
    {"distances", test_distances},
    {"projected noise", test_projected_noise},
    {"sensitivity", test_sensitivity},
    {"outcome", test_outcome},
    {"refused", test_refused},
    {"broken bits", test_broken_bits},
    {"width", test_width},
    CU_TEST_INFO_NULL,
};
