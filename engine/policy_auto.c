/* The algorithm auto: which algorithm of ours proposes a trial is read from one table, by the space, the metrics and the trial's
 * number.  So it needs no state, and a replay finds the same one.  Every algorithm whose turn may come is told of everything; of the
 * trials before its turn as of points that came with their results. */
#include "engine/policy/session.h"

enum { SHARE = 8 /* of the memory, for each algorithm but the first, and for what is here */ };

enum { REPEAT };
static const struct option options[] = {
    [REPEAT] = {.name = "repeat", .kind = OPTION_BOOL, .max = 1, .help = POLICY_REPEAT_HELP},
    {.name = NULL},
};

/* An algorithm's turn comes after so many trials, and so many for each number that a point has in the unit cube (dims).  The first
 * row is for every problem; the others are for one metric, and parameters without a context that have such numbers of dims. */
extern const struct policy policy_gp, policy_turbo, policy_cma_es;
static const struct stage {
    const struct policy *policy;
    const char          *why;
    size_t               dims_min, dims_max;
    uint64_t             after, each;
    bool is_far; /* from the best trial with the whole of the first step: many end in a basin that is not the best */
} stages[] = {
    {&policy_gp, "from few trials a model of the whole space learns most", 0, SIZE_MAX, 0, 0, false},
    {&policy_turbo, "with 30 numbers to choose and more, a model around the best trials finds more", 30, SIZE_MAX, 0, 0,
     false},
    {&policy_cma_es, "with five numbers to choose or fewer, its turn comes after 250 trials", 1, 5, 250, 0, false},
    {&policy_cma_es, "with 6 to 12 numbers to choose, its turn comes after 300 trials", 6, 12, 300, 0, true},
    {&policy_cma_es, "its turn comes after 50 trials for each number to choose", 13, 200, 0, 50, false},
};
enum { STAGES = sizeof stages / sizeof stages[0] };

struct part {
    const struct policy *policy;
    struct session_inner inner;
};

struct session {
    struct session_base base;
    size_t              len, rows[STAGES]; /* [len] */
    struct part         parts[STAGES];     /* [len] */
};

/* The rows that are for the problem, into rows [STAGES]; how many. */
static size_t find_rows(const struct space *space, size_t metrics_len, size_t *rows)
{
    bool   is_plain = space->kind == SPACE_PARAMETERS && metrics_len < 2 && !space_has_context(space);
    size_t len = 0;
    for (size_t i = 0; i < STAGES; i++)
        if (i == 0 || (is_plain && space->dims >= stages[i].dims_min && space->dims <= stages[i].dims_max))
            rows[len++] = i;
    return len;
}

/* The place among the rows of the one whose turn it is: the last that has come. */
static size_t find_turn(const size_t *rows, size_t len, size_t dims, uint64_t trial)
{
    size_t at = len - 1;
    while (at > 0 && trial <= stages[rows[at]].after + stages[rows[at]].each * dims)
        at--;
    return at;
}

static const struct policy *leave_to(const struct space *space, size_t metrics_len, uint64_t trial, const char **why)
{
    size_t              rows[STAGES], len = find_rows(space, metrics_len, rows);
    const struct stage *stage = &stages[rows[find_turn(rows, len, space->dims, trial)]];
    *why = stage->why;
    return stage->policy;
}

/* len: how many parts there are. */
static void describe_part(const struct problem *problem, size_t row, size_t len, struct part *part)
{
    size_t share = problem->memory_bytes / SHARE;
    part->policy = stages[row].policy;
    session_inner_init(&part->inner, part->policy, problem, problem->options[REPEAT]);
    part->inner.problem.memory_bytes = row == 0 ? problem->memory_bytes - len * share : share;
    if (stages[row].is_far)
        policy_set(part->policy, part->inner.options, "known", 1);
}

static enum status check(const struct problem *problem, struct error *err)
{
    struct part part;
    describe_part(problem, 0, 1, &part);
    return part.policy->check(&part.inner.problem, err);
}

/* ---- the session ---- */

static enum status open_part(struct session *s, size_t len, struct error *err)
{
    struct part *part = &s->parts[s->len];
    describe_part(s->base.problem, s->rows[s->len], len, part);
    TRY(session_open_inner(&s->base, part->policy, &part->inner.problem, &part->inner.session, err));
    s->len++;
    return STATUS_OK;
}

static enum status begin(struct session *s, struct error *err)
{
    for (size_t len = find_rows(s->base.problem->space, s->base.problem->metrics_len, s->rows); s->len < len;)
        TRY(open_part(s, len, err));
    return STATUS_OK;
}

static size_t turn_of(const struct session *s, uint64_t trial)
{
    return find_turn(s->rows, s->len, s->base.problem->space->dims, trial);
}

static enum status tell(struct session *s, const struct event *event, struct error *err)
{
    size_t turn = turn_of(s, event->trial);
    for (size_t i = 0; i < s->len; i++) {
        struct event told = *event;
        told.is_given |= i > turn;
        told.note = i == turn ? event->note : NULL;
        told.note_bytes = i == turn ? event->note_bytes : 0;
        TRY(s->parts[i].policy->tell(s->parts[i].inner.session, &told, err));
    }
    return STATUS_OK;
}

static enum status ask_next(struct session *s, const struct ask *ask, struct proposal *out, struct error *err)
{
    const struct part *part = &s->parts[turn_of(s, ask->trial)];
    return part->policy->ask(part->inner.session, ask, out, err);
}

/* ---- the model is gp's, also in the turn of another ---- */

static enum status predict(struct session *s, const struct prediction *wanted, struct error *err)
{
    return s->parts[0].policy->predict(s->parts[0].inner.session, wanted, err);
}

static enum status residuals(struct session *s, const struct ask *ask, struct arena *arena, struct residual **out,
                             size_t *len, struct error *err)
{
    return s->parts[0].policy->residuals(s->parts[0].inner.session, ask, arena, out, len, err);
}

static enum status gain(struct session *s, const struct ask *ask, struct gain *out, struct error *err)
{
    return s->parts[0].policy->gain(s->parts[0].inner.session, ask, out, err);
}

static bool show(struct session *s, size_t metric)
{
    return s->parts[0].policy->show(s->parts[0].inner.session, metric);
}

const struct policy policy_auto = {
    .name = "auto",
    .help = "gp; with 30 numbers to choose and more turbo; after 250 trials, or 300, or 50 for each of 13 numbers and "
            "more, cma-es from the best "
            "of them.  Of several metrics, candidates and contexts gp alone",
    .spaces = SPACE_PARAMETERS | SPACE_CANDIDATES,
    .takes_bands = SPACE_PARAMETERS,
    .several_metrics = SPACE_PARAMETERS,
    .uses_each_row_once = true,
    .takes_outside = true,
    .takes_context = true,
    .looks_near = true,
    .options = options,
    .leave_to = leave_to,
    .check = check,
    .session_bytes = sizeof(struct session),
    .begin = begin,
    .kept_share = SHARE,
    .keeps_nothing = true,
    .tell = tell,
    .ask = ask_next,
    .predict = predict,
    .residuals = residuals,
    .gain = gain,
    .show = show,
};
