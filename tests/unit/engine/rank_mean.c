/* rank-mean: scores, public functions, the norm of a message and the noise of a release, the model with a prior mean, and
 * when a trial follows the release.  contract.c has the rest.  Numbers with many digits are SciPy's or NumPy's. */
#include "engine/base/numbers.h"
#include "engine/federated/broadcast.h"
#include "engine/federated/rank_forecast.h"
#include "engine/federated/rank_mean.h"
#include "engine/federated/rank_model.h"
#include "engine/math/mat.h"
#include "engine/math/rng.h"
#include "engine/policy/session.h"
#include "engine/privacy/accountant.h"
#include "engine/registry.h"
#include "tests/unit/engine/suites.h"

#include <stdlib.h>
#include <string.h>

enum { K = RANK_CANDIDATES, FEATURES = 12 };

static const struct param plane_params[] = {PARAM("x", DOUBLE, LINEAR, -2, 3, 0), PARAM("y", DOUBLE, LOG, 0.01, 10, 0)};
static struct space       plane = {.kind = SPACE_PARAMETERS, .params = plane_params, .params_len = 2};
static const struct param line_params[] = {PARAM("x", DOUBLE, LINEAR, 0, 1, 0)};
static struct space       line = {.kind = SPACE_PARAMETERS, .params = line_params, .params_len = 1};
static const struct param cube_params[] = {PARAM("x", DOUBLE, LINEAR, 0, 1, 0), PARAM("y", DOUBLE, LINEAR, 0, 1, 0),
                                           PARAM("z", DOUBLE, LINEAR, 0, 1, 0)};
static struct space       cube = {.kind = SPACE_PARAMETERS, .params = cube_params, .params_len = 3};
static const struct param few_params[] = {PARAM("k", INT, LINEAR, 0, 1, 0), PARAM("c", CATEGORICAL, LINEAR, 0, 2, 3)};
static struct space       few = {.kind = SPACE_PARAMETERS, .params = few_params, .params_len = 2};

static void basis_of(struct space *space, size_t count, struct arena *arena, struct rank_basis *basis)
{
    arena_init(arena, 1 << 22);
    CU_ASSERT_FATAL(space_init(space, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(space_hold(space, NULL, arena, space, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(rank_basis_init(basis, space, count, arena, NULL) == STATUS_OK);
}

static void test_scores(void)
{
    double x[K], scores[K], mean = 0, squares = 0;
    for (size_t c = 0; c < K; c++)
        x[c] = (double)((c * 77 + 13) % K) * 1e300 / K; /* a permutation of the ranks */
    rank_scores(x, scores);
    for (size_t c = 0; c < K; c++) {
        mean += scores[c] / K;
        squares += scores[c] * scores[c] / K;
        double expected = (c * 77 + 13) % K == 0     ? -0.749430873512832
                          : (c * 77 + 13) % K == 255 ? -0.5177418493455559
                          : (c * 77 + 13) % K == 500 ? 2.67528665028692
                                                     : scores[c];
        CHECK_NEAR(scores[c], expected, 1e-10);
    }
    CHECK_NEAR(mean, 0, 1e-12);
    CHECK_NEAR(squares, 1, 1e-12);
    for (size_t c = 0; c < K; c++)
        x[c] = c < K / 2 ? 1 : 2;
    rank_scores(x, scores);
    for (size_t c = 0; c < K; c++)
        CHECK_NEAR(scores[c], c < K / 2 ? -1 : 1, 1e-12); /* equal values have equal scores */
    memset(x, 0, sizeof x);
    rank_scores(x, scores);
    for (size_t c = 0; c < K; c++)
        CHECK_NEAR(scores[c], 0, 0);
}

static void test_basis(void)
{
    static struct space *const spaces[] = {&line, &plane, &few};
    static const size_t        ranks[] = {FEATURES, FEATURES, 5}; /* six points have five functions of mean 0 */
    for (size_t s = 0; s < sizeof spaces / sizeof *spaces; s++) {
        struct arena      arena;
        struct rank_basis basis;
        double            u[4], weights[FEATURES] = {0}, spare[FEATURES];
        basis_of(spaces[s], FEATURES, &arena, &basis);
        CU_ASSERT_EQUAL(basis.rank, ranks[s]);
        for (size_t i = 0; i < FEATURES; i++) {
            double mean = 0;
            for (size_t c = 0; c < K; c++)
                mean += basis.values[i * K + c] / K;
            CHECK_NEAR(mean, 0, 1e-12);
            for (size_t j = 0; j <= i; j++)
                CHECK_NEAR(mat_dot(basis.values + i * K, basis.values + j * K, K) / K, i == j && i < ranks[s], 1e-12);
            weights[i] = 1;
            for (size_t c = 0; c < K; c += 37) {
                space_encode(spaces[s], basis.points + c * spaces[s]->params_len, u);
                CHECK_NEAR(rank_basis_sum(&basis, weights, u, spare), basis.values[i * K + c], 1e-10);
            }
            weights[i] = 0;
        }
        arena_fini(&arena);
    }
}

/* In one dimension the cosines themselves are nearly orthonormal. */
static void test_cosines(void)
{
    struct arena      arena;
    struct rank_basis basis;
    double            weights[3] = {0}, spare[3];
    basis_of(&line, 3, &arena, &basis);
    for (size_t i = 0; i < 3; i++) {
        weights[i] = 1;
        for (double u = 0; u <= 1; u += 0.0625)
            CHECK_NEAR(rank_basis_sum(&basis, weights, &u, spare), sqrt(2) * cos(acos(-1) * (double)(i + 1) * u), 2e-2);
        weights[i] = 0;
    }
    arena_fini(&arena);
}

/* Whatever a member's model says, its message has a norm of at most 1, and some come close. */
static void test_sensitivity(void)
{
    struct arena      arena;
    struct rank_basis basis;
    double            x[K], scores[K], message[FEATURES], largest = 0;
    struct rng        rng = rng_at(7, 1, RNG_TEST);
    basis_of(&plane, FEATURES, &arena, &basis);
    for (size_t run = 0; run < 300; run++) {
        for (size_t c = 0; c < K; c++) {
            x[c] = run % 3 == 0 ? rng_normal(&rng) : 0;
            for (size_t i = 0; i < FEATURES && run % 3 != 0; i++)
                x[c] += basis.values[i * K + c] * (run % 3 == 1 ? rng_normal(&rng) : run / 3 % FEATURES == i);
        }
        rank_scores(x, scores);
        rank_message(&basis, scores, message);
        largest = fmax(largest, sqrt(mat_dot(message, message, FEATURES)));
    }
    CU_ASSERT(largest <= 1 + 1e-12 && largest > 0.9);
    arena_fini(&arena);
}

/* The server's plan for one round of full participation: what one member adds is at most clip / seats, and the noise is
 * the accountant's multiple of that.  The analytic Gaussian of (3, 1e-5) and (1, 1e-5) by SciPy. */
static void test_noise(void)
{
    enum { SEATS = 50 };
    static const double epsilons[] = {3, 1}, sigmas[] = {1.3905934566745373, 3.7306316348159383};
    static size_t       region_of[SEATS];
    for (size_t e = 0; e < 2; e++) {
        struct arena          arena;
        struct accountant_run run = {.q = 1, .releases = 1};
        int64_t               k[FEATURES], sums[FEATURES] = {0};
        double                large[FEATURES], square = 0;
        struct broadcast      b = {.agents = SEATS,
                                   .features = FEATURES,
                                   .regions = 1,
                                   .region_of = region_of,
                                   .schedule = {.a = 1, .b = 1},
                                   .clip = 1,
                                   .q = 1};
        arena_init(&arena, 1 << 24);
        CU_ASSERT_FATAL(accountant_multiplier(&run, 1e-5, epsilons[e], &arena, NULL) == STATUS_OK);
        arena_fini(&arena);
        CHECK_NEAR(run.z, sigmas[e], 2e-3 * sigmas[e]);
        CU_ASSERT(run.z >= sigmas[e]);
        b.z = run.z;
        CU_ASSERT_FATAL(broadcast_plan(&b, NULL) == STATUS_OK);
        CHECK_NEAR(b.noise_sd * SEATS / run.z, 1, 1e-5);
        for (size_t i = 0; i < FEATURES; i++)
            large[i] = i % 2 == 0 ? 1e200 : -1e-3;
        (void)broadcast_add(&b, 3, large, k, sums);
        for (size_t i = 0; i < FEATURES; i++)
            square += pow(b.step * (double)sums[i], 2);
        CU_ASSERT(sqrt(square) <= 1.0 / SEATS * (1 + 1e-12) && sqrt(square) > 0.99 / SEATS);
        CU_ASSERT(b.noise_sd >= run.z * sqrt(square));
    }
}

static void test_shrink(void)
{
    struct arena      arena;
    struct rank_basis basis;
    double            release[6] = {0.3, 0, 0.4, 0, 0, 7}, mean[6]; /* the last is beyond the rank */
    basis_of(&few, 6, &arena, &basis);
    CU_ASSERT(basis.rank == 5 && rank_shrink(&basis, release, 0.1, mean));
    CHECK_NEAR(mean[0], 0.8 * 0.3, 1e-15); /* 1 - 5 0.01 / 0.25 */
    CHECK_NEAR(mean[2], 0.8 * 0.4, 1e-15);
    CHECK_NEAR(mean[5], 0, 0);
    CU_ASSERT(!rank_shrink(&basis, release, 0.3, mean) && mean[0] == 0);
    arena_fini(&arena);
}

/* By NumPy, from the length-scales and rho that were chosen: (0.8839, 0.8839), 1 and (1.2613, 0.8724), 0.05. */
static void test_model(void)
{
    static const double expected[2][3] = {{0.45695532969311553, 0.44595314945534525, 0.012878231933942885},
                                          {0.6000595758375312, -0.6883863060795659, 0.0010882380369032774}};
    struct arena        arena;
    struct rank_basis   basis;
    double              mean[2] = {0.7, -0.3}, U[] = {0.1, 0.9, 0.4, 0.3, 0.8, 0.75, 0.2, 0.15, 0.6, 0.6};
    double              y[4], prior[4], at[] = {0.55, 0.35}, m, v, spare[2];
    basis_of(&plane, 2, &arena, &basis);
    for (size_t i = 0; i < 4; i++)
        prior[i] = rank_basis_sum(&basis, mean, U + 2 * i, spare);
    for (int sign = -1; sign <= 1; sign += 2) {
        for (size_t i = 0; i < 4; i++) /* as the prior has it, or the contrary */
            y[i] = sign * 1.7 * (prior[i] - mat_dot(prior, (double[]){1, 1, 1, 1}, 4) / 4);
        struct rank_data  data = {.n = 4, .pending = 1, .U = U, .y = y};
        struct rank_model model = {.basis = &basis, .mean = mean, .data = &data};
        CU_ASSERT_FATAL(rank_model_fit(&model, &arena, NULL) == STATUS_OK);
        CU_ASSERT(model.is_guided == (sign > 0));
        rank_model_at(&model, at, &m, &v);
        CHECK_NEAR(model.u, expected[sign > 0][0], 1e-9);
        CHECK_NEAR(m, expected[sign > 0][1], 1e-8);
        CHECK_NEAR(v, expected[sign > 0][2], 1e-8);
        rank_model_at(&model, U + 8, &m, &v);
        CU_ASSERT(v < 2 * RANK_NOISE); /* a point that waits is known there, whatever its value */
    }
    arena_fini(&arena);
}

/* Monotone in the noise, and of two cases the figures that it was made of. */
static void test_forecast(void)
{
    double before = -1;
    for (size_t seats = 1000; seats >= 2; seats -= seats > 20 ? 20 : 1) {
        struct rank_forecast forecast = rank_forecast(seats, 20, 3.7307);
        CHECK_NEAR(forecast.noise, 20 * pow(3.7307 / (double)seats, 2), 1e-12);
        CU_ASSERT(forecast.change >= before && forecast.hurts == (forecast.noise > 4.227) && forecast.share < 1);
        before = forecast.change;
    }
    CHECK_NEAR(rank_forecast(10, 20, sqrt(2)).change, -0.24, 1e-12);
    CHECK_NEAR(rank_forecast(10, 20, sqrt(30)).change, 0.02, 1e-12);
}

/* --- the algorithm --- */

struct member {
    const struct policy *policy;
    struct problem       problem;
    double               options[16], point[3];
    double (*value)(const double *point);
    struct session *session;
    struct proposal proposal;
    uint64_t        trials;
};

/* The best is at (0.8, 0.3) of the unit square. */
static double objective(const double *point)
{
    double u[2];
    space_encode(&plane, point, u);
    return -pow(u[0] - 0.8, 2) - pow(u[1] - 0.3, 2);
}

/* Rings around (0.59, 0.59, 0.59): Ackley's function. */
static double rings(const double *point)
{
    double squares = 0, cosines = 0;
    for (size_t j = 0; j < 3; j++) {
        squares += pow(6 * point[j] - 3.55, 2) / 3;
        cosines += cos(2 * PI * (6 * point[j] - 3.55)) / 3;
    }
    return 20 * exp(-0.2 * sqrt(squares)) + exp(cosines);
}

static void member_open_in(struct member *m, struct space *space, const char *policy, double guided, double sd)
{
    memset(m, 0, sizeof *m);
    CU_ASSERT_FATAL(space_init(space, NULL) == STATUS_OK);
    m->value = space == &plane ? objective : rings;
    m->policy = policy_find(policy);
    CU_ASSERT_FATAL(m->policy != NULL);
    policy_defaults(m->policy, m->options);
    if (m->policy->message != NULL) {
        m->options[policy_option(m->policy, "guided")] = guided;
        m->options[policy_option(m->policy, "release_sd")] = sd;
    }
    m->problem = (struct problem){
        .space = space, .options = m->options, .seed = space == &plane ? 2385 : 2386, .memory_bytes = 1 << 26};
    m->proposal.point = m->point;
    CU_ASSERT_FATAL(session_open(m->policy, &m->problem, &m->session, NULL) == STATUS_OK);
}

static void member_open(struct member *m, const char *policy, double guided, double sd)
{
    member_open_in(m, &plane, policy, guided, sd);
}

static void member_step(struct member *m)
{
    struct ask ask = {.trial = ++m->trials};
    CU_ASSERT(m->policy->ask(m->session, &ask, &m->proposal, NULL) == STATUS_OK && m->proposal.fallback == NULL);
    struct event event = {.kind = EVENT_SUGGESTED,
                          .trial = m->trials,
                          .point = m->point,
                          .note = m->proposal.note_bytes > 0 ? m->proposal.note : NULL,
                          .note_bytes = m->proposal.note_bytes};
    CU_ASSERT(m->policy->tell(m->session, &event, NULL) == STATUS_OK);
    event = (struct event){.kind = EVENT_OBSERVED, .trial = m->trials, .point = m->point, .value = m->value(m->point)};
    CU_ASSERT(m->policy->tell(m->session, &event, NULL) == STATUS_OK);
}

static enum status member_receive(struct member *m, uint64_t round, const double *release, size_t len)
{
    struct event event = {.kind = EVENT_RECEIVED, .round = round, .vectors = release, .vectors_len = len};
    return m->policy->tell(m->session, &event, NULL);
}

/* Trials of two studies are the same, or not. */
static void check_same(struct member *a, struct member *b, uint64_t until, bool is_same)
{
    while (a->trials < until) {
        member_step(a);
        member_step(b);
        CU_ASSERT((memcmp(a->point, b->point, sizeof a->point) == 0) == is_same);
    }
}

static void test_trials(void)
{
    enum { SENT = 20 };
    struct member gp, own, late, lost, soon;
    double        release[SENT], wrong[SENT], u[2], before = 0, after = 0;
    member_open(&gp, "gp", 0, 0);
    member_open(&own, "rank-mean", 5, 0);
    CU_ASSERT(own.policy->message(own.session, 1, release, NULL) == STATUS_CONFLICT);
    check_same(&gp, &own, SENT, true); /* without a release it is gp */
    CU_ASSERT_FATAL(own.policy->message(own.session, 1, release, NULL) == STATUS_OK);
    CU_ASSERT(sqrt(mat_dot(release, release, SENT)) <= 1 + 1e-12);
    session_close(gp.session);
    member_open(&gp, "gp", 0, 0);
    member_open(&late, "rank-mean", 5, 0.01);
    member_open(&lost, "rank-mean", 5, 10); /* nothing is left of the release */
    memcpy(wrong, release, sizeof wrong);
    wrong[SENT - 1] = NAN;
    CU_ASSERT(member_receive(&late, 1, wrong, SENT) == STATUS_INVALID);
    CU_ASSERT(member_receive(&late, 1, release, SENT - 1) == STATUS_INVALID);
    CU_ASSERT(member_receive(&late, 1, release, SENT) == STATUS_OK &&
              member_receive(&lost, 1, release, SENT) == STATUS_OK);
    memset(wrong, 0, sizeof wrong);
    CU_ASSERT(member_receive(&late, 1, wrong, SENT) == STATUS_OK); /* again, and passed over */
    check_same(&gp, &lost, 9, true);
    session_close(gp.session);
    member_open(&gp, "gp", 0, 0);
    member_open(&soon, "rank-mean", 2, 0.01);
    check_same(&gp, &soon, 6, true); /* more trials than are guided */
    CU_ASSERT(member_receive(&soon, 1, release, SENT) == STATUS_OK);
    check_same(&gp, &soon, 7, false); /* and yet it is guided when the release has come */
    session_close(soon.session);
    for (int i = 0; i < 5; i++) {
        member_step(&late);
        space_encode(&plane, late.point, u);
        before = i == 0 ? objective(late.point) : before;
        after = i == 0 ? before : fmax(after, objective(late.point));
        CU_ASSERT(i == 0 ? fabs(u[0] - 0.8) < 0.35 && fabs(u[1] - 0.3) < 0.35
                         : late.proposal.observations == (size_t)i);
    }
    CU_ASSERT(after >= before && after > -0.01);
    session_close(own.session);
    session_close(gp.session);
    session_close(late.session);
    session_close(lost.session);
}

/* A member of which most trials are near its best place does not rank what nobody tried above what it knows to be poor. */
static void test_unknown(void)
{
    enum { SENT = 20 };
    struct member     m;
    struct arena      arena;
    struct rank_basis basis;
    double            sent[SENT], spare[SENT], found = -HUGE_VAL, most = -HUGE_VAL;
    size_t            better = 0;
    basis_of(&cube, SENT, &arena, &basis);
    member_open_in(&m, &cube, "rank-mean", 5, 0);
    while (m.trials < SENT)
        member_step(&m);
    CU_ASSERT_FATAL(m.policy->message(m.session, 1, sent, NULL) == STATUS_OK);
    for (size_t c = 0; c < K; c++) {
        double worth = rank_basis_sum(&basis, sent, basis.points + 3 * c, spare);
        found = worth > most ? rings(basis.points + 3 * c) : found;
        most = fmax(most, worth);
    }
    for (size_t c = 0; c < K; c++)
        better += rings(basis.points + 3 * c) > found;
    CU_ASSERT(better < K / 4);
    session_close(m.session);
    arena_fini(&arena);
}

CU_TestInfo suite_rank_mean[] = {
    {"scores", test_scores},
    {"functions are orthonormal", test_basis},
    {"cosines", test_cosines},
    {"a message's norm", test_sensitivity},
    {"the noise of a release", test_noise},
    {"shrinking", test_shrink},
    {"what nobody tried", test_unknown},
    {"the model", test_model},
    {"a forecast", test_forecast},
    {"what a trial follows", test_trials},
    CU_TEST_INFO_NULL,
};
