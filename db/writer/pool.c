/* See pool.h. */
#include "db/writer/pool.h"

#include "db/moment.h"

void pool_init(struct pool *pool)
{
    pthread_mutex_init(&pool->lock, NULL);
    moment_cond_init(&pool->freed);
}

void pool_close(struct pool *pool)
{
    for (size_t i = 0; i < pool->len; i++)
        conn_close(&pool->conns[i]);
    pool->len = 0;
}

void pool_fini(struct pool *pool)
{
    pool_close(pool);
    pthread_cond_destroy(&pool->freed);
    pthread_mutex_destroy(&pool->lock);
}

struct db_conn *pool_take(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        for (size_t i = 0; i < pool->len; i++) {
            if (pool->is_busy[i])
                continue;
            pool->is_busy[i] = true;
            pthread_mutex_unlock(&pool->lock);
            return &pool->conns[i];
        }
        pthread_cond_wait(&pool->freed, &pool->lock);
    }
}

void pool_give(struct pool *pool, struct db_conn *conn)
{
    pthread_mutex_lock(&pool->lock);
    pool->is_busy[conn - pool->conns] = false;
    pthread_cond_signal(&pool->freed);
    pthread_mutex_unlock(&pool->lock);
}
