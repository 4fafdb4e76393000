/* The pool of workers: every accepted job runs once, a full queue refuses, a stop loses nothing. */
#include "service/base/workers.h"
#include "tests/unit/api/suites.h"

#include <pthread.h>
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
    struct workers_job job = {run, arg, lane, ""};
    snprintf(job.owner, sizeof job.owner, "%s", owner);
    return workers_submit(workers, &job, err);
}

static bool wait_until_waiting(struct workers *workers, size_t count)
{
    for (int i = 0; i < 1000 && workers_waiting(workers) != count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return workers_waiting(workers) == count;
}

static void test_all_run(void)
{
    struct workers *workers = NULL;
    struct error    err;
    int             accepted = 0;
    atomic_store(&ran, 0);
    CU_ASSERT_EQUAL_FATAL(workers_start(7, &(struct workers_lane){7, 3, 13, 13}, 1, &workers, &err), STATUS_OK);
    while (accepted < 5000)
        accepted += submit(workers, count, NULL, 0, accepted % 3 == 0 ? "one" : "other", &err) == STATUS_OK;
    workers_stop(workers);
    CU_ASSERT_EQUAL(atomic_load(&ran), 5000);
}

static void test_full(void)
{
    struct workers *workers = NULL;
    struct error    err;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int             accepted = 0;
    atomic_store(&ran, 0);
    pthread_mutex_lock(&lock);
    CU_ASSERT_EQUAL_FATAL(workers_start(2, &(struct workers_lane){2, 2, 3, 3}, 1, &workers, &err), STATUS_OK);
    for (int i = 0; i < 100000 && accepted < 5; i++)
        accepted += submit(workers, hold, &lock, 0, "one", &err) == STATUS_OK;
    CU_ASSERT_EQUAL(accepted, 5);
    CU_ASSERT_TRUE(wait_until_waiting(workers, 3));
    CU_ASSERT_EQUAL(submit(workers, hold, &lock, 0, "one", &err), STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(err.code, "busy");
    pthread_mutex_unlock(&lock);
    workers_stop(workers);
    CU_ASSERT_EQUAL(atomic_load(&ran), 5);
    workers_stop(NULL);
}

/* What waits in one lane has no thread: with eight jobs of it waiting and four threads, the other lane goes on. */
static void test_lanes(void)
{
    static const struct workers_lane lanes[] = {{2, 1, 6, 4}, {4, 4, 9, 9}};
    struct workers                  *workers = NULL;
    struct error                     err;
    pthread_mutex_t                  lock = PTHREAD_MUTEX_INITIALIZER;
    atomic_store(&ran, 0);
    pthread_mutex_lock(&lock);
    CU_ASSERT_EQUAL_FATAL(workers_start(4, lanes, 2, &workers, &err), STATUS_OK);
    for (int i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(submit(workers, hold, &lock, 0, "one", &err), STATUS_OK);
    CU_ASSERT_EQUAL(submit(workers, hold, &lock, 0, "one", &err), STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(err.code, "too_many_waiting");
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(submit(workers, hold, &lock, 0, "other", &err), STATUS_OK);
    CU_ASSERT_EQUAL(submit(workers, hold, &lock, 0, "other", &err), STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(err.code, "busy");
    for (int i = 0; i < 7; i++)
        CU_ASSERT_EQUAL(submit(workers, count, NULL, 1, "one", &err), STATUS_OK);
    for (int i = 0; i < 1000 && atomic_load(&ran) < 7; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    CU_ASSERT_EQUAL(atomic_load(&ran), 7);
    CU_ASSERT_TRUE(wait_until_waiting(workers, 6)); /* one of each owner runs */
    pthread_mutex_unlock(&lock);
    workers_stop(workers);
    CU_ASSERT_EQUAL(atomic_load(&ran), 15);
}

CU_TestInfo suite_workers[] = {
    {"every job runs", test_all_run},
    {"a full queue refuses", test_full},
    {"lanes and owners", test_lanes},
    CU_TEST_INFO_NULL,
};
