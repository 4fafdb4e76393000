/* See slots.h.
 * A turn is a number: that of the last who was let in, and one more for each of the same owner who waits already.  The
 * smallest is let in first, the older of two that are equal.
 * Invariant: nobody waits while a slot is free. */
#include "service/app/slots.h"
#include "service/base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 100 }; // how often who waits looks whether somebody still waits for it

struct waiter {
    struct waiter *next;
    const char    *owner;
    uint64_t       turn;
    bool           is_in;
};

struct slots {
    pthread_mutex_t    lock;
    pthread_cond_t     moved;
    size_t             free;
    uint64_t           turn;    /* of the last who was let in */
    struct waiter     *waiting; /* the oldest first */
    struct slots_stats stats;
};

const int64_t slots_bounds_us[SLOTS_WAITS] = {100, 1000, 10000, 100000, 500000, 1000000, 5000000, 30000000};

struct slots *slots_new(size_t count)
{
    struct slots *slots = calloc(1, sizeof *slots);
    if (slots == NULL)
        return NULL;
    clock_cond_init(&slots->moved);
    pthread_mutex_init(&slots->lock, NULL);
    slots->free = count;
    return slots;
}

void slots_free(struct slots *slots)
{
    if (slots == NULL)
        return;
    pthread_cond_destroy(&slots->moved);
    pthread_mutex_destroy(&slots->lock);
    free(slots);
}

struct slots *slots_of(const struct app *app, const struct policy *policy)
{
    return policy->plans_ahead ? app->plans : policy->only_draws ? app->draws : app->compute;
}

static void queue(struct slots *slots, struct waiter *own)
{
    struct waiter **link = &slots->waiting;
    own->turn = slots->turn + 1;
    for (; *link != NULL; link = &(*link)->next)
        own->turn += strcmp((*link)->owner, own->owner) == 0;
    *link = own;
}

static void leave_queue(struct slots *slots, const struct waiter *own)
{
    struct waiter **link = &slots->waiting;
    while (*link != own)
        link = &(*link)->next;
    *link = own->next;
}

static void let_in(struct slots *slots)
{
    while (slots->free > 0 && slots->waiting != NULL) {
        struct waiter *first = slots->waiting;
        for (struct waiter *other = first->next; other != NULL; other = other->next)
            if (other->turn < first->turn)
                first = other;
        leave_queue(slots, first);
        first->is_in = true;
        slots->free--;
        if (first->turn > slots->turn)
            slots->turn = first->turn;
        pthread_cond_broadcast(&slots->moved);
    }
}

static void wait_a_moment(struct slots *slots)
{
    const struct timespec until = clock_after_ms(LOOK_MS);
    (void)pthread_cond_timedwait(&slots->moved, &slots->lock, &until);
}

/* The lock is held. */
static void count_wait(struct slots_stats *stats, int64_t us)
{
    size_t bound = 0;
    while (bound < SLOTS_WAITS && us > slots_bounds_us[bound])
        bound++;
    stats->waits[bound]++;
    stats->waited_us += (uint64_t)us;
}

/* The same; there are fewer algorithms than places. */
static void count_computed(struct slots_stats *stats, const char *algorithm, int64_t us)
{
    size_t i = 0;
    while (i + 1 < SLOTS_ALGORITHMS && stats->computed[i].algorithm != NULL &&
           strcmp(stats->computed[i].algorithm, algorithm) != 0)
        i++;
    struct slots_computed *computed = &stats->computed[i];
    computed->algorithm = computed->algorithm == NULL ? algorithm : computed->algorithm;
    computed->times++;
    computed->us += (uint64_t)us;
}

enum status slots_enter(struct slots *slots, const struct app *app, struct caller *caller, struct error *err)
{
    struct waiter own = {.owner = caller->token_id};
    enum status   status = STATUS_OK;
    int64_t       from_us = clock_us(CLOCK_MONOTONIC);
    TRY(app_go_on(app, caller, err));
    pthread_mutex_lock(&slots->lock);
    queue(slots, &own);
    let_in(slots);
    while (!own.is_in && (status = app_go_on(app, caller, err)) == STATUS_OK)
        wait_a_moment(slots);
    if (!own.is_in)
        leave_queue(slots, &own);
    caller->spent.entered_us = clock_us(CLOCK_MONOTONIC);
    caller->spent.waited_us += caller->spent.entered_us - from_us;
    if (own.is_in)
        count_wait(&slots->stats, caller->spent.entered_us - from_us);
    pthread_mutex_unlock(&slots->lock);
    return own.is_in ? STATUS_OK : status;
}

void slots_leave(struct slots *slots, struct caller *caller, const char *algorithm)
{
    int64_t us = clock_us(CLOCK_MONOTONIC) - caller->spent.entered_us;
    caller->spent.computed_us += us;
    pthread_mutex_lock(&slots->lock);
    count_computed(&slots->stats, algorithm == NULL ? "" : algorithm, us);
    slots->free++;
    let_in(slots);
    pthread_mutex_unlock(&slots->lock);
}

void slots_stats(struct slots *slots, struct slots_stats *out)
{
    pthread_mutex_lock(&slots->lock);
    *out = slots->stats;
    pthread_mutex_unlock(&slots->lock);
}

size_t slots_waiting(struct slots *slots)
{
    size_t count = 0;
    pthread_mutex_lock(&slots->lock);
    for (const struct waiter *waiter = slots->waiting; waiter != NULL; waiter = waiter->next)
        count++;
    pthread_mutex_unlock(&slots->lock);
    return count;
}
