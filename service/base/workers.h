/* Threads that run blocking functions.  Knows nothing of what they do.
 * A job has a lane and an owner.  A lane limits how many of its jobs run at once and how many wait, of all owners and of
 * each: what waits has no thread, and nobody gets them all. */
#ifndef GNOMON_SERVICE_BASE_WORKERS_H
#define GNOMON_SERVICE_BASE_WORKERS_H

#include "engine/base/status.h"

#include <stddef.h>

struct workers;
struct workers_lane {
    size_t at_once, each_at_once; /* jobs that run, from 1 */
    size_t waiting, each_waiting; /* jobs beside those */
};
enum { WORKERS_LANES_MAX = 4 };

struct workers_job {
    void (*run)(void *);
    void  *arg;
    size_t lane;
    char   owner[16];
};

/* lanes [lanes_len].  Errors: NO_MEMORY, BUSY "threads" (the system gives no more). */
MUST_CHECK enum status workers_start(size_t threads, const struct workers_lane *lanes, size_t lanes_len,
                                     struct workers **out, struct error *err);

/* run(arg) is called once, on some thread; the oldest that may run is the next.  It is not called when the lane is full:
 * BUSY "too_many_waiting" when it is full of the owner's, else BUSY "busy". */
MUST_CHECK enum status workers_submit(struct workers *workers, const struct workers_job *job, struct error *err);

/* How many wait in the queue now. */
size_t workers_waiting(struct workers *workers);

/* Runs what is queued to its end, then ends the threads and frees.  NULL is allowed. */
void workers_stop(struct workers *workers);

#endif
