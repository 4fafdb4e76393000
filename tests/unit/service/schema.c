/* Versions of the schema: what is recognised, what is refused and left as it is, and the way to the next one.  The
 * migrations are lists of the tests' own, but for those that look at a store of the program. */
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include "db/writer/conn.h"
#include "db/driver.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES = 1 << 20 };

struct place {
    char             folder[96];
    struct db_schema schema;
    struct error     err;
};

static void place_new(struct place *place)
{
    *place = (struct place){.folder = "gnomon-schema-XXXXXX"};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(place->folder));
}

static const char *path_of(const struct place *place, const char *name)
{
    static char path[2][128];
    static int  turn;
    turn = 1 - turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", place->folder, name);
    return path[turn];
}

static void place_end(struct place *place)
{
    static const char *const files[] = {"gnomon.db",
                                        "gnomon.db-wal",
                                        "gnomon.db-shm",
                                        "gnomon.lock",
                                        "gnomon.db.before-002",
                                        "gnomon.db.before-002.part",
                                        "gnomon.db.before-003",
                                        "gnomon.witness"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(path_of(place, files[i]));
    CU_ASSERT_EQUAL(rmdir(place->folder), 0); // nothing else was left
}

static void execute(const struct place *place, const char *name, const char *text)
{
    sqlite3 *handle = NULL;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(path_of(place, name), &handle), SQLITE_OK);
    int code = sqlite3_exec(handle, text, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        fprintf(stderr, "%s: %s\n", text, sqlite3_errmsg(handle));
    CU_ASSERT_EQUAL_FATAL(code, SQLITE_OK);
    sqlite3_close(handle);
}

/* The first column of the first row; -1: there is none. */
static int ask(const struct place *place, const char *name, const char *text)
{
    sqlite3      *handle = NULL;
    sqlite3_stmt *statement = NULL;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(path_of(place, name), &handle), SQLITE_OK);
    CU_ASSERT_EQUAL_FATAL(sqlite3_prepare_v2(handle, text, -1, &statement, NULL), SQLITE_OK);
    int number = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int(statement, 0) : -1;
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return number;
}

static size_t read_bytes(const struct place *place, unsigned char *out)
{
    FILE *file = fopen(path_of(place, "gnomon.db"), "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    size_t length = fread(out, 1, FILE_BYTES, file);
    fclose(file);
    return length;
}

/* As db_open does it. */
static enum status migrate(struct place *place, const struct migrations *all)
{
    void       *handle = NULL;
    enum status status = driver_sqlite.inspect(place->folder, all, &place->schema, &place->err);
    if (status == STATUS_OK)
        status = driver_sqlite.open(place->folder, DRIVER_READ_WRITE, "FULL", &handle, &place->err);
    if (status == STATUS_OK && place->schema.found < place->schema.needed)
        status = driver_sqlite.migrate(handle, place->folder, all, &place->schema, NULL, &place->err);
    if (handle != NULL)
        driver_sqlite.close(handle);
    return status;
}

/* ---- a store of the program, and what hands can do to it ---- */

static void make_store(const struct place *place)
{
    struct db   *db = NULL;
    struct error err;
    CU_ASSERT_EQUAL_FATAL(
        db_open(&(struct db_options){.folder = place->folder, .synchronous = "OFF", .readers = 1}, &db, &err),
        STATUS_OK);
    db_close(db);
}

static const struct {
    const char *change, *code, *word; /* code NULL: it does no harm */
} changes[] = {
    {"CREATE INDEX mine ON trial(finished_ms)", NULL, NULL},
    {"ANALYZE", NULL, NULL},
    {"CREATE UNIQUE INDEX mine ON trial(study, worker)", "schema_unknown", "index mine is no part of it"},
    {"CREATE TABLE mine(x)", "schema_unknown", "table mine is no part of it"},
    {"CREATE VIEW mine AS SELECT 1", "schema_unknown", "view mine is no part of it"},
    {"DROP INDEX study_by_age", "schema_unknown", "index study_by_age is missing"},
    {"DROP TRIGGER event_is_not_deleted", "schema_unknown", "trigger event_is_not_deleted is missing"},
    {"DROP TABLE steady", "schema_unknown", "table steady is missing"},
    {"ALTER TABLE study ADD COLUMN mine TEXT", "schema_unknown", "table study is different"},
    {"DROP INDEX study_by_age; CREATE INDEX study_by_age ON study(created_ms)", "schema_unknown",
     "index study_by_age is different"},
    {"PRAGMA user_version = 238", "schema_newer", "schema 238"},
    {"PRAGMA user_version = 0", "store_corrupt", "of another program"},
    {"PRAGMA user_version = -1", "store_corrupt", "of another program"},
    {"PRAGMA application_id = 7", "store_corrupt", "of another program"},
    {"PRAGMA user_version = 0; PRAGMA application_id = 0", "store_corrupt", "of another program"},
};

static void check_change(size_t i)
{
    static unsigned char before[FILE_BYTES], after[FILE_BYTES];
    struct place         place;
    place_new(&place);
    make_store(&place);
    execute(&place, "gnomon.db", changes[i].change);
    size_t                  length = read_bytes(&place, before);
    const struct db_options options = {.folder = place.folder, .synchronous = "FULL", .readers = 1};
    struct db              *db = NULL;
    enum status             looked = db_inspect(place.folder, &place.schema, &place.err);
    enum status             opened = db_open(&options, &db, &place.err);
    CU_ASSERT_EQUAL(looked, opened);
    CU_ASSERT_EQUAL(opened == STATUS_OK, changes[i].code == NULL);
    if (changes[i].code != NULL) {
        CU_ASSERT_STRING_EQUAL(place.err.code, changes[i].code);
        if (strstr(place.err.text, changes[i].word) == NULL)
            fprintf(stderr, "%s: %s\n", changes[i].change, place.err.text);
        CU_ASSERT_PTR_NOT_NULL(strstr(place.err.text, changes[i].word));
        CU_ASSERT_EQUAL(read_bytes(&place, after), length);
        CU_ASSERT_EQUAL(memcmp(before, after, length), 0);
        CU_ASSERT_NOT_EQUAL(access(path_of(&place, "gnomon.db-wal"), F_OK), 0);
    }
    db_close(db);
    place_end(&place);
}

static void test_what_differs_is_named_and_left(void)
{
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        check_change(i);
}

static void test_an_empty_file_is_a_beginning(void)
{
    struct place place;
    place_new(&place);
    fclose(fopen(path_of(&place, "gnomon.db"), "w"));
    make_store(&place);
    CU_ASSERT_EQUAL(db_inspect(place.folder, &place.schema, &place.err), STATUS_OK);
    CU_ASSERT_EQUAL(place.schema.found, db_migrations.len);
    CU_ASSERT_STRING_EQUAL(place.schema.backup, "");
    place_end(&place);
}

/* SQLite would delete such a log. */
static void test_a_log_without_its_store_is_kept(void)
{
    struct place place;
    struct db   *db = NULL;
    for (int i = 0; i < 2; i++) {
        place_new(&place);
        if (i == 0)
            fclose(fopen(path_of(&place, "gnomon.db"), "w"));
        FILE *log = fopen(path_of(&place, "gnomon.db-wal"), "w");
        fputs("all that there was", log);
        fclose(log);
        const struct db_options options = {.folder = place.folder, .synchronous = "FULL", .readers = 1};
        CU_ASSERT_EQUAL(db_open(&options, &db, &place.err), STATUS_INTERNAL);
        CU_ASSERT_STRING_EQUAL(place.err.code, "store_corrupt");
        struct stat own;
        CU_ASSERT_EQUAL(stat(path_of(&place, "gnomon.db-wal"), &own), 0);
        CU_ASSERT_EQUAL(own.st_size, 18);
        place_end(&place);
    }
}

/* A store that is in use, or that a killed process left, has its last transactions in the log. */
static void test_what_is_in_the_log_counts(void)
{
    struct place     place;
    struct db_schema schema;
    sqlite3         *handle = NULL;
    place_new(&place);
    make_store(&place);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(path_of(&place, "gnomon.db"), &handle), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_exec(handle, "PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 238", NULL, NULL, NULL),
                    SQLITE_OK);
    CU_ASSERT_EQUAL(db_inspect(place.folder, &schema, &place.err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(place.err.code, "schema_newer");
    sqlite3_close(handle);
    place_end(&place);
}

static void test_a_path_of_any_letters(void)
{
    struct place place, inner;
    place_new(&place);
    inner = place;
    snprintf(inner.folder, sizeof inner.folder, "%.64s/100%% ?a#b%%20", place.folder);
    make_store(&inner);
    CU_ASSERT_EQUAL(db_inspect(inner.folder, &inner.schema, &inner.err), STATUS_OK);
    CU_ASSERT_EQUAL(inner.schema.found, db_migrations.len);
    place_end(&inner);
    place_end(&place);
}

/* ---- the way to the next version ---- */

#define FIRST                                                                                      \
    "CREATE TABLE parent (id TEXT PRIMARY KEY, x REAL) STRICT;"                                    \
    "CREATE TABLE child (parent TEXT NOT NULL REFERENCES parent(id) ON DELETE CASCADE, n INTEGER)" \
    " STRICT; CREATE TRIGGER child_stays BEFORE DELETE ON child BEGIN SELECT RAISE(ABORT, 'no'); END;"
/* A table is made anew, as SQLite wants it for what ALTER TABLE cannot do. */
#define SECOND                                                                       \
    "CREATE TABLE parent_new (id TEXT PRIMARY KEY, x REAL, y REAL NOT NULL) STRICT;" \
    "INSERT INTO parent_new SELECT id, x, 2.385 FROM parent; DROP TABLE parent;"     \
    "ALTER TABLE parent_new RENAME TO parent; CREATE INDEX parent_by_y ON parent(y);"
#define THIRD "ALTER TABLE child ADD COLUMN note TEXT; UPDATE child SET note = 'seen ' || n;"
static const char *const texts[] = {FIRST, SECOND, THIRD};
#define LIST(n) (&(const struct migrations){.texts = texts, .len = (n)})

static void make_first(struct place *place)
{
    place_new(place);
    CU_ASSERT_EQUAL_FATAL(migrate(place, LIST(1)), STATUS_OK);
    CU_ASSERT_EQUAL(place->schema.found, 0);
    execute(place, "gnomon.db",
            "INSERT INTO parent VALUES ('a', 1.5), ('b', NULL);"
            "INSERT INTO child VALUES ('a', 1), ('a', 2), ('b', 3)");
}

static const char is_first[] = "SELECT (SELECT count(*) FROM child) * 10 + (SELECT count(*) FROM parent)";

static void test_versions_are_walked_in_one_go(void)
{
    struct place place;
    struct stat  own;
    make_first(&place);
    CU_ASSERT_EQUAL(migrate(&place, LIST(3)), STATUS_OK);
    CU_ASSERT_EQUAL(place.schema.found, 1);
    CU_ASSERT_STRING_EQUAL(place.schema.backup, "gnomon.db.before-002");
    CU_ASSERT_EQUAL(ask(&place, "gnomon.db", "PRAGMA user_version"), 3);
    CU_ASSERT_EQUAL(ask(&place, "gnomon.db", "SELECT count(*) FROM child WHERE note = 'seen ' || n"), 3);
    CU_ASSERT_EQUAL(ask(&place, "gnomon.db", "SELECT count(*) FROM parent WHERE y = 2.385"), 2);
    CU_ASSERT_EQUAL(ask(&place, "gnomon.db.before-002", is_first), 32);
    CU_ASSERT_EQUAL(ask(&place, "gnomon.db.before-002", "PRAGMA user_version"), 1);
    CU_ASSERT_EQUAL(stat(path_of(&place, "gnomon.db.before-002"), &own), 0);
    CU_ASSERT_EQUAL(own.st_mode & 0777, 0600);
    CU_ASSERT_EQUAL(migrate(&place, LIST(3)), STATUS_OK); // nothing is left to do
    CU_ASSERT_EQUAL(place.schema.found, 3);
    CU_ASSERT_EQUAL(migrate(&place, LIST(2)), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(place.err.code, "schema_newer");
    place_end(&place);
}

/* As before by steps, with an index of somebody's own in the way of nothing. */
static void test_versions_are_walked_by_steps(void)
{
    struct place place;
    make_first(&place);
    execute(&place, "gnomon.db", "CREATE INDEX mine ON child(n)");
    for (int n = 2; n <= 3; n++) {
        CU_ASSERT_EQUAL(migrate(&place, LIST(n)), STATUS_OK);
        CU_ASSERT_EQUAL(place.schema.found, n - 1);
    }
    CU_ASSERT_EQUAL(ask(&place, "gnomon.db", "SELECT count(*) FROM child WHERE note = 'seen ' || n"), 3);
    CU_ASSERT_EQUAL(ask(&place, "gnomon.db", "SELECT count(*) FROM sqlite_schema WHERE name = 'mine'"), 1);
    CU_ASSERT_EQUAL(ask(&place, "gnomon.db.before-003", "PRAGMA user_version"), 2);
    place_end(&place);
}

/* A migration that fails, at whichever statement, leaves the store as it was, and the next try finds its own copy. */
static void test_what_fails_changes_nothing(void)
{
    static const char *const bad[] = {
        "not sql", "CREATE TABLE more (id TEXT) STRICT; INSERT INTO nowhere VALUES (1);",
        "DELETE FROM child;",                        // the trigger says no
        "UPDATE child SET parent = 'x' WHERE n = 3;" // refers to nothing: seen at the end
    };
    static unsigned char before[FILE_BYTES], after[FILE_BYTES];
    struct place         place;
    make_first(&place);
    size_t length = read_bytes(&place, before);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const       list[] = {FIRST, SECOND, bad[i]};
        const struct migrations all = {.texts = list, .len = 3};
        CU_ASSERT_NOT_EQUAL(migrate(&place, &all), STATUS_OK);
        CU_ASSERT_PTR_NOT_NULL(strstr(place.err.text, "from schema 1 to 3"));
        CU_ASSERT_PTR_NOT_NULL(strstr(place.err.text, "it is as it was"));
        CU_ASSERT_EQUAL(read_bytes(&place, after), length);
        CU_ASSERT_EQUAL(memcmp(before, after, length), 0);
    }
    CU_ASSERT_EQUAL(migrate(&place, LIST(3)), STATUS_OK);
    CU_ASSERT_EQUAL(ask(&place, "gnomon.db.before-002", is_first), 32);
    place_end(&place);
}

/* A copy that is there is taken for this store's only when it is: after another write it is the only one of its time. */
static void test_a_copy_is_not_overwritten(void)
{
    struct place place;
    make_first(&place);
    const char *const       list[] = {FIRST, "not sql"};
    const struct migrations bad = {.texts = list, .len = 2};
    CU_ASSERT_NOT_EQUAL(migrate(&place, &bad), STATUS_OK); // leaves its copy
    execute(&place, "gnomon.db", "INSERT INTO child VALUES ('b', 4)");
    CU_ASSERT_EQUAL(migrate(&place, LIST(2)), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(place.err.code, "backup_exists");
    CU_ASSERT_EQUAL(ask(&place, "gnomon.db", is_first), 42);
    CU_ASSERT_EQUAL(ask(&place, "gnomon.db", "PRAGMA user_version"), 1);
    CU_ASSERT_EQUAL(ask(&place, "gnomon.db.before-002", is_first), 32);
    CU_ASSERT_NOT_EQUAL(access(path_of(&place, "gnomon.db.before-002.part"), F_OK), 0);
    CU_ASSERT_EQUAL(rename(path_of(&place, "gnomon.db.before-002"), path_of(&place, "gnomon.db.before-003")), 0);
    CU_ASSERT_EQUAL(migrate(&place, LIST(2)), STATUS_OK);
    CU_ASSERT_EQUAL(ask(&place, "gnomon.db.before-002", is_first), 42);
    place_end(&place);
}

/* In the place of a statement that this reader has not prepared, one of a second or more, were it let. */
static enum status read_for_long(struct db_conn *conn, void *arg, struct error *err)
{
    const struct sql_statement slow = {
        .name = "slow",
        .parameters = "",
        .letters = "i",
        .text = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000000) SELECT sum(i) FROM n"};
    struct db_rows rows;
    (void)arg;
    if (conn->statements[SQL_EVENT_LAST] == NULL)
        TRY(conn->driver->prepare(conn->handle, &slow, &conn->statements[SQL_EVENT_LAST], err));
    return db_find(conn, NULL, &rows, err, SQL_EVENT_LAST, BIND_NONE);
}

/* Whoever reads next has as long. */
static void test_a_reader_has_its_time(void)
{
    struct place place;
    struct db   *db = NULL;
    place_new(&place);
    make_store(&place);
    const struct db_options options = {.folder = place.folder, .synchronous = "OFF", .readers = 1, .step_ms = 1};
    CU_ASSERT_EQUAL_FATAL(db_open(&options, &db, &place.err), STATUS_OK);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(db_read(db, read_for_long, NULL, &place.err), STATUS_BUSY);
        CU_ASSERT_STRING_EQUAL(place.err.code, "deadline_exceeded");
    }
    db_close(db);
    place_end(&place);
}

/* ---- 006: who made what there is ---- */

#define TOKEN(id, name)                                                                                          \
    "INSERT INTO token(id, hash, name, scope, agent, created_ms, expires_ms, revoked_ms) VALUES('" id "', x'', " \
    "'" name "', 'write', '', 1, 0, 2);"
#define STUDY(id)                                                                                                  \
    "INSERT INTO study(id, name, state, labels, notes, revision, version, total, queued, running, completed, "     \
    "failed, infeasible, abandoned, stopped, best_trial, created_ms, updated_ms) VALUES('" id "', 's', 'active', " \
    "'{}', '', 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1);"
#define EVENT_OF(study, kind, actor)                                                                                 \
    "INSERT INTO event(at_ms, kind, study, revision, trial, actor) VALUES(1, '" kind "', '" study "', 0, 0, '" actor \
    "');"

static const char makers[] = TOKEN("tok_a", "Ana") TOKEN("tok_b", "Ben") STUDY("made") STUDY("imported") STUDY("cloned")
    STUDY("local") STUDY("silent") STUDY("lost")                                          //
    EVENT_OF("made", "study.created", "tok_a") EVENT_OF("made", "study.updated", "tok_b") //
    EVENT_OF("made", "study.imported", "tok_b")                                           // of results
    EVENT_OF("imported", "study.created", "elsewhere:tok_a") EVENT_OF("imported", "study.imported", "elsewhere:tok_a")
        EVENT_OF("imported", "study.imported", "tok_b") EVENT_OF("imported", "study.imported", "tok_a") //
    EVENT_OF("cloned", "study.created", "tok_b") EVENT_OF("cloned", "study.cloned", "tok_b")            //
    EVENT_OF("local", "study.created", "local") EVENT_OF("lost", "study.created", "tok_c");

static const struct {
    const char *study, *by, *owner;
} made_by[] = {
    {"made", "tok_a", "Ana"},    {"imported", "tok_b", "Ben"}, {"cloned", "tok_b", "Ben"},
    {"local", "local", "local"}, {"silent", NULL, NULL},       {"lost", "tok_c", NULL},
};

static void check_text(sqlite3_stmt *row, int column, const char *expected)
{
    const char *found = (const char *)sqlite3_column_text(row, column);
    CU_ASSERT_EQUAL(found == NULL, expected == NULL);
    if (found != NULL && expected != NULL)
        CU_ASSERT_STRING_EQUAL(found, expected);
}

/* The rows that the store attached as "other" has and this one has not, of a table or what else can be selected from. */
static int count_others(sqlite3 *handle, const char *table)
{
    char          query[256];
    sqlite3_stmt *statement = NULL;
    snprintf(query, sizeof query, "SELECT count(*) FROM (SELECT %s FROM other.%s EXCEPT SELECT %s FROM main.%s)",
             strcmp(table, "sqlite_schema") == 0 ? "type, name, tbl_name, sql" : "*", table,
             strcmp(table, "sqlite_schema") == 0 ? "type, name, tbl_name, sql" : "*", table);
    CU_ASSERT_EQUAL_FATAL(sqlite3_prepare_v2(handle, query, -1, &statement, NULL), SQLITE_OK);
    int number = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int(statement, 0) : -1;
    sqlite3_finalize(statement);
    return number;
}

static void compare_with_other(const struct place *place, const char *own, const char *other)
{
    char          attach[256];
    sqlite3      *handle = NULL;
    sqlite3_stmt *tables = NULL;
    snprintf(attach, sizeof attach, "ATTACH '%s' AS other", path_of(place, other));
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(path_of(place, own), &handle), SQLITE_OK);
    CU_ASSERT_EQUAL_FATAL(sqlite3_exec(handle, attach, NULL, NULL, NULL), SQLITE_OK);
    CU_ASSERT_EQUAL(count_others(handle, "sqlite_schema"), 0);
    CU_ASSERT_EQUAL_FATAL(
        sqlite3_prepare_v2(handle, "SELECT name FROM main.sqlite_schema WHERE type = 'table'", -1, &tables, NULL),
        SQLITE_OK);
    while (sqlite3_step(tables) == SQLITE_ROW)
        CU_ASSERT_EQUAL(count_others(handle, (const char *)sqlite3_column_text(tables, 0)), 0);
    sqlite3_finalize(tables);
    sqlite3_close(handle);
}

/* The schema that the program has as a whole is that of its migrations one after another, first rows included. */
static void test_the_whole_is_what_the_migrations_make(void)
{
    static const char *const names[] = {"gnomon.db", "gnomon.db.before-002"};
    struct place             place;
    place_new(&place);
    execute(&place, "gnomon.db", db_migrations.whole);
    for (int i = 0; i < db_migrations.len; i++)
        execute(&place, "gnomon.db.before-002", db_migrations.texts[i]);
    for (int i = 0; i < 2; i++) { // each store has an id and a time of its own
        CU_ASSERT_EQUAL(ask(&place, names[i], "SELECT length(store) FROM witness"), 32);
        CU_ASSERT_EQUAL(ask(&place, names[i], "SELECT created_ms = updated_ms AND created_ms > 1e12 FROM project"), 1);
        execute(&place, names[i], "UPDATE witness SET store = ''; UPDATE project SET created_ms = 0, updated_ms = 0");
    }
    compare_with_other(&place, names[0], names[1]);
    compare_with_other(&place, names[1], names[0]);
    place_end(&place);
}

/* A name is not made up: not from an import of results, not from what was elsewhere, not of a token that is not there. */
static void test_the_log_says_who_made_studies(void)
{
    sqlite3      *store = NULL;
    sqlite3_stmt *row = NULL;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(":memory:", &store), SQLITE_OK);
    for (int i = 0; i < 6; i++) {
        if (i == 5)
            CU_ASSERT_EQUAL_FATAL(sqlite3_exec(store, makers, NULL, NULL, NULL), SQLITE_OK);
        CU_ASSERT_EQUAL_FATAL(sqlite3_exec(store, db_migrations.texts[i], NULL, NULL, NULL), SQLITE_OK);
    }
    CU_ASSERT_EQUAL_FATAL(sqlite3_prepare_v2(store, "SELECT created_by, owner FROM study WHERE id = ?", -1, &row, NULL),
                          SQLITE_OK);
    for (size_t i = 0; i < sizeof made_by / sizeof *made_by; i++) {
        sqlite3_bind_text(row, 1, made_by[i].study, -1, SQLITE_STATIC);
        CU_ASSERT_EQUAL_FATAL(sqlite3_step(row), SQLITE_ROW);
        check_text(row, 0, made_by[i].by);
        check_text(row, 1, made_by[i].owner);
        sqlite3_reset(row);
    }
    sqlite3_finalize(row);
    sqlite3_close(store);
}

/* Columns of texts and bytes that no trigger weighs, and what bounds them instead.  A table "*" is every table. */
static const struct {
    const char *table, *columns, *bound;
} weightless[] = {
    {"*", "id study project game federation token parent actor owner created_by worker holder state kind sha256",
     "ids, names of at most 200 letters, words of the program"},
    {"study", "reason", "a word of the program"},
    {"trial", "external_id algorithm fallback", "128 letters, which every trial stands for; words of the program"},
    {"event", "detail salt erased bound", "service/app/event_log.c weighs lines"},
    {"operation", "trials code detail said progress", "eight bytes of each of its count; words of the program"},
    {"measurement", "reason", "a word of the program"},
    {"transfer_source", "source name matrix", "an id, a name and a digest for each of 20 sources"},
    {"token", "hash name scope resource agent previous_hash", "1000 bytes of token.created"},
    {"idempotency", "key fingerprint reply location etag subject", "kept replies: service/app/quota.c"},
    {"curator_ledger", "curator_key ledger head", "digests, one for a release"},
    {"federation", "name reason features_sha256", "500 bytes of each"},
    {"federation_agent", "name", "600 bytes of agent.registered"},
    {"federation_ledger", "mechanism", "500 bytes of round.closed"},
    {"game", "name reason", "500 bytes of each"},
    {"tally", "thing", "of the house"},
    {"correction", "reason outcome why", "600 bytes of trial.corrected and twice its words"},
    {"trial_change", "of_study", "an id, which every trial stands for"},
    {"witness", "store", "of the house"},
    {"steady", "boot", "of the house"},
    {"sparkline", "points", "at most so many points of a study"},
    {"project", "name", "the operator's"},
    {"import", "source", "an id"},
    {"chain", "first_head head total", "of the house"},
    {"log_gap", "digests", "32 bytes of a line that weighed 110 for as long as it was kept"},
};

static bool is_word_of(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length)
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static bool is_weightless(const char *table, const char *column)
{
    for (size_t i = 0; i < sizeof weightless / sizeof *weightless; i++)
        if ((strcmp(weightless[i].table, table) == 0 || strcmp(weightless[i].table, "*") == 0) &&
            is_word_of(weightless[i].columns, column))
            return true;
    return false;
}

/* A column that is as long as a client wants counts against the bytes of the project: the next one, too. */
static void test_a_long_column_weighs(void)
{
    static const char query[] = "SELECT t.name, c.name, EXISTS (SELECT 1 FROM sqlite_schema w WHERE w.type = 'trigger' "
                                "AND w.tbl_name = t.name AND "
                                "instr(w.sql, 'extra') AND (instr(w.sql, 'length(NEW.' || c.name || ')') OR "
                                "instr(w.sql, 'CAST(NEW.' || c.name || "
                                "' AS') OR instr(w.sql, 'CAST(coalesce(NEW.' || c.name || ','))) FROM sqlite_schema t, "
                                "pragma_table_info(t.name) c "
                                "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' AND c.type IN ('TEXT', 'BLOB')";
    sqlite3          *store = NULL;
    sqlite3_stmt     *columns = NULL;
    int               weighed = 0;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(":memory:", &store), SQLITE_OK);
    for (int i = 0; i < db_migrations.len; i++)
        CU_ASSERT_EQUAL_FATAL(sqlite3_exec(store, db_migrations.texts[i], NULL, NULL, NULL), SQLITE_OK);
    CU_ASSERT_EQUAL_FATAL(sqlite3_prepare_v2(store, query, -1, &columns, NULL), SQLITE_OK);
    while (sqlite3_step(columns) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(columns, 0);
        const char *column = (const char *)sqlite3_column_text(columns, 1);
        bool        weighs = sqlite3_column_int(columns, 2) != 0;
        weighed += weighs;
        if (weighs == is_weightless(table, column)) // in neither list, or in both
            fprintf(stderr, "  %s.%s\n", table, column);
        CU_ASSERT_NOT_EQUAL(weighs, is_weightless(table, column));
    }
    CU_ASSERT(weighed > 20);
    sqlite3_finalize(columns);
    sqlite3_close(store);
}

CU_TestInfo suite_schema[] = {
    {"what differs is named, and the store left as it is", test_what_differs_is_named_and_left},
    {"an empty file is a beginning", test_an_empty_file_is_a_beginning},
    {"a log without its store is kept", test_a_log_without_its_store_is_kept},
    {"what is in the log counts", test_what_is_in_the_log_counts},
    {"a path of any letters", test_a_path_of_any_letters},
    {"versions are walked in one go", test_versions_are_walked_in_one_go},
    {"versions are walked by steps", test_versions_are_walked_by_steps},
    {"what fails changes nothing", test_what_fails_changes_nothing},
    {"a copy is not overwritten", test_a_copy_is_not_overwritten},
    {"a reader has its time", test_a_reader_has_its_time},
    {"the whole is what the migrations make", test_the_whole_is_what_the_migrations_make},
    {"the log says who made studies", test_the_log_says_who_made_studies},
    {"a long column weighs", test_a_long_column_weighs},
    CU_TEST_INFO_NULL,
};
