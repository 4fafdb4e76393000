/* The life of one request, as callbacks of the HTTP library.  Internal to the server; see server.h for the design. */
#ifndef GNOMON_API_HTTP_REQUEST_H
#define GNOMON_API_HTTP_REQUEST_H

#include "api/base/access_log.h"
#include "api/core/call.h"
#include "api/http/conns.h"
#include "service/base/workers.h"

#include <microhttpd.h>
#include <pthread.h>

struct request;

/* State that all requests share. */
struct requests {
    struct app        *app;
    struct workers    *workers, *long_workers; /* of LANE_SHORT, and of the other lanes */
    struct conns      *conns;
    struct networks    trusted;      /* proxies */
    const char        *cors_origins; /* or NULL */
    struct traffic     traffic;
    atomic_bool        leaving, draining; /* said to be not ready; refusing */
    enum access_format access_log;
    int64_t            body_limit, bodies_limit;
    int64_t            idle_ms, body_ms, upload_ms, write_ms;
    uint64_t           id_key;
    _Atomic uint64_t   id_next;
    _Atomic int64_t    message_ms; /* when the library last logged a message */
    pthread_mutex_t    lock;
    struct request    *running;   /* the requests that a worker has, linked */
    struct request    *following; /* the requests that wait for something to happen: see request_follow.h */
    pthread_t          follower;
    pthread_cond_t     happened;
    _Atomic uint64_t   commits; /* how many commits there were */
    bool               is_urgent, is_following, follower_stops;
};

/* A listener: the closure of the callbacks. */
struct listener {
    struct requests   *shared;
    enum listener_kind kind;
    bool               is_tls;
    struct MHD_Daemon *daemon; /* NULL: not there, and nothing below counts */
    int                fd;     /* listens; is_closed: no more */
    atomic_bool        is_closed;
    _Atomic int64_t    open;  /* connections that the library's threads have */
    _Atomic int64_t    begun; /* counts each once, after open */
    int64_t            limit;
    size_t             per_address; /* connections; 0: no limit */
    struct conns_group group;
};

/* MHD_OPTION_URI_LOG_CALLBACK, the access handler, MHD_OPTION_NOTIFY_COMPLETED; cls is the listener. */
void           *request_begin(void *cls, const char *uri, struct MHD_Connection *connection);
enum MHD_Result request_continue(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                 const char *version, const char *data, size_t *data_length, void **context);
void request_end(void *cls, struct MHD_Connection *connection, void **context, enum MHD_RequestTerminationCode code);

/* From the library's log, before it answers one of the calling thread's connections with an error of its own. */
void request_on_library_error(unsigned http);

/* Frees what was kept for the connection's next request. */
void request_forget(struct conn *conn);

/* Takes every running request from its worker and resumes its connection, which gets 503. */
void request_abandon_all(struct requests *requests);

#endif
