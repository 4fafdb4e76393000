/* The process's log: one line per event on standard error, "time level event key=value ...".
 * Never given a token, a body, a point or a value. */
#ifndef GNOMON_SERVICE_BASE_LOG_H
#define GNOMON_SERVICE_BASE_LOG_H

enum log_level { LOG_INFO, LOG_WARNING, LOG_ERROR };

/* details: "key=value ...".  Written with one write(2); cut at 1,000 bytes; control characters
 * become '?'.  Any thread. */
void log_event(enum log_level level, const char *event, const char *details, ...)
    __attribute__((format(__printf__, 3, 4)));

#endif
