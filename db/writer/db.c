/* The store: one writer thread with group commit, a few read-only connections.
 *
 * Invariants:
 *  1. The writer thread alone uses the read-write connection.
 *  2. A job is reported done only after the COMMIT that holds it returned, or after its own work was rolled back.
 *  3. When a batch cannot be committed, every job of it fails; nothing of it was acknowledged. */
#include "db/writer/chain.h"
#include "db/writer/conn.h"
#include "db/damaged.h"
#include "db/folder.h"
#include "db/moment.h"
#include "db/writer/pool.h"
#include "db/writer/queue.h"
#include "db/writer/telling.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    QUEUE_MAX = 4096,
    IDLE_SECONDS = 1,
    QUIET_SECONDS = 60,
    SCRUB_MS = 50,
    UPKEEP_JOBS = 500,
    JOURNAL_BYTES = 4 << 20,
    RENEW_BYTES = 32 << 20,
    TRIM_PAGES = 256,
    TIDY_SECONDS = 600,
    BEAT_MS = 200,
    FRESH_MS = 500,
    WAIT_MS = 500,
    EXIT_WITNESS = 70
};

struct db {
    const struct driver *driver;
    void (*log)(const char *what, const struct error *why);
    int              claim; /* of the folder; -1: none */
    struct db_schema schema;
    struct db_conn   writer;
    struct pool      readers;
    pthread_mutex_t  mutex;
    pthread_cond_t   work;
    struct queue     queue; /* under mutex */
    bool             stopping;
    pthread_t        thread;
    struct db_stats  stats;    /* under mutex */
    double           alive_at; /* when the writer last showed that it lives; 0: it is idle.  Under mutex */
    db_upkeep_fn     upkeep;
    void            *upkeep_arg;
    void (*on_commit)(void *arg); /* called under mutex */
    void          *on_commit_arg;
    double         upkeep_at;   /* when upkeep ran last, or later: when the first job after it was through */
    size_t         upkeep_jobs; /* jobs since then */
    bool           upkeep_more;
    int64_t        journal_bytes; /* of the writer thread, as the next two */
    double         checkpoint_at, scrub_from;
    bool           is_to_scrub;
    bool           is_to_renew, is_to_tidy; /* under mutex */
    double         renewed_at, renewal_seconds;
    struct telling checkpoint_told, upkeep_told, renewal_told, trim_told;
    struct telling damage_told; /* under mutex */
    struct damaged damaged;
    struct witness witness; /* what is witnessed; of the writer thread, as the next */
    char           store[WITNESS_STORE_BYTES];
    int64_t        counter;
    char          *folder;
    bool           is_hasty, is_rolled_back;
    _Atomic double known_at; /* the store was this server's then; of a driver that beats */
};

/* ---- damaged rows ---- */

void db_note_damaged(struct db *db, const char *owner)
{
    struct error why;
    bool         is_new = damaged_add(&db->damaged, owner);
    error_set(&why, STATUS_CONFLICT, "store_corrupt", "", "rows of %s are not what was written", owner);
    if (is_new && db->log != NULL)
        db->log("rows", &why);
}

bool db_is_damaged(struct db *db, const char *owner)
{
    return damaged_has(&db->damaged, owner);
}

/* Remembers the damage that a connection met. */
static void note_met(struct db *db, struct db_conn *conn)
{
    if (conn->damaged[0] != '\0')
        db_note_damaged(db, conn->damaged);
    conn->damaged[0] = '\0';
}

/* ---- the writer ---- */

/* A job that cannot be undone alone takes the batch with it (*is_lost): half of its work must not be committed.  One that is alone
 * has no savepoint, under which SQLite goes through all pages written so far at the end of each statement. */
static enum status run_one(struct db_conn *conn, struct job *job, bool is_alone, bool *is_lost, struct error *err)
{
    const struct total     before = conn->total;
    const struct chain_end log = conn->log;
    if (is_alone)
        return job->of->fn(conn, job->of->arg, err);
    TRY(conn->driver->savepoint(conn->handle, SAVEPOINT_SET, err));
    conn->of_job = arena_mark(&conn->lines); // if it is undone the last line of those before it still waits
    enum status status = job->of->fn(conn, job->of->arg, err);
    if (status == STATUS_OK)
        status = conn->driver->savepoint(conn->handle, SAVEPOINT_KEEP, err);
    if (status == STATUS_OK || !conn->driver->in_transaction(conn->handle))
        return status;
    enum status undone =
        conn->driver->savepoint(conn->handle, SAVEPOINT_UNDO, err); // err: the job's own, unless this fails too
    conn->total = before;
    conn->log = log;
    *is_lost = undone != STATUS_OK;
    return *is_lost ? undone : status;
}

static enum status witness(struct db *db, int64_t counter, struct error *err)
{
    db->witness.counter = counter;
    memcpy(db->witness.store, db->store, sizeof db->store);
    return witness_write(db->folder, &db->witness, db->is_hasty, err);
}

static enum status begin(struct db *db, struct error *err)
{
    TRY(db->driver->begin(db->writer.handle, DRIVER_READ_WRITE, err));
    return chain_begin(&db->writer, err);
}

static void count_sync(struct db *db, double took_seconds)
{
    int64_t us = (int64_t)(1e6 * took_seconds);
    size_t  bound = 0;
    while (bound < DB_TIMES && us > db_times_us[bound])
        bound++;
    pthread_mutex_lock(&db->mutex);
    db->stats.synced[bound]++;
    db->stats.synced_us += (uint64_t)us;
    pthread_mutex_unlock(&db->mutex);
}

/* Commits that must not be forgotten are witnessed after they are in the store and before they are answered; the next start
 * catches up on a commit that was cut off between the two.  A store that was rolled back stays behind its witness. */
static enum status commit(struct db *db, struct error *err)
{
    struct witness own;
    struct error   why;
    TRY(conn_witness(&db->writer, &own, err));
    TRY(chain_seal(&db->writer, err));
    double start = moment_seconds();
    TRY(db->driver->commit(db->writer.handle, err));
    count_sync(db, moment_seconds() - start);
    atomic_store(&db->known_at, start);
    if (own.counter == db->counter)
        return STATUS_OK;
    db->counter = own.counter;
    if (witness(db, own.counter > db->witness.counter ? own.counter : db->witness.counter + 1, &why) == STATUS_OK)
        return STATUS_OK;
    fprintf(stderr, "gnomon: %s; stopping\n", why.text);
    _exit(EXIT_WITNESS);
}

/* Adds jobs that came while the transaction began: they do not make the commit longer. */
static void take_more(struct db *db, struct job *jobs)
{
    pthread_mutex_lock(&db->mutex);
    queue_take(&db->queue, jobs, db->stopping);
    pthread_mutex_unlock(&db->mutex);
}

/* Runs the jobs of a batch in one transaction.  On a failure of the whole, every job gets it. */
static enum status run_batch(struct db *db, struct job *jobs, struct error *err)
{
    struct db_conn *conn = &db->writer;
    conn_roll_back(conn); // a roll-back that failed before is tried again
    TRY(begin(db, err));
    take_more(db, jobs);
    for (struct job *job = jobs; job != NULL; job = job->next) {
        struct error own = {.status = STATUS_OK};
        bool         is_lost = false;
        job->of->status = run_one(conn, job, jobs->next == NULL, &is_lost, &own);
        note_met(db, conn);
        if (job->of->status != STATUS_OK && job->of->err != NULL)
            *job->of->err = own;
        if (jobs->next == NULL && job->of->status != STATUS_OK)
            return conn_roll_back(conn), STATUS_OK;
        if (is_lost || !conn->driver->in_transaction(conn->handle)) { // or the database gave it up by itself
            *err = own;
            return job->of->status == STATUS_OK ? STATUS_INTERNAL : job->of->status;
        }
    }
    enum status status = commit(db, err);
    if (status != STATUS_CONFLICT || jobs->next != NULL)
        return status;
    note_met(db, conn);
    jobs->of->status = status; // what was put off until the commit, of the only job
    if (jobs->of->err != NULL)
        *jobs->of->err = *err;
    return conn_roll_back(conn), STATUS_OK;
}

static void fail_all(struct db_conn *conn, struct job *jobs, enum status status, const struct error *why)
{
    conn_roll_back(conn);
    for (struct job *job = jobs; job != NULL; job = job->next) {
        job->of->status = status;
        if (job->of->err != NULL)
            *job->of->err = *why;
    }
}

/* Under mutex, as the next. */
static void show_life(struct db *db)
{
    db->alive_at = moment_seconds();
}

static void note_commit(struct db *db, enum status status, const struct error *err)
{
    snprintf(db->stats.refused, sizeof db->stats.refused, "%s", status == STATUS_OK ? "" : err->code);
}

/* Notes a damaged store.  It does not heal: the process is of no use until a backup is restored. */
static enum status note_damage(struct db *db, enum status status, const struct error *err)
{
    if (status != STATUS_INTERNAL || err == NULL || strcmp(err->code, "store_corrupt") != 0)
        return status;
    pthread_mutex_lock(&db->mutex);
    telling_say(db->log, &db->damage_told, "read", err);
    db->stats.is_damaged = true;
    pthread_mutex_unlock(&db->mutex);
    return status;
}

/* Moves the journal into the database.  Without the mutex: it may be long, and nobody is to wait for that. */
static void checkpoint(struct db *db, bool truncate)
{
    struct error err;
    pthread_mutex_unlock(&db->mutex);
    bool is_good = db->driver->checkpoint(db->writer.handle, truncate, &db->journal_bytes, &err) == STATUS_OK;
    telling_say(db->log, &db->checkpoint_told, "checkpoint", is_good ? NULL : &err);
    db->checkpoint_at = moment_seconds();
    pthread_mutex_lock(&db->mutex);
    show_life(db);
    db->stats.wal_bytes = db->journal_bytes;
    db->stats.is_failing = !is_good;
    db->stats.checkpoint_failures += !is_good;
}

/* Empties the journal after db_scrub; readers that were there first delay it. */
static void scrub(struct db *db)
{
    if (!db->is_to_scrub || moment_seconds() < db->scrub_from)
        return;
    checkpoint(db, true);
    db->is_to_scrub = db->journal_bytes > 0;
    db->scrub_from = moment_seconds() + 1e-3 * SCRUB_MS;
}

/* SQLite leaves deleted rows in pages shared with others until all is written anew.  Everyone waits for that, so a store
 * that is not small is left to gnomon compact, and it takes a twentieth of the time at most. */
static bool is_renewal_due(const struct db *db, double now)
{
    double since = now - db->renewed_at;
    return (db->is_to_renew && since >= 19 * db->renewal_seconds) || (db->is_to_tidy && since >= TIDY_SECONDS);
}

static void renew(struct db *db)
{
    struct error err;
    double       start = moment_seconds();
    if (!is_renewal_due(db, start))
        return;
    db->is_to_renew = db->is_to_tidy = false;
    pthread_mutex_unlock(&db->mutex);
    conn_roll_back(&db->writer);
    bool is_good = db->driver->renew(db->writer.handle, RENEW_BYTES, &err) == STATUS_OK;
    telling_say(db->log, &db->renewal_told, "renewal", is_good ? NULL : &err);
    db->renewed_at = moment_seconds();
    db->renewal_seconds = db->renewed_at - start;
    pthread_mutex_lock(&db->mutex);
    show_life(db);
}

static bool is_journal_open(const struct db *db)
{
    return db->journal_bytes > 0 || db->stats.is_failing;
}

/* A long journal is emptied after each commit, as far as readers let it; after a failure once a second is enough. */
static bool is_checkpoint_due(const struct db *db)
{
    bool is_early = db->stats.is_failing && moment_seconds() - db->checkpoint_at < IDLE_SECONDS;
    return db->journal_bytes >= JOURNAL_BYTES && !is_early;
}

static enum status trim_once(struct db *db, bool *more, struct error *err)
{
    TRY(begin(db, err));
    TRY(db->driver->trim(db->writer.handle, TRIM_PAGES, more, err));
    return commit(db, err);
}

/* The room of what was deleted goes back to the system, in pieces, until somebody has something to write: he waits for one.
 * The file becomes shorter when the journal is moved into it. */
static void trim(struct db *db)
{
    struct error err;
    bool         more = db->driver->trim != NULL;
    while (more && db->queue.first == NULL && !db->stopping) {
        pthread_mutex_unlock(&db->mutex);
        conn_roll_back(&db->writer);
        bool is_good = trim_once(db, &more, &err) == STATUS_OK;
        conn_roll_back(&db->writer);
        more = more && is_good;
        telling_say(db->log, &db->trim_told, "trim", is_good ? NULL : &err);
        pthread_mutex_lock(&db->mutex);
        show_life(db);
        if (is_checkpoint_due(db))
            checkpoint(db, false);
    }
}

static enum status upkeep_once(struct db *db, db_upkeep_fn fn, void *arg, bool was_busy, bool *more, struct error *err)
{
    TRY(begin(db, err));
    TRY(fn(&db->writer, arg, was_busy, more, err));
    return commit(db, err);
}

/* Without the mutex, too.  What fails is tried again the next time; what it was for can wait. */
static void keep_up(struct db *db)
{
    struct error err;
    db_upkeep_fn fn = db->upkeep;
    void        *arg = db->upkeep_arg;
    bool         was_busy = db->upkeep_jobs > 0, more = false;
    if (fn == NULL)
        return;
    pthread_mutex_unlock(&db->mutex);
    conn_roll_back(&db->writer);
    bool is_good = upkeep_once(db, fn, arg, was_busy, &more, &err) == STATUS_OK;
    conn_roll_back(&db->writer);
    telling_say(db->log, &db->upkeep_told, "upkeep", is_good ? NULL : &err);
    double now = moment_seconds();
    pthread_mutex_lock(&db->mutex);
    show_life(db);
    db->upkeep_at = now;
    db->stats.wal_bytes = db->journal_bytes;
    db->upkeep_jobs = is_good ? 0 : db->upkeep_jobs;
    db->upkeep_more = is_good && more;
}

/* Writes nothing, after a failed write: callers that ask whether there is room again may have nothing to write. */
static enum status write_once(struct db *db, struct error *err)
{
    TRY(begin(db, err));
    TRY(conn_execute(&db->writer, "UPDATE witness SET counter = counter WHERE id = 1", err));
    return commit(db, err);
}

static void try_to_write(struct db *db)
{
    struct error err;
    if (db->stats.refused[0] == '\0')
        return;
    pthread_mutex_unlock(&db->mutex);
    conn_roll_back(&db->writer);
    enum status status = write_once(db, &err);
    conn_roll_back(&db->writer);
    pthread_mutex_lock(&db->mutex);
    show_life(db);
    note_commit(db, status, &err);
}

static bool is_upkeep_due(const struct db *db)
{
    return db->upkeep_jobs >= UPKEEP_JOBS || (db->upkeep_jobs > 0 && moment_seconds() - db->upkeep_at >= IDLE_SECONDS);
}

/* Called with the mutex, which it gives up meanwhile. */
static void beat(struct db *db)
{
    struct error err;
    double       asked_at = moment_seconds();
    pthread_mutex_unlock(&db->mutex);
    if (db->driver->beat(db->writer.handle, &err) == STATUS_OK)
        atomic_store(&db->known_at, asked_at);
    pthread_mutex_lock(&db->mutex);
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* Waits for jobs.  ETIMEDOUT: none came until then. */
static int wait_until(struct db *db, const struct timespec *until)
{
    bool beats = true;
    int  result = 0;
    while (beats && result == 0) {
        struct timespec next = moment_after_ms(BEAT_MS);
        beats = db->driver->beat != NULL && is_before(&next, until);
        db->alive_at = 0;
        result = pthread_cond_timedwait(&db->work, &db->mutex, beats ? &next : until);
        show_life(db);
        if (!beats || result != ETIMEDOUT)
            return result;
        beat(db);
        result = db->queue.first != NULL || db->stopping || db->is_to_scrub ? EINTR : 0;
    }
    return result;
}

static struct timespec next_look(const struct db *db)
{
    bool   is_soon = is_journal_open(db) || db->upkeep_jobs > 0 || db->is_to_renew || db->stats.refused[0] != '\0';
    double rest_ms = 1e3 * (db->queue.large_at - moment_seconds()) + 1;
    if (db->queue.first != NULL) // large jobs rest
        return moment_after_ms(rest_ms > 1 ? (long)rest_ms : 1);
    long wait_ms = db->is_to_scrub ? SCRUB_MS : is_soon ? IDLE_SECONDS * 1000L : QUIET_SECONDS * 1000L;
    return moment_after_ms(wait_ms);
}

/* Waits for work; false: stopping and nothing is left.  An idle second is used for upkeep and to shorten the journal. */
static bool wait_for_work(struct db *db)
{
    static void (*const of_idleness[])(struct db *) = {try_to_write, keep_up, renew, trim};
    for (scrub(db); queue_next(&db->queue, db->stopping) == NULL && !db->stopping; scrub(db)) {
        struct timespec until = next_look(db);
        bool            is_resting = db->queue.first != NULL;
        if (((is_resting || !db->upkeep_more) && wait_until(db, &until) != ETIMEDOUT) || db->is_to_scrub)
            continue;
        for (size_t i = 0; i < 4 && db->queue.first == NULL && (i < 2 || !db->upkeep_more); i++)
            of_idleness[i](db);
        bool is_idle = db->queue.first == NULL && !db->upkeep_more;
        if ((is_idle && is_journal_open(db)) || is_checkpoint_due(db))
            checkpoint(db, is_idle);
    }
    return db->queue.first != NULL;
}

static void answer(struct db *db, struct job *jobs, double commit_seconds)
{
    db->stats.commits++;
    db->stats.commit_seconds += commit_seconds;
    bool is_written = false;
    for (struct job *job = jobs, *next; job != NULL; job = next) {
        next = job->next; // the job is its caller's again once it is done
        is_written |= job->of->status == STATUS_OK;
        db->stats.transactions++;
        if (db->upkeep_jobs++ == 0)
            db->upkeep_at = moment_seconds();
        sem_post(&job->done);
    }
    if (is_written && db->on_commit != NULL)
        db->on_commit(db->on_commit_arg);
}

static void *writer_main(void *arg)
{
    struct db *db = arg;
    pthread_mutex_lock(&db->mutex);
    show_life(db);
    checkpoint(db, true); // of what another process left
    while (wait_for_work(db)) {
        struct job *jobs = queue_take(&db->queue, NULL, db->stopping);
        pthread_mutex_unlock(&db->mutex);
        struct error err = {.status = STATUS_OK};
        double       start = moment_seconds();
        enum status  status = run_batch(db, jobs, &err);
        if (status != STATUS_OK)
            fail_all(&db->writer, jobs, status, &err);
        double spent = moment_seconds() - start;
        pthread_mutex_lock(&db->mutex);
        show_life(db);
        if (status != STATUS_OK)
            note_commit(db, status, &err);
        db->stats.wal_bytes = db->journal_bytes;
        queue_charge(&db->queue, jobs, spent);
        answer(db, jobs, spent);
        if (status == STATUS_OK)
            try_to_write(db);
        if (is_upkeep_due(db))
            keep_up(db);
        if (is_checkpoint_due(db))
            checkpoint(db, false);
    }
    db->renewed_at = -TIDY_SECONDS; // a renewal that is due sometime is due now
    db->renewal_seconds = 0;
    renew(db);
    pthread_mutex_unlock(&db->mutex);
    return NULL;
}

/* Queues jobs in their order; false: there is no room. */
static bool enqueue(struct db *db, struct job *jobs, size_t len)
{
    pthread_mutex_lock(&db->mutex);
    bool may = !db->stopping && db->queue.len < QUEUE_MAX;
    if (may)
        queue_add(&db->queue, jobs, len);
    if (may && db->alive_at == 0)
        show_life(db); // from now on it is waited for
    pthread_cond_signal(&db->work);
    pthread_mutex_unlock(&db->mutex);
    return may;
}

void db_transact_all(struct db *db, struct db_transaction *all, size_t len)
{
    struct job jobs[DB_TOGETHER_MAX] = {{.of = NULL}};
    assert(len <= DB_TOGETHER_MAX);
    for (size_t i = 0; i < len; i++) {
        jobs[i].of = &all[i];
        sem_init(&jobs[i].done, 0, 0);
    }
    bool may = enqueue(db, jobs, len);
    for (size_t i = 0; i < len; i++) {
        while (may && sem_wait(&jobs[i].done) != 0) // EINTR
            ;
        sem_destroy(&jobs[i].done);
        all[i].status = may ? note_damage(db, all[i].status, all[i].err)
                            : error_set(all[i].err, STATUS_BUSY, "busy", "", "the store has too much to write");
    }
}

void db_scrub(struct db *db)
{
    pthread_mutex_lock(&db->mutex);
    db->is_to_scrub = true;
    db->scrub_from = 0;
    pthread_cond_signal(&db->work);
    pthread_mutex_unlock(&db->mutex);
}

void db_erase(struct db *db)
{
    pthread_mutex_lock(&db->mutex);
    db->is_to_renew = true;
    pthread_mutex_unlock(&db->mutex);
    db_scrub(db);
}

void db_tidy(struct db *db)
{
    pthread_mutex_lock(&db->mutex);
    db->is_to_tidy = true;
    pthread_mutex_unlock(&db->mutex);
}

/* ---- readers ---- */

enum status db_read(struct db *db, db_fn fn, void *arg, struct error *err)
{
    struct db_conn *conn = pool_take(&db->readers);
    enum status     status = conn_read(conn, fn, arg, err);
    note_met(db, conn);
    pool_give(&db->readers, conn);
    return note_damage(db, status, err);
}

bool db_is_fresh(struct db *db)
{
    return db->driver->beat == NULL || moment_seconds() - atomic_load(&db->known_at) < 1e-3 * FRESH_MS;
}

/* ---- opening ---- */

/* Checks that the store is the witnessed one, and has come as far.  A store that has counted nothing is witnessed anew. */
static enum status compare_witness(struct db *db, struct error *err)
{
    struct witness own;
    TRY(conn_witness(&db->writer, &own, err));
    TRY(witness_read(db->folder, &db->witness, err));
    memcpy(db->store, own.store, sizeof own.store);
    db->counter = own.counter;
    db->is_rolled_back = witness_is_ahead(&db->witness, &own, db->driver->beat != NULL);
    if (db->is_rolled_back && db->witness.counter <= own.counter)
        db->witness.counter = own.counter + 1;
    bool is_same = db->witness.counter == own.counter && db->witness.store[0] != '\0';
    return db->is_rolled_back || is_same ? STATUS_OK : witness(db, own.counter, err);
}

/* Seals the lines that an earlier program left. */
static enum status seal(struct db *db, struct error *err)
{
    struct chain_state state;
    TRY(db->driver->guard(db->writer.handle, &db->writer.total, db->writer.damaged, err));
    TRY(begin(db, err));
    TRY(chain_read(&db->writer, &state, err));
    TRY(chain_check_total(&db->writer, &state, err));
    TRY(chain_seal(&db->writer, err));
    return db->driver->commit(db->writer.handle, err);
}

/* Compares the rows of an earlier schema with its total, since a migration vouches for what it finds. */
static enum status compare_total(struct db *db, struct error *err)
{
    struct db_conn    *conn = &db->writer;
    struct chain_state state;
    struct total       total;
    TRY(db->driver->begin(conn->handle, DRIVER_READ_WRITE, err));
    TRY(chain_read(conn, &state, err));
    TRY(chain_check_total(conn, &state, err));
    TRY(db->driver->gather(conn->handle, db->schema.found, &total, err));
    conn_roll_back(conn);
    return memcmp(&total, &state.total, sizeof total) == 0
               ? STATUS_OK
               : error_set(err, STATUS_INTERNAL, "store_corrupt", "",
                           "rows are not those that the log vouches for: restore a backup, or ask gnomon verify of the "
                           "version that wrote the store");
}

/* In the transaction of a migration: a total that is missing afterwards was taken away by somebody. */
static enum status bind_anew(void *arg, struct error *err)
{
    struct db      *db = arg;
    struct db_conn *conn = &db->writer;
    TRY(db->driver->guard(conn->handle, &conn->total, conn->damaged, err));
    TRY(db->driver->gather(conn->handle, db->schema.needed, &conn->total, err));
    return chain_seal(conn, err);
}

static enum status migrate(struct db *db, const char *place, struct error *err)
{
    const struct driver_bind last = {.bind = bind_anew, .arg = db};
    if (db->schema.found >= SUM_FIRST)
        TRY(compare_total(db, err));
    TRY(db->driver->migrate(db->writer.handle, place, db->driver->migrations, &db->schema, &last, err));
    conn_roll_back(&db->writer); // forgets what the transaction knew of the log
    return STATUS_OK;
}

/* Inspects the schema again, which the server that had the database until now may have changed. */
static enum status open_writer(struct db *db, const struct db_options *options, const char *place, struct error *err)
{
    enum status status;
    while ((status = conn_open(&db->writer, db->driver, place, DRIVER_READ_WRITE, options->synchronous, err)) ==
               STATUS_BUSY &&
           options->waits != NULL && options->waits(options->waits_arg))
        nanosleep(&(struct timespec){.tv_nsec = WAIT_MS * 1000000}, NULL);
    TRY(status);
    return db->driver->beat == NULL ? STATUS_OK : db->driver->inspect(place, db->driver->migrations, &db->schema, err);
}

static enum status open_all(struct db *db, const struct db_options *options, struct error *err)
{
    const char *place = options->database != NULL ? options->database : options->folder;
    TRY(folder_claim(options->folder, &db->claim, err));
    TRY(folder_check_database(options->folder, options->database, err));
    TRY(db->driver->inspect(place, db->driver->migrations, &db->schema, err));
    TRY(open_writer(db, options, place, err));
    db->driver->journal_watch(db->writer.handle, &db->journal_bytes);
    if (db->schema.found < db->schema.needed)
        TRY(migrate(db, place, err));
    TRY(db->driver->quick(db->writer.handle, place, err));
    TRY(seal(db, err));
    TRY(compare_witness(db, err));
    for (size_t i = 0; i < options->readers && i < POOL_MAX; i++) {
        struct db_conn *conn = &db->readers.conns[i];
        TRY(conn_open(conn, db->driver, place, DRIVER_READ_ONLY, options->synchronous, err));
        db->readers.len = i + 1;
        TRY(db->driver->guard(conn->handle, NULL, conn->damaged, err));
        conn_watch(conn, options->step_ms);
    }
    if (pthread_create(&db->thread, NULL, writer_main, db) != 0)
        return error_no_memory(err);
    return STATUS_OK;
}

static void release(struct db *db)
{
    pool_fini(&db->readers);
    conn_close(&db->writer);
    folder_release(db->claim);
    pthread_cond_destroy(&db->work);
    pthread_mutex_destroy(&db->mutex);
    pthread_mutex_destroy(&db->damaged.mutex);
    free(db->folder);
    free(db);
}

enum status db_open(const struct db_options *options, struct db **out, struct error *err)
{
    *out = NULL;
    struct db *db = calloc(1, sizeof *db);
    if (db == NULL)
        return error_no_memory(err);
    db->driver = options->database != NULL ? &driver_postgres : &driver_sqlite;
    db->claim = -1;
    db->log = options->log;
    db->folder = strdup(options->folder);
    db->is_hasty = strcmp(options->synchronous, "OFF") == 0;
    db->renewed_at = -TIDY_SECONDS;
    pthread_mutex_init(&db->mutex, NULL);
    pthread_mutex_init(&db->damaged.mutex, NULL);
    moment_cond_init(&db->work);
    pool_init(&db->readers);
    enum status status = db->folder == NULL ? error_no_memory(err) : open_all(db, options, err);
    if (status != STATUS_OK) {
        release(db);
        return status;
    }
    *out = db;
    return STATUS_OK;
}

void db_close(struct db *db)
{
    if (db == NULL)
        return;
    pthread_mutex_lock(&db->mutex);
    db->stopping = true;
    pthread_cond_signal(&db->work);
    pthread_mutex_unlock(&db->mutex);
    pthread_join(db->thread, NULL);
    pool_close(&db->readers); // nobody holds the journal back
    pthread_mutex_lock(&db->mutex);
    checkpoint(db, true);
    pthread_mutex_unlock(&db->mutex);
    release(db);
}

void db_set_upkeep(struct db *db, db_upkeep_fn fn, void *arg)
{
    pthread_mutex_lock(&db->mutex);
    db->upkeep = fn;
    db->upkeep_arg = arg;
    pthread_mutex_unlock(&db->mutex);
}

void db_on_commit(struct db *db, void (*fn)(void *arg), void *arg)
{
    pthread_mutex_lock(&db->mutex);
    db->on_commit = fn;
    db->on_commit_arg = arg;
    pthread_mutex_unlock(&db->mutex);
}

void db_stats(struct db *db, struct db_stats *stats)
{
    pthread_mutex_lock(&db->mutex);
    *stats = db->stats;
    stats->stuck_seconds = db->alive_at > 0 ? moment_seconds() - db->alive_at : 0;
    stats->waiting = db->queue.len;
    pthread_mutex_unlock(&db->mutex);
}

bool db_is_rolled_back(const struct db *db)
{
    return db->is_rolled_back;
}

int64_t db_witnessed(const struct db *db)
{
    return db->witness.counter;
}

const struct db_schema *db_schema(const struct db *db)
{
    return &db->schema;
}
