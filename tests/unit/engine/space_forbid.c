/* Forbidden combinations and alternatives of conditions, as properties over random spaces, against brute force where there are
 * few points. */
#include "engine/math/rng.h"
#include "engine/space/space.h"
#include "tests/unit/engine/suites.h"
#include "tests/unit/thorough.h"

#include <stdlib.h>
#include <string.h>

enum { PARAMS = 5, CONDITIONS = 12, LISTED = 3 };
struct world {
    struct param      params[PARAMS];
    struct condition  when[PARAMS][3], forbid[CONDITIONS];
    double            listed[PARAMS + CONDITIONS][3][LISTED];
    size_t            terms[PARAMS];
    double            ones[PARAMS];
    struct constraint constraint;
    struct space      space;
};

static void random_param(struct param *p, struct rng *rng, bool is_finite)
{
    static const enum param_kind kinds[] = {PARAM_INT, PARAM_CATEGORICAL, PARAM_ORDINAL, PARAM_STEPPED, PARAM_DOUBLE};
    *p = (struct param){.name = "p", .kind = kinds[rng_below(rng, is_finite ? 4 : 5)], .min = 1, .max = 4};
    if (!param_is_number(p)) {
        p->choices = 2 + rng_below(rng, 3);
        p->min = 0;
        p->max = (double)p->choices - 1;
    }
    if (p->kind == PARAM_STEPPED)
        p->step = 0.75;
}

/* On parameters before i: a list, all but a list, or a range. */
static void random_condition(const struct world *w, struct rng *rng, size_t i, double *listed, struct condition *out)
{
    *out = (struct condition){.parent = i, .is_not = rng_below(rng, 3) == 0};
    const struct param *p = &w->params[i];
    double              count = param_count(p);
    if (count == 0 || (param_is_number(p) && rng_below(rng, 2) == 0)) {
        out->is_not = false;
        out->min = rng_below(rng, 3) == 0 ? -INFINITY : param_quantile(p, rng_uniform(rng));
        out->max = rng_below(rng, 3) == 0 ? INFINITY : fmax(out->min, param_quantile(p, rng_uniform(rng)));
        return;
    }
    out->values = listed;
    out->values_len = 1;
    listed[0] = param_value(p, (double)rng_below(rng, (uint64_t)count));
}

static void random_conditions(struct world *w, struct rng *rng)
{
    for (size_t i = 1; i < w->space.params_len; i++) {
        struct param *p = &w->params[i];
        p->when = w->when[i];
        for (size_t c = 0; c < rng_below(rng, 4); c++) {
            size_t parent = rng_below(rng, i);
            if (w->params[parent].kind == PARAM_DOUBLE)
                continue;
            random_condition(w, rng, parent, w->listed[i][p->when_len], &w->when[i][p->when_len]);
            w->when[i][p->when_len].is_or = p->when_len > 0;
            p->when_len++;
        }
    }
    size_t wanted = rng_below(rng, CONDITIONS), n = 0;
    while (n < wanted)
        for (size_t i = 0, first = n; i < w->space.params_len && n < wanted; i++)
            if (rng_below(rng, 2) == 0 || i + 1 == w->space.params_len) {
                random_condition(w, rng, i, w->listed[PARAMS + n][0], &w->forbid[n]);
                w->forbid[n].is_or = n == first && n > 0;
                n++;
            }
    w->space.forbid = w->forbid;
    w->space.forbid_len = n;
}

/* Half of the spaces have a sum that the numbers without conditions keep to. */
static void random_sum(struct world *w, struct rng *rng)
{
    w->constraint = (struct constraint){.params = w->terms, .coefficients = w->ones, .min = -INFINITY};
    for (size_t i = 0; i < w->space.params_len; i++)
        if (param_is_number(&w->params[i]) && w->params[i].when_len == 0) {
            w->ones[w->constraint.len] = 1;
            w->terms[w->constraint.len++] = i;
        }
    w->constraint.max = 2.5 * (double)w->constraint.len;
    w->space.constraints = &w->constraint;
    w->space.constraints_len = w->constraint.len > 0 && rng_below(rng, 2) == 0;
}

static bool world_init(struct world *w, struct rng *rng, bool is_finite)
{
    struct error err;
    *w = (struct world){.space = {.kind = SPACE_PARAMETERS, .params = w->params}};
    w->space.params_len = 1 + rng_below(rng, PARAMS);
    for (size_t i = 0; i < w->space.params_len; i++)
        random_param(&w->params[i], rng, is_finite);
    random_conditions(w, rng);
    random_sum(w, rng);
    return space_init(&w->space, &err) == STATUS_OK; /* else conditions that never hold */
}

/* Counts the points by trying every combination of values and of none. */
static size_t count_all(const struct space *space, size_t i, double *point)
{
    if (i == space->params_len)
        return space_has(space, point);
    point[i] = NAN;
    size_t found = count_all(space, i + 1, point);
    for (double k = 0; k < param_count(&space->params[i]); k++) {
        point[i] = param_value(&space->params[i], k);
        found += count_all(space, i + 1, point);
    }
    return found;
}

static void check_points(const struct space *space, struct rng *rng)
{
    double v[PARAMS], u[4 * PARAMS], point[PARAMS], back[PARAMS];
    for (int k = 0; k < 20; k++) {
        for (size_t i = 0; i < space->params_len; i++)
            v[i] = rng_uniform(rng);
        (void)space_quantile(space, v, point);
        CU_ASSERT_FATAL(space_has(space, point));
        space_encode(space, point, u);
        space_decode(space, u, back);
        CU_ASSERT_FATAL(space_has(space, back));
        for (size_t j = 0; j < space->dims; j++)
            u[j] = rng_below(rng, 9) == 0 ? (double)NAN : 1.4 * rng_uniform(rng) - 0.2;
        space_decode(space, u, back);
        CU_ASSERT_FATAL(space_has(space, back));
    }
}

/* Doubles may move within what keep_out leaves without coming to a forbidden point. */
static void check_room(const struct space *space, struct rng *rng)
{
    double v[PARAMS], point[PARAMS], low[PARAMS], high[PARAMS];
    for (int k = 0; k < 20; k++) {
        for (size_t i = 0; i < space->params_len; i++) {
            v[i] = rng_uniform(rng);
            low[i] = space->params[i].min;
            high[i] = space->params[i].max;
        }
        (void)space_quantile(space, v, point);
        space_keep_out(space, point, low, high);
        for (size_t i = 0; i < space->params_len; i++)
            if (space->params[i].kind == PARAM_DOUBLE && !isnan(point[i])) {
                CU_ASSERT(low[i] <= point[i] && point[i] <= high[i]);
                point[i] = low[i] + rng_uniform(rng) * (high[i] - low[i]);
            }
        CU_ASSERT(!space_forbids(space, point));
    }
}

static void test_random_spaces(void)
{
    struct rng rng = rng_at(67, 1, RNG_TEST);
    int        held = 0, empty = 0, missed = 0;
    for (int run = 0; run < (thorough ? 8000 : 1500); run++) {
        struct world w;
        struct arena arena;
        struct space view;
        struct error err;
        double       point[PARAMS];
        bool         is_finite = run % 2 == 0;
        if (!world_init(&w, &rng, is_finite))
            continue;
        arena_init(&arena, 1 << 22);
        size_t      all = is_finite ? count_all(&w.space, 0, point) : 0;
        enum status status = space_hold(&w.space, NULL, &arena, &view, &err);
        CU_ASSERT(status == STATUS_OK || strcmp(err.code, "no_feasible_point") == 0);
        if (is_finite)
            CU_ASSERT((status == STATUS_OK) == (all > 0) && (all == 0 || space_count(&view) == all));
        empty += is_finite && all == 0;
        missed += !is_finite && status != STATUS_OK;
        if (status == STATUS_OK) {
            held++;
            check_points(&view, &rng);
            check_room(&view, &rng);
        }
        arena_fini(&arena);
    }
    CU_ASSERT(held > 700 && empty > 10 && missed < held / 5);
}

/* Points cover what is left as evenly as a box: a quarter is forbidden, each other one has a third of them. */
static void test_even(void)
{
    static const struct param     params[] = {{.name = "x", .max = 1}, {.name = "y", .max = 1}};
    static const struct condition corner[] = {{.parent = 0, .min = -INFINITY, .max = 0.5},
                                              {.parent = 1, .min = -INFINITY, .max = 0.5}};
    struct space                  space = {
                         .kind = SPACE_PARAMETERS, .params = params, .params_len = 2, .forbid = corner, .forbid_len = 2};
    struct space view;
    struct arena arena;
    struct rng   rng = rng_at(3, 0, RNG_TEST);
    double       point[2];
    int          seen[4] = {0};
    arena_init(&arena, 1 << 20);
    CU_ASSERT_FATAL(space_init(&space, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(space_hold(&space, NULL, &arena, &view, NULL) == STATUS_OK);
    for (int k = 0; k < 6000; k++) {
        double v[] = {rng_uniform(&rng), rng_uniform(&rng)};
        CU_ASSERT(space_quantile(&view, v, point));
        seen[(point[0] > 0.5) + 2 * (point[1] > 0.5)]++;
    }
    CU_ASSERT(seen[0] == 0 && abs(seen[1] - 2000) < 150 && abs(seen[2] - 2000) < 150 && abs(seen[3] - 2000) < 150);
    arena_fini(&arena);
}

CU_TestInfo suite_space_forbid[] = {
    {"random spaces", test_random_spaces},
    {"even", test_even},
    CU_TEST_INFO_NULL,
};
