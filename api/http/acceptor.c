/* See acceptor.h.  One thread waits for all sockets; an eventfd wakes it for its end. */
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
#include <time.h>
#include <unistd.h>

enum {
    MAX_LISTENERS = 3,
    AT_ONCE = 64,  /* taken from one socket before the others are looked at */
    RETRY_MS = 20, /* how often to look again where there is no room */
    LOST_MS = 10000,
    REPORT_EACH_MS = 60000
};

/* What one listener's connections came to: the library's threads begin with one a moment after it was handed to them, and
 * with some never, for want of memory. */
struct handed {
    int64_t count, last_ms;
};

struct acceptor {
    struct listener *listeners;
    struct handed    handed[MAX_LISTENERS];
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

/* Those are counted, too, with which no thread has begun; not those of long ago, which are lost.  begun is read first: it is
 * written last. */
static bool has_room(struct acceptor *acceptor, size_t i)
{
    struct listener *listener = &acceptor->listeners[i];
    struct handed   *handed = &acceptor->handed[i];
    int64_t          begun = atomic_load(&listener->begun);
    bool             is_old = listener->shared->app->monotonic_ms() - handed->last_ms > LOST_MS;
    if (handed->count < begun || is_old)
        handed->count = begun;
    return atomic_load(&listener->open) + handed->count - begun < listener->limit;
}

static void note_handed(struct acceptor *acceptor, size_t i)
{
    acceptor->handed[i].count++;
    acceptor->handed[i].last_ms = acceptor->listeners[i].shared->app->monotonic_ms();
}

/* False: there is something to accept, and no descriptor or memory for it. */
static bool accept_some(struct acceptor *acceptor, size_t place)
{
    struct listener *listener = &acceptor->listeners[place];
    for (int i = 0; i < AT_ONCE && has_room(acceptor, place); i++) {
        struct sockaddr_storage from;
        struct sockaddr        *address = (struct sockaddr *)&from;
        socklen_t               length = sizeof from;
        memset(&from, 0, sizeof from);
        int fd = accept4(listener->fd, address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            if (MHD_add_connection(listener->daemon, fd, address, length) == MHD_YES) /* refused: it closes fd */
                note_handed(acceptor, place);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            report(acceptor, errno);
            return false;
        } else if (errno != ECONNABORTED && errno != EINTR)
            return true; /* nobody is left, or the socket was closed */
    }
    return true;
}

static void *run(void *cls)
{
    struct acceptor *acceptor = cls;
    struct pollfd    waits[MAX_LISTENERS + 1];
    bool             is_short = false;
    for (;;) {
        bool is_full = is_short;
        for (size_t i = 0; i < acceptor->len; i++) {
            struct listener *listener = &acceptor->listeners[i];
            bool             is_open = listener->daemon != NULL && !atomic_load(&listener->is_closed);
            bool             has = is_open && has_room(acceptor, i);
            is_full = is_full || (is_open && !has);
            waits[i] = (struct pollfd){.fd = has && !is_short ? listener->fd : -1, .events = POLLIN};
        }
        waits[acceptor->len] = (struct pollfd){.fd = acceptor->wake, .events = POLLIN};
        is_short = false;
        int ready = poll(waits, acceptor->len + 1, is_full ? RETRY_MS : -1);
        if (ready > 0 && waits[acceptor->len].revents != 0)
            return NULL;
        for (size_t i = 0; ready > 0 && i < acceptor->len; i++)
            if (waits[i].revents != 0 && !accept_some(acceptor, i))
                is_short = true;
    }
}

enum status acceptor_start(struct listener *listeners, size_t len, struct acceptor **out, struct error *err)
{
    struct acceptor *acceptor = *out = calloc(1, sizeof *acceptor);
    if (acceptor == NULL)
        return error_no_memory(err);
    *acceptor = (struct acceptor){.listeners = listeners, .len = len, .wake = eventfd(0, EFD_CLOEXEC)};
    acceptor->is_running = acceptor->wake >= 0 && pthread_create(&acceptor->thread, NULL, run, acceptor) == 0;
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
    if (acceptor->wake >= 0)
        close(acceptor->wake);
    free(acceptor);
}
