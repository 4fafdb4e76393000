/* The PostgreSQL driver: transactions and statements.
 *
 * Invariants:
 *  1. The session that writes has the lock of the schema from its beginning to its end, so one server writes.  A session in which
 *     nothing comes for ten seconds is ended by PostgreSQL, and its lock is free; what its server still sends changes nothing.
 *  2. Every commit leaves a number in the table store: how many servers had it before, and which commit of this one it is.  When
 *     the answer to a COMMIT does not come, the number says whether it was done: asked for with the lock, so that the old
 *     transaction is at its end.  (pg_xact_status would not do: a transaction's id is given again after a crash.)
 *  3. A server that gets the lock again, and finds that another one has counted since, ends.
 *  4. Rows lie in memory from the first step to reset. */
#include "db/postgres/db_postgres.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PARAMETERS_MAX = 64, NAME_BYTES = 16, UNKNOWN_TRIES = 300, UNKNOWN_PAUSE_MS = 200, EXIT_UNKNOWN = 70 };

static const char begin_read[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", begin_write[] = "BEGIN";
static const char savepoint_set[] = "SAVEPOINT job", savepoint_keep[] = "RELEASE job";

static void stop(const char *why)
{
    fprintf(stderr, "gnomon: %s; stopping\n", why);
    _exit(EXIT_UNKNOWN);
}

/* ---- connections ---- */

static bool pg_in_transaction(void *handle);

/* The next server need not wait for what this one remembers. */
static void say_goodbye(struct pg *pg)
{
    struct error why;
    if (pg->mark != 0 && pg->conn != NULL && !pg_in_transaction(pg) &&
        pg_send_text(pg, "UPDATE store SET mark = -mark", &why) != STATUS_OK)
        fprintf(stderr, "gnomon: %s\n", why.text);
}

static void pg_close(void *handle)
{
    struct pg *pg = handle;
    if (pg == NULL)
        return;
    say_goodbye(pg);
    pg_disconnect(pg);
    free((void *)pg->place);
    free(pg);
}

static enum status pg_open(const char *place, enum driver_mode mode, const char *synchronous, void **out,
                           struct error *err)
{
    struct pg *pg = calloc(1, sizeof *pg);
    if (pg == NULL)
        return error_no_memory(err);
    pg->driver = &driver_postgres;
    pg->mode = mode;
    pg->answer_ms = PG_ANSWER_MS;
    pg->is_hasty = strcmp(synchronous, "OFF") == 0;
    pg->place = strdup(place);
    enum status status = pg->place == NULL ? error_no_memory(err) : pg_connect(pg, err);
    if (status != STATUS_OK) {
        pg_close(pg);
        return status;
    }
    *out = pg;
    return STATUS_OK;
}

/* ---- transactions ---- */

static void put_off(struct pg *pg, const char *text)
{
    pg->waiting[pg->waiting_len++] = (struct pg_query){.text = text};
}

/* The session keeps digests of what was written (postgres.sql): they come with what is waited for next. */
static void let_tell(struct pg *pg)
{
    if (pg->is_untold && pg->total != NULL)
        put_off(pg, "SELECT tell_bound('', 0)");
    pg->is_untold = false;
}

/* Whether the transaction's BEGIN was never sent. */
static bool is_only_begun(const struct pg *pg)
{
    const char *first = pg->waiting_len > 0 ? pg->waiting[0].text : NULL;
    return first == begin_read || first == begin_write;
}

static bool pg_in_transaction(void *handle)
{
    struct pg *pg = handle;
    return pg->conn != NULL &&
           (is_only_begun(pg) || (!pg->is_ending && pq.PQtransactionStatus(pg->conn) != PQTRANS_IDLE));
}

/* Takes back the last query that was put off. */
static bool take_back(struct pg *pg, const char *text)
{
    bool is_last = pg->waiting_len > 0 && pg->waiting[pg->waiting_len - 1].text == text;
    pg->waiting_len -= is_last;
    return is_last;
}

/* Prepares, once, the statement that ends each transaction. */
static enum status prepare_own(struct pg *pg, struct error *err)
{
    enum status status = pg_send_text(pg, "PREPARE leave_mark(bigint) AS UPDATE store SET mark = $1", err);
    if (status == STATUS_OK)
        pg->own_link = pg->links;
    else
        pg_disconnect(pg); // which may have it
    return status;
}

static enum status pg_begin(void *handle, enum driver_mode mode, struct error *err)
{
    struct pg *pg = handle;
    if (pg->conn == NULL || pq.PQstatus(pg->conn) != CONNECTION_OK)
        TRY(pg_connect(pg, err));
    if (mode == DRIVER_READ_WRITE && pg->own_link != pg->links)
        TRY(prepare_own(pg, err));
    pg->is_untold = false;
    put_off(pg, mode == DRIVER_READ_WRITE ? begin_write : begin_read);
    return STATUS_OK;
}

static enum status pg_savepoint(void *handle, enum driver_savepoint what, struct error *err)
{
    struct pg *pg = handle;
    if (pg->conn == NULL)
        return pg_lost(err);
    if (what == SAVEPOINT_UNDO) // and the session keeps again what it had then
        pg->is_untold = true;
    if (what == SAVEPOINT_SET) {
        put_off(pg, savepoint_set);
    } else if (take_back(pg, savepoint_set)) {
        return STATUS_OK; // nothing was done since
    } else if (what == SAVEPOINT_KEEP) {
        put_off(pg, savepoint_keep);
        return pg->unread > 0 ? pg_settle(pg, err) : STATUS_OK; // what failed is not the next one's failure
    } else {
        struct error why;
        if (pg->unread > 0 && pg_settle(pg, &why) != STATUS_OK && pg->conn == NULL)
            return pg_lost(err);
        put_off(pg, "ROLLBACK TO job");
        put_off(pg, savepoint_keep);
    }
    return STATUS_OK;
}

static enum status send_plain(struct pg *pg, const struct pg_query *queries, int len, struct error *err)
{
    PGresult *result;
    TRY(pg_send(pg, queries, len, &result, err));
    pq.PQclear(result);
    return STATUS_OK;
}

/* Finds out whether the commit with this number was done; waits as long as the database does not answer. */
static enum status find_out(struct pg *pg, int64_t mark, struct error *err)
{
    for (int tries = 0; pg_connect(pg, err) != STATUS_OK; tries++) {
        if (tries == UNKNOWN_TRIES)
            stop("the database did not say whether it committed");
        nanosleep(&(struct timespec){.tv_nsec = UNKNOWN_PAUSE_MS * 1000000}, NULL);
    }
    return pg->seen == mark ? STATUS_OK : pg_lost(err);
}

static enum status pg_commit(void *handle, struct error *err)
{
    struct pg *pg = handle;
    char       text[24];
    pg->is_untold = false;
    if (is_only_begun(pg)) {
        pg->waiting_len = 0;
        return STATUS_OK;
    }
    if (pg->conn == NULL)
        return pg_lost(err);
    if (pg->mode != DRIVER_READ_WRITE) {
        if (pg->unread > 0) // a reader that came to write is to hear of it
            TRY(pg_settle(pg, err));
        return pg_end(pg, err);
    }
    int64_t mark = ++pg->mark;
    snprintf(text, sizeof text, "%lld", (long long)mark);
    const struct pg_query queries[] = {{.name = "leave_mark", .len = 1, .values = (const char *const[]){text}},
                                       {.text = "COMMIT"}};
    enum status           status = send_plain(pg, queries, 2, err);
    return status != STATUS_OK && pg->conn == NULL ? find_out(pg, mark, err) : status;
}

static enum status pg_roll_back(void *handle, struct error *err)
{
    struct pg *pg = handle;
    bool       is_sent = !is_only_begun(pg);
    pg->waiting_len = 0;
    pg->is_untold = false;
    if (!is_sent || !pg_in_transaction(pg))
        return STATUS_OK;
    struct error why;
    if (pg_settle(pg, &why) != STATUS_OK && pg->conn == NULL) // or it would be skipped after a failed statement
        return STATUS_OK;
    enum status status = send_plain(pg, &(struct pg_query){.text = "ROLLBACK"}, 1, err);
    return pg->conn == NULL ? STATUS_OK : status;
}

static enum status pg_execute(void *handle, const char *text, struct error *err)
{
    ((struct pg *)handle)->is_untold = true;
    return pg_send_text(handle, text, err);
}

/* ---- statements ---- */

struct pg_statement {
    struct pg    *pg;
    char          name[NAME_BYTES], *text;
    bool          is_for_once, is_read;
    unsigned      link; /* the connection that it is prepared on */
    const char   *letters;
    int           len, row;
    PGresult     *result;
    const char   *values[PARAMETERS_MAX];
    int           lengths[PARAMETERS_MAX], formats[PARAMETERS_MAX];
    unsigned char numbers[PARAMETERS_MAX][8];
};

/* Replacements for words of the common subset. */
static const struct {
    const char *own, *theirs;
} dialect[] = {
    // the rows are found by it
    {"number IN (SELECT number FROM trial INDEXED BY trial_by_lease WHERE study = $1 AND ", "("},
    {" AS BLOB)", " AS BYTEA)"},
    {"lower(", "ascii_lower("},
    {"instr(", "strpos("},
};

/* "row_see(trial t)" is "row_see(t)" here; false: the text goes on with another word. */
static bool write_row_call(const char **text, FILE *file)
{
    size_t length = strncmp(*text, "row_check(", 10) == 0 ? 10 : strncmp(*text, "row_see(", 8) == 0 ? 8 : 0;
    if (length == 0)
        return false;
    fwrite(*text, 1, length, file);
    *text += length + strcspn(*text + length, " ");
    return true;
}

static bool write_word(const char **text, FILE *file)
{
    for (size_t i = 0; i < sizeof dialect / sizeof *dialect; i++) {
        size_t length = strlen(dialect[i].own);
        if (strncmp(*text, dialect[i].own, length) != 0)
            continue;
        fputs(dialect[i].theirs, file);
        *text += length;
        return true;
    }
    return write_row_call(text, file);
}

/* A $ alone is the one after the last. */
static enum status write_own(const char *text, char **out, struct error *err)
{
    size_t bytes = 0;
    int    last = 0;
    FILE  *file = open_memstream(out, &bytes);
    if (file == NULL)
        return error_no_memory(err);
    while (*text != '\0') {
        if (write_word(&text, file))
            continue;
        if (*text != '$') {
            fputc(*text++, file);
            continue;
        }
        char *end;
        last = isdigit((unsigned char)text[1]) ? (int)strtol(text + 1, &end, 10) : last + 1;
        fprintf(file, "$%d", last);
        text = isdigit((unsigned char)text[1]) ? end : text + 1;
    }
    bool is_good = ferror(file) == 0;
    return fclose(file) == 0 && is_good ? STATUS_OK : error_no_memory(err);
}

static void pg_reset(void *of)
{
    struct pg_statement *statement = of;
    if (statement->result != NULL) // else libpq may not be loaded yet
        pq.PQclear(statement->result);
    statement->result = NULL;
    memset(statement->values, 0, sizeof statement->values);
}

static void pg_finalize(void *of)
{
    struct pg_statement *statement = of;
    struct pg           *pg = statement->pg;
    struct error         why;
    char                 text[PG_TEXT_BYTES];
    snprintf(text, sizeof text, "DEALLOCATE %s", statement->name);
    pg_reset(statement);
    bool        is_there = statement->is_for_once && pg->conn != NULL && statement->link == pg->links;
    enum status status = is_there ? pg_send_text(pg, text, &why) : STATUS_OK;
    (void)status; // what is not dropped now goes with the connection
    free(statement->text);
    free(statement);
}

static enum status prepare(struct pg_statement *statement, struct error *err)
{
    struct pg *pg = statement->pg;
    if (pg->conn != NULL && statement->link == pg->links)
        return STATUS_OK;
    TRY(pg_send_prepare(pg, statement->name, statement->text, statement->letters, err));
    statement->link = pg->links;
    return STATUS_OK;
}

/* A connection that was lost while nobody looked is found with the first statement of a transaction, and nothing is lost
 * with it: the transaction, as it was before that, begins again on a new one. */
static enum status begin_again(struct pg *pg, const struct pg *before, enum status status, struct error *err)
{
    if (pg->conn != NULL || !is_only_begun(before))
        return status;
    pg->waiting_len = 0;
    return pg_begin(pg, pg->mode, err);
}

static enum status pg_prepare(void *handle, const struct sql_statement *listed, void **out, struct error *err)
{
    struct pg           *pg = handle;
    struct pg_statement *statement = calloc(1, sizeof *statement);
    if (statement == NULL)
        return error_no_memory(err);
    statement->pg = pg;
    statement->letters = listed->parameters;
    statement->len = (int)strlen(listed->parameters);
    snprintf(statement->name, sizeof statement->name, "s%u", pg->prepared++);
    statement->is_for_once = listed->name[0] == '\0';
    statement->is_read = strncmp(listed->text, "SELECT ", 7) == 0;
    enum status status = statement->len > PARAMETERS_MAX
                             ? error_set(err, STATUS_INTERNAL, "store_error", "", "too many parameters")
                             : write_own(listed->text, &statement->text, err);
    struct pg   before = *pg;
    if (status == STATUS_OK && (status = prepare(statement, err)) != STATUS_OK &&
        (status = begin_again(pg, &before, status, err)) == STATUS_OK)
        status = prepare(statement, err);
    if (status != STATUS_OK) {
        pg_finalize(statement);
        return status;
    }
    *out = statement;
    return STATUS_OK;
}

/* Numbers go as their bytes, the greatest first. */
static void put_number(struct pg_statement *statement, int i, uint64_t bits)
{
    for (int k = 0; k < 8; k++)
        statement->numbers[i][k] = (unsigned char)(bits >> (56 - 8 * k));
    statement->values[i] = (const char *)statement->numbers[i];
    statement->lengths[i] = 8;
}

static enum status pg_bind(void *of, int index, const struct db_value *value, struct error *err)
{
    struct pg_statement *statement = of;
    int                  i = index - 1;
    uint64_t             bits;
    if (i >= statement->len || (value->letter == 'b' && value->is.b.length > INT32_MAX))
        return error_set(err, STATUS_TOO_LARGE, "too_large", "", "store: a value is too large");
    statement->formats[i] = 1;
    statement->values[i] = NULL;
    if (value->letter == 'i') {
        put_number(statement, i, (uint64_t)value->is.i);
    } else if (value->letter == 'd' && !isnan(value->is.d)) {
        memcpy(&bits, &value->is.d, sizeof bits);
        put_number(statement, i, bits);
    } else if (value->letter == 's' && value->is.s != NULL) {
        statement->values[i] = value->is.s;
        statement->lengths[i] = (int)strlen(value->is.s);
    } else if (value->letter == 'b') {
        statement->values[i] = value->is.b.bytes;
        statement->lengths[i] = (int)value->is.b.length;
    }
    return STATUS_OK;
}

static struct pg_query query_of(const struct pg_statement *statement)
{
    return (struct pg_query){.name = statement->name,
                             .len = statement->len,
                             .values = statement->values,
                             .lengths = statement->lengths,
                             .formats = statement->formats};
}

static enum status send_statement(struct pg_statement *statement, struct error *err)
{
    TRY(prepare(statement, err));
    if (statement->is_read)
        let_tell(statement->pg);
    else
        statement->pg->is_untold = true;
    const struct pg_query query = query_of(statement);
    return pg_send(statement->pg, &query, 1, &statement->result, err);
}

static enum status pg_run(void *of, struct error *err)
{
    struct pg_statement *statement = of;
    statement->pg->is_untold = true;
    TRY(prepare(statement, err));
    const struct pg_query query = query_of(statement);
    return pg_put_off(statement->pg, &query, err);
}

static enum status run(struct pg_statement *statement, struct error *err)
{
    struct pg         *pg = statement->pg;
    struct pg          before = *pg;
    const struct total total = pg->total != NULL ? *pg->total : (struct total){{0}};
    enum status        status = send_statement(statement, err);
    if (status == STATUS_OK)
        return STATUS_OK;
    TRY(begin_again(pg, &before, status, err));
    if (pg->total != NULL) // sums of this statement may have come
        *pg->total = total;
    return send_statement(statement, err);
}

static enum status pg_settle_all(void *handle, struct error *err)
{
    let_tell(handle);
    return pg_settle(handle, err);
}

static enum status pg_step(void *of, bool *row, struct error *err)
{
    struct pg_statement *statement = of;
    *row = false;
    if (statement->result == NULL) {
        TRY(run(statement, err));
        statement->row = -1;
        statement->pg->changes = strtoll(pq.PQcmdTuples(statement->result), NULL, 10);
    }
    *row = ++statement->row < pq.PQntuples(statement->result);
    return STATUS_OK;
}

/* Reads an integer of any width. */
static int64_t read_integer(const unsigned char *bytes, int length)
{
    uint64_t bits = length > 0 && bytes[0] >= 0x80 ? UINT64_MAX : 0;
    for (int i = 0; i < length; i++)
        bits = bits << 8 | bytes[i];
    return (int64_t)bits;
}

static bool pg_column(void *of, int column, struct db_value *value)
{
    struct pg_statement *statement = of;
    const PGresult      *result = statement->result;
    bool                 is_null = pq.PQgetisnull(result, statement->row, column) != 0;
    const char          *bytes = is_null ? NULL : pq.PQgetvalue(result, statement->row, column);
    int                  length = is_null ? 0 : pq.PQgetlength(result, statement->row, column);
    int64_t              bits = bytes != NULL && length <= 8 ? read_integer((const unsigned char *)bytes, length) : 0;
    switch (value->letter) {
    case 'i':
    case 'I':
        value->is.i = bits;
        return length <= 8;
    case 'd':
    case 'D':
        memcpy(&value->is.d, &bits, sizeof bits);
        if (is_null)
            value->is.d = value->letter == 'D' ? (double)NAN : 0.0;
        return is_null || length == 8;
    case 's':
    case 'S':
        value->is.s = bytes;
        return bytes != NULL || value->letter == 'S';
    default:
        value->is.b.bytes = length > 0 ? bytes : NULL;
        value->is.b.length = (size_t)length;
        return true;
    }
}

static int64_t pg_changes(void *handle)
{
    return ((struct pg *)handle)->changes;
}

/* ---- what is PostgreSQL's own affair ---- */

static enum status pg_beat(void *handle, struct error *err)
{
    struct pg *pg = handle;
    int64_t    one;
    if (pg->conn == NULL || pq.PQstatus(pg->conn) != CONNECTION_OK)
        return pg_connect(pg, err);
    if (pg_in_transaction(pg))
        return STATUS_OK;
    pg->answer_ms = PG_SILENT_MS;
    enum status status = pg_ask(pg, "SELECT 1", &one, err);
    pg->answer_ms = PG_ANSWER_MS;
    return status;
}

static void pg_journal_watch(void *handle, int64_t *bytes)
{
    (void)handle;
    *bytes = 0;
}

static enum status pg_checkpoint(void *handle, bool truncate, int64_t *bytes, struct error *err)
{
    (void)handle, (void)truncate, (void)err;
    *bytes = 0;
    return STATUS_OK;
}

static enum status pg_renew(void *handle, int64_t bytes_max, struct error *err)
{
    (void)handle, (void)bytes_max, (void)err;
    return STATUS_OK;
}

static enum status pg_quick(void *handle, const char *place, struct error *err)
{
    (void)handle, (void)place, (void)err;
    return STATUS_OK;
}

static enum status pg_examine(void *handle, driver_say *say, void *arg, struct error *err)
{
    (void)handle, (void)say, (void)arg, (void)err;
    return STATUS_OK;
}

/* ---- a store that is looked at ---- */

static enum status pg_look(const char *place, const struct migrations *all, struct driver_look *out, struct error *err)
{
    struct db_schema schema;
    *out = (struct driver_look){.claim = -1};
    TRY(pg_inspect(place, all, &schema, err));
    if (schema.found == 0)
        return error_set(err, STATUS_NOT_FOUND, "no_store", "", "there is no store in the database");
    out->version = schema.found;
    TRY(pg_open(place, DRIVER_READ_ONLY, "FULL", &out->handle, err));
    return pg_begin(out->handle, DRIVER_READ_ONLY, err);
}

/* A server that begins now does not get it.  What is seen is seen from then on. */
static enum status pg_hold(struct driver_look *look, struct error *err)
{
    struct pg *pg = look->handle;
    int64_t    is_had;
    TRY(pg_roll_back(pg, err));
    TRY(pg_ask(pg, PG_TRY_LOCK, &is_had, err));
    if (is_had == 0)
        return error_set(err, STATUS_BUSY, "locked", "", "a server has the database's store: stop it first");
    return pg_begin(pg, DRIVER_READ_ONLY, err);
}

/* Behind what any witness has seen. */
static enum status pg_leave(struct driver_look *look, struct error *err)
{
    TRY(pg_roll_back(look->handle, err));
    return pg_send_text(look->handle, PG_LEAVE, err);
}

const struct driver driver_postgres = {
    .name = "postgres",
    .migrations = &db_migrations,
    .inspect = pg_inspect,
    .migrate = pg_migrate,
    .open = pg_open,
    .close = pg_close,
    .begin = pg_begin,
    .savepoint = pg_savepoint,
    .commit = pg_commit,
    .roll_back = pg_roll_back,
    .execute = pg_execute,
    .prepare = pg_prepare,
    .finalize = pg_finalize,
    .bind = pg_bind,
    .run = pg_run,
    .settle = pg_settle_all,
    .step = pg_step,
    .reset = pg_reset,
    .column = pg_column,
    .changes = pg_changes,
    .in_transaction = pg_in_transaction,
    .journal_watch = pg_journal_watch,
    .checkpoint = pg_checkpoint,
    .look = pg_look,
    .hold = pg_hold,
    .leave = pg_leave,
    .lay = pg_lay,
    .wake = pg_wake,
    .examine = pg_examine,
    .quick = pg_quick,
    .renew = pg_renew,
    .guard = pg_guard,
    .scan = pg_scan,
    .gather = pg_gather,
    .damaged = pg_damaged,
    .beat = pg_beat,
};
