/* Explains a trial's place: the program's knowledge and reasons when the trial was suggested. */
#ifndef GNOMON_SERVICE_STUDY_EXPLAIN_H
#define GNOMON_SERVICE_STUDY_EXPLAIN_H

#include "service/app/app.h"
#include "service/model/trial.h"
#include "service/session/transfer_snapshot.h"

enum { EXPLAIN_NEAREST = 5, EXPLAIN_PENDING = 20 };

/* GIVEN: by a user.  DRAWN: by an algorithm without a model.  INITIAL: before the model was asked.  FALLBACK: it was, and
 * could not answer. */
enum explain_stage { EXPLAIN_GIVEN, EXPLAIN_DRAWN, EXPLAIN_INITIAL, EXPLAIN_MODEL, EXPLAIN_FALLBACK };
extern const char *const explain_stage_names[];

/* A value that was there then. */
struct explain_neighbour {
    int64_t trial;
    double  distance;    /* over the length-scales of the model, or without one in the unit cube */
    double  correlation; /* of the function there with that here, before any value was seen; NaN without a model */
    double  value;       /* of the first objective */
};
struct explanation {
    struct study             study;
    struct trial             trial;
    enum explain_stage       stage;
    struct diagnostics       model; /* kernel NULL: none */
    const double            *fixed; /* [params_len] NaN where free; or NULL */
    int64_t                  observations, best_trial;
    double                   best_value; /* of the feasible ones, of the first objective; NaN without */
    struct explain_neighbour nearest[EXPLAIN_NEAREST];
    size_t                   nearest_len;
    int64_t                  pending[EXPLAIN_PENDING]; /* the last of them */
    int64_t                  pending_count, broadcasts;
    struct transfer_sources  earlier;  /* len 0: none */
    struct transfer_state   *transfer; /* what the suggestion thought of them, or NULL */
    const char              *sentence;
};
/* NOT_FOUND "trial_not_found". */
MUST_CHECK enum status trial_explain(struct app *app, struct caller *caller, const char *study, int64_t number,
                                     struct explanation *out, struct error *err);

#endif
