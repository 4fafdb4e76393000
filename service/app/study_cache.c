/* Rendered studies in memory: a table of fixed size, one entry a slot, newest wins.
 * Invariant: an entry is put only if no study was forgotten since before its text was read (generation), so what is
 * here is what the store says. */
#include "service/app/study_cache.h"

#include "service/base/text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1024, JSON_MAX = 64 * 1024 };

struct slot {
    char    id[24];
    char   *json;
    size_t  json_bytes;
    int64_t version, revision;
};
struct study_cache {
    pthread_rwlock_t lock;
    uint64_t         generation;
    struct slot      slots[2 * SLOTS]; /* for any token of the project; behind them for one that is bound */
};

struct study_cache *study_cache_new(void)
{
    struct study_cache *cache = calloc(1, sizeof *cache);
    if (cache != NULL)
        pthread_rwlock_init(&cache->lock, NULL);
    return cache;
}

void study_cache_free(struct study_cache *cache)
{
    if (cache == NULL)
        return;
    for (struct slot *slot = cache->slots; slot < cache->slots + 2 * SLOTS; slot++)
        free(slot->json);
    pthread_rwlock_destroy(&cache->lock);
    free(cache);
}

static struct slot *slot_of(struct study_cache *cache, const char *id, bool is_bound)
{
    return &cache->slots[(is_bound ? SLOTS : 0) + text_hash(id) % SLOTS];
}

bool study_cache_get(struct app *app, const char *id, bool is_bound, struct arena *arena, struct study_view *out)
{
    if (db_is_damaged(app->db, id) || !db_is_fresh(app->db)) // the cached study does not tell
        return false;
    struct study_cache *cache = app->studies;
    pthread_rwlock_rdlock(&cache->lock);
    const struct slot *slot = slot_of(cache, id, is_bound);
    char              *copy = NULL;
    if (slot->json != NULL && strcmp(slot->id, id) == 0)
        copy = arena_strndup(arena, slot->json, slot->json_bytes);
    if (copy != NULL)
        *out = (struct study_view){.json = copy,
                                   .json_bytes = slot->json_bytes,
                                   .version = slot->version,
                                   .revision = slot->revision,
                                   .is_bound = is_bound};
    pthread_rwlock_unlock(&cache->lock);
    return copy != NULL;
}

uint64_t study_cache_generation(struct app *app)
{
    pthread_rwlock_rdlock(&app->studies->lock);
    uint64_t generation = app->studies->generation;
    pthread_rwlock_unlock(&app->studies->lock);
    return generation;
}

void study_cache_put(struct app *app, const char *id, const struct study_view *view, uint64_t generation)
{
    struct study_cache *cache = app->studies;
    char               *json =
        view->json_bytes <= JSON_MAX && strlen(id) < sizeof cache->slots[0].id ? malloc(view->json_bytes + 1) : NULL;
    if (json == NULL)
        return;
    memcpy(json, view->json, view->json_bytes);
    json[view->json_bytes] = '\0';
    pthread_rwlock_wrlock(&cache->lock);
    struct slot *slot = slot_of(cache, id, view->is_bound);
    if (cache->generation == generation) {
        free(slot->json);
        *slot = (struct slot){
            .json = json, .json_bytes = view->json_bytes, .version = view->version, .revision = view->revision};
        memcpy(slot->id, id, strlen(id));
        json = NULL;
    }
    pthread_rwlock_unlock(&cache->lock);
    free(json);
}

void study_cache_forget(struct app *app, const char *id)
{
    struct study_cache *cache = app->studies;
    pthread_rwlock_wrlock(&cache->lock);
    cache->generation++;
    for (int is_bound = 0; is_bound <= 1; is_bound++) {
        struct slot *slot = slot_of(cache, id, is_bound);
        if (strcmp(slot->id, id) == 0) {
            free(slot->json);
            *slot = (struct slot){0};
        }
    }
    pthread_rwlock_unlock(&cache->lock);
}
