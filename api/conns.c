/* See conns.h. */
#define _GNU_SOURCE /* POLLRDHUP */
#include "api/conns.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TICK_MS = 1000, FAILURE_SLOTS = 256, FAILURE_WINDOW_MS = 60000 };

struct failures {
    unsigned char address[16];
    int64_t       since_ms;
    unsigned      count;
};

struct conns {
    pthread_mutex_t lock;
    pthread_cond_t  stop;
    pthread_t       thread;
    bool            stopping;
    struct conn     head; /* of a ring */
    size_t          per_address;
    int64_t (*now_ms)(void);
    _Atomic uint64_t *reaped;
    struct failures   failures[FAILURE_SLOTS];
};

static void reap(struct conns *conns, int64_t now_ms)
{
    for (struct conn *conn = conns->head.next; conn != &conns->head; conn = conn->next) {
        int64_t deadline_ms = atomic_load(&conn->deadline_ms);
        if (deadline_ms == 0 || now_ms < deadline_ms)
            continue;
        const char *farewell = atomic_load(&conn->farewell);
        if (farewell != NULL)
            (void)send(conn->fd, farewell, strlen(farewell), MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)shutdown(conn->fd, SHUT_RDWR);
        atomic_store(&conn->deadline_ms, 0);
        atomic_fetch_add(conns->reaped, 1);
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

static void *watch(void *arg)
{
    struct conns *conns = arg;
    pthread_mutex_lock(&conns->lock);
    while (!conns->stopping) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += TICK_MS / 1000;
        (void)pthread_cond_timedwait(&conns->stop, &conns->lock, &until);
        reap(conns, conns->now_ms());
        look_after(conns);
    }
    pthread_mutex_unlock(&conns->lock);
    return NULL;
}

static void init_locks(struct conns *conns)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&conns->stop, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&conns->lock, NULL);
}

enum status conns_start(size_t per_address, int64_t (*now_ms)(void), _Atomic uint64_t *reaped, struct conns **out,
                        struct error *err)
{
    struct conns *conns = calloc(1, sizeof *conns);
    *out = NULL;
    if (conns == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "out of memory");
    conns->head.next = conns->head.before = &conns->head;
    conns->per_address = per_address;
    conns->now_ms = now_ms;
    conns->reaped = reaped;
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

void conns_address(const struct sockaddr *from, unsigned char out[16])
{
    memset(out, 0, 16);
    if (from != NULL && from->sa_family == AF_INET)
        memcpy(out, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    if (from != NULL && from->sa_family == AF_INET6)
        memcpy(out, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 8);
}

static bool is_nowhere(const unsigned char address[16])
{
    static const unsigned char zero[16];
    return memcmp(address, zero, 16) == 0;
}

bool conns_may_accept(struct conns *conns, const struct sockaddr *from)
{
    unsigned char address[16];
    size_t        count = 0;
    conns_address(from, address);
    if (conns->per_address == 0 || is_nowhere(address))
        return true;
    pthread_mutex_lock(&conns->lock);
    for (struct conn *conn = conns->head.next; conn != &conns->head; conn = conn->next)
        count += memcmp(conn->address, address, 16) == 0;
    pthread_mutex_unlock(&conns->lock);
    return count < conns->per_address;
}

struct conn *conns_add(struct conns *conns, int fd, const struct sockaddr *from, int64_t deadline_ms)
{
    struct conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL)
        return NULL;
    conn->fd = fd;
    conns_address(from, conn->address);
    atomic_init(&conn->deadline_ms, deadline_ms);
    pthread_mutex_lock(&conns->lock);
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
    pthread_mutex_unlock(&conns->lock);
    free(conn);
}

void conns_watch(struct conns *conns, struct conn *conn, atomic_bool *has_left)
{
    pthread_mutex_lock(&conns->lock);
    conn->has_left = has_left;
    pthread_mutex_unlock(&conns->lock);
}

/* One slot per hash: a newer address takes the slot of an older one. */
static struct failures *slot_of(struct conns *conns, const unsigned char address[16])
{
    uint32_t hash = 2166136261u; // FNV-1a
    for (size_t i = 0; i < 16; i++)
        hash = (hash ^ address[i]) * 16777619u;
    return &conns->failures[hash % FAILURE_SLOTS];
}

void conns_count_failure(struct conns *conns, const unsigned char address[16])
{
    if (is_nowhere(address))
        return;
    pthread_mutex_lock(&conns->lock);
    struct failures *slot = slot_of(conns, address);
    int64_t          now_ms = conns->now_ms();
    if (memcmp(slot->address, address, 16) != 0 || now_ms - slot->since_ms >= FAILURE_WINDOW_MS) {
        *slot = (struct failures){.since_ms = now_ms};
        memcpy(slot->address, address, 16);
    }
    slot->count++;
    pthread_mutex_unlock(&conns->lock);
}

bool conns_is_blocked(struct conns *conns, const unsigned char address[16])
{
    pthread_mutex_lock(&conns->lock);
    const struct failures *slot = slot_of(conns, address);
    bool                   blocked = slot->count >= CONNS_FAILURES_MAX && memcmp(slot->address, address, 16) == 0 &&
                   conns->now_ms() - slot->since_ms < FAILURE_WINDOW_MS;
    pthread_mutex_unlock(&conns->lock);
    return blocked;
}
