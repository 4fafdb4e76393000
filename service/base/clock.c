/* See clock.h. */
#include "service/base/clock.h"

int64_t clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_ms(clockid_t clock)
{
    return clock_us(clock) / 1000;
}

void clock_cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct timespec clock_after_ms(int64_t wait_ms)
{
    int64_t until_us = clock_us(CLOCK_MONOTONIC) + wait_ms * 1000;
    return (struct timespec){.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};
}

bool clock_wait(pthread_mutex_t *lock, pthread_cond_t *changed, const bool *stops, int64_t wait_ms)
{
    const struct timespec until = clock_after_ms(wait_ms);
    pthread_mutex_lock(lock);
    while (!*stops && pthread_cond_timedwait(changed, lock, &until) == 0)
        continue;
    bool has_to = *stops;
    pthread_mutex_unlock(lock);
    return has_to;
}
