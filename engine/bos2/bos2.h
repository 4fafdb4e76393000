/* Types and functions that the files of BOS2 share: the study's trials as steps of loops, and the search within a loop.
 * BOS2 (Kharkovskii 2020, chapter 5) looks for a point of an image space in latent spaces of several sizes.  The
 * initial trials (loop 0) are random ones of three sizes.  Then a loop at a time: the dimension loop chooses a size
 * (Algorithm 6), the perturbation loop searches it (Algorithm 7) until it has used up its steps or is stopped.
 *   bos2_steps.c   which trial belongs to which loop, and what loops have come to
 *   bos2_size.c    the dimension loop
 *   bos2_search.c  the perturbation loop: decomposition, hyper-parameters, Add-GP-UCB
 *   policy_bos2.c  the record
 * All of it is found again from the log and the notes at each proposal.  Latent coordinates u are in [-1, 1]: parts of
 * the bound. */
#ifndef GNOMON_ENGINE_BOS2_H
#define GNOMON_ENGINE_BOS2_H

#include "engine/gp/additive.h"
#include "engine/space/image.h"
#include "engine/policy/policy.h"
#include "engine/policy/trial_log.h"

enum { BOS2_INITIAL_SIZES = 3, DECOMPOSITIONS_MAX = 100 };

struct bos2_settings {
    size_t initial, steps, warm_up, groups, decompositions;
    double sqrt_beta, margin;
    bool   stops;
};

/* The note of a proposal, but for the coordinates u of its size, which follow it. */
struct bos2_note {
    uint64_t first; /* number of the loop's first trial: keys the decompositions */
    double   goal;  /* what the loop is to come to, see policy_bos2.c; -infinity in loop 0 */
    double   theta[ADDITIVE_HYPER];
    uint32_t loop, size, decomposition, fitted; /* fitted: how many values theta was estimated from */
};

struct bos2_step {
    uint64_t         trial;
    bool             is_ours; /* with a note; otherwise a point of the user's */
    struct bos2_note note;
};

/* Parallel to log: steps[i] is of log.trials[i], whose point is u of every size, one after the other. */
struct bos2_log {
    const struct space *space;
    struct arena       *arena;
    struct trial_log    log;
    struct bos2_step   *steps;
    size_t              room;
    size_t              offset[SPACE_LATENTS_MAX + 1]; /* of each size in a point */
    double             *point;                         /* [offset[latents_len]] of the next event */
};

MUST_CHECK enum status bos2_log_init(struct bos2_log *log, const struct space *space, struct arena *arena,
                                     struct error *err);
MUST_CHECK enum status bos2_log_tell(struct bos2_log *log, const struct event *event, struct error *err);

struct image_shape bos2_shape(const struct space *space, size_t size);
/* How many numbers a note takes, and the image of u: point [space_point_len], within the bound exactly. */
static inline size_t bos2_dims(const struct bos2_log *log, size_t size)
{
    return log->offset[size + 1] - log->offset[size];
}
void bos2_image(const struct bos2_log *log, size_t size, const double *u, double *point);

/* The loop of the newest proposal. */
struct bos2_loop {
    bool             has_any;
    struct bos2_note note;   /* of the newest proposal */
    size_t           taken;  /* trials of the loop that are pending, observed or infeasible */
    double          *values; /* [observed] in the order in which they came */
    size_t           observed;
};
MUST_CHECK enum status bos2_loop_find(const struct bos2_log *log, struct bos2_loop *loop, struct arena *arena,
                                      struct error *err);

/* Which size the initial trial number k (from 0) is drawn in: the smallest, the one two thirds up, the largest. */
size_t bos2_initial_size(const struct space *space, size_t k, size_t initial);

/* The tuples of the dimension loop: best value of each initial size and of each loop so far, with its size and the
 * number of trials at its end.  out [log.len + BOS2_INITIAL_SIZES]; returns how many.  *trials: how many there are. */
struct bos2_tuple {
    uint32_t loop, size;
    double   trials, best;
};
size_t bos2_tuples(const struct bos2_log *log, size_t initial, struct bos2_tuple *out, size_t *trials);

/* The dimension loop: argmax over sizes d of mean(d, t + steps) + 2 sd(d, t + steps)        Algorithm 6
 * Gaussian process with a Matern 5/2 kernel over (side of the size, number of trials), its hyper-parameters by gp_fit.
 * The smallest size when nothing can be computed.  Errors: NO_MEMORY. */
MUST_CHECK enum status bos2_choose_size(const struct bos2_log *log, const struct bos2_settings *settings, size_t *size,
                                        struct arena *scratch, struct error *err);

/* Whether Bayesian optimal stopping leaves the loop.  Errors: NO_MEMORY.  About 10 ms for 40 steps. */
MUST_CHECK enum status bos2_is_stopped(const struct bos2_loop *loop, const struct bos2_settings *settings,
                                       uint64_t seed, bool *stopped, struct arena *scratch, struct error *err);

/* The perturbation loop's next point. */
struct bos2_search {
    const struct bos2_log      *log;
    const struct bos2_settings *settings;
    const struct ask           *ask;
    uint64_t                    seed;
    bool                        is_new;                /* the loop begins: note has first, loop, size and goal */
    struct bos2_note            note;                  /* in and out: decomposition, theta, fitted */
    double                     *u;                     /* [dims of the size] out */
    double                      mean, sd, sd_observed; /* out, in the units of values */
    size_t                      observations;
    double                      fit_ms; /* out; NaN: no fit, or no clock */
    struct arena               *scratch;
};
/* At least two trials are observed.  Errors: NO_MEMORY, NUMERIC, BUSY "deadline". */
MUST_CHECK enum status bos2_search_run(struct bos2_search *search, struct error *err);

#endif
