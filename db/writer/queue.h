/* The transactions that wait for the writer, and their order: turns.h, and large ones leave room.  All under the lock of
 * whoever has it. */
#ifndef GNOMON_DB_QUEUE_H
#define GNOMON_DB_QUEUE_H

#include "db/turns.h"

#include <semaphore.h>

struct job {
    struct db_transaction *of;
    sem_t                  done;
    struct job            *next;
    size_t                 len; /* in the queue: with those behind it in memory, which are taken together */
};

struct queue {
    struct job  *first, *last; /* one for all that are taken together */
    size_t       len;          /* of all */
    struct turns turns;
    double       large_at;    /* from when the next large job may run while others write small ones */
    uint32_t     large_token; /* the token of the last large job, */
    bool         is_shared;   /* and whether somebody else has written since it began */
};

/* Adds jobs in their order behind the queued ones. */
void queue_add(struct queue *queue, struct job *jobs, size_t len);

/* The place of the job whose turn it is; NULL: none waits, or a large one has to rest, but not when stopping. */
struct job **queue_next(struct queue *queue, bool is_stopping);

/* Adds waiting jobs to a batch, which may be NULL.  A large job goes alone. */
struct job *queue_take(struct queue *queue, struct job *jobs, bool is_stopping);

/* Charges the time of a batch, if it is a large one. */
void queue_charge(struct queue *queue, const struct job *jobs, double spent_seconds);

#endif
