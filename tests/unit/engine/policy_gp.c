/* The gp algorithm: what is particular to it.  (Replay, seeds, bounds and the like are tested for every algorithm by
 * the contract suite; here they run over all acquisitions and kernels, mixed spaces, notes and hostile values.) */
#include "engine/registry.h"
#include "engine/math/rng.h"
#include "engine/bo/trust_region.h"
#include "tests/unit/engine/suites.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 130, PARAMS_MAX = 6 };
enum { ACQUISITION, KERNEL, BETA, INITIAL, REPEAT, OPTIONS };

/* A study that lives: its events are kept, to be read again by another session. */
struct study {
    struct space    space;
    double          options[OPTIONS];
    struct problem  problem;
    struct session *session;
    size_t          events_len, trials;
    struct event    events[2 * TRIALS + 8];
    double          points[2 * TRIALS + 8][PARAMS_MAX], point[PARAMS_MAX];
    unsigned char  *notes[2 * TRIALS + 8];
    struct proposal proposal;
};

static const struct policy *gp(void)
{
    return policy_find("gp");
}

static struct study *study_new(const struct param *params, size_t len, const double *options)
{
    struct study *s = calloc(1, sizeof *s);
    s->space = (struct space){.kind = SPACE_PARAMETERS, .params = params, .params_len = len};
    CU_ASSERT_EQUAL_FATAL(space_init(&s->space, NULL), STATUS_OK);
    for (size_t i = 0; i < OPTIONS; i++)
        s->options[i] = options == NULL ? NAN : options[i];
    s->options[ACQUISITION] = options == NULL ? 0 : s->options[ACQUISITION];
    s->options[KERNEL] = options == NULL ? 0 : s->options[KERNEL];
    s->problem = (struct problem){.space = &s->space, .options = s->options, .seed = 2385, .memory_bytes = 64 << 20};
    s->proposal.point = s->point;
    CU_ASSERT_EQUAL_FATAL(gp()->open(&s->problem, &s->session, NULL), STATUS_OK);
    return s;
}

static void study_free(struct study *s)
{
    gp()->close(s->session);
    for (size_t i = 0; i < s->events_len; i++)
        free(s->notes[i]);
    free(s);
}

static void study_tell(struct study *s, enum event_kind kind, uint64_t trial, const double *point, double value)
{
    size_t        at = s->events_len++;
    struct event *event = &s->events[at];
    CU_ASSERT_FATAL(at < sizeof s->events / sizeof s->events[0]);
    memcpy(s->points[at], point, s->space.params_len * sizeof *point);
    *event = (struct event){.kind = kind, .trial = trial, .point = s->points[at], .value = value};
    if (kind == EVENT_SUGGESTED && s->proposal.note_bytes > 0) {
        s->notes[at] = malloc(s->proposal.note_bytes);
        event->note = memcpy(s->notes[at], s->proposal.note, s->proposal.note_bytes);
        event->note_bytes = s->proposal.note_bytes;
        s->proposal.note_bytes = 0;
    }
    CU_ASSERT_EQUAL_FATAL(gp()->tell(s->session, event, NULL), STATUS_OK);
}

static void study_ask(struct study *s, const double *fixed)
{
    struct ask ask = {.trial = s->trials + 1, .fixed = fixed};
    CU_ASSERT_EQUAL_FATAL(gp()->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
    CU_ASSERT_TRUE_FATAL(space_has(&s->space, s->point));
    s->trials++;
}

static void study_step(struct study *s, double (*function)(const double *))
{
    study_ask(s, NULL);
    study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
    study_tell(s, EVENT_OBSERVED, s->trials, s->point, function(s->point));
}

/* A new session that reads the log proposes what the living one does, bit by bit. */
static void check_replay(struct study *s)
{
    static struct proposal a, b;
    struct session        *fresh;
    double                 x[PARAMS_MAX], y[PARAMS_MAX];
    struct ask             ask = {.trial = s->trials + 1};
    a.point = x;
    b.point = y;
    CU_ASSERT_EQUAL_FATAL(gp()->open(&s->problem, &fresh, NULL), STATUS_OK);
    for (size_t i = 0; i < s->events_len; i++)
        CU_ASSERT_EQUAL_FATAL(gp()->tell(fresh, &s->events[i], NULL), STATUS_OK);
    CU_ASSERT_EQUAL(gp()->ask(s->session, &ask, &a, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(gp()->ask(fresh, &ask, &b, NULL), STATUS_OK);
    CU_ASSERT(memcmp(x, y, s->space.params_len * sizeof *x) == 0);
    CU_ASSERT(memcmp(&a.mean, &b.mean, sizeof a.mean) == 0 && memcmp(&a.sd, &b.sd, sizeof a.sd) == 0);
    CU_ASSERT(a.note_bytes == b.note_bytes && memcmp(a.note, b.note, a.note_bytes) == 0);
    gp()->close(fresh);
}

static const struct param mixed[] = {
    {.name = "lr", .kind = PARAM_DOUBLE, .scale = SCALE_LOG, .min = 1e-5, .max = 0.1},
    {.name = "layers", .kind = PARAM_INT, .min = 1, .max = 6},
    {.name = "optimizer", .kind = PARAM_CATEGORICAL, .max = 2, .choices = 3},
    {.name = "momentum", .kind = PARAM_DOUBLE, .min = 0.1, .max = 0.97},
};

static double mixed_value(const double *x)
{
    return -pow(log10(x[0]) + 2.7, 2) - 0.3 * fabs(x[1] - 4.0) + (x[2] == 1.0 ? 0.6 : 0.0) - pow(x[3] - 0.71, 2);
}

static void test_replay(void)
{
    for (int run = 0; run < 5; run++) {
        double        options[OPTIONS] = {run % 3, run % 4, run == 4 ? 2.5 : NAN, run == 3 ? 3 : NAN};
        struct study *s = study_new(mixed, 4, options);
        for (int t = 0; t < 16; t++) {
            study_step(s, mixed_value);
            if (t % 5 == 3)
                check_replay(s);
        }
        /* pending, failed, infeasible, abandoned and late ones */
        for (int k = 0; k < 5; k++) {
            study_ask(s, NULL);
            study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
            check_replay(s);
        }
        uint64_t last = s->trials;
        study_tell(s, EVENT_INFEASIBLE, last - 1, s->points[s->events_len - 2], 0);
        study_tell(s, EVENT_FAILED, last - 2, s->points[s->events_len - 4], 0);
        study_tell(s, EVENT_ABANDONED, last - 3, s->points[s->events_len - 6], 0);
        check_replay(s);
        study_tell(s, EVENT_OBSERVED, last - 3, s->points[s->events_len - 1], -0.7);
        study_step(s, mixed_value);
        check_replay(s);
        study_free(s);
    }
}

/* A forgotten proposal leaves no trace, nor does a prediction. */
static void test_ask_changes_nothing(void)
{
    struct study *s = study_new(mixed, 4, NULL);
    double        first[4], mean[2], sd[2], again[2], sd_again[2];
    for (int t = 0; t < 14; t++)
        study_step(s, mixed_value);
    study_ask(s, NULL);
    memcpy(first, s->point, sizeof first);
    CU_ASSERT(s->proposal.note_bytes > 0);
    CU_ASSERT_EQUAL(s->proposal.observations, 14);
    CU_ASSERT_EQUAL(gp()->predict(s->session, s->points[4], NULL, 2, mean, sd, NULL), STATUS_OK);
    s->trials--;
    study_ask(s, NULL);
    CU_ASSERT(memcmp(first, s->point, sizeof first) == 0);
    CU_ASSERT_EQUAL(gp()->predict(s->session, s->points[4], NULL, 2, again, sd_again, NULL), STATUS_OK);
    CU_ASSERT(memcmp(mean, again, sizeof mean) == 0 && memcmp(sd, sd_again, sizeof sd) == 0);
    study_free(s);
}

/* Suggested one by one or all at once: the same next proposal, bit by bit, while the values come in the same order. */
static void test_any_order(void)
{
    struct study *one = study_new(mixed, 4, NULL), *all = study_new(mixed, 4, NULL);
    for (int t = 0; t < 19; t++)
        study_step(one, mixed_value);
    for (size_t i = one->events_len; i-- > 0;)
        if (one->events[i].kind == EVENT_OBSERVED)
            study_tell(all, EVENT_SUGGESTED, one->events[i].trial, one->points[i], 0);
    for (size_t i = 0; i < one->events_len; i++) {
        const struct event *event = &one->events[i];
        if (event->note != NULL) /* the fits have to be the same: as suggested again, with their notes */
            CU_ASSERT_EQUAL(gp()->tell(all->session, event, NULL), STATUS_OK);
    }
    for (size_t i = 0; i < one->events_len; i++)
        if (one->events[i].kind == EVENT_OBSERVED)
            study_tell(all, EVENT_OBSERVED, one->events[i].trial, one->points[i], one->events[i].value);
    all->trials = one->trials;
    study_ask(one, NULL);
    study_ask(all, NULL);
    CU_ASSERT(memcmp(one->point, all->point, 4 * sizeof(double)) == 0);
    CU_ASSERT(one->proposal.mean == all->proposal.mean);
    study_free(one);
    study_free(all);
}

/* A note is used when it is sound, and passed over when it is not. */
static void test_notes(void)
{
    struct study *s = study_new(mixed, 4, NULL);
    double        first[4];
    for (int t = 0; t < 11; t++)
        study_step(s, mixed_value);
    study_ask(s, NULL);
    memcpy(first, s->point, sizeof first);
    CU_ASSERT_FATAL(s->proposal.note_bytes > 8);
    s->proposal.note[s->proposal.note_bytes - 1] = 0x7f; /* a noise variance beyond all bounds */
    study_tell(s, EVENT_SUGGESTED, 12, s->point, 0);
    study_tell(s, EVENT_ABANDONED, 12, s->point, 0);
    s->trials = 11;
    study_ask(s, NULL);
    CU_ASSERT(memcmp(first, s->point, sizeof first) == 0);
    CU_ASSERT(s->proposal.note_bytes > 0);
    study_tell(s, EVENT_SUGGESTED, 12, s->point, 0); /* sound: the next proposal needs no fit */
    study_ask(s, NULL);
    CU_ASSERT_EQUAL(s->proposal.note_bytes, 0);
    CU_ASSERT(memcmp(first, s->point, sizeof first) != 0);
    study_free(s);
}

static const struct param box2[] = {{.name = "x", .kind = PARAM_DOUBLE, .min = -5, .max = 10},
                                    {.name = "y", .kind = PARAM_DOUBLE, .min = 0, .max = 15}};

static double branin(const double *x)
{
    double pi = acos(-1.0), a = x[1] - 5.1 / (4 * pi * pi) * x[0] * x[0] + 5 / pi * x[0] - 6;
    return -(a * a + 10 * (1 - 1 / (8 * pi)) * cos(x[0]) + 10 - 0.39788735772973816);
}

/* Pending points are kept away from, and their number does not stop proposals. */
static void test_batch(void)
{
    struct study *s = study_new(box2, 2, NULL);
    for (int t = 0; t < 20; t++)
        study_step(s, branin);
    for (int k = 0; k < 12; k++) {
        study_ask(s, NULL);
        CU_ASSERT_PTR_NULL(s->proposal.fallback);
        study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
        for (size_t i = 40; i + 1 < s->events_len; i++)
            CU_ASSERT(hypot(s->points[i][0] - s->point[0], s->points[i][1] - s->point[1]) > 1e-5);
    }
    study_free(s);
}

static double regret_after(const char *name, const struct param *params, size_t len, double (*f)(const double *),
                           int trials, uint64_t seed)
{
    static struct proposal proposal;
    const struct policy   *policy = policy_find(name);
    double                 options[8] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}, best = -INFINITY, point[PARAMS_MAX];
    struct space           space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = len};
    struct problem         problem = {.space = &space, .options = options, .seed = seed, .memory_bytes = 64 << 20};
    struct session        *session;
    for (size_t i = 0; policy->options[i].name != NULL; i++)
        options[i] = policy->options[i].fallback;
    proposal.point = point;
    CU_ASSERT_EQUAL_FATAL(space_init(&space, NULL), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(policy->open(&problem, &session, NULL), STATUS_OK);
    for (int t = 1; t <= trials; t++) {
        struct ask ask = {.trial = (uint64_t)t};
        CU_ASSERT_EQUAL_FATAL(policy->ask(session, &ask, &proposal, NULL), STATUS_OK);
        struct event event = {.kind = EVENT_SUGGESTED,
                              .trial = ask.trial,
                              .point = point,
                              .note = proposal.note,
                              .note_bytes = proposal.note_bytes};
        CU_ASSERT_EQUAL_FATAL(policy->tell(session, &event, NULL), STATUS_OK);
        event = (struct event){.kind = EVENT_OBSERVED, .trial = ask.trial, .point = point, .value = f(point)};
        CU_ASSERT_EQUAL_FATAL(policy->tell(session, &event, NULL), STATUS_OK);
        best = fmax(best, event.value);
    }
    policy->close(session);
    return -best;
}

static double hartmann6(const double *x)
{
    static const double A[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                   {.05, 10, 17, .1, 8, 14},
                                   {3, 3.5, 1.7, 10, 17, 8},
                                   {17, 8, .05, 10, .1, 14}},
                        P[4][6] = {{.1312, .1696, .5569, .0124, .8283, .5886},
                                   {.2329, .4135, .8307, .3736, .1004, .9991},
                                   {.2348, .1451, .3522, .2883, .3047, .6650},
                                   {.4047, .8828, .8732, .5743, .1091, .0381}},
                        c[4] = {1, 1.2, 3, 3.2};
    double sum = -3.322368011415515;
    for (int i = 0; i < 4; i++) {
        double q = 0;
        for (int j = 0; j < 6; j++)
            q += A[i][j] * (x[j] - P[i][j]) * (x[j] - P[i][j]);
        sum += c[i] * exp(-q);
    }
    return sum;
}

/* Random search has a median regret of 1.65 on Branin after 40 and of 1.36 on Hartmann-6 after 60 trials. */
static void test_beats_random(void)
{
    static const struct param unit = {.name = "x", .kind = PARAM_DOUBLE, .max = 1};
    struct param              box6[6] = {unit, unit, unit, unit, unit, unit};
    double                    branin_worst = 0.0, hartmann = 0.0, random = 0.0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        branin_worst = fmax(branin_worst, regret_after("gp", box2, 2, branin, 40, seed));
        hartmann += regret_after("gp", box6, 6, hartmann6, 60, seed) / 3;
        random += regret_after("random", box6, 6, hartmann6, 60, seed) / 3;
    }
    CU_ASSERT(branin_worst < 0.01);
    CU_ASSERT(hartmann < 0.5);
    CU_ASSERT(hartmann < 0.5 * random);
}

static double constant(const double *x)
{
    (void)x;
    return 2.385;
}

static double huge(const double *x)
{
    return x[0] > 2.0 ? DBL_MAX : -DBL_MAX;
}

static double tiny(const double *x)
{
    return x[0] * 1e-308;
}

static double ragged(const double *x)
{
    return x[1] > 7.5 ? 1e300 : sin(x[0]) * 1e-300;
}

static void check_finite_posterior(struct study *s)
{
    double mean[3], sd[3];
    CU_ASSERT_EQUAL(gp()->predict(s->session, s->points[0], NULL, 3, mean, sd, NULL), STATUS_OK);
    for (int i = 0; i < 3; i++)
        CU_ASSERT(isfinite(mean[i]) && isfinite(sd[i]) && sd[i] >= 0.0);
}

static void test_hostile_values(void)
{
    double (*const functions[])(const double *) = {constant, huge, tiny, ragged};
    static const struct param thin[] = {{.name = "x", .kind = PARAM_DOUBLE, .min = 1.0, .max = 1.0 + DBL_EPSILON},
                                        {.name = "y", .kind = PARAM_DOUBLE, .min = -DBL_MAX / 4, .max = DBL_MAX / 4},
                                        {.name = "k", .kind = PARAM_INT, .scale = SCALE_LOG, .min = 1, .max = 9e15}};
    for (size_t f = 0; f < 4; f++) {
        struct study *s = study_new(box2, 2, NULL), *t = study_new(thin, 3, NULL);
        for (int k = 0; k < 22; k++) {
            study_step(s, functions[f]);
            study_step(t, functions[f]);
        }
        CU_ASSERT(isfinite(s->proposal.mean) && isfinite(t->proposal.mean));
        check_finite_posterior(s);
        check_replay(t);
        study_free(s);
        study_free(t);
    }
}

/* Fifty observations of one point that contradict each other, one observation alone, given standard deviations. */
static void test_duplicates(void)
{
    double        options[OPTIONS] = {0, 0, NAN, 1}, point[2] = {2.385, 7.1}, mean, sd;
    struct study *s = study_new(box2, 2, options);
    for (uint64_t t = 1; t <= 50; t++) {
        study_tell(s, EVENT_SUGGESTED, t, point, 0);
        study_tell(s, EVENT_OBSERVED, t, point, 3.0 + (t % 2 == 0 ? 0.5 : -0.5));
        s->trials = t;
        if (t % 10 == 1)
            study_ask(s, NULL);
    }
    CU_ASSERT_PTR_NULL(s->proposal.fallback);
    study_ask(s, NULL);
    CU_ASSERT_EQUAL(gp()->predict(s->session, point, NULL, 1, &mean, &sd, NULL), STATUS_OK);
    CHECK_NEAR(mean, 3.0, 0.15); /* the warp's middle of 2.5 and 3.5 */
    CU_ASSERT(sd < 0.2);
    study_free(s);
}

static void test_stddev(void)
{
    struct study *exact = study_new(box2, 2, NULL), *vague = study_new(box2, 2, NULL);
    double        a[1], b[1], sd[1], sd_vague[1];
    for (int t = 0; t < 10; t++) {
        study_step(exact, branin);
        study_ask(vague, NULL);
        study_tell(vague, EVENT_SUGGESTED, vague->trials, exact->point, 0);
        struct event event = {.kind = EVENT_OBSERVED,
                              .trial = vague->trials,
                              .point = exact->point,
                              .value = branin(exact->point),
                              .stddev = t == 3 ? 500.0 : 0.0};
        CU_ASSERT_EQUAL(gp()->tell(vague->session, &event, NULL), STATUS_OK);
    }
    CU_ASSERT_EQUAL(gp()->predict(exact->session, exact->points[6], NULL, 1, a, sd, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(gp()->predict(vague->session, exact->points[6], NULL, 1, b, sd_vague, NULL), STATUS_OK);
    CU_ASSERT(sd_vague[0] > 3.0 * sd[0]);
    study_free(exact);
    study_free(vague);
}

static const struct param small[] = {{.name = "a", .kind = PARAM_INT, .min = -1, .max = 2},
                                     {.name = "b", .kind = PARAM_CATEGORICAL, .max = 4, .choices = 5}};

static double small_value(const double *x)
{
    return x[0] * 0.3 + (x[1] == 3.0 ? 1.0 : 0.0);
}

static void test_exhausted(void)
{
    for (int acquisition = 0; acquisition < 3; acquisition++) {
        double        options[OPTIONS] = {acquisition, 0, NAN, 4};
        struct study *s = study_new(small, 2, options);
        struct error  err;
        struct ask    ask = {.trial = 21};
        bool          seen[4][5] = {{false}};
        for (int t = 0; t < 20; t++) {
            study_step(s, small_value);
            bool *cell = &seen[(int)s->point[0] + 1][(int)s->point[1]];
            CU_ASSERT_FALSE(*cell);
            *cell = true;
        }
        CU_ASSERT_EQUAL(gp()->ask(s->session, &ask, &s->proposal, &err), STATUS_CONFLICT);
        CU_ASSERT_STRING_EQUAL(err.code, "search_space_exhausted");
        study_free(s);
    }
}

static void test_fixed(void)
{
    struct study *s = study_new(mixed, 4, NULL);
    double        fixed[4] = {NAN, 5, 0, 0.2385};
    for (int t = 0; t < 17; t++) {
        study_ask(s, t % 2 == 0 ? fixed : NULL);
        if (t % 2 == 0)
            CU_ASSERT(s->point[1] == 5 && s->point[2] == 0 && s->point[3] == 0.2385);
        study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
        study_tell(s, EVENT_OBSERVED, s->trials, s->point, mixed_value(s->point));
    }
    study_free(s);
}

/* The first trial is in the middle of what every parameter's scale makes of its range, and the held ones are held. */
static void test_centre(void)
{
    struct study *s = study_new(mixed, 4, NULL);
    study_ask(s, (double[4]){NAN, NAN, 0, NAN});
    CU_ASSERT_DOUBLE_EQUAL(s->point[0], 1e-3, 1e-12);
    CU_ASSERT(s->point[1] == 3 || s->point[1] == 4);
    CU_ASSERT_EQUAL(s->point[2], 0);
    CU_ASSERT_DOUBLE_EQUAL(s->point[3], 0.535, 1e-12);
    study_free(s);
}

static double noisy_branin(const double *x)
{
    struct rng rng = rng_at((uint64_t)(1e6 * fabs(x[0])), (uint64_t)(1e6 * x[1]), RNG_TEST);
    return branin(x) + 25 * rng_normal(&rng);
}

/* A point for each of so many workers; how many of them there are. */
static size_t ask_workers(struct study *s, size_t workers)
{
    size_t first = s->events_len, distinct = 0, bytes = s->space.params_len * sizeof *s->point;
    for (size_t w = 0; w < workers; w++) {
        bool is_new = true;
        study_ask(s, NULL);
        for (size_t i = first; i < s->events_len; i++)
            is_new &= memcmp(s->points[i], s->point, bytes) != 0;
        distinct += is_new;
        study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
    }
    return distinct;
}

/* Where values are noisy, too, no two workers get the same point. */
static void test_workers(void)
{
    for (int acquisition = 0; acquisition < 3; acquisition++) {
        double        options[OPTIONS] = {acquisition, 0, NAN, NAN, 0};
        struct study *s = study_new(box2, 2, options);
        for (int t = 0; t < 20; t++)
            study_step(s, noisy_branin);
        CU_ASSERT_EQUAL(ask_workers(s, 64), 64);
        check_replay(s);
        study_free(s);
    }
}

/* Round after round of ten, near the optimum of an exact function. */
static void test_rounds(void)
{
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct study *s = study_new(box2, 2, NULL);
        s->problem.seed = seed;
        for (int round = 0; round < 8; round++) {
            size_t trial = s->trials, at = s->events_len;
            CU_ASSERT_EQUAL(ask_workers(s, 10), 10);
            while (trial++ < s->trials)
                study_tell(s, EVENT_OBSERVED, trial, s->points[at], branin(s->points[at])), at++;
        }
        study_free(s);
    }
}

static double small_noisy(const double *x)
{
    return small_value(x) + noisy_branin(x) - branin(x);
}

/* Where points may come again, each is handed out before one is pending twice; then they do come again. */
static void test_workers_repeat(void)
{
    double        options[OPTIONS] = {0, 0, NAN, NAN, 1};
    struct study *s = study_new(small, 2, options);
    for (int t = 0; t < 9; t++)
        study_step(s, small_noisy);
    CU_ASSERT(ask_workers(s, 20) == 20 && ask_workers(s, 3) > 0 && s->proposal.fallback == NULL);
    study_free(s);
}

/* The bound is asked first while there is something to gain; then log-EI, but for every fourth trial; of noisy values
 * log-EI mostly.  bounds, logs: how many trials of [from, to) had each. */
static void count_acquisitions(double (*function)(const double *), uint64_t from, uint64_t to, size_t *bounds,
                               size_t *logs, size_t *insisted)
{
    struct study      *s = study_new(box2, 2, NULL);
    double             lengths[2];
    struct diagnostics diagnostics = {.length_scales = lengths};
    *bounds = *logs = *insisted = 0;
    for (uint64_t trial = 1; trial < to; trial++) {
        struct ask ask = {.trial = trial, .diagnostics = &diagnostics};
        CU_ASSERT_EQUAL_FATAL(gp()->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
        study_tell(s, EVENT_SUGGESTED, trial, s->point, 0);
        study_tell(s, EVENT_OBSERVED, trial, s->point, function(s->point));
        if (trial < from)
            continue;
        bool is_bound = strcmp(diagnostics.acquisition, "ucb") == 0;
        *bounds += is_bound;
        *logs += !is_bound;
        *insisted += is_bound && trial % 4 == 0;
    }
    study_free(s);
}

static void test_bound_first(void)
{
    size_t bounds, logs, insisted;
    count_acquisitions(branin, 7, 15, &bounds, &logs, &insisted);
    CU_ASSERT(bounds >= 7);
    count_acquisitions(branin, 61, 81, &bounds, &logs, &insisted);
    CU_ASSERT(logs >= 5 && insisted == 5);
    count_acquisitions(noisy_branin, 21, 61, &bounds, &logs, &insisted);
    CU_ASSERT(logs >= 30);
}

/* How far x is from the best of the log, the farthest coordinate as a share of its range; *outside: by how much more than
 * the trust region allows, <= 0 inside.  The study tells each trial twice, suggested and observed. */
static double reach(const struct study *s, const double *x, const double *length_scales, double *outside)
{
    struct arena        arena;
    struct trial_log    trials;
    struct trust_region region;
    size_t              best = 1;
    double              far = 0, theta[2], centre[2], u[2], lower[2], upper[2];
    arena_init(&arena, 1 << 20);
    trial_log_init(&trials, &arena, 2);
    for (size_t i = 0; i < s->events_len; i++) {
        CU_ASSERT_EQUAL_FATAL(trial_log_tell(&trials, &s->events[i], NULL), STATUS_OK);
        if (i % 2 == 1 && s->events[i].value > s->events[best].value)
            best = i;
    }
    CU_ASSERT_EQUAL_FATAL(
        trust_region_find(&trials, (struct trust_rule){.start = 0.5, .least = 0.02}, &arena, &region, NULL), STATUS_OK);
    space_encode(&s->space, s->points[best], centre);
    space_encode(&s->space, x, u);
    for (size_t j = 0; j < 2; j++)
        theta[j] = log(length_scales[j]);
    trust_region_box(&region, &s->space, (const size_t[]){0, 1}, theta, centre, lower, upper);
    *outside = -1;
    for (size_t j = 0; j < 2; j++) {
        far = fmax(far, fabs(u[j] - centre[j]));
        *outside = fmax(*outside, fmax(lower[j] - u[j], u[j] - upper[j]));
    }
    arena_fini(&arena);
    return far;
}

/* What the bound promises is looked for in the trust region; but a basin that is found first is not all: when it promises
 * nothing more, trials go far from it. */
static void test_near_then_far(void)
{
    struct study      *s = study_new(box2, 2, NULL);
    double             lengths[2], outside;
    struct diagnostics diagnostics = {.length_scales = lengths};
    size_t             near = 0, far = 0;
    while (s->trials < 45) {
        struct ask ask = {.trial = ++s->trials, .diagnostics = &diagnostics};
        CU_ASSERT_EQUAL_FATAL(gp()->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
        if (!isnan(s->proposal.mean)) {
            double away = reach(s, s->point, lengths, &outside);
            bool   is_bound = strcmp(diagnostics.acquisition, "ucb") == 0;
            CU_ASSERT(!is_bound || outside < 1e-9);
            near += is_bound;
            far += s->trials > 30 && away > 0.3 && outside > 0.1;
        }
        study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
        study_tell(s, EVENT_OBSERVED, s->trials, s->point, branin(s->point));
    }
    CU_ASSERT(near >= 15);
    CU_ASSERT(far >= 3);
    study_free(s);
}

static bool count_polls(void *arg)
{
    ++*(int *)arg;
    return false;
}

static double grid_value(const double *x)
{
    return -pow(x[0] - 2.3, 2) - pow(x[1] - 4.8, 2);
}

/* Where a search looks at every point, log-EI is searched once: the box leaves nothing out. */
static void test_complete_search(void)
{
    static const struct param grid[] = {{.name = "a", .kind = PARAM_INT, .max = 7},
                                        {.name = "b", .kind = PARAM_INT, .max = 7}};
    struct study             *s = study_new(grid, 2, NULL);
    struct diagnostics        seen = {.length_scales = (double[2]){0}};
    int                       polls = 0;
    while (s->trials < 41)
        study_step(s, grid_value);
    struct ask ask = {.trial = 42, .late = count_polls, .late_arg = &polls, .diagnostics = &seen};
    CU_ASSERT_EQUAL(gp()->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(seen.acquisition, "log-ei");
    CU_ASSERT(seen.acquisition_value < log(1e-5)); /* not worth a trial by itself */
    CU_ASSERT_EQUAL(polls, 4); /* before the model; in the search of the bound, and after it; in that of log-EI */
    study_free(s);
}

static bool at_once(void *arg)
{
    (void)arg;
    return true;
}

static void test_fallbacks(void)
{
    struct study *s = study_new(box2, 2, NULL);
    struct ask    ask = {.trial = 26, .late = at_once};
    for (int t = 0; t < 25; t++)
        study_step(s, branin);
    CU_ASSERT_EQUAL(gp()->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(s->proposal.fallback, "deadline");
    CU_ASSERT_TRUE(space_has(&s->space, s->point));
    CU_ASSERT_EQUAL(s->proposal.note_bytes, 0);
    s->problem.memory_bytes = gp()->bytes(s->session) + 4096;
    ask.late = NULL;
    CU_ASSERT_EQUAL(gp()->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(s->proposal.fallback, "memory");
    CU_ASSERT_TRUE(space_has(&s->space, s->point));
    study_free(s);
    s = study_new(box2, 2, (double[OPTIONS]){0, 0, NAN, 1});
    study_ask(s, NULL);
    study_tell(s, EVENT_SUGGESTED, 1, s->point, 0);
    study_tell(s, EVENT_OBSERVED, 1, s->point, INFINITY); /* against the contract; nothing can be computed from it */
    study_ask(s, NULL);
    CU_ASSERT_STRING_EQUAL(s->proposal.fallback, "numerical");
    study_free(s);
}

static void test_refusals(void)
{
    struct study   *s = study_new(box2, 2, NULL);
    struct error    err;
    double          mean, sd;
    struct session *none = (struct session *)&err;
    CU_ASSERT_EQUAL(gp()->predict(s->session, s->point, NULL, 1, &mean, &sd, &err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(err.code, "no_observations");
    s->problem.memory_bytes = 100;
    CU_ASSERT_EQUAL(gp()->open(&s->problem, &none, &err), STATUS_NO_MEMORY);
    CU_ASSERT_PTR_NULL(none);
    s->problem.memory_bytes = 4096;
    CU_ASSERT_EQUAL_FATAL(gp()->open(&s->problem, &none, &err), STATUS_OK);
    enum status status = STATUS_OK;
    for (uint64_t t = 1; status == STATUS_OK && t < 1000; t++) {
        struct event event = {.kind = EVENT_SUGGESTED, .trial = t, .point = s->point};
        status = gp()->tell(none, &event, &err);
    }
    CU_ASSERT_EQUAL(status, STATUS_NO_MEMORY);
    gp()->close(none);
    struct space candidates = {.kind = SPACE_CANDIDATES};
    s->problem.space = &candidates;
    s->options[ACQUISITION] = 2;
    CU_ASSERT_EQUAL(gp()->check(&s->problem, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.path, "/algorithm/acquisition");
    s->options[ACQUISITION] = 1;
    CU_ASSERT_EQUAL(gp()->check(&s->problem, &err), STATUS_OK);
    s->problem.space = &s->space;
    study_free(s);
}

/* More observations than the model takes: it keeps the best, and says how many it saw. */
static void test_subset(void)
{
    enum { MANY = 400 };
    struct study *s = study_new(box2, 2, NULL);
    struct rng    rng = rng_at(3, 3, RNG_TEST);
    double        best[2] = {9.42478, 2.475}, mean, sd;
    s->problem.memory_bytes = 400 << 10; /* room for about 60 rows beside the trials */
    for (uint64_t t = 1; t <= MANY; t++) {
        double        point[2] = {-5 + 15 * rng_uniform(&rng), 15 * rng_uniform(&rng)};
        const double *at = t == 7 ? best : point;
        struct event  event = {.kind = EVENT_OBSERVED, .trial = t, .point = at, .value = branin(at)};
        CU_ASSERT_EQUAL_FATAL(gp()->tell(s->session, &event, NULL), STATUS_OK);
    }
    s->trials = MANY;
    study_ask(s, NULL);
    CU_ASSERT_PTR_NULL(s->proposal.fallback);
    CU_ASSERT(s->proposal.observations > 20 && s->proposal.observations < 150);
    CU_ASSERT_EQUAL(gp()->predict(s->session, best, NULL, 1, &mean, &sd, NULL), STATUS_OK);
    CHECK_NEAR(mean, 0.0, 0.5);
    CU_ASSERT(gp()->bytes(s->session) <= s->problem.memory_bytes);
    study_free(s);
}

/* Rows of a candidate matrix: finds the best of 300 in 30 queries, one after the other without repeats. */
static void test_candidates(void)
{
    enum { ROWS = 300 };
    static double rows[ROWS * 2];
    struct rng    rng = rng_at(77, 1, RNG_TEST);
    double        values[ROWS], best = -INFINITY, found = -INFINITY;
    bool          seen[ROWS] = {false};
    for (size_t i = 0; i < ROWS; i++) {
        rows[2 * i] = -5 + 15 * rng_uniform(&rng);
        rows[2 * i + 1] = 15 * rng_uniform(&rng);
        values[i] = branin(rows + 2 * i);
        best = fmax(best, values[i]);
    }
    for (int acquisition = 0; acquisition < 2; acquisition++) {
        struct space           space = {.kind = SPACE_CANDIDATES, .rows = rows, .rows_len = ROWS, .columns = 2};
        double                 options[OPTIONS] = {acquisition, 0, NAN, NAN};
        struct problem         problem = {.space = &space, .options = options, .seed = 5, .memory_bytes = 64 << 20};
        static struct proposal proposal;
        struct session        *session;
        memset(seen, 0, sizeof seen);
        found = -INFINITY;
        CU_ASSERT_EQUAL_FATAL(gp()->open(&problem, &session, NULL), STATUS_OK);
        for (uint64_t t = 1; t <= 35; t++) {
            struct ask ask = {.trial = t};
            CU_ASSERT_EQUAL_FATAL(gp()->ask(session, &ask, &proposal, NULL), STATUS_OK);
            CU_ASSERT_FALSE(seen[proposal.row]);
            seen[proposal.row] = true;
            struct event event = {.kind = EVENT_SUGGESTED,
                                  .trial = t,
                                  .row = proposal.row,
                                  .note = proposal.note,
                                  .note_bytes = proposal.note_bytes};
            CU_ASSERT_EQUAL_FATAL(gp()->tell(session, &event, NULL), STATUS_OK);
            event =
                (struct event){.kind = EVENT_OBSERVED, .trial = t, .row = proposal.row, .value = values[proposal.row]};
            CU_ASSERT_EQUAL_FATAL(gp()->tell(session, &event, NULL), STATUS_OK);
            found = fmax(found, event.value);
        }
        CHECK_NEAR(found, best, 0.5);
        CU_ASSERT(gp()->bytes(session) > 0);
        gp()->close(session);
    }
}

CU_TestInfo suite_policy_gp[] = {
    {"replay", test_replay},
    {"ask changes nothing", test_ask_changes_nothing},
    {"any order", test_any_order},
    {"notes", test_notes},
    {"batch", test_batch},
    {"workers", test_workers},
    {"rounds", test_rounds},
    {"workers, repeat", test_workers_repeat},
    {"beats random", test_beats_random},
    {"hostile values", test_hostile_values},
    {"duplicates", test_duplicates},
    {"stddev", test_stddev},
    {"exhausted", test_exhausted},
    {"fixed", test_fixed},
    {"centre", test_centre},
    {"bound first", test_bound_first},
    {"near, then far", test_near_then_far},
    {"a complete search", test_complete_search},
    {"fallbacks", test_fallbacks},
    {"refusals", test_refusals},
    {"subset", test_subset},
    {"candidates", test_candidates},
    CU_TEST_INFO_NULL,
};
