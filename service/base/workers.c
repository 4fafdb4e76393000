/* The pool has one list of jobs, one lock, one condition.  Blocked threads are cheap, so there may be many of them: what may
 * compute at once is limited elsewhere.  A thread is made when more jobs wait than threads sleep, and stays.
 * Invariants: a job that was accepted is run, also after workers_stop was called; a thread sleeps only while no waiting
 * job may run, so one that may not has others of its lane running, whose threads look again. */
#include "service/base/workers.h"

#include "service/base/share.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { STACK_BYTES = 2 << 20, LATEST_SECONDS = 30 };

struct workers {
    pthread_mutex_t     lock;
    pthread_cond_t      work;
    struct workers_lane lanes[WORKERS_LANES_MAX];
    struct workers_job *waiting, *running; /* waiting: oldest first, room for what all lanes allow; running [threads] */
    size_t              waiting_len, running_len;
    bool                stopping;
    int                 nice;
    pthread_t          *threads; /* [threads_max] */
    size_t              threads_len, threads_max, sleeping_len;
};

/* The job that this thread runs, and its workers; NULL: none, or a job that is over. */
static _Thread_local struct {
    struct workers           *workers;
    const struct workers_job *job;
} current;

struct count {
    size_t all, own, project;
    double all_cost, own_cost, project_cost, likely_cost; /* likely: of one of unknown cost; 0: nobody knows */
};

/* Counts the jobs of the job's lane, and among them those of its owner. */
static struct count count_like(const struct workers_job *jobs, size_t len, const struct workers_job *job)
{
    struct count count = {0};
    for (size_t i = 0; i < len; i++) {
        if (jobs[i].lane != job->lane)
            continue;
        bool is_own = strcmp(jobs[i].owner, job->owner) == 0;
        count.all++;
        count.own += is_own;
        bool is_of_project = job->project[0] != '\0' && strcmp(jobs[i].project, job->project) == 0;
        count.project += is_of_project;
        count.project_cost += is_of_project ? jobs[i].cost : 0;
        count.all_cost += jobs[i].cost;
        count.own_cost += is_own ? jobs[i].cost : 0;
        if (is_own && jobs[i].bytes <= job->bytes && jobs[i].cost > count.likely_cost)
            count.likely_cost = jobs[i].cost;
    }
    return count;
}

/* Takes the next job: a project without a running job comes first.  The lock is held. */
static bool take_next(struct workers *workers, struct workers_job *job)
{
    size_t next = workers->waiting_len, fewest = SIZE_MAX;
    for (size_t i = 0; i < workers->waiting_len && fewest > 0; i++) {
        const struct workers_lane *lane = &workers->lanes[workers->waiting[i].lane];
        struct count               now = count_like(workers->running, workers->running_len, &workers->waiting[i]);
        size_t                     rank = now.project * workers->threads_max + now.own;
        if (now.all < lane->at_once && now.own <= lane->at_once - now.all && rank < fewest) {
            next = i;
            fewest = rank;
        }
    }
    if (next == workers->waiting_len)
        return false;
    *job = workers->waiting[next];
    workers->running[workers->running_len++] = *job;
    memmove(&workers->waiting[next], &workers->waiting[next + 1], (--workers->waiting_len - next) * sizeof *job);
    return true;
}

/* The lock is held. */
static void end_running(struct workers *workers, const struct workers_job *job)
{
    size_t i = 0;
    while (workers->running[i].arg != job->arg || workers->running[i].lane != job->lane)
        i++;
    workers->running[i] = workers->running[--workers->running_len];
}

void workers_end_job(void)
{
    struct workers *workers = current.workers;
    if (current.job == NULL)
        return;
    pthread_mutex_lock(&workers->lock);
    end_running(workers, current.job);
    current.job = NULL;
    pthread_mutex_unlock(&workers->lock);
}

/* Waits for a job; false: there is none, and there will be none. */
static bool next_job(struct workers *workers, struct workers_job *job)
{
    pthread_mutex_lock(&workers->lock);
    if (current.job != NULL)
        end_running(workers, current.job);
    bool found = take_next(workers, job);
    while (!found && !workers->stopping) {
        workers->sleeping_len++;
        pthread_cond_wait(&workers->work, &workers->lock);
        workers->sleeping_len--;
        found = take_next(workers, job);
    }
    pthread_mutex_unlock(&workers->lock);
    current.job = job;
    return found;
}

static void *work(void *arg)
{
    const struct workers *workers = arg;
    struct workers_job    job;
    current.workers = arg;
    if (workers->nice > 0)
        (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + workers->nice); // of this thread, on Linux
    while (next_job(arg, &job))
        job.run(job.arg);
    return NULL;
}

/* The lock is held.  False: the system gives no thread. */
static bool add_thread(struct workers *workers)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    bool good = pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
                pthread_create(&workers->threads[workers->threads_len], &attributes, work, workers) == 0;
    workers->threads_len += good;
    pthread_attr_destroy(&attributes);
    return good;
}

enum status workers_start(size_t threads, const struct workers_lane *lanes, size_t lanes_len, int nice,
                          struct workers **out, struct error *err)
{
    assert(threads > 0 && lanes_len > 0 && lanes_len <= WORKERS_LANES_MAX);
    *out = NULL;
    struct workers *workers = calloc(1, sizeof *workers);
    size_t          room = 0;
    if (workers == NULL)
        return error_no_memory(err);
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->work, NULL);
    workers->nice = nice;
    memcpy(workers->lanes, lanes, lanes_len * sizeof *lanes);
    for (size_t i = 0; i < lanes_len; i++)
        room += lanes[i].at_once + lanes[i].waiting;
    workers->waiting = calloc(room, sizeof *workers->waiting);
    workers->running = calloc(threads, sizeof *workers->running);
    workers->threads = calloc(threads, sizeof *workers->threads);
    workers->threads_max = threads;
    if (workers->waiting == NULL || workers->running == NULL || workers->threads == NULL) {
        workers_stop(workers);
        return error_no_memory(err);
    }
    *out = workers;
    return STATUS_OK;
}

/* Seconds until one of `count` jobs, of that cost in milliseconds together, will be through. */
static int retry_after(double cost, size_t count)
{
    double seconds = count > 0 ? cost / (double)count / 1000 : 0;
    return seconds < 1 ? 1 : seconds > LATEST_SECONDS ? LATEST_SECONDS : (int)seconds;
}

/* A job of unknown cost is taken for its owner's dearest of no more bytes: small jobs make the average too low. */
static double guess(const struct count *waiting, const struct count *running)
{
    size_t own = waiting->own + running->own;
    double likely = waiting->likely_cost > running->likely_cost ? waiting->likely_cost : running->likely_cost;
    return likely > 0 || own == 0 ? likely : (waiting->own_cost + running->own_cost) / (double)own;
}

/* The first job of a project is taken whatever it costs. */
static bool is_beyond_project(const struct workers_lane *lane, const struct count *waiting, const struct count *running,
                              double cost)
{
    size_t project = waiting->project + running->project;
    double left = (double)(lane->at_once + lane->waiting - waiting->all - running->all);
    double left_cost = lane->cost - waiting->all_cost - running->all_cost - cost;
    return project > 0 &&
           (!share_leaves_room(left, (double)project) ||
            (lane->cost > 0 && !share_leaves_room(left_cost, waiting->project_cost + running->project_cost + cost)));
}

/* The lock is held.  A job that a thread will take at once does not wait: until it does, it is counted here. */
static enum status check_room(const struct workers *workers, const struct workers_job *job, struct error *err)
{
    const struct workers_lane *lane = &workers->lanes[job->lane];
    struct count               waiting = count_like(workers->waiting, workers->waiting_len, job);
    struct count               running = count_like(workers->running, workers->running_len, job);
    size_t                     all = waiting.all + running.all, own = waiting.own + running.own;
    double                     own_cost = waiting.own_cost + running.own_cost;
    double                     cost = job->cost >= 0 ? job->cost : guess(&waiting, &running);
    double                     left = lane->cost - waiting.all_cost - running.all_cost - cost;
    bool                       is_full = workers->stopping || all >= lane->at_once + lane->waiting;
    bool is_own = own > lane->at_once + lane->waiting - all || (lane->cost > 0 && own > 0 && own_cost + cost > left);
    bool is_of_project = !is_full && is_beyond_project(lane, &waiting, &running, cost);
    if (!is_full && !is_own && !is_of_project)
        return STATUS_OK;
    if (is_full)
        (void)error_set(err, STATUS_BUSY, "busy", "", "too many requests are waiting");
    else if (is_own)
        (void)error_set(err, STATUS_BUSY, "too_many_waiting", "", "too many requests of this token are waiting");
    else
        (void)error_set(err, STATUS_BUSY, "too_many_waiting", "", "too many requests of this project are waiting");
    if (err != NULL)
        err->retry_after_seconds = retry_after(own_cost, own);
    return STATUS_BUSY;
}

enum status workers_submit(struct workers *workers, const struct workers_job *job, struct error *err)
{
    pthread_mutex_lock(&workers->lock);
    enum status status = check_room(workers, job, err);
    if (status == STATUS_OK && workers->waiting_len >= workers->sleeping_len &&
        workers->threads_len < workers->threads_max && !add_thread(workers) && workers->threads_len == 0)
        status = error_set(err, STATUS_BUSY, "threads", "", "the system gives no thread now");
    if (status == STATUS_OK) {
        workers->waiting[workers->waiting_len++] = *job;
        pthread_cond_signal(&workers->work);
    }
    pthread_mutex_unlock(&workers->lock);
    return status;
}

enum status workers_would_take(struct workers *workers, const struct workers_job *job, struct error *err)
{
    pthread_mutex_lock(&workers->lock);
    enum status status = check_room(workers, job, err);
    pthread_mutex_unlock(&workers->lock);
    return status;
}

size_t workers_waiting(struct workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    size_t waiting = workers->waiting_len;
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
    free(workers->waiting);
    free(workers->running);
    free(workers);
}
