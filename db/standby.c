/* See standby.h.
 *
 * Invariant: a read begins on a connection after the position of the primary, asked for since the read was wanted, was found
 * replayed on that very connection; one that is lost meanwhile is not made anew before the read's end (db_postgres.c). */
#include "db/standby.h"

#include "db/moment.h"
#include "db/pool.h"
#include "db/telling.h"
#include "db/ticker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CONNS = 8, LATE_MS = 250, WAIT_MS = 100, PAUSE_US = 250, PAUSE_MAX_US = 8000 };

struct standby {
    const struct driver *driver;
    char                *place;
    struct standby_call  call;
    void                *handle; /* of the thread */
    int64_t              aim; /* where the primary was at aim_at, which the standby had not replayed; of the thread */
    double               aim_at;
    pthread_mutex_t      lock;
    struct pool          pool;
    bool                 is_usable; /* under the lock, as what follows */
    double               level_at;  /* it shows what was committed then */
    uint64_t             reads, refusals;
    struct telling       told;
    struct ticker        ticker;
};

/* ---- whether it follows ---- */

static enum status compare(const struct driver_position *primary, const struct driver_position *own, struct error *err)
{
    if (strcmp(primary->of, own->of) != 0)
        return error_set(err, STATUS_CONFLICT, "standby_of_another", "",
                         "what is to be read from is no copy of the database: another cluster, database or schema");
    if (!own->is_standby)
        return error_set(err, STATUS_BUSY, "standby_is_primary", "",
                         "what is to be read from is no standby: it takes writes");
    if (own->timeline != primary->timeline)
        return error_set(err, STATUS_BUSY, "standby_behind", "",
                         "the standby has not followed the primary's promotion");
    return STATUS_OK;
}

static enum status is_behind(struct error *err)
{
    return error_set(err, STATUS_BUSY, "standby_behind", "", "the standby does not show yet what was committed");
}

/* Under the lock. */
static void set_usable(struct standby *standby, const struct error *why)
{
    standby->is_usable = why == NULL;
    telling_say(standby->call.log, &standby->told, "standby", why);
}

/* Sets *level_at to the time of a look at which the primary had no more than the standby has now. */
static enum status find_level(struct standby *standby, double *level_at, struct error *err)
{
    struct driver_position primary, own;
    double                 asked_at = moment_seconds();
    *level_at = 0;
    TRY(standby->call.position(standby->call.arg, &primary, err));
    if (standby->handle == NULL)
        TRY(standby->driver->open(standby->place, DRIVER_STANDBY, "FULL", &standby->handle, err));
    TRY(standby->driver->position(standby->handle, &own, err));
    TRY(compare(&primary, &own, err));
    if (own.at >= primary.at)
        *level_at = asked_at;
    else if (standby->aim_at > 0 && own.at >= standby->aim)
        *level_at = standby->aim_at;
    if (*level_at > 0 || standby->aim_at == 0) {
        standby->aim = primary.at;
        standby->aim_at = asked_at;
    }
    return STATUS_OK;
}

static enum status look(struct standby *standby, struct error *err)
{
    double      level_at = 0;
    enum status status = find_level(standby, &level_at, err);
    pthread_mutex_lock(&standby->lock);
    if (level_at > 0)
        standby->level_at = level_at;
    if (status == STATUS_OK && moment_seconds() - standby->level_at > 1e-3 * LATE_MS)
        status = is_behind(err);
    set_usable(standby, status == STATUS_OK ? NULL : err);
    pthread_mutex_unlock(&standby->lock);
    return status;
}

static void look_again(void *arg)
{
    struct error why;
    (void)look(arg, &why); // which it has told
}

/* ---- its connections ---- */

static bool is_usable(struct standby *standby)
{
    pthread_mutex_lock(&standby->lock);
    bool is = standby->is_usable;
    pthread_mutex_unlock(&standby->lock);
    return is;
}

static enum status come_up(struct standby *standby, struct db_conn *conn, struct error *err)
{
    struct driver_position primary, own;
    const double           until = moment_seconds() + 1e-3 * WAIT_MS;
    TRY(standby->call.position(standby->call.arg, &primary, err));
    if (conn->handle == NULL) {
        TRY(conn_open(conn, standby->driver, standby->place, DRIVER_STANDBY, "FULL", err));
        TRY(standby->driver->guard(conn->handle, NULL, conn->damaged, err));
    }
    for (long pause_us = PAUSE_US;; pause_us = pause_us < PAUSE_MAX_US ? 2 * pause_us : pause_us) {
        TRY(standby->driver->position(conn->handle, &own, err));
        TRY(compare(&primary, &own, err));
        if (own.at >= primary.at)
            return STATUS_OK;
        if (moment_seconds() > until)
            return is_behind(err);
        nanosleep(&(struct timespec){.tv_nsec = 1000 * pause_us}, NULL);
    }
}

/* Failures of the standby, and damaged rows on it, are left for the primary to judge; but not that nobody waits for the
 * answer any more, or has waited for too long. */
static bool is_sound(const struct db_conn *conn, enum status status, struct error *err)
{
    bool is_its_own = status == STATUS_BUSY && strcmp(err->code, "busy") == 0;
    if (is_its_own || status == STATUS_INTERNAL || status == STATUS_FULL)
        return false;
    if (!db_has_met_damage(conn))
        return true;
    error_set(err, STATUS_INTERNAL, "store_corrupt", "", "rows of %s are not what was written", conn->damaged);
    return false;
}

bool standby_read(struct standby *standby, db_fn fn, void *arg, enum status *status, struct error *err)
{
    struct error own = {.status = STATUS_OK};
    if (standby == NULL)
        return false;
    struct db_conn *conn = is_usable(standby) ? pool_take(&standby->pool) : NULL;
    bool            may = conn != NULL && is_usable(standby); // it may have become unusable while this waited
    bool            is_good = may && come_up(standby, conn, &own) == STATUS_OK;
    if (is_good) {
        *status = conn_read(conn, fn, arg, &own);
        is_good = is_sound(conn, *status, &own);
    }
    if (conn != NULL) {
        conn->damaged[0] = '\0';
        pool_give(&standby->pool, conn);
    }
    pthread_mutex_lock(&standby->lock);
    standby->reads += is_good;
    standby->refusals += !is_good;
    if (may && !is_good)
        set_usable(standby, &own); // until the next look
    pthread_mutex_unlock(&standby->lock);
    if (is_good && *status != STATUS_OK && err != NULL)
        *err = own;
    return is_good;
}

void standby_stats(struct standby *standby, struct db_standby *out)
{
    *out = (struct db_standby){.is_there = standby != NULL, .seconds = NAN};
    if (standby == NULL)
        return;
    pthread_mutex_lock(&standby->lock);
    out->is_used = standby->is_usable;
    out->reads = standby->reads;
    out->refusals = standby->refusals;
    out->seconds = moment_seconds() - standby->level_at;
    pthread_mutex_unlock(&standby->lock);
}

/* ---- beginning and end ---- */

static void release(struct standby *standby)
{
    pool_fini(&standby->pool);
    if (standby->handle != NULL)
        standby->driver->close(standby->handle);
    pthread_mutex_destroy(&standby->lock);
    free(standby->place);
    free(standby);
}

enum status standby_start(const struct driver *driver, const char *place, const struct standby_call *call,
                          struct standby **out, struct error *err)
{
    struct standby *standby = calloc(1, sizeof *standby);
    if (standby == NULL)
        return error_no_memory(err);
    *standby = (struct standby){.driver = driver, .call = *call, .place = strdup(place), .level_at = moment_seconds()};
    pthread_mutex_init(&standby->lock, NULL);
    pool_init(&standby->pool);
    standby->pool.len = CONNS;
    enum status status = standby->place == NULL ? error_no_memory(err) : look(standby, err);
    bool        may = status != STATUS_CONFLICT && status != STATUS_NO_MEMORY;
    if (may)
        status = ticker_start(&standby->ticker, look_again, standby, err);
    if (!may || status != STATUS_OK) {
        release(standby);
        return status;
    }
    *out = standby;
    return STATUS_OK;
}

void standby_halt(struct standby *standby)
{
    if (standby != NULL)
        ticker_halt(&standby->ticker);
}

void standby_free(struct standby *standby)
{
    standby_halt(standby);
    if (standby != NULL)
        release(standby);
}
