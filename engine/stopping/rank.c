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
    if (places == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < set->n; i++)
        places[i] = (struct place){.index = i};
    count_missed(set, places);
    count_dominated(set, places);
    qsort(places, set->n, sizeof *places, by_place);
    for (size_t i = 0; i < set->n; i++)
        order[i] = places[i].index;
    return STATUS_OK;
}
