/* The log as it is shown. */
#include "service/trial/events.h"

#include "service/base/page.h"
#include "service/base/text.h"
#include "service/store/rows.h"

#include <stdio.h>
#include <string.h>

enum { ALL_MAX = 4000000 };

struct listing {
    struct arena              *arena;
    const struct event_filter *filter;
    const char                *project;          /* "": all */
    int64_t                    after, times_cut; /* of the cursor */
    int64_t                    limit;
    struct event_page         *out;
};

/* ---- cursors ---- */

/* A cursor has the number of cuts of the log at that time, so that lines which go later are noticed. */
const char *event_cursor(struct arena *arena, const struct event_page *page, int64_t seq)
{
    return page->times_cut == 0 ? text_format(arena, "%lld", (long long)seq)
                                : text_format(arena, "%lld:%lld", (long long)seq, (long long)page->times_cut);
}

static enum status make_cursor(const struct listing *listing, int64_t seq, const char **cursor, struct error *err)
{
    *cursor = event_cursor(listing->arena, listing->out, seq);
    return *cursor == NULL ? error_no_memory(err) : STATUS_OK;
}

static enum status read_cursor(const char *cursor, struct listing *listing, struct error *err)
{
    char        seq[24];
    const char *times = cursor == NULL ? NULL : strchr(cursor, ':');
    if (times == NULL)
        return page_after(cursor, &listing->after, err);
    snprintf(seq, sizeof seq, "%.*s", (int)(times - cursor), cursor);
    TRY(page_after(seq, &listing->after, err));
    return page_after(times + 1, &listing->times_cut, err);
}

/* Checks that all lines after the cursor are still there; those of an existing study always are. */
static enum status check_cut(struct db_conn *conn, const struct listing *listing, struct error *err)
{
    const char            *study = listing->filter->study;
    struct db_rows         rows;
    const struct row_gone *gone;
    TRY(db_find(conn, NULL, &rows, err, SQL_LOG_GONE, BIND(TEXT(listing->project), TEXT(study == NULL ? "" : study))));
    gone = row_gone(&rows);
    listing->out->times_cut = gone == NULL ? 0 : gone->times;
    if (gone == NULL || listing->filter->cursor == NULL || gone->times <= listing->times_cut ||
        gone->last <= listing->after)
        return STATUS_OK;
    return error_set(err, STATUS_NOT_FOUND, "events_gone", "/cursor",
                     "events after this cursor were old and have been deleted");
}

/* *last: the number of the last line; that of a cursor is no larger, but in an older copy of the store. */
static enum status find_last(struct db_conn *conn, struct listing *listing, int64_t *last, struct error *err)
{
    const char    *study = listing->filter->study;
    struct db_rows rows;
    if (study != NULL)
        TRY(db_find(conn, NULL, &rows, err, SQL_EVENT_LAST_OF_STUDY, BIND(TEXT(study), TEXT(listing->project))));
    else
        TRY(db_find(conn, NULL, &rows, err, SQL_EVENT_LAST, BIND_NONE));
    *last = row_count(&rows)->count;
    if (*last == 0 && study != NULL)
        return caller_no_such("study", err);
    return listing->after <= *last
               ? STATUS_OK
               : error_set(err, STATUS_NOT_FOUND, "events_gone", "/cursor",
                           "the log ends before this cursor: the store is an older copy of the one that gave it");
}

static struct db_rows begin(struct db_conn *conn, const struct listing *listing, struct error *err)
{
    const char *study = listing->filter->study, *project = listing->project;
    const char *kind = listing->filter->kind == NULL ? "" : listing->filter->kind;
    int64_t     since_ms = listing->filter->since_ms;
    if (study != NULL)
        return db_query(
            conn, listing->arena, err, SQL_EVENT_OF_STUDY,
            BIND(TEXT(study), INT(listing->after), TEXT(kind), INT(since_ms), INT(listing->limit + 1), TEXT(project)));
    if (strcmp(project, CALLER_DEFAULT_PROJECT) != 0 && strcmp(project, CALLER_NO_PROJECT) != 0)
        return db_query(conn, listing->arena, err, SQL_EVENT_OF_PROJECT,
                        BIND(INT(listing->after), TEXT(kind), INT(since_ms), INT(listing->limit + 1), TEXT(project)));
    return db_query(conn, listing->arena, err,
                    strcmp(project, CALLER_NO_PROJECT) == 0 ? SQL_EVENT_OF_SERVER : SQL_EVENT_OF_DEFAULT,
                    BIND(INT(listing->after), TEXT(kind), INT(since_ms), INT(listing->limit + 1)));
}

/* Numbers are given in the order of commits, and all this is one snapshot: what comes after the last has a larger one. */
static enum status list(struct db_conn *conn, void *arg, struct error *err)
{
    struct listing    *listing = arg;
    struct event_page *out = listing->out;
    int64_t            last = 0;
    size_t             room = 0;
    void              *events = NULL;
    *out = (struct event_page){0};
    TRY(find_last(conn, listing, &last, err));
    TRY(check_cut(conn, listing, err));
    struct db_rows rows = begin(conn, listing, err);
    while (db_next(&rows) && (int64_t)out->len < listing->limit) {
        const struct row_event *from = row_event(&rows);
        if (!rows_grow(listing->arena, &events, out->len, &room, sizeof *out->events)) {
            rows.status = error_no_memory(err);
            continue;
        }
        out->events = events;
        out->events[out->len++] = (struct event_row){.seq = from->seq, .at_ms = from->at_ms, EVENT_MEMBERS(TAKE)};
    }
    if (rows.has_row) {
        last = out->events[out->len - 1].seq;
        rows.status = make_cursor(listing, last, &out->next_cursor, err);
    }
    TRY(db_done(&rows));
    return make_cursor(listing, last, &out->last_cursor, err);
}

enum status event_list(struct app *app, struct caller *caller, const struct event_filter *filter,
                       struct event_page *out, struct error *err)
{
    struct listing listing = {.arena = caller->arena, .filter = filter, .project = caller_project(caller), .out = out};
    TRY(caller_sees(caller, "study", filter->study == NULL ? "" : filter->study, err));
    listing.limit = filter->limit == 0 ? ALL_MAX : page_limit(filter->limit);
    TRY(read_cursor(filter->cursor, &listing, err));
    return db_read(app->db, list, &listing, err);
}
