/* See keeper.h.  A look is a query by an index, which an idle store answers without writing anything. */
#include "service/study/keeper.h"

#include "service/app/steady.h"
#include "service/base/clock.h"
#include "service/base/log.h"
#include "service/store/task.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 1000, DUE_MAX = 100, ARENA_BYTES = 64 << 20 };

struct keeper {
    struct app     *app;
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    bool            is_stopping;
    pthread_t       thread;
};

struct due {
    struct app *app;
    char        ids[DUE_MAX][24];
    size_t      len;
};

static enum status find_due(struct db_conn *conn, void *arg, struct error *err)
{
    struct due *due = arg;
    due->len = 0;
    struct db_rows rows = db_query(conn, NULL, err, SQL_STUDY_DUE, BIND(INT(steady_ms(due->app))));
    while (due->len < DUE_MAX && db_next(&rows))
        snprintf(due->ids[due->len++], sizeof due->ids[0], "%s", row_id(&rows)->id);
    return db_done(&rows);
}

static enum status complete(struct db_conn *conn, void *arg, struct error *err)
{
    struct task *task = arg;
    TRY(task_open(conn, task, err));
    int64_t before = task->study.revision;
    TRY(task_complete_if_spent(conn, task, err));
    return task->study.revision == before ? STATUS_OK : task_save(conn, task, err);
}

static enum status complete_one(struct app *app, const char *id, struct error *err)
{
    struct arena  arena;
    struct caller caller = {.token_id = "local", .scope = SCOPE_ADMIN, .arena = &arena};
    arena_init(&arena, ARENA_BYTES);
    struct task task = task_of(app, &caller, id);
    enum status status = task_write(&task, complete, err);
    arena_fini(&arena);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status; // deleted meanwhile
}

enum status keeper_look(struct app *app, struct error *err)
{
    struct due *due = calloc(1, sizeof *due);
    if (due == NULL)
        return error_no_memory(err);
    due->app = app;
    enum status status = db_read(app->db, find_due, due, err);
    for (size_t i = 0; i < due->len && status == STATUS_OK; i++)
        status = complete_one(app, due->ids[i], err);
    free(due);
    return status;
}

static void *run(void *arg)
{
    struct keeper *keeper = arg;
    char           told[sizeof((struct error *)0)->code] = "";
    while (!clock_wait(&keeper->lock, &keeper->changed, &keeper->is_stopping, LOOK_MS)) {
        struct error error = {.code = ""};
        bool         is_good = keeper_look(keeper->app, &error) == STATUS_OK;
        if (!is_good && strcmp(told, error.code) != 0)
            log_event(LOG_ERROR, "studies_not_completed", "code=%s", error.code);
        snprintf(told, sizeof told, "%s", is_good ? "" : error.code);
    }
    return NULL;
}

enum status keeper_start(struct app *app, struct keeper **out, struct error *err)
{
    struct keeper *keeper = calloc(1, sizeof *keeper);
    if (keeper == NULL)
        return error_no_memory(err);
    keeper->app = app;
    pthread_mutex_init(&keeper->lock, NULL);
    clock_cond_init(&keeper->changed);
    if (pthread_create(&keeper->thread, NULL, run, keeper) != 0) {
        pthread_cond_destroy(&keeper->changed);
        pthread_mutex_destroy(&keeper->lock);
        free(keeper);
        return error_set(err, STATUS_BUSY, "threads", "", "cannot start a thread");
    }
    *out = keeper;
    return STATUS_OK;
}

void keeper_stop(struct keeper *keeper)
{
    if (keeper == NULL)
        return;
    pthread_mutex_lock(&keeper->lock);
    keeper->is_stopping = true;
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
    pthread_join(keeper->thread, NULL);
    pthread_cond_destroy(&keeper->changed);
    pthread_mutex_destroy(&keeper->lock);
    free(keeper);
}
