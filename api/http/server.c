/* See server.h.  Starts and stops; what happens to a request is in request_steps.c. */
#define _GNU_SOURCE /* struct ucred */
#include "api/http/server.h"

#include "api/http/acceptor.h"
#include "api/http/request.h"
#include "api/http/request_follow.h"
#include "api/http/request_reply.h"
#include "api/http/tls.h"
#include "api/core/route.h"
#include "service/base/log.h"
#include "service/base/random.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    LISTENERS = 3,
    FEW = 64, /* connections of the listeners beside the main one */
    MEMORY_PER_CONNECTION = 32 << 10,
    INACTIVITY_SECONDS = 15,
    BACKLOG = 4096,
    THREADS = 2,
    POLL_MS = 5,
    LAST_REPLIES_MS = 5000
};

struct server {
    struct requests       requests;
    struct listener       listeners[LISTENERS]; /* by kind */
    struct acceptor      *acceptor;
    struct server_options options;
    bool                  drained;
};

static void set_defaults(struct server_options *options)
{
    struct server_options *o = options;
    const struct {
        int64_t *value, fallback;
    } rows[] = {
        {&o->body_limit, 8 << 20}, {&o->bodies_limit, 256 << 20}, {&o->idle_ms, 10000},  {&o->body_ms, 30000},
        {&o->upload_ms, 600000},   {&o->write_ms, 30000},         {&o->drain_ms, 20000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (*rows[i].value == 0)
            *rows[i].value = rows[i].fallback;
    o->host = o->host == NULL ? "127.0.0.1" : o->host;
    o->port = o->port == NULL ? "8080" : o->port;
    o->health_host = o->health_host == NULL ? o->host : o->health_host;
    o->workers = o->workers == 0 ? 64 : o->workers;
    o->queue = o->queue == 0 ? 256 : o->queue;
    o->connections = o->connections == 0 ? 512 : o->connections;
    o->per_address = o->per_address == 0 ? 64 : o->per_address;
}

/* Connections of a listener; 0: it is not there. */
static int64_t limit_of(const struct server_options *options, enum listener_kind kind)
{
    const int64_t limits[LISTENERS] = {
        [LISTENER_MAIN] = options->connections,
        [LISTENER_HEALTH] = options->health_port != NULL ? FEW : 0,
        [LISTENER_LOCAL] = options->local_fd >= 0 ? FEW : 0,
    };
    return limits[kind];
}

size_t server_descriptors(const struct server_options *options)
{
    size_t count = 0;
    for (int kind = 0; kind < LISTENERS; kind++) {
        int64_t limit = limit_of(options, (enum listener_kind)kind);
        count += limit > 0 ? (size_t)limit + ACCEPTOR_BESIDE : 0;
    }
    return count;
}

/* ---- connections ---- */

/* Root could read the store anyway. */
static bool is_owner_or_root(int fd)
{
    struct ucred peer;
    socklen_t    length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct listener *listener = cls;
    struct requests *shared = listener->shared;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        request_forget(*context);
        conns_remove(shared->conns, *context);
        atomic_fetch_sub(&shared->traffic.connections, 1);
        atomic_fetch_sub(&listener->open, 1);
        return;
    }
    atomic_fetch_add(&listener->open, 1);
    atomic_fetch_add(&listener->begun, 1);
    int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    const union MHD_ConnectionInfo *from = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    *context = conns_add(shared->conns, &listener->group, fd, from == NULL ? NULL : from->client_addr,
                         shared->app->monotonic_ms() + shared->idle_ms);
    atomic_fetch_add(&shared->traffic.connections, 1);
    if (*context != NULL)
        ((struct conn *)*context)->is_tls = listener->is_tls;
    if (*context == NULL || (listener->kind == LISTENER_LOCAL && !is_owner_or_root(fd)))
        (void)shutdown(fd, SHUT_RDWR);
}

/* Whether the message is about an option of TCP, which the Unix socket in the folder does not have. */
static bool is_about_tcp(const char *format)
{
    static const char option[] = "Setting %s option to %s state failed";
    static const char push[] = "Failed to push the data from buffers to the network";
    return strncmp(format, option, sizeof option - 1) == 0 || strncmp(format, push, sizeof push - 1) == 0;
}

/* The library's own messages say little and clients can provoke them: one a minute is enough to notice.  But one of them
 * comes just before an answer of its own. */
static void on_message(void *cls, const char *format, va_list args)
{
    static const char announcement[] = "Error processing request (HTTP response code is %u";
    struct listener  *listener = cls;
    va_list           again;
    if (strncmp(format, announcement, sizeof announcement - 1) == 0) {
        va_copy(again, args);
        request_on_library_error(va_arg(again, unsigned));
        va_end(again);
    }
    if (is_about_tcp(format))
        return;
    char    text[200];
    int64_t now_ms = listener->shared->app->monotonic_ms();
    int64_t last_ms = atomic_load(&listener->shared->message_ms);
    if (last_ms != 0 && now_ms - last_ms < 60000)
        return;
    atomic_store(&listener->shared->message_ms, now_ms);
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    log_event(LOG_WARNING, "http_library", "text=\"%s\"", text);
}

/* ---- listening ---- */

enum status server_socket(const char *host, const char *port, int *fd, struct error *err)
{
    struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    int              on = 1, problem = getaddrinfo(host, port, &hints, &found);
    if (problem != 0)
        return error_set(err, STATUS_INVALID, "address", "", "%s:%s: %s", host, port, gai_strerror(problem));
    *fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool good = *fd >= 0 && setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                bind(*fd, found->ai_addr, found->ai_addrlen) == 0 && listen(*fd, BACKLOG) == 0;
    int reason = errno;
    freeaddrinfo(found);
    if (good)
        return STATUS_OK;
    if (*fd >= 0)
        close(*fd);
    return error_set(err, reason == EADDRINUSE ? STATUS_CONFLICT : STATUS_INTERNAL,
                     reason == EADDRINUSE ? "address_in_use" : "listen", "", "%s:%s: %s", host, port, strerror(reason));
}

/* Takes fd, also on failure. */
static enum status listen_on(struct server *server, enum listener_kind kind, int fd, struct error *err)
{
    struct listener      *listener = &server->listeners[kind];
    bool                  is_main = kind == LISTENER_MAIN;
    intptr_t              limit = (intptr_t)limit_of(&server->options, kind);
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)on_message, listener}, /* first: it logs errors of the others */
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_PER_CONNECTION, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, INACTIVITY_SECONDS, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, 2 * limit + 256, NULL}, /* each thread has room for all: the acceptor counts */
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)request_begin, listener},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)request_end, listener},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, listener},
        {is_main ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, THREADS, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    bool is_tls = is_main && server->options.tls != NULL;
    /* With epoll the library (Debian 12's 0.9.75) calls whoever has not finished the handshake again and again, without a rest. */
    unsigned waits = is_tls ? MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_TLS : MHD_USE_EPOLL_INTERNAL_THREAD;
    unsigned flags = waits | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    *listener = (struct listener){
        .shared = &server->requests,
        .kind = kind,
        .is_tls = is_tls,
        .fd = fd,
        .limit = limit,
        .per_address = is_main && server->options.per_address > 0 ? (size_t)server->options.per_address : 0};
    listener->daemon = MHD_start_daemon(flags, 0, NULL, NULL, request_continue, listener, MHD_OPTION_ARRAY, options,
                                        is_tls ? MHD_OPTION_HTTPS_CERT_CALLBACK2 : MHD_OPTION_END, tls_give_certificate,
                                        MHD_OPTION_HTTPS_PRIORITIES, tls_priorities, MHD_OPTION_END);
    if (listener->daemon != NULL)
        return STATUS_OK;
    close(fd);
    return error_set(err, STATUS_INTERNAL, "listen", "", "the HTTP listener did not start");
}

static enum status start_listeners(struct server *server, struct error *err)
{
    const struct server_options *options = &server->options;
    int                          fd;
    if (options->tls != NULL)
        TRY(tls_load(options->tls, err));
    TRY(server_socket(options->host, options->port, &fd, err));
    TRY(listen_on(server, LISTENER_MAIN, fd, err));
    if (options->health_port != NULL) {
        TRY(server_socket(options->health_host, options->health_port, &fd, err));
        TRY(listen_on(server, LISTENER_HEALTH, fd, err));
    }
    if (options->local_fd >= 0)
        TRY(listen_on(server, LISTENER_LOCAL, options->local_fd, err));
    return acceptor_start(server->listeners, LISTENERS, &server->acceptor, err);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Short and long requests have threads of their own, and the short ones more processor time.  Fewer requests read whole
 * studies than the store has readers.  64 workers of a study may ask at once.  The waiting requests of one token fit into a
 * request's time limit; large bodies are read by a few threads, since that, too, is work. */
static enum status start_workers(struct server *server, struct error *err)
{
    enum { LONGEST_MS = 30000 }; // where requests have no limit
    const struct app_options *options = &server->requests.app->options;
    size_t                    all = server->options.workers, queue = server->options.queue, half = (all + 1) / 2;
    double                    slots = (double)options->compute_slots;
    double                    longest_ms = options->compute_ms > 0 ? (double)options->compute_ms : LONGEST_MS;
    const struct workers_lane lanes[LANE_COUNT] = {
        [LANE_BULK] = {.at_once = least(4 + options->compute_slots, half), .waiting = queue},
        [LANE_READ] = {.at_once = least(3, half), .waiting = 64},
        [LANE_COMPUTE] = {.at_once = half, .waiting = queue, .cost = 2 * slots * longest_ms},
    };
    const struct workers_lane short_lane = {.at_once = all, .waiting = queue};
    TRY(workers_start(all, &short_lane, 1, 0, &server->requests.workers, err));
    return workers_start(half + 8, lanes, LANE_COUNT, WORKERS_LONG_NICE, &server->requests.long_workers, err);
}

static enum status start_parts(struct server *server, struct error *err)
{
    struct requests *requests = &server->requests;
    TRY(random_bytes(&requests->id_key, sizeof requests->id_key, err));
    const struct conns_options conns = {.now_ms = requests->app->monotonic_ms,
                                        .reaped = &requests->traffic.reaped,
                                        .shed = &requests->traffic.shed,
                                        .memory = requests->app->memory,
                                        .late = request_late_bytes};
    TRY(conns_start(&conns, &requests->conns, err));
    TRY(start_workers(server, err));
    TRY(request_follow_start(requests, err));
    return start_listeners(server, err);
}

enum status server_start(struct app *app, const struct server_options *options, struct server **out, struct error *err)
{
    *out = NULL;
    struct server *server = calloc(1, sizeof *server);
    if (server == NULL)
        return error_no_memory(err);
    server->options = *options;
    set_defaults(&server->options);
    options = &server->options;
    struct requests *requests = &server->requests;
    requests->app = app;
    requests->cors_origins = options->cors_origins;
    if (options->trusted != NULL)
        requests->trusted = *options->trusted;
    requests->access_log = options->access_log;
    requests->body_limit = options->body_limit;
    requests->bodies_limit = options->bodies_limit;
    const struct arena_pool *memory = app->memory; // half of the memory is for bodies that have come
    if (memory != NULL && memory->limit_bytes > 0 && memory->limit_bytes / 2 < (size_t)requests->bodies_limit)
        requests->bodies_limit = (int64_t)(memory->limit_bytes / 2);
    requests->idle_ms = options->idle_ms;
    requests->body_ms = options->body_ms;
    requests->upload_ms = options->upload_ms;
    requests->write_ms = options->write_ms;
    for (size_t i = 0; i < route_table_len; i++) {
        requests->traffic.routes[i].method = route_table[i].method;
        requests->traffic.routes[i].path = route_table[i].path;
    }
    pthread_mutex_init(&requests->lock, NULL);
    pthread_mutex_init(&requests->traffic.lock, NULL);
    enum status status = start_parts(server, err);
    if (status != STATUS_OK)
        server_stop(server);
    else
        *out = server;
    return status;
}

static int port_of(const struct server *server, enum listener_kind kind)
{
    const struct listener  *listener = &server->listeners[kind];
    struct sockaddr_storage address;
    socklen_t               length = sizeof address;
    char                    port[16];
    if (listener->daemon == NULL || getsockname(listener->fd, (struct sockaddr *)&address, &length) != 0 ||
        getnameinfo((struct sockaddr *)&address, length, NULL, 0, port, sizeof port, NI_NUMERICSERV) != 0)
        return 0;
    return atoi(port);
}

int server_port(const struct server *server)
{
    return port_of(server, LISTENER_MAIN);
}

int server_health_port(const struct server *server)
{
    return port_of(server, LISTENER_HEALTH);
}

/* ---- the end ---- */

static void wait_for_none(struct server *server, _Atomic int64_t *count, int64_t limit_ms)
{
    int64_t (*now_ms)(void) = server->requests.app->monotonic_ms;
    int64_t until_ms = now_ms() + limit_ms;
    while (atomic_load(count) > 0 && now_ms() < until_ms)
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
}

static void stop(struct listener *listener)
{
    if (listener->daemon == NULL)
        return;
    MHD_stop_daemon(listener->daemon);
    close(listener->fd);
}

void server_leave(struct server *server)
{
    atomic_store(&server->requests.leaving, true);
}

void server_drain(struct server *server)
{
    struct requests *requests = &server->requests;
    struct traffic  *traffic = &requests->traffic;
    if (server->drained)
        return;
    server->drained = true;
    server_leave(server);
    atomic_store(&requests->draining, true);
    acceptor_close(&server->listeners[LISTENER_MAIN]);
    acceptor_close(&server->listeners[LISTENER_LOCAL]);
    request_follow_wake(requests);
    wait_for_none(server, &traffic->in_flight, server->options.drain_ms);
    request_abandon_all(requests);
    wait_for_none(server, &traffic->suspended, INT64_MAX / 2); /* stopping with a suspended connection aborts */
    wait_for_none(server, &traffic->in_flight, LAST_REPLIES_MS);
}

void server_stop(struct server *server)
{
    if (server == NULL)
        return;
    server_drain(server);
    request_follow_stop(&server->requests);
    acceptor_stop(server->acceptor);
    for (size_t i = 0; i < LISTENERS; i++)
        stop(&server->listeners[i]);
    workers_stop(server->requests.workers);
    workers_stop(server->requests.long_workers);
    conns_stop(server->requests.conns);
    pthread_mutex_destroy(&server->requests.lock);
    pthread_mutex_destroy(&server->requests.traffic.lock);
    tls_forget();
    free(server);
}
