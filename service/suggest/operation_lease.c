/* Leases of operations: see operation_job.c for what they hold.  A thread renews those of the jobs here once a second, and takes over
 * what nobody renewed. */
#include "service/suggest/operation_job.h"

#include "service/app/quota.h"
#include "service/app/steady.h"
#include "service/base/clock.h"
#include "service/base/log.h"
#include "service/store/rows.h"

#include <string.h>

/* ATTEMPTS_MAX: what has ended so many servers, or was begun anew by so many, is not tried again. */
enum { HELD_MAX = OPERATIONS_AT_ONCE + OPERATIONS_WAITING_MAX, ATTEMPTS_MAX = 10 };

int64_t operation_lease_end(struct app *app)
{
    return steady_ms(app) + OPERATIONS_LEASE_MS;
}

/* ---- beats ---- */

struct held {
    char    id[24];
    int64_t attempt;
    double  progress[3];
    bool    is_lost;
};

struct held_all {
    struct app *app;
    struct held jobs[HELD_MAX];
    size_t      len;
};

static enum status beat(struct db_conn *conn, void *arg, struct error *err)
{
    struct held_all *all = arg;
    for (struct held *held = all->jobs; held < all->jobs + all->len; held++) {
        int64_t changes;
        size_t  bytes = held->progress[0] > 0 ? sizeof held->progress : 0;
        TRY(db_exec(conn, &changes, err, SQL_OPERATION_BEAT,
                    BIND(TEXT(held->id), INT(held->attempt), INT(operation_lease_end(all->app)),
                         BLOB(bytes > 0 ? held->progress : NULL, bytes))));
        held->is_lost = changes == 0;
    }
    return STATUS_OK;
}

/* Renews the leases of this server's operations with their progress; learns which ones are no longer its own. */
static void beat_once(struct app *app)
{
    struct operations *operations = app->operations;
    struct held_all    all = {.app = app};
    struct error       err;
    pthread_mutex_lock(&operations->lock);
    for (const struct job *job = operations->jobs; job != NULL && all.len < HELD_MAX; job = job->next) {
        struct held *held = &all.jobs[all.len++];
        memcpy(held->id, job->id, sizeof held->id);
        held->attempt = job->attempt;
        held->progress[0] = (double)job->progress.horizon;
        held->progress[1] = job->progress.nodes;
        held->progress[2] = job->progress.gap;
    }
    pthread_mutex_unlock(&operations->lock);
    if (all.len == 0 || db_transact(app->db, beat, &all, &err) != STATUS_OK) // the next one tries again
        return;
    pthread_mutex_lock(&operations->lock);
    for (struct job *job = operations->jobs; job != NULL; job = job->next)
        for (const struct held *held = all.jobs; held < all.jobs + all.len; held++)
            job->is_cancelled |= held->is_lost && held->attempt == job->attempt && strcmp(held->id, job->id) == 0;
    pthread_cond_broadcast(&operations->changed);
    pthread_mutex_unlock(&operations->lock);
}

/* ---- what nobody has ---- */

struct left_over {
    struct app *app;
    int64_t     by_ms, at_most; /* whose leases end by then */
    bool        is_there;
    struct job *jobs;
};

/* Finds operations without a server; those of a study that another server works on are that server's. */
static struct db_rows find_left(struct db_conn *conn, const struct left_over *left, struct error *err)
{
    return db_query(conn, NULL, err, SQL_OPERATION_LEFT,
                    BIND(INT(left->by_ms), TEXT(left->app->operations->owner), INT(left->at_most)));
}

static enum status look(struct db_conn *conn, void *arg, struct error *err)
{
    struct left_over *left = arg;
    struct db_rows    rows = find_left(conn, left, err);
    left->is_there = db_next(&rows);
    return db_done(&rows);
}

/* Charges the computation to its project, as if that had just asked for it. */
static enum status charge(struct db_conn *conn, struct job *job, const char *project, struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, &job->arena, &rows, err, SQL_PROJECT_GET, BIND(TEXT(project))));
    const struct row_project *row = row_project(&rows);
    job->caller.quota = row == NULL ? NULL : quota_learn(job->app, row);
    return row == NULL || job->caller.quota != NULL ? STATUS_OK : error_no_memory(err);
}

static bool is_under_way(struct operations *operations, const char *id)
{
    bool is = false;
    pthread_mutex_lock(&operations->lock);
    for (const struct job *job = operations->jobs; job != NULL && !is; job = job->next)
        is = strcmp(job->id, id) == 0;
    pthread_mutex_unlock(&operations->lock);
    return is;
}

/* Nobody else knows of these jobs. */
static void drop(struct left_over *left)
{
    for (struct job *job = left->jobs, *next; job != NULL; job = next) {
        next = job->next;
        operation_job_leave(job);
    }
    left->jobs = NULL;
}

/* In their order. */
static enum status collect(struct db_conn *conn, struct left_over *left, struct error *err)
{
    struct job   **last = &left->jobs;
    struct db_rows rows = find_left(conn, left, err);
    while (db_next(&rows)) {
        const struct row_operation_left *row = row_operation_left(&rows);
        if (is_under_way(left->app->operations, row->id))
            continue;
        const struct suggest_request request = {.count = row->count,
                                                .worker = row->worker,
                                                .fixed = row->fixed.bytes,
                                                .said = row->said,
                                                .fixed_len = row->fixed.length / sizeof(double),
                                                .deadline_ms = row->deadline_ms};
        struct job *job = operation_job_new(left->app, row->id, row->study, row->actor, &request, row->fixed.length);
        if (job == NULL) {
            rows.status = error_no_memory(err);
        } else {
            job->attempt = row->attempt + 1;
            *last = job;
            last = &job->next;
            rows.status = charge(conn, job, row->project, err);
        }
    }
    return db_done(&rows);
}

static enum status claim(struct db_conn *conn, void *arg, struct error *err)
{
    struct left_over *left = arg;
    drop(left); // of a run that was undone
    TRY(collect(conn, left, err));
    for (struct job **at = &left->jobs; *at != NULL;) {
        struct job *job = *at;
        if (job->attempt <= ATTEMPTS_MAX) {
            TRY(db_exec(conn, NULL, err, SQL_OPERATION_CLAIM,
                        BIND(TEXT(job->id), INT(job->attempt - 1), TEXT(left->app->operations->owner),
                             INT(operation_lease_end(left->app)))));
            at = &job->next;
            continue;
        }
        job->attempt--; // the row keeps the attempt that ended
        (void)error_set(&job->error, STATUS_INTERNAL, "internal", "", "%d servers ended or stopped before it was done",
                        ATTEMPTS_MAX);
        TRY(operation_job_fail(conn, job, err));
        *at = job->next;
        operation_job_leave(job);
    }
    return STATUS_OK;
}

/* A lease whose job cannot be submitted ends, too. */
static enum status take_over(struct left_over *left, struct error *err)
{
    TRY(db_read(left->app->db, look, left, err));
    left->app->operations->has_all = !left->is_there;
    if (!left->is_there)
        return STATUS_OK;
    enum status status = db_transact(left->app->db, claim, left, err);
    if (status != STATUS_OK)
        drop(left);
    for (struct job *job = left->jobs, *next; job != NULL; job = next) {
        struct error own;
        char         id[sizeof job->id];
        int64_t      attempt = job->attempt;
        memcpy(id, job->id, sizeof id);
        next = job->next;
        if (operation_job_submit(left->app, job, false, &own) != STATUS_OK)
            log_event(LOG_ERROR, "operation_not_resumed", "id=%s code=%s", id, own.code);
        else
            log_event(LOG_INFO, "operation_resumed", "id=%s attempt=%lld", id, (long long)attempt);
    }
    return status;
}

static enum status leave(struct db_conn *conn, void *arg, struct error *err)
{
    const struct operations *operations = arg;
    return db_exec(conn, NULL, err, SQL_OPERATIONS_LEAVE, BIND(TEXT(operations->owner)));
}

static void give_back(struct app *app)
{
    struct error err;
    if (db_transact(app->db, leave, app->operations, &err) != STATUS_OK)
        log_event(LOG_ERROR, "operations_not_left", "code=%s", err.code);
}

/* Takes over only as many operations as it soon starts, as long as the server before it left some. */
static void *beat_on(void *arg)
{
    struct app        *app = arg;
    struct operations *operations = app->operations;
    struct error       err;
    while (!clock_wait(&operations->lock, &operations->changed, &operations->is_stopping, OPERATIONS_BEAT_MS)) {
        beat_once(app);
        int64_t          has = (int64_t)operations_running(operations);
        struct left_over left = {.app = app, .by_ms = steady_ms(app), .at_most = 2 * OPERATIONS_AT_ONCE - has};
        bool             is_needed = left.at_most > 0 && !operations->has_all;
        if (is_needed && take_over(&left, &err) != STATUS_OK)
            log_event(LOG_ERROR, "operations_not_taken_over", "code=%s", err.code);
    }
    give_back(app); // while requests end
    return NULL;
}

void operations_stop(struct app *app)
{
    struct operations *operations = app->operations;
    operations_halt(app);
    workers_stop(operations->workers);
    operations->workers = NULL;
    if (!operations->does_beat)
        return;
    pthread_join(operations->beat, NULL);
    operations->does_beat = false;
    give_back(app); // operations that came since then
}

enum status operations_beat(struct app *app, struct error *err)
{
    struct operations *operations = app->operations;
    enum status        status = STATUS_OK;
    pthread_mutex_lock(&operations->lock);
    if (!operations->does_beat && !operations->is_stopping) {
        operations->does_beat = pthread_create(&operations->beat, NULL, beat_on, app) == 0;
        if (!operations->does_beat)
            status = error_set(err, STATUS_BUSY, "threads", "", "cannot start a thread");
    }
    pthread_mutex_unlock(&operations->lock);
    return status;
}

enum status operations_resume(struct app *app, struct error *err)
{
    // Whoever had them is gone.
    struct left_over left = {.app = app, .by_ms = INT64_MAX, .at_most = OPERATIONS_WAITING_MAX};
    struct error     own;
    enum status      looks = take_over(&left, err), beats = operations_beat(app, looks == STATUS_OK ? err : &own);
    return looks == STATUS_OK ? beats : looks;
}
