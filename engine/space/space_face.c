/* Spaces where at most k of some numbers are used, which is not 0.
 * A face is a choice of those that are: the others are held at 0, the used ones begin at min_used, and what is left is a
 * space with sums and products as any other, of which space_equation.c knows the moves and projections.  A draft goes to the face
 * of its largest numbers, or to one with more or fewer used, as the constraints want it. */
#include "engine/space/space_equation.h"

#include "engine/math/rng.h"

#include <string.h>

enum { WARM = 32, FAILURES = 4, STEPS_ALONE = 8, SAMPLES = 3 };

struct face {
    struct space space;
    double       held[SPACE_PARAMS_MAX]; /* 0 where a number is not used */
};

/* The numbers that may be 0, those first that are likelier to be used. */
struct ranking {
    size_t params[SPACE_CONSTRAINED_MAX], len;
    double sizes[SPACE_CONSTRAINED_MAX];
};

static size_t place_in(const struct constraint *c, size_t param)
{
    size_t j = 0;
    while (j < c->len && c->params[j] != param)
        j++;
    return j;
}

static bool has_number(const struct constraint *c, size_t param)
{
    return c->at_most > 0 && place_in(c, param) < c->len;
}

static double range_low(const struct space *space, size_t i)
{
    double low = 0;
    for (size_t k = 0; k < space->constraints_len; k++)
        if (has_number(&space->constraints[k], i))
            low = fmax(low, space->constraints[k].min_used[place_in(&space->constraints[k], i)]);
    return low;
}

/* Lets the values of a number begin at low.  Steps that are no decimal numbers may add up to others from there: these stay. */
static void raise_min(struct param *p, double low)
{
    const struct param whole = *p;
    double             first = param_quantile_within(p, low, p->max, 0);
    if (isnan(first))
        return;
    p->min = first;
    if (p->kind == PARAM_DISCRETE) {
        p->values += (size_t)param_index(&whole, first);
        p->choices -= (size_t)param_index(&whole, first);
    }
    double samples[SAMPLES] = {1, floor(param_count(p) / 2), param_count(p) - 1};
    for (int k = 0; k < SAMPLES && p->kind == PARAM_STEPPED; k++)
        if (!param_has(&whole, param_value(p, samples[k])))
            *p = whole;
}

enum status space_face_begin(struct space *space, struct arena *arena, struct error *err)
{
    bool any = false;
    for (size_t k = 0; k < space->constraints_len; k++)
        any |= space->constraints[k].at_most > 0;
    space->used_params = NULL;
    if (!any)
        return STATUS_OK;
    struct param *used = ARENA_NEW(arena, struct param, space->params_len);
    if (used == NULL)
        return error_no_memory(err);
    memcpy(used, space->params, space->params_len * sizeof *used);
    for (size_t i = 0; i < space->params_len; i++)
        if (range_low(space, i) > 0)
            raise_min(&used[i], range_low(space, i));
    space->used_params = used;
    return STATUS_OK;
}

bool space_face_rests(const struct space *space, const double *point, size_t param)
{
    for (size_t k = 0; k < space->constraints_len && point[param] == 0; k++)
        if (has_number(&space->constraints[k], param))
            return true;
    return false;
}

/* --- faces --- */

/* sizes [params_len] of the free ones; what is held at another value than 0 is used in any case. */
static void rank(const struct space *space, const double *sizes, struct ranking *out)
{
    bool seen[SPACE_PARAMS_MAX] = {false};
    out->len = 0;
    for (size_t k = 0; k < space->constraints_len; k++) {
        const struct constraint *c = &space->constraints[k];
        for (size_t j = 0; j < c->len && c->at_most > 0; j++) {
            size_t i = c->params[j], at = out->len;
            double size = space_is_free(space, i) ? sizes[i] : space->held[i] != 0 ? HUGE_VAL : -HUGE_VAL;
            if (seen[i])
                continue;
            seen[i] = true;
            for (; at > 0 && out->sizes[at - 1] < size; at--) {
                out->sizes[at] = out->sizes[at - 1];
                out->params[at] = out->params[at - 1];
            }
            out->sizes[at] = size;
            out->params[at] = i;
            out->len++;
        }
    }
}

/* Ranks the numbers of a draft by their shares of their ranges; returns how many are nearer to being used than to 0. */
static size_t rank_draft(const struct space *space, const double *draft, struct ranking *out)
{
    double sizes[SPACE_PARAMS_MAX];
    size_t wanted = 0;
    for (size_t m = 0; m < space->constrained_len; m++) {
        size_t              i = space->constrained[m];
        const struct param *p = &space->params[i];
        sizes[i] = p->max > p->min ? fabs(draft[i]) / (p->max - p->min) : 0;
        if (space->used_params[i].min > p->min && draft[i] < space->used_params[i].min / 2)
            sizes[i] = 0;
    }
    rank(space, sizes, out);
    while (wanted < out->len && out->sizes[wanted] > 0)
        wanted++;
    return wanted;
}

/* Whether each constraint that the number is in has a place left; takes these. */
static bool take_places(const struct space *space, size_t i, size_t *left)
{
    for (size_t k = 0; k < space->constraints_len; k++)
        if (has_number(&space->constraints[k], i) && left[k] == 0)
            return false;
    for (size_t k = 0; k < space->constraints_len; k++)
        left[k] -= has_number(&space->constraints[k], i);
    return true;
}

/* The face of up to `size` of the first numbers that may be used together; returns how many these are. */
static size_t open_face(const struct space *space, const struct ranking *ranking, size_t size, struct face *face)
{
    size_t left[SPACE_CONSTRAINTS_MAX], taken = 0;
    for (size_t k = 0; k < space->constraints_len; k++)
        left[k] = space->constraints[k].at_most;
    for (size_t i = 0; i < space->params_len; i++)
        face->held[i] = space_is_free(space, i) ? (double)NAN : space->held[i];
    for (size_t q = 0; q < ranking->len; q++) {
        size_t i = ranking->params[q];
        bool   is_held = !space_is_free(space, i);
        if ((is_held ? space->held[i] != 0 : taken < size) && take_places(space, i, left))
            taken++;
        else if (!is_held)
            face->held[i] = 0;
    }
    face->space = *space;
    face->space.params = space->used_params;
    face->space.held = face->held;
    return taken;
}

/* False: the ranges of the face alone leave some constraint nothing. */
static bool may_hold(const struct space *face)
{
    for (size_t k = 0; k < face->constraints_len; k++) {
        const struct constraint *c = &face->constraints[k];
        double                   least = 0, most = 0, size = 0;
        for (size_t j = 0; j < c->len; j++) {
            size_t i = c->params[j];
            bool   is_held = !space_is_free(face, i);
            double x = is_held ? face->held[i] : face->params[i].min, y = is_held ? x : face->params[i].max;
            x = c->coefficients[j] * (c->is_product ? log(x) : x);
            y = c->coefficients[j] * (c->is_product ? log(y) : y);
            least += fmin(x, y);
            most += fmax(x, y);
            size += fmax(fabs(x), fabs(y));
        }
        double min = !c->is_product ? c->min : c->min > 0 ? log(c->min) : -INFINITY;
        double max = c->is_product ? log(c->max) : c->max, room = SPACE_EQUATION * (size + c->is_product);
        if (most < min - room || least > max + room)
            return false;
    }
    return true;
}

/* Moves a draft into the face; false: that failed, and it is anywhere. */
static bool enter(const struct space *face, struct rng *rng, double *point)
{
    double draft[SPACE_PARAMS_MAX];
    for (size_t m = 0; m < face->constrained_len; m++) {
        size_t              i = face->constrained[m];
        const struct param *p = &face->params[i];
        point[i] = space_is_free(face, i) ? param_nearest(p, fmin(fmax(point[i], p->min), p->max)) : face->held[i];
    }
    memcpy(draft, point, face->params_len * sizeof *draft);
    if (space_equation_enter(face, point))
        return true;
    memcpy(point, draft, face->params_len * sizeof *point);
    if (!space_draw_finite(face, rng, point))
        return false;
    space_equation_approach(face, draft, rng, point);
    return true;
}

/* Enters a face with as many numbers as wanted, with more, or with fewer: the first that has a point for the draft. */
static bool enter_some(const struct space *space, const struct ranking *ranking, size_t wanted, struct rng *rng,
                       struct face *face, double *point)
{
    double draft[SPACE_PARAMS_MAX];
    size_t full = open_face(space, ranking, ranking->len, face), failures = 0;
    memcpy(draft, point, space->params_len * sizeof *draft);
    wanted = wanted < full ? wanted : full;
    for (size_t k = 0; k <= full && failures < FAILURES; k++) {
        (void)open_face(space, ranking, wanted + k <= full ? wanted + k : full - k, face);
        if (!may_hold(&face->space))
            continue;
        if (enter(&face->space, rng, point))
            return true;
        failures++;
        memcpy(point, draft, space->params_len * sizeof *point);
    }
    return false;
}

bool space_face_enter(const struct space *space, double *point)
{
    struct ranking ranking;
    struct face    face;
    struct rng     rng = space_stream(point, space->constrained_len, space->constrained);
    size_t         wanted = rank_draft(space, point, &ranking);
    return enter_some(space, &ranking, wanted, &rng, &face, point);
}

void space_face_repair(const struct space *space, double *point)
{
    struct ranking ranking;
    struct face    face;
    if (space_broken(space, point, 0) == NULL || space_face_enter(space, point))
        return;
    const double *warm = space_equation_nearest(space, point);
    struct rng    rng = space_stream(point, space->constrained_len, space->constrained);
    size_t        wanted = rank_draft(space, warm, &ranking);
    (void)open_face(space, &ranking, wanted, &face);
    if (enter(&face.space, &rng, point))
        return;
    for (size_t m = 0; m < space->constrained_len; m++)
        point[space->constrained[m]] = warm[space->constrained[m]];
}

/* --- draws --- */

/* How many numbers are used: as many as may be, whose face has the smaller ones as its edges.  Where min_used keeps these
 * apart, each set of numbers has one chance. */
static size_t draw_size(const struct space *space, const struct ranking *ranking, size_t full, struct rng *rng)
{
    double sets = 1, all = 0, n = (double)ranking->len;
    size_t size = full;
    bool   is_apart = false;
    for (size_t q = 0; q < ranking->len; q++)
        is_apart |= space->used_params[ranking->params[q]].min > space->params[ranking->params[q]].min;
    for (size_t s = 1; s <= full && is_apart; s++) {
        sets *= (n - (double)s + 1) / (double)s;
        all += sets;
        size = rng_uniform(rng) * all < sets ? s : size;
    }
    return size;
}

void space_face_draw(const struct space *space, const double *v, double *point)
{
    struct ranking ranking;
    struct face    face;
    struct rng     rng = space_stream(v, space->params_len, NULL);
    rank(space, v, &ranking);
    size_t size = draw_size(space, &ranking, open_face(space, &ranking, ranking.len, &face), &rng);
    for (size_t m = 0; m < space->constrained_len; m++)
        point[space->constrained[m]] = param_quantile(&space->used_params[space->constrained[m]], rng_uniform(&rng));
    if (!enter_some(space, &ranking, size, &rng, &face, point)) {
        const double *warm = space->warm + rng_below(&rng, space->warm_len) * space->params_len;
        for (size_t m = 0; m < space->constrained_len; m++)
            point[space->constrained[m]] = warm[space->constrained[m]];
        size = rank_draft(space, point, &ranking);
        (void)open_face(space, &ranking, size, &face);
    }
    space_equation_chain(&face.space, space->equations_len > 0 ? 2 * space->constrained_len + 8 : STEPS_ALONE, &rng,
                         point);
}

enum status space_face_warm(struct space *space, struct arena *arena, struct error *err)
{
    double    *warm = arena_alloc(arena, WARM, space->params_len * sizeof *warm), v[SPACE_PARAMS_MAX];
    double     point[SPACE_PARAMS_MAX] = {0};
    struct rng rng = rng_at(1, 0, RNG_POINT);
    if (warm == NULL)
        return error_no_memory(err);
    memcpy(warm, space->centre, space->params_len * sizeof *warm);
    space->warm = warm;
    for (space->warm_len = 1; space->warm_len < WARM; space->warm_len++) {
        for (size_t i = 0; i < space->params_len; i++)
            v[i] = rng_uniform(&rng);
        space_face_draw(space, v, point);
        memcpy(warm + space->warm_len * space->params_len, point, space->params_len * sizeof *warm);
    }
    return STATUS_OK;
}

void space_face_exchange(const struct space *space, struct rng *rng, double *point)
{
    struct ranking ranking;
    size_t         used = rank_draft(space, point, &ranking), len = ranking.len;
    while (len > used && !space_is_free(space, ranking.params[len - 1])) // held at 0
        len--;
    size_t what = rng_below(rng, 4), from = used > 0 ? ranking.params[rng_below(rng, used)] : space->params_len;
    size_t to = len > used ? ranking.params[used + rng_below(rng, len - used)] : space->params_len;
    bool   is_in = to < space->params_len && what > 0, is_out = from < space->params_len && what < 3;
    if (is_in) {
        const struct param *p = &space->used_params[to];
        double              x = is_out && point[from] >= p->min && point[from] <= p->max ? point[from]
                                                                                         : param_quantile(p, rng_uniform(rng));
        point[to] = param_nearest(p, x);
    }
    if (is_out)
        point[from] = 0;
}
