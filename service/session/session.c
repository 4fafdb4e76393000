/* The cache of live sessions.
 * Invariants: an entry with users stays; entry->lock is taken without cache->mutex held; what a session was told is
 * the log up to seq plus the suggestions up to told, and anything else makes it forget. */
#include "service/session/session.h"

#include "engine/game/game.h"
#include "service/app/price.h"
#include "service/app/slots.h"
#include "service/base/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024 };

struct entry {
    struct live            live; /* first: a live is its entry */
    pthread_rwlock_t       lock;
    size_t                 users, bytes; /* under the cache's mutex */
    uint64_t               used_at;
    bool                   is_dropped;  /* not in the table any more; freed by its last user */
    size_t                 plans;       /* users that plan, or wait for it; under the cache's mutex */
    bool                   is_planning; /* the one who has the lock; under the lock */
    bool                   is_led; /* some member has the lock, or is about to; under the cache's mutex, as the next */
    struct session_member *members, **members_end;
    int64_t       known_seq, known_asked_at; /* of the live one, when its last user left; under the cache's mutex */
    bool          is_slack;                  /* the same */
    struct entry *next;
};
struct session_cache {
    pthread_mutex_t mutex;
    struct entry   *buckets[BUCKETS];
    size_t          entries, bytes;
    size_t          alone; /* sessions that belong to one request */
    uint64_t        clock;
};

struct session_cache *session_cache_new(void)
{
    struct session_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL)
        return NULL;
    cache->clock = 1;
    pthread_mutex_init(&cache->mutex, NULL);
    return cache;
}

static void entry_free(struct entry *entry)
{
    session_forget(&entry->live);
    pthread_rwlock_destroy(&entry->lock);
    free(entry);
}

void session_cache_free(struct session_cache *cache)
{
    if (cache == NULL)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct entry *entry = cache->buckets[i], *next; entry != NULL; entry = next) {
            next = entry->next;
            entry_free(entry);
        }
    pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

static struct entry **bucket_of(struct session_cache *cache, const char *study)
{
    return &cache->buckets[text_hash(study) % BUCKETS];
}

static struct entry *entry_new(struct app *app, const char *study)
{
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return NULL;
    snprintf(entry->live.study, sizeof entry->live.study, "%s", study);
    entry->known_asked_at = entry->live.asked_at = -1;
    arena_init(&entry->live.arena, app->options.session_bytes);
    pthread_rwlockattr_t attributes; // whoever asks the model is not kept waiting by a stream of reports
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&entry->lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    entry->members_end = &entry->members;
    return entry;
}

/* cache->mutex is held, here and below. */
static struct entry *find(struct session_cache *cache, const char *study)
{
    struct entry *entry = *bucket_of(cache, study);
    while (entry != NULL && strcmp(entry->live.study, study) != 0)
        entry = entry->next;
    return entry;
}

static struct entry *find_or_make(struct app *app, const char *study)
{
    struct session_cache *cache = app->sessions;
    struct entry         *found = find(cache, study), *entry = found != NULL ? found : entry_new(app, study);
    if (found == NULL && entry != NULL) {
        struct entry **bucket = bucket_of(cache, study);
        entry->next = *bucket;
        *bucket = entry;
        cache->entries++;
    }
    return entry;
}

/* A caller on a thread that others need does not wait here for a lock that may be held long. */
static bool lock_entry(struct entry *entry, enum session_use use, const struct caller *caller)
{
    if (use == SESSION_SHARED)
        return pthread_rwlock_rdlock(&entry->lock) == 0;
    return caller->may_defer ? pthread_rwlock_trywrlock(&entry->lock) == 0 : pthread_rwlock_wrlock(&entry->lock) == 0;
}

/* Leaves an entry whose lock was never taken. */
static void leave(struct session_cache *cache, struct entry *entry, bool plans)
{
    pthread_mutex_lock(&cache->mutex);
    entry->plans -= plans;
    bool is_last = --entry->users == 0 && entry->is_dropped;
    pthread_mutex_unlock(&cache->mutex);
    if (is_last)
        entry_free(entry);
}

/* A user more; member NULL: none. */
static enum status enter(struct app *app, const char *study, enum session_use use, struct session_member *member,
                         struct entry **out, struct error *err)
{
    struct session_cache *cache = app->sessions;
    bool                  plans = use == SESSION_PLAN || use == SESSION_QUEUE;
    pthread_mutex_lock(&cache->mutex);
    struct entry *entry = find_or_make(app, study);
    bool          may = entry != NULL && (use == SESSION_QUEUE || entry->plans == 0);
    if (may) {
        entry->users++;
        entry->plans += plans;
    }
    if (may && member != NULL) {
        member->leads = !entry->is_led;
        *entry->members_end = member;
        entry->members_end = &member->next;
        entry->is_led = true;
    }
    pthread_mutex_unlock(&cache->mutex);
    *out = entry;
    if (entry == NULL)
        return error_no_memory(err);
    return may ? STATUS_OK
               : error_set(err, STATUS_BUSY, "planning", "", "a plan for this study is being made: ask again");
}

enum status session_lock(struct app *app, struct caller *caller, const char *study, enum session_use use,
                         struct live **out, struct error *err)
{
    struct entry *entry;
    bool          plans = use == SESSION_PLAN || use == SESSION_QUEUE;
    TRY(enter(app, study, use, NULL, &entry, err));
    if (!lock_entry(entry, use, caller)) {
        leave(app->sessions, entry, plans);
        return slots_defer(caller, err);
    }
    if (plans)
        entry->is_planning = true;
    *out = &entry->live;
    return STATUS_OK;
}

uint64_t session_moment(struct app *app)
{
    pthread_mutex_lock(&app->sessions->mutex);
    uint64_t now = app->sessions->clock;
    pthread_mutex_unlock(&app->sessions->mutex);
    return now;
}

bool session_is_as_of(struct app *app, const struct live *live, uint64_t moment)
{
    pthread_mutex_lock(&app->sessions->mutex);
    bool is_as_of = ((const struct entry *)live)->used_at <= moment;
    pthread_mutex_unlock(&app->sessions->mutex);
    return is_as_of;
}

struct price_model session_price(struct app *app, const struct study *study)
{
    struct session_cache *cache = app->sessions;
    struct price_model    model = price_model_of(study);
    pthread_mutex_lock(&cache->mutex);
    const struct entry *entry = find(cache, study->id);
    int64_t             seq = entry == NULL ? 0 : entry->known_seq;
    model.has_fit = price_has_fit(model.values, entry == NULL ? -1 : entry->known_asked_at);
    pthread_mutex_unlock(&cache->mutex);
    model.news = (double)(study->revision - seq);
    return model;
}

bool session_is_there(struct app *app, const char *study)
{
    struct session_cache *cache = app->sessions;
    pthread_mutex_lock(&cache->mutex);
    const struct entry *entry = find(cache, study);
    bool                is_there = entry != NULL && entry->known_seq > 0 && !entry->is_slack;
    pthread_mutex_unlock(&cache->mutex);
    return is_there;
}

/* The last user of the entry frees it. */
static void entry_unlink(struct session_cache *cache, struct entry *gone)
{
    for (struct entry **link = bucket_of(cache, gone->live.study); *link != NULL; link = &(*link)->next)
        if (*link == gone) {
            *link = gone->next;
            break;
        }
    cache->entries--;
    cache->bytes -= gone->bytes;
    gone->bytes = 0;
    gone->is_dropped = true;
}

static struct entry *oldest_idle(struct session_cache *cache)
{
    struct entry *oldest = NULL;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct entry *entry = cache->buckets[i]; entry != NULL; entry = entry->next)
            if (entry->users == 0 && (oldest == NULL || entry->used_at < oldest->used_at))
                oldest = entry;
    return oldest;
}

static size_t live_bytes(const struct live *live)
{
    size_t bytes = sizeof(struct entry) + live->arena.taken_bytes + live->curves_arena.taken_bytes;
    if (live->game != NULL)
        return bytes + game_bytes(live->game);
    return bytes + streams_bytes(&live->streams);
}

void session_unlock(struct app *app, struct live *live)
{
    struct entry         *entry = (struct entry *)live;
    struct session_cache *cache = app->sessions;
    size_t                bytes = live_bytes(live);
    pthread_mutex_lock(&cache->mutex); // before the next user can change what was measured
    if (entry->is_planning) {
        entry->is_planning = false;
        entry->plans--;
    }
    entry->known_seq = live->seq;
    entry->known_asked_at = live->asked_at;
    entry->is_slack = live->is_slack;
    pthread_rwlock_unlock(&entry->lock);
    entry->users--;
    entry->used_at = ++cache->clock;
    bool is_last = entry->is_dropped && entry->users == 0;
    if (!entry->is_dropped) {
        cache->bytes += bytes - entry->bytes;
        entry->bytes = bytes;
    }
    struct entry *evicted;
    while (cache->bytes > app->options.sessions_bytes && (evicted = oldest_idle(cache)) != NULL) {
        entry_unlink(cache, evicted);
        entry_free(evicted);
        atomic_fetch_add(&app->counters.session_evictions, 1);
    }
    pthread_mutex_unlock(&cache->mutex);
    if (is_last)
        entry_free(entry);
}

enum status session_join(struct app *app, const char *study, struct session_member *member, struct live **out,
                         struct error *err)
{
    struct entry *entry;
    *member = (struct session_member){0};
    *out = NULL;
    sem_init(&member->turn, 0, 0);
    enum status status = enter(app, study, SESSION_ALONE, member, &entry, err);
    while (status == STATUS_OK && !member->leads && sem_wait(&member->turn) != 0) // EINTR
        ;
    sem_destroy(&member->turn);
    if (status != STATUS_OK)
        return status;
    if (!member->is_done) {
        pthread_rwlock_wrlock(&entry->lock);
        *out = &entry->live;
        return STATUS_OK;
    }
    leave(app->sessions, entry, false);
    return STATUS_OK;
}

struct session_member *session_members(struct app *app, struct live *live, size_t most)
{
    struct entry *entry = (struct entry *)live;
    pthread_mutex_lock(&app->sessions->mutex);
    struct session_member *first = entry->members, **end = &entry->members;
    for (size_t i = 0; i < most && *end != NULL; i++)
        end = &(*end)->next;
    entry->members = *end;
    if (entry->members == NULL)
        entry->members_end = &entry->members;
    *end = NULL;
    pthread_mutex_unlock(&app->sessions->mutex);
    return first;
}

void session_leave(struct app *app, struct live *live, struct session_member *served)
{
    struct entry          *entry = (struct entry *)live;
    struct session_member *next;
    for (struct session_member *member = served->next; member != NULL; member = next) {
        next = member->next; // the member is its owner's again once it is done
        member->is_done = true;
        sem_post(&member->turn);
    }
    pthread_mutex_lock(&app->sessions->mutex);
    entry->is_led = entry->members != NULL;
    if (entry->is_led)
        sem_post(&entry->members->turn);
    pthread_mutex_unlock(&app->sessions->mutex);
    session_unlock(app, live);
}

void session_forget(struct live *live)
{
    streams_close(&live->streams);
    game_close(live->game);
    live->game = NULL;
    arena_fini(&live->arena);
    arena_fini(&live->curves_arena);
    live->space_revision = 0;
    live->seq = live->revision = live->made = live->corrected = live->told = live->observations = live->round =
        live->sent = 0;
    live->asked_at = -1;
}

void session_drop(struct app *app, const char *study)
{
    struct session_cache *cache = app->sessions;
    pthread_mutex_lock(&cache->mutex);
    struct entry *entry = find(cache, study);
    bool          is_idle = entry != NULL && entry->users == 0;
    if (entry != NULL)
        entry_unlink(cache, entry);
    pthread_mutex_unlock(&cache->mutex);
    if (is_idle)
        entry_free(entry);
}

void session_stats(struct app *app, struct session_stats *out)
{
    pthread_mutex_lock(&app->sessions->mutex);
    *out = (struct session_stats){.entries = app->sessions->entries, .bytes = app->sessions->bytes};
    pthread_mutex_unlock(&app->sessions->mutex);
}

/* ---- of one request ---- */

static bool may_be_alone(struct app *app)
{
    struct session_cache *cache = app->sessions;
    size_t                most = app->options.sessions_bytes / app->options.session_bytes;
    pthread_mutex_lock(&cache->mutex);
    bool may = cache->alone == 0 || cache->alone < most;
    cache->alone += may;
    pthread_mutex_unlock(&cache->mutex);
    return may;
}

enum status session_alone(struct app *app, struct caller *caller, const char *study, struct live **out,
                          struct error *err)
{
    struct live *live = arena_zalloc(caller->arena, 1, sizeof *live);
    if (live == NULL)
        return error_no_memory(err);
    if (!may_be_alone(app))
        return error_set(err, STATUS_BUSY, "busy", "", "as many studies are made again as there is memory for");
    snprintf(live->study, sizeof live->study, "%s", study);
    arena_init(&live->arena, app->options.session_bytes);
    *out = live;
    return STATUS_OK;
}

void session_alone_end(struct app *app, struct live *live)
{
    session_forget(live);
    pthread_mutex_lock(&app->sessions->mutex);
    app->sessions->alone--;
    pthread_mutex_unlock(&app->sessions->mutex);
}
