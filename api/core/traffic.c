/* See traffic.h. */
#include "api/core/traffic.h"

const int64_t traffic_bounds_us[TRAFFIC_BUCKETS] = {500,   1000,   2500,   5000,    10000,   25000,
                                                    50000, 100000, 250000, 1000000, 5000000, 30000000};

void traffic_count(struct traffic *traffic, size_t route, int http, int64_t microseconds)
{
    struct route_traffic *counts = &traffic->routes[route];
    size_t                bucket = 0;
    while (bucket < TRAFFIC_BUCKETS && microseconds > traffic_bounds_us[bucket])
        bucket++;
    atomic_fetch_add_explicit(&counts->replies[http / 100 % 6], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counts->buckets[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counts->microseconds, (uint64_t)microseconds, memory_order_relaxed);
}
