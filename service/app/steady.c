/* See steady.h. */
#include "service/app/steady.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* WOBBLE: two clocks are read one after the other; less than this is no jump, and a time is shown the same twice.  DRIFT: what
 * clocks may come apart in a minute without being set.  APART: by then the oldest server has noted what the others are to
 * go by (db.c calls for notes once a minute, where there is nothing to do). */
enum { NOTE_MS = 10000, WOBBLE_MS = 200, DRIFT_MS = 1000, APART_MS = 150000 };

void steady_read_boot(char *boot, size_t boot_bytes)
{
    int     fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, boot, boot_bytes - 1);
    if (fd >= 0)
        close(fd);
    boot[got > 0 ? got : 0] = '\0';
    boot[strcspn(boot, "\n")] = '\0';
}

int64_t steady_ms(struct app *app)
{
    return app->boot_ms() + app->steady.offset_ms;
}

int64_t steady_shift_ms(struct app *app)
{
    int64_t measured = app->now_ms() - steady_ms(app), shown = atomic_load(&app->steady.shift_ms);
    if (llabs(measured - shown) <= WOBBLE_MS)
        return shown;
    atomic_store(&app->steady.shift_ms, measured);
    return measured;
}

/* The shared clock of the servers, or this server's own: it tells how much time passed while the server was not running. */
static int64_t reference_ms(struct app *app)
{
    return app->shared_ms != NULL ? app->shared_ms(app) : app->now_ms();
}

struct task {
    struct app *app;
    const char *boot;
};

static enum status load(struct db_conn *conn, const struct task *task, struct error *err)
{
    struct app    *app = task->app;
    int64_t        now_ms = reference_ms(app), boot_ms = app->boot_ms();
    struct db_rows rows = db_query(conn, NULL, err, SQL_STEADY_GET, BIND_NONE);
    app->steady.offset_ms = now_ms - boot_ms;
    if (db_next(&rows)) {
        const struct row_steady *row = row_steady(&rows);
        int64_t                  noted_ms = row->noted_ms, passed_ms = now_ms - row->noted_wall_ms;
        bool    is_same = app->shared_ms == NULL && task->boot[0] != '\0' && strcmp(row->boot, task->boot) == 0;
        int64_t next_ms = is_same ? boot_ms + row->offset_ms : noted_ms + passed_ms;
        app->steady.offset_ms = (next_ms > noted_ms ? next_ms : noted_ms) - boot_ms;
    }
    return db_done(&rows);
}

/* Both clocks as they are now. */
static enum status put(struct app *app, struct db_conn *conn, const char *boot, struct error *err)
{
    app->steady.noted_ms = steady_ms(app);
    app->steady.noted_wall_ms = reference_ms(app);
    int64_t offset_ms = app->steady.offset_ms;
    return db_exec(conn, NULL, err, SQL_STEADY_PUT,
                   BIND(TEXT(boot), INT(offset_ms), INT(app->steady.noted_ms), INT(app->steady.noted_wall_ms)));
}

static enum status start(struct db_conn *conn, void *arg, struct error *err)
{
    const struct task *task = arg;
    TRY(load(conn, task, err));
    snprintf(task->app->steady.boot, sizeof task->app->steady.boot, "%s", task->boot);
    return put(task->app, conn, task->boot, err);
}

enum status steady_start(struct app *app, const char *boot, struct error *err)
{
    struct task task = {.app = app, .boot = boot};
    return db_transact(app->db, start, &task, err);
}

int64_t steady_correction(struct steady *own, int64_t apart_ms, bool is_oldest, int64_t boot_ms)
{
    bool is_far = llabs(apart_ms) >= DRIFT_MS;
    if (!is_far || own->apart_since_ms == 0)
        own->apart_since_ms = is_far ? boot_ms : 0;
    if (llabs(apart_ms) <= WOBBLE_MS || (is_far && (is_oldest || boot_ms - own->apart_since_ms < APART_MS)))
        return 0;
    own->apart_since_ms = 0;
    return apart_ms;
}

/* Adopts the note of other servers as if it were this server's. */
static enum status follow(struct app *app, struct db_conn *conn, struct error *err)
{
    struct steady *own = &app->steady;
    struct db_rows rows = db_query(conn, NULL, err, SQL_STEADY_GET, BIND_NONE);
    if (db_next(&rows)) {
        own->noted_ms = row_steady(&rows)->noted_ms;
        own->noted_wall_ms = row_steady(&rows)->noted_wall_ms;
        int64_t apart_ms = reference_ms(app) - own->noted_wall_ms - (steady_ms(app) - own->noted_ms);
        own->offset_ms += steady_correction(own, apart_ms, db_is_oldest(app->db), app->boot_ms());
    }
    return db_done(&rows);
}

enum status steady_note(struct app *app, struct db_conn *conn, bool was_busy, struct error *err)
{
    struct steady *own = &app->steady;
    if (app->shared_ms != NULL)
        TRY(follow(app, conn, err));
    int64_t passed_ms = steady_ms(app) - own->noted_ms, passed_wall_ms = reference_ms(app) - own->noted_wall_ms;
    bool    was_set = llabs(passed_wall_ms - passed_ms) > WOBBLE_MS;
    bool    is_due = was_set || (was_busy && passed_ms >= NOTE_MS);
    return is_due && db_is_oldest(app->db) ? put(app, conn, own->boot, err) : STATUS_OK;
}
