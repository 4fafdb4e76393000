/* The pool of workers: every accepted job runs once, a full queue refuses, a stop loses nothing. */
#include "service/base/workers.h"
#include "tests/unit/api/suites.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static atomic_int ran;

static void count(void *arg)
{
    (void)arg;
    atomic_fetch_add(&ran, 1);
}

static void hold(void *arg)
{
    pthread_mutex_t *lock = arg;
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    atomic_fetch_add(&ran, 1);
}

static enum status submit(struct workers *workers, void (*run)(void *), void *arg, size_t lane, const char *owner,
                          struct error *err)
{
    struct workers_job job = {.run = run, .arg = arg, .lane = lane};
    snprintf(job.owner, sizeof job.owner, "%s", owner);
    return workers_submit(workers, &job, err);
}

static bool wait_until_waiting(struct workers *workers, size_t count)
{
    for (int i = 0; i < 30000 && workers_waiting(workers) != count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return workers_waiting(workers) == count;
}

static void test_all_run(void)
{
    struct workers *workers = NULL;
    struct error    err;
    int             accepted = 0;
    atomic_store(&ran, 0);
    CU_ASSERT_EQUAL_FATAL(workers_start(7, &(struct workers_lane){7, 13, 0}, 1, 0, &workers, &err), STATUS_OK);
    while (accepted < 5000)
        accepted += submit(workers, count, NULL, 0, accepted % 3 == 0 ? "one" : "other", &err) == STATUS_OK;
    workers_stop(workers);
    CU_ASSERT_EQUAL(atomic_load(&ran), 5000);
}

/* A first owner gets half of the room, a second a third of the rest. */
static void test_full(void)
{
    static const size_t shares[] = {7, 3, 2, 0};
    struct workers     *workers = NULL;
    struct error        err;
    pthread_mutex_t     lock = PTHREAD_MUTEX_INITIALIZER;
    int                 total = 0;
    atomic_store(&ran, 0);
    pthread_mutex_lock(&lock);
    CU_ASSERT_EQUAL_FATAL(workers_start(2, &(struct workers_lane){2, 10, 0}, 1, 1, &workers, &err), STATUS_OK);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        const char owner[] = {(char)('a' + i), '\0'};
        size_t     accepted = 0;
        while (accepted < 99 && submit(workers, hold, &lock, 0, owner, &err) == STATUS_OK)
            accepted++;
        CU_ASSERT_EQUAL(accepted, shares[i]);
        CU_ASSERT_STRING_EQUAL(err.code, i < 2 ? "too_many_waiting" : "busy");
        CU_ASSERT_EQUAL(err.retry_after_seconds, 1);
        total += (int)accepted;
    }
    CU_ASSERT_TRUE(wait_until_waiting(workers, (size_t)total - 2));
    pthread_mutex_unlock(&lock);
    workers_stop(workers);
    CU_ASSERT_EQUAL(atomic_load(&ran), total);
    workers_stop(NULL);
}

static enum status submit_at(struct workers *workers, pthread_mutex_t *lock, double cost, const char *owner,
                             struct error *err)
{
    struct workers_job job = {.run = hold, .arg = lock, .cost = cost};
    snprintf(job.owner, sizeof job.owner, "%s", owner);
    enum status would = workers_would_take(workers, &job, err);
    return cost >= 0 && would == STATUS_OK ? workers_submit(workers, &job, err) : would;
}

/* The cost of the waiting jobs is bounded, but no owner is refused its first. */
static void test_costs(void)
{
    struct workers *workers = NULL;
    struct error    err;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    atomic_store(&ran, 0);
    pthread_mutex_lock(&lock);
    CU_ASSERT_EQUAL_FATAL(workers_start(1, &(struct workers_lane){1, 99, 60000}, 1, 0, &workers, &err), STATUS_OK);
    CU_ASSERT_EQUAL(submit_at(workers, &lock, 12000, "one", &err), STATUS_OK);
    CU_ASSERT_EQUAL(submit_at(workers, &lock, 12000, "one", &err), STATUS_OK);
    CU_ASSERT_EQUAL(submit_at(workers, &lock, 12000, "one", &err), STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(err.code, "too_many_waiting");
    CU_ASSERT_EQUAL(err.retry_after_seconds, 12);
    CU_ASSERT_EQUAL(submit_at(workers, &lock, -1, "one", &err), STATUS_BUSY); // as it seems
    CU_ASSERT_EQUAL(submit_at(workers, &lock, 5000, "one", &err), STATUS_OK);
    CU_ASSERT_EQUAL(submit_at(workers, &lock, 700000, "other", &err), STATUS_OK);
    CU_ASSERT_EQUAL(submit_at(workers, &lock, 1, "other", &err), STATUS_BUSY);
    CU_ASSERT_EQUAL(err.retry_after_seconds, 30);
    CU_ASSERT_EQUAL(submit_at(workers, &lock, -1, "third", &err), STATUS_OK);
    CU_ASSERT_EQUAL(submit_at(workers, &lock, 1, "third", &err), STATUS_OK);
    pthread_mutex_unlock(&lock);
    workers_stop(workers);
    CU_ASSERT_EQUAL(atomic_load(&ran), 5);
}

/* With many small jobs beside a large one the average would say that another large one has room. */
static void test_what_is_as_large_costs_as_much(void)
{
    struct workers    *workers = NULL;
    struct error       err;
    pthread_mutex_t    lock = PTHREAD_MUTEX_INITIALIZER;
    struct workers_job large = {.run = hold, .arg = &lock, .owner = "one", .cost = 20000, .bytes = 9000},
                       small = {.run = hold, .arg = &lock, .owner = "one", .cost = 10, .bytes = 300};
    atomic_store(&ran, 0);
    pthread_mutex_lock(&lock);
    CU_ASSERT_EQUAL_FATAL(workers_start(1, &(struct workers_lane){1, 99, 60000}, 1, 0, &workers, &err), STATUS_OK);
    CU_ASSERT_EQUAL(workers_submit(workers, &large, &err), STATUS_OK);
    for (int i = 0; i < 9; i++)
        CU_ASSERT_EQUAL(workers_submit(workers, &small, &err), STATUS_OK);
    large.cost = small.cost = -1;
    CU_ASSERT_EQUAL(workers_would_take(workers, &large, &err), STATUS_BUSY);
    CU_ASSERT_EQUAL(workers_would_take(workers, &small, &err), STATUS_OK);
    small.bytes = 100; // smaller than all: as they are on average
    CU_ASSERT_EQUAL(workers_would_take(workers, &small, &err), STATUS_OK);
    pthread_mutex_unlock(&lock);
    workers_stop(workers);
    CU_ASSERT_EQUAL(atomic_load(&ran), 10);
}

/* A project may have any number of tokens: together they leave a quarter to others, and by cost as well. */
static void test_projects(void)
{
    struct workers *workers = NULL;
    struct error    err;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    size_t          taken = 0;
    atomic_store(&ran, 0);
    pthread_mutex_lock(&lock);
    CU_ASSERT_EQUAL_FATAL(workers_start(3, &(struct workers_lane){3, 64, 1000}, 1, 0, &workers, &err), STATUS_OK);
    for (int i = 0; i < 200; i++) {
        struct workers_job job = {.run = hold, .arg = &lock, .project = "prj_greedy", .cost = 5};
        snprintf(job.owner, sizeof job.owner, "%d", i);
        taken += workers_submit(workers, &job, &err) == STATUS_OK;
    }
    CU_ASSERT_EQUAL(taken, 51);
    CU_ASSERT_STRING_EQUAL(err.code, "too_many_waiting");
    struct workers_job dear = {.run = hold, .arg = &lock, .owner = "x", .project = "prj_greedy", .cost = 600};
    CU_ASSERT_EQUAL(workers_would_take(workers, &dear, &err), STATUS_BUSY);
    for (int i = 0; i < 8; i++) {
        struct workers_job job = {.run = hold, .arg = &lock, .owner = "y", .project = "prj_other", .cost = 5};
        CU_ASSERT_EQUAL(workers_submit(workers, &job, &err), STATUS_OK);
    }
    pthread_mutex_unlock(&lock);
    workers_stop(workers);
    CU_ASSERT_EQUAL(atomic_load(&ran), 59);
}

struct note {
    pthread_mutex_t *lock;
    char             name, *order;
};

static void take_note(void *arg)
{
    struct note *note = arg;
    pthread_mutex_lock(note->lock);
    note->order[strlen(note->order)] = note->name;
    pthread_mutex_unlock(note->lock);
}

/* He who has fewest running is next: with two threads, of which "a" has one, "b" comes before the other jobs of "a". */
static void test_who_is_next(void)
{
    struct workers *workers = NULL;
    struct error    err;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER,
                    other = PTHREAD_MUTEX_INITIALIZER;
    char        order[8] = "";
    struct note notes[] = {{&lock, 'a', order}, {&lock, 'a', order}, {&lock, 'b', order}, {&lock, 'b', order}};
    pthread_mutex_lock(&held);
    pthread_mutex_lock(&other);
    CU_ASSERT_EQUAL_FATAL(workers_start(2, &(struct workers_lane){2, 9, 0}, 1, 0, &workers, &err), STATUS_OK);
    CU_ASSERT_EQUAL(submit(workers, hold, &held, 0, "a", &err), STATUS_OK);
    CU_ASSERT_EQUAL(submit(workers, hold, &other, 0, "c", &err), STATUS_OK);
    CU_ASSERT_TRUE(wait_until_waiting(workers, 0));
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(submit(workers, take_note, &notes[i], 0, i < 2 ? "a" : "b", &err), STATUS_OK);
    pthread_mutex_unlock(&other);
    CU_ASSERT_TRUE(wait_until_waiting(workers, 0));
    pthread_mutex_unlock(&held);
    workers_stop(workers);
    CU_ASSERT_STRING_EQUAL(order, "bbaa");
}

static sem_t is_told, is_asked;

static void tell_and_go_on(void *arg)
{
    (void)arg;
    workers_end_job();
    sem_post(&is_told);
    while (sem_wait(&is_asked) != 0)
        continue;
    atomic_fetch_add(&ran, 1);
}

/* An owner told that its job is over may submit the next one, whatever that costs, before the function has returned. */
static void test_what_is_over_counts_no_longer(void)
{
    struct workers    *workers = NULL;
    struct error       err;
    struct workers_job job = {.run = tell_and_go_on, .owner = "one", .cost = 1000};
    atomic_store(&ran, 0);
    CU_ASSERT_TRUE_FATAL(sem_init(&is_told, 0, 0) == 0 && sem_init(&is_asked, 0, 0) == 0);
    CU_ASSERT_EQUAL_FATAL(workers_start(2, &(struct workers_lane){2, 9, 100}, 1, 0, &workers, &err), STATUS_OK);
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(workers_submit(workers, &job, &err), STATUS_OK);
        while (sem_wait(&is_told) != 0)
            continue;
        CU_ASSERT_EQUAL(workers_would_take(workers, &job, &err), STATUS_OK);
        sem_post(&is_asked);
    }
    workers_stop(workers);
    CU_ASSERT_EQUAL(atomic_load(&ran), 5);
    sem_destroy(&is_told);
    sem_destroy(&is_asked);
    workers_end_job(); // nothing outside a job
}

/* Waiting jobs of a lane hold no thread: with six of them waiting and four threads, the other lane goes on. */
static void test_lanes(void)
{
    static const struct workers_lane lanes[] = {{2, 6, 0}, {4, 9, 0}};
    static const char *const         owners[] = {"one", "two", "three", "four"};
    struct workers                  *workers = NULL;
    struct error                     err;
    pthread_mutex_t                  lock = PTHREAD_MUTEX_INITIALIZER;
    atomic_store(&ran, 0);
    pthread_mutex_lock(&lock);
    CU_ASSERT_EQUAL_FATAL(workers_start(4, lanes, 2, 0, &workers, &err), STATUS_OK);
    for (int i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(submit(workers, hold, &lock, 0, owners[i % 4], &err), STATUS_OK);
    for (int i = 0; i < 7; i++)
        CU_ASSERT_EQUAL(submit(workers, count, NULL, 1, "one", &err), STATUS_OK);
    for (int i = 0; i < 30000 && atomic_load(&ran) < 7; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    CU_ASSERT_EQUAL(atomic_load(&ran), 7);
    CU_ASSERT_TRUE(wait_until_waiting(workers, 6));
    pthread_mutex_unlock(&lock);
    workers_stop(workers);
    CU_ASSERT_EQUAL(atomic_load(&ran), 15);
}

CU_TestInfo suite_workers[] = {
    {"every job runs", test_all_run},
    {"a full queue refuses", test_full},
    {"costs", test_costs},
    {"what is as large costs as much", test_what_is_as_large_costs_as_much},
    {"projects", test_projects},
    {"who is next", test_who_is_next},
    {"what is over counts no longer", test_what_is_over_counts_no_longer},
    {"lanes", test_lanes},
    CU_TEST_INFO_NULL,
};
