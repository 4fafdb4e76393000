/* A thread that does one thing ten times a second, until it is told to end.  Private to db/. */
#ifndef GNOMON_DB_TICKER_H
#define GNOMON_DB_TICKER_H

#include "engine/base/status.h"

#include <pthread.h>
#include <stdbool.h>

struct ticker {
    void (*fn)(void *arg);
    void           *arg;
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    bool            is_started, is_stopping; /* is_stopping: under the lock */
    pthread_t       thread;
};
/* The ticker stays where it is until its halt.  Error: NO_MEMORY, and then there is nothing to halt. */
MUST_CHECK enum status ticker_start(struct ticker *ticker, void (*fn)(void *arg), void *arg, struct error *err);
void                   ticker_halt(struct ticker *ticker); /* no calls from now on; again, or never started: nothing */

#endif
