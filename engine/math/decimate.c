/* See decimate.h. */
#include "engine/math/decimate.h"

#include "engine/base/numbers.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { PARTS = 10 };

/* Into out, unless it is there; they are few, and come nearly in order. */
static size_t insert(size_t *out, size_t from, size_t len, size_t index)
{
    size_t at = len;
    for (size_t i = from; i < len; i++)
        if (out[i] == index)
            return len;
    for (; at > from && out[at - 1] > index; at--)
        out[at] = out[at - 1];
    out[at] = index;
    return len + 1;
}

struct column {
    size_t number, first, low, high, last;
};

static size_t flush(const struct column *column, size_t *out, size_t len)
{
    size_t from = len;
    len = insert(out, from, len, column->first);
    len = insert(out, from, len, column->low);
    len = insert(out, from, len, column->high);
    return insert(out, from, len, column->last);
}

size_t decimate_m4(const double *x, const double *y, size_t n, const struct decimate_span *span, size_t *out)
{
    double        low = span->low, high = span->high;
    size_t        columns = span->columns;
    struct column at = {.number = SIZE_MAX};
    size_t        len = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(y[i]) || !(x[i] >= low && x[i] <= high))
            continue;
        double share = high > low ? (x[i] - low) / (high - low) : 0;
        size_t number = share >= 1 ? columns - 1 : (size_t)(share * (double)columns);
        if (number != at.number) {
            len = at.number == SIZE_MAX ? 0 : flush(&at, out, len);
            at = (struct column){.number = number, .first = i, .low = i, .high = i, .last = i};
        }
        at.low = y[i] < y[at.low] ? i : at.low;
        at.high = y[i] > y[at.high] ? i : at.high;
        at.last = i;
    }
    return at.number == SIZE_MAX ? 0 : flush(&at, out, len);
}

size_t decimate_best(const double *y, size_t n, size_t *out)
{
    double best = -HUGE_VAL;
    size_t len = 0;
    for (size_t i = 0; i < n; i++)
        if (y[i] > best || (len == 0 && !isnan(y[i]))) {
            best = y[i];
            out[len++] = i;
        }
    return len;
}

static size_t cell_of(double share, size_t cells)
{
    return share >= 1 ? cells - 1 : share > 0 ? (size_t)(share * (double)cells) : 0;
}

void decimate_grid(const double *u, const double *v, const double *y, size_t n, size_t side,
                   struct decimate_cell *cells)
{
    for (size_t i = 0; i < side * side; i++)
        cells[i] = (struct decimate_cell){.count = 0};
    for (size_t i = 0; i < n; i++) {
        if (isnan(u[i]) || isnan(v[i]) || isnan(y[i]))
            continue;
        struct decimate_cell *cell = &cells[cell_of(u[i], side) * side + cell_of(v[i], side)];
        if (cell->count == 0 || y[i] > y[cell->best])
            cell->best = i;
        cell->count++;
    }
}

/* ---- ranks ---- */

struct ranked {
    double y;
    size_t index;
};

/* The best first; of two that are equal, the earlier. */
static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    if (left->y != right->y)
        return left->y > right->y ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

/* count of the len that begin at from, by selection sampling, which keeps their order. */
static size_t draw(const struct ranked *ranked, size_t len, size_t count, struct rng *rng, size_t *out)
{
    size_t taken = 0;
    for (size_t i = 0; i < len && taken < count; i++)
        if (rng_below(rng, len - i) < count - taken)
            out[taken++] = ranked[i].index;
    return taken;
}

enum status decimate_ranks(struct decimate_ranks *ranks, struct arena *scratch, struct error *err)
{
    struct ranked *ranked = arena_alloc(scratch, ranks->n + 1, sizeof *ranked);
    size_t         len = 0, wanted = ranks->wanted;
    if (ranked == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < ranks->n; i++)
        if (!isnan(ranks->y[i]))
            ranked[len++] = (struct ranked){.y = ranks->y[i], .index = i};
    qsort(ranked, len, sizeof *ranked, compare_ranked);
    size_t best = len <= wanted ? len : ranks->best < wanted ? ranks->best : wanted;
    for (ranks->len = 0; ranks->len < best; ranks->len++) {
        ranks->rows[ranks->len] = ranked[ranks->len].index;
        ranks->weights[ranks->len] = 1;
    }
    size_t rest = len - best, places = wanted - best;
    for (size_t part = 0; part < PARTS && rest > 0 && places > 0; part++) {
        size_t from = best + rest * part / PARTS, to = best + rest * (part + 1) / PARTS;
        size_t count = places * (part + 1) / PARTS - places * part / PARTS;
        size_t taken = draw(ranked + from, to - from, count, &ranks->rng, ranks->rows + ranks->len);
        for (size_t i = 0; i < taken; i++)
            ranks->weights[ranks->len + i] = (double)(to - from) / (double)taken;
        ranks->len += taken;
    }
    return STATUS_OK;
}

/* ---- quantiles ---- */

void decimate_sort(double *values, size_t n)
{
    qsort(values, n, sizeof *values, numbers_order);
}

double decimate_quantile(const double *sorted, size_t n, double p)
{
    double at = p * (double)(n - 1);
    size_t low = (size_t)at;
    return low + 1 >= n ? sorted[n - 1] : sorted[low] + (at - (double)low) * (sorted[low + 1] - sorted[low]);
}
