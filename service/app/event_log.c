/* See event_log.h. */
#include "service/app/event_log.h"

#include <stdio.h>

enum status event_log(struct db_conn *conn, struct event_row event, struct error *err)
{
    const struct event_row *from = &event;
    bool                    is_known = from->project != NULL && from->project[0] != '\0';
    char                    thing[24] = ""; // the detail begins with the id of a federation
    snprintf(thing, sizeof thing, "%.20s",
             from->study != NULL    ? from->study
             : from->detail != NULL ? from->detail
                                    : "");
    TRY(db_exec(conn, NULL, err, SQL_EVENT_ADD,
                BIND(INT(from->at_ms), TEXT(is_known ? from->project : NULL), TEXT(is_known ? NULL : thing),
                     EVENT_MEMBERS(SAVE))));
    if (from->trial == 0)
        return STATUS_OK;
    return db_exec(conn, NULL, err, SQL_TRIAL_CHANGE, BIND(TEXT(from->study), INT(from->trial), INT(from->at_ms)));
}
