/* See app.h. */
#include "service/app/app.h"

int64_t app_until(const struct app *app, int64_t from_ms)
{
    return app->options.compute_ms > 0 ? from_ms + app->options.compute_ms : 0;
}

enum status app_check_store(const struct app *app, struct error *err)
{
    return !db_is_rolled_back(app->db)
               ? STATUS_OK
               : error_set(
                     err, STATUS_BUSY, "store_rolled_back", "",
                     "an older copy of the store was brought back, and the operator has not acknowledged that yet");
}

enum status app_check_rows(const struct app *app, const char *id, struct error *err)
{
    return !db_is_damaged(app->db, id)
               ? STATUS_OK
               : error_set(
                     err, STATUS_BUSY, "store_corrupt", "",
                     "rows of %s are not what was written: what of it is sound can be read, and it can be deleted", id);
}

void app_say_damaged(const struct app *app, const char *id, const char **reason)
{
    if (db_is_damaged(app->db, id))
        *reason = "store_corrupt";
}

static enum status go_on(const struct app *app, const struct caller *caller, int64_t more_ms, struct error *err)
{
    if (caller->has_left != NULL && caller->has_left(caller->request))
        return error_set(err, STATUS_BUSY, "stopped", "", "nobody waits for the answer any more");
    if (caller->until_ms > 0 && app->monotonic_ms() >= caller->until_ms + more_ms)
        return error_set(err, STATUS_BUSY, "deadline_exceeded", "", "there was no answer in the time that there is");
    return STATUS_OK;
}

enum status app_go_on(const struct app *app, const struct caller *caller, struct error *err)
{
    return go_on(app, caller, 0, err);
}

enum status app_read_on(const struct app *app, const struct caller *caller, int64_t row, struct error *err)
{
    enum { ROWS = 256, TIMES = 10 };
    return row % ROWS != 0 ? STATUS_OK : go_on(app, caller, (TIMES - 1) * app->options.compute_ms, err);
}
