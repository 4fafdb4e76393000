/* See graph.h.  The search for paths is depth first with the path itself as the record of what was visited: paths are
 * short, so looking through one is cheaper than a mark per site. */
#include "engine/space/graph.h"

#include "engine/math/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEARCH_MAX = 32768, WALKS_PER_ACTION = 64, WALKED_MAX = 256 };

static enum status refuse(struct error *err, const char *code, const char *path, const char *text)
{
    return error_set(err, STATUS_INVALID, code, path, "%s", text);
}

/* ---- making one ---- */

static int compare_edges(const void *a, const void *b)
{
    const struct graph_edge *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

enum status graph_set_edges(struct graph *graph, struct graph_edge *edges, size_t len, struct arena *arena,
                            struct error *err)
{
    uint32_t *first = arena_zalloc(arena, graph->sites_len + 1, sizeof *first);
    uint32_t *to = ARENA_NEW(arena, uint32_t, len + 1);
    if (first == NULL || to == NULL)
        return error_no_memory(err);
    size_t kept = 0;
    if (len > 0)
        qsort(edges, len, sizeof *edges, compare_edges);
    for (size_t i = 0; i < len; i++) {
        bool is_repeated = i > 0 && compare_edges(&edges[i], &edges[i - 1]) == 0;
        if (is_repeated || edges[i].from == edges[i].to)
            continue;
        to[kept++] = edges[i].to;
        first[edges[i].from + 1]++;
    }
    for (size_t s = 0; s < graph->sites_len; s++)
        first[s + 1] += first[s];
    graph->first = first;
    graph->to = to;
    graph->moves = MOVES_EDGES;
    return STATUS_OK;
}

enum status graph_set_listed(struct graph *graph, struct graph_listed *listed, size_t len, struct arena *arena,
                             struct error *err)
{
    uint32_t            *first = arena_zalloc(arena, graph->sites_len + 1, sizeof *first);
    struct macro_action *actions = ARENA_NEW(arena, struct macro_action, len + 1);
    uint32_t            *next = ARENA_NEW(arena, uint32_t, graph->sites_len + 1);
    if (first == NULL || actions == NULL || next == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < len; i++) {
        first[listed[i].from + 1]++;
        graph->steps = listed[i].action.len > graph->steps ? listed[i].action.len : graph->steps;
    }
    for (size_t s = 0; s < graph->sites_len; s++)
        first[s + 1] += first[s];
    memcpy(next, first, (graph->sites_len + 1) * sizeof *next);
    for (size_t i = 0; i < len; i++) // in the order of the list
        actions[next[listed[i].from]++] = listed[i].action;
    graph->first = first;
    graph->listed = actions;
    graph->moves = MOVES_LISTED;
    return STATUS_OK;
}

static bool is_grid(const struct graph *graph)
{
    return graph->coordinates == NULL;
}

static enum status check_sizes(const struct graph *graph, struct error *err)
{
    if (graph->sites_len < 1 || graph->sites_len > GRAPH_SITES_MAX)
        return error_set(err, STATUS_INVALID, "out_of_range", is_grid(graph) ? "/space/grid" : "/space/sites",
                         "a graph has 1 to %d sites", GRAPH_SITES_MAX);
    if (graph->steps < 1 || graph->steps > GRAPH_STEPS_MAX)
        return error_set(err, STATUS_INVALID, "out_of_range",
                         graph->moves == MOVES_LISTED ? "/space/macro_actions" : "/space/macro_action_length",
                         "a macro-action has 1 to %d sites", GRAPH_STEPS_MAX);
    if (graph->most < 1 || graph->most > GRAPH_ACTIONS_MAX)
        return error_set(err, STATUS_INVALID, "out_of_range", "/space/macro_actions_per_site", "must be within [1, %d]",
                         GRAPH_ACTIONS_MAX);
    if (graph->prior_len > GRAPH_PRIOR_MAX)
        return error_set(err, STATUS_INVALID, "out_of_range", "/space/observations", "at most %d prior observations",
                         GRAPH_PRIOR_MAX);
    return STATUS_OK;
}

enum status graph_check(const struct graph *graph, struct error *err)
{
    TRY(check_sizes(graph, err));
    for (size_t i = 0; i < graph->sites_len * graph->dims && !is_grid(graph); i++)
        if (!isfinite(graph->coordinates[i]))
            return refuse(err, "wrong_type", "/space/sites", "coordinates are finite numbers");
    for (size_t i = 0; i < graph->prior_len; i++)
        if (graph->prior_sites[i] >= graph->sites_len || !isfinite(graph->prior_values[i]))
            return refuse(err, "unknown_site", "/space/observations", "a prior observation is of a site, and finite");
    if (graph->start >= graph->sites_len)
        return refuse(err, "unknown_site", "/space/start", "there is no such site");
    if (graph->moves == MOVES_LISTED ? graph->first[graph->start] == graph->first[graph->start + 1]
                                     : graph_count(graph, graph->start) == 0)
        return refuse(err, "no_macro_action", "/space/start",
                      "no macro-action leaves this site, so nothing can be reached from it");
    return STATUS_OK;
}

/* ---- looking at one ---- */

void graph_coordinates(const struct graph *graph, size_t site, double *out)
{
    if (!is_grid(graph)) {
        memcpy(out, graph->coordinates + site * graph->dims, graph->dims * sizeof *out);
        return;
    }
    out[0] = graph->spacing * (double)(site % graph->width);
    out[1] = graph->spacing * (double)(site / graph->width);
}

size_t graph_point_steps(const double *point, size_t point_len)
{
    size_t steps = 0;
    while (steps < point_len && !isnan(point[steps]))
        steps++;
    return steps;
}

/* East, west, north, south, then the diagonals. */
static const int directions[8][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {-1, -1}, {1, -1}, {-1, 1}};

/* The k-th neighbour, or SIZE_MAX; the first k for which there is none at all ends them. */
static size_t grid_neighbour(const struct graph *graph, size_t site, size_t k)
{
    int64_t x = (int64_t)(site % graph->width) + directions[k][0];
    int64_t y = (int64_t)(site / graph->width) + directions[k][1];
    if (x < 0 || y < 0 || x >= (int64_t)graph->width || y >= (int64_t)graph->height)
        return SIZE_MAX;
    return (size_t)y * graph->width + (size_t)x;
}

static size_t neighbours_len(const struct graph *graph, size_t site)
{
    if (graph->moves == MOVES_EDGES)
        return graph->first[site + 1] - graph->first[site];
    return graph->moves == MOVES_EIGHT || graph->moves == MOVES_STRAIGHT_EIGHT ? 8 : 4;
}

static size_t neighbour(const struct graph *graph, size_t site, size_t k)
{
    return graph->moves == MOVES_EDGES ? graph->to[graph->first[site] + k] : grid_neighbour(graph, site, k);
}

static bool is_neighbour(const struct graph *graph, size_t site, size_t other)
{
    for (size_t k = 0; k < neighbours_len(graph, site); k++)
        if (neighbour(graph, site, k) == other)
            return true;
    return false;
}

static bool begins(const struct macro_action *action, const double *sites, size_t len)
{
    bool same = len <= action->len;
    for (size_t i = 0; same && i < len; i++)
        same = (double)action->sites[i] == sites[i];
    return same;
}

bool graph_allows(const struct graph *graph, size_t from, const double *sites, size_t len)
{
    if (len < 1 || len > graph->steps)
        return false;
    for (size_t i = 0; i < len; i++)
        if (!(sites[i] >= 0 && sites[i] < (double)graph->sites_len) || sites[i] != floor(sites[i]))
            return false;
    bool found = false;
    if (graph->moves == MOVES_LISTED) {
        for (uint32_t k = graph->first[from]; !found && k < graph->first[from + 1]; k++)
            found = begins(&graph->listed[k], sites, len);
        return found;
    }
    for (size_t i = 0; i < len; i++)
        if (!is_neighbour(graph, i == 0 ? from : (size_t)sites[i - 1], (size_t)sites[i]))
            return false;
    return true;
}

/* ---- simple paths ---- */

/* A search that stands on path[0 .. depth]; choice[d] is the neighbour of path[d] to be tried next. */
struct search {
    const struct graph *graph;
    size_t              path[GRAPH_STEPS_MAX + 1], choice[GRAPH_STEPS_MAX + 1], depth;
    size_t              tried; /* steps so far */
};

static bool is_on_path(const struct search *s, size_t site)
{
    for (size_t d = 0; d <= s->depth; d++)
        if (s->path[d] == site)
            return true;
    return false;
}

static void search_init(struct search *s, const struct graph *graph, size_t site)
{
    s->graph = graph;
    s->depth = s->tried = 0;
    s->path[0] = site;
    s->choice[0] = 0;
}

/* True with the next complete path on s->path; false when there is none, or the search was too long. */
static bool search_next(struct search *s)
{
    if (s->depth == s->graph->steps)
        s->depth--;
    for (;;) {
        size_t at = s->path[s->depth];
        if (++s->tried > SEARCH_MAX)
            return false;
        if (s->choice[s->depth] == neighbours_len(s->graph, at)) {
            if (s->depth == 0)
                return false;
            s->depth--;
            continue;
        }
        size_t next = neighbour(s->graph, at, s->choice[s->depth]++);
        if (next == SIZE_MAX || is_on_path(s, next))
            continue;
        s->path[++s->depth] = next;
        s->choice[s->depth] = 0;
        if (s->depth == s->graph->steps)
            return true;
    }
}

static bool is_straight(const struct graph *graph)
{
    return graph->moves == MOVES_STRAIGHT || graph->moves == MOVES_STRAIGHT_EIGHT;
}

static size_t count_straight(const struct graph *graph, size_t site, size_t direction)
{
    size_t steps = 0;
    while (steps < graph->steps && site != SIZE_MAX) {
        site = grid_neighbour(graph, site, direction);
        steps += site != SIZE_MAX;
    }
    return steps;
}

size_t graph_count(const struct graph *graph, size_t site)
{
    size_t        count = 0;
    struct search search;
    if (is_straight(graph)) {
        for (size_t k = 0; k < neighbours_len(graph, site); k++)
            count += count_straight(graph, site, k) == graph->steps;
        return count;
    }
    search_init(&search, graph, site);
    while (count <= GRAPH_ACTIONS_MAX && search_next(&search))
        count++;
    return search.tried > SEARCH_MAX ? GRAPH_ACTIONS_MAX + 1 : count;
}

/* ---- the macro-actions at a site ---- */

struct found {
    const struct graph  *graph;
    struct arena        *arena;
    struct macro_action *actions; /* [room] */
    size_t               len;
};

/* A copy of a path, without the site that it starts from. */
static bool found_add(struct found *found, const size_t *path)
{
    size_t    steps = found->graph->steps;
    uint32_t *sites = ARENA_NEW(found->arena, uint32_t, steps);
    if (sites == NULL)
        return false;
    for (size_t i = 0; i < steps; i++)
        sites[i] = (uint32_t)path[i + 1];
    found->actions[found->len++] = (struct macro_action){.sites = sites, .len = steps};
    return true;
}

static bool find_straight(struct found *found, size_t site)
{
    size_t path[GRAPH_STEPS_MAX + 1];
    bool   good = true;
    for (size_t k = 0; k < neighbours_len(found->graph, site); k++) {
        if (count_straight(found->graph, site, k) < found->graph->steps)
            continue;
        path[0] = site;
        for (size_t i = 0; i < found->graph->steps; i++)
            path[i + 1] = grid_neighbour(found->graph, path[i], k);
        good = good && found_add(found, path);
    }
    return good;
}

/* The first GRAPH_ACTIONS_MAX of the search, of which `most` are kept. */
static bool find_all(struct found *found, size_t site)
{
    struct search search;
    search_init(&search, found->graph, site);
    while (found->len < GRAPH_ACTIONS_MAX && search_next(&search))
        if (!found_add(found, search.path))
            return false;
    return true;
}

static bool is_found(const struct found *found, const size_t *path)
{
    for (size_t a = 0; a < found->len; a++) {
        size_t i = 0;
        while (i < found->graph->steps && found->actions[a].sites[i] == path[i + 1])
            i++;
        if (i == found->graph->steps)
            return true;
    }
    return false;
}

/* Takes a random walk; false when it got stuck. */
static bool walk(struct search *s, struct rng *rng)
{
    while (s->depth < s->graph->steps) {
        size_t free[64], len = 0, at = s->path[s->depth], degree = neighbours_len(s->graph, at);
        size_t offset = degree > 64 ? rng_below(rng, degree) : 0; // of very many, a window
        for (size_t k = 0; k < degree && len < 64; k++) {
            size_t next = neighbour(s->graph, at, (k + offset) % degree);
            if (next != SIZE_MAX && !is_on_path(s, next))
                free[len++] = next;
        }
        if (len == 0)
            return false;
        s->path[++s->depth] = free[rng_below(rng, len)];
    }
    return true;
}

static bool find_by_walking(struct found *found, size_t site, struct rng *rng)
{
    struct search search;
    size_t        most = found->graph->most < WALKED_MAX ? found->graph->most : WALKED_MAX;
    for (size_t attempt = 0; attempt < WALKS_PER_ACTION * most && found->len < most; attempt++) {
        search_init(&search, found->graph, site);
        if (walk(&search, rng) && !is_found(found, search.path) && !found_add(found, search.path))
            return false;
    }
    return true;
}

/* Keeps `most` of them, every set equally likely, in the order they had. */
static void sample(struct macro_action *actions, size_t *len, size_t most, struct rng *rng)
{
    size_t kept = 0;
    for (size_t i = 0; i < *len && kept < most; i++)
        if (rng_below(rng, *len - i) < most - kept)
            actions[kept++] = actions[i];
    *len = kept < most ? kept : most;
}

enum status graph_actions(const struct graph *graph, uint64_t seed, size_t site, struct arena *arena,
                          struct macro_actions *out, struct error *err)
{
    struct rng   rng = rng_at(seed, site, RNG_MACRO_PATHS);
    size_t       listed = graph->moves == MOVES_LISTED ? graph->first[site + 1] - graph->first[site] : 0;
    size_t       count = graph->moves == MOVES_LISTED ? listed : graph_count(graph, site);
    bool         is_counted = count <= GRAPH_ACTIONS_MAX || listed > 0, good = true;
    struct found found = {.graph = graph, .arena = arena};
    found.actions = ARENA_NEW(arena, struct macro_action, (is_counted ? count : graph->most) + 1);
    if (found.actions == NULL)
        return error_no_memory(err);
    if (graph->moves == MOVES_LISTED && listed > 0) {
        memcpy(found.actions, graph->listed + graph->first[site], listed * sizeof *found.actions);
        found.len = listed;
    } else if (is_straight(graph)) {
        good = find_straight(&found, site);
    } else if (graph->moves != MOVES_LISTED) {
        good = is_counted ? find_all(&found, site) : find_by_walking(&found, site, &rng);
    }
    if (!good)
        return error_no_memory(err);
    if (found.len > graph->most)
        sample(found.actions, &found.len, graph->most, &rng);
    *out = (struct macro_actions){.at = found.actions, .len = found.len};
    return STATUS_OK;
}
