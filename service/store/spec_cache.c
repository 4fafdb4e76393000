/* Parsed specifications in a table that is bounded in bytes.
 * A study's specification changes with its version only and its id is never another's, so an entry of what was committed is
 * right whenever it was made, even by a transaction that sees a study which is deleted meanwhile.  An older one than is wanted is
 * replaced.  What a transaction sees of others before their common commit is not kept: the commit may fail, and another
 * specification get the version.
 * Invariants: the table is one user of its entries, each arena that was lent one is another, and the last user frees it;
 * the users of an entry in the table are counted up under the mutex, and nothing is read or freed under it. */
#include "service/store/spec_cache.h"

#include "service/base/text.h"
#include "service/store/rows.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024, SHARE = 4, SMALL_BYTES = 8 * 1024 };

struct entry {
    char          study[24];
    int64_t       version, space_revision;
    struct arena  arena;
    struct spec   spec;
    size_t        bytes;
    atomic_size_t users;
    uint64_t      used_at; /* under the mutex, as next */
    struct entry *next;
};
struct spec_cache {
    pthread_mutex_t mutex;
    struct entry   *buckets[BUCKETS];
    size_t          entries, bytes;
    uint64_t        clock;
};

struct spec_cache *spec_cache_new(void)
{
    struct spec_cache *cache = calloc(1, sizeof *cache);
    if (cache != NULL)
        pthread_mutex_init(&cache->mutex, NULL);
    return cache;
}

static void leave(void *arg)
{
    struct entry *entry = arg;
    if (atomic_fetch_sub(&entry->users, 1) > 1)
        return;
    arena_fini(&entry->arena);
    free(entry);
}

static void leave_all(struct entry *gone)
{
    for (struct entry *next; gone != NULL; gone = next) {
        next = gone->next;
        leave(gone);
    }
}

void spec_cache_free(struct spec_cache *cache)
{
    if (cache == NULL)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        leave_all(cache->buckets[i]);
    pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

/* The link to the entry, or where it would be.  The mutex is held here and below. */
static struct entry **link_of(struct spec_cache *cache, const char *study)
{
    struct entry **link = &cache->buckets[text_hash(study) % BUCKETS];
    while (*link != NULL && strcmp((*link)->study, study) != 0)
        link = &(*link)->next;
    return link;
}

static struct entry *take_out(struct spec_cache *cache, struct entry **link)
{
    struct entry *entry = *link;
    *link = entry->next;
    cache->entries--;
    cache->bytes -= entry->bytes;
    return entry;
}

static struct entry **oldest_link(struct spec_cache *cache)
{
    struct entry **oldest = NULL;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct entry **link = &cache->buckets[i]; *link != NULL; link = &(*link)->next)
            if (oldest == NULL || (*link)->used_at < (*oldest)->used_at)
                oldest = link;
    return oldest;
}

static struct entry *find(struct spec_cache *cache, const struct study *study)
{
    pthread_mutex_lock(&cache->mutex);
    struct entry *entry = *link_of(cache, study->id);
    if (entry != NULL && entry->version != study->version)
        entry = NULL;
    if (entry != NULL) {
        atomic_fetch_add(&entry->users, 1);
        entry->used_at = ++cache->clock;
    }
    pthread_mutex_unlock(&cache->mutex);
    return entry;
}

/* Keeps the entry, unless another thread was first, or it is larger than the whole cache may be. */
static void keep(struct app *app, struct entry *entry)
{
    struct spec_cache *cache = app->specs;
    size_t             limit = app->options.sessions_bytes / SHARE;
    struct entry      *gone = NULL;
    pthread_mutex_lock(&cache->mutex);
    struct entry **link = link_of(cache, entry->study);
    if (*link != NULL && (*link)->version < entry->version)
        gone = take_out(cache, link);
    if (gone != NULL)
        gone->next = NULL;
    if (*link == NULL && entry->bytes <= limit) {
        entry->next = NULL;
        atomic_fetch_add(&entry->users, 1);
        entry->used_at = ++cache->clock;
        *link = entry;
        cache->entries++;
        cache->bytes += entry->bytes;
    }
    while (cache->bytes > limit) {
        struct entry *oldest = take_out(cache, oldest_link(cache));
        oldest->next = gone;
        gone = oldest;
    }
    pthread_mutex_unlock(&cache->mutex);
    leave_all(gone);
}

/* Reads a study's entry.  Several threads may do this for the same study at once; they do not wait for each other. */
static enum status read_entry(struct app *app, struct db_conn *conn, const struct study *study, size_t limit_bytes,
                              struct entry **out, struct error *err)
{
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return error_no_memory(err);
    snprintf(entry->study, sizeof entry->study, "%s", study->id);
    entry->version = study->version;
    entry->space_revision = study->space_revision;
    arena_init(&entry->arena, limit_bytes);
    atomic_init(&entry->users, 1);
    enum status status = arena_reserve(&entry->arena, SMALL_BYTES) // most specs need no more
                             ? rows_spec_get(conn, study->id, &entry->arena, &entry->spec, err)
                             : error_no_memory(err);
    if (status != STATUS_OK) {
        leave(entry);
        return status;
    }
    entry->bytes = sizeof *entry + entry->arena.taken_bytes;
    atomic_fetch_add(&app->counters.specs_read, 1);
    *out = entry;
    return STATUS_OK;
}

enum status spec_cache_get(struct app *app, struct db_conn *conn, struct arena *arena, struct study *study,
                           struct error *err)
{
    struct entry *entry = find(app->specs, study);
    if (entry == NULL) {
        TRY(read_entry(app, conn, study, arena->limit_bytes - arena->taken_bytes, &entry, err));
        if (db_is_memorable(conn))
            keep(app, entry);
    }
    if (!arena_hold(arena, entry->bytes, leave, entry)) {
        leave(entry);
        return error_no_memory(err);
    }
    study->spec = entry->spec;
    app_say_damaged(app, study->id, &study->reason);
    return rows_baseline(conn, study->id, INT64_MAX, arena, &study->spec, err);
}

enum status spec_cache_study(struct app *app, struct db_conn *conn, const char *id, struct arena *arena,
                             struct study *out, struct error *err)
{
    TRY(rows_study_get(conn, id, arena, out, err));
    return spec_cache_get(app, conn, arena, out, err);
}

bool spec_cache_recall(struct app *app, const char *id, struct arena *arena, struct spec_known *out)
{
    struct spec_cache *cache = app->specs;
    pthread_mutex_lock(&cache->mutex);
    struct entry *entry = *link_of(cache, id);
    if (entry != NULL)
        atomic_fetch_add(&entry->users, 1);
    pthread_mutex_unlock(&cache->mutex);
    if (entry == NULL)
        return false;
    if (!arena_hold(arena, entry->bytes, leave, entry)) {
        leave(entry);
        return false;
    }
    *out = (struct spec_known){.spec = entry->spec, .space_revision = entry->space_revision};
    return true;
}

void spec_cache_drop(struct app *app, const char *study)
{
    struct spec_cache *cache = app->specs;
    pthread_mutex_lock(&cache->mutex);
    struct entry **link = link_of(cache, study);
    struct entry  *gone = *link == NULL ? NULL : take_out(cache, link);
    pthread_mutex_unlock(&cache->mutex);
    if (gone != NULL)
        leave(gone);
}

void spec_cache_stats(struct app *app, struct spec_cache_stats *out)
{
    pthread_mutex_lock(&app->specs->mutex);
    *out = (struct spec_cache_stats){.entries = app->specs->entries, .bytes = app->specs->bytes};
    pthread_mutex_unlock(&app->specs->mutex);
}
