/* A request on its way through the layers: the input, the handler's result, the reply.
 * Handlers see this and nothing of threads, sockets or the HTTP library. */
#ifndef GNOMON_API_CORE_CALL_H
#define GNOMON_API_CORE_CALL_H

#include "api/base/address.h"
#include "api/base/traffic.h"
#include "api/core/schema.h"
#include "api/base/trace.h"
#include "service/app/app.h"

#include <jansson.h>
#include <stdatomic.h>

struct route;
struct call;

enum { CALL_PARAMS_MAX = 3, CALL_QUERY_MAX = 16, CALL_RESULT_BYTES = 3072 };
enum { REPLY_PLAIN_BYTES = 512 };
enum listener_kind { LISTENER_MAIN, LISTENER_HEALTH, LISTENER_LOCAL };

/* An answer that is not complete yet: the handler is asked again when something was written, without a thread meanwhile.
 * again sees call->input as the handler left it, but for what lies in the JSON of the query and of the body; what it
 * leaves in the arena goes with the next. */
struct follow {
    enum status (*again)(struct call *call, struct error *err); /* NULL: the answer is final */
    int64_t      until_ms;                                      /* monotonic: asked then, if nothing happened before */
    int64_t      look_ms;                                       /* ... and then; 0: not before until_ms */
    const char  *turn; /* of those who wait for the same one is asked at a time, who has waited longest first; NULL */
    bool         is_alike;   /* what is refused to one of these and of a token need not be asked for the others */
    bool         is_stream;  /* each answer is a piece of the reply; one of no length is not sent */
    bool         is_held;    /* counted in traffic */
    struct error refusal;    /* what was refused last, which may not last */
    int64_t      refused_ms; /* when that was; monotonic */
};
/* Counts the request, once, among those that wait; false: there are too many. */
bool               call_hold(struct call *call);
struct share_owner call_owner(const struct call *call);
/* Nobody waits for what will not come: the client has left, or the service stops. */
bool call_is_over(const struct call *call);

struct reply {
    int         http;
    const char *type;  /* Content-Type; NULL: no body */
    const char *bytes; /* in the call's arena, or static */
    size_t      length;
    bool        is_file; /* the bytes are those of an open file, closed once it is sent */
    int         file;
    const char *location, *etag, *allow; /* or NULL */
    const char *cache;                   /* Cache-Control; NULL: not to be kept */
    const char *preference;              /* that was applied, or NULL */
    bool        is_final;                /* and never becomes another */
    bool        is_gzip;
    int         retry_after_seconds; /* 0: none */
    bool        replayed, close;
    char        code[40]; /* of a problem, or "" */
    const char *detail;   /* of one that is a fault of ours or of the machine, in the call's arena; or NULL */
};

struct call {
    struct app        *app;
    struct traffic    *traffic;
    const atomic_bool *leaving, *draining; /* see server_leave, server_drain */
    enum listener_kind listener;
    int64_t            body_limit; /* bytes of a body that is not streamed */
    struct arena       arena;
    struct caller      caller;
    struct address     address; /* of the client */
    struct trace       trace;
    atomic_bool        has_left;   /* nobody waits for the answer any more */
    bool               is_counted; /* the project's bucket has one less for it */
    int64_t            until_ms;   /* when it is too late for one: see struct caller */

    const char         *uri; /* as it arrived */
    const struct route *route;
    const char         *params[CALL_PARAMS_MAX]; /* decoded path parameters, in order */
    struct query_item   query[CALL_QUERY_MAX];
    size_t              query_len;
    const char *token, *if_match, *if_none_match, *idempotency_key, *prefer, *origin, *last_event_id; /* or NULL */

    const char *body; /* or the piece of a streamed body; never NULL */
    size_t      body_bytes;
    bool        takes_gzip;           /* Accept-Encoding does */
    bool        is_csv, is_npy;       /* the body is; else JSON */
    bool        wants_npy, wants_csv; /* Accept names it */
    bool        wants_events;         /* ... text/event-stream */
    bool        is_whole;             /* streamed: all of it comes with this request */
    int64_t     offset, total;        /* streamed: where the piece starts, and the whole length */
    json_t     *json, *query_json;
    void       *input; /* the struct of the route's form */

    /* Set with call_result by the handler, before the service call whose result is shown. */
    json_t *(*render)(struct call *call, const void *result); /* a new reference; NULL: out of memory */
    /* Renders the part of a large reply that is kept, from which its handler makes the reply again.  NULL: all is kept. */
    json_t *(*render_kept)(struct call *call, const void *result);
    struct follow   follow;
    bool            for_store; /* the reply being rendered is kept for a repeat: no secrets */
    struct problems problems;
    struct reply    reply;
    char            plain[REPLY_PLAIN_BYTES];             /* a reply for want of memory */
    _Alignas(16) unsigned char result[CALL_RESULT_BYTES]; /* last: only what a handler asks for is cleared */
};

/* A handler's input: the tables of its body and of its query, and the size of the struct that both fill. */
struct form {
    const struct member *body, *query;
    size_t               bytes;
    enum status (*rest)(struct call  *call,
                        struct error *err); /* reads what is deeper than the table of the body, after it and
                                                                * even if that found problems; or NULL: the handler does */
    bool
        reads_on; /* the handler is asked even if there are problems: it finds more of them, and writes nothing (caller.h) */
};

/* Announces what will be shown, and how: returns the zeroed result, which the service call then fills.
 * A struct that does not fit does not compile. */
void *call_result(struct call *call, int http, json_t *(*render)(struct call *, const void *), size_t bytes);
#define CALL_RESULT(call, type, http, render) \
    ((type *)call_result(call, http, render,  \
                         sizeof(type) + 0 * sizeof(char[sizeof(type) <= CALL_RESULT_BYTES ? 1 : -1])))

#endif
