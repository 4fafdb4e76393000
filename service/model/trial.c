/* See trial.h. */
#include "service/model/trial.h"

#include <string.h>

bool outcome_of_state(const char *state, enum outcome *out)
{
    static const enum outcome outcomes[TRIAL_STATE_COUNT] = {
        [TRIAL_QUEUED] = OUTCOME_QUEUED,         [TRIAL_RUNNING] = OUTCOME_QUEUED,
        [TRIAL_COMPLETED] = OUTCOME_VALUE,       [TRIAL_FAILED] = OUTCOME_FAILED,
        [TRIAL_INFEASIBLE] = OUTCOME_INFEASIBLE, [TRIAL_ABANDONED] = OUTCOME_ABANDONED,
        [TRIAL_STOPPED] = OUTCOME_STOPPED,       [TRIAL_RETRACTED] = OUTCOME_RETRACTED,
    };
    for (size_t i = 0; i < TRIAL_STATE_COUNT; i++)
        if (strcmp(trial_state_names[i], state) == 0) {
            *out = outcomes[i];
            return true;
        }
    return false;
}

struct trial trial_none(void)
{
    return (struct trial){.row = -1,
                          .worker = "",
                          .holder = "",
                          .model = {.mean = NAN, .stddev = NAN, .stddev_observed = NAN},
                          .said = {TRIAL_ANNOTATIONS(NONE)},
                          TRIAL_TOLD(NONE)};
}

struct observation observation_none(void)
{
    return (struct observation){.row = -1, TRIAL_TOLD(NONE)};
}

enum status observation_keep_unread(struct observation *item, size_t *len, const struct error *why, size_t n,
                                    struct arena *arena, struct error *err)
{
    static const struct error more = {.status = STATUS_INVALID, .code = "bad_combination", .text = "is one of many"};
    struct error             *copy = *len < OBSERVATIONS_UNREAD_MAX ? ARENA_NEW(arena, struct error, n) : NULL;
    if (copy == NULL && *len < OBSERVATIONS_UNREAD_MAX)
        return error_no_memory(err);
    if (copy != NULL)
        memcpy(copy, why, n * sizeof *why);
    *len += n;
    *item = observation_none();
    item->unread = copy != NULL ? copy : &more;
    item->unread_len = copy != NULL ? n : 1;
    return STATUS_OK;
}
