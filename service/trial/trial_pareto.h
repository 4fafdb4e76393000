/* The best trials of a study. */
#ifndef GNOMON_SERVICE_STUDY_TRIAL_PARETO_H
#define GNOMON_SERVICE_STUDY_TRIAL_PARETO_H

#include "service/app/app.h"
#include "service/model/trial.h"

/* Feasible trials that no other dominates (one objective: the best one), and the hypervolume above a reference point:
 * of each objective its threshold or, where it has none, the worst feasible value, and a tenth of the range beyond. */
struct pareto_reply {
    struct study  study;
    struct trial *trials;
    size_t        len;
    bool         *attains;                /* [len] every threshold; NULL: there are no thresholds */
    double        hypervolume;            /* NaN: there are too many to compute it */
    double        reference[METRICS_MAX]; /* by metric, in its own sign */
};
MUST_CHECK enum status trial_pareto(struct app *app, struct caller *caller, const char *study, struct pareto_reply *out,
                                    struct error *err);

#endif
