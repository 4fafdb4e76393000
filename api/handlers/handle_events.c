/* The log of every change: in pages, and followed, by long polls or as server-sent events (HTML, section 9.2). */
#include "api/handlers/handlers.h"
#include "api/handlers/show.h"
#include "api/core/cursor.h"
#include "api/base/json_text.h"
#include "api/core/reply.h"
#include "api/core/route.h"
#include "service/app/event_log.h"
#include "service/base/text.h"
#include "service/member/codec_write.h"
#include "service/trial/events.h"

#include <stdio.h>
#include <string.h>

enum { WAIT_MAX_SECONDS = 60, HEARTBEAT_MS = 15000, PLACE_BYTES = 40, PIECE_EVENTS = 500 };

struct events_get_input {
    struct event_filter filter;
    int64_t             wait, until_ms; /* of a long poll */
    char               *place;          /* of a stream: where it is, and what the filter's cursor points to then */
};
static const struct member events_get_query[] = {
    {AS(events_get_input, filter.study, "study"), .read = codec_read_text, .min = 1, .max = 64},
    {AS(events_get_input, filter.kind, "kind"), .read = codec_read_text, .min = 1, .max = 64},
    {AS(events_get_input, filter.since_ms, "since"), .read = codec_read_time},
    {AT(events_get_input, wait), .read = codec_read_integer, .min = 0, .max = WAIT_MAX_SECONDS},
    PAGED(events_get_input, filter.),
    {.name = NULL},
};
const struct form form_events_get = {.query = events_get_query, .bytes = sizeof(struct events_get_input)};

#define SHOWN(...) CODEC_MEMBER(event_row, , __VA_ARGS__)
// clang-format off
const struct member show_event_members[] = {
    {AT(event_row, seq), .read = codec_read_integer},
    {AS(event_row, at_ms, "at"), .write = codec_write_time},
    EVENT_MEMBERS(SHOWN)
    {.name = NULL},
};
// clang-format on
static const struct member head_members[] = {
    {AT(event_head, seq), .read = codec_read_integer},
    {AT(event_head, hash), .write = codec_write_characters},
    {AS(event_head, at_ms, "at"), .write = codec_write_time, .nullable = true},
    {.name = NULL},
};
const struct shown shown_event_head = {.members = head_members};
const struct shown shown_events = {.members = show_event_members, PAGE(event_page, events)};

static json_t *render_events(struct call *call, const void *result)
{
    const struct event_page *page = result;
    json_t                  *json = show_reply(call, page);
    call->reply.is_final = page->next_cursor != NULL; // what comes later stands behind it
    codec_put(&json, "last_cursor", codec_text(page->last_cursor));
    return json;
}

static enum status list(struct call *call, int64_t limit, struct event_page *out, struct error *err)
{
    struct event_filter filter = ((const struct events_get_input *)call->input)->filter;
    filter.limit = limit;
    return event_list(call->app, &call->caller, &filter, out, err);
}

static enum status begin_following(struct call *call, struct error *err)
{
    return call_hold(call) ? STATUS_OK
                           : error_set(err, STATUS_BUSY, "busy", "", "too many requests wait for events already");
}

/* ---- long polls ---- */

static enum status poll(struct call *call, struct error *err)
{
    struct events_get_input *input = call->input;
    struct event_page       *page = CALL_RESULT(call, struct event_page, 200, render_events);
    TRY(list(call, input->filter.limit, page, err));
    bool waits = page->len == 0 && call->app->monotonic_ms() < input->until_ms && !call_is_over(call);
    if (waits)
        TRY(begin_following(call, err));
    call->follow.again = waits ? poll : NULL;
    call->follow.until_ms = input->until_ms;
    return STATUS_OK;
}

/* ---- streams ---- */

/* "id: <cursor>\nevent: <kind>\ndata: <JSON>\n\n"; NULL: no memory. */
static const char *event_text(struct call *call, const struct event_page *page, const struct event_row *event)
{
    size_t      length;
    const char *place = event_cursor(&call->arena, page, event->seq);
    json_t     *json = codec_write(show_event_members, &(struct writing){.from = event});
    const char *data = json == NULL ? NULL : json_text(json, &call->arena, &length);
    json_decref(json);
    const char *id = data == NULL || place == NULL ? NULL : cursor_text(call, place);
    return id == NULL ? NULL : text_format(&call->arena, "id: %s\nevent: %s\ndata: %s\n\n", id, event->kind, data);
}

/* The texts, one after the other. */
static enum status fill_piece(struct call *call, const struct event_page *page, struct error *err)
{
    const char **texts = ARENA_NEW(&call->arena, const char *, page->len);
    size_t       total = 0;
    for (size_t i = 0; texts != NULL && i < page->len; i++) {
        texts[i] = event_text(call, page, &page->events[i]);
        if (texts[i] == NULL)
            return error_no_memory(err);
        total += strlen(texts[i]);
    }
    char *bytes = texts == NULL ? NULL : arena_alloc(&call->arena, total + 1, 1), *at = bytes;
    if (bytes == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < page->len; i++) {
        size_t length = strlen(texts[i]);
        memcpy(at, texts[i], length);
        at += length;
    }
    reply_text(call, "text/event-stream", bytes, total);
    return STATUS_OK;
}

static enum status stream(struct call *call, struct error *err)
{
    struct events_get_input *input = call->input;
    struct event_page        page;
    bool                     is_late = call->app->monotonic_ms() >= call->follow.until_ms;
    call->follow.again = NULL;
    if (call_is_over(call))
        return STATUS_OK;
    TRY(list(call, PIECE_EVENTS, &page, err));
    snprintf(input->place, PLACE_BYTES, "%s", page.last_cursor);
    if (page.len > 0)
        TRY(fill_piece(call, &page, err));
    else if (is_late)
        reply_text(call, "text/event-stream", ":\n\n", 3);
    bool has_more = page.next_cursor != NULL;
    if (call->reply.length > 0)
        call->follow.until_ms = call->app->monotonic_ms() + (has_more ? 0 : HEARTBEAT_MS);
    call->follow.again = stream;
    return STATUS_OK;
}

/* The headers go at once, with a comment, so that the client knows that it is connected. */
static enum status begin_stream(struct call *call, struct error *err)
{
    struct events_get_input *input = call->input;
    struct event_page        page;
    input->place = arena_zalloc(&call->arena, PLACE_BYTES, 1);
    if (input->place == NULL)
        return error_no_memory(err);
    if (call->last_event_id != NULL && call->last_event_id[0] != '\0')
        TRY(cursor_read(call, call->last_event_id, &input->filter.cursor, err));
    TRY(list(call, 1, &page, err)); // what is wrong is said before the stream begins
    snprintf(input->place, PLACE_BYTES, "%s", input->filter.cursor == NULL ? "0" : input->filter.cursor);
    input->filter.cursor = input->place;
    TRY(begin_following(call, err));
    call->follow.again = stream;
    call->follow.is_stream = true;
    reply_text(call, "text/event-stream", ": events\n\n", 10);
    return STATUS_OK;
}

/* The texts of the query go when the handler is through for the first time. */
static enum status keep(struct call *call, const char **text, struct error *err)
{
    if (*text == NULL)
        return STATUS_OK;
    *text = arena_strndup(&call->arena, *text, strlen(*text));
    return *text == NULL ? error_no_memory(err) : STATUS_OK;
}

enum status handle_events_get(struct call *call, struct error *err)
{
    struct events_get_input *input = call->input;
    const char              *resource = call->caller.resource;
    struct event_filter     *filter = &input->filter;
    TRY(keep(call, &filter->study, err));
    TRY(keep(call, &filter->kind, err));
    TRY(keep(call, &filter->cursor, err));
    if (filter->study == NULL && caller_is_bound(&call->caller) && strncmp(resource, "fed_", 4) != 0)
        filter->study = resource; // of a game too: its id stands where a study's does
    bool is_of_all = call->caller.scope == SCOPE_ADMIN || call->caller.scope == SCOPE_OPERATOR;
    if (filter->study == NULL && (!is_of_all || caller_is_bound(&call->caller)))
        return error_set(err, STATUS_FORBIDDEN, "forbidden", "", "only an admin sees the events of all studies");
    input->until_ms = call->app->monotonic_ms() + 1000 * input->wait;
    return call->wants_events ? begin_stream(call, err) : poll(call, err);
}

enum status handle_event_head_get(struct call *call, struct error *err)
{
    return event_head(call->app, CALL_RESULT(call, struct event_head, 200, show_reply), err);
}
