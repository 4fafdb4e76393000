/* The interface of an optimisation algorithm.  Clients read "algorithm" everywhere; in the code its record
 * is a policy, as in sequential decision making: short, and the word for nothing else.
 * One algorithm = one file with one const record + one line in engine/registry.c.
 *
 * Invariant: a session is a cache of a pure function of (problem, log).  session_open, then tell over the log, gives
 * bitwise the same proposals as a session that lived through it.  Randomness is rng_at(seed, trial, purpose).
 * What is costly to find again (fitted hyper-parameters) leaves with the proposal as its note and comes back with
 * the EVENT_SUGGESTED of that trial; a session never keeps a fit that no note records.
 * Values are signed so that larger is better; the service flips the sign of what is minimised; what is to lie in a band
 * (struct band) stays as it was measured.  The value of a
 * constraint is its slack: what is left to the bound (the nearer of two), feasible from 0 on. */
#ifndef GNOMON_ENGINE_POLICY_H
#define GNOMON_ENGINE_POLICY_H

#include "engine/base/arena.h"
#include "engine/space/space.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A parameter of an algorithm, as clients write it: {"name":"gp","acquisition":"ucb","beta":4}. */
enum option_kind { OPTION_REAL, OPTION_INT, OPTION_CHOICE, OPTION_BOOL };
struct option {
    const char        *name; /* NULL ends the list */
    enum option_kind   kind;
    double             min, max; /* inclusive; OPTION_BOOL: 0 and 1 */
    double             fallback; /* NaN: left to the algorithm ("estimated", ...), as help says */
    bool               required; /* there is no fallback: clients must say it */
    const char *const *choices;  /* OPTION_CHOICE: NULL-terminated; the value is the index */
    const char        *help;
    const char *(*choice_help)(size_t choice); /* OPTION_CHOICE: describes a choice; NULL: help does */
};

/* A row of the table: name, least, most, fallback, help. */
#define OPTION_NUMBER(text, least, most, otherwise, words)                                                         \
    {                                                                                                              \
        .name = (text), .kind = OPTION_REAL, .min = (least), .max = (most), .fallback = (otherwise), .help = words \
    }
#define OPTION_INTEGER(text, least, most, otherwise, words)                                                       \
    {                                                                                                             \
        .name = (text), .kind = OPTION_INT, .min = (least), .max = (most), .fallback = (otherwise), .help = words \
    }

/* A measured number of a trial.  At least one metric is an objective. */
enum metric_kind { METRIC_OBJECTIVE, METRIC_CONSTRAINT };
enum { METRICS_MAX = 8, OBJECTIVES_MAX = 4 };

/* Where an objective is to lie, in the metric's own units: a target has low == high.  Such values have no sign: the nearer to
 * the band the better. */
struct band {
    double low, high; /* finite, low <= high */
};
/* Minus the distance of a value, finite: 0 in the band, NaN for NaN. */
double band_worth(const struct band *band, double value);

/* Snapshot of an earlier study, for the algorithms that learn from such; it never changes. */
struct earlier_study {
    const char   *name;
    const double *points; /* [n][params_len] of the problem's space, natural units; what the study does not know
                             (space_lacks) is NaN in all of them; NULL on candidates */
    const size_t *rows;   /* [n] candidates */
    const double *values; /* [n] finite, larger is better */
    size_t        n;      /* > 0 */
};
enum { EARLIER_STUDIES_MAX = 256, EARLIER_VALUES_MAX = 500 /* of one study */ };

struct problem {
    const struct space *space;
    const double
            *options; /* [as many as policy->options], checked against the table, the fallback where none is given */
    uint64_t seed;
    size_t   memory_bytes;               /* limit of the session's arenas together */
    const enum metric_kind *metrics;     /* [metrics_len] */
    size_t                  metrics_len; /* 0 or 1: one objective */
    const double *thresholds; /* [metrics_len] of several objectives, the least that is of use; NaN: none; or NULL */
    const struct band *bands; /* [max(metrics_len, 1)] of objectives; low NaN: none; or NULL.  takes_bands */
    bool               is_minimized;     /* values have their sign flipped: for options in the metric's own units */
    const struct earlier_study *earlier; /* [earlier_len] studies; only an algorithm with read_transfer looks at them */
    size_t                      earlier_len;
};

/* The band of metric k; NULL: it has none. */
const struct band *problem_band(const struct problem *problem, size_t k);

/* A line of the study's log, as a policy sees it. */
enum event_kind {
    EVENT_SUGGESTED,  /* the trial exists and is running; also a point queued or reported by the user */
    EVENT_OBSERVED,   /* completed with a value */
    EVENT_INFEASIBLE, /* finished: permanently without a value */
    EVENT_FAILED,     /* finished: no value, by chance or for the point's sake */
    EVENT_ABANDONED,  /* given up */
    /* Only where the policy judges; to others a stopped trial is observed with a forecast (but see streams.h). */
    EVENT_MEASURED, /* the value after a step of a running trial */
    EVENT_STOPPED, /* finished early: its last measurement stands; where the policy does not judge nothing is known of it */
    EVENT_HANDED_OVER, /* another worker begins the running trial anew: what was measured of it is void */
    EVENT_RECEIVED     /* what others of the federation sent; only to algorithms with a message.  No trial */
};
enum { POLICY_NOTE_MAX = 16384, POLICY_NOTE_HEAD = 96, POLICY_NOTE_MARK = 8 };
struct event {
    enum event_kind kind;
    uint64_t        trial; /* number within the study, from 1 */
    const double   *point; /* [space_point_len] natural units, every kind of event; NULL on candidates */
    bool   is_given;       /* EVENT_SUGGESTED: a point that came with its result, unasked: no query of the algorithm */
    bool   is_outside;     /* EVENT_OBSERVED: the point is not of the space, but space_reaches it.  Nothing else is told
                                   of the trial.  The model learns from it; it is never the best.  takes_outside */
    bool   is_forecast;    /* EVENT_OBSERVED: nobody saw the value.  It is what a trial that was stopped would probably
                                   have come to, sd how far to trust it.  The model learns from it; it is never the best */
    size_t row;            /* candidates */
    double value;          /* EVENT_OBSERVED: finite, larger is better; the first objective's */
    double sd;             /* of value; 0: not given */
    const double *values;  /* EVENT_OBSERVED: [metrics_len] finite, then [metrics_len] standard deviations (0: not
                               given); may be NULL when there is one metric.  EVENT_MEASURED: the former alone.  Graph: the value at each site of the
                               point [space_point_len], NaN from the first on that was not measured */
    const void   *note;    /* EVENT_SUGGESTED: the proposal's note; EVENT_MEASURED: the verdict's; or NULL */
    size_t        note_bytes;
    size_t        step; /* EVENT_MEASURED: from 1, larger than before in the same trial */
    /* EVENT_RECEIVED, see fts.h */
    uint64_t      round, sender;
    const double *vectors; /* [vectors_len] finite */
    size_t        vectors_len;
};

/* The value after a step of a running trial, which its session has not been told yet. */
struct measurement {
    uint64_t      trial;
    size_t        step;   /* from 1 to the budget of epochs */
    double        value;  /* finite, larger is better */
    const double *values; /* [metrics_len] of several metrics; NULL: there is one */
};

/* Whether the trial shall stop here. */
struct verdict {
    bool          stop;
    const char   *reason;                /* stable, snake_case */
    size_t        next_step;             /* no earlier measurement can stop the trial; 0: none will */
    unsigned char note[POLICY_NOTE_MAX]; /* comes back with the EVENT_MEASURED */
    size_t        note_bytes;
};

/* How far a plan ahead came. */
struct plan_state {
    double nodes, gap; /* gap NaN: no bounds */
    size_t horizon;    /* stages; 0: there was no plan */
};

/* Gain in the best value that the next trial is expected to bring. */
struct gain {
    double expected; /* in the units of the first objective, >= 0; NaN: the model is not asked yet, or it cannot say */
    double trust;    /* what standard deviations were multiplied by, from the model's own residuals */
    size_t finished; /* how many trials had ended */
};

/* Whether a proposal follows what a federation released: its model is likelier than the one that does not. */
struct release_use {
    bool is_followed;
    double
        weight; /* probability of the former against the latter, > 0; 0: there was no release, or it guides no more */
};

/* The model of a proposal in numbers.  Lengths are in the unit cube (candidates: in the matrix's own units), variances in units
 * in which the modelled values have variance 1.  A value v, signed as values are, is modelled as
 *   y = (v / unit - centre) / spread,   z = (warp.centre - w) / warp.scale,
 *   w = c log(1 + t / c) for t = warp.top - y > 0, otherwise w = t
 * with prior mean 0.  Nothing is computed with these numbers but by clients, who can. */
struct diagnostics {
    const struct gain *gain; /* what a trial was expected to gain before this proposal; NULL: nobody asked */
    struct release_use release;
    const char        *acquisition;       /* as the option names it; NULL: not of a proposal */
    double             acquisition_value; /* at the point; of log-ei it is a logarithm */
    const char        *kernel;            /* as the option names it; NULL: no model, and all below is unset */
    double             signal_variance, noise_variance, jitter;
    struct {
        double unit, centre, spread; /* unit 0: the model's values are not made like this, or not from all of them */
        double top, c, warp_centre, warp_scale; /* of the warp; warp_scale 0: there is none, z = y */
    } values;
    size_t  doubted;       /* how many values count for nothing: .. */
    double  doubted_above; /* .. those above this one, .. */
    double  doubted_below; /* .. and below this one; infinite: none */
    double  drift, now;    /* what values grow by from trial to trial; the last one's time (gp_drift.h); 0: nothing */
    double  from;          /* the time of the trial before which they grew by drift, once and for all; 0: no step */
    double  condition;     /* a lower bound of the covariance matrix's condition number */
    double  fit_ms;        /* NaN: the hyper-parameters are those of an earlier fit, or there is no clock */
    double *length_scales; /* [params_len] (candidates: [1], graph: [dims]) storage by the caller */
    struct {               /* of a plan ahead */
        struct plan_state state;
        double            samples, samples_needed; /* a stage; needed for the epsilon that was asked for, or NaN */
        const char       *stopped;                 /* "finished", "deadline", "nodes", "gap" or "memory" */
    } plan;
};

struct ask {
    uint64_t      trial;  /* number the proposal will get: keys its randomness */
    const double *fixed;  /* [params_len], NaN where free; NULL: all free.  What is fixed exists: its parents are
                                  * fixed too; and space_hold has found a point with these values */
    bool (*late)(void *); /* polled between evaluations; true: return the best so far.  NULL: no deadline */
    void  *late_arg;
    double deadline_ms; /* how long late takes to become true; 0: nobody set a time.  A smaller model may be
                                        chosen by it, so that there is one in time */
    struct diagnostics *diagnostics; /* out; NULL: not wanted */
    double (*clock_ms)(void);        /* for fit_ms, and for what deadline_ms allows; NULL: no clock */
    uint64_t remaining; /* how many trials the budget still allows, this one included; 0: there is no budget */
    void (*notify)(void *, const struct plan_state *); /* how a long plan comes on, with late_arg; NULL: not wanted */
};

bool ask_is_late(const struct ask *ask); /* NULL: never */
/* Milliseconds since some moment; NaN without a clock. */
double ask_clock_ms(const struct ask *ask);

struct proposal {
    double       *point;        /* [space_point_len] out, storage by the caller */
    size_t        row;          /* out, candidates */
    const char   *fallback;     /* NULL, or why the model was not used: "numerical", "deadline", "memory" */
    size_t        observations; /* how many the model, or the distribution, saw */
    double        mean, sd;     /* posterior at the point (graph: of its sites' average), signed as values; of the first
                               objective; NaN without a model */
    double        sd_observed;  /* of a value measured there: noise included */
    unsigned char note[POLICY_NOTE_MAX + POLICY_NOTE_MARK]; /* of the algorithm POLICY_NOTE_MAX at most (streams.h) */
    size_t        note_bytes;
};

/* Clears all but the place where the point is to be written. */
void proposal_clear(struct proposal *out);
/* Why the model was not used, by how computing with it ended; NULL for OK. */
const char *proposal_fallback(enum status status);

/* Where the posterior is wanted, and its moments. */
struct prediction {
    const double *points; /* [m][params_len], or */
    const size_t *rows;   /* [m] on candidates */
    size_t        m;
    double       *mean, *sd;   /* [m] out; sd NULL: not wanted, which is much cheaper.  Beyond the rows of its model
                                   an algorithm may then know less of the mean, too */
    double       *sd_observed; /* [m] out, of a value measured there: noise included; with sd, or both NULL */
    bool          looks_near;  /* with sd: also at trials near a point that the model has left out (looks_near below) */
    struct diagnostics *diagnostics; /* out, but what is of a proposal alone; NULL: not wanted */
};

/* An observed trial, predicted by the model of all the others. */
struct residual {
    uint64_t trial;
    double   value, mean, sd;
    double   sd_observed; /* of the value: noise included */
    double   z;           /* (value - mean) / sd_observed, in the units in which the model is Gaussian */
    double   log_density; /* of the prediction at value, in the units of values */
};

/* How far an algorithm trusted each earlier study when it made a proposal. */
struct transfer_state {
    double nu;     /* share of all earlier studies together, in [0, 1]; the rest is the study's own */
    size_t rounds; /* values that the estimates were made from */
    size_t len;    /* earlier studies */
    double gaps[EARLIER_STUDIES_MAX];    /* estimated distance, in standardised units; NaN: not estimated */
    double weights[EARLIER_STUDIES_MAX]; /* >= 0; their sum is 1 unless all are 0 */
};

struct session;
struct policy {
    const char          *name;
    const char          *help;
    unsigned             spaces;             /* of enum space_kind */
    unsigned             several_metrics;    /* of enum space_kind: where it takes more than one metric */
    unsigned             takes_bands;        /* of enum space_kind: where objectives may have a band */
    bool                 uses_each_row_once; /* candidates: a row suggested or observed is not proposed again */
    bool                 plans_ahead;        /* a proposal may take minutes */
    bool                 only_draws;         /* there is no model: a proposal takes next to no time */
    bool                 is_local;           /* the model is of the last part of the values */
    bool                 looks_near;    /* on parameters: predict does, where it is asked to; slower by ms a point */
    bool                 takes_outside; /* parameters: values from outside the space are welcome to it */
    bool                 takes_context; /* parameters: some may be a context, which each ask then holds */
    const struct option *options;
    const void *rule; /* data of this record for functions that several records share, in its own folder; or NULL */
    /* Which algorithm proposes the trial of this number in the place of this one, and why, as half a sentence.  NULL: none does. */
    const struct policy *(*leave_to)(const struct space *, size_t metrics_len, uint64_t trial, const char **why);
    /* Beyond the option table: combinations.  NULL when there is nothing to check. */
    enum status (*check)(const struct problem *, struct error *);
    size_t session_bytes; /* of its struct session, which begins with a session_base */
    size_t kept_share;    /* the session may keep one in so many of the problem's memory_bytes; 0: all */
    bool   keeps_nothing; /* beside its struct session */
    /* Begins a session that is 0 beyond its base.  session.h closes one that fails. */
    enum status (*begin)(struct session *, struct error *);
    /* An event that fails (NO_MEMORY) leaves the session good for nothing but close. */
    enum status (*tell)(struct session *, const struct event *, struct error *);
    /* CONFLICT "search_space_exhausted" when nothing is left to propose; otherwise fails only for memory. */
    enum status (*ask)(struct session *, const struct ask *, struct proposal *, struct error *);
    /* The posterior; NULL when the algorithm has no model.  CONFLICT "no_observations" before the first value; NUMERIC
     * when the posterior is not finite.  Changes nothing that a later ask can see. */
    enum status (*predict)(struct session *, const struct prediction *, struct error *);
    /* Every observed trial in the model, *out [*len] in the arena, by trial number; NULL when the algorithm has none.
     * Errors and promise as predict, and BUSY "deadline" when ask, of which nothing else counts, is late; NULL: never. */
    enum status (*residuals)(struct session *, const struct ask *ask, struct arena *, struct residual **out,
                             size_t *len, struct error *);
    /* The expected gain of the next trial: a function of (problem, log) in which running trials do not count, except that
     * their points are not proposed again.  ask: its trial keys the search; when it is late nothing is known.  NULL: the
     * algorithm has no model of the whole space, or none is made for this.  Errors: NO_MEMORY.  Changes nothing that a later
     * ask can see. */
    enum status (*gain)(struct session *, const struct ask *, struct gain *out, struct error *);
    /* Which metric predict and residuals are of from now on (as values are signed; a constraint: its slack); at first
     * the first objective.  metrics_len: whether a trial has values at all, positive where it is likelier.  Nothing else
     * sees it.  False: no trial was infeasible, so that there is no such model.  NULL when the algorithm has a model of one
     * metric only. */
    bool (*show)(struct session *, size_t metric);
    /* Reads from a proposal's note how far earlier studies were trusted; false: it does not say.  NULL: the algorithm does
     * not learn from any and ignores problem.earlier. */
    bool (*read_transfer)(const void *note, size_t note_bytes, struct transfer_state *out);
    /* Images: which of the latent sizes a proposal was made in, by the first POLICY_NOTE_HEAD bytes of its note; false: it
     * does not say.  NULL: the algorithm has none. */
    bool (*read_latent)(const void *note, size_t note_bytes, size_t *size);
    /* The message that the agent sends to its federation in this round: vector is as long as the option "features" says.
     * NULL: the algorithm is not for federations.  CONFLICT "no_observations"; NUMERIC; NO_MEMORY.  Changes nothing. */
    enum status (*message)(struct session *, uint64_t round, double *vector, struct error *err);
    /* Whether a running trial shall stop, given all measurements told before and this one; NULL when the algorithm
     * never stops one.  A function of (problem, log, measurement) that changes nothing.  Errors: NO_MEMORY. */
    enum status (*judge)(struct session *, const struct measurement *, struct verdict *out, struct error *);
    size_t (*epochs)(const struct problem *); /* the largest step it accepts; NULL without judge */
    /* Memory beside that of the base: how much there is now, and giving it back.  NULL: there is none. */
    size_t (*bytes_beside)(const struct session *);
    void (*end)(struct session *);
};

/* CONFLICT "no_observations": what predict, residuals and message answer before the first value. */
enum status policy_no_values(struct error *err);
/* The option "repeat" of the algorithms that propose points of finite spaces. */
#define POLICY_REPEAT_HELP "parameters: the same point may be suggested again"
/* Takes in the point of an event; where points are without number only that of a result, as another may come again. */
struct used_points;
MUST_CHECK enum status policy_use_point(struct used_points *used, const struct event *event, struct error *err);
/* INVALID when the options cannot be together on this space: "repeat" on candidates, and what the policy's check refuses. */
MUST_CHECK enum status policy_check(const struct policy *policy, const struct problem *problem, struct error *err);
size_t                 policy_options_len(const struct policy *policy);
/* The options that nobody gives, into options [policy_options_len]. */
void policy_defaults(const struct policy *policy, double *options);
/* Sets the option of this name, if the policy has it. */
void policy_set(const struct policy *policy, double *options, const char *name, double value);
/* The index of an option in the policy's table, or -1. */
int policy_option(const struct policy *policy, const char *name);

#endif
