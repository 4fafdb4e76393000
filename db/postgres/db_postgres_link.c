/* The PostgreSQL driver: its connection, and what goes over it.
 *
 * Everything is sent as a pipeline: one trip, whatever waited to be sent.  Every answer has a deadline of our own: a proxy
 * that lost the database keeps its side open for ever. */
#include "db/postgres/db_postgres.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DIGEST_HEX = 2 * ROW_DIGEST_BYTES, VERSION_LEAST = 150000, EXIT_TAKEN = 70 };
enum { UNREAD_MAX = 5000, UNREAD_BYTES = 8 << 20 }; // what lies in memory when PostgreSQL is slower

/* ---- the library ---- */

struct pg_library pq;

static const struct {
    const char *name;
    void       *member; /* of pq: a pointer to a function, which C does not convert */
} calls[] = {
#define ROW(call) {.name = #call, .member = &pq.call},
    PG_CALLS(ROW)};

static bool is_loaded;

static void load(void)
{
    void *opened = dlopen("libpq.so.5", RTLD_NOW);
    is_loaded = opened != NULL;
    for (size_t i = 0; is_loaded && i < sizeof calls / sizeof calls[0]; i++) {
        void *call = dlsym(opened, calls[i].name);
        is_loaded = call != NULL;
        memcpy(calls[i].member, &call, sizeof call);
    }
}

/* ---- failures ---- */

// clang-format off
static const struct { const char *state; enum status status; const char *name; } failures[] = {
    {"GN004", STATUS_CONFLICT, "store_corrupt"},
    {"23", STATUS_CONFLICT, "constraint"},
    {"40", STATUS_BUSY, "busy"}, {"55P03", STATUS_BUSY, "busy"}, {"57014", STATUS_BUSY, "busy"},
    {"53100", STATUS_FULL, "disk_full"}, {"53", STATUS_BUSY, "busy"},
    {"54", STATUS_TOO_LARGE, "too_large"},
    {"XX001", STATUS_INTERNAL, "store_corrupt"}, {"XX002", STATUS_INTERNAL, "store_corrupt"},
    {"58", STATUS_INTERNAL, "store_io"},
    {"", STATUS_INTERNAL, "store_error"},
};
// clang-format on

/* The error that belongs to the state which PostgreSQL gave: of a kind of them, or of one. */
static enum status fail(const char *state, const char *text, struct error *err)
{
    size_t i = 0;
    while (strncmp(state, failures[i].state, strlen(failures[i].state)) != 0)
        i++;
    return error_set(err, failures[i].status, failures[i].name, "", "store: %.*s", (int)strcspn(text, "\n"), text);
}

enum status pg_lost(struct error *err)
{
    return error_set(err, STATUS_BUSY, "busy", "", "the connection to the database was lost; nothing was changed");
}

void pg_disconnect(struct pg *pg)
{
    if (pg->conn != NULL)
        pq.PQfinish(pg->conn);
    pg->conn = NULL;
    pg->waiting_len = pg->unread = 0;
    pg->unread_bytes = 0;
    pg->is_ending = false;
}

/* ---- notices ---- */

static int read_nibble(char c)
{
    return c >= 'a' ? c - 'a' + 10 : c - '0';
}

/* Reads the lower-case digits of encode(). */
static void read_digest(const char *hex, unsigned char out[ROW_DIGEST_BYTES])
{
    for (size_t i = 0; i < ROW_DIGEST_BYTES; i++)
        out[i] = (unsigned char)(read_nibble(hex[2 * i]) << 4 | read_nibble(hex[2 * i + 1]));
}

static void note_damaged(struct pg *pg, const char *owner)
{
    if (pg->damaged != NULL)
        snprintf(pg->damaged, DAMAGED_BYTES, "%s", owner);
}

/* Notices are not errors.  GN006 names a damaged row, GN005 carries digests of rows. */
static void take_notice(void *arg, const PGresult *result)
{
    struct pg    *pg = arg;
    unsigned char digest[ROW_DIGEST_BYTES];
    const char   *state = pq.PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char   *text = pq.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (state == NULL || text == NULL)
        return;
    if (strcmp(state, "GN006") == 0)
        note_damaged(pg, text);
    if (strcmp(state, "GN005") != 0 || pg->total == NULL)
        return;
    for (; strlen(text) > DIGEST_HEX; text += 1 + DIGEST_HEX) {
        read_digest(text + 1, digest);
        total_add_row(pg->total, digest, text[0] == '+');
    }
}

/* ---- over the wire ---- */

/* False: it did not become ready, or is broken. */
static bool wait_for(struct pg *pg, short events)
{
    struct pollfd is = {.fd = pq.PQsocket(pg->conn), .events = events};
    int           ready;
    do
        ready = poll(&is, 1, pg->answer_ms);
    while (ready < 0 && errno == EINTR);
    return ready > 0 && ((is.revents & POLLIN) == 0 || pq.PQconsumeInput(pg->conn) != 0);
}

static bool flush(struct pg *pg)
{
    int left;
    while ((left = pq.PQflush(pg->conn)) > 0)
        if (!wait_for(pg, POLLIN | POLLOUT))
            return false;
    return left == 0;
}

/* The next result, or NULL for none; *is_good is false when the connection is lost. */
static PGresult *next_result(struct pg *pg, bool *is_good)
{
    while (*is_good && pq.PQisBusy(pg->conn))
        *is_good = wait_for(pg, POLLIN);
    return *is_good ? pq.PQgetResult(pg->conn) : NULL;
}

static bool is_fine(const PGresult *result)
{
    ExecStatusType status = pq.PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
}

/* Keeps the first failure; what follows it says only that it was not tried. */
static void note(struct pg *pg, const PGresult *result, enum status *status, struct error *err)
{
    if (*status != STATUS_OK || is_fine(result))
        return;
    const char *state = pq.PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = pq.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (state != NULL && text != NULL && strcmp(state, "GN004") == 0)
        note_damaged(pg, text);
    *status = fail(state != NULL ? state : "", text != NULL ? text : "no answer", err);
}

/* Reads a result and a NULL for each query, of which the last result is wanted, then that of the synchronisation. */
static enum status read_pipeline(struct pg *pg, PGresult **out, struct error *err)
{
    enum status status = STATUS_OK;
    bool        is_good = true;
    int         len = pg->unread;
    pg->unread = 0;
    pg->unread_bytes = 0;
    pg->is_ending = false;
    for (int i = 0; i < len && is_good; i++) {
        PGresult *result = next_result(pg, &is_good);
        if (result == NULL)
            is_good = false;
        else
            note(pg, result, &status, err);
        if (is_good && i == len - 1 && status == STATUS_OK)
            *out = result;
        else
            pq.PQclear(result);
        if (is_good)
            pq.PQclear(next_result(pg, &is_good));
    }
    PGresult *sync = is_good ? next_result(pg, &is_good) : NULL;
    is_good = is_good && pq.PQresultStatus(sync) == PGRES_PIPELINE_SYNC && pq.PQstatus(pg->conn) == CONNECTION_OK;
    pq.PQclear(sync);
    if (is_good && pq.PQexitPipelineMode(pg->conn) != 0)
        return status;
    pq.PQclear(*out);
    *out = NULL;
    pg_disconnect(pg);
    return pg_lost(err);
}

static bool send_one(PGconn *conn, const struct pg_query *query)
{
    return query->name != NULL ? pq.PQsendQueryPrepared(conn, query->name, query->len, query->values, query->lengths,
                                                        query->formats, 1) != 0
                               : pq.PQsendQueryParams(conn, query->text, 0, NULL, NULL, NULL, NULL, 0) != 0;
}

static bool put_all(struct pg *pg, const struct pg_query *queries, int len)
{
    bool is_put = true;
    for (int i = 0; i < len; i++, pg->unread++)
        is_put = is_put && send_one(pg->conn, &queries[i]);
    return is_put;
}

/* Puts queries into libpq's memory, which has copies; they are sent when they are many, or flushed. */
static bool put(struct pg *pg, const struct pg_query *queries, int len)
{
    bool is_put =
        pq.PQenterPipelineMode(pg->conn) != 0 && put_all(pg, pg->waiting, pg->waiting_len) && put_all(pg, queries, len);
    pg->waiting_len = 0;
    return is_put;
}

/* Reads the answer to a transaction's end. */
static enum status read_end(struct pg *pg, struct error *err)
{
    PGresult   *none = NULL;
    enum status status = pg->is_ending ? read_pipeline(pg, &none, err) : STATUS_OK;
    pq.PQclear(none);
    return status;
}

enum status pg_send(struct pg *pg, const struct pg_query *queries, int len, PGresult **out, struct error *err)
{
    *out = NULL;
    if (pg->conn == NULL)
        return pg_lost(err);
    TRY(read_end(pg, err));
    if (put(pg, queries, len) && pq.PQpipelineSync(pg->conn) != 0 && flush(pg))
        return read_pipeline(pg, out, err);
    pg_disconnect(pg);
    return pg_lost(err);
}

enum status pg_put_off(struct pg *pg, const struct pg_query *query, struct error *err)
{
    if (pg->conn == NULL)
        return pg_lost(err);
    TRY(read_end(pg, err));
    for (int i = 0; i < query->len; i++)
        pg->unread_bytes += query->values[i] != NULL ? (size_t)query->lengths[i] : 0;
    if (put(pg, query, 1))
        return pg->unread < UNREAD_MAX && pg->unread_bytes < UNREAD_BYTES ? STATUS_OK : pg_settle(pg, err);
    pg_disconnect(pg);
    return pg_lost(err);
}

enum status pg_settle(struct pg *pg, struct error *err)
{
    PGresult *none = NULL;
    if (pg->conn != NULL)
        TRY(read_end(pg, err));
    enum status status = pg->waiting_len + pg->unread > 0 ? pg_send(pg, NULL, 0, &none, err) : STATUS_OK;
    pq.PQclear(none);
    return status;
}

enum status pg_end(struct pg *pg, struct error *err)
{
    if (pg->conn == NULL)
        return pg_lost(err);
    TRY(read_end(pg, err));
    pg->is_ending = put(pg, &(struct pg_query){.text = "COMMIT"}, 1) && pq.PQpipelineSync(pg->conn) != 0 && flush(pg);
    if (pg->is_ending)
        return STATUS_OK;
    pg_disconnect(pg);
    return pg_lost(err);
}

/* Results of what was sent alone. */
static enum status read_all(struct pg *pg, bool is_good, struct error *err)
{
    enum status status = STATUS_OK;
    is_good = is_good && flush(pg);
    for (PGresult *result; (result = next_result(pg, &is_good)) != NULL; pq.PQclear(result))
        note(pg, result, &status, err);
    if (is_good && pq.PQstatus(pg->conn) == CONNECTION_OK)
        return status;
    pg_disconnect(pg);
    return pg_lost(err);
}

enum status pg_send_text(struct pg *pg, const char *text, struct error *err)
{
    TRY(pg_settle(pg, err));
    return pg->conn == NULL ? pg_lost(err) : read_all(pg, pq.PQsendQuery(pg->conn, text) != 0, err);
}

enum status pg_send_prepare(struct pg *pg, const char *name, const char *text, const char *letters, struct error *err)
{
    static const struct {
        char letter;
        Oid  type;
    } types[] = {{'i', 20}, {'d', 701}, {'s', 25}, {'b', 17}};
    Oid own[64];
    int len = 0;
    for (; letters[len] != '\0'; len++)
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if ((letters[len] | 0x20) == types[i].letter)
                own[len] = types[i].type;
    if (pg->conn != NULL &&
        pq.PQtransactionStatus(pg->conn) != PQTRANS_IDLE) // it may have failed, and be about to go back
        TRY(pg_settle(pg, err));
    return pg->conn == NULL ? pg_lost(err) : read_all(pg, pq.PQsendPrepare(pg->conn, name, text, len, own) != 0, err);
}

enum status pg_ask(struct pg *pg, const char *text, int64_t *out, struct error *err)
{
    PGresult *result;
    TRY(pg_send(pg, &(struct pg_query){.text = text}, 1, &result, err));
    *out = pq.PQntuples(result) > 0 ? strtoll(pq.PQgetvalue(result, 0, 0), NULL, 10) : 0;
    pq.PQclear(result);
    return STATUS_OK;
}

/* ---- connecting ---- */

enum { SERVER_BITS = 40, FORGOTTEN_MS = 500 }; // a mark: which server, and below that which of its commits

static void stop(void)
{
    fprintf(stderr, "gnomon: another server has taken the database over; stopping\n");
    _exit(EXIT_TAKEN);
}

/* For as long as this session lasts, which PostgreSQL ends when nothing comes for ten seconds.  Of a server that had the lock
 * before, and lost its connection: it goes on if nobody else had it meanwhile. */
static enum status take_lock(struct pg *pg, struct error *err)
{
    int64_t is_had, is_there;
    TRY(pg_send_text(pg,
                     "SET idle_session_timeout = '10s'; SET idle_in_transaction_session_timeout = '10s'; SET "
                     "tcp_user_timeout = '10s'",
                     err));
    TRY(pg_ask(pg, PG_TRY_LOCK, &is_had, err));
    TRY(pg_ask(pg, "SELECT count(to_regclass('store'))", &is_there, err));
    if (is_there > 0)
        TRY(pg_ask(pg, "SELECT mark FROM store", &pg->seen, err));
    if (pg->mark != 0 && llabs(pg->seen) >> SERVER_BITS != pg->mark >> SERVER_BITS)
        stop();
    return is_had > 0 ? STATUS_OK
                      : error_set(err, STATUS_BUSY, pg->mark != 0 ? "busy" : "locked", "",
                                  "another server has the database's store");
}

enum status pg_succeed(struct pg *pg, struct error *err)
{
    char text[PG_TEXT_BYTES];
    if (pg->mark != 0)
        return STATUS_OK;
    TRY(pg_ask(pg, "SELECT mark FROM store", &pg->seen, err));
    int64_t mark = ((llabs(pg->seen) >> SERVER_BITS) + 1) << SERVER_BITS;
    snprintf(text, sizeof text, "UPDATE store SET mark = %lld", (long long)mark);
    TRY(pg_send_text(pg, text, err));
    if (pg->seen > 0) // it did not end by itself
        nanosleep(&(struct timespec){.tv_nsec = FORGOTTEN_MS * 1000000}, NULL);
    pg->mark = mark;
    return STATUS_OK;
}

/* Every statement has its index, whose order it asks for, and is planned when nothing is known of its tables yet, or of a time
 * when they were small: so there is nothing to win by reading a table or many rows of an index to sort them.  jit and helpers
 * cost more than any of these statements. */
#define SESSION                                                                                                    \
    "SET client_min_messages = error; SET default_transaction_isolation = 'read committed'; SET enable_seqscan = " \
    "off; "                                                                                                        \
    "SET enable_bitmapscan = off; SET jit = off; SET max_parallel_workers_per_gather = 0"

static enum status configure(struct pg *pg, struct error *err)
{
    int64_t has_schema, is_utf8;
    if (pq.PQserverVersion(pg->conn) < VERSION_LEAST)
        return error_set(err, STATUS_INVALID, "database", "", "PostgreSQL 15 or later is needed");
    TRY(pg_ask(pg, "SELECT count(current_schema())", &has_schema, err));
    TRY(pg_ask(pg, "SELECT (current_setting('server_encoding') = 'UTF8')::int", &is_utf8, err));
    if (has_schema == 0 || is_utf8 == 0)
        return error_set(err, STATUS_INVALID, "database", "",
                         has_schema == 0 ? "the schema of the search_path is not there"
                                         : "the database is not in UTF8");
    TRY(pg_send_text(pg, SESSION, err));
    if (pg->total != NULL)
        TRY(pg_send_text(pg, PG_GUARD, err));
    if (pg->is_hasty)
        return pg_send_text(pg, "SET synchronous_commit = off", err);
    return pg_send_text(pg,
                        "SELECT set_config('synchronous_commit', 'on', false) WHERE "
                        "current_setting('synchronous_commit') = 'off'",
                        err);
}

/* libpq ends a password at the first / or @, and what it takes for a host, a port or a name then is in its words. */
static enum status check_address(const char *place, struct error *err)
{
    const char *scheme = strstr(place, "://"), *at = strrchr(place, '@');
    if (scheme == NULL || at == NULL || scheme + 3 + strcspn(scheme + 3, "/@") == at)
        return STATUS_OK;
    return error_set(
        err, STATUS_INVALID, "database", "",
        "the address of the database has a / or another at sign before that of the host: in a password they "
        "are written %%2F and %%40");
}

/* Whether libpq's text has the address's password in it, as the text about a % there does.  Without an @ before it, what is
 * no port may be the password of an address whose host was forgotten. */
static bool has_password(const char *text, const char *place)
{
    char        password[1024];
    const char *scheme = strstr(place, "://"), *at = strrchr(place, '@');
    const char *colon = scheme != NULL ? strchr(scheme + 3, ':') : NULL;
    bool        is_before = colon != NULL && at != NULL && at > colon;
    size_t      length = is_before ? (size_t)(at - colon) - 1 : colon != NULL ? strcspn(colon + 1, "/?") : 0;
    if (length == 0 || length >= sizeof password || (!is_before && strspn(colon + 1, "0123456789") == length)) // a port
        return length >= sizeof password;
    snprintf(password, sizeof password, "%.*s", (int)length, colon + 1);
    return strstr(text, password) != NULL;
}

enum status pg_connect(struct pg *pg, struct error *err)
{
    // Values before dbname are defaults, which the address may override.
    static const char *const names[] = {"connect_timeout", "tcp_user_timeout", "application_name",
                                        "dbname",          "client_encoding",  NULL};
    const char *const        values[] = {"5", "10000", "gnomon", pg->place, "UTF8", NULL};
    static pthread_once_t    once = PTHREAD_ONCE_INIT;
    if (pthread_once(&once, load) != 0 || !is_loaded)
        return error_set(err, STATUS_INTERNAL, "no_libpq", "",
                         "a store in PostgreSQL needs libpq (apt-get install libpq5)");
    pg_disconnect(pg);
    TRY(check_address(pg->place, err));
    pg->conn = pq.PQconnectdbParams(names, values, 1);
    pg->links++;
    pq.PQsetNoticeReceiver(pg->conn, take_notice, pg);
    enum status status = STATUS_OK;
    if (pq.PQstatus(pg->conn) != CONNECTION_OK || pq.PQsetnonblocking(pg->conn, 1) != 0) {
        const char *text = pg->conn != NULL ? pq.PQerrorMessage(pg->conn) : "no memory";
        if (has_password(text, pg->place))
            text = "its address is not understood";
        status = error_set(err, STATUS_BUSY, "busy", "", "no connection to the database: %.*s",
                           (int)strcspn(text, "\n"), text);
    }
    if (status == STATUS_OK)
        status = configure(pg, err);
    if (status == STATUS_OK && pg->mode == DRIVER_READ_WRITE)
        status = take_lock(pg, err);
    if (status != STATUS_OK)
        pg_disconnect(pg);
    return status;
}
