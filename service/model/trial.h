/* A trial, the report of an observation, and the choice of a trial. */
#ifndef GNOMON_SERVICE_MODEL_TRIAL_H
#define GNOMON_SERVICE_MODEL_TRIAL_H

#include "service/model/study.h"

#include <math.h>

struct curve_point {
    int64_t       step, at_ms;
    double        value;  /* of the first objective */
    const double *values; /* [spec metrics_len] of several metrics; NULL: there is one */
};

/* Members that clients set with a result: db/members.h. */
struct trial_told {
    TRIAL_TOLD(DECLARE)
};
/* Further members, for people: db/members.h. */
struct trial_annotations {
    TRIAL_ANNOTATIONS(DECLARE) /* labels, metadata, artifacts: JSON texts, NULL for none */
};

struct trial {
    int64_t          number; /* from 1, without gaps */
    enum trial_state state;
    const double    *point;  /* [space_point_len] or NULL */
    int64_t          row;    /* candidates; -1 */
    const char      *worker; /* "" when none */
    union {                  /* value and stddev are of the first objective */
        struct trial_told told;
        struct {
            TRIAL_TOLD(DECLARE)
        };
    };
    int64_t                   lease_ms; /* steady_ms() at which the lease ends; 0: none */
    int64_t                   lease;  /* its id: how many the trial has had, one for each worker in turn; 0: none yet */
    const char               *holder; /* whose the last lease is or was */
    bool                      is_taken_over; /* a lease of it ran out, and another worker got it */
    const double             *values;        /* of all metrics, as spec_is_feasible has them (graph: of the
                                                       sites, NaN where not measured), or NULL */
    int64_t                   created_ms, finished_ms;
    int64_t                   started_ms;   /* its present or last lease began; 0: it has had none */
    int64_t                   ended;        /* the revision whose line in the log brought its result; 0: none has */
    int64_t                   corrected_ms; /* its result was last corrected or retracted; 0: never */
    bool                      is_imported;
    struct trial_annotations  said;
    const struct curve_point *curve; /* [curve_len] reported while it ran, if asked for; or NULL */
    size_t                    curve_len;
    struct { /* how the point was chosen; algorithm is NULL for a point of the user's */
        const char *algorithm, *fallback;
        int64_t     revision, observations;
        double      mean, stddev, stddev_observed; /* the metric's own sign; NaN without a model */
        double      compute_ms;
        const char *diagnostics; /* JSON as codec_diagnostics makes it; NULL without a model */
    } model;
};

struct trial_page {
    struct trial *trials;
    size_t        len;
    const char   *next_cursor;
};

/* How many points go into one request or reply: 1000, or fewer of large images. */
static inline size_t trial_points_max(const struct space *space)
{
    enum { NUMBERS_MAX = 1 << 20, POINTS_MAX = 1000 };
    size_t len = space_point_len(space), most = len == 0 ? POINTS_MAX : NUMBERS_MAX / len;
    return most < POINTS_MAX ? most : POINTS_MAX;
}

/* The last four are of imports only. */
enum outcome {
    OUTCOME_VALUE,
    OUTCOME_FAILED,
    OUTCOME_INFEASIBLE,
    OUTCOME_STOPPED,
    OUTCOME_ABANDONED,
    OUTCOME_RETRACTED,
    OUTCOME_QUEUED /* no outcome yet: the trial is to be tried here */
};
/* Converts a trial's state to the outcome it is imported with; false: there is no such state. */
bool outcome_of_state(const char *state, enum outcome *out);

enum { TRIAL_WORKER_MAX = 128 }; /* characters */
struct observation {
    const struct error
                 *unread; /* why it cannot be read, so that nothing else of it counts; path: relative to it.  Or NULL */
    size_t        unread_len;
    int64_t       trial; /* 0: by point or by candidate */
    int64_t       lease; /* under which the trial was held; 0: not said */
    const double *point; /* or NULL */
    int64_t       row;   /* or -1 */
    enum outcome  outcome;
    union { /* value and stddev are of the first objective */
        struct trial_told told;
        struct {
            TRIAL_TOLD(DECLARE)
        };
    };
    const double *values; /* several metrics, or a graph: of all, as in struct trial; otherwise NULL */
    const char *said; /* a JSON merge patch of what is said of the trial (service/codec/codec_annotations.h); or NULL */
    size_t      line; /* of the CSV file it came from, for its errors */
    /* Known only of a trial that an import brings. */
    int64_t                   number; /* in the study it comes from; 0 */
    const char               *worker; /* or NULL */
    const struct curve_point *curve;  /* [curve_len] steps ascending */
    size_t                    curve_len;
};

/* A trial, and an observation, without a point or any member set. */
struct trial       trial_none(void);
struct observation observation_none(void);
/* Empties an unreadable item, but for `why` [n]; *len counts the reasons of all items, of which as many as a reply lists are kept. */
enum { OBSERVATIONS_UNREAD_MAX = 100 };
MUST_CHECK enum status observation_keep_unread(struct observation *item, size_t *len, const struct error *why, size_t n,
                                               struct arena *arena, struct error *err);

/* A trial, and the lease under which its worker holds it (0: not said; then it must never have been taken over). */
struct held_trial {
    int64_t number, lease;
};

#endif
