/* See steady.h. */
#include "service/app/steady.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* WOBBLE: two clocks are read one after the other; less than this is no jump, and a time is shown the same twice. */
enum { NOTE_MS = 10000, WOBBLE_MS = 200 };

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

struct task {
    struct app *app;
    const char *boot;
};

static enum status load(struct db_conn *conn, const struct task *task, struct error *err)
{
    struct app    *app = task->app;
    int64_t        now_ms = app->now_ms(), boot_ms = app->boot_ms();
    struct db_rows rows = db_query(conn, NULL, err, SQL_STEADY_GET, BIND_NONE);
    app->steady.offset_ms = now_ms - boot_ms;
    if (db_next(&rows)) {
        const struct row_steady *row = row_steady(&rows);
        int64_t                  noted_ms = row->noted_ms, passed_ms = now_ms - row->noted_wall_ms;
        bool                     is_same = task->boot[0] != '\0' && strcmp(row->boot, task->boot) == 0;
        int64_t                  next_ms = is_same ? boot_ms + row->offset_ms : noted_ms + passed_ms;
        app->steady.offset_ms = (next_ms > noted_ms ? next_ms : noted_ms) - boot_ms;
    }
    return db_done(&rows);
}

/* Both clocks as they are now. */
static enum status put(struct app *app, struct db_conn *conn, const char *boot, struct error *err)
{
    app->steady.noted_ms = steady_ms(app);
    app->steady.noted_wall_ms = app->now_ms();
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

enum status steady_note(struct app *app, struct db_conn *conn, bool was_busy, struct error *err)
{
    struct steady *own = &app->steady;
    int64_t        passed_ms = steady_ms(app) - own->noted_ms, passed_wall_ms = app->now_ms() - own->noted_wall_ms;
    bool           was_set = llabs(passed_wall_ms - passed_ms) > WOBBLE_MS;
    bool           is_due = was_set || (was_busy && passed_ms >= NOTE_MS);
    return is_due ? put(app, conn, own->boot, err) : STATUS_OK;
}
