/* The listeners, and the way of a request between the HTTP library's threads and the workers.
 *
 * The library's threads read; a complete request is run by a worker while its connection is suspended; the reply resumes
 * it.  Invariants: a connection is suspended at most once at a time, only by its own thread, and only with a job that
 * will resume it; the library is never stopped while one is suspended; no more than one piece of a streamed body and
 * body_limit bytes of any other are held for a request, and bodies_limit bytes for all together. */
#ifndef GNOMON_API_HTTP_SERVER_H
#define GNOMON_API_HTTP_SERVER_H

#include "api/base/access_log.h"
#include "api/base/address.h"
#include "service/app/app.h"

struct server;
struct tls_files;

struct server_options {                  /* 0 (or NULL, -1): the default, in brackets */
    const char             *host, *port; /* of the main listener ["127.0.0.1", "8080"]; port "0": any free one */
    const char             *health_host, *health_port; /* NULL port: no health listener */
    const struct tls_files *tls;                       /* of the main listener; NULL: plain HTTP */
    int                     local_fd;                  /* listening Unix socket, which the server then owns; -1: none */
    size_t                  workers, queue;            /* [64, 256] */
    unsigned                connections;               /* [512] */
    int                     per_address;               /* [64]; -1: no limit */
    const struct networks  *trusted;                   /* proxies, to which per_address does not apply; NULL: none */
    const char             *cors_origins;              /* see cors.h; NULL: none */
    enum access_format      access_log;                /* [logfmt] */
    int64_t                 body_limit, bodies_limit;  /* bytes [8 MiB, 256 MiB] */
    int64_t                 idle_ms, body_ms, upload_ms, write_ms, drain_ms; /* [10 s, 30 s, 10 min, 30 s, 20 s] */
};

/* Errors: INVALID "address"; CONFLICT "address_in_use"; NO_MEMORY; INTERNAL "listen". */
MUST_CHECK enum status server_start(struct app *app, const struct server_options *options, struct server **out,
                                    struct error *err);

/* A socket that listens there.  Errors: INVALID "address"; CONFLICT "address_in_use"; INTERNAL "listen". */
MUST_CHECK enum status server_socket(const char *host, const char *port, int *fd, struct error *err);
/* How many descriptors the connections of all its listeners may take, those that have sent nothing and those that were cut
 * included; `connections` is set. */
size_t server_descriptors(const struct server_options *options);

/* The port of the main listener, and of the health listener (0: none). */
int server_port(const struct server *server);
int server_health_port(const struct server *server);

/* /readyz says that the server is about to stop, and replies close their connections; all else goes on. */
void server_leave(struct server *server);

/* As server_leave, and accepts no connections and requests; running ones may finish for drain_ms, then get 503. */
void server_drain(struct server *server);

/* Drains if that was not done, stops everything, frees.  NULL is allowed.  The app is closed after this. */
void server_stop(struct server *server);

#endif
