/* The contract of every registered algorithm, over every kind of space it accepts and every value of its choices: replay
 * equality, determinism, bounds, fixed values, no repetition where there is something to repeat, and no harm from hostile
 * values or a small memory limit.  An algorithm added to the registry is tested here with no edit. */
#include "tests/unit/engine/contract_world.h"
#include "engine/policy/session.h"
#include "engine/registry.h"

/* A session opened on the log gives bitwise the proposal of the one that lived through it, note included. */
static void check_replay(struct study *study, uint64_t trial, const struct answer *lived)
{
    const struct world *w = study->world;
    struct answer       answer;
    struct session     *session = begin_session(w);
    for (size_t i = 0; i < study->events_len; i++)
        CU_ASSERT(w->policy->tell(session, &study->events[i], NULL) == STATUS_OK);
    CU_ASSERT(ask_trial(w, session, trial, &answer) == STATUS_OK);
    CU_ASSERT(is_equal(w, &lived->proposal, &answer.proposal));
    CU_ASSERT(ask_trial(w, session, trial, &answer) == STATUS_OK); /* asking changes nothing */
    CU_ASSERT(is_equal(w, &lived->proposal, &answer.proposal));
    session_close(session);
}

/* A message of the session that lived is bitwise that of one opened on the log. */
static void check_message(struct study *study, uint64_t round)
{
    const struct world *w = study->world;
    static double       lived[RECEIVED_MAX], replayed[RECEIVED_MAX];
    if (w->policy->message == NULL || round % 5 != 0)
        return;
    struct session *session = begin_session(w);
    for (size_t i = 0; i < study->events_len; i++)
        CU_ASSERT(w->policy->tell(session, &study->events[i], NULL) == STATUS_OK);
    enum status status = w->policy->message(study->session, round, lived, NULL);
    CU_ASSERT(status == STATUS_OK || status == STATUS_CONFLICT);
    CU_ASSERT(w->policy->message(session, round, replayed, NULL) == status);
    CU_ASSERT(memcmp(lived, replayed, sizeof lived) == 0);
    session_close(session);
}

static void replay_in(struct world *w)
{
    static struct study study;
    struct answer       answer;
    struct rng          rng = rng_at(43, 1, RNG_TEST);
    bool                open[TRIALS + 1] = {false};
    study_open(&study, w);
    for (uint64_t trial = 1; trial <= TRIALS; trial++) {
        if (ask_trial(w, study.session, trial, &answer) != STATUS_OK)
            break;
        check_sound(w, &answer.proposal);
        if (trial < 3 || trial % 4 == 0)
            check_replay(&study, trial, &answer);
        study_suggested(&study, trial, &answer.proposal);
        open[trial] = true;
        if (trial % 3 != 2)
            study_receive(&study, trial - 1);
        study_finish_some(&study, trial, open, &rng);
        check_message(&study, trial);
    }
    CU_ASSERT(session_bytes(study.session) <= w->problem.memory_bytes && session_bytes(study.session) > 0);
    study_close(&study);
}

static void test_replay(void)
{
    for_each_world(replay_in);
}

/* Tells that a trial was stopped at this value, and that it goes on. */
static void pause_trial(struct study *study, uint64_t trial, double value)
{
    struct event event = {.kind = EVENT_OBSERVED,
                          .trial = trial,
                          .point = study->points[trial],
                          .value = value,
                          .sd = 0.25,
                          .is_forecast = true};
    study->events[study->events_len++] = event;
    CU_ASSERT(study->world->policy->tell(study->session, &event, NULL) == STATUS_OK);
}

/* A stopped trial that goes on is pending again, and its forecast leaves no trace: the proposals are those of a study that
 * was never told of it. */
static void resumed_in(struct world *w)
{
    static struct study study, plain;
    struct answer       answer, other;
    bool                stops = w->problem.space->kind == SPACE_PARAMETERS && w->problem.metrics_len == 1;
    if (!stops || w->policy->judge != NULL)
        return;
    study_open(&study, w);
    study_open(&plain, w);
    for (uint64_t trial = 1; trial <= 14 && ask_trial(w, plain.session, trial, &other) == STATUS_OK; trial++) {
        CU_ASSERT(ask_trial(w, study.session, trial, &answer) == STATUS_OK);
        CU_ASSERT(is_equal(w, &answer.proposal, &other.proposal));
        study_suggested(&study, trial, &answer.proposal);
        study_suggested(&plain, trial, &other.proposal);
        if (trial % 3 == 0)
            pause_trial(&study, trial, objective(&study, trial) - 2.385);
        if (trial % 6 == 0 && ask_trial(w, study.session, trial + 1000, &answer) == STATUS_OK)
            check_replay(&study, trial + 1000, &answer);
        if (trial % 3 == 0)
            study_tell(&study, EVENT_SUGGESTED, trial, 0);
        uint64_t done = trial % 3 == 1 ? trial : trial % 6 == 5 ? trial - 2 : 0; /* one of them went on to the end */
        if (done > 0) {
            study_tell(&study, EVENT_OBSERVED, done, objective(&study, done));
            study_tell(&plain, EVENT_OBSERVED, done, objective(&plain, done));
        }
    }
    study_close(&study);
    study_close(&plain);
}

static void test_resumed(void)
{
    for_each_world(resumed_in);
}

/* A proposal that is dropped leaves no trace: the study goes on as if it had never been asked for. */
static void dropped_in(struct world *w)
{
    static struct study study;
    struct answer       answer, dropped;
    study_open(&study, w);
    for (uint64_t trial = 1; trial <= 11; trial++) {
        if (ask_trial(w, study.session, trial, &answer) != STATUS_OK)
            break;
        if (trial % 2 == 0) { /* a value arrives between a dropped proposal and the next */
            ask_trial(w, study.session, trial + 1000, &dropped);
            check_replay(&study, trial, &answer);
        }
        study_suggested(&study, trial, &answer.proposal);
        study_tell(&study, EVENT_OBSERVED, trial, objective(&study, trial));
        if (ask_trial(w, study.session, trial + 2000, &dropped) != STATUS_OK)
            break;
        check_replay(&study, trial + 2000, &dropped);
    }
    study_close(&study);
}

static void test_dropped(void)
{
    for_each_world(dropped_in);
}

/* Same seed, same proposals; another seed, other ones. */
static void seeds_in(struct world *w)
{
    struct answer a, b;
    bool          differ = false;
    for (uint64_t trial = 1; trial <= 6; trial++) {
        struct world    other = *w;
        struct session *session = begin_session(w);
        CU_ASSERT(ask_trial(w, session, trial, &a) == STATUS_OK);
        session_close(session);
        other.problem.seed = 77;
        other.problem.options = other.options;
        session = begin_session(&other);
        CU_ASSERT(ask_trial(&other, session, trial, &b) == STATUS_OK);
        session_close(session);
        differ |= !is_equal(w, &a.proposal, &b.proposal);
        session = begin_session(w);
        CU_ASSERT(ask_trial(w, session, trial, &b) == STATUS_OK);
        CU_ASSERT(is_equal(w, &a.proposal, &b.proposal));
        session_close(session);
    }
    bool earlier_decide = w->problem.earlier_len > 0; /* where all points can be looked at, nothing is left to chance */
    CU_ASSERT(differ || earlier_decide);
}

static void test_seeds(void)
{
    for_each_world(seeds_in);
}

/* Empty history and batches of 1 .. 8 without any result. */
static void batches_in(struct world *w)
{
    for (uint64_t n = 1; n <= 8; n++) {
        static struct study study;
        struct answer       answer;
        study_open(&study, w);
        for (uint64_t trial = 1; trial <= n; trial++) {
            CU_ASSERT(ask_trial(w, study.session, trial, &answer) == STATUS_OK);
            check_sound(w, &answer.proposal);
            study_suggested(&study, trial, &answer.proposal);
        }
        study_tell(&study, EVENT_OBSERVED, n, -3.25);
        CU_ASSERT(ask_trial(w, study.session, n + 1, &answer) == STATUS_OK);
        check_sound(w, &answer.proposal);
        study_close(&study);
    }
}

static void test_batches(void)
{
    for_each_world(batches_in);
}

static bool is_repeated(const struct study *study, uint64_t trial)
{
    bool repeated = false;
    for (uint64_t before = 1; before < trial; before++)
        repeated |= is_candidates(study->world)
                        ? study->rows[before] == study->rows[trial]
                        : memcmp(study->points[before], study->points[trial], sizeof study->points[trial]) == 0;
    return repeated;
}

static bool is_pending_twice(const struct study *study, uint64_t first, uint64_t trial)
{
    bool   on_rows = is_candidates(study->world), twice = false;
    size_t bytes = space_point_len(study->world->problem.space) * sizeof(double);
    for (uint64_t before = first; before < trial; before++)
        twice |= on_rows ? study->rows[before] == study->rows[trial]
                         : memcmp(study->points[before], study->points[trial], bytes) == 0;
    return twice;
}

/* Values that are nothing but noise, and then many workers: no two get the same, unless the space has nothing else.  Left
 * out are random search, which draws twice what has few parameters; graphs, where each goes on from where the one before
 * ends; and images, small ones of which are the same at several sizes. */
static void workers_in(struct world *w)
{
    static struct study study;
    struct answer       answer;
    bool is_random = w->policy == policy_find("random"), is_image = w->problem.space->kind == SPACE_IMAGE;
    for (uint64_t seed = 1; seed <= 2 && !is_random && !is_graph(w) && !is_image; seed++) {
        struct rng rng = rng_at(seed, 0, RNG_TEST);
        study_open(&study, w);
        for (uint64_t trial = 1; trial <= TRIALS && ask_trial(w, study.session, trial, &answer) == STATUS_OK; trial++) {
            study_suggested(&study, trial, &answer.proposal);
            if (trial <= TRIALS / 2)
                study_tell(&study, EVENT_OBSERVED, trial, rng_normal(&rng));
            CU_ASSERT(trial <= TRIALS / 2 || !is_pending_twice(&study, TRIALS / 2 + 1, trial));
        }
        study_close(&study);
    }
}

static void test_workers(void)
{
    for_each_world(workers_in);
}

static bool has_doubts(const struct study *study, uint64_t trial)
{
    double             scales[PARAMS_MAX];
    struct answer      told = {.proposal.point = told.point};
    struct diagnostics d = {.length_scales = scales};
    const struct ask   ask = {.trial = trial, .diagnostics = &d};
    return study->world->policy->ask(study->session, &ask, &told.proposal, NULL) == STATUS_OK && d.kernel != NULL &&
           d.doubted > 0;
}

/* The best point is a corner, and its value is exact: once it is known no trial is wasted on it again, unless it lies so far above
 * all others that it is in doubt: then one is. */
static void corner_in(struct world *w)
{
    static struct study study;
    struct answer       answer;
    const struct space *space = w->problem.space;
    size_t              repeats = 0;
    if (space->kind != SPACE_PARAMETERS || space_count(space) < SIZE_MAX || w->problem.metrics_len > 1)
        return;
    study_open(&study, w);
    for (uint64_t trial = 1; trial <= TRIALS && ask_trial(w, study.session, trial, &answer) == STATUS_OK; trial++) {
        double u[16], sum = 0;
        check_sound(w, &answer.proposal);
        study_suggested(&study, trial, &answer.proposal);
        bool is_again = is_repeated(&study, trial);
        CU_ASSERT(!is_again || (repeats == 0 && has_doubts(&study, trial)));
        repeats += is_again;
        space_encode(space, study.points[trial], u);
        for (size_t j = 0; j < space->dims; j++)
            sum += u[j];
        study_tell(&study, EVENT_OBSERVED, trial, sum);
    }
    study_close(&study);
}

static void test_corner(void)
{
    for_each_world(corner_in);
}

/* A finite parameter space is used up without repetition, then exhausted; so are candidates where the record says. */
static void exhaustion_in(struct world *w)
{
    static struct study study;
    struct answer       answer;
    size_t              points = space_count(w->problem.space), limit = points < TRIALS ? points : TRIALS;
    bool                must_differ = is_candidates(w) ? w->policy->uses_each_row_once : points < TRIALS;
    if (!must_differ)
        return;
    study_open(&study, w);
    for (uint64_t trial = 1; trial <= limit; trial++) {
        CU_ASSERT_FATAL(ask_trial(w, study.session, trial, &answer) == STATUS_OK);
        study_suggested(&study, trial, &answer.proposal);
        CU_ASSERT(!is_repeated(&study, trial));
        if (trial % 3 != 0)
            study_tell(&study, EVENT_OBSERVED, trial, objective(&study, trial));
    }
    if (points <= TRIALS)
        CU_ASSERT(ask_trial(w, study.session, limit + 1, &answer) == STATUS_CONFLICT);
    study_close(&study);
}

static void test_exhaustion(void)
{
    for_each_world(exhaustion_in);
}

/* Values no model likes, 50 equal ones among them: proposals stay sound and replay. */
static void hostile_in(struct world *w)
{
    w->is_hostile = true;
    static const double values[] = {1e300, 1e-300, -1e300, 1.7e308, -1.7e308, 5e-324, 0, 2.5};
    for (int set = 0; set < 3; set++) {
        static struct study study;
        struct answer       answer;
        study_open(&study, w);
        for (uint64_t trial = 1; trial < TRIALS; trial++) {
            if (ask_trial(w, study.session, trial, &answer) != STATUS_OK)
                break;
            check_sound(w, &answer.proposal);
            study_suggested(&study, trial, &answer.proposal);
            double value = set == 0 ? values[trial % 8] : set == 1 ? -7.25 : 1e-300 * (double)trial;
            study_tell(&study, EVENT_OBSERVED, trial, value);
            for (int again = 0; set == 1 && again < 2 && study.events_len + 1 < EVENTS_MAX; again++)
                study_tell(&study, EVENT_OBSERVED, trial, value); /* the same point, the same value */
            if (trial == 7 || trial == 19)
                if (ask_trial(w, study.session, trial + 1, &answer) == STATUS_OK)
                    check_replay(&study, trial + 1, &answer);
        }
        study_close(&study);
    }
}

static void test_hostile(void)
{
    for_each_world(hostile_in);
}

/* Any limit gives a working session, a proposal that says why it has no model, or NO_MEMORY. */
static void memory_in(struct world *w)
{
    size_t refused = 0, worked = 0;
    for (size_t bytes = 100; bytes < 4000000; bytes *= 2) {
        struct world    small = *w;
        struct session *session = NULL;
        struct error    err = {0};
        static double   points[TRIALS][PARAMS_MAX];
        small.problem.memory_bytes = bytes;
        small.problem.options = small.options;
        enum status status = session_open(w->policy, &small.problem, &session, &err);
        CU_ASSERT((session == NULL) == (status != STATUS_OK));
        for (uint64_t trial = 1; trial < TRIALS && status == STATUS_OK; trial++) {
            static struct proposal p;
            p.point = points[trial];
            status = w->policy->ask(session, &(struct ask){.trial = trial}, &p, &err);
            if (status != STATUS_OK)
                break;
            check_sound(&small, &p);
            struct event event = {.kind = EVENT_SUGGESTED,
                                  .trial = trial,
                                  .row = p.row,
                                  .note = p.note,
                                  .note_bytes = p.note_bytes,
                                  .point = is_candidates(w) ? NULL : p.point};
            status = w->policy->tell(session, &event, &err);
            event = (struct event){.kind = EVENT_OBSERVED,
                                   .trial = trial,
                                   .row = p.row,
                                   .point = event.point,
                                   .value = cos((double)trial)};
            if (status == STATUS_OK)
                status = w->policy->tell(session, &event, &err);
        }
        CU_ASSERT(status == STATUS_OK || status == STATUS_NO_MEMORY || status == STATUS_CONFLICT);
        CU_ASSERT(session == NULL || session_bytes(session) <= bytes);
        refused += status == STATUS_NO_MEMORY;
        worked += status != STATUS_NO_MEMORY;
        session_close(session);
    }
    CU_ASSERT(refused > 0 && worked > 0);
}

static void test_memory(void)
{
    for_each_world(memory_in);
    session_close(NULL);
}

/* Some of the space's fixed values, as a client may fix them: what does not exist given the others is left free. */
static void choose_fixed(const struct space *space, uint64_t trial, double *fixed)
{
    for (size_t j = 0; j < space->params_len; j++) {
        fixed[j] = (trial + j) % 3 != 1 ? fixed_values[space - spaces][j] : NAN;
        if (!space_is_active(space, fixed, j))
            fixed[j] = NAN;
    }
}

/* Fixed values come back unchanged, before and after the model has data. */
static void fixed_in(struct world *w)
{
    static struct study study;
    const struct space *space = w->problem.space;
    if (space->kind != SPACE_PARAMETERS)
        return;
    study_open(&study, w);
    for (uint64_t trial = 1; trial <= 10; trial++) {
        double        fixed[PARAMS_MAX];
        struct answer answer;
        choose_fixed(space, trial, fixed);
        memset(&answer, 0, sizeof answer);
        answer.proposal.point = answer.point;
        enum status status =
            w->policy->ask(study.session, &(struct ask){.trial = trial, .fixed = fixed}, &answer.proposal, NULL);
        CU_ASSERT(status == STATUS_OK || (status == STATUS_CONFLICT && space_count(space) < 20));
        if (status != STATUS_OK)
            continue;
        CU_ASSERT(space_has(space, answer.point) && answer.proposal.fallback == NULL);
        for (size_t j = 0; j < space->params_len; j++)
            CU_ASSERT(isnan(fixed[j]) || answer.point[j] == fixed[j]);
        study_suggested(&study, trial, &answer.proposal);
        study_tell(&study, EVENT_OBSERVED, trial, objective(&study, trial));
    }
    study_close(&study);
}

static void test_fixed(void)
{
    for_each_world(fixed_in);
}

/* predict answers with finite numbers, twice the same, and the next proposal does not notice. */
static void predict_in(struct world *w)
{
    static struct study study;
    struct answer       answer;
    const struct space *space = w->problem.space;
    if (w->policy->predict == NULL)
        return;
    study_open(&study, w);
    for (uint64_t trial = 1; trial <= 9; trial++) {
        double       points[3 * PARAMS_MAX], mean[3], sd[3], mean_again[3], sd_again[3];
        size_t       rows[3] = {trial, 59, 0};
        struct error err = {0};
        for (size_t i = 0; i < 3 && space->kind == SPACE_PARAMETERS; i++) {
            const double v[PARAMS_MAX] = {0.1 * (double)trial, 0.3 * (double)i, 0.77, 0.5};
            space_quantile(space, v, points + i * space->params_len);
        }
        if (trial == 1) {
            enum status status = w->policy->predict(
                study.session, &(struct prediction){.points = points, .rows = rows, .m = 3, .mean = mean, .sd = sd},
                &err);
            bool knows = is_graph(w) && space->graph->prior_len > 0;
            CU_ASSERT(knows ? status == STATUS_OK
                            : status == STATUS_CONFLICT && strcmp(err.code, "no_observations") == 0);
            ask_trial(w, study.session, trial, &answer);
            study_suggested(&study, trial, &answer.proposal);
            study_tell(&study, EVENT_OBSERVED, trial, objective(&study, trial));
            continue;
        }
        CU_ASSERT(
            w->policy->predict(study.session,
                               &(struct prediction){.points = points, .rows = rows, .m = 3, .mean = mean, .sd = sd},
                               NULL) == STATUS_OK);
        if (ask_trial(w, study.session, trial, &answer) != STATUS_OK)
            break;
        CU_ASSERT(w->policy->predict(
                      study.session,
                      &(struct prediction){.points = points, .rows = rows, .m = 3, .mean = mean_again, .sd = sd_again},
                      NULL) == STATUS_OK);
        for (size_t i = 0; i < 3; i++)
            CU_ASSERT(isfinite(mean[i]) && sd[i] >= 0 && isfinite(sd[i]));
        CU_ASSERT(memcmp(mean, mean_again, sizeof mean) == 0 && memcmp(sd, sd_again, sizeof sd) == 0);
        CU_ASSERT(w->policy->predict(study.session,
                                     &(struct prediction){.points = points, .rows = rows, .m = 3, .mean = mean_again},
                                     NULL) == STATUS_OK);
        CU_ASSERT(memcmp(mean, mean_again, sizeof mean) == 0);
        check_replay(&study, trial, &answer); /* the replay has not predicted */
        study_suggested(&study, trial, &answer.proposal);
        if (trial % 4 != 0)
            study_tell(&study, EVENT_OBSERVED, trial, objective(&study, trial));
    }
    study_close(&study);
}

static void test_predict(void)
{
    for_each_world(predict_in);
}

static bool always(void *arg)
{
    (void)arg;
    return true;
}

/* Residuals are finite, by trial, as often as trials have values, twice the same, and unseen by the next proposal. */
static void residuals_in(struct world *w)
{
    static struct study study;
    struct answer       answer;
    struct error        err = {0};
    struct residual    *a, *b;
    size_t              len, again, told = 0;
    struct arena        arena;
    CU_ASSERT(is_graph(w) || (w->policy->residuals == NULL) == (w->policy->predict == NULL));
    if (w->policy->residuals == NULL)
        return;
    arena_init(&arena, 1 << 22);
    study_open(&study, w);
    CU_ASSERT(w->policy->residuals(study.session, NULL, &arena, &a, &len, &err) == STATUS_CONFLICT);
    CU_ASSERT(strcmp(err.code, "no_observations") == 0);
    for (uint64_t trial = 1; trial <= 11 && ask_trial(w, study.session, trial, &answer) == STATUS_OK; trial++) {
        study_suggested(&study, trial, &answer.proposal);
        study_tell(&study,
                   trial % 4 == 0   ? EVENT_FAILED
                   : trial % 5 == 0 ? EVENT_INFEASIBLE
                                    : EVENT_OBSERVED,
                   trial, objective(&study, trial));
        told += trial % 4 != 0 && trial % 5 != 0;
        CU_ASSERT(w->policy->residuals(study.session, &(struct ask){.late = always}, &arena, &a, &len, &err) ==
                  STATUS_BUSY);
        CU_ASSERT(w->policy->residuals(study.session, NULL, &arena, &a, &len, NULL) == STATUS_OK);
        CU_ASSERT(w->policy->residuals(study.session, NULL, &arena, &b, &again, NULL) == STATUS_OK);
        CU_ASSERT_EQUAL_FATAL(len, told);
        CU_ASSERT(again == len && memcmp(a, b, len * sizeof *a) == 0);
        for (size_t i = 0; i < len; i++) {
            CU_ASSERT(i == 0 || a[i].trial > a[i - 1].trial);
            CU_ASSERT(a[i].value == objective(&study, a[i].trial));
            CU_ASSERT(isfinite(a[i].mean) && isfinite(a[i].z) && isfinite(a[i].log_density) && a[i].sd > 0);
        }
        if (ask_trial(w, study.session, trial + 1, &answer) == STATUS_OK)
            check_replay(&study, trial + 1, &answer);
    }
    study_close(&study);
    arena_fini(&arena);
}

static void test_residuals(void)
{
    for_each_world(residuals_in);
}

static double ticks(void)
{
    static double now;
    return now += 2.385;
}

/* Asking for diagnostics changes nothing; they are there exactly when the model spoke, and are themselves repeatable. */
static void diagnostics_in(struct world *w)
{
    static struct study study;
    struct answer       plain, told;
    study_open(&study, w);
    for (uint64_t trial = 1; trial <= 14 && ask_trial(w, study.session, trial, &plain) == STATUS_OK; trial++) {
        double             scales[PARAMS_MAX] = {0}, again[PARAMS_MAX] = {0};
        struct diagnostics d = {.length_scales = scales}, e = {.length_scales = again};
        struct ask         ask = {.trial = trial, .diagnostics = &d, .clock_ms = ticks};
        memset(&told, 0, sizeof told);
        told.proposal.point = told.point;
        CU_ASSERT(w->policy->ask(study.session, &ask, &told.proposal, NULL) == STATUS_OK);
        CU_ASSERT(is_equal(w, &plain.proposal, &told.proposal));
        CU_ASSERT_EQUAL(d.acquisition == NULL, isnan(told.proposal.mean));
        ask.diagnostics = &e;
        ask.clock_ms = NULL;
        CU_ASSERT(w->policy->ask(study.session, &ask, &told.proposal, NULL) == STATUS_OK);
        study_suggested(&study, trial, &told.proposal);
        study_tell(&study, EVENT_OBSERVED, trial, objective(&study, trial));
        if (d.acquisition == NULL)
            continue;
        size_t lengths = w->problem.space->kind == SPACE_PARAMETERS ? w->problem.space->params_len
                         : is_graph(w)                              ? w->problem.space->graph->dims
                                                                    : 1;
        for (size_t i = 0; i < lengths; i++)
            CU_ASSERT(scales[i] > 0 && isfinite(scales[i]));
        CU_ASSERT(d.signal_variance > 0 && d.noise_variance >= 0 && d.jitter >= 0 && d.condition >= 1);
        CU_ASSERT(isfinite(d.condition) && isfinite(d.acquisition_value) && isnan(e.fit_ms));
        CU_ASSERT(isnan(d.fit_ms) || fabs(d.fit_ms - 2.385) < 1e-9);
        bool is_fit = told.proposal.note_bytes > 0 && w->policy->read_transfer == NULL; /* a note is a fit */
        CU_ASSERT(!is_fit || !isnan(d.fit_ms));
        CU_ASSERT(memcmp(scales, again, sizeof scales) == 0 && d.acquisition == e.acquisition);
        CU_ASSERT(d.acquisition_value == e.acquisition_value && d.condition == e.condition);
    }
    study_close(&study);
}

static void test_diagnostics(void)
{
    for_each_world(diagnostics_in);
}

static bool after_some(void *polls)
{
    return --*(int *)polls < 0;
}

/* Whenever the deadline strikes, there is a sound proposal. */
static void deadline_in(struct world *w)
{
    static struct study study;
    struct answer       answer;
    study_open(&study, w);
    for (uint64_t trial = 1; trial <= 12; trial++) {
        int polls = (int)(trial * trial) % 23;
        memset(&answer, 0, sizeof answer);
        answer.proposal.point = answer.point;
        struct ask ask = {.trial = trial, .late = after_some, .late_arg = &polls};
        if (w->policy->ask(study.session, &ask, &answer.proposal, NULL) != STATUS_OK)
            break;
        check_sound(w, &answer.proposal);
        study_suggested(&study, trial, &answer.proposal);
        study_tell(&study, EVENT_OBSERVED, trial, objective(&study, trial));
        if (ask_trial(w, study.session, trial + 1, &answer) != STATUS_OK)
            break;
        check_replay(&study, trial + 1, &answer);
    }
    study_close(&study);
}

static void test_deadline(void)
{
    for_each_world(deadline_in);
}

/* Names, option tables and functions of the records. */
static void test_records(void)
{
    size_t                      count;
    const struct policy *const *list = policy_list(&count);
    CU_ASSERT(count >= 4 && policy_find("no-such-policy") == NULL);
    for (size_t i = 0; i < count; i++) {
        const struct policy *p = list[i];
        CU_ASSERT(policy_find(p->name) == p && p->help != NULL && p->spaces != 0);
        CU_ASSERT(p->begin != NULL && p->tell != NULL && p->ask != NULL &&
                  (p->end == NULL) == (p->bytes_beside == NULL));
        CU_ASSERT(p->session_bytes >= sizeof(struct session_base));
        CU_ASSERT(policy_option(p, "no-such-option") == -1);
        CU_ASSERT((p->judge == NULL) == (p->epochs == NULL));
        for (int o = 0; p->options[o].name != NULL; o++) {
            const struct option *option = &p->options[o];
            CU_ASSERT_FATAL(o < OPTIONS_MAX);
            CU_ASSERT(policy_option(p, option->name) == o && option->help != NULL);
            CU_ASSERT(option->kind == OPTION_CHOICE ? choices_count(option) > 1 : option->min < option->max);
            CU_ASSERT(!option->required || isnan(option->fallback));
            CU_ASSERT(isnan(option->fallback) || option->kind == OPTION_CHOICE ||
                      (option->fallback >= option->min && option->fallback <= option->max));
        }
    }
}

/* Rows of candidates come once, whatever the algorithm. */
static void test_repeat(void)
{
    size_t                      count, refused = 0;
    const struct policy *const *list = policy_list(&count);
    struct arena                arena;
    spaces_init(&arena);
    for (size_t i = 0; i < count; i++)
        for (size_t space = 0; space < SPACES; space++) {
            struct world w;
            struct error err = {0};
            int          repeat = policy_option(list[i], "repeat");
            if (repeat < 0 || !world_init(&w, list[i], space, repeat, 1, 1)) {
                bool is_refusal = repeat >= 0 && (list[i]->spaces & spaces[space].kind & SPACE_CANDIDATES) != 0;
                refused += is_refusal;
                CU_ASSERT(!is_refusal || (policy_check(list[i], &w.problem, &err) == STATUS_INVALID &&
                                          strcmp(err.path, "/algorithm/repeat") == 0));
                continue;
            }
            CU_ASSERT(spaces[space].kind == SPACE_PARAMETERS);
        }
    CU_ASSERT(refused >= 7);
    arena_fini(&arena);
}

CU_TestInfo suite_contract[] = {
    {"records", test_records},
    {"repeat", test_repeat},
    {"replay", test_replay},
    {"dropped proposals", test_dropped},
    {"a stopped trial goes on", test_resumed},
    {"seeds", test_seeds},
    {"batches", test_batches},
    {"workers", test_workers},
    {"a corner is measured once", test_corner},
    {"exhaustion", test_exhaustion},
    {"hostile values", test_hostile},
    {"small memory", test_memory},
    {"fixed values", test_fixed},
    {"predict", test_predict},
    {"residuals", test_residuals},
    {"diagnostics", test_diagnostics},
    {"deadline", test_deadline},
    CU_TEST_INFO_NULL,
};
