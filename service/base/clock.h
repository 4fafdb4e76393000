/* The system's clocks, and waiting until one of them says so. */
#ifndef GNOMON_SERVICE_BASE_CLOCK_H
#define GNOMON_SERVICE_BASE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

int64_t clock_us(clockid_t clock);
int64_t clock_ms(clockid_t clock);

/* A condition whose timed waits are by CLOCK_MONOTONIC, and a time of that clock for them. */
void            clock_cond_init(pthread_cond_t *condition);
struct timespec clock_after_ms(int64_t wait_ms);
/* Waits so long, or until *stops, which the lock guards; returns *stops. */
bool clock_wait(pthread_mutex_t *lock, pthread_cond_t *changed, const bool *stops, int64_t wait_ms);

#endif
