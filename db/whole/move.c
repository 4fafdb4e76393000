/* See move.h.  Tables and columns are those of the schema, values go as the driver of the one reads them to the driver of the
 * other: nothing here knows which.  Sums of rows are made by the target's writer as ever (driver.h: guard), for each database
 * has its own. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "db/whole/move.h"

#include "db/writer/chain.h"
#include "db/writer/conn.h"
#include "db/folder.h"
#include "db/whole/look.h"
#include "db/schema.h"

#include <ctype.h>
#include <errno.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE_ROWS = 100, KEYS_MAX = 8, KEY_BYTES = 1024, PATH_BYTES = 4096 };

/* ---- rows ---- */

/* A row's columns but its sum, as they are bound: of letters i, d, s and b. */
struct row {
    struct db_value values[SCHEMA_COLUMNS_MAX];
    int             len;
};
typedef enum status row_fn(void *arg, const struct row *row, struct error *err);

static bool is_sum(const struct schema_column *column)
{
    return strcmp(column->name, "sum") == 0;
}

/* For these types NULL cannot be told from 0 or from no bytes, so that the statement asks for it. */
static bool is_asked(const struct schema_column *column)
{
    return column->is_nullable && (column->letter == 'i' || column->letter == 'B');
}

static char bound_letter(char letter)
{
    return (char)tolower((unsigned char)letter);
}

static enum status read_row(const struct driver *driver, void *statement, const struct schema_table *table,
                            struct row *row, struct error *err)
{
    int at = 0;
    row->len = 0;
    for (int i = 0; i < table->len; i++) {
        const struct schema_column *column = &table->columns[i];
        struct db_value             value = {.letter = column->letter}, is_null = {.letter = 'i'};
        if (is_sum(column))
            continue;
        bool is_read = driver->column(statement, at++, &value);
        if (is_asked(column))
            is_read = driver->column(statement, at++, &is_null) && is_read;
        if (!is_read)
            return error_no_memory(err);
        if (value.letter == 'B' && is_null.is.i == 0 && value.is.b.length == 0)
            value.is.b.bytes = "";
        if (value.letter == 'i' && is_null.is.i != 0)
            value = (struct db_value){.letter = 's'};
        value.letter = bound_letter(value.letter);
        row->values[row->len++] = value;
    }
    return STATUS_OK;
}

/* ---- pages of a table ---- */

struct paging {
    const struct schema_table *table;
    row_fn                    *fn;
    void                      *arg;
    char                       letters[KEYS_MAX + 1]; /* of its key */
    struct db_value            after[KEYS_MAX];
    char                       texts[2][KEYS_MAX][KEY_BYTES]; /* of this page, and of the one before, which is bound */
    int                        turn, rows;                    /* of this page */
};

/* "a", "b" of the key, or of all columns where there is none. */
static void write_key(FILE *file, const struct schema_table *table, bool has_key)
{
    const char *between = "";
    for (int i = 0; i < table->len; i++) {
        if (is_sum(&table->columns[i]) || (has_key && !table->columns[i].is_key))
            continue;
        fprintf(file, "%s\"%s\"", between, table->columns[i].name);
        between = ", ";
    }
}

/* The rows behind a key, or from the first on, in the order of their keys; each is what was written.  What has no key are few
 * rows. */
static void write_select(FILE *file, const struct paging *paging, bool is_first)
{
    const struct schema_table *table = paging->table;
    bool                       has_sum = false, has_key = paging->letters[0] != '\0';
    fputs("SELECT ", file);
    for (int i = 0, written = 0; i < table->len; i++) {
        const struct schema_column *column = &table->columns[i];
        has_sum |= is_sum(column);
        if (is_sum(column))
            continue;
        fprintf(file, "%s\"%s\"", written++ > 0 ? ", " : "", column->name);
        if (is_asked(column))
            fprintf(file, ", \"%s\" IS NULL", column->name);
    }
    fprintf(file, " FROM %s t WHERE ", table->name);
    if (has_sum)
        fprintf(file, "row_check(%s t)", table->name);
    else
        fputs("1 = 1", file);
    if (!is_first) {
        fputs(" AND (", file);
        write_key(file, table, true);
        for (size_t i = 0; i < strlen(paging->letters); i++)
            fprintf(file, "%s$%zu", i > 0 ? ", " : ") > (", i + 1);
        fputc(')', file);
    }
    fputs(" ORDER BY ", file);
    write_key(file, table, has_key);
    if (has_key)
        fprintf(file, " LIMIT %d", PAGE_ROWS);
}

static void write_insert(FILE *file, const struct schema_table *table)
{
    int len = 0;
    fprintf(file, "INSERT INTO %s(", table->name);
    write_key(file, table, false); // all columns
    fputs(") VALUES (", file);
    for (int i = 0; i < table->len; i++)
        if (!is_sum(&table->columns[i]))
            fprintf(file, "%s$%d", len > 0 ? ", " : "", len + 1), len++;
    fputc(')', file);
}

/* The statement of a text, which is freed. */
static enum status prepare(struct db_conn *conn, char *text, bool is_written, const char *letters, void **out,
                           struct error *err)
{
    const struct sql_statement listed = {.name = "", .parameters = letters, .letters = "", .text = text};
    enum status status = is_written ? conn->driver->prepare(conn->handle, &listed, out, err) : error_no_memory(err);
    free(text);
    return status;
}

static enum status prepare_select(struct db_conn *conn, const struct paging *paging, bool is_first, void **out,
                                  struct error *err)
{
    char  *text = NULL;
    size_t bytes = 0;
    FILE  *file = open_memstream(&text, &bytes);
    if (file == NULL)
        return error_no_memory(err);
    write_select(file, paging, is_first);
    bool is_written = fclose(file) == 0;
    return prepare(conn, text, is_written, is_first ? "" : paging->letters, out, err);
}

/* Behind it the next page begins. */
static enum status keep_key(struct paging *paging, const struct row *row, struct error *err)
{
    int key = 0, at = 0;
    for (int i = 0; i < paging->table->len; i++) {
        const struct schema_column *column = &paging->table->columns[i];
        if (is_sum(column))
            continue;
        struct db_value value = row->values[at++];
        if (!column->is_key)
            continue;
        if (value.letter == 's' && snprintf(paging->texts[paging->turn][key], KEY_BYTES, "%s",
                                            value.is.s == NULL ? "" : value.is.s) >= KEY_BYTES)
            return error_set(err, STATUS_TOO_LARGE, "too_large", "", "a key of %s is too long", paging->table->name);
        if (value.letter == 's')
            value.is.s = paging->texts[paging->turn][key];
        paging->after[key++] = value;
    }
    return STATUS_OK;
}

static enum status read_page(struct db_conn *conn, void *statement, struct paging *paging, struct error *err)
{
    const struct driver *driver = conn->driver;
    struct row           row;
    enum status          status = STATUS_OK;
    bool                 is_there = true;
    for (paging->rows = 0; status == STATUS_OK; paging->rows++) {
        status = driver->step(statement, &is_there, err);
        if (status != STATUS_OK || !is_there)
            break;
        status = read_row(driver, statement, paging->table, &row, err);
        if (status == STATUS_OK)
            status = paging->fn(paging->arg, &row, err);
        if (status == STATUS_OK)
            status = keep_key(paging, &row, err);
    }
    driver->reset(statement);
    return status;
}

static enum status read_next(struct db_conn *conn, void *statement, struct paging *paging, struct error *err)
{
    enum status status = STATUS_OK;
    paging->turn = !paging->turn;
    for (int i = 0; paging->letters[i] != '\0' && status == STATUS_OK; i++)
        status = conn->driver->bind(statement, i + 1, &paging->after[i], err);
    return status == STATUS_OK ? read_page(conn, statement, paging, err) : status;
}

static enum status for_rows(struct db_conn *conn, const struct schema_table *table, row_fn *fn, void *arg,
                            struct error *err)
{
    struct paging paging = {.table = table, .fn = fn, .arg = arg};
    void         *first = NULL, *next = NULL;
    int           keys = 0;
    for (int i = 0; i < table->len; i++)
        if (table->columns[i].is_key && keys < KEYS_MAX)
            paging.letters[keys++] = bound_letter(table->columns[i].letter);
    enum status status = prepare_select(conn, &paging, true, &first, err);
    if (status == STATUS_OK && keys > 0)
        status = prepare_select(conn, &paging, false, &next, err);
    if (status == STATUS_OK)
        status = read_page(conn, first, &paging, err);
    while (status == STATUS_OK && keys > 0 && paging.rows == PAGE_ROWS)
        status = read_next(conn, next, &paging, err);
    if (first != NULL)
        conn->driver->finalize(first);
    if (next != NULL)
        conn->driver->finalize(next);
    return status;
}

/* ---- what a table holds ---- */

struct content {
    SHA256_CTX hash;
    int64_t    rows;
};

/* Whichever of the two zeros: SQLite has one. */
static void add_value(struct content *content, const struct db_value *value)
{
    unsigned char head[9] = {(unsigned char)value->letter};
    const void   *bytes = NULL;
    uint64_t      number = value->letter == 'i' ? (uint64_t)value->is.i : 0;
    size_t        length = 0;
    if (value->letter == 'd' && value->is.d != 0)
        memcpy(&number, &value->is.d, sizeof number);
    if (value->letter == 's' || value->letter == 'b') {
        bytes = value->letter == 's' ? (const void *)value->is.s : value->is.b.bytes;
        length = bytes == NULL ? 0 : value->letter == 's' ? strlen(value->is.s) : value->is.b.length;
        number = bytes == NULL ? UINT64_MAX : length;
    }
    for (int i = 0; i < 8; i++)
        head[1 + i] = (unsigned char)(number >> (8 * i));
    SHA256_Update(&content->hash, head, sizeof head);
    if (length > 0)
        SHA256_Update(&content->hash, bytes, length);
}

static enum status add_row(void *arg, const struct row *row, struct error *err)
{
    struct content *content = arg;
    (void)err;
    for (int i = 0; i < row->len; i++)
        add_value(content, &row->values[i]);
    content->rows++;
    return STATUS_OK;
}

static void end_content(struct content *content, char out[MOVE_DIGEST_BYTES])
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256_Final(digest, &content->hash);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

/* ---- copying ---- */

struct moving {
    struct db_move *move;
    struct db_conn *source;
    struct db_conn  target;
    char            folder[PATH_BYTES], part[PATH_BYTES]; /* of a target that is a file; "": it is none */
    struct witness  own, known;                           /* the source's witness in itself, and in its folder */
};

struct copying {
    struct db_conn *target;
    void           *insert;
    struct content  content;
};

static enum status copy_row(void *arg, const struct row *row, struct error *err)
{
    struct copying      *copying = arg;
    const struct driver *driver = copying->target->driver;
    bool                 any;
    enum status          status = STATUS_OK;
    for (int i = 0; i < row->len && status == STATUS_OK; i++)
        status = driver->bind(copying->insert, i + 1, &row->values[i], err);
    if (status == STATUS_OK)
        status = driver->run != NULL ? driver->run(copying->insert, err) : driver->step(copying->insert, &any, err);
    driver->reset(copying->insert);
    return status == STATUS_OK ? add_row(&copying->content, row, err) : status;
}

static enum status prepare_insert(struct db_conn *conn, const struct schema_table *table, void **out, struct error *err)
{
    char   letters[SCHEMA_COLUMNS_MAX + 1] = "", *text = NULL;
    size_t bytes = 0, len = 0;
    for (int i = 0; i < table->len; i++)
        if (!is_sum(&table->columns[i]))
            letters[len++] = table->columns[i].letter;
    FILE *file = open_memstream(&text, &bytes);
    if (file == NULL)
        return error_no_memory(err);
    write_insert(file, table);
    bool is_written = fclose(file) == 0;
    return prepare(conn, text, is_written, letters, out, err);
}

/* Compares with the database's own count. */
static enum status check_count(struct db_conn *conn, const char *table, int64_t rows, struct error *err)
{
    struct db_value count = {.letter = 'i'};
    char            text[SCHEMA_NAME_BYTES + 32];
    void           *statement = NULL;
    bool            is_there = false;
    snprintf(text, sizeof text, "SELECT count(*) FROM %s", table);
    TRY(conn->driver->prepare(conn->handle, &(struct sql_statement){.name = "", .parameters = "", .text = text},
                              &statement, err));
    enum status status = conn->driver->step(statement, &is_there, err);
    bool        is_same = is_there && conn->driver->column(statement, 0, &count) && count.is.i == rows;
    conn->driver->finalize(statement);
    if (status != STATUS_OK || is_same)
        return status;
    return error_set(err, STATUS_INTERNAL, "store_corrupt", "",
                     "%s has %lld rows, of which %lld were read: nothing was moved", table, (long long)count.is.i,
                     (long long)rows);
}

/* Without the rows that every new store begins with. */
static enum status copy_table(void *arg, const struct schema_table *table, struct error *err)
{
    struct moving *moving = arg;
    struct copying copying = {.target = &moving->target};
    struct content there = {.rows = 0};
    char           text[SCHEMA_NAME_BYTES + 16], digests[2][MOVE_DIGEST_BYTES];
    SHA256_Init(&copying.content.hash);
    SHA256_Init(&there.hash);
    snprintf(text, sizeof text, "DELETE FROM %s", table->name);
    TRY(conn_execute(&moving->target, text, err));
    TRY(prepare_insert(&moving->target, table, &copying.insert, err));
    enum status status = for_rows(moving->source, table, copy_row, &copying, err);
    if (status == STATUS_OK)
        status = db_settle(&moving->target, err);
    moving->target.driver->finalize(copying.insert);
    TRY(status);
    TRY(for_rows(&moving->target, table, add_row, &there, err));
    TRY(check_count(moving->source, table->name, copying.content.rows, err));
    TRY(check_count(&moving->target, table->name, there.rows, err));
    end_content(&copying.content, digests[0]);
    end_content(&there, digests[1]);
    if (copying.content.rows != there.rows || strcmp(digests[0], digests[1]) != 0)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "",
                         "%lld rows of %s, %.16s..., came as %lld, %.16s...: nothing was moved",
                         (long long)copying.content.rows, table->name, digests[0], (long long)there.rows, digests[1]);
    moving->move->say(moving->move->arg, table->name, there.rows, digests[0]);
    return STATUS_OK;
}

/* Binds rows to the log anew, for each database has its own digests; the log's lines and heads stay. */
static enum status end_log(struct db_conn *conn, struct error *err)
{
    struct chain_state state;
    TRY(chain_read(conn, &state, err));
    TRY(db_exec(conn, NULL, err, SQL_CHAIN_SET,
                BIND(INT(state.last.seq), BLOB(state.last.head, CHAIN_BYTES), INT(state.at_ms), BLOB("", 0))));
    TRY(db_settle(conn, err));
    TRY(conn->driver->gather(conn->handle, db_migrations.len, &conn->total,
                             err)); // the rows that a new store begins with went uncounted
    TRY(db_log_say(conn, "store.moved", err));
    return chain_seal(conn, err);
}

static enum status fill(struct moving *moving, struct error *err)
{
    struct db_conn      *conn = &moving->target;
    const struct driver *driver = conn->driver;
    const char          *place = moving->part[0] != '\0' ? moving->part : moving->move->to;
    int64_t              journal = 0;
    TRY(conn_open(conn, driver, place, DRIVER_READ_WRITE, "FULL", err));
    TRY(driver->lay(conn->handle, place, driver->migrations, err));
    TRY(driver->guard(conn->handle, &conn->total, conn->damaged, err));
    TRY(schema_tables(driver->migrations, copy_table, moving, err));
    TRY(driver->wake(conn->handle, err));
    TRY(db_exec(conn, NULL, err, SQL_WITNESS_ADVANCE, BIND(INT(moving->own.counter + 1))));
    TRY(end_log(conn, err));
    TRY(db_settle(conn, err));
    // COMMIT, not commit(), which asks a store that may not be there whether it was done: a repeated move finds out.
    TRY(driver->execute(conn->handle, "COMMIT", err));
    return driver->checkpoint(conn->handle, true, &journal, err);
}

/* ---- a target that is a folder ---- */

static enum status path_of(char out[PATH_BYTES], const char *folder, const char *name, struct error *err)
{
    return (size_t)snprintf(out, PATH_BYTES, "%s/%s", folder, name) < PATH_BYTES
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "path", "", "the path is too long");
}

/* Removes the files of a move that was cut off. */
static enum status clear_part(const struct moving *moving, struct error *err)
{
    static const char *const names[] = {"gnomon.db", "gnomon.db-wal", "gnomon.db-shm", "gnomon.db-journal"};
    char                     path[PATH_BYTES];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        TRY(path_of(path, moving->part, names[i], err));
        unlink(path);
    }
    rmdir(moving->part);
    return STATUS_OK;
}

/* Names the store once it is whole, after its witness. */
static enum status name_store(struct moving *moving, struct error *err)
{
    char           from[PATH_BYTES], to[PATH_BYTES];
    struct witness witness = moving->own;
    witness.counter++;
    TRY(path_of(from, moving->part, "gnomon.db", err));
    TRY(path_of(to, moving->folder, "gnomon.db", err));
    TRY(witness_write(moving->folder, &witness, false, err));
    if (rename(from, to) != 0)
        return error_set(err, STATUS_INTERNAL, "path", "", "cannot name %.120s: %s", to, strerror(errno));
    TRY(folder_sync(moving->folder, err));
    return clear_part(moving, err);
}

static enum status fill_folder(struct moving *moving, struct error *err)
{
    struct witness known, own = moving->own;
    own.counter++;
    TRY(witness_read(moving->folder, &known, err));
    if (known.store[0] != '\0' && witness_is_ahead(&known, &own, false))
        return error_set(err, STATUS_CONFLICT, "store_exists", "",
                         "%.120s has the witness of another store, or of a later state of this one", moving->folder);
    TRY(clear_part(moving, err));
    TRY(folder_make(moving->part, err));
    enum status status = fill(moving, err);
    conn_close(&moving->target);
    return status == STATUS_OK ? name_store(moving, err) : status;
}

/* ---- what is there ---- */

/* Whether a store has gone on from another one: it is the same store, and its log has that one's lines. */
struct following {
    struct witness     witness;
    struct chain_state chain;
    bool               follows;
};
static enum status follow(struct db_conn *conn, void *arg, struct error *err)
{
    struct following  *following = arg;
    struct witness     witness;
    struct chain_state chain;
    TRY(conn_witness(conn, &witness, err));
    TRY(chain_read(conn, &chain, err));
    struct chain_walk walk = {.at = chain.first, .until = following->chain.last.seq};
    if (strcmp(witness.store, following->witness.store) != 0 || chain.last.seq <= walk.until)
        return STATUS_OK;
    TRY(chain_walk(conn, &walk, INT64_MAX, err));
    following->follows =
        walk.at.seq == walk.until && memcmp(walk.at.head, following->chain.last.head, CHAIN_BYTES) == 0;
    return STATUS_OK;
}

static enum status check_there(struct moving *moving, const char *place, struct error *err)
{
    struct db_look  *look = NULL;
    struct following following = {.witness = moving->own};
    TRY(chain_read(moving->source, &following.chain, err));
    TRY(db_look_open(place, &look, err));
    enum status status = db_look_read(look, follow, &following, err);
    db_look_close(look);
    TRY(status);
    moving->move->was_done = following.follows;
    return following.follows ? STATUS_OK
                             : error_set(err, STATUS_CONFLICT, "store_exists", "", "another store is there already");
}

static enum status find_file(const struct moving *moving, bool *is_there, char path[PATH_BYTES], struct error *err)
{
    static const char *const names[] = {"gnomon.db-wal", "gnomon.db-journal", "gnomon.db"};
    struct stat              there;
    *is_there = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        TRY(path_of(path, moving->folder, names[i], err));
        *is_there |= lstat(path, &there) == 0;
    }
    return STATUS_OK;
}

static enum status find_store(const struct moving *moving, bool *is_there, char path[PATH_BYTES], struct error *err)
{
    struct db_schema schema;
    if (moving->part[0] != '\0')
        return find_file(moving, is_there, path, err);
    TRY(db_inspect(moving->move->to, &schema, err));
    snprintf(path, PATH_BYTES, "%s", moving->move->to);
    *is_there = schema.found > 0;
    return STATUS_OK;
}

/* ---- moving ---- */

/* A rolled-back source is refused: moving it would make its loss final. */
static enum status check_source(const struct moving *moving, struct error *err)
{
    bool is_file = !db_is_postgres(moving->move->from), is_same = strcmp(moving->known.store, moving->own.store) == 0;
    bool is_ahead = witness_is_ahead(&moving->known, &moving->own, !is_file) && (is_file || is_same);
    if (!is_ahead && moving->own.counter >= 0)
        return STATUS_OK;
    return error_set(err, STATUS_CONFLICT, "store_rolled_back", "",
                     "the store is an older copy, or was moved elsewhere: gnomon restore --help");
}

static enum status move_in(struct db_conn *conn, void *arg, struct error *err)
{
    struct moving *moving = arg;
    char           path[PATH_BYTES];
    bool           is_there;
    int            claim = -1;
    moving->source = conn;
    TRY(conn_witness(conn, &moving->own, err));
    TRY(find_store(moving, &is_there, path, err));
    if (is_there)
        return check_there(moving, path, err);
    TRY(check_source(moving, err));
    if (moving->part[0] != '\0')
        TRY(folder_claim(moving->folder, &claim, err));
    enum status status = moving->part[0] != '\0' ? fill_folder(moving, err) : fill(moving, err);
    conn_close(&moving->target);
    folder_release(claim);
    return status;
}

enum status db_move(struct db_move *move, struct error *err)
{
    struct moving   moving = {.move = move};
    struct db_look *look = NULL;
    bool            is_file = !db_is_postgres(move->from);
    moving.target.driver = is_file ? &driver_postgres : &driver_sqlite;
    if (!is_file) {
        TRY(path_of(moving.folder, move->to, "", err));
        TRY(path_of(moving.part, move->to, "gnomon.moving", err));
    }
    TRY(db_look_open(move->from, &look, err));
    enum status status = db_look_hold(look, err);
    if (status == STATUS_OK)
        status = witness_read(move->folder, &moving.known, err);
    if (status == STATUS_OK)
        status = db_look_read(look, move_in, &moving, err);
    if (status == STATUS_OK)
        status = db_look_leave(look, move->folder, &moving.own, err);
    db_look_close(look);
    return status;
}
