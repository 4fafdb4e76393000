/* See conns.h. */
#define _GNU_SOURCE /* POLLRDHUP */
#include "api/http/conns.h"
#include "service/base/clock.h"

#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROMISES = 1024, PROMISE_MS = 10000 };
enum { TICK_MS = 1000, TALLY_SETS = 1024, TALLY_WAYS = 4, TALLY_WINDOW_MS = 60000, TRIM_BYTES = 16 << 20 };

/* By address, and forgotten a minute after since_ms. */
struct tally {
    struct address key;
    int64_t        since_ms;
    unsigned       count;
};

struct promise {
    struct address key;
    int64_t        until_ms;
};

struct conns {
    pthread_mutex_t      lock;
    pthread_cond_t       stop;
    pthread_t            thread;
    bool                 stopping;
    struct conn          head; /* of a ring */
    struct conns_options options;
    struct tally         failures[TALLY_SETS][TALLY_WAYS], newcomers[TALLY_SETS][TALLY_WAYS];
    struct promise       promises[PROMISES]; /* the oldest first */
    size_t               promises_len;
};

static void cut(const struct conns *conns, struct conn *conn, _Atomic uint64_t *count)
{
    const char *farewell = atomic_load(&conn->farewell);
    char        text[1024];
    if (farewell == conn->late)
        farewell = conns->options.late(conn->late, text, sizeof text);
    if (farewell != NULL && !conn->is_tls)
        (void)send(conn->fd, farewell, strlen(farewell), MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)shutdown(conn->fd, SHUT_RDWR);
    atomic_store(&conn->deadline_ms, 0);
    atomic_fetch_add(count, 1);
}

static void reap(struct conns *conns, int64_t now_ms)
{
    for (struct conn *conn = conns->head.next; conn != &conns->head; conn = conn->next) {
        int64_t deadline_ms = atomic_load(&conn->deadline_ms);
        if (deadline_ms != 0 && now_ms >= deadline_ms)
            cut(conns, conn, conns->options.reaped);
    }
}

/* The lock keeps the descriptor from being closed, and so from being another's. */
static void look_after(struct conns *conns)
{
    for (struct conn *conn = conns->head.next; conn != &conns->head; conn = conn->next) {
        struct pollfd end = {.fd = conn->fd, .events = POLLRDHUP};
        if (conn->has_left != NULL && poll(&end, 1, 0) > 0)
            atomic_store(conn->has_left, true);
    }
}

/* Gives memory back to the system once requests have used much more than now, unlocked.  The lock is held. */
static void trim(struct conns *conns)
{
    struct arena_pool *memory = conns->options.memory;
    size_t             now = memory == NULL ? 0 : atomic_load(&memory->taken_bytes);
    if (memory == NULL || atomic_load(&memory->most_bytes) < now + TRIM_BYTES)
        return;
    atomic_store(&memory->most_bytes, now);
    pthread_mutex_unlock(&conns->lock);
    (void)malloc_trim(0);
    pthread_mutex_lock(&conns->lock);
}

static void *watch(void *arg)
{
    struct conns *conns = arg;
    pthread_mutex_lock(&conns->lock);
    while (!conns->stopping) {
        const struct timespec until = clock_after_ms(TICK_MS);
        (void)pthread_cond_timedwait(&conns->stop, &conns->lock, &until);
        reap(conns, conns->options.now_ms());
        look_after(conns);
        trim(conns);
    }
    pthread_mutex_unlock(&conns->lock);
    return NULL;
}

static void init_locks(struct conns *conns)
{
    clock_cond_init(&conns->stop);
    pthread_mutex_init(&conns->lock, NULL);
}

enum status conns_start(const struct conns_options *options, struct conns **out, struct error *err)
{
    struct conns *conns = calloc(1, sizeof *conns);
    *out = NULL;
    if (conns == NULL)
        return error_no_memory(err);
    conns->head.next = conns->head.before = &conns->head;
    conns->options = *options;
    init_locks(conns);
    if (pthread_create(&conns->thread, NULL, watch, conns) != 0) {
        free(conns);
        return error_set(err, STATUS_BUSY, "threads", "", "cannot start a thread");
    }
    *out = conns;
    return STATUS_OK;
}

void conns_stop(struct conns *conns)
{
    if (conns == NULL)
        return;
    pthread_mutex_lock(&conns->lock);
    conns->stopping = true;
    pthread_cond_signal(&conns->stop);
    pthread_mutex_unlock(&conns->lock);
    pthread_join(conns->thread, NULL);
    pthread_cond_destroy(&conns->stop);
    pthread_mutex_destroy(&conns->lock);
    free(conns);
}

/* The lock is held here and below. */
static void forget_promise(struct conns *conns, size_t i)
{
    struct promise *promise = &conns->promises[i];
    memmove(promise, promise + 1, (--conns->promises_len - i) * sizeof *promise);
}

static size_t find_promise(const struct conns *conns, const struct address *key)
{
    size_t i = 0;
    while (i < conns->promises_len && !address_equal(&conns->promises[i].key, key))
        i++;
    return i;
}

static size_t count_promises(struct conns *conns, const struct address *key)
{
    size_t count = 0;
    while (conns->promises_len > 0 && conns->promises[0].until_ms <= conns->options.now_ms())
        forget_promise(conns, 0);
    for (size_t i = 0; i < conns->promises_len; i++)
        count += address_equal(&conns->promises[i].key, key);
    return count;
}

static void make_promise(struct conns *conns, const struct address *key)
{
    if (conns->promises_len == PROMISES)
        forget_promise(conns, 0);
    conns->promises[conns->promises_len++] =
        (struct promise){.key = *key, .until_ms = conns->options.now_ms() + PROMISE_MS};
}

size_t conns_count(struct conns *conns, const struct address *key)
{
    if (address_is_none(key))
        return 0;
    pthread_mutex_lock(&conns->lock);
    size_t count = count_promises(conns, key);
    for (struct conn *conn = conns->head.next; conn != &conns->head; conn = conn->next) {
        struct address other = address_key(&conn->address);
        count += address_equal(&other, key);
    }
    pthread_mutex_unlock(&conns->lock);
    return count;
}

void conns_promise(struct conns *conns, const struct address *key)
{
    if (address_is_none(key))
        return;
    pthread_mutex_lock(&conns->lock);
    make_promise(conns, key);
    pthread_mutex_unlock(&conns->lock);
}

struct conn *conns_add(struct conns *conns, struct conns_group *group, int fd, const struct sockaddr *from,
                       int64_t deadline_ms)
{
    struct conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL)
        return NULL;
    conn->fd = fd;
    conn->group = group;
    atomic_init(&conn->order, conns->options.now_ms());
    conn->address = address_of(from);
    atomic_init(&conn->deadline_ms, deadline_ms);
    struct address key = address_key(&conn->address);
    pthread_mutex_lock(&conns->lock);
    size_t kept = find_promise(conns, &key);
    if (kept < conns->promises_len)
        forget_promise(conns, kept);
    conn->next = conns->head.next;
    conn->before = &conns->head;
    conn->next->before = conns->head.next = conn;
    pthread_mutex_unlock(&conns->lock);
    return conn;
}

void conns_remove(struct conns *conns, struct conn *conn)
{
    if (conn == NULL)
        return;
    pthread_mutex_lock(&conns->lock);
    conn->next->before = conn->before;
    conn->before->next = conn->next;
    if (conn->is_shed)
        atomic_fetch_sub(&conn->group->shed, 1);
    pthread_mutex_unlock(&conns->lock);
    free(conn);
}

bool conns_has_unread(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* The order of a connection that may be cut, or 0. */
static int64_t order_of(const struct conn *conn, const struct conns_group *group, int64_t since_ms)
{
    int64_t order = conn->group != group || conn->is_shed ? 0 : atomic_load(&conn->order);
    return (order & (CONN_LATER - 1)) > since_ms ? 0 : order;
}

/* The oldest connections are looked at first: they have mostly waited longest, and few are asked for unread bytes.  *found is
 * the order of the one that is returned. */
static struct conn *find_longest(struct conns *conns, const struct conns_group *group, int64_t *found)
{
    struct conn *longest = NULL;
    int64_t      since_ms = conns->options.now_ms() - CONNS_YOUNG_MS, least = INT64_MAX;
    for (struct conn *conn = conns->head.before; conn != &conns->head; conn = conn->before) {
        int64_t order = order_of(conn, group, since_ms), rank = order & ~CONN_READS;
        if (order == 0 || rank >= least || ((order & CONN_READS) == 0 && conns_has_unread(conn->fd)))
            continue;
        longest = conn;
        least = rank;
        *found = order;
    }
    return longest;
}

bool conns_shed(struct conns *conns, struct conns_group *group)
{
    int64_t      order = 0;
    struct conn *longest;
    pthread_mutex_lock(&conns->lock);
    do /* until the order has not changed meanwhile, so no request came */
        longest = find_longest(conns, group, &order);
    while (longest != NULL && !atomic_compare_exchange_strong(&longest->order, &order, 0));
    if (longest != NULL) {
        longest->is_shed = true;
        atomic_fetch_add(&group->shed, 1);
        cut(conns, longest, conns->options.shed);
    }
    pthread_mutex_unlock(&conns->lock);
    return longest != NULL;
}

void conns_watch(struct conns *conns, struct conn *conn, atomic_bool *has_left)
{
    pthread_mutex_lock(&conns->lock);
    conn->has_left = has_left;
    pthread_mutex_unlock(&conns->lock);
}

/* The places of the address: those of its hash. */
static struct tally *places_of(struct tally sets[TALLY_SETS][TALLY_WAYS], const struct address *key)
{
    uint32_t hash = 2166136261u; // FNV-1a
    for (size_t i = 0; i < sizeof key->bytes; i++)
        hash = (hash ^ key->bytes[i]) * 16777619u;
    return sets[hash % TALLY_SETS];
}

/* The count of the address, or NULL. */
static struct tally *find_tally(struct conns *conns, struct tally sets[TALLY_SETS][TALLY_WAYS],
                                const struct address *key)
{
    struct tally *places = places_of(sets, key);
    for (size_t i = 0; i < TALLY_WAYS; i++)
        if (address_equal(&places[i].key, key) && conns->options.now_ms() - places[i].since_ms < TALLY_WINDOW_MS)
            return &places[i];
    return NULL;
}

/* The count of the address; a new one begins in the place that has counted longest. */
static struct tally *make_tally(struct conns *conns, struct tally sets[TALLY_SETS][TALLY_WAYS],
                                const struct address *key)
{
    struct tally *places = places_of(sets, key), *oldest = places, *found = find_tally(conns, sets, key);
    if (found != NULL)
        return found;
    for (size_t i = 1; i < TALLY_WAYS; i++)
        if (places[i].since_ms < oldest->since_ms)
            oldest = &places[i];
    *oldest = (struct tally){.key = *key, .since_ms = conns->options.now_ms()};
    return oldest;
}

unsigned conns_newcomer(struct conns *conns, const struct address *key)
{
    if (address_is_none(key))
        return 0;
    pthread_mutex_lock(&conns->lock);
    bool          is_known = find_tally(conns, conns->newcomers, key) != NULL;
    struct tally *tally = make_tally(conns, conns->newcomers, key);
    tally->count += !is_known;
    unsigned before = tally->count++;
    tally->since_ms = conns->options.now_ms();
    pthread_mutex_unlock(&conns->lock);
    return before;
}

void conns_has_asked(struct conns *conns, struct conn *conn)
{
    if (conn == NULL || conn->has_asked)
        return;
    conn->has_asked = true;
    struct address key = address_key(&conn->address);
    pthread_mutex_lock(&conns->lock);
    struct tally *tally = find_tally(conns, conns->newcomers, &key);
    if (tally != NULL)
        tally->count = 0;
    pthread_mutex_unlock(&conns->lock);
}

void conns_count_failure(struct conns *conns, const struct address *address)
{
    struct address key = address_key(address);
    if (address_is_none(&key))
        return;
    pthread_mutex_lock(&conns->lock);
    make_tally(conns, conns->failures, &key)->count++;
    pthread_mutex_unlock(&conns->lock);
}

bool conns_is_blocked(struct conns *conns, const struct address *address)
{
    struct address key = address_key(address);
    pthread_mutex_lock(&conns->lock);
    const struct tally *tally = find_tally(conns, conns->failures, &key);
    bool                blocked = tally != NULL && tally->count >= CONNS_FAILURES_MAX;
    pthread_mutex_unlock(&conns->lock);
    return blocked;
}
