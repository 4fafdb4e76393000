/* Graph spaces: sites with coordinates, and the macro-actions that lead from one to others.
 * A macro-action is the sequence of sites that the agent moves through, without the one it starts from.  Either they
 * are listed (lengths may differ), or they are the simple paths of `steps` edges: along given edges, over the cells of
 * a grid to 4 or 8 neighbours, or straight on in a grid, in 4 or 8 directions.  Paths are found site by site when they are asked for, since
 * their number is exponential in their length; where there are more than `most`, a sample of them stands for all.
 * A point of the space is [space_point_len] site numbers, NaN after the last.
 *   Kharkovskii, "Bayesian optimization ...", chapter 4: A(x) is what graph_actions gives for the agent's site. */
#ifndef GNOMON_ENGINE_GRAPH_H
#define GNOMON_ENGINE_GRAPH_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GRAPH_DIMS_MAX = 3,
    GRAPH_SITES_MAX = 1000000, /* of a grid; sites, edges and listed macro-actions together: GRAPH_ROWS_MAX */
    GRAPH_ROWS_MAX = 50000,
    GRAPH_LISTED_STEPS_MAX = 100000, /* of all listed macro-actions together */
    GRAPH_STEPS_MAX = 100,           /* of a macro-action */
    GRAPH_ACTIONS_MAX = 4096,        /* at a site */
    GRAPH_PRIOR_MAX = 2000
};

enum graph_moves { MOVES_STRAIGHT, MOVES_FOUR, MOVES_EIGHT, MOVES_STRAIGHT_EIGHT, MOVES_EDGES, MOVES_LISTED };

/* A macro-action: the sites it visits, in order. */
struct macro_action {
    const uint32_t *sites; /* [len] */
    size_t          len;
};

struct graph {
    enum graph_moves           moves;
    size_t                     sites_len, dims;
    size_t                     width, height; /* of a grid: site = row * width + column */
    double                     spacing;
    const double              *coordinates; /* [sites_len][dims]; NULL: of a grid */
    const uint32_t            *first;  /* [sites_len + 1] MOVES_EDGES, MOVES_LISTED: where a site's entries start */
    const uint32_t            *to;     /* MOVES_EDGES: sites */
    const struct macro_action *listed; /* MOVES_LISTED */
    size_t                     steps;  /* of a path; listed: of the longest */
    size_t                     most;   /* macro-actions at a site */
    size_t                     start;  /* where the agent stands first */
    const uint32_t            *prior_sites; /* [prior_len] observations before the study */
    const double              *prior_values;
    size_t                     prior_len;
    double                     sign; /* 1, or -1 where the user's small values are better: of prior values and mean */
};

/* An edge, or a listed macro-action, as a user gives them. */
struct graph_edge {
    uint32_t from, to;
};
struct graph_listed {
    uint32_t            from;
    struct macro_action action;
};

/* graph->first and ->to, or ->listed and ->steps, from rows in any order, repetitions dropped (edges).
 * Errors: NO_MEMORY. */
MUST_CHECK enum status graph_set_edges(struct graph *graph, struct graph_edge *edges, size_t len, struct arena *arena,
                                       struct error *err);
MUST_CHECK enum status graph_set_listed(struct graph *graph, struct graph_listed *listed, size_t len,
                                        struct arena *arena, struct error *err);

/* Sizes, finite coordinates, prior values, and that some macro-action leaves the start.
 * Errors: INVALID with a path into "/space". */
MUST_CHECK enum status graph_check(const struct graph *graph, struct error *err);

void graph_coordinates(const struct graph *graph, size_t site, double *out); /* [dims] */

struct macro_actions {
    struct macro_action *at;
    size_t               len;
};

/* The macro-actions at a site, in the arena.  All of them where there are at most `most` (and the search
 * for them stays within GRAPH_ACTIONS_MAX paths); otherwise `most` different ones, drawn with the seed: uniformly from
 * all, or where even counting them is too long, as random walks that do not meet themselves (then at most 256).
 * A pure function of (graph, seed, site).  Errors: NO_MEMORY.  O(32768 steps), walks O(64 most (steps^2 + most)). */
MUST_CHECK enum status graph_actions(const struct graph *graph, uint64_t seed, size_t site, struct arena *arena,
                                     struct macro_actions *out, struct error *err);

/* The number of simple paths from a site; GRAPH_ACTIONS_MAX + 1 means more than GRAPH_ACTIONS_MAX. */
size_t graph_count(const struct graph *graph, size_t site);

/* True if an agent at `from` can have moved through these sites: along edges (or to neighbours in the grid), at most
 * `steps` of them; listed: the beginning of a macro-action of that site. */
bool graph_allows(const struct graph *graph, size_t from, const double *sites, size_t len);

/* How many sites a point holds before the first NaN. */
size_t graph_point_steps(const double *point, size_t point_len);

#endif
