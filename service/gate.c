/* See gate.h.
 * A turn is a number: that of the last who was let in, and one more for each of the same owner who waits already.  The
 * smallest is let in first, the older of two that are equal.
 * Invariant: nobody waits while a slot is free. */
#include "service/gate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOOK_MS = 100 }; // how often who waits looks whether somebody still waits for it

struct waiter {
    struct waiter *next;
    const char    *owner;
    uint64_t       turn;
    bool           is_in;
};

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t  moved;
    size_t          free;
    uint64_t        turn;    /* of the last who was let in */
    struct waiter  *waiting; /* the oldest first */
};

struct gate *gate_new(size_t slots)
{
    struct gate *gate = calloc(1, sizeof *gate);
    if (gate == NULL)
        return NULL;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&gate->moved, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&gate->lock, NULL);
    gate->free = slots;
    return gate;
}

void gate_free(struct gate *gate)
{
    if (gate == NULL)
        return;
    pthread_cond_destroy(&gate->moved);
    pthread_mutex_destroy(&gate->lock);
    free(gate);
}

struct gate *gate_of(const struct app *app, const struct policy *policy)
{
    return policy->plans_ahead ? app->plans : policy->only_draws ? app->draws : app->compute;
}

static void queue(struct gate *gate, struct waiter *own)
{
    struct waiter **link = &gate->waiting;
    own->turn = gate->turn + 1;
    for (; *link != NULL; link = &(*link)->next)
        own->turn += strcmp((*link)->owner, own->owner) == 0;
    *link = own;
}

static void leave_queue(struct gate *gate, const struct waiter *own)
{
    struct waiter **link = &gate->waiting;
    while (*link != own)
        link = &(*link)->next;
    *link = own->next;
}

static void let_in(struct gate *gate)
{
    while (gate->free > 0 && gate->waiting != NULL) {
        struct waiter *first = gate->waiting;
        for (struct waiter *other = first->next; other != NULL; other = other->next)
            if (other->turn < first->turn)
                first = other;
        leave_queue(gate, first);
        first->is_in = true;
        gate->free--;
        if (first->turn > gate->turn)
            gate->turn = first->turn;
        pthread_cond_broadcast(&gate->moved);
    }
}

static void wait_a_moment(struct gate *gate)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&gate->moved, &gate->lock, &until);
}

enum status gate_enter(struct gate *gate, const struct app *app, const struct caller *caller, struct error *err)
{
    struct waiter own = {.owner = caller->token_id};
    enum status   status = STATUS_OK;
    TRY(app_go_on(app, caller, err));
    pthread_mutex_lock(&gate->lock);
    queue(gate, &own);
    let_in(gate);
    while (!own.is_in && (status = app_go_on(app, caller, err)) == STATUS_OK)
        wait_a_moment(gate);
    if (!own.is_in)
        leave_queue(gate, &own);
    pthread_mutex_unlock(&gate->lock);
    return own.is_in ? STATUS_OK : status;
}

void gate_leave(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->free++;
    let_in(gate);
    pthread_mutex_unlock(&gate->lock);
}

size_t gate_waiting(struct gate *gate)
{
    size_t count = 0;
    pthread_mutex_lock(&gate->lock);
    for (const struct waiter *waiter = gate->waiting; waiter != NULL; waiter = waiter->next)
        count++;
    pthread_mutex_unlock(&gate->lock);
    return count;
}
