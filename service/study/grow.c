/* See grow.h. */
#include "service/study/grow.h"

#include "service/codec/codec_study.h"
#include "service/session/session.h"
#include "service/store/ask_inputs.h"
#include "service/store/judge.h"
#include "service/store/task.h"

#include <math.h>
#include <stdio.h>

enum { BATCH = 500 };

struct work {
    struct task          task;
    const struct growth *growth;
    struct study        *out;
};

/* A point of the smaller space, of so many parameters, in the larger one. */
static enum status extend(const struct growth *growth, int64_t trial, const double *from, size_t len, double *to,
                          struct error *err)
{
    const struct spec *spec = &growth->spec;
    char               path[48];
    for (size_t i = 0; i < spec->space.params_len; i++) {
        to[i] = i < len ? from[i] : (double)NAN;
        if (!isnan(to[i]) || !space_is_active(&spec->space, to, i))
            continue;
        to[i] = spec->notes[i].fallback;
        snprintf(path, sizeof path, "/parameters/%zu/default", growth->items[i]);
        if (isnan(to[i]))
            return error_set(err, STATUS_INVALID, "default_required", path,
                             "trial %lld has this parameter, and needs a value of it", (long long)trial);
    }
    return STATUS_OK;
}

struct extended {
    int64_t number;
    double *point, *asked; /* asked NULL: nothing was fixed, or the algorithm not asked */
};

static enum status extend_row(const struct work *work, const struct row_trial_place *row, struct extended *out,
                              struct error *err)
{
    const struct growth *growth = work->growth;
    size_t               before = work->task.study.spec.space.params_len, len = growth->spec.space.params_len;
    bool                 has_fixed = row->asked.length > ASKED_FIXED * sizeof(double);
    *out = (struct extended){.number = row->number, .point = ARENA_NEW(work->task.caller->arena, double, len)};
    if (has_fixed)
        out->asked = ARENA_NEW(work->task.caller->arena, double, ASKED_FIXED + len);
    if (out->point == NULL || (has_fixed && out->asked == NULL))
        return error_no_memory(err);
    for (size_t i = 0; has_fixed && i < ASKED_FIXED + len; i++)
        out->asked[i] = i < ASKED_FIXED + before ? ((const double *)row->asked.bytes)[i] : (double)NAN;
    return extend(growth, row->number, row->point.bytes, before, out->point, err);
}

/* Extends a batch of trials behind *last; *last out: its last trial, 0 when there was none. */
static enum status extend_batch(struct db_conn *conn, struct work *work, int64_t *last, struct error *err)
{
    const char     *study = work->task.id;
    size_t          len = work->growth->spec.space.params_len, count = 0;
    struct extended found[BATCH];
    struct db_rows  rows = db_query(conn, NULL, err, SQL_TRIAL_PLACES, BIND(TEXT(study), INT(*last), INT(BATCH)));
    while (db_next(&rows))
        rows.status = extend_row(work, row_trial_place(&rows), &found[count++], err);
    TRY(db_done(&rows));
    for (size_t i = 0; i < count; i++)
        TRY(db_exec(conn, NULL, err, SQL_TRIAL_PLACE_SET,
                    BIND(TEXT(study), INT(found[i].number), BLOB(found[i].point, len * sizeof(double)),
                         BLOB(found[i].asked, (ASKED_FIXED + len) * sizeof(double)))));
    *last = count == 0 ? 0 : found[count - 1].number;
    return STATUS_OK;
}

static enum status extend_trials(struct db_conn *conn, struct work *work, struct error *err)
{
    struct arena     *arena = work->task.caller->arena;
    struct arena_mark mark = arena_mark(arena);
    int64_t           last = 0;
    do {
        enum status status = extend_batch(conn, work, &last, err);
        arena_release(arena, mark);
        TRY(status);
    } while (last > 0);
    return STATUS_OK;
}

/* Trials outside the smaller space count like any other now, where the larger one has them; the best trial may be one of
 * them, and reach the value at which the study is to stop. */
static enum status take_in(struct db_conn *conn, struct work *work, struct error *err)
{
    struct task  *task = &work->task;
    struct study *study = &task->study;
    bool          has_changed;
    TRY(judge_all(conn, task, &has_changed, err));
    if (!has_changed)
        return STATUS_OK;
    bool is_open = study->state == STUDY_ACTIVE || study->state == STUDY_PAUSED;
    if (!is_open || !spec_is_beyond(&study->spec, study->best_value, study->rules.better_than))
        return task_complete_if_spent(conn, task, err);
    return task_set_state(conn, task, STUDY_COMPLETED, "target_reached", "study.completed", err);
}

static enum status grow(struct db_conn *conn, void *arg, struct error *err)
{
    struct work  *work = arg;
    struct task  *task = &work->task;
    struct study *study = &task->study;
    struct rules  rules;
    TRY(task_open(conn, task, err));
    *work->out = *study;
    if (!work->growth->is_changed)
        return STATUS_OK;
    if (study->spec.federation != NULL || study->spec.policy->read_transfer != NULL)
        return error_set(err, STATUS_INVALID, "not_supported", "",
                         "the study shares its space with others, or knows earlier studies in it");
    rules = study->rules; // a rule may be none of the larger space's: a context has come
    TRY(codec_rules_edit(&(struct reading){.arena = task->caller->arena, .err = err}, &work->growth->spec, "{}",
                         &rules));
    TRY(extend_trials(conn, work, err));
    TRY(task_log(conn, task, "space.grown", 0, work->growth->detail, err));
    study->spec = work->growth->spec;
    study->space_revision = study->revision;
    study->version++;
    study->updated_ms = task->now_ms;
    TRY(db_exec(conn, NULL, err, SQL_STUDY_SPEC_SET, BIND(TEXT(task->id), TEXT(work->growth->spec_text))));
    TRY(db_exec(conn, NULL, err, SQL_STUDY_GROW,
                BIND(TEXT(task->id), INT(study->space_revision), INT(study->updated_ms))));
    TRY(take_in(conn, work, err));
    *work->out = *study;
    return task_save(conn, task, err);
}

/* Alone with the session: no proposal is being made of the smaller space. */
enum status study_grow(struct app *app, struct caller *caller, const char *study, const struct growth *growth,
                       struct study *out, struct error *err)
{
    struct work  work = {.task = task_of(app, caller, study), .growth = growth, .out = out};
    struct live *live;
    TRY(session_lock(app, caller, study, SESSION_ALONE, &live, err));
    enum status status = task_write(&work.task, grow, err);
    if (status == STATUS_OK && !caller->idempotency.replayed)
        caller->space_revision = out->space_revision;
    session_unlock(app, live);
    return status;
}
