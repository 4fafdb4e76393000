/* The search for the best point of an acquisition function. */
#include "engine/acquisition/acq_search.h"

#include "engine/math/minimize.h"
#include "engine/math/rng.h"
#include "engine/math/sobol.h"

#include <math.h>
#include <string.h>

enum { ENUMERATE = 4096, CHUNK = 256, LATE = 32, MOVES = 192, CHOICES_TRIED = 12, ROUNDS = 8, WITHIN_DIMS_MAX = 200 };
static const double CHANGED = 20.0; /* parameters of a neighbour, about, where there are more */
static const double JUMPS = 0.3; /* how often a neighbour's categorical is drawn anew, an int makes a step at least */
static const double SCALES[] = {0.1, 0.03, 0.01, 0.003, 0.001}; /* of neighbours, as a share of the ranges */
enum { NEIGHBOURS_SHARE = 2, LEAP_SHARE = 8 }; /* neighbours per sample; leaps of an int in its range */
static const double F_TOLERANCE = 1e-8, X_TOLERANCE = 1e-7;
static const double MARGIN = 1e-9; /* to a constraint and to what is forbidden, as a share of its width or the range */

/* Points with their places in the unit cube and their scores. */
struct pool {
    double *points, *U, *scores; /* [room][params_len], [room][dims], [room] */
    size_t  len, room;
};

struct run {
    const struct acq_search *search;
    struct arena            *scratch;
    struct rng               rng;
    struct pool              pool, moves;
    double                  *best;          /* [params_len] */
    double                  *fill;          /* [params_len] for parameters that a move brings into being */
    double                  *u;             /* [dims] */
    double                  *lower, *upper; /* [dims] */
    double                  *excess;        /* [2 constraints_len][1 + dims] of space_excess */
    double                   score;         /* of best */
    bool                     all;           /* the pool holds every point that is left */
};

static bool is_free(const struct acq_search *search, size_t param)
{
    return space_is_free(search->space, param);
}

static bool is_late(const struct acq_search *search)
{
    return search->late != NULL && search->late(search->late_arg);
}

static bool pool_init(struct pool *pool, const struct space *space, size_t room, struct arena *scratch)
{
    pool->room = room;
    pool->points = arena_alloc(scratch, room, space->params_len * sizeof(double));
    pool->U = arena_alloc(scratch, room, space->dims * sizeof(double));
    pool->scores = ARENA_NEW(scratch, double, room);
    return pool->points != NULL && pool->U != NULL && pool->scores != NULL;
}

/* Where the next point of the pool is to be written. */
static double *pool_next(struct pool *pool, const struct space *space)
{
    return pool->points + pool->len * space->params_len;
}

static bool is_same(const double *a, const double *b, size_t len)
{
    size_t i = 0;
    while (i < len && (a[i] == b[i] || (isnan(a[i]) && isnan(b[i]))))
        i++;
    return i == len;
}

static bool is_pending(const struct acq_search *search, const double *point)
{
    size_t len = search->space->params_len, i = 0;
    while (i < search->pending_len && !is_same(search->pending + i * len, point, len))
        i++;
    return i < search->pending_len;
}

/* Takes in the point written at pool_next, or the next one that is not used. */
static void pool_add(struct pool *pool, const struct acq_search *search)
{
    double *point = pool_next(pool, search->space);
    if (!used_points_find(search->used, search->space, point) || is_pending(search, point))
        return;
    space_encode(search->space, point, pool->U + pool->len * search->space->dims);
    pool->len++;
}

/* again: used points, too. */
static void add_all(struct run *run, bool again)
{
    const struct acq_search *search = run->search;
    const struct space      *space = search->space;
    for (bool more = space_first(space, run->best); more; more = space_step(space, run->best)) {
        if (!again && used_points_has(search->used, run->best))
            continue;
        memcpy(pool_next(&run->pool, space), run->best, space->params_len * sizeof(double));
        pool_add(&run->pool, search);
    }
}

/* Chooses each parameter's value from the best anchor that has it, or from any. */
static void choose_fill(struct run *run)
{
    const struct acq_search *search = run->search;
    size_t                   len = search->space->params_len;
    struct rng               rng = rng_at(search->seed, search->trial, RNG_POINT);
    for (size_t i = 0; i < len; i++) {
        run->fill[i] = param_quantile(&search->space->params[i], rng_uniform(&rng));
        for (size_t k = search->anchors_len; k-- > 0;)
            if (!isnan(search->anchors[k * len + i]))
                run->fill[i] = search->anchors[k * len + i];
    }
}

/* A point of the box: some parameters of the first anchor move to the quantiles v of what the box has of them. */
static void box_point(struct run *run, const double *v, double *point)
{
    const struct acq_search *search = run->search;
    const struct space      *space = search->space;
    double                   chance = fmin(1.0, CHANGED / (double)space->params_len);
    size_t                   always = rng_below(&run->rng, space->params_len);
    for (size_t i = 0, j = 0; i < space->params_len; j += param_width(&space->params[i++])) {
        bool moves = rng_uniform(&run->rng) < chance || i == always;
        point[i] = search->anchors[i];
        if (!moves || isnan(point[i]))
            continue;
        double wide = search->upper[j] - search->lower[j];
        run->u[j] = search->lower[j] + wide * v[i];
        if (space->params[i].kind != PARAM_CATEGORICAL)
            point[i] = param_decode(&space->params[i], run->u + j);
        else if (rng_uniform(&run->rng) < wide)
            point[i] = (double)rng_below(&run->rng, space->params[i].choices);
    }
    space_settle(space, run->fill, point);
}

static void add_sobol(struct run *run)
{
    uint64_t scramble = rng_u64(&run->rng);
    for (size_t i = 0; i < run->search->samples; i++) {
        sobol_point(scramble, i, run->search->space->params_len, run->best);
        if (run->search->lower != NULL)
            box_point(run, run->best, pool_next(&run->pool, run->search->space));
        else
            (void)space_quantile(run->search->space, run->best, pool_next(&run->pool, run->search->space));
        pool_add(&run->pool, run->search);
    }
}

/* Draws a parameter of a neighbour: a number moves by about scale of its range (an int or a discrete number to the next
 * value at least, sometimes), a categorical takes any value, sometimes. */
static double neighbour_value(struct rng *rng, const struct param *param, double value, double moved)
{
    bool jumps = rng_uniform(rng) < JUMPS;
    if (isnan(value))
        return value;
    if (param->kind == PARAM_CATEGORICAL)
        return jumps ? (double)rng_below(rng, param->choices) : value;
    if (param->kind != PARAM_DOUBLE && moved == value && jumps) {
        double index = param_index(param, value) + (rng_uniform(rng) < 0.5 ? 1.0 : -1.0);
        moved = param_value(param, fmin(fmax(index, 0.0), param_count(param) - 1.0));
    }
    return fmin(fmax(moved, param->min), param->max);
}

static void add_neighbour(struct run *run, const double *anchor, double scale, double changed)
{
    const struct space *space = run->search->space;
    double             *point = pool_next(&run->pool, space), *u = run->u;
    if (space->used_params != NULL && rng_uniform(&run->rng) < JUMPS) {
        memcpy(run->best, anchor, space->params_len * sizeof *anchor); /* not in use yet */
        space_face_exchange(space, &run->rng, run->best);
        anchor = run->best;
    }
    space_encode(space, anchor, u);
    for (size_t j = 0; j < space->dims; j++) {
        u[j] += scale * rng_normal(&run->rng);
        if (run->search->lower != NULL)
            u[j] = fmin(fmax(u[j], run->search->lower[j]), run->search->upper[j]);
    }
    for (size_t i = 0; i < space->params_len; u += param_width(&space->params[i++]))
        point[i] = rng_uniform(&run->rng) < changed
                       ? neighbour_value(&run->rng, &space->params[i], anchor[i], param_decode(&space->params[i], u))
                       : anchor[i];
    space_settle(space, run->fill, point);
    pool_add(&run->pool, run->search);
}

static void add_neighbours(struct run *run)
{
    const struct acq_search *search = run->search;
    size_t                   len = search->space->params_len;
    size_t                   count = search->anchors_len == 0 ? 0 : search->samples / NEIGHBOURS_SHARE;
    for (size_t k = 0; k < count; k++)
        add_neighbour(run, search->anchors + k % search->anchors_len * len,
                      SCALES[k / search->anchors_len % (sizeof SCALES / sizeof SCALES[0])],
                      fmin(1.0, CHANGED / (double)len));
}

/* Scores in chunks while there is time; what was not scored has NAN.  A few neighbours are scored in any case, so that
 * whoever came this far has the model's answer. */
static enum status score_pool(struct run *run, struct error *err)
{
    const struct acq_search *search = run->search;
    struct pool             *pool = &run->pool;
    size_t                   chunk = search->slope == NULL ? pool->len : CHUNK;
    for (size_t i = 0; i < pool->len; i++)
        pool->scores[i] = NAN;
    for (size_t from = 0; from < pool->len; from += chunk) {
        if (is_late(search)) {
            if (from > 0)
                return STATUS_OK;
            from = pool->len < LATE ? 0 : pool->len - LATE;
        }
        size_t points = pool->len - from < chunk ? pool->len - from : chunk;
        TRY(search->scores(search->arg, pool->U + from * search->space->dims, points, pool->scores + from, err));
    }
    return STATUS_OK;
}

/* The highest score of [from, to), or to when none is a number. */
static size_t highest(const struct pool *pool, size_t from, size_t to)
{
    size_t best = to;
    for (size_t i = from; i < to; i++)
        if (isfinite(pool->scores[i]) && (best == to || pool->scores[i] > pool->scores[best]))
            best = i;
    return best;
}

static double minus_score(void *arg, const double *u, double *gradient)
{
    const struct run *run = arg;
    double            score = run->search->slope(run->search->arg, u, gradient);
    for (size_t j = 0; j < run->search->space->dims; j++)
        gradient[j] = -gradient[j];
    return -score;
}

static void limits(void *arg, const double *u, double *g, double *gradient)
{
    const struct space *space = ((const struct run *)arg)->search->space;
    space_excess(space, u, g, gradient);
    for (size_t k = 0; k < 2 * space->constraints_len; k++)
        g[k] += space->constraints[k / 2].min == space->constraints[k / 2].max ? 0 : MARGIN;
}

/* The climb comes to rest at the end of the room that the two rows of an equation have, and rounding may carry it a little over:
 * half as much again is still within the equation. */
static bool is_allowed(void *arg, const double *u)
{
    struct run         *run = arg;
    const struct space *space = run->search->space;
    space_excess(space, u, run->excess, run->excess + 2 * space->constraints_len);
    for (size_t k = 0; k < space->constraints_len; k++) {
        const double *rows = run->excess + 2 * k;
        double        more = space->constraints[k].min == space->constraints[k].max ? -(rows[0] + rows[1]) / 4 : 0;
        if (!(rows[0] <= more && rows[1] <= more))
            return false;
    }
    return true;
}

/* Narrows the bounds to where no forbidden combination is, given the values of the point. */
static void keep_out(struct run *run, const double *point, const double *u)
{
    const struct space *space = run->search->space;
    double              low[SPACE_PARAMS_MAX], high[SPACE_PARAMS_MAX], edge;
    for (size_t i = 0; i < space->params_len; i++) {
        low[i] = -HUGE_VAL;
        high[i] = HUGE_VAL;
    }
    space_keep_out(space, point, low, high);
    for (size_t i = 0, j = 0; i < space->params_len; j += param_width(&space->params[i++])) {
        if (low[i] > -HUGE_VAL) {
            param_encode(&space->params[i], low[i], &edge);
            run->lower[j] = fmin(fmax(run->lower[j], edge + MARGIN), u[j]);
        }
        if (high[i] < HUGE_VAL) {
            param_encode(&space->params[i], high[i], &edge);
            run->upper[j] = fmax(fmin(run->upper[j], edge - MARGIN), u[j]);
        }
    }
}

/* Sets the bounds of the free doubles that exist; false when there are none.  The climb stays on its face. */
static bool climb_bounds(struct run *run, const double *point, const double *u)
{
    const struct space *space = run->search->space;
    bool                any = false;
    for (size_t i = 0, j = 0; i < space->params_len; i++) {
        bool   moves = space->params[i].kind == PARAM_DOUBLE && is_free(run->search, i) && !isnan(point[i]);
        double least = 0;
        if (space->used_params != NULL) {
            moves &= !space_face_rests(space, point, i);
            if (moves)
                param_encode(&space->params[i], space->used_params[i].min, &least);
        }
        any |= moves;
        for (size_t end = j + param_width(&space->params[i]); j < end; j++) {
            bool is_boxed = moves && run->search->lower != NULL;
            run->lower[j] = is_boxed ? fmin(fmax(run->search->lower[j], least), u[j]) : moves ? least : u[j];
            run->upper[j] = is_boxed ? fmax(run->search->upper[j], u[j]) : moves ? 1.0 : u[j];
        }
    }
    if (any && space->forbid_len > 0)
        keep_out(run, point, u);
    return any;
}

/* Climbs from a point.  The result satisfies the constraints: is_allowed has computed the sums that it will have. */
static enum status climb(struct run *run, double *point, double *score, struct error *err)
{
    const struct acq_search *search = run->search;
    const struct space      *space = search->space;
    bool                     is_limited = space->constraints_len > 0;
    double                   value = HUGE_VAL;
    space_encode(space, point, run->u);
    if (!climb_bounds(run, point, run->u) || (is_limited && space->dims > WITHIN_DIMS_MAX))
        return STATUS_OK;
    struct minimize problem = {.dims = space->dims,
                               .lower = run->lower,
                               .upper = run->upper,
                               .arg = run,
                               .function = minus_score,
                               .limits_len = 2 * space->constraints_len,
                               .limits = limits,
                               .is_allowed = is_allowed,
                               .evaluations = search->evaluations,
                               .f_tolerance = F_TOLERANCE,
                               .x_tolerance = X_TOLERANCE,
                               .late = search->late,
                               .late_arg = search->late_arg};
    TRY((is_limited ? minimize_within : minimize_lbfgs)(&problem, run->u, &value, run->scratch, err));
    if (!(-value > *score))
        return STATUS_OK;
    double *moved = run->moves.points; /* not in use here */
    space_decode(space, run->u, moved);
    for (size_t i = 0; i < space->params_len; i++)
        if (space->params[i].kind != PARAM_DOUBLE || !is_free(search, i) || isnan(point[i]))
            moved[i] = point[i];
    if (space_forbids(space, moved))
        return STATUS_OK;
    *score = -value;
    memcpy(point, moved, space->params_len * sizeof *point);
    return STATUS_OK;
}

/* Adds a move, unless constraints would undo it. */
static void add_move(struct run *run, const double *point, size_t param, double index)
{
    const struct space *space = run->search->space;
    const struct param *p = &space->params[param];
    struct pool        *moves = &run->moves;
    double             *moved = pool_next(moves, space);
    if (moves->len == moves->room || !(index >= 0 && index < param_count(p)) || param_value(p, index) == point[param])
        return;
    memcpy(moved, point, space->params_len * sizeof *moved);
    moved[param] = param_value(p, index);
    space_settle(space, run->fill, moved);
    if (moved[param] != param_value(p, index) || used_points_has(run->search->used, moved) ||
        is_pending(run->search, moved))
        return;
    space_encode(space, moved, moves->U + moves->len * space->dims);
    moves->len++;
}

static void gather_moves_of(struct run *run, const double *point, size_t param)
{
    const struct param *p = &run->search->space->params[param];
    double              index = param_index(p, point[param]);
    if (p->kind != PARAM_CATEGORICAL) {
        double leap = fmax(2.0, floor((param_count(p) - 1.0) / LEAP_SHARE));
        for (int sign = -1; sign <= 1; sign += 2) {
            add_move(run, point, param, index + sign);
            add_move(run, point, param, index + sign * leap);
        }
        return;
    }
    size_t tried = p->choices < CHOICES_TRIED ? p->choices : CHOICES_TRIED;
    size_t start = rng_below(&run->rng, p->choices);
    for (size_t c = 0; c < tried; c++)
        add_move(run, point, param, (double)((start + c) % p->choices));
}

/* Gathers every step of one free parameter that is no double; from a random one on, as there may be more than fit. */
static void gather_moves(struct run *run, const double *point)
{
    const struct space *space = run->search->space;
    size_t              first = rng_below(&run->rng, space->params_len);
    run->moves.len = 0;
    for (size_t k = 0; k < space->params_len; k++) {
        size_t i = (first + k) % space->params_len;
        if (space->params[i].kind != PARAM_DOUBLE && is_free(run->search, i) && !isnan(point[i]))
            gather_moves_of(run, point, i);
    }
}

/* The best of the moves, if it is an improvement. */
static enum status move(struct run *run, double *point, double *score, bool *moved, struct error *err)
{
    const struct space *space = run->search->space;
    gather_moves(run, point);
    *moved = false;
    if (run->moves.len == 0)
        return STATUS_OK;
    TRY(run->search->scores(run->search->arg, run->moves.U, run->moves.len, run->moves.scores, err));
    size_t best = highest(&run->moves, 0, run->moves.len);
    if (best == run->moves.len || !(run->moves.scores[best] > *score))
        return STATUS_OK;
    memcpy(point, run->moves.points + best * space->params_len, space->params_len * sizeof *point);
    *score = run->moves.scores[best];
    *moved = true;
    return STATUS_OK;
}

static enum status refine(struct run *run, size_t start, struct error *err)
{
    size_t  len = run->search->space->params_len;
    double *point = run->pool.points + start * len, score = run->pool.scores[start];
    bool    moved = true;
    for (int round = 0; round < ROUNDS && moved && !is_late(run->search); round++) {
        TRY(climb(run, point, &score, err));
        TRY(move(run, point, &score, &moved, err));
    }
    if (score > run->score && !used_points_has(run->search->used, point) && !is_pending(run->search, point)) {
        run->score = score;
        memcpy(run->best, point, len * sizeof *point);
    }
    run->pool.scores[start] = NAN; /* not again */
    return STATUS_OK;
}

/* Refines the best of the pool, in turn from its two parts: the Sobol points and the neighbours. */
static enum status refine_best(struct run *run, size_t middle, struct error *err)
{
    struct pool *pool = &run->pool;
    size_t       first = highest(pool, 0, pool->len);
    if (first == pool->len)
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "no point has a score");
    run->score = pool->scores[first];
    memcpy(run->best, pool->points + first * run->search->space->params_len,
           run->search->space->params_len * sizeof *run->best);
    if (run->search->slope == NULL || run->all)
        return STATUS_OK;
    for (size_t k = 0; k < run->search->starts && !is_late(run->search); k++) {
        bool   near = k % 2 == 0;
        size_t to = near ? pool->len : middle, start = highest(pool, near ? middle : 0, to);
        if (start < to)
            TRY(refine(run, start, err));
    }
    return STATUS_OK;
}

static enum status run_search(struct run *run, struct error *err)
{
    const struct acq_search *search = run->search;
    size_t                   count = space_count(search->space), dims = search->space->dims, middle;
    size_t                   limits_len = 2 * search->space->constraints_len;
    run->all = acq_search_is_complete(search->space) && (search->slope != NULL || count <= search->samples);
    run->best = ARENA_NEW(run->scratch, double, 2 * search->space->params_len);
    run->excess = ARENA_NEW(run->scratch, double, limits_len *(1 + dims));
    run->u = ARENA_NEW(run->scratch, double, dims);
    run->lower = ARENA_NEW(run->scratch, double, dims);
    run->upper = ARENA_NEW(run->scratch, double, dims);
    if (run->best == NULL || run->excess == NULL || run->u == NULL || run->lower == NULL || run->upper == NULL ||
        !pool_init(&run->pool, search->space, run->all ? count : search->samples + search->samples / NEIGHBOURS_SHARE,
                   run->scratch) ||
        !pool_init(&run->moves, search->space, MOVES, run->scratch))
        return error_no_memory(err);
    run->fill = run->best + search->space->params_len;
    choose_fill(run);
    if (run->all)
        add_all(run, false);
    else
        add_sobol(run);
    if (run->all && run->pool.len == 0 && search->used->count == SIZE_MAX)
        add_all(run, true); // what is held leaves no other point of a space that has more
    middle = run->pool.len;
    if (!run->all)
        add_neighbours(run);
    if (run->pool.len == 0)
        return used_points_exhausted(err);
    TRY(score_pool(run, err));
    return refine_best(run, middle, err);
}

bool acq_search_is_complete(const struct space *space)
{
    return space_count(space) <= ENUMERATE;
}

enum status acq_search_run(const struct acq_search *search, double *point, struct arena *scratch, struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    struct run  run = {.search = search, .scratch = scratch, .rng = rng_at(search->seed, search->trial, RNG_STARTS)};
    enum status status = run_search(&run, err);
    if (status == STATUS_CONFLICT && search->pending_len > 0) {
        struct acq_search again = *search;
        again.pending_len = 0;
        arena_release(scratch, mark);
        return acq_search_run(&again, point, scratch, err);
    }
    if (status == STATUS_OK)
        memcpy(point, run.best, search->space->params_len * sizeof *point);
    arena_release(scratch, mark);
    return status;
}
