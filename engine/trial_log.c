/* Two parallel arrays, sorted by trial number; numbers nearly always arrive in order. */
#include "engine/trial_log.h"

#include <string.h>

void trial_log_init(struct trial_log *log, struct arena *arena, size_t params_len)
{
    *log = (struct trial_log){.arena = arena, .params_len = params_len};
}

static enum status reserve(struct trial_log *log, struct error *err)
{
    if (log->len < log->room)
        return STATUS_OK;
    size_t        room = log->room == 0 ? 64 : 2 * log->room;
    struct trial *trials = ARENA_NEW(log->arena, struct trial, room);
    double       *points = arena_alloc(log->arena, room, log->params_len * sizeof *points);
    if (trials == NULL || points == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "the study's trials do not fit into the memory limit");
    if (log->len > 0) {
        memcpy(trials, log->trials, log->len * sizeof *trials);
        memcpy(points, log->points, log->len * log->params_len * sizeof *points);
    }
    log->trials = trials;
    log->points = points;
    log->room = room;
    return STATUS_OK;
}

/* How many trials have a smaller number. */
static size_t place_of(const struct trial_log *log, uint64_t number)
{
    size_t low = 0, high = log->len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->trials[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum status insert(struct trial_log *log, size_t at, const struct event *event, struct error *err)
{
    TRY(reserve(log, err));
    size_t  after = log->len - at, width = log->params_len;
    double *point = log->points + at * width;
    memmove(log->trials + at + 1, log->trials + at, after * sizeof *log->trials);
    memmove(point + width, point, after * width * sizeof *point);
    log->trials[at] = (struct trial){.number = event->trial, .state = TRIAL_PENDING};
    memcpy(point, event->point, width * sizeof *point);
    log->len++;
    log->count[TRIAL_PENDING]++;
    return STATUS_OK;
}

enum status trial_log_tell(struct trial_log *log, const struct event *event, struct error *err)
{
    static const enum trial_state states[] = {
        [EVENT_SUGGESTED] = TRIAL_PENDING,     [EVENT_OBSERVED] = TRIAL_OBSERVED,   [EVENT_FAILED] = TRIAL_FAILED,
        [EVENT_INFEASIBLE] = TRIAL_INFEASIBLE, [EVENT_ABANDONED] = TRIAL_ABANDONED,
    };
    size_t at = place_of(log, event->trial);
    if (at == log->len || log->trials[at].number != event->trial)
        TRY(insert(log, at, event, err));
    struct trial *trial = &log->trials[at];
    log->count[trial->state]--;
    trial->state = states[event->kind];
    log->count[trial->state]++;
    if (trial->state == TRIAL_OBSERVED) {
        trial->value = event->value;
        trial->stddev = event->stddev;
    }
    return STATUS_OK;
}
