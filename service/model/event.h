/* A line of the log. */
#ifndef GNOMON_SERVICE_MODEL_EVENT_H
#define GNOMON_SERVICE_MODEL_EVENT_H

#include "db/members.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_row {
    int64_t     seq; /* made by the store */
    int64_t     at_ms;
    const char *project;   /* the project at that time; NULL or "": that of the line's resource */
    EVENT_MEMBERS(DECLARE) /* revision, trial: 0 is none; study, detail: NULL is none */
    bool is_followed;      /* another line of the same trial comes with it */
};
#define EVENT(...)                      \
    (struct event_row)                  \
    {                                   \
        EVENT_MEMBERS(NONE) __VA_ARGS__ \
    }
/* The state of the log: its last line, and the head of its chain (db/writer/chain.h). */
struct event_head {
    int64_t seq, at_ms;
    char    hash[65];
};
struct event_page {
    struct event_row *events;
    size_t            len;
    const char       *next_cursor, *last_cursor; /* of the next page; and of what comes after all that was looked at */
    int64_t           times_cut;                 /* how often lines of this listing have been dropped */
};

#endif
