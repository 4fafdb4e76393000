/* The steady clock, which does not notice when the machine's is set.  Private to db/. */
#ifndef GNOMON_DB_MOMENT_H
#define GNOMON_DB_MOMENT_H

#include <pthread.h>
#include <time.h>

double moment_seconds(void);
/* A condition whose timed waits are by it, and a time of it for them. */
void            moment_cond_init(pthread_cond_t *condition);
struct timespec moment_after_ms(long wait_ms);

#endif
