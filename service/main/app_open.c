/* See app_open.h. */
#include "service/main/app_open.h"

#include "service/app/app_transact.h"
#include "service/app/home.h"
#include "service/app/price.h"
#include "service/app/quota.h"
#include "service/app/slots.h"
#include "service/app/study_cache.h"
#include "service/base/clock.h"
#include "service/base/log.h"
#include "service/store/spec_cache.h"
#include "service/study/census.h"
#include "service/portable/import.h"
#include "service/suggest/operation.h"
#include "service/session/session.h"
#include "service/app/steady.h"
#include "service/app/token.h"

#include <stdlib.h>

/* Besides those whose models read the log: more than go at once through studies from end to end. */
enum { READERS = 8, STEP_MS = 60000 };

static int64_t now_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

static int64_t monotonic_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

static int64_t boot_ms(void)
{
    return clock_ms(CLOCK_BOOTTIME);
}

static void log_store(const char *what, const struct error *why)
{
    if (why == NULL)
        log_event(LOG_INFO, "store_works", "what=%s", what);
    else
        log_event(LOG_ERROR, "store_fails", "what=%s code=%s detail=\"%s\"", what, why->code, why->text);
}

static enum status upkeep(struct db_conn *conn, void *arg, bool was_busy, bool *more, struct error *err)
{
    TRY(app_upkeep(conn, arg, was_busy, more, err));
    TRY(token_note_uses(arg, conn, false, more, err));
    TRY(quota_note(arg, conn, false, err));
    return census_take(arg, conn, was_busy, err);
}

static enum status count(struct db_conn *conn, void *arg, struct error *err)
{
    return census_take(arg, conn, true, err);
}

static enum status open_store(struct app *app, struct error *err)
{
    char                    boot[sizeof app->steady.boot];
    const struct db_options db = {.folder = app->options.folder,
                                  .database = app->options.database,
                                  .synchronous = app->options.synchronous,
                                  .readers = READERS + app->options.compute_slots,
                                  .step_ms = STEP_MS,
                                  .waits = app->options.waits,
                                  .waits_arg = app->options.waits_arg,
                                  .log = log_store};
    TRY(db_open(&db, &app->db, err));
    const struct db_schema *schema = db_schema(app->db);
    if (schema->backup[0] != '\0')
        log_event(LOG_INFO, "store_migrated", "from=%d to=%d backup=%s", schema->found, schema->needed, schema->backup);
    steady_read_boot(boot, sizeof boot);
    TRY(steady_start(app, boot, err));
    TRY(token_cache_load(app, err));
    TRY(db_read(app->db, count, app, err));
    TRY(import_clean(app, err));
    import_sweep(app);
    db_set_upkeep(app->db, upkeep, app);
    return STATUS_OK;
}

enum status app_open(const struct app_options *options, struct app **out, struct error *err)
{
    *out = NULL;
    struct app *app = calloc(1, sizeof *app);
    if (app == NULL)
        return error_no_memory(err);
    app->options = *options;
    app->now_ms = options->now_ms != NULL ? options->now_ms : now_ms;
    app->monotonic_ms = options->monotonic_ms != NULL ? options->monotonic_ms : monotonic_ms;
    app->boot_ms = options->boot_ms != NULL ? options->boot_ms : boot_ms;
    app->sessions = session_cache_new();
    app->tokens = token_cache_new();
    app->studies = study_cache_new();
    app->specs = spec_cache_new();
    app->operations = operations_new();
    app->homes = homes_new();
    app->quotas = quotas_new();
    app->slots = slots_new(options->compute_slots);
    app->price_unit = price_measure();
    enum status status = STATUS_OK;
    if (app->sessions == NULL || app->tokens == NULL || app->studies == NULL || app->specs == NULL ||
        app->slots == NULL || app->operations == NULL || app->homes == NULL || app->quotas == NULL)
        status = error_no_memory(err);
    if (status == STATUS_OK)
        status = open_store(app, err);
    if (status != STATUS_OK) {
        app_close(app);
        return status;
    }
    *out = app;
    return STATUS_OK;
}

/* Writes the notes that are written now and then. */
static enum status note(struct db_conn *conn, void *arg, struct error *err)
{
    bool more = true;
    TRY(quota_note(arg, conn, true, err));
    while (more) {
        more = false;
        TRY(token_note_uses(arg, conn, true, &more, err));
    }
    return STATUS_OK;
}

void app_close(struct app *app)
{
    struct error error;
    if (app == NULL)
        return;
    if (app->operations != NULL)
        operations_stop(app);
    if (app->db != NULL && app->tokens != NULL && app->quotas != NULL &&
        db_transact(app->db, note, app, &error) != STATUS_OK)
        log_event(LOG_ERROR, "not_noted", "code=%s", error.code);
    db_close(app->db);
    operations_free(app->operations);
    session_cache_free(app->sessions);
    token_cache_free(app->tokens);
    study_cache_free(app->studies);
    spec_cache_free(app->specs);
    slots_free(app->slots);
    homes_free(app->homes);
    quotas_free(app->quotas);
    free(app);
}
