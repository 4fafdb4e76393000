/* A proposal without a study. */
#ifndef GNOMON_SERVICE_STUDY_STATELESS_H
#define GNOMON_SERVICE_STUDY_STATELESS_H

#include "service/app/app.h"
#include "service/model/trial.h"

/* Nothing is stored: specification and observations in, points out.  POST /v1/suggest. */
struct stateless_request {
    struct spec               spec; /* candidates: spec.space.rows is set */
    const struct observation *observations;
    size_t                    observations_len;
    const double             *pending; /* [pending_len][space_point_len] */
    const size_t             *pending_rows;
    size_t                    pending_len;
    int64_t                   count;
    const double             *fixed;
};
MUST_CHECK enum status trial_suggest_stateless(struct app *app, struct caller *caller,
                                               const struct stateless_request *request, struct trial_page *out,
                                               struct error *err);

#endif
