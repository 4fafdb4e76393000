/* Sub-regions: which numbers of them a space can have, that they are equal and what the two maps make of each other. */
#include "engine/space/region.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/suites.h"

#include <stdio.h>
#include <string.h>

static const double discrete_values[] = {0.5, 1.25, 3, 7, 21, 22};
static struct space one = {
    .kind = SPACE_PARAMETERS, .params = (struct param[]){PARAM("x", DOUBLE, LINEAR, -3, 2.385, 0)}, .params_len = 1};
static struct space square = {
    .kind = SPACE_PARAMETERS,
    .params = (struct param[]){PARAM("x", DOUBLE, LINEAR, -3, 2.385, 0), PARAM("rate", DOUBLE, LOG, 1e-5, 0.1, 0)},
    .params_len = 2};
static struct space mixed = {
    .kind = SPACE_PARAMETERS,
    .params =
        (struct param[]){
            PARAM("n", INT, LINEAR, 3, 11, 0),
            {.name = "d", .kind = PARAM_DISCRETE, .min = 0.5, .max = 22, .choices = 6, .values = discrete_values},
            PARAM("c", CATEGORICAL, LINEAR, 0, 4, 5)},
    .params_len = 3};

static void check_slices(struct space *space, size_t count, const size_t *slices)
{
    struct arena   arena;
    struct regions regions;
    arena_init(&arena, 1 << 12);
    CU_ASSERT_FATAL(space_init(space, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(regions_init(&regions, space, count, &arena, NULL) == STATUS_OK);
    CU_ASSERT(memcmp(regions.slices, slices, space->params_len * sizeof *slices) == 0);
    arena_fini(&arena);
}

static void test_slices(void)
{
    check_slices(&one, 1, (size_t[]){1});
    check_slices(&one, 3, (size_t[]){3});
    check_slices(&one, 64, (size_t[]){64});
    check_slices(&square, 2, (size_t[]){2, 1});
    check_slices(&square, 4, (size_t[]){2, 2});
    check_slices(&square, 6, (size_t[]){3, 2});
    check_slices(&square, 12, (size_t[]){3, 4});
    check_slices(&square, 61, (size_t[]){61, 1});
    check_slices(&mixed, 3, (size_t[]){3, 1, 1}); /* 9, 6 and 5 values */
    check_slices(&mixed, 9, (size_t[]){3, 3, 1});
    check_slices(&mixed, 10, (size_t[]){1, 2, 5});
    check_slices(&mixed, 18, (size_t[]){3, 6, 1});
}

/* The paper's four quarters of a square, in its order. */
static void test_order(void)
{
    struct arena   arena;
    struct regions regions;
    arena_init(&arena, 1 << 12);
    CU_ASSERT_FATAL(space_init(&square, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(regions_init(&regions, &square, 4, &arena, NULL) == STATUS_OK);
    CU_ASSERT(regions_of_point(&regions, (double[]){-3, 1e-5}) == 0);
    CU_ASSERT(regions_of_point(&regions, (double[]){-0.31, 0.0011}) == 1); /* over the geometric middle */
    CU_ASSERT(regions_of_point(&regions, (double[]){-0.30, 0.0009}) == 2);
    CU_ASSERT(regions_of_point(&regions, (double[]){2.385, 0.1}) == 3);
    arena_fini(&arena);
}

/* Points drawn in a region lie there, and those of the whole space fall into each with its share. */
static void check_equal(struct space *space, size_t count)
{
    enum { DRAWS = 6000 };
    struct arena   arena;
    struct regions regions;
    struct rng     rng = rng_at(2385, count, RNG_TEST);
    double         v[3], point[3], hits[REGIONS_MAX] = {0};
    arena_init(&arena, 1 << 12);
    CU_ASSERT_FATAL(space_init(space, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(regions_init(&regions, space, count, &arena, NULL) == STATUS_OK);
    for (size_t draw = 0; draw < DRAWS; draw++) {
        for (size_t i = 0; i < space->params_len; i++)
            v[i] = draw < 2 ? (double)draw * 0x1.fffffffffffffp-1 : rng_uniform(&rng);
        space_quantile(space, v, point);
        hits[regions_of_point(&regions, point)]++;
        regions_squeeze(&regions, draw % count, v);
        space_quantile(space, v, point);
        CU_ASSERT(space_has(space, point) && regions_of_point(&regions, point) == draw % count);
    }
    double share = 1.0 / (double)count;
    for (size_t region = 0; region < count; region++)
        CHECK_NEAR(hits[region] / DRAWS, share, 5 * sqrt(share * (1 - share) / DRAWS) + 1e-3);
    arena_fini(&arena);
}

static void test_equal(void)
{
    check_equal(&one, 4);
    check_equal(&square, 4);
    check_equal(&square, 16);
    check_equal(&mixed, 18);
    check_equal(&mixed, 30);
}

static void test_seats(void)
{
    size_t firsts[5] = {0};
    for (uint64_t seed = 0; seed < 4000; seed++) {
        size_t hits[5] = {0};
        for (uint64_t seat = 1; seat <= 12; seat++) {
            size_t region = regions_of_seat(seed, seat, 5);
            CU_ASSERT_FATAL(region < 5);
            hits[region]++;
        }
        for (size_t i = 0; i < 5; i++)
            CU_ASSERT(hits[i] == 2 || hits[i] == 3); /* 12 seats among 5 regions */
        firsts[regions_of_seat(seed, 1, 5)]++;
    }
    for (size_t i = 0; i < 5; i++)
        CHECK_NEAR((double)firsts[i] / 4000.0, 0.2, 5 * 0.4 / sqrt(4000));
    CU_ASSERT(regions_of_seat(1, 7, 1) == 0);
}

static void check_refused(struct space *space, size_t count, const char *code)
{
    struct arena   arena;
    struct regions regions;
    struct error   err = {0};
    arena_init(&arena, 1 << 12);
    CU_ASSERT(regions_init(&regions, space, count, &arena, &err) == STATUS_INVALID);
    CU_ASSERT(strcmp(err.code, code) == 0 && strcmp(err.path, "/regions") == 0);
    arena_fini(&arena);
}

static void test_refusals(void)
{
    const struct condition when = {.parent = 0, .values = (double[]){3}, .values_len = 1};
    struct param           conditional[2] = {PARAM("n", INT, LINEAR, 3, 11, 0), PARAM("x", DOUBLE, LINEAR, 0, 1, 0)};
    struct space           dependent = {.kind = SPACE_PARAMETERS, .params = conditional, .params_len = 2};
    struct space           bound = square, rows = {.kind = SPACE_CANDIDATES, .columns = 2, .rows_len = 8};
    struct regions         regions;
    conditional[1].when = &when;
    conditional[1].when_len = 1;
    CU_ASSERT_FATAL(space_init(&dependent, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(space_init(&mixed, NULL) == STATUS_OK);
    check_refused(&square, 0, "bad_regions");
    check_refused(&square, 65, "bad_regions");
    check_refused(&rows, 2, "bad_regions");
    check_refused(&mixed, 7, "regions_do_not_divide");
    check_refused(&mixed, 4, "regions_do_not_divide");
    check_refused(&mixed, 25, "regions_do_not_divide");
    check_refused(&dependent, 2, "regions_do_not_divide"); /* 9 values; what may be missing is not cut */
    bound.constraints_len = 1;
    check_refused(&bound, 2, "bad_regions");
    struct arena arena;
    arena_init(&arena, 0);
    CU_ASSERT(regions_init(&regions, &square, 2, &arena, NULL) == STATUS_NO_MEMORY);
    arena_fini(&arena);
}

CU_TestInfo suite_region[] = {
    {"slices", test_slices}, {"order", test_order},       {"equal volumes", test_equal},
    {"agents", test_seats},  {"refusals", test_refusals}, CU_TEST_INFO_NULL,
};
