/* See operation.h.
 * Invariants: a job is in the list from before it is queued until its work is over; its row is running as long as
 * nobody ended it, and only one UPDATE can do that, so a trial is never written for an operation that was cancelled. */
#include "service/study/operation.h"

#include "service/app/memory.h"
#include "service/app/app_transact.h"
#include "service/app/event_log.h"
#include "service/app/home.h"
#include "service/app/quota.h"
#include "service/base/log.h"
#include "service/base/page.h"
#include "service/base/random.h"
#include "service/store/rows.h"
#include "service/base/workers.h"
#include "service/base/clock.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { JOB_ARENA_BYTES = 64 << 20, TRIES = 5, PAUSE_MS = 200 };

// clang-format off
const char *const operation_state_names[OPERATION_STATE_COUNT + 1] = {
    [OPERATION_RUNNING] = "running",     [OPERATION_SUCCEEDED] = "succeeded",
    [OPERATION_FAILED] = "failed",       [OPERATION_CANCELLED] = "cancelled",
};
// clang-format on

struct job {
    struct app            *app;
    struct arena           arena;
    struct caller          caller;
    char                   id[24], study[24];
    struct suggest_request request;
    bool                   is_cancelled, is_over;
    enum status            status;
    struct error           error;
    struct plan_state      progress;
    size_t                 users; /* who may still look: the list, and each who waits */
    struct job            *next;
};

struct operations {
    pthread_mutex_t lock; /* of everything here and in the jobs */
    pthread_cond_t  changed;
    struct workers *workers; /* NULL until something is to be done */
    struct job     *jobs;
    size_t          watched; /* requests that wait */
    bool            is_stopping;
};

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
static void job_leave(struct job *job)
{
    if (--job->users > 0)
        return;
    arena_fini(&job->arena);
    free(job);
}

/* The job outlives the request that asked for it: whatever that points to is copied, its fixed with so many bytes. */
static struct job *job_new(struct app *app, const char *id, const char *study, const char *actor,
                           const struct suggest_request *request, size_t bytes)
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
    double *fixed = request->fixed == NULL ? NULL : arena_alloc(&job->arena, bytes, 1);
    if (fixed != NULL)
        memcpy(fixed, request->fixed, bytes);
    job->request = (struct suggest_request){
        .count = request->count,
        .worker = arena_strndup(&job->arena, request->worker, strlen(request->worker)),
        .fixed = fixed,
        .said = request->said == NULL ? NULL : arena_strndup(&job->arena, request->said, strlen(request->said)),
        .fixed_len = bytes / sizeof *fixed,
        .deadline_ms = request->deadline_ms,
    };
    job->users = 1;
    if (job->request.worker != NULL && (fixed != NULL || request->fixed == NULL) &&
        (job->request.said != NULL || request->said == NULL))
        return job;
    job_leave(job);
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
    if (changes == 0)
        return error_set(err, STATUS_CONFLICT, "operation_finished", "", "the operation was cancelled");
    return STATUS_OK;
}

/* As the request itself would have been told, if it had waited, who was not served for now is to ask again. */
static enum status end_badly(struct db_conn *conn, void *arg, struct error *err)
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

/* A store that is away for a while must hear of it in the end: a row that says that it runs is nobody else's to end, as long as
 * this server lives. */
static void fail(struct job *job)
{
    struct error error;
    enum status  status;
    for (bool is_told = false; (status = db_transact(job->app->db, end_badly, job, &error)) != STATUS_OK;
         is_told = true) {
        if (!is_told)
            log_event(LOG_ERROR, "operation_not_ended", "id=%s code=%s", job->id, error.code);
        if (status != STATUS_BUSY || !pause_a_moment(job))
            return;
    }
}

static void work(struct job *job)
{
    const struct suggest_watch watch = {.notify = notify, .end = end_well, .arg = job};
    struct suggest_reply       reply;
    job->request.watch = &watch;
    job->caller.has_left = is_stopped;
    job->caller.left_arg = job;
    for (int i = 0; i < TRIES && !is_stopped(job); i++) {
        job->status = trial_suggest(job->app, &job->caller, job->study, &job->request, &reply, &job->error);
        if (job->status != STATUS_BUSY || strcmp(job->error.code, "deadline_exceeded") == 0)
            break; // otherwise something happened to the study while the plan was made
    }
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
    pthread_mutex_lock(&operations->lock);
    job->is_over = true;
    for (struct job **link = &operations->jobs; *link != NULL; link = &(*link)->next)
        if (*link == job) {
            *link = job->next;
            break;
        }
    pthread_cond_broadcast(&operations->changed);
    job_leave(job);
    pthread_mutex_unlock(&operations->lock);
}

/* Into the list and the queue.  On failure the job is gone. */
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
    if (status == STATUS_OK)
        status = workers_submit(operations->workers, &own, err);
    if (status == STATUS_OK) {
        operations->jobs = job;
    } else {
        job->users = 1;
        job_leave(job);
    }
    pthread_mutex_unlock(&operations->lock);
    return status;
}

/* ---- rows ---- */

/* What the transactions here share; in the arena, because the operation that is shown points to its study. */
struct work {
    struct task                   task;
    char                          id[24]; /* of the operation */
    const struct suggest_request *request;
    struct operation             *out;
    bool                          is_new;
};

static struct work *work_new(struct app *app, struct caller *caller, const char *study, struct operation *out)
{
    struct work *work = ARENA_NEW(caller->arena, struct work, 1);
    *out = (struct operation){0};
    if (work != NULL)
        *work = (struct work){.task = task_of(app, caller, study), .out = out};
    return work;
}

/* Without its trials. */
static enum status read_row(const struct row_operation *row, struct operation *out, const int64_t **numbers,
                            struct error *err)
{
    int state;
    TRY(rows_state(operation_state_names, row->state, row->id, &state, err));
    *out = (struct operation){.state = (enum operation_state)state,
                              .revision = row->revision,
                              .created_ms = row->created_ms,
                              .finished_ms = row->finished_ms,
                              .retry_after_seconds = (int)row->retry_after_seconds,
                              .code = row->code,
                              .detail = row->detail,
                              .len = row->trials.length / sizeof(int64_t)};
    snprintf(out->id, sizeof out->id, "%s", row->id);
    snprintf(out->study, sizeof out->study, "%s", row->study);
    *numbers = row->trials.bytes;
    return STATUS_OK;
}

/* With its trials. */
static enum status load(struct db_conn *conn, void *arg, struct error *err)
{
    struct work      *work = arg;
    struct operation *out = work->out;
    struct arena     *arena = work->task.caller->arena;
    const int64_t    *numbers;
    struct db_rows    rows;
    TRY(db_find(conn, arena, &rows, err, SQL_OPERATION_GET, BIND(TEXT(work->id))));
    const struct row_operation *row = row_operation(&rows);
    enum status                 seen =
        row == NULL ? STATUS_NOT_FOUND : home_check_in(conn, work->task.caller, "study", row->study, err);
    if (seen != STATUS_OK && seen != STATUS_NOT_FOUND)
        return seen; // the store could not say
    if (seen != STATUS_OK)
        return error_set(err, STATUS_NOT_FOUND, "operation_not_found", "", "there is no such operation");
    TRY(read_row(row, out, &numbers, err));
    work->task.id = out->study;
    TRY(task_open(conn, &work->task, err));
    out->of = &work->task.study;
    out->trials = ARENA_NEW(arena, struct trial, out->len + 1);
    if (out->trials == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < out->len; i++)
        TRY(rows_trial_get(conn, &work->task, numbers[i], &out->trials[i], err));
    return STATUS_OK;
}

static void find_progress(struct operations *operations, const char *id, struct plan_state *progress)
{
    pthread_mutex_lock(&operations->lock);
    for (const struct job *job = operations->jobs; job != NULL; job = job->next)
        if (strcmp(job->id, id) == 0)
            *progress = job->progress;
    pthread_mutex_unlock(&operations->lock);
}

static enum status find(struct work *work, struct error *err)
{
    TRY(db_read(work->task.app->db, load, work, err));
    if (work->out->state == OPERATION_RUNNING)
        find_progress(work->task.app->operations, work->out->id, &work->out->progress);
    return STATUS_OK;
}

enum status operation_find(struct app *app, struct caller *caller, const char *id, struct operation *out,
                           struct error *err)
{
    struct work *work = work_new(app, caller, "", out);
    if (work == NULL)
        return error_no_memory(err);
    snprintf(work->id, sizeof work->id, "%s", id);
    return find(work, err);
}

/* ---- list ---- */

struct listing {
    struct task                    task; /* of the study, if they are one's */
    const struct operation_filter *filter;
    struct operation_page         *out;
};

static enum status read_item(const struct row_operation_listed *row, struct operation_item *out, struct error *err)
{
    int state;
    TRY(rows_state(operation_state_names, row->state, row->id, &state, err));
    *out = (struct operation_item){.state = (enum operation_state)state,
                                   .worker = row->worker,
                                   .code = row->code,
                                   .detail = row->detail,
                                   .count = row->count,
                                   .trials = row->trials.bytes,
                                   .len = row->trials.length / sizeof(int64_t),
                                   .created_ms = row->created_ms,
                                   .finished_ms = row->finished_ms};
    snprintf(out->id, sizeof out->id, "%s", row->id);
    snprintf(out->study, sizeof out->study, "%s", row->study);
    return STATUS_OK;
}

static const char *names_of(int64_t states, char out[64])
{
    size_t length = 0;
    out[0] = '\0';
    for (size_t state = 0; state < OPERATION_STATE_COUNT; state++)
        if (states >> state & 1)
            length += (size_t)snprintf(out + length, 64 - length, "%s ", operation_state_names[state]);
    return out;
}

static enum status list(struct db_conn *conn, void *arg, struct error *err)
{
    struct listing                *listing = arg;
    const struct operation_filter *filter = listing->filter;
    struct operation_page         *out = listing->out;
    struct caller                 *caller = listing->task.caller;
    int64_t                        limit = page_limit(filter->limit);
    bool                           is_all = filter->study == NULL && caller->scope == SCOPE_ADMIN;
    struct page_place              after;
    char                           names[64];
    *out = (struct operation_page){0};
    if (filter->study != NULL)
        TRY(task_open(conn, &listing->task, err));
    TRY(page_after_place(filter->cursor, &after, err));
    out->operations = ARENA_NEW(caller->arena, struct operation_item, (size_t)limit);
    if (out->operations == NULL)
        return error_no_memory(err);
    struct db_rows rows =
        db_query(conn, caller->arena, err,
                 filter->study != NULL ? SQL_OPERATIONS_OF_STUDY
                 : is_all              ? SQL_OPERATIONS_OF_PROJECT
                                       : SQL_OPERATIONS_OF_ACTOR,
                 BIND(TEXT(filter->study != NULL ? filter->study
                           : is_all              ? caller_project(caller)
                                                 : caller->token_id),
                      TEXT(names_of(filter->states, names)), INT(after.created_ms == 0 ? INT64_MAX : after.created_ms),
                      TEXT(after.id), INT(limit + 1)));
    while (db_next(&rows) && (int64_t)out->len < limit)
        rows.status = read_item(row_operation_listed(&rows), &out->operations[out->len++], err);
    if (rows.has_row) {
        const struct operation_item *last = &out->operations[out->len - 1];
        rows.status = page_next_place(caller->arena, last->created_ms, last->id, &out->next_cursor, err);
    }
    return db_done(&rows);
}

enum status operation_list(struct app *app, struct caller *caller, const struct operation_filter *filter,
                           struct operation_page *out, struct error *err)
{
    struct listing listing = {.task = task_of(app, caller, filter->study), .filter = filter, .out = out};
    if (filter->study != NULL)
        TRY(home_check(app, caller, "study", filter->study, err));
    TRY(db_browse(app->db, list, &listing, err));
    for (struct operation_item *item = out->operations; item < out->operations + out->len; item++)
        if (item->state == OPERATION_RUNNING)
            find_progress(app->operations, item->id, &item->progress);
    return STATUS_OK;
}

/* ---- begin ---- */

static enum status log_operation(struct db_conn *conn, const struct work *work, const char *kind, struct error *err)
{
    return event_log(conn,
                     EVENT(.at_ms = work->task.now_ms, .kind = kind, .study = work->out->study,
                           .project = work->task.study.project, .actor = work->task.caller->token_id,
                           .detail = work->id),
                     err);
}

static size_t fixed_bytes(const struct space *space, const struct suggest_request *request)
{
    return request->fixed == NULL ? 0 : space_point_len(space) * sizeof *request->fixed;
}

/* The one of this worker that runs, if it has a name, or a new one.  With other fixed values it is another request, and would give the
 * worker a second trial. */
static enum status add(struct db_conn *conn, void *arg, struct error *err)
{
    struct work                  *work = arg;
    const struct task            *task = &work->task;
    const struct suggest_request *request = work->request;
    struct operation             *out = work->out;
    const int64_t                *numbers;
    struct db_rows                rows;
    TRY(task_open(conn, &work->task, err));
    size_t bytes = fixed_bytes(&task->study.spec.space, request);
    TRY(db_find(conn, task->caller->arena, &rows, err, SQL_OPERATION_OF_WORKER,
                BIND(TEXT(task->id), TEXT(request->worker), BLOB(request->fixed, bytes))));
    const struct row_operation *row = row_operation(&rows);
    bool                        is_named = request->worker[0] != '\0'; // who has no name is somebody else each time
    work->is_new = row == NULL || row->is_same == 0 || !is_named;
    if (row != NULL && work->is_new && is_named)
        return error_set(err, STATUS_CONFLICT, "fixed_conflict", "/fixed",
                         "operation %.23s of this worker still runs, with other values", row->id);
    *out = (struct operation){.created_ms = task->now_ms};
    if (!work->is_new) {
        TRY(read_row(row, out, &numbers, err));
    } else {
        TRY(trial_may_be_given(&task->study, err));
        snprintf(out->study, sizeof out->study, "%s", task->id);
        TRY(random_id(out->id, sizeof out->id, "op_", 16, err));
    }
    memcpy(work->id, out->id, sizeof work->id);
    out->of = &task->study;
    if (!work->is_new)
        return STATUS_OK;
    TRY(db_exec(conn, NULL, err, SQL_OPERATION_ADD,
                BIND(TEXT(out->id), TEXT(out->study), TEXT(task->caller->token_id), INT(request->count),
                     TEXT(request->worker), BLOB(request->fixed, bytes), INT(request->deadline_ms),
                     INT(out->created_ms), TEXT(request->said), TEXT(task->study.project))));
    return log_operation(conn, work, "operation.created", err);
}

/* Until the job is over, the time is up, or the service stops. */
static void wait_for(struct operations *operations, const struct job *job, int64_t wait_ms)
{
    const struct timespec until = clock_after_ms(wait_ms);
    if (operations->watched == OPERATIONS_WATCHED_MAX)
        return;
    operations->watched++;
    while (!job->is_over && !operations->is_stopping &&
           pthread_cond_timedwait(&operations->changed, &operations->lock, &until) == 0)
        continue;
    operations->watched--;
}

/* The job of an operation that was there already, with a user more; NULL: it is over. */
static struct job *join(struct operations *operations, const char *id)
{
    pthread_mutex_lock(&operations->lock);
    struct job *job = operations->jobs;
    while (job != NULL && strcmp(job->id, id) != 0)
        job = job->next;
    if (job != NULL)
        job->users++;
    pthread_mutex_unlock(&operations->lock);
    return job;
}

/* Starts the job of a new row; a row whose job cannot start is ended at once. */
static enum status start(struct work *work, struct job **out, struct error *err)
{
    struct app *app = work->task.app;
    struct job  failed = {.app = app};
    struct job *job = job_new(app, work->id, work->task.id, work->task.caller->token_id, work->request,
                              fixed_bytes(&work->task.study.spec.space, work->request));
    if (job != NULL)
        job->caller.quota = work->task.caller->quota;
    enum status status = job == NULL ? error_no_memory(&failed.error) : submit(app, job, true, &failed.error);
    *out = status == STATUS_OK ? job : NULL;
    if (status == STATUS_OK || strcmp(failed.error.code, "draining") == 0) // which a restart takes up
        return STATUS_OK;
    memcpy(failed.id, work->id, sizeof failed.id);
    TRY(db_transact(app->db, end_badly, &failed, err));
    *err = failed.error;
    return failed.error.status;
}

/* Waits for the job, and lets it go. */
static enum status await(struct operations *operations, struct job *job, int64_t wait_ms, struct error *err)
{
    enum status status = STATUS_OK;
    pthread_mutex_lock(&operations->lock);
    wait_for(operations, job, wait_ms);
    if (job->is_over && job->status != STATUS_OK && !job->is_cancelled && !operations->is_stopping) {
        status = job->status;
        *err = job->error;
    }
    job_leave(job);
    pthread_mutex_unlock(&operations->lock);
    return status;
}

enum status operation_begin(struct app *app, struct caller *caller, const char *study, const struct operation_new *new,
                            struct operation *out, struct error *err)
{
    struct work *work = work_new(app, caller, study, out);
    struct job  *job = NULL;
    if (work == NULL)
        return error_no_memory(err);
    work->request = new->request;
    TRY(caller_sees(caller, "study", study, err));
    TRY(app_transact(app, caller, add, work, err));
    if (caller->idempotency.replayed)
        return STATUS_OK;
    if (work->is_new)
        TRY(start(work, &job, err));
    else
        job = join(app->operations, work->id);
    if (job != NULL)
        TRY(await(app->operations, job, new->wait_ms, err));
    return find(work, err);
}

/* ---- cancel ---- */

static enum status cancel(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    int64_t      changes;
    TRY(load(conn, work, err));
    TRY(db_exec(conn, &changes, err, SQL_OPERATION_END,
                BIND(TEXT(work->id), TEXT(operation_state_names[OPERATION_CANCELLED]), BLOB(NULL, 0), INT(0),
                     TEXT(NULL), TEXT(NULL), INT(work->task.now_ms), INT(0))));
    if (changes == 0)
        return error_set(err, STATUS_CONFLICT, "operation_finished", "", "the operation has ended: %s",
                         operation_state_names[work->out->state]);
    return log_operation(conn, work, "operation.cancelled", err);
}

/* Stops the work on one operation, or on those of a study; the other is NULL. */
static void cancel_jobs(struct operations *operations, const char *id, const char *study)
{
    pthread_mutex_lock(&operations->lock);
    for (struct job *job = operations->jobs; job != NULL; job = job->next)
        job->is_cancelled |=
            (id != NULL && strcmp(job->id, id) == 0) || (study != NULL && strcmp(job->study, study) == 0);
    pthread_mutex_unlock(&operations->lock);
}

enum status operation_cancel(struct app *app, struct caller *caller, const char *id, struct operation *out,
                             struct error *err)
{
    struct work *work = work_new(app, caller, "", out);
    if (work == NULL)
        return error_no_memory(err);
    snprintf(work->id, sizeof work->id, "%s", id);
    TRY(find(work, err));
    TRY(app_transact(app, caller, cancel, work, err));
    cancel_jobs(app->operations, work->id, NULL);
    return find(work, err);
}

void operations_forget(struct app *app, const char *study)
{
    if (app->operations != NULL)
        cancel_jobs(app->operations, NULL, study);
}

/* ---- resume ---- */

struct left_over {
    struct app *app;
    struct job *jobs;
};

/* What it computes is its project's, as if that had just asked for it. */
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

static enum status collect(struct db_conn *conn, void *arg, struct error *err)
{
    struct left_over *left = arg;
    struct db_rows    rows = db_query(conn, NULL, err, SQL_OPERATION_LEFT, BIND_NONE);
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
        struct job *job = job_new(left->app, row->id, row->study, row->actor, &request, row->fixed.length);
        if (job == NULL) {
            rows.status = error_no_memory(err);
        } else {
            job->next = left->jobs;
            left->jobs = job;
            rows.status = charge(conn, job, row->project, err);
        }
    }
    return db_done(&rows);
}

enum status operations_resume(struct app *app, struct error *err)
{
    struct left_over left = {.app = app};
    enum status      status = db_read(app->db, collect, &left, err);
    for (struct job *job = left.jobs, *next; job != NULL; job = next) {
        struct error own;
        next = job->next;
        if (status == STATUS_OK && submit(app, job, false, &own) != STATUS_OK)
            log_event(LOG_ERROR, "operation_not_resumed", "code=%s", own.code);
        else if (status != STATUS_OK)
            job_leave(job);
    }
    return status;
}
