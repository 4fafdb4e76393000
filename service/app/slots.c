/* See slots.h.
 * Time is that of the processor, of the thread that computes: what a thread waits for, others or the disk, is not charged.
 * Who is let in is charged in advance, as far as its first look up at most, and the difference when it looks up or leaves;
 * so of two who come together neither gets both slots.  A token that had nothing to do does not save up: it begins
 * where those are who are served now.
 * Invariant: nobody waits while a place that would do is free. */
#include "service/app/slots.h"
#include "service/app/quota.h"
#include "service/base/clock.h"
#include "service/base/log.h"
#include "service/base/text.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOOK_MS = 100,      // how often a waiter checks that somebody still waits for it
    INSTANT_MS = 1,     // a computation that costs no more does not wait
    QUANTUM_US = 20000, // how long a computation runs before it checks for others
    CHARGE_US = 1000,   // at least, for the trouble
    LEVEL_US = 100000,  // what a request uses before others of its token are preferred
    OWNERS = 1024,
    WORTH_MS = 5, // a shorter computation is not judged
    TELL_MS = 60000
};

/* Where a computation is.  OUTSIDE: without a slot, since it is instant or since it has given up. */
enum place { OUTSIDE, BESIDE, INSIDE };

/* A token, or two by chance. */
struct slots_owner {
    size_t  users;
    int64_t served_us;
};
struct waiter {
    struct waiter      *next;
    struct slots_owner *owner;
    bool                is_short;
    int                 level;
    int64_t             since_us;
    enum place          place;
};

struct slots {
    pthread_mutex_t    lock;
    pthread_cond_t     moved;
    size_t             free, free_beside;
    int64_t            now_us; /* served_us of the last owner that was let in, at that time */
    struct waiter     *waiting;
    struct stint      *computing;
    struct slots_owner owners[OWNERS];
    struct slots_stats stats;
    int64_t            told_ms; /* when a price was last said to be wrong */
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
    slots->free_beside = 1 + count / 4;
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

enum status slots_defer(struct caller *caller, struct error *err)
{
    caller->is_deferred = true;
    return error_set(err, STATUS_BUSY, "deferred", "", "it is to wait elsewhere");
}

enum status slots_announce(struct caller *caller, double price_ms, struct error *err)
{
    caller->spent.price_ms = price_ms;
    return price_ms > SLOTS_SHORT_MS && caller->may_defer ? slots_defer(caller, err) : STATUS_OK;
}

/* ---- owners; the lock is held ---- */

static struct slots_owner *enter_owner(struct slots *slots, const char *id)
{
    struct slots_owner *owner = &slots->owners[text_hash(id) % OWNERS];
    if (owner->users++ == 0 && owner->served_us < slots->now_us)
        owner->served_us = slots->now_us;
    return owner;
}

/* ---- waiting; the lock is held ---- */

/* Between requests of the same owner the one with less time so far goes first, by a factor of two; else the older one.  So a
 * plan of a minute does not delay a request of a second, and similar requests do not all finish late by taking turns. */
static bool is_before(const struct waiter *a, const struct waiter *b)
{
    int64_t served = a->owner->served_us - b->owner->served_us;
    return served != 0 ? served < 0 : a->level != b->level ? a->level < b->level : a->since_us < b->since_us;
}

static struct waiter *next_of(struct slots *slots, bool shorts_only)
{
    struct waiter *first = NULL;
    for (struct waiter *each = slots->waiting; each != NULL; each = each->next)
        if ((each->is_short || !shorts_only) && (first == NULL || is_before(each, first)))
            first = each;
    return first;
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
    for (;;) {
        struct waiter *first = slots->free_beside > 0 ? next_of(slots, true) : NULL;
        bool           is_beside = first != NULL;
        if (first == NULL && slots->free > 0)
            first = next_of(slots, false);
        if (first == NULL)
            return;
        leave_queue(slots, first);
        first->place = is_beside ? BESIDE : INSIDE;
        slots->free_beside -= is_beside;
        slots->free -= !is_beside;
        if (first->owner->served_us > slots->now_us)
            slots->now_us = first->owner->served_us;
        pthread_cond_broadcast(&slots->moved);
    }
}

static void give_back(struct slots *slots, enum place place)
{
    slots->free += place == INSIDE;
    slots->free_beside += place == BESIDE;
}

/* Waits until the request is let in, or app_go_on fails. */
static enum status wait_for_turn(struct slots *slots, const struct app *app, struct caller *caller, struct waiter *own,
                                 struct error *err)
{
    enum status status = STATUS_OK;
    let_in(slots);
    while (own->place == OUTSIDE && (status = app_go_on(app, caller, err)) == STATUS_OK) {
        const struct timespec until = clock_after_ms(LOOK_MS);
        (void)pthread_cond_timedwait(&slots->moved, &slots->lock, &until);
    }
    if (own->place != OUTSIDE)
        return STATUS_OK;
    leave_queue(slots, own);
    return status;
}

/* ---- statistics; the lock is held ---- */

static void count_wait(struct slots_stats *stats, int64_t us)
{
    size_t bound = 0;
    while (bound < SLOTS_WAITS && us > slots_bounds_us[bound])
        bound++;
    stats->waits[bound]++;
    stats->waited_us += (uint64_t)us;
}

/* There are fewer algorithms than places. */
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

/* ---- computing ---- */

static void begin(struct slots *slots, struct stint *stint, int64_t charge_us)
{
    stint->next = slots->computing;
    slots->computing = stint;
    stint->looked_us = clock_us(CLOCK_MONOTONIC);
    stint->began_us = clock_us(CLOCK_THREAD_CPUTIME_ID);
    stint->charged_us = charge_us < CHARGE_US ? CHARGE_US : charge_us < QUANTUM_US ? charge_us : QUANTUM_US;
    stint->owner->served_us += stint->charged_us;
}

/* Charges the time computed since the stint began to its owner; the lock is held. */
static void settle(struct slots *slots, struct stint *stint)
{
    struct stint **link = &slots->computing;
    while (*link != stint)
        link = &(*link)->next;
    *link = stint->next;
    int64_t us = clock_us(CLOCK_THREAD_CPUTIME_ID) - stint->began_us;
    stint->used_us += us;
    stint->owner->served_us += (us < CHARGE_US ? CHARGE_US : us) - stint->charged_us;
}

/* A part of what is long is not short. */
static bool is_short(const struct caller *caller)
{
    return caller->spent.stint.price_ms <= SLOTS_SHORT_MS && caller->spent.price_ms <= SLOTS_SHORT_MS;
}

static struct waiter waiter_of(const struct caller *caller)
{
    int     level = 0;
    int64_t us = caller->spent.computed_us + caller->spent.stint.used_us;
    while (us > LEVEL_US && level < 62)
        us /= 2, level++;
    return (struct waiter){.owner = caller->spent.stint.owner,
                           .since_us = caller->spent.since_us,
                           .level = level,
                           .is_short = is_short(caller)};
}

/* The lock is held. */
static enum status queue(struct slots *slots, const struct app *app, struct caller *caller, struct error *err)
{
    struct stint *stint = &caller->spent.stint;
    int64_t       from_us = clock_us(CLOCK_MONOTONIC);
    struct waiter own = waiter_of(caller);
    own.next = slots->waiting;
    slots->waiting = &own;
    enum status status = wait_for_turn(slots, app, caller, &own, err);
    int64_t     us = clock_us(CLOCK_MONOTONIC) - from_us;
    caller->spent.waited_us += us;
    stint->place = (int)own.place;
    if (status == STATUS_OK)
        count_wait(&slots->stats, us);
    return status;
}

enum status slots_enter(struct app *app, struct caller *caller, double price_ms, struct error *err)
{
    struct slots *slots = app->slots;
    struct stint *stint = &caller->spent.stint;
    enum status   status = STATUS_OK;
    if (price_ms > INSTANT_MS) // a request without a model is served all the same
        TRY(quota_compute(app, caller, err));
    TRY(app_go_on(app, caller, err));
    if (caller->spent.since_us == 0)
        caller->spent.since_us = clock_us(CLOCK_MONOTONIC);
    pthread_mutex_lock(&slots->lock);
    *stint = (struct stint){.owner = enter_owner(slots, caller->token_id), .price_ms = price_ms, .asked_ms = price_ms};
    if (price_ms > INSTANT_MS)
        status = queue(slots, app, caller, err);
    else
        count_wait(&slots->stats, 0);
    if (status == STATUS_OK)
        begin(slots, stint, (int64_t)(1000 * price_ms));
    else
        stint->owner->users--;
    pthread_mutex_unlock(&slots->lock);
    return status;
}

/* Whether it is the turn of another request that could have this one's place.  The lock is held. */
static bool is_turn_of_other(struct slots *slots, const struct caller *caller)
{
    const struct waiter  own = waiter_of(caller);
    const struct waiter *next = next_of(slots, caller->spent.stint.place == BESIDE);
    return caller->spent.stint.place != OUTSIDE && next != NULL && is_before(next, &own);
}

static enum status look_up(struct slots *slots, const struct app *app, struct caller *caller, struct error *err)
{
    struct stint *stint = &caller->spent.stint;
    enum status   status = STATUS_OK;
    settle(slots, stint);
    if ((double)stint->used_us > 2000 * stint->price_ms)
        stint->price_ms = (double)stint->used_us / 1000;
    bool is_elsewhere = stint->place == OUTSIDE || (stint->place == BESIDE && !is_short(caller));
    if (is_elsewhere || is_turn_of_other(slots, caller)) {
        give_back(slots, (enum place)stint->place);
        slots->stats.pauses++;
        status = queue(slots, app, caller, err);
    }
    begin(slots, stint, 0);
    return status;
}

static enum status go_on(struct app *app, struct caller *caller, struct error *err)
{
    struct slots *slots = app->slots;
    struct stint *stint = &caller->spent.stint;
    TRY(app_go_on(app, caller, err));
    if (stint->owner == NULL || clock_us(CLOCK_MONOTONIC) - stint->looked_us < QUANTUM_US)
        return STATUS_OK;
    pthread_mutex_lock(&slots->lock);
    enum status status = look_up(slots, app, caller, err);
    pthread_mutex_unlock(&slots->lock);
    return status;
}

enum status slots_go_on(struct app *app, struct caller *caller, struct error *err)
{
    enum status status = go_on(app, caller, err);
    caller->spent.stint.is_cut |= status != STATUS_OK;
    return status;
}

static bool is_misjudged(const struct stint *stint)
{
    double took_ms = (double)stint->used_us / 1000, asked_ms = stint->asked_ms;
    bool   is_long = fmax(took_ms, asked_ms) >= WORTH_MS;
    return is_long && (took_ms > 2 * asked_ms || (!stint->is_cut && asked_ms > 2 * took_ms));
}

/* Counts a wrong price; true: it is to be logged, too.  The lock is held. */
static bool judge(struct slots *slots, const struct stint *stint, int64_t now_ms)
{
    if (!is_misjudged(stint))
        return false;
    slots->stats.misjudged++;
    bool is_due = slots->told_ms == 0 || now_ms - slots->told_ms >= TELL_MS;
    slots->told_ms = is_due ? now_ms : slots->told_ms;
    return is_due;
}

double slots_leave(struct app *app, struct caller *caller, const char *algorithm)
{
    struct slots *slots = app->slots;
    struct stint *stint = &caller->spent.stint;
    pthread_mutex_lock(&slots->lock);
    settle(slots, stint);
    bool is_to_tell = judge(slots, stint, clock_ms(CLOCK_MONOTONIC));
    count_computed(&slots->stats, algorithm == NULL ? "" : algorithm, stint->used_us);
    give_back(slots, (enum place)stint->place);
    stint->owner->users--;
    let_in(slots);
    pthread_mutex_unlock(&slots->lock);
    int64_t us = stint->used_us;
    if (is_to_tell)
        log_event(LOG_WARNING, "price_off", "algorithm=%s price_ms=%.1f took_ms=%.1f",
                  algorithm == NULL ? "none" : algorithm, stint->asked_ms, (double)us / 1000);
    caller->spent.computed_us += us;
    quota_charge(app, caller, us);
    *stint = (struct stint){0};
    return (double)us / 1000;
}

void slots_stats(struct slots *slots, struct slots_stats *out)
{
    pthread_mutex_lock(&slots->lock);
    *out = slots->stats;
    int64_t now_us = clock_us(CLOCK_MONOTONIC);
    for (const struct stint *stint = slots->computing; stint != NULL; stint = stint->next)
        out->silent_us = now_us - stint->looked_us > out->silent_us ? now_us - stint->looked_us : out->silent_us;
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
