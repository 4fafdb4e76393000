/* A federation in the store: its row, its state, its lines in the log; inside a transaction.  See federation.h. */
#include "service/federation/federation.h"
#include "service/federation/federation_secure.h"

#include "engine/privacy/accountant.h"
#include "service/app/event_log.h"
#include "service/codec/codec_federation.h"
#include "service/store/rows.h"

#include <math.h>
#include <stdio.h>

enum status federation_read(const struct row_federation *from, struct arena *arena, struct federation *out,
                            struct error *err)
{
    int state;
    TRY(rows_state(federation_state_names, from->state, from->id, &state, err));
    *out = (struct federation){.state = (enum federation_state)state,
                               .version = from->version,
                               .round = from->round,
                               .epsilon = from->epsilon,
                               FEDERATION_GIVEN(TAKE) FEDERATION_KEPT(TAKE) FEDERATION_OPEN(TAKE)};
    snprintf(out->id, sizeof out->id, "%s", from->id);
    TRY(codec_federation_parse(from->spec, arena, &out->spec, err));
    out->expected = out->spec.seats;
    out->needed = out->spec.minimum;
    return STATUS_OK;
}

enum status federation_get(struct db_conn *conn, const char *id, struct arena *arena, struct federation *out,
                           struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, arena, &rows, err, SQL_FEDERATION_GET, BIND(TEXT(id))));
    const struct row_federation *row = row_federation(&rows);
    if (row == NULL)
        return caller_no_such("federation", err);
    TRY(federation_read(row, arena, out, err));
    return out->spec.aggregation == FEDERATION_SECURE ? federation_secure_expect(conn, out, err) : STATUS_OK;
}

enum status federation_cost(const struct federation_spec *spec, int64_t broadcasts, double *epsilon,
                            struct arena *scratch, struct error *err)
{
    *epsilon = 0;
    broadcasts = federation_releases(spec, broadcasts);
    if (!spec->is_private || broadcasts == 0)
        return STATUS_OK;
    const struct accountant_run run = {
        .q = spec->broadcast.q, .z = spec->broadcast.z, .releases = (uint64_t)broadcasts};
    return accountant_promise(&run, 1, spec->delta, epsilon, scratch, err);
}

enum status federation_log(struct db_conn *conn, const char *kind, const char *id, int64_t number,
                           const struct federation_by *by, struct error *err)
{
    char detail[64];
    if (number > 0)
        snprintf(detail, sizeof detail, "%s %lld", id, (long long)number);
    else
        snprintf(detail, sizeof detail, "%s", id);
    return event_log(conn, EVENT(.at_ms = by->at_ms, .kind = kind, .actor = by->actor, .detail = detail), err);
}

enum status federation_set_state(struct db_conn *conn, struct federation *federation, enum federation_state state,
                                 const char *reason, const struct federation_by *by, struct error *err)
{
    static const char *const kinds[FEDERATION_STATES] = {[FEDERATION_ACTIVE] = "federation.resumed",
                                                         [FEDERATION_PAUSED] = "federation.paused",
                                                         [FEDERATION_COMPLETED] = "federation.completed"};
    federation->state = state;
    federation->reason = reason;
    federation->version++;
    federation->updated_ms = by->at_ms;
    if (state == FEDERATION_COMPLETED) {
        federation->received = federation->deadline_ms = 0;
        federation->version++;
        TRY(db_exec(conn, NULL, err, SQL_FEDERATION_MESSAGE_DROP, BIND(TEXT(federation->id), INT(0))));
        TRY(db_exec(conn, NULL, err, SQL_FEDERATION_RECEIVED,
                    BIND(TEXT(federation->id), INT(0), INT(0), INT(by->at_ms))));
    }
    TRY(db_exec(conn, NULL, err, SQL_FEDERATION_STATE,
                BIND(TEXT(federation->id), TEXT(federation_state_names[state]), TEXT(reason), INT(by->at_ms))));
    return federation_log(conn, kinds[state], federation->id, 0, by, err);
}
