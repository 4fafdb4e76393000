/* See acceptor.h.  One thread waits for all sockets, those that listen and those in the anterooms; an eventfd wakes it for
 * its end. */
#define _GNU_SOURCE /* accept4 */
#include "api/http/acceptor.h"

#include "api/http/request.h"
#include "service/base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MAX_LISTENERS = 3,
    AT_ONCE = 64, /* taken from one socket before the others are looked at */
    BEGINS_MAX =
        8, /* connections that a listener's threads are given at once: they may shake hands before others' answers */
    RETRY_MS = 20,   /* how often to look again where there is no room */
    SHED_MS = 1,     /* how often to look again for these, and for one that may be sent away */
    PUSH_MS = 5,     /* how often one of a high rank may send away another in a full house */
    KEPT_SHARE = 16, /* one in so many places is left for addresses without a connection */
    TICK_MS = 1000,  /* how often silent connections are looked through */
    LOST_MS = 10000,
    REPORT_EACH_MS = 60000
};

/* Connections handed to a listener: its threads begin with one a moment later, and with some never, for want of memory. */
struct handed {
    int64_t count, last_ms, pushed_ms; /* pushed_ms: when one of a high rank last came into a full house */
};

struct acceptor {
    struct listener *listeners;
    struct handed    handed[MAX_LISTENERS];
    struct anteroom  rooms[MAX_LISTENERS];
    size_t           len;
    int              wake;
    bool             is_running;
    int64_t          reported_ms;
    pthread_t        thread;
};

static void report(struct acceptor *acceptor, int reason)
{
    int64_t now_ms = acceptor->listeners->shared->app->monotonic_ms();
    if (acceptor->reported_ms != 0 && now_ms - acceptor->reported_ms < REPORT_EACH_MS)
        return;
    acceptor->reported_ms = now_ms;
    log_event(LOG_WARNING, "accept", "text=\"%s\"", strerror(reason));
}

/* Connections that no thread has begun with, but for old ones, which are lost. */
static int64_t count_begins(struct acceptor *acceptor, size_t i)
{
    struct listener *listener = &acceptor->listeners[i];
    struct handed   *handed = &acceptor->handed[i];
    int64_t          begun = atomic_load(&listener->begun);
    bool             is_old = listener->shared->app->monotonic_ms() - handed->last_ms > LOST_MS;
    if (handed->count < begun || is_old)
        handed->count = begun;
    return handed->count - begun;
}

/* Connections of trusted proxies do not count, and have none: they may have any number. */
static struct address key_of(const struct listener *listener, const struct guest *guest)
{
    struct address address = address_of((const struct sockaddr *)&guest->from);
    return networks_have(&listener->shared->trusted, &address) ? (struct address){{0}} : address_key(&address);
}

/* A guest whose address only connects, again and again, sends away others seldom: each handshake costs the answers of others. */
static bool may_push(struct acceptor *acceptor, size_t place, const struct guest *guest)
{
    struct handed *handed = &acceptor->handed[place];
    int64_t        now_ms = acceptor->listeners[place].shared->app->monotonic_ms();
    if (guest->rank < ANTEROOM_PATIENT)
        return true;
    if (now_ms - handed->pushed_ms < PUSH_MS)
        return false;
    handed->pushed_ms = now_ms;
    return true;
}

/* Whether the guest gets a place, unless *pause_ms says for how long there is none for anybody.  The connection that has
 * waited longest makes room before one of the places that are kept is taken. */
static bool may_enter(struct acceptor *acceptor, size_t place, const struct guest *guest, int *pause_ms)
{
    struct listener *listener = &acceptor->listeners[place];
    size_t           count = conns_count(listener->shared->conns, &guest->key);
    int64_t          begins = count_begins(acceptor, place); // before open: begun is written last
    int64_t left = listener->limit - begins - atomic_load(&listener->open) + atomic_load(&listener->group.shed);
    *pause_ms = begins < BEGINS_MAX ? 0 : SHED_MS;
    if (*pause_ms > 0)
        return false;
    if (listener->per_address > 0 && count >= listener->per_address)
        return false;
    if (left > listener->limit / KEPT_SHARE)
        return true;
    if (atomic_load(&listener->group.shed) >= ACCEPTOR_SHED_MAX || !may_push(acceptor, place, guest))
        *pause_ms = SHED_MS;
    else if (conns_shed(listener->shared->conns, &listener->group))
        return true;
    else if (left <= 0)
        *pause_ms = RETRY_MS;
    return count == 0;
}

static void note_handed(struct acceptor *acceptor, size_t i)
{
    acceptor->handed[i].count++;
    acceptor->handed[i].last_ms = acceptor->listeners[i].shared->app->monotonic_ms();
}

static void hand_over(struct acceptor *acceptor, size_t place, const struct guest *guest)
{
    struct listener       *listener = &acceptor->listeners[place];
    const struct sockaddr *from = (const struct sockaddr *)&guest->from;
    conns_promise(listener->shared->conns, &guest->key);
    if (MHD_add_connection(listener->daemon, guest->fd, from, guest->length) == MHD_YES) /* else: it has closed fd */
        note_handed(acceptor, place);
}

/* Gives the connections that have sent something to the daemon; returns the pause until it has room for the next, or 0.  A
 * connection whose client has left is given, too, and found out there. */
static int let_in(struct acceptor *acceptor, size_t place)
{
    struct anteroom *room = &acceptor->rooms[place];
    struct guest    *guest;
    while ((guest = anteroom_ready(room)) != NULL) {
        int  pause_ms;
        bool may = may_enter(acceptor, place, guest, &pause_ms);
        if (pause_ms > 0)
            return pause_ms;
        anteroom_leave(room, guest);
        if (may)
            hand_over(acceptor, place, guest);
        else
            close(guest->fd);
    }
    return 0;
}

/* Accepts some connections.  Returns the pause while a descriptor, memory or a place is missing, or 0. */
static int accept_some(struct acceptor *acceptor, size_t place)
{
    struct listener *listener = &acceptor->listeners[place];
    int64_t          now_ms = listener->shared->app->monotonic_ms();
    for (int i = 0; i < AT_ONCE; i++) {
        struct guest guest = {.length = sizeof guest.from, .since_ms = now_ms};
        if (!anteroom_has_room(&acceptor->rooms[place], now_ms - CONNS_YOUNG_MS))
            return SHED_MS;
        guest.fd = accept4(listener->fd, (struct sockaddr *)&guest.from, &guest.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (guest.fd >= 0) {
            guest.key = key_of(listener, &guest);
            guest.rank = conns_newcomer(listener->shared->conns, &guest.key);
            anteroom_enter(&acceptor->rooms[place], &guest);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            report(acceptor, errno);
            return RETRY_MS;
        } else if (errno != ECONNABORTED && errno != EINTR)
            return 0; /* nobody is left, or the socket was closed */
    }
    return 0;
}

/* Returns for how long to wait before the next look.  While those in the anteroom find no place others come into it, and if there
 * is none for them, they wait in the backlog. */
static int receive(struct acceptor *acceptor, size_t place)
{
    struct listener *listener = &acceptor->listeners[place];
    struct requests *shared = listener->shared;
    int              pause_ms = atomic_load(&listener->is_closed) ? 0 : accept_some(acceptor, place);
    int              full_ms = let_in(acceptor, place);
    pause_ms = full_ms > 0 ? full_ms : pause_ms;
    anteroom_reap(&acceptor->rooms[place], shared->app->monotonic_ms() - shared->idle_ms, &shared->traffic.reaped);
    return pause_ms;
}

static void *run(void *cls)
{
    struct acceptor *acceptor = cls;
    struct pollfd    waits[2 * MAX_LISTENERS + 1];
    size_t           end = 2 * acceptor->len;
    int              pause_ms = 0; /* in which only the end is waited for */
    for (;;) {
        for (size_t i = 0; i < acceptor->len; i++) {
            struct listener *listener = &acceptor->listeners[i];
            bool             is_open = listener->daemon != NULL && !atomic_load(&listener->is_closed) && pause_ms == 0;
            waits[2 * i] = (struct pollfd){.fd = is_open ? listener->fd : -1, .events = POLLIN};
            waits[2 * i + 1] = (struct pollfd){.fd = pause_ms == 0 ? acceptor->rooms[i].epoll : -1, .events = POLLIN};
        }
        waits[end] = (struct pollfd){.fd = acceptor->wake, .events = POLLIN};
        (void)poll(waits, end + 1, pause_ms == 0 ? TICK_MS : pause_ms);
        if (waits[end].revents != 0)
            return NULL;
        int longest_ms = 0;
        for (size_t i = 0; i < acceptor->len; i++) {
            int next_ms = acceptor->listeners[i].daemon != NULL ? receive(acceptor, i) : 0;
            longest_ms = next_ms > longest_ms ? next_ms : longest_ms;
        }
        pause_ms = longest_ms;
    }
}

enum status acceptor_start(struct listener *listeners, size_t len, struct acceptor **out, struct error *err)
{
    struct acceptor *acceptor = *out = calloc(1, sizeof *acceptor);
    if (acceptor == NULL)
        return error_no_memory(err);
    *acceptor = (struct acceptor){.listeners = listeners, .len = len, .wake = eventfd(0, EFD_CLOEXEC)};
    bool is_good = acceptor->wake >= 0;
    for (size_t i = 0; i < len; i++) {
        acceptor->rooms[i].epoll = -1;
        if (listeners[i].daemon != NULL)
            is_good &= anteroom_open(&acceptor->rooms[i], &listeners[i].shared->traffic.shed);
    }
    acceptor->is_running = is_good && pthread_create(&acceptor->thread, NULL, run, acceptor) == 0;
    if (!acceptor->is_running)
        return error_set(err, STATUS_INTERNAL, "threads", "", "the thread that accepts connections did not start");
    return STATUS_OK;
}

void acceptor_close(struct listener *listener)
{
    if (listener->daemon != NULL && !atomic_exchange(&listener->is_closed, true))
        (void)shutdown(listener->fd, SHUT_RDWR); /* the number stays: the thread may be looking at it */
}

void acceptor_stop(struct acceptor *acceptor)
{
    if (acceptor == NULL)
        return;
    for (size_t i = 0; i < acceptor->len; i++)
        acceptor_close(&acceptor->listeners[i]);
    if (acceptor->is_running) {
        (void)eventfd_write(acceptor->wake, 1);
        pthread_join(acceptor->thread, NULL);
    }
    for (size_t i = 0; i < acceptor->len; i++)
        anteroom_close(&acceptor->rooms[i]);
    if (acceptor->wake >= 0)
        close(acceptor->wake);
    free(acceptor);
}
