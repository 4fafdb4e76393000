/* Boxes by a sweep along the last objective, and the sum over them. */
#include "engine/acquisition/ehvi.h"

#include "engine/acquisition/acq_h.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double VALUE_MIN = 1e-200; /* of the sum of boxes, relative to psi at the reference: below it logarithms */

/* A side of boxes, and psi there relative to that at the reference (where it is largest): its logarithm, the number
 * itself, and the logarithm's derivatives times sd. */
struct ehvi_edge {
    double at, log_psi, psi, to_mean, to_sd;
};

/* Sides by number. */
struct ehvi_box {
    uint32_t lower[OBJECTIVES_MAX], upper[OBJECTIVES_MAX];
};

struct boxes {
    struct arena    *arena;
    struct ehvi_box *at;
    size_t           len, room;
};

static enum status push(struct boxes *boxes, const struct ehvi_box *box, struct error *err)
{
    struct ehvi_box *at = arena_grown(boxes->arena, boxes->at, boxes->len, sizeof *at, &boxes->room);
    if (at == NULL)
        return error_no_memory(err);
    boxes->at = at;
    boxes->at[boxes->len++] = *box;
    return STATUS_OK;
}

/* Adds box without what lies below the corner, in the first m of its dimensions: at most m boxes. */
static enum status push_rest(struct boxes *boxes, struct ehvi_box box, const uint32_t *corner, size_t m,
                             struct error *err)
{
    for (size_t j = 0; j < m; j++) {
        struct ehvi_box above = box;
        above.lower[j] = corner[j];
        if (above.lower[j] < above.upper[j])
            TRY(push(boxes, &above, err));
        if (corner[j] < box.upper[j])
            box.upper[j] = corner[j];
    }
    return STATUS_OK;
}

static bool is_below(const struct ehvi_box *box, const uint32_t *corner, size_t m)
{
    for (size_t j = 0; j < m; j++)
        if (box->lower[j] >= corner[j])
            return false;
    return true;
}

/* From infinity down along the last dimension: the open boxes are disjoint and make up what the corners so far leave of
 * the others; a corner [m] closes those that reach below it and opens what it leaves of them. */
static enum status sweep(const uint32_t (*corners)[OBJECTIVES_MAX], size_t n, size_t m, struct boxes *open,
                         struct boxes *closed, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        for (size_t b = 0; b < open->len;) {
            struct ehvi_box box = open->at[b];
            if (!is_below(&box, corners[i], m - 1)) {
                b++;
                continue;
            }
            open->at[b] = open->at[--open->len];
            box.lower[m - 1] = corners[i][m - 1];
            if (box.lower[m - 1] < box.upper[m - 1])
                TRY(push(closed, &box, err));
            box.upper[m - 1] = box.lower[m - 1];
            box.lower[m - 1] = 0;
            TRY(push_rest(open, box, corners[i], m - 1, err));
        }
    for (size_t b = 0; b < open->len; b++)
        if (open->at[b].upper[m - 1] > 0)
            TRY(push(closed, &open->at[b], err));
    return STATUS_OK;
}

static int compare_edges(const void *a, const void *b)
{
    double left = ((const struct ehvi_edge *)a)->at, right = ((const struct ehvi_edge *)b)->at;
    return (left > right) - (left < right);
}

/* The distinct values of each component above the reference, between it and infinity. */
static enum status find_edges(struct ehvi *ehvi, const struct pareto_set *front, struct arena *arena, struct error *err)
{
    for (size_t j = 0; j < ehvi->m; j++) {
        struct ehvi_edge *edges = ehvi->edges[j] = ARENA_NEW(arena, struct ehvi_edge, front->n + 2);
        if (edges == NULL)
            return error_no_memory(err);
        size_t len = 0, kept = 0;
        edges[len++].at = front->reference[j];
        edges[len++].at = HUGE_VAL;
        for (size_t i = 0; i < front->n; i++)
            if (front->values[i * ehvi->m + j] > front->reference[j])
                edges[len++].at = front->values[i * ehvi->m + j];
        qsort(edges, len, sizeof *edges, compare_edges);
        for (size_t e = 1; e < len; e++)
            if (edges[e].at > edges[kept].at)
                edges[++kept] = edges[e];
        ehvi->edges_len[j] = kept + 1;
    }
    return STATUS_OK;
}

/* The number of the edge there; 0 when value is not above the reference. */
static uint32_t edge_at(const struct ehvi *ehvi, size_t j, double value)
{
    size_t low = 0, high = ehvi->edges_len[j];
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (ehvi->edges[j][middle].at <= value)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

/* Largest last component first. */
static int compare_corners(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;
    for (size_t j = OBJECTIVES_MAX; j-- > 0;)
        if (left[j] != right[j])
            return left[j] > right[j] ? -1 : 1;
    return 0;
}

enum status ehvi_init(struct ehvi *ehvi, const struct pareto_set *front, struct arena *arena, struct error *err)
{
    size_t n = front->n, m = front->m;
    assert(m >= 2 && m <= OBJECTIVES_MAX);
    uint32_t(*corners)[OBJECTIVES_MAX] = arena_zalloc(arena, n + 1, sizeof *corners);
    struct boxes    open = {.arena = arena}, closed = {.arena = arena};
    struct ehvi_box all = {.lower = {0}};
    size_t          above = 0;
    *ehvi = (struct ehvi){.m = m};
    if (corners == NULL)
        return error_no_memory(err);
    TRY(find_edges(ehvi, front, arena, err));
    for (size_t i = 0; i < n; i++) {
        bool is_above = true;
        for (size_t j = 0; j < m; j++) {
            corners[above][j] = edge_at(ehvi, j, front->values[i * m + j]);
            is_above = is_above && corners[above][j] > 0;
        }
        above += is_above;
    }
    qsort(corners, above, sizeof *corners, compare_corners);
    for (size_t j = 0; j < m; j++)
        all.upper[j] = (uint32_t)ehvi->edges_len[j] - 1;
    TRY(push(&open, &all, err));
    TRY(sweep((const uint32_t(*)[OBJECTIVES_MAX])corners, above, m, &open, &closed, err));
    ehvi->boxes = closed.at;
    ehvi->len = closed.len;
    return STATUS_OK;
}

/* Every edge at (mean, sd); returns the logarithm of psi at the reference. */
static double fill_edges(struct ehvi_edge *edges, size_t len, double mean, double sd)
{
    double first = 0.0;
    for (size_t e = 0; e + 1 < len; e++) {
        edges[e].log_psi = acq_log_h((mean - edges[e].at) / sd, &edges[e].to_mean, &edges[e].to_sd);
        first = e == 0 ? edges[0].log_psi : first;
        edges[e].log_psi -= first;
        edges[e].psi = exp(edges[e].log_psi);
    }
    edges[len - 1] = (struct ehvi_edge){.at = HUGE_VAL, .log_psi = -HUGE_VAL};
    return first + log(sd);
}

/* A sum of boxes and its derivatives times sd. */
struct sum {
    double value, log_scale, dmean[OBJECTIVES_MAX], dsd[OBJECTIVES_MAX];
};

static void add_box(const struct ehvi *ehvi, const struct ehvi_box *box, struct sum *sum)
{
    double before[OBJECTIVES_MAX + 1] = {1.0}, side[OBJECTIVES_MAX] = {0}, after = 1.0;
    for (size_t j = 0; j < ehvi->m; j++) {
        side[j] = ehvi->edges[j][box->lower[j]].psi - ehvi->edges[j][box->upper[j]].psi;
        before[j + 1] = before[j] * side[j];
    }
    sum->value += before[ehvi->m];
    for (size_t j = ehvi->m; j-- > 0; after *= side[j]) {
        const struct ehvi_edge *low = &ehvi->edges[j][box->lower[j]], *high = &ehvi->edges[j][box->upper[j]];
        sum->dmean[j] += before[j] * after * (low->psi * low->to_mean - high->psi * high->to_mean);
        sum->dsd[j] += before[j] * after * (low->psi * low->to_sd - high->psi * high->to_sd);
    }
}

/* As add_box where psi itself would underflow: the sum is in units of its largest term. */
static void add_log_box(const struct ehvi *ehvi, const struct ehvi_box *box, struct sum *sum)
{
    double term = 0.0, dmean[OBJECTIVES_MAX] = {0}, dsd[OBJECTIVES_MAX] = {0};
    for (size_t j = 0; j < ehvi->m; j++) {
        const struct ehvi_edge *low = &ehvi->edges[j][box->lower[j]], *high = &ehvi->edges[j][box->upper[j]];
        double                  ratio = exp(high->log_psi - low->log_psi), rest = -expm1(high->log_psi - low->log_psi);
        if (!(rest > 0.0))
            return;
        term += low->log_psi + log(rest);
        dmean[j] = (low->to_mean - ratio * high->to_mean) / rest;
        dsd[j] = (low->to_sd - ratio * high->to_sd) / rest;
    }
    double scale = fmax(sum->log_scale, term), shrink = exp(sum->log_scale - scale), weight = exp(term - scale);
    sum->log_scale = scale;
    sum->value = sum->value * shrink + weight;
    for (size_t j = 0; j < ehvi->m; j++) {
        sum->dmean[j] = sum->dmean[j] * shrink + weight * dmean[j];
        sum->dsd[j] = sum->dsd[j] * shrink + weight * dsd[j];
    }
}

double ehvi_value(const struct ehvi *ehvi, const double *mean, const double *sd, double *dmean, double *dsd)
{
    struct sum sum = {.value = 0.0};
    double     unit = 0.0;
    for (size_t j = 0; j < ehvi->m; j++)
        unit += fill_edges(ehvi->edges[j], ehvi->edges_len[j], mean[j], sd[j]);
    for (size_t b = 0; b < ehvi->len; b++)
        add_box(ehvi, &ehvi->boxes[b], &sum);
    if (!(sum.value > VALUE_MIN)) {
        sum = (struct sum){.log_scale = -HUGE_VAL};
        for (size_t b = 0; b < ehvi->len; b++)
            add_log_box(ehvi, &ehvi->boxes[b], &sum);
    }
    for (size_t j = 0; j < ehvi->m; j++) {
        dmean[j] = sum.dmean[j] / sum.value / sd[j];
        dsd[j] = sum.dsd[j] / sum.value / sd[j];
    }
    return unit + log(sum.value) + sum.log_scale;
}
