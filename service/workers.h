/* Threads that run blocking functions from a bounded queue.  Knows nothing of what they do. */
#ifndef GNOMON_SERVICE_WORKERS_H
#define GNOMON_SERVICE_WORKERS_H

#include "engine/status.h"

#include <stddef.h>

struct workers;

/* Errors: NO_MEMORY, BUSY "threads" (the system gives no more). */
MUST_CHECK enum status workers_start(size_t threads, size_t queue, struct workers **out, struct error *err);

/* run(arg) is called once, on some thread.  BUSY "busy" when the queue is full: it is not called then. */
MUST_CHECK enum status workers_submit(struct workers *workers, void (*run)(void *), void *arg, struct error *err);

/* How many wait in the queue now. */
size_t workers_waiting(struct workers *workers);

/* Runs what is queued to its end, then ends the threads and frees.  NULL is allowed. */
void workers_stop(struct workers *workers);

#endif
