/* The clock that leases, the deadlines of rounds and the age of idempotency keys count on.  It begins as the wall clock
 * and then does not jump when that one is set: it is CLOCK_BOOTTIME and an offset, which the store keeps with the id of
 * the boot.  A new process on the same boot goes on exactly; after another boot the clock goes on from what was last
 * noted, by as much as the wall clock has moved since then (forward only).  It never goes back.
 * A server that takes a database over on another machine goes on the same way: by what the wall clocks of both say. */
#ifndef GNOMON_SERVICE_APP_STEADY_H
#define GNOMON_SERVICE_APP_STEADY_H

#include "service/app/app.h"

/* Loads the clock from the store or begins one.  boot: the id of the running boot; "" when it has none, which is taken
 * for another boot each time. */
MUST_CHECK enum status steady_start(struct app *app, const char *boot, struct error *err);
/* The id of the running boot, or "". */
void steady_read_boot(char *boot, size_t boot_bytes);

int64_t steady_ms(struct app *app); /* milliseconds; any thread */

/* The number to add to a time of steady_ms to show it on today's wall clock. */
int64_t steady_shift_ms(struct app *app);

/* For the next boot: notes both clocks in the store when the last note is old or the wall clock was set since.  Called by
 * the writer alone.  was_busy: transactions ran since the last call; an idle store writes nothing. */
MUST_CHECK enum status steady_note(struct app *app, struct db_conn *conn, bool was_busy, struct error *err);
#endif
