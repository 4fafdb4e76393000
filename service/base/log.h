/* The process's log: one line per event on standard error, "time level event key=value ...", or as an object of JSON.
 * Never given a token, a body, a point or a value. */
#ifndef GNOMON_SERVICE_BASE_LOG_H
#define GNOMON_SERVICE_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_LEVEL_COUNT };
extern const char *const log_level_names[LOG_LEVEL_COUNT];

/* Before anything is logged.  All lines that log_event writes then are JSON: {"time": ..., "level": ..., "event": ..., and the
 * details by their keys, numbers as such}. */
void log_as_json(void);
bool log_is_json(void);

/* details: "key=value ...", a value with spaces in quotes and last.  Written with one write(2); cut at 1,000 bytes; control characters
 * become '?'.  Any thread. */
void log_event(enum log_level level, const char *event, const char *details, ...)
    __attribute__((format(__printf__, 3, 4)));

/* "2026-03-01T09:30:00.125Z" of milliseconds since 1970. */
enum { LOG_TIME_BYTES = 25 };
void log_time(int64_t at_ms, char out[LOG_TIME_BYTES]);

/* A whole line, with its end, of one request among many: it is lost, and counted, when standard error does not take it
 * at once, since nobody waits for a reader of the log. */
void     log_line(const char *line, size_t length);
uint64_t log_lines_lost(void);

#endif
