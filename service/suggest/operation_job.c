/* See operation_job.h.
 * Invariants: a job is in the list from before it is queued until its work is over; its row is running as long as
 * nobody ended it, and only one UPDATE can do that, so a trial is never written for an operation that was cancelled.
 * One server has a store at a time, so a running row without a job is what an earlier process left (operation_resume.c). */
#include "service/suggest/operation_job.h"

#include "service/app/memory.h"
#include "service/base/clock.h"
#include "service/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ATTEMPTS_MAX: an operation that has ended so many servers, or was begun anew by so many, is not tried again. */
enum { JOB_ARENA_BYTES = 64 << 20, TRIES = 5, PAUSE_MS = 200, ATTEMPTS_MAX = 10 };

// clang-format off
const char *const operation_state_names[OPERATION_STATE_COUNT + 1] = {
    [OPERATION_RUNNING] = "running",     [OPERATION_SUCCEEDED] = "succeeded",
    [OPERATION_FAILED] = "failed",       [OPERATION_CANCELLED] = "cancelled",
};
// clang-format on

static const struct workers_lane only_lane = {.at_once = OPERATIONS_AT_ONCE, .waiting = OPERATIONS_WAITING_MAX};

struct operations *operations_new(void)
{
    struct operations *operations = calloc(1, sizeof *operations);
    if (operations == NULL)
        return NULL;
    clock_cond_init(&operations->changed);
    pthread_mutex_init(&operations->lock, NULL);
    return operations;
}

void operations_halt(struct app *app)
{
    struct operations *operations = app->operations;
    pthread_mutex_lock(&operations->lock);
    operations->is_stopping = true;
    pthread_cond_broadcast(&operations->changed);
    pthread_mutex_unlock(&operations->lock);
}

void operations_stop(struct app *app)
{
    operations_halt(app);
    workers_stop(app->operations->workers);
    app->operations->workers = NULL;
}

size_t operations_running(struct operations *operations)
{
    size_t count = 0;
    pthread_mutex_lock(&operations->lock);
    for (const struct job *job = operations->jobs; job != NULL; job = job->next)
        count++;
    pthread_mutex_unlock(&operations->lock);
    return count;
}

void operations_free(struct operations *operations)
{
    if (operations == NULL)
        return;
    pthread_cond_destroy(&operations->changed);
    pthread_mutex_destroy(&operations->lock);
    free(operations);
}

/* ---- jobs ---- */

/* The lock is held. */
void operation_job_leave(struct job *job)
{
    if (--job->users > 0)
        return;
    arena_fini(&job->arena);
    free(job);
}

/* The job outlives the request that asked for it: whatever that points to is copied, its fixed with so many bytes. */
struct job *operation_job_new(struct app *app, const char *id, const char *study, const char *actor,
                              const struct plan *asked, size_t bytes)
{
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return NULL;
    job->app = app;
    arena_init(&job->arena, JOB_ARENA_BYTES);
    job->arena.pool = app->memory;
    snprintf(job->id, sizeof job->id, "%s", id);
    snprintf(job->study, sizeof job->study, "%s", study);
    snprintf(job->caller.token_id, sizeof job->caller.token_id, "%s", actor);
    job->caller.scope = SCOPE_WRITE;
    job->caller.arena = &job->arena;
    double *fixed = asked->fixed == NULL ? NULL : arena_alloc(&job->arena, bytes, 1);
    if (fixed != NULL)
        memcpy(fixed, asked->fixed, bytes);
    job->plan.count = asked->count;
    job->plan.worker = arena_strndup(&job->arena, asked->worker, strlen(asked->worker));
    job->plan.fixed = fixed;
    job->plan.fixed_len = bytes / sizeof *fixed;
    job->plan.said = asked->said == NULL ? NULL : arena_strndup(&job->arena, asked->said, strlen(asked->said));
    job->plan.deadline_ms = asked->deadline_ms;
    job->attempt = 1;
    job->users = 1;
    if (job->plan.worker != NULL && (fixed != NULL || asked->fixed == NULL) &&
        (job->plan.said != NULL || asked->said == NULL))
        return job;
    operation_job_leave(job);
    return NULL;
}

static bool is_stopped(void *arg)
{
    struct job        *job = arg;
    struct operations *operations = job->app->operations;
    pthread_mutex_lock(&operations->lock);
    bool stopped = job->is_cancelled || operations->is_stopping;
    pthread_mutex_unlock(&operations->lock);
    return stopped;
}

static void notify(void *arg, const struct plan_state *state)
{
    struct job *job = arg;
    pthread_mutex_lock(&job->app->operations->lock);
    job->progress = *state;
    pthread_mutex_unlock(&job->app->operations->lock);
}

/* In the transaction that writes the trials. */
static enum status end_well(struct db_conn *conn, void *arg, const struct suggest_reply *reply, struct error *err)
{
    struct job *job = arg;
    int64_t     changes, *numbers = ARENA_NEW(&job->arena, int64_t, reply->len + 1);
    if (numbers == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < reply->len; i++)
        numbers[i] = reply->trials[i].number;
    TRY(db_exec(conn, &changes, err, SQL_OPERATION_END,
                BIND(TEXT(job->id), TEXT(operation_state_names[OPERATION_SUCCEEDED]),
                     BLOB(numbers, reply->len * sizeof *numbers), INT(reply->revision), TEXT(NULL), TEXT(NULL),
                     INT(job->app->now_ms()), INT(0))));
    return changes > 0 ? STATUS_OK
                       : error_set(err, STATUS_CONFLICT, "operation_finished", "", "the operation was cancelled");
}

/* Fails the row as the request itself would have failed: BUSY asks the client to come again. */
enum status operation_job_fail(struct db_conn *conn, void *arg, struct error *err)
{
    struct job *job = arg;
    int         told = job->error.retry_after_seconds, seconds = told > 0 ? told : job->error.status == STATUS_BUSY;
    return db_exec(conn, NULL, err, SQL_OPERATION_END,
                   BIND(TEXT(job->id), TEXT(operation_state_names[OPERATION_FAILED]), BLOB(NULL, 0), INT(0),
                        TEXT(job->error.code), TEXT(job->error.text), INT(job->app->now_ms()), INT(seconds)));
}

/* False: it is stopped. */
static bool pause_a_moment(struct job *job)
{
    struct operations    *operations = job->app->operations;
    const struct timespec until = clock_after_ms(PAUSE_MS);
    pthread_mutex_lock(&operations->lock);
    while (!job->is_cancelled && !operations->is_stopping &&
           pthread_cond_timedwait(&operations->changed, &operations->lock, &until) == 0)
        continue;
    bool goes_on = !job->is_cancelled && !operations->is_stopping;
    pthread_mutex_unlock(&operations->lock);
    return goes_on;
}

/* A store that is away for a while must hear of it in the end. */
static void fail(struct job *job)
{
    struct error error;
    enum status  status;
    workers_end_job(); // as in give() of suggest.c
    for (bool is_told = false; (status = db_transact(job->app->db, operation_job_fail, job, &error)) != STATUS_OK;
         is_told = true) {
        if (!is_told)
            log_event(LOG_ERROR, "operation_not_ended", "id=%s code=%s", job->id, error.code);
        if (status != STATUS_BUSY || !pause_a_moment(job))
            return;
    }
}

static enum status note_attempt(struct db_conn *conn, void *arg, struct error *err)
{
    const struct job *job = arg;
    return db_exec(conn, NULL, err, SQL_OPERATION_ATTEMPT, BIND(TEXT(job->id), INT(job->attempt)));
}

/* Whether the work may begin: an attempt is counted before it can end the server. */
static bool may_begin(struct job *job)
{
    if (job->attempt == 1) // its row was written with it
        return true;
    if (job->attempt <= ATTEMPTS_MAX)
        return db_transact(job->app->db, note_attempt, job, &job->error) == STATUS_OK;
    (void)error_set(&job->error, STATUS_INTERNAL, "internal", "", "%d servers ended or stopped before it was done",
                    ATTEMPTS_MAX);
    return false;
}

static void suggest(struct job *job)
{
    const struct suggest_watch watch = {.notify = notify, .end = end_well, .arg = job};
    struct suggest_reply       reply;
    job->plan.watch = &watch;
    job->caller.has_left = is_stopped;
    job->caller.request = job;
    for (int i = 0; i < TRIES && !is_stopped(job); i++) {
        job->status = trial_suggest(job->app, &job->caller, job->study, &job->plan, &reply, &job->error);
        if (job->status != STATUS_BUSY || strcmp(job->error.code, "deadline_exceeded") == 0)
            break; // otherwise something happened to the study while the plan was made
    }
}

static void work(struct job *job)
{
    if (may_begin(job))
        suggest(job);
    else
        job->status = job->error.status;
    if (job->status != STATUS_OK && !is_stopped(job))
        fail(job);
}

static void run(void *arg)
{
    struct job        *job = arg;
    struct operations *operations = job->app->operations;
    if (!is_stopped(job))
        work(job);
    memory_let_go(job->app, &job->caller);
    workers_end_job(); // where it was stopped
    pthread_mutex_lock(&operations->lock);
    job->is_over = true;
    for (struct job **link = &operations->jobs; *link != NULL; link = &(*link)->next)
        if (*link == job) {
            *link = job->next;
            break;
        }
    pthread_cond_broadcast(&operations->changed);
    operation_job_leave(job);
    pthread_mutex_unlock(&operations->lock);
}

/* Puts the job into the list and the queue.  On failure the job is gone. */
static enum status submit(struct app *app, struct job *job, bool will_wait, struct error *err)
{
    struct operations *operations = app->operations;
    enum status        status = STATUS_OK;
    pthread_mutex_lock(&operations->lock);
    if (operations->is_stopping)
        status = error_set(err, STATUS_BUSY, "draining", "", "the service is stopping");
    if (status == STATUS_OK && operations->workers == NULL)
        status = workers_start(OPERATIONS_AT_ONCE, &only_lane, 1, WORKERS_LONG_NICE, &operations->workers, err);
    job->users += will_wait;
    job->next = operations->jobs;
    struct workers_job own = {.run = run, .arg = job};
    memcpy(own.owner, job->caller.token_id, sizeof own.owner);
    memcpy(own.project, job->project, sizeof own.project);
    if (status == STATUS_OK)
        status = workers_submit(operations->workers, &own, err);
    if (status == STATUS_OK) {
        operations->jobs = job;
    } else {
        job->users = 1;
        operation_job_leave(job);
    }
    pthread_mutex_unlock(&operations->lock);
    return status;
}

enum status operation_job_begin(struct app *app, const char *id, struct job *job, struct job **out, struct error *err)
{
    struct job  failed = {.app = app};
    enum status status = job == NULL ? error_no_memory(&failed.error) : submit(app, job, out != NULL, &failed.error);
    if (out != NULL)
        *out = status == STATUS_OK ? job : NULL;
    if (status == STATUS_OK || strcmp(failed.error.code, "draining") == 0) // the next process takes it up
        return STATUS_OK;
    snprintf(failed.id, sizeof failed.id, "%s", id);
    TRY(db_transact(app->db, operation_job_fail, &failed, err));
    *err = failed.error;
    return status;
}
