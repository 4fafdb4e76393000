/* The best trial.  Where values are exact it is the one with the best value.  Where they are noisy that one was lucky: the
 * best is then the feasible trial at which the model's posterior mean is best.
 * Values are noisy when one of them came with a standard deviation, or when two trials at the same point differ.  Nothing
 * that is fitted decides it: a model can take a rough function for noise. */
#ifndef GNOMON_SERVICE_STUDY_TRIAL_BEST_H
#define GNOMON_SERVICE_STUDY_TRIAL_BEST_H

#include "service/app/app.h"
#include "service/model/trial.h"

enum best_rule { BEST_AUTO, BEST_OBSERVED, BEST_MODEL };
extern const char *const best_rule_names[];

struct best_reply {
    struct study   study;
    struct trial   trial;                         /* number 0: there is none */
    int64_t        observed;                      /* the trial with the best value; 0: none */
    enum best_rule rule;                          /* which chose: OBSERVED or MODEL */
    const char    *noisy;                         /* "stddev", "repeats", or NULL: exact, or nobody looked */
    double         mean, stddev, stddev_observed; /* of the model at the trial; NaN: it was not asked */
};
/* AUTO: by the model when values are noisy and it has one of all values, otherwise as observed.  MODEL: CONFLICT
 * "no_model", "no_observations" when it cannot be.  Of several objectives there is none. */
MUST_CHECK enum status trial_best_by(struct app *app, struct caller *caller, const char *study, enum best_rule rule,
                                     struct best_reply *out, struct error *err);

#endif
