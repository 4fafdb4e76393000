/* The transactions of use cases: the one place where an idempotency key is honoured. */
#ifndef GNOMON_SERVICE_APP_APP_TRANSACT_H
#define GNOMON_SERVICE_APP_APP_TRANSACT_H

#include "service/app/app.h"

/* The transaction of a use case: looks the idempotency key up, runs fn, records the reply.
 * When caller->idempotency.replayed is set on return, fn did not run. */
MUST_CHECK enum status app_transact(struct app *app, struct caller *caller, db_fn fn, void *arg, struct error *err);

/* The owner whose turn of the writer a caller's transactions take. */
struct db_owner app_owner(const struct caller *caller);

/* Several use cases in one transaction, as db_transact_all runs them. */
struct app_work {
    struct app    *app; /* set here */
    struct caller *caller;
    db_fn          fn;
    void          *arg;
    struct error  *err;
    enum status    status; /* out */
};
void app_transact_all(struct app *app, struct app_work *all, size_t len);

/* Only the look-up of app_transact, for use cases that compute before they write. */
MUST_CHECK enum status app_replay(struct app *app, struct caller *caller, struct error *err);

/* Behind the deletion of a study, a federation or a game, in the same transaction: what was said of it elsewhere goes, too,
 * the words in the log and the replies that are kept for repeats.  Call db_scrub when it is committed. */
MUST_CHECK enum status app_erase(struct db_conn *conn, const char *id, struct error *err);

/* fn is called soon after each commit, and must not wait; NULL: no function. */
void app_on_commit(struct app *app, void (*fn)(void *arg), void *arg);

/* The application's upkeep of the store between transactions: see db_set_upkeep.  arg: the app. */
MUST_CHECK enum status app_upkeep(struct db_conn *conn, void *arg, bool was_busy, bool *more, struct error *err);

#endif
