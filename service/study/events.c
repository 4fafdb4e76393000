/* The log as it is shown. */
#include "service/base/page.h"
#include "service/study/events.h"

#include "service/base/text.h"

#include <stdlib.h>
#include <string.h>

enum { ALL_MAX = 4000000 };

struct task {
    struct arena              *arena;
    const struct event_filter *filter;
    int64_t                    after, limit;
    struct event_page         *out;
};

static enum status grow(struct task *task, size_t *room, struct error *err)
{
    struct event_page *out = task->out;
    if (out->len < *room)
        return STATUS_OK;
    *room = *room == 0 ? 128 : 2 * *room;
    struct event_row *grown = ARENA_NEW(task->arena, struct event_row, *room);
    if (grown == NULL)
        return error_no_memory(err);
    if (out->len > 0)
        memcpy(grown, out->events, out->len * sizeof *grown);
    out->events = grown;
    return STATUS_OK;
}

static enum status list(struct db_conn *conn, void *arg, struct error *err)
{
    struct task       *task = arg;
    struct event_page *out = task->out;
    const char        *study = task->filter->study;
    size_t             room = 0;
    struct db_rows     rows =
        study != NULL ? db_query(conn, task->arena, err, SQL_EVENT_OF_STUDY,
                                     BIND(TEXT(study), INT(task->after), INT(task->limit + 1)))
                          : db_query(conn, task->arena, err, SQL_EVENT_LIST, BIND(INT(task->after), INT(task->limit + 1)));
    while (db_next(&rows) && (int64_t)out->len < task->limit) {
        const struct row_event *row = row_event(&rows);
        rows.status = grow(task, &room, err);
        if (rows.status == STATUS_OK)
            out->events[out->len++] = (struct event_row){.seq = row->seq,
                                                         .at_ms = row->at_ms,
                                                         .kind = row->kind,
                                                         .study = row->study,
                                                         .revision = row->revision,
                                                         .trial = row->trial,
                                                         .actor = row->actor,
                                                         .detail = row->detail};
    }
    if (rows.has_row)
        rows.status = page_next(task->arena, out->events[out->len - 1].seq, &out->next_cursor, err);
    return db_done(&rows);
}

enum status event_list(struct app *app, struct caller *caller, const struct event_filter *filter,
                       struct event_page *out, struct error *err)
{
    struct task task = {.arena = caller->arena, .filter = filter, .out = out};
    *out = (struct event_page){0};
    TRY(caller_sees(caller, "study", filter->study == NULL ? "" : filter->study, err));
    task.limit = filter->limit == 0 ? ALL_MAX : page_limit(filter->limit);
    TRY(page_after(filter->cursor, &task.after, err));
    return db_read(app->db, list, &task, err);
}

enum status event_read(struct db_conn *conn, const char *study, struct arena *arena, struct event_page *out,
                       struct error *err)
{
    const struct event_filter filter = {.study = study};
    struct task               task = {.arena = arena, .filter = &filter, .limit = ALL_MAX, .out = out};
    *out = (struct event_page){0};
    return list(conn, &task, err);
}
