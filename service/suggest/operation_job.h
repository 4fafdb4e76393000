/* The work on operations in this process.  Private to operation*.c. */
#ifndef GNOMON_SERVICE_STUDY_OPERATION_JOB_H
#define GNOMON_SERVICE_STUDY_OPERATION_JOB_H

#include "service/base/share.h"
#include "service/base/workers.h"
#include "service/suggest/operation.h"

#include <pthread.h>

struct job {
    struct app       *app;
    struct arena      arena;
    struct caller     caller;
    char              id[24], study[24], project[24]; /* project: of who asked, or "" */
    int64_t           attempt;                        /* from 1: how often it was begun */
    struct plan       plan;
    bool              is_cancelled, is_over;
    enum status       status;
    struct error      error;
    struct plan_state progress;
    size_t            users; /* who may still look: the list, and each who waits */
    struct job       *next;
};

struct operations {
    pthread_mutex_t lock; /* of everything here and in the jobs */
    pthread_cond_t  changed;
    struct workers *workers; /* NULL until there is a job */
    struct job     *jobs;
    struct share    watched; /* requests that wait */
    bool            is_stopping;
};

/* A copy of what is asked for, its fixed with so many bytes; one user.  NULL: no memory. */
struct job *operation_job_new(struct app *app, const char *id, const char *study, const char *actor,
                              const struct plan *asked, size_t bytes);
/* Drops a user of the job.  The lock is held, or nobody else knows of the job. */
void operation_job_leave(struct job *job);
/* Begins the work on a job, whose row is there; NULL: there was no memory for it.  *out: the job, for a user who will wait, or
 * NULL.  On failure the job is gone and its row has failed.  While the service stops nothing begins: that is no failure. */
MUST_CHECK enum status operation_job_begin(struct app *app, const char *id, struct job *job, struct job **out,
                                           struct error *err);
/* Ends the row of a job (job, its error set) that is not to go on, in a transaction. */
MUST_CHECK enum status operation_job_fail(struct db_conn *conn, void *job, struct error *err);
#endif
