/* See operation.h: rows of operations.  operation_job.c has the work on them, operation_resume.c what an earlier process left. */
#include "service/suggest/operation_job.h"

#include "service/app/app_transact.h"
#include "service/app/event_log.h"
#include "service/app/home.h"
#include "service/base/clock.h"
#include "service/base/page.h"
#include "service/base/random.h"
#include "service/base/text.h"
#include "service/store/rows.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- rows ---- */

/* Arguments of the transactions here; in the arena, because the operation that is shown points to its study. */
struct work {
    struct task        task;
    char               id[24]; /* of the operation */
    const struct plan *plan;
    struct operation  *out;
    bool               is_new;
};

static struct work *work_new(struct app *app, struct caller *caller, const char *study, struct operation *out)
{
    struct work *work = ARENA_NEW(caller->arena, struct work, 1);
    *out = (struct operation){0};
    if (work != NULL)
        *work = (struct work){.task = task_of(app, caller, study), .out = out};
    return work;
}

static struct job *job_of(const struct operations *operations, const char *id)
{
    struct job *job = operations->jobs;
    while (job != NULL && strcmp(job->id, id) != 0)
        job = job->next;
    return job;
}

/* How far the work has come; nothing is known of what no job works on. */
static struct plan_state progress_of(struct operations *operations, const char *id)
{
    pthread_mutex_lock(&operations->lock);
    const struct job *job = job_of(operations, id);
    struct plan_state progress = {0};
    if (job != NULL)
        progress = job->progress;
    pthread_mutex_unlock(&operations->lock);
    return progress;
}

/* Without its trials. */
static enum status read_row(const struct row_operation *row, struct operation *out, struct error *err)
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
                              .worker = row->worker,
                              .count = row->count,
                              .numbers = row->trials.bytes,
                              .len = row->trials.length / sizeof(int64_t)};
    snprintf(out->id, sizeof out->id, "%s", row->id);
    snprintf(out->study, sizeof out->study, "%s", row->study);
    return STATUS_OK;
}

/* With its trials. */
static enum status load(struct db_conn *conn, void *arg, struct error *err)
{
    struct work      *work = arg;
    struct operation *out = work->out;
    struct arena     *arena = work->task.caller->arena;
    struct db_rows    rows;
    TRY(db_find(conn, arena, &rows, err, SQL_OPERATION_GET, BIND(TEXT(work->id))));
    const struct row_operation *row = row_operation(&rows);
    enum status                 seen =
        row == NULL ? STATUS_NOT_FOUND : home_check_in(conn, work->task.caller, "study", row->study, err);
    if (seen != STATUS_OK && seen != STATUS_NOT_FOUND)
        return seen; // the store could not say
    if (seen != STATUS_OK)
        return error_set(err, STATUS_NOT_FOUND, "operation_not_found", "", "there is no such operation");
    TRY(read_row(row, out, err));
    out->progress = progress_of(work->task.app->operations, out->id);
    work->task.id = out->study;
    TRY(task_open(conn, &work->task, err));
    out->of = &work->task.study;
    out->trials = ARENA_NEW(arena, struct trial, out->len + 1);
    if (out->trials == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < out->len; i++)
        TRY(rows_trial_get(conn, &work->task, out->numbers[i], &out->trials[i], err));
    return STATUS_OK;
}

static enum status find(struct work *work, struct error *err)
{
    return db_read(work->task.app->db, load, work, err);
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

static enum status list(struct db_conn *conn, void *arg, struct error *err)
{
    struct listing                *listing = arg;
    const struct operation_filter *filter = listing->filter;
    struct operation_page         *out = listing->out;
    struct caller                 *caller = listing->task.caller;
    int64_t                        limit = page_limit(filter->limit);
    bool                           is_all = filter->study == NULL && caller->scope == SCOPE_ADMIN;
    struct page_place              after;
    char                           names[TEXT_NAMES_BYTES];
    *out = (struct operation_page){0};
    if (filter->study != NULL)
        TRY(task_open(conn, &listing->task, err));
    TRY(page_after_place(filter->cursor, &after, err));
    out->operations = ARENA_NEW(caller->arena, struct operation, (size_t)limit);
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
                      TEXT(text_names(operation_state_names, filter->states, names)),
                      INT(after.created_ms == 0 ? INT64_MAX : after.created_ms), TEXT(after.id), INT(limit + 1)));
    while (db_next(&rows) && (int64_t)out->len < limit)
        rows.status = read_row(row_operation(&rows), &out->operations[out->len++], err);
    for (size_t i = 0; i < out->len; i++)
        out->operations[i].progress = progress_of(listing->task.app->operations, out->operations[i].id);
    if (rows.has_row) {
        const struct operation *last = &out->operations[out->len - 1];
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
    return db_read(app->db, list, &listing, err);
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

static size_t fixed_bytes(const struct space *space, const struct plan *plan)
{
    return plan->fixed == NULL ? 0 : space_point_len(space) * sizeof *plan->fixed;
}

/* The one of this worker that runs, if it has a name, or a new one.  With other fixed values it is another request, and would give the
 * worker a second trial. */
static enum status add(struct db_conn *conn, void *arg, struct error *err)
{
    struct work       *work = arg;
    const struct task *task = &work->task;
    const struct plan *plan = work->plan;
    struct operation  *out = work->out;
    struct db_rows     rows;
    TRY(task_open(conn, &work->task, err));
    size_t bytes = fixed_bytes(&task->study.spec.space, plan);
    TRY(db_find(conn, task->caller->arena, &rows, err, SQL_OPERATION_OF_WORKER,
                BIND(TEXT(task->id), TEXT(plan->worker), BLOB(plan->fixed, bytes))));
    const struct row_operation *row = row_operation(&rows);
    bool                        is_named = plan->worker[0] != '\0'; // a worker without a name is a new one each time
    work->is_new = row == NULL || row->is_same == 0 || !is_named;
    if (row != NULL && work->is_new && is_named)
        return error_set(err, STATUS_CONFLICT, "fixed_conflict", "/fixed",
                         "operation %.23s of this worker still runs, with other values", row->id);
    *out = (struct operation){.created_ms = task->now_ms};
    if (!work->is_new) {
        TRY(read_row(row, out, err));
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
                BIND(TEXT(out->id), TEXT(out->study), TEXT(task->caller->token_id), INT(plan->count),
                     TEXT(plan->worker), BLOB(plan->fixed, bytes), INT(plan->deadline_ms), INT(out->created_ms),
                     TEXT(plan->said), TEXT(task->study.project))));
    return log_operation(conn, work, "operation.created", err);
}

/* Until the job is over, the time is up, or the service stops. */
static void wait_for(struct operations *operations, const struct job *job, int64_t wait_ms)
{
    const struct timespec until = clock_after_ms(wait_ms);
    while (!job->is_over && !operations->is_stopping &&
           pthread_cond_timedwait(&operations->changed, &operations->lock, &until) == 0)
        continue;
}

/* The job of an operation that was there already, with a user more; NULL: it is over. */
static struct job *join(struct operations *operations, const char *id)
{
    pthread_mutex_lock(&operations->lock);
    struct job *job = job_of(operations, id);
    if (job != NULL)
        job->users++;
    pthread_mutex_unlock(&operations->lock);
    return job;
}

/* Starts the job of a new row. */
static enum status start(const struct work *work, struct job **out, struct error *err)
{
    struct app *app = work->task.app;
    struct job *job = operation_job_new(app, work->id, work->task.id, work->task.caller->token_id, work->plan,
                                        fixed_bytes(&work->task.study.spec.space, work->plan));
    if (job != NULL) {
        job->caller.quota = work->task.caller->quota;
        memcpy(job->project, work->task.caller->project, sizeof job->project);
    }
    return operation_job_begin(app, work->id, job, out, err);
}

/* Adds a waiting request; false: there are too many. */
static bool watch(struct operations *operations, const struct share_owner *owner)
{
    pthread_mutex_lock(&operations->lock);
    bool may = share_take(&operations->watched, SHARE_watched, owner);
    pthread_mutex_unlock(&operations->lock);
    return may;
}

static void watch_no_more(struct operations *operations, const struct share_owner *owner)
{
    pthread_mutex_lock(&operations->lock);
    share_leave(&operations->watched, owner);
    pthread_mutex_unlock(&operations->lock);
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
    operation_job_leave(job);
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
    work->plan = new->plan;
    TRY(caller_sees(caller, "study", study, err));
    TRY(app_transact(app, caller, add, work, err));
    if (caller->idempotency.replayed)
        return STATUS_OK;
    if (work->is_new)
        TRY(start(work, &job, err));
    else
        job = join(app->operations, work->id);
    const struct share_owner owner = share_owner(caller->project, caller->token_id);
    bool                     may_wait = watch(app->operations, &owner);
    enum status status = job == NULL ? STATUS_OK : await(app->operations, job, may_wait ? new->wait_ms : 0, err);
    if (may_wait)
        watch_no_more(app->operations, &owner);
    return status == STATUS_OK ? find(work, err) : status;
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
