/* Two parallel arrays, sorted by trial number; numbers nearly always arrive in order. */
#include "engine/policy/trial_log.h"

#include "engine/base/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BEST_SHARE = 4, FEW_SHARE = 10, DOUBT_MIN = 6, DOUBT_MAX = 32 }; /* values before any is in doubt */
static const double DOUBT_TIMES = 10.0; /* how many times as far above the next as that is above the lower quartile */
/* How many times as far as the others a value beyond the gap counts, below and above. */
static const double LIMIT_TIMES_LOW = 3.0, LIMIT_TIMES = 10.0;

void trial_log_init(struct trial_log *log, struct arena *arena, size_t params_len)
{
    *log = (struct trial_log){.arena = arena, .params_len = params_len};
}

static enum status reserve(struct trial_log *log, struct error *err)
{
    size_t room = log->room, point_room = room, width = log->params_len * sizeof *log->points;
    void  *trials = arena_grown(log->arena, log->trials, log->len, sizeof *log->trials, &room);
    void  *points = arena_grown(log->arena, log->points, log->len, width, &point_room);
    if (trials == NULL || points == NULL)
        return error_no_memory(err);
    log->trials = trials;
    log->points = points;
    log->room = room;
    return STATUS_OK;
}

static enum status insert(struct trial_log *log, size_t at, const struct event *event, struct error *err)
{
    TRY(reserve(log, err));
    size_t  after = log->len - at, width = log->params_len;
    double *point = log->points + at * width;
    memmove(log->trials + at + 1, log->trials + at, after * sizeof *log->trials);
    memmove(point + width, point, after * width * sizeof *point);
    log->trials[at] = (struct log_trial){
        .number = event->trial, .state = LOG_PENDING, .is_given = event->is_given || event->is_outside};
    memcpy(point, event->point, width * sizeof *point);
    log->len++;
    log->count[LOG_PENDING]++;
    return STATUS_OK;
}

enum status trial_log_tell(struct trial_log *log, const struct event *event, struct error *err)
{
    static const enum log_state states[] = {
        [EVENT_SUGGESTED] = LOG_PENDING,     [EVENT_OBSERVED] = LOG_OBSERVED,   [EVENT_FAILED] = LOG_FAILED,
        [EVENT_INFEASIBLE] = LOG_INFEASIBLE, [EVENT_ABANDONED] = LOG_ABANDONED, [EVENT_STOPPED] = LOG_STOPPED,
    };
    size_t at = numbers_place(log->trials, log->len, sizeof *log->trials, event->trial);
    log->events++;
    if (at == log->len || log->trials[at].number != event->trial)
        TRY(insert(log, at, event, err));
    struct log_trial *trial = &log->trials[at];
    log->count[trial->state]--;
    log->failures -= trial->is_failure;
    trial->state = event->is_outside ? LOG_CONTEXT : event->is_forecast ? LOG_FORECAST : states[event->kind];
    trial->is_failure = trial->state == LOG_FAILED;
    log->failures += trial->is_failure;
    log->count[trial->state]++;
    if (log_trial_is_row(trial) || trial->is_failure)
        trial->finished = log->events;
    if (log_trial_has_value(trial)) {
        trial->value = event->value;
        trial->sd = event->sd;
    }
    return STATUS_OK;
}

bool trial_log_find(const struct trial_log *log, uint64_t number, size_t *at)
{
    *at = numbers_place(log->trials, log->len, sizeof *log->trials, number);
    return *at < log->len && log->trials[*at].number == number;
}

size_t trial_log_finished(const struct trial_log *log)
{
    return log->count[LOG_OBSERVED] + log->count[LOG_INFEASIBLE] + log->count[LOG_CONTEXT] + log->count[LOG_FORECAST];
}

size_t trial_log_tried(const struct trial_log *log)
{
    return log->count[LOG_OBSERVED] + log->count[LOG_INFEASIBLE] + log->count[LOG_PENDING] + log->count[LOG_FAILED] +
           log->count[LOG_FORECAST] + log->count[LOG_STOPPED];
}

/* Insertion from the end: trials finish nearly in the order of their numbers, unless many run at once. */
void trial_log_order(const struct trial_log *log, size_t *places)
{
    size_t n = 0;
    for (size_t i = 0; i < log->len; i++) {
        if (!log_trial_is_row(&log->trials[i]))
            continue;
        size_t at = n++;
        for (; at > 0 && log->trials[places[at - 1]].finished > log->trials[i].finished; at--)
            places[at] = places[at - 1];
        places[at] = i;
    }
}

/* Halves, as differences of large numbers overflow. */
struct value_limits value_limits(double *values, size_t len)
{
    struct value_limits limits = {-HUGE_VAL, HUGE_VAL, -HUGE_VAL};
    if (len < 3)
        return limits;
    qsort(values, len, sizeof *values, numbers_order);
    double best = 0.5 * values[len - 1], second = 0.5 * values[len - 2], worst = 0.5 * values[0];
    for (size_t i = len - 1 - len / BEST_SHARE; i > 0; i--) {
        double distance = best - 0.5 * values[i];
        bool   is_penalty = i > 1 && values[i - 1] == values[0];
        double apart = is_penalty ? TRIAL_APART_EQUAL : TRIAL_APART_FEW;
        if (distance > 0.0 && (best - 0.5 * values[i - 1]) / apart > distance &&
            (i <= 1 + len / FEW_SHARE || is_penalty)) {
            limits.low = 2.0 * (best - LIMIT_TIMES_LOW * distance);
            limits.wrong = 2.0 * (best - TRIAL_APART * distance);
            return limits;
        }
    }
    if (second > worst && (best - worst) / TRIAL_APART > second - worst)
        limits.high = 2.0 * (second + LIMIT_TIMES * (second - worst));
    return limits;
}

/* values [log->len] out: what those observed are worth; how many there are. */
static size_t observed_values(const struct trial_log *log, double *values)
{
    size_t len = 0;
    for (size_t i = 0; i < log->len; i++)
        if (log->trials[i].state == LOG_OBSERVED)
            values[len++] = trial_log_worth(log, log->trials[i].value);
    return len;
}

enum status trial_log_limits(const struct trial_log *log, struct arena *scratch, struct value_limits *out,
                             struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    double           *values = ARENA_NEW(scratch, double, log->len + 1);
    if (values == NULL)
        return error_no_memory(err);
    *out = value_limits(values, observed_values(log, values));
    arena_release(scratch, mark);
    return STATUS_OK;
}

/* The least of the sorted values that are not in doubt, seen from above; halves, as differences overflow. */
static double doubt_above(const double *values, size_t len)
{
    double above = HUGE_VAL, quartile = 0.5 * values[(len - 1) / 4];
    for (size_t i = len - 1; i > 0 && len - i <= DOUBT_MAX && len - i <= 1 + len / FEW_SHARE; i--) {
        double next = 0.5 * values[i - 1];
        if (next > quartile && (0.5 * values[i] - next) / DOUBT_TIMES > next - quartile)
            above = values[i - 1];
    }
    return above;
}

/* Whether another trial that is not over without a word has the point at place; *is_sure: its value is above, too. */
static bool has_twin(const struct trial_log *log, size_t place, double above, bool *is_sure)
{
    bool found = false;
    for (size_t i = 0; i < log->len; i++) {
        const struct log_trial *other = &log->trials[i];
        if (i == place || other->state == LOG_ABANDONED ||
            memcmp(trial_log_point(log, i), trial_log_point(log, place), log->params_len * sizeof(double)) != 0)
            continue;
        found = true;
        *is_sure |= other->state == LOG_OBSERVED && other->value > above;
    }
    return found;
}

bool trial_log_is_alone(const struct trial_log *log, size_t place)
{
    bool is_sure = false;
    return !has_twin(log, place, HUGE_VAL, &is_sure);
}

enum status trial_log_doubts(const struct trial_log *log, struct arena *scratch, double *above, size_t *again,
                             struct error *err)
{
    bool is_sure = false;
    *above = HUGE_VAL;
    *again = log->len;
    struct arena_mark mark = arena_mark(scratch);
    double           *values = ARENA_NEW(scratch, double, log->len + 1);
    if (values == NULL)
        return error_no_memory(err);
    size_t len = observed_values(log, values);
    if (len >= DOUBT_MIN) {
        qsort(values, len, sizeof *values, numbers_order);
        *above = doubt_above(values, len);
    }
    arena_release(scratch, mark);
    for (size_t i = log->len; i-- > 0 && !is_sure && isfinite(*above);)
        if (log->trials[i].state == LOG_OBSERVED && log->trials[i].value > *above &&
            !has_twin(log, i, *above, &is_sure))
            *again = i;
    if (is_sure) {
        *above = HUGE_VAL;
        *again = log->len;
    }
    return STATUS_OK;
}

size_t trial_log_best(const struct trial_log *log)
{
    size_t best = log->len;
    for (size_t i = 0; i < log->len; i++)
        if (log->trials[i].state == LOG_OBSERVED &&
            (best == log->len ||
             trial_log_worth(log, log->trials[i].value) > trial_log_worth(log, log->trials[best].value)))
            best = i;
    return best;
}

struct value_scale values_standardise(double *y, size_t n)
{
    struct value_scale scale = {0};
    double             square = 0.0;
    for (size_t i = 0; i < n; i++)
        scale.unit = fmax(scale.unit, fabs(y[i]));
    if (scale.unit == 0.0)
        scale.unit = 1.0;
    for (size_t i = 0; i < n; i++)
        scale.centre += y[i] / scale.unit / (double)n;
    for (size_t i = 0; i < n; i++) {
        y[i] = y[i] / scale.unit - scale.centre;
        square += y[i] * y[i] / (double)n;
    }
    scale.spread = square > 0.0 ? sqrt(square) : 1.0;
    for (size_t i = 0; i < n; i++)
        y[i] /= scale.spread;
    return scale;
}

enum status trial_log_pending(const struct trial_log *log, struct arena *arena, const double **points, size_t *len,
                              struct error *err)
{
    double *out = arena_alloc(arena, log->count[LOG_PENDING], log->params_len * sizeof *out);
    if (out == NULL)
        return error_no_memory(err);
    *points = out;
    *len = log->count[LOG_PENDING];
    for (size_t i = 0; i < log->len; i++)
        if (log->trials[i].state == LOG_PENDING) {
            memcpy(out, trial_log_point(log, i), log->params_len * sizeof *out);
            out += log->params_len;
        }
    return STATUS_OK;
}
