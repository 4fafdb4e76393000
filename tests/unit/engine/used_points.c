/* Points that were used, in spaces that are not finite: nothing comes again while something else is left. */
#include "engine/acquisition/acq_search.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

enum { PLACES = 60, LEN = 4 };
static const double           yes[] = {1}, ones[] = {1, 1, 1};
static const struct condition if_yes[] = {{.parent = 0, .values = yes, .values_len = 1}};
static const size_t           first[] = {0, 1, 2};
static const struct param     doubles[] = {PARAM("x", DOUBLE, LINEAR, 0, 1, 0), PARAM("y", DOUBLE, LOG, 0.01, 1, 0),
                                           PARAM("z", DOUBLE, LINEAR, -1, 1, 0)};
static const struct param     under_name[] = {PARAM("name", CATEGORICAL, LINEAR, 0, 1, 2),
                                              PARAM("k", INT, LINEAR, 0, 2, 0),
                                              {.name = "x", .max = 1, .when = if_yes, .when_len = 1}};
static const struct param     wide_ints[] = {PARAM("a", INT, LINEAR, 0, 1e9, 0), PARAM("b", INT, LINEAR, 0, 1e9, 0)};
static const struct param     with_int[] = {PARAM("k", INT, LINEAR, 0, 3, 0), PARAM("x", DOUBLE, LINEAR, 0, 1, 0)};

/* Each corner of a space is asked for again and again. */
struct corner {
    const struct param *params;
    size_t              len;
    struct constraint   row;
    double              point[LEN];
};
static const struct corner corners[] = {
    {doubles, 1, {.len = 0}, {0}},
    {doubles, 3, {.len = 0}, {0, 0.01, 1}},
    {doubles, 3, {first, ones, 3, 1, 1, .is_product = false}, {0.99, 0.01, 0}},
    {doubles, 3, {first, ones, 3, -INFINITY, 1, .is_product = false}, {1, 0.01, -0.01}},
    {under_name, 3, {.len = 0}, {1, 2, 0}},
    {under_name, 3, {.len = 0}, {0, 2, NAN}},
    {wide_ints, 2, {.len = 0}, {1e9, 1e9}},
    {with_int, 2, {.len = 0}, {3, 1}},
};

static void open_corner(const struct corner *corner, struct space *space, struct arena *arena)
{
    *space = (struct space){.kind = SPACE_PARAMETERS, .params = corner->params, .params_len = corner->len};
    space->constraints = &corner->row;
    space->constraints_len = corner->row.len > 0;
    arena_init(arena, 1 << 24);
    CU_ASSERT_FATAL(space_init(space, NULL) == STATUS_OK && space_hold(space, NULL, arena, space, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(space_count(space) == SIZE_MAX && space_has(space, corner->point));
}

static void test_corners(void)
{
    for (size_t c = 0; c < sizeof corners / sizeof *corners; c++) {
        struct space       space;
        struct arena       arena;
        struct used_points used;
        double             point[LEN];
        open_corner(&corners[c], &space, &arena);
        used_points_init(&used, &arena, &space, false);
        for (int k = 0; k < PLACES; k++) {
            memcpy(point, corners[c].point, sizeof point);
            CU_ASSERT(used_points_find(&used, &space, point));
            CU_ASSERT(space_has(&space, point) && !used_points_has(&used, point));
            CU_ASSERT(used_points_add(&used, point, NULL) == STATUS_OK && used.used == (size_t)k + 1);
        }
        arena_fini(&arena);
    }
}

/* Held values leave three points: these first, then one of them again. */
static void test_held(void)
{
    static const double held[] = {1, NAN, 0.5};
    const struct space  space = {.kind = SPACE_PARAMETERS, .params = under_name, .params_len = 3};
    struct space        view;
    struct arena        arena;
    struct used_points  used;
    arena_init(&arena, 1 << 20);
    CU_ASSERT_FATAL(space_hold(&space, held, &arena, &view, NULL) == STATUS_OK);
    used_points_init(&used, &arena, &space, false);
    for (size_t k = 0; k < 6; k++) {
        double point[] = {1, 1, 0.5};
        CU_ASSERT(used_points_find(&used, &view, point) && point[0] == 1 && point[2] == 0.5);
        CU_ASSERT(used_points_add(&used, point, NULL) == STATUS_OK && used.used == (k < 3 ? k + 1 : 3));
    }
    arena_fini(&arena);
}

static void test_repeat(void)
{
    struct space       space;
    struct arena       arena;
    struct used_points used;
    double             point[] = {0};
    open_corner(&corners[0], &space, &arena);
    used_points_init(&used, &arena, &space, true);
    for (int k = 0; k < 2; k++) {
        CU_ASSERT(used_points_find(&used, &space, point) && point[0] == 0);
        CU_ASSERT(used_points_add(&used, point, NULL) == STATUS_OK);
    }
    arena_fini(&arena);
}

static enum status sums(void *arg, const double *U, size_t m, double *out, struct error *err)
{
    size_t dims = *(const size_t *)arg;
    (void)err;
    for (size_t k = 0; k < m; k++) {
        out[k] = 0;
        for (size_t j = 0; j < dims; j++)
            out[k] += U[k * dims + j];
    }
    return STATUS_OK;
}

static double slope(void *arg, const double *u, double *gradient)
{
    double value;
    (void)sums(arg, u, 1, &value, NULL);
    for (size_t j = 0; j < *(const size_t *)arg; j++)
        gradient[j] = 1;
    return value;
}

/* A search whose best point is known finds the next best. */
static void test_search(void)
{
    struct space       space;
    struct arena       arena;
    struct used_points used;
    double             point[LEN];
    open_corner(&corners[1], &space, &arena);
    used_points_init(&used, &arena, &space, false);
    struct acq_search search = {
        .space = &space, .used = &used, .seed = 3, .samples = 64, .starts = 2, .evaluations = 20};
    search.scores = sums;
    search.slope = slope;
    search.arg = &space.dims;
    for (size_t k = 1; k <= 20; k++) {
        search.trial = k;
        CU_ASSERT(acq_search_run(&search, point, &arena, NULL) == STATUS_OK);
        CU_ASSERT(used_points_add(&used, point, NULL) == STATUS_OK && used.used == k);
        CU_ASSERT(k > 1 || (point[0] == 1 && point[1] == 1 && point[2] == 1));
    }
    arena_fini(&arena);
}

CU_TestInfo suite_used_points[] = {
    {"corners", test_corners},
    {"held", test_held},
    {"points may come again", test_repeat},
    {"what a search finds", test_search},
    CU_TEST_INFO_NULL,
};
