/* The arena: limits, alignment, mark and release, overflow. */
#include "engine/base/arena.h"
#include "tests/unit/engine/suites.h"

#include <stdint.h>
#include <string.h>
#ifdef ARENA_GUARD
#include <sanitizer/asan_interface.h>
#endif

static void test_aligned_and_distinct(void)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    unsigned char *a = arena_alloc(&arena, 13, 7), *b = arena_alloc(&arena, 1, 1);
    CU_ASSERT_FATAL(a != NULL && b != NULL);
    CU_ASSERT((uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0);
    CU_ASSERT(b >= a + 91 || a > b);
    memset(a, 0xA5, 91);
    unsigned char *zero = arena_zalloc(&arena, 257, 3);
    CU_ASSERT_FATAL(zero != NULL);
    for (size_t i = 0; i < 771; i++)
        CU_ASSERT(zero[i] == 0);
    CU_ASSERT(a[90] == 0xA5);
    arena_fini(&arena);
    CU_ASSERT(arena.taken_bytes == 0 && arena.last == NULL);
}

static void test_limit(void)
{
    struct arena arena;
    arena_init(&arena, 200000);
    CU_ASSERT(arena_alloc(&arena, 1, 150000) != NULL);
    CU_ASSERT(arena_alloc(&arena, 1, 60000) == NULL);
    CU_ASSERT(arena_alloc(&arena, 1, 40000) != NULL);
    CU_ASSERT(arena.taken_bytes <= 200000);
    arena_fini(&arena);
    CU_ASSERT(arena_alloc(&arena, 1, 190000) != NULL);
    arena_fini(&arena);
}

/* Two arenas and something else that is counted with them. */
static void test_pool(void)
{
    struct arena_pool pool = {.limit_bytes = 300000};
    struct arena      one, other;
    arena_init(&one, SIZE_MAX);
    arena_init(&other, SIZE_MAX);
    one.pool = other.pool = &pool;
    CU_ASSERT(arena_alloc(&one, 1, 150000) != NULL);
    CU_ASSERT(arena_alloc(&other, 1, 100000) != NULL);
    CU_ASSERT(arena_alloc(&other, 1, 90000) == NULL && pool.taken_bytes == 250048);
    CU_ASSERT(!arena_pool_take(&pool, 60000) && arena_pool_take(&pool, 40000));
    arena_fini(&one);
    CU_ASSERT(arena_alloc(&other, 1, 90000) != NULL);
    arena_fini(&other);
    arena_pool_give(&pool, 40000);
    CU_ASSERT(pool.taken_bytes == 0 && pool.most_bytes == 290048);
    pool.limit_bytes = 0;
    CU_ASSERT(arena_pool_take(&pool, SIZE_MAX / 2) && arena_pool_take(NULL, SIZE_MAX));
}

static void test_overflow(void)
{
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    CU_ASSERT(arena_alloc(&arena, SIZE_MAX / 3, 7) == NULL);
    CU_ASSERT(arena_alloc(&arena, SIZE_MAX, 1) == NULL);
    CU_ASSERT(arena_zalloc(&arena, SIZE_MAX / 2 + 1, 2) == NULL);
    CU_ASSERT(arena_strndup(&arena, "x", SIZE_MAX) == NULL);
    CU_ASSERT(arena.taken_bytes == 0);
    arena_fini(&arena);
}

static void test_mark_release(void)
{
    struct arena arena;
    arena_init(&arena, 1 << 24);
    struct arena_mark empty = arena_mark(&arena);
    char             *kept = arena_strndup(&arena, "length-scale", 6);
    CU_ASSERT_FATAL(kept != NULL);
    struct arena_mark mark = arena_mark(&arena);
    size_t            before = arena.taken_bytes;
    char             *first = arena_alloc(&arena, 100, 1);
    CU_ASSERT(arena_alloc(&arena, 3, 1 << 20) != NULL);
    CU_ASSERT(arena.taken_bytes > before);
    arena_release(&arena, mark);
    CU_ASSERT(arena.taken_bytes == before);
    CU_ASSERT(arena_alloc(&arena, 100, 1) == first);
    CU_ASSERT(strcmp(kept, "length") == 0);
    arena_release(&arena, empty);
    CU_ASSERT(arena.taken_bytes == 0);
    arena_fini(&arena);
}

static char given_back[8];

static void note(void *what)
{
    size_t len = strlen(given_back);
    if (len + 1 < sizeof given_back)
        given_back[len] = *(const char *)what;
}

static void test_hold(void)
{
    struct arena arena;
    memset(given_back, 0, sizeof given_back);
    arena_init(&arena, 300000);
    CU_ASSERT(arena_hold(&arena, 70000, note, "a"));
    struct arena_mark mark = arena_mark(&arena);
    CU_ASSERT(arena_hold(&arena, 0, note, "b"));
    CU_ASSERT(arena_alloc(&arena, 1, 100000) != NULL); // a block of its own
    CU_ASSERT(arena_hold(&arena, 50000, note, "c"));
    CU_ASSERT(!arena_hold(&arena, 50000, note, "d"));
    CU_ASSERT(arena_alloc(&arena, 1, 50000) == NULL);
    CU_ASSERT_STRING_EQUAL(given_back, "");
    arena_release(&arena, mark);
    CU_ASSERT_STRING_EQUAL(given_back, "cb");
    CU_ASSERT(arena_alloc(&arena, 1, 150000) != NULL);
    CU_ASSERT(arena_alloc(&arena, 1, 50000) == NULL);
    arena_release(&arena, mark);
    CU_ASSERT_STRING_EQUAL(given_back, "cb");
    CU_ASSERT(arena_hold(&arena, 1000, note, "e"));
    arena_fini(&arena);
    CU_ASSERT_STRING_EQUAL(given_back, "cbea");
    CU_ASSERT(arena.limit_bytes == 300000 && arena.taken_bytes == 0);
}

static void test_reserve(void)
{
    struct arena arena;
    arena_init(&arena, 100000);
    CU_ASSERT(!arena_reserve(&arena, 100001));
    CU_ASSERT(arena_reserve(&arena, 1001));
    CU_ASSERT(arena_alloc(&arena, 1, 1001) != NULL && arena.taken_bytes == 1024);
    CU_ASSERT(arena_alloc(&arena, 1, 700) != NULL && arena.taken_bytes > 2000);
    arena_fini(&arena);
}

/* Memory that was given back is overwritten, and cannot be touched where somebody watches. */
#ifdef ARENA_GUARD
static bool is_hidden(const void *memory, size_t bytes)
{
#ifdef __SANITIZE_ADDRESS__
    for (size_t i = 0; i < bytes; i++)
        if (!__asan_address_is_poisoned((const char *)memory + i))
            return false;
#else
    (void)memory, (void)bytes;
#endif
    return true;
}

static void test_guard(void)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    CU_ASSERT(arena_alloc(&arena, 0, 1) != NULL);
    struct arena_mark empty = arena_mark(&arena);
    unsigned char    *text = arena_alloc(&arena, 1, 100);
    memset(text, 'x', 100);
    CU_ASSERT(is_hidden(text + 100, 28));
    struct arena_mark mark = arena_mark(&arena);
    unsigned char    *next = arena_alloc(&arena, 8, 8);
    CU_ASSERT(is_hidden(next + 64, 1));
    memset(next, 'y', 64);
    arena_release(&arena, mark);
    CU_ASSERT(is_hidden(next, 64) && text[99] == 'x');
    struct arena kept = arena; // as a connection keeps it between two requests
    arena_release(&kept, empty);
    CU_ASSERT(is_hidden(text, 128));
    CU_ASSERT_PTR_EQUAL(arena_alloc(&kept, 1, 128), text);
    for (size_t i = 0; i < 128; i++)
        CU_ASSERT_EQUAL(text[i], 0x5a);
    arena_fini(&kept);
}
#endif

/* Sizes double, so 1,024 ints and all copies before them are less than 8,192 bytes, and 2,048 are more. */
static void test_grown(void)
{
    struct arena arena;
    size_t       room = 0;
    int         *array = NULL;
    arena_init(&arena, 10000);
    for (int i = 0; i < 700; i++) {
        array = arena_grown(&arena, array, (size_t)i, sizeof *array, &room);
        CU_ASSERT_FATAL(array != NULL && room > (size_t)i);
        array[i] = 3 * i;
    }
    CU_ASSERT(room == 1024 && array[0] == 0 && array[699] == 2097);
    CU_ASSERT(arena_grown(&arena, array, room, sizeof *array, &room) == NULL && room == 1024);
    arena_fini(&arena);
}

CU_TestInfo suite_arena[] = {
#ifdef ARENA_GUARD
    {"guard", test_guard},
#endif
    {"aligned and distinct", test_aligned_and_distinct},
    {"limit", test_limit},
    {"pool", test_pool},
    {"overflow", test_overflow},
    {"mark and release", test_mark_release},
    {"hold", test_hold},
    {"reserve", test_reserve},
    {"grown", test_grown},
    CU_TEST_INFO_NULL,
};
