/* See study_document.h. */
#include "service/study/study_document.h"

#include "service/base/text.h"
#include "service/base/digest.h"
#include "service/store/rows.h"
#include "service/store/spec_cache.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGE_NUMBERS_MAX = 1 << 21, ID_BYTES = 32 };

/* ---- export ---- */

struct work {
    struct task            task;
    struct study_document *out;
};

/* One snapshot: everything is read in one transaction. */
static enum status read_all(struct db_conn *conn, void *arg, struct error *err)
{
    struct work           *work = arg;
    struct study_document *out = work->out;
    struct arena          *arena = work->task.caller->arena;
    TRY(task_open(conn, &work->task, err));
    out->study = work->task.study;
    const struct spec *spec = &out->study.spec;
    size_t             total = (size_t)out->study.trials_total;
    if (spec->space.kind == SPACE_IMAGE && total > IMAGE_NUMBERS_MAX / space_point_len(&spec->space))
        return error_set(err, STATUS_TOO_LARGE, "export_too_large", "",
                         "%zu images are too much for one document: read the trials page by page", total);
    TRY(transfer_snapshot(conn, work->task.id, spec, arena, &out->earlier, err));
    TRY(event_read(conn, work->task.id, arena, &out->events, err));
    TRY(rows_trials(
        db_query(conn, arena, err, SQL_TRIAL_LIST, BIND(TEXT(work->task.id), INT(0), TEXT(""), INT(INT64_MAX))),
        &out->trials, &out->len, err));
    for (size_t i = 0; i < out->len && spec->stopping.kind != STOP_RULE_OFF; i++)
        TRY(rows_curve(conn, &work->task, &out->trials[i], err));
    return STATUS_OK;
}

enum status study_document_read(struct app *app, struct caller *caller, const char *study, struct study_document *out,
                                struct error *err)
{
    struct work work = {.task = task_of(app, caller, study), .out = out};
    *out = (struct study_document){0};
    return task_read(&work.task, read_all, err);
}

/* ---- import ---- */

struct named {
    char   digest[ID_BYTES + 1];
    size_t index;
};

static void add_number(struct sha256_state *state, double value)
{
    double plain = isnan(value) ? (double)NAN : value + 0.0; // one NaN, one zero
    sha256_add(state, &plain, sizeof plain);
}

/* Of what the row says about the function, as numbers: whether it came as JSON or CSV makes no difference. */
static enum status digest_item(const struct spec *spec, const struct observation *item, struct named *out,
                               struct error *err)
{
    char                 hex[SHA256_HEX_BYTES];
    struct sha256_state *state = sha256_start();
    if (state == NULL)
        return error_no_memory(err);
    const int64_t whole[] = {item->number, item->row, (int64_t)item->outcome};
    sha256_add(state, whole, sizeof whole);
    for (size_t i = 0; item->point != NULL && i < space_point_len(&spec->space); i++)
        add_number(state, item->point[i]);
    for (size_t i = 0; item->values != NULL && i < spec_values_len(spec); i++)
        add_number(state, item->values[i]);
    add_number(state, item->value);
    add_number(state, item->stddev);
    sha256_hex_final(state, hex);
    snprintf(out->digest, sizeof out->digest, "%.32s", hex);
    return STATUS_OK;
}

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int                 order = strcmp(x->digest, y->digest);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

/* Equal rows of a table are as many measurements: the first is told from the second. */
static enum status name_rows(struct named *names, size_t len, struct observation *items, struct arena *arena,
                             struct error *err)
{
    size_t before = 0;
    qsort(names, len, sizeof *names, compare_named);
    for (size_t i = 0; i < len; i++) {
        before = i > 0 && strcmp(names[i].digest, names[i - 1].digest) == 0 ? before + 1 : 0;
        items[names[i].index].external_id = text_format(arena, "row:%s:%zu", names[i].digest, before);
        if (items[names[i].index].external_id == NULL)
            return error_no_memory(err);
    }
    return STATUS_OK;
}

enum status study_document_identify(const struct spec *spec, const char *source, struct observation *items, size_t len,
                                    struct arena *arena, struct error *err)
{
    struct named *names = ARENA_NEW(arena, struct named, len + 1);
    size_t        names_len = 0;
    if (names == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < len; i++) {
        struct observation *item = &items[i];
        if (item->unread != NULL || item->external_id != NULL || item->trial > 0)
            continue;
        if (source[0] != '\0' && item->number > 0) {
            item->external_id = text_format(arena, "%.100s/%lld", source, (long long)item->number);
            if (item->external_id == NULL)
                return error_no_memory(err);
            continue;
        }
        names[names_len].index = i;
        TRY(digest_item(spec, item, &names[names_len++], err));
    }
    return name_rows(names, names_len, items, arena, err);
}

enum status study_document_curve(struct db_conn *conn, struct task *task, int64_t trial, const struct observation *item,
                                 struct error *err)
{
    size_t epochs = task->study.spec.stopping.epochs;
    for (size_t i = 0; i < item->curve_len; i++) {
        const struct curve_point *point = &item->curve[i];
        char                      path[48], detail[32];
        bool                      is_last = item->outcome == OUTCOME_STOPPED && i + 1 == item->curve_len;
        snprintf(path, sizeof path, "/curve/%zu/step", i);
        if (point->step > (int64_t)epochs)
            return error_set(err, STATUS_INVALID, "out_of_range", path, "must be within [1, %zu]", epochs);
        snprintf(detail, sizeof detail, "step %lld", (long long)point->step);
        TRY(task_log(conn, task, "trial.measured", trial, detail, err));
        TRY(db_exec(conn, NULL, err, SQL_MEASUREMENT_ADD,
                    BIND(TEXT(task->id), INT(trial), INT(0), INT(point->step), REAL(point->value),
                         INT(task->study.revision), INT(task->now_ms), INT(is_last), TEXT("no_rule"), INT(0),
                         BLOB(NULL, 0), INT(0))));
    }
    return STATUS_OK;
}
