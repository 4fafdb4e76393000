/* See pld.h. */
#include "engine/privacy/pld.h"

#include "engine/base/numbers.h"
#include "engine/math/mat.h"
#include "engine/privacy/mechanism.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const double EDGES = 0x1p-42, PRODUCT = 1 + 0x1p-39;

static double loss_at(const struct pld *pld, size_t i)
{
    return (double)(pld->first + (int64_t)i) * pld->step;
}

static enum status take(struct pld *pld, double step, struct arena *arena, struct error *err)
{
    *pld = (struct pld){.step = step, .mass = ARENA_NEW(arena, double, PLD_ATOMS)};
    return pld->mass == NULL ? error_no_memory(err) : STATUS_OK;
}

enum status pld_nothing(struct pld *pld, double step, struct arena *arena, struct error *err)
{
    TRY(take(pld, step, arena, err));
    pld->mass[0] = 1;
    pld->len = 1;
    return STATUS_OK;
}

/* --- one release --- */

/* Adds a mass whose loss is `above` over the atom, 0 <= above <= step. */
static void put(struct pld *pld, size_t atom, double above, double mass)
{
    double up = mass * (expm1(-above) / expm1(-pld->step));
    pld->mass[atom] += mass - up;
    if (up > 0)
        pld->mass[atom + 1] += up;
}

enum status pld_pure(struct pld *pld, double epsilon, double step, struct arena *arena, struct error *err)
{
    TRY(take(pld, step, arena, err));
    while (2 * epsilon / pld->step + 4 > PLD_ATOMS)
        pld->step *= 2;
    double low = floor(-epsilon / pld->step), high = floor(epsilon / pld->step), p = 1 / (1 + exp(-epsilon));
    pld->first = (int64_t)low;
    pld->len = (size_t)(high - low) + 2;
    memset(pld->mass, 0, pld->len * sizeof(double));
    put(pld, 0, -epsilon - low * pld->step, 1 - p);
    put(pld, pld->len - 2, epsilon - high * pld->step, p);
    return STATUS_OK;
}

/* Where log(P/Q) = loss; minus infinity where it is larger everywhere. */
static double place_of(const struct pld_gaussian *g, double loss)
{
    double above = expm1(loss) + g->q;
    if (!(above > 0))
        return -INFINITY;
    double log_ratio = loss > 1 ? loss + log1p((g->q - 1) * exp(-loss)) - log(g->q) : log(above / g->q);
    return g->z * g->z * log_ratio + 0.5;
}

/* Mass to the left and to the right of a place, under the loss's own measure [0] and under the other [1]. */
struct edge {
    double left[2], right[2];
};

static struct edge edge_at(const struct pld_gaussian *g, double x)
{
    double      t = x * SQRT_HALF / g->z, shifted = (x - 1) * SQRT_HALF / g->z;
    double      left = 0.5 * erfc(-t), right = 0.5 * erfc(t);
    size_t      mixture = g->side == PLD_REMOVE ? 0 : 1;
    struct edge edge;
    edge.left[1 - mixture] = left;
    edge.right[1 - mixture] = right;
    edge.left[mixture] = (1 - g->q) * left + g->q * 0.5 * erfc(-shifted);
    edge.right[mixture] = (1 - g->q) * right + g->q * 0.5 * erfc(shifted);
    return edge;
}

/* The mass between two places, from the tails that cancel least; *tail: of that size. */
static double between(const struct edge *a, const struct edge *b, size_t measure, double *tail)
{
    bool from_right = a->right[measure] < b->left[measure];
    *tail = from_right ? a->right[measure] : b->left[measure];
    return fmax(from_right ? a->right[measure] - b->right[measure] : b->left[measure] - a->left[measure], 0);
}

/* The bin between atom and atom + 1, whose places are a < b. */
static void put_bin(struct pld *pld, size_t atom, const struct edge *a, const struct edge *b)
{
    double own_tail, other_tail, own = between(a, b, 0, &own_tail), other = between(a, b, 1, &other_tail);
    double factor = exp(loss_at(pld, atom)), share = -expm1(-pld->step);
    double up = fmin(fmax((own - factor * other) / share, 0), own);
    pld->mass[atom] += own - up;
    pld->mass[atom + 1] += up + EDGES * (own_tail + factor * other_tail) / share;
}

/* Beyond what, in standard deviations, a normal variate is with a probability of at most `chance`. */
static double reach(double chance)
{
    return chance < 0.5 ? sqrt(-2 * log(fmax(2 * chance, 1e-300))) : 0;
}

static double log_ratio(const struct pld_gaussian *g, double x)
{
    double t = (2 * x - 1) / (2 * g->z * g->z);
    return t > 0 ? t + log(g->q + (1 - g->q) * exp(-t)) : log1p(g->q * expm1(t));
}

enum status pld_subsampled(struct pld *pld, const struct pld_gaussian *gaussian, double step, double cut,
                           struct arena *arena, struct error *err)
{
    double sign = gaussian->side == PLD_REMOVE ? 1 : -1, low = -gaussian->z * reach(cut);
    double high = fmax(gaussian->z * reach(cut / 2), 1 + gaussian->z * reach(cut / (2 * gaussian->q)));
    double losses[2] = {sign * log_ratio(gaussian, low), sign * log_ratio(gaussian, high)};
    TRY(take(pld, step, arena, err));
    double least = fmin(losses[0], losses[1]), most = fmax(losses[0], losses[1]);
    while ((most - least) / pld->step + 5 > PLD_ATOMS)
        pld->step *= 2;
    pld->first = (int64_t)floor(least / pld->step);
    pld->len = (size_t)((int64_t)ceil(most / pld->step) - pld->first) + 2; /* one more: `most` is rounded */
    memset(pld->mass, 0, pld->len * sizeof(double));
    struct edge before = edge_at(gaussian, place_of(gaussian, sign * loss_at(pld, 0)));
    pld->mass[0] = sign > 0 ? before.left[0] : before.right[0];
    for (size_t i = 0; i + 1 < pld->len; i++) {
        struct edge after = edge_at(gaussian, place_of(gaussian, sign * loss_at(pld, i + 1)));
        put_bin(pld, i, sign > 0 ? &before : &after, sign > 0 ? &after : &before);
        before = after;
    }
    pld->infinity = sign > 0 ? before.right[0] : before.left[0];
    return STATUS_OK;
}

/* --- several --- */

double pld_cut(double delta, double releases)
{
    return 1e-7 * delta / ((releases + 1) * (4 * log2(releases + 1) + 4));
}

static double total(const struct pld *pld)
{
    double sum = 0;
    for (size_t i = 0; i < pld->len; i++)
        sum += pld->mass[i];
    return sum;
}

/* Drops tails of at most cut from the ends of mass. */
static void truncate(struct pld *pld, double cut)
{
    double low = 0, high = 0;
    size_t from = 0;
    while (pld->len > from + 1 && high + pld->mass[pld->len - 1] <= cut)
        high += pld->mass[--pld->len];
    while (from + 1 < pld->len && low + pld->mass[from] <= cut)
        low += pld->mass[from++];
    pld->mass += from;
    pld->len -= from;
    pld->first += (int64_t)from;
    pld->mass[0] += low;
    pld->infinity += high;
}

/* to := the atoms of from on a lattice `times` as coarse. */
static void coarsen(struct pld *to, const struct pld *from, int64_t times)
{
    int64_t first = from->first;
    double  fine = from->step;
    to->step = fine * (double)times;
    to->first = (first - (first % times + times) % times) / times;
    to->len = times == 1 ? from->len : (size_t)((first + (int64_t)from->len - 1 - to->first * times) / times) + 2;
    to->infinity = from->infinity;
    memset(to->mass, 0, to->len * sizeof(double));
    for (size_t i = 0; i < from->len; i++) {
        int64_t at = first + (int64_t)i - to->first * times;
        put(to, (size_t)(at / times), (double)(at % times) * fine, from->mass[i]);
    }
}

enum status pld_compose(struct pld *to, const struct pld *other, double cut, struct arena *scratch, struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    struct pld        same = *other;
    double           *sums = ARENA_NEW(scratch, double, 2 * PLD_ATOMS), *copy = ARENA_NEW(scratch, double, PLD_ATOMS);
    if (sums == NULL || copy == NULL) {
        arena_release(scratch, mark);
        return error_no_memory(err);
    }
    same.mass = copy;
    if (to->step < other->step) {
        coarsen(&same, to, (int64_t)(other->step / to->step));
        to->step = same.step, to->first = same.first, to->len = same.len;
        memcpy(to->mass, same.mass, same.len * sizeof(double));
    }
    coarsen(&same, other, (int64_t)(to->step / other->step));
    double     at_infinity = to->infinity * (total(&same) + same.infinity) + same.infinity * total(to);
    struct pld product = {to->step, to->first + same.first, to->len + same.len - 1, sums, at_infinity};
    memset(sums, 0, 2 * PLD_ATOMS * sizeof(double));
    for (size_t i = 0; i < to->len; i++)
        mat_axpy(same.len, to->mass[i] * PRODUCT, same.mass, sums + i);
    truncate(&product, cut);
    int64_t times = 1;
    while (times == 1 ? product.len > PLD_ATOMS : product.len / (size_t)times + 3 > PLD_ATOMS)
        times *= 2;
    coarsen(to, &product, times);
    arena_release(scratch, mark);
    return STATUS_OK;
}

enum status pld_power(struct pld *pld, uint64_t times, double cut, struct arena *scratch, struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    struct pld        square, result;
    enum status       status = take(&square, pld->step, scratch, err);
    if (status == STATUS_OK)
        status = pld_nothing(&result, pld->step, scratch, err);
    if (status == STATUS_OK)
        coarsen(&square, pld, 1);
    for (uint64_t left = times; left > 0 && status == STATUS_OK; left >>= 1) {
        if (left & 1)
            status = pld_compose(&result, &square, cut, scratch, err);
        if (left > 1 && status == STATUS_OK)
            status = pld_compose(&square, &square, cut, scratch, err);
    }
    if (status == STATUS_OK)
        coarsen(pld, &result, 1);
    arena_release(scratch, mark);
    return status;
}

/* --- epsilon --- */

static double delta_at(const struct pld *pld, double mu, double epsilon)
{
    double delta = pld->infinity;
    for (size_t i = pld->len; i-- > 0 && (mu > 0 || loss_at(pld, i) > epsilon);)
        delta += pld->mass[i] *
                 (mu > 0 ? mechanism_gaussian_delta(epsilon - loss_at(pld, i), mu) : -expm1(epsilon - loss_at(pld, i)));
    return delta;
}

double pld_epsilon(const struct pld *pld, double mu, double delta)
{
    enum { BISECTIONS = 60 };
    double low = 0, high = fmax(loss_at(pld, pld->len - 1), 1);
    if (!(pld->infinity < delta))
        return INFINITY;
    if (delta_at(pld, mu, 0) <= delta)
        return 0;
    while (delta_at(pld, mu, high) > delta && high < 1e12)
        low = high, high *= 2;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = low + (high - low) / 2;
        *(delta_at(pld, mu, middle) <= delta ? &high : &low) = middle;
    }
    return high;
}
