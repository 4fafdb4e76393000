/* The algorithms that learn from earlier studies: what they share, and what a rule adds.
 * Each earlier study has a Gaussian process of its own (problem.earlier), and so has the study itself; the next point
 * maximises a combination of them.  Without earlier studies, and when none is of use, that is the study's own.
 * Sources: Dai, thesis, ch. 7; Feurer et al. 2018; Wistuba et al. 2018. */
#ifndef GNOMON_ENGINE_TRANSFER_H
#define GNOMON_ENGINE_TRANSFER_H

#include "engine/transfer/transfer_task.h"
#include "engine/policy/policy.h"
#include "engine/math/rng.h"

/* The first options of every such algorithm. */
// clang-format off
enum { TRANSFER_KERNEL, TRANSFER_LENGTH_SCALE, TRANSFER_VARIANCE, TRANSFER_NOISE, TRANSFER_MEAN, TRANSFER_UNITS, TRANSFER_INITIAL, TRANSFER_REPEAT,
       TRANSFER_OWN /* the algorithm's own begin here */ };
extern const char *const transfer_units[];
enum { TRANSFER_TOGETHER, TRANSFER_EACH };
#define TRANSFER_OPTIONS(units)                                                                                            \
    [TRANSFER_KERNEL] = {.name = "kernel", .kind = OPTION_CHOICE, KERNEL_CHOICES_ANY_UNITS,                                    \
                     .help = "covariance function of every study's model"},                                            \
    [TRANSFER_LENGTH_SCALE] = {.name = "length_scale", .kind = OPTION_REAL, .min = 1e-6, .max = 1e6, .fallback = NAN,      \
                           .help = "of all coordinates, in the unit cube or in units of the rows; estimated for each "  \
                                   "study when not given"},     \
    [TRANSFER_VARIANCE] = {.name = "signal_variance", .kind = OPTION_REAL, .min = 1e-100, .max = 1e100, .fallback = NAN,   \
                       .help = "of the functions, in units of the values squared; estimated when not given"},                                    \
    [TRANSFER_NOISE] = {.name = "noise_variance", .kind = OPTION_REAL, .min = 1e-100, .max = 1e100, .fallback = NAN,       \
                    .help = "of a value, in units of the values squared; estimated when not given"},                                             \
    [TRANSFER_MEAN] = {.name = "mean", .kind = OPTION_REAL, .min = -1e100, .max = 1e100, .fallback = 0,                    \
                   .help = "of the functions, when all three above are given; otherwise estimated"},                                             \
    [TRANSFER_UNITS] = {.name = "units", .kind = OPTION_CHOICE, .max = 1, .choices = transfer_units, .fallback = (units),      \
                    .help = "how values are standardised: together, so that levels count, or each study by its own "   \
                            "mean and spread"},                                                                        \
    [TRANSFER_INITIAL] = {.name = "initial", .kind = OPTION_INT, .min = 0, .max = 1000, .fallback = 0,                     \
                      .help = "trials before the models are asked (Sobol points, or random candidates)"},              \
    [TRANSFER_REPEAT] = {.name = "repeat", .kind = OPTION_BOOL, .max = 1, .help = POLICY_REPEAT_HELP}
// clang-format on

/* The data a rule sees when it is asked.  Task earlier_len is the study itself. */
struct transfer_view {
    const struct problem *problem;
    uint64_t              trial;
    size_t                len, observations;         /* earlier studies; values of the study itself */
    size_t                tried;                     /* trials that have a value, or may come to one */
    size_t                rounds;                    /* values of queries, after the initial ones */
    bool                  has_given;                 /* there are values beyond the initial ones that are of no query */
    struct transfer_task *task;                      /* [len] */
    struct transfer_task *target;                    /* n > 0, or there are no observations */
    const double         *y, *point_mean, *point_sd; /* [target->n] of the study's observations; [len][target->n] of
                                                        each task there: only when the rule wants them */
    double                seen, nu;                  /* in: of the last note; out: of this proposal */
    double               *sums, *gaps, *weights;     /* [len] in (sums) and out; gaps NaN where there is none */
    double               *factors, *widths, *bests;  /* [len + 1] out: what combine uses */
    bool                  draws;  /* out: maximise draws of the tasks with a factor instead of combine */
    bool                  plain;  /* out: the point is the one that is tried without models */
    bool                  leaves; /* out: the point is left to another algorithm */
    struct arena         *scratch;
};

/* Predictions of a point by the k active tasks (active[i] in the view's arrays), and the acquisition's derivatives in
 * them. */
struct transfer_parts {
    const size_t *active; /* [k] */
    size_t        k;
    const double *mean, *sd;   /* [k] */
    double       *dmean, *dsd; /* [k] out */
};

struct transfer_rule {
    const char *acquisition;
    bool        wants_points; /* y, point_mean and point_sd */
    bool        by_rank;      /* values of an earlier study stand as the normal scores of their ranks */
    bool        starts_as_gp; /* tried without models: gp's first points, behind the one that earlier studies have */
    /* Sets the outputs of the view.  A task with a factor under 1e-9 is left out. */
    enum status (*weigh)(struct transfer_view *view, struct error *err);
    /* The acquisition, in the units in which tasks are compared. */
    double (*combine)(const struct transfer_view *view, const struct transfer_parts *parts);
};

/* The functions of such a record, which has the rule beside them. */
enum status transfer_begin(struct session *s, struct error *err);
enum status transfer_tell(struct session *s, const struct event *event, struct error *err);
enum status transfer_ask(struct session *s, const struct ask *ask, struct proposal *out, struct error *err);
enum status transfer_predict(struct session *s, const struct prediction *wanted, struct error *err);
enum status transfer_residuals(struct session *s, const struct ask *ask, struct arena *arena, struct residual **out,
                               size_t *len, struct error *err);
bool        transfer_read_note(const void *note, size_t note_bytes, struct transfer_state *out);
bool        transfer_leaves(const struct session *s); /* what the last proposal's view said */
size_t      transfer_bytes_beside(const struct session *s);
void        transfer_end(struct session *s);
enum { TRANSFER_SESSION_BYTES = 1024 }; /* at least those of the session, whose struct the records do not know */
#define TRANSFER_POLICY                                                                                       \
    .spaces = SPACE_PARAMETERS | SPACE_CANDIDATES, .uses_each_row_once = true,                                \
    .session_bytes = TRANSFER_SESSION_BYTES, .kept_share = 4, .begin = transfer_begin, .tell = transfer_tell, \
    .ask = transfer_ask, .predict = transfer_predict, .residuals = transfer_residuals,                        \
    .read_transfer = transfer_read_note, .bytes_beside = transfer_bytes_beside, .end = transfer_end

#endif
