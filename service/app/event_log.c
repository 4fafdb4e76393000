/* See event_log.h. */
#include "service/app/event_log.h"

#include "db/chain.h"
#include "service/base/digest.h"
#include "service/base/random.h"

#include <stdio.h>

enum status event_log(struct db_conn *conn, struct event_row event, struct error *err)
{
    const struct event_row *from = &event;
    unsigned char           salt[CHAIN_SALT_BYTES];
    bool                    is_known = from->project != NULL && from->project[0] != '\0';
    char                    thing[24] = ""; // the detail begins with the id of a federation
    snprintf(thing, sizeof thing, "%.20s",
             from->study != NULL    ? from->study
             : from->detail != NULL ? from->detail
                                    : "");
    if (from->detail != NULL)
        TRY(random_bytes(salt, sizeof salt, err));
    TRY(db_exec(conn, NULL, err, is_known ? SQL_EVENT_ADD : SQL_EVENT_ADD_OF,
                BIND(INT(from->at_ms), TEXT(is_known ? from->project : thing),
                     EVENT_MEMBERS(SAVE) BLOB(from->detail != NULL ? salt : NULL, sizeof salt))));
    if (from->trial == 0 || from->is_followed)
        return STATUS_OK;
    return db_exec(conn, NULL, err, SQL_TRIAL_CHANGE, BIND(TEXT(from->study), INT(from->trial), INT(from->at_ms)));
}

static enum status read_head(struct db_conn *conn, void *arg, struct error *err)
{
    struct event_head *out = arg;
    struct chain_state state;
    TRY(chain_read(conn, &state, err));
    *out = (struct event_head){.seq = state.last.seq, .at_ms = state.at_ms};
    digest_to_hex(state.last.head, CHAIN_BYTES, out->hash);
    return STATUS_OK;
}

enum status event_head(struct app *app, struct event_head *out, struct error *err)
{
    return db_read(app->db, read_head, out, err);
}
