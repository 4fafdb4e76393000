/* What the server counts of its requests and connections. */
#ifndef GNOMON_API_CORE_TRAFFIC_H
#define GNOMON_API_CORE_TRAFFIC_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { TRAFFIC_ROUTES_MAX = 128, TRAFFIC_BUCKETS = 12, TRAFFIC_STATUSES = 40 };

extern const int64_t traffic_bounds_us[TRAFFIC_BUCKETS];
extern const int     traffic_statuses[TRAFFIC_STATUSES]; /* those that are counted, then 0: any other */

struct route_traffic {
    const char      *method, *path; /* NULL: what no route took */
    _Atomic uint64_t replies[TRAFFIC_STATUSES];
    _Atomic uint64_t buckets[TRAFFIC_BUCKETS + 1]; /* not cumulative */
    _Atomic uint64_t microseconds;
};

struct traffic {                                         /* zeroed but for the routes' names */
    struct route_traffic routes[TRAFFIC_ROUTES_MAX + 1]; /* the last: what no route took */
    _Atomic uint64_t     render_failures, refused_auth, reaped;
    _Atomic int64_t      in_flight, suspended, queued, connections, body_bytes, files, followers;
};

/* route: index in the route table, or TRAFFIC_ROUTES_MAX. */
void traffic_count(struct traffic *traffic, size_t route, int http, int64_t microseconds);

#endif
