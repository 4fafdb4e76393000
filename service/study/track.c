/* See track.h.  Every trial has as many values as the specification has metrics, so the stored ones become longer. */
#include "service/study/track.h"

#include "service/codec/codec_spec.h"
#include "service/store/task.h"

#include <math.h>

struct work {
    struct task                 task;
    const struct track_request *request;
    struct study               *out;
};

static enum status widen(struct db_conn *conn, const struct task *task, size_t added, struct error *err)
{
    double none[2 * TRACKED_MAX];
    size_t bytes = 2 * added * sizeof *none;
    for (size_t i = 0; i < 2 * added; i++)
        none[i] = NAN;
    TRY(db_exec(conn, NULL, err, SQL_TRIAL_WIDEN, BIND(TEXT(task->id), BLOB(none, bytes))));
    return db_exec(conn, NULL, err, SQL_CORRECTION_WIDEN, BIND(TEXT(task->id), BLOB(none, bytes)));
}

static enum status track(struct db_conn *conn, void *arg, struct error *err)
{
    struct work  *work = arg;
    struct task  *task = &work->task;
    struct study *study = &task->study;
    struct arena *arena = task->caller->arena;
    TRY(task_open(conn, task, err));
    struct spec spec = study->spec;
    TRY(spec_track(&spec, work->request->metrics, work->request->len, arena, err));
    size_t before = spec_metrics_all(&study->spec), added = spec_metrics_all(&spec) - before;
    *work->out = *study;
    if (added == 0)
        return STATUS_OK;
    const char *text = codec_spec_text(&spec, arena), *names = codec_metric_names(spec.metrics + before, added, arena);
    if (text == NULL || names == NULL)
        return error_no_memory(err);
    TRY(widen(conn, task, added, err));
    TRY(task_log(conn, task, "metrics.added", 0, names, err));
    study->spec = spec;
    study->version++;
    study->updated_ms = task->now_ms;
    TRY(db_exec(conn, NULL, err, SQL_STUDY_SPEC_SET, BIND(TEXT(task->id), TEXT(text))));
    TRY(db_exec(conn, NULL, err, SQL_STUDY_GROW,
                BIND(TEXT(task->id), INT(study->space_revision), INT(study->updated_ms))));
    *work->out = *study;
    return task_save(conn, task, err);
}

enum status study_track(struct app *app, struct caller *caller, const char *study, const struct track_request *request,
                        struct study *out, struct error *err)
{
    struct work work = {.task = task_of(app, caller, study), .request = request, .out = out};
    TRY(task_write(&work.task, track, err));
    caller->metrics = spec_metrics_all(&out->spec);
    return STATUS_OK;
}
