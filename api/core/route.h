/* The table of routes, and the pure function from a method and a raw address to a row of it. */
#ifndef GNOMON_API_CORE_ROUTE_H
#define GNOMON_API_CORE_ROUTE_H

#include "api/core/call.h"

#include <stdio.h>

enum body_kind {
    BODY_NONE,
    BODY_JSON,
    BODY_OPTIONAL, /* JSON or nothing, which counts as {} */
    BODY_IMPORT,   /* JSON or CSV */
    BODY_NPY,      /* streamed: the handler gets it in pieces */
    BODY_LINES,    /* the same, of an export */
    BODY_VECTOR    /* a JSON array or .npy, whole */
};
enum route_flags {
    ROUTE_PUBLIC = 1,   /* no token */
    ROUTE_QUICK = 2,    /* never waits: answered on the thread that reads */
    ROUTE_CHANGES = 4,  /* takes an Idempotency-Key */
    ROUTE_GLOBAL = 8,   /* not for tokens bound to one study, federation or game */
    ROUTE_HEALTH = 16,  /* also on the health listener, without a token there */
    ROUTE_MATCHES = 32, /* its use case looks at If-Match, in its transaction */
    ROUTE_UNKEPT = 64,  /* its reply is not to be stored: tokens, and what is only true now */
    ROUTE_SERVER = 256, /* of the whole server: for operators, and for unbound tokens of the default project */
    ROUTE_FINAL = 128   /* its reply never changes */
};
/* Lanes of requests: each has limits of its own, see workers.h and server.c. */
enum route_lane {
    LANE_SHORT,   /* everything begins here, but what reads long */
    LANE_BULK,    /* with a large body */
    LANE_READ,    /* reads a study from end to end */
    LANE_COMPUTE, /* computes for long, or waits for the study's model: see slots_announce */
    LANE_COUNT
};

static inline bool body_is_streamed(enum body_kind kind)
{
    return kind == BODY_NPY || kind == BODY_LINES;
}

/* A reply that tables describe whole: the struct that the handler announced, or a page of such structs. */
struct shown {
    const struct member *members;
    const char *const   *without; /* members that this reply has not, ended by NULL; or NULL */
    const char          *page;    /* the name of the list; then the result is {items, len, next_cursor} */
    size_t               bytes;   /* of one item */
};

struct route {
    const char         *method, *path; /* "/v1/studies/{study}/trials/{number}"; {study} is checked against the token */
    unsigned            scopes;        /* 1u << SCOPE_... of the scopes that may call it */
    unsigned            flags;
    enum body_kind      body;
    enum route_lane     lane;
    const struct form  *form;  /* or NULL: no members, no query */
    const struct shown *shows; /* or NULL: the handler knows */
    enum status (*handle)(struct call *call, struct error *err);
    bool (*cached)(struct call *call); /* or NULL: answers without waiting when it can */
};

extern const struct route route_table[]; /* handlers/route_table.c */
extern const size_t       route_table_len;

/* Fills the call's route, params and query from its uri.  HEAD finds GET.
 * Errors: NOT_FOUND "not_found"; INVALID "bad_request"; INVALID "method_not_allowed" with call->reply.allow set. */
MUST_CHECK enum status route_find(struct call *call, const char *method, struct error *err);

/* The resource that the first parameter identifies: "study", "federation", "game"; NULL: none that a token can be bound
 * to. */
const char *route_thing(const struct route *route);

/* Prints a line for each route: method, path, body, scopes, and the members of query, body and reply. */
void route_dump(FILE *stream);

#endif
