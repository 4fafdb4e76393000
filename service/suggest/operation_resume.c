/* Operations that an earlier process of the store left running: they are done again, in their order. */
#include "service/suggest/operation_job.h"

#include "service/app/quota.h"
#include "service/base/log.h"

#include <stdio.h>

struct left_over {
    struct app *app;
    struct job *jobs;
};

/* Charges the computation to its project, as if that had just asked for it. */
static enum status charge(struct db_conn *conn, struct job *job, const char *project, struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, &job->arena, &rows, err, SQL_PROJECT_GET, BIND(TEXT(project))));
    const struct row_project *row = row_project(&rows);
    job->caller.quota = row == NULL ? NULL : quota_learn(job->app, row);
    return row == NULL || job->caller.quota != NULL ? STATUS_OK : error_no_memory(err);
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

static enum status collect(struct db_conn *conn, void *arg, struct error *err)
{
    struct left_over *left = arg;
    struct job      **last = &left->jobs;
    struct db_rows    rows = db_query(conn, NULL, err, SQL_OPERATION_LEFT, BIND_NONE);
    while (db_next(&rows)) {
        const struct row_operation_left *row = row_operation_left(&rows);
        const struct plan                asked = {.count = row->count,
                                                  .worker = row->worker,
                                                  .fixed = row->fixed.bytes,
                                                  .said = row->said,
                                                  .deadline_ms = row->deadline_ms};
        struct job *job = operation_job_new(left->app, row->id, row->study, row->actor, &asked, row->fixed.length);
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

enum status operations_resume(struct app *app, struct error *err)
{
    struct left_over left = {.app = app};
    enum status      status = db_read(app->db, collect, &left, err);
    if (status != STATUS_OK)
        drop(&left);
    for (struct job *job = left.jobs, *next; job != NULL; job = next) {
        struct error own;
        char         id[sizeof job->id];
        int64_t      attempt = job->attempt;
        snprintf(id, sizeof id, "%s", job->id);
        next = job->next;
        if (operation_job_begin(app, id, job, NULL, &own) != STATUS_OK)
            log_event(LOG_ERROR, "operation_not_resumed", "id=%s code=%s", id, own.code);
        else
            log_event(LOG_INFO, "operation_resumed", "id=%s attempt=%lld", id, (long long)attempt);
    }
    return status;
}
