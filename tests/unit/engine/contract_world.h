/* The cases of the contract: each algorithm over each space with each choice, and a study with its log that can be lived
 * through or replayed.  For contract.c alone, which includes it once. */
#ifndef GNOMON_TESTS_CONTRACT_WORLD_H
#define GNOMON_TESTS_CONTRACT_WORLD_H

#include "engine/policy/session.h"
#include "engine/registry.h"
#include "engine/math/rng.h"
#include "tests/unit/engine/contract_spaces.h"
#include "tests/unit/engine/suites.h"
#include "tests/unit/thorough.h"
#include <CUnit/TestRun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- problems --- */

struct world {
    const struct policy *policy;
    struct problem       problem;
    double               options[OPTIONS_MAX];
    bool                 is_hostile; /* values that a model may fail on */
};

/* Points at random quantiles, so of every kind that there is; after spaces_init. */
static void earlier_studies_init(void)
{
    struct rng rng = rng_at(43, 1, RNG_TEST);
    for (size_t space = 0; space < SPACES; space++)
        for (size_t i = 0; i < EARLIER_STUDIES; i++) {
            bool on_rows = spaces[space].kind == SPACE_CANDIDATES;
            for (size_t j = 0; j < EARLIER_VALUES; j++) {
                double v[PARAMS_MAX];
                for (size_t k = 0; k < PARAMS_MAX; k++)
                    v[k] = rng_uniform(&rng);
                if (!on_rows)
                    (void)space_quantile(&spaces[space], v, earlier_points[space][i] + j * spaces[space].params_len);
                earlier_rows[i][j] = rng_below(&rng, ROWS);
                earlier_values[i][j] = i == 1 ? -2.385 : sin(3.0 * (double)(j + i)) + 11.5;
            }
            earlier_studies[space][i] = (struct earlier_study){.name = "earlier",
                                                               .points = on_rows ? NULL : earlier_points[space][i],
                                                               .rows = on_rows ? earlier_rows[i] : NULL,
                                                               .values = earlier_values[i],
                                                               .n = EARLIER_VALUES - i};
        }
}

/* The arena of the spaces: *arena is empty before. */
static void spaces_init(struct arena *arena)
{
    struct rng rng = rng_at(41, 1, RNG_TEST);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        candidate_rows[i] = 5 * rng_uniform(&rng);
    arena_init(arena, 1 << 20);
    for (size_t i = 0; i < SPACES; i++) {
        CU_ASSERT_FATAL(space_init(&spaces[i], NULL) == STATUS_OK);
        CU_ASSERT_FATAL(space_hold(&spaces[i], NULL, arena, &spaces[i], NULL) == STATUS_OK);
    }
    earlier_studies_init();
}

static const enum metric_kind metrics[] = {METRIC_OBJECTIVE, METRIC_CONSTRAINT, METRIC_OBJECTIVE};
enum { METRICS = sizeof metrics / sizeof metrics[0] };

static bool is_graph(const struct world *w)
{
    return w->problem.space->kind == SPACE_GRAPH;
}

/* Plans ahead are kept small, and know the field where there is nothing to estimate it from. */
static void world_shorten(struct world *w)
{
    static const struct {
        const char *name;
        double      value;
        bool        is_field;
    } rows[] = {{"samples", 12, false},         {"nodes", 500, false},           {"length_scale", 1.385, true},
                {"signal_variance", 2.5, true}, {"noise_variance", 0.015, true}, {"mean", 0.25, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int option = policy_option(w->policy, rows[i].name);
        if (option >= 0 && is_graph(w) && (!rows[i].is_field || w->problem.space->graph->prior_len == 0))
            w->options[option] = rows[i].value;
    }
}

/* The default options; choice option number which (or none) has its k-th value; the first of the metrics. */
static bool world_init(struct world *w, const struct policy *policy, size_t space, int which, int k, size_t metrics_len)
{
    *w = (struct world){.policy = policy};
    for (int i = 0; policy->options[i].name != NULL; i++)
        w->options[i] = i == which                    ? k
                        : policy->options[i].required ? fmax(policy->options[i].min, 20)
                                                      : policy->options[i].fallback;
    w->problem = (struct problem){.space = &spaces[space], .seed = 2385, .memory_bytes = 1 << 26};
    w->problem.options = w->options;
    w->problem.metrics = metrics;
    w->problem.metrics_len = metrics_len;
    w->problem.earlier = earlier_studies[space];
    w->problem.earlier_len = policy->read_transfer == NULL ? 0 : EARLIER_STUDIES;
    world_shorten(w);
    bool accepts = ((metrics_len > 1 ? policy->several_metrics : policy->spaces) & spaces[space].kind) != 0;
    return accepts && policy_check(policy, &w->problem, NULL) == STATUS_OK;
}

static int choices_count(const struct option *option)
{
    int count = 0;
    while (option->kind == OPTION_CHOICE && option->choices[count] != NULL)
        count++;
    return count;
}

/* Says where a test failed, which an assertion cannot. */
static void run_in(struct world *w, void (*test)(struct world *), const struct option *option, int k)
{
    unsigned before = CU_get_number_of_failures();
    test(w);
    if (CU_get_number_of_failures() != before)
        printf("\n  %s in space %d, %zu metrics, %s=%s\n", w->policy->name, (int)(w->problem.space - spaces),
               w->problem.metrics_len, option == NULL ? "default" : option->name,
               option == NULL ? "" : option->choices[k]);
}

/* Choice k of an option is tried over the first space of each kind that it is for; those of the algorithms that learn from
 * earlier studies, which share most of what they do, over candidates only. */
static bool tries_choice(struct world *w, const struct policy *policy, size_t space, int option, int k)
{
    if (policy->read_transfer != NULL && spaces[space].kind != SPACE_CANDIDATES)
        return false;
    for (size_t first = 0; first < space; first++)
        if (spaces[first].kind == spaces[space].kind && world_init(w, policy, first, option, k, 1))
            return false;
    return world_init(w, policy, space, option, k, 1);
}

/* The cases of the short form: the default choices over spaces where a search is quick, and over the box those that learn
 * nothing from earlier studies.  Every policy, and every kind of space, is among them. */
static bool is_small(const struct policy *policy, size_t space)
{
    bool is_quick = spaces[space].kind != SPACE_PARAMETERS || space_count(&spaces[space]) < 100;
    return is_quick || (space == 0 && policy->read_transfer == NULL);
}

/* Calls test for every policy and space, and every value of every choice; and once more without earlier studies.  With
 * POLICIES=K/N in the environment the long form takes the N-th policies, from the K-th on. */
static void for_each_world(void (*test)(struct world *))
{
    size_t                      count;
    const struct policy *const *list = policy_list(&count);
    int                         tested = 0;
    struct arena                arena;
    spaces_init(&arena);
    size_t      part = 0, of = 1;
    const char *asked = getenv("POLICIES");
    CU_ASSERT_FATAL(!thorough || asked == NULL || sscanf(asked, "%zu/%zu", &part, &of) == 2);
    for (size_t i = part % of; i < count; i += of)
        for (size_t space = 0; space < SPACES; space++) {
            struct world w;
            if (!thorough && !is_small(list[i], space))
                continue;
            bool learns = world_init(&w, list[i], space, -1, 0, 1) && w.problem.earlier_len > 0;
            w.problem.earlier_len = 0;
            if (learns && (space == 0 || spaces[space].kind == SPACE_CANDIDATES))
                run_in(&w, test, NULL, 0), tested++;
            for (size_t len = 1; len <= METRICS; len++)
                if (world_init(&w, list[i], space, -1, 0, len))
                    run_in(&w, test, NULL, 0), tested++;
            for (int o = 0; thorough && list[i]->options[o].name != NULL; o++)
                for (int k = 0; k < choices_count(&list[i]->options[o]); k++)
                    if (k != (int)list[i]->options[o].fallback && tries_choice(&w, list[i], space, o, k))
                        run_in(&w, test, &list[i]->options[o], k);
        }
    CU_ASSERT(tested >= (thorough ? 3 : 1) * (SPACES - 1) / (int)of);
    arena_fini(&arena);
}

/* --- a study with its log --- */

enum { RECEIVED_MAX = 128 };

struct study {
    struct world   *world;
    struct session *session;
    struct event    events[EVENTS_MAX];
    double          values[EVENTS_MAX][2 * METRICS]; /* of the events */
    double          points[TRIALS + 2][PARAMS_MAX];  /* of trial number [i] */
    size_t          rows[TRIALS + 2];
    unsigned char  *notes[TRIALS + 2];
    double          received[TRIALS][RECEIVED_MAX];
    size_t          events_len;
};

static struct session *begin_session(const struct world *w)
{
    struct session *session = NULL;
    CU_ASSERT_FATAL(session_open(w->policy, &w->problem, &session, NULL) == STATUS_OK);
    return session;
}

static bool is_candidates(const struct world *w)
{
    return w->problem.space->kind == SPACE_CANDIDATES;
}

static void study_open(struct study *study, struct world *w)
{
    memset(study, 0, sizeof *study);
    study->world = w;
    study->session = begin_session(w);
}

static void study_close(struct study *study)
{
    for (size_t i = 0; i < sizeof study->notes / sizeof study->notes[0]; i++)
        free(study->notes[i]);
    session_close(study->session);
}

static void study_tell(struct study *study, enum event_kind kind, uint64_t trial, double value)
{
    struct event event = {.kind = kind,
                          .trial = trial,
                          .value = value,
                          .row = study->rows[trial],
                          .point = is_candidates(study->world) ? NULL : study->points[trial]};
    double      *values = study->values[study->events_len];
    values[0] = value;
    values[1] = sin(3.0 * (double)trial) + 0.25;
    values[2] = cos(5.0 * (double)trial) - value / 2.0;
    if (study->world->problem.metrics_len > 1)
        event.values = values;
    if (is_graph(study->world) && kind == EVENT_OBSERVED) { /* by site; sometimes not all are reached */
        size_t reached = trial % 3 == 0 ? 1 : study->world->problem.space->graph->steps;
        for (size_t i = 0; i < 2 * METRICS; i++)
            values[i] = i < reached ? value * (1 + 0.125 * (double)i) : NAN;
        event.values = values;
    }
    study->events[study->events_len++] = event;
    CU_ASSERT(study->world->policy->tell(study->session, &event, NULL) == STATUS_OK);
}

static void study_suggested(struct study *study, uint64_t trial, const struct proposal *p)
{
    if (is_candidates(study->world))
        study->rows[trial] = p->row;
    else
        memcpy(study->points[trial], p->point, space_point_len(study->world->problem.space) * sizeof *p->point);
    if (p->note_bytes > 0) {
        study->notes[trial] = malloc(p->note_bytes);
        CU_ASSERT_FATAL(study->notes[trial] != NULL);
        memcpy(study->notes[trial], p->note, p->note_bytes);
    }
    struct event event = {.kind = EVENT_SUGGESTED,
                          .trial = trial,
                          .row = study->rows[trial],
                          .point = is_candidates(study->world) ? NULL : study->points[trial],
                          .note = study->notes[trial],
                          .note_bytes = p->note_bytes};
    study->events[study->events_len++] = event;
    CU_ASSERT(study->world->policy->tell(study->session, &event, NULL) == STATUS_OK);
}

/* Where values are benign, and memory and time enough, the model speaks or was not asked: a fallback would hide that it
 * cannot, for it is a sound point as well.
 * A proposal with its own storage, filled with a pattern: what is not written stays recognisable. */
struct answer {
    struct proposal proposal;
    double          point[PARAMS_MAX];
};

static enum status ask_trial(const struct world *w, struct session *session, uint64_t trial, struct answer *a)
{
    memset(a, 0x5A, sizeof *a);
    a->proposal.point = a->point;
    struct error err = {0};
    enum status  status = w->policy->ask(session, &(struct ask){.trial = trial}, &a->proposal, &err);
    CU_ASSERT(status == STATUS_OK || strcmp(err.code, "search_space_exhausted") == 0);
    CU_ASSERT(status != STATUS_OK || w->is_hostile || a->proposal.fallback == NULL);
    return status;
}

static void check_sound(const struct world *w, const struct proposal *p)
{
    const struct space *space = w->problem.space;
    if (is_graph(w)) { /* whole, and each site next to the one before */
        size_t len = graph_point_steps(p->point, space_point_len(space));
        CU_ASSERT(len == space->graph->steps);
        CU_ASSERT(graph_allows(space->graph, (size_t)p->point[0], p->point + 1, len - 1));
    } else {
        CU_ASSERT(is_candidates(w) ? p->row < space->rows_len : space_has(space, p->point));
    }
    CU_ASSERT(p->note_bytes <= POLICY_NOTE_MAX);
    CU_ASSERT(isnan(p->mean) == isnan(p->sd));
    CU_ASSERT(isnan(p->sd) || (p->sd >= 0 && isfinite(p->sd) && isfinite(p->mean)));
    CU_ASSERT(p->fallback == NULL || strcmp(p->fallback, "numerical") == 0 || strcmp(p->fallback, "deadline") == 0 ||
              strcmp(p->fallback, "memory") == 0);
}

static bool is_equal(const struct world *w, const struct proposal *a, const struct proposal *b)
{
    bool same_place = is_candidates(w)
                          ? a->row == b->row
                          : memcmp(a->point, b->point, space_point_len(w->problem.space) * sizeof *a->point) == 0;
    bool same_numbers = memcmp(&a->mean, &b->mean, sizeof a->mean) == 0 && memcmp(&a->sd, &b->sd, sizeof a->sd) == 0 &&
                        a->observations == b->observations;
    bool same_note = a->note_bytes == b->note_bytes && memcmp(a->note, b->note, a->note_bytes) == 0;
    bool same_reason = (a->fallback == NULL) == (b->fallback == NULL) &&
                       (a->fallback == NULL || strcmp(a->fallback, b->fallback) == 0);
    return same_place && same_numbers && same_note && same_reason;
}

/* Some function of the point with a bit of structure. */
static double objective(const struct study *study, uint64_t trial)
{
    const struct space *space = study->world->problem.space;
    double              u[16], sum = 0;
    if (is_candidates(study->world))
        return sin(candidate_rows[study->rows[trial] * COLUMNS]) + candidate_rows[study->rows[trial] * COLUMNS + 1];
    for (size_t j = 0; j < space_point_len(space) && space->kind == SPACE_IMAGE; j++)
        sum -= pow(study->points[trial][j] - 0.125 * (double)j, 2);
    if (is_graph(study->world))
        return sin(study->points[trial][0]) + 0.03125 * study->points[trial][1];
    space_encode(space, study->points[trial], u);
    for (size_t j = 0; j < space->dims; j++)
        sum -= pow(u[j] - 0.3 * (double)(j + 1), 2);
    return 12.5 + sum;
}

/* Tells an agent of a federation a message or broadcast of its length, with some structure. */
static void study_receive(struct study *study, uint64_t round)
{
    const struct world *w = study->world;
    if (w->policy->message == NULL)
        return;
    int    regions = policy_option(w->policy, "regions");
    size_t features = (size_t)w->options[policy_option(w->policy, "features")];
    size_t len = features * (regions < 0 ? 1 : (size_t)w->options[regions]);
    CU_ASSERT_FATAL(len <= RECEIVED_MAX && round < TRIALS);
    for (size_t i = 0; i < len; i++)
        study->received[round][i] = sin((double)(i * round) + 0.25);
    struct event event = {.kind = EVENT_RECEIVED,
                          .round = round,
                          .sender = round % 3,
                          .vectors = study->received[round],
                          .vectors_len = len};
    study->events[study->events_len++] = event;
    CU_ASSERT(w->policy->tell(study->session, &event, NULL) == STATUS_OK);
}

/* Finishes trials as the dice say: out of order, some failed, infeasible or abandoned, some never. */
static void study_finish_some(struct study *study, uint64_t newest, bool *open, struct rng *rng)
{
    for (uint64_t trial = 1; trial <= newest; trial++) {
        size_t dice = rng_below(rng, 100);
        if (!open[trial] || dice >= 60 || trial % 11 == 7)
            continue;
        open[trial] = false;
        enum event_kind kind = dice < 46   ? EVENT_OBSERVED
                               : dice < 51 ? EVENT_FAILED
                               : dice < 56 ? EVENT_INFEASIBLE
                                           : EVENT_ABANDONED;
        study_tell(study, kind, trial, kind == EVENT_OBSERVED ? objective(study, trial) : 0);
    }
}

#endif
