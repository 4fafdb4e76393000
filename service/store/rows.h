/* Rows of the store <-> the structs of the service, and the log.  Called inside a transaction. */
#ifndef GNOMON_SERVICE_STORE_ROWS_H
#define GNOMON_SERVICE_STORE_ROWS_H

#include "service/model/trial.h"
#include "service/store/task.h"

/* The place of a stored state among its names (NULL at the end).  INTERNAL "store_corrupt" when there is no such state:
 * what nobody knows is not taken for a state that allows more. */
MUST_CHECK enum status rows_state(const char *const *names, const char *stored, const char *what, int *state,
                                  struct error *err);
/* A study, but for its spec, which is all zero: spec_cache.h has it.  NOT_FOUND "study_not_found". */
MUST_CHECK enum status rows_study_get(struct db_conn *conn, const char *id, struct arena *arena, struct study *out,
                                      struct error *err);
/* The texts and bytes of a row are not copied: it was read into an arena. */
MUST_CHECK enum status rows_study(const struct row_study *from, struct arena *arena, struct study *out,
                                  struct error *err);
/* The spec alone of a study that exists. */
MUST_CHECK enum status rows_spec_get(struct db_conn *conn, const char *id, struct arena *arena, struct spec *out,
                                     struct error *err);
/* The bounds that follow from the study's baseline, as known at line `last` of the log; without a baseline nothing changes.
 * arena NULL: the specification has its own bounds from an earlier call, which are changed in place. */
MUST_CHECK enum status rows_baseline(struct db_conn *conn, const char *study, int64_t last, struct arena *arena,
                                     struct spec *spec, struct error *err);
MUST_CHECK enum status rows_trial(const struct row_trial *row, struct trial *out, struct error *err);
/* A trial of the task's study.  NOT_FOUND "trial_not_found". */
MUST_CHECK enum status rows_trial_get(struct db_conn *conn, const struct task *task, int64_t number, struct trial *out,
                                      struct error *err);
/* CONFLICT code: the trial is in a state that does not allow it. */
enum status rows_refuse(const struct trial *trial, const char *code, struct error *err);
/* CONFLICT "lease_lost" when the trial was handed on since.  lease 0: the client named none; is_needed: it must, once the
 * trial was taken over from another worker, and nobody can while it is to be tried again. */
MUST_CHECK enum status rows_check_lease(const struct trial *trial, int64_t lease, bool is_needed, struct error *err);
/* Makes room in the arena for an item more than len, by doubling; *items NULL: none yet.  False: no memory. */
bool rows_grow(struct arena *arena, void **items, size_t len, size_t *room, size_t item_bytes);
/* Every row of a query, into an array in its arena; closes the query. */
MUST_CHECK enum status rows_trials(struct db_rows rows, struct trial **out, size_t *len, struct error *err);

/* The trial's measurements, into trial->curve. */
MUST_CHECK enum status rows_curve(struct db_conn *conn, const struct task *task, struct trial *trial,
                                  struct error *err);

/* CONFLICT "row_taken" when the policy uses each row once and a trial has the row. */
MUST_CHECK enum status rows_check_row(struct db_conn *conn, const struct study *study, int64_t row, const char *path,
                                      struct error *err);

#endif
