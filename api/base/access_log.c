/* See access_log.h. */
#include "api/base/access_log.h"

#include "service/base/clock.h"
#include "service/base/log.h"

#include <stdio.h>
#include <string.h>

struct text {
    char  *at;
    size_t used, room;
};

static void put(struct text *text, const char *bytes, size_t length)
{
    if (length > text->room - text->used)
        length = text->room - text->used;
    memcpy(text->at + text->used, bytes, length);
    text->used += length;
}

static void put_text(struct text *text, const char *value)
{
    put(text, value, strlen(value));
}

/* In quotes, for both formats. */
static void put_quoted(struct text *text, const char *value)
{
    put_text(text, "\"");
    for (; *value != '\0'; value++) {
        bool is_control = (unsigned char)*value < ' ' || *value == 0x7f;
        if (*value == '"' || *value == '\\')
            put_text(text, "\\");
        put(text, is_control ? "?" : value, 1);
    }
    put_text(text, "\"");
}

/* Most values have only characters that need no quotes in logfmt. */
static bool needs_quotes(const char *value)
{
    return strpbrk(value, " \"=\\") != NULL;
}

static void put_name(struct text *text, enum access_format format, const char *name)
{
    if (format == ACCESS_JSON)
        put_text(text, ",\"");
    else
        put_text(text, " ");
    put_text(text, name);
    put_text(text, format == ACCESS_JSON ? "\":" : "=");
}

static void put_string(struct text *text, enum access_format format, const char *name, const char *value)
{
    if (value == NULL)
        return;
    put_name(text, format, name);
    if (format == ACCESS_JSON || needs_quotes(value))
        put_quoted(text, value);
    else
        put_text(text, value);
}

/* Writes a number: of ones with scale 1, of thousandths with scale 1000. */
static void put_number(struct text *text, enum access_format format, const char *name, int64_t value, int64_t scale)
{
    char number[48];
    if (scale == 1)
        snprintf(number, sizeof number, "%lld", (long long)value);
    else
        snprintf(number, sizeof number, "%lld.%03lld", (long long)(value / scale), (long long)(value % scale));
    put_name(text, format, name);
    put_text(text, number);
}

/* The id, if it is one: a token may have been put in its place by mistake. */
static const char *id_or_null(const char *id)
{
    static const char *const kinds[] = {"std_", "fed_", "gam_"};
    for (size_t i = 0; id != NULL && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncmp(id, kinds[i], 4) == 0 && strlen(id) == 20 &&
            strspn(id + 4, "abcdefghijklmnopqrstuvwxyz234567") == 16)
            return id;
    return NULL;
}

static enum log_level level_of(int http)
{
    return http < 500 ? LOG_INFO : http == 503 ? LOG_WARNING : LOG_ERROR;
}

size_t access_line(const struct access *access, enum access_format format, int64_t now_ms, char line[ACCESS_LINE_BYTES])
{
    struct text text = {.at = line, .room = ACCESS_LINE_BYTES - 1};
    char        time[LOG_TIME_BYTES], span[TRACE_OWN_BYTES] = "", id[33] = "";
    const char *level = log_level_names[level_of(access->http)];
    bool        has_trace = access->trace->parent[0] != '\0';
    log_time(now_ms, time);
    if (has_trace) {
        snprintf(id, sizeof id, "%.32s", access->trace->parent + 3);
        snprintf(span, sizeof span, "%s", access->trace->own);
    }
    if (format == ACCESS_JSON) {
        put_text(&text, "{\"time\":\"");
        put_text(&text, time);
        put_text(&text, "\",\"level\":\"");
        put_text(&text, level);
        put_text(&text, "\",\"event\":\"request\"");
    } else {
        put_text(&text, time);
        put_text(&text, " ");
        put_text(&text, level);
        put_text(&text, " request");
    }
    put_string(&text, format, "id", access->trace->id);
    put_string(&text, format, "trace", has_trace ? id : NULL);
    put_string(&text, format, "span", has_trace ? span : NULL);
    put_string(&text, format, "token", access->token_id);
    put_string(&text, format, "method", access->method);
    put_string(&text, format, "route", access->route);
    if (access->thing != NULL)
        put_string(&text, format, access->thing, id_or_null(access->thing_id));
    put_number(&text, format, "status", access->http, 1);
    put_number(&text, format, "ms", access->total_us, 1000);
    put_number(&text, format, "compute_ms", access->computed_us, 1000);
    put_number(&text, format, "price_ms", access->priced_us, 1000);
    put_number(&text, format, "wait_ms", access->waited_us, 1000);
    put_number(&text, format, "bytes", access->bytes, 1);
    put_string(&text, format, "code", access->code);
    put_string(&text, format, "detail", access->detail);
    if (format == ACCESS_JSON)
        put_text(&text, "}");
    return text.used;
}

void access_log(const struct access *access, enum access_format format)
{
    char line[ACCESS_LINE_BYTES];
    if (format == ACCESS_OFF && access->http < 500)
        return;
    size_t length = access_line(access, log_is_json() ? ACCESS_JSON : format, clock_ms(CLOCK_REALTIME), line);
    line[length] = '\n';
    log_line(line, length + 1);
}
