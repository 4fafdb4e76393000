/* A list of malloc'd blocks, newest first; each at least 64 KiB or as large as the request.
 * Nobody sees it when memory is used that was given back, or past the end of a piece, because the block stays ours.
 * Builds with ARENA_GUARD, the sanitised ones, let it be seen: what is not handed out is filled with a pattern that is
 * far from any number, no address and no end of a text, and AddressSanitizer reports whoever touches that.  There is no
 * gap between the pieces: it would count against the limit, and a model would be thinned where it is not otherwise. */
#include "engine/base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef ARENA_GUARD
#include <sanitizer/asan_interface.h>
enum { PATTERN = 0x5a };

static void hide(void *memory, size_t bytes)
{
    ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
    memset(memory, PATTERN, bytes);
    ASAN_POISON_MEMORY_REGION(memory, bytes);
}

static void show(void *memory, size_t bytes)
{
    ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
}
#else
static void hide(void *memory, size_t bytes)
{
    (void)memory, (void)bytes;
}

static void show(void *memory, size_t bytes)
{
    (void)memory, (void)bytes;
}
#endif

enum { ALIGN = 64, BLOCK_BYTES = 64 * 1024, ROOM_LEAST = 16 };

struct arena_held { /* in the block's own data */
    struct arena_held *before;
    size_t             bytes; /* of the arena's limit */
    void (*give_back)(void *what);
    void *what;
};
struct arena_block {
    struct arena_block *before;
    size_t              used, size; /* of data, which starts at the next multiple of ALIGN */
    char               *data;
    struct arena_held  *held; /* the last one */
};

/* When two threads take at once, both may be refused, or most_bytes be a little too small: that does no harm. */
bool arena_pool_take(struct arena_pool *pool, size_t bytes)
{
    if (pool == NULL)
        return true;
    pool->taken_bytes += bytes; // in one step, as it is atomic
    size_t now = pool->taken_bytes;
    if (pool->limit_bytes > 0 && now > pool->limit_bytes) {
        pool->taken_bytes -= bytes;
        return false;
    }
    if (now > pool->most_bytes)
        pool->most_bytes = now;
    return true;
}

void arena_pool_give(struct arena_pool *pool, size_t bytes)
{
    if (pool != NULL)
        pool->taken_bytes -= bytes;
}

void arena_init(struct arena *arena, size_t limit_bytes)
{
    *arena = (struct arena){.limit_bytes = limit_bytes};
}

bool arena_hold(struct arena *arena, size_t bytes, void (*give_back)(void *what), void *what)
{
    struct arena_held *held = ARENA_NEW(arena, struct arena_held, 1);
    if (held == NULL || bytes > arena->limit_bytes - arena->taken_bytes)
        return false;
    *held = (struct arena_held){arena->last->held, bytes, give_back, what};
    arena->last->held = held;
    arena->limit_bytes -= bytes;
    return true;
}

/* Gives back all that the last block holds from offset used on. */
static void give_back(struct arena *arena, size_t used)
{
    struct arena_block *block = arena->last;
    while (block->held != NULL && (char *)block->held >= block->data + used) {
        const struct arena_held held = *block->held;
        block->held = held.before;
        arena->limit_bytes += held.bytes;
        held.give_back(held.what);
    }
}

static void drop_last(struct arena *arena)
{
    struct arena_block *block = arena->last;
    give_back(arena, 0);
    arena->last = block->before;
    arena->taken_bytes -= block->size;
    arena_pool_give(arena->pool, block->size);
    hide(block->data, block->used);
    show(block->data, block->size); // to the system's allocator, which has guards of its own
    free(block);
}

void arena_fini(struct arena *arena)
{
    while (arena->last != NULL)
        drop_last(arena);
}

static struct arena_block *block_new(struct arena *arena, size_t size)
{
    if (size > arena->limit_bytes - arena->taken_bytes || size > SIZE_MAX - sizeof(struct arena_block) - ALIGN)
        return NULL;
    if (!arena_pool_take(arena->pool, size))
        return NULL;
    struct arena_block *block = malloc(sizeof *block + ALIGN + size);
    if (block == NULL) {
        arena_pool_give(arena->pool, size);
        return NULL;
    }
    uintptr_t start = (uintptr_t)(block + 1);
    *block = (struct arena_block){.before = arena->last, .size = size};
    block->data = (char *)(block + 1) + (ALIGN - start % ALIGN) % ALIGN;
    hide(block->data, size);
    arena->taken_bytes += size;
    arena->last = block;
    return block;
}

bool arena_reserve(struct arena *arena, size_t bytes)
{
    return bytes <= SIZE_MAX - ALIGN && block_new(arena, (bytes + ALIGN - 1) / ALIGN * ALIGN) != NULL;
}

static struct arena_block *block_for(struct arena *arena, size_t bytes)
{
    size_t left = arena->limit_bytes - arena->taken_bytes;
    return block_new(arena, bytes > BLOCK_BYTES || left < BLOCK_BYTES ? bytes : BLOCK_BYTES);
}

void *arena_alloc(struct arena *arena, size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX - ALIGN) / size)
        return NULL;
    size_t              bytes = (count * size + ALIGN - 1) / ALIGN * ALIGN;
    struct arena_block *block = arena->last;
    if (block == NULL || bytes > block->size - block->used)
        block = block_for(arena, bytes);
    if (block == NULL)
        return NULL;
    void *memory = block->data + block->used;
    block->used += bytes;
    show(memory, count * size);
    return memory;
}

void *arena_zalloc(struct arena *arena, size_t count, size_t size)
{
    void *memory = arena_alloc(arena, count, size);
    return memory == NULL ? NULL : memset(memory, 0, count * size);
}

void *arena_grown(struct arena *arena, void *array, size_t len, size_t size, size_t *room)
{
    if (len < *room)
        return array;
    size_t more = *room < ROOM_LEAST / 2 ? ROOM_LEAST : 2 * *room;
    void  *copy = arena_alloc(arena, more, size);
    if (copy != NULL && len > 0)
        memcpy(copy, array, len * size);
    *room = copy != NULL ? more : *room;
    return copy;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
    char *copy = length == SIZE_MAX ? NULL : arena_alloc(arena, length + 1, 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

struct arena_mark arena_mark(const struct arena *arena)
{
    return (struct arena_mark){.block = arena->last, .used = arena->last == NULL ? 0 : arena->last->used};
}

void arena_release(struct arena *arena, struct arena_mark mark)
{
    while (arena->last != mark.block)
        drop_last(arena);
    if (arena->last == NULL)
        return;
    give_back(arena, mark.used);
    hide(arena->last->data + mark.used, arena->last->used - mark.used);
    arena->last->used = mark.used;
}
