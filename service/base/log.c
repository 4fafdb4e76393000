/* See log.h.  A line is put together on the stack and written at once, so that lines of several threads never mix. */
#include "service/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1000 };

static const char *const level_names[] = {[LOG_INFO] = "info", [LOG_WARNING] = "warning", [LOG_ERROR] = "error"};

static size_t print_head(char *line, size_t size, enum log_level level, const char *event)
{
    struct timespec now;
    struct tm       utc;
    char            second[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(second, sizeof second, "%Y-%m-%dT%H:%M:%S", &utc);
    int length = snprintf(line, size, "%s.%03ldZ %s %s ", second, now.tv_nsec / 1000000, level_names[level], event);
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
