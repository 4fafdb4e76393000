/* The part of a session that is over a candidate matrix, shared by the algorithms that model it with a Gaussian process.
 * It keeps the log, the rows in use, the hyper-parameters and the posterior; an algorithm adds a rule.
 *
 * Hyper-parameters that the rule leaves open are fitted on the observed rows when the study has 5, 10, 20, ... 320
 * observations (the proposal at or after that count carries the fit as its note, and it holds from the
 * EVENT_SUGGESTED with that note on); before the first fit: length-scale sqrt(columns) times the root mean square
 * deviation of a column, signal variance 1 and noise variance 0.01 in units of the observed variance.  Values are
 * standardised when neither mean nor variance is given.  A value's own sd is not used. */
#ifndef GNOMON_ENGINE_ROW_POLICY_H
#define GNOMON_ENGINE_ROW_POLICY_H

#include "engine/gp/kernel.h"
#include "engine/policy/session.h"

/* The data that a rule may use when it scores rows. */
struct row_policy_view {
    const struct problem *problem;
    size_t                observations;
    double                best;  /* largest posterior mean at an observed row; NaN without observations */
    uint64_t              trial; /* keys the randomness of a rule that needs some */
    size_t                first; /* the scored rows are first .. first + m - 1 */
};

struct row_policy_rule {
    const struct kernel_kind *kind;
    double      length_scale, variance, noise, mean; /* NaN: estimated; noise: a variance, units of values */
    double      release_noise; /* s^2 per coordinate of the rows themselves, SE kernel only; 0: none */
    size_t      release_dims;  /* p of mechanism_effective_kernel; the hyper-parameters are the function's own */
    double      release_bound; /* of every coordinate before the noise; INFINITY: not known */
    unsigned    release_shape; /* enum denoise_shape */
    bool        denoises;      /* rows are put where they probably were: see denoise.h */
    bool        spreads;       /* rows lie around their places as the space says; SE kernel only */
    size_t      initial;       /* random rows before the model is asked; at least until one is observed */
    bool        each_row_once; /* a row suggested or observed is out; otherwise only an infeasible one is */
    const char *acquisition;   /* what score computes, as the option names it */
    /* Scores m rows, higher is better; mean and sd [m] in the units of values, sd with the pending rows. */
    void (*score)(const struct row_policy_view *view, size_t m, const double *mean, const double *sd, double *score);
};

struct row_policy;

/* As the functions of struct policy, in what base keeps; the rule is copied.  Ties go to the lowest row. */
MUST_CHECK enum status row_policy_open(struct session_base *base, const struct row_policy_rule *rule,
                                       struct row_policy **out, struct error *err);
MUST_CHECK enum status row_policy_tell(struct row_policy *c, const struct event *event, struct error *err);
MUST_CHECK enum status row_policy_ask(struct row_policy *c, const struct ask *ask, struct proposal *out,
                                      struct error *err);
MUST_CHECK enum status row_policy_predict(struct row_policy *c, const struct prediction *wanted, struct error *err);
MUST_CHECK enum status row_policy_residuals(struct row_policy *c, const struct ask *ask, struct arena *arena,
                                            struct residual **out, size_t *len, struct error *err);

#endif
