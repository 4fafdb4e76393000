/* The value of each macro-action at the root of a tree of them: by stochastic sampling, by the most likely outputs, and
 * by the anytime search between bounds.           Kharkovskii, sections 4.2 and 4.3, algorithm 4
 * Every value is an expected sum of outputs (and beta times the information gained), larger is better.
 *
 * The N samples of a macro-action are drawn once per path prefix, z ~ N(0, I) keyed by (seed, trial, prefix), and shared
 * by all nodes of that prefix, which differ in the earlier outputs only.  Those of different prefixes are independent,
 * so every node's average is over N independent samples (all that (4.6) and the union bound of lemma B.3 need) and has
 * the expectation it would have with samples of its own; and since stage sums are linear in z, a node costs one
 * addition and one comparison for each macro-action instead of a new sample. */
#ifndef GNOMON_ENGINE_MACRO_PLAN_H
#define GNOMON_ENGINE_MACRO_PLAN_H

#include "engine/planning/macro_tree.h"
#include "engine/policy/policy.h"

struct macro_search {
    size_t   samples; /* N */
    uint64_t seed, trial;
    double   lambda;                                   /* anytime: how far Q may be from the average over the samples */
    double   nodes_max;                                /* anytime: stop here */
    double   gap_max;                                  /* anytime: ... and when the bounds at the root are this close */
    bool (*late)(void *);                              /* polled; NULL: never */
    void (*notify)(void *, const struct plan_state *); /* or NULL */
    void             *arg;                             /* of both */
    struct plan_state progress;                        /* out */
};

/* Q_0 of every macro-action at the root by (4.6): values [tree->steps[0].children].
 * Errors: NO_MEMORY, BUSY "deadline" (values are then worth nothing).
 * O(nodes) additions; memory N^(H-2) doubles. */
MUST_CHECK enum status macro_plan_sample(const struct macro_tree *tree, struct macro_search *search,
                                         struct arena *scratch, double *values, struct error *err);

/* Q_0 by (4.8), which takes the mean for the output at every stage: the best path of a fixed sequence. */
void macro_plan_likely(const struct macro_tree *tree, double *values);

/* Algorithm 4: lower bounds of Q_0, and the gap of the bounds at the root in search->progress.  The tree has bounds.
 * Stops when late, at nodes_max or gap_max, when the tree of samples is exhausted, or when the memory is (*is_short).
 * Where the thesis sets the lower bound of a new node to the most likely value less theta, it is the most likely value
 * itself: a fixed sequence is one of the policies over which the value is the maximum.  At the last stage but one the
 * average over the samples is exact, so nodes there need no search.  Of the macro-actions the one with the greatest
 * upper bound is searched (the authors' code; line 26 of the text has the greatest lower bound, which never looks at
 * what it has once thought worse).
 * Errors: NO_MEMORY or BUSY "deadline" before the root was expanded. */
MUST_CHECK enum status macro_plan_anytime(const struct macro_tree *tree, struct macro_search *search,
                                          struct arena *scratch, double *lower, bool *is_short, struct error *err);

/* z of the samples after a step: out [samples][len]. */
void macro_plan_draw(const struct macro_tree *tree, const struct macro_search *search, size_t step, double *out);

#endif
