/* The server's counts, as Prometheus text (format 0.0.4).  No ids, no names of users' resources. */
#include "api/handlers/handlers.h"
#include "api/core/reply.h"
#include "service/app/slots.h"
#include "service/app/watch.h"
#include "api/base/problem.h"
#include "service/session/session.h"
#include "service/store/spec_cache.h"
#include "service/suggest/operation.h"
#include "service/base/log.h"
#include "service/base/process_stats.h"
#include "service/base/version.h"

#include <math.h>
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

/* A family's head.  Counters end with _total, seconds and bytes say so; a family is in one piece. */
static void print_head(struct page *page, const char *name, const char *kind, const char *help)
{
    print(page, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

/* A metric without labels.  print_values puts the prefix before the name: "gnomon" and "_". */
struct value {
    const char *name, *kind, *help;
    double      value; /* NaN: nobody knows it now, and it is left out */
};

static void print_values(struct page *page, const char *prefix, const struct value *rows, size_t len)
{
    for (const struct value *row = rows; row < rows + len; row++) {
        char name[96];
        snprintf(name, sizeof name, "%s_%s", prefix, row->name);
        if (isnan(row->value))
            continue;
        print_head(page, name, row->kind, row->help);
        if (isinf(row->value))
            print(page, "%s +Inf\n", name);
        else
            print(page, "%s %.17g\n", name, row->value);
    }
}
#define PRINT_VALUES(page, prefix, rows) print_values(page, prefix, rows, sizeof rows / sizeof rows[0])

/* The cumulative buckets of counts [len + 1], which are not; the last is of what is beyond all bounds. */
struct histogram {
    const char    *name, *labels;
    const int64_t *bounds_us;
    uint64_t       counts[TRAFFIC_BUCKETS + 1], sum_us;
    size_t         len;
};

static void print_histogram(struct page *page, const struct histogram *histogram)
{
    unsigned long long total = 0;
    const char        *comma = histogram->labels[0] == '\0' ? "" : ",";
    for (size_t i = 0; i < histogram->len; i++)
        print(page, "%s_bucket{%s%sle=\"%g\"} %llu\n", histogram->name, histogram->labels, comma,
              (double)histogram->bounds_us[i] / 1e6, total += histogram->counts[i]);
    total += histogram->counts[histogram->len];
    print(page, "%s_bucket{%s%sle=\"+Inf\"} %llu\n%s_sum{%s} %.6f\n%s_count{%s} %llu\n", histogram->name,
          histogram->labels, comma, total, histogram->name, histogram->labels, (double)histogram->sum_us / 1e6,
          histogram->name, histogram->labels, total);
}

/* ---- requests ---- */

enum { LABEL_BYTES = 128 };

/* Requests that no route took have the empty method. */
static const char *label(const struct route_traffic *counts, char out[LABEL_BYTES])
{
    if (counts->path == NULL)
        return "method=\"\",route=\"none\"";
    snprintf(out, LABEL_BYTES, "method=\"%s\",route=\"%s\"", counts->method, counts->path);
    return out;
}

static void print_replies(struct page *page, struct traffic *traffic)
{
    static const char name[] = "gnomon_http_requests_total";
    char              space[LABEL_BYTES];
    print_head(page, name, "counter", "Requests that were answered.");
    for (struct route_traffic *counts = traffic->routes; counts <= &traffic->routes[TRAFFIC_ROUTES_MAX]; counts++)
        for (size_t i = 0; i < TRAFFIC_STATUSES; i++) {
            unsigned long long count = atomic_load(&counts->replies[i]);
            if (count > 0)
                print(page, "%s{%s,status=\"%d\"} %llu\n", name, label(counts, space), traffic_statuses[i], count);
        }
}

static void print_latency(struct page *page, struct traffic *traffic)
{
    char             space[LABEL_BYTES];
    struct histogram histogram = {
        .name = "gnomon_http_request_duration_seconds", .bounds_us = traffic_bounds_us, .len = TRAFFIC_BUCKETS};
    print_head(page, histogram.name, "histogram", "From the request line to the reply.");
    for (struct route_traffic *counts = traffic->routes; counts <= &traffic->routes[TRAFFIC_ROUTES_MAX]; counts++) {
        uint64_t total = 0;
        for (size_t i = 0; i <= TRAFFIC_BUCKETS; i++)
            total += histogram.counts[i] = atomic_load(&counts->buckets[i]);
        histogram.labels = label(counts, space);
        histogram.sum_us = atomic_load(&counts->microseconds);
        if (total > 0)
            print_histogram(page, &histogram);
    }
}

static void print_refusals(struct page *page, struct traffic *traffic)
{
    static const char name[] = "gnomon_refusals_total";
    print_head(page, name, "counter", "Requests that were refused, by code.");
    for (size_t i = 0; i < problem_table_len && i < TRAFFIC_CODES_MAX; i++) {
        unsigned long long count = atomic_load(&traffic->refusals[i]);
        if (count > 0)
            print(page, "%s{code=\"%s\"} %llu\n", name, problem_table[i].code, count);
    }
}

/* ---- studies, and computing ---- */

static void print_states(struct page *page, const char *name, const char *help, const char *const *states,
                         _Atomic int64_t *counts)
{
    print_head(page, name, "gauge", help);
    for (size_t i = 0; states[i] != NULL; i++)
        print(page, "%s{state=\"%s\"} %lld\n", name, states[i], (long long)atomic_load(&counts[i]));
}

static void print_waits(struct page *page, const struct slots_stats *stats)
{
    struct histogram histogram = {.name = "gnomon_compute_wait_seconds",
                                  .labels = "",
                                  .bounds_us = slots_bounds_us,
                                  .len = SLOTS_WAITS,
                                  .sum_us = stats->waited_us};
    memcpy(histogram.counts, stats->waits, sizeof stats->waits);
    print_head(page, histogram.name, "histogram", "How long requests waited for a slot to compute.");
    print_histogram(page, &histogram);
}

static void print_computed(struct page *page, const struct slots_stats *stats, bool in_seconds)
{
    const char *name = in_seconds ? "gnomon_compute_seconds_total" : "gnomon_computations_total";
    print_head(page, name, "counter",
               in_seconds ? "Processor time of what was computed in slots, by algorithm."
                          : "How often something was, by algorithm.");
    for (size_t k = 0; k < SLOTS_ALGORITHMS && stats->computed[k].algorithm != NULL; k++) {
        const struct slots_computed *computed = &stats->computed[k];
        print(page, "%s{algorithm=\"%s\"} %.6f\n", name, computed->algorithm[0] == '\0' ? "none" : computed->algorithm,
              in_seconds ? (double)computed->us / 1e6 : (double)computed->times);
    }
}

static void print_compute(struct page *page, struct app *app)
{
    struct slots_stats stats;
    slots_stats(app->slots, &stats);
    const struct value rows[] = {
        {"compute_waiting", "gauge", "Computations that wait for a slot.", (double)slots_waiting(app->slots)},
        {"compute_pauses_total", "counter", "How often a long computation gave way to another.", (double)stats.pauses},
        {"compute_misjudged_total", "counter",
         "Computations of 5 ms or more that took less than half of what they were priced at, or more than twice as "
         "long.",
         (double)stats.misjudged},
    };
    PRINT_VALUES(page, "gnomon", rows);
    print_waits(page, &stats);
    print_computed(page, &stats, true);
    print_computed(page, &stats, false);
}

static void print_commits(struct page *page, const struct db_stats *db)
{
    struct histogram histogram = {.name = "gnomon_db_commit_duration_seconds",
                                  .labels = "",
                                  .bounds_us = db_times_us,
                                  .len = DB_TIMES,
                                  .sum_us = db->synced_us};
    memcpy(histogram.counts, db->synced, sizeof db->synced);
    print_head(page, histogram.name, "histogram", "How long it took to make a commit durable, its fsync included.");
    print_histogram(page, &histogram);
}

static void print_checks(struct page *page, struct app *app)
{
    static const char    name[] = "gnomon_check_failing";
    struct watch_finding findings[WATCH_CHECKS];
    watch_read(app, findings);
    print_head(page, name, "gauge", "1 if readyz says that this check fails.");
    for (size_t i = 0; i < WATCH_CHECKS; i++)
        print(page, "%s{check=\"%s\"} %d\n", name, findings[i].name, !findings[i].is_good);
}

static void print_store(struct page *page, struct app *app)
{
    struct db_stats    db = {0};
    struct watch_sight sight;
    db_stats(app->db, &db);
    watch_see(app, &sight);
    const struct disk_stats disk = sight.disk;
    const struct value      rows[] = {
             {"db_commits_total", "counter", "Durable commits.", (double)db.commits},
             {"db_commit_seconds_total", "counter", "What they took.", db.commit_seconds},
             {"db_transactions_total", "counter", "Transactions; several may share a commit.", (double)db.transactions},
             {"db_bytes", "gauge", "Size of the store.", disk.file_bytes},
             {"db_wal_bytes", "gauge", "Size of the write-ahead log.", (double)db.wal_bytes},
             {"db_disk_free_bytes", "gauge", "What the store's disk has left for this user.", disk.free_bytes},
             {"db_disk_bytes", "gauge", "Size of the store's disk.", disk.all_bytes},
             {"db_checkpoint_failures_total", "counter", "Failures to move the write-ahead log into the database.",
              (double)db.checkpoint_failures},
             {"db_checkpoint_failing", "gauge", "1 if the last try failed: the log grows.", (double)db.is_failing},
             {"db_damaged", "gauge", "1 if something in the store could not be read as what it was written.",
              (double)db.is_damaged},
             {"backup_last_timestamp_seconds", "gauge",
              "When the last backup was made, since unix epoch in seconds; absent when there was none.",
              sight.backup_seconds},
    };
    PRINT_VALUES(page, "gnomon", rows);
    print_commits(page, &db);
    print_checks(page, app);
}

static void print_app(struct page *page, struct app *app)
{
    struct app_counters    *counters = &app->counters;
    struct session_stats    sessions;
    struct spec_cache_stats specs;
    const struct arena_pool none = {0}, *memory = app->memory == NULL ? &none : app->memory;
    session_stats(app, &sessions);
    spec_cache_stats(app, &specs);
    const struct value rows[] = {
        {"suggestions_total", "counter", "Trials proposed.", (double)atomic_load(&counters->suggestions)},
        {"observations_total", "counter", "Results accepted.", (double)atomic_load(&counters->observations)},
        {"fallbacks_total", "counter", "Proposals made without the model.", (double)atomic_load(&counters->fallbacks)},
        {"leases_expired_total", "counter", "Trials that were given out again because their lease had run out.",
         (double)atomic_load(&counters->leases_expired)},
        {"impossible_points_total", "counter", "Points outside their space, which were not stored: a fault of ours.",
         (double)atomic_load(&counters->impossible_points)},
        {"memory_bytes", "gauge", "Memory that requests have together, bodies included.",
         (double)atomic_load(&memory->taken_bytes)},
        {"memory_limit_bytes", "gauge", "What they may have; 0: there is no limit.", (double)memory->limit_bytes},
        {"operations_running", "gauge", "Asynchronous suggestions that run or wait for their turn.",
         (double)operations_running(app->operations)},
        {"session_hits_total", "counter", "Models found in memory.", (double)atomic_load(&counters->session_hits)},
        {"session_misses_total", "counter", "Models built anew.", (double)atomic_load(&counters->session_misses)},
        {"session_evictions_total", "counter", "Models dropped for room.",
         (double)atomic_load(&counters->session_evictions)},
        {"session_entries", "gauge", "Studies with a model in memory.", (double)sessions.entries},
        {"session_bytes", "gauge", "Memory of the models.", (double)sessions.bytes},
        {"specifications_read_total", "counter", "Specifications of studies that were not in memory.",
         (double)atomic_load(&counters->specs_read)},
        {"specification_entries", "gauge", "Studies with their specification in memory.", (double)specs.entries},
        {"specification_bytes", "gauge", "Memory of the specifications.", (double)specs.bytes},
        {"federation_rounds_total", "counter", "Rounds of federations that were closed.",
         (double)atomic_load(&counters->federation_rounds)},
        {"federation_messages_total", "counter", "Messages of agents that were accepted.",
         (double)atomic_load(&counters->federation_messages)},
        {"federation_seats_total", "counter", "Seats of the rounds that were closed: messages over seats take part.",
         (double)atomic_load(&counters->federation_seats)},
        {"federation_epsilon_left", "gauge",
         "The least that an active federation may still spend; absent when none promises anything.",
         atomic_load(&app->census.epsilon_left)},
        {"tokens_expiring", "gauge", "Tokens that end within 14 days, at most a minute ago.",
         (double)atomic_load(&app->census.tokens_expiring)},
    };
    PRINT_VALUES(page, "gnomon", rows);
    print_states(page, "gnomon_studies", "Studies by state, at most a second ago.", study_state_names,
                 app->census.studies);
    print_states(page, "gnomon_trials", "Trials by state, at most a second ago.", trial_state_names,
                 app->census.trials);
}

/* ---- the process ---- */

static void print_server(struct page *page, struct traffic *traffic)
{
    const struct value rows[] = {
        {"requests_in_flight", "gauge", "Requests being read, run or answered.",
         (double)atomic_load(&traffic->in_flight)},
        {"requests_suspended", "gauge", "Requests that workers have or will have.",
         (double)atomic_load(&traffic->suspended)},
        {"followers", "gauge", "Requests that wait for events or for something to evaluate.",
         (double)atomic_load(&traffic->followers.len)},
        {"large_replies", "gauge", "Exports and other large replies on their way.",
         (double)atomic_load(&traffic->files.len)},
        {"requests_queued", "gauge", "Requests that wait for a worker.", (double)atomic_load(&traffic->queued)},
        {"connections", "gauge", "Open connections.", (double)atomic_load(&traffic->connections)},
        {"body_bytes", "gauge", "Memory of bodies being received.", (double)atomic_load(&traffic->body_bytes)},
        {"connections_reaped_total", "counter", "Connections cut because they were late.",
         (double)atomic_load(&traffic->reaped)},
        {"connections_shed_total", "counter", "Connections cut because they waited longest when places were short.",
         (double)atomic_load(&traffic->shed)},
        {"auth_failures_total", "counter", "Invalid tokens.", (double)atomic_load(&traffic->refused_auth)},
        {"render_failures_total", "counter", "Replies that could not be composed.",
         (double)atomic_load(&traffic->render_failures)},
        {"log_lines_lost_total", "counter", "Lines of requests that standard error did not take at once.",
         (double)log_lines_lost()},
    };
    print_head(page, "gnomon_build_info", "gauge", "1, of this version.");
    print(page, "gnomon_build_info{version=\"%s\",compiler=\"%s\"} 1\n", GNOMON_VERSION, __VERSION__);
    PRINT_VALUES(page, "gnomon", rows);
}

/* Prints the metrics that Prometheus expects of every process. */
static void print_process(struct page *page)
{
    struct process_stats stats;
    process_stats(&stats);
    const struct value rows[] = {
        {"cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.", stats.cpu_seconds},
        {"resident_memory_bytes", "gauge", "Resident memory size in bytes.", stats.resident_bytes},
        {"virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", stats.virtual_bytes},
        {"start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.",
         stats.started_seconds},
        {"open_fds", "gauge", "Number of open file descriptors.", stats.open_files},
        {"max_fds", "gauge", "Maximum number of open file descriptors.", stats.most_files},
    };
    PRINT_VALUES(page, "process", rows);
}

static const char *write_text(struct traffic *traffic, struct app *app, struct arena *arena, size_t *length)
{
    enum { ROOM_BYTES = 512 << 10 };
    struct page page = {.text = arena_alloc(arena, ROOM_BYTES, 1), .room = ROOM_BYTES};
    if (page.text == NULL)
        return NULL;
    print_server(&page, traffic);
    print_process(&page);
    print_app(&page, app);
    print_store(&page, app);
    print_compute(&page, app);
    print_replies(&page, traffic);
    print_refusals(&page, traffic);
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
