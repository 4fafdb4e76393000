/* Spaces with equations against what is known of them: shares are uniform on the simplex, ints are those that counting finds. */
#include "engine/acquisition/acq_search.h"
#include "engine/math/rng.h"
#include "engine/space/space.h"
#include "tests/unit/engine/suites.h"

enum { SHARES = 5, DRAWS = 4000, CELLS = 10 };
static const size_t FIRST[] = {0, 1, 2, 3, 4, 5};
static const double ONES[] = {1, 1, 1, 1, 1, 1};

static void hold(struct space *space, struct arena *arena)
{
    arena_init(arena, 1 << 22);
    CU_ASSERT_FATAL(space_init(space, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(space_hold(space, NULL, arena, space, NULL) == STATUS_OK);
}

static void draw(const struct space *space, struct rng *rng, double *point)
{
    double v[SHARES + 1];
    for (size_t i = 0; i < space->params_len; i++)
        v[i] = rng_uniform(rng);
    (void)space_quantile(space, v, point);
    CU_ASSERT(space_has(space, point));
}

/* A share of five is at most x with probability 1 - (1 - x)^4: ten cells of equal probability, for each share.  The 0.9999
 * quantile of chi-square with 9 degrees of freedom is 33.7. */
static void shares_within(double min, double max)
{
    struct param params[SHARES];
    for (size_t i = 0; i < SHARES; i++)
        params[i] = (struct param){.name = "s", .max = 1};
    struct constraint sum = {.params = FIRST, .coefficients = ONES, .len = SHARES, .min = min, .max = max};
    struct space      space = {SPACE_PARAMETERS, params, SHARES, .constraints = &sum, .constraints_len = 1};
    struct arena      arena;
    struct rng        rng = rng_at(64, 1, RNG_TEST);
    double            cells[SHARES][CELLS] = {{0}}, point[SHARES];
    hold(&space, &arena);
    for (int k = 0; k < DRAWS; k++) {
        draw(&space, &rng, point);
        for (size_t i = 0; i < SHARES; i++)
            cells[i][(size_t)fmin(CELLS * (1 - pow(1 - point[i], SHARES - 1)), CELLS - 1)]++;
    }
    for (size_t i = 0; i < SHARES; i++) {
        double chi = 0, expected = (double)DRAWS / CELLS;
        for (size_t c = 0; c < CELLS; c++)
            chi += (cells[i][c] - expected) * (cells[i][c] - expected) / expected;
        CU_ASSERT(chi < 33.7);
    }
    arena_fini(&arena);
}

/* A band that is a thousandth of an edge of the simplex has the shares of the equation. */
static void test_uniform(void)
{
    shares_within(1, 1);
    shares_within(0.9995, 1.0005);
}

/* Solutions of 40 <= 3 x + 5 y + z <= most are counted by three loops; each is walked to, and each is drawn. */
static void ints_up_to(int most)
{
    static const double coefficients[] = {3, 5, 1};
    struct param        params[3];
    size_t              count = 0, walked = 0, drawn = 0;
    bool                seen[21][21][21] = {{{0}}};
    for (size_t i = 0; i < 3; i++)
        params[i] = (struct param){.name = "k", .kind = PARAM_INT, .max = 20};
    struct constraint sum = {.params = FIRST, .coefficients = coefficients, .len = 3, .min = 40, .max = most};
    struct space      space = {SPACE_PARAMETERS, params, 3, .constraints = &sum, .constraints_len = 1};
    struct arena      arena;
    struct rng        rng = rng_at(65, 1, RNG_TEST);
    double            point[SHARES];
    hold(&space, &arena);
    for (int x = 0; x <= 20; x++)
        for (int y = 0; y <= 20; y++)
            for (int z = 0; z <= 20; z++)
                count += 3 * x + 5 * y + z >= 40 && 3 * x + 5 * y + z <= most;
    for (bool more = space_first(&space, point); more; more = space_step(&space, point))
        walked++;
    for (int k = 0; k < DRAWS; k++) {
        draw(&space, &rng, point);
        bool *at = &seen[(size_t)point[0]][(size_t)point[1]][(size_t)point[2]];
        drawn += !*at;
        *at = true;
    }
    CU_ASSERT_EQUAL(walked, count);
    CU_ASSERT_EQUAL(space_count(&space), count);
    CU_ASSERT_EQUAL(drawn, count);
    arena_fini(&arena);
}

static void test_ints(void)
{
    ints_up_to(40);
    ints_up_to(42);
}

/* Two equations, an inequality and a repeated equation over six doubles: every number moves, and drafts come back near. */
static void test_several(void)
{
    static const double slopes[] = {1, -2, 0.5, 3, -1, 2}, twice[] = {2, 2, 2, 2, 2, 2};
    struct param        params[SHARES + 1];
    for (size_t i = 0; i <= SHARES; i++)
        params[i] = (struct param){.name = "s", .max = 1};
    struct constraint rows[] = {{FIRST, ONES, 6, 2.385, 2.385, .is_product = false},
                                {FIRST, slopes, 6, 0.71, 0.71, .is_product = false},
                                {FIRST, twice, 6, 4.77, 4.77, .is_product = false},
                                {FIRST, ONES, 2, -INFINITY, 1.2, .is_product = false}};
    struct space      space = {SPACE_PARAMETERS, params, 6, .constraints = rows, .constraints_len = 4};
    struct arena      arena;
    struct rng        rng = rng_at(66, 1, RNG_TEST);
    double            point[6], moved[6], sum[6] = {0}, squares[6] = {0};
    hold(&space, &arena);
    for (int k = 0; k < 400; k++) {
        double far = 0;
        draw(&space, &rng, point);
        for (size_t i = 0; i < 6; i++) {
            sum[i] += point[i] / 400;
            squares[i] += point[i] * point[i] / 400;
            moved[i] = fmin(fmax(point[i] + 0.01 * rng_normal(&rng), 0), 1);
        }
        space_equation_repair(&space, moved);
        CU_ASSERT(space_has(&space, moved));
        for (size_t i = 0; i < 6; i++)
            far = fmax(far, fabs(moved[i] - point[i]));
        CU_ASSERT(far < 0.15);
    }
    for (size_t i = 0; i < 6; i++)
        CU_ASSERT(sqrt(squares[i] - sum[i] * sum[i]) > 0.08);
    arena_fini(&arena);
}

/* A world is made around a point: shares with their sum, a second sum of some, ints with theirs, sums that are bounded a little
 * above or below that point, and in every second world a product that is. */
static void found_near(struct rng *rng, bool with_product)
{
    static const size_t parts[][2] = {{0, 4}, {0, 3}, {4, 2},
                                      {0, 2}, {1, 3}, {1, 2}}; /* first and number of the terms */
    struct param        params[6];
    struct constraint   rows[6];
    double              at[6], slopes[6][6], point[6];
    for (size_t i = 0; i < 6; i++) {
        params[i] = (struct param){.name = "a", .min = 0.01, .max = 1};
        if (i >= 4)
            params[i] = (struct param){.name = "k", .kind = PARAM_INT, .max = 6};
        at[i] = i < 4 ? 0.05 + 0.9 * rng_uniform(rng) : 1 + (double)rng_below(rng, 5);
    }
    for (size_t k = 0; k < 6; k++) {
        double sum = 0, room = 0.02 + 0.2 * rng_uniform(rng);
        for (size_t j = 0; j < parts[k][1]; j++) {
            slopes[k][j] = k == 0 || k == 2 || k == 5 || rng_uniform(rng) < 0.5 ? 1 : -1;
            sum += slopes[k][j] * at[parts[k][0] + j];
        }
        rows[k] =
            (struct constraint){FIRST + parts[k][0], slopes[k], parts[k][1], -INFINITY, INFINITY, .is_product = k == 5};
        if (k < 3)
            rows[k].min = rows[k].max = sum;
        else if (k == 4)
            rows[k].min = sum - room;
        else
            rows[k].max = k == 3 ? sum + room : at[1] * at[2] * (1 + room);
    }
    struct space space = {SPACE_PARAMETERS, params, 6, .constraints = rows, .constraints_len = with_product ? 6 : 5};
    struct arena arena;
    hold(&space, &arena);
    for (int k = 0; k < 5; k++)
        draw(&space, rng, point);
    arena_fini(&arena);
}

static void test_found(void)
{
    struct rng rng = rng_at(67, 1, RNG_TEST);
    for (int k = 0; k < 200; k++)
        found_near(&rng, k % 2 == 1);
}

/* A report may miss an equation by the tolerance, a suggestion may not. */
static void test_tolerance(void)
{
    struct param      params[2] = {{.name = "a", .max = 1}, {.name = "b", .max = 1}};
    struct constraint sum = {.params = FIRST, .coefficients = ONES, .len = 2, .min = 1, .max = 1, .tolerance = 0.0625};
    struct space      space = {SPACE_PARAMETERS, params, 2, .constraints = &sum, .constraints_len = 1};
    struct arena      arena;
    hold(&space, &arena);
    CU_ASSERT(space_nearly_has(&space, (double[]){0.5, 0.5625}, 8));
    CU_ASSERT(!space_nearly_has(&space, (double[]){0.5, 0.57}, 8));
    CU_ASSERT(!space_has(&space, (double[]){0.5, 0.5625}));
    arena_fini(&arena);
}

/* Minus the square of the distance from a place in the cube. */
static double closeness(void *arg, const double *u, double *gradient)
{
    double value = 0;
    for (size_t j = 0; j < 4; j++) {
        double off = u[j] - ((const double *)arg)[j];
        value -= off * off;
        gradient[j] = -2 * off;
    }
    return value;
}

static enum status closenesses(void *arg, const double *U, size_t m, double *out, struct error *err)
{
    double gradient[4];
    (void)err;
    for (size_t k = 0; k < m; k++)
        out[k] = closeness(arg, U + k * 4, gradient);
    return STATUS_OK;
}

/* The top is off the plane of an equation: the best mixture is its projection, where a share is 0 as well. */
static void test_search(void)
{
    double       tops[][4] = {{0.5, 0.35, 0.3, 0.25}, {0.2, 0.9, 0.1, -0.3}}, point[4];
    const double best[][4] = {{0.4, 0.25, 0.2, 0.15}, {0.4 / 3, 2.5 / 3, 0.1 / 3, 0}};
    struct param params[4] = {
        {.name = "a", .max = 1}, {.name = "b", .max = 1}, {.name = "c", .max = 1}, {.name = "d", .max = 1}};
    struct constraint  sum = {.params = FIRST, .coefficients = ONES, .len = 4, .min = 1, .max = 1};
    struct space       space = {SPACE_PARAMETERS, params, 4, .constraints = &sum, .constraints_len = 1};
    struct arena       arena;
    struct used_points used;
    hold(&space, &arena);
    used_points_init(&used, &arena, &space, false);
    struct acq_search search = {
        .space = &space, .used = &used, .seed = 3, .trial = 8, .samples = 200, .starts = 3, .evaluations = 60};
    search.scores = closenesses;
    search.slope = closeness;
    for (int k = 0; k < 2; k++) {
        search.arg = tops[k];
        CU_ASSERT_FATAL(acq_search_run(&search, point, &arena, NULL) == STATUS_OK);
        CU_ASSERT(space_has(&space, point));
        for (size_t i = 0; i < 4; i++)
            CHECK_NEAR(point[i], best[k][i], 1e-4);
    }
    arena_fini(&arena);
}

CU_TestInfo suite_space_equation[] = {
    {"shares are uniform", test_uniform},
    {"ints of an equation", test_ints},
    {"several equations", test_several},
    {"a point is found where there is one", test_found},
    {"tolerance", test_tolerance},
    {"search", test_search},
    CU_TEST_INFO_NULL,
};
