/* The state of a graph study after its log: where the agent stands, what was measured, and the Gaussian process of it.
 * Knows nothing of plans.
 * An unfinished macro-action (fewer values than sites) counts as far as it was measured: its values are data, and the agent
 * stands at the site of the last one.  One without any result yet counts as if it will be done: the agent will stand at its
 * end, and its sites count as visited, with their posterior means for values. */
#ifndef GNOMON_ENGINE_MACRO_MODEL_H
#define GNOMON_ENGINE_MACRO_MODEL_H

#include "engine/gp/gp.h"
#include "engine/policy/policy.h"

enum visit_state { VISIT_PENDING, VISIT_MEASURED, VISIT_BLOCKED, VISIT_NONE };
struct visit { /* a trial */
    uint64_t         number;
    enum visit_state state;
    size_t           steps;          /* of the macro-action */
    double          *sites, *values; /* [space_point_len]; values NaN where not measured */
};

/* theta: log length-scales [dims], log variance, log noise variance, mean (signed as values); NaN where it is to be
 * estimated. */
enum { MACRO_THETA_MAX = GRAPH_DIMS_MAX + 3 };

struct macro_model {
    const struct graph *graph;
    struct arena       *arena;
    size_t              point_len;
    struct visit       *visits; /* [len] by number */
    size_t              len, room;
    struct kernel       kernel;
    double              length_scales[GRAPH_DIMS_MAX], noise_variance, mean;
};

/* Fills theta [graph->dims + 3] where it is NaN by maximum a posteriori from the prior observations.
 *   length-scales  log-normal(log(extent of the coordinate / 5), 1)
 *   variance       log-normal(log v, 1.5),  v the sample variance;   noise variance  log-normal(log(v / 100), 2)
 *   mean           N(sample mean, v)
 * Errors: NO_MEMORY.  O(evaluations n^3). */
MUST_CHECK enum status macro_model_fit(const struct graph *graph, const struct kernel_kind *kind, double *theta,
                                       struct arena *scratch, struct error *err);

/* theta without NaN. */
void macro_model_init(struct macro_model *model, const struct space *space, struct arena *arena,
                      const struct kernel_kind *kind, const double *theta);

/* Errors: NO_MEMORY. */
MUST_CHECK enum status macro_model_tell(struct macro_model *model, const struct event *event, struct error *err);

/* The agent's site, after its pending macro-actions. */
size_t macro_model_place(const struct macro_model *model);

/* Pairs of a start and a point of macro-actions that were found infeasible: [*len][1 + steps] in the arena.
 * Errors: NO_MEMORY. */
MUST_CHECK enum status macro_model_blocked(const struct macro_model *model, struct arena *arena, double **out,
                                           size_t *len, struct error *err);

/* The process given prior observations and values, less the mean; with what is pending when with_pending.
 * *measured: how many values.  Errors: NO_MEMORY, NUMERIC.  O(n^3). */
MUST_CHECK enum status macro_model_gp(const struct macro_model *model, bool with_pending, struct arena *arena,
                                      struct gp *out, size_t *measured, struct error *err);

#endif
