/* The agent's algorithms: schedules, shared features, messages, when something received is used and what for, the
 * agent's region, and refusals.  contract.c has the rest. */
#include "engine/policy/session.h"
#include "engine/federated/broadcast.h"
#include "engine/federated/fts.h"
#include "engine/math/mat.h"
#include "engine/registry.h"
#include "engine/space/region.h"
#include "tests/unit/bits.h"
#include "tests/unit/engine/suites.h"
#include "tests/unit/thorough.h"

#include <stdio.h>
#include <string.h>

enum { FEATURES = 40, REGIONS = 4, TRIALS = 60 };

static const struct param plane_params[] = {PARAM("x", DOUBLE, LINEAR, -2, 3, 0), PARAM("y", DOUBLE, LOG, 0.01, 10, 0)};
static struct space       plane = {.kind = SPACE_PARAMETERS, .params = plane_params, .params_len = 2};

struct agent {
    const struct policy *policy;
    struct problem       problem;
    double               options[16];
    struct session      *session;
    uint64_t             trials;
    double               point[2];
    struct proposal      proposal; /* the last */
};

static void set(struct agent *a, const char *name, double value)
{
    int option = policy_option(a->policy, name);
    CU_ASSERT_FATAL(option >= 0);
    a->options[option] = value;
}

/* Features 40, seed 7; more by set before agent_open. */
static void agent_init(struct agent *a, const char *policy, uint64_t seed)
{
    memset(a, 0, sizeof *a);
    CU_ASSERT_FATAL(space_init(&plane, NULL) == STATUS_OK);
    a->policy = policy_find(policy);
    CU_ASSERT_FATAL(a->policy != NULL && a->policy->message != NULL);
    policy_defaults(a->policy, a->options);
    set(a, "features", FEATURES);
    set(a, "features_seed", 7);
    set(a, "length_scale", 0.2);
    set(a, "initial", 3);
    a->problem = (struct problem){.space = &plane, .options = a->options, .seed = seed, .memory_bytes = 1 << 26};
}

static void agent_open(struct agent *a)
{
    CU_ASSERT_FATAL(policy_check(a->policy, &a->problem, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(session_open(a->policy, &a->problem, &a->session, NULL) == STATUS_OK);
}

static double objective(const double *point)
{
    return 0.5 - pow(point[0] - 0.7, 2) / 10 - pow(log10(point[1]) + 0.4, 2) / 4;
}

static void agent_tell(struct agent *a, uint64_t trial, const double *point, double value)
{
    struct event event = {.kind = EVENT_SUGGESTED, .trial = trial, .point = point};
    if (trial == a->trials) {
        event.note = a->proposal.note;
        event.note_bytes = a->proposal.note_bytes;
    }
    CU_ASSERT(a->policy->tell(a->session, &event, NULL) == STATUS_OK);
    event = (struct event){.kind = EVENT_OBSERVED, .trial = trial, .point = point, .value = value};
    CU_ASSERT(a->policy->tell(a->session, &event, NULL) == STATUS_OK);
}

static void agent_ask(struct agent *a, uint64_t trial)
{
    a->proposal.point = a->point;
    CU_ASSERT(a->policy->ask(a->session, &(struct ask){.trial = trial}, &a->proposal, NULL) == STATUS_OK);
    CU_ASSERT(a->proposal.fallback == NULL && space_has(&plane, a->point));
}

/* A whole step. */
static void agent_step(struct agent *a)
{
    agent_ask(a, ++a->trials);
    agent_tell(a, a->trials, a->point, objective(a->point));
}

static enum status agent_receive(struct agent *a, uint64_t sender, uint64_t round, const double *vectors, size_t len)
{
    struct event event = {
        .kind = EVENT_RECEIVED, .sender = sender, .round = round, .vectors = vectors, .vectors_len = len};
    return a->policy->tell(a->session, &event, NULL);
}

/* Proposals made from something received have a note of a tag and a serial; those of the agent's own a longer one, if any. */
static uint64_t serial_of(const struct agent *a)
{
    uint64_t serial = 0;
    if (a->proposal.note_bytes == 8 + sizeof serial)
        memcpy(&serial, a->proposal.note + 8, sizeof serial);
    return serial;
}

static void shared_features(struct rff *rff, struct arena *arena)
{
    const struct fts_shared shared = {.count = FEATURES, .seed = 7, .length_scale = 0.2};
    CU_ASSERT_FATAL(fts_features(&shared, &plane, arena, rff, NULL) == STATUS_OK);
}

/* A function with its maximum near (u, v) of the unit square: omega = phi there. */
static void peak_at(double u, double v, double height, double *omega)
{
    struct arena arena;
    struct rff   rff;
    arena_init(&arena, 1 << 20);
    shared_features(&rff, &arena);
    rff_features(&rff, (double[]){u, v}, 1, omega);
    for (size_t i = 0; i < FEATURES; i++)
        omega[i] *= height;
    arena_fini(&arena);
}

static void check_near_peak(const struct agent *a, double u, double v)
{
    double at[2];
    space_encode(&plane, a->point, at);
    CHECK_NEAR(at[0], u, 1e-3);
    CHECK_NEAR(at[1], v, 1e-3);
}

static void test_schedules(void)
{
    CHECK_NEAR(fts_own_probability(FTS_ROOT, false, 1), 0, 0);
    CHECK_NEAR(fts_own_probability(FTS_ROOT, true, 1), 1 - sqrt(0.5), 1e-15);
    CHECK_NEAR(fts_own_probability(FTS_ROOT, true, 16), 0.75, 1e-15);
    CHECK_NEAR(fts_own_probability(FTS_LINEAR, false, 1), 0, 0);
    CHECK_NEAR(fts_own_probability(FTS_LINEAR, true, 5), 0.8, 1e-15);
    CHECK_NEAR(fts_own_probability(FTS_SQUARE, true, 1), 0.75, 1e-15); /* the authors' p_1 = p_2 */
    CHECK_NEAR(fts_own_probability(FTS_SQUARE, false, 10), 0.99, 1e-15);
}

static void test_features(void)
{
    struct arena            arena;
    struct rff              a, b, c;
    const struct fts_shared other = {.count = FEATURES, .seed = 8, .length_scale = 0.2};
    CU_ASSERT_FATAL(space_init(&plane, NULL) == STATUS_OK);
    arena_init(&arena, 1 << 20);
    shared_features(&a, &arena);
    shared_features(&b, &arena);
    CU_ASSERT_FATAL(fts_features(&other, &plane, &arena, &c, NULL) == STATUS_OK);
    CU_ASSERT(a.count == FEATURES && a.dims == 2 && a.variance == 1);
    CU_ASSERT(memcmp(a.frequencies, b.frequencies, 2 * FEATURES * sizeof(double)) == 0);
    CU_ASSERT(memcmp(a.phases, b.phases, FEATURES * sizeof(double)) == 0);
    CU_ASSERT(memcmp(a.phases, c.phases, FEATURES * sizeof(double)) != 0);
    double squares = 0;
    for (size_t i = 0; i < 2 * FEATURES; i++)
        squares += pow(0.2 * a.frequencies[i], 2) / (2 * FEATURES);
    CHECK_NEAR(squares, 1, 5 * sqrt(2.0 / (2 * FEATURES)));
    arena_fini(&arena);
    arena_init(&arena, 100);
    CU_ASSERT(fts_features(&other, &plane, &arena, &c, NULL) == STATUS_NO_MEMORY);
    arena_fini(&arena);
}

/* The message against the posterior computed here, and what it does not depend on. */
static void test_message(void)
{
    struct agent         a, moved, cost; /* the same values in other units, and as something to be minimised */
    struct arena         arena;
    struct rff           rff;
    struct rff_posterior posterior;
    double               U[2 * 6], y[6], phi[6 * FEATURES], sent[FEATURES], again[FEATURES], expected[FEATURES];
    struct error         err = {0};
    struct rng           rng = rng_at(2385, 11, RNG_MESSAGE);
    agent_init(&a, "fts", 2385);
    agent_open(&a);
    agent_init(&moved, "fts", 2385);
    set(&moved, "centre", -31.5);
    set(&moved, "spread", 4);
    agent_open(&moved);
    agent_init(&cost, "fts", 2385);
    set(&cost, "centre", 31.5);
    set(&cost, "spread", 4);
    cost.problem.is_minimized = true;
    agent_open(&cost);
    CU_ASSERT(a.policy->message(a.session, 11, sent, &err) == STATUS_CONFLICT);
    CU_ASSERT(strcmp(err.code, "no_observations") == 0);
    for (size_t k = 0; k < 6; k++) {
        agent_step(&a);
        space_encode(&plane, a.point, U + 2 * k);
        y[k] = objective(a.point);
        agent_tell(&moved, k + 1, a.point, 4 * y[k] - 31.5);
        agent_tell(&cost, k + 1, a.point, 4 * y[k] - 31.5);
    }
    arena_init(&arena, 1 << 20);
    shared_features(&rff, &arena);
    rff_features(&rff, U, 6, phi);
    CU_ASSERT_FATAL(rff_condition(&posterior,
                                  &(struct rff_data){.n = 6, .count = FEATURES, .phi = phi, .y = y, .noise = 0.01},
                                  &arena, NULL) == STATUS_OK);
    rff_sample(&posterior, &rng, expected);
    CU_ASSERT(a.policy->message(a.session, 11, sent, NULL) == STATUS_OK);
    CU_ASSERT(a.policy->message(a.session, 11, again, NULL) == STATUS_OK);
    CU_ASSERT(memcmp(sent, again, sizeof sent) == 0); /* for the same round the same bytes */
    for (size_t i = 0; i < FEATURES; i++)
        CHECK_NEAR(sent[i], expected[i], 1e-9);
    CU_ASSERT(moved.policy->message(moved.session, 11, again, NULL) == STATUS_OK);
    for (size_t i = 0; i < FEATURES; i++)
        CHECK_NEAR(again[i], expected[i], 1e-9);
    CU_ASSERT(cost.policy->message(cost.session, 11, again, NULL) == STATUS_OK);
    for (size_t i = 0; i < FEATURES; i++)
        CHECK_NEAR(again[i], expected[i], 1e-9);
    CU_ASSERT(a.policy->message(a.session, 12, again, NULL) == STATUS_OK);
    CU_ASSERT(memcmp(sent, again, sizeof sent) != 0);
    agent_tell(&a, 100, a.point, 1e300); /* what is out of all proportion has no message */
    enum status status = a.policy->message(a.session, 11, again, NULL);
    CU_ASSERT(status == STATUS_NUMERIC || (status == STATUS_OK && mat_is_finite(again, FEATURES)));
    arena_fini(&arena);
    session_close(a.session);
    session_close(moved.session);
    session_close(cost.session);
}

/* With probability 1 - p_t one of the senders not yet used, each once, and again after it sent anew. */
static void test_senders(void)
{
    enum { SENDERS = 3 };
    double used = 0, expected = 0, variance = 0, first[SENDERS] = {0};
    for (uint64_t seed = 0; seed < (thorough ? 60 : 20); seed++) {
        struct agent a;
        double       omega[FEATURES];
        unsigned     seen[SENDERS + 2] = {0};
        agent_init(&a, "fts", seed);
        agent_open(&a);
        for (uint64_t sender = 0; sender < SENDERS; sender++) {
            peak_at(0.2 + 0.3 * (double)sender, 0.35, 1, omega);
            CU_ASSERT(agent_receive(&a, 1000 + sender, 0, omega, FEATURES) == STATUS_OK);
        }
        for (uint64_t t = 1; t <= 3 + 3; t++) {
            agent_step(&a);
            uint64_t serial = serial_of(&a);
            CU_ASSERT(serial <= SENDERS && (serial == 0 || t > 3));
            CU_ASSERT((serial == 0) == !isnan(a.proposal.mean) || t <= 3);
            if (serial > 0) {
                check_near_peak(&a, 0.2 + 0.3 * (double)(serial - 1), 0.35);
                first[serial - 1] += seen[1] + seen[2] + seen[3] == 0;
            }
            seen[serial] += serial > 0;
            if (t > 3) {
                double p = fts_own_probability(FTS_ROOT, true, t - 3);
                used += serial > 0;
                expected += 1 - p;
                variance += p * (1 - p);
            }
        }
        for (size_t i = 1; i <= SENDERS; i++)
            CU_ASSERT(seen[i] <= 1);
        session_close(a.session);
    }
    CHECK_NEAR(used, expected, 4 * sqrt(variance));
    double all = first[0] + first[1] + first[2];
    for (size_t i = 0; i < SENDERS; i++)
        CHECK_NEAR(first[i] / all, 1.0 / 3, 4 * sqrt(2.0 / 9 / all));
}

/* Goes on until something received is used, or for so many trials; the serial, or 0. */
static uint64_t step_until_used(struct agent *a, int trials)
{
    for (int i = 0; i < trials; i++) {
        agent_step(a);
        if (serial_of(a) > 0)
            return serial_of(a);
    }
    return 0;
}

static void test_refreshed(void)
{
    struct agent a;
    double       omega[FEATURES];
    agent_init(&a, "fts", 5);
    agent_open(&a);
    peak_at(0.25, 0.75, 1, omega);
    CU_ASSERT(agent_receive(&a, 9, 0, omega, FEATURES) == STATUS_OK);
    CU_ASSERT(step_until_used(&a, 40) == 1);
    CU_ASSERT(step_until_used(&a, 12) == 0); /* used up */
    peak_at(0.6, 0.4, 1, omega);
    CU_ASSERT(agent_receive(&a, 9, 1, omega, FEATURES) == STATUS_OK);
    CU_ASSERT(step_until_used(&a, 60) == 2);
    check_near_peak(&a, 0.6, 0.4);
    session_close(a.session);
}

/* dp-fts-de: the first iteration uses the broadcast, each broadcast serves once, an older one is not looked at, and the
 * vector of a point's own region counts. */
static void test_broadcasts(void)
{
    struct agent a;
    double       omega[REGIONS * FEATURES];
    agent_init(&a, "dp-fts-de", 3);
    set(&a, "regions", REGIONS);
    set(&a, "region", 2);
    set(&a, "schedule", FTS_LINEAR);
    agent_open(&a);
    for (size_t i = 0; i < 3; i++) {
        agent_step(&a);
        CU_ASSERT(serial_of(&a) == 0);
    }
    /* Region i of the four has its peak at its centre, region 3 (upper right) the highest; the vectors of the others
     * would have a higher one still inside region 3. */
    for (size_t i = 0; i < REGIONS; i++)
        peak_at(i == 3 ? 0.75 : 0.8, i == 3 ? 0.75 : 0.8, i == 3 ? 2 : 3, omega + i * FEATURES);
    double with_3[REGIONS * FEATURES];
    memcpy(with_3, omega, sizeof omega);
    for (size_t i = 0; i < 3 * FEATURES; i++)
        with_3[i] *= 0.01;
    CU_ASSERT(agent_receive(&a, 0, 4, with_3, REGIONS * FEATURES) == STATUS_OK);
    agent_step(&a);
    CU_ASSERT(serial_of(&a) == 1);
    check_near_peak(&a, 0.75, 0.75);
    CU_ASSERT(step_until_used(&a, 10) == 0);
    CU_ASSERT(agent_receive(&a, 0, 3, omega, REGIONS * FEATURES) == STATUS_OK); /* late, and passed over */
    CU_ASSERT(agent_receive(&a, 0, 4, omega, REGIONS * FEATURES) == STATUS_OK); /* again, and passed over */
    CU_ASSERT(step_until_used(&a, 15) == 0);
    CU_ASSERT(agent_receive(&a, 0, 5, omega, REGIONS * FEATURES) == STATUS_OK);
    CU_ASSERT(step_until_used(&a, 200) == 4);
    session_close(a.session);
}

static void test_regions(void)
{
    struct arena   arena;
    struct regions regions;
    arena_init(&arena, 1 << 12);
    for (size_t region = 0; region < REGIONS; region++) {
        struct agent a;
        size_t       outside = 0;
        agent_init(&a, "dp-fts-de", 40 + region);
        set(&a, "regions", REGIONS);
        set(&a, "region", (double)region);
        set(&a, "initial", 10);
        agent_open(&a);
        CU_ASSERT_FATAL(regions_init(&regions, &plane, REGIONS, &arena, NULL) == STATUS_OK);
        for (size_t i = 0; i < 30; i++) {
            agent_step(&a);
            bool is_inside = regions_of_point(&regions, a.point) == region;
            CU_ASSERT(is_inside || i >= 10);
            outside += !is_inside;
        }
        CU_ASSERT(region == 3 || outside > 0); /* the maximum is in region 3 */
        session_close(a.session);
    }
    arena_fini(&arena);
}

/* On its own it is Thompson sampling and finds the maximum of a smooth function. */
/* Numbers that overflow wherever they are evaluated cost the one trial that looks at them. */
static void test_overflow(void)
{
    struct agent a;
    double       omega[FEATURES];
    int          fallbacks = 0;
    agent_init(&a, "dp-fts-de", 12);
    agent_open(&a);
    for (size_t i = 0; i < 3; i++)
        agent_step(&a);
    peak_at(0.5, 0.5, 1, omega);
    for (size_t i = 0; i < FEATURES; i++)
        omega[i] = omega[i] > 0 ? 1.7e308 : -1.7e308;
    CU_ASSERT(agent_receive(&a, 0, 0, omega, FEATURES) == STATUS_OK);
    for (size_t i = 0; i < 12; i++) {
        a.proposal.point = a.point;
        CU_ASSERT(a.policy->ask(a.session, &(struct ask){.trial = ++a.trials}, &a.proposal, NULL) == STATUS_OK);
        CU_ASSERT(space_has(&plane, a.point) && (serial_of(&a) == 1) == (i == 0));
        fallbacks += a.proposal.fallback != NULL;
        agent_tell(&a, a.trials, a.point, objective(a.point));
    }
    CU_ASSERT(fallbacks <= 1);
    session_close(a.session);
}

static void test_alone(void)
{
    for (size_t i = 0; i < 2; i++) {
        struct agent a;
        double       best = -INFINITY;
        agent_init(&a, i == 0 ? "fts" : "dp-fts-de", 77);
        agent_open(&a);
        for (size_t t = 0; t < 30; t++) {
            agent_step(&a);
            best = fmax(best, objective(a.point));
        }
        CHECK_NEAR(best, 0.5, 1e-4);
        session_close(a.session);
    }
}

/* The message of an agent that has values at 25 random points of nearly the same function. */
static void helper_message(uint64_t seed, double *omega)
{
    struct agent helper;
    struct rng   rng = rng_at(seed, 1, RNG_TEST);
    agent_init(&helper, "fts", seed);
    agent_open(&helper);
    for (uint64_t trial = 1; trial <= 25; trial++) {
        double point[2], v[2] = {rng_uniform(&rng), rng_uniform(&rng)};
        space_quantile(&plane, v, point);
        agent_tell(&helper, trial, point, objective(point) + 0.02 * rng_normal(&rng));
    }
    CU_ASSERT(helper.policy->message(helper.session, 0, omega, NULL) == STATUS_OK);
    session_close(helper.session);
}

/* Messages of agents with similar functions make for a better start (the thesis' first experiment, in small). */
static void test_helped(void)
{
    enum { PAIRS = 12, HELPERS = 6, STEPS = 4 };
    double gain[PAIRS], mean = 0, squares = 0;
    for (uint64_t pair = 0; pair < PAIRS; pair++) {
        gain[pair] = 0;
        for (int helped = 0; helped < 2; helped++) {
            struct agent a;
            double       omega[FEATURES], best = -INFINITY;
            agent_init(&a, "fts", 900 + pair);
            set(&a, "initial", 1);
            agent_open(&a);
            for (uint64_t sender = 0; helped == 1 && sender < HELPERS; sender++) {
                helper_message(100 * pair + sender, omega);
                CU_ASSERT(agent_receive(&a, sender, 0, omega, FEATURES) == STATUS_OK);
            }
            for (int t = 0; t < 1 + STEPS; t++) {
                agent_step(&a);
                best = fmax(best, objective(a.point));
                gain[pair] += (helped == 1 ? best : -best) / STEPS;
            }
            session_close(a.session);
        }
        mean += gain[pair] / PAIRS;
    }
    for (size_t i = 0; i < PAIRS; i++)
        squares += pow(gain[i] - mean, 2) / (PAIRS - 1);
    CU_ASSERT(mean > 2 * sqrt(squares / PAIRS));
}

/* 1 at (0.7, 0.8) of the unit square, which lies in region 3, and near 0 elsewhere. */
static double hill(const double *point)
{
    double u[2];
    space_encode(&plane, point, u);
    return exp(-(pow(u[0] - 0.7, 2) + pow(u[1] - 0.8, 2)) / (2 * 0.15 * 0.15));
}

/* A whole round: agents begin in their regions and send, the server clips, adds and makes noise, and all go where the
 * broadcast has its maximum, though three in four of them have seen nothing of it. */
static void test_together(void)
{
    enum { AGENTS = 40 };
    static struct agent agents[AGENTS];
    size_t              region_of[AGENTS];
    double              best[AGENTS], message[FEATURES], vectors[REGIONS * FEATURES], before = 0, after = 0;
    int64_t             k[FEATURES], sums[REGIONS * FEATURES] = {0};
    struct rng          rng = rng_at(2385, 1, RNG_TEST);
    struct sampler      sampler;
    struct broadcast    b = {.agents = AGENTS,
                             .features = FEATURES,
                             .regions = REGIONS,
                             .region_of = region_of,
                             .schedule = {.a = 16, .b = 1, .hold = 5, .decay = 5},
                             .clip = 14,
                             .q = 1,
                             .z = 0.1};
    for (size_t n = 0; n < AGENTS; n++) {
        struct agent *a = &agents[n];
        region_of[n] = n % REGIONS;
        best[n] = -INFINITY;
        agent_init(a, "dp-fts-de", 500 + n);
        set(a, "regions", REGIONS);
        set(a, "region", (double)region_of[n]);
        set(a, "initial", 6);
        agent_open(a);
        for (int i = 0; i < 6; i++) {
            agent_ask(a, ++a->trials);
            agent_tell(a, a->trials, a->point, hill(a->point));
            best[n] = fmax(best[n], hill(a->point));
        }
    }
    CU_ASSERT_FATAL(broadcast_plan(&b, NULL) == STATUS_OK);
    for (size_t n = 0; n < AGENTS; n++) {
        CU_ASSERT(agents[n].policy->message(agents[n].session, 0, message, NULL) == STATUS_OK);
        broadcast_add(&b, n, message, k, sums);
    }
    sampler_init(&sampler, bits_of_rng, &rng);
    CU_ASSERT_FATAL(broadcast_finish(&b, sums, &sampler, vectors, NULL) == STATUS_OK);
    for (size_t n = 0; n < AGENTS; n++) {
        CU_ASSERT(agent_receive(&agents[n], 0, 0, vectors, REGIONS * FEATURES) == STATUS_OK);
        agent_ask(&agents[n], ++agents[n].trials);
        CU_ASSERT(serial_of(&agents[n]) == 1);
        before += best[n] / AGENTS;
        after += hill(agents[n].point) / AGENTS;
        session_close(agents[n].session);
    }
    CU_ASSERT(before < 0.4 && after > 0.7);
}

static void check_refused(struct agent *a, const char *code, const char *path)
{
    struct error err = {0};
    CU_ASSERT(policy_check(a->policy, &a->problem, &err) == STATUS_INVALID);
    CU_ASSERT(strcmp(err.code, code) == 0 && strcmp(err.path, path) == 0);
}

static void test_refusals(void)
{
    struct agent a;
    double       omega[REGIONS * FEATURES];
    agent_init(&a, "dp-fts-de", 1);
    set(&a, "regions", REGIONS);
    set(&a, "region", 4);
    check_refused(&a, "bad_region", "/algorithm/region");
    set(&a, "regions", 65);
    check_refused(&a, "bad_regions", "/algorithm/regions");
    const struct param ints[] = {PARAM("k", INT, LINEAR, 0, 4, 0)};
    struct space       five = {.kind = SPACE_PARAMETERS, .params = ints, .params_len = 1};
    CU_ASSERT_FATAL(space_init(&five, NULL) == STATUS_OK);
    set(&a, "regions", REGIONS);
    set(&a, "region", 3);
    a.problem.space = &five;
    check_refused(&a, "regions_do_not_divide", "/algorithm/regions");
    a.problem.space = &plane;
    agent_open(&a);
    peak_at(0.5, 0.5, 1, omega);
    CU_ASSERT(agent_receive(&a, 0, 0, omega, FEATURES) == STATUS_INVALID);
    for (size_t i = 0; i < REGIONS * FEATURES; i++)
        omega[i] = i == 2 * FEATURES ? NAN : 1;
    CU_ASSERT(agent_receive(&a, 0, 0, omega, REGIONS * FEATURES) == STATUS_INVALID);
    for (size_t i = 0; i < 6; i++) { /* what was refused left nothing */
        agent_step(&a);
        CU_ASSERT(serial_of(&a) == 0);
    }
    session_close(a.session);
}

CU_TestInfo suite_fts[] = {
    {"schedules", test_schedules},
    {"shared features", test_features},
    {"message", test_message},
    {"senders", test_senders},
    {"refreshed", test_refreshed},
    {"broadcasts", test_broadcasts},
    {"regions", test_regions},
    {"alone", test_alone},
    {"helped", test_helped},
    {"a whole round", test_together},
    {"overflow", test_overflow},
    {"refusals", test_refusals},
    CU_TEST_INFO_NULL,
};
