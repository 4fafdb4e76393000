/* A standby of the database, for what is only looked through.  A read is given one of its connections when it shows all that was
 * committed anywhere before the read began: the primary is asked how far it is, and the standby must have come as far, or come so
 * far at once.  A thread looks ten times a second whether it follows.  Private to db/. */
#ifndef GNOMON_DB_STANDBY_H
#define GNOMON_DB_STANDBY_H

#include "db/conn.h"

struct standby;
struct standby_call {
    enum status (*position)(void *arg, struct driver_position *out, struct error *err); /* of the primary */
    void *arg;
    void (*log)(const char *what, const struct error *why);
};
/* Starts a standby.  One that does not answer, is behind, or is no standby just now, is used once that is over.
 * Errors: CONFLICT "standby_of_another", NO_MEMORY. */
MUST_CHECK enum status standby_start(const struct driver *driver, const char *place, const struct standby_call *call,
                                     struct standby **out, struct error *err);
void                   standby_halt(struct standby *standby); /* no calls from now on */
void                   standby_free(struct standby *standby); /* NULL: nothing */

/* Runs a read transaction there.  False: it was not done, or not well; the primary is to be asked.  standby may be NULL. */
bool standby_read(struct standby *standby, db_fn fn, void *arg, enum status *status, struct error *err);
void standby_stats(struct standby *standby, struct db_standby *out); /* NULL: there is none */

#endif
