/* See others.h. */
#include "db/others.h"

#include "db/moment.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 100, FRESH_MS = 500 };

struct others {
    const struct driver *driver;
    void                *handle, *writer;
    struct others_call   call;
    struct driver_peers  seen;
    struct db_wants      told;     /* what this one wants */
    bool                 has_lost; /* a server, whose work nobody was told to take up since then */
    atomic_int           servers;
    atomic_bool          is_oldest;
    _Atomic double       known_at; /* what was written before that is known, and what it made wrong was forgotten */
    pthread_mutex_t      lock;
    pthread_cond_t       changed;
    bool                 is_stopping; /* under the lock */
    pthread_t            thread;
};

static bool has(const struct driver_peers *peers, int64_t id)
{
    for (int i = 0; i < peers->len; i++)
        if (peers->ids[i] == id)
            return true;
    return false;
}

/* Whether a server that was there is gone. */
static bool has_lost(const struct driver_peers *before, const struct driver_peers *now)
{
    for (int i = 0; i < before->len; i++)
        if (!has(now, before->ids[i]))
            return true;
    return false;
}

static void count(struct others *others, const struct driver_peers *now)
{
    others->seen = *now;
    atomic_store(&others->servers, now->len > 0 ? now->len : 1);
    atomic_store(&others->is_oldest, now->len > 0 && now->ids[0] == now->own);
}

/* While the database does not answer nobody writes; when it does again, everything may have happened.  Who is not the oldest
 * keeps in mind that one is gone: a server whose connection was cut is not seen by others, nor by itself, until it has another
 * one, and then each may have taken somebody else for the oldest. */
static void look(struct others *others)
{
    struct driver_peers now;
    struct error        err;
    double              asked_at = moment_seconds();
    if (others->driver->peers(others->handle, others->writer, &others->told, &now, &err) != STATUS_OK) {
        others->seen.mark = 0;
        return;
    }
    struct driver_peers before = others->seen;
    if (others->call.share != NULL)
        others->call.share(others->call.arg, &now.wants, &others->told);
    count(others, &now);
    if (now.mark != before.mark && !now.is_own_mark)
        (void)others->call.fn(others->call.arg, false);
    atomic_store(&others->known_at, asked_at);
    others->has_lost |= has_lost(&before, &now);
    if (others->has_lost && atomic_load(&others->is_oldest))
        others->has_lost = !others->call.fn(others->call.arg, true);
}

static bool is_stopping(struct others *others)
{
    const struct timespec until = moment_after_ms(LOOK_MS);
    pthread_mutex_lock(&others->lock);
    while (!others->is_stopping && pthread_cond_timedwait(&others->changed, &others->lock, &until) == 0)
        continue;
    bool stops = others->is_stopping;
    pthread_mutex_unlock(&others->lock);
    return stops;
}

static void *run(void *arg)
{
    while (!is_stopping(arg))
        look(arg);
    return NULL;
}

static void release(struct others *others)
{
    others->driver->close(others->handle);
    pthread_cond_destroy(&others->changed);
    pthread_mutex_destroy(&others->lock);
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
    pthread_mutex_init(&others->lock, NULL);
    moment_cond_init(&others->changed);
    enum status status = driver->open(place, DRIVER_READ_ONLY, "FULL", &others->handle, err);
    if (status == STATUS_OK)
        status = driver->peers(others->handle, writer, NULL, &seen, err);
    if (status == STATUS_OK)
        count(others, &seen);
    if (status == STATUS_OK && pthread_create(&others->thread, NULL, run, others) != 0)
        status = error_no_memory(err);
    if (status != STATUS_OK) {
        release(others);
        return status;
    }
    *out = others;
    return STATUS_OK;
}

void others_halt(struct others *others)
{
    if (others == NULL || others->is_stopping)
        return;
    pthread_mutex_lock(&others->lock);
    others->is_stopping = true;
    pthread_cond_signal(&others->changed);
    pthread_mutex_unlock(&others->lock);
    pthread_join(others->thread, NULL);
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
