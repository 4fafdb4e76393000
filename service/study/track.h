/* Metrics that are recorded from now on, also of a study that runs: behind those that it has.  Trials that are there were
 * not measured by them.  Nothing that is computed changes, so no session begins anew.  A line of the log, "metrics.added",
 * with their names; those that the study records already are none, and nothing new changes nothing.
 * INVALID "duplicate_name" (of a metric that is modelled), "out_of_range", "private_study", "wrong_space". */
#ifndef GNOMON_SERVICE_STUDY_TRACK_H
#define GNOMON_SERVICE_STUDY_TRACK_H

#include "service/app/app.h"
#include "service/model/study.h"

struct track_request {
    const struct metric *metrics;
    size_t               len;
};
MUST_CHECK enum status study_track(struct app *app, struct caller *caller, const char *study,
                                   const struct track_request *request, struct study *out, struct error *err);

#endif
