/* Broadcasts and messages to an agent of a federation, as its session is told them. */
#ifndef GNOMON_SERVICE_SESSION_RECEIVED_H
#define GNOMON_SERVICE_SESSION_RECEIVED_H

#include "db/db.h"
#include "service/session/live.h"

/* Tells the session the broadcast that a line of the log names: detail is "<federation> <round>". */
MUST_CHECK enum status received_tell(struct db_conn *conn, struct live *live, const char *detail, struct error *err);

#endif
