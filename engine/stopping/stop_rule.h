/* Rules that stop a running trial by comparing its curve with those of the others, whatever chooses the points.
 *   median      stop when the best value up to this step is worse than the median, over the completed trials, of their
 *               running means up to this step                                  Golovin et al. 2017, section 3.2.1
 *   percentile  the same with another percentile
 *   patience    stop when the value has not become better for so many steps, and a completed trial came to a better one
 *   asha        at the rungs min_epochs reduction^k below the budget, stop unless the value is among the best
 *               1/reduction of those that reached the rung so far (always one)   Li et al. 2020, by stopping
 *   hyperband   asha with brackets: each trial begins at another of the rungs, or has none, and is compared with those of
 *               its bracket; how many are in each is as in Li et al. 2018
 *
 * The guard.  Some trials are whole from their proposal on: whatever the rule would say of them, they run to the end.  Of all
 * epochs they get a share between GUARD_LEAST and GUARD_MOST, which grows with how many of the best four completed trials
 * are whole, the best of which weighs most (of several objectives, of those that no other one dominates): where
 * the rule lets the wrong trials live, these are, and where it is right it soon has better ones.  Nothing else is learnt
 * from early values, so that it does not matter whether they say anything of the end.
 *
 * Resuming.  Who keeps what a stopped trial had come to may go on with it later (Li et al. 2020, Algorithm 2): rungs
 * fill up, and what was not among the best 1/reduction of a few may be among those of many.  Of equal values those that
 * went on already are ahead, or all of them would go on.
 *
 * Several metrics.  asha, hyperband, median and percentile compare by rank.h: a trial goes on that is among the best
 * 1/reduction of its rung, or is not behind so many as the percentile says of the completed trials.  A constraint is kept
 * where what was measured of it will probably come to that (curves_line).  patience knows one metric, and so does OWN.
 *
 * Knows nothing of policies; values are larger-is-better.  Ties do not stop. */
#ifndef GNOMON_ENGINE_STOP_RULE_H
#define GNOMON_ENGINE_STOP_RULE_H

#include "engine/stopping/curve.h"

#define GUARD_LEAST 0.3 /* of the epochs, whatever was seen */
#define GUARD_MOST  0.8

/* OFF: nothing is measured.  NONE: measured, never stopped.  OWN: the policy judges. */
enum stop_rule_kind {
    STOP_RULE_OFF,
    STOP_RULE_NONE,
    STOP_RULE_MEDIAN,
    STOP_RULE_ASHA,
    STOP_RULE_OWN,
    STOP_RULE_PERCENTILE,
    STOP_RULE_PATIENCE,
    STOP_RULE_HYPERBAND
};

struct stop_rule {
    enum stop_rule_kind kind;
    size_t              epochs;     /* the budget: the last step */
    size_t              warm_up;    /* median, percentile: steps that never stop */
    size_t              min_trials; /* these two: completed trials with a curve, before which it never stops; from 1 */
    size_t              percentile; /* values worse than this percentile of the others are stopped; below 100 */
    size_t              patience;   /* at least 1 */
    size_t              min_epochs; /* asha, hyperband: the first rung, at least 1 */
    size_t              reduction;  /* these two: at least 2 */
    bool                guard;
    bool                resumes; /* asha, hyperband: whoever hands out trials asks stop_rule_resume first */
};

/* Whether the kind compares trials by several metrics. */
bool stop_rule_takes_several(enum stop_rule_kind kind);

/* Judges by any kind but OFF and OWN a measurement that the curves do not have yet.  One of a whole trial is not
 * judged; out has no note.  Errors: NO_MEMORY (scratch: some numbers per curve).  O(curves log curves), of several metrics
 * O(curves^2). */
MUST_CHECK enum status stop_rule_judge(const struct stop_rule *rule, const struct curves *curves,
                                       const struct measurement *measurement, struct verdict *out,
                                       struct arena *scratch, struct error *err);

/* Whether the guard makes the trial that is proposed next a whole one.  O(curves), of several metrics O(curves^2). */
bool stop_rule_is_due(const struct stop_rule *rule, const struct curves *curves);

/* asha, hyperband: *out is the stopped trial to go on with now, behind the last of its steps, or NULL: begin a new one, as with
 * every other kind.  It is that of the highest rung; there, the best, then the one with the smallest number.  Once the
 * curves are told that it runs again (EVENT_SUGGESTED), it is judged at the next rung.  Those with other ends count as
 * having gone on.  Errors: NO_MEMORY (scratch, of several metrics alone).  Cost with r rungs: asha O(r curves log steps), of
 * several metrics O(r curves^2); hyperband r times that. */
MUST_CHECK enum status stop_rule_resume(const struct stop_rule *rule, const struct curves *curves,
                                        const struct curve **out, struct arena *scratch, struct error *err);

#endif
