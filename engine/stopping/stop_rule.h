/* Rules that stop a running trial by comparing its curve with those of the others, whatever chooses the points.
 *   median  stop when the best value up to this step is worse than the median, over the completed trials, of their
 *           running means up to this step                                  Golovin et al. 2017, section 3.2.1
 *   asha    at the rungs min_epochs reduction^k below the budget, stop unless the value is among the best
 *           1/reduction of those that reached the rung so far (always one)   Li et al. 2020, by stopping
 * Knows nothing of policies; values are larger-is-better.  Ties do not stop. */
#ifndef GNOMON_ENGINE_STOP_RULE_H
#define GNOMON_ENGINE_STOP_RULE_H

#include "engine/stopping/curve.h"

/* OFF: nothing is measured.  NONE: measured, never stopped.  OWN: the policy judges. */
enum stop_rule_kind { STOP_RULE_OFF, STOP_RULE_NONE, STOP_RULE_MEDIAN, STOP_RULE_ASHA, STOP_RULE_OWN };

struct stop_rule {
    enum stop_rule_kind kind;
    size_t              epochs;     /* the budget: the last step */
    size_t              warm_up;    /* median: steps that never stop */
    size_t              min_trials; /* median: completed trials with a curve, before which it never stops; at least 1 */
    size_t              min_epochs; /* asha: the first rung, at least 1 */
    size_t              reduction;  /* asha: at least 2 */
};

/* Judges by NONE, MEDIAN or ASHA a measurement that the curves do not have yet; out->note_bytes is 0.
 * Errors: NO_MEMORY (scratch: a number per curve).  O(curves log steps). */
MUST_CHECK enum status stop_rule_judge(const struct stop_rule *rule, const struct curves *curves,
                                       const struct measurement *measurement, struct verdict *out,
                                       struct arena *scratch, struct error *err);

#endif
