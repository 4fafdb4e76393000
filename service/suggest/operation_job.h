/* The work on operations in this process.  Private to operation*.c. */
#ifndef GNOMON_SERVICE_STUDY_OPERATION_JOB_H
#define GNOMON_SERVICE_STUDY_OPERATION_JOB_H

#include "service/base/share.h"
#include "service/base/workers.h"
#include "service/suggest/operation.h"

#include <pthread.h>

struct job {
    struct app            *app;
    struct arena           arena;
    struct caller          caller;
    char                   id[24], study[24], project[24]; /* project: of who asked, or "" */
    int64_t                attempt;
    struct suggest_request request;
    bool                   is_cancelled, is_over; /* is_cancelled: or somebody else's by now */
    enum status            status;
    struct error           error;
    struct plan_state      progress;
    size_t                 users; /* who may still look: the list, and each who waits */
    struct job            *next;
};

struct operations {
    pthread_mutex_t lock; /* of everything here and in the jobs */
    pthread_cond_t  changed;
    struct workers *workers; /* NULL until there is a job */
    struct job     *jobs;
    struct share    watched; /* requests that wait */
    bool            is_stopping, does_beat;
    bool            has_all;   /* nobody else's were left at the last look; of the one who looks */
    char            owner[24]; /* this server, as long as it runs */
    pthread_t       beat;
};

/* A copy of what is asked for, its fixed with so many bytes; the first attempt, one user.  NULL: no memory. */
struct job *operation_job_new(struct app *app, const char *id, const char *study, const char *actor,
                              const struct suggest_request *request, size_t bytes);
/* Drops a user of the job.  The lock is held, or nobody else knows of the job. */
void operation_job_leave(struct job *job);
/* Into the list and the queue.  On failure the job is gone. */
MUST_CHECK enum status operation_job_submit(struct app *app, struct job *job, bool will_wait, struct error *err);

/* Ends the row of a job (job, its error set) that is not to go on, in a transaction. */
MUST_CHECK enum status operation_job_fail(struct db_conn *conn, void *job, struct error *err);

/* ---- operation_lease.c ---- */

/* When a lease ends that begins now. */
int64_t operation_lease_end(struct app *app);
/* Renews the leases of the jobs and takes over from others, from now on until the stop; again: nothing. */
MUST_CHECK enum status operations_beat(struct app *app, struct error *err);

#endif
