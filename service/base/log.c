/* See log.h.  A line is put together on the stack and written at once, so that lines of several threads never mix. */
#include "service/base/log.h"

#include "service/base/clock.h"

#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1000 };

const char *const log_level_names[LOG_LEVEL_COUNT] = {
    [LOG_INFO] = "info", [LOG_WARNING] = "warning", [LOG_ERROR] = "error"};

static _Atomic uint64_t lost;

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

void log_event(enum log_level level, const char *event, const char *details, ...)
{
    char    line[LINE_MAX_BYTES + 1];
    size_t  head = print_head(line, sizeof line, level, event);
    va_list arguments;
    va_start(arguments, details);
    vsnprintf(line + head, sizeof line - head, details, arguments);
    va_end(arguments);
    size_t length = strlen(line);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 127)
            line[i] = '?';
    length -= line[length - 1] == ' ';
    line[length] = '\n';
    ssize_t written = write(STDERR_FILENO, line, length + 1);
    (void)written; /* there is nowhere to report it */
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
