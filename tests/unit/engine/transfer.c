/* The algorithms that learn from earlier studies: estimates and weights against numbers from NumPy, what notes carry,
 * hostile notes.  (Replay, seeds, bounds and the like are tested for every algorithm by the contract suite.) */
#include "engine/policy/session.h"
#include "engine/transfer/transfer_rank.h"
#include "engine/transfer/transfer_slopes.h"
#include "engine/transfer/transfer_weights.h"
#include "engine/registry.h"
#include "tests/unit/engine/suites.h"

#include <stdlib.h>
#include <string.h>

/* ---- the pure parts ---- */

static void test_gap(void)
{
    static const double y[] = {.3, -1.2, 2.5, .7}, mean[] = {.1, -1., 1.9, 1.4}, sd[] = {.2, .35, .05, .6};
    CHECK_NEAR(transfer_weights_gap(y, mean, sd, 4, 1.7, false), 0.935, 1e-14);
    CHECK_NEAR(transfer_weights_gap(y, mean, sd, 4, 1.7, true), 1.72, 1e-14);
    static const double wild[] = {1e308, NAN}, low[] = {-1e308, 0}, none[] = {0, 0};
    CU_ASSERT(isfinite(transfer_weights_gap(wild, low, none, 2, 2, false)));
    CU_ASSERT(isfinite(1e6 * transfer_weights_gap(wild, low, none, 2, 2, true)));
}

static void test_follow(void)
{
    static const double expected[] = {.1602694407001356, .5321132822660419, .3076172770337962, 2.625555325389064e-14};
    double              sums[] = {3.2, 1.7, 2.385, 40.}, weights[4];
    transfer_weights_follow(sums, 4, .8, weights);
    for (size_t i = 0; i < 4; i++)
        CHECK_NEAR(weights[i], expected[i], 1e-15);
    double large[] = {7e9, 7e9 + 1.25, 8e17}; /* exp of any of them alone is 0 */
    transfer_weights_follow(large, 3, 1, weights);
    CHECK_NEAR(weights[0], 1 / (1 + exp(-1.25)), 1e-12);
    CHECK_NEAR(weights[0] + weights[1], 1, 1e-15);
    CU_ASSERT_EQUAL(weights[2], 0);
    transfer_weights_follow(large, 3, 0, weights);
    CHECK_NEAR(weights[2], 1 / 3., 1e-15);
}

static void test_decay(void)
{
    static const double weights[] = {.2, .5, .3}, gaps[] = {1.4, .6, 3.3}, close[] = {.1, .2, .05};
    CHECK_NEAR(transfer_weights_decay(weights, gaps, 3, .9, .7), pow(1.57, -.7), 1e-15);
    CHECK_NEAR(transfer_weights_decay(weights, gaps, 3, .7, .7), .7, 0);
    CHECK_NEAR(transfer_weights_decay(weights, close, 3, .93, .7), .93, 0); /* gaps below 1 alone would let it grow */
    static const double zero[] = {0, 0, 0};
    CHECK_NEAR(transfer_weights_decay(weights, zero, 3, .93, .7), .93, 0);
}

static void test_rank(void)
{
    static const double guess[] = {.1, .3, -.2, .8}, y[] = {1., 3., 2., .5};
    CU_ASSERT_EQUAL(transfer_rank_errors(guess, y, 4, 1), 8);
    CU_ASSERT_EQUAL(transfer_rank_errors(guess, y, 4, 0), 6);
    CU_ASSERT_EQUAL(transfer_rank_errors(y, y, 4, 1), 0);
    CHECK_NEAR(transfer_rank_kernel(guess, y, 4, .8), .75 * (1 - pow(8 / 12. / .8, 2)), 1e-15);
    CU_ASSERT_EQUAL(transfer_rank_kernel(guess, y, 4, .5), 0);
    CU_ASSERT_EQUAL(transfer_rank_kernel(guess, y, 1, .5), .75);
}

/* Models without doubt: the one in the right order wins; ties go to the own one, then to the first. */
static void test_ensemble(void)
{
    static const double y[] = {1, 3, 2, .5};
    double       mean[4][4] = {{4, 3, 2, 1}, {-1, 7, 2.5, -3}, {10, 30, 20, 5}, {2.9, .6, 2.6, .4}}, sd[4][4] = {{0}};
    double       weights[4];
    struct arena arena;
    struct rng   rng = rng_at(3, 1, RNG_TEST);
    arena_init(&arena, 1 << 20);
    struct transfer_rank rank = {.models = 4, .n = 4, .samples = 25, .mean = mean[0], .sd = sd[0], .y = y};
    CU_ASSERT_EQUAL(transfer_rank_ensemble(&rank, &rng, weights, &arena, NULL), STATUS_OK);
    CU_ASSERT(fabs(weights[1] - 1) < 1e-12 && weights[0] == 0 && weights[2] == 0 && weights[3] == 0);
    memcpy(mean[3], y, sizeof y);
    CU_ASSERT_EQUAL(transfer_rank_ensemble(&rank, &rng, weights, &arena, NULL), STATUS_OK);
    CU_ASSERT(fabs(weights[3] - 1) < 1e-12);
    for (size_t i = 0; i < 4; i++) /* doubt; shares of 20,000 draws in NumPy */
        for (size_t j = 0; j < 4; j++)
            sd[i][j] = .8;
    rank.samples = 2000;
    CU_ASSERT_EQUAL(transfer_rank_ensemble(&rank, &rng, weights, &arena, NULL), STATUS_OK);
    CHECK_NEAR(weights[0] + weights[1] + weights[2] + weights[3], 1, 1e-12);
    CU_ASSERT_EQUAL(weights[0], 0); /* its median error, 4, is above the own model's 95th percentile, 3 */
    CHECK_NEAR(weights[1], .645, .04);
    CHECK_NEAR(weights[2], .025, .015);
    CHECK_NEAR(weights[3], .33, .04);
    arena_fini(&arena);
    arena_init(&arena, 64);
    CU_ASSERT_EQUAL(transfer_rank_ensemble(&rank, &rng, weights, &arena, NULL), STATUS_NO_MEMORY);
    arena_fini(&arena);
}

static void test_scores(void)
{
    static const double y[] = {7, -1e300, 2, 7, 1e300}, rank[] = {3.5, 1, 2, 3.5, 5};
    double              score[5];
    transfer_rank_scores(y, 5, score);
    for (size_t j = 0; j < 5; j++)
        CHECK_NEAR(score[j], log(rank[j] / (6 - rank[j])) * .55132889542179209, 1e-15);
}

/* Against NumPy: the inverse of K + H B H', and for the evidence the density of Student's distribution. */
static void test_slopes(void)
{
    static const double L[5][5] = {
        {1.161895003862225},
        {.7906418033999584, .8514021016631693},
        {.2789906750033008, .8198958746226066, .7745546836976932},
        {.0735411434918449, .4274167335745363, .8650184783952771, .6431560215912662},
        {.020210016712060918, .18787478188644569, .6436732580891252, .7908961444091513, .5238918277042389}};
    static const double    y[] = {.3, -1.2, 2.5, .7, -.4}, means[] = {.2, -.9, 1.7, .4, .1, -1.1, .6, .3, -.8, 1.9};
    double                 slopes[2];
    struct transfer_slopes line = transfer_slopes_of(2, slopes), none;
    struct arena           arena;
    arena_init(&arena, 1 << 16);
    line.n = 5, line.y = y, line.means = means, line.L = L[0], line.ld = 5;
    none = line, none.len = 0, none.scale = 1;
    CU_ASSERT_EQUAL(transfer_slopes_find(&line, &arena, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(transfer_slopes_find(&none, &arena, NULL), STATUS_OK);
    CHECK_NEAR(line.constant, -.07973049325419902, 1e-12);
    CHECK_NEAR(slopes[0], 1.32325909135046, 1e-12);
    CHECK_NEAR(slopes[1], -.1606734935861784, 1e-12);
    CHECK_NEAR(line.s, .4149419344360764, 1e-12);
    CHECK_NEAR(none.constant, .4319147917209456, 1e-12);
    CHECK_NEAR(none.s, 6.117213802676697, 1e-12);
    CHECK_NEAR(line.evidence - none.evidence, 6.578263822973639, 1e-11);
    line.n = 0; /* what is known before there are values */
    CU_ASSERT_EQUAL(transfer_slopes_find(&line, &arena, NULL), STATUS_OK);
    CHECK_NEAR(slopes[0], .4, 1e-15);
    CHECK_NEAR(line.s, .5, 1e-15);
    arena_fini(&arena);
    arena_init(&arena, 64);
    CU_ASSERT_EQUAL(transfer_slopes_find(&line, &arena, NULL), STATUS_NO_MEMORY);
    arena_fini(&arena);
}

/* ---- a study ---- */

enum { OPTIONS_MAX = 24 };

static struct session *open_session(const struct policy *policy, const struct problem *problem)
{
    struct session *session = NULL;
    CU_ASSERT_EQUAL_FATAL(session_open(policy, problem, &session, NULL), STATUS_OK);
    return session;
}

static void tell(const struct policy *policy, struct session *session, uint64_t trial, const double *point,
                 const struct proposal *noted)
{
    struct event event = {.kind = EVENT_SUGGESTED, .trial = trial, .point = point};
    if (noted != NULL) {
        event.note = noted->note;
        event.note_bytes = noted->note_bytes;
    }
    CU_ASSERT_EQUAL(policy->tell(session, &event, NULL), STATUS_OK);
}

static void tell_value(const struct policy *policy, struct session *session, uint64_t trial, const double *point,
                       double value)
{
    struct event event = {.kind = EVENT_OBSERVED, .trial = trial, .point = point, .value = value};
    CU_ASSERT_EQUAL(policy->tell(session, &event, NULL), STATUS_OK);
}

static const struct param         line = {.name = "x", .kind = PARAM_INT, .min = 0, .max = 20};
static const double               near_points[] = {1, 4, 9, 15, 19}, near_values[] = {.31, 1.27, -.64, .92, 1.85};
static const double               far_points[] = {0, 6, 11, 18}, far_values[] = {-2.2, .75, 3.1, -1.4};
static const struct earlier_study two[] = {{"near", near_points, NULL, near_values, 5},
                                           {"far", far_points, NULL, far_values, 4}};

/* Four proposals of RM-GP-UCB with given hyper-parameters; (7.1), Lemma 7.1 and (7.4) in NumPy: plain solves. */
static void test_rounds(void)
{
    static const struct {
        double gaps[2], weights[2], nu, point, mean, sd, observed, value;
    } rounds[] = {
        {{NAN, NAN}, {.5, .5}, 1, 13, 1.1305470099895611, .5946731447251095, 14, .55},
        {{2.71899015, 3.9699062},
         {.77745839, .22254161},
         .4637475708158655,
         20,
         .4199927122963178,
         1.1298453133189594,
         3,
         1.02},
        {{2.23549812, 3.7478144},
         {.94065633, .05934367},
         .2568937899967483,
         20,
         .419894829730977,
         1.1298452987509293,
         17,
         1.6},
        {{1.62565935, 3.75062151},
         {.99252134, .00747866},
         .1798256529977238,
         20,
         1.3140437443451778,
         .8523247184556128,
         0,
         0},
    };
    const struct policy         *policy = policy_find("rm-gp-ucb");
    static struct transfer_state state;
    static struct proposal       proposal;
    struct space                 space = {.kind = SPACE_PARAMETERS, .params = &line, .params_len = 1};
    double                       options[OPTIONS_MAX], point;
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    policy_defaults(policy, options);
    options[policy_option(policy, "kernel")] = 3;
    options[policy_option(policy, "length_scale")] = .15;
    options[policy_option(policy, "signal_variance")] = 1.3;
    options[policy_option(policy, "noise_variance")] = .02;
    options[policy_option(policy, "mean")] = .4;
    struct problem problem = {
        .space = &space, .options = options, .seed = 3, .memory_bytes = 1 << 24, .earlier = two, .earlier_len = 2};
    struct session *session = open_session(policy, &problem);
    proposal = (struct proposal){.point = &point};
    for (size_t t = 0; t < 4; t++) {
        CU_ASSERT_EQUAL(policy->ask(session, &(struct ask){.trial = t + 1}, &proposal, NULL), STATUS_OK);
        CU_ASSERT(proposal.fallback == NULL && policy->read_transfer(proposal.note, proposal.note_bytes, &state));
        CU_ASSERT(state.len == 2 && state.rounds == t);
        CHECK_NEAR(state.nu, rounds[t].nu, 1e-7);
        for (size_t i = 0; i < 2; i++) {
            CHECK_NEAR(state.weights[i], rounds[t].weights[i], 1e-6);
            CU_ASSERT(t == 0 ? isnan(state.gaps[i]) : fabs(state.gaps[i] - rounds[t].gaps[i]) < 1e-6);
        }
        CU_ASSERT_EQUAL(point, rounds[t].point);
        CHECK_NEAR(proposal.mean, rounds[t].mean, 1e-7);
        CHECK_NEAR(proposal.sd, rounds[t].sd, 1e-7);
        tell(policy, session, t + 1, &rounds[t].observed, &proposal); /* something else was tried */
        tell_value(policy, session, t + 1, &rounds[t].observed, rounds[t].value);
    }
    session_close(session);
}

/* Values that came while nothing was asked count as so many rounds; those before the first proposal, beyond the
 * initial ones, too. */
static void test_many_rounds(void)
{
    const struct policy         *policy = policy_find("rm-gp-ts");
    static struct transfer_state state;
    static struct proposal       proposal;
    struct space                 space = {.kind = SPACE_PARAMETERS, .params = &line, .params_len = 1};
    double                       options[OPTIONS_MAX], point, x[] = {2, 12, 7, 16, 5};
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    policy_defaults(policy, options);
    options[policy_option(policy, "initial")] = 2;
    options[policy_option(policy, "power")] = 0; /* nu shrinks by the slowest rate alone */
    struct problem problem = {
        .space = &space, .options = options, .seed = 3, .memory_bytes = 1 << 24, .earlier = two, .earlier_len = 2};
    struct session *session = open_session(policy, &problem);
    proposal = (struct proposal){.point = &point};
    for (size_t i = 0; i < 5; i++) {
        tell(policy, session, i + 1, &x[i], NULL);
        tell_value(policy, session, i + 1, &x[i], cos(x[i]));
    }
    CU_ASSERT_EQUAL(policy->ask(session, &(struct ask){.trial = 6}, &proposal, NULL), STATUS_OK);
    CU_ASSERT(policy->read_transfer(proposal.note, proposal.note_bytes, &state));
    CHECK_NEAR(state.nu, pow(.7, 3), 1e-12);
    CU_ASSERT_EQUAL(state.rounds, 5);
    session_close(session);
}

/* A study of rm-gp-ucb with two initial values that was told so many points with their results, and asks after each value
 * of its own; nu of every proposal. */
static void course_of_nu(size_t given, size_t asked, double *nu, double *weights)
{
    const struct policy         *policy = policy_find("rm-gp-ucb");
    static struct transfer_state state;
    static struct proposal       proposal;
    struct space                 space = {.kind = SPACE_PARAMETERS, .params = &line, .params_len = 1};
    double                       options[OPTIONS_MAX], point, x;
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    policy_defaults(policy, options);
    options[policy_option(policy, "initial")] = 2;
    options[policy_option(policy, "power")] = 0;
    options[policy_option(policy, "repeat")] = 1;
    struct problem problem = {
        .space = &space, .options = options, .seed = 3, .memory_bytes = 1 << 24, .earlier = two, .earlier_len = 2};
    struct session *session = open_session(policy, &problem);
    for (size_t i = 0; i < given; i++) {
        x = (double)(7 * i % 21);
        struct event event = {.kind = EVENT_SUGGESTED, .trial = i + 1, .point = &x, .is_given = true};
        CU_ASSERT_EQUAL(policy->tell(session, &event, NULL), STATUS_OK);
        tell_value(policy, session, i + 1, &x, far_values[i % 4]);
    }
    for (size_t t = 0; t < asked; t++) {
        proposal = (struct proposal){.point = &point};
        CU_ASSERT_EQUAL(policy->ask(session, &(struct ask){.trial = given + t + 1}, &proposal, NULL), STATUS_OK);
        bool has_state = policy->read_transfer(proposal.note, proposal.note_bytes, &state);
        nu[t] = has_state ? state.nu : (double)NAN;
        weights[t] = has_state ? state.weights[0] : (double)NAN;
        tell(policy, session, given + t + 1, &point, &proposal);
        tell_value(policy, session, given + t + 1, &point, sin(point));
    }
    session_close(session);
}

/* Queries count, what was brought does not, but towards the initial values; and it has a say in the weights at once. */
static void test_queries_count(void)
{
    double nu[4], weights[4];
    course_of_nu(500, 4, nu, weights);
    for (size_t t = 0; t < 4; t++)
        CHECK_NEAR(nu[t], pow(.7, (double)t), 1e-12);
    CU_ASSERT(fabs(weights[0] - .5) > .01);
    course_of_nu(1, 4, nu, weights); /* one more initial value */
    CU_ASSERT(isnan(nu[0]) && nu[1] == 1);
    CHECK_NEAR(nu[2], .7, 1e-12);
    CHECK_NEAR(nu[3], .49, 1e-12);
    course_of_nu(0, 4, nu, weights);
    CU_ASSERT(isnan(nu[0]) && isnan(nu[1]) && nu[2] == 1 && weights[2] == .5);
    CHECK_NEAR(nu[3], .7, 1e-12);
}

/* The first proposal by an earlier study of the line alone, in a space of so many parameters, the line's at place `own`. */
static void first_of_part(const char *name, const struct param *params, size_t len, size_t own, struct proposal *out)
{
    static double        points[5 * 3];
    struct earlier_study part = {"part", points, NULL, near_values, 5};
    const struct policy *policy = policy_find(name);
    struct space         space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = len};
    double               options[OPTIONS_MAX];
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    policy_defaults(policy, options);
    options[policy_option(policy, "length_scale")] = .15;
    options[policy_option(policy, "signal_variance")] = 1.3;
    options[policy_option(policy, "noise_variance")] = .02;
    for (size_t k = 0; k < 5; k++)
        for (size_t i = 0; i < len; i++)
            points[k * len + i] = i == own ? near_points[k] : (double)NAN;
    struct problem problem = {
        .space = &space, .options = options, .seed = 3, .memory_bytes = 1 << 24, .earlier = &part, .earlier_len = 1};
    struct session *session = open_session(policy, &problem);
    CU_ASSERT_EQUAL(policy->ask(session, &(struct ask){.trial = 1}, out, NULL), STATUS_OK);
    CU_ASSERT(out->fallback == NULL && space_has(&space, out->point));
    session_close(session);
}

/* Predictions of an earlier study do not depend on the parameters that it lacks: as in the space without them, wherever the
 * point lies along those. */
static void test_part(void)
{
    static const char *const algorithms[] = {"transfer", "rm-gp-ucb", "rm-gp-ts", "rgpe", "taf"};
    static struct proposal   alone, in_three;
    static const double      one[] = {1};
    const struct condition   with_kind = {.parent = 0, .values = one, .values_len = 1};
    const struct param       three[] = {
              {.name = "kind", .kind = PARAM_CATEGORICAL, .max = 2, .choices = 3},
              line,
              {.name = "depends", .min = 2.5, .max = 7.25, .when = &with_kind, .when_len = 1},
    };
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        double a, b[3];
        alone = (struct proposal){.point = &a};
        in_three = (struct proposal){.point = b};
        first_of_part(algorithms[i], &line, 1, 0, &alone);
        first_of_part(algorithms[i], three, 3, 1, &in_three);
        if (strcmp(algorithms[i], "rm-gp-ts") == 0) /* a draw */
            continue;
        CU_ASSERT_EQUAL(a, b[1]);
        CHECK_NEAR(in_three.mean, alone.mean, 1e-12);
        CHECK_NEAR(in_three.sd, alone.sd, 1e-12);
    }
}

/* ---- notes ---- */

enum { WIDE = 300, STUDIES = 20 };
static struct param         wide[WIDE];
static double               wide_points[STUDIES][3 * WIDE], wide_values[STUDIES][3];
static struct earlier_study many[STUDIES];

static void make_wide(struct space *space)
{
    struct rng rng = rng_at(19, 1, RNG_TEST);
    for (size_t i = 0; i < WIDE; i++)
        wide[i] = (struct param){.name = "x", .kind = PARAM_DOUBLE, .min = -1.5, .max = 2.25};
    for (size_t i = 0; i < STUDIES; i++) {
        for (size_t j = 0; j < 3 * WIDE; j++)
            wide_points[i][j] = -1.5 + 3.75 * rng_uniform(&rng);
        for (size_t j = 0; j < 3; j++)
            wide_values[i][j] = rng_normal(&rng);
        many[i] = (struct earlier_study){"wide", wide_points[i], NULL, wide_values[i], 3};
    }
    *space = (struct space){.kind = SPACE_PARAMETERS, .params = wide, .params_len = WIDE};
}

/* More fits than a note holds go into several; a session that reads them proposes the same as one that made them. */
static void test_notes_share_fits(void)
{
    const struct policy   *policy = policy_find("rm-gp-ucb");
    static struct proposal proposals[4];
    static double          points[4][WIDE];
    struct space           space;
    double                 options[OPTIONS_MAX];
    make_wide(&space);
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    policy_defaults(policy, options);
    struct problem  problem = {.space = &space,
                               .options = options,
                               .seed = 5,
                               .memory_bytes = 1 << 26,
                               .earlier = many,
                               .earlier_len = STUDIES};
    struct session *lived = open_session(policy, &problem), *read = open_session(policy, &problem);
    for (uint64_t t = 0; t < 4; t++) {
        proposals[t].point = points[t];
        CU_ASSERT_EQUAL(policy->ask(lived, &(struct ask){.trial = t + 1}, &proposals[t], NULL), STATUS_OK);
        tell(policy, lived, t + 1, points[t], &proposals[t]);
        if (t < 3)
            tell(policy, read, t + 1, points[t], &proposals[t]);
    }
    CU_ASSERT(proposals[0].note_bytes > POLICY_NOTE_MAX - 1300 && proposals[1].note_bytes > proposals[2].note_bytes);
    CU_ASSERT(proposals[2].note_bytes == proposals[3].note_bytes && proposals[3].note_bytes < 1000);
    static double          again[WIDE];
    static struct proposal proposal;
    proposal = (struct proposal){.point = again};
    CU_ASSERT_EQUAL(policy->ask(read, &(struct ask){.trial = 4}, &proposal, NULL), STATUS_OK);
    CU_ASSERT(memcmp(again, points[3], sizeof again) == 0);
    CU_ASSERT(proposal.note_bytes == proposals[3].note_bytes &&
              memcmp(proposal.note, proposals[3].note, proposal.note_bytes) == 0);
    session_close(lived);
    session_close(read);
}

/* ---- transfer ---- */

enum { TRIALS = 14, GRID = 21 };
static double                     grid_points[GRID], grid_values[GRID];
static const struct earlier_study grid[] = {{"grid", grid_points, NULL, grid_values, GRID}};

static double hill(double x)
{
    return -pow((x - 13.3) / 7, 2);
}

struct course {
    double        x[TRIALS], nu[TRIALS];
    size_t        left; /* proposals of gp: their notes begin like this */
    unsigned char note[POLICY_NOTE_MAX];
    size_t        note_bytes; /* of the last of those */
};

/* A study of hill whose only earlier study is sign times it; it is opened again before every trial from the given one on,
 * which sees what the notes hold. */
static void run_course(double sign, size_t reopen, struct course *out)
{
    const struct policy         *policy = policy_find("transfer");
    static struct transfer_state state;
    static struct proposal       proposals[TRIALS];
    struct space                 space = {.kind = SPACE_PARAMETERS, .params = &line, .params_len = 1};
    double                       options[OPTIONS_MAX];
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    policy_defaults(policy, options);
    for (size_t j = 0; j < GRID; j++) {
        grid_points[j] = (double)j;
        grid_values[j] = sign * hill((double)j + .4);
    }
    struct problem problem = {
        .space = &space, .options = options, .seed = 7, .memory_bytes = 1 << 26, .earlier = grid, .earlier_len = 1};
    struct session *session = open_session(policy, &problem);
    out->left = 0;
    for (size_t t = 0; t < TRIALS; t++) {
        if (t >= reopen) {
            session_close(session);
            session = open_session(policy, &problem);
            for (size_t k = 0; k < t; k++) {
                tell(policy, session, k + 1, &out->x[k], &proposals[k]);
                tell_value(policy, session, k + 1, &out->x[k], hill(out->x[k]));
            }
        }
        proposals[t].point = &out->x[t];
        CU_ASSERT_EQUAL(policy->ask(session, &(struct ask){.trial = t + 1}, &proposals[t], NULL), STATUS_OK);
        CU_ASSERT_PTR_NULL(proposals[t].fallback);
        CU_ASSERT(policy->read_transfer(proposals[t].note, proposals[t].note_bytes, &state) && state.rounds == t);
        CHECK_NEAR(state.weights[0], 1, 1e-6);
        out->nu[t] = state.nu;
        if (memcmp(proposals[t].note, "pair 1", 7) == 0) {
            out->left++;
            out->note_bytes = proposals[t].note_bytes;
            memcpy(out->note, proposals[t].note, out->note_bytes);
        }
        tell(policy, session, t + 1, &out->x[t], &proposals[t]);
        tell_value(policy, session, t + 1, &out->x[t], hill(out->x[t]));
    }
    session_close(session);
}

static double best_of_course(const struct course *course, size_t trials)
{
    double best = -HUGE_VAL;
    for (size_t t = 0; t < trials; t++)
        best = fmax(best, hill(course->x[t]));
    return best;
}

/* The last of so many points whose values are all the same; NAN: asked for at once, before there are values. */
static double last_of(size_t trials, double value)
{
    const struct policy   *policy = policy_find("transfer");
    static struct proposal proposal;
    struct space           space = {.kind = SPACE_PARAMETERS, .params = &line, .params_len = 1};
    double                 options[OPTIONS_MAX], x[TRIALS];
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    policy_defaults(policy, options);
    struct problem problem = {
        .space = &space, .options = options, .seed = 7, .memory_bytes = 1 << 26, .earlier = grid, .earlier_len = 1};
    struct session *session = open_session(policy, &problem);
    for (size_t t = 0; t < trials; t++) {
        proposal.point = &x[t];
        CU_ASSERT_EQUAL(policy->ask(session, &(struct ask){.trial = t + 1}, &proposal, NULL), STATUS_OK);
        tell(policy, session, t + 1, &x[t], &proposal);
        if (!isnan(value))
            tell_value(policy, session, t + 1, &x[t], value);
    }
    session_close(session);
    return x[trials - 1];
}

/* It begins where the earlier study was best, which is the worst end when that was the wrong way round; the second trial
 * is not advised by it, but in the middle; the third is right in both cases, but when the first two tell nothing. */
static void test_either_way(void)
{
    static struct course good, bad, again;
    run_course(1, TRIALS, &good);
    run_course(-1, TRIALS, &bad);
    CU_ASSERT_EQUAL(good.x[0], 13);
    CU_ASSERT(bad.x[0] == 0 && good.x[1] == 10 && bad.x[1] == 10 && bad.nu[0] == 1 && bad.nu[1] == 1);
    CU_ASSERT(best_of_course(&good, 5) > hill(12) && best_of_course(&bad, 5) > hill(10));
    CU_ASSERT(good.left > 0 && good.left < TRIALS - 5);
    for (size_t t = 5; t < TRIALS; t++)
        CU_ASSERT(good.nu[t] <= pow(.9, (double)t - 5) + 1e-12);
    CU_ASSERT(fabs(last_of(2, NAN) - good.x[0]) > 2);
    CU_ASSERT_EQUAL(last_of(3, 2.385), last_of(3, NAN));
    run_course(1, 1, &again);
    CU_ASSERT(memcmp(good.x, again.x, sizeof good.x) == 0 && memcmp(good.nu, again.nu, sizeof good.nu) == 0);
    CU_ASSERT(good.left == again.left && good.note_bytes == again.note_bytes &&
              memcmp(good.note, again.note, good.note_bytes) == 0);
}

/* Two notes in one, cut or changed anywhere: nothing is read beyond its end, and the next proposal is sound. */
static void test_hostile_pairs(void)
{
    const struct policy         *policy = policy_find("transfer");
    static struct course         course;
    static struct proposal       changed, next;
    static struct transfer_state state;
    struct space                 space = {.kind = SPACE_PARAMETERS, .params = &line, .params_len = 1};
    double                       options[OPTIONS_MAX], x = 11, point;
    run_course(1, TRIALS, &course);
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    policy_defaults(policy, options);
    struct problem problem = {
        .space = &space, .options = options, .seed = 3, .memory_bytes = 1 << 26, .earlier = grid, .earlier_len = 1};
    for (size_t i = 0; i < 2 * course.note_bytes; i += 3) {
        bool is_cut = i < course.note_bytes;
        changed.note_bytes = is_cut ? i : course.note_bytes;
        memcpy(changed.note, course.note, course.note_bytes);
        if (!is_cut)
            changed.note[i - course.note_bytes] ^= 0xFF;
        (void)policy->read_transfer(changed.note, changed.note_bytes, &state);
        struct session *session = open_session(policy, &problem);
        tell(policy, session, 1, &x, &changed);
        next = (struct proposal){.point = &point};
        CU_ASSERT_EQUAL(policy->ask(session, &(struct ask){.trial = 2}, &next, NULL), STATUS_OK);
        CU_ASSERT(space_has(&space, &point) && policy->read_transfer(next.note, next.note_bytes, &state));
        session_close(session);
    }
}

/* A note that was cut, or changed in any byte, is read or passed over; the next proposal is sound. */
static void test_hostile_notes(void)
{
    const struct policy         *policy = policy_find("taf");
    static struct proposal       first, next;
    static struct transfer_state state;
    struct space                 space = {.kind = SPACE_PARAMETERS, .params = &line, .params_len = 1};
    double                       options[OPTIONS_MAX], x = 11, point;
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    policy_defaults(policy, options);
    struct problem problem = {
        .space = &space, .options = options, .seed = 3, .memory_bytes = 1 << 24, .earlier = two, .earlier_len = 2};
    struct session *session = open_session(policy, &problem);
    first = (struct proposal){.point = &point};
    next = (struct proposal){.point = &point};
    CU_ASSERT_EQUAL(policy->ask(session, &(struct ask){.trial = 1}, &first, NULL), STATUS_OK);
    session_close(session);
    size_t whole = first.note_bytes;
    for (size_t i = 0; i < 2 * whole; i++) {
        static struct proposal changed;
        changed = first;
        if (i < whole)
            changed.note_bytes = i;
        else
            changed.note[i - whole] ^= 0xFF;
        CU_ASSERT(i >= whole || !policy->read_transfer(changed.note, changed.note_bytes, &state));
        session = open_session(policy, &problem);
        tell(policy, session, 1, &x, &changed);
        CU_ASSERT_EQUAL(policy->ask(session, &(struct ask){.trial = 2}, &next, NULL), STATUS_OK);
        CU_ASSERT(space_has(&space, &point) && policy->read_transfer(next.note, next.note_bytes, &state));
        CU_ASSERT(state.nu >= 0 && state.nu <= 1 && isfinite(state.weights[0]));
        session_close(session);
    }
    CU_ASSERT(!policy->read_transfer(NULL, 0, &state));
}

static void test_no_such_row(void)
{
    static const double        rows[] = {0, 1.5, 2.25, 7}, values[] = {1, 2};
    static const size_t        at[] = {3, 4};
    const struct earlier_study beyond = {"beyond", NULL, at, values, 2};
    const struct policy       *policy = policy_find("rgpe");
    struct space               space = {.kind = SPACE_CANDIDATES, .rows = rows, .rows_len = 4, .columns = 1};
    double                     options[OPTIONS_MAX];
    struct session            *session;
    struct error               err = {0};
    policy_defaults(policy, options);
    struct problem problem = {
        .space = &space, .options = options, .seed = 3, .memory_bytes = 1 << 24, .earlier = &beyond, .earlier_len = 1};
    CU_ASSERT_EQUAL(session_open(policy, &problem, &session, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.code, "no_such_row");
    CU_ASSERT_PTR_NULL(session);
}

CU_TestInfo suite_transfer[] = {
    {"gaps against NumPy", test_gap},
    {"weights in logarithms", test_follow},
    {"nu only shrinks", test_decay},
    {"errors of order", test_rank},
    {"ensemble weights", test_ensemble},
    {"scores of ranks", test_scores},
    {"slopes against NumPy", test_slopes},
    {"transfer: advice and its opposite", test_either_way},
    {"transfer: hostile pairs of notes", test_hostile_pairs},
    {"four rounds against NumPy", test_rounds},
    {"several values are several rounds", test_many_rounds},
    {"queries count, not what was brought", test_queries_count},
    {"an earlier study of some of the parameters", test_part},
    {"fits go into several notes", test_notes_share_fits},
    {"hostile notes", test_hostile_notes},
    {"a row that is not there", test_no_such_row},
    CU_TEST_INFO_NULL,
};
