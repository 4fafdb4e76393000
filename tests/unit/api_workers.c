/* The pool of workers: every accepted job runs once, a full queue refuses, a stop loses nothing. */
#include "service/workers.h"
#include "tests/unit/api_suites.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

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

static void test_all_run(void)
{
    struct workers *workers = NULL;
    struct error    err;
    int             accepted = 0;
    atomic_store(&ran, 0);
    CU_ASSERT_EQUAL_FATAL(workers_start(7, 13, &workers, &err), STATUS_OK);
    while (accepted < 5000)
        accepted += workers_submit(workers, count, NULL, &err) == STATUS_OK;
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
    CU_ASSERT_EQUAL_FATAL(workers_start(2, 3, &workers, &err), STATUS_OK);
    for (int i = 0; i < 100000 && accepted < 5; i++)
        accepted += workers_submit(workers, hold, &lock, &err) == STATUS_OK;
    CU_ASSERT_EQUAL(accepted, 5);
    CU_ASSERT_EQUAL(workers_waiting(workers), 3);
    CU_ASSERT_EQUAL(workers_submit(workers, hold, &lock, &err), STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(err.code, "busy");
    pthread_mutex_unlock(&lock);
    workers_stop(workers);
    CU_ASSERT_EQUAL(atomic_load(&ran), 5);
    workers_stop(NULL);
}

CU_TestInfo suite_workers[] = {
    {"every job runs", test_all_run},
    {"a full queue refuses", test_full},
    CU_TEST_INFO_NULL,
};
