/* Measurements of a running trial. */
#ifndef GNOMON_SERVICE_STUDY_TRIAL_REPORT_H
#define GNOMON_SERVICE_STUDY_TRIAL_REPORT_H

#include "service/app/app.h"
#include "service/codec/codec_trial.h"
#include "service/model/trial.h"

/* A measurement of a running trial, and whether it shall go on.  The measurement is stored; it renews the lease; a trial
 * that shall stop is `stopped` with this value.  The same step and value again: the same answer, nothing stored.
 * Errors: CONFLICT "no_epochs" (the study has no epoch budget), "lease_lost", "trial_not_running", "step_reported" (with
 * another value), "step_out_of_order"; INVALID "out_of_range" (beyond the budget), and
 * those of codec_measured. */
struct report_request {
    struct held_trial     held;
    int64_t               step;
    struct codec_measured given;
    struct problems      *problems; /* gets what is wrong with the values; or NULL */
};
struct report_reply {
    bool        stop;
    const char *reason;
    int64_t     next_step; /* no earlier report can stop the trial; 0: none will */
    const char *warning;   /* of a value outside the range that the algorithm expects curves in; NULL: it is inside */
    struct next next;
};
MUST_CHECK enum status trial_report(struct app *app, struct caller *caller, const char *study,
                                    const struct report_request *request, struct report_reply *out, struct error *err);

#endif
