/* The process-wide state, made in main and passed down, and who is calling.
 * Nothing here is reachable except through a struct app pointer. */
#ifndef GNOMON_SERVICE_APP_H
#define GNOMON_SERVICE_APP_H

#include "db/db.h"
#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session_cache; /* service/session.h */
struct token_cache;   /* service/token.h */
struct study_cache;   /* service/study.h */
struct operations;    /* service/operation.h */
struct gate;          /* limits how many computations run at once: service/gate.h */

enum { APP_DRAWS = 2 }; /* slots of those without a model */
struct app_options {
    const char *folder;
    const char *synchronous;
    size_t      sessions_bytes; /* all fitted models together */
    size_t      session_bytes;  /* one of them */
    size_t      compute_slots;
    int64_t     compute_ms;                    /* how long a request may wait for a slot and compute; 0: no limit */
    int64_t (*now_ms)(void), (*boot_ms)(void); /* NULL: the system's clocks, see struct app */
};

struct app_counters { /* monotonic; read by /metrics */
    _Atomic uint64_t suggestions, observations, fallbacks, impossible_points, session_hits, session_misses,
        session_evictions;
    _Atomic uint64_t federation_rounds, federation_messages, federation_seats;
};

struct steady { /* service/steady.h */
    int64_t         offset_ms;
    _Atomic int64_t shift_ms;
    char            boot[40];
    int64_t         noted_ms, noted_wall_ms; /* of the writer */
};

struct app {
    struct app_options    options;
    struct db            *db;
    struct session_cache *sessions;
    struct token_cache   *tokens;
    struct study_cache   *studies;
    struct operations    *operations;
    struct gate          *compute;
    struct gate          *plans; /* the same for those that plan ahead, so that nobody else waits for them */
    struct gate          *draws; /* ... and for those without a model, which take next to no time */
    struct app_counters   counters;
    int64_t (*now_ms)(void);       /* wall clock, milliseconds since 1970 */
    int64_t (*monotonic_ms)(void); /* CLOCK_MONOTONIC */
    int64_t (*boot_ms)(void);      /* CLOCK_BOOTTIME; under steady_ms, which leases and deadlines count on */
    struct steady steady;
};

MUST_CHECK enum status app_open(const struct app_options *options, struct app **out, struct error *err);
void                   app_close(struct app *app);

/* What the store does for the application between transactions: see db_set_upkeep.  arg: the app. */
MUST_CHECK enum status app_upkeep(struct db_conn *conn, void *arg, bool was_busy, bool *more, struct error *err);

enum scope { SCOPE_NONE, SCOPE_AGENT, SCOPE_CURATOR, SCOPE_READ, SCOPE_WRITE, SCOPE_ADMIN, SCOPE_COUNT };

/* An answer as it is kept for a repeat. */
struct kept_reply {
    int         http_status;
    const char *body, *location, *etag; /* location, etag: or NULL */
};

/* A retried request: the answer is stored in the transaction that does the work, and given again on a repeat. */
struct idempotency {
    const char *key;         /* NULL: not asked for */
    const char *fingerprint; /* SHA-256 in hex of method, path and body */
    /* Called inside the transaction after the work succeeded; what it gives lives in the arena.  False: no memory. */
    bool (*render)(void *arg, struct kept_reply *out);
    void *render_arg;
    /* out */
    bool              replayed;
    struct kept_reply first; /* the first answer, in the arena */
};

/* Who calls, for one request. Local: the Unix socket of the same user, or the command line; acts as admin. */
struct caller {
    char               token_id[16]; /* "local" for the command line */
    enum scope         scope;
    char               resource[24]; /* the token's only study, federation or game, or "" */
    char               agent[64];    /* of it, whom the token speaks for, or "" */
    struct arena      *arena;        /* of the request: everything returned lives here */
    struct idempotency idempotency;
    bool               dry_run;  /* app_transact undoes what succeeded: CONFLICT "dry_run" */
    int64_t            until_ms; /* on the monotonic clock: when what computes for it gives up; 0: never */
    bool (*has_left)(void *arg); /* nobody waits for the answer any more; NULL: somebody does */
    void *left_arg;
    /* Not NULL: what trial_observe gets is an import, from the study of this id ("": nobody knows). */
    const char *import_source;
};

/* The until_ms of what began at from_ms. */
int64_t app_until(const struct app *app, int64_t from_ms);

/* Asked by whatever waits or computes for a while: BUSY "stopped" when nobody waits for it any more, BUSY
 * "deadline_exceeded" when it took too long. */
MUST_CHECK enum status app_go_on(const struct app *app, const struct caller *caller, struct error *err);

/* One transaction of a use case: looks the idempotency key up, runs fn, records the reply.
 * When caller->idempotency.replayed is set on return, fn did not run. */
MUST_CHECK enum status app_transact(struct app *app, struct caller *caller, db_fn fn, void *arg, struct error *err);

/* Only the look-up of app_transact, for use cases that compute before they write. */
MUST_CHECK enum status app_replay(struct app *app, struct caller *caller, struct error *err);

/* prefix and characters of lower-case base32 from the CSPRNG: "std_" + 16. */
MUST_CHECK enum status app_id(char *out, size_t out_bytes, const char *prefix, size_t characters, struct error *err);

enum status app_no_memory(struct error *err); /* NO_MEMORY, in words */
uint32_t    app_hash(const char *text);       /* FNV-1a, for tables in memory */

/* printf into the caller's arena; NULL when it is full. */
char *app_text(struct arena *arena, const char *format, ...) __attribute__((format(__printf__, 2, 3)));

#endif
