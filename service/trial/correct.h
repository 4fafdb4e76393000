/* Results that were wrong: corrected, or retracted.
 * The log keeps every line, and the table of corrections every result that was; what is computed from now on is computed as
 * if the trial had ended with the new result when it ended, and with none where it was retracted.  The fits of suggestions
 * that were made with the old result are forgotten: to the model these are points of the user's. */
#ifndef GNOMON_SERVICE_STUDY_CORRECT_H
#define GNOMON_SERVICE_STUDY_CORRECT_H

#include "service/app/app.h"
#include "service/model/trial.h"

struct correct_request {
    struct observation result; /* names its trial; outcome RETRACTED: the trial has no result any more */
    const char        *why;    /* or NULL */
};
/* Corrects a trial; a repetition changes nothing.  Errors: CONFLICT "trial_not_finished", "trial_abandoned" (there is
 * nothing to retract), "results_are_final" (private studies, agents of federations; of a graph what the agent did stays
 * done); INVALID "wrong_length" (a graph: not the sites that were measured). */
MUST_CHECK enum status trial_correct(struct app *app, struct caller *caller, const char *study,
                                     const struct correct_request *request, struct trial *out, struct error *err);

#endif
