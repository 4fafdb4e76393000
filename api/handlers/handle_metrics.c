/* What the server counts, as Prometheus text (format 0.0.4).  No ids, no names of users' things. */
#include "api/handlers/handlers.h"
#include "api/core/reply.h"
#include "service/app/slots.h"
#include "service/session/session.h"
#include "service/store/spec_cache.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct page {
    char  *text;
    size_t length, room;
};

static void print(struct page *page, const char *format, ...) __attribute__((format(__printf__, 2, 3)));
static void print(struct page *page, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(page->text + page->length, page->room - page->length, format, args);
    va_end(args);
    if (length > 0 && (size_t)length < page->room - page->length)
        page->length += (size_t)length;
}

static void print_value(struct page *page, const char *name, const char *kind, const char *help, double value)
{
    print(page, "# HELP gnomon_%s %s\n# TYPE gnomon_%s %s\ngnomon_%s %.17g\n", name, help, name, kind, name, value);
}

static const char *label(const struct route_traffic *counts, char out[96])
{
    if (counts->path == NULL)
        return "route=\"none\"";
    snprintf(out, 96, "route=\"%s %s\"", counts->method, counts->path);
    return out;
}

static void print_replies(struct page *page, struct traffic *traffic)
{
    char space[96];
    print(page, "# HELP gnomon_replies_total Replies by route and class of status.\n"
                "# TYPE gnomon_replies_total counter\n");
    for (struct route_traffic *counts = traffic->routes; counts <= &traffic->routes[TRAFFIC_ROUTES_MAX]; counts++)
        for (int class = 1; class < 6; class ++) {
            unsigned long long count = atomic_load(&counts->replies[class]);
            if (count > 0)
                print(page, "gnomon_replies_total{%s,status=\"%dxx\"} %llu\n", label(counts, space), class, count);
        }
}

static void print_latency(struct page *page, struct traffic *traffic)
{
    char space[96];
    print(page, "# HELP gnomon_reply_seconds From the request line to the reply.\n"
                "# TYPE gnomon_reply_seconds histogram\n");
    for (struct route_traffic *counts = traffic->routes; counts <= &traffic->routes[TRAFFIC_ROUTES_MAX]; counts++) {
        unsigned long long sum[TRAFFIC_BUCKETS + 1], total = 0;
        for (size_t bucket = 0; bucket <= TRAFFIC_BUCKETS; bucket++)
            sum[bucket] = total += atomic_load(&counts->buckets[bucket]);
        if (total == 0)
            continue;
        for (size_t bucket = 0; bucket < TRAFFIC_BUCKETS; bucket++)
            print(page, "gnomon_reply_seconds_bucket{%s,le=\"%g\"} %llu\n", label(counts, space),
                  (double)traffic_bounds_us[bucket] / 1e6, sum[bucket]);
        print(page, "gnomon_reply_seconds_bucket{%s,le=\"+Inf\"} %llu\n", label(counts, space), total);
        print(page, "gnomon_reply_seconds_sum{%s} %.6f\n", label(counts, space),
              (double)atomic_load(&counts->microseconds) / 1e6);
        print(page, "gnomon_reply_seconds_count{%s} %llu\n", label(counts, space), total);
    }
}

static void print_app(struct page *page, struct app *app)
{
    struct db_stats         db = {0};
    struct session_stats    sessions;
    struct spec_cache_stats specs;
    db_stats(app->db, &db);
    session_stats(app, &sessions);
    spec_cache_stats(app, &specs);
    const struct {
        const char *name, *kind, *help;
        double      value;
    } rows[] = {
        {"compute_waiting", "gauge", "Requests that wait for a slot to compute.",
         (double)(slots_waiting(app->compute) + slots_waiting(app->plans) + slots_waiting(app->draws))},
        {"suggestions_total", "counter", "Trials proposed.", (double)atomic_load(&app->counters.suggestions)},
        {"observations_total", "counter", "Results accepted.", (double)atomic_load(&app->counters.observations)},
        {"fallbacks_total", "counter", "Proposals made without the model.",
         (double)atomic_load(&app->counters.fallbacks)},
        {"impossible_points_total", "counter", "Points outside their space, which were not stored: a fault of ours.",
         (double)atomic_load(&app->counters.impossible_points)},
        {"session_hits_total", "counter", "Models found in memory.", (double)atomic_load(&app->counters.session_hits)},
        {"session_misses_total", "counter", "Models built anew.", (double)atomic_load(&app->counters.session_misses)},
        {"session_evictions_total", "counter", "Models dropped for room.",
         (double)atomic_load(&app->counters.session_evictions)},
        {"session_entries", "gauge", "Studies with a model in memory.", (double)sessions.entries},
        {"session_bytes", "gauge", "Memory of the models.", (double)sessions.bytes},
        {"specifications_read_total", "counter", "Specifications of studies that were not in memory.",
         (double)atomic_load(&app->counters.specs_read)},
        {"specification_entries", "gauge", "Studies with their specification in memory.", (double)specs.entries},
        {"specification_bytes", "gauge", "Memory of the specifications.", (double)specs.bytes},
        {"federation_rounds_total", "counter", "Rounds of federations that were closed.",
         (double)atomic_load(&app->counters.federation_rounds)},
        {"federation_messages_total", "counter", "Messages of agents that were accepted.",
         (double)atomic_load(&app->counters.federation_messages)},
        {"federation_seats_total", "counter", "Seats of the rounds that were closed: messages over seats take part.",
         (double)atomic_load(&app->counters.federation_seats)},
        {"db_commits_total", "counter", "Durable commits.", (double)db.commits},
        {"db_transactions_total", "counter", "Transactions; several may share a commit.", (double)db.transactions},
        {"db_commit_seconds", "gauge", "What one commit takes, lately.", db.commit_ms / 1e3},
        {"db_wal_bytes", "gauge", "Size of the write-ahead log.", (double)db.wal_bytes},
        {"db_checkpoint_failures_total", "counter", "Failures to move the write-ahead log into the database.",
         (double)db.checkpoint_failures},
        {"db_checkpoint_failing", "gauge", "1 if the last try failed: the log grows.", (double)db.is_failing},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        print_value(page, rows[i].name, rows[i].kind, rows[i].help, rows[i].value);
}

static void print_server(struct page *page, struct traffic *traffic)
{
    const struct {
        const char *name, *kind, *help;
        double      value;
    } rows[] = {
        {"requests_in_flight", "gauge", "Requests being read, run or answered.",
         (double)atomic_load(&traffic->in_flight)},
        {"requests_suspended", "gauge", "Requests that workers have or will have.",
         (double)atomic_load(&traffic->suspended)},
        {"requests_queued", "gauge", "Requests that wait for a worker.", (double)atomic_load(&traffic->queued)},
        {"connections", "gauge", "Open connections.", (double)atomic_load(&traffic->connections)},
        {"body_bytes", "gauge", "Memory of bodies being received.", (double)atomic_load(&traffic->body_bytes)},
        {"connections_reaped_total", "counter", "Connections cut because they were late.",
         (double)atomic_load(&traffic->reaped)},
        {"auth_failures_total", "counter", "Invalid tokens.", (double)atomic_load(&traffic->refused_auth)},
        {"render_failures_total", "counter", "Replies that could not be composed.",
         (double)atomic_load(&traffic->render_failures)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        print_value(page, rows[i].name, rows[i].kind, rows[i].help, rows[i].value);
}

static const char *write_text(struct traffic *traffic, struct app *app, struct arena *arena, size_t *length)
{
    enum { ROOM_BYTES = 256 << 10 };
    struct page page = {.text = arena_alloc(arena, ROOM_BYTES, 1), .room = ROOM_BYTES};
    if (page.text == NULL)
        return NULL;
    print_server(&page, traffic);
    print_app(&page, app);
    print_replies(&page, traffic);
    print_latency(&page, traffic);
    *length = page.length;
    return page.text;
}

enum status handle_metrics_get(struct call *call, struct error *err)
{
    size_t      length;
    const char *text = write_text(call->traffic, call->app, &call->arena, &length);
    if (text == NULL)
        return error_no_memory(err);
    reply_text(call, "text/plain; version=0.0.4", text, length);
    return STATUS_OK;
}
