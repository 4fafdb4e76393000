/* The look at all rows: db_scan and db_compare_total of db.h. */
#include "db/writer/chain.h"
#include "db/writer/conn.h"

#include <string.h>

struct scanning {
    struct db   *db;
    struct scan *scan;
};

static void say(void *arg, const char *owner)
{
    struct scanning *scanning = arg;
    db_note_damaged(scanning->db, owner);
    scanning->scan->say(scanning->scan->arg, owner);
}

static enum status scan(struct db_conn *conn, void *arg, struct error *err)
{
    struct scanning *scanning = arg;
    struct scan      own = *scanning->scan;
    own.say = say;
    own.arg = scanning;
    enum status status = conn->driver->scan(conn->handle, &own, err);
    memcpy(scanning->scan->table, own.table, sizeof own.table);
    memcpy(scanning->scan->after, own.after, sizeof own.after);
    scanning->scan->is_over = own.is_over;
    return status;
}

enum status db_scan(struct db *db, struct scan *from, struct error *err)
{
    struct scanning scanning = {.db = db, .scan = from};
    return db_read(db, scan, &scanning, err);
}

static enum status compare(struct db_conn *conn, void *arg, struct error *err)
{
    struct chain_state state;
    struct total       total;
    struct error       why;
    (void)arg;
    TRY(chain_read(conn, &state, err));
    enum status status = conn->driver->gather(conn->handle, db_migrations.len, &total, err);
    if (conn->driver->guard(conn->handle, NULL, conn->damaged, &why) != STATUS_OK && status == STATUS_OK) {
        *err = why;
        return why.status;
    }
    TRY(status);
    return memcmp(&total, &state.total, sizeof total) == 0
               ? STATUS_OK
               : error_set(err, STATUS_CONFLICT, "store_corrupt", "", "rows are not those that the log vouches for");
}

enum status db_compare_total(struct db *db, struct error *err)
{
    return db_read(db, compare, NULL, err);
}
