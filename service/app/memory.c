/* See memory.h. */
#include "service/app/memory.h"

#include "service/app/slots.h"
#include "service/base/cpus.h"

#include <time.h>

enum { WAIT_MS = 1000, LOOK_MS = 10 };

/* Takes memory, but for a quarter that is left for admitted requests and all small ones. */
static bool take(struct arena_pool *pool, size_t bytes)
{
    size_t most = pool->limit_bytes - pool->limit_bytes / 4, now = atomic_load(&pool->taken_bytes);
    return now <= most && bytes <= most - now && arena_pool_take(pool, bytes);
}

static enum status wait_for(const struct app *app, struct caller *caller, size_t bytes, struct error *err)
{
    struct arena_pool *pool = app->memory;
    int64_t            until_ms = app->monotonic_ms() + WAIT_MS;
    while (!take(pool, bytes)) {
        if (caller->may_defer)
            return slots_defer(caller, err);
        TRY(app_go_on(app, caller, err));
        if (app->monotonic_ms() >= until_ms)
            return error_set(err, STATUS_BUSY, "busy", "", "other requests have the memory that this one needs");
        nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
    }
    return STATUS_OK;
}

static bool has_limit(const struct app *app)
{
    return app->memory != NULL && app->memory->limit_bytes > 0;
}

enum status memory_admit(const struct app *app, struct caller *caller, struct error *err)
{
    return has_limit(app) ? wait_for(app, caller, 0, err) : STATUS_OK;
}

enum status memory_hold(const struct app *app, struct caller *caller, double bytes, struct error *err)
{
    if (!has_limit(app))
        return STATUS_OK;
    size_t most = app->memory->limit_bytes / 2, wanted = bytes < (double)most ? (size_t)bytes : most;
    size_t held = caller->spent.held_bytes;
    if (wanted <= held)
        return STATUS_OK;
    TRY(wait_for(app, caller, wanted - held, err));
    caller->spent.held_bytes = wanted;
    return STATUS_OK;
}

void memory_let_go(const struct app *app, struct caller *caller)
{
    arena_pool_give(app->memory, caller->spent.held_bytes);
    caller->spent.held_bytes = 0;
}

size_t memory_default(void)
{
    return (size_t)(memory_there_is("") / 2);
}
