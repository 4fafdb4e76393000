/* The other servers of a database: watched by a thread with a connection of its own, ten times a second.  What they wrote is
 * told soon after it; the writer finds it at once when it begins (db.c).  Private to db/. */
#ifndef GNOMON_DB_OTHERS_H
#define GNOMON_DB_OTHERS_H

#include "db/conn.h"

struct others;
/* Called by the thread. */
struct others_call {
    void (*fn)(void *arg); /* another server has written */
    void (*share)(void *arg, const struct db_wants *all,
                  struct db_wants *own); /* after each look; NULL: nothing is shared */
    void *arg;
};
MUST_CHECK enum status others_start(const struct driver *driver, const char *place, void *writer,
                                    const struct others_call *call, struct others **out, struct error *err);
void                   others_halt(struct others *others);            /* no calls from now on */
void                   others_free(struct others *others);            /* NULL: nothing */
bool                   others_is_fresh(const struct others *others);  /* NULL: it is */
int                    others_servers(const struct others *others);   /* this one included; NULL: 1 */
bool                   others_is_oldest(const struct others *others); /* NULL: it is */
int64_t                others_clock_ms(const struct others *others);  /* what the database's clock says now, not NULL */
const struct others   *db_others(const struct db *db);                /* NULL: there can be none */

#endif
