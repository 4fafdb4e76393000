/* Studies that are agents of a federation on the same server: their owners trust it with the observations.
 * The session is that of any study; what others sent is a line "federation.received" of the study's own log, so that a
 * session that is opened anew is told the same in the same order. */
#ifndef GNOMON_SERVICE_STUDY_FEDERATION_HOST_H
#define GNOMON_SERVICE_STUDY_FEDERATION_HOST_H

#include "service/federation/federation.h"
#include "service/model/study.h"
#include "service/session/session.h"
#include "service/store/task.h"

/* Gives a new study, the task's, its seat, inside the transaction that creates it: options, seat and text of the specification are
 * those that the federation says.  INVALID "federation_not_found", "wrong_algorithm", "wrong_space",
 * "bad_combination"; CONFLICT "federation_full", "seat_taken". */
MUST_CHECK enum status federation_host(struct db_conn *conn, struct task *task, const struct study_new *new,
                                       const char **spec_text, struct error *err);

/* Before a proposal, with the session locked and caught up: sends for the open round, once, and takes the newest
 * broadcast into the study's log.  Waits for nobody.  A federation that is over or gone is no error. */
MUST_CHECK enum status federation_host_sync(struct app *app, struct caller *caller, const struct study *study,
                                            struct live *live, struct error *err);

#endif
