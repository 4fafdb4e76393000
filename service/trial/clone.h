/* A new study of the specification that another has, with or without its results. */
#ifndef GNOMON_SERVICE_STUDY_CLONE_H
#define GNOMON_SERVICE_STUDY_CLONE_H

#include "service/app/app.h"
#include "service/model/study.h"

/* with_results: its completed, infeasible and stopped trials become observations, which cost nothing of the budget.  What is
 * NULL is as the study has it; spec is an object whose members replace those of the specification, and null takes one
 * away (a seed: another is drawn); said (codec_study_edit) and rules are merge patches. */
struct clone_request {
    const char      *said, *spec, *rules; /* JSON texts */
    bool             has_algorithm;       /* spec says another */
    bool             has_metrics;         /* spec says other goals or bounds of the same metrics */
    bool             with_results;
    struct problems *problems; /* gets all that is INVALID of the new specification and its rules */
};
/* Errors: CONFLICT "not_cloneable" (what is private, or an agent of a federation, must not be there twice);
 * FORBIDDEN "not_shareable" with results; CONFLICT "awaiting_candidates" with results of candidates, which the new study
 * has not got; INVALID "bad_combination" for other metrics; as study_create and trial_observe have. */
MUST_CHECK enum status study_clone(struct app *app, struct caller *caller, const char *id,
                                   const struct clone_request *request, struct study *out, struct error *err);

#endif
