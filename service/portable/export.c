/* See export.h.  The lines go to a file first: the snapshot must not stay open, and a connection of the store not be
 * taken, for as long as a client takes to read. */
#include "service/portable/export.h"

#include "service/app/steady.h"
#include "service/file/scratch.h"
#include "service/store/task.h"

#include <stdlib.h>
#include <string.h>

struct work {
    struct task     task;
    struct line     line; /* the line that is being made */
    struct scratch *out;
    int64_t         lines;
};

/* ---- lines ---- */

static enum status put_row(struct work *work, const char *kind, const struct db_column *columns, const void *row,
                           struct error *err)
{
    TRY(app_read_on(work->task.app, work->task.caller, work->lines, err));
    line_put(&work->line, "{\"");
    line_put(&work->line, kind);
    line_put(&work->line, "\":");
    line_put_row(&work->line, columns, row);
    return line_end(&work->line, work->out, &work->lines, err);
}

static enum status put_header(struct db_conn *conn, struct work *work, struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, NULL, &rows, err, SQL_EVENT_COUNT, BIND(TEXT(work->task.id))));
    int64_t events = row_count(&rows)->count;
    TRY(db_find(conn, work->task.caller->arena, &rows, err, SQL_STUDY_GET, BIND(TEXT(work->task.id))));
    struct row_study study = *row_study(&rows);
    int64_t          shift_ms = steady_shift_ms(work->task.app); // to the wall clock, which other machines have too
    study.since_ms += study.since_ms == 0 ? 0 : shift_ms;
    study.ends_ms += study.ends_ms == 0 ? 0 : shift_ms;
    line_put_header(&work->line, "study", work->task.now_ms);
    line_put_count(&work->line, "trials", study.total);
    line_put_count(&work->line, "events", events);
    line_put(&work->line, ",\"study\":");
    line_put_row(&work->line, db_columns_study_told(), &study);
    line_put(&work->line, "}");
    return line_end(&work->line, work->out, &work->lines, err);
}

/* Puts the spec, whose stored text is JSON. */
static enum status put_spec(struct db_conn *conn, struct work *work, struct error *err)
{
    struct db_rows rows = db_query(conn, NULL, err, SQL_STUDY_SPEC, BIND(TEXT(work->task.id)));
    if (db_next(&rows)) {
        line_put(&work->line, "{\"spec\":");
        line_put(&work->line, row_spec(&rows)->spec);
        rows.status = line_end(&work->line, work->out, &work->lines, err);
    }
    return db_done(&rows);
}

static enum status put_end(struct work *work, struct error *err)
{
    char digest[SHA256_HEX_BYTES];
    scratch_digest(work->out, digest);
    line_put_end(&work->line, digest, work->lines);
    return line_end(&work->line, work->out, &work->lines, err);
}

/* ---- rows ---- */

static enum status put_earlier(struct db_conn *conn, struct work *work, struct error *err)
{
    struct db_rows rows = db_query(conn, NULL, err, SQL_TRANSFER_SOURCE_LIST, BIND(TEXT(work->task.id)));
    while (db_next(&rows))
        rows.status = put_row(work, "earlier", db_columns_transfer_source(), row_transfer_source(&rows), err);
    return db_done(&rows);
}

/* A lease ends on this machine's clock; in a file, on everybody's. */
static enum status put_trials(struct db_conn *conn, struct work *work, struct error *err)
{
    int64_t        shift_ms = steady_shift_ms(work->task.app);
    struct db_rows rows = db_query(conn, NULL, err, SQL_TRIAL_WHOLE, BIND(TEXT(work->task.id)));
    while (db_next(&rows)) {
        struct row_trial_whole trial = *row_trial_whole(&rows);
        trial.lease_ms += trial.lease_ms == 0 ? 0 : shift_ms;
        rows.status = put_row(work, "trial", db_columns_trial_whole(), &trial, err);
    }
    return db_done(&rows);
}

/* Puts the round that a line's detail names: "<federation> <round>". */
static enum status put_round(struct db_conn *conn, struct work *work, const char *detail, struct error *err)
{
    const char         *space = detail == NULL ? NULL : strchr(detail, ' ');
    struct row_received sent = {.round = space == NULL ? 0 : strtoll(space + 1, NULL, 10)};
    struct db_rows      rows = db_query(conn, NULL, err, SQL_RECEIVED_ROUND,
                                        BIND(TEXT(work->task.id), TEXT(work->task.study.spec.federation), INT(sent.round)));
    if (db_next(&rows)) {
        sent.npy = row_blob(&rows)->data;
        rows.status = put_row(work, "round", db_columns_received(), &sent, err);
    } else if (rows.status == STATUS_OK) {
        rows.status = error_set(err, STATUS_INTERNAL, "store_corrupt", "", "a broadcast of the log is not there");
    }
    return db_done(&rows);
}

/* Rows that belong to lines of the log, in their order. */
struct followers {
    struct error   err;
    struct db_rows rows;
    bool           has_row;
};

static void begin_followers(struct db_conn *conn, const struct work *work, enum sql sql, struct followers *out)
{
    out->rows = db_query(conn, NULL, &out->err, sql, BIND(TEXT(work->task.id)));
    out->has_row = db_next(&out->rows);
}

static enum status end_followers(struct followers *followers, enum status status, struct error *err)
{
    enum status own = db_done(&followers->rows);
    if (own != STATUS_OK && err != NULL)
        *err = followers->err;
    return own != STATUS_OK ? own : status;
}

struct log {
    struct followers measured, corrections;
};

/* A measurement, what a federation sent, or the result that was before a correction. */
static enum status put_event(struct db_conn *conn, struct work *work, const struct row_event *event, struct log *log,
                             struct error *err)
{
    const struct row_measured   *measured = log->measured.has_row ? row_measured(&log->measured.rows) : NULL;
    const struct row_correction *correction = log->corrections.has_row ? row_correction(&log->corrections.rows) : NULL;
    TRY(put_row(work, "event", db_columns_event(), event, err));
    if (strcmp(event->kind, "federation.received") == 0)
        return put_round(conn, work, event->detail, err);
    if (measured != NULL && measured->revision == event->revision) {
        TRY(put_row(work, "measurement", db_columns_measured(), measured, err));
        log->measured.has_row = db_next(&log->measured.rows);
    } else if (correction != NULL && correction->revision == event->revision) {
        TRY(put_row(work, "correction", db_columns_correction(), correction, err));
        log->corrections.has_row = db_next(&log->corrections.rows);
    }
    return STATUS_OK;
}

static enum status put_events(struct db_conn *conn, struct work *work, struct error *err)
{
    struct log *log = arena_alloc(work->task.caller->arena, 1, sizeof *log);
    if (log == NULL)
        return error_no_memory(err);
    begin_followers(conn, work, SQL_MEASUREMENT_WHOLE, &log->measured);
    begin_followers(conn, work, SQL_CORRECTION_WHOLE, &log->corrections);
    struct db_rows rows = db_query(conn, NULL, err, SQL_EVENT_OF_STUDY,
                                   BIND(TEXT(work->task.id), INT(0), TEXT(""), INT(0), INT(INT64_MAX), TEXT("")));
    while (db_next(&rows))
        rows.status = put_event(conn, work, row_event(&rows), log, err);
    enum status status = db_done(&rows);
    if (status == STATUS_OK && (log->measured.has_row || log->corrections.has_row))
        status = error_set(err, STATUS_INTERNAL, "store_corrupt", "", "the log lacks a line");
    status = end_followers(&log->measured, status, err);
    return end_followers(&log->corrections, status, err);
}

static enum status put_all(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    TRY(line_again(&work->line, work->out, &work->lines, err));
    TRY(task_open(conn, &work->task, err));
    if (caller_is_bound(work->task.caller) && work->task.study.spec.federation != NULL)
        return error_set(err, STATUS_FORBIDDEN, "forbidden", "",
                         "what the study was sent by its federation is not for a token of the study alone");
    TRY(put_header(conn, work, err));
    TRY(put_spec(conn, work, err));
    TRY(put_earlier(conn, work, err));
    TRY(put_trials(conn, work, err));
    TRY(put_events(conn, work, err));
    return put_end(work, err);
}

enum status study_export(struct app *app, struct caller *caller, const char *study, struct export_file *out,
                         struct error *err)
{
    struct scratch *scratch = arena_alloc(caller->arena, 1, sizeof *scratch);
    if (scratch == NULL)
        return error_no_memory(err);
    struct work work = {.task = task_of(app, caller, study), .out = scratch};
    TRY(scratch_open(app->options.folder, scratch, err));
    enum status status = task_read(&work.task, put_all, err);
    out->bytes = scratch->bytes;
    if (status == STATUS_OK)
        status = scratch_finish(scratch, &out->file, err);
    scratch_close(scratch);
    line_free(&work.line);
    return status;
}
