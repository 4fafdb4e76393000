/* See rank.h. */
#include "engine/stopping/rank.h"

#include <math.h>
#include <stdlib.h>

struct place {
    double missed; /* 0: all constraints are kept */
    size_t behind; /* how many dominate it */
    size_t ahead;  /* how many it dominates */
    size_t index;
};

/* 1: i dominates j; -1: j dominates i; 0: neither. */
static int compare(const struct rank_set *set, size_t i, size_t j)
{
    const double *a = set->values + i * set->metrics_len, *b = set->values + j * set->metrics_len;
    bool          is_ahead = false, is_behind = false;
    for (size_t k = 0; k < set->metrics_len && !(is_ahead && is_behind); k++) {
        bool is_objective = set->metrics[k] == METRIC_OBJECTIVE;
        is_ahead = is_ahead || (is_objective && a[k] > b[k]);
        is_behind = is_behind || (is_objective && a[k] < b[k]);
    }
    return is_ahead - is_behind;
}

bool rank_dominates(const struct rank_set *set, size_t i, size_t j)
{
    return compare(set, i, j) > 0;
}

static double miss_of(const struct rank_set *set, size_t i, size_t k)
{
    bool is_constraint = set->metrics[k] == METRIC_CONSTRAINT;
    return is_constraint ? fmax(-set->values[i * set->metrics_len + k], 0.0) : 0.0; // of NaN: 0
}

static void count_missed(const struct rank_set *set, struct place *places)
{
    double largest[METRICS_MAX] = {0.0};
    for (size_t i = 0; i < set->n; i++)
        for (size_t k = 0; k < set->metrics_len; k++)
            largest[k] = fmax(largest[k], miss_of(set, i, k));
    for (size_t i = 0; i < set->n; i++)
        for (size_t k = 0; k < set->metrics_len; k++)
            places[i].missed += largest[k] > 0.0 ? miss_of(set, i, k) / largest[k] : 0.0;
}

static void count_dominated(const struct rank_set *set, struct place *places)
{
    for (size_t i = 0; i < set->n; i++)
        for (size_t j = 0; j < i && places[i].missed == 0.0; j++) {
            int order = places[j].missed == 0.0 ? compare(set, i, j) : 0;
            places[i].ahead += order > 0;
            places[j].behind += order > 0;
            places[j].ahead += order < 0;
            places[i].behind += order < 0;
        }
}

/* ---- of two objectives at most ---- */

/* A trial that keeps the constraints, with its objectives; of one it is both. */
struct pair {
    double a, b;
    size_t index, below; /* below: of places of b, from the largest */
};

static int by_pair(const void *x, const void *y)
{
    const struct pair *p = x, *q = y;
    return p->a != q->a ? (p->a < q->a ? 1 : -1) : (p->b < q->b) - (p->b > q->b);
}

static int by_second(const void *x, const void *y)
{
    const struct pair *p = x, *q = y;
    return (p->b < q->b) - (p->b > q->b);
}

static size_t pairs_of(const struct rank_set *set, const struct place *places, struct pair *out)
{
    size_t columns[2], found = 0, n = 0;
    for (size_t k = 0; k < set->metrics_len; k++)
        if (set->metrics[k] == METRIC_OBJECTIVE)
            columns[found++] = k;
    for (size_t i = 0; i < set->n; i++) {
        const double *values = set->values + i * set->metrics_len;
        if (places[i].missed == 0.0)
            out[n++] = (struct pair){.a = values[columns[0]], .b = values[columns[found - 1]], .index = i};
    }
    qsort(out, n, sizeof *out, by_second);
    for (size_t i = 1; i < n; i++)
        out[i].below = out[i - 1].below + (out[i].b < out[i - 1].b);
    qsort(out, n, sizeof *out, by_pair);
    return n;
}

static void tree_add(size_t *tree, size_t n, size_t at)
{
    for (size_t i = at + 1; i <= n; i += i & -i)
        tree[i]++;
}

/* How many were added at places up to this one. */
static size_t tree_count(const size_t *tree, size_t at)
{
    size_t count = 0;
    for (size_t i = at + 1; i > 0; i -= i & -i)
        count += tree[i];
    return count;
}

/* In the order of a, those before a pair dominate it whose b is not below, and in the opposite order those that it dominates
 * come first; equal pairs dominate nothing.  tree: [n + 1] of zeros, twice.  O(n log n). */
static void count_pairs(const struct pair *pairs, size_t n, size_t *trees, struct place *places)
{
    size_t *before = trees, *behind = trees + n + 1;
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i; next < n && by_pair(&pairs[i], &pairs[next]) == 0; next++)
            places[pairs[next].index].behind = tree_count(before, pairs[i].below);
        for (size_t k = i; k < next; k++)
            tree_add(before, n, pairs[k].below);
    }
    for (size_t end = n, from; end > 0; end = from) {
        for (from = end; from > 0 && by_pair(&pairs[end - 1], &pairs[from - 1]) == 0; from--)
            places[pairs[from - 1].index].ahead = tree_count(behind, n - 1 - pairs[end - 1].below);
        for (size_t k = from; k < end; k++)
            tree_add(behind, n, n - 1 - pairs[k].below);
    }
}

/* ---- the order ---- */

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->missed != y->missed)
        return x->missed > y->missed ? 1 : -1;
    if (x->behind != y->behind)
        return x->behind > y->behind ? 1 : -1;
    if (x->ahead != y->ahead)
        return x->ahead < y->ahead ? 1 : -1;
    return x->index > y->index ? 1 : -1;
}

enum status rank_order(const struct rank_set *set, size_t *order, struct arena *scratch, struct error *err)
{
    struct place *places = ARENA_NEW(scratch, struct place, set->n + 1);
    struct pair  *pairs = ARENA_NEW(scratch, struct pair, set->n + 1);
    size_t       *trees = arena_zalloc(scratch, 2 * (set->n + 1), sizeof *trees), objectives = 0;
    if (places == NULL || pairs == NULL || trees == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < set->n; i++)
        places[i] = (struct place){.index = i};
    for (size_t k = 0; k < set->metrics_len; k++)
        objectives += set->metrics[k] == METRIC_OBJECTIVE;
    count_missed(set, places);
    if (objectives == 1 || objectives == 2)
        count_pairs(pairs, pairs_of(set, places, pairs), trees, places);
    else
        count_dominated(set, places);
    qsort(places, set->n, sizeof *places, by_place);
    for (size_t i = 0; i < set->n; i++)
        order[i] = places[i].index;
    return STATUS_OK;
}
