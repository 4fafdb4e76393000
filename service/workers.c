/* A ring of jobs, one lock, one condition.  Blocked threads are cheap, so there are many of them: what may compute at
 * once is limited elsewhere.
 * Invariant: waiting <= capacity; a job that was accepted is run, also after workers_stop was called. */
#include "service/workers.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { STACK_BYTES = 2 << 20 };

struct job {
    void (*run)(void *);
    void *arg;
};

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t  work;
    struct job     *jobs; /* [capacity], a ring */
    size_t          capacity, first, waiting;
    bool            stopping;
    pthread_t      *threads;
    size_t          threads_len;
};

/* False when there is nothing left and there will be nothing. */
static bool next_job(struct workers *workers, struct job *job)
{
    pthread_mutex_lock(&workers->lock);
    while (workers->waiting == 0 && !workers->stopping)
        pthread_cond_wait(&workers->work, &workers->lock);
    bool found = workers->waiting > 0;
    if (found) {
        *job = workers->jobs[workers->first];
        workers->first = (workers->first + 1) % workers->capacity;
        workers->waiting--;
    }
    pthread_mutex_unlock(&workers->lock);
    return found;
}

static void *work(void *arg)
{
    struct job job;
    while (next_job(arg, &job))
        job.run(job.arg);
    return NULL;
}

static bool start_threads(struct workers *workers, size_t threads)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    bool good = pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0;
    while (good && workers->threads_len < threads) {
        good = pthread_create(&workers->threads[workers->threads_len], &attributes, work, workers) == 0;
        workers->threads_len += good;
    }
    pthread_attr_destroy(&attributes);
    return good;
}

enum status workers_start(size_t threads, size_t queue, struct workers **out, struct error *err)
{
    assert(threads > 0 && queue > 0);
    *out = NULL;
    struct workers *workers = calloc(1, sizeof *workers);
    if (workers == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "out of memory");
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->work, NULL);
    workers->capacity = queue;
    workers->jobs = calloc(queue, sizeof *workers->jobs);
    workers->threads = calloc(threads, sizeof *workers->threads);
    if (workers->jobs == NULL || workers->threads == NULL || !start_threads(workers, threads)) {
        workers_stop(workers);
        return error_set(err, STATUS_BUSY, "threads", "", "cannot start %zu threads", threads);
    }
    *out = workers;
    return STATUS_OK;
}

enum status workers_submit(struct workers *workers, void (*run)(void *), void *arg, struct error *err)
{
    pthread_mutex_lock(&workers->lock);
    bool taken = workers->waiting < workers->capacity && !workers->stopping;
    if (taken) {
        size_t end = (workers->first + workers->waiting++) % workers->capacity;
        workers->jobs[end] = (struct job){run, arg};
        pthread_cond_signal(&workers->work);
    }
    pthread_mutex_unlock(&workers->lock);
    return taken ? STATUS_OK : error_set(err, STATUS_BUSY, "busy", "", "too many requests are waiting");
}

size_t workers_waiting(struct workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    size_t waiting = workers->waiting;
    pthread_mutex_unlock(&workers->lock);
    return waiting;
}

void workers_stop(struct workers *workers)
{
    if (workers == NULL)
        return;
    pthread_mutex_lock(&workers->lock);
    workers->stopping = true;
    pthread_cond_broadcast(&workers->work);
    pthread_mutex_unlock(&workers->lock);
    for (size_t i = 0; i < workers->threads_len; i++)
        pthread_join(workers->threads[i], NULL);
    pthread_cond_destroy(&workers->work);
    pthread_mutex_destroy(&workers->lock);
    free(workers->threads);
    free(workers->jobs);
    free(workers);
}
