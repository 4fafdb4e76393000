/* Threads that run blocking functions.  Knows nothing of what they do.
 * A job has a lane and an owner.  A lane limits how many of its jobs run at once, how many wait beside those, and what all
 * of them cost together; what waits has no thread.  Of each of these an owner gets no more than is then left for others:
 * one alone gets half, two get a third each, and something is always left for who comes next.  All owners of a project together
 * get no more than three times what is left: share.h.  Of those who wait, he whose project has fewest running is the next, and
 * of its owners he who has; of his jobs the oldest. */
#ifndef GNOMON_SERVICE_BASE_WORKERS_H
#define GNOMON_SERVICE_BASE_WORKERS_H

#include "engine/base/status.h"

#include <stddef.h>

struct workers;
struct workers_lane {
    size_t at_once; /* jobs that run, from 1 */
    size_t waiting; /* beside those */
    double cost;    /* of both together; 0: no limit.  The first job of an owner is taken whatever it costs */
};
enum { WORKERS_LANES_MAX = 4, WORKERS_LONG_NICE = 5 /* of those whose jobs take long */ };

struct workers_job {
    void (*run)(void *);
    void  *arg;
    size_t lane;
    char   owner[16], project[24]; /* project: of the owner, or "" */
    double cost;
    size_t bytes; /* the size of the job's data, by which the cost of another is guessed */
};

/* threads: the most there will be; each is made when it is needed.  lanes [lanes_len]; nice: what these threads leave to
 * others, as nice(1).  Errors: NO_MEMORY. */
MUST_CHECK enum status workers_start(size_t threads, const struct workers_lane *lanes, size_t lanes_len, int nice,
                                     struct workers **out, struct error *err);

/* run(arg) is called once, on some thread.  It is not when the system gives no thread at all (BUSY "threads"), or the lane is
 * full: BUSY "too_many_waiting" when it is of the
 * owner's, else BUSY "busy"; retry_after_seconds says when one of those will be through, costs being milliseconds. */
MUST_CHECK enum status workers_submit(struct workers *workers, const struct workers_job *job, struct error *err);

/* Ends the count of the calling job: before it tells anybody that it is over, whose next job may come before run has
 * returned. */
void workers_end_job(void);

/* Fails as workers_submit would now, and does nothing.  A cost below 0 is not known: it is taken for that of the owner's
 * costliest job that is not larger, or of its others. */
MUST_CHECK enum status workers_would_take(struct workers *workers, const struct workers_job *job, struct error *err);

/* The number of jobs in the queue now. */
size_t workers_waiting(struct workers *workers);

/* Runs what is queued to its end, then ends the threads and frees.  NULL is allowed. */
void workers_stop(struct workers *workers);

#endif
