/* See ticker.h. */
#include "db/ticker.h"

#include "db/moment.h"

enum { TICK_MS = 100 };

static bool is_stopping(struct ticker *ticker)
{
    const struct timespec until = moment_after_ms(TICK_MS);
    pthread_mutex_lock(&ticker->lock);
    while (!ticker->is_stopping && pthread_cond_timedwait(&ticker->changed, &ticker->lock, &until) == 0)
        continue;
    bool stops = ticker->is_stopping;
    pthread_mutex_unlock(&ticker->lock);
    return stops;
}

static void *run(void *arg)
{
    struct ticker *ticker = arg;
    while (!is_stopping(ticker))
        ticker->fn(ticker->arg);
    return NULL;
}

static void release(struct ticker *ticker)
{
    ticker->is_started = false;
    pthread_cond_destroy(&ticker->changed);
    pthread_mutex_destroy(&ticker->lock);
}

enum status ticker_start(struct ticker *ticker, void (*fn)(void *arg), void *arg, struct error *err)
{
    *ticker = (struct ticker){.fn = fn, .arg = arg, .is_started = true};
    pthread_mutex_init(&ticker->lock, NULL);
    moment_cond_init(&ticker->changed);
    if (pthread_create(&ticker->thread, NULL, run, ticker) == 0)
        return STATUS_OK;
    release(ticker);
    return error_no_memory(err);
}

void ticker_halt(struct ticker *ticker)
{
    if (!ticker->is_started)
        return;
    pthread_mutex_lock(&ticker->lock);
    ticker->is_stopping = true;
    pthread_cond_signal(&ticker->changed);
    pthread_mutex_unlock(&ticker->lock);
    pthread_join(ticker->thread, NULL);
    release(ticker);
}
