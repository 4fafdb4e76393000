/* See census.h.  The numbers of studies and trials are kept by triggers of the store. */
#include "service/study/census.h"

#include "service/federation/federation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCRATCH_BYTES = 64 << 20, TOKENS_EVERY_MS = 60000 };
static const int64_t soon_ms = (int64_t)14 * 24 * 3600 * 1000;

static void count(_Atomic int64_t *counts, const char *const *names, const struct row_tally *row)
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], row->state) == 0)
            atomic_store(&counts[i], row->count);
}

static enum status count_states(struct app *app, struct db_conn *conn, struct arena *arena, struct error *err)
{
    struct app_census *census = &app->census;
    struct db_rows     rows = db_query(conn, arena, err, SQL_TALLY, BIND_NONE);
    while (db_next(&rows)) {
        const struct row_tally *row = row_tally(&rows);
        bool                    is_study = strcmp(row->thing, "study") == 0;
        count(is_study ? census->studies : census->trials, is_study ? study_state_names : trial_state_names, row);
    }
    return db_done(&rows);
}

/* Changes when a round is closed, and with the federations that there are, which change with rounds too. */
static enum status find_epsilon(struct app *app, struct db_conn *conn, struct arena *arena, struct error *err)
{
    struct app_census *census = &app->census;
    double             least = NAN;
    uint64_t           closed = atomic_load(&app->counters.federation_rounds);
    if (atomic_load(&census->is_taken) && atomic_load(&census->rounds_closed) == closed)
        return STATUS_OK;
    struct db_rows rows =
        db_query(conn, arena, err, SQL_FEDERATIONS_OF_STATE, BIND(TEXT(federation_state_names[FEDERATION_ACTIVE])));
    while (db_next(&rows)) {
        struct federation federation;
        rows.status = federation_read(row_federation(&rows), arena, &federation, err);
        if (rows.status == STATUS_OK && federation.spec.is_private)
            least = fmin(least, federation.spec.epsilon - federation.epsilon);
    }
    TRY(db_done(&rows));
    atomic_store(&census->epsilon_left, least);
    atomic_store(&census->rounds_closed, closed);
    return STATUS_OK;
}

/* Counts the tokens about to expire, which change by time alone. */
static enum status count_tokens(struct app *app, struct db_conn *conn, struct error *err)
{
    struct app_census *census = &app->census;
    struct db_rows     rows;
    int64_t            now = app->now_ms();
    if (atomic_load(&census->is_taken) && llabs(now - census->tokens_counted_ms) < TOKENS_EVERY_MS)
        return STATUS_OK;
    TRY(db_find(conn, NULL, &rows, err, SQL_TOKEN_EXPIRING, BIND(INT(now), INT(now + soon_ms))));
    atomic_store(&census->tokens_expiring, row_count(&rows)->count);
    census->tokens_counted_ms = now;
    return STATUS_OK;
}

enum status census_take(struct app *app, struct db_conn *conn, bool was_busy, struct error *err)
{
    struct arena arena;
    TRY(count_tokens(app, conn, err));
    if (!was_busy && atomic_load(&app->census.is_taken))
        return STATUS_OK;
    arena_init(&arena, SCRATCH_BYTES);
    enum status status = count_states(app, conn, &arena, err);
    if (status == STATUS_OK)
        status = find_epsilon(app, conn, &arena, err);
    arena_fini(&arena);
    atomic_store(&app->census.is_taken, status == STATUS_OK);
    return status;
}
