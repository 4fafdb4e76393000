/* gnomon notify: webhooks.  Follows the log of a server, beside it or anywhere else, and posts what is worth a message to
 * one address.  The server knows nothing of it: its process holds no address of others', no secret, and waits for none.
 *
 * The log is the queue, on the server's disk: here is one page of it, and in a file how far it has been sent.  That file is
 * written after a message has arrived, so each arrives at least once, in order; the same message has the same id.  The
 * program may therefore end at any moment, and does so at a signal. */
#include "service/client/client.h"
#include "service/cli/command.h"
#include "service/client/notice.h"
#include "service/client/patience.h"
#include "service/client/plain.h"
#include "service/client/process.h"
#include "service/base/clock.h"
#include "service/file/file.h"
#include "service/member/codec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAIT_SECONDS = 30, PAGE_EVENTS = 1000, ANSWER_MS = 15000, PAUSE_MIN_MS = 500, PAUSE_MAX_MS = 300000 };
enum { CURSOR_BYTES = 257, ORIGIN_BYTES = 400, SECRET_MAX_BYTES = 200, FILE_MAX_BYTES = 400 };

struct notify_options {
    struct command_server at;
    const char           *to, *to_ca_file, *secret_file, *place_file, *kinds;
    int64_t               low_percent, give_up_seconds, patience_seconds;
    bool                  allow_private, once;
};

#define OPTION(name, variable, what, member) \
    OPTION_OF(struct notify_options, name, what, member), .environment = variable
static const struct options_row options_table[] = {
    COMMAND_SERVER_ROWS(struct notify_options),
    {OPTION("to", "GNOMON_NOTIFY_TO", "URL", to), .is_required = true,
     .help = "where messages are posted; its host and no other, so redirects are refused"},
    {OPTION("secret-file", "GNOMON_NOTIFY_SECRET_FILE", "FILE", secret_file), .is_required = true,
     .help = "what signs them: whsec_ and 24 to 32 bytes in base64; its owner's alone (0600)"},
    {OPTION("place-file", "GNOMON_NOTIFY_PLACE_FILE", "FILE", place_file), .is_required = true,
     .help = "how far they have been sent; made at the first start, which begins with what happens from then on"},
    {OPTION("on", "GNOMON_NOTIFY_ON", "KINDS", kinds), .fallback = "completed,failed,privacy",
     .help = "what they are about, with commas: completed (studies, for any reason), target and budget (those that "
             "reached their target, or spent a budget), failed (trials), privacy (federations, when their budget is "
             "low)"},
    {OPTION("low", "GNOMON_NOTIFY_LOW", "PERCENT", low_percent), .kind = OPTIONS_INT, .fallback = "80", .min = 1,
     .max = 100, .help = "how much of a federation's budget is spent when it is low"},
    {OPTION("give-up", "GNOMON_NOTIFY_GIVE_UP", "SECONDS", give_up_seconds), .kind = OPTIONS_INT, .fallback = "86400",
     .min = 0, .max = 31536000, .help = "how long a message is tried that does not arrive, before the next one is"},
    {OPTION("to-cacert", "GNOMON_NOTIFY_TO_CACERT", "FILE", to_ca_file),
     .help = "certificates (PEM) of the authorities that may vouch for the receiver, instead of the system's"},
    {OPTION("allow-private", NULL, NULL, allow_private), .kind = OPTIONS_SWITCH,
     .help = "post to addresses that are not of the internet, too: this machine, a private network"},
    {OPTION("once", NULL, NULL, once), .kind = OPTIONS_SWITCH,
     .help = "send what there is and end, rather than follow"},
    COMMAND_PATIENCE_ROW(struct notify_options),
    {.flag = NULL},
};

struct notify {
    const struct notify_options *options;
    struct notice_filter         filter;
    struct patience              patience; /* with the server */
    struct client               *receiver;
    const char                  *path; /* of the receiver's address, and its query */
    unsigned char                key[NOTICE_KEY_BYTES];
    char                         cursor[CURSOR_BYTES]; /* "": of the whole log */
    int64_t                      seq;                  /* the last event that is done with */
};

/* ---- the file ---- */

static enum status write_place(const struct notify *notify, struct error *err)
{
    char text[FILE_MAX_BYTES];
    int  length = snprintf(text, sizeof text, "%lld %s\n", (long long)notify->seq, notify->cursor);
    return file_write(notify->options->place_file, 0600, text, (size_t)length, err);
}

/* is_new: there is none yet. */
static enum status read_place(struct notify *notify, bool *is_new, struct error *err)
{
    char       *text = NULL, *rest = NULL;
    size_t      length = 0;
    enum status status = file_read(notify->options->place_file, FILE_MAX_BYTES, &text, &length, err);
    *is_new = status == STATUS_NOT_FOUND;
    if (status != STATUS_OK)
        return *is_new ? STATUS_OK : status;
    notify->seq = strtoll(text, &rest, 10);
    size_t cursor = rest[0] == ' ' ? strcspn(rest + 1, "\n") : 0;
    bool   is_good = rest > text && rest[0] == ' ' && cursor < CURSOR_BYTES && rest[1 + cursor] == '\n' &&
                   strspn(rest + 1, "0123456789abcdef") == cursor;
    if (is_good)
        snprintf(notify->cursor, sizeof notify->cursor, "%.*s", (int)cursor, rest + 1);
    free(text);
    return is_good ? STATUS_OK
                   : error_set(err, STATUS_INVALID, "file", "", "%.150s is not what this program has written there",
                               notify->options->place_file);
}

/* ---- the receiver ---- */

static enum status post(const struct notify *notify, const char *id, const char *body, struct error *err)
{
    char                signature[NOTICE_SIGNATURE_BYTES], lines[3][NOTICE_ID_BYTES + 24];
    int64_t             now = clock_ms(CLOCK_REALTIME) / 1000; // of this try: receivers refuse what is old
    struct client_reply reply;
    TRY(notice_sign(notify->key, id, now, body, signature, err));
    snprintf(lines[0], sizeof lines[0], "webhook-id: %s", id);
    snprintf(lines[1], sizeof lines[1], "webhook-timestamp: %lld", (long long)now);
    snprintf(lines[2], sizeof lines[2], "webhook-signature: %s", signature);
    TRY(client_send(notify->receiver,
                    &(struct client_request){.method = "POST",
                                             .path = notify->path,
                                             .content_type = "application/json",
                                             .headers = (const char *const[]){lines[0], lines[1], lines[2], NULL},
                                             .body = body,
                                             .body_bytes = strlen(body),
                                             .is_deaf = true},
                    &reply, err));
    free(reply.bytes);
    return STATUS_OK;
}

static void say(const char *id, const struct error *err, const char *then)
{
    fprintf(stderr, "gnomon: %s: ", id);
    plain_print(stderr, err->text);
    fprintf(stderr, "; %s\n", then);
}

/* Posts until the message has arrived, or is given up.  Errors: those that another try does not change. */
static enum status deliver(const struct notify *notify, const char *id, const char *body, struct error *err)
{
    int64_t give_up_at_ms = process_clock_ms() + notify->options->give_up_seconds * 1000;
    long    pause_ms = PAUSE_MIN_MS;
    while (post(notify, id, body, err) != STATUS_OK) {
        bool is_passing = strcmp(err->code, "unreachable") == 0 || strcmp(err->code, "refused") == 0;
        if (!is_passing)
            return err->status;
        if (process_clock_ms() + pause_ms > give_up_at_ms) {
            say(id, err, "given up");
            return STATUS_OK;
        }
        say(id, err, "trying again");
        process_sleep_ms(pause_ms);
        pause_ms = pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause_ms * 2;
    }
    return STATUS_OK;
}

/* ---- the log ---- */

static enum status take_event(struct notify *notify, const json_t *event, struct error *err)
{
    char    id[NOTICE_ID_BYTES];
    json_t *notice = NULL;
    int64_t seq = json_integer_value(json_object_get(event, "seq"));
    if (seq <= notify->seq)
        return STATUS_OK;
    TRY(notice_of(&notify->filter, &notify->patience, event, id, &notice, err));
    char *body = codec_dump(notice, JSON_COMPACT);
    bool  is_said = notice != NULL;
    json_decref(notice);
    if (is_said && body == NULL)
        return error_no_memory(err);
    enum status status = is_said ? deliver(notify, id, body, err) : STATUS_OK;
    free(body);
    TRY(status);
    notify->seq = seq;
    return is_said ? write_place(notify, err) : STATUS_OK;
}

static enum status ask_events(struct notify *notify, bool waits, json_t **page, struct error *err)
{
    char path[CURSOR_BYTES + 64];
    bool goes_on = notify->cursor[0] != '\0';
    snprintf(path, sizeof path, "/v1/events?limit=%d&wait=%d%s%s", PAGE_EVENTS, waits ? WAIT_SECONDS : 0,
             goes_on ? "&cursor=" : "", notify->cursor);
    enum status status = patience_json(&notify->patience, "GET", path, NULL, page, err);
    if (status == STATUS_OK || !goes_on || strcmp(err->code, "events_gone") != 0)
        return status;
    fputs(
        "gnomon: events were deleted before they could be sent, or the server has an older copy of its store; going on "
        "with those that are there\n",
        stderr);
    notify->cursor[0] = '\0'; // seq still says which of them are done with
    return ask_events(notify, waits, page, err);
}

/* Behind the log's last line, of which a page after the place would have been empty: a server that took an older copy of
 * its store for its own, or has deleted what was sent.  It gives the numbers after last anew. */
static void go_back(struct notify *notify, int64_t last)
{
    fprintf(stderr, "gnomon: the log ends with %lld, and %lld had been sent: going on with what happens from now on\n",
            (long long)last, (long long)notify->seq);
    notify->seq = last;
}

/* The events of one page; sends: or only to come behind them.  *is_last: there were no more. */
static enum status follow_page(struct notify *notify, bool waits, bool sends, bool *is_last, struct error *err)
{
    json_t *page = NULL;
    TRY(ask_events(notify, waits, &page, err));
    const json_t *events = json_object_get(page, "events");
    const char   *cursor = json_string_value(json_object_get(page, "last_cursor"));
    enum status   status = cursor != NULL && strlen(cursor) < CURSOR_BYTES ? STATUS_OK : client_bad_reply(err);
    for (size_t i = 0; status == STATUS_OK && sends && i < json_array_size(events); i++)
        status = take_event(notify, json_array_get(events, i), err);
    *is_last = !json_is_string(json_object_get(page, "next_cursor"));
    if (status == STATUS_OK && strcmp(notify->cursor, cursor) != 0) {
        json_int_t seq =
            json_integer_value(json_object_get(json_array_get(events, json_array_size(events) - 1), "seq")); // 0: none
        if (*is_last && seq > 0 && seq < notify->seq)
            go_back(notify, seq);
        notify->seq = seq > notify->seq ? seq : notify->seq;
        snprintf(notify->cursor, sizeof notify->cursor, "%s", cursor);
        status = sends || *is_last ? write_place(notify, err) : STATUS_OK;
    }
    json_decref(page);
    return status;
}

static enum status follow(struct notify *notify, struct error *err)
{
    bool is_new, is_last = false;
    TRY(read_place(notify, &is_new, err));
    while (is_new && !is_last)
        TRY(follow_page(notify, false, false, &is_last, err));
    do
        TRY(follow_page(notify, !notify->options->once, true, &is_last, err));
    while (!notify->options->once || !is_last);
    return STATUS_OK;
}

/* ---- from the beginning to the end ---- */

static enum status read_key(struct notify *notify, struct error *err)
{
    char  *text = NULL;
    size_t length = 0;
    TRY(file_read_private(notify->options->secret_file, SECRET_MAX_BYTES, &text, &length, err));
    enum status status = notice_read_key(text, notify->key, err);
    free(text);
    return status;
}

static enum status open_receiver(struct notify *notify, struct error *err)
{
    const struct notify_options *options = notify->options;
    char                         origin[ORIGIN_BYTES];
    const char                  *host = strstr(options->to, "://");
    size_t length = host == NULL ? strlen(options->to) : (size_t)(host - options->to) + 3 + strcspn(host + 3, "/?#");
    if (length >= sizeof origin || strspn(options->to + length, "/") == 0)
        return error_set(err, STATUS_INVALID, "bad_address", "", "--to takes https://HOST/PATH");
    snprintf(origin, sizeof origin, "%.*s", (int)length, options->to);
    notify->path = options->to + length;
    return client_open(&(struct client_options){.server = origin,
                                                .ca_file = options->to_ca_file,
                                                .insecure_http = options->at.insecure_http,
                                                .option = "--to",
                                                .ca_option = "--to-cacert",
                                                .is_public = !options->allow_private,
                                                .timeout_ms = ANSWER_MS},
                       &notify->receiver, err);
}

static void end(int number)
{
    (void)number;
    _exit(COMMAND_DONE);
}

static enum status run(struct command_call *call, struct error *err)
{
    struct notify notify = {.options = call->options};
    notify.filter.low_percent = notify.options->low_percent;
    TRY(notice_read_kinds(notify.options->kinds, &notify.filter, err));
    TRY(read_key(&notify, err));
    TRY(command_connect(&notify.options->at, &call->client, err));
    notify.patience = (struct patience){.client = call->client, .limit_ms = notify.options->patience_seconds * 1000};
    TRY(open_receiver(&notify, err));
    process_on_stop(end, 0);
    enum status status = follow(&notify, err);
    client_close(notify.receiver);
    return status;
}

const struct command command_notify = {
    .name = "notify",
    .operands = "",
    .summary = "webhooks: posts what happens on a server to an address, signed",
    .options = options_table,
    .options_bytes = sizeof(struct notify_options),
    .run = run,
};
