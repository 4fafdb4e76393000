/* The log: one line for each change. */
#ifndef GNOMON_SERVICE_APP_EVENT_LOG_H
#define GNOMON_SERVICE_APP_EVENT_LOG_H

#include "service/app/app.h"
#include "service/model/event.h"

/* Within a transaction: EVENT(.at_ms = ..., .kind = ..., .actor = ..., ...). */
MUST_CHECK enum status event_log(struct db_conn *conn, struct event_row event, struct error *err);

/* Which line the log ends with, and the hash that vouches for all of it. */
MUST_CHECK enum status event_head(struct app *app, struct event_head *out, struct error *err);

#endif
