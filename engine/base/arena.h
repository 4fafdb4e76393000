/* Memory that is given back all at once, with a limit.
 * The engine allocates only from the arena it is given; a request of the server has one too.
 * An arena is not shared between threads without a lock. */
#ifndef GNOMON_ENGINE_ARENA_H
#define GNOMON_ENGINE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

/* The memory that several arenas take together, and what else is counted there.  Threads may share it; NULL: no limit. */
struct arena_pool {
    size_t         limit_bytes; /* 0: none */
    _Atomic size_t taken_bytes;
    _Atomic size_t most_bytes; /* the largest taken_bytes so far */
};
bool arena_pool_take(struct arena_pool *pool, size_t bytes); /* false: that is too much, and nothing is taken */
void arena_pool_give(struct arena_pool *pool, size_t bytes);

struct arena_block;
struct arena {
    struct arena_block *last;
    size_t              limit_bytes; /* over all blocks */
    size_t              taken_bytes; /* what the blocks hold now, used or not */
    struct arena_pool  *pool;        /* of which they take that; NULL after arena_init */
};

/* An empty arena that will take at most limit_bytes from the system. */
void arena_init(struct arena *arena, size_t limit_bytes);

/* Gives everything back. The arena is empty afterwards and may be used again. */
void arena_fini(struct arena *arena);

/* Takes one block of this size for what comes next, where little is expected: others have at least 64 KiB. */
bool arena_reserve(struct arena *arena, size_t bytes);

/* 64-byte aligned, not zeroed. NULL when the limit or the system refuses, or count*size overflows. */
void *arena_alloc(struct arena *arena, size_t count, size_t size);
void *arena_zalloc(struct arena *arena, size_t count, size_t size);

/* The array if it has room for more than len objects of a size, otherwise a copy with twice the room: at least 16, which *room
 * is set to.  NULL as arena_alloc: the array and *room are as before. */
void *arena_grown(struct arena *arena, void *array, size_t len, size_t size, size_t *room);

/* A copy of length bytes plus a NUL; NULL as arena_alloc. */
char *arena_strndup(struct arena *arena, const char *text, size_t length);

/* arena_mark ... arena_release gives back what was allocated in between. */
struct arena_mark {
    struct arena_block *block;
    size_t              used;
};
struct arena_mark arena_mark(const struct arena *arena);
void              arena_release(struct arena *arena, struct arena_mark mark);

/* Calls give_back(what) when the arena gives back what is allocated now; until then its bytes count as if they had been
 * allocated.  False: there is no room, and nothing is called. */
bool arena_hold(struct arena *arena, size_t bytes, void (*give_back)(void *what), void *what);

/* n objects of a type. */
#define ARENA_NEW(arena, type, n) ((type *)arena_alloc((arena), (n), sizeof(type)))

#endif
