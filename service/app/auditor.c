/* See auditor.h. */
#include "service/app/auditor.h"

#include "db/writer/chain.h"
#include "service/file/append.h"
#include "service/base/clock.h"
#include "service/base/digest.h"
#include "service/base/log.h"
#include "service/app/event_log.h"
#include "service/app/retention.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 160, PAUSE_MS = 100, DAY_MS = 24 * 3600 * 1000, LINES = 500 };

struct auditor {
    struct app            *app;
    struct auditor_options options;
    struct append_file    *heads; /* NULL: none */
    struct scan            scan;  /* where the look at all rows is, and that at the log */
    struct chain_walk      walk;
    struct chain_place     end;
    bool                   has_damaged, is_verified; /* damaged rows were met; the log is good */
    struct retention       retention;                /* runs after the verification */
    int64_t                look_ms, head_ms;         /* when it goes on; when the next head is due: monotonic */
    pthread_mutex_t        lock;
    pthread_cond_t         changed;
    bool                   is_stopping, has_thread;
    pthread_t              thread;
};

/* ---- heads ---- */

bool auditor_read_head(const char *line, struct event_head *out)
{
    unsigned char digest[SHA256_BYTES];
    long long     seq;
    int           end = 0;
    *out = (struct event_head){.seq = 0};
    bool is_whole =
        sscanf(line, "%19lld %64[0-9a-f] %*24[0-9TZ:.-]%n", &seq, out->hash, &end) == 2 && line[end] == '\0';
    out->seq = is_whole ? seq : 0;
    return is_whole && end > 0 && seq >= 0 && digest_of_hex(out->hash, digest, sizeof digest);
}

static enum status take_line(void *arg, char *line, size_t number, struct error *err)
{
    struct event_head head;
    (void)arg, (void)number, (void)err;
    return auditor_read_head(line, &head) ? STATUS_OK : STATUS_CONFLICT;
}

static enum status write_head(struct auditor *auditor, struct error *err)
{
    struct event_head head;
    char              line[LINE_BYTES], time[LOG_TIME_BYTES];
    TRY(event_head(auditor->app, &head, err));
    if (head.seq == 0)
        return STATUS_OK;
    log_time(head.at_ms, time);
    snprintf(line, sizeof line, "%lld %s %s", (long long)head.seq, head.hash, time);
    return append_line(auditor->heads, line, err);
}

static void try_head(struct auditor *auditor)
{
    struct error err;
    if (auditor->heads != NULL && write_head(auditor, &err) != STATUS_OK)
        log_event(LOG_ERROR, "head_not_written", "code=%s text=\"%s\"", err.code, err.text);
}

/* ---- the thread ---- */

/* A piece of the log.  INTERNAL "store_corrupt" makes the whole store unready (db.h). */
static enum status walk(struct db_conn *conn, void *arg, struct error *err)
{
    struct auditor    *auditor = arg;
    struct chain_state state;
    TRY(chain_read(conn, &state, err));
    if (auditor->end.seq == 0) // it begins
        auditor->end = state.last;
    if (auditor->walk.at.seq < state.first.seq || auditor->walk.until == 0)
        auditor->walk = (struct chain_walk){.at = state.first, .until = auditor->end.seq};
    TRY(chain_walk(conn, &auditor->walk, LINES, err));
    if (auditor->walk.at.seq == auditor->end.seq && memcmp(&auditor->walk.at, &auditor->end, sizeof auditor->end) != 0)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "the log is not what was written");
    return STATUS_OK;
}

static void say(void *arg, const char *owner)
{
    struct auditor *auditor = arg;
    auditor->has_damaged = true;
    log_event(LOG_ERROR, "row_damaged", "of=%s", owner);
}

static enum status check_tally(struct db_conn *conn, void *arg, struct error *err)
{
    struct db_rows rows = db_query(conn, NULL, err, SQL_CHECK_TALLY, BIND_NONE);
    (void)arg;
    while (db_next(&rows))
        rows.status = error_set(err, STATUS_CONFLICT, "store_corrupt", "", "%.200s", row_finding(&rows)->finding);
    return db_done(&rows);
}

/* Compares tallies and the log's total, which have no sums.  Where rows are damaged the total cannot be right. */
static enum status compare(struct auditor *auditor, struct error *err)
{
    TRY(db_read(auditor->app->db, check_tally, NULL, err));
    return auditor->has_damaged ? STATUS_OK : db_compare_total(auditor->app->db, err);
}

/* A piece of the look at everything. */
static enum status look(struct auditor *auditor, bool *is_over, struct error *err)
{
    auditor->scan.say = say;
    auditor->scan.arg = auditor;
    if (!auditor->scan.is_over)
        return db_scan(auditor->app->db, &auditor->scan, err);
    if (!auditor->is_verified) {
        TRY(db_read(auditor->app->db, walk, auditor, err));
        if (auditor->walk.at.seq < auditor->end.seq)
            return STATUS_OK;
        TRY(compare(auditor, err));
        auditor->is_verified = true;
        log_event(LOG_INFO, "store_verified", "log=%lld", (long long)auditor->end.seq);
        return STATUS_OK;
    }
    TRY(retention_step(auditor->app, &auditor->retention, err));
    *is_over = auditor->retention.is_over;
    if (*is_over && auditor->retention.dropped > 0)
        log_event(LOG_INFO, "log_trimmed", "lines=%lld", (long long)auditor->retention.dropped);
    return STATUS_OK;
}

/* A pass that fails is tried again a day later. */
static void look_on(struct auditor *auditor)
{
    struct error err;
    bool         is_over = false;
    enum status  status = look(auditor, &is_over, &err);
    if (status != STATUS_OK)
        log_event(LOG_ERROR, "store_not_verified", "code=%s text=\"%s\"", err.code, err.text);
    bool ends = is_over || status != STATUS_OK;
    auditor->look_ms = auditor->app->monotonic_ms() + (ends ? DAY_MS : PAUSE_MS);
    if (!ends)
        return;
    auditor->scan = (struct scan){.is_over = false};
    auditor->walk = (struct chain_walk){.until = 0};
    auditor->end = (struct chain_place){.seq = 0};
    auditor->has_damaged = auditor->is_verified = false;
    auditor->retention = (struct retention){.keep_ms = 1000 * auditor->options.keep_seconds};
}

static void *run(void *arg)
{
    struct auditor *auditor = arg;
    int64_t         now, next;
    do {
        now = auditor->app->monotonic_ms();
        if (now >= auditor->look_ms)
            look_on(auditor);
        if (now >= auditor->head_ms) {
            try_head(auditor);
            auditor->head_ms = now + 1000 * auditor->options.head_seconds;
        }
        next = auditor->look_ms < auditor->head_ms ? auditor->look_ms : auditor->head_ms;
    } while (!clock_wait(&auditor->lock, &auditor->changed, &auditor->is_stopping, next - now));
    try_head(auditor);
    return NULL;
}

enum status auditor_open(const struct auditor_options *options, struct auditor **out, struct error *err)
{
    struct auditor            *auditor = calloc(1, sizeof *auditor);
    const struct append_reader reader = {.take = take_line, .code = "head_file", .complaint = "is no head of a log"};
    enum status                status = STATUS_OK;
    *out = NULL;
    if (auditor == NULL)
        return error_no_memory(err);
    auditor->options = *options;
    auditor->retention.keep_ms = 1000 * options->keep_seconds;
    pthread_mutex_init(&auditor->lock, NULL);
    clock_cond_init(&auditor->changed);
    if (options->head_file != NULL)
        status = append_open(options->head_file, true, &reader, &auditor->heads, err);
    if (status == STATUS_OK)
        *out = auditor;
    else
        auditor_stop(auditor);
    return status;
}

enum status auditor_start(struct auditor *auditor, struct app *app, struct error *err)
{
    auditor->app = app;
    if (pthread_create(&auditor->thread, NULL, run, auditor) != 0)
        return error_set(err, STATUS_BUSY, "threads", "", "cannot start a thread");
    auditor->has_thread = true;
    return STATUS_OK;
}

void auditor_stop(struct auditor *auditor)
{
    if (auditor == NULL)
        return;
    pthread_mutex_lock(&auditor->lock);
    auditor->is_stopping = true;
    pthread_cond_broadcast(&auditor->changed);
    pthread_mutex_unlock(&auditor->lock);
    if (auditor->has_thread)
        pthread_join(auditor->thread, NULL);
    append_close(auditor->heads);
    pthread_cond_destroy(&auditor->changed);
    pthread_mutex_destroy(&auditor->lock);
    free(auditor);
}
