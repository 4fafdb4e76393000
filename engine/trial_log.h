/* What a study's log says about each trial of a parameter space, in the order of the trials' numbers whatever the
 * order of the events.  Knows nothing of models. */
#ifndef GNOMON_ENGINE_TRIAL_LOG_H
#define GNOMON_ENGINE_TRIAL_LOG_H

#include "engine/policy.h"

enum trial_state { TRIAL_PENDING, TRIAL_OBSERVED, TRIAL_INFEASIBLE, TRIAL_FAILED, TRIAL_ABANDONED, TRIAL_STATES };

struct trial {
    uint64_t         number;
    enum trial_state state;
    double           value, stddev; /* TRIAL_OBSERVED */
};

struct trial_log {
    struct arena *arena;
    size_t        params_len, len, room;
    struct trial *trials; /* [len] by number */
    double       *points; /* [len][params_len] */
    size_t        count[TRIAL_STATES];
};

void trial_log_init(struct trial_log *log, struct arena *arena, size_t params_len);

/* Takes in one event; a trial that is not there yet is added with the event's point.  Errors: NO_MEMORY.
 * O(log len), or O(len) for a trial with a smaller number than another. */
MUST_CHECK enum status trial_log_tell(struct trial_log *log, const struct event *event, struct error *err);

static inline const double *trial_log_point(const struct trial_log *log, size_t i)
{
    return log->points + i * log->params_len;
}

#endif
