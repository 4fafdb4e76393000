/* The words for the states of studies and trials, and what a state refuses. */
#include "service/model/study.h"

#include <stdio.h>
#include <string.h>

const char *const study_state_names[STUDY_STATE_COUNT + 1] = {
    [STUDY_AWAITING_CANDIDATES] = "awaiting_candidates",
    [STUDY_ACTIVE] = "active",
    [STUDY_PAUSED] = "paused",
    [STUDY_COMPLETED] = "completed",
};

// clang-format off
const char *const trial_state_names[TRIAL_STATE_COUNT + 1] = {
    [TRIAL_QUEUED] = "queued",       [TRIAL_RUNNING] = "running",       [TRIAL_COMPLETED] = "completed",
    [TRIAL_FAILED] = "failed",       [TRIAL_INFEASIBLE] = "infeasible", [TRIAL_ABANDONED] = "abandoned",
    [TRIAL_STOPPED] = "stopped",     [TRIAL_RETRACTED] = "retracted",
};
// clang-format on

const char study_next_evaluate[] = "evaluate", study_next_wait[] = "wait", study_next_stop[] = "stop";

int64_t study_spent(const struct study *study)
{
    const int64_t *trials = study->trials;
    int64_t        given_back = trials[TRIAL_FAILED] + trials[TRIAL_ABANDONED] + trials[TRIAL_RETRACTED];
    return study->trials_total - given_back - study->imported;
}

enum status study_refuse(const struct study *study, struct error *err)
{
    if (study->state == STUDY_AWAITING_CANDIDATES)
        return error_set(err, STATUS_CONFLICT, "awaiting_candidates", "", "the study waits for its candidates");
    (void)error_state(err, "study", study_state_names[study->state], study->reason);
    if (err != NULL && study->state == STUDY_COMPLETED) {
        const char *why = study->reason == NULL ? "" : study->reason;
        if (strcmp(why, "too_many_failures") == 0)
            snprintf(err->text, sizeof err->text,
                     "too many runs failed: the study's `failures` say why; then reopen it");
        err->next = study_next_stop;
    }
    return STATUS_CONFLICT;
}
