/* See others.h. */
#include "db/others.h"

#include "db/moment.h"
#include "db/ticker.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { FRESH_MS = 500, QUICK_MS = 400 };

struct others {
    const struct driver *driver;
    void                *handle, *writer;
    struct others_call   call;
    int64_t              mark; /* of the last look; 0: nobody answered */
    struct db_wants      told; /* what this one wants */
    atomic_int           servers;
    atomic_bool          is_oldest;
    _Atomic double       known_at; /* what was written before that is known, and what it made wrong was forgotten */
    _Atomic double       ahead;    /* the database's clock of moment_seconds() */
    struct ticker        ticker;
};

static void count(struct others *others, const struct driver_peers *now)
{
    others->mark = now->mark;
    atomic_store(&others->servers, now->len > 0 ? now->len : 1);
    atomic_store(&others->is_oldest, now->len > 0 && now->ids[0] == now->own);
}

/* Its clock was read at some time between the question and the answer, so a slow one says little. */
static void note_clock(struct others *others, int64_t clock_ms, double asked_at)
{
    double took = moment_seconds() - asked_at;
    if (clock_ms != 0 && (took < 1e-3 * QUICK_MS || atomic_load(&others->ahead) == 0))
        atomic_store(&others->ahead, 1e-3 * (double)clock_ms - (asked_at + 0.5 * took));
}

/* While the database does not answer nobody writes; when it does again, everything may have happened. */
static void look(void *arg)
{
    struct others      *others = arg;
    struct driver_peers now;
    struct error        err;
    double              asked_at = moment_seconds();
    if (others->driver->peers(others->handle, others->writer, &others->told, &now, &err) != STATUS_OK) {
        others->mark = 0;
        return;
    }
    note_clock(others, now.clock_ms, asked_at);
    int64_t before = others->mark;
    if (others->call.share != NULL)
        others->call.share(others->call.arg, &now.wants, &others->told);
    count(others, &now);
    if (now.mark != before && !now.is_own_mark)
        others->call.fn(others->call.arg);
    atomic_store(&others->known_at, asked_at);
}

static void release(struct others *others)
{
    others->driver->close(others->handle);
    free(others);
}

enum status others_start(const struct driver *driver, const char *place, void *writer, const struct others_call *call,
                         struct others **out, struct error *err)
{
    struct driver_peers seen;
    struct others      *others = calloc(1, sizeof *others);
    if (others == NULL)
        return error_no_memory(err);
    *others = (struct others){.driver = driver, .writer = writer, .call = *call, .servers = 1};
    enum status status = driver->open(place, DRIVER_READ_ONLY, "FULL", &others->handle, err);
    double      asked_at = moment_seconds();
    if (status == STATUS_OK)
        status = driver->peers(others->handle, writer, NULL, &seen, err);
    if (status == STATUS_OK) {
        count(others, &seen);
        note_clock(others, seen.clock_ms, asked_at);
    }
    if (status == STATUS_OK)
        status = ticker_start(&others->ticker, look, others, err);
    if (status != STATUS_OK) {
        release(others);
        return status;
    }
    *out = others;
    return STATUS_OK;
}

void others_halt(struct others *others)
{
    if (others != NULL)
        ticker_halt(&others->ticker);
}

void others_free(struct others *others)
{
    others_halt(others);
    if (others != NULL)
        release(others);
}

bool others_is_fresh(const struct others *others)
{
    return others == NULL || moment_seconds() - atomic_load(&others->known_at) < 1e-3 * FRESH_MS;
}

int others_servers(const struct others *others)
{
    return others == NULL ? 1 : atomic_load(&others->servers);
}

bool others_is_oldest(const struct others *others)
{
    return others == NULL || atomic_load(&others->is_oldest);
}

int64_t others_clock_ms(const struct others *others)
{
    return (int64_t)(1e3 * (atomic_load(&others->ahead) + moment_seconds()));
}
