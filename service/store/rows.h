/* Rows of the store <-> the structs of the service, and the log.  Called inside a transaction. */
#ifndef GNOMON_SERVICE_STORE_ROWS_H
#define GNOMON_SERVICE_STORE_ROWS_H

#include "db/db.h"
#include "service/app/app.h"
#include "service/model/trial.h"

/* The place of a stored state among its names (NULL at the end).  INTERNAL "store_corrupt" when there is no such state:
 * what nobody knows is not taken for a state that allows more. */
MUST_CHECK enum status rows_state(const char *const *names, const char *stored, const char *what, int *state,
                                  struct error *err);
/* One study, but for its spec, which is all zero: spec_cache.h has it.  NOT_FOUND "study_not_found". */
MUST_CHECK enum status rows_study_get(struct db_conn *conn, const char *id, struct arena *arena, struct study *out,
                                      struct error *err);
/* What a row points to is not copied: it was read into an arena. */
MUST_CHECK enum status rows_study(const struct row_study *row, struct study *out, struct error *err);
/* The spec alone, of a study that is there. */
MUST_CHECK enum status rows_spec_get(struct db_conn *conn, const char *id, struct arena *arena, struct spec *out,
                                     struct error *err);
MUST_CHECK enum status rows_trial(const struct row_trial *row, struct trial *out, struct error *err);
/* NOT_FOUND "trial_not_found". */
MUST_CHECK enum status rows_trial_get(struct db_conn *conn, const char *study, int64_t number, struct arena *arena,
                                      struct trial *out, struct error *err);
/* CONFLICT "lease_lost" when the trial was handed on since.  lease 0: the client named none; is_needed: it must, once the
 * trial was taken over from another worker, and nobody can while it is to be tried again. */
MUST_CHECK enum status rows_check_lease(const struct trial *trial, int64_t lease, bool is_needed, struct error *err);
/* Every row of a query, into an array in its arena; closes the query. */
MUST_CHECK enum status rows_trials(struct db_rows rows, struct trial **out, size_t *len, struct error *err);

/* A trial that is not there yet. */
struct new_trial {
    const struct trial *trial;
    const double       *fixed; /* [params_len] the values it was to have, NaN where free; or NULL */
    const void         *note;  /* of the policy, or NULL */
    size_t              note_bytes;
};
/* Writes it and counts it.  This is the last look at a point that stays for good, whoever made it: INTERNAL
 * "impossible_point", logged and counted, when it does not lie in the study's space or has not what was fixed. */
MUST_CHECK enum status rows_trial_add(struct db_conn *conn, struct app *app, struct study *study,
                                      const struct new_trial *new, struct error *err);
/* That error. */
enum status rows_impossible(struct app *app, const struct study *study, const struct trial *trial, struct error *err);

/* How a trial ends: what is said of it, and all its values [value_bytes] where item has them. */
struct trial_end {
    const struct observation *item;
    enum trial_state          state;
    size_t                    value_bytes;
    bool                      is_feasible;
    int64_t                   at_ms;
};
MUST_CHECK enum status rows_trial_finish(struct db_conn *conn, const char *study, int64_t trial,
                                         const struct trial_end *end, struct error *err);

/* The trial's measurements, into trial->curve. */
MUST_CHECK enum status rows_curve(struct db_conn *conn, const char *study, struct arena *arena, struct trial *trial,
                                  struct error *err);

/* CONFLICT "row_taken" when the policy uses each row once and a trial has this one. */
MUST_CHECK enum status rows_check_row(struct db_conn *conn, const struct study *study, int64_t row, const char *path,
                                      struct error *err);

/* One change of a study: the next revision, and its line in the log.  trial 0: none.  detail may be NULL. */
struct change {
    const char *kind, *actor, *detail;
    int64_t     trial, at_ms;
};
MUST_CHECK enum status rows_log(struct db_conn *conn, struct study *study, const struct change *change,
                                struct error *err);
/* Moves a trial between the study's counters; from TRIAL_STATE_COUNT: a new trial. */
void rows_count(struct study *study, enum trial_state from, enum trial_state to);
/* How many more trials the budget allows; failed and abandoned ones do not count. */
int64_t rows_allowance(const struct study *study);
/* An active study whose budget of trials is spent, and of which none is open, is completed. */
MUST_CHECK enum status rows_complete_if_spent(struct db_conn *conn, struct study *study, const char *actor,
                                              int64_t now_ms, struct error *err);
/* Writes revision and counters back: once, at the end of a transaction that used rows_log. */
MUST_CHECK enum status rows_study_save(struct db_conn *conn, const struct study *study, int64_t at_ms,
                                       struct error *err);

#endif
