/* See retention.h.
 * A line's age is told by the clock that the machine is set to and by the steady one: that is no clock by itself, but whoever
 * sets the other one forward while the service runs makes nothing go. */
#include "service/app/retention.h"

#include "db/writer/chain.h"
#include "service/app/event_log.h"
#include "service/app/steady.h"

#include <stdio.h>

enum { LOOK_LINES = 4000 };

struct work {
    struct app       *app;
    struct retention *retention;
    int64_t           before_ms;
    struct {
        int64_t first, last;
    } runs[CHAIN_DROP_MAX];
    size_t  len;
    int64_t lines, next; /* of all runs; behind what was looked at */
};

/* Finds lines that may go: as many as fit into a piece. */
static enum status find(struct db_conn *conn, void *arg, struct error *err)
{
    struct work       *work = arg;
    struct chain_state state;
    const int64_t      after = work->retention->after;
    TRY(chain_read(conn, &state, err));
    int64_t until = after + LOOK_LINES < state.last.seq ? after + LOOK_LINES : state.last.seq;
    work->len = 0;
    work->lines = 0;
    work->next = until;
    work->retention->is_over = until == state.last.seq;
    struct db_rows rows = db_query(conn, NULL, err, SQL_LOG_OVER, BIND(INT(after), INT(until), INT(work->before_ms)));
    while (work->lines < CHAIN_DROP_MAX && db_next(&rows)) {
        int64_t seq = row_seq(&rows)->seq;
        if (work->len == 0 || work->runs[work->len - 1].last + 1 != seq)
            work->runs[work->len++].first = seq;
        work->runs[work->len - 1].last = seq;
        work->lines++;
    }
    if (work->lines == CHAIN_DROP_MAX) {
        work->next = work->runs[work->len - 1].last;
        work->retention->is_over = work->next == state.last.seq;
    }
    return db_done(&rows);
}

/* The lines are searched again: another server may have been faster.  The line that reports the drop is the last of the log
 * then, which is never among the dropped ones. */
static enum status drop(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    char         detail[80];
    TRY(find(conn, work, err));
    if (work->len == 0)
        return STATUS_OK;
    for (size_t i = 0; i < work->len; i++)
        TRY(event_log_go(conn, work->runs[i].first, work->runs[i].last, err));
    snprintf(detail, sizeof detail, "%lld lines between %lld and %lld", (long long)work->lines,
             (long long)work->runs[0].first, (long long)work->runs[work->len - 1].last);
    return event_log(conn,
                     EVENT(.at_ms = work->app->now_ms(), .kind = "store.trimmed", .actor = "local",
                           .project = CALLER_DEFAULT_PROJECT, .detail = detail),
                     err);
}

enum status retention_step(struct app *app, struct retention *retention, struct error *err)
{
    const int64_t wall_ms = app->now_ms(), steady = steady_ms(app);
    struct work   work = {
          .app = app, .retention = retention, .before_ms = (wall_ms < steady ? wall_ms : steady) - retention->keep_ms};
    if (retention->keep_ms == 0 || db_is_rolled_back(app->db)) {
        retention->is_over = true;
        return STATUS_OK;
    }
    TRY(db_read(app->db, find, &work, err));
    if (work.len > 0)
        TRY(db_transact_large(app->db, (struct db_owner){0}, drop, &work, err));
    retention->after = work.next;
    retention->dropped += work.lines;
    if (retention->is_over && retention->dropped > 0)
        db_erase(app->db);
    return STATUS_OK;
}
