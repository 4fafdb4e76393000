/* See quota.h. */
#include "service/app/quota.h"

#include "service/base/text.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256, DAY_MS = 86400000, NOTE_MS = 60000, TRIAL_BYTES = 1000 };

struct quota {
    char            project[24];
    pthread_mutex_t lock; /* of all below */
    struct limits   limits;
    double          left; /* in the bucket */
    int64_t         filled_ms, day, computed_us, noted_us;
    int64_t         kept_day, kept_bytes, kept_before; /* of replies for repeats, on that day and the one before */
    _Atomic int64_t body_bytes;                        /* under no lock */
    struct quota   *next;                              /* under the lock of the quotas */
};
struct quotas {
    pthread_mutex_t lock;
    struct quota   *buckets[BUCKETS];
    int64_t         noted_ms;
    struct kept {
        char   token[16];
        size_t bytes;
    } kept[BUCKETS]; /* of a token whose hash comes there; what it keeps is not known of any other */
};

struct quotas *quotas_new(void)
{
    struct quotas *quotas = calloc(1, sizeof *quotas);
    if (quotas != NULL)
        pthread_mutex_init(&quotas->lock, NULL);
    return quotas;
}

void quotas_free(struct quotas *quotas)
{
    for (size_t i = 0; quotas != NULL && i < BUCKETS; i++)
        for (struct quota *quota = quotas->buckets[i], *next; quota != NULL; quota = next) {
            next = quota->next;
            pthread_mutex_destroy(&quota->lock);
            free(quota);
        }
    if (quotas != NULL)
        pthread_mutex_destroy(&quotas->lock);
    free(quotas);
}

/* ---- what is limited ---- */

/* Bounds the bucket.  The lock is held. */
static double burst_of(const struct quota *quota)
{
    const struct limits *limits = &quota->limits;
    return fmax(1, isnan(limits->burst) ? 2 * limits->requests_a_second : limits->burst);
}

static int64_t today(const struct app *app)
{
    return app->now_ms() / DAY_MS;
}

/* Forgets the seconds of another day.  The lock is held. */
static void turn_day(struct quota *quota, int64_t day)
{
    if (quota->day == day)
        return;
    quota->day = day;
    quota->computed_us = 0;
    quota->noted_us = -1;
}

/* The lock is held. */
static void turn_kept(struct quota *quota, int64_t day)
{
    if (quota->kept_day == day)
        return;
    quota->kept_before = quota->kept_day == day - 1 ? quota->kept_bytes : 0;
    quota->kept_bytes = 0;
    quota->kept_day = day;
}

bool quota_is_to_trim(const struct app *app, const struct caller *caller, size_t bytes)
{
    struct quotas *quotas = app->quotas;
    pthread_mutex_lock(&quotas->lock);
    const struct kept *kept = &quotas->kept[text_hash(caller->token_id) % BUCKETS];
    bool is_known = strcmp(kept->token, caller->token_id) == 0, is_much = kept->bytes + bytes > QUOTA_KEPT_BYTES;
    pthread_mutex_unlock(&quotas->lock);
    return !is_known || is_much;
}

/* How many bytes were known to be kept and are not any more. */
static size_t note_kept(struct quotas *quotas, const char *token, size_t bytes, bool is_trimmed)
{
    pthread_mutex_lock(&quotas->lock);
    struct kept *kept = &quotas->kept[text_hash(token) % BUCKETS];
    bool         is_known = strcmp(kept->token, token) == 0;
    size_t       before = is_known ? kept->bytes : 0, most = QUOTA_KEPT_BYTES / 2;
    size_t       freed = is_trimmed && before > most ? before - most : 0;
    kept->bytes = (is_known ? before - freed : most) + bytes;
    snprintf(kept->token, sizeof kept->token, "%s", token);
    pthread_mutex_unlock(&quotas->lock);
    return freed;
}

void quota_keep(const struct app *app, const struct caller *caller, size_t bytes, bool is_trimmed)
{
    struct quota *quota = caller->quota;
    int64_t       freed = (int64_t)note_kept(app->quotas, caller->token_id, bytes, is_trimmed);
    if (quota == NULL)
        return;
    pthread_mutex_lock(&quota->lock);
    turn_kept(quota, today(app));
    int64_t of_before = freed < quota->kept_before ? freed : quota->kept_before; // the oldest go first
    quota->kept_before -= of_before;
    quota->kept_bytes = (int64_t)fmax(0, (double)(quota->kept_bytes - freed + of_before)) + (int64_t)bytes;
    pthread_mutex_unlock(&quota->lock);
}

int64_t quota_hold_bodies(struct quota *quota, int64_t bytes)
{
    return quota == NULL ? 0 : atomic_fetch_add(&quota->body_bytes, bytes) + bytes;
}

static struct quota *quota_new(const struct app *app, const struct row_project *row)
{
    struct quota *quota = calloc(1, sizeof *quota);
    if (quota == NULL)
        return NULL;
    pthread_mutex_init(&quota->lock, NULL);
    snprintf(quota->project, sizeof quota->project, "%s", row->id);
    quota->left = -1; // full, once the limit is known
    quota->filled_ms = app->monotonic_ms();
    quota->day = row->used_day;
    quota->computed_us = quota->noted_us = 1000 * row->used_cpu_ms;
    return quota;
}

static struct quota *find(struct quotas *quotas, const char *project)
{
    struct quota *quota = quotas->buckets[text_hash(project) % BUCKETS];
    while (quota != NULL && strcmp(quota->project, project) != 0)
        quota = quota->next;
    return quota;
}

struct quota *quota_learn(struct app *app, const struct row_project *row)
{
    struct quotas *quotas = app->quotas;
    pthread_mutex_lock(&quotas->lock);
    struct quota *quota = find(quotas, row->id);
    if (quota == NULL && (quota = quota_new(app, row)) != NULL) {
        quota->next = quotas->buckets[text_hash(row->id) % BUCKETS];
        quotas->buckets[text_hash(row->id) % BUCKETS] = quota;
    }
    pthread_mutex_unlock(&quotas->lock);
    if (quota == NULL)
        return NULL;
    pthread_mutex_lock(&quota->lock);
#define TAKE_LIMIT(column, ...) quota->limits.column = row->column;
    PROJECT_LIMITS(TAKE_LIMIT)
#undef TAKE_LIMIT
    double burst = burst_of(quota);
    if (quota->left < 0 || quota->left > burst)
        quota->left = burst;
    pthread_mutex_unlock(&quota->lock);
    return quota;
}

int64_t quota_computed_ms(struct app *app, const struct row_project *row)
{
    int64_t us = row->used_day == today(app) ? 1000 * row->used_cpu_ms : 0;
    pthread_mutex_lock(&app->quotas->lock);
    struct quota *quota = find(app->quotas, row->id);
    pthread_mutex_unlock(&app->quotas->lock);
    if (quota != NULL) {
        pthread_mutex_lock(&quota->lock);
        turn_day(quota, today(app));
        us = quota->computed_us;
        pthread_mutex_unlock(&quota->lock);
    }
    return us / 1000;
}

/* ---- requests ---- */

/* The lock is held. */
static void fill(const struct app *app, struct quota *quota)
{
    int64_t now_ms = app->monotonic_ms();
    double  more = quota->limits.requests_a_second * (double)(now_ms - quota->filled_ms) / 1000;
    quota->left = fmin(burst_of(quota), quota->left + fmax(0, more));
    quota->filled_ms = now_ms;
}

enum status quota_take(struct app *app, struct caller *caller, struct error *err)
{
    struct quota *quota = caller->quota;
    double        wait = 0;
    if (quota == NULL)
        return STATUS_OK;
    pthread_mutex_lock(&quota->lock);
    turn_kept(quota, today(app));
    if (!isnan(quota->limits.requests_a_second)) {
        fill(app, quota);
        if (quota->left >= 1)
            quota->left -= 1;
        else
            wait = (1 - quota->left) / quota->limits.requests_a_second;
    }
    pthread_mutex_unlock(&quota->lock);
    if (wait == 0)
        return STATUS_OK;
    (void)error_set(err, STATUS_BUSY, "rate_limited", "", "the project sends more requests than it may");
    err->retry_after_seconds = (int)fmin(3600, ceil(wait));
    return err->status;
}

/* ---- computations ---- */

static int seconds_left(const struct app *app)
{
    return (int)((DAY_MS - app->now_ms() % DAY_MS + 999) / 1000);
}

enum status quota_compute(const struct app *app, const struct caller *caller, struct error *err)
{
    struct quota *quota = caller->quota;
    if (quota == NULL)
        return STATUS_OK;
    pthread_mutex_lock(&quota->lock);
    turn_day(quota, today(app));
    bool is_spent = (double)quota->computed_us >= 1e6 * quota->limits.cpu_seconds_a_day; // NaN: never
    pthread_mutex_unlock(&quota->lock);
    if (!is_spent)
        return STATUS_OK;
    (void)error_set(err, STATUS_BUSY, "cpu_exhausted", "", "the project has computed as much as it may on one day");
    err->retry_after_seconds = seconds_left(app);
    return err->status;
}

void quota_charge(const struct app *app, const struct caller *caller, int64_t us)
{
    struct quota *quota = caller->quota;
    if (quota == NULL)
        return;
    pthread_mutex_lock(&quota->lock);
    turn_day(quota, today(app));
    quota->computed_us += us;
    pthread_mutex_unlock(&quota->lock);
}

/* ---- what is stored ---- */

/* Nothing is read for a project without limits on stored things. */
static bool is_stored_limited(const struct caller *caller, struct limits *limits)
{
    if (caller->quota == NULL)
        return false;
    pthread_mutex_lock(&caller->quota->lock);
    *limits = caller->quota->limits;
    pthread_mutex_unlock(&caller->quota->lock);
    return !isnan(limits->trials) || !isnan(limits->bytes) || !isnan(limits->studies);
}

static enum status read_mark(struct db_conn *conn, const struct caller *caller, struct quota_mark *mark,
                             struct error *err)
{
    struct db_rows rows = db_query(conn, NULL, err, SQL_PROJECT_USED, BIND(TEXT(caller->quota->project)));
    pthread_mutex_lock(&caller->quota->lock);
    int64_t kept = caller->quota->kept_bytes + caller->quota->kept_before;
    pthread_mutex_unlock(&caller->quota->lock);
    while (db_next(&rows)) {
        const struct row_used *row = row_used(&rows);
        *mark = (struct quota_mark){.trials = (double)row->used_trials,
                                    .bytes = (double)(row->used_extra + TRIAL_BYTES * row->used_trials + kept),
                                    .studies = (double)row->used_studies};
    }
    return db_done(&rows);
}

enum status quota_begin(struct db_conn *conn, const struct caller *caller, struct quota_mark *mark, struct error *err)
{
    struct limits limits;
    *mark = (struct quota_mark){0};
    return is_stored_limited(caller, &limits) ? read_mark(conn, caller, mark, err) : STATUS_OK;
}

static enum status exceeded(const char *what, double limit, struct error *err)
{
    return error_set(err, STATUS_FORBIDDEN, "quota_exceeded", "", "the project would have more than its %.0f %s", limit,
                     what);
}

enum status quota_end(struct db_conn *conn, const struct caller *caller, const struct quota_mark *mark,
                      struct error *err)
{
    struct limits     limits;
    struct quota_mark now = {0};
    if (!is_stored_limited(caller, &limits))
        return STATUS_OK;
    TRY(read_mark(conn, caller, &now, err));
    if (now.trials > limits.trials && now.trials > mark->trials)
        return exceeded("trials", limits.trials, err);
    if (now.studies > limits.studies && now.studies > mark->studies)
        return exceeded("studies", limits.studies, err);
    if (now.bytes > limits.bytes && now.bytes > mark->bytes)
        return exceeded("bytes", limits.bytes, err);
    return STATUS_OK;
}

enum status quota_has_room(struct db_conn *conn, const struct caller *caller, double bytes, struct error *err)
{
    struct limits     limits;
    struct quota_mark now = {0};
    if (bytes <= 0 || !is_stored_limited(caller, &limits))
        return STATUS_OK;
    TRY(read_mark(conn, caller, &now, err));
    return now.bytes + bytes > limits.bytes ? exceeded("bytes", limits.bytes, err) : STATUS_OK;
}

/* ---- the store ---- */

/* Takes the milliseconds to be written, if there are any; they count as written from then on. */
static bool take_news(struct quota *quota, int64_t *day, int64_t *ms)
{
    pthread_mutex_lock(&quota->lock);
    *day = quota->day;
    *ms = (quota->computed_us - (quota->noted_us > 0 ? quota->noted_us : 0)) / 1000;
    bool is_new = quota->noted_us < 0 || *ms > 0;
    quota->noted_us = (quota->noted_us > 0 ? quota->noted_us : 0) + 1000 * *ms;
    pthread_mutex_unlock(&quota->lock);
    return is_new;
}

/* Records are never freed while the process serves, so the list may be gone along without its lock. */
enum status quota_note(struct app *app, struct db_conn *conn, bool at_once, struct error *err)
{
    struct quotas *quotas = app->quotas;
    int64_t        now_ms = app->monotonic_ms(), day, ms;
    if (!at_once && now_ms - quotas->noted_ms < NOTE_MS)
        return STATUS_OK;
    quotas->noted_ms = now_ms;
    for (size_t i = 0; i < BUCKETS; i++) {
        pthread_mutex_lock(&quotas->lock);
        struct quota *quota = quotas->buckets[i];
        pthread_mutex_unlock(&quotas->lock);
        for (; quota != NULL; quota = quota->next)
            if (take_news(quota, &day, &ms))
                TRY(db_exec(conn, NULL, err, SQL_PROJECT_COMPUTED, BIND(TEXT(quota->project), INT(day), INT(ms))));
    }
    return STATUS_OK;
}

/* ---- headers ---- */

void quota_show(const struct app *app, const struct caller *caller, struct quota_headers *out)
{
    struct quota *quota = caller->quota;
    size_t        policy = 0, state = 0;
    *out = (struct quota_headers){.policy = ""};
    if (quota == NULL)
        return;
    pthread_mutex_lock(&quota->lock);
    const struct limits *limits = &quota->limits;
    if (!isnan(limits->requests_a_second)) {
        fill(app, quota);
        double burst = burst_of(quota), rate = limits->requests_a_second;
        policy =
            (size_t)snprintf(out->policy, sizeof out->policy, "\"requests\";q=%.0f;w=%.0f", burst, ceil(burst / rate));
        state = (size_t)snprintf(out->state, sizeof out->state, "\"requests\";r=%.0f;t=%.0f", floor(quota->left),
                                 ceil((burst - quota->left) / rate));
    }
    if (!isnan(limits->cpu_seconds_a_day)) {
        const char *comma = policy > 0 ? ", " : "";
        turn_day(quota, today(app));
        double left = fmax(0, limits->cpu_seconds_a_day - (double)quota->computed_us / 1e6);
        (void)snprintf(out->policy + policy, sizeof out->policy - policy, "%s\"cpu\";q=%.0f;qu=\"cpu-seconds\";w=86400",
                       comma, limits->cpu_seconds_a_day);
        (void)snprintf(out->state + state, sizeof out->state - state, "%s\"cpu\";r=%.0f;t=%d", comma, floor(left),
                       seconds_left(app));
    }
    pthread_mutex_unlock(&quota->lock);
}
