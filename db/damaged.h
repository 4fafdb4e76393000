/* Owners of rows that were found damaged, for as long as the process lives.  Private to db/. */
#ifndef GNOMON_DB_DAMAGED_H
#define GNOMON_DB_DAMAGED_H

#include "db/db.h"

#include <pthread.h>
#include <stdatomic.h>

struct damaged {
    pthread_mutex_t mutex;
    atomic_size_t   len;
    char            owners[DAMAGED_MAX][DAMAGED_BYTES];
};
bool damaged_has(struct damaged *damaged, const char *owner);
/* True: it is new.  Of more than fit, whoever changes or models them finds it again. */
bool damaged_add(struct damaged *damaged, const char *owner);

#endif
