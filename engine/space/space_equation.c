/* Points of spaces with equations, or with bands so thin that a number can hardly move alone.
 * A chain of moves keeps every equation: two numbers at once along the line that leaves a sum, or a product, as it is
 * (hit-and-run, Smith 1984; ints by looking at every value of the first for which the second has one), or all doubles at
 * once in a random direction within all equations.  Each move ends with space_broken, as every way into the region does.
 * A product is a sum of logarithms, and is moved as that.  A band's sum stays in moves of pairs, and moves within the band
 * with single numbers. */
#include "engine/space/space_equation.h"

#include "engine/math/rng.h"

#include <string.h>

enum { WARM = 32, VALUES_MAX = 4096, SHRINKS = 24, PROJECTIONS = 120, HALVINGS = 60 };
static const double TINY = 1e-10; /* a direction shorter than that is a rounding error */
static const double THIN = 0.05;  /* of what the sum may be: a band */
static const double INSET = 1e-3; /* of a band: how far inside a projection ends */

struct pair {
    const struct constraint *c;
    size_t                   i, j; /* of its terms; where one is no double, i is none */
    double                   both; /* the sum of the two terms */
};

static double scaled(const struct constraint *c, double x)
{
    return c->is_product ? log(x) : x;
}

static double range_of(const struct constraint *c, const struct param *p)
{
    return scaled(c, p->max) - scaled(c, p->min);
}

static double term(const struct constraint *c, const double *point, size_t j)
{
    return c->coefficients[j] * scaled(c, point[c->params[j]]);
}

/* The sum of all terms but two. */
static double sum_without(const struct constraint *c, const double *point, size_t i, size_t j)
{
    double sum = 0;
    for (size_t k = 0; k < c->len; k++)
        sum += k == i || k == j ? 0 : term(c, point, k);
    return sum;
}

static bool is_thin(const struct space *space, const struct constraint *c)
{
    double width = 0;
    for (size_t j = 0; j < c->len; j++)
        width += fabs(c->coefficients[j]) * range_of(c, &space->params[c->params[j]]);
    return scaled(c, c->max) - scaled(c, c->min) <= THIN * width || c->min == c->max;
}

/* The number whose term is `term`. */
static double solved(const struct constraint *c, size_t j, double term)
{
    double x = term / c->coefficients[j];
    return c->is_product ? exp(x) : x;
}

/* Sets the first number of a pair to x and the second to what follows; false: the point is as it was. */
static bool try_pair(const struct space *space, const struct pair *pair, double x, double *point)
{
    const struct constraint *c = pair->c;
    size_t                   a = c->params[pair->i], b = c->params[pair->j];
    const struct param      *q = &space->params[b];
    double                   old[] = {point[a], point[b]};
    double                   y = solved(c, pair->j, pair->both - c->coefficients[pair->i] * scaled(c, x));
    if (!(fabs(y) < HUGE_VAL))
        return false;
    point[a] = x;
    point[b] = param_nearest(q, fmin(fmax(y, q->min), q->max));
    if (space_broken(space, point, 0) == NULL)
        return true;
    point[a] = old[0];
    point[b] = old[1];
    return false;
}

/* The values of the first number that leave the second one a value. */
static bool pair_range(const struct space *space, const struct pair *pair, double *low, double *high)
{
    const struct constraint *c = pair->c;
    const struct param      *p = &space->params[c->params[pair->i]], *q = &space->params[c->params[pair->j]];
    double                   from = solved(c, pair->i, pair->both - c->coefficients[pair->j] * scaled(c, q->min));
    double                   to = solved(c, pair->i, pair->both - c->coefficients[pair->j] * scaled(c, q->max));
    *low = fmax(fmin(from, to), p->min);
    *high = fmin(fmax(from, to), p->max);
    return *low <= *high;
}

static void move_doubles(const struct space *space, const struct pair *pair, struct rng *rng, double *point)
{
    const struct param *p = &space->params[pair->c->params[pair->i]];
    double              low, high, at = point[pair->c->params[pair->i]];
    bool                found = pair_range(space, pair, &low, &high);
    for (int k = 0; found && k < SHRINKS && low < high; k++) {
        double x = param_quantile_within(p, low, high, rng_uniform(rng));
        if (isnan(x) || try_pair(space, pair, x, point))
            return;
        if (x < at)
            low = x;
        else
            high = x;
    }
}

/* The square of the distance on the scale. */
static double apart(const struct space *space, size_t i, double x, double y)
{
    double u, w;
    param_encode(&space->params[i], x, &u);
    param_encode(&space->params[i], y, &w);
    return (u - w) * (u - w);
}

/* Takes one of all pairs of values at random, or the nearest to wanted where that is given. */
static void move_values(const struct space *space, const struct pair *pair, const double *wanted, struct rng *rng,
                        double *point)
{
    size_t              a = pair->c->params[pair->i], b = pair->c->params[pair->j], found = 0;
    const struct param *p = &space->params[a];
    double              old[] = {point[a], point[b]}, best[] = {point[a], point[b]}, least = HUGE_VAL, low, high;
    if (!pair_range(space, pair, &low, &high))
        return;
    low = fmax(low - 1e-9 * fabs(low), p->min);
    high = fmin(high + 1e-9 * fabs(high), p->max);
    double first = param_quantile_within(p, low, high, 0), last = param_quantile_within(p, low, high, 1);
    if (isnan(first))
        return;
    double begin = param_index(p, first), len = param_index(p, last) - begin + 1;
    for (double k = 0; k < fmin(len, VALUES_MAX); k++) {
        double index = len <= VALUES_MAX ? k : floor(rng_uniform(rng) * len);
        if (!try_pair(space, pair, param_value(p, begin + index), point))
            continue;
        found++;
        double far = wanted == NULL ? 0 : apart(space, a, point[a], wanted[a]) + apart(space, b, point[b], wanted[b]);
        if (wanted == NULL ? rng_below(rng, found) == 0 : far < least) {
            memcpy(best, (double[]){point[a], point[b]}, sizeof best);
            least = far;
        }
        point[a] = old[0];
        point[b] = old[1];
    }
    point[a] = best[0];
    point[b] = best[1];
}

static bool is_double(const struct space *space, size_t param)
{
    return space->params[param].kind == PARAM_DOUBLE;
}

static void move_pair(const struct space *space, const double *wanted, struct rng *rng, double *point)
{
    const struct constraint *c = &space->constraints[space->equations[rng_below(rng, space->equations_len)]];
    size_t                   terms[SPACE_CONSTRAINED_MAX], len = 0;
    for (size_t k = 0; k < c->len; k++) // on a face most are held, and are not drawn
        if (space->used_params == NULL || space_is_free(space, c->params[k]))
            terms[len++] = k;
    if (len < 2)
        return;
    size_t i = rng_below(rng, len), j = rng_below(rng, len - 1);
    j = terms[j + (j >= i)];
    i = terms[i];
    if (!space_is_free(space, c->params[i]) || !space_is_free(space, c->params[j]))
        return;
    bool        swaps = is_double(space, c->params[i]) && !is_double(space, c->params[j]);
    struct pair pair = {.c = c, .i = swaps ? j : i, .j = swaps ? i : j};
    pair.both =
        c->min == c->max ? scaled(c, c->min) - sum_without(c, point, i, j) : term(c, point, i) + term(c, point, j);
    if (!is_double(space, c->params[pair.i]))
        move_values(space, &pair, wanted, rng, point);
    else if (wanted == NULL)
        move_doubles(space, &pair, rng, point);
}

/* --- all doubles at once --- */

/* Numbers in their ranges, of the logarithm where they are in a product that is an equation. */
struct directions {
    double range[SPACE_CONSTRAINED_MAX]; /* 0: does not move */
    bool   is_log[SPACE_CONSTRAINED_MAX];
    double rows[SPACE_CONSTRAINTS_MAX][SPACE_CONSTRAINED_MAX]; /* [len], orthonormal, of the equations */
    size_t len;
};

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t m = 0; m < n; m++)
        sum += a[m] * b[m];
    return sum;
}

/* Takes from x its part in the span of the rows, twice for rounding. */
static void take_out(const struct directions *d, double *x, size_t n)
{
    for (size_t q = 0; q < 2 * d->len; q++) {
        const double *row = d->rows[q % d->len];
        double        part = dot(x, row, n);
        for (size_t m = 0; m < n; m++)
            x[m] -= part * row[m];
    }
}

static void find_ranges(const struct space *space, struct directions *d)
{
    for (size_t e = 0; e < space->equations_len; e++) {
        const struct constraint *c = &space->constraints[space->equations[e]];
        for (size_t m = 0, j = 0; m < space->constrained_len && j < c->len; m++) {
            size_t i = space->constrained[m];
            if (c->params[j] != i)
                continue;
            d->is_log[m] = c->is_product;
            d->range[m] = is_double(space, i) && space_is_free(space, i) ? range_of(c, &space->params[i]) : 0;
            j++;
        }
    }
}

static void find_directions(const struct space *space, struct directions *d)
{
    size_t n = space->constrained_len;
    *d = (struct directions){.len = 0};
    find_ranges(space, d);
    for (size_t e = 0; e < space->equations_len; e++) {
        const struct constraint *c = &space->constraints[space->equations[e]];
        double                  *row = d->rows[d->len], size;
        for (size_t m = 0, j = 0; m < n && j < c->len; m++)
            if (c->params[j] == space->constrained[m])
                row[m] = c->coefficients[j++] * d->range[m];
        size = sqrt(dot(row, row, n));
        for (size_t m = 0; m < n && size > 0; m++)
            row[m] /= size;
        take_out(d, row, n);
        size = sqrt(dot(row, row, n));
        for (size_t m = 0; m < n; m++)
            row[m] = size > TINY ? row[m] / size : 0;
        d->len += size > TINY;
    }
}

/* The line through start on which all numbers move: along x, from low to high. */
struct line {
    double x[SPACE_CONSTRAINED_MAX], start[SPACE_CONSTRAINED_MAX], low, high;
};

static struct line draw_line(const struct space *space, const struct directions *d, struct rng *rng,
                             const double *point)
{
    struct line line = {.low = -HUGE_VAL, .high = HUGE_VAL};
    size_t      n = space->constrained_len;
    for (size_t m = 0; m < n; m++)
        line.x[m] = d->range[m] > 0 ? rng_normal(rng) : 0;
    take_out(d, line.x, n);
    for (size_t m = 0; m < n; m++) {
        const struct param *p = &space->params[space->constrained[m]];
        double              at = line.start[m] = point[space->constrained[m]];
        line.x[m] = fabs(line.x[m]) < TINY ? 0 : line.x[m] * d->range[m];
        if (line.x[m] == 0)
            continue;
        double up = (d->is_log[m] ? log(p->max / at) : p->max - at) / line.x[m];
        double down = (d->is_log[m] ? log(p->min / at) : p->min - at) / line.x[m];
        line.low = fmax(line.low, fmin(up, down));
        line.high = fmin(line.high, fmax(up, down));
    }
    return line;
}

static void move_all(const struct space *space, struct rng *rng, double *point)
{
    struct directions d;
    size_t            n = space->constrained_len;
    find_directions(space, &d);
    struct line line = draw_line(space, &d, rng, point);
    for (int k = 0; k < SHRINKS && line.low < line.high && isfinite(line.high - line.low); k++) {
        double t = line.low + rng_uniform(rng) * (line.high - line.low);
        for (size_t m = 0; m < n; m++) {
            const struct param *p = &space->params[space->constrained[m]];
            double from = line.start[m], move = t * line.x[m], at = d.is_log[m] ? from * exp(move) : from + move;
            point[space->constrained[m]] = line.x[m] == 0 ? from : fmin(fmax(at, p->min), p->max);
        }
        if (space_broken(space, point, 0) == NULL)
            return;
        *(t < 0 ? &line.low : &line.high) = t;
    }
    for (size_t m = 0; m < n; m++)
        point[space->constrained[m]] = line.start[m];
}

/* --- the chain --- */

/* Every fourth step lets numbers that an equation does not tie move alone. */
void space_equation_chain(const struct space *space, size_t steps, struct rng *rng, double *point)
{
    double v[SPACE_PARAMS_MAX];
    for (size_t k = 0; k < steps; k++) {
        if (k % 4 == 1 && space->equations_len > 1)
            move_all(space, rng, point);
        else if (k % 4 != 3 && space->equations_len > 0)
            move_pair(space, NULL, rng, point);
        else {
            for (size_t m = 0; m < space->constrained_len; m++)
                v[space->constrained[m]] = rng_uniform(rng);
            space_spread(space, v, point);
        }
    }
}

struct rng space_stream(const double *x, size_t n, const size_t *list)
{
    uint64_t key = n;
    for (size_t k = 0; k < n; k++) {
        uint64_t bits;
        memcpy(&bits, &x[list == NULL ? k : list[k]], sizeof bits);
        key = (key ^ bits) * 0x9E3779B97F4A7C15u;
        key ^= key >> 29;
    }
    return rng_at(key, 0, RNG_POINT);
}

void space_equation_draw(const struct space *space, const double *v, double *point)
{
    struct rng    rng = space_stream(v, space->params_len, NULL);
    const double *start = space->warm + rng_below(&rng, space->warm_len) * space->params_len;
    for (size_t m = 0; m < space->constrained_len; m++)
        point[space->constrained[m]] = start[space->constrained[m]];
    space_equation_chain(space, 2 * space->constrained_len + 8, &rng, point);
}

enum status space_equation_begin(struct space *space, struct arena *arena, struct error *err)
{
    size_t *equations = ARENA_NEW(arena, size_t, SPACE_CONSTRAINTS_MAX), len = space->params_len;
    double *warm;
    if (equations == NULL)
        return error_no_memory(err);
    space->equations = equations;
    space->equations_len = space->warm_len = 0;
    for (size_t k = 0; k < space->constraints_len; k++)
        if (is_thin(space, &space->constraints[k]))
            equations[space->equations_len++] = k;
    if (space->equations_len == 0 || space->used_params != NULL)
        return STATUS_OK;
    if ((warm = arena_alloc(arena, WARM, len * sizeof *warm)) == NULL)
        return error_no_memory(err);
    struct rng rng = rng_at(1, 0, RNG_POINT);
    double     point[SPACE_PARAMS_MAX] = {0};
    for (size_t m = 0; m < space->constrained_len; m++)
        point[space->constrained[m]] = space->centre[space->constrained[m]];
    for (size_t w = 0; w < WARM; w++) {
        (void)space_draw_finite(space, &rng, point);
        space_equation_chain(space, (w == 0 ? 20 : 4) * space->constrained_len + 8, &rng, point);
        memcpy(warm + w * len, point, len * sizeof *point);
    }
    space->warm = warm;
    space->warm_len = WARM;
    return STATUS_OK;
}

/* --- repair --- */

/* A term of a constraint, which a projection may move. */
struct stride {
    double x, coefficient, range, min, max;
    bool   moves;
};

/* False: no term may move. */
static bool find_strides(const struct space *space, const struct constraint *c, bool doubles_only, const double *point,
                         struct stride *strides)
{
    bool any = false;
    for (size_t j = 0; j < c->len; j++) {
        size_t              i = c->params[j];
        const struct param *p = &space->params[i];
        strides[j] = (struct stride){point[i],       c->coefficients[j],
                                     range_of(c, p), p->min,
                                     p->max,         space_is_free(space, i) && (!doubles_only || is_double(space, i))};
        any = any || strides[j].moves;
    }
    return any;
}

/* The number after a step of length lambda along the gradient of a constraint, in units of the ranges, cut to its own. */
static double stepped(const struct constraint *c, const struct stride *s, double lambda)
{
    double step = lambda * s->coefficient * s->range * s->range;
    return fmin(fmax(c->is_product ? s->x * exp(step) : s->x + step, s->min), s->max);
}

static double sum_after(const struct constraint *c, const struct stride *strides, double lambda)
{
    double sum = 0;
    for (size_t j = 0; j < c->len; j++)
        sum += strides[j].coefficient * scaled(c, strides[j].moves ? stepped(c, &strides[j], lambda) : strides[j].x);
    return sum;
}

/* The nearest point of the box that satisfies one constraint: the sum grows with lambda, so that is found by halving, and
 * the last bits by solving for a number within its range.  False: the point stays as it was. */
static bool project_on(const struct space *space, const struct constraint *c, bool doubles_only, double *point)
{
    struct stride strides[SPACE_CONSTRAINED_MAX];
    if (!find_strides(space, c, doubles_only, point, strides))
        return false;
    double min = c->is_product ? (c->min > 0 ? log(c->min) : -HUGE_VAL) : c->min, max = scaled(c, c->max);
    double inset = isfinite(max - min) ? INSET * (max - min) : 0, low = 0, high = 1e-6;
    double sum = sum_after(c, strides, 0), goal = sum < min ? min + inset : max - inset;
    double sign = sum < goal ? 1 : -1;
    while (high < 1e12 && sign * sum_after(c, strides, sign * high) < sign * goal)
        high *= 4;
    for (int k = 0; k < HALVINGS; k++) {
        double middle = (low + high) / 2;
        if (sign * sum_after(c, strides, sign * middle) < sign * goal)
            low = middle;
        else
            high = middle;
    }
    size_t pivot = c->len;
    for (size_t j = 0; j < c->len; j++) {
        size_t i = c->params[j];
        if (!strides[j].moves)
            continue;
        point[i] = stepped(c, &strides[j], sign * high);
        if (is_double(space, i) && point[i] > space->params[i].min && point[i] < space->params[i].max)
            pivot = j;
    }
    if (pivot < c->len) {
        const struct param *p = &space->params[c->params[pivot]];
        double              x = solved(c, pivot, goal - sum_without(c, point, pivot, pivot));
        point[c->params[pivot]] = fmin(fmax(x, p->min), p->max);
    }
    for (size_t j = 0; j < c->len; j++)
        if (memcmp(&point[c->params[j]], &strides[j].x, sizeof strides[j].x) != 0)
            return true;
    return false;
}

static bool project(const struct space *space, bool doubles_only, double *point)
{
    const struct constraint *broken = space_broken(space, point, 0);
    for (int k = 0;
         k < PROJECTIONS && broken != NULL && broken->at_most == 0 && project_on(space, broken, doubles_only, point);
         k++)
        broken = space_broken(space, point, 0);
    return broken == NULL;
}

bool space_equation_project(const struct space *space, double *point)
{
    return project(space, true, point);
}

const double *space_equation_nearest(const struct space *space, const double *draft)
{
    const double *best = space->warm;
    double        least = HUGE_VAL;
    for (size_t w = 0; w < space->warm_len; w++) {
        const double *warm = space->warm + w * space->params_len;
        double        far = 0;
        for (size_t m = 0; m < space->constrained_len; m++)
            far += apart(space, space->constrained[m], warm[space->constrained[m]], draft[space->constrained[m]]);
        best = far < least ? warm : best;
        least = fmin(least, far);
    }
    return best;
}

bool space_equation_enter(const struct space *space, double *point)
{
    (void)project(space, false, point);
    for (size_t m = 0; m < space->constrained_len; m++) {
        size_t i = space->constrained[m];
        point[i] = space_is_free(space, i) ? param_nearest(&space->params[i], point[i]) : point[i];
    }
    return space_equation_project(space, point);
}

void space_equation_approach(const struct space *space, const double *draft, struct rng *rng, double *point)
{
    for (size_t k = 0; k < 3 * space->constrained_len && space->equations_len > 0; k++)
        move_pair(space, draft, rng, point);
}

void space_equation_repair(const struct space *space, double *point)
{
    double draft[SPACE_PARAMS_MAX];
    memcpy(draft, point, space->params_len * sizeof *draft);
    if (space_equation_enter(space, point))
        return;
    const double *warm = space_equation_nearest(space, draft);
    struct rng    rng = space_stream(draft, space->constrained_len, space->constrained);
    for (size_t m = 0; m < space->constrained_len; m++)
        point[space->constrained[m]] = warm[space->constrained[m]];
    space_equation_approach(space, draft, &rng, point);
}
