/* See log.h.  A line is put together on the stack and written at once, so that lines of several threads never mix. */
#include "service/base/log.h"

#include "service/base/clock.h"

#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1000 };

const char *const log_level_names[LOG_LEVEL_COUNT] = {
    [LOG_INFO] = "info", [LOG_WARNING] = "warning", [LOG_ERROR] = "error"};

static _Atomic uint64_t lost;
static bool             is_json;

void log_as_json(void)
{
    is_json = true;
}

bool log_is_json(void)
{
    return is_json;
}

/* The second is kept from line to line: finding its date takes longer than all the rest. */
void log_time(int64_t at_ms, char out[LOG_TIME_BYTES])
{
    static _Thread_local time_t second = -1;
    static _Thread_local char   date[LOG_TIME_BYTES];
    struct tm                   utc;
    time_t                      now = (time_t)(at_ms / 1000);
    if (now != second) {
        gmtime_r(&now, &utc);
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
        second = now;
    }
    snprintf(out, LOG_TIME_BYTES, "%.19s.%03uZ", date, (unsigned)(at_ms % 1000) % 1000u);
}

static size_t print_head(char *line, size_t size, enum log_level level, const char *event)
{
    char time[LOG_TIME_BYTES];
    log_time(clock_ms(CLOCK_REALTIME), time);
    int length = snprintf(line, size, "%s %s %s ", time, log_level_names[level], event);
    return length < 0 ? 0 : (size_t)length < size ? (size_t)length : size - 1;
}

/* ---- as JSON ---- */

struct out {
    char  *text;
    size_t length, room;
};

static void put(struct out *out, const char *text, size_t length)
{
    if (length <= out->room - out->length) {
        memcpy(out->text + out->length, text, length);
        out->length += length;
    }
}

/* Bytes of the UTF-8 character that text begins with; 0: it is none. */
static size_t character(const char *text, size_t length)
{
    unsigned char first = (unsigned char)text[0];
    size_t bytes = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < bytes; i++)
        if (i >= length || ((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
    return bytes;
}

static void put_string(struct out *out, const char *text, size_t length)
{
    put(out, "\"", 1);
    for (size_t i = 0, bytes; i<length; i += bytes> 0 ? bytes : 1) {
        bytes = character(text + i, length - i);
        if (text[i] == '"' || text[i] == '\\')
            put(out, "\\", 1);
        if (bytes == 0 || (unsigned char)text[i] < ' ' || text[i] == 127)
            put(out, "?", 1);
        else
            put(out, text + i, bytes);
    }
    put(out, "\"", 1);
}

/* As JSON has a number, without an exponent. */
static bool is_number(const char *text, size_t length)
{
    size_t sign = length > 0 && text[0] == '-', digits = strspn(text + sign, "0123456789"), at = sign + digits;
    if (digits == 0 || (digits > 1 && text[sign] == '0'))
        return false;
    if (at < length && text[at] == '.') {
        size_t more = strspn(text + at + 1, "0123456789");
        at += more > 0 ? 1 + more : 0;
    }
    return at == length;
}

/* A quoted value ends at the last quote: texts of others have quotes, too. */
static size_t put_value(struct out *out, const char *value)
{
    if (value[0] == '"') {
        const char *end = strrchr(value, '"');
        size_t      length = end > value ? (size_t)(end - value) - 1 : strlen(value + 1);
        put_string(out, value + 1, length);
        return strlen(value);
    }
    size_t length = strcspn(value, " ");
    if (is_number(value, length))
        put(out, value, length);
    else
        put_string(out, value, length);
    return length;
}

/* Writes a line of JSON; `out` has room for three times the length of details. */
static size_t write_json(struct out *out, enum log_level level, const char *event, const char *details)
{
    char time[LOG_TIME_BYTES], head[160];
    log_time(clock_ms(CLOCK_REALTIME), time);
    int length = snprintf(head, sizeof head, "{\"time\":\"%s\",\"level\":\"%s\",\"event\":\"%.80s\"", time,
                          log_level_names[level], event);
    put(out, head, (size_t)length);
    for (const char *at = details + strspn(details, " "); *at != '\0'; at += strspn(at, " ")) {
        size_t key = strcspn(at, "= ");
        bool   has_value = at[key] == '=';
        put(out, ",", 1);
        put_string(out, has_value ? at : "text", has_value ? key : 4);
        put(out, ":", 1);
        at += has_value ? key + 1 : 0;
        at += put_value(out, at);
    }
    put(out, "}\n", 2);
    return out->length;
}

/* ---- events ---- */

static size_t write_logfmt(char *line, size_t size, enum log_level level, const char *event, const char *details)
{
    size_t head = print_head(line, size, level, event);
    snprintf(line + head, size - head, "%s", details);
    size_t length = strlen(line);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 127)
            line[i] = '?';
    length -= line[length - 1] == ' ';
    line[length] = '\n';
    return length + 1;
}

void log_event(enum log_level level, const char *event, const char *details, ...)
{
    char       text[LINE_MAX_BYTES], line[3 * LINE_MAX_BYTES + 200];
    struct out out = {.text = line, .room = sizeof line};
    va_list    arguments;
    va_start(arguments, details);
    vsnprintf(text, sizeof text, details, arguments);
    va_end(arguments);
    size_t length =
        is_json ? write_json(&out, level, event, text) : write_logfmt(line, LINE_MAX_BYTES + 1, level, event, text);
    ssize_t written = write(STDERR_FILENO, line, length);
    (void)written; /* a failure could not be reported anywhere */
}

/* A pipe that can be written to takes a line whole: it has room for PIPE_BUF bytes. */
void log_line(const char *line, size_t length)
{
    struct pollfd to = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&to, 1, 0) <= 0 || write(STDERR_FILENO, line, length) < 0)
        atomic_fetch_add(&lost, 1);
}

uint64_t log_lines_lost(void)
{
    return atomic_load(&lost);
}
