/* An evolutionary search for the front of the posterior means, and its ends. */
#include "engine/bo/several_front.h"

#include "engine/acquisition/pareto.h"
#include "engine/base/numbers.h"
#include "engine/math/rng.h"
#include "engine/math/sobol.h"

#include <math.h>
#include <string.h>

enum { CHILDREN = 100, ROUNDS = 6 }; /* children of a round, at most; rounds */
enum { ENDS_SHARE = 4 };             /* a parent in so many is an end of the front */
enum { PROPER_ROUNDS = 3 };          /* rounds in which dominance with trades gives the extents, and these the trades */
static const double CHILDREN_WORK = 4e4; /* children times the rows of all models, at most */
static const double STEP = 0.3;          /* largest deviation of a child from its parent, in ranges */
static const double PAST = 0.2;          /* how far past two parents a child between them may lie, in their distance */
static const double TRADE_OF_TWO = 0.02, TRADE = 0.1; /* see find_extents; of two objectives, of three */
static const double EXTENT_MIN = 1e-3;
static const double BEYOND = 0.1; /* of the extents: how far beyond the ends the reference lies */

struct front {
    const struct several_front_task *task;
    size_t                           len, m;
    double                          *u, *f; /* [len][dims], [len][m]: places, and what the means there are worth */
    double                          *point; /* [params_len] */
    bool                            *is_best;
};

/* f of the places from number first on.  What is expected to be infeasible is worth nothing, but for the first places of all. */
static enum status fill_worths(struct front *front, size_t first, struct error *err)
{
    struct several   *own = front->task->own;
    struct arena     *scratch = &own->parts[0].memory.scratch;
    struct arena_mark mark = arena_mark(scratch);
    size_t            m = front->m, dims = front->task->view->dims, count = front->len - first;
    const double     *U = front->u + first * dims;
    double           *mean = ARENA_NEW(scratch, double, count), *f = front->f + first * m;
    if (mean == NULL)
        return error_no_memory(err);
    for (size_t p = 0; p < (first == 0 ? m : several_active(own)); p++) {
        TRY(gp_mean(own->parts[p].model.gp, U, count, mean, scratch, err));
        for (size_t i = 0; i < count; i++) {
            double at = mean[i] + (p == own->len ? several_trend(own, U + i * dims, 0.0, NULL) : 0.0);
            if (p < m)
                f[i * m + p] = gp_model_worth(&own->parts[p].model, at);
            for (size_t k = 0; k < m && p >= m && at < front->task->bound[p]; k++)
                f[i * m + k] = -HUGE_VAL;
        }
    }
    arena_release(scratch, mark);
    return STATUS_OK;
}

static enum status keep_best(struct front *front, struct error *err)
{
    size_t m = front->m, dims = front->task->view->dims, kept = 0;
    TRY(pareto_front(front->f, front->len, m, front->is_best, &front->task->own->parts[0].memory.scratch, err));
    for (size_t i = 0; i < front->len; i++)
        if (front->is_best[i]) {
            memmove(front->u + kept * dims, front->u + i * dims, dims * sizeof *front->u);
            memmove(front->f + kept++ * m, front->f + i * m, m * sizeof *front->f);
        }
    front->len = kept;
    return STATUS_OK;
}

/* Any of the first len places or, once in ENDS_SHARE, an end. */
static const double *pick(const struct front *front, size_t len, struct rng *rng)
{
    size_t m = front->m, at = rng_below(rng, len), k = rng_below(rng, ENDS_SHARE * m);
    for (size_t i = 0; i < len && k < m; i++)
        at = front->f[i * m + k] > front->f[at * m + k] ? i : at;
    return front->u + at * front->task->view->dims;
}

/* A place near one of the first len, in half of its coordinates, or between two and a little past them. */
static void add_child(struct front *front, size_t len, struct rng *rng)
{
    size_t        dims = front->task->view->dims;
    double       *u = front->u + front->len++ * dims, size = STEP * pow(1e-3, rng_uniform(rng));
    bool          is_between = rng_below(rng, 3) == 0;
    double        along = -PAST + (1.0 + 2.0 * PAST) * rng_uniform(rng);
    const double *a = pick(front, len, rng), *b = pick(front, len, rng);
    for (size_t j = 0; j < dims; j++)
        u[j] = a[j] + (is_between ? along * (b[j] - a[j]) : rng_below(rng, 2) == 0 ? 0.0 : size * rng_normal(rng));
    space_decode(front->task->view, u, front->point);
    space_encode(front->task->view, front->point, u);
}

/* front is empty. */
static enum status search_front(struct front *front, struct rng *rng, struct error *err)
{
    const struct several_front_task *from = front->task;
    const struct space              *view = from->view;
    double                           quantiles[SPACE_PARAMS_MAX], rows = 0.0;
    uint64_t                         scramble = rng_u64(rng);
    for (size_t p = 0; p < several_active(from->own); p++)
        rows += (double)from->own->parts[p].model.n;
    size_t children = numbers_clamp(CHILDREN_WORK / rows, 1, CHILDREN);
    memcpy(front->u, from->u, from->len * view->dims * sizeof *front->u);
    front->len = from->len;
    TRY(fill_worths(front, 0, err));
    for (size_t i = 0; i < 2 * children; i++) {
        sobol_point(scramble, i, view->params_len, quantiles);
        (void)space_quantile(view, quantiles, front->point);
        space_encode(view, front->point, front->u + front->len++ * view->dims);
    }
    for (size_t round = 0, first = from->len;; round++) {
        TRY(fill_worths(front, first, err));
        TRY(keep_best(front, err));
        if (round == ROUNDS || ask_is_late(from->ask))
            return STATUS_OK;
        first = front->len;
        for (size_t i = 0; i < children; i++)
            add_child(front, first, rng);
    }
}

double several_front_extent(const double *f, const bool *chosen, size_t n, size_t m, size_t k, double *high)
{
    double low = HUGE_VAL;
    *high = -HUGE_VAL;
    for (size_t i = 0; i < n; i++)
        if (chosen[i]) {
            low = fmin(low, f[i * m + k]);
            *high = fmax(*high, f[i * m + k]);
        }
    return *high - low > EXTENT_MIN ? *high - low : 1.0;
}

/* The largest values and the extents of the properly efficient places (Geoffrion 1968): those that stay non-dominated
 * when a gain in one objective may be traded for a loss of trade times as much in another, in units of the extents.
 * Without this the extents would be decided by a few places at the ends of the front.  These are poor in every other
 * objective, and not dominated only because they are expected to be the best in one, by next to nothing.  Of three objectives
 * there are more of them. */
static enum status find_extents(struct front *front, double *high, double *extent, struct error *err)
{
    struct arena *scratch = &front->task->own->parts[0].memory.scratch;
    size_t        n = front->len, m = front->m;
    const double *f = front->f, trade = m == 2 ? TRADE_OF_TWO : TRADE;
    double       *g = arena_alloc(scratch, n, m * sizeof *g);
    if (g == NULL)
        return error_no_memory(err);
    memcpy(g, f, n * m * sizeof *g);
    for (int round = 0; round <= PROPER_ROUNDS; round++) {
        TRY(pareto_front(g, n, m, front->is_best, scratch, err));
        for (size_t k = 0; k < m; k++)
            extent[k] = several_front_extent(f, front->is_best, n, m, k, &high[k]);
        for (size_t i = 0; i < n; i++) {
            double sum = 0.0;
            for (size_t k = 0; k < m; k++)
                sum += trade * (g[i * m + k] = f[i * m + k] / extent[k]);
            for (size_t k = 0; k < m; k++)
                g[i * m + k] = sum + (1.0 - trade) * g[i * m + k];
        }
    }
    return STATUS_OK;
}

enum status several_front_reference(const struct several_front_task *task, double *reference, struct error *err)
{
    struct arena *scratch = &task->own->parts[0].memory.scratch;
    size_t        room = task->len + (2 + ROUNDS) * CHILDREN;
    struct rng    rng = rng_at(task->own->study->base.problem->seed, task->ask->trial, RNG_WEIGHTS);
    struct front  front = {.task = task, .m = task->own->objectives};
    double        high[OBJECTIVES_MAX], extent[OBJECTIVES_MAX];
    front.u = arena_alloc(scratch, room, task->view->dims * sizeof *front.u);
    front.f = arena_alloc(scratch, room, front.m * sizeof *front.f);
    front.is_best = ARENA_NEW(scratch, bool, room);
    front.point = ARENA_NEW(scratch, double, task->view->params_len);
    if (front.u == NULL || front.f == NULL || front.is_best == NULL || front.point == NULL)
        return error_no_memory(err);
    TRY(search_front(&front, &rng, err));
    TRY(find_extents(&front, high, extent, err));
    for (size_t k = 0; k < front.m; k++)
        reference[k] = high[k] - extent[k] * (1.0 + BEYOND);
    return STATUS_OK;
}
