/* See chain.h.  The functions of sha.h allocate nothing and do not fail (service/base/digest.c). */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "db/writer/chain.h"
#include "db/writer/conn.h"

#include <openssl/sha.h>
#include <string.h>
#include <time.h>

/* ---- a line ---- */

static void add_number(SHA256_CTX *to, int64_t number)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)number >> (56 - 8 * i));
    SHA256_Update(to, bytes, sizeof bytes);
}

/* NULL has the length -1. */
static void add_bytes(SHA256_CTX *to, const void *bytes, size_t length)
{
    add_number(to, bytes == NULL ? -1 : (int64_t)length);
    if (bytes != NULL)
        SHA256_Update(to, bytes, length);
}

static void add_text(SHA256_CTX *to, const char *text)
{
    add_bytes(to, text, text == NULL ? 0 : strlen(text));
}

static void digest_words(const char *words, const struct db_blob *salt, unsigned char out[CHAIN_BYTES])
{
    SHA256_CTX own;
    SHA256_Init(&own);
    SHA256_Update(&own, salt->bytes, salt->length);
    SHA256_Update(&own, words, strlen(words));
    SHA256_Final(out, &own);
}

static void add_words(SHA256_CTX *to, const struct row_line *line)
{
    unsigned char digest[CHAIN_BYTES];
    if (line->detail == NULL) {
        add_bytes(to, line->erased.bytes, line->erased.length);
        return;
    }
    digest_words(line->detail, &line->salt, digest);
    add_bytes(to, digest, sizeof digest);
}

static void digest_line(const struct row_line *line, unsigned char out[CHAIN_BYTES])
{
    SHA256_CTX own;
    SHA256_Init(&own);
    add_number(&own, line->at_ms);
    add_text(&own, line->kind);
    add_text(&own, line->study);
    add_text(&own, line->project);
    add_number(&own, line->revision);
    add_number(&own, line->trial);
    add_text(&own, line->actor);
    add_words(&own, line);
    add_bytes(&own, line->bound.bytes, line->bound.length);
    SHA256_Final(out, &own);
}

/* By one line. */
static void go_on(struct chain_place *at, const unsigned char digest[CHAIN_BYTES])
{
    static const char purpose[16] = "gnomon/log/v1";
    SHA256_CTX        own;
    at->seq++;
    SHA256_Init(&own);
    SHA256_Update(&own, purpose, sizeof purpose);
    add_number(&own, at->seq);
    SHA256_Update(&own, at->head, sizeof at->head);
    SHA256_Update(&own, digest, CHAIN_BYTES);
    SHA256_Final(at->head, &own);
}

/* ---- the chain ---- */

static bool take_head(const struct db_blob *from, unsigned char out[CHAIN_BYTES])
{
    if (from->length == CHAIN_BYTES)
        memcpy(out, from->bytes, CHAIN_BYTES);
    return from->length == CHAIN_BYTES;
}

enum status chain_read(struct db_conn *conn, struct chain_state *out, struct error *err)
{
    struct db_rows          rows = db_query(conn, NULL, err, SQL_CHAIN_GET, BIND_NONE);
    const struct row_chain *row = db_next(&rows) ? row_chain(&rows) : NULL;
    *out = (struct chain_state){.at_ms = 0};
    bool is_whole = row != NULL && take_head(&row->first_head, out->first.head) &&
                    take_head(&row->head, out->last.head) &&
                    total_read(row->total.bytes, row->total.length, &out->total);
    if (is_whole) {
        out->first.seq = row->first_seq;
        out->last.seq = row->seq;
        out->at_ms = row->at_ms;
        out->newest = row->newest;
        out->has_total = row->total.length > 0;
    } else if (rows.status == STATUS_OK) {
        rows.status = error_set(err, STATUS_INTERNAL, "store_corrupt", "", "the log's chain has no head");
    }
    return db_done(&rows);
}

static enum status see(struct chain_walk *walk, const unsigned char digest[CHAIN_BYTES], struct error *err)
{
    go_on(&walk->at, digest);
    return walk->see == NULL ? STATUS_OK : walk->see(walk->arg, &walk->at, err);
}

/* Over the next lines that went. */
static enum status pass_gap(struct db_conn *conn, struct chain_walk *walk, struct error *err)
{
    struct db_rows        rows = db_query(conn, NULL, err, SQL_CHAIN_GAP, BIND(INT(walk->at.seq + 1)));
    const struct row_gap *gap = db_next(&rows) ? row_gap(&rows) : NULL;
    int64_t               lines = gap == NULL ? 0 : gap->last - walk->at.seq;
    if (rows.status == STATUS_OK && (lines < 1 || gap->digests.length != (size_t)lines * CHAIN_BYTES))
        rows.status = error_set(err, STATUS_INTERNAL, "store_corrupt", "", "the log lacks line %lld",
                                (long long)walk->at.seq + 1);
    for (int64_t i = 0; i < lines && rows.status == STATUS_OK; i++)
        rows.status = see(walk, (const unsigned char *)gap->digests.bytes + i * CHAIN_BYTES, err);
    walk->gone += lines;
    return db_done(&rows);
}

static enum status pass_line(struct db_conn *conn, struct chain_walk *walk, const struct row_line *line,
                             struct error *err)
{
    unsigned char digest[CHAIN_BYTES];
    while (walk->at.seq + 1 < line->seq)
        TRY(pass_gap(conn, walk, err));
    if (walk->at.seq + 1 > line->seq)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "the log has line %lld, which went",
                         (long long)line->seq);
    if (line->bound.length == CHAIN_BYTES) {
        memcpy(walk->bound, line->bound.bytes, CHAIN_BYTES);
        walk->has_bound = true;
    }
    walk->at_ms = line->at_ms;
    digest_line(line, digest);
    return see(walk, digest, err);
}

enum status chain_walk(struct db_conn *conn, struct chain_walk *walk, int64_t lines_max, struct error *err)
{
    struct db_rows rows =
        db_query(conn, NULL, err, SQL_CHAIN_LINES, BIND(INT(walk->at.seq), INT(walk->until), INT(lines_max)));
    for (; db_next(&rows); lines_max--)
        rows.status = pass_line(conn, walk, row_line(&rows), err);
    TRY(db_done(&rows));
    while (lines_max > 0 && walk->until < INT64_MAX && walk->at.seq < walk->until) // no line is left before it
        TRY(pass_gap(conn, walk, err));
    return STATUS_OK;
}

void chain_digest_total(const struct total *total, unsigned char out[CHAIN_BYTES])
{
    unsigned char bytes[TOTAL_BYTES];
    SHA256_CTX    own;
    total_write(total, bytes);
    SHA256_Init(&own);
    SHA256_Update(&own, bytes, sizeof bytes);
    SHA256_Final(out, &own);
}

/* ---- the end of the log, in a transaction ---- */

enum status chain_begin(struct db_conn *conn, struct error *err)
{
    struct chain_end  *log = &conn->log;
    struct chain_state state;
    if (log->is_known)
        return STATUS_OK;
    TRY(chain_read(conn, &state, err));
    struct chain_walk walk = {.at = state.last, .until = state.newest};
    if (state.newest > state.last.seq) // an earlier program left some
        TRY(chain_walk(conn, &walk, INT64_MAX, err));
    log->is_known = true;
    log->sealed = state.last.seq;
    log->at = walk.at;
    log->at_ms = walk.at_ms;
    log->total = state.total;
    return STATUS_OK;
}

enum status chain_check_total(struct db_conn *conn, const struct chain_state *state, struct error *err)
{
    unsigned char          digest[CHAIN_BYTES];
    struct db_rows         rows = db_query(conn, NULL, err, SQL_CHAIN_BOUND, BIND_NONE);
    const struct row_blob *row = db_next(&rows) ? row_blob(&rows) : NULL;
    chain_digest_total(&state->total, digest);
    if (rows.status == STATUS_OK && !state->has_total)
        rows.status = error_set(err, STATUS_INTERNAL, "store_corrupt", "",
                                "the total of the rows is gone, which no server leaves behind: restore a backup");
    else if (row != NULL && (row->data.length != CHAIN_BYTES || memcmp(row->data.bytes, digest, CHAIN_BYTES) != 0))
        rows.status =
            error_set(err, STATUS_INTERNAL, "store_corrupt", "",
                      "the total of the rows is not the one that the log vouches for: see gnomon verify --data");
    return db_done(&rows);
}

static enum status settle(struct db_conn *conn, struct error *err)
{
    unsigned char          digest[CHAIN_BYTES];
    const struct row_line *from = conn->log.last;
    if (from == NULL)
        return STATUS_OK;
    digest_line(from, digest);
    go_on(&conn->log.at, digest);
    conn->log.at_ms = from->at_ms;
    conn->log.last = NULL;
    return db_exec(conn, NULL, err, SQL_EVENT_ADD,
                   BIND(INT(conn->log.at.seq), INT(from->at_ms), TEXT(from->project),
                        EVENT_MEMBERS(SAVE) BLOB(from->salt.bytes, from->salt.length),
                        BLOB(from->bound.bytes, from->bound.length)));
}

static const char *copy(struct arena *arena, const char *text, bool *is_whole)
{
    char *own = text == NULL ? NULL : arena_strndup(arena, text, strlen(text));
    *is_whole = *is_whole && (own != NULL || text == NULL);
    return own;
}

enum status db_log_add(struct db_conn *conn, const struct row_line *line, struct error *err)
{
    struct arena *arena = &conn->lines;
    TRY(chain_begin(conn, err));
    TRY(settle(conn, err));
    arena_release(arena, conn->of_job);
    struct row_line *own = ARENA_NEW(arena, struct row_line, 1);
    void            *salt = arena_alloc(arena, line->salt.length + 1, 1);
    bool             is_whole = own != NULL && salt != NULL;
    if (!is_whole)
        return error_no_memory(err);
    *own = *line;
    own->kind = copy(arena, line->kind, &is_whole);
    own->study = copy(arena, line->study, &is_whole);
    own->project = copy(arena, line->project, &is_whole);
    own->actor = copy(arena, line->actor, &is_whole);
    own->detail = copy(arena, line->detail, &is_whole);
    if (line->salt.bytes != NULL)
        own->salt.bytes = memcpy(salt, line->salt.bytes, line->salt.length);
    if (!is_whole)
        return error_no_memory(err);
    conn->log.last = own;
    conn->log.settle = settle;
    return STATUS_OK;
}

enum status db_log_say(struct db_conn *conn, const char *kind, struct error *err)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const struct row_line line = {
        .at_ms = now.tv_sec * 1000 + now.tv_nsec / 1000000, .project = "prj_default", .kind = kind, .actor = "local"};
    return db_log_add(conn, &line, err);
}

enum status chain_seal(struct db_conn *conn, struct error *err)
{
    struct chain_end *log = &conn->log;
    unsigned char     total[TOTAL_BYTES], digest[CHAIN_BYTES];
    TRY(chain_begin(conn, err));
    TRY(db_settle(conn, err)); // all changes are known now
    bool has_changed = !total_is_zero(&conn->total);
    bool is_empty = log->last == NULL && log->at.seq == 0; // its first line will do
    if (has_changed && log->last == NULL && !is_empty)
        TRY(db_log_say(conn, "store.changed", err));
    total_add(&log->total, &conn->total);
    chain_digest_total(&log->total, digest);
    if (has_changed && !is_empty)
        log->last->bound = (struct db_blob){.bytes = digest, .length = CHAIN_BYTES};
    TRY(settle(conn, err));
    if (log->at.seq == log->sealed && !(has_changed && is_empty))
        return STATUS_OK;
    total_write(&log->total, total);
    conn->total = (struct total){{0}};
    return db_exec(conn, NULL, err, SQL_CHAIN_SET,
                   BIND(INT(log->at.seq), BLOB(log->at.head, CHAIN_BYTES), INT(log->at_ms), BLOB(total, sizeof total)));
}

/* ---- what goes ---- */

enum status db_log_erase(struct db_conn *conn, const char *study, struct error *err)
{
    unsigned char  digest[CHAIN_BYTES];
    struct db_rows rows = db_query(conn, NULL, err, SQL_EVENT_WORDS, BIND(TEXT(study)));
    while (db_next(&rows)) {
        const struct row_words *row = row_words(&rows);
        digest_words(row->detail, &row->salt, digest);
        rows.status = db_exec(conn, NULL, err, SQL_EVENT_BLANK, BIND(INT(row->seq), BLOB(digest, sizeof digest)));
    }
    return db_done(&rows);
}

enum status db_log_drop(struct db_conn *conn, int64_t first, int64_t last, struct error *err)
{
    unsigned char  digests[CHAIN_DROP_MAX][CHAIN_BYTES];
    int64_t        next = first;
    struct db_rows rows =
        db_query(conn, NULL, err, SQL_CHAIN_LINES, BIND(INT(first - 1), INT(last), INT(CHAIN_DROP_MAX)));
    while (db_next(&rows)) {
        const struct row_line *line = row_line(&rows);
        if (line->seq == next)
            digest_line(line, digests[next++ - first]);
        else
            rows.status =
                error_set(err, STATUS_INTERNAL, "store_corrupt", "", "the log lacks line %lld", (long long)next);
    }
    TRY(db_done(&rows));
    if (next == first)
        return STATUS_OK;
    TRY(db_exec(conn, NULL, err, SQL_LOG_GAP_ADD,
                BIND(INT(first), INT(next - 1), BLOB(digests, (size_t)(next - first) * CHAIN_BYTES))));
    TRY(db_exec(conn, NULL, err, SQL_LOG_GONE_ADD, BIND(INT(first), INT(next - 1))));
    return db_exec(conn, NULL, err, SQL_LOG_DROP, BIND(INT(first), INT(next - 1)));
}
