/* The search once it has exhausted the neighbourhood of the best trial: it looks elsewhere, with a share of its trials.
 * The model cannot say when.  Of a function with several basins it knows those it has measured; anywhere else it expects
 * what the values tried were like, and the box always promises a little more.  So the trials say it: since the first that
 * was as good as the best, WAIT more than there are parameters (where values are noisy twice as many) lie near it and none
 * has gained anything that matters.
 * From then on three trials elsewhere go with every two near the best, until one of either gains.  Of the three, two are far
 * from all that is known, and one is in a second basin, around the best of the trials apart.
 * All this is a function of the model: of its rows, and of the points that failed or are pending. */
#ifndef GNOMON_ENGINE_GP_ELSEWHERE_H
#define GNOMON_ENGINE_GP_ELSEWHERE_H

#include "engine/surrogate/gp_model.h"

struct gp_elsewhere {
    const double *centre;     /* [dims] the place of the best trial in the unit cube */
    size_t        misses;     /* finished trials near it since the first that was as good */
    size_t        near, away; /* all since then, and the pending ones */
};

/* model is conditioned, with an anchor.  O(n dims). */
struct gp_elsewhere gp_elsewhere_count(const struct gp_model *model);

/* Whether the next trial is one elsewhere.  Not where the model has left out trials: it has forgotten the far ones. */
bool gp_elsewhere_is_due(const struct gp_elsewhere *counts, const struct gp_model *model);

/* Whether that one is in a second basin: *second out, its best trial; box [2 dims] out, lower and upper bounds around it.
 * O(n dims). */
bool gp_elsewhere_second(const struct gp_elsewhere *counts, const struct gp_model *model, struct gp_anchors *second,
                         double *box);

/* Whether u [dims], found there, is neither near the best nor as good as tried: the second basin is exhausted, too, or the
 * way from it led back.  O(n dims). */
bool gp_elsewhere_is_new(const struct gp_elsewhere *counts, const struct gp_model *model, const double *u);

/* How far u [dims] is from all points of the model in the unit cube, pending and failed ones included.  O(n dims). */
double gp_elsewhere_distance(const struct gp_model *model, const double *u);

/* As in struct acq_search; arg: a gp_model.  The distances of U [m][dims]. */
MUST_CHECK enum status gp_elsewhere_scores(void *arg, const double *U, size_t m, double *out, struct error *err);

#endif
