/* Spaces where at most k of some numbers are used: every face has its share of the points, and random spaces against a point
 * that is known, and against trying every point. */
#include "engine/math/rng.h"
#include "engine/space/space.h"
#include "tests/unit/engine/suites.h"
#include "tests/unit/thorough.h"

#include <string.h>

enum { SHARES = 8, FEW = 3, FACES = 56, DRAWS = 5600, NUMBERS = 6, ROWS = 4 };
static const size_t FIRST[] = {0, 1, 2, 3, 4, 5, 6, 7};
static const double ONES[] = {1, 1, 1, 1, 1, 1, 1, 1}, NONE[SHARES];

/* Chi-square with 55 and 9 degrees of freedom is below 103.6 and 33.7 with probability 0.9999.  A share of three is at most x
 * with probability 1 - (1 - x)^2. */
static void test_faces(void)
{
    struct param params[SHARES];
    for (size_t i = 0; i < SHARES; i++)
        params[i] = (struct param){.name = "s", .max = 1};
    struct constraint rows[] = {
        {.params = FIRST, .coefficients = ONES, .len = SHARES, .min = 1, .max = 1},
        {.params = FIRST,
         .coefficients = ONES,
         .len = SHARES,
         .min = -INFINITY,
         .max = INFINITY,
         .at_most = FEW,
         .min_used = NONE},
    };
    struct space space = {SPACE_PARAMETERS, params, SHARES, .constraints = rows, .constraints_len = 2};
    struct arena arena;
    struct rng   rng = rng_at(66, 1, RNG_TEST);
    double       faces[1 << SHARES] = {0}, cells[10] = {0}, v[SHARES], point[SHARES], chi = 0;
    arena_init(&arena, 1 << 22);
    CU_ASSERT_FATAL(space_init(&space, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(space_hold(&space, NULL, &arena, &space, NULL) == STATUS_OK);
    for (int k = 0; k < DRAWS; k++) {
        size_t face = 0;
        for (size_t i = 0; i < SHARES; i++)
            v[i] = rng_uniform(&rng);
        (void)space_quantile(&space, v, point);
        CU_ASSERT(space_has(&space, point));
        for (size_t i = 0; i < SHARES; i++)
            face |= (size_t)(point[i] != 0) << i;
        faces[face]++;
        size_t first = 0;
        while (point[first] == 0)
            first++;
        cells[(size_t)fmin(10 * (1 - pow(1 - point[first], FEW - 1)), 9)]++;
    }
    for (size_t face = 0; face < 1 << SHARES; face++)
        chi += faces[face] * faces[face] * FACES / DRAWS;
    CU_ASSERT(chi - DRAWS < 103.6);
    chi = 0;
    for (size_t c = 0; c < 10; c++)
        chi += cells[c] * cells[c] * 10 / DRAWS;
    CU_ASSERT(chi - DRAWS < 33.7);
    arena_fini(&arena);
}

/* Numbers from 0 (some from below), some sums, and one or two constraints that say at most. */
struct world {
    struct space      space;
    struct param      params[NUMBERS];
    struct constraint rows[ROWS];
    size_t            terms[ROWS][NUMBERS];
    double            coefficients[ROWS][NUMBERS], least[ROWS][NUMBERS], inside[NUMBERS];
};

static const double values[] = {-0.5, 0, 0.25, 0.75, 1.5};

static struct param random_param(struct rng *rng, bool is_finite)
{
    static const struct param kinds[] = {{.kind = PARAM_INT, .max = 3},
                                         {.kind = PARAM_DISCRETE, .max = 1.5, .values = values + 1, .choices = 4},
                                         {.kind = PARAM_STEPPED, .max = 0.75, .step = 0.25},
                                         {.kind = PARAM_DOUBLE, .max = 1},
                                         {.kind = PARAM_DOUBLE, .max = 1}};
    struct param              p = kinds[rng_below(rng, is_finite ? 3 : 5)];
    p.name = "p";
    p.min = p.kind != PARAM_DISCRETE && rng_below(rng, 4) == 0 ? -p.max : 0;
    if (p.kind == PARAM_DISCRETE && rng_below(rng, 2) == 0) {
        p.min = values[0];
        p.values = values;
        p.choices = 5;
    }
    return p;
}

static void random_params(struct world *w, struct rng *rng, bool is_finite)
{
    for (size_t i = 0; i < w->space.params_len; i++) {
        w->params[i] = random_param(rng, is_finite);
        w->inside[i] = rng_below(rng, 2) == 0 ? 0 : param_quantile(&w->params[i], rng_uniform(rng));
    }
}

static void random_row(struct world *w, struct rng *rng, size_t k, bool is_count)
{
    struct constraint *c = &w->rows[k];
    double             sum = 0;
    *c = (struct constraint){
        .params = w->terms[k], .coefficients = w->coefficients[k], .min = -INFINITY, .max = INFINITY};
    for (size_t i = 0; i < w->space.params_len; i++) {
        if (rng_below(rng, 4) == 0 && (i + 1 < w->space.params_len || c->len > 0))
            continue;
        bool may = is_count && w->params[i].min == 0 && rng_below(rng, 2) == 0;
        w->least[k][c->len] = may ? (w->inside[i] > 0 ? w->inside[i] * 0.75 : 0.5 * w->params[i].max) : 0;
        w->coefficients[k][c->len] = is_count ? 1 : rng_below(rng, 4) == 0 ? -1 : 1;
        w->terms[k][c->len] = i;
        c->at_most += is_count && w->inside[i] != 0;
        sum += w->coefficients[k][c->len++] * w->inside[i];
    }
    if (is_count) {
        c->at_most += c->at_most == 0;
        c->min_used = w->least[k];
        return;
    }
    c->max = rng_below(rng, 3) > 0 ? sum + 0.125 : INFINITY;
    c->min = isinf(c->max) || rng_below(rng, 2) == 0 ? sum - 0.125 : -INFINITY;
    if (rng_below(rng, 3) == 0)
        c->min = c->max = sum;
}

static void world_init(struct world *w, struct rng *rng, bool is_finite)
{
    size_t counts = 1 + rng_below(rng, 2);
    *w = (struct world){.space = {.kind = SPACE_PARAMETERS, .params = w->params, .constraints = w->rows}};
    w->space.params_len = 2 + rng_below(rng, (is_finite ? 4 : NUMBERS) - 1);
    w->space.constraints_len = counts + rng_below(rng, 3);
    random_params(w, rng, is_finite);
    for (size_t k = 0; k < w->space.constraints_len; k++)
        random_row(w, rng, k, k < counts);
}

/* A space with a known point is never refused, also where some of its values are held, and every way to a point ends inside. */
static void test_feasible(void)
{
    struct rng rng = rng_at(67, 1, RNG_TEST);
    for (int run = 0; run < (thorough ? 3000 : 150); run++) {
        struct world w;
        struct arena arena;
        struct space view;
        double       v[NUMBERS], u[NUMBERS], fixed[NUMBERS], point[NUMBERS];
        arena_init(&arena, 1 << 22);
        world_init(&w, &rng, false);
        CU_ASSERT_FATAL(space_init(&w.space, NULL) == STATUS_OK && space_has(&w.space, w.inside));
        CU_ASSERT_FATAL(space_hold(&w.space, NULL, &arena, &w.space, NULL) == STATUS_OK);
        for (int draw = 0; draw < 20; draw++) {
            for (size_t i = 0; i < NUMBERS; i++) {
                v[i] = rng_uniform(&rng);
                u[i] = 2 * rng_uniform(&rng) - 0.5;
                fixed[i] = rng_below(&rng, 3) == 0 ? w.inside[i] : NAN;
            }
            (void)space_quantile(&w.space, v, point);
            CU_ASSERT(space_has(&w.space, point));
            space_decode(&w.space, u, point);
            CU_ASSERT(space_has(&w.space, point));
            CU_ASSERT_FATAL(space_hold(&w.space, fixed, &arena, &view, NULL) == STATUS_OK);
            (void)space_quantile(&view, v, point);
            CU_ASSERT(space_has(&w.space, point));
            for (size_t i = 0; i < w.space.params_len; i++)
                CU_ASSERT(isnan(fixed[i]) || point[i] == fixed[i]);
        }
        arena_fini(&arena);
    }
}

/* On finite spaces the answer is that of trying every point, whether there is one, and how many there are. */
static void test_brute_force(void)
{
    struct rng rng = rng_at(68, 1, RNG_TEST);
    size_t     refused = 0, accepted = 0;
    for (int run = 0; run < (thorough ? 3000 : 600); run++) {
        struct world w;
        struct arena arena;
        double       point[NUMBERS] = {0};
        size_t       count = 0, index[NUMBERS] = {0}, i = 0;
        arena_init(&arena, 1 << 22);
        world_init(&w, &rng, true);
        for (size_t k = 0; k < w.space.constraints_len; k++) { /* somewhere else */
            double by = w.rows[k].at_most > 0 || rng_below(&rng, 2) == 0 ? 0 : 0.25 * floor(4 * rng_normal(&rng));
            w.rows[k].min += by;
            w.rows[k].max += by;
        }
        while (i < w.space.params_len) {
            for (i = 0; i < w.space.params_len; i++)
                point[i] = param_value(&w.params[i], (double)index[i]);
            count += space_broken(&w.space, point, 0) == NULL;
            for (i = 0; i < w.space.params_len && (double)++index[i] == param_count(&w.params[i]); i++)
                index[i] = 0;
        }
        enum status status = space_init(&w.space, NULL);
        status = status == STATUS_OK ? space_hold(&w.space, NULL, &arena, &w.space, NULL) : status;
        CU_ASSERT(status == (count > 0 ? STATUS_OK : STATUS_INVALID));
        CU_ASSERT(status != STATUS_OK || space_count(&w.space) == count);
        refused += count == 0;
        accepted += count > 0;
        arena_fini(&arena);
    }
    CU_ASSERT(refused > 30 && accepted > 200);
}

/* Numbers that may not be counted are refused, and sums that so few cannot reach. */
static void test_refusals(void)
{
    static const double            none[] = {0, 0, 0}, many[] = {0, 1.5, 0}, below[] = {0, 0, 0.25};
    static const size_t            pair[] = {0, 1}, name[] = {0, 3}, above[] = {4};
    static const struct constraint far = {FIRST, ONES, 2, 1.25, 1.25, .is_product = false};
    static const struct {
        const size_t *params;
        size_t        len, at_most;
        const double *min_used;
        const char   *code, *path;
    } rows[] = {
        {pair, 2, 3, none, "out_of_range", "/space/constraints/0/at_most"},
        {name, 2, 1, none, "bad_constraint", "/space/constraints/0/of"},
        {above, 1, 1, none, "bad_constraint", "/space/constraints/0/of"},
        {pair, 2, 1, many, "bad_constraint", "/space/constraints/0/min_used"},
        {FIRST, 3, 1, below, "bad_constraint", "/space/constraints/0/min_used"},
        {pair, 2, 1, none, "no_feasible_point", "/space/constraints/1/equals"},
    };
    static const struct param params[] = {
        PARAM("a", DOUBLE, LINEAR, 0, 1, 0),     PARAM("b", DOUBLE, LINEAR, 0, 1, 0),
        PARAM("c", DOUBLE, LINEAR, -1, 1, 0),    PARAM("n", CATEGORICAL, LINEAR, 0, 1, 2),
        PARAM("e", DOUBLE, LINEAR, 0.125, 1, 0),
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct constraint both[] = {{.params = rows[k].params,
                                     .coefficients = ONES,
                                     .len = rows[k].len,
                                     .min = -INFINITY,
                                     .max = INFINITY,
                                     .at_most = rows[k].at_most,
                                     .min_used = rows[k].min_used},
                                    far};
        struct space      space = {SPACE_PARAMETERS, params, 5, .constraints = both, .constraints_len = 2};
        struct error      err = {0};
        CU_ASSERT(space_init(&space, &err) == STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.code, rows[k].code);
        CU_ASSERT_STRING_EQUAL(err.path, rows[k].path);
    }
}

CU_TestInfo suite_space_face[] = {
    {"what may not be counted, and sums that so few cannot reach", test_refusals},
    {"every face has its share of the points, which are uniform on it", test_faces},
    {"random spaces with a known point are never refused and never left", test_feasible},
    {"finite spaces have the points that trying each of them finds", test_brute_force},
    CU_TEST_INFO_NULL,
};
