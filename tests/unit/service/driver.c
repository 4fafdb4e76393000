/* The contract of every database (db/driver.h): a suite that is run on each of them. */
#include "db/driver.h"
#include "db/schema.h"
#include "tests/unit/service/database.h"
#include "tests/unit/service/suites.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A fresh store with its writer and a reader. */
struct store {
    const struct driver *driver;
    char                 folder[64], place[DATABASE_BYTES];
    void                *writer, *reader;
    struct error         err;
};

#define MUST(call) CU_ASSERT_EQUAL_FATAL(call, STATUS_OK)

static void store_open(struct store *store)
{
    struct db_schema         schema;
    const struct driver     *driver = store->driver;
    const struct migrations *all = driver->migrations;
    MUST(driver->inspect(store->place, all, &schema, &store->err));
    CU_ASSERT_EQUAL(schema.needed, all->len);
    MUST(driver->open(store->place, DRIVER_READ_WRITE, "FULL", &store->writer, &store->err));
    if (schema.found < schema.needed)
        MUST(driver->migrate(store->writer, store->place, all, &schema, NULL, &store->err));
    MUST(driver->open(store->place, DRIVER_READ_ONLY, "FULL", &store->reader, &store->err));
}

static void store_close(struct store *store)
{
    store->driver->close(store->reader);
    store->driver->close(store->writer);
}

/* ---- statements of the test's own ---- */

#define STATEMENT(takes, gives, sql) \
    (&(const struct sql_statement){.name = "test", .parameters = (takes), .letters = (gives), .text = (sql)})

/* NOT_FOUND: no row.  Of a row, the columns, in values that say which letters they are. */
static enum status run(struct store *store, void *handle, const struct sql_statement *listed, struct db_values values,
                       struct db_value *out)
{
    const struct driver *driver = store->driver;
    void                *statement = NULL;
    bool                 row = false;
    TRY(driver->prepare(handle, listed, &statement, &store->err));
    enum status status = STATUS_OK;
    for (size_t i = 0; i < values.len && status == STATUS_OK; i++)
        status = driver->bind(statement, (int)i + 1, &values.items[i], &store->err);
    if (status == STATUS_OK)
        status = driver->step(statement, &row, &store->err);
    for (int i = 0; row && listed->letters[i] != '\0'; i++) {
        out[i].letter = listed->letters[i];
        CU_ASSERT(driver->column(statement, i, &out[i]));
        if (out[i].letter == 's' || out[i].letter == 'S') { // borrowed; of the tests one text at a time
            static char text[256];
            snprintf(text, sizeof text, "%s", out[i].is.s == NULL ? "(null)" : out[i].is.s);
            out[i].is.s = text;
        } else if (out[i].letter == 'b' || out[i].letter == 'B') {
            static unsigned char bytes[1 << 16];
            CU_ASSERT_FATAL(out[i].is.b.length <= sizeof bytes);
            if (out[i].is.b.bytes != NULL)
                out[i].is.b.bytes = memcpy(bytes, out[i].is.b.bytes, out[i].is.b.length);
        }
    }
    driver->reset(statement);
    driver->finalize(statement);
    return status == STATUS_OK && !row && listed->letters[0] != '\0' ? STATUS_NOT_FOUND : status;
}

static enum status add(struct store *store, void *handle, int64_t round, double epsilon)
{
    return run(
        store, handle,
        STATEMENT("sisDDDsi", "",
                  "INSERT INTO federation_ledger(federation, round, mechanism, epsilon, delta, total, sha256, "
                  "at_ms) VALUES ($1, $2, $, $, $, $, $, $)"),
        BIND(TEXT("fed"), INT(round), TEXT("gaussian"), REAL(epsilon), REAL(1e-6), REAL(2.385), TEXT("0"), INT(1)),
        NULL);
}

static int64_t count(struct store *store, void *handle)
{
    struct db_value value;
    MUST(run(store, handle, STATEMENT("", "i", "SELECT count(*) AS count FROM federation_ledger"), BIND_NONE, &value));
    return value.is.i;
}

static void begin(struct store *store)
{
    MUST(store->driver->begin(store->writer, DRIVER_READ_WRITE, &store->err));
}

static void commit(struct store *store)
{
    MUST(store->driver->commit(store->writer, &store->err));
    CU_ASSERT(!store->driver->in_transaction(store->writer));
}

static void savepoint(struct store *store, enum driver_savepoint what)
{
    MUST(store->driver->savepoint(store->writer, what, &store->err));
}

/* ---- what is promised ---- */

static void check_undoing(struct store *store)
{
    begin(store);
    savepoint(store, SAVEPOINT_SET);
    MUST(add(store, store->writer, 1, 0.5));
    savepoint(store, SAVEPOINT_KEEP);
    savepoint(store, SAVEPOINT_SET);
    MUST(add(store, store->writer, 2, 0.5));
    CU_ASSERT_EQUAL(add(store, store->writer, 1, 0.5), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(store->err.code, "constraint");
    CU_ASSERT(store->driver->in_transaction(store->writer));
    savepoint(store, SAVEPOINT_UNDO);
    savepoint(store, SAVEPOINT_SET);
    savepoint(store, SAVEPOINT_UNDO); // of nothing
    savepoint(store, SAVEPOINT_SET);
    MUST(add(store, store->writer, 3, 0.5));
    savepoint(store, SAVEPOINT_KEEP);
    commit(store);
    CU_ASSERT_EQUAL(count(store, store->reader), 2);
    begin(store);
    MUST(add(store, store->writer, 4, 0.5));
    MUST(store->driver->roll_back(store->writer, &store->err));
    CU_ASSERT(!store->driver->in_transaction(store->writer));
    MUST(store->driver->roll_back(store->writer, &store->err)); // there is none
    begin(store);
    CU_ASSERT(store->driver->in_transaction(store->writer));
    commit(store); // nothing
    CU_ASSERT_EQUAL(count(store, store->reader), 2);
}

/* Runs a statement that nobody waits for: OK now, or the failure. */
static enum status put(struct store *store, void *statement, int64_t round)
{
    char            hash[] = "0";
    struct db_value values[] = {INT(round), TEXT(hash)};
    bool            row;
    for (int i = 0; i < 2; i++)
        MUST(store->driver->bind(statement, i + 1, &values[i], &store->err));
    enum status status = store->driver->run != NULL ? store->driver->run(statement, &store->err)
                                                    : store->driver->step(statement, &row, &store->err);
    store->driver->reset(statement);
    hash[0] = 'x'; // a copy was taken
    return status;
}

static enum status keep(struct store *store, enum status status)
{
    return status == STATUS_OK ? store->driver->savepoint(store->writer, SAVEPOINT_KEEP, &store->err) : status;
}

static enum status settle(struct store *store, enum status status)
{
    return status == STATUS_OK && store->driver->settle != NULL ? store->driver->settle(store->writer, &store->err)
                                                                : status;
}

static void check_putting_off(struct store *store)
{
    enum { MANY = 6000 };
    struct db_value value;
    void           *statement;
    MUST(store->driver->prepare(
        store->writer,
        STATEMENT("is", "",
                  "INSERT INTO federation_ledger(federation, round, mechanism, epsilon, delta, total, "
                  "sha256, at_ms) VALUES ('fed', $1, 'gaussian', 0.5, 1e-6, 2, $2, 1)"),
        &statement, &store->err));
    begin(store);
    savepoint(store, SAVEPOINT_SET);
    MUST(keep(store, put(store, statement, 1)));
    savepoint(store, SAVEPOINT_SET);
    MUST(put(store, statement, 2));
    CU_ASSERT_EQUAL(keep(store, put(store, statement, 1)), STATUS_CONFLICT); // and not the next one's
    CU_ASSERT_STRING_EQUAL(store->err.code, "constraint");
    CU_ASSERT(store->driver->in_transaction(store->writer));
    savepoint(store, SAVEPOINT_UNDO);
    savepoint(store, SAVEPOINT_SET);
    MUST(put(store, statement, 3));
    savepoint(store, SAVEPOINT_UNDO);
    savepoint(store, SAVEPOINT_SET);
    if (put(store, statement, 1) == STATUS_OK)
        CU_ASSERT(store->driver->in_transaction(store->writer));
    savepoint(store, SAVEPOINT_UNDO); // it has failed, or will
    savepoint(store, SAVEPOINT_SET);
    MUST(keep(store, put(store, statement, 4)));
    CU_ASSERT_EQUAL(count(store, store->writer), 2);
    commit(store);
    for (int refused = 0; refused < 2; refused++) {
        begin(store);
        MUST(put(store, statement, 5));
        if (refused)
            CU_ASSERT_EQUAL(settle(store, put(store, statement, 4)), STATUS_CONFLICT);
        MUST(store->driver->roll_back(store->writer, &store->err));
        CU_ASSERT(!store->driver->in_transaction(store->writer));
        begin(store);
        enum status status = put(store, statement, 4);
        if (status == STATUS_OK && refused)
            status = store->driver->commit(store->writer, &store->err);
        CU_ASSERT(!refused || status == STATUS_CONFLICT);
        MUST(store->driver->roll_back(store->writer, &store->err));
        CU_ASSERT_EQUAL(count(store, store->reader), 2);
    }
    begin(store);
    for (int i = 0; i < MANY; i++)
        MUST(put(store, statement, 10 + i));
    commit(store);
    CU_ASSERT_EQUAL(count(store, store->reader), 2 + MANY);
    MUST(run(store, store->reader,
             STATEMENT("", "i", "SELECT count(*) AS count FROM federation_ledger WHERE sha256 = '0'"), BIND_NONE,
             &value));
    CU_ASSERT_EQUAL(value.is.i, 2 + MANY);
    store->driver->finalize(statement);
}

static void check_reading(struct store *store)
{
    begin(store);
    MUST(add(store, store->writer, 1, 0.5));
    CU_ASSERT_EQUAL(count(store, store->reader), 0);
    CU_ASSERT_EQUAL(count(store, store->writer), 1);
    commit(store);
    MUST(store->driver->begin(store->reader, DRIVER_READ_ONLY, &store->err));
    CU_ASSERT_EQUAL(count(store, store->reader), 1);
    begin(store);
    MUST(add(store, store->writer, 2, 0.5));
    commit(store);
    CU_ASSERT_EQUAL(count(store, store->reader), 1);
    MUST(store->driver->commit(store->reader, &store->err));
    CU_ASSERT_EQUAL(count(store, store->reader), 2);
    MUST(store->driver->begin(store->reader, DRIVER_READ_ONLY, &store->err));
    CU_ASSERT_NOT_EQUAL(add(store, store->reader, 3, 0.5), STATUS_OK);
    MUST(store->driver->roll_back(store->reader, &store->err));
    CU_ASSERT_EQUAL(count(store, store->reader), 2);
}

static void check_numbers(struct store *store)
{
    static const double  reals[] = {0.1, 5e-324, 1.7976931348623157e308, INFINITY, -INFINITY, 2.385, 3.0, NAN};
    static const int64_t whole[] = {0, -1, INT64_MAX, INT64_MIN, 1LL << 53, 4294967296, 2, 3};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        struct db_value found[3];
        begin(store);
        MUST(add(store, store->writer, whole[i], reals[i]));
        commit(store);
        MUST(run(store, store->reader,
                 STATEMENT("i", "iDi",
                           "SELECT round, epsilon, CASE WHEN epsilon IS NULL THEN 1 ELSE 0 END AS is_null FROM "
                           "federation_ledger WHERE round = $1"),
                 BIND(INT(whole[i])), found));
        CU_ASSERT_EQUAL(found[0].is.i, whole[i]);
        CU_ASSERT_EQUAL(found[2].is.i, isnan(reals[i]));
        CU_ASSERT(isnan(reals[i]) ? isnan(found[1].is.d) : memcmp(&found[1].is.d, &reals[i], sizeof reals[i]) == 0);
    }
}

static void check_texts_and_bytes(struct store *store)
{
    static unsigned char all[1 << 16];
    struct db_value      found[2];
    const char *const    put = "INSERT INTO token(id, hash, name, scope, resource, agent, created_ms, expires_ms, "
                               "revoked_ms) VALUES ($1, $2, $3, 'read', $4, '', 1, 0, 0)";
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (unsigned char)(i * 7 + i / 256);
    begin(store);
    MUST(run(store, store->writer, STATEMENT("sbsS", "", put),
             BIND(TEXT("a"), BLOB(all, sizeof all), TEXT("\xc3\x84pfel\n'\"$1"), TEXT(NULL)), NULL));
    MUST(run(store, store->writer, STATEMENT("sbsS", "", put), BIND(TEXT("B"), BLOB("", 0), TEXT("Zebra"), TEXT("r")),
             NULL));
    CU_ASSERT_EQUAL(
        run(store, store->writer, STATEMENT("sbsS", "", put), BIND(TEXT("c"), BLOB(NULL, 0), TEXT(""), TEXT("")), NULL),
        STATUS_CONFLICT); // it is NULL, which the column may not be
    MUST(store->driver->roll_back(store->writer, &store->err));
    begin(store);
    MUST(run(store, store->writer, STATEMENT("sbsS", "", put),
             BIND(TEXT("a"), BLOB(all, sizeof all), TEXT("\xc3\x84pfel\n'\"$1"), TEXT(NULL)), NULL));
    MUST(run(store, store->writer, STATEMENT("sbsS", "", put), BIND(TEXT("B"), BLOB("", 0), TEXT("Zebra"), TEXT("r")),
             NULL));
    commit(store);
    MUST(run(store, store->reader, STATEMENT("s", "bi", "SELECT hash, created_ms FROM token WHERE id = $1"),
             BIND(TEXT("a")), found));
    CU_ASSERT_EQUAL_FATAL(found[0].is.b.length, sizeof all);
    CU_ASSERT_EQUAL(memcmp(found[0].is.b.bytes, all, sizeof all), 0);
    MUST(
        run(store, store->reader, STATEMENT("s", "b", "SELECT hash FROM token WHERE id = $1"), BIND(TEXT("B")), found));
    CU_ASSERT_EQUAL(found[0].is.b.length, 0);
    CU_ASSERT_PTR_NULL(found[0].is.b.bytes);
    MUST(
        run(store, store->reader, STATEMENT("s", "s", "SELECT name FROM token WHERE id = $1"), BIND(TEXT("a")), found));
    CU_ASSERT_STRING_EQUAL(found[0].is.s, "\xc3\x84pfel\n'\"$1");
    MUST(run(store, store->reader, STATEMENT("s", "S", "SELECT resource FROM token WHERE id = $1"), BIND(TEXT("a")),
             found));
    CU_ASSERT_STRING_EQUAL(found[0].is.s, "(null)");
    // "B" before "a", and Zebra before what begins with two bytes beyond ASCII
    MUST(run(store, store->reader, STATEMENT("", "s", "SELECT id FROM token ORDER BY id LIMIT 1"), BIND_NONE, found));
    CU_ASSERT_STRING_EQUAL(found[0].is.s, "B");
    MUST(run(store, store->reader, STATEMENT("", "s", "SELECT name FROM token ORDER BY name DESC LIMIT 1"), BIND_NONE,
             found));
    CU_ASSERT_EQUAL(found[0].is.s[0], '\xc3');
    MUST(run(store, store->reader,
             STATEMENT("s", "s", "SELECT lower($1) || lower(name) AS both FROM token WHERE id = 'a'"),
             BIND(TEXT("X\xc3\x84")), found));
    CU_ASSERT_EQUAL(strncmp(found[0].is.s, "x\xc3\x84\xc3\x84pfel", 9), 0);
}

static void check_changes(struct store *store)
{
    begin(store);
    for (int64_t i = 1; i <= 3; i++)
        MUST(run(store, store->writer,
                 STATEMENT("i", "", "INSERT INTO tally(thing, state, count) VALUES ('t', 's' || $1, 0)"), BIND(INT(i)),
                 NULL));
    MUST(run(store, store->writer, STATEMENT("i", "", "UPDATE tally SET count = $1 WHERE thing = 't'"), BIND(INT(7)),
             NULL));
    CU_ASSERT_EQUAL(store->driver->changes(store->writer), 3);
    MUST(run(store, store->writer, STATEMENT("i", "", "UPDATE tally SET count = $1 WHERE thing = 'u'"), BIND(INT(7)),
             NULL));
    CU_ASSERT_EQUAL(store->driver->changes(store->writer), 0);
    commit(store);
}

/* The append-only tables are neither changed nor deleted from, whoever asks. */
static void check_logs(struct store *store)
{
    static const char *const refused[] = {"UPDATE event SET kind = 'other'", "DELETE FROM event",
                                          "UPDATE federation_ledger SET epsilon = 0.0",
                                          "DELETE FROM federation_ledger"};
    struct db_value          found[2];
    begin(store);
    MUST(add(store, store->writer, 1, 0.5));
    for (int i = 0; i < 3; i++)
        MUST(run(store, store->writer,
                 STATEMENT("ii", "",
                           "INSERT INTO event(seq, at_ms, kind, study, revision, trial, actor, detail) VALUES ($1, $2, "
                           "'k', 'std_1', 0, 0, 'local', 'words')"),
                 BIND(INT(1001 + i), INT(2385)), NULL));
    commit(store);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        begin(store);
        CU_ASSERT_EQUAL(store->driver->execute(store->writer, refused[i], &store->err), STATUS_CONFLICT);
        CU_ASSERT_STRING_EQUAL(store->err.code, "constraint");
        MUST(store->driver->roll_back(store->writer, &store->err));
    }
    begin(store);
    MUST(store->driver->execute(store->writer, "UPDATE event SET detail = NULL", &store->err)); // its words may go
    commit(store);
    MUST(run(store, store->reader, STATEMENT("", "ii", "SELECT min(seq) AS min, max(seq) AS max FROM event"), BIND_NONE,
             found));
    CU_ASSERT_EQUAL(found[1].is.i - found[0].is.i, 2);
}

static void check_every_statement(struct store *store)
{
    for (int sql = 0; sql < SQL_COUNT; sql++) {
        void       *statement = NULL;
        enum status status = store->driver->prepare(store->reader, &sql_table[sql], &statement, &store->err);
        if (status != STATUS_OK)
            fprintf(stderr, "%s: %s\n", sql_table[sql].name, store->err.text);
        CU_ASSERT_EQUAL(status, STATUS_OK);
        if (status == STATUS_OK)
            store->driver->finalize(statement);
    }
}

/* Tables that sum_loose leaves out whole, with how many columns that decision was about. */
static const struct {
    const char *table;
    int         columns;
} left_out[] = {
    {"event", 12},
    {"tally", 3},
    {"steady", 5},
    {"idempotency", 9},
    {"operation", 21},
    {"candidates_piece", 3},
    {"candidates_refusal", 2},
    {"federation_message", 5},
    {"sparkline", 2},
};

static const struct sum_loose *find_loose(const char *table)
{
    for (size_t i = 0; i < SUM_LOOSE; i++)
        if (strcmp(sum_loose[i].table, table) == 0)
            return &sum_loose[i];
    return NULL;
}

static bool is_named(const char *list, const char *column)
{
    char all[256], one[64];
    snprintf(all, sizeof all, ",%s,", list);
    snprintf(one, sizeof one, ",%s,", column);
    return strstr(all, one) != NULL;
}

/* Whether the trigger that binds changed rows of a table hashes this column. */
static bool is_hashed(struct store *store, const char *table, const char *column)
{
#define HASHES(from, of)                                                                                            \
    "SELECT coalesce(max(instr(replace(" of ", '\"', ''), 'NEW.' || $2 || ',') + instr(replace(" of ", '\"', ''), " \
    "'NEW.' || $2 || ')')), 0) AS place FROM " from
    struct db_value place;
    bool            is_file = store->driver == &driver_sqlite;
    MUST(run(store, store->writer,
             is_file
                 ? STATEMENT("ss", "i", HASHES("temp.sqlite_schema WHERE name = 'bound_' || $1 || '_changes'", "sql"))
                 : STATEMENT("ss", "i",
                             HASHES("pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname = "
                                    "'bind_' || $1",
                                    "prosrc")),
             BIND(TEXT(table), TEXT(column)), &place));
    return place.is.i > 0;
}

static enum status check_columns(void *arg, const struct schema_table *table, struct error *err)
{
    struct store           *store = arg;
    const struct sum_loose *loose = find_loose(table->name);
    bool                    is_left_out = loose != NULL && strcmp(loose->columns, "*") == 0;
    int                     columns = 0;
    (void)err;
    for (int i = 0; i < table->len; i++) {
        const char *column = table->columns[i].name;
        bool        is_loose = is_left_out || (loose != NULL && is_named(loose->columns, column));
        if (strcmp(column, "sum") == 0)
            continue;
        columns++;
        if (is_hashed(store, table->name, column) == is_loose)
            fprintf(stderr, "%s.%s is to be bound to the log, or in sum_loose\n", table->name, column);
        CU_ASSERT_NOT_EQUAL(is_hashed(store, table->name, column), is_loose);
    }
    for (size_t i = 0; is_left_out && i < sizeof left_out / sizeof *left_out; i++)
        if (strcmp(left_out[i].table, table->name) == 0 && left_out[i].columns == columns)
            return STATUS_OK;
    if (is_left_out)
        fprintf(stderr, "%s has %d columns: are all of them to be left out?\n", table->name, columns);
    CU_ASSERT(!is_left_out);
    return STATUS_OK;
}

/* Every column is bound to the log, or it is listed why not. */
static void check_every_column(struct store *store)
{
    struct total total = {{0}};
    char         met[DAMAGED_BYTES];
    MUST(store->driver->guard(store->writer, &total, met, &store->err));
    MUST(schema_tables(store->driver->migrations, check_columns, store, &store->err));
    for (size_t i = 0; i < SUM_LOOSE; i++)
        CU_ASSERT(strlen(sum_loose[i].why) > 10);
}

static void count_finding(void *arg, const char *finding)
{
    *(int *)arg += strstr(finding, " a ") != NULL || strcmp(finding, "a") == 0;
}

static enum status put_token(struct store *store, const char *id)
{
    return run(store, store->writer,
               STATEMENT("ssb", "",
                         "INSERT INTO token(id, name, hash, scope, agent, created_ms, expires_ms, revoked_ms) VALUES "
                         "($1, $2, $3, 'read', '', 1, 0, 0)"),
               BIND(TEXT(id), TEXT("n"), BLOB("\0\1", 2)), NULL);
}

static enum status revoke(struct store *store, const char *id)
{
    return run(store, store->writer, STATEMENT("is", "", "UPDATE token SET revoked_ms = $1 WHERE id = $2"),
               BIND(INT(7), TEXT(id)), NULL);
}

/* Schema 7 bound a token's revocation, and not its name: a store of it is compared with its own total. */
static void check_former_total(struct store *store)
{
    static const char *const changes[] = {"UPDATE token SET name = 'm'", "UPDATE token SET revoked_ms = 7"};
    struct total             before, now, newest;
    begin(store);
    MUST(put_token(store, "f"));
    MUST(store->driver->gather(store->writer, 7, &before, &store->err));
    MUST(store->driver->gather(store->writer, db_migrations.len, &newest, &store->err));
    CU_ASSERT_NOT_EQUAL(memcmp(&newest, &before, sizeof newest), 0);
    for (int i = 0; i < 2; i++) {
        MUST(store->driver->execute(store->writer, changes[i], &store->err));
        MUST(store->driver->gather(store->writer, 7, &now, &store->err));
        CU_ASSERT_EQUAL(memcmp(&now, &before, sizeof now) == 0, i == 0);
    }
    MUST(store->driver->roll_back(store->writer, &store->err));
}

/* Whoever undoes a savepoint returns to the total as it was; what was written before and after it is still told. */
static void check_total_of_savepoints(struct store *store)
{
    enum { MANY = 40 };
    struct total total = {{0}}, before, found;
    char         met[DAMAGED_BYTES] = "", id[16];
    begin(store);
    MUST(store->driver->gather(store->writer, db_migrations.len, &found, &store->err));
    MUST(store->driver->roll_back(store->writer, &store->err));
    MUST(store->driver->guard(store->writer, &total, met, &store->err));
    total = found;
    begin(store);
    for (int job = 0; job < 4; job++) {
        savepoint(store, SAVEPOINT_SET);
        before = total;
        for (int i = 0; i < (job == 1 ? MANY : 3); i++) {
            snprintf(id, sizeof id, "%d-%d", job, i);
            MUST(put_token(store, id));
        }
        savepoint(store, job % 2 == 0 ? SAVEPOINT_KEEP : SAVEPOINT_UNDO);
        if (job % 2 != 0)
            total = before;
    }
    MUST(settle(store, STATUS_OK));
    commit(store);
    MUST(store->driver->begin(store->reader, DRIVER_READ_ONLY, &store->err));
    MUST(store->driver->gather(store->reader, db_migrations.len, &found, &store->err));
    MUST(store->driver->roll_back(store->reader, &store->err));
    CU_ASSERT_EQUAL(memcmp(&found, &total, sizeof found), 0);
}

/* Rows of the writer have their sums and are in the total; rows changed by others are reported, and not changed again. */
static void check_sums(struct store *store)
{
    const struct driver *driver = store->driver;
    struct total         total = {{0}}, found;
    struct db_value      name[1];
    struct scan          scan = {.say = NULL};
    char                 met[DAMAGED_BYTES] = "", seen[DAMAGED_BYTES] = "";
    int                  findings = 0;
    begin(store);
    MUST(driver->gather(store->writer, db_migrations.len, &found, &store->err));
    MUST(driver->roll_back(store->writer, &store->err));
    MUST(driver->guard(store->writer, &total, met, &store->err));
    total = found;
    begin(store);
    MUST(put_token(store, "a"));
    MUST(put_token(store, "b"));
    MUST(put_token(store, "c"));
    MUST(revoke(store, "b"));
    MUST(run(store, store->writer, STATEMENT("s", "", "DELETE FROM token WHERE id = $1"), BIND(TEXT("c")), NULL));
    MUST(settle(store, STATUS_OK));
    commit(store);
    MUST(driver->begin(store->reader, DRIVER_READ_ONLY, &store->err));
    MUST(driver->gather(store->reader, db_migrations.len, &found, &store->err));
    CU_ASSERT_EQUAL(memcmp(&found, &total, sizeof found), 0);
    MUST(driver->damaged(store->reader, NULL, count_finding, &findings, &store->err));
    CU_ASSERT_EQUAL(findings, 0);
    MUST(driver->roll_back(store->reader, &store->err));
    MUST(driver->guard(store->reader, NULL, seen, &store->err));
    MUST(database_do(store->place, "UPDATE token SET name = 'm' WHERE id = 'a'", &store->err));
    MUST(driver->damaged(store->reader, NULL, count_finding, &findings, &store->err));
    CU_ASSERT_EQUAL(findings, 1);
    MUST(driver->damaged(store->reader, "b", count_finding, &findings, &store->err));
    CU_ASSERT_EQUAL(findings, 1);
    MUST(driver->begin(store->reader, DRIVER_READ_ONLY, &store->err));
    scan.say = count_finding;
    scan.arg = &findings;
    while (!scan.is_over)
        MUST(driver->scan(store->reader, &scan, &store->err));
    MUST(driver->roll_back(store->reader, &store->err));
    CU_ASSERT_EQUAL(findings, 2);
    MUST(run(store, store->reader, STATEMENT("s", "s", "SELECT name FROM token WHERE id = $1 AND row_see(token token)"),
             BIND(TEXT("b")), name));
    CU_ASSERT_STRING_EQUAL(seen, "");
    MUST(run(store, store->reader, STATEMENT("s", "s", "SELECT name FROM token WHERE id = $1 AND row_see(token token)"),
             BIND(TEXT("a")), name));
    CU_ASSERT_STRING_EQUAL(seen, "a");
    CU_ASSERT_EQUAL(run(store, store->reader,
                        STATEMENT("s", "s", "SELECT name FROM token WHERE id = $1 AND row_check(token token)"),
                        BIND(TEXT("a")), name),
                    STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(store->err.code, "store_corrupt");
    begin(store);
    CU_ASSERT_EQUAL(revoke(store, "a"), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(store->err.code, "store_corrupt");
    CU_ASSERT_STRING_EQUAL(met, "a");
    MUST(driver->roll_back(store->writer, &store->err));
}

static void check_opening_again(struct store *store)
{
    begin(store);
    MUST(add(store, store->writer, 1, 0.5));
    commit(store);
    begin(store);
    MUST(add(store, store->writer, 2, 0.5)); // never committed
    store_close(store);
    store_open(store);
    CU_ASSERT_EQUAL(count(store, store->reader), 1);
}

/* ---- on each of them ---- */

static void on_sqlite(void (*check)(struct store *store))
{
    static const char *const files[] = {"gnomon.db", "gnomon.db-wal", "gnomon.db-shm"};
    struct store             store = {.driver = &driver_sqlite, .folder = "gnomon-test-XXXXXX"};
    char                     path[128];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(store.folder));
    snprintf(store.place, sizeof store.place, "%s", store.folder);
    store_open(&store);
    check(&store);
    store_close(&store);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", store.folder, files[i]);
        unlink(path);
    }
    CU_ASSERT_EQUAL(rmdir(store.folder), 0);
}

/* Where there is none, this is nothing. */
static void on_postgres(void (*check)(struct store *store))
{
    struct store store = {.driver = &driver_postgres};
    if (!database_new(store.place))
        return;
    store_open(&store);
    check(&store);
    store_close(&store);
    database_end(store.place);
}

#define CHECKS(X)                                           \
    X(undoing, "what is undone is gone")                    \
    X(putting_off, "what is put off fails in time")         \
    X(reading, "a reader sees one state")                   \
    X(numbers, "numbers come back")                         \
    X(texts_and_bytes, "texts and bytes come back")         \
    X(changes, "changes are counted")                       \
    X(logs, "logs are append-only")                         \
    X(every_statement, "every statement prepares")          \
    X(every_column, "every column is bound, or listed")     \
    X(sums, "rows are what was written")                    \
    X(total_of_savepoints, "what is undone is not in it")   \
    X(former_total, "a former total is that of its schema") \
    X(opening_again, "what was committed is there again")

#define X(name, text)                      \
    static void test_sqlite_##name(void)   \
    {                                      \
        on_sqlite(check_##name);           \
    }                                      \
    static void test_postgres_##name(void) \
    {                                      \
        on_postgres(check_##name);         \
    }
CHECKS(X)
#undef X

CU_TestInfo suite_driver[] = {
#define X(name, text) {"sqlite: " text, test_sqlite_##name}, {"postgres: " text, test_postgres_##name},
    CHECKS(X)
#undef X
        CU_TEST_INFO_NULL,
};
