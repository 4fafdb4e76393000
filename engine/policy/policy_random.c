/* The baselines: uniformly random points, and Sobol points.
 * Parameters: the distribution is uniform (on the scale of each) or the priors'; under constraints, uniform over what
 * they leave as long as one in DRAWS tries hits it.  A finite space is used up without repetition unless "repeat".
 * Candidates: rows without repetition; sobol stratifies over the row numbers and takes the next free row.
 * A failed or abandoned point counts as used.  Neither has a model. */
#include "engine/space/used_points.h"
#include "engine/policy/session.h"
#include "engine/math/rng.h"
#include "engine/math/sobol.h"

enum { REPEAT };
enum { DRAWS = 32 }; /* before a walk to the next unused point */
enum { BLOCK = 1024 };

extern const struct policy policy_sobol; /* below */

struct session {
    struct session_base base;
    struct used_points  used;  /* points */
    unsigned char      *taken; /* [rows_len] candidates */
    size_t              taken_len;
    size_t             *taken_of; /* [rows_len / BLOCK + 1] of the rows of each block */
    double             *unit;     /* [params_len] scratch */
};

static bool is_sobol(const struct session *s)
{
    return s->base.policy == &policy_sobol;
}

static enum status begin(struct session *s, struct error *err)
{
    const struct space *space = s->base.problem->space;
    size_t              rows = space->kind == SPACE_CANDIDATES ? space->rows_len : 0;
    used_points_init(&s->used, &s->base.kept, space, s->base.problem->options[REPEAT] == 1);
    s->taken = arena_zalloc(&s->base.kept, rows, 1);
    s->taken_of = arena_zalloc(&s->base.kept, rows / BLOCK + 1, sizeof *s->taken_of);
    s->unit = ARENA_NEW(&s->base.kept, double, space->params_len + 1);
    return s->taken == NULL || s->taken_of == NULL || s->unit == NULL ? error_no_memory(err) : STATUS_OK;
}

static enum status tell(struct session *s, const struct event *event, struct error *err)
{
    const struct space *space = s->base.problem->space;
    if (space->kind == SPACE_PARAMETERS)
        return policy_use_point(&s->used, event, err);
    if (event->row >= space->rows_len)
        return error_set(err, STATUS_INVALID, "no_such_row", "/candidate", "there is no row %zu", event->row);
    s->taken_len += s->taken[event->row] == 0;
    s->taken_of[event->row / BLOCK] += s->taken[event->row] == 0;
    s->taken[event->row] = 1;
    return STATUS_OK;
}

/* d numbers in [0, 1): the trial's Sobol point, or the next ones of its stream. */
static void draw_unit(const struct session *s, uint64_t trial, bool sobol, struct rng *rng, size_t d)
{
    if (sobol)
        sobol_point(s->base.problem->seed, trial - 1, d, s->unit);
    for (size_t j = 0; j < d && !sobol; j++)
        s->unit[j] = rng_uniform(rng);
}

/* A draft that breaks a constraint, and a used point, are drawn again. */
static void draw_point(struct session *s, const struct ask *ask, const struct space *view, double *point)
{
    struct rng rng = rng_at(s->base.problem->seed, ask->trial, RNG_POINT);
    for (int attempt = 0; attempt < DRAWS; attempt++) {
        draw_unit(s, ask->trial, is_sobol(s) && attempt == 0, &rng, view->params_len);
        if (space_prior_quantile(view, s->unit, point) && !used_points_has(&s->used, point))
            return;
    }
}

static enum status ask_point(struct session *s, const struct ask *ask, double *point, struct error *err)
{
    struct space      view;
    struct arena_mark mark = arena_mark(&s->base.kept);
    TRY(space_hold(s->base.problem->space, ask->fixed, &s->base.kept, &view, err));
    draw_point(s, ask, &view, point);
    bool found = used_points_find(&s->used, &view, point);
    arena_release(&s->base.kept, mark);
    return found ? STATUS_OK : used_points_say_all(&s->used, used_points_exhausted(err), err);
}

/* The free row after so many others from there on, past the last row from the first one on. */
static size_t find_free(const struct session *s, size_t at, size_t skip)
{
    size_t n = s->base.problem->space->rows_len;
    for (;;) {
        size_t end = at + BLOCK < n ? at + BLOCK : n;
        size_t unused = at % BLOCK == 0 ? end - at - s->taken_of[at / BLOCK] : SIZE_MAX;
        if (skip >= unused) {
            skip -= unused;
            at = end % n;
            continue;
        }
        if (!s->taken[at] && skip-- == 0)
            return at;
        at = (at + 1) % n;
    }
}

/* Uniform: the k-th free row; sobol: the first free row from the stratum's on. */
static enum status ask_row(struct session *s, const struct ask *ask, size_t *row, struct error *err)
{
    size_t     n = s->base.problem->space->rows_len, skip = 0, at = 0;
    struct rng rng = rng_at(s->base.problem->seed, ask->trial, RNG_POINT);
    if (s->taken_len == n)
        return used_points_exhausted(err);
    if (is_sobol(s)) {
        double u;
        sobol_point(s->base.problem->seed, ask->trial - 1, 1, &u);
        at = (size_t)(u * (double)n);
    } else {
        skip = rng_below(&rng, n - s->taken_len);
    }
    *row = find_free(s, at, skip);
    return STATUS_OK;
}

static enum status ask_next(struct session *s, const struct ask *ask, struct proposal *out, struct error *err)
{
    proposal_clear(out);
    return s->base.problem->space->kind == SPACE_CANDIDATES ? ask_row(s, ask, &out->row, err)
                                                            : ask_point(s, ask, out->point, err);
}

static const struct option options[] = {
    [REPEAT] = {.name = "repeat", .kind = OPTION_BOOL, .max = 1, .help = POLICY_REPEAT_HELP},
    {.name = NULL},
};

/* Members that both records have in common. */
#define IN_COMMON                                                                                              \
    .spaces = SPACE_PARAMETERS | SPACE_CANDIDATES, .several_metrics = SPACE_PARAMETERS | SPACE_CANDIDATES,     \
    .takes_bands = SPACE_PARAMETERS | SPACE_CANDIDATES, .uses_each_row_once = true, .only_draws = true,        \
    .takes_outside = true, .takes_context = true, .options = options, .session_bytes = sizeof(struct session), \
    .begin = begin, .tell = tell, .ask = ask_next

const struct policy policy_random = {
    .name = "random",
    .help = "uniformly random points",
    IN_COMMON,
};

const struct policy policy_sobol = {
    .name = "sobol",
    .help = "scrambled Sobol points",
    IN_COMMON,
};
