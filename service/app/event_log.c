/* See event_log.h. */
#include "service/app/event_log.h"

enum status event_log(struct db_conn *conn, struct event_row event, struct error *err)
{
    const struct event_row *from = &event;
    return db_exec(conn, NULL, err, SQL_EVENT_ADD, BIND(INT(from->at_ms), EVENT_MEMBERS(SAVE)));
}
