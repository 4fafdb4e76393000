/* Counts of the server's requests and connections. */
#ifndef GNOMON_API_CORE_TRAFFIC_H
#define GNOMON_API_CORE_TRAFFIC_H

#include "service/base/share.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRAFFIC_ROUTES_MAX = 128, TRAFFIC_BUCKETS = 12, TRAFFIC_STATUSES = 40, TRAFFIC_CODES_MAX = 256 };

extern const int64_t traffic_bounds_us[TRAFFIC_BUCKETS];
extern const int     traffic_statuses[TRAFFIC_STATUSES]; /* the statuses that are counted, then 0: any other */

struct route_traffic {
    const char      *method, *path; /* NULL: what no route took */
    _Atomic uint64_t replies[TRAFFIC_STATUSES];
    _Atomic uint64_t buckets[TRAFFIC_BUCKETS + 1]; /* not cumulative */
    _Atomic uint64_t microseconds;
};

struct traffic {                                         /* zeroed but for the routes' names, and the lock */
    struct route_traffic routes[TRAFFIC_ROUTES_MAX + 1]; /* the last: what no route took */
    _Atomic uint64_t     refusals[TRAFFIC_CODES_MAX];    /* by code, as problem_table has them */
    _Atomic uint64_t     render_failures, refused_auth, reaped, shed;
    _Atomic int64_t      in_flight, suspended, queued, connections, body_bytes;
    pthread_mutex_t      lock;             /* of the next */
    struct share         followers, files; /* requests that wait for something; large replies on their way */
};

/* Take and leave a place among the followers or the files, as share_take and share_leave do. */
bool traffic_take(struct traffic *traffic, enum share_kind kind, const struct share_owner *owner);
void traffic_leave(struct traffic *traffic, enum share_kind kind, const struct share_owner *owner);

/* code: of a refusal, a text that problem_table has or not. */
void traffic_count_refusal(struct traffic *traffic, const char *code);

/* route: index in the route table, or TRAFFIC_ROUTES_MAX. */
void traffic_count(struct traffic *traffic, size_t route, int http, int64_t microseconds);

#endif
