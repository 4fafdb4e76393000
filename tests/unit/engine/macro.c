/* Plans: the values of macro-actions against numbers computed elsewhere (NumPy, exact but for the sampling error that
 * is given), the bounds of the anytime form, and the constants of theorem 4.3. */
#include "engine/policy/session.h"
#include "engine/planning/macro_model.h"
#include "engine/planning/macro_plan.h"
#include "engine/math/mat.h"
#include "engine/math/rng.h"
#include "engine/registry.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

/* The field of section 4.4.1: 50 x 50 cells of 0.1 km, length-scale 0.5 km. */
static const struct graph ocean = {.moves = MOVES_STRAIGHT,
                                   .sites_len = 2500,
                                   .dims = 2,
                                   .width = 50,
                                   .height = 50,
                                   .spacing = 0.1,
                                   .steps = 4,
                                   .most = 20,
                                   .start = 25 * 50 + 25,
                                   .sign = 1};
static const double       length_scales[] = {0.5, 0.5};

struct state {
    struct arena      arena;
    struct gp         gp;
    struct macro_tree tree;
};

static void state_open(struct state *s, const double *X, const double *y, size_t n)
{
    const struct kernel kernel = {.kind = &kernel_se, .dims = 2, .variance = 1.0, .length_scales = length_scales};
    arena_init(&s->arena, (size_t)1 << 28);
    CU_ASSERT_FATAL(gp_init(&s->gp, &s->arena, &kernel, 1e-5, n, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(gp_set_points(&s->gp, X, NULL, n, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(gp_set_values(&s->gp, y, NULL) == STATUS_OK);
}

static void state_plan(struct state *s, size_t horizon, double beta, bool wants_bounds)
{
    const struct macro_root root = {.graph = &ocean, .seed = 1, .gp = &s->gp, .beta = beta, .site = ocean.start};
    const struct macro_tree_options options = {.horizon = horizon, .wants_bounds = wants_bounds};
    CU_ASSERT_FATAL(macro_tree_build(&root, &options, &s->arena, &s->tree, NULL) == STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(s->tree.steps[0].children, 4);
}

/* The average of (4.6) over so many repetitions. */
static double sampled(struct state *s, size_t samples, size_t repetitions, double *values)
{
    double nodes = 0;
    for (size_t a = 0; a < 4; a++)
        values[a] = 0;
    for (size_t r = 0; r < repetitions; r++) {
        double              own[4];
        struct macro_search search = {.samples = samples, .seed = 77 + r, .trial = 5};
        CU_ASSERT_FATAL(macro_plan_sample(&s->tree, &search, &s->arena, own, NULL) == STATUS_OK);
        for (size_t a = 0; a < 4; a++)
            values[a] += own[a] / (double)repetitions;
        nodes = search.progress.nodes;
    }
    return nodes;
}

static const double here[] = {2.5, 2.5};

/* With a single observation y0 where the agent stands all four directions are worth the same. */
static void test_symmetric(void)
{
    static const struct {
        double y, one, two, three, likely[3]; /* H = 1; H = 2; H = 3 with N = 60; most likely H = 2, 3, 4 */
    } rows[] = {
        {-1, -3.4647, -4.784, -3.93, {-5.2113, -5.6896, -5.7606}},
        {0, 0, 1.105, 3.65, {0, 0, 0}},
        {1, 3.4647, 7.563, 12.69, {7.2032, 10.6679, 14.4065}},
        {2, 6.9294, 14.484, 22.84, {14.4065, 21.3359, 28.8130}},
    };
    for (size_t i = 0; i < 4; i++) {
        struct state s;
        double       values[4], mean;
        state_open(&s, here, &rows[i].y, 1);
        for (size_t h = 1; h <= 4; h++) {
            state_plan(&s, h, 0, false);
            macro_plan_likely(&s.tree, values);
            for (size_t a = 0; a < 4; a++)
                CHECK_NEAR(values[a], h == 1 ? rows[i].one : rows[i].likely[h - 2], 6e-5);
        }
        state_plan(&s, 2, 0, false);
        CU_ASSERT_EQUAL(sampled(&s, 4000, 10, values), 1 + 4 * 4000 * 5);
        mean = (values[0] + values[1] + values[2] + values[3]) / 4;
        CHECK_NEAR(mean, rows[i].two, 0.03);
        state_plan(&s, 3, 0, false);
        CU_ASSERT_EQUAL(sampled(&s, 60, 60, values), 1 + 240 * (1 + 240 * 5));
        mean = (values[0] + values[1] + values[2] + values[3]) / 4;
        CHECK_NEAR(mean, rows[i].three, 0.3);
        arena_fini(&s.arena);
    }
}

static const double around[] = {2.5, 2.5, 2.9, 2.5, 2.5, 2.1}, around_y[] = {0.5, 1.2, -0.7};

static void test_asymmetric(void)
{
    static const double one[] = {3.897, 0.3703, 3.4623, -1.0173}, two[] = {9.588, 1.958, 8.331, -0.832},
                        likely_two[] = {9.3109, 1.3555, 8.2343, -0.8346},
                        likely_three[] = {14.6463, 5.216, 13.5697, 3.0625},
                        informed[] = {9.7248, 10.1107, 13.2027, 4.8105};
    struct state s;
    double       values[4];
    state_open(&s, around, around_y, 3);
    state_plan(&s, 1, 0, false);
    macro_plan_likely(&s.tree, values);
    for (size_t a = 0; a < 4; a++)
        CHECK_NEAR(values[a], one[a], 6e-5);
    state_plan(&s, 1, 1, false); /* DB-GP-UCB with beta = 1 */
    CU_ASSERT_EQUAL(sampled(&s, 3, 1, values), 5);
    for (size_t a = 0; a < 4; a++)
        CHECK_NEAR(values[a], informed[a], 6e-5);
    state_plan(&s, 2, 0, false);
    sampled(&s, 4000, 10, values);
    for (size_t a = 0; a < 4; a++)
        CHECK_NEAR(values[a], two[a], 0.035);
    macro_plan_likely(&s.tree, values);
    for (size_t a = 0; a < 4; a++)
        CHECK_NEAR(values[a], likely_two[a], 6e-5);
    state_plan(&s, 3, 0, false);
    macro_plan_likely(&s.tree, values);
    for (size_t a = 0; a < 4; a++)
        CHECK_NEAR(values[a], likely_three[a], 6e-5);
    arena_fini(&s.arena);
}

static void test_information(void)
{
    struct state s;
    double       values[4], y = 0;
    state_open(&s, here, &y, 1);
    state_plan(&s, 1, 1, false);
    macro_plan_likely(&s.tree, values);
    CHECK_NEAR(values[0], 10.8686, 6e-5);
    state_plan(&s, 2, 1, false);
    macro_plan_likely(&s.tree, values);
    CHECK_NEAR(values[2], 21.7370, 6e-5);
    arena_fini(&s.arena);
    y = 1;
    state_open(&s, here, &y, 1);
    state_plan(&s, 2, 1, false);
    sampled(&s, 2000, 10, values);
    CHECK_NEAR((values[0] + values[1] + values[2] + values[3]) / 4, 27.717, 0.03);
    arena_fini(&s.arena);
}

/* L of a path is the factor of the joint posterior covariance: against one computed at once. */
static void test_rows(void)
{
    struct state s;
    double       joint[64], mean[8], jitter, spare[8], X[16];
    state_open(&s, around, around_y, 3);
    state_plan(&s, 3, 0, true);
    const struct macro_step *first = &s.tree.steps[1 + 2], *second = &s.tree.steps[first->first];
    for (size_t i = 0; i < 8; i++) {
        const struct macro_step *own = i < 4 ? first : second;
        graph_coordinates(&ocean, macro_tree_site(&s.tree, own->action.sites[i % 4]), X + 2 * i);
    }
    CU_ASSERT_FATAL(gp_joint(&s.gp, (struct points){X, 8}, mean, joint, &s.arena, NULL) == STATUS_OK);
    for (size_t i = 0; i < 8; i++)
        joint[i * 9] += 1e-5;
    CU_ASSERT_FATAL(mat_cholesky(joint, 8, 8, spare, &jitter, NULL) == STATUS_OK && jitter == 0);
    double sum = 0, g[4] = {0}, trace = 0;
    for (size_t i = 4; i < 8; i++) {
        sum += mean[i];
        for (size_t j = 0; j <= i; j++) {
            CHECK_NEAR(second->rows[(i - 4) * 8 + j], joint[i * 8 + j], 1e-7);
            g[j % 4] += j < 4 ? joint[i * 8 + j] : 0;
            trace += j >= 4 ? joint[i * 8 + j] * joint[i * 8 + j] : 0;
        }
    }
    CHECK_NEAR(second->reward, sum, 1e-9);
    CHECK_NEAR(second->spread, sqrt(trace), 1e-7);
    for (size_t j = 0; j < 4; j++)
        CHECK_NEAR(second->g[j], g[j], 1e-7);
    arena_fini(&s.arena);
}

/* How far the anytime search lets the bounds move, and where they end: at the sampled values, which it improves only
 * where chance took them below a policy that needs no samples. */
static void test_anytime(void)
{
    struct state s;
    double       exact[4], before[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, lower[4], gap = INFINITY;
    bool         is_short;
    state_open(&s, around, around_y, 3);
    state_plan(&s, 3, 0, true);
    struct macro_search search = {.samples = 60, .seed = 5, .trial = 1};
    CU_ASSERT_FATAL(macro_plan_sample(&s.tree, &search, &s.arena, exact, NULL) == STATUS_OK);
    for (double nodes = 100; nodes < 1e7; nodes *= 5) {
        struct arena_mark mark = arena_mark(&s.arena);
        search.nodes_max = nodes;
        CU_ASSERT_FATAL(macro_plan_anytime(&s.tree, &search, &s.arena, lower, &is_short, NULL) == STATUS_OK);
        CU_ASSERT(search.progress.gap <= gap && search.progress.gap >= 0 && !is_short);
        for (size_t a = 0; a < 4; a++) {
            CU_ASSERT(lower[a] >= before[a]);
            before[a] = lower[a];
        }
        gap = search.progress.gap;
        arena_release(&s.arena, mark);
    }
    CU_ASSERT_EQUAL(gap, 0);
    CHECK_NEAR(lower[0], exact[0], 1e-3);
    CU_ASSERT(lower[0] >= exact[0] - 1e-9);
    search.lambda = 0.25;
    CU_ASSERT_FATAL(macro_plan_anytime(&s.tree, &search, &s.arena, lower, &is_short, NULL) == STATUS_OK);
    CU_ASSERT(search.progress.gap <= 2 * 3 * 0.25 + 1e-9);
    arena_fini(&s.arena);
}

/* The Lipschitz constant and the error of the most likely outputs hold where they can be checked: two stages. */
static void test_lipschitz(void)
{
    struct state s;
    struct rng   rng = rng_at(3, 1, RNG_TEST);
    state_open(&s, around, around_y, 3);
    state_plan(&s, 2, 0, true);
    for (size_t a = 1; a <= 4; a++) {
        const struct macro_step *first = &s.tree.steps[a];
        double                   last = NAN, outputs[4] = {0}, values[2], worst = 0;
        for (size_t k = 0; k < 2000; k++) {
            double z[4], y[4], best = -INFINITY, square = 0;
            for (size_t i = 0; i < 4; i++)
                z[i] = rng_normal(&rng);
            for (size_t i = 0; i < 4; i++) {
                y[i] = mat_dot(first->rows + 4 * i, z, i + 1);
                square += pow(y[i] - outputs[i], 2);
            }
            for (size_t c = first->first; c < first->first + first->children; c++)
                best = fmax(best, s.tree.steps[c].reward + mat_dot(s.tree.steps[c].g, z, 4));
            values[k % 2] = best;
            if (k > 0)
                worst = fmax(worst, fabs(best - last) / sqrt(square));
            last = best;
            memcpy(outputs, y, sizeof y);
        }
        CU_ASSERT(worst <= first->lipschitz && worst > 0 && isfinite(values[0]));
    }
    double lambda, few, many;
    few = macro_tree_samples(&s.tree, 50, &lambda);
    CHECK_NEAR(lambda, 50.0 / 16, 1e-12);
    many = macro_tree_samples(&s.tree, 0.5, &lambda);
    CU_ASSERT(many > 1e4 * few && few > 1);
    state_plan(&s, 1, 0, true);
    CU_ASSERT_EQUAL(macro_tree_samples(&s.tree, 0.5, &lambda), 1);
    arena_fini(&s.arena);
}

static bool at_once(void *arg)
{
    (void)arg;
    return true;
}

static double none_left(void *arg)
{
    (void)arg;
    return 0;
}

static void test_limits(void)
{
    struct state s;
    struct error err;
    double       values[4];
    struct arena tiny;
    bool         is_short;
    state_open(&s, around, around_y, 3);
    state_plan(&s, 3, 0, true);
    struct macro_search search = {.samples = 5000, .seed = 5, .trial = 1, .late = at_once, .nodes_max = 1e9};
    CU_ASSERT(macro_plan_sample(&s.tree, &search, &s.arena, values, &err) == STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(err.code, "deadline");
    CU_ASSERT(macro_plan_anytime(&s.tree, &search, &s.arena, values, &is_short, &err) == STATUS_BUSY);
    search.late = NULL;
    arena_init(&tiny, 1000);
    CU_ASSERT(macro_plan_sample(&s.tree, &search, &tiny, values, &err) == STATUS_NO_MEMORY);
    CU_ASSERT(macro_plan_anytime(&s.tree, &search, &tiny, values, &is_short, &err) == STATUS_NO_MEMORY);
    arena_fini(&tiny);
    const struct macro_root         root = {.graph = &ocean, .seed = 1, .gp = &s.gp, .site = ocean.start};
    const struct macro_tree_options options = {.horizon = 2, .left_ms = none_left};
    struct macro_tree               tree;
    CU_ASSERT(macro_tree_build(&root, &options, &s.arena, &tree, &err) == STATUS_BUSY);
    arena_init(&tiny, 4000);
    CU_ASSERT(macro_tree_build(&root, &(struct macro_tree_options){.horizon = 2}, &tiny, &tree, &err) ==
              STATUS_NO_MEMORY);
    arena_fini(&tiny);
    /* the anytime search gives its best when the memory is used up */
    state_plan(&s, 4, 0, true);
    search.samples = 60;
    arena_init(&tiny, 400000);
    CU_ASSERT_FATAL(macro_plan_anytime(&s.tree, &search, &tiny, values, &is_short, &err) == STATUS_OK);
    CU_ASSERT(is_short && tiny.taken_bytes <= 400000 && mat_is_finite(values, 4));
    arena_fini(&tiny);
    arena_fini(&s.arena);
}

/* How much is done between two looks at the clock. */
struct looks {
    const struct macro_tree *tree;
    size_t                   len, most, number;
    double                   left;
};

static double look(void *arg)
{
    struct looks *looks = arg;
    size_t        len = looks->tree->len; /* of steps, whatever the stage */
    looks->most = len - looks->len > looks->most ? len - looks->len : looks->most;
    looks->len = len;
    looks->number++;
    return looks->left;
}

/* A deadline is kept where a site has many macro-actions, as where it has few: 47,989 steps of 36 at a site, and no more than
 * some thousand between two looks, in each of the passes.  What cannot be broken off is not begun when it is too long. */
static void test_looks(void)
{
    struct state s;
    state_open(&s, around, around_y, 3);
    struct graph wide = ocean;
    wide.moves = MOVES_FOUR;
    wide.steps = 3;
    wide.most = 36;
    const struct macro_root   root = {.graph = &wide, .seed = 1, .gp = &s.gp, .site = ocean.start};
    struct looks              looks = {.tree = &s.tree, .left = INFINITY};
    struct macro_tree_options options = {.horizon = 3, .wants_bounds = true, .left_ms = look, .left_arg = &looks};
    CU_ASSERT_FATAL(macro_tree_build(&root, &options, &s.arena, &s.tree, NULL) == STATUS_OK);
    CU_ASSERT_EQUAL(s.tree.len, 1 + 36 + 36 * 36 + 36 * 36 * 36);
    CU_ASSERT(looks.most <= 2048 && looks.number >= 4 * s.tree.len / 2048);
    looks = (struct looks){.tree = &s.tree, .left = 1e-9};
    CU_ASSERT(macro_tree_build(&root, &options, &s.arena, &s.tree, NULL) == STATUS_BUSY);
    CU_ASSERT(s.tree.covariances == NULL && s.tree.len > 1);
    arena_fini(&s.arena);
}

static void test_blocked(void)
{
    struct state                    s;
    const double                    blocked[] = {1275, 1276, 1277, 1278, 1279};
    const struct macro_tree_options options = {.horizon = 2};
    state_open(&s, around, around_y, 3);
    const struct macro_root root = {
        .graph = &ocean, .seed = 1, .gp = &s.gp, .site = ocean.start, .blocked = blocked, .blocked_len = 1};
    CU_ASSERT_FATAL(macro_tree_build(&root, &options, &s.arena, &s.tree, NULL) == STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(s.tree.steps[0].children, 3);
    for (size_t a = 1; a <= 3; a++)
        CU_ASSERT(macro_tree_site(&s.tree, s.tree.steps[a].action.sites[0]) != 1276);
    arena_fini(&s.arena);
}

/* Hyper-parameters from prior observations of a known field: near the truth, and what is given stays. */
static void test_fit(void)
{
    enum { N = 160 };
    static uint32_t     sites[N];
    static double       values[N], X[2 * N], K[N * N], spare[N];
    struct graph        graph = ocean;
    struct rng          rng = rng_at(9, 1, RNG_TEST);
    double              jitter, theta[5] = {NAN, NAN, NAN, NAN, NAN};
    struct arena        arena;
    const double        truth[] = {0.5, 0.8};
    const struct kernel kernel = {.kind = &kernel_se, .dims = 2, .variance = 2.25, .length_scales = truth};
    for (size_t i = 0; i < N; i++) {
        sites[i] = (uint32_t)rng_below(&rng, 2500);
        graph_coordinates(&graph, sites[i], X + 2 * i);
    }
    kernel_matrix(&kernel, X, N, K, N);
    for (size_t i = 0; i < N; i++)
        K[i * (N + 1)] += 0.04;
    CU_ASSERT_FATAL(mat_cholesky(K, N, N, spare, &jitter, NULL) == STATUS_OK);
    for (size_t i = 0; i < N; i++)
        spare[i] = rng_normal(&rng);
    for (size_t i = 0; i < N; i++)
        values[i] = -(3.5 + mat_dot(K + i * N, spare, i + 1)); /* as a user writes it who minimises */
    graph.prior_sites = sites;
    graph.prior_values = values;
    graph.prior_len = N;
    graph.sign = -1;
    arena_init(&arena, 1 << 24);
    CU_ASSERT_FATAL(macro_model_fit(&graph, &kernel_se, theta, &arena, NULL) == STATUS_OK);
    CHECK_NEAR(exp(theta[0]), 0.5, 0.12);
    CHECK_NEAR(exp(theta[1]), 0.8, 0.2);
    CHECK_NEAR(theta[2], log(2.25), 0.7);
    CHECK_NEAR(theta[3], log(0.04), 0.5);
    CHECK_NEAR(theta[4], 3.5, 1);
    double given[5] = {NAN, log(0.7), NAN, log(0.05), NAN};
    CU_ASSERT_FATAL(macro_model_fit(&graph, &kernel_se, given, &arena, NULL) == STATUS_OK);
    CU_ASSERT(given[1] == log(0.7) && given[3] == log(0.05) && isfinite(given[0] + given[2] + given[4]));
    arena_fini(&arena);
}

/* Where the agent is, after trials of every kind. */
static void test_place(void)
{
    const struct space space = {.kind = SPACE_GRAPH, .graph = &ocean};
    const double       theta[] = {log(0.5), log(0.5), 0, log(1e-5), 0.25};
    const double east[] = {1276, 1277, 1278, 1279}, north[] = {1327, 1377, 1427, 1477}, cut[] = {0.5, 0.75, NAN, NAN};
    struct macro_model model;
    struct arena       arena;
    struct gp          gp;
    size_t             measured, len;
    double            *blocked;
    struct event       event = {.kind = EVENT_SUGGESTED, .trial = 1, .point = east};
    arena_init(&arena, 1 << 22);
    macro_model_init(&model, &space, &arena, &kernel_se, theta);
    CU_ASSERT_EQUAL(macro_model_place(&model), 1275);
    CU_ASSERT(macro_model_tell(&model, &event, NULL) == STATUS_OK);
    CU_ASSERT_EQUAL(macro_model_place(&model), 1279); /* it will be there */
    CU_ASSERT_FATAL(macro_model_gp(&model, true, &arena, &gp, &measured, NULL) == STATUS_OK);
    CU_ASSERT(gp.n == 4 && measured == 0);
    CU_ASSERT_FATAL(macro_model_gp(&model, false, &arena, &gp, &measured, NULL) == STATUS_OK);
    CU_ASSERT(gp.n == 0);
    event = (struct event){.kind = EVENT_OBSERVED, .trial = 1, .point = east, .values = cut, .value = 0.75};
    CU_ASSERT(macro_model_tell(&model, &event, NULL) == STATUS_OK);
    CU_ASSERT_EQUAL(macro_model_place(&model), 1277); /* cut short */
    event = (struct event){.kind = EVENT_SUGGESTED, .trial = 2, .point = north};
    CU_ASSERT(macro_model_tell(&model, &event, NULL) == STATUS_OK);
    CU_ASSERT_EQUAL(macro_model_place(&model), 1477);
    event.kind = EVENT_INFEASIBLE;
    CU_ASSERT(macro_model_tell(&model, &event, NULL) == STATUS_OK);
    CU_ASSERT_EQUAL(macro_model_place(&model), 1277);
    CU_ASSERT(macro_model_blocked(&model, &arena, &blocked, &len, NULL) == STATUS_OK);
    CU_ASSERT(len == 1 && blocked[0] == 1277 && blocked[1] == 1327 && blocked[4] == 1477);
    CU_ASSERT_FATAL(macro_model_gp(&model, true, &arena, &gp, &measured, NULL) == STATUS_OK);
    CU_ASSERT(gp.n == 2 && measured == 2);
    arena_fini(&arena);
}

/* The first proposal of an algorithm over the ocean with some of its options set. */
struct setting {
    const char *name;
    double      value;
};
static double ask_by(const char *policy_name, const struct setting *settings, struct ask *ask, struct diagnostics *d)
{
    static struct proposal proposal;
    const struct policy   *policy = policy_find(policy_name);
    static const uint32_t  site = 1275;
    static const double    value = 1, field[] = {0.5, 1, 1e-5, 0};
    static const char     *names[] = {"length_scale", "signal_variance", "noise_variance", "mean"};
    double                 options[32], point[4], scales[3];
    struct graph           graph = ocean;
    struct session        *session;
    graph.prior_sites = &site;
    graph.prior_values = &value;
    graph.prior_len = 1;
    const struct space   space = {.kind = SPACE_GRAPH, .graph = &graph};
    const struct problem problem = {.space = &space, .options = options, .seed = 11, .memory_bytes = 1 << 28};
    policy_defaults(policy, options);
    for (size_t i = 0; i < 4; i++)
        options[policy_option(policy, names[i])] = field[i];
    for (; settings->name != NULL; settings++)
        options[policy_option(policy, settings->name)] = settings->value;
    *d = (struct diagnostics){.length_scales = scales};
    proposal.point = point;
    CU_ASSERT_FATAL(session_open(policy, &problem, &session, NULL) == STATUS_OK);
    ask->trial = 1;
    ask->diagnostics = d;
    CU_ASSERT_FATAL(policy->ask(session, ask, &proposal, NULL) == STATUS_OK);
    CU_ASSERT((proposal.fallback == NULL) == (d->plan.state.horizon == (size_t)options[0]));
    session_close(session);
    return d->acquisition_value;
}

static double ask_once(const char *policy_name, const struct setting *settings, struct diagnostics *d)
{
    return ask_by(policy_name, settings, &(struct ask){0}, d);
}

/* (4.9) and (4.12): no threshold takes the sampled value, 0 that of the most likely outputs, a wide one the sampled. */
static void test_choice(void)
{
    const struct setting plain[] = {{"horizon", 3}, {NULL, 0}}, likely[] = {{"horizon", 3}, {"outputs", 1}, {NULL, 0}},
                         strict[] = {{"horizon", 3}, {"threshold", 0}, {NULL, 0}},
                         wide[] = {{"horizon", 3}, {"threshold", 50}, {NULL, 0}},
                         theory[] = {{"horizon", 3}, {"epsilon", 1e6}, {NULL, 0}},
                         tight[] = {{"horizon", 3}, {"epsilon", 0.5}, {"samples", 20}, {NULL, 0}};
    struct diagnostics d;
    double             sampled_value = ask_once("macro-bo", plain, &d);
    CHECK_NEAR(ask_once("macro-bo", likely, &d), 10.6679, 6e-5);
    CU_ASSERT(sampled_value > 11.5);
    CHECK_NEAR(ask_once("macro-bo", strict, &d), 10.6679, 6e-5);
    CU_ASSERT_EQUAL(ask_once("macro-bo", wide, &d), sampled_value);
    CU_ASSERT_EQUAL(ask_once("macro-bo-anytime", wide, &d), ask_once("macro-bo-anytime", plain, &d));
    CU_ASSERT(ask_once("macro-bo-anytime", plain, &d) >= sampled_value - 0.05 && d.plan.state.gap == 0);
    ask_once("macro-bo", theory, &d); /* a loss that any choice keeps to */
    CU_ASSERT(d.plan.samples == d.plan.samples_needed && d.plan.samples < 10000);
    ask_once("macro-bo", tight, &d);
    CU_ASSERT(d.plan.samples == 20 && d.plan.samples_needed > 1e9);
    ask_once("macro-bo-anytime", tight, &d);
    CU_ASSERT(d.plan.samples == 20 && d.plan.samples_needed > 1e9);
}

static bool after_so_many(void *arg)
{
    size_t *looks = arg;
    return *looks == 0 || --*looks == 0;
}

/* The answer is the deepest plan that there was time for, and bounds say something at every depth: in 8 stages of 4 sites
 * with outputs of variance 1 nobody can gain 1,000 by knowing the field. */
static void test_deepening(void)
{
    const struct setting deep[] = {{"horizon", 6}, {"samples", 3}, {"nodes", 1}, {NULL, 0}};
    struct diagnostics   d;
    size_t               horizon = 1, between = 0;
    for (size_t looks = 1; horizon < 6 && looks < (size_t)1 << 30; looks *= 2) {
        size_t left = looks;
        (void)ask_by("macro-bo-anytime", deep, &(struct ask){.late = after_so_many, .late_arg = &left}, &d);
        CU_ASSERT(d.plan.state.horizon >= horizon && d.plan.state.gap >= 0 && d.plan.state.gap < 1000);
        CU_ASSERT_STRING_EQUAL(d.plan.stopped, d.plan.state.horizon < 6 ? "deadline" : "nodes");
        horizon = d.plan.state.horizon;
        between += horizon > 1 && horizon < 6;
    }
    CU_ASSERT(horizon == 6 && between > 2);
}

CU_TestInfo suite_macro[] = {
    {"deepening", test_deepening},
    {"one observation", test_symmetric},
    {"three observations", test_asymmetric},
    {"information", test_information},
    {"rows of L", test_rows},
    {"anytime bounds", test_anytime},
    {"Lipschitz constants", test_lipschitz},
    {"limits", test_limits},
    {"looks at the clock", test_looks},
    {"blocked", test_blocked},
    {"hyper-parameters", test_fit},
    {"place of the agent", test_place},
    {"choice rule", test_choice},
    CU_TEST_INFO_NULL,
};
