/* See traffic.h. */
#include "api/base/traffic.h"

#include "api/base/problem.h"

const int64_t traffic_bounds_us[TRAFFIC_BUCKETS] = {500,   1000,   2500,   5000,    10000,   25000,
                                                    50000, 100000, 250000, 1000000, 5000000, 30000000};

const int traffic_statuses[TRAFFIC_STATUSES] = {200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 405, 406,
                                                408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 422, 426,
                                                428, 429, 431, 500, 501, 502, 503, 504, 505, 507};

static struct share *share_of(struct traffic *traffic, enum share_kind kind)
{
    return kind == SHARE_files ? &traffic->files : &traffic->followers;
}

bool traffic_take(struct traffic *traffic, enum share_kind kind, const struct share_owner *owner)
{
    pthread_mutex_lock(&traffic->lock);
    bool may = share_take(share_of(traffic, kind), kind, owner);
    pthread_mutex_unlock(&traffic->lock);
    return may;
}

void traffic_leave(struct traffic *traffic, enum share_kind kind, const struct share_owner *owner)
{
    pthread_mutex_lock(&traffic->lock);
    share_leave(share_of(traffic, kind), owner);
    pthread_mutex_unlock(&traffic->lock);
}

void traffic_count_refusal(struct traffic *traffic, const char *code)
{
    const struct problem_kind *problem = problem_find(code);
    if (problem != NULL && problem - problem_table < TRAFFIC_CODES_MAX)
        atomic_fetch_add_explicit(&traffic->refusals[problem - problem_table], 1, memory_order_relaxed);
}

void traffic_count(struct traffic *traffic, size_t route, int http, int64_t microseconds)
{
    struct route_traffic *counts = &traffic->routes[route];
    size_t                bucket = 0, status = 0;
    while (bucket < TRAFFIC_BUCKETS && microseconds > traffic_bounds_us[bucket])
        bucket++;
    while (traffic_statuses[status] != 0 && traffic_statuses[status] != http)
        status++;
    atomic_fetch_add_explicit(&counts->replies[status], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counts->buckets[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counts->microseconds, (uint64_t)microseconds, memory_order_relaxed);
}
