/* A study as the service knows it, and what makes a new one. */
#ifndef GNOMON_SERVICE_MODEL_STUDY_H
#define GNOMON_SERVICE_MODEL_STUDY_H

#include "db/members.h"
#include "service/model/rules.h"
#include "service/model/spec.h"

enum study_state { STUDY_AWAITING_CANDIDATES, STUDY_ACTIVE, STUDY_PAUSED, STUDY_COMPLETED, STUDY_STATE_COUNT };
/* The words for states, NULL at the end. */
extern const char *const study_state_names[STUDY_STATE_COUNT + 1];

/* The reason of an imported study that awaits candidates again, and is paused once they are there. */
#define STUDY_WAS_PAUSED "paused"
/* The state of a study that nobody finds, because its import comes in parts, or it is being deleted. */
#define STUDY_HIDDEN_STATE "importing"

enum trial_state {
    TRIAL_QUEUED,
    TRIAL_RUNNING,
    TRIAL_COMPLETED,
    TRIAL_FAILED,
    TRIAL_INFEASIBLE,
    TRIAL_ABANDONED,
    TRIAL_STOPPED,   /* early, by a report; counts as finished, never as best */
    TRIAL_RETRACTED, /* its result does not count any more */
    TRIAL_STATE_COUNT
};
extern const char *const trial_state_names[TRIAL_STATE_COUNT + 1];

/* A worker's next step: it evaluates (the trial that it holds, or the one that it asks for now), asks again in so many
 * seconds, or leaves, since there will be nothing more. */
extern const char study_next_evaluate[], study_next_wait[], study_next_stop[];
struct next {
    const char *word;
    int64_t     seconds; /* of a wait; otherwise 0 */
};

struct study {
    char             id[24];
    const char      *project;
    const char      *reason; /* or NULL */
    enum study_state state;
    struct spec      spec;
    struct rules     rules;
    struct tally     tally;
    int64_t          revision;       /* length of the log */
    int64_t          version;        /* of what PATCH and the state changes edit: the ETag */
    int64_t          space_revision; /* the revision at which the space grew last; 0: it is as it was created */
    int64_t          trials[TRIAL_STATE_COUNT], trials_total;
    int64_t          imported;   /* completed, infeasible and stopped trials that the budget does not count */
    int64_t          best_trial; /* 0: none */
    double           best_value;
    const char      *sparkline; /* JSON, or NULL: none, or it was not asked for */
    const char      *failures;  /* likewise: failures.h */
    STUDY_SAID(DECLARE)         /* labels: a JSON object as text */
    STUDY_OWNED(DECLARE)        /* NULL: not known, or not for the caller */
    STUDY_KEPT(DECLARE)
};

struct study_new {
    const char  *spec_text, *rules_text; /* codec_spec_json as text, codec_rules_text */
    struct spec  spec;
    struct rules rules;
    STUDY_SAID(DECLARE) /* labels: canonical */
};

/* The number of trials that count against the budget; failed, abandoned and imported ones do not. */
int64_t study_spent(const struct study *study);
/* Refuses what the study's state does not allow.  CONFLICT: the code names the state ("awaiting_candidates", "study_active",
 * "study_paused", "study_completed", which comes with the reason). */
enum status study_refuse(const struct study *study, struct error *err);

#endif
