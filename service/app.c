/* Opening and closing the application, and the one place where an idempotency key is honoured. */
#include "service/app.h"

#include "service/gate.h"
#include "service/log.h"
#include "service/operation.h"
#include "service/random.h"
#include "service/session.h"
#include "service/steady.h"
#include "service/study.h"
#include "service/token.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    READERS = 8, // besides those whose models read the log: more than go at once through studies from end to end
    IDEMPOTENCY_MS = 24 * 3600 * 1000,
    PURGE_ROWS = 1000
};

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t now_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

static int64_t monotonic_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

static int64_t boot_ms(void)
{
    return clock_ms(CLOCK_BOOTTIME);
}

static void log_store(const char *what, const struct error *why)
{
    if (why == NULL)
        log_event(LOG_INFO, "store_works", "what=%s", what);
    else
        log_event(LOG_ERROR, "store_fails", "what=%s code=%s detail=\"%s\"", what, why->code, why->text);
}

static enum status open_store(struct app *app, struct error *err)
{
    char                    boot[sizeof app->steady.boot];
    const struct db_options db = {.folder = app->options.folder,
                                  .synchronous = app->options.synchronous,
                                  .readers = READERS + APP_DRAWS + app->options.compute_slots,
                                  .log = log_store};
    TRY(db_open(&db, &app->db, err));
    steady_read_boot(boot, sizeof boot);
    TRY(steady_start(app, boot, err));
    TRY(token_cache_load(app, err));
    db_set_upkeep(app->db, app_upkeep, app);
    return STATUS_OK;
}

enum status app_open(const struct app_options *options, struct app **out, struct error *err)
{
    *out = NULL;
    struct app *app = calloc(1, sizeof *app);
    if (app == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "cannot start");
    app->options = *options;
    app->now_ms = options->now_ms != NULL ? options->now_ms : now_ms;
    app->monotonic_ms = monotonic_ms;
    app->boot_ms = options->boot_ms != NULL ? options->boot_ms : boot_ms;
    app->sessions = session_cache_new();
    app->tokens = token_cache_new();
    app->studies = study_cache_new();
    app->operations = operations_new();
    app->compute = gate_new(options->compute_slots);
    app->plans = gate_new(options->compute_slots);
    app->draws = gate_new(APP_DRAWS);
    enum status status = STATUS_OK;
    if (app->sessions == NULL || app->tokens == NULL || app->studies == NULL || app->compute == NULL ||
        app->plans == NULL || app->draws == NULL || app->operations == NULL)
        status = error_set(err, STATUS_NO_MEMORY, "no_memory", "", "cannot start");
    if (status == STATUS_OK)
        status = open_store(app, err);
    if (status != STATUS_OK) {
        app_close(app);
        return status;
    }
    *out = app;
    return STATUS_OK;
}

void app_close(struct app *app)
{
    if (app == NULL)
        return;
    if (app->operations != NULL)
        operations_stop(app);
    db_close(app->db);
    operations_free(app->operations);
    session_cache_free(app->sessions);
    token_cache_free(app->tokens);
    study_cache_free(app->studies);
    gate_free(app->compute);
    gate_free(app->plans);
    gate_free(app->draws);
    free(app);
}

/* ---- transactions ---- */

static enum status find_reply(struct db_conn *conn, struct caller *caller, int64_t now, struct error *err)
{
    struct idempotency *own = &caller->idempotency;
    struct db_rows      rows;
    bool                more;
    TRY(db_query(conn, &rows, err, SQL_IDEMPOTENCY_GET,
                 BIND(TEXT(caller->token_id), TEXT(own->key), INT(now - IDEMPOTENCY_MS))));
    const struct row_kept_reply *row = row_kept_reply(&rows);
    enum status                  status = db_next(&rows, &more, err);
    if (status == STATUS_OK && more) {
        if (strcmp(row->fingerprint, own->fingerprint) != 0) {
            status = error_set(err, STATUS_INVALID, "idempotency_key_reused", "",
                               "this Idempotency-Key came before with another request");
        } else {
            bool failed = false;
            own->first = (struct kept_reply){.http_status = (int)row->status,
                                             .body = db_keep_text(row->reply, caller->arena, &failed),
                                             .location = db_keep_text(row->location, caller->arena, &failed),
                                             .etag = db_keep_text(row->etag, caller->arena, &failed)};
            own->replayed = !failed;
            if (!own->replayed)
                status = error_set(err, STATUS_NO_MEMORY, "no_memory", "", "the first answer does not fit");
        }
    }
    db_done(&rows);
    return status;
}

static enum status keep_reply(struct db_conn *conn, struct caller *caller, int64_t now, struct error *err)
{
    struct idempotency *own = &caller->idempotency;
    if (!own->render(own->render_arg, &own->first))
        return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "the answer does not fit");
    return db_exec(conn, NULL, err, SQL_IDEMPOTENCY_ADD,
                   BIND(TEXT(caller->token_id), TEXT(own->key), TEXT(own->fingerprint), INT(own->first.http_status),
                        TEXT(own->first.body), TEXT(own->first.location), TEXT(own->first.etag), INT(now)));
}

/* Replies that nobody can ask for any more. */
static enum status purge(struct db_conn *conn, int64_t now, bool *more, struct error *err)
{
    int64_t purged = 0;
    TRY(db_exec(conn, &purged, err, SQL_IDEMPOTENCY_PURGE, BIND(INT(now - IDEMPOTENCY_MS), INT(PURGE_ROWS))));
    *more = purged == PURGE_ROWS;
    return STATUS_OK;
}

enum status app_upkeep(struct db_conn *conn, void *arg, bool was_busy, bool *more, struct error *err)
{
    struct app *app = arg;
    TRY(steady_note(app, conn, was_busy, err));
    return purge(conn, steady_ms(app), more, err);
}

struct work {
    struct app    *app;
    struct caller *caller;
    db_fn          fn;
    void          *arg;
};

static enum status transact(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    bool         has_key = work->caller->idempotency.key != NULL;
    int64_t      now = steady_ms(work->app);
    if (has_key) {
        TRY(find_reply(conn, work->caller, now, err));
        if (work->caller->idempotency.replayed)
            return STATUS_OK;
    }
    TRY(work->fn(conn, work->arg, err));
    if (work->caller->dry_run)
        return error_set(err, STATUS_CONFLICT, "dry_run", "", "nothing was changed");
    return has_key ? keep_reply(conn, work->caller, now, err) : STATUS_OK;
}

enum status app_transact(struct app *app, struct caller *caller, db_fn fn, void *arg, struct error *err)
{
    struct work work = {app, caller, fn, arg};
    return db_transact(app->db, transact, &work, err);
}

static enum status replay(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    return find_reply(conn, work->caller, steady_ms(work->app), err);
}

enum status app_replay(struct app *app, struct caller *caller, struct error *err)
{
    struct work work = {.app = app, .caller = caller};
    return caller->idempotency.key == NULL ? STATUS_OK : db_read(app->db, replay, &work, err);
}

/* ---- small things ---- */

int64_t app_until(const struct app *app, int64_t from_ms)
{
    return app->options.compute_ms > 0 ? from_ms + app->options.compute_ms : 0;
}

enum status app_go_on(const struct app *app, const struct caller *caller, struct error *err)
{
    if (caller->has_left != NULL && caller->has_left(caller->left_arg))
        return error_set(err, STATUS_BUSY, "stopped", "", "nobody waits for the answer any more");
    if (caller->until_ms > 0 && app->monotonic_ms() >= caller->until_ms)
        return error_set(err, STATUS_BUSY, "deadline_exceeded", "", "there was no answer in the time that there is");
    return STATUS_OK;
}

enum status app_id(char *out, size_t out_bytes, const char *prefix, size_t characters, struct error *err)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char     bytes[64];
    size_t            start = strlen(prefix);
    assert(characters <= sizeof bytes && start + characters < out_bytes);
    TRY(random_bytes(bytes, characters, err));
    memcpy(out, prefix, start);
    for (size_t i = 0; i < characters; i++)
        out[start + i] = alphabet[bytes[i] % 32];
    out[start + characters] = '\0';
    return STATUS_OK;
}

enum status app_no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "the request needs more memory than it may have");
}

uint32_t app_hash(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

char *app_text(struct arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int   length = vsnprintf(NULL, 0, format, args);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1, 1);
    if (text != NULL)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}
