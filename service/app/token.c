/* Tokens: gno_<id>_<secret>.  The store has the SHA-256 of the whole; a fast hash is right for 256 random bits.
 * The cache holds what was looked up; revoking takes it out, so a revoked token is refused at once, and so are those that
 * it made, which are revoked with it.  When a token was used is kept beside the cache and written now and then.
 * Invariant: the bit of the id of every token that is not revoked is set; any other id is refused without a look-up.
 * Bits stay when tokens go.  What was looked up in a database that another server may take counts as long as it is known that
 * none has: else it is looked up for each request, and who cannot be is refused. */
#include "service/app/token.h"

#include "service/app/app_transact.h"
#include "service/app/event_log.h"
#include "service/app/home.h"
#include "service/app/quota.h"
#include "service/base/text.h"
#include "service/base/digest.h"
#include "service/base/random.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1024, KNOWN_BITS = 1 << 23, ID_CHARACTERS = 8, SECRET_BYTES = 32 };
static const char local[] = "local"; /* id and name of who has the machine, and no token */

/* ---- the cache ---- */

struct cached {
    char          id[16];
    unsigned char hash[SHA256_BYTES], previous[SHA256_BYTES];
    struct quota *quota;
    int64_t       previous_until_ms; /* until then the previous secret is good, too; 0: there is none */
    enum scope    scope;
    char          project[24], resource[24], agent[64];
    int64_t       expires_ms;
};
struct use {
    char    id[16];
    int64_t at_ms;
};
struct token_cache {
    pthread_rwlock_t lock;
    uint64_t         generation;
    struct cached    slots[SLOTS];
    _Atomic int64_t  used_ms[SLOTS]; /* of the token in the slot; 0: it is written, or not used */
    struct use       left[SLOTS];    /* of those that lost their slots since */
    size_t           left_len;
    int64_t          noted_ms;              /* when it was last written, on the monotonic clock */
    unsigned char    known[KNOWN_BITS / 8]; /* by hash of the id */
};

struct token_cache *token_cache_new(void)
{
    struct token_cache *cache = calloc(1, sizeof *cache);
    if (cache != NULL)
        pthread_rwlock_init(&cache->lock, NULL);
    return cache;
}

void token_cache_free(struct token_cache *cache)
{
    if (cache == NULL)
        return;
    pthread_rwlock_destroy(&cache->lock);
    free(cache);
}

static struct cached *slot_of(struct token_cache *cache, const char *id)
{
    return &cache->slots[text_hash(id) % SLOTS];
}

static void cache_know(struct token_cache *cache, const char *id)
{
    uint32_t bit = text_hash(id) % KNOWN_BITS;
    pthread_rwlock_wrlock(&cache->lock);
    cache->known[bit / 8] |= (unsigned char)(1u << bit % 8);
    pthread_rwlock_unlock(&cache->lock);
}

static bool cache_knows(struct token_cache *cache, const char *id)
{
    uint32_t bit = text_hash(id) % KNOWN_BITS;
    pthread_rwlock_rdlock(&cache->lock);
    bool known = cache->known[bit / 8] >> bit % 8 & 1;
    pthread_rwlock_unlock(&cache->lock);
    return known;
}

static bool cache_get(struct token_cache *cache, const char *id, struct cached *out, uint64_t *generation)
{
    pthread_rwlock_rdlock(&cache->lock);
    const struct cached *slot = slot_of(cache, id);
    bool                 found = strcmp(slot->id, id) == 0;
    if (found)
        *out = *slot;
    *generation = cache->generation;
    pthread_rwlock_unlock(&cache->lock);
    return found;
}

/* Keeps the slot's last use elsewhere before another token takes it; of many at once some are lost.  The lock is held. */
static void leave_slot(struct token_cache *cache, struct cached *slot)
{
    int64_t at_ms = atomic_exchange(&cache->used_ms[slot - cache->slots], 0);
    if (at_ms > 0 && cache->left_len < SLOTS) {
        struct use *use = &cache->left[cache->left_len++];
        *use = (struct use){.at_ms = at_ms};
        memcpy(use->id, slot->id, sizeof use->id);
    }
    *slot = (struct cached){0};
}

static void cache_put(struct token_cache *cache, const struct cached *token, uint64_t generation)
{
    pthread_rwlock_wrlock(&cache->lock);
    struct cached *slot = slot_of(cache, token->id);
    if (cache->generation == generation) {
        if (strcmp(slot->id, token->id) != 0)
            leave_slot(cache, slot);
        *slot = *token;
    }
    pthread_rwlock_unlock(&cache->lock);
}

/* Notes a token's use, to the second, so that not every request writes where others read. */
static void cache_use(struct token_cache *cache, const char *id, int64_t now_ms)
{
    pthread_rwlock_rdlock(&cache->lock);
    const struct cached *slot = slot_of(cache, id);
    _Atomic int64_t     *used_ms = &cache->used_ms[slot - cache->slots];
    if (strcmp(slot->id, id) == 0 && llabs(now_ms - atomic_load_explicit(used_ms, memory_order_relaxed)) >= 1000)
        atomic_store_explicit(used_ms, now_ms, memory_order_relaxed);
    pthread_rwlock_unlock(&cache->lock);
}

/* The time of the last use that is not written yet, or 0. */
static int64_t cache_used(struct token_cache *cache, const char *id)
{
    pthread_rwlock_rdlock(&cache->lock);
    const struct cached *slot = slot_of(cache, id);
    int64_t              at_ms = strcmp(slot->id, id) == 0 ? atomic_load(&cache->used_ms[slot - cache->slots]) : 0;
    for (size_t i = 0; at_ms == 0 && i < cache->left_len; i++)
        at_ms = strcmp(cache->left[i].id, id) == 0 ? cache->left[i].at_ms : 0;
    pthread_rwlock_unlock(&cache->lock);
    return at_ms;
}

/* Some of them; how many. */
static size_t cache_take_uses(struct token_cache *cache, struct use *uses, size_t room)
{
    size_t len = 0;
    pthread_rwlock_wrlock(&cache->lock);
    while (len < room && cache->left_len > 0)
        uses[len++] = cache->left[--cache->left_len];
    for (struct cached *slot = cache->slots; slot < cache->slots + SLOTS && len < room; slot++) {
        int64_t at_ms = atomic_exchange(&cache->used_ms[slot - cache->slots], 0);
        if (at_ms > 0) {
            memcpy(uses[len].id, slot->id, sizeof uses[len].id);
            uses[len++].at_ms = at_ms;
        }
    }
    pthread_rwlock_unlock(&cache->lock);
    return len;
}

static bool is_same(const char *wanted, const char *text)
{
    return wanted != NULL && strcmp(wanted, text) == 0;
}

/* Also what is being looked up now is not kept.  id, resource or project NULL: that does not matter. */
static void cache_forget(struct token_cache *cache, const char *id, const char *resource, const char *project)
{
    pthread_rwlock_wrlock(&cache->lock);
    cache->generation++;
    for (struct cached *slot = cache->slots; slot < cache->slots + SLOTS; slot++)
        if (is_same(id, slot->id) || is_same(resource, slot->resource) || is_same(project, slot->project))
            leave_slot(cache, slot);
    pthread_rwlock_unlock(&cache->lock);
}

static enum status read_ids(struct db_conn *conn, void *arg, struct error *err)
{
    struct app    *app = arg;
    struct db_rows rows = db_query(conn, NULL, err, SQL_TOKEN_IDS, BIND_NONE);
    while (db_next(&rows))
        cache_know(app->tokens, row_id(&rows)->id);
    return db_done(&rows);
}

enum status token_cache_load(struct app *app, struct error *err)
{
    return db_read(app->db, read_ids, app, err);
}

/* ---- checking ---- */

static enum status unauthorised(struct error *err)
{
    return error_set(err, STATUS_UNAUTHORISED, "unauthorized", "", "a valid bearer token is needed");
}

struct lookup {
    struct app    *app;
    const char    *id;
    struct cached *out;
    bool           found;
};

static enum status look_up(struct db_conn *conn, void *arg, struct error *err)
{
    struct lookup          *lookup = arg;
    struct db_rows          rows = db_query(conn, NULL, err, SQL_TOKEN_GET, BIND(TEXT(lookup->id)));
    const struct row_token *row = db_next(&rows) ? row_token(&rows) : NULL;
    if (row != NULL && row->revoked_ms == 0) {
        struct cached *out = lookup->out;
        lookup->found = row->hash.length == SHA256_BYTES;
        if (lookup->found)
            memcpy(out->hash, row->hash.bytes, SHA256_BYTES);
        if (row->previous_hash.length == SHA256_BYTES) {
            memcpy(out->previous, row->previous_hash.bytes, SHA256_BYTES);
            out->previous_until_ms = row->previous_until_ms;
        }
        snprintf(out->id, sizeof out->id, "%s", row->id);
        out->scope = scope_find(row->scope);
        snprintf(out->resource, sizeof out->resource, "%s", row->resource == NULL ? "" : row->resource);
        snprintf(out->agent, sizeof out->agent, "%s", row->agent);
        snprintf(out->project, sizeof out->project, "%s", row->project[0] == '\0' ? CALLER_NO_PROJECT : row->project);
        out->expires_ms = row->expires_ms;
    }
    TRY(db_done(&rows));
    rows = db_query(conn, NULL, err, SQL_PROJECT_GET, BIND(TEXT(lookup->out->project)));
    while (db_next(&rows) && (lookup->out->quota = quota_learn(lookup->app, row_project(&rows))) == NULL)
        rows.status = error_no_memory(err);
    return db_done(&rows);
}

enum status token_check(struct app *app, const char *secret, bool cached_only, struct caller *caller, struct error *err)
{
    char id[16] = "tok_";
    if (strlen(secret) < 4 + ID_CHARACTERS || memcmp(secret, "gno_", 4) != 0)
        return unauthorised(err);
    memcpy(id + 4, secret + 4, ID_CHARACTERS);
    bool is_fresh = db_is_fresh(app->db); // else a server that has taken over may have made the token
    if (is_fresh && !cache_knows(app->tokens, id))
        return unauthorised(err);
    struct cached token = {0};
    uint64_t      generation;
    bool          found = cache_get(app->tokens, id, &token, &generation) && is_fresh;
    if (!found && cached_only)
        return STATUS_BUSY;
    if (!found) {
        struct lookup lookup = {.app = app, .id = id, .out = &token, .found = false};
        TRY(db_read(app->db, look_up, &lookup, err));
        found = lookup.found;
        if (found)
            cache_put(app->tokens, &token, generation);
    }
    _Static_assert(sizeof caller->secret == SHA256_BYTES, "a caller has the digest of its secret");
    unsigned char hash[SHA256_BYTES]; // computed whether or not the token is found
    sha256(secret, strlen(secret), hash);
    int64_t now_ms = app->now_ms();
    bool    is_good = digest_equal(hash, token.hash, sizeof hash);
    is_good |= digest_equal(hash, token.previous, sizeof hash) && now_ms < token.previous_until_ms;
    if (!is_good || !found || (token.expires_ms != 0 && now_ms >= token.expires_ms))
        return unauthorised(err);
    cache_use(app->tokens, token.id, now_ms);
    memcpy(caller->token_id, token.id, sizeof caller->token_id);
    memcpy(caller->project, token.project, sizeof caller->project);
    memcpy(caller->resource, token.resource, sizeof caller->resource);
    memcpy(caller->agent, token.agent, sizeof caller->agent);
    memcpy(caller->secret, hash, sizeof caller->secret);
    caller->scope = token.scope;
    caller->quota = token.quota;
    return app_check_store(app, err);
}

/* ---- making, listing, revoking ---- */

struct token_work {
    struct app        *app;
    struct caller     *caller;
    struct token      *out;
    struct token_page *page;
    const char        *id, *project, *secret;
    const void        *seen; /* the digest of the secret that is to be replaced, NULL: there is none */
    const char       **family;
    size_t             family_len;
    const struct page *asked;
    int64_t            overlap_ms;
    int64_t            now_ms;
    bool               is_made;
};

static enum status log_token(struct db_conn *conn, const struct token_work *work, const char *kind,
                             const struct token *token, struct error *err)
{
    return event_log(conn,
                     EVENT(.at_ms = work->now_ms, .kind = kind, .actor = work->caller->token_id, .detail = token->id,
                           .project = token->scope == SCOPE_OPERATOR ? CALLER_NO_PROJECT : token->project),
                     err);
}

/* Resources that a token may be bound to, by the prefix of the id; the last row is for all other ids. */
static const struct {
    const char *prefix, *text;
} resources[] = {
    {"fed_", "there is no such federation"},
    {"gam_", "there is no such game"},
    {"", "there is no such study"},
};

static enum status no_such_resource(const char *id, struct error *err)
{
    size_t kind = 0;
    while (strncmp(id, resources[kind].prefix, strlen(resources[kind].prefix)) != 0)
        kind++;
    return error_set(err, STATUS_INVALID, "unknown_resource", "/resource", "%s", resources[kind].text);
}

/* A token is of the project of what it is bound to. */
static enum status find_home(struct db_conn *conn, const struct caller *caller, struct token *token, struct error *err)
{
    char home[sizeof token->project];
    TRY(home_find(conn, token->resource, home, err));
    bool is_other = token->project[0] != '\0' && strcmp(token->project, home) != 0;
    if (home[0] == '\0' || is_other || !caller_has(caller, home))
        return no_such_resource(token->resource, err);
    memcpy(token->project, home, sizeof home);
    return STATUS_OK;
}

/* Resources of other projects are reported as missing. */
static enum status find_project(struct db_conn *conn, const struct caller *caller, struct token *token,
                                struct error *err)
{
    struct db_rows rows;
    if (token->scope == SCOPE_OPERATOR)
        return token->project[0] == '\0' && token->resource == NULL
                   ? STATUS_OK
                   : error_set(err, STATUS_INVALID, "bad_combination", "/scope", "an operator is of no project");
    if (token->resource != NULL)
        return find_home(conn, caller, token, err);
    if (token->project[0] == '\0')
        snprintf(token->project, sizeof token->project, "%s", caller_project(caller));
    TRY(db_find(conn, caller->arena, &rows, err, SQL_PROJECT_GET, BIND(TEXT(token->project))));
    return row_project(&rows) != NULL && caller_has(caller, token->project)
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "unknown_project", "/project", "there is no such project");
}

/* The caller's own row, which lives in rows; NULL of the machine, which is there for ever.  The secret that it showed must be the token's last:
 * an old one, which a thief may have, works until its overlap ends, but gives nobody access and takes it from nobody. */
static enum status find_own(struct db_conn *conn, const struct caller *caller, struct db_rows *rows,
                            const struct row_token **out, struct error *err)
{
    *out = NULL;
    if (caller->project[0] == '\0')
        return STATUS_OK;
    TRY(db_find(conn, caller->arena, rows, err, SQL_TOKEN_GET, BIND(TEXT(caller->token_id))));
    *out = row_token(rows);
    if (*out == NULL || (*out)->revoked_ms != 0)
        return unauthorised(err);
    if ((*out)->hash.length == SHA256_BYTES && digest_equal((*out)->hash.bytes, caller->secret, SHA256_BYTES))
        return STATUS_OK;
    return error_set(err, STATUS_FORBIDDEN, "old_secret", "",
                     "the token has a new secret: with the old one nothing is rotated, made or revoked");
}

enum status token_check_secret(struct db_conn *conn, const struct caller *caller, struct error *err)
{
    struct db_rows          rows;
    const struct row_token *own;
    return find_own(conn, caller, &rows, &own, err);
}

/* No token outlives its maker, and a token that is revoked meanwhile makes none. */
static enum status find_parent(struct db_conn *conn, const struct caller *caller, struct token *token,
                               struct error *err)
{
    struct db_rows          rows;
    const struct row_token *row;
    TRY(find_own(conn, caller, &rows, &row, err));
    if (row == NULL)
        return STATUS_OK;
    token->parent = row->id;
    if (row->expires_ms != 0 && (token->expires_ms == 0 || token->expires_ms > row->expires_ms))
        token->expires_ms = row->expires_ms;
    return STATUS_OK;
}

enum status token_add(struct db_conn *conn, struct caller *caller, struct token *token, struct error *err)
{
    const struct token *from = token;
    unsigned char       hash[SHA256_BYTES];
    TRY(find_project(conn, caller, token, err));
    TRY(find_parent(conn, caller, token, err));
    sha256(token->secret, strlen(token->secret), hash);
    TRY(db_exec(conn, NULL, err, SQL_TOKEN_ADD,
                BIND(TEXT(token->id), BLOB(hash, sizeof hash), TEXT(scope_names[token->scope]),
                     TEXT(token->agent == NULL ? "" : token->agent), INT(token->created_ms), INT(token->expires_ms),
                     TEXT(token->project), TEXT(token->parent), TOKEN_GIVEN(SAVE) TOKEN_BOUND(SAVE))));
    return log_token(conn, &(struct token_work){.caller = caller, .now_ms = token->created_ms}, "token.created", token,
                     err);
}

static enum status create(struct db_conn *conn, void *arg, struct error *err)
{
    struct token_work *work = arg;
    const char        *asked = work->project == NULL ? "" : work->project;
    snprintf(work->out->project, sizeof work->out->project, "%s", asked); // the transaction may run again
    return token_add(conn, work->caller, work->out, err);
}

static enum status draw_secret(const char *id, char secret[64], struct error *err)
{
    unsigned char bytes[SECRET_BYTES];
    char          text[44];
    TRY(random_bytes(bytes, sizeof bytes, err));
    text_base64url(bytes, sizeof bytes, text);
    snprintf(secret, 64, "gno_%s_%s", id + 4, text);
    return STATUS_OK;
}

enum status token_secret(char secret[64], struct error *err)
{
    char id[16];
    TRY(random_id(id, sizeof id, "tok_", ID_CHARACTERS, err));
    return draw_secret(id, secret, err);
}

/* Judges by the text alone: gno_, as many characters as an id has, _, and 256 bits. */
static bool is_secret(const char *text)
{
    enum { BITS_AT = 4 + ID_CHARACTERS + 1, BITS_LENGTH = (4 * SECRET_BYTES + 2) / 3 };
    unsigned char bytes[SECRET_BYTES];
    return strlen(text) == BITS_AT + BITS_LENGTH && memcmp(text, "gno_", 4) == 0 &&
           strspn(text + 4, "abcdefghijklmnopqrstuvwxyz234567") == ID_CHARACTERS && text[BITS_AT - 1] == '_' &&
           text_of_base64url(text + BITS_AT, BITS_LENGTH, bytes);
}

static enum status make_first(struct db_conn *conn, void *arg, struct error *err)
{
    struct token_work *work = arg;
    struct db_rows     rows;
    TRY(db_find(conn, work->caller->arena, &rows, err, SQL_TOKEN_ANY, BIND_NONE));
    work->out->project[0] = '\0'; // the transaction may run again
    work->is_made = row_id(&rows) == NULL;
    return work->is_made ? token_add(conn, work->caller, work->out, err) : STATUS_OK;
}

enum status token_make_first(struct app *app, struct caller *caller, const char *secret, bool *is_made,
                             struct error *err)
{
    struct token      token = {.scope = SCOPE_ADMIN, .created_ms = app->now_ms(), .name = "first"};
    struct token_work work = {.app = app, .caller = caller, .out = &token, .now_ms = token.created_ms};
    *is_made = false;
    if (!is_secret(secret))
        return error_set(err, STATUS_INVALID, "first_token", "", "this is no token as gnomon token draw prints one");
    snprintf(token.id, sizeof token.id, "tok_%.*s", ID_CHARACTERS, secret + 4);
    snprintf(token.secret, sizeof token.secret, "%s", secret);
    cache_know(app->tokens, token.id);
    TRY(app_transact(app, caller, make_first, &work, err));
    *is_made = work.is_made;
    return STATUS_OK;
}

enum status token_draw(struct app *app, const struct token_new *new, struct token *out, struct error *err)
{
    const struct token_new *from = new;
    *out = (struct token){
        .scope = new->scope, .agent = new->agent, .created_ms = app->now_ms(), TOKEN_GIVEN(TAKE) TOKEN_BOUND(TAKE)};
    if (new->expires_in_ms > 0)
        out->expires_ms = out->created_ms + new->expires_in_ms;
    TRY(random_id(out->id, sizeof out->id, "tok_", ID_CHARACTERS, err));
    TRY(draw_secret(out->id, out->secret, err));
    cache_know(app->tokens, out->id);
    return STATUS_OK;
}

/* Nobody grants more than they have; the machine's owner has everything. */
static bool may_make(const struct caller *caller, enum scope scope)
{
    return caller->project[0] == '\0' || (caller->scope == SCOPE_OPERATOR) == (scope == SCOPE_OPERATOR);
}

enum status token_create(struct app *app, struct caller *caller, const struct token_new *new, struct token *out,
                         struct error *err)
{
    if (caller_is_bound(caller))
        return error_set(err, STATUS_FORBIDDEN, "forbidden", "", "this token is bound to %s", caller->resource);
    if (!may_make(caller, new->scope))
        return error_set(err, STATUS_FORBIDDEN, "forbidden", "/scope", "this token makes none that may do that");
    TRY(token_draw(app, new, out, err));
    struct token_work work = {
        .app = app, .caller = caller, .out = out, .project = new->project, .now_ms = out->created_ms};
    return app_transact(app, caller, create, &work, err);
}

static void read_token(const struct row_token *from, struct token *out)
{
    *out = (struct token){.scope = scope_find(from->scope), TOKEN_GIVEN(TAKE) TOKEN_BOUND(TAKE) TOKEN_KEPT(TAKE)};
    snprintf(out->id, sizeof out->id, "%s", from->id);
    snprintf(out->project, sizeof out->project, "%s", from->project);
    if (out->agent[0] == '\0')
        out->agent = NULL;
}

static void read_used(struct app *app, const struct row_token *from, struct token *out)
{
    read_token(from, out);
    int64_t at_ms = cache_used(app->tokens, out->id);
    if (at_ms > out->last_used_ms)
        out->last_used_ms = at_ms;
}

static enum status list(struct db_conn *conn, void *arg, struct error *err)
{
    struct token_work *work = arg;
    struct token_page *out = work->page;
    struct arena      *arena = work->caller->arena;
    int64_t            limit = page_limit(work->asked->limit);
    struct page_place  after;
    TRY(page_after_place(work->asked->cursor, &after, err));
    out->tokens = ARENA_NEW(arena, struct token, (size_t)limit);
    if (out->tokens == NULL)
        return error_no_memory(err);
    const char    *project = work->project;
    struct db_rows rows =
        project[0] == '\0'
            ? db_query(conn, arena, err, SQL_TOKEN_LIST_ALL,
                       BIND(TEXT(after.id), INT(after.created_ms), TEXT(after.id), INT(limit + 1)))
            : db_query(conn, arena, err, SQL_TOKEN_LIST,
                       BIND(TEXT(after.id), INT(after.created_ms), TEXT(after.id), INT(limit + 1), TEXT(project)));
    while (db_next(&rows) && (int64_t)out->len < limit)
        read_used(work->app, row_token(&rows), &out->tokens[out->len++]);
    if (rows.has_row) {
        const struct token *last = &out->tokens[out->len - 1];
        rows.status = page_next_place(arena, last->created_ms, last->id, &out->next_cursor, err);
    }
    return db_done(&rows);
}

/* The project whose tokens the caller may see; "": all projects. */
static const char *reach(const struct caller *caller)
{
    return caller->scope == SCOPE_OPERATOR ? "" : caller->project;
}

enum status token_list(struct app *app, struct caller *caller, const struct token_filter *filter,
                       struct token_page *out, struct error *err)
{
    struct token_work work = {
        .app = app, .caller = caller, .page = out, .project = reach(caller), .asked = &filter->page};
    *out = (struct token_page){0};
    if (filter->project != NULL && work.project[0] != '\0' && strcmp(filter->project, work.project) != 0)
        return STATUS_OK; // for this caller there is no such project
    if (filter->project != NULL)
        work.project = filter->project;
    return db_read(app->db, list, &work, err);
}

/* The tokens in force from this one down, itself included. */
static enum status read_family(struct db_conn *conn, struct token_work *work, struct error *err)
{
    struct db_rows rows = db_query(conn, work->caller->arena, err, SQL_TOKEN_DOWN, BIND(TEXT(work->id)));
    size_t         room = 0;
    work->family_len = 0;
    while (db_next(&rows)) {
        if (work->family_len == room) {
            size_t       more = room == 0 ? 64 : 2 * room;
            const char **grown = ARENA_NEW(work->caller->arena, const char *, more);
            if (grown == NULL) {
                rows.status = error_no_memory(err);
                continue;
            }
            if (room > 0)
                memcpy(grown, work->family, room * sizeof *grown);
            work->family = grown;
            room = more;
        }
        work->family[work->family_len++] = row_id(&rows)->id;
    }
    return db_done(&rows);
}

static enum status no_such_token(struct error *err)
{
    return error_set(err, STATUS_NOT_FOUND, "token_not_found", "", "there is no valid token with this id");
}

static enum status get(struct db_conn *conn, const struct token_work *work, const char *id, struct token *out,
                       struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, work->caller->arena, &rows, err, SQL_TOKEN_GET, BIND(TEXT(id))));
    const struct row_token *row = row_token(&rows);
    const char             *within = reach(work->caller);
    if (row == NULL || row->revoked_ms != 0 || (within[0] != '\0' && strcmp(within, row->project) != 0))
        return no_such_token(err);
    read_token(row, out);
    return STATUS_OK;
}

/* Revokes the token with all tokens that it made, and that those made. */
static enum status revoke(struct db_conn *conn, void *arg, struct error *err)
{
    struct token_work *work = arg;
    struct token       token;
    TRY(token_check_secret(conn, work->caller, err));
    TRY(get(conn, work, work->id, &token, err));
    TRY(read_family(conn, work, err));
    for (size_t i = 0; i < work->family_len; i++) {
        TRY(get(conn, work, work->family[i], &token, err));
        TRY(db_exec(conn, NULL, err, SQL_TOKEN_REVOKE, BIND(TEXT(token.id), INT(work->now_ms), TEXT(""))));
        TRY(log_token(conn, work, "token.revoked", &token, err));
    }
    return STATUS_OK;
}

void token_forget(struct app *app, const char *resource)
{
    cache_forget(app->tokens, NULL, resource, NULL);
}

void token_forget_project(struct app *app, const char *project)
{
    cache_forget(app->tokens, NULL, NULL, project);
}

enum status token_revoke(struct app *app, struct caller *caller, const char *id, struct error *err)
{
    struct token_work work = {.app = app, .caller = caller, .id = id, .now_ms = app->now_ms()};
    TRY(app_transact(app, caller, revoke, &work, err));
    for (size_t i = 0; i < work.family_len; i++)
        cache_forget(app->tokens, work.family[i], NULL, NULL);
    return STATUS_OK;
}

/* ---- another secret ---- */

static enum status see_hash(struct db_conn *conn, void *arg, struct error *err)
{
    struct token_work *work = arg;
    struct db_rows     rows;
    TRY(db_find(conn, work->caller->arena, &rows, err, SQL_TOKEN_GET, BIND(TEXT(work->id))));
    const struct row_token *row = row_token(&rows);
    work->seen = row != NULL && row->hash.length == SHA256_BYTES ? row->hash.bytes : NULL;
    return STATUS_OK;
}

/* The first of several that rotate a token at once has the new secret, and the others are told so. */
static enum status check_seen(struct db_conn *conn, const struct token_work *work, struct error *err)
{
    struct token_work now = *work;
    TRY(see_hash(conn, &now, err));
    if (now.seen != NULL && work->seen != NULL && digest_equal(now.seen, work->seen, SHA256_BYTES))
        return STATUS_OK;
    return error_set(err, STATUS_CONFLICT, "rotated_meanwhile", "",
                     "another request has given the token a new secret meanwhile");
}

/* Rotates the caller's own token, or one that it made: a token about to end must not get the secret of one that is not. */
static enum status rotate(struct db_conn *conn, void *arg, struct error *err)
{
    struct token_work *work = arg;
    const char        *id = work->id, *secret = work->secret;
    unsigned char      hash[SHA256_BYTES];
    bool               is_machine = work->caller->project[0] == '\0', is_below = is_machine;
    TRY(token_check_secret(conn, work->caller, err));
    TRY(get(conn, work, id, work->out, err));
    work->id = work->caller->token_id;
    TRY(read_family(conn, work, err));
    work->id = id;
    for (size_t i = 0; i < work->family_len; i++)
        is_below |= strcmp(work->family[i], id) == 0;
    if (!is_below)
        return no_such_token(err);
    TRY(check_seen(conn, work, err));
    snprintf(work->out->secret, sizeof work->out->secret, "%s", secret);
    work->out->previous_until_ms = work->now_ms + work->overlap_ms;
    sha256(secret, strlen(secret), hash);
    TRY(db_exec(conn, NULL, err, SQL_TOKEN_ROTATE,
                BIND(TEXT(id), BLOB(hash, sizeof hash), INT(work->out->previous_until_ms))));
    return log_token(conn, work, "token.rotated", work->out, err);
}

enum status token_rotate(struct app *app, struct caller *caller, const char *id, int64_t overlap_ms, struct token *out,
                         struct error *err)
{
    struct token      drawn = {.scope = SCOPE_NONE};
    struct token_work work = {.app = app,
                              .caller = caller,
                              .id = id,
                              .out = out,
                              .secret = drawn.secret,
                              .overlap_ms = overlap_ms,
                              .now_ms = app->now_ms()};
    snprintf(drawn.id, sizeof drawn.id, "%s", id);
    if (caller->scope == SCOPE_READ && caller_is_bound(caller))
        return error_set(
            err, STATUS_FORBIDDEN, "forbidden", "",
            "a token that reads one thing, as a shared link has, is rotated by who made it: others read by it");
    TRY(draw_secret(drawn.id, drawn.secret, err));
    TRY(db_read(app->db, see_hash, &work, err));
    TRY(app_transact(app, caller, rotate, &work, err));
    cache_forget(app->tokens, id, NULL, NULL);
    return STATUS_OK;
}

/* ---- when tokens were used ---- */

enum status token_note_uses(struct app *app, struct db_conn *conn, bool at_once, bool *more, struct error *err)
{
    enum { EVERY_MS = 60000, TOGETHER = 64 };
    struct token_cache *cache = app->tokens;
    struct use          uses[TOGETHER];
    int64_t             now_ms = app->monotonic_ms();
    if (!at_once && now_ms - cache->noted_ms < EVERY_MS)
        return STATUS_OK;
    size_t len = cache_take_uses(cache, uses, TOGETHER);
    for (size_t i = 0; i < len; i++)
        TRY(db_exec(conn, NULL, err, SQL_TOKEN_USED, BIND(TEXT(uses[i].id), INT(uses[i].at_ms))));
    *more |= len == TOGETHER;
    if (len < TOGETHER)
        cache->noted_ms = now_ms;
    return STATUS_OK;
}

enum status token_name(struct db_conn *conn, const struct caller *caller, const char **out, struct error *err)
{
    struct db_rows rows;
    *out = local;
    if (strcmp(caller->token_id, local) == 0)
        return STATUS_OK;
    TRY(db_find(conn, caller->arena, &rows, err, SQL_TOKEN_GET, BIND(TEXT(caller->token_id))));
    const struct row_token *row = row_token(&rows);
    *out = row == NULL ? NULL : row->name;
    return STATUS_OK;
}

static enum status find(struct db_conn *conn, void *arg, struct error *err)
{
    struct token_work *work = arg;
    struct db_rows     rows;
    TRY(db_find(conn, work->caller->arena, &rows, err, SQL_TOKEN_GET, BIND(TEXT(work->caller->token_id))));
    const struct row_token *row = row_token(&rows);
    if (row == NULL)
        return unauthorised(err);
    read_token(row, work->out);
    return STATUS_OK;
}

enum status token_find(struct app *app, struct caller *caller, struct token *out, struct error *err)
{
    struct token_work work = {.app = app, .caller = caller, .out = out};
    if (strcmp(caller->token_id, local) == 0) {
        *out = (struct token){.id = "local", .name = local, .scope = SCOPE_ADMIN};
        return STATUS_OK;
    }
    return db_read(app->db, find, &work, err);
}
