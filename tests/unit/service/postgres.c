/* Events that only a database in a process of its own brings: connections end, others come.  Without one (database.h) these
 * tests do nothing. */
#include "db/driver.h"
#include "db/writer/chain.h"
#include "service/app/event_log.h"
#include "service/base/digest.h"
#include "service/main/app_open.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include <ctype.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static bool is_there(struct world *world)
{
    bool is = world->database[0] != '\0';
    if (!is)
        world_end(world);
    return is;
}

/* ---- one schema ---- */

/* Tables and indices have one source; triggers are written twice. */
static void test_no_trigger_is_missing(void)
{
    struct world *world = world_new();
    if (!is_there(world))
        return;
    char                       folder[] = "gnomon-test-XXXXXX", path[64], text[160];
    const struct sql_statement listed = {
        .parameters = "", .letters = "s", .text = "SELECT name FROM sqlite_schema WHERE type = 'trigger'"};
    struct db_schema schema = {.needed = db_migrations.len};
    struct db_value  name = {.letter = 's'};
    void            *handle = NULL, *statement = NULL;
    bool             row = true;
    int              found = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL_FATAL(driver_sqlite.open(folder, DRIVER_READ_WRITE, "OFF", &handle, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(driver_sqlite.migrate(handle, folder, &db_migrations, &schema, NULL, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(driver_sqlite.prepare(handle, &listed, &statement, &world->err), STATUS_OK);
    for (; driver_sqlite.step(statement, &row, &world->err) == STATUS_OK && row; found++) {
        CU_ASSERT_FATAL(driver_sqlite.column(statement, 0, &name));
        snprintf(text, sizeof text, "SELECT count(*) AS count FROM pg_trigger WHERE tgname = '%.60s'", name.is.s);
        bool is_written = database_ask(world->database, text) > 0;
        if (!is_written)
            fprintf(stderr, "the trigger %s of db/migrations is not in db/postgres/postgres.sql\n", name.is.s);
        CU_ASSERT(is_written);
    }
    CU_ASSERT(found > 10);
    driver_sqlite.finalize(statement);
    driver_sqlite.close(handle);
    snprintf(path, sizeof path, "%s/gnomon.db", folder);
    remove(path);
    remove(folder);
    world_end(world);
}

/* A later schema: what it says is said in PostgreSQL's words, and what fails leaves the store as it was. */
static enum status migrate(struct world *world, const char *text, struct db_schema *found)
{
    const char       *texts[16];
    struct migrations next = {.texts = texts, .len = db_migrations.len + 1};
    void             *handle = NULL;
    CU_ASSERT_FATAL(next.len <= 16);
    memcpy(texts, db_migrations.texts, (size_t)db_migrations.len * sizeof *texts);
    texts[next.len - 1] = text;
    CU_ASSERT_EQUAL_FATAL(driver_postgres.inspect(world->database, &next, found, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(driver_postgres.open(world->database, DRIVER_READ_WRITE, "OFF", &handle, &world->err),
                          STATUS_OK);
    enum status status = driver_postgres.migrate(handle, world->database, &next, found, NULL, &world->err);
    driver_postgres.close(handle);
    CU_ASSERT_EQUAL_FATAL(driver_postgres.inspect(world->database, &next, found, &(struct error){.code = ""}),
                          STATUS_OK);
    return status;
}

static void test_migration(void)
{
    static const char good[] = "-- A table; with a remark.\n"
                               "CREATE TABLE extra ( -- (such as this)\n id TEXT PRIMARY KEY, n INTEGER NOT NULL, x "
                               "REAL, sum INTEGER NOT NULL DEFAULT 0\n) STRICT, WITHOUT ROWID;\n"
                               "ALTER TABLE trial ADD COLUMN worth REAL; UPDATE trial SET worth = 2.385;\n"
                               "CREATE TRIGGER extra_comes AFTER INSERT ON extra BEGIN UPDATE extra SET n = 7; END;\n"
                               "INSERT INTO extra(id, n) VALUES ('a;b REAL', 2);\nANALYZE sqlite_schema;\n"
                               "CREATE INDEX extra_by_n ON extra(n); -- the end";
    struct world     *world = world_new();
    struct db_schema  found;
    if (!is_there(world))
        return;
    struct study study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "w").len, 1);
    app_close(world->app);
    CU_ASSERT_EQUAL(migrate(world, "CREATE TABLE extra (id TEXT); UPDATE trial SET nonsense = 1;", &found),
                    STATUS_INTERNAL);
    CU_ASSERT_EQUAL(found.found, db_migrations.len);
    CU_ASSERT_EQUAL(database_ask(world->database, "SELECT count(*) FROM pg_class WHERE oid = to_regclass('extra')"), 0);
    CU_ASSERT_EQUAL(database_do(world->database, "UPDATE trial SET notes = 'x'", &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(migrate(world, good, &found), STATUS_INTERNAL);
    CU_ASSERT_STRING_EQUAL(world->err.code, "store_corrupt");
    CU_ASSERT_EQUAL(database_do(world->database, "UPDATE trial SET notes = NULL", &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(migrate(world, good, &found), STATUS_OK);
    CU_ASSERT_EQUAL(found.found, found.needed);
    CU_ASSERT_EQUAL(database_ask(world->database, "SELECT n FROM extra WHERE id = 'a;b REAL'"), 2);
    CU_ASSERT_EQUAL(database_ask(world->database,
                                 "SELECT count(*) FROM trial WHERE worth = 2.385 AND pg_typeof(worth) = "
                                 "'double precision'::regtype"),
                    1);
    CU_ASSERT_EQUAL(database_ask(world->database, "SELECT count(*) FROM damaged_rows(NULL)"), 0);
    CU_ASSERT_EQUAL(database_ask(world->database, // the same of both, where the sum is the last column and where not
                                 "SELECT count(*) FROM summed() WHERE (name = 'trial') = (sent_row(name, columns, '') "
                                 "LIKE 'record_send(ROW(%') AND name IN ('trial', 'witness')"),
                    2);
    CU_ASSERT_EQUAL(database_ask(world->database, "SELECT count(*) FROM witness w WHERE w.sum = row_sum(w) AND w.sum = "
                                                  "sum_of(record_send(ROW(w.id, w.store, w.counter)))"),
                    1);
    CU_ASSERT_EQUAL(database_ask(world->database,
                                 "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'extra'::regclass AND tgname = "
                                 "'row_is_summed'"),
                    1);
    world->app = NULL;
    world_end(world);
}

/* Makes a closed store one of schema 7, whose rows are bound as that did it, or leaves the total as it is. */
static void make_former(const struct world *world, const struct total *total)
{
    static const char *const former =
        "UPDATE store SET version = 7; ALTER TABLE measurement DROP COLUMN IF EXISTS outcome CASCADE; "
        "DO $do$DECLARE t record; BEGIN FOR t IN SELECT * FROM summed() WHERE name = 'measurement' LOOP EXECUTE format("
        "'CREATE OR REPLACE FUNCTION row_sum(measurement) RETURNS bigint LANGUAGE sql STABLE AS %L', 'SELECT sum_of(' "
        "|| "
        "sent_sum(t.name, t.columns, sent_row(t.name, t.columns, '$1')) || ')'); END LOOP; END$do$";
    unsigned char bytes[TOTAL_BYTES], digest[CHAIN_BYTES];
    char          text[2 * TOTAL_BYTES + 600], hex[2 * TOTAL_BYTES + 1], bound[2 * CHAIN_BYTES + 1];
    struct error  err;
    CU_ASSERT_EQUAL_FATAL(database_do(world->database, former, &err), STATUS_OK);
    if (total == NULL)
        return;
    total_write(total, bytes);
    chain_digest_total(total, digest);
    digest_to_hex(bytes, sizeof bytes, hex);
    digest_to_hex(digest, sizeof digest, bound);
    snprintf(text, sizeof text,
             "SET session_replication_role = replica; UPDATE chain SET total = decode('%s', 'hex'); UPDATE event SET "
             "bound = "
             "decode('%s', 'hex') WHERE seq = (SELECT max(seq) FROM event WHERE bound IS NOT NULL); UPDATE event e SET "
             "sum = "
             "row_sum(e)",
             hex, bound);
    CU_ASSERT_EQUAL_FATAL(database_do(world->database, text, &err), STATUS_OK);
}

static void gather_former(const struct world *world, struct total *total)
{
    void        *handle = NULL;
    struct error err;
    CU_ASSERT_EQUAL_FATAL(driver_postgres.open(world->database, DRIVER_READ_ONLY, "OFF", &handle, &err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(driver_postgres.begin(handle, DRIVER_READ_ONLY, &err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(driver_postgres.gather(handle, 7, total, &err), STATUS_OK);
    driver_postgres.close(handle);
}

static enum status try_to_open(struct world *world)
{
    struct db  *db = NULL;
    enum status status = db_open(
        &(struct db_options){.folder = world->folder, .database = world->database, .synchronous = "OFF", .readers = 1},
        &db, &world->err);
    db_close(db);
    return status;
}

/* A store of an earlier schema is taken on if its rows are those that its own total is of, and otherwise left as it is. */
static void test_former_total(void)
{
    struct world *world = world_new();
    struct total  total;
    if (!is_there(world))
        return;
    struct study study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 2, "w").len, 2);
    app_close(world->app);
    world->app = NULL;
    make_former(world, NULL);
    CU_ASSERT_EQUAL(try_to_open(world), STATUS_INTERNAL);
    CU_ASSERT_STRING_EQUAL(world->err.code, "store_corrupt");
    gather_former(world, &total);
    make_former(world, &total);
    CU_ASSERT_EQUAL(database_do(world->database,
                                "UPDATE trial SET number = 3 - number + 7; UPDATE trial t SET sum = row_sum(t)",
                                &world->err),
                    STATUS_OK);
    CU_ASSERT_EQUAL(try_to_open(world), STATUS_INTERNAL);
    CU_ASSERT_EQUAL(database_ask(world->database, "SELECT version FROM store"), 7);
    CU_ASSERT_EQUAL(database_do(world->database,
                                "UPDATE trial SET number = 10 - number; UPDATE trial t SET sum = row_sum(t)",
                                &world->err),
                    STATUS_OK);
    CU_ASSERT_EQUAL(try_to_open(world), STATUS_OK);
    CU_ASSERT_EQUAL(database_ask(world->database, "SELECT version FROM store"), db_migrations.len);
    CU_ASSERT_EQUAL(database_ask(world->database, "SELECT count(*) FROM event WHERE kind = 'store.changed'"), 1);
    CU_ASSERT_EQUAL(database_ask(world->database, "SELECT length(total) FROM chain"), TOTAL_BYTES);
    CU_ASSERT_EQUAL(try_to_open(world), STATUS_OK);
    world_end(world);
}

/* ---- places ---- */

static void test_what_is_no_place(void)
{
    struct world *world = world_new();
    if (!is_there(world))
        return;
    char               folder[] = "gnomon-test-XXXXXX", path[64];
    struct app_options options = {
        .folder = folder, .database = "/var/lib/gnomon", .synchronous = "FULL", .compute_slots = 1};
    struct app *second = NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL(app_open(&options, &second, &world->err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(world->err.code, "database");
    snprintf(path, sizeof path, "%s/gnomon.db", folder); // a store that would be forgotten
    fclose(fopen(path, "w"));
    options.database = world->database;
    CU_ASSERT_EQUAL(app_open(&options, &second, &world->err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(world->err.code, "store_exists");
    remove(path);
    snprintf(path, sizeof path, "%s/gnomon.lock", folder);
    remove(path);
    CU_ASSERT_EQUAL(remove(folder), 0);
    world_end(world);
}

/* ---- a spare ---- */

enum { LOOKS = 3, ROTATIONS = 30000 };

/* The patience of a spare, which is asked between two looks. */
struct patience {
    struct app *first; /* ends at the last look */
    int         looks;
};

static bool is_patient(void *arg)
{
    struct patience *patience = arg;
    if (++patience->looks == LOOKS) {
        app_close(patience->first);
        patience->first = NULL;
    }
    return patience->looks < 10 * LOOKS;
}

static bool is_impatient(void *arg)
{
    return ++((struct patience *)arg)->looks < LOOKS;
}

static void remove_files(const char *folder)
{
    static const char *const files[] = {"gnomon.lock", "gnomon.witness"};
    char                     path[64];
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        remove(path);
    }
}

/* A database has one server.  Another one is refused, gives up waiting, or waits until the first ends, and goes on from what that
 * one left; its folder has witnessed nothing, which does not make the store an older copy. */
static void test_a_spare(void)
{
    struct world *world = world_new();
    if (!is_there(world))
        return;
    char               folder[] = "gnomon-test-XXXXXX";
    struct app_options options = world->app->options;
    struct patience    patience = {.first = world->app};
    struct app        *second = NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    struct study study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "w").trials[0].number, 1);
    options.folder = folder;
    CU_ASSERT_EQUAL(app_open(&options, &second, &world->err), STATUS_BUSY);
    CU_ASSERT_STRING_EQUAL(world->err.code, "locked");
    options.waits = is_impatient;
    options.waits_arg = &patience;
    CU_ASSERT_EQUAL(app_open(&options, &second, &world->err), STATUS_BUSY);
    CU_ASSERT_EQUAL(patience.looks, LOOKS);
    patience.looks = 0;
    options.waits = is_patient;
    CU_ASSERT_EQUAL_FATAL(app_open(&options, &second, &world->err), STATUS_OK);
    CU_ASSERT_EQUAL(patience.looks, LOOKS);
    CU_ASSERT(!db_is_rolled_back(second->db) && db_is_fresh(second->db));
    world->app = second;
    CU_ASSERT_EQUAL(world_suggest(world, study.id, 1, "v").trials[0].number, 2);
    CU_ASSERT_EQUAL(world_observe(world, study.id, 1, 2.385), STATUS_OK);
    CU_ASSERT_EQUAL(database_ask(world->database, "SELECT count(*) FROM damaged_rows(NULL)"), 0);
    CU_ASSERT_EQUAL(database_ask(world->database, "SELECT max(seq) - count(*) FROM event"), 0);
    app_close(second);
    remove_files(folder);
    CU_ASSERT_EQUAL(remove(folder), 0);
    world_open(world);
    world_end(world);
}

static bool is_fresh(const struct world *world, bool is)
{
    for (int i = 0; i < ROTATIONS && db_is_fresh(world->app->db) != is; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return db_is_fresh(world->app->db) == is;
}

static enum status wait_for_gate(struct db_conn *conn, void *arg, struct error *err)
{
    (void)conn, (void)err;
    while (!atomic_load((atomic_bool *)arg))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return STATUS_OK;
}

struct gated {
    struct db  *db;
    atomic_bool is_open;
};

static void *transact_gated(void *arg)
{
    struct gated *gated = arg;
    struct error  err;
    CU_ASSERT_EQUAL(db_transact(gated->db, wait_for_gate, &gated->is_open, &err), STATUS_OK);
    return NULL;
}

/* While the writer hears nothing from the database another server may have it, and memory is not believed. */
static void test_what_is_remembered_of_a_silent_database(void)
{
    struct world *world = world_new();
    if (!is_there(world))
        return;
    struct gated gated = {.db = world->app->db};
    pthread_t    thread;
    CU_ASSERT(is_fresh(world, true));
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, transact_gated, &gated), 0);
    CU_ASSERT(is_fresh(world, false));
    atomic_store(&gated.is_open, true);
    pthread_join(thread, NULL);
    CU_ASSERT(is_fresh(world, true));
    world_end(world);
}

/* ---- connections that end ---- */

enum { THREADS = 8, LINES_MAX = 4000 };

struct hammer {
    struct db         *db;
    int                number;
    char               is_acknowledged[LINES_MAX];
    const atomic_bool *is_over;
    int                sent, refused;
};

static enum status add_line(struct db_conn *conn, void *arg, struct error *err)
{
    const struct hammer *hammer = arg;
    for (int i = 0; i < 3; i++) // half of it is never there
        TRY(event_log(conn, EVENT(.at_ms = hammer->number, .kind = "line", .revision = hammer->sent, .actor = "local"),
                      err));
    return STATUS_OK;
}

static void *hammer_on(void *arg)
{
    struct hammer *hammer = arg;
    for (; hammer->sent < LINES_MAX && !atomic_load(hammer->is_over); hammer->sent++) {
        struct error err;
        enum status  status = db_transact(hammer->db, add_line, hammer, &err);
        hammer->is_acknowledged[hammer->sent] = status == STATUS_OK;
        hammer->refused += status != STATUS_OK;
        if (status != STATUS_OK && strcmp(err.code, "busy") != 0)
            fprintf(stderr, "%s: %s\n", err.code, err.text);
    }
    return NULL;
}

static void check_lines(struct world *world, const struct hammer *hammer)
{
    char    text[256];
    int64_t acknowledged = 0;
    for (int i = 0; i < hammer->sent; i++)
        acknowledged += hammer->is_acknowledged[i];
    snprintf(text, sizeof text, "SELECT count(*) AS count FROM event WHERE kind = 'line' AND at_ms = %d",
             hammer->number);
    CU_ASSERT_EQUAL(database_ask(world->database, text), 3 * acknowledged);
    snprintf(text, sizeof text,
             "SELECT count(*) AS count FROM (SELECT revision FROM event WHERE kind = 'line' AND at_ms = %d GROUP BY "
             "revision "
             "HAVING count(*) <> 3) AS odd",
             hammer->number);
    CU_ASSERT_EQUAL(database_ask(world->database, text), 0);
    for (int i = 0; i < hammer->sent; i += 97) {
        snprintf(text, sizeof text,
                 "SELECT count(*) AS count FROM event WHERE kind = 'line' AND at_ms = %d AND revision = %d",
                 hammer->number, i);
        CU_ASSERT_EQUAL(database_ask(world->database, text), 3 * hammer->is_acknowledged[i]);
    }
}

static void wait_for_more(struct db *db)
{
    struct db_stats before, now;
    db_stats(db, &before);
    do {
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        db_stats(db, &now);
    } while (now.transactions < before.transactions + 20);
}

/* Whatever it was doing: what was acknowledged is there, once; what was refused is not; and it goes on. */
static void test_connections_that_end(void)
{
    static struct hammer hammers[THREADS];
    pthread_t            threads[THREADS];
    atomic_bool          is_over = false;
    struct world        *world = world_new();
    if (!is_there(world))
        return;
    for (int i = 0; i < THREADS; i++) {
        hammers[i] = (struct hammer){.db = world->app->db, .number = i, .is_over = &is_over};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, hammer_on, &hammers[i]), 0);
    }
    for (int i = 0; i < 40; i++) {
        wait_for_more(world->app->db);
        CU_ASSERT_EQUAL(database_do(world->database,
                                    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND "
                                    "classid = 1196314957 AND objid::int8 = (hashtext(current_schema())::int8 & "
                                    "4294967295)",
                                    &world->err),
                        STATUS_OK);
    }
    atomic_store(&is_over, true);
    int refused = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        refused += hammers[i].refused;
    }
    for (int i = 0; i < THREADS; i++)
        check_lines(world, &hammers[i]);
    CU_ASSERT(refused > 0);
    (void)world_study(world, world_box, "{\"name\":\"random\"}", 0);
    CU_ASSERT_EQUAL(database_ask(world->database, "SELECT max(seq) - count(*) AS gaps FROM event"), 0);
    world_end(world);
}

/* ---- answers that do not come ---- */

enum { PAIRS_MAX = 32, CHUNK_BYTES = 1 << 16 };
enum trick { PASS, CUT_BEFORE_COMMIT, SWALLOW_ANSWER };

/* Between a server and its database; plays a trick on one commit. */
struct proxy {
    char        folder[81];
    int         listener, pairs[PAIRS_MAX][2], len; // of the client, of the database
    const char *behind;
    atomic_int  trick;
    atomic_bool is_over;
    pthread_t   thread;
};

static struct sockaddr_un socket_in(const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.80s/.s.PGSQL.5432", folder);
    return address;
}

static bool is_commit(const char *bytes, size_t length)
{
    static const char mark[] = "leave_mark"; // as a statement's name, which a NUL ends
    for (size_t i = 0; i + sizeof mark <= length; i++)
        if (memcmp(bytes + i, mark, sizeof mark) == 0)
            return true;
    return false;
}

/* False: this connection is at its end. */
static bool pass_on(struct proxy *proxy, const int pair[2], int from)
{
    static char bytes[CHUNK_BYTES];
    ssize_t     length = read(pair[from], bytes, sizeof bytes);
    int         trick = from == 0 && length > 0 && is_commit(bytes, (size_t)length) ? atomic_load(&proxy->trick) : PASS;
    if (length <= 0 || trick == CUT_BEFORE_COMMIT || write(pair[1 - from], bytes, (size_t)length) != length) {
        atomic_store(&proxy->trick, trick == CUT_BEFORE_COMMIT ? PASS : atomic_load(&proxy->trick));
        return false;
    }
    if (trick != SWALLOW_ANSWER)
        return true;
    CU_ASSERT(read(pair[1], bytes, sizeof bytes) > 0); // it was done
    atomic_store(&proxy->trick, PASS);
    return false;
}

static void take_connection(struct proxy *proxy)
{
    const struct sockaddr_un behind = socket_in(proxy->behind);
    int                     *pair = proxy->pairs[proxy->len];
    pair[0] = accept(proxy->listener, NULL, NULL);
    pair[1] = socket(AF_UNIX, SOCK_STREAM, 0);
    CU_ASSERT_FATAL(pair[0] >= 0 && proxy->len < PAIRS_MAX - 1);
    CU_ASSERT_EQUAL_FATAL(connect(pair[1], (const struct sockaddr *)&behind, sizeof behind), 0);
    proxy->len++;
}

static void end_connection(struct proxy *proxy, int i)
{
    close(proxy->pairs[i][0]);
    close(proxy->pairs[i][1]);
    proxy->len--;
    memmove(proxy->pairs[i], proxy->pairs[proxy->len], sizeof proxy->pairs[i]);
}

static void *proxy_on(void *arg)
{
    struct proxy *proxy = arg;
    while (!atomic_load(&proxy->is_over)) {
        struct pollfd fds[1 + 2 * PAIRS_MAX] = {{.fd = proxy->listener, .events = POLLIN}};
        int           len = proxy->len;
        for (int i = 0; i < 2 * len; i++)
            fds[1 + i] = (struct pollfd){.fd = proxy->pairs[i / 2][i % 2], .events = POLLIN};
        if (poll(fds, 1 + 2 * (nfds_t)len, 20) <= 0)
            continue;
        for (int i = len - 1; i >= 0; i--) // from the last, whose place the last one takes
            if ((fds[1 + 2 * i].revents != 0 && !pass_on(proxy, proxy->pairs[i], 0)) ||
                (fds[2 + 2 * i].revents != 0 && !pass_on(proxy, proxy->pairs[i], 1)))
                end_connection(proxy, i);
        if (fds[0].revents != 0)
            take_connection(proxy);
    }
    while (proxy->len > 0)
        end_connection(proxy, proxy->len - 1);
    return NULL;
}

/* The place of the same store through it. */
static void proxy_begin(struct proxy *proxy, const char *place, char through[DATABASE_BYTES])
{
    static char behind[64];
    const char *host = strstr(place, "host=") + strlen("host=");
    size_t      length = strcspn(host, "&");
    snprintf(behind, sizeof behind, "%.*s", (int)length, host);
    *proxy = (struct proxy){.behind = behind};
    CU_ASSERT_PTR_NOT_NULL_FATAL(
        getcwd(proxy->folder, sizeof proxy->folder)); // what does not begin with / is a host's name
    strncat(proxy->folder, "/gnomon-proxy-XXXXXX", sizeof proxy->folder - strlen(proxy->folder) - 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(proxy->folder));
    struct sockaddr_un address = socket_in(proxy->folder);
    proxy->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CU_ASSERT_EQUAL_FATAL(bind(proxy->listener, (struct sockaddr *)&address, sizeof address), 0);
    CU_ASSERT_EQUAL_FATAL(listen(proxy->listener, PAIRS_MAX), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&proxy->thread, NULL, proxy_on, proxy), 0);
    snprintf(through, DATABASE_BYTES, "%.*s%s%s", (int)(host - place), place, proxy->folder, host + length);
}

static void proxy_end(struct proxy *proxy)
{
    struct sockaddr_un address = socket_in(proxy->folder);
    atomic_store(&proxy->is_over, true);
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
    unlink(address.sun_path);
    CU_ASSERT_EQUAL(rmdir(proxy->folder), 0);
}

/* After a commit that failed the writer tries by itself whether it can, with a commit that is none of ours. */
static void wait_for_well(struct db *db)
{
    struct db_stats now;
    do {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        db_stats(db, &now);
    } while (now.refused[0] != '\0');
}

/* The answer to a commit is lost: it was done, or it was not, and that is what is said. */
static void test_a_commit_without_an_answer(void)
{
    static struct proxy proxy;
    char                through[DATABASE_BYTES], direct[DATABASE_BYTES];
    struct world       *world = world_new();
    if (!is_there(world))
        return;
    app_close(world->app);
    memcpy(direct, world->database, sizeof direct);
    proxy_begin(&proxy, direct, through);
    memcpy(world->database, through, sizeof through);
    world_open(world);
    db_set_upkeep(world->app->db, NULL, NULL); // no commits but ours
    struct hammer hammer = {.db = world->app->db};
    for (int i = 0; i < 6; i++, hammer.sent++) {
        bool is_done = i % 2 == 0;
        wait_for_well(world->app->db);
        atomic_store(&proxy.trick, is_done ? SWALLOW_ANSWER : CUT_BEFORE_COMMIT);
        CU_ASSERT_EQUAL(db_transact(world->app->db, add_line, &hammer, &world->err), is_done ? STATUS_OK : STATUS_BUSY);
        CU_ASSERT_EQUAL(atomic_load(&proxy.trick), PASS);
        hammer.is_acknowledged[i] = is_done;
    }
    check_lines(world, &hammer);
    (void)world_study(world, world_box, "{\"name\":\"random\"}", 0);
    app_close(world->app);
    proxy_end(&proxy);
    memcpy(world->database, direct, sizeof direct);
    world_open(world);
    world_end(world);
}

/* A row that a transaction changes n times takes n * n steps: the n-th looks through the n - 1 before it. */
static void test_no_row_is_changed_by_each_result(void)
{
    enum { RESULTS = 500 };
    static const char newest[] = "SELECT max((ctid::text::point)[1])::bigint AS count FROM tally";
    struct world     *world = world_new();
    if (!is_there(world))
        return;
    struct study study = world_study(world, world_box, "{\"name\":\"random\"}", 0);
    world_observe_many(world, study.id, RESULTS);
    CU_ASSERT_EQUAL(
        database_ask(world->database, "SELECT count FROM tally WHERE thing = 'trial' AND state = 'completed'"),
        RESULTS);
    CU_ASSERT(database_ask(world->database, newest) < RESULTS / 5);
    CU_ASSERT_EQUAL(db_compare_total(world->app->db, &world->err), STATUS_OK);
    world_end(world);
}

/* A trial is not looked for along the states of its study. */
static bool goes_along_states(const char *plan)
{
    const char *at = strstr(plan, "trial_by_state"), *condition = at == NULL ? NULL : strstr(at, "Cond: ");
    return strstr(plan, "Seq Scan on trial") != NULL ||
           (at != NULL && (condition == NULL || strstr(condition, "(state = ") == NULL));
}

static void explain(const struct driver *driver, void *handle, enum sql sql)
{
    static char          text[16384], plan[16384];
    struct sql_statement explained = sql_table[sql];
    struct error         err;
    void                *statement = NULL;
    bool                 row = false;
    snprintf(text, sizeof text, "EXPLAIN %s", sql_table[sql].text);
    explained.text = text;
    explained.letters = "s";
    CU_ASSERT_EQUAL_FATAL(driver->prepare(handle, &explained, &statement, &err), STATUS_OK);
    for (size_t i = 0; explained.parameters[i] != '\0'; i++) {
        struct db_value value = {.letter = (char)tolower((unsigned char)explained.parameters[i])};
        if (value.letter == 's')
            value.is.s = "";
        CU_ASSERT_EQUAL(driver->bind(statement, (int)i + 1, &value, &err), STATUS_OK);
    }
    plan[0] = '\0';
    while (driver->step(statement, &row, &err) == STATUS_OK && row) {
        struct db_value line = {.letter = 's'};
        if (driver->column(statement, 0, &line))
            snprintf(plan + strlen(plan), sizeof plan - strlen(plan), "%s\n", line.is.s);
    }
    driver->finalize(statement);
    if (!goes_along_states(plan))
        return;
    fprintf(stderr, "%s:\n%s", sql_table[sql].name, plan);
    CU_FAIL();
}

static void test_no_trial_is_looked_for_along_a_study(void)
{
    const struct driver *driver = &driver_postgres;
    struct world        *world = world_new();
    void                *handle = NULL;
    if (!is_there(world))
        return;
    CU_ASSERT_EQUAL_FATAL(driver->open(world->database, DRIVER_READ_ONLY, "OFF", &handle, &world->err), STATUS_OK);
    for (int sql = 0; sql < SQL_COUNT; sql++)
        if (strncmp(sql_table[sql].name, "CHECK_", 6) != 0)
            explain(driver, handle, (enum sql)sql);
    driver->close(handle);
    world_end(world);
}

CU_TestInfo suite_postgres[] = {
    {"no trigger is missing", test_no_trigger_is_missing},
    {"a later schema", test_migration},
    {"a former total", test_former_total},
    {"what is no place", test_what_is_no_place},
    {"a spare", test_a_spare},
    {"what is remembered of a silent database", test_what_is_remembered_of_a_silent_database},
    {"connections that end", test_connections_that_end},
    {"a commit without an answer", test_a_commit_without_an_answer},
    {"no row is changed by each result", test_no_row_is_changed_by_each_result},
    {"no trial is looked for along its study", test_no_trial_is_looked_for_along_a_study},
    CU_TEST_INFO_NULL,
};
