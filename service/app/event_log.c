/* See event_log.h. */
#include "service/app/event_log.h"

enum status event_log(struct db_conn *conn, struct event_row event, struct error *err)
{
    const struct event_row *from = &event;
    TRY(db_exec(conn, NULL, err, SQL_EVENT_ADD, BIND(INT(from->at_ms), EVENT_MEMBERS(SAVE))));
    if (from->trial == 0)
        return STATUS_OK;
    return db_exec(conn, NULL, err, SQL_TRIAL_CHANGE, BIND(TEXT(from->study), INT(from->trial), INT(from->at_ms)));
}
