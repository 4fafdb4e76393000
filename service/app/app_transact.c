/* See app_transact.h. */
#include "service/app/app_transact.h"

#include "db/writer/chain.h"
#include "service/app/quota.h"
#include "service/app/steady.h"
#include "service/base/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { IDEMPOTENCY_MS = 24 * 3600 * 1000, PURGE_ROWS = 1000, SUBJECT_BYTES = 40, LARGE_ROWS = 100 };

/* "/v1/studies/std_abc/suggest": std_abc; of a path without an id "". */
static void read_subject(const char *path, char subject[SUBJECT_BYTES])
{
    size_t length = 0;
    int    start = 0;
    subject[0] = '\0';
    if (path != NULL && sscanf(path, "/v1/%*[a-z]/%n", &start) == 0 && start > 0)
        length = strcspn(path + start, "/?");
    if (length > 0 && length < SUBJECT_BYTES)
        snprintf(subject, SUBJECT_BYTES, "%.*s", (int)length, path + start);
}

static enum status find_reply(struct db_conn *conn, struct caller *caller, int64_t now, struct error *err)
{
    struct idempotency *own = &caller->idempotency;
    struct db_rows      rows;
    own->replayed = false; // a batch that was undone may have set it
    TRY(db_find(conn, caller->arena, &rows, err, SQL_IDEMPOTENCY_GET,
                BIND(TEXT(caller->token_id), TEXT(own->key), INT(now - IDEMPOTENCY_MS))));
    const struct row_kept_reply *row = row_kept_reply(&rows);
    if (row == NULL)
        return STATUS_OK;
    if (strcmp(row->fingerprint, own->fingerprint) != 0)
        return error_set(err, STATUS_INVALID, "idempotency_key_reused", "",
                         "this Idempotency-Key came before with another request");
    if (row->status == 0)
        return error_set(err, STATUS_NOT_FOUND, "deleted", "",
                         "what this Idempotency-Key was answered about is deleted");
    if (row->status < 0)
        return error_set(err, STATUS_CONFLICT, "reply_not_kept", "",
                         "it was done when this Idempotency-Key came first; the answer made room for later ones");
    own->first = (struct kept_reply){
        .http_status = (int)row->status, .body = row->reply, .location = row->location, .etag = row->etag};
    own->replayed = true;
    return STATUS_OK;
}

static size_t kept_bytes(const struct idempotency *own)
{
    return strlen(own->first.body) + QUOTA_KEPT_ROW_BYTES;
}

static enum status keep_reply(struct db_conn *conn, const struct app_work *work, int64_t now, struct error *err)
{
    struct caller      *caller = work->caller;
    struct idempotency *own = &caller->idempotency;
    char                subject[SUBJECT_BYTES];
    if (!own->render(own->render_arg, &own->first))
        return error_no_memory(err);
    read_subject(own->path, subject);
    TRY(quota_has_room(conn, caller, (double)kept_bytes(own), err));
    own->is_trimmed = quota_is_to_trim(work->app, caller, kept_bytes(own));
    if (own->is_trimmed)
        TRY(db_exec(conn, NULL, err, SQL_IDEMPOTENCY_TRIM, BIND(TEXT(caller->token_id), INT(QUOTA_KEPT_BYTES / 2))));
    if (subject[0] == '\0') // it was created
        read_subject(own->first.location, subject);
    return db_exec(conn, NULL, err, SQL_IDEMPOTENCY_ADD,
                   BIND(TEXT(caller->token_id), TEXT(own->key), TEXT(own->fingerprint), INT(own->first.http_status),
                        TEXT(own->first.body), TEXT(own->first.location), TEXT(own->first.etag), INT(now),
                        TEXT(subject)));
}

/* Removes kept replies whose time for a repeat is over. */
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

static enum status transact(struct db_conn *conn, void *arg, struct error *err)
{
    struct app_work *work = arg;
    bool             has_key = work->caller->idempotency.key != NULL;
    int64_t          now = steady_ms(work->app);
    if (work->caller->may_write != NULL)
        TRY(work->caller->may_write(work->caller->request, err));
    if (has_key) {
        TRY(find_reply(conn, work->caller, now, err));
        if (work->caller->idempotency.replayed)
            return STATUS_OK;
    }
    struct quota_mark mark;
    TRY(quota_begin(conn, work->caller, &mark, err));
    TRY(work->fn(conn, work->arg, err));
    TRY(quota_end(conn, work->caller, &mark, err));
    if (work->caller->dry_run)
        return error_set(err, STATUS_CONFLICT, "dry_run", "", "nothing was changed");
    return has_key ? keep_reply(conn, work, now, err) : STATUS_OK;
}

/* Counts the kept reply once the transaction is through, since a transaction may run twice. */
static void count_kept(const struct app_work *work, enum status status)
{
    const struct idempotency *own = &work->caller->idempotency;
    if (status == STATUS_OK && own->key != NULL && !own->replayed && own->first.body != NULL)
        quota_keep(work->app, work->caller, kept_bytes(own), own->is_trimmed);
}

struct db_owner app_owner(const struct caller *caller)
{
    return (struct db_owner){.project = text_hash(caller->project), .token = text_hash(caller->token_id)};
}

enum status app_transact(struct app *app, struct caller *caller, db_fn fn, void *arg, struct error *err)
{
    struct app_work       work = {.app = app, .caller = caller, .fn = fn, .arg = arg};
    struct db_transaction one = {
        .owner = app_owner(caller), .rows = caller->writes, .fn = transact, .arg = &work, .err = err};
    one.is_large = caller->writes > LARGE_ROWS;
    db_transact_all(app->db, &one, 1);
    count_kept(&work, one.status);
    return one.status;
}

void app_transact_all(struct app *app, struct app_work *all, size_t len)
{
    struct db_transaction transactions[DB_TOGETHER_MAX];
    assert(len <= DB_TOGETHER_MAX);
    for (size_t i = 0; i < len; i++) {
        all[i].app = app;
        transactions[i] = (struct db_transaction){
            .owner = app_owner(all[i].caller), .fn = transact, .arg = &all[i], .err = all[i].err};
    }
    db_transact_all(app->db, transactions, len);
    for (size_t i = 0; i < len; i++) {
        all[i].status = transactions[i].status;
        count_kept(&all[i], all[i].status);
    }
}

static enum status replay(struct db_conn *conn, void *arg, struct error *err)
{
    struct app_work *work = arg;
    return find_reply(conn, work->caller, steady_ms(work->app), err);
}

enum status app_replay(struct app *app, struct caller *caller, struct error *err)
{
    struct app_work work = {.app = app, .caller = caller};
    return caller->idempotency.key == NULL ? STATUS_OK : db_read(app->db, replay, &work, err);
}

void app_on_commit(struct app *app, void (*fn)(void *arg), void *arg)
{
    db_on_commit(app->db, fn, arg);
}

enum status app_erase(struct db_conn *conn, const char *id, struct error *err)
{
    TRY(db_log_erase(conn, id, err));
    return db_exec(conn, NULL, err, SQL_IDEMPOTENCY_BLANK, BIND(TEXT(id)));
}
