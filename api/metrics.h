/* What the server counts, as Prometheus text.  No ids, no names of users' things. */
#ifndef GNOMON_API_METRICS_H
#define GNOMON_API_METRICS_H

#include "engine/base/arena.h"

#include <stdatomic.h>
#include <stdint.h>

struct app;

enum { METRICS_ROUTES_MAX = 128, METRICS_BUCKETS = 12 };

struct route_metrics {
    _Atomic uint64_t replies[6];                   /* by the first digit of the status */
    _Atomic uint64_t buckets[METRICS_BUCKETS + 1]; /* not cumulative */
    _Atomic uint64_t microseconds;
};

struct metrics {                                         /* zeroed */
    struct route_metrics routes[METRICS_ROUTES_MAX + 1]; /* the last: what no route took */
    _Atomic uint64_t     render_failures, refused_auth, reaped;
    _Atomic int64_t      in_flight, suspended, queued, connections, body_bytes;
};

/* route: index in the route table, or METRICS_ROUTES_MAX. */
void metrics_count(struct metrics *metrics, size_t route, int http, int64_t microseconds);

/* NUL-terminated, in the arena; NULL when out of memory. */
const char *metrics_text(struct metrics *metrics, struct app *app, struct arena *arena, size_t *length);

#endif
