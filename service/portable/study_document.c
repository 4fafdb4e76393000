/* See study_document.h. */
#include "service/portable/study_document.h"

#include "service/base/nearest.h"
#include "service/base/text.h"
#include "service/codec/codec_annotations.h"
#include "service/codec/codec_trial.h"
#include "service/file/scratch.h"
#include "service/member/codec.h"
#include "service/member/codec_read.h"
#include "service/store/rows.h"
#include "service/portable/export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGE_NUMBERS_MAX = 1 << 21, ID_BYTES = 32 };

/* ---- export ---- */

struct work {
    struct task            task;
    struct study_document *how;
    struct scratch        *out;
    int64_t                rows;
};

static enum status put(struct work *work, const char *text, size_t length, struct error *err)
{
    return text == NULL ? error_no_memory(err) : scratch_write(work->out, text, length, err);
}

static enum status put_text(struct work *work, const char *text, struct error *err)
{
    return put(work, text, strlen(text), err);
}

static enum status put_study(struct db_conn *conn, struct work *work, struct error *err)
{
    const struct study     *study = &work->task.study;
    struct transfer_sources earlier;
    size_t                  length = 0;
    char                    head[80];
    TRY(transfer_snapshot(conn, study->id, &study->spec, work->task.caller->arena, &earlier, err));
    snprintf(head, sizeof head, "{\"format\":\"gnomon-study-1\",\"id\":\"%.24s\",\"study\":", study->id);
    TRY(put_text(work, head, err));
    const char *text = work->how->study(work->how->arg, study, &earlier, &length);
    return put(work, text, length, err);
}

static enum status put_event(struct work *work, const struct row_event *from, struct error *err)
{
    TRY(app_read_on(work->task.app, work->task.caller, work->rows++, err));
    const struct event_row event = {.seq = from->seq, .at_ms = from->at_ms, EVENT_MEMBERS(TAKE)};
    size_t                 length = 0;
    const char            *text = work->how->event(work->how->arg, &event, &length);
    return put(work, text, length, err);
}

/* Each row's memory in the arena is released before the next row. */
static enum status put_events(struct db_conn *conn, struct work *work, struct error *err)
{
    struct arena           *arena = work->task.caller->arena;
    const char             *before = ",\"events\":[";
    struct db_rows          rows = db_query(conn, arena, err, SQL_EVENT_OF_STUDY,
                                            BIND(TEXT(work->task.id), INT(0), TEXT(""), INT(0), INT(INT64_MAX), TEXT("")));
    const struct arena_mark mark = arena_mark(arena);
    for (; db_next(&rows); before = ",") {
        rows.status = put_text(work, before, err);
        if (rows.status == STATUS_OK)
            rows.status = put_event(work, row_event(&rows), err);
        arena_release(arena, mark);
    }
    TRY(db_done(&rows));
    return put_text(work, before[1] == '\0' ? "]" : ",\"events\":[]", err);
}

static enum status put_trial(struct db_conn *conn, struct work *work, const struct row_trial *from, struct error *err)
{
    const struct study *study = &work->task.study;
    struct trial        trial;
    size_t              length = 0;
    TRY(app_read_on(work->task.app, work->task.caller, work->rows++, err));
    TRY(rows_trial(from, &trial, err));
    if (study->spec.stopping.kind != STOP_RULE_OFF)
        TRY(rows_curve(conn, &work->task, &trial, err));
    const char *text = work->how->trial(work->how->arg, study, &trial, &length);
    return put(work, text, length, err);
}

static enum status put_trials(struct db_conn *conn, struct work *work, struct error *err)
{
    struct arena  *arena = work->task.caller->arena;
    const char    *before = ",\"trials\":[";
    struct db_rows rows =
        db_query(conn, arena, err, SQL_TRIAL_LIST, BIND(TEXT(work->task.id), INT(0), TEXT(""), INT(INT64_MAX)));
    const struct arena_mark mark = arena_mark(arena);
    for (; db_next(&rows); before = ",") {
        rows.status = put_text(work, before, err);
        if (rows.status == STATUS_OK)
            rows.status = put_trial(conn, work, row_trial(&rows), err);
        arena_release(arena, mark);
    }
    TRY(db_done(&rows));
    return put_text(work, before[1] == '\0' ? "]}" : ",\"trials\":[]}", err);
}

/* Reads everything in one transaction: a snapshot. */
static enum status put_all(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    work->rows = 0;
    TRY(scratch_again(work->out, err));
    TRY(task_open(conn, &work->task, err));
    const struct spec *spec = &work->task.study.spec;
    size_t             total = (size_t)work->task.study.trials_total;
    if (spec->space.kind == SPACE_IMAGE && total > IMAGE_NUMBERS_MAX / space_point_len(&spec->space))
        return error_set(err, STATUS_TOO_LARGE, "export_too_large", "",
                         "%zu images are too much for one document: read the trials page by page", total);
    TRY(put_study(conn, work, err));
    TRY(put_events(conn, work, err));
    return put_trials(conn, work, err);
}

enum status study_document_write(struct app *app, struct caller *caller, const char *study, struct study_document *how,
                                 struct export_file *out, struct error *err)
{
    struct scratch *scratch = arena_alloc(caller->arena, 1, sizeof *scratch);
    struct work     work = {.task = task_of(app, caller, study), .how = how, .out = scratch};
    if (scratch == NULL)
        return error_no_memory(err);
    TRY(scratch_open(app->options.folder, scratch, err));
    enum status status = task_read(&work.task, put_all, err);
    out->bytes = scratch->bytes;
    scratch_digest(scratch, how->sha256);
    if (status == STATUS_OK)
        status = scratch_finish(scratch, &out->file, err);
    scratch_close(scratch);
    return status;
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

/* The digest of a row's members that matter to the function, as numbers: JSON and CSV make no difference. */
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
    size_t epochs = task->study.spec.stopping.epochs, len = task->study.spec.metrics_len;
    for (size_t i = 0; i < item->curve_len; i++) {
        const struct curve_point *point = &item->curve[i];
        char                      path[48], detail[32];
        bool                      is_last = item->outcome == OUTCOME_STOPPED && i + 1 == item->curve_len;
        snprintf(path, sizeof path, "/curve/%zu/step", i);
        if (point->step > (int64_t)epochs)
            return error_set(err, STATUS_INVALID, "out_of_range", path, "must be within [1, %zu]", epochs);
        snprintf(detail, sizeof detail, "step %lld", (long long)point->step);
        TRY(task_log(conn, task, "trial.measured", trial, detail, err));
        if (len > 1 && point->values == NULL)
            return error_set(err, STATUS_INVALID, "bad_curve", path, "must have values of all metrics");
        TRY(db_exec(conn, NULL, err, SQL_MEASUREMENT_ADD,
                    BIND(TEXT(task->id), INT(trial), INT(0), INT(point->step),
                         REAL(len > 1 ? point->values[task->study.spec.first] : point->value),
                         INT(task->study.revision), INT(task->now_ms), INT(is_last), TEXT("no_rule"), INT(0),
                         BLOB(NULL, 0), INT(0), BLOB(len > 1 ? point->values : NULL, len * sizeof *point->values))));
    }
    return STATUS_OK;
}

/* ---- its trials, read back ---- */

static enum status read_state(const json_t *trial, const char *where, enum outcome *out, struct error *err)
{
    const json_t *json = json_object_get(trial, "state");
    const char   *state = json_string_value(json);
    char          path[CODEC_PATH_MAX];
    codec_read_path(path, where, "state");
    if (state == NULL)
        return error_set(err, STATUS_INVALID, json == NULL ? "missing_member" : "wrong_type",
                         json == NULL ? where : path, json == NULL ? "a trial has a state" : "must be a string");
    if (outcome_of_state(state, out))
        return STATUS_OK;
    struct nearest nearest = nearest_to(state, strlen(state));
    for (size_t i = 0; i < TRIAL_STATE_COUNT; i++)
        nearest_consider(&nearest, trial_state_names[i]);
    return nearest_refuse(&nearest, err, "unknown_value", path, "state of a trial", "");
}

/* Where a trial has it; *out becomes NULL when out of memory. */
static void take(json_t **out, const json_t *trial, const char *name)
{
    json_t *member = json_object_get(trial, name);
    bool    is_empty =
        json_is_object(member) ? json_object_size(member) == 0 : json_is_array(member) && json_array_size(member) == 0;
    if (member != NULL && !json_is_null(member) && !is_empty)
        codec_put(out, name, json_incref(member));
}

/* Takes the recorded metrics of a trial that has no result, from values or stddevs. */
static void take_tracked(json_t **out, const struct spec *spec, const json_t *trial, const char *name)
{
    json_t *own = json_object();
    for (size_t k = spec->metrics_len; k < spec_metrics_all(spec); k++)
        take(&own, json_object_get(trial, name), spec->metrics[k].name);
    if (json_object_size(own) > 0)
        codec_put(out, name, json_incref(own));
    json_decref(own);
}

/* The trial as the observation that reports it; one without a result as a failed one. */
static json_t *as_observation(const struct spec *spec, const json_t *trial, enum outcome outcome)
{
    static const char *const places[] = {"point", "sites", "candidate"};
    bool    is_value = outcome == OUTCOME_VALUE, is_graph = json_is_array(json_object_get(trial, "sites"));
    bool    is_long = is_graph || json_object_size(json_object_get(trial, "values")) > 1;
    json_t *out = json_object();
    if (!is_value)
        codec_put(&out, "state", json_string(outcome == OUTCOME_INFEASIBLE ? "infeasible" : "failed"));
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        take(&out, trial, places[i]);
    for (const struct member *member = codec_told_members; member->name != NULL; member++)
        if (codec_told_fits(member, is_value) && !(is_long && codec_told_is_number(member)))
            take(&out, trial, member->name);
    for (const struct member *said = codec_annotation_members; said->name != NULL; said++)
        take(&out, trial, said->name);
    take(&out, trial, "outside");
    if (is_value && is_long)
        take(&out, trial, "values");
    if (is_value && is_long && !is_graph)
        take(&out, trial, "stddevs");
    if (!is_value) {
        take_tracked(&out, spec, trial, "values");
        take_tracked(&out, spec, trial, "stddevs");
    }
    return out;
}

static enum status read_curve(const struct spec *spec, const json_t *json, const char *where, struct arena *arena,
                              struct observation *out, struct error *err)
{
    char   path[CODEC_PATH_MAX];
    size_t len = json_array_size(json);
    if (json == NULL || json_is_null(json))
        return STATUS_OK;
    if (!json_is_array(json))
        return error_set(err, STATUS_INVALID, "wrong_type", where, "must be an array");
    struct reading      in = {.spec = spec, .arena = arena, .err = err};
    struct curve_point *curve = ARENA_NEW(arena, struct curve_point, len + 1);
    if (curve == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < len; i++) {
        const json_t *point = json_array_get(json, i), *value = json_object_get(point, "value");
        double        step = 0;
        codec_read_path_item(path, where, i);
        bool is_read = codec_read_is_integral(json_object_get(point, "step"), &step) && json_is_number(value);
        if (!is_read || step < (i == 0 ? 1 : (double)curve[i - 1].step + 1))
            return error_set(err, STATUS_INVALID, is_read ? "bad_curve" : "wrong_type", path,
                             "must have a value and a step that is larger than the one before");
        curve[i] = (struct curve_point){.step = (int64_t)step, .value = json_number_value(value) + 0.0};
        if (spec->metrics_len > 1) {
            const struct codec_measured given = {.value = NAN, .values = json_object_get(point, "values")};
            TRY(codec_measured(&in, &given, path, &curve[i].values));
            curve[i].value = curve[i].values[spec->first];
        }
    }
    out->curve = curve;
    out->curve_len = len;
    if (out->outcome == OUTCOME_STOPPED && len > 0)
        out->value = curve[len - 1].value;
    return out->outcome == OUTCOME_STOPPED && len > 0
               ? spec_outcome(spec, curve[len - 1].values, arena, &out->values, err)
               : STATUS_OK;
}

/* Reads the members that an observation does not have. */
static enum status read_rest(const struct spec *spec, const json_t *trial, const char *where, struct arena *arena,
                             struct observation *out, struct error *err)
{
    double        number = 0;
    const json_t *json = json_object_get(trial, "number"), *worker = json_object_get(trial, "worker");
    char          path[CODEC_PATH_MAX];
    codec_read_path(path, where, "number");
    bool is_whole = json != NULL && codec_read_is_integral(json, &number);
    if (json != NULL && (!is_whole || number < 1))
        return error_set(err, STATUS_INVALID, is_whole ? "out_of_range" : "wrong_type", path,
                         "must be the number of a trial, from 1 on");
    codec_read_path(path, where, "worker");
    if (worker != NULL && (!json_is_string(worker) || json_string_length(worker) > TRIAL_WORKER_MAX))
        return error_set(err, STATUS_INVALID, "wrong_type", path, "must be the name of a worker");
    out->number = (int64_t)number;
    out->worker = worker == NULL ? NULL : arena_strndup(arena, json_string_value(worker), json_string_length(worker));
    if (out->worker == NULL && worker != NULL)
        return error_no_memory(err);
    codec_read_path(path, where, "curve");
    return read_curve(spec, json_object_get(trial, "curve"), path, arena, out, err);
}

enum status study_document_trial(struct reading *in, const json_t *json, const char *where, struct observation *out)
{
    const struct spec *spec = in->spec;
    enum outcome       outcome;
    TRY(read_state(json, where, &outcome, in->err));
    json_t     *observation = as_observation(spec, json, outcome);
    enum status status =
        observation == NULL ? error_no_memory(in->err) : codec_observation(in, observation, where, out);
    json_decref(observation);
    enum status whole = STATUS_OK;
    TRY(codec_read_on(in, status, &whole));
    if (whole == STATUS_OK && outcome == OUTCOME_QUEUED && codec_is_outside(spec, out->point)) {
        char path[CODEC_PATH_MAX];
        codec_read_path(path, where, "outside");
        return error_set(in->err, STATUS_INVALID, "bad_combination", path,
                         "nothing outside the space waits to be tried");
    }
    out->outcome = outcome;
    TRY(codec_read_on(in, read_rest(spec, json, where, in->arena, out, in->err), &whole));
    return whole;
}
