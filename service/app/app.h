/* The process-wide state, made by main/app_open.c and passed down.
 * Nothing here is reachable except through a struct app pointer. */
#ifndef GNOMON_SERVICE_APP_APP_H
#define GNOMON_SERVICE_APP_APP_H

#include "db/db.h"
#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "service/model/caller.h"
#include "service/model/study.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session_cache; /* service/session/session.h */
struct token_cache;   /* service/app/token.h */
struct study_cache;   /* service/app/study_cache.h */
struct spec_cache;    /* service/store/spec_cache.h */
struct operations;    /* service/suggest/operation.h */
struct quotas;        /* service/app/quota.h */
struct homes;         /* service/app/home.h */
struct watch;         /* service/app/watch.h */
struct slots;         /* limits how many computations run at once: service/app/slots.h */

enum { PRICE_FACTORS = 512, PRICE_PARTS_MAX = 16 };
struct app_options {
    const char *folder;
    const char *synchronous;
    size_t      sessions_bytes; /* all fitted models together; the specifications have a quarter as much beside them */
    size_t      session_bytes;  /* one of them */
    size_t      compute_slots;
    int64_t     compute_ms; /* how long a request may wait for a slot and compute; 0: no limit */
    int64_t (*now_ms)(void), (*monotonic_ms)(void), (*boot_ms)(void); /* NULL: the system's clocks, see struct app */
    const char *database;                                             /* of PostgreSQL; NULL: a file in the folder */
    bool (*waits)(void *arg); /* while another server has the database: see struct db_options */
    void   *waits_arg;
    int64_t stuck_ms, journal_bytes, disk_free_bytes; /* when it is not ready any more: watch.h */
};

struct app_counters { /* monotonic; read by /metrics */
    _Atomic uint64_t suggestions, observations, fallbacks, impossible_points, session_hits, session_misses,
        session_evictions;
    _Atomic uint64_t specs_read, leases_expired;
    _Atomic uint64_t federation_rounds, federation_messages, federation_seats;
};

/* Counts of studies and trials, as census_take found them last. */
struct app_census {
    _Atomic int64_t studies[STUDY_STATE_COUNT], trials[TRIAL_STATE_COUNT];
    _Atomic double  epsilon_left; /* the least that an active federation may still spend; NaN: none promises anything */
    _Atomic int64_t tokens_expiring; /* within 14 days, as counted at tokens_counted_ms */
    int64_t         tokens_counted_ms;
    _Atomic uint64_t rounds_closed;
    atomic_bool      is_taken;
};

struct steady { /* service/app/steady.h */
    _Atomic int64_t offset_ms, shift_ms;
    char            boot[40];
    int64_t         noted_ms, noted_wall_ms; /* of the writer */
};

struct app {
    struct app_options    options;
    struct db            *db;
    struct session_cache *sessions;
    struct token_cache   *tokens;
    struct study_cache   *studies;
    struct spec_cache    *specs;
    struct operations    *operations;
    struct homes         *homes;
    struct quotas        *quotas;
    struct slots         *slots;
    struct arena_pool    *memory;     /* of all requests: service/app/memory.h; NULL: no limit */
    struct watch         *watch;      /* NULL: nobody looks */
    double                price_unit; /* how slow this machine is, and what was learned since: service/app/price.h */
    _Atomic double        price_logs[PRICE_FACTORS], price_parts[PRICE_PARTS_MAX];
    struct app_counters   counters;
    struct app_census     census;
    int64_t (*now_ms)(void);       /* wall clock, milliseconds since 1970 */
    int64_t (*monotonic_ms)(void); /* CLOCK_MONOTONIC */
    int64_t (*boot_ms)(void);      /* CLOCK_BOOTTIME; under steady_ms, which leases and deadlines count on */
    struct steady steady;
};

/* The until_ms of what began at from_ms. */
int64_t app_until(const struct app *app, int64_t from_ms);

/* BUSY "store_rolled_back": what was debited or revoked since may be forgotten (db.h). */
MUST_CHECK enum status app_check_store(const struct app *app, struct error *err);

/* BUSY "store_corrupt": rows of this study, federation or game are not what was written.  It can be read and deleted, but is
 * not changed, and nothing is learned from it. */
MUST_CHECK enum status app_check_rows(const struct app *app, const char *id, struct error *err);

/* Replaces the reason of a study, federation or game that has damaged rows. */
void app_say_damaged(const struct app *app, const char *id, const char **reason);

/* Called by every wait and long computation: BUSY "stopped" when nobody waits for the answer any more, BUSY
 * "deadline_exceeded" when it took too long. */
MUST_CHECK enum status app_go_on(const struct app *app, const struct caller *caller, struct error *err);
/* As app_go_on, for a read of a whole resource, whose length grows with its data: called at each row, it allows ten times
 * the time of a computation. */
MUST_CHECK enum status app_read_on(const struct app *app, const struct caller *caller, int64_t row, struct error *err);

#endif
