/* The PostgreSQL driver: the servers that have the store, and what they want; how far the database and its standbys are. */
#include "db/db_postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Demands are announced by shared advisory locks of the looking session: they need no row and no COMMIT, and end with it.
 * A lock's 64 bits are the schema and the demand, the server, the amount; one more lock says that the server announces. */
static enum status write_wants(const struct db_wants *told, uint32_t server, char **text, struct error *err)
{
    size_t bytes = 0;
    FILE  *file = open_memstream(text, &bytes);
    if (file == NULL)
        return error_no_memory(err);
    fprintf(file, "SELECT pg_advisory_unlock_all(), pg_try_advisory_lock_shared(" PG_KIND("%d") ", (%d)::int)",
            PG_TELLS, (int32_t)(server << 16));
    for (int i = 0; i < told->len; i++)
        fprintf(file, ", pg_try_advisory_lock_shared(" PG_KIND("(%d)::int") ", (%d)::int)",
                (int32_t)told->items[i].what, (int32_t)(server << 16 | told->items[i].much));
    bool is_good = ferror(file) == 0;
    return fclose(file) == 0 && is_good ? STATUS_OK : error_no_memory(err);
}

static bool is_told(const struct pg *pg, const struct db_wants *told)
{
    return told == NULL || (pg->told != NULL && pg->told_by == pg->links && pg->told->len == told->len &&
                            memcmp(pg->told->items, told->items, (size_t)told->len * sizeof *told->items) == 0);
}

static bool has_server(const struct db_wants *wants, const uint32_t *servers, uint32_t server)
{
    for (int i = 0; i < wants->telling; i++)
        if (servers[i] == server)
            return true;
    return false;
}

/* Reads all locks of such a form; those of other schemas match nothing. */
static void read_locks(const PGresult *result, struct driver_peers *out)
{
    uint32_t         telling[DRIVER_PEERS_MAX];
    struct db_wants *wants = &out->wants;
    *wants = (struct db_wants){.own = (uint32_t)out->own & 0xffff, .is_whole = true};
    for (int row = 1; row < pq.PQntuples(result); row++) {
        int64_t  what = strtoll(pq.PQgetvalue(result, row, 1), NULL, 10);
        uint32_t lock = (uint32_t)strtoll(pq.PQgetvalue(result, row, 2), NULL, 10);
        if (what == PG_LIFE && out->len < DRIVER_PEERS_MAX)
            out->ids[out->len++] = lock;
        else if (what == PG_TELLS && wants->telling < DRIVER_PEERS_MAX)
            telling[wants->telling++] = lock >> 16;
        else if (wants->len < DB_WANTS_MAX)
            wants->items[wants->len++] =
                (struct db_want){.what = (uint32_t)what, .server = lock >> 16, .much = lock & DB_WANT_MUCH};
        else
            wants->is_whole = false;
    }
    for (int i = 0; i < out->len; i++)
        wants->silent += !has_server(wants, telling, (uint32_t)out->ids[i] & 0xffff);
}

static enum status look_around(struct pg *pg, const struct db_wants *told, struct driver_peers *out, struct error *err)
{
    static const char text[] = "SELECT 0, mark, (1000 * extract(epoch FROM clock_timestamp()))::bigint FROM "
                               "store UNION ALL SELECT DISTINCT 1, classid::bigint # "
                               "(hashtext(current_schema())::bigint & 4294967295), objid::bigint FROM pg_locks WHERE "
                               "locktype = 'advisory' AND objsubid = 2 AND database = "
                               "(SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY 1, 3, 2";
    PGresult         *result;
    char             *tell = NULL;
    if (pg->conn == NULL || pq.PQstatus(pg->conn) != CONNECTION_OK)
        TRY(pg_connect(pg, err));
    bool is_new = !is_told(pg, told);
    if (is_new && pg->told == NULL && (pg->told = malloc(sizeof *pg->told)) == NULL)
        return error_no_memory(err);
    if (is_new)
        TRY(write_wants(told, (uint32_t)out->own & 0xffff, &tell, err));
    const struct pg_query queries[] = {{.text = tell}, {.text = text}};
    enum status           status = pg_send(pg, queries + !is_new, 1 + is_new, &result, err);
    free(tell);
    TRY(status);
    if (is_new) {
        *pg->told = *told;
        pg->told_by = pg->links;
    }
    bool is_there = pq.PQntuples(result) > 0;
    out->mark = is_there ? strtoll(pq.PQgetvalue(result, 0, 1), NULL, 10) : 0;
    out->clock_ms = is_there ? strtoll(pq.PQgetvalue(result, 0, 2), NULL, 10) : 0;
    read_locks(result, out);
    pq.PQclear(result);
    out->is_own_mark = out->mark >> PG_MARK_BITS == out->own;
    return STATUS_OK;
}

/* A server that looks again soon does not wait long for an answer: another connection may have one. */
enum status pg_peers(void *handle, const void *writer, const struct db_wants *told, struct driver_peers *out,
                     struct error *err)
{
    struct pg *pg = handle;
    *out = (struct driver_peers){.own = ((const struct pg *)writer)->replica};
    pg->answer_ms = PG_LOOK_MS;
    enum status status = look_around(pg, told, out, err);
    pg->answer_ms = PG_ANSWER_MS;
    return status;
}

/* ---- standbys ---- */

/* A standby that went over to the timeline of a new primary says so when it reads from that, or has restarted; until then it
 * may have commits that the new primary never had.  A role that may not see what it reads from learns it later. */
static const char read_position[] =
    "PREPARE read_position AS SELECT (SELECT system_identifier FROM pg_control_system()) || '.' || "
    "(SELECT oid FROM pg_database WHERE datname = current_database()) || '.' || "
    "(SELECT oid FROM pg_namespace WHERE nspname = current_schema()), pg_is_in_recovery()::int, "
    "CASE WHEN pg_is_in_recovery() THEN greatest((SELECT timeline_id FROM pg_control_checkpoint()), "
    "(SELECT received_tli FROM pg_stat_wal_receiver)) "
    "ELSE ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::int END, "
    "(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END - "
    "'0/0'::pg_lsn)::bigint";

static enum status ask_position(struct pg *pg, PGresult **result, struct error *err)
{
    if (pg->conn == NULL || pq.PQstatus(pg->conn) != CONNECTION_OK)
        TRY(pg_connect(pg, err));
    if (pg->where_link != pg->links)
        TRY(pg_send_text(pg, read_position, err));
    pg->where_link = pg->links;
    return pg_send(pg, &(struct pg_query){.name = "read_position", .gives_text = true}, 1, result, err);
}

/* A connection that was lost while nobody looked is found here. */
enum status pg_position(void *handle, struct driver_position *out, struct error *err)
{
    struct pg *pg = handle;
    PGresult  *result = NULL;
    int        answer_ms = pg->answer_ms;
    bool       is_old = pg->conn != NULL;
    pg->answer_ms = PG_POSITION_MS;
    enum status status = ask_position(pg, &result, err);
    if (status != STATUS_OK && is_old && pg->conn == NULL)
        status = ask_position(pg, &result, err);
    pg->answer_ms = answer_ms;
    TRY(status);
    bool is_there = pq.PQntuples(result) > 0;
    *out = (struct driver_position){.is_standby = is_there && pq.PQgetvalue(result, 0, 1)[0] == '1'};
    if (is_there) {
        snprintf(out->of, sizeof out->of, "%s", pq.PQgetvalue(result, 0, 0));
        out->timeline = strtoll(pq.PQgetvalue(result, 0, 2), NULL, 10);
        out->at = strtoll(pq.PQgetvalue(result, 0, 3), NULL, 10);
    }
    pq.PQclear(result);
    return STATUS_OK;
}
