/* The algorithm cma-es: an evolution strategy for thousands of trials, in the unit cube of the space.
 * The state is found by folding the trials in the order in which they finished: each population of them makes a generation, so
 * that nobody waits for a slow one.  A proposal is a draw from the present distribution, and its note says which that was and where
 * it drew before the place was rounded, mirrored at a bound, or repaired.  A run that has converged is followed by another with twice the
 * population: A. Auger & N. Hansen, A restart CMA evolution strategy with increasing population size, CEC 2005. */
#include "engine/evolution/margin.h"
#include "engine/evolution/strategy.h"
#include "engine/math/rng.h"
#include "engine/policy/session.h"
#include "engine/space/used_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIMS_MAX = 200, POPULATION_MIN = 4, POPULATION_MAX = 10000 };
enum { DRAWS = 32 }; /* before doubles are mirrored at their bounds, and used points walked on from */
enum { ANY_RUN = UINT32_MAX };
/* A run is over when its steps have become so much shorter, or longer, or its axes differ so much; or when the best value of a
 * generation has changed no more than so, as a share of the largest, for 10 + 30 n / population generations. */
static const double SHORTER = 1e-7, LONGER = 1e4, AXES = 1e7, CHANGE = 1e-7;

enum { REPEAT, POPULATION, STEP, KNOWN };
static const struct option options[] = {
    [REPEAT] = {.name = "repeat", .kind = OPTION_BOOL, .max = 1, .help = POLICY_REPEAT_HELP},
    [POPULATION] =
        OPTION_INTEGER("population", POPULATION_MIN, POPULATION_MAX, NAN,
                       "trials of a generation of the first run; left out: 4 + 3 ln n for n coordinates, of which "
                       "a categorical has one for each choice"),
    [STEP] =
        OPTION_NUMBER("step", 1e-6, 1, 0.2, "standard deviation of the first generation, as a share of the ranges"),
    [KNOWN] =
        OPTION_NUMBER("known", 1e-3, 1, 0.25,
                      "from a known point, which is nearer to the best one than the middle is, this share of step"),
    {.name = NULL},
};

/* Where a trial was drawn: run and generation as a proposal's note begins, then x [dims]. */
struct origin {
    uint32_t run, generation;
};

enum state { OPEN, VALUED, WORTHLESS };
struct trial {
    uint64_t      number;
    enum state    state;
    bool          is_given;
    struct origin origin;
    double        worth;
    double       *x;     /* [dims] */
    double       *slack; /* [metrics_len] of constraints; NULL with one metric */
};

struct session {
    struct session_base base;
    struct used_points  used;
    struct trial      **trials; /* [len] by number */
    struct trial      **order;  /* [order_len] as they finished */
    struct trial      **pool;   /* [pool_len] of the generation that is not whole yet */
    size_t              len, order_len, pool_len, room, folded;
    bool                is_stale; /* something of what was folded has changed */
    double              best;     /* worth of what was folded */
    struct strategy     strategy;
    uint32_t            run;     /* from 0 */
    double             *history; /* [history_room] best worth of the last generations, a ring */
    double             *unit;    /* [2 dims] scratch */
};

/* --- runs --- */

/* Each run has a population twice as large as the one before. */
static size_t population_of(const struct session *s, uint32_t run)
{
    double asked = s->base.problem->options[POPULATION];
    double first = isnan(asked) ? (double)strategy_population(s->base.problem->space->dims) : asked;
    return (size_t)fmin(ldexp(first, run < 32 ? (int)run : 32), POPULATION_MAX);
}

static size_t history_len(const struct session *s)
{
    return 10 + 30 * s->strategy.rates.n / s->strategy.rates.population;
}

/* x [dims] := where the point stands as a draw.  A choice is ahead of the others by no more than a step of the first generation, so
 * that these come, too. */
static void place(const struct session *s, const double *point, double *x)
{
    const struct space *space = s->base.problem->space;
    space_encode(space, point, x);
    for (size_t i = 0; i < space->params_len; x += param_width(&space->params[i]), i++)
        for (size_t c = 0; space->params[i].kind == PARAM_CATEGORICAL && c < space->params[i].choices; c++)
            x[c] *= s->base.problem->options[STEP];
}

/* From the middle of the space, by its priors, and after the first run from anywhere; no choice is ahead of others. */
static void begin_run(struct session *s, uint32_t number)
{
    const struct space *space = s->base.problem->space;
    struct rng          rng = rng_at(s->base.problem->seed, number, RNG_STARTS);
    double             *point = s->unit + space->dims;
    s->run = number;
    s->pool_len = 0;
    for (size_t i = 0; i < space->params_len; i++)
        s->unit[i] = number == 0 ? 0.5 : rng_uniform(&rng);
    (void)space_prior_quantile(space, s->unit, point);
    for (size_t i = 0; i < space->params_len && space->used_params != NULL; i++) // no number is ahead of others, either
        point[i] = isnan(point[i]) ? point[i] : param_prior_quantile(&space->params[i], s->unit[i]);
    for (size_t i = 0; i < space->params_len; i++)
        if (space->params[i].kind == PARAM_CATEGORICAL)
            point[i] = NAN;
    place(s, point, s->unit);
    strategy_start(&s->strategy, population_of(s, number), s->unit, s->base.problem->options[STEP]);
    margin_keep(&s->strategy, space);
}

static bool has_stalled(const struct session *s)
{
    size_t len = history_len(s);
    double least = INFINITY, most = -INFINITY, scale = 0;
    if (s->strategy.generation < len)
        return false;
    for (size_t i = 0; i < len; i++) {
        least = fmin(least, s->history[i]);
        most = fmax(most, s->history[i]);
        scale = fmax(scale, fabs(s->history[i]));
    }
    return most - least <= CHANGE * scale;
}

static bool is_over(const struct session *s)
{
    const struct strategy *now = &s->strategy;
    size_t                 n = now->rates.n;
    double                 longest = now->sigma * now->axis[n - 1], step = s->base.problem->options[STEP];
    return longest < SHORTER * step || longest > LONGER * step || now->axis[n - 1] > AXES * now->axis[0] ||
           has_stalled(s);
}

/* --- a generation --- */

struct ranked {
    const struct trial *trial;
    size_t              place; /* in the pool */
    double              lack;  /* 0: it keeps all constraints; infinite: there is no value */
};

/* A lack is the sum of what is missing of each constraint, as a share of the most that is missing in this generation. */
static void find_lacks(const struct session *s, struct ranked *ranked)
{
    for (size_t i = 0; i < s->pool_len; i++)
        ranked[i] = (struct ranked){s->pool[i], i, s->pool[i]->state == VALUED ? 0 : INFINITY};
    for (size_t k = 0; k < s->base.problem->metrics_len; k++) {
        double most = 0;
        for (size_t i = 0; i < s->pool_len; i++)
            if (s->base.problem->metrics[k] == METRIC_CONSTRAINT && ranked[i].trial->slack != NULL &&
                ranked[i].lack < INFINITY)
                most = fmax(most, -ranked[i].trial->slack[k]);
        for (size_t i = 0; i < s->pool_len && most > 0; i++)
            if (ranked[i].trial->slack != NULL)
                ranked[i].lack += fmax(-ranked[i].trial->slack[k], 0) / most;
    }
}

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->lack != y->lack)
        return x->lack < y->lack ? -1 : 1;
    if (x->lack == 0 && x->trial->worth != y->trial->worth)
        return x->trial->worth > y->trial->worth ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static enum status close_generation(struct session *s, struct error *err)
{
    struct arena_mark       mark = arena_mark(&s->base.kept);
    struct ranked          *ranked = ARENA_NEW(&s->base.kept, struct ranked, s->pool_len);
    struct strategy_member *members = ARENA_NEW(&s->base.kept, struct strategy_member, s->pool_len);
    if (ranked == NULL || members == NULL)
        return error_no_memory(err);
    find_lacks(s, ranked);
    qsort(ranked, s->pool_len, sizeof *ranked, by_rank);
    for (size_t i = 0; i < s->pool_len; i++)
        members[i] = (struct strategy_member){ranked[i].trial->x,
                                              ranked[i].trial->origin.run != s->run ||
                                                  ranked[i].trial->origin.generation != s->strategy.generation};
    double      best = ranked[0].lack == 0 ? ranked[0].trial->worth : 0;
    enum status status = strategy_update(&s->strategy, members, &s->base.kept, err);
    arena_release(&s->base.kept, mark);
    s->pool_len = 0;
    if (status == STATUS_NO_MEMORY)
        return status;
    if (status == STATUS_OK) {
        s->history[s->strategy.generation % history_len(s)] = best;
        margin_keep(&s->strategy, s->base.problem->space);
    }
    if (status != STATUS_OK || is_over(s))
        begin_run(s, s->run + 1);
    return STATUS_OK;
}

/* --- the fold --- */

/* Points that came with their results are no draws: one that is the best so far is where the first run begins, and later takes
 * a place in its generation; the others say nothing that the next draws would not. */
static enum status take(struct session *s, struct trial *trial, struct error *err)
{
    bool is_first = s->run == 0 && s->strategy.generation == 0 && s->pool_len == 0;
    bool is_better = trial->state == VALUED && !(trial->worth <= s->best);
    if (is_better)
        s->best = trial->worth;
    if (trial->is_given && is_first && is_better) {
        strategy_start(&s->strategy, s->strategy.rates.population, trial->x,
                       s->base.problem->options[KNOWN] * s->base.problem->options[STEP]);
        margin_keep(&s->strategy, s->base.problem->space);
    }
    if ((trial->is_given && (is_first || !is_better)) || (trial->origin.run != ANY_RUN && trial->origin.run < s->run))
        return STATUS_OK;
    if (trial->origin.run != ANY_RUN && trial->origin.run > s->run)
        begin_run(s, trial->origin.run);
    s->pool[s->pool_len++] = trial;
    return s->pool_len < s->strategy.rates.population ? STATUS_OK : close_generation(s, err);
}

static enum status catch_up(struct session *s, struct error *err)
{
    if (s->is_stale) {
        s->folded = 0;
        s->best = -INFINITY;
        s->is_stale = false;
        begin_run(s, 0);
    }
    while (s->folded < s->order_len)
        TRY(take(s, s->order[s->folded++], err));
    return STATUS_OK;
}

/* --- the log --- */

static enum status reserve(struct session *s, struct error *err)
{
    if (s->len < s->room)
        return STATUS_OK;
    size_t         room = s->room == 0 ? 64 : 2 * s->room;
    struct trial **lists = ARENA_NEW(&s->base.kept, struct trial *, 3 * room);
    if (lists == NULL)
        return error_no_memory(err);
    if (s->room > 0) {
        memcpy(lists, s->trials, s->len * sizeof *lists);
        memcpy(lists + room, s->order, s->order_len * sizeof *lists);
        memcpy(lists + 2 * room, s->pool, s->pool_len * sizeof *lists);
    }
    s->trials = lists;
    s->order = lists + room;
    s->pool = lists + 2 * room;
    s->room = room;
    return STATUS_OK;
}

static enum status add(struct session *s, const struct event *event, size_t at, struct error *err)
{
    size_t        n = s->strategy.rates.n;
    struct trial *trial = ARENA_NEW(&s->base.kept, struct trial, 1);
    TRY(reserve(s, err));
    if (trial == NULL)
        return error_no_memory(err);
    *trial = (struct trial){.number = event->trial, .is_given = event->is_given, .origin = {.run = ANY_RUN}};
    trial->x = ARENA_NEW(&s->base.kept, double, n);
    if (trial->x == NULL)
        return error_no_memory(err);
    if (event->note_bytes == sizeof trial->origin + n * sizeof *trial->x) {
        memcpy(&trial->origin, event->note, sizeof trial->origin);
        memcpy(trial->x, (const char *)event->note + sizeof trial->origin, n * sizeof *trial->x);
    } else {
        place(s, event->point, trial->x);
    }
    memmove(s->trials + at + 1, s->trials + at, (s->len - at) * sizeof *s->trials);
    s->trials[at] = trial;
    s->len++;
    return used_points_add(&s->used, event->point, err);
}

/* Takes the trial out of the order, if it is there. */
static void reopen(struct session *s, struct trial *trial)
{
    size_t at = 0;
    if (trial->state == OPEN)
        return;
    while (s->order[at] != trial)
        at++;
    s->is_stale |= at < s->folded;
    s->order_len--;
    memmove(s->order + at, s->order + at + 1, (s->order_len - at) * sizeof *s->order);
    trial->state = OPEN;
}

static enum status finish(struct session *s, struct trial *trial, const struct event *event, struct error *err)
{
    const struct problem *problem = s->base.problem;
    bool                  has_value = event->kind == EVENT_OBSERVED;
    const struct band    *band = problem_band(problem, 0);
    double                worth = !has_value ? 0 : band == NULL ? event->value : band_worth(band, event->value);
    enum state            state = has_value ? VALUED : WORTHLESS;
    bool                  is_known = trial->state != OPEN;
    s->is_stale |= is_known && (trial->state != state || trial->worth != worth || problem->metrics_len > 1);
    if (!is_known)
        s->order[s->order_len++] = trial;
    trial->state = state;
    trial->worth = worth;
    if (event->values == NULL || !has_value || problem->metrics_len < 2)
        return STATUS_OK;
    if (trial->slack == NULL)
        trial->slack = ARENA_NEW(&s->base.kept, double, problem->metrics_len);
    if (trial->slack == NULL)
        return error_no_memory(err);
    memcpy(trial->slack, event->values, problem->metrics_len * sizeof *trial->slack);
    return STATUS_OK;
}

static enum status tell(struct session *s, const struct event *event, struct error *err)
{
    if (event->is_outside)
        return STATUS_OK;
    size_t at = s->len;
    while (at > 0 && s->trials[at - 1]->number >= event->trial)
        at--;
    if (at == s->len || s->trials[at]->number != event->trial)
        TRY(add(s, event, at, err));
    struct trial *trial = s->trials[at];
    switch (event->kind) {
    case EVENT_OBSERVED:
    case EVENT_INFEASIBLE:
    case EVENT_FAILED:
        return finish(s, trial, event, err);
    case EVENT_SUGGESTED:
    case EVENT_ABANDONED:
    case EVENT_STOPPED:
        reopen(s, trial);
        return STATUS_OK;
    default:
        return STATUS_OK;
    }
}

/* --- a proposal --- */

/* u := the place in the unit cube of a draw x: what is a double is mirrored at its bounds.  True: nothing was. */
static bool mirror(const struct space *space, const double *x, double *u)
{
    bool is_inside = true;
    for (size_t i = 0, j = 0; i < space->params_len; j += param_width(&space->params[i]), i++)
        for (size_t k = j; k < j + param_width(&space->params[i]); k++) {
            double t = fmod(fabs(x[k]), 2);
            u[k] = space->params[i].kind != PARAM_DOUBLE ? x[k] : t > 1 ? 2 - t : t;
            is_inside &= u[k] == x[k] || !space_is_free(space, i);
        }
    return is_inside;
}

/* x as the point has it, where it was not for the draw to say: held values, and doubles that constraints have moved. */
static void settle(const struct session *s, const struct space *view, const double *point, double *x)
{
    double *u = s->unit;
    place(s, point, u);
    for (size_t i = 0, j = 0; i < view->params_len; j += param_width(&view->params[i]), i++)
        for (size_t k = j; k < j + param_width(&view->params[i]); k++)
            if (!space_is_free(view, i) || (view->constraints_len > 0 && view->params[i].kind == PARAM_DOUBLE))
                x[k] = u[k];
}

/* Draws again what lies outside of the bounds or was used, as often as DRAWS. */
static bool draw(struct session *s, const struct ask *ask, const struct space *view, double *point, double *x)
{
    struct rng rng = rng_at(s->base.problem->seed, ask->trial, RNG_POINT);
    bool       is_good = false;
    for (int attempt = 0; attempt < DRAWS && !is_good; attempt++) {
        for (size_t j = 0; j < view->dims; j++)
            s->unit[j] = rng_normal(&rng);
        strategy_sample(&s->strategy, s->unit, x);
        is_good = mirror(view, x, s->unit);
        space_decode(view, s->unit, point);
        is_good &= !used_points_has(&s->used, point);
    }
    bool found = used_points_find(&s->used, view, point);
    settle(s, view, point, x);
    return found;
}

static enum status propose(struct session *s, const struct ask *ask, struct proposal *out, struct error *err)
{
    struct space  view;
    size_t        n = s->strategy.rates.n;
    struct origin origin = {s->run, (uint32_t)s->strategy.generation};
    double       *x = ARENA_NEW(&s->base.kept, double, n);
    if (x == NULL)
        return error_no_memory(err);
    TRY(space_hold(s->base.problem->space, ask->fixed, &s->base.kept, &view, err));
    if (!draw(s, ask, &view, out->point, x))
        return used_points_say_all(&s->used, used_points_exhausted(err), err);
    out->observations = s->folded;
    memcpy(out->note, &origin, sizeof origin);
    memcpy(out->note + sizeof origin, x, n * sizeof *x);
    out->note_bytes = sizeof origin + n * sizeof *x;
    return STATUS_OK;
}

static enum status ask_next(struct session *s, const struct ask *ask, struct proposal *out, struct error *err)
{
    proposal_clear(out);
    TRY(catch_up(s, err));
    struct arena_mark mark = arena_mark(&s->base.kept);
    enum status       status = propose(s, ask, out, err);
    arena_release(&s->base.kept, mark);
    return status;
}

/* --- the record --- */

static enum status check(const struct problem *problem, struct error *err)
{
    size_t objectives = 0;
    for (size_t k = 0; k < problem->metrics_len; k++)
        objectives += problem->metrics[k] == METRIC_OBJECTIVE;
    if (objectives > 1)
        return error_set(err, STATUS_INVALID, "not_supported", "/algorithm/name",
                         "cma-es has one objective, and constraints; gp has several objectives");
    if (problem->space->dims > DIMS_MAX)
        return error_set(err, STATUS_INVALID, "not_supported", "/algorithm/name",
                         "cma-es has %d numbers and values of choices at most, not %zu; gp and turbo have more",
                         DIMS_MAX, problem->space->dims);
    return STATUS_OK;
}

static enum status begin(struct session *s, struct error *err)
{
    const struct space *space = s->base.problem->space;
    TRY(strategy_init(&s->strategy, space->dims, &s->base.kept, err));
    s->history = ARENA_NEW(&s->base.kept, double, 10 + 30 * space->dims / POPULATION_MIN);
    s->unit = ARENA_NEW(&s->base.kept, double, 2 * space->dims);
    if (s->history == NULL || s->unit == NULL)
        return error_no_memory(err);
    used_points_init(&s->used, &s->base.kept, space, s->base.problem->options[REPEAT] == 1);
    s->is_stale = true;
    return STATUS_OK;
}

const struct policy policy_cma_es = {
    .name = "cma-es",
    .help = "an evolution strategy, for thousands of trials: generations of draws from a normal distribution that "
            "moves to, and "
            "takes the shape of, where the best values were; converged runs are followed by others",
    .spaces = SPACE_PARAMETERS,
    .several_metrics = SPACE_PARAMETERS,
    .takes_bands = SPACE_PARAMETERS,
    .only_draws = true,
    .takes_outside = true,
    .options = options,
    .check = check,
    .session_bytes = sizeof(struct session),
    .begin = begin,
    .tell = tell,
    .ask = ask_next,
};
