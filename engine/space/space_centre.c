/* A point in the middle of what constraints leave, or the finding that there is none.
 * Each step is a linear program: the largest s such that every constraint holds with room s (a share of the width of
 * its sum) and every number keeps s of its own range to both ends.  s < 0: no point of these ranges satisfies the
 * constraints.  An equation has no room to keep: by how much the equations fail is a variable of its own, e <= 0, and the
 * largest s + EQUATION e is looked for.  Ints and discrete numbers are rounded; if the rounded point is not in the region, the
 * range of the one that was rounded the most is cut in two (branch and bound, Land & Doig 1960).  A point is accepted only by
 * space_broken; "none" is exact up to ROUNDING of a width, as long as the steps suffice, as they do unless many ints have to
 * meet a narrow band.
 * The numbers of a product are on a logarithmic scale, on which it is a sum, and all of this holds.  A sum that has one of
 * these numbers too is not linear any more: then each step is a sequence of programs, in which its tangent plane at
 * the solution before stands for the sum, and "none" is no proof.  The first half goes a part of the way to the next
 * solution, so that it does not swing; the second half goes all of it, as Newton's method does. */
#include "engine/math/rng.h"
#include "engine/math/simplex.h"
#include "engine/space/space.h"

#include <string.h>

enum { NODES_MIN = 64, NODES_MAX = 20000, TANGENTS = 40 };
static const double WORK = 1e9; /* about how many multiplications may be spent */
static const double ROUNDING = 1e-9;
static const double EQUATION = 1e4; /* what a failing equation costs, in rooms */

struct search {
    const struct space *space; /* with constrained set */
    struct simplex      lp;
    double             *low, *high; /* [params_len] ranges of this node; equal where held */
    double             *x; /* [constrained_len + 3] numbers, s; where there are equations also e and s + EQUATION e */
    double             *wanted;    /* [params_len] its solution in natural units */
    double             *point;     /* [params_len] rounded */
    bool               *is_log;    /* [params_len] in some product */
    bool                is_curved; /* a sum has one of these parameters, too */
    bool                has_equation;
    bool               *is_used; /* [params_len] decided of a number that might be 0 */
    int                 nodes_left;
};

/* The number at y in the range of its node, and back. */
static double number_at(const struct search *s, size_t i, double y)
{
    if (s->is_log[i])
        return s->low[i] * pow(s->high[i] / s->low[i], y);
    return s->low[i] + y * (s->high[i] - s->low[i]);
}

static double place_of(const struct search *s, size_t i, double x)
{
    if (!(s->high[i] > s->low[i]))
        return 0;
    return s->is_log[i] ? log(x / s->low[i]) / log(s->high[i] / s->low[i]) : (x - s->low[i]) / (s->high[i] - s->low[i]);
}

/* A term as a straight line over the range: what it is at the low end, and what it gains to the high one.  Of a
 * logarithmic number in a sum: the tangent where the number is wanted. */
static void line_of(const struct search *s, const struct constraint *c, size_t j, double *at_low, double *gain)
{
    size_t i = c->params[j];
    double low = s->low[i], high = s->high[i], a = c->coefficients[j];
    *at_low = a * (c->is_product ? log(low) : low);
    *gain = a * (c->is_product ? log(high / low) : high - low);
    if (c->is_product || !s->is_log[i])
        return;
    *gain = a * s->wanted[i] * log(high / low);
    *at_low = a * s->wanted[i] - *gain * place_of(s, i, s->wanted[i]);
}

/* Adds a row: coefficients over the box of the node, right-hand side. */
static void add_row(struct search *s, const struct constraint *c, double sign, double bound)
{
    const struct space *space = s->space;
    double             *row = s->lp.table + s->lp.rows++ * (s->lp.columns + 1), width = 0, at_low = 0, low, gain;
    memset(row, 0, (s->lp.columns + 1) * sizeof *row);
    for (size_t j = 0; j < c->len; j++) {
        const struct param *p = &space->params[c->params[j]];
        width += fabs(c->coefficients[j]) * (c->is_product ? log(p->max / p->min) : p->max - p->min);
        line_of(s, c, j, &low, &gain);
        at_low += low;
    }
    bound = c->is_product ? log(bound) : bound;
    width = width > 0 ? width : 1; // of constants alone
    for (size_t k = 0, j = 0; j < c->len; k++) {
        size_t i = space->constrained[k];
        if (j < c->len && c->params[j] == i) {
            line_of(s, c, j++, &low, &gain);
            row[k] = sign * gain / width;
        }
    }
    row[space->constrained_len + (c->min == c->max)] = 1;
    row[s->lp.columns] = sign * (bound - at_low) / width;
}

/* Room at the ends of a range: y + s <= 1 and -y + s <= 0, in units of it. */
static void add_ends(struct search *s, size_t k)
{
    for (int end = 0; end < 2; end++) {
        double *row = s->lp.table + s->lp.rows++ * (s->lp.columns + 1);
        memset(row, 0, (s->lp.columns + 1) * sizeof *row);
        row[k] = end == 0 ? 1 : -1;
        row[s->space->constrained_len] = 1;
        row[s->lp.columns] = end == 0 ? 1 : 0;
    }
}

static void add_constraints(struct search *s)
{
    const struct space *space = s->space;
    s->lp.columns = space->constrained_len + (s->has_equation ? 3 : 1);
    s->lp.rows = 0;
    for (size_t k = 0; k < space->constraints_len; k++) {
        const struct constraint *c = &space->constraints[k];
        if (isfinite(c->max))
            add_row(s, c, 1, c->max);
        if (isfinite(c->min))
            add_row(s, c, -1, c->min);
    }
    for (size_t k = 0; k < space->constrained_len; k++)
        if (s->high[space->constrained[k]] > s->low[space->constrained[k]])
            add_ends(s, k);
}

/* Counts s (slack 0) or e (slack 1) from the least that some row asks for, so that the origin is a solution; returns it. */
static double count_from_least(struct search *s, size_t slack)
{
    size_t n = s->space->constrained_len, columns = s->lp.columns;
    double least = 0;
    for (size_t i = 0; i < s->lp.rows; i++)
        if (s->lp.table[i * (columns + 1) + n + slack] != 0)
            least = fmin(least, s->lp.table[i * (columns + 1) + columns]);
    for (size_t i = 0; i < s->lp.rows; i++)
        if (s->lp.table[i * (columns + 1) + n + slack] != 0)
            s->lp.table[i * (columns + 1) + columns] -= least;
    return least;
}

/* e <= 0, and what is maximised, the last variable, is at most s + EQUATION e; each counted from its least. */
static void add_goal(struct search *s, double least)
{
    size_t  n = s->space->constrained_len, columns = s->lp.columns;
    double *row = s->lp.table + s->lp.rows * (columns + 1);
    memset(row, 0, 2 * (columns + 1) * sizeof *row);
    row[n + 1] = 1;
    row[columns] = -least;
    row += columns + 1;
    row[n] = -1;
    row[n + 1] = -EQUATION;
    row[n + 2] = 1;
    s->lp.rows += 2;
}

/* The room: the largest s, or e if equations fail.  wanted receives where, or where sums are curved goes that share of the way. */
static double relax(struct search *s, double share)
{
    const struct space *space = s->space;
    size_t              n = space->constrained_len;
    add_constraints(s);
    double least_s = count_from_least(s, 0), least_e = s->has_equation ? count_from_least(s, 1) : 0;
    if (s->has_equation)
        add_goal(s, least_e);
    simplex_run(&s->lp, s->x);
    for (size_t k = 0; k < n; k++) {
        size_t i = space->constrained[k];
        double y = s->high[i] > s->low[i] ? fmin(fmax(s->x[k], 0), 1) : 0;
        if (s->is_curved)
            y = place_of(s, i, s->wanted[i]) * (1 - share) + y * share;
        s->wanted[i] = y >= 1 ? s->high[i] : number_at(s, i, y);
    }
    return fmin(s->x[n] + least_s, s->has_equation ? s->x[n + 1] + least_e : HUGE_VAL);
}

/* The parameter that rounding moved the most, as a share of its range; params_len: none was moved. */
static size_t most_rounded(const struct search *s)
{
    const struct space *space = s->space;
    size_t              most = space->params_len;
    double              largest = ROUNDING;
    for (size_t k = 0; k < space->constrained_len; k++) {
        size_t              i = space->constrained[k];
        const struct param *p = &space->params[i];
        double              moved = fabs(s->point[i] - s->wanted[i]) / (p->max - p->min);
        if (moved > largest && s->low[i] < s->high[i]) {
            largest = moved;
            most = i;
        }
    }
    return most;
}

/* True: point is in the region, where rounding and curved sums leave equations a little off after doubles have moved. */
static bool is_inside(struct search *s)
{
    const struct space *space = s->space;
    double              moved[SPACE_PARAMS_MAX];
    if (space_broken(space, s->point, 0) == NULL)
        return true;
    memcpy(moved, s->point, space->params_len * sizeof *moved);
    if (space->used_params != NULL ? !space_face_enter(space, moved)
                                   : !s->has_equation || !space_equation_project(space, moved))
        return false;
    memcpy(s->point, moved, space->params_len * sizeof *moved);
    return true;
}

static bool explore(struct search *s);

/* Both parts of the range, the one with the rounded value first. */
static bool branch(struct search *s, size_t i)
{
    const struct param *p = &s->space->params[i];
    double              low = s->low[i], high = s->high[i], at = s->point[i], index = param_index(p, at);
    bool                is_up = at > s->wanted[i];
    double              other = param_value(p, is_up ? index - 1 : index + 1);
    for (int part = 0; part < 2; part++) {
        bool is_upper = (part == 0) == is_up;
        s->low[i] = is_upper ? fmax(at, other) : low;
        s->high[i] = is_upper ? high : fmin(at, other);
        if (explore(s))
            return true;
    }
    s->low[i] = low;
    s->high[i] = high;
    return false;
}

/* The number not decided of that the solution has most of, where too many of a constraint may be used or there is a least use;
 * params_len: there is none. */
static size_t most_open(const struct search *s)
{
    const struct space *space = s->space;
    size_t              most = space->params_len;
    double              largest = -1;
    for (size_t k = 0; k < space->constraints_len; k++) {
        const struct constraint *c = &space->constraints[k];
        size_t                   open = 0;
        for (size_t j = 0; j < c->len; j++)
            open += s->low[c->params[j]] != 0 || s->high[c->params[j]] != 0;
        for (size_t j = 0; j < c->len && c->at_most > 0; j++) {
            size_t i = c->params[j];
            double share = fabs(s->wanted[i]) / (space->params[i].max - space->params[i].min);
            bool   matters = open > c->at_most || c->min_used[j] > 0;
            if (matters && !s->is_used[i] && s->low[i] <= 0 && s->high[i] >= 0 && s->low[i] < s->high[i] &&
                share > largest) {
                largest = share;
                most = i;
            }
        }
    }
    return most;
}

/* Holds at 0 what may not be used any more; false: too many are. */
static bool close_full(struct search *s)
{
    const struct space *space = s->space;
    for (size_t k = 0; k < space->constraints_len; k++) {
        const struct constraint *c = &space->constraints[k];
        size_t                   used = 0;
        for (size_t j = 0; j < c->len; j++)
            used += s->is_used[c->params[j]];
        if (c->at_most > 0 && used > c->at_most)
            return false;
        for (size_t j = 0; j < c->len && c->at_most > 0 && used == c->at_most; j++)
            if (!s->is_used[c->params[j]])
                s->low[c->params[j]] = s->high[c->params[j]] = 0;
    }
    return true;
}

/* The number is used, and then it is not. */
static bool branch_used(struct search *s, size_t i)
{
    const struct space *space = s->space;
    double              low[SPACE_CONSTRAINED_MAX], high[SPACE_CONSTRAINED_MAX];
    for (size_t m = 0; m < space->constrained_len; m++) {
        low[m] = s->low[space->constrained[m]];
        high[m] = s->high[space->constrained[m]];
    }
    s->is_used[i] = true;
    if (space->used_params[i].min > space->params[i].min)
        s->low[i] = space->used_params[i].min;
    if (close_full(s) && explore(s))
        return true;
    s->is_used[i] = false;
    for (int part = 0; part < 2; part++) {
        for (size_t m = 0; m < space->constrained_len; m++) {
            s->low[space->constrained[m]] = low[m];
            s->high[space->constrained[m]] = high[m];
        }
        if (part == 1)
            break;
        s->low[i] = s->high[i] = 0;
        if (explore(s))
            return true;
    }
    return false;
}

/* True: point is in the region. */
static bool explore(struct search *s)
{
    const struct space *space = s->space;
    if (s->nodes_left-- <= 0)
        return false;
    for (size_t k = 0; s->is_curved && k < space->constrained_len; k++)
        s->wanted[space->constrained[k]] = number_at(s, space->constrained[k], 0.5);
    for (int step = 0; step < (s->is_curved ? TANGENTS : 1); step++) {
        double room = relax(s, step < TANGENTS / 2 ? 4.0 / (4 + step) : 1);
        if (room < -ROUNDING && !s->is_curved)
            return false;
        for (size_t k = 0; k < space->constrained_len; k++) {
            size_t i = space->constrained[k];
            s->point[i] = param_nearest(&space->params[i], s->wanted[i]);
        }
        if (is_inside(s))
            return true;
    }
    size_t i = most_open(s);
    if (i < space->params_len)
        return branch_used(s, i);
    i = most_rounded(s);
    return i < space->params_len && branch(s, i);
}

static enum status list_constrained(struct space *space, struct arena *arena, struct error *err)
{
    size_t *list = ARENA_NEW(arena, size_t, SPACE_CONSTRAINED_MAX);
    bool    used[SPACE_PARAMS_MAX] = {false};
    if (list == NULL)
        return error_no_memory(err);
    space->constrained = list;
    space->constrained_len = 0;
    for (size_t k = 0; k < space->constraints_len; k++)
        for (size_t j = 0; j < space->constraints[k].len; j++)
            used[space->constraints[k].params[j]] = true;
    for (size_t i = 0; i < space->params_len; i++)
        if (used[i])
            list[space->constrained_len++] = i;
    return STATUS_OK;
}

static void mark_constraints(struct search *s)
{
    const struct space *space = s->space;
    for (size_t k = 0; k < space->constraints_len; k++)
        s->has_equation |= space->constraints[k].min == space->constraints[k].max;
    for (size_t i = 0; i < space->params_len; i++)
        s->is_log[i] = false;
    for (size_t k = 0; k < space->constraints_len; k++)
        for (size_t j = 0; j < space->constraints[k].len; j++)
            s->is_log[space->constraints[k].params[j]] |= space->constraints[k].is_product;
    for (size_t k = 0; k < space->constraints_len; k++)
        for (size_t j = 0; j < space->constraints[k].len; j++)
            s->is_curved |= !space->constraints[k].is_product && s->is_log[space->constraints[k].params[j]];
}

/* centre [params_len]: of the constrained parameters; the others are left as they are. */
static enum status find_centre(const struct space *space, struct arena *arena, double *centre, bool *found,
                               struct error *err)
{
    struct arena_mark mark = arena_mark(arena);
    size_t            n = space->constrained_len, rows = 2 * (space->constraints_len + n) + 3;
    struct search     s = {.space = space, .point = centre};
    *found = false;
    s.lp.table = arena_alloc(arena, rows, (n + 4) * sizeof *s.lp.table);
    s.lp.basis = ARENA_NEW(arena, size_t, rows);
    s.lp.outside = ARENA_NEW(arena, size_t, n + 3);
    s.x = ARENA_NEW(arena, double, n + 3);
    s.low = ARENA_NEW(arena, double, 3 * space->params_len);
    s.is_log = ARENA_NEW(arena, bool, 2 * space->params_len);
    if (s.lp.table == NULL || s.lp.basis == NULL || s.lp.outside == NULL || s.x == NULL || s.low == NULL ||
        s.is_log == NULL)
        return error_no_memory(err);
    mark_constraints(&s);
    s.is_used = s.is_log + space->params_len;
    s.high = s.low + space->params_len;
    s.wanted = s.high + space->params_len;
    for (size_t k = 0; k < n; k++) {
        size_t i = space->constrained[k];
        s.low[i] = space_is_free(space, i) ? space->params[i].min : space->held[i];
        s.high[i] = space_is_free(space, i) ? space->params[i].max : space->held[i];
        s.is_used[i] = s.low[i] == s.high[i] && s.low[i] != 0;
    }
    s.nodes_left = (int)fmin(fmax(WORK / (double)((rows + n) * rows * (n + 2)), NODES_MIN), NODES_MAX);
    *found = (space->used_params == NULL || close_full(&s)) && explore(&s);
    arena_release(arena, mark);
    return STATUS_OK;
}

enum { SEARCHES = 256 };

/* The search may miss what is left of an infinite space; of a finite one that is walked it does not. */
static enum status find_allowed(struct space *space, struct arena *arena, struct error *err)
{
    double     v[SPACE_PARAMS_MAX], *allowed = ARENA_NEW(arena, double, space->params_len);
    struct rng rng = rng_at(1, 0, RNG_POINT);
    bool       found = false;
    space->allowed = NULL;
    if (allowed == NULL)
        return error_no_memory(err);
    for (int k = 0; k < SEARCHES && !found; k++) {
        for (size_t i = 0; i < space->params_len; i++)
            v[i] = k == 0 ? 0.5 : rng_uniform(&rng);
        (void)space_quantile(space, v, allowed);
        found = space_has(space, allowed);
    }
    if (!found && space_count(space) <= SPACE_WALK_MAX)
        found = space_first(space, allowed);
    space->allowed = allowed;
    if (found)
        return STATUS_OK;
    return space->held == NULL ? error_set(err, STATUS_INVALID, "no_feasible_point", "/space/forbid",
                                           "no point was found that is allowed")
                               : error_set(err, STATUS_INVALID, "constraint_violated", "/fixed",
                                           "no point with these values was found that the space allows");
}

enum status space_hold(const struct space *space, const double *fixed, struct arena *arena, struct space *held,
                       struct error *err)
{
    *held = *space;
    held->held = fixed;
    if (space->constraints_len == 0)
        return space->forbid_len > 0 ? find_allowed(held, arena, err) : STATUS_OK;
    double *centre = ARENA_NEW(arena, double, space->params_len);
    bool    found;
    if (centre == NULL)
        return error_no_memory(err);
    held->centre = centre;
    TRY(space_face_begin(held, arena, err));
    TRY(list_constrained(held, arena, err));
    TRY(find_centre(held, arena, centre, &found, err));
    if (found) {
        TRY(space_equation_begin(held, arena, err));
        if (held->used_params != NULL)
            TRY(space_face_warm(held, arena, err));
        return space->forbid_len > 0 ? find_allowed(held, arena, err) : STATUS_OK;
    }
    if (fixed == NULL)
        return error_set(err, STATUS_INVALID, "no_feasible_point", "/space/constraints",
                         "no point within the bounds was found that satisfies all constraints");
    return error_set(err, STATUS_INVALID, "constraint_violated", "/fixed",
                     "no point with these values was found that satisfies the constraints of the space");
}
