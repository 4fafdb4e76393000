/* See watch.h.  The lock is held for copying alone, never while something is looked at: the disk may not answer. */
#include "service/app/watch.h"

#include "service/app/slots.h"
#include "service/base/clock.h"
#include "service/base/log.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LOOK_MS = 1000, LATE_MS = 3000, LOST_TIMES = 10, PATH_BYTES = 1200 };

struct watch {
    struct app          *app;
    char                 path[PATH_BYTES], backup[PATH_BYTES];
    dev_t                device; /* of the store, as it was at the start */
    ino_t                inode;
    pthread_mutex_t      lock;
    pthread_cond_t       changed;
    bool                 is_stopping;
    int64_t              looked_ms, silent_ms; /* when, by the monotonic clock; of the computation */
    struct watch_finding findings[WATCH_CHECKS];
    struct watch_sight   sight;
    pthread_t            thread;
};

/* The facts that the checks judge. */
struct look {
    const struct app_options *options;
    struct db_stats           store;
    struct watch_sight        sight;
    bool                      is_rolled_back, is_there;
    int64_t                   stuck_ms, silent_ms; /* of the writer, of a computation */
};

static bool is_sound(const struct look *look, char *detail)
{
    snprintf(detail, WATCH_DETAIL_BYTES, "something was read that is not what was written");
    return !look->store.is_damaged;
}

static bool is_newest(const struct look *look, char *detail)
{
    snprintf(detail, WATCH_DETAIL_BYTES, "an older copy of the store was brought back, and that is not acknowledged");
    return !look->is_rolled_back;
}

static bool is_in_place(const struct look *look, char *detail)
{
    snprintf(detail, WATCH_DETAIL_BYTES, "the file that the store was opened from is not in its folder any more");
    return look->is_there || look->options->database != NULL;
}

static bool is_written(const struct look *look, char *detail)
{
    snprintf(detail, WATCH_DETAIL_BYTES, "the last commit failed: %s", look->store.refused);
    return look->store.refused[0] == '\0';
}

static bool is_checkpointed(const struct look *look, char *detail)
{
    snprintf(detail, WATCH_DETAIL_BYTES, "the disk does not take the journal into the database");
    return !look->store.is_failing;
}

/* Besides what the journal takes in the database, as it goes there. */
static bool has_room(const struct look *look, char *detail)
{
    double needed = (double)look->options->disk_free_bytes + (double)look->store.wal_bytes;
    snprintf(detail, WATCH_DETAIL_BYTES, "%.0f bytes are free, %.0f are needed", look->sight.disk.free_bytes, needed);
    return look->options->disk_free_bytes == 0 || !(look->sight.disk.free_bytes < needed);
}

static bool is_journal_short(const struct look *look, char *detail)
{
    snprintf(detail, WATCH_DETAIL_BYTES, "it has %lld bytes, which somebody who reads holds back",
             (long long)look->store.wal_bytes);
    return look->store.wal_bytes <= look->options->journal_bytes;
}

static bool does_write(const struct look *look, char *detail)
{
    snprintf(detail, WATCH_DETAIL_BYTES, "no sign of life for %lld ms", (long long)look->stuck_ms);
    return look->stuck_ms <= look->options->stuck_ms;
}

static bool does_compute(const struct look *look, char *detail)
{
    snprintf(detail, WATCH_DETAIL_BYTES, "no sign of life for %lld ms", (long long)look->silent_ms);
    return look->silent_ms <= look->options->stuck_ms;
}

/* The last is of the looks themselves. */
static const struct {
    const char *name, *code;
    bool (*is_good)(const struct look *look, char *detail);
} checks[WATCH_CHECKS] = {
    {"store", "store_corrupt", is_sound},
    {"rollback", "store_rolled_back", is_newest},
    {"folder", "store_gone", is_in_place},
    {"checkpoint", "checkpoint_failed", is_checkpointed},
    {"writes", "writes_refused", is_written},
    {"disk", "disk_nearly_full", has_room},
    {"journal", "journal_too_long", is_journal_short},
    {"writer", "writer_stuck", does_write},
    {"compute", "compute_stuck", does_compute},
    {"looks", "not_looked_at", NULL},
};

static struct watch_finding all_is_well(size_t i)
{
    return (struct watch_finding){.name = checks[i].name, .code = checks[i].code, .is_good = true};
}

/* Whoever makes a backup leaves a file beside the store. */
static double find_backup(const struct watch *watch)
{
    struct stat own;
    return stat(watch->backup, &own) == 0 ? (double)own.st_mtime : (double)NAN;
}

static bool is_same_file(const struct watch *watch)
{
    struct stat own;
    return stat(watch->path, &own) == 0 && own.st_dev == watch->device && own.st_ino == watch->inode;
}

/* After a time in which no thread ran, as when the machine was asleep, silence of the threads means nothing. */
static void look_around(struct watch *watch, bool is_late, struct look *look)
{
    struct slots_stats slots;
    *look = (struct look){.options = &watch->app->options, .is_rolled_back = db_is_rolled_back(watch->app->db)};
    look->is_there = is_same_file(watch);
    disk_stats(watch->path, &look->sight.disk);
    look->sight.backup_seconds = find_backup(watch);
    db_stats(watch->app->db, &look->store);
    slots_stats(watch->app->slots, &slots);
    look->stuck_ms = is_late ? 0 : (int64_t)(1000 * look->store.stuck_seconds);
    look->silent_ms = is_late ? 0 : slots.silent_us / 1000;
}

/* The lock is held. */
static bool note(struct watch_finding *finding, bool is_good, const char *detail)
{
    bool is_news = finding->is_good != is_good;
    if (is_news || finding->since_ms == 0)
        finding->since_ms = clock_ms(CLOCK_REALTIME);
    finding->is_good = is_good;
    snprintf(finding->detail, sizeof finding->detail, "%s", is_good ? "" : detail);
    return is_news;
}

static void tell(const struct watch_finding *finding)
{
    if (finding->is_good)
        log_event(LOG_INFO, "check_passes", "check=%s", finding->name);
    else
        log_event(LOG_ERROR, "check_fails", "check=%s code=%s detail=\"%s\"", finding->name, finding->code,
                  finding->detail);
}

static void look_once(struct watch *watch)
{
    struct look look;
    int64_t     now = watch->app->monotonic_ms();
    look_around(watch, now - watch->looked_ms > LATE_MS, &look);
    for (size_t i = 0; checks[i].is_good != NULL; i++) {
        char detail[WATCH_DETAIL_BYTES];
        bool is_good = checks[i].is_good(&look, detail);
        pthread_mutex_lock(&watch->lock);
        bool                 is_news = note(&watch->findings[i], is_good, detail);
        struct watch_finding finding = watch->findings[i];
        pthread_mutex_unlock(&watch->lock);
        if (is_news)
            tell(&finding);
    }
    pthread_mutex_lock(&watch->lock);
    watch->looked_ms = watch->app->monotonic_ms();
    watch->silent_ms = look.silent_ms;
    watch->sight = look.sight;
    pthread_mutex_unlock(&watch->lock);
}

static void *run(void *arg)
{
    struct watch *watch = arg;
    while (!clock_wait(&watch->lock, &watch->changed, &watch->is_stopping, LOOK_MS))
        look_once(watch);
    return NULL;
}

static void release(struct watch *watch)
{
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

enum status watch_start(struct app *app, struct error *err)
{
    struct watch *watch = calloc(1, sizeof *watch);
    struct stat   own = {0};
    if (watch == NULL)
        return error_no_memory(err);
    watch->app = app;
    snprintf(watch->path, sizeof watch->path, "%s/gnomon.db", app->options.folder);
    snprintf(watch->backup, sizeof watch->backup, "%s/" WATCH_BACKUP, app->options.folder);
    if (stat(watch->path, &own) == 0) {
        watch->device = own.st_dev;
        watch->inode = own.st_ino;
    }
    pthread_mutex_init(&watch->lock, NULL);
    clock_cond_init(&watch->changed);
    for (size_t i = 0; i < WATCH_CHECKS; i++)
        watch->findings[i] = all_is_well(i);
    look_once(watch);
    if (pthread_create(&watch->thread, NULL, run, watch) != 0) {
        release(watch);
        return error_set(err, STATUS_BUSY, "threads", "", "cannot start a thread");
    }
    app->watch = watch;
    return STATUS_OK;
}

void watch_stop(struct app *app)
{
    struct watch *watch = app->watch;
    if (watch == NULL)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->is_stopping = true;
    pthread_cond_broadcast(&watch->changed);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
    app->watch = NULL;
    release(watch);
}

void watch_read(struct app *app, struct watch_finding out[WATCH_CHECKS])
{
    struct watch *watch = app->watch;
    for (size_t i = 0; i < WATCH_CHECKS; i++)
        out[i] = all_is_well(i);
    if (watch == NULL)
        return;
    pthread_mutex_lock(&watch->lock);
    memcpy(out, watch->findings, sizeof watch->findings);
    int64_t silent_ms = app->monotonic_ms() - watch->looked_ms;
    pthread_mutex_unlock(&watch->lock);
    struct watch_finding *looks = &out[WATCH_CHECKS - 1];
    int64_t               looked_ms = clock_ms(CLOCK_REALTIME) - silent_ms;
    looks->is_good = silent_ms <= LATE_MS + app->options.stuck_ms;
    looks->since_ms = looks->is_good ? out[0].since_ms : looked_ms;
    if (!looks->is_good)
        snprintf(looks->detail, sizeof looks->detail, "nobody could look for %lld ms: perhaps the disk does not answer",
                 (long long)silent_ms);
}

bool watch_is_lost(struct app *app)
{
    struct watch *watch = app->watch;
    if (watch == NULL)
        return false;
    pthread_mutex_lock(&watch->lock);
    bool is_lost = watch->silent_ms > LOST_TIMES * app->options.stuck_ms;
    pthread_mutex_unlock(&watch->lock);
    return is_lost;
}

void watch_see(struct app *app, struct watch_sight *out)
{
    struct watch *watch = app->watch;
    *out = (struct watch_sight){.disk = {NAN, NAN, NAN}, .backup_seconds = NAN};
    if (watch == NULL)
        return;
    pthread_mutex_lock(&watch->lock);
    *out = watch->sight;
    pthread_mutex_unlock(&watch->lock);
}
