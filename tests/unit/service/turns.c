/* The turn to write: projects and tokens by what they have had, and large transactions after small ones. */
#include "db/turns.h"
#include "service/app/app.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Each of these always has something to write: so many rows of the project that is given, by the token. */
static const struct {
    struct db_owner owner;
    int64_t         rows;
} actors[] = {{{1, 11}, 100}, {{1, 12}, 100}, {{1, 13}, 50}, {{2, 21}, 1}, {{3, 31}, 10}};

static void test_shares(void)
{
    struct turns turns = {.clock = 7};
    double       had[5] = {0}, late = 0;
    for (int i = 0; i < 20000; i++) {
        size_t best = 0;
        for (size_t j = 1; j < 5; j++)
            if ((j != 3 || i >= 10000) && turns_before(&turns, &actors[j].owner, &actors[best].owner))
                best = j;
        turns_charge(&turns, &actors[best].owner, actors[best].rows);
        had[best] += (double)actors[best].rows;
        late = i == 9999 ? had[4] : late;
    }
    CHECK_NEAR(had[0], had[1], 100); /* the tokens of a project are alike, and each project has a half or a third */
    CHECK_NEAR(had[0], had[2], 100);
    CHECK_NEAR(had[0] + had[1] + had[2], had[4], 200);
    CHECK_NEAR(had[3], had[4] - late, 200); /* who was away has a share from then on, and no more */
}

struct writers {
    struct db *db;
    atomic_int next, smalls, larges;
    atomic_int between; /* the fewest small ones between two large ones */
    sem_t      held, go;
};
struct writer {
    struct writers *all;
    struct db_owner owner;
    size_t          rows;
    int             place;
};

static enum status hold(struct db_conn *conn, void *arg, struct error *err)
{
    struct writers *all = arg;
    (void)conn, (void)err;
    sem_post(&all->held);
    sem_wait(&all->go);
    return STATUS_OK;
}

static enum status note_order(struct db_conn *conn, void *arg, struct error *err)
{
    struct writer *writer = arg;
    (void)conn, (void)err;
    writer->place = atomic_fetch_add(&writer->all->next, 1);
    return STATUS_OK;
}

static void *write_once(void *arg)
{
    struct writer        *writer = arg;
    struct error          err;
    struct db_transaction one = {
        .owner = writer->owner, .rows = writer->rows, .fn = note_order, .arg = writer, .err = &err};
    db_transact_all(writer->all->db, &one, 1);
    return NULL;
}

static void *hold_once(void *arg)
{
    struct writers *all = arg;
    struct error    err;
    if (db_transact(all->db, hold, all, &err) != STATUS_OK)
        abort();
    return NULL;
}

static void until_waiting(struct db *db, size_t count)
{
    struct db_stats stats;
    for (db_stats(db, &stats); stats.waiting < count; db_stats(db, &stats))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void test_one_is_not_behind_many(void)
{
    enum { MANY = 12 };
    struct world  *world = world_new();
    struct writers all = {.db = world->app->db};
    struct writer  writers[MANY + 2];
    pthread_t      holder, threads[MANY + 2];
    sem_init(&all.held, 0, 0);
    sem_init(&all.go, 0, 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&holder, NULL, hold_once, &all), 0);
    sem_wait(&all.held);
    for (int i = 0; i < MANY + 2; i++) { /* then a token of the same project, and one of another */
        struct db_owner owner = {.project = i == MANY + 1 ? 2 : 1, .token = i < MANY ? 1 : (uint32_t)i};
        writers[i] = (struct writer){.all = &all, .owner = owner, .rows = i < MANY ? 90 : 1};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, write_once, &writers[i]), 0);
        until_waiting(all.db, (size_t)i + 1);
    }
    sem_post(&all.go);
    pthread_join(holder, NULL);
    for (int i = 0; i < MANY + 2; i++)
        pthread_join(threads[i], NULL);
    CU_ASSERT(writers[MANY].place <= 2);
    CU_ASSERT(writers[MANY + 1].place <= 2);
    sem_destroy(&all.held);
    sem_destroy(&all.go);
    world_end(world);
}

static enum status be_large(struct db_conn *conn, void *arg, struct error *err)
{
    struct writers *all = arg;
    int             smalls = atomic_exchange(&all->smalls, 0);
    (void)conn, (void)err;
    if (atomic_fetch_add(&all->larges, 1) > 0 && smalls < atomic_load(&all->between))
        atomic_store(&all->between, smalls);
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL); /* it is to be long */
    return STATUS_OK;
}

static enum status be_small(struct db_conn *conn, void *arg, struct error *err)
{
    struct writers *all = arg;
    (void)conn, (void)err;
    atomic_fetch_add(&all->smalls, 1);
    return STATUS_OK;
}

static void *write_large(void *arg)
{
    struct writers *all = arg;
    struct error    err;
    if (db_transact_large(all->db, (struct db_owner){.project = 1, .token = 1}, be_large, all, &err) != STATUS_OK)
        abort();
    return NULL;
}

/* A writer of one transaction after the other gets several turns between two large ones, though none waits when one ends. */
static void test_large_ones_leave_room(void)
{
    enum { LARGES = 3 };
    struct world  *world = world_new();
    struct writers all = {.db = world->app->db, .between = 1 << 30};
    pthread_t      threads[LARGES];
    for (int i = 0; i < LARGES; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, write_large, &all), 0);
    while (atomic_load(&all.larges) < LARGES) {
        struct db_transaction one = {.owner = {2, 2}, .fn = be_small, .arg = &all, .err = &world->err};
        db_transact_all(all.db, &one, 1);
    }
    for (int i = 0; i < LARGES; i++)
        pthread_join(threads[i], NULL);
    CU_ASSERT(atomic_load(&all.between) >= 2);
    world_end(world);
}

CU_TestInfo suite_turns[] = {
    {"projects and tokens have equal shares", test_shares},
    {"one is not behind many of others", test_one_is_not_behind_many},
    {"large ones leave room for small ones", test_large_ones_leave_room},
    CU_TEST_INFO_NULL,
};
