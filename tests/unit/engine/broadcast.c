/* A round at the server: the plan's numbers, the sum against doubles, the noise, and what a hostile agent can do. */
#include "engine/federated/broadcast.h"
#include "tests/unit/bits.h"
#include "tests/unit/engine/suites.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { AGENTS = 29, FEATURES = 31, REGIONS = 4, JOINT = FEATURES * REGIONS };

static size_t region_of[AGENTS];

static struct broadcast landmine(void)
{
    for (size_t n = 0; n < AGENTS; n++)
        region_of[n] = n % REGIONS;
    return (struct broadcast){
        .agents = AGENTS,
        .features = FEATURES,
        .regions = REGIONS,
        .region_of = region_of,
        .schedule = {.a = 16, .b = 1, .hold = 10, .decay = 30},
        .clip = 22,
        .q = 0.35,
        .z = 1,
    };
}

/* The weights that the authors' program used (29 agents of regions n mod 4), by round and region. */
static void test_weights(void)
{
    static const struct {
        uint64_t round;
        size_t   region;
        double   own, other;
    } authors[] = {
        {0, 0, 0.124999899626, 3.82377593581e-08},  {10, 1, 0.142857005513, 4.37002894865e-08},
        {11, 1, 0.142856912478, 7.33025542307e-08}, {25, 1, 0.142536250853, 0.000102102001463},
        {39, 2, 0.0344827586207, 0.0344827586207},  {40, 2, 0.0344827586207, 0.0344827586207},
    };
    struct broadcast b = landmine();
    for (size_t i = 0; i < sizeof authors / sizeof *authors; i++) {
        b.round = authors[i].round;
        CU_ASSERT_FATAL(broadcast_plan(&b, NULL) == STATUS_OK);
        CHECK_NEAR(b.own[authors[i].region] / authors[i].own, 1, 1e-11);
        CHECK_NEAR(b.other[authors[i].region] / authors[i].other, 1, 1e-11);
    }
    struct broadcast_schedule schedule = {.a = 16, .b = 1, .hold = 5, .decay = 5};
    const double              expected[] = {16, 16, 16, 16, 16, 16, 12.25, 8.5, 4.75, 1, 1};
    for (uint64_t round = 0; round < 11; round++)
        CHECK_NEAR(broadcast_exponent(&schedule, round), expected[round], 1e-14);
    CHECK_NEAR(broadcast_exponent(&(struct broadcast_schedule){.a = 2.385}, 0), 0, 0);
    CHECK_NEAR(broadcast_exponent(&(struct broadcast_schedule){.a = 2.385, .b = 1, .decay = 1}, 0), 1, 0);
}

/* The largest |W_n| of any agent, by its table. */
static double largest_norm(const struct broadcast *b)
{
    double largest = 0;
    for (size_t n = 0; n < b->agents; n++) {
        double sum = 0;
        for (size_t i = 0; i < b->regions; i++)
            sum += pow(b->region_of[n] == i ? b->own_weight[i] : b->other_weight[i], 2);
        largest = fmax(largest, sqrt(sum));
    }
    return largest;
}

/* Whatever the numbers, the noise is z times what one agent can add, or a little more, and everything fits. */
static void test_plan(void)
{
    static const double zs[] = {0.1, 0.5, 1, 1.31, 4.28, 20, 77};
    struct broadcast    b = landmine();
    for (size_t i = 0; i < sizeof zs / sizeof *zs; i++)
        for (b.round = 0; b.round < 45; b.round += 11) {
            b.z = zs[i];
            b.noise = BROADCAST_JOINT;
            CU_ASSERT_FATAL(broadcast_plan(&b, NULL) == STATUS_OK);
            double sensitivity = largest_norm(&b) * (double)b.clip_steps, multiplier = b.sigma / sensitivity;
            CU_ASSERT(multiplier >= b.z && multiplier < b.z * (1 + 1e-6));
            CU_ASSERT(b.sigma < 0x1p31 && b.clip_steps >= 64 && b.rate == (uint64_t)floor(0.35 * 0x1p32));
            double added = log2((double)b.clip_steps) + 16 + log2((double)BROADCAST_AGENTS_MAX);
            CU_ASSERT(added < 62);
            double joint = b.noise_sd;
            b.noise = BROADCAST_WORST;
            CU_ASSERT_FATAL(broadcast_plan(&b, NULL) == STATUS_OK);
            CU_ASSERT(b.noise_sd >= joint);
            CHECK_NEAR(b.noise_sd / (b.z * fmax(b.own[1], b.other[1]) * 22 / 0.35), 1, 1e-6);
        }
}

/* Off-region weights of 0.2 of the largest: the joint calibration needs 0.53 of the noise. */
static void test_calibrations(void)
{
    struct broadcast b = landmine();
    b.schedule = (struct broadcast_schedule){.a = 1 + log(5), .b = 1, .hold = 1};
    b.agents = 28;
    CU_ASSERT_FATAL(broadcast_plan(&b, NULL) == STATUS_OK);
    double joint = b.noise_sd;
    b.noise = BROADCAST_WORST;
    CU_ASSERT_FATAL(broadcast_plan(&b, NULL) == STATUS_OK);
    CHECK_NEAR(joint / b.noise_sd, sqrt((1 + 3 * 0.04) / 4), 1e-4);
}

static double norm_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* The sums in integers against the formula in doubles, up to the lattice. */
static void test_sums(void)
{
    struct broadcast b = landmine();
    struct rng       rng = rng_at(2385, 2, RNG_TEST);
    double           message[FEATURES], expected[JOINT] = {0};
    int64_t          k[FEATURES], sums[JOINT] = {0};
    size_t           clipped = 0;
    b.round = 25;
    CU_ASSERT_FATAL(broadcast_plan(&b, NULL) == STATUS_OK);
    for (size_t n = 0; n < AGENTS; n += 2) {
        for (size_t j = 0; j < FEATURES; j++)
            message[j] = (n % 4 == 0 ? 1.5 : 3) * rng_normal(&rng);
        double norm = norm_of(message, FEATURES), shrink = fmin(1, 11 / norm);
        CU_ASSERT(broadcast_add(&b, n, message, k, sums) == (norm > 11));
        clipped += norm > 11;
        for (size_t i = 0; i < JOINT; i++)
            expected[i] += (region_of[n] == i / FEATURES ? b.own[i / FEATURES] : b.other[i / FEATURES]) / 0.35 *
                           shrink * message[i % FEATURES];
    }
    CU_ASSERT(clipped >= 4 && clipped <= 11);
    for (size_t i = 0; i < JOINT; i++) {
        CHECK_NEAR(b.step * (double)sums[i], expected[i], 15 * b.own[0] / 0.35 * (11.0 / 1e4) + 1e-3);
    }
}

/* The broadcast is the sums plus noise of the planned size, in whole steps of it. */
static void test_noise(void)
{
    struct broadcast b = landmine();
    struct rng       rng = rng_at(2385, 3, RNG_TEST);
    struct sampler   sampler;
    int64_t          sums[JOINT];
    double           out[JOINT], sum = 0, squares = 0, fourth = 0, count = 0;
    b.z = 2.385;
    CU_ASSERT_FATAL(broadcast_plan(&b, NULL) == STATUS_OK);
    sampler_init(&sampler, bits_of_rng, &rng);
    for (size_t i = 0; i < JOINT; i++)
        sums[i] = (int64_t)(rng_normal(&rng) * 1e9);
    for (int round = 0; round < 100; round++) {
        CU_ASSERT_FATAL(broadcast_finish(&b, sums, &sampler, out, NULL) == STATUS_OK);
        for (size_t i = 0; i < JOINT; i++) {
            double noise = (out[i] - b.step * (double)sums[i]) / b.noise_sd;
            sum += noise;
            squares += noise * noise;
            fourth += pow(noise, 4);
            count++;
            CHECK_NEAR(rint(out[i] / b.step), out[i] / b.step, 1e-5);
        }
    }
    CHECK_NEAR(sum / count, 0, 5 / sqrt(count));
    CHECK_NEAR(squares / count, 1, 5 * sqrt(2 / count));
    CHECK_NEAR(fourth / count, 3, 5 * sqrt(96 / count));
    CHECK_NEAR(b.noise_sd, 2.385 * b.own[1] * 11 / 0.35, 1e-3); /* one region counts: S / sqrt(P) */
}

static void test_subset(void)
{
    struct broadcast b = landmine();
    struct rng       rng = rng_at(2385, 4, RNG_TEST);
    struct sampler   sampler;
    uint8_t          subset[(AGENTS + 7) / 8];
    double           hits[AGENTS] = {0}, together = 0;
    enum { ROUNDS = 4000 };
    sampler_init(&sampler, bits_of_rng, &rng);
    CU_ASSERT_FATAL(broadcast_plan(&b, NULL) == STATUS_OK);
    for (int round = 0; round < ROUNDS; round++) {
        CU_ASSERT_FATAL(broadcast_draw(&b, &sampler, subset, NULL) == STATUS_OK);
        CU_ASSERT(subset[3] >> 5 == 0); /* nobody beyond the last agent */
        for (size_t n = 0; n < AGENTS; n++)
            hits[n] += broadcast_has(subset, n);
        together += broadcast_has(subset, 7) && broadcast_has(subset, 8);
    }
    for (size_t n = 0; n < AGENTS; n++)
        CHECK_NEAR(hits[n] / ROUNDS, 0.35, 5 * sqrt(0.35 * 0.65 / ROUNDS));
    CHECK_NEAR(together / ROUNDS, 0.35 * 0.35, 5 * sqrt(0.35 * 0.35 / ROUNDS)); /* independent, not of fixed size */
    b.q = 1;
    CU_ASSERT_FATAL(broadcast_plan(&b, NULL) == STATUS_OK && b.rate == UINT64_C(1) << 32);
    CU_ASSERT_FATAL(broadcast_draw(&b, &sampler, subset, NULL) == STATUS_OK);
    for (size_t n = 0; n < AGENTS; n++)
        CU_ASSERT(broadcast_has(subset, n));
}

/* A round in which agent 5 sends this, everything else and all random bits being the same; NULL: nothing. */
static void round_with(const struct broadcast *b, const double *hostile, double *out)
{
    struct rng     rng = rng_at(2385, 5, RNG_TEST), noise = rng_at(2385, 6, RNG_TEST);
    struct sampler sampler;
    double         message[FEATURES];
    int64_t        k[FEATURES], sums[JOINT] = {0};
    sampler_init(&sampler, bits_of_rng, &noise);
    for (size_t n = 0; n < AGENTS; n++) {
        for (size_t j = 0; j < FEATURES; j++)
            message[j] = 2 * rng_normal(&rng);
        if (n != 5)
            broadcast_add(b, n, message, k, sums);
        else if (hostile != NULL)
            broadcast_add(b, n, hostile, k, sums);
    }
    CU_ASSERT_FATAL(broadcast_finish(b, sums, &sampler, out, NULL) == STATUS_OK);
}

/* Whatever one agent sends moves the broadcast by at most its weighted, clipped share. */
static void test_hostile(void)
{
    static const double far[] = {1e300, DBL_MAX, 1e6, 11, 11.0000001, 5e-324, 3, -DBL_MAX};
    struct broadcast    b = landmine();
    double              hostile[FEATURES], with[JOINT], without[JOINT];
    struct rng          rng = rng_at(2385, 7, RNG_TEST);
    for (int attack = 0; attack < 400; attack++) {
        b.round = (uint64_t)attack / 2;
        b.q = attack % 3 == 0 ? 1 : 0.1;
        CU_ASSERT_FATAL(broadcast_plan(&b, NULL) == STATUS_OK);
        for (size_t j = 0; j < FEATURES; j++)
            hostile[j] = attack % 5 == 0 ? (j == 0 ? far[attack % 8] : 0) : far[attack % 8] * rng_normal(&rng);
        double whole = 0;
        round_with(&b, NULL, without);
        round_with(&b, hostile, with);
        for (size_t i = 0; i < REGIONS; i++) {
            double moved = 0, share = region_of[5] == i ? b.own[i] : b.other[i];
            for (size_t j = i * FEATURES; j < (i + 1) * FEATURES; j++)
                moved += pow(with[j] - without[j], 2);
            double rounding = fmax(b.own[i], b.other[i]) / 131072; /* of the weight to an integer */
            CU_ASSERT(sqrt(moved) <= (share + rounding) / b.q * 11 * (1 + 1e-6) + 1e-12);
            whole += moved;
        }
        CU_ASSERT(b.z * sqrt(whole) <= b.noise_sd * (1 + 1e-9)); /* what the multiplier promises */
    }
}

/* Numbers that are not finite count as zero, and have no other effect. */
static void test_not_finite(void)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    struct broadcast    b = landmine();
    double              hostile[FEATURES], with[JOINT], without[JOINT];
    CU_ASSERT_FATAL(broadcast_plan(&b, NULL) == STATUS_OK);
    round_with(&b, NULL, without);
    for (size_t i = 0; i < 3 * FEATURES; i++) {
        for (size_t j = 0; j < FEATURES; j++)
            hostile[j] = j == i / 3 ? bad[i % 3] : j % 2 == 0 ? 0 : 7.5;
        round_with(&b, hostile, with);
        CU_ASSERT(memcmp(with, without, sizeof with) == 0);
    }
    for (size_t j = 0; j < FEATURES; j++)
        hostile[j] = j == 0 ? NAN : 0;
    round_with(&b, hostile, with);
    CU_ASSERT(memcmp(with, without, sizeof with) == 0);
}

static void check_refused(struct broadcast b, const char *code, const char *path)
{
    struct error err = {0};
    CU_ASSERT(broadcast_plan(&b, &err) == STATUS_INVALID);
    CU_ASSERT(strcmp(err.code, code) == 0 && strcmp(err.path, path) == 0);
}

static void test_refusals(void)
{
    static const double    bad[] = {0, -1.5, NAN, INFINITY};
    const size_t           outside[] = {0, 1, 4};
    const struct broadcast good = landmine();
    struct broadcast       b;
#define REFUSED(member, value, code, path) (b = good, b.member = (value), check_refused(b, code, path))
    for (size_t i = 0; i < 4; i++) {
        REFUSED(q, bad[i], "bad_sampling_rate", "/q");
        REFUSED(z, bad[i], "bad_noise_multiplier", "/z");
        REFUSED(clip, bad[i], "bad_clip", "/clip");
        if (i > 0)
            REFUSED(schedule.b, bad[i], "bad_weights", "/weights");
    }
    REFUSED(q, 1.0000001, "bad_sampling_rate", "/q");
    REFUSED(q, 1e-7, "bad_sampling_rate", "/q");
    REFUSED(clip, 5e-324, "bad_clip", "/clip");
    REFUSED(z, 100.01, "bad_noise_multiplier", "/z");
    REFUSED(z, 0.0999, "bad_noise_multiplier", "/z");
    REFUSED(schedule.a, 50.5, "bad_weights", "/weights");
    REFUSED(schedule.a, 0.5, "bad_weights", "/weights");
    REFUSED(agents, 1, "bad_agents", "/agents");
    REFUSED(agents, BROADCAST_AGENTS_MAX + 1, "bad_agents", "/agents");
    REFUSED(features, 0, "bad_features", "/features");
    REFUSED(features, BROADCAST_FEATURES_MAX + 1, "bad_features", "/features");
    REFUSED(regions, 0, "bad_regions", "/regions");
    REFUSED(regions, REGIONS_MAX + 1, "bad_regions", "/regions");
    b = good, b.region_of = outside, b.agents = 3;
    check_refused(b, "bad_regions", "/regions");
    b = good, b.regions = 64, b.z = 99, b.noise = BROADCAST_WORST;
    check_refused(b, "bad_noise_multiplier", "/z");
}

static enum status bits_failing(void *arg, void *out, size_t length, struct error *err)
{
    (void)arg, (void)out, (void)length;
    return error_set(err, STATUS_INTERNAL, "no_entropy", "", "the system has no random bits");
}

static void test_failing_bits(void)
{
    struct broadcast b = landmine();
    struct sampler   sampler;
    uint8_t          subset[(AGENTS + 7) / 8];
    int64_t          sums[JOINT] = {0};
    double           out[JOINT];
    struct error     err = {0};
    sampler_init(&sampler, bits_failing, NULL);
    CU_ASSERT_FATAL(broadcast_plan(&b, NULL) == STATUS_OK);
    CU_ASSERT(broadcast_draw(&b, &sampler, subset, &err) == STATUS_INTERNAL && strcmp(err.code, "no_entropy") == 0);
    CU_ASSERT(broadcast_finish(&b, sums, &sampler, out, NULL) == STATUS_INTERNAL);
}

CU_TestInfo suite_broadcast[] = {
    {"weights", test_weights},
    {"plan", test_plan},
    {"calibrations", test_calibrations},
    {"sums", test_sums},
    {"noise", test_noise},
    {"subset", test_subset},
    {"hostile agent", test_hostile},
    {"not finite", test_not_finite},
    {"refusals", test_refusals},
    {"failing bits", test_failing_bits},
    CU_TEST_INFO_NULL,
};
