/* The caller of a request. */
#ifndef GNOMON_SERVICE_MODEL_CALLER_H
#define GNOMON_SERVICE_MODEL_CALLER_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum scope {
    SCOPE_NONE,
    SCOPE_AGENT,
    SCOPE_CURATOR,
    SCOPE_READ,
    SCOPE_WRITE,
    SCOPE_ADMIN,
    SCOPE_OPERATOR,
    SCOPE_COUNT
};
extern const char *const scope_names[SCOPE_COUNT];
enum scope               scope_find(const char *name); /* SCOPE_NONE when there is none */

/* A reply, kept for a repeat of the request. */
struct kept_reply {
    int         http_status;
    const char *body, *location, *etag; /* location, etag: or NULL */
};

/* A retried request: the answer is stored in the transaction that does the work, and given again on a repeat. */
struct idempotency {
    const char *key;         /* NULL: not asked for */
    const char *fingerprint; /* SHA-256 in hex of method, path and body */
    const char *path;        /* names what it is about: /v1/studies/std_... */
    /* Called inside the transaction after the work succeeded; what it gives lives in the arena.  False: no memory. */
    bool (*render)(void *arg, struct kept_reply *out);
    void *render_arg;
    /* out */
    bool              replayed;
    struct kept_reply first;      /* the first answer, in the arena; body NULL: it was made again */
    bool              is_trimmed; /* older answers of the token made room for it */
};

/* The present computation of a request, for service/app/slots.c; all zero when there is none. */
struct stint {
    struct stint       *next; /* of the running computations */
    struct slots_owner *owner;
    double              price_ms, asked_ms; /* of this part: as known now, and as announced */
    bool                is_cut;             /* it ended before its time */
    int                 place;
    int64_t             looked_us, began_us, used_us, charged_us;
};

/* The slots and memory that a request took, and the price that was expected. */
struct spent {
    struct stint stint;
    double       price_ms; /* of all parts; 0: it was not announced */
    int64_t      since_us; /* when the request first came */
    int64_t      waited_us, computed_us;
    size_t       held_bytes; /* of memory: service/app/memory.h */
};

/* The project of things made before there were projects, and of tokens created without one. */
#define CALLER_DEFAULT_PROJECT "prj_default"
#define CALLER_NO_PROJECT      "none" /* begins like no id */

struct quota; /* of the token's project: service/app/quota.h */

/* Local: the Unix socket of the same user, or the command line; acts as admin, of every project. */
struct caller {
    char               token_id[16]; /* "local" for the command line */
    enum scope         scope;
    char               project[24];  /* the token's; "": all projects; CALLER_NO_PROJECT: none, for an operator */
    char               resource[24]; /* the token's only study, federation or game, or "" */
    char               agent[64];    /* of it, whom the token speaks for, or "" */
    unsigned char      secret[32];   /* SHA-256 of the secret that it showed; zero of the machine, which has none */
    struct quota      *quota;        /* or NULL: nothing is limited or counted */
    struct arena      *arena;        /* of the request: everything returned lives here */
    struct idempotency idempotency;
    const char *if_match; /* what it knows of the thing that it changes: see base/etag.h; NULL: it does not say */
    size_t      writes;   /* rows that its transaction writes, where these are many: db/turns.h */
    bool        dry_run;  /* app_transact undoes what succeeded: CONFLICT "dry_run" */
    int64_t     until_ms; /* on the monotonic clock: when what computes for it gives up; 0: never */
    bool (*has_left)(void *arg); /* true when nobody waits for the answer any more; NULL: somebody does */
    /* Refuses each transaction of a request that has mistakes, whatever its handler does; NULL: nothing is refused. */
    enum status (*may_write)(void *arg, struct error *err);
    void        *request;                /* the arg of both */
    bool         may_defer, is_deferred; /* in, out: see slots_announce */
    struct spent spent;
    char         space_of[24];   /* the study whose space this request was read with, or "" */
    int64_t      space_revision; /* of it */
    size_t       metrics;        /* the number of metrics at that time; 0: not known */
    /* Not NULL: what trial_observe gets is an import, from the study of this id ("": nobody knows). */
    const char *import_source;
};

/* CONFLICT "space_grew" when the study's space is later than that of the request, which the first call notes. */
MUST_CHECK enum status caller_same_space(struct caller *caller, const char *study, int64_t space_revision,
                                         struct error *err);
/* As caller_same_space for the metrics that were read: BUSY "busy" when the study has more by now. */
MUST_CHECK enum status caller_same_metrics(const struct caller *caller, size_t metrics, struct error *err);
/* NOT_FOUND "<thing>_not_found", of a "study", "federation" or "game". */
enum status caller_no_such(const char *thing, struct error *err);
/* As caller_no_such unless the caller may see it: a token bound to one resource sees no other. */
MUST_CHECK enum status caller_sees(const struct caller *caller, const char *thing, const char *id, struct error *err);

/* Whether the caller's token is for a single study, federation or game. */
bool caller_is_bound(const struct caller *caller);
/* Whether the caller reaches resources of that project. */
bool caller_has(const struct caller *caller, const char *project);
/* The project in which the caller makes and lists resources. */
const char *caller_project(const struct caller *caller);

#endif
