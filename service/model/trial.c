/* See trial.h. */
#include "service/model/trial.h"

#include <stddef.h>
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

#define MEMBER(name_, text, least_, most_, with_)           \
    {.name = #name_,                                        \
     .is_text = (text),                                     \
     .in_trial = offsetof(struct trial, name_),             \
     .in_observation = offsetof(struct observation, name_), \
     .least = (least_),                                     \
     .most = (most_),                                       \
     .with = (with_)},
#define NUMBER(name, least, most, with) MEMBER(name, false, least, most, with)
#define TEXT(name, least, most, with)   MEMBER(name, true, least, most, with)
const struct trial_member trial_members[] = {TRIAL_NUMBERS(NUMBER) TRIAL_TEXTS(TEXT){.name = NULL}};

bool trial_says(const struct trial_member *member, const void *at)
{
    return member->is_text ? *(const char *const *)at != NULL : !isnan(*(const double *)at);
}

#define UNSAID(name, ...) .name = NAN,

struct trial trial_none(void)
{
    return (struct trial){.row = -1,
                          .worker = "",
                          .holder = "",
                          .model = {.mean = NAN, .stddev = NAN, .stddev_observed = NAN},
                          .said = {TRIAL_ANNOTATIONS(NONE)},
                          TRIAL_NUMBERS(UNSAID)};
}

struct observation observation_none(void)
{
    return (struct observation){.row = -1, TRIAL_NUMBERS(UNSAID)};
}

enum status observation_keep_unread(struct observation *item, size_t *len, const struct error *why, struct arena *arena,
                                    struct error *err)
{
    static const struct error more = {.status = STATUS_INVALID, .code = "bad_combination", .text = "is one of many"};
    struct error             *copy = *len < OBSERVATIONS_UNREAD_MAX ? ARENA_NEW(arena, struct error, 1) : NULL;
    if (copy == NULL && *len < OBSERVATIONS_UNREAD_MAX)
        return error_no_memory(err);
    if (copy != NULL)
        *copy = *why;
    ++*len;
    *item = observation_none();
    item->unread = copy != NULL ? copy : &more;
    return STATUS_OK;
}
