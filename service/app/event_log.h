/* The log: one line for each change. */
#ifndef GNOMON_SERVICE_APP_EVENT_LOG_H
#define GNOMON_SERVICE_APP_EVENT_LOG_H

#include "service/app/app.h"
#include "service/model/event.h"

/* Within a transaction: EVENT(.at_ms = ..., .kind = ..., .actor = ..., ...). */
MUST_CHECK enum status event_log(struct db_conn *conn, struct event_row event, struct error *err);

/* Lines of a deleted study or game count against its project's bytes, EVENT_LINE_BYTES each, from when its row goes, with which its
 * own bytes go (event_log_stay), until they go (event_log_go, which drops them).  Their number is the detail of the last one, which
 * event_log_leave logs. */
enum { EVENT_LINE_BYTES = 110 };
MUST_CHECK enum status event_log_leave(struct db_conn *conn, struct event_row deleted, struct error *err);
MUST_CHECK enum status event_log_stay(struct db_conn *conn, const char *study, struct error *err);
MUST_CHECK enum status event_log_go(struct db_conn *conn, int64_t first, int64_t last, struct error *err);

/* Which line the log ends with, and the hash that vouches for all of it. */
MUST_CHECK enum status event_head(struct app *app, struct event_head *out, struct error *err);

#endif
