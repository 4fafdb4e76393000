/* Results of trials: a batch is taken whole or not at all. */
#ifndef GNOMON_SERVICE_STUDY_OBSERVE_H
#define GNOMON_SERVICE_STUDY_OBSERVE_H

#include "service/app/app.h"
#include "service/model/trial.h"
#include "service/store/task.h"

struct item_error {
    size_t       item;
    struct error error;
};
struct observe_reply {
    int64_t            accepted, duplicates, revision, best_trial;
    int64_t            queued, skipped; /* of an import: accepted to be tried; left out */
    double             best_value;
    struct next        next;
    struct item_error *errors; /* of a refused batch, in the arena; error.path is relative to the item */
    size_t             errors_len;
};
struct observe_request {
    const struct observation *items;
    size_t                    len;
    bool                      in_batch;
};
/* All or nothing.  On refusal the first error is in err (path "/observations/<i>/..." when in_batch) and every one
 * (up to 100) in out->errors.  Errors: NOT_FOUND "trial_not_found", CONFLICT "trial_finished",
 * "lease_lost", "external_id_conflict", INVALID "private_study", ... */
MUST_CHECK enum status trial_observe(struct app *app, struct caller *caller, const char *study,
                                     const struct observe_request *request, struct observe_reply *out,
                                     struct error *err);

/* Within a transaction, of a study that has no session yet, and whose log says where an import is from. */
MUST_CHECK enum status trial_observe_in(struct db_conn *conn, const struct task *task,
                                        const struct observe_request *request, struct observe_reply *out,
                                        struct error *err);

/* Whether the trial has this result already. */
bool trial_has_result(const struct spec *spec, const struct trial *trial, const struct observation *item);

#endif
