/* Connections that are given to one reader at a time each.  Private to db/. */
#ifndef GNOMON_DB_POOL_H
#define GNOMON_DB_POOL_H

#include "db/writer/conn.h"

#include <pthread.h>

enum { POOL_MAX = 64 };
struct pool {
    struct db_conn  conns[POOL_MAX]; /* a connection that is not open yet has no handle */
    size_t          len;
    bool            is_busy[POOL_MAX];
    pthread_mutex_t lock;
    pthread_cond_t  freed;
};
void            pool_init(struct pool *pool);
void            pool_close(struct pool *pool); /* closes its connections; none is taken */
void            pool_fini(struct pool *pool);
struct db_conn *pool_take(struct pool *pool); /* waits until a connection is free */
void            pool_give(struct pool *pool, struct db_conn *conn);

#endif
