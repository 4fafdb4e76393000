/* The trials of a parameter space as a study's log describes them, sorted by number whatever the order of the events.  Knows
 * nothing of models. */
#ifndef GNOMON_ENGINE_TRIAL_LOG_H
#define GNOMON_ENGINE_TRIAL_LOG_H

#include "engine/policy/policy.h"

enum log_state {
    LOG_PENDING,
    LOG_OBSERVED,
    LOG_INFEASIBLE,
    LOG_FAILED,
    LOG_ABANDONED,
    LOG_CONTEXT,  /* observed outside the space: a row of the model, and nothing else */
    LOG_FORECAST, /* stopped: a row of the model with a value that nobody saw */
    LOG_STOPPED,  /* begun, and nothing is known of it */
    LOG_STATES
};

struct log_trial {
    uint64_t       number; /* the first member, for numbers_place */
    enum log_state state;
    bool           is_given;   /* its point came with its result, unasked */
    bool           is_failure; /* told as failed, whatever it counts as */
    double         value, sd;  /* LOG_OBSERVED, LOG_CONTEXT, LOG_FORECAST */
    uint64_t       finished;   /* which event of the log made it a row, the last time; 0: none */
};
static inline bool log_trial_has_value(const struct log_trial *trial)
{
    return trial->state == LOG_OBSERVED || trial->state == LOG_CONTEXT || trial->state == LOG_FORECAST;
}
/* Whether models have a row for the trial. */
static inline bool log_trial_is_row(const struct log_trial *trial)
{
    return log_trial_has_value(trial) || trial->state == LOG_INFEASIBLE;
}

struct trial_log {
    struct arena      *arena;
    const struct band *band; /* that values are to lie in; NULL: larger is better */
    size_t             params_len, len, room;
    struct log_trial  *trials; /* [len] by number */
    double            *points; /* [len][params_len] */
    size_t             count[LOG_STATES];
    size_t   failures, regional; /* trials that failed; those of them that count as infeasible (gp_failure.h) */
    uint64_t events;
};

void trial_log_init(struct trial_log *log, struct arena *arena, size_t params_len);

/* Takes in one event; a trial that is not there yet is added with the event's point.  Errors: NO_MEMORY.
 * O(log len), or O(len) for a trial with a smaller number than another. */
MUST_CHECK enum status trial_log_tell(struct trial_log *log, const struct event *event, struct error *err);

/* Where a trial stands in the log; false: it is not there.  O(log len). */
bool trial_log_find(const struct trial_log *log, uint64_t number, size_t *at);

/* How good a value is: larger is better, band or not. */
static inline double trial_log_worth(const struct trial_log *log, double value)
{
    return log->band == NULL ? value : band_worth(log->band, value);
}

/* How many trials are rows: observed, wherever, forecast or infeasible. */
size_t trial_log_finished(const struct trial_log *log);
size_t trial_log_tried(const struct trial_log *log); /* of the space these, and the pending and failed ones */

/* places [trial_log_finished] out: where they stand in the log, in the order in which they finished.
 * O(len + how many pairs of them stand the other way round). */
void trial_log_order(const struct trial_log *log, size_t *places);

/* Between what the values of a log count as they are.  A few that lie TRIAL_APART_FEW times as far below the best as those above
 * them (DBL_MAX, a broken sensor), or any number of equal ones that lie TRIAL_APART_EQUAL times as far (a penalty), would leave
 * nothing of the differences between the others, and so would a single best value that lies TRIAL_APART times as far above.
 * Beyond the gap a bad value counts as three times as far off as those on this side, a good one as ten times.  (Where most have
 * converged, those that have not are neither few nor equal.)  One alone below wrong is TRIAL_APART times as far off. */
struct value_limits {
    double low, high, wrong;
};
static const double TRIAL_APART = 1e6, TRIAL_APART_FEW = 1e3, TRIAL_APART_EQUAL = 1e2;
/* values [len] are sorted.  The best quarter may lie as close together as it likes. */
struct value_limits value_limits(double *values, size_t len);

/* Limits of what all observed values are worth.  Errors: NO_MEMORY.  O(len log len). */
MUST_CHECK enum status trial_log_limits(const struct trial_log *log, struct arena *scratch, struct value_limits *out,
                                        struct error *err);

/* Whether no other trial that has, or may get, a result has the point at place.  O(len). */
bool trial_log_is_alone(const struct trial_log *log, size_t place);

/* Values above *above are in doubt, INFINITY: none is.  Once there are six values, a few (one, and a tenth of all, at most 32)
 * that lie more than ten times as far above the next as that lies above the lower quartile may be a narrow optimum or an error:
 * they are in doubt until two of them are of the same point.  *again: the first of them whose point no other trial has, len:
 * none.  Errors: NO_MEMORY.  O(len log len). */
MUST_CHECK enum status trial_log_doubts(const struct trial_log *log, struct arena *scratch, double *above,
                                        size_t *again, struct error *err);

/* Where the best observed trial stands, the first of equals; len when there is none. */
size_t trial_log_best(const struct trial_log *log);

/* y [n] -> mean 0 and variance 1: a value is (y spread + centre) unit, and no sum overflows.  Values that are all alike
 * become 0, with spread 1. */
struct value_scale {
    double unit, centre, spread;
};
struct value_scale values_standardise(double *y, size_t n);

/* points [*len][params_len] of the pending trials, by number.  Errors: NO_MEMORY. */
MUST_CHECK enum status trial_log_pending(const struct trial_log *log, struct arena *arena, const double **points,
                                         size_t *len, struct error *err);

static inline const double *trial_log_point(const struct trial_log *log, size_t i)
{
    return log->points + i * log->params_len;
}

#endif
