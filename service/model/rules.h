/* The rules of a study, which may be edited at any time: no suggestion is made from them, but that the algorithm is told how
 * many trials are left. */
#ifndef GNOMON_SERVICE_MODEL_RULES_H
#define GNOMON_SERVICE_MODEL_RULES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct rules {
    int64_t     budget_trials, budget_seconds; /* 0: none */
    double      budget_cost;                   /* NaN: none */
    const char *cost_of;     /* the metric whose sum is the cost, or RULES_COST_SECONDS; NULL with budget_cost NaN */
    int64_t     parallelism; /* trials that run at once, at most; 0: any number */
    int64_t     lease_ms;
    bool        is_shareable; /* later studies may learn from it */
    double      better_than;  /* the study is done with a better feasible value; NaN: never */
    /* ... when so many trials ended without a better one, or failed; 0: never */
    int64_t no_improvement, failures;
    int64_t failures_in_a_row; /* ... or failed in a row; 0: as failures.h has it; RULES_NEVER: never */
    /* ... when worth_trials more are expected to gain less than this, or than this share of what was won; both NaN: never */
    double  worth_gain, worth_share;
    int64_t worth_trials;
};

#define RULES_COST_SECONDS "duration_seconds" /* how long the trials took, as their workers say */

enum { RULES_LEASE_MAX_SECONDS = 604800, RULES_LEASE_SECONDS = 3600, RULES_WORTH_TRIALS = 10, RULES_NEVER = -1 };
static inline struct rules rules_none(void)
{
    return (struct rules){.budget_cost = (double)NAN,
                          .lease_ms = RULES_LEASE_SECONDS * INT64_C(1000),
                          .is_shareable = true,
                          .better_than = (double)NAN,
                          .worth_gain = (double)NAN,
                          .worth_share = (double)NAN,
                          .worth_trials = RULES_WORTH_TRIALS};
}

/* Whether a rule asks for the expected gain of the next trial. */
static inline bool rules_ask_worth(const struct rules *rules)
{
    return !isnan(rules->worth_gain) || !isnan(rules->worth_share);
}

/* Counts of a study for its rules, as its row keeps them; times on the steady clock. */
struct tally {
    int64_t since_best;                  /* trials that ended since the best one */
    int64_t failures, failures_in_a_row; /* of runs */
    int64_t counted_from;                /* all of these since this revision, at which the study was last reopened */
    double  cost;
    int64_t used_ms;  /* how long the study was active from its first trial on, until... */
    int64_t since_ms; /* ... it became active last; 0: it is not active, or has no trial */
    /* When the study is completed, unless a trial is held: its time is up or a rule is met; 0: never, or not known. */
    int64_t ends_ms;
    int64_t ends_at_ms; /* when its time is up, by the wall clock as that stood when the study last changed; or 0 */
};

#endif
