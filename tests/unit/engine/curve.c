/* The cost of a release under a relation in raw units, and of several together: worked cases computed elsewhere with 50
 * digits, exact lattice sums of the discrete Gaussian, moves that are tried out, refusals. */
#include "engine/privacy/curve.h"

#include "engine/base/numbers.h"
#include "engine/math/rng.h"
#include "engine/privacy/relation.h"
#include "tests/unit/bits.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

#define COUNT(table)                             (sizeof(table) / sizeof(table)[0])
#define CHECK_RATIO(actual, expected, tolerance) CHECK_NEAR((actual) / (expected), 1, tolerance)
#define ANY                                      INFINITY
#define ANYWHERE                                 -INFINITY, INFINITY

static const double zero[8] = {0}, one[8] = {1, 1, 1, 1, 1, 1, 1, 1};

/* Planned for a move of one at norm 25. */
static struct mechanism planned(enum mechanism_kind kind, size_t columns)
{
    struct mechanism m = {.kind = kind, .epsilon = 1, .delta = 1e-5, .distance = 1, .rows = 1000, .columns = columns};
    CU_ASSERT_FATAL(mechanism_plan(&m, NULL) == STATUS_OK);
    return m;
}

static struct relation_shift shift_of(const struct relation_column *columns, size_t d, const double *length_scales,
                                      double radius)
{
    struct relation       relation = {.columns = columns, .len = d};
    struct release_scale  scale = {.centre = zero, .length_scales = length_scales, .radius = radius};
    struct relation_shift shift = {0};
    CU_ASSERT_FATAL(relation_shift(&relation, &scale, 0x1p-10, &shift, NULL) == STATUS_OK);
    return shift;
}

static double epsilon_of(const struct privacy_curve *curves, size_t n, double delta)
{
    double       epsilon = NAN;
    struct arena arena;
    arena_init(&arena, 4 << 20);
    CU_ASSERT(curves_epsilon(curves, n, delta, &epsilon, &arena, NULL) == STATUS_OK);
    arena_fini(&arena);
    return epsilon;
}

static double pure(const struct relation_shift *shift, size_t columns)
{
    struct mechanism     m = planned(MECHANISM_DISCRETE_LAPLACE, columns);
    struct privacy_curve curve = curve_of_release(&m, shift);
    CU_ASSERT(curve.kind == CURVE_PURE);
    return epsilon_of(&curve, 1, 0);
}

static void test_zoom(void)
{
    static const struct {
        double radius, epsilon, total;
    } walk[] = {{8, 0.9999997622801013, 0.9999997622801013},    {4, 1.9990239150358386, 2.99902367731594},
                {2, 3.997072220547313, 6.996095897863253},      {1, 7.993168831570262, 14.989264729433515},
                {0.5, 15.98536205361616, 30.974626783049676},   {0.25, 31.96974849770796, 62.94437528075764},
                {0.125, 49.95218324731123, 112.89655852806888}, {0.08, 49.95218324731123, 162.84874177538012}};
    const struct relation_column columns[2] = {{0.32, ANYWHERE}, {0.32, ANYWHERE}};
    struct mechanism             m = planned(MECHANISM_DISCRETE_LAPLACE, 1);
    struct privacy_curve         curves[COUNT(walk)];
    CU_ASSERT(m.rate == 4190211);
    for (size_t i = 0; i < COUNT(walk); i++) {
        struct relation_shift shift = shift_of(columns, 1, one, walk[i].radius);
        curves[i] = curve_of_release(&m, &shift);
        CHECK_RATIO(epsilon_of(&curves[i], 1, 0), walk[i].epsilon, 1e-9);
        CHECK_RATIO(epsilon_of(curves, i + 1, 0), walk[i].total, 1e-9);
    }
    CHECK_RATIO(epsilon_of((struct privacy_curve[]){curves[0], curves[7]}, 2, 0), 50.95218300959134, 1e-9);
    CU_ASSERT(planned(MECHANISM_DISCRETE_LAPLACE, 2).rate == 2961730);
    struct relation_shift wide = shift_of(columns, 2, one, 8), near = shift_of(columns, 2, one, 0.08);
    CHECK_RATIO(pure(&wide, 2), 0.999999848126019, 1e-9);
    CHECK_RATIO(pure(&near, 2), 49.93241341907273, 1e-9);
    CHECK_RATIO(near.d1, 70.71067811865476, 1e-14);
}

static void test_shifts(void)
{
    const struct relation_column open[2] = {{0.32, ANYWHERE}, {0.05, ANYWHERE}};
    const struct relation_column boxed[2] = {{0.32, -4, 4}, {0.05, -2, 2}};
    const struct relation_column free_to_move[2] = {{ANY, -4, 4}, {ANY, -2, 2}};
    const struct relation_column unbounded[2] = {{ANY, ANYWHERE}, {ANY, ANYWHERE}};
    const struct relation_column half[2] = {{0.32, -4, 4}, {ANY, -2, 2}};
    static const double          a[2] = {1, 0.5}, b[2] = {0.1, 1};
    const struct {
        const struct relation_column *columns;
        size_t                        d;
        const double                 *length_scales;
        double                        d1, d2, epsilon;
    } cases[] = {
        {open, 2, a, 1.2646748061406128, 1, 0.8944058281178294},
        {open, 2, b, 12.07254124095999, 10, 8.526180314659005},
        {boxed, 2, a, 1.0476909133900132, 1, 0.7411866755060412},
        {open + 1, 1, a + 1, 0.3125, 0.3125, 0.313170657260532},
        {free_to_move, 2, a, 50, 35.35533905932738, 35.30795207712819},
        {unbounded, 2, a, 70.71067811865476, 50, 49.93241341907273},
        {half, 2, a, 1 + 25, sqrt(1 + 625), NAN},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct relation_shift shift = shift_of(cases[i].columns, cases[i].d, cases[i].length_scales, 8);
        CHECK_RATIO(shift.d1, cases[i].d1, 1e-9);
        CHECK_RATIO(shift.d2, cases[i].d2, 1e-9);
        if (!isnan(cases[i].epsilon))
            CHECK_RATIO(pure(&shift, cases[i].d), cases[i].epsilon, 1e-9);
    }
    struct relation       any = {.columns = boxed, .len = 2, .any_change = true};
    struct release_scale  scale = {.centre = zero, .length_scales = a, .radius = 8};
    struct relation_shift shift;
    CU_ASSERT(relation_shift(&any, &scale, 0x1p-10, &shift, NULL) == STATUS_OK);
    CHECK_RATIO(pure(&shift, 2), 35.30795207712819, 1e-9);
    /* A move that the interval does not allow, and a column that is constant. */
    const struct relation_column narrow[1] = {{0.32, 0.1, 0.2}}, fixed[1] = {{ANY, 0.1, 0.1}};
    CHECK_RATIO(shift_of(narrow, 1, one, 8).d2, 0.1 * 25 / 8, 1e-12);
    shift = shift_of(fixed, 1, one, 8);
    CU_ASSERT(shift.d2 == 0 && pure(&shift, 1) == 0);
}

/* Pairs of neighbours through the release itself, with noise of a thousandth: never further apart than the shift, and
 * where the ball clips, further apart in l1 than they were. */
static void test_moves(void)
{
    enum { PAIRS = 2000, D = 2 };
    static const double          length_scales[D] = {1.1, 0.7};
    const struct relation_column columns[D] = {{0.9, -7, 9}, {0.5, -6, 8}};
    static double                rows[2 * PAIRS][D];
    static int64_t               indices[2 * PAIRS][D];
    struct rng                   random = rng_at(7, 1, RNG_TEST);
    struct sampler               sampler;
    struct arena                 arena;
    for (size_t i = 0; i < 2 * PAIRS; i += 2) {
        double angle = 2 * PI * rng_uniform(&random);
        for (size_t c = 0; c < D; c++) {
            rows[i][c] = columns[c].low + (columns[c].high - columns[c].low) * rng_uniform(&random);
            rows[i + 1][c] = rows[i][c] + columns[c].move * (c == 0 ? cos(angle) : sin(angle));
        }
    }
    struct release release = {
        .mechanism =
            {.kind = MECHANISM_DISCRETE_LAPLACE, .epsilon = 1000, .distance = 1, .rows = 2 * PAIRS, .columns = D},
        .scale = {zero, length_scales, 3, (double[]){-7, -6}, (double[]){9, 8}},
        .is_plain = true,
        .indices = indices[0],
    };
    arena_init(&arena, 1 << 20);
    sampler_init(&sampler, bits_of_rng, &random);
    CU_ASSERT_FATAL(release_make(&release, rows[0], &sampler, &arena, NULL) == STATUS_OK);
    arena_fini(&arena);
    struct relation_shift shift = shift_of(columns, D, length_scales, 3);
    double                l1_max = 0, l2_max = 0, stretch_max = 0;
    for (size_t i = 0; i < 2 * PAIRS; i += 2) {
        double l1 = 0, l2 = 0, before = 0;
        for (size_t c = 0; c < D; c++) {
            double moved = (double)(indices[i + 1][c] - indices[i][c]) * release.mechanism.gamma;
            l1 += fabs(moved), l2 += moved * moved;
            before += fabs(rows[i + 1][c] - rows[i][c]) * 25 / (length_scales[c] * 3);
        }
        l1_max = fmax(l1_max, l1 / shift.d1), l2_max = fmax(l2_max, sqrt(l2) / shift.d2);
        stretch_max = fmax(stretch_max, l1 / before);
    }
    CU_ASSERT(l1_max <= 1.01 && l1_max > 0.7);
    CU_ASSERT(l2_max <= 1.01 && l2_max > 0.95);
    CU_ASSERT(stretch_max > 1.05 && stretch_max < 1.2072 + 0.02);
}

static struct relation_shift moved(size_t columns, double factor)
{
    double d = (double)columns, e = mechanism_scaling_error(columns);
    return (struct relation_shift){
        .d1 = sqrt(d) * factor,
        .d2 = factor,
        .s1 = (sqrt(d) * (factor + 2 * e)) * 0x1p10 + d,
        .s2 = (factor + 2 * e) * 0x1p10 + sqrt(d),
    };
}

static void test_gaussians(void)
{
    static const double distances[] = {0.5, 1, 4, 50};
    static const double gaussian[] = {0.4297752883818118, 0.9149972071932633, 4.315461535215615, 127.96904449721438};
    struct mechanism    m = planned(MECHANISM_DISCRETE_GAUSSIAN, 2);
    CU_ASSERT(m.sigma == 3826);
    CHECK_RATIO(epsilon_of((struct privacy_curve[]){curve_of_release(
                               &m, &(struct relation_shift){1, 1, 1, 1025.4142135625777})},
                           1, 1e-5),
                0.9998401963009357, 1e-9);
    m.sigma = 4148; /* as divergences alone would have it: 7.8 % more */
    struct privacy_curve curves[2];
    for (size_t i = 0; i < COUNT(distances); i++) {
        struct relation_shift shift = moved(2, distances[i]);
        curves[0] = curve_of_release(&m, &shift);
        CHECK_RATIO(epsilon_of(curves, 1, 1e-5), gaussian[i], 1e-9);
        CU_ASSERT(epsilon_of(curves, 1, 0) == INFINITY);
    }
    struct relation_shift shift = moved(2, 1);
    curves[0] = curves[1] = curve_of_release(&m, &shift);
    CHECK_RATIO(curves[0].value, 0.24720692689389961, 1e-9);
    CHECK_RATIO(epsilon_of(curves, 2, 1e-5), 1.3397377620952795, 1e-9);
}

/* delta of N_Z(d) against N_Z(0), by sums over the exact lattice, is never above the lemma's. */
static void test_lemma(void)
{
    static const struct {
        int    shift;
        double sigma, epsilon;
    } cases[] = {{1, 3, 1}, {5, 5, 1}, {10, 40, 0.5}, {1025, 4148, 1}, {2, 2.5, 0.3}, {3, 11, 0.2}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double s = cases[i].sigma, weight = 0, exact = 0;
        int    far = (int)(12 * s) + cases[i].shift;
        for (int k = -far; k <= far + cases[i].shift; k++) {
            double there = exp(-0.5 * pow((k - cases[i].shift) / s, 2)), here = exp(-0.5 * pow(k / s, 2));
            exact += fmax(there - exp(cases[i].epsilon) * here, 0);
            weight += here;
        }
        double lemma = mechanism_gaussian_delta(cases[i].epsilon, cases[i].shift / sqrt(s * s - 4));
        CU_ASSERT(exact / weight <= lemma);
        CU_ASSERT(exact / weight > 0.05 * lemma);
        if (i == 0) /* without the 4 it would be wrong */
            CU_ASSERT(exact / weight > mechanism_gaussian_delta(cases[i].epsilon, cases[i].shift / s));
    }
}

static void test_projected(void)
{
    static const struct {
        size_t dims;
        double unit, at[4];
    } cases[] = {
        {1, 10.387124634981289, {0.9999999999999867, 2.2558284360861767, 5.312818245774952, 325.09278340606005}},
        {2, 8.085308002797078, {0.9999999999995848, 2.239656959842839, 5.222809092520593, 300.835336898578}},
        {10, 5.311328183926513, {0.9999999999999999, 2.1943892889524697, 4.972652492730843, 230.9187347690745}},
    };
    static const double factors[] = {1, 2, 4, 50};
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t j = 0; j < COUNT(factors); j++) {
            double               unit = factors[j] / cases[i].unit;
            struct privacy_curve curve = {CURVE_PROJECTED, unit * unit / (double)cases[i].dims, cases[i].dims};
            CHECK_RATIO(epsilon_of(&curve, 1, 1e-5), cases[i].at[j], 1e-5);
        }
    struct mechanism      m = {.kind = MECHANISM_PROJECTED_GAUSSIAN,
                               .epsilon = 1,
                               .delta = 1e-5,
                               .distance = 1,
                               .rows = 1000,
                               .columns = 20,
                               .dims = 10};
    struct relation_shift shift = moved(20, 1);
    CU_ASSERT_FATAL(mechanism_plan(&m, NULL) == STATUS_OK);
    CHECK_RATIO(epsilon_of((struct privacy_curve[]){curve_of_release(&m, &shift)}, 1, 1e-5), 1, 1e-4);
}

static void test_outcomes(void)
{
    struct mechanism_outcome y = {.low = -1.5, .high = 2.385, .sensitivity = NAN, .epsilon = 0.7};
    CU_ASSERT_FATAL(mechanism_plan_outcome(&y, NULL) == STATUS_OK);
    struct privacy_curve rows = curve_of_outcomes(&y, false), cells = curve_of_outcomes(&y, true);
    CHECK_RATIO(epsilon_of(&rows, 1, 0), 0.7, 1e-6);
    CHECK_RATIO(epsilon_of(&cells, 1, 0), 1.4, 1e-6);
    struct mechanism m = planned(MECHANISM_CELLS, 2);
    CHECK_RATIO(epsilon_of((struct privacy_curve[]){curve_of_release(&m, &(struct relation_shift){.d2 = 1e-9})}, 1, 0),
                1, 1e-6);
    CU_ASSERT(mechanism_total_of(&m, &y).epsilon == 1 + 2 * 0.7);
    /* An assumption on f does not lessen what any outcome costs. */
    y.sensitivity = 0.1;
    CU_ASSERT_FATAL(mechanism_plan_outcome(&y, NULL) == STATUS_OK);
    CU_ASSERT(epsilon_of((struct privacy_curve[]){curve_of_outcomes(&y, false)}, 1, 0) > 0.7 * 38);
}

static void test_composition(void)
{
    static const struct {
        double epsilon;
        size_t n;
        double pld, renyi;
    } cases[] = {
        {1, 2, 1.9999812887162516, 2},
        {1, 4, 3.9999649895182907, 4},
        {0.5, 10, 4.998854120363982, 4.998854120507531},
        {0.1, 30, 2.110154422366019, 2.229393182622192},
        {0.1, 100, 4.30679137256304, 4.615230117174139},
    };
    struct privacy_curve curves[100];
    double               filtered = NAN;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double sum = cases[i].epsilon * (double)cases[i].n;
        for (size_t k = 0; k < cases[i].n; k++)
            curves[k] = (struct privacy_curve){.kind = CURVE_PURE, .value = cases[i].epsilon};
        CHECK_RATIO(epsilon_of(curves, cases[i].n, 1e-5), cases[i].pld, 1e-5);
        CHECK_RATIO(epsilon_of(curves, cases[i].n, 0), sum, 1e-11);
        CU_ASSERT(curves_filter(curves, cases[i].n, 1e-5, curves_filter_order(4, 1e-5), &filtered, NULL) == STATUS_OK);
        CU_ASSERT(filtered >= cases[i].renyi * (1 - 1e-9) && filtered <= sum * (1 + 1e-11));
        /* With a projected Gaussian that costs next to nothing, everything goes to Renyi. */
        struct privacy_curve with[101] = {{.kind = CURVE_PROJECTED, .value = 1e-18, .dims = 3}};
        memcpy(with + 1, curves, cases[i].n * sizeof *curves);
        CU_ASSERT(epsilon_of(with, cases[i].n + 1, 1e-5) <= cases[i].renyi * (1 + 1e-5));
        CU_ASSERT(epsilon_of(with, cases[i].n + 1, 1e-5) >= cases[i].pld * (1 - 1e-9));
    }
    CU_ASSERT(epsilon_of(NULL, 0, 0) == 0 && epsilon_of(NULL, 0, 1e-5) == 0);
    /* A Laplace and a Gaussian: less than the sum of their epsilons. */
    curves[0] = (struct privacy_curve){.kind = CURVE_PURE, .value = 1};
    curves[1] = (struct privacy_curve){.kind = CURVE_GAUSSIAN, .value = 0.24720692689389961};
    CHECK_RATIO(epsilon_of(curves, 2, 1e-5), 1.895642678198887, 1e-5);
    struct privacy_curve with[3] = {curves[0], curves[1], {.kind = CURVE_PROJECTED, .value = 1e-18, .dims = 3}};
    CHECK_RATIO(epsilon_of(with, 3, 1e-5), 1.9811833787073707, 1e-5);
    /* Epsilons that do not fall on one lattice, from above. */
    for (size_t k = 0; k < 30; k++)
        curves[k].kind = CURVE_PURE, curves[k].value = k % 2 == 0 ? 0.1 : 0.1 * (1 - 1e-9);
    CHECK_RATIO(epsilon_of(curves, 30, 1e-5), 2.110154422366019 * (1 + 2e-4), 2e-4);
    /* Twenty thousand small ones: sqrt(2 n log(1/delta)) epsilon, about. */
    static struct privacy_curve many[20000];
    for (size_t k = 0; k < COUNT(many); k++)
        many[k] = (struct privacy_curve){.kind = CURVE_PURE, .value = 0.001};
    CHECK_NEAR(epsilon_of(many, COUNT(many), 1e-5), mechanism_gaussian_epsilon(sqrt(COUNT(many)) * 0.001, 1e-5), 0.01);
}

/* A budget is spent when it is, and one more Gaussian does not fit. */
static void test_filter(void)
{
    double               order = curves_filter_order(4, 1e-5), rho = 0.37314398119067077, epsilon = NAN;
    struct privacy_curve gaussian = {.kind = CURVE_GAUSSIAN, .value = sqrt(2 * rho)};
    CU_ASSERT(curves_filter(&gaussian, 1, 1e-5, order, &epsilon, NULL) == STATUS_OK);
    CHECK_RATIO(epsilon, 4, 1e-6);
    struct privacy_curve four[4];
    for (size_t i = 0; i < 4; i++)
        four[i] = (struct privacy_curve){.kind = CURVE_GAUSSIAN, .value = sqrt(rho / 2)};
    CU_ASSERT(curves_filter(four, 4, 1e-5, order, &epsilon, NULL) == STATUS_OK);
    CHECK_RATIO(epsilon, 4, 1e-6);
    four[3] = (struct privacy_curve){.kind = CURVE_PROJECTED, .value = 1, .dims = 2};
    CU_ASSERT(curves_filter(four, 4, 1e-5, order, &epsilon, NULL) == STATUS_OK && epsilon == INFINITY);
}

static void test_refused(void)
{
    struct error         err;
    double               epsilon;
    struct arena         arena;
    struct privacy_curve none = {.kind = CURVE_NONE}, pure_one = {.kind = CURVE_PURE, .value = 1},
                         bad = {CURVE_PURE, NAN, 0}, endless = {CURVE_PURE, INFINITY, 0};
    const double deltas[] = {-1e-9, 1, NAN};
    arena_init(&arena, 1 << 20);
    CU_ASSERT(curves_epsilon(&none, 1, 1e-5, &epsilon, &arena, &err) == STATUS_INVALID &&
              strcmp(err.code, "no_bound") == 0);
    CU_ASSERT(curves_epsilon(&bad, 1, 1e-5, &epsilon, &arena, &err) == STATUS_INVALID &&
              strcmp(err.code, "no_bound") == 0);
    CU_ASSERT(curves_epsilon(&endless, 1, 1e-5, &epsilon, &arena, &err) == STATUS_INVALID);
    CU_ASSERT(curves_filter(&none, 1, 1e-5, 5, &epsilon, &err) == STATUS_INVALID && strcmp(err.code, "no_bound") == 0);
    for (size_t i = 0; i < COUNT(deltas); i++)
        CU_ASSERT(curves_epsilon(&pure_one, 1, deltas[i], &epsilon, &arena, &err) == STATUS_INVALID &&
                  strcmp(err.code, "bad_delta") == 0);
    CU_ASSERT(curves_filter(&pure_one, 1, 1e-5, 1, &epsilon, &err) == STATUS_INVALID &&
              strcmp(err.code, "bad_order") == 0);
    arena_fini(&arena);
    struct mechanism coarse = {.kind = MECHANISM_DISCRETE_GAUSSIAN, .sigma = 2};
    CU_ASSERT(curve_of_release(&coarse, &(struct relation_shift){1, 1, 1, 1}).kind == CURVE_NONE);

    const struct relation_column columns[] = {{0, -1, 1}, {-1, -1, 1}, {NAN, -1, 1},
                                              {1, 1, -1}, {1, NAN, 1}, {1, INFINITY, INFINITY}};
    struct relation_shift        shift;
    struct release_scale         scale = {.centre = zero, .length_scales = one, .radius = 8};
    for (size_t i = 0; i < COUNT(columns); i++)
        CU_ASSERT(relation_shift(&(struct relation){.columns = &columns[i], .len = 1}, &scale, 1, &shift, &err) ==
                      STATUS_INVALID &&
                  strcmp(err.code, "bad_relation") == 0);
    CU_ASSERT(relation_shift(&(struct relation){0}, &scale, 1, &shift, &err) == STATUS_INVALID);
    scale.radius = 0;
    CU_ASSERT(relation_shift(&(struct relation){.columns = (struct relation_column[]){{1, 0, 1}}, .len = 1}, &scale, 1,
                             &shift, &err) == STATUS_INVALID);
}

CU_TestInfo suite_curve[] = {
    {"ever smaller radii cost what they show", test_zoom},
    {"shifts under a relation", test_shifts},
    {"moves that are tried out", test_moves},
    {"discrete Gaussians under a relation", test_gaussians},
    {"the discrete Gaussian is as good as the Gaussian", test_lemma},
    {"projected Gaussians under a relation", test_projected},
    {"cells and outcomes", test_outcomes},
    {"several together", test_composition},
    {"a budget for releases chosen one by one", test_filter},
    {"refusals", test_refused},
    CU_TEST_INFO_NULL,
};
