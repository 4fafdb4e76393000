/* See work.h: what one slot does.  A trial that a slot holds ends in one of the ways of the table `ends`. */
#include "service/work/work.h"

#include "service/file/file.h"
#include "service/member/codec.h"
#include "service/client/plain.h"
#include "service/client/point.h"
#include "service/client/run_text.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ASK_PAUSE_MIN_MS = 250, ASK_PAUSE_MAX_MS = 10000, VALUE_FILE_BYTES = 65536 };

/* ---- ends ---- */

static const struct {
    const char *what;
    bool        is_told, is_given_back;
} ends[] = {
    [WORK_BY_ITSELF] = {.what = "", .is_told = true},
    [WORK_STOPPED] = {.what = "stopped"},
    [WORK_LOST] = {.what = "another worker has it"},
    [WORK_OVER] = {.what = "ended with the study", .is_given_back = true},
    [WORK_LATE] = {.what = "took too long", .is_told = true},
    [WORK_GIVEN_BACK] = {.what = "given back", .is_given_back = true},
};

static void end_run(struct work *work, struct work_slot *slot, enum work_end why)
{
    slot->end = why;
    slot->state = WORK_ENDING;
    slot->kill_at_ms = process_clock_ms() + work->options->grace_seconds * 1000;
    run_signal(&slot->run, SIGTERM);
    work->has_news = true;
}

static void clear(struct work_slot *slot)
{
    run_end(&slot->run);
    json_decref(slot->point);
    json_decref(slot->result);
    slot->point = slot->result = NULL;
    slot->state = WORK_IDLE;
}

/* Whether the refusal means that the trial is not this slot's any more. */
static bool is_lost(const struct error *err)
{
    return err->status == STATUS_CONFLICT;
}

/* ---- asking ---- */

/* The variables of the program's environment; a new reference, NULL when out of memory. */
static json_t *variables_of(const struct work *work, const struct work_slot *slot, const char *point)
{
    json_t *all = json_pack("{s:O, s:I, s:s}", "GNOMON_STUDY", json_object_get(work->study, "id"), "GNOMON_TRIAL",
                            (json_int_t)slot->number, "GNOMON_POINT", point);
    bool    is_good = all != NULL && json_object_set_new(all, "GNOMON_RUN", json_string_nocheck(slot->run.folder)) == 0;
    if (slot->step > 0)
        is_good = is_good && json_object_set_new(all, "GNOMON_RESUME_STEP", json_integer(slot->step)) == 0;
    if (getenv("PYTHONUNBUFFERED") == NULL) // or a step would be seen when the run is over
        is_good = is_good && json_object_set_new(all, "PYTHONUNBUFFERED", json_integer(1)) == 0;
    const char *name;
    json_t     *value;
    json_object_foreach (slot->point, name, value) {
        char variable[160];
        snprintf(variable, sizeof variable, "PARAM_%s", name);
        if (strcmp(work->options->as, "env") == 0)
            is_good = is_good && json_object_set(all, variable, value) == 0;
    }
    if (is_good)
        return all;
    json_decref(all);
    return NULL;
}

/* Where the program writes its value, when that is in a file: in the folder of the run, unless it has a path of its own. */
static void value_path(const struct work *work, const struct work_slot *slot, char out[2 * RUN_PATH_BYTES])
{
    const char *name = work->options->value;
    snprintf(out, (size_t)2 * RUN_PATH_BYTES, "%s%s%s", name[0] == '/' ? "" : slot->run.folder,
             name[0] == '/' ? "" : "/", name);
}

static bool has_value_file(const struct work *work)
{
    return strcmp(work->options->value, "last-line") != 0;
}

static enum status start_program(struct work *work, struct work_slot *slot, struct error *err)
{
    char   *point = codec_dump(slot->point, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_t *variables = point != NULL ? variables_of(work, slot, point) : NULL;
    char  **environment = variables != NULL ? run_text_environment(variables) : NULL;
    char  **program =
        run_text_program(&(struct run_text_program){.words = work->program,
                                                    .point = slot->point,
                                                    .space = json_object_get(work->study, "space"),
                                                    .wants_flags = strcmp(work->options->as, "flags") == 0});
    enum status status = STATUS_OK;
    if (environment == NULL || program == NULL)
        status = error_no_memory(err);
    if (status == STATUS_OK && has_value_file(work)) {
        char path[2 * RUN_PATH_BYTES];
        value_path(work, slot, path);
        unlink(path); // that of an earlier run
    }
    if (status == STATUS_OK)
        status = run_start(&slot->run,
                           &(struct run_options){.program = program,
                                                 .environment = environment,
                                                 .point = point,
                                                 .point_as_input = strcmp(work->options->as, "json") == 0},
                           err);
    run_text_free(environment);
    run_text_free(program);
    json_decref(variables);
    free(point);
    return status;
}

/* Whether the program may be run with the slot's point.  A space grows while its trials are handed out, so that what does not
 * fit is held against the space of now, too. */
static enum status check_point(struct work *work, const struct work_slot *slot, struct error *err)
{
    json_t *study = NULL;
    if (point_check(json_object_get(work->study, "space"), slot->point, err) == STATUS_OK)
        return STATUS_OK;
    TRY(work_call(work, &(struct work_request){.method = "GET", .rest = ""}, NULL, &study, err));
    enum status status = point_check(json_object_get(study, "space"), slot->point, err);
    if (status == STATUS_OK)
        status = json_object_set(work->study, "space", json_object_get(study, "space")) == 0 ? STATUS_OK
                                                                                             : error_no_memory(err);
    json_decref(study);
    return status == STATUS_OK ? work_check_program(work, err) : status;
}

/* Takes the last step reported before, where the trial goes on behind it. */
static void take_resume(struct work_slot *slot, const json_t *trial)
{
    const json_t *curve = json_object_get(trial, "curve"), *resume = json_object_get(trial, "resume");
    const json_t *last = json_array_get(curve, json_array_size(curve) - 1);
    slot->step = json_integer_value(json_object_get(resume, "step"));
    slot->step_value = json_number_value(json_object_get(last, "value"));
}

static enum status take_trial(struct work *work, struct work_slot *slot, const json_t *trial, struct error *err)
{
    const json_t *lease = json_object_get(trial, "lease");
    const char   *id = json_string_value(json_object_get(work->study, "id"));
    json_int_t    seconds = json_integer_value(json_object_get(lease, "heartbeat_seconds"));
    slot->number = json_integer_value(json_object_get(trial, "number"));
    slot->lease = json_integer_value(json_object_get(lease, "id"));
    slot->point = json_incref(json_object_get(trial, "point"));
    slot->began_ms = process_clock_ms();
    slot->beat_every_ms = seconds > 0 ? seconds * 1000 : 1000;
    slot->beat_at_ms = slot->began_ms + slot->beat_every_ms;
    take_resume(slot, trial);
    slot->last[0] = slot->reason[0] = '\0';
    slot->end = WORK_BY_ITSELF;
    if (slot->number < 1)
        return client_bad_reply(err);
    int length =
        snprintf(slot->run.folder, sizeof slot->run.folder, "%s/%.40s/%lld", work->runs, id, (long long)slot->number);
    if (slot->lease > 1) // the files of who held it before stay
        snprintf(slot->run.folder + length, sizeof slot->run.folder - (size_t)length, "-%lld", (long long)slot->lease);
    work->begun++;
    slot->run.is_over = true; // the run has not begun
    enum status status = check_point(work, slot, err);
    if (status == STATUS_OK)
        status = start_program(work, slot, err);
    slot->state = status == STATUS_OK ? WORK_RUNNING : WORK_ENDING;
    slot->end = status == STATUS_OK ? WORK_BY_ITSELF : WORK_GIVEN_BACK;
    return work_is_away(status) ? STATUS_OK : status;
}

static enum status refused(struct work *work, enum status status, const struct error *err)
{
    if (err->next != NULL && strcmp(err->next, "stop") == 0) {
        work->is_over = true;
        return STATUS_OK;
    }
    if (err->next == NULL || strcmp(err->next, "wait") != 0)
        return status;
    work->ask_pause_ms = work->ask_pause_ms == 0 ? ASK_PAUSE_MIN_MS : work->ask_pause_ms * 2;
    if (work->ask_pause_ms > ASK_PAUSE_MAX_MS)
        work->ask_pause_ms = ASK_PAUSE_MAX_MS;
    work->ask_at_ms = process_clock_ms() + work->ask_pause_ms;
    return STATUS_OK;
}

static bool may_ask(const struct work *work)
{
    bool has_budget = work->options->trials == 0 || work->begun < work->options->trials;
    return !work->is_over && !work->is_ending && has_budget && process_clock_ms() >= work->ask_at_ms;
}

static enum status ask(struct work *work, struct work_slot *slot, struct error *err)
{
    json_t *reply = NULL;
    if (!may_ask(work))
        return STATUS_OK;
    if (slot->ask_key[0] == '\0')
        snprintf(slot->ask_key, sizeof slot->ask_key, "work-%s-%lld", work->nonce, (long long)++work->requests);
    enum status status =
        work_call(work, &(struct work_request){.method = "POST", .rest = "/suggest", .key = slot->ask_key},
                  json_pack("{s:s}", "worker", slot->worker), &reply, err);
    if (work_is_away(status))
        return STATUS_OK;
    slot->ask_key[0] = '\0';
    if (status != STATUS_OK)
        return refused(work, status, err);
    work->has_news = true;
    work->ask_pause_ms = 0;
    status = take_trial(work, slot, json_array_get(json_object_get(reply, "trials"), 0), err);
    json_decref(reply);
    return status;
}

/* ---- watching ---- */

/* A step that the service has; false: not yet. */
static bool report(struct work *work, struct work_slot *slot, struct error *err)
{
    char    rest[64], key[WORK_KEY_BYTES];
    json_t *reply = NULL;
    snprintf(rest, sizeof rest, "/trials/%lld/report", (long long)slot->number);
    snprintf(key, sizeof key, "work-%s-%lld-%lld-step-%lld", work->nonce, (long long)slot->number,
             (long long)slot->lease, (long long)slot->step);
    enum status status = work_call(work, &(struct work_request){.method = "POST", .rest = rest, .key = key},
                                   json_pack("{s:I, s:I, s:f}", "lease", (json_int_t)slot->lease, "step",
                                             (json_int_t)slot->step, "value", slot->step_value),
                                   &reply, err);
    if (work_is_away(status))
        return false;
    const char *decision = json_string_value(json_object_get(reply, "decision"));
    const char *next = json_string_value(json_object_get(reply, "next"));
    const char *reason = json_string_value(json_object_get(reply, "reason"));
    slot->beat_at_ms = process_clock_ms() + slot->beat_every_ms;
    if (status == STATUS_OK && decision != NULL && strcmp(decision, "stop") == 0) {
        snprintf(slot->reason, sizeof slot->reason, "%.180s at step %lld, value %.6g",
                 reason != NULL ? reason : "by the study", (long long)slot->step, slot->step_value);
        end_run(work, slot, WORK_STOPPED);
    } else if (status == STATUS_OK && next != NULL && strcmp(next, "stop") == 0) {
        end_run(work, slot, WORK_OVER);
    } else if (strcmp(err->code, "lease_lost") == 0 || strcmp(err->code, "trial_not_running") == 0) {
        end_run(work, slot, WORK_LOST);
    } else if (status != STATUS_OK && strcmp(err->code, "step_reported") != 0) {
        fprintf(stderr, "gnomon: step %lld of trial %lld: ", (long long)slot->step, (long long)slot->number);
        plain_print(stderr, err->text);
        fputc('\n', stderr);
    }
    json_decref(reply);
    return true;
}

/* false: the service cannot be told now. */
static bool take_step(struct work *work, struct work_slot *slot, int64_t step, double value)
{
    struct error err = {.status = STATUS_OK};
    if (step <= slot->step)
        return true;
    int64_t before = slot->step;
    slot->step = step;
    slot->step_value = value;
    slot->last[0] = '\0';
    if (report(work, slot, &err))
        return true;
    slot->step = before;
    return false;
}

/* Reads the printed lines; a step that could not be reported to the service is read again the next time. */
static void read_lines(struct work *work, struct work_slot *slot)
{
    const char *line;
    while (slot->state == WORK_RUNNING && (line = run_line(&slot->run)) != NULL) {
        int64_t step = 0;
        double  value = 0;
        bool    is_step = work->steps != NULL && run_text_step(work->steps, line, &step, &value) && isfinite(value);
        if (is_step && !take_step(work, slot, step, value))
            return;
        if (!is_step && line[strspn(line, " \t\r")] != '\0')
            snprintf(slot->last, sizeof slot->last, "%s", line);
        run_take_line(&slot->run);
        work->has_news = true;
    }
}

static void beat(struct work *work, struct work_slot *slot, struct error *err)
{
    char    rest[64];
    json_t *reply = NULL;
    if (process_clock_ms() < slot->beat_at_ms)
        return;
    snprintf(rest, sizeof rest, "/trials/%lld/heartbeat", (long long)slot->number);
    enum status status = work_call(work, &(struct work_request){.method = "POST", .rest = rest},
                                   json_pack("{s:I}", "lease", (json_int_t)slot->lease), &reply, err);
    if (!work_is_away(status))
        slot->beat_at_ms = process_clock_ms() + slot->beat_every_ms;
    const char *next = json_string_value(json_object_get(reply, "next"));
    if (status == STATUS_CONFLICT)
        end_run(work, slot, WORK_LOST);
    else if (status == STATUS_OK && next != NULL && strcmp(next, "stop") == 0)
        end_run(work, slot, WORK_OVER);
    json_decref(reply);
}

/* ---- ends ---- */

static const char *only_metric(const json_t *metrics)
{
    size_t        i, count = 0;
    const json_t *metric;
    json_array_foreach (metrics, i, metric) {
        const char *goal = json_string_value(json_object_get(metric, "goal"));
        count += goal != NULL && strcmp(goal, "track") != 0;
    }
    return count == 1 ? json_string_value(json_object_get(json_array_get(metrics, 0), "name")) : NULL;
}

/* The values that it ended with, or NULL and slot->reason. */
static json_t *values_of(const struct work *work, struct work_slot *slot)
{
    const json_t *metrics = json_object_get(work->study, "metrics");
    const char   *only = only_metric(metrics), *where = "its last line";
    char         *text = NULL, path[2 * RUN_PATH_BYTES];
    size_t        length;
    json_t       *values = NULL;
    bool          is_finite = true;
    if (has_value_file(work)) {
        struct error err;
        value_path(work, slot, path);
        where = work->options->value;
        if (file_read(path, VALUE_FILE_BYTES, &text, &length, &err) != STATUS_OK) {
            snprintf(slot->reason, sizeof slot->reason, "no value: %.200s", err.text);
            return NULL;
        }
        plain_strip(text);
    } else if (slot->last[0] == '\0' && slot->step > 0 && only != NULL) {
        return json_pack("{s:f}", only, slot->step_value);
    }
    bool is_read = run_text_result(text != NULL ? text : slot->last, metrics, &values, &is_finite);
    if (!is_read && text == NULL && slot->last[0] == '\0')
        snprintf(slot->reason, sizeof slot->reason, "no value: it printed nothing");
    else if (!is_read)
        snprintf(slot->reason, sizeof slot->reason, "no value in %.60s: %.150s", where,
                 text != NULL ? text : slot->last);
    else if (!is_finite)
        snprintf(slot->reason, sizeof slot->reason, "the value is not a finite number");
    free(text);
    if (is_read && is_finite)
        return values;
    json_decref(values);
    return NULL;
}

/* The observation of a run that is over, and whether it is a value. */
static json_t *result_of(struct work *work, struct work_slot *slot)
{
    json_t *values = NULL;
    if (slot->end == WORK_LATE) {
        snprintf(slot->reason, sizeof slot->reason, "took longer than %lld s",
                 (long long)work->options->timeout_seconds);
    } else if (slot->run.code != 0) {
        int length =
            snprintf(slot->reason, sizeof slot->reason, slot->run.code > 128 ? "ended by signal %d" : "exit code %d",
                     slot->run.code > 128 ? slot->run.code - 128 : slot->run.code);
        char said[sizeof slot->reason - sizeof "ended by signal 127: "];
        run_last_error(&slot->run, said, sizeof said);
        if (said[0] != '\0')
            snprintf(slot->reason + length, sizeof slot->reason - (size_t)length, ": %s", said);
    } else {
        values = values_of(work, slot);
    }
    const json_int_t number = slot->number, lease = slot->lease;
    double           seconds = (double)(process_clock_ms() - slot->began_ms) / 1000;
    if (values != NULL)
        return json_pack("{s:I, s:I, s:f, s:o}", "trial", number, "lease", lease, "duration_seconds", seconds, "values",
                         values);
    json_t *reason = json_string(slot->reason);
    return json_pack("{s:I, s:I, s:f, s:s, s:o}", "trial", number, "lease", lease, "duration_seconds", seconds, "state",
                     "failed", "reason", reason != NULL ? reason : json_string("failed"));
}

static enum status come_to_an_end(struct work *work, struct work_slot *slot, struct error *err)
{
    work->has_news = true;
    work->sweep_at_ms = 0; // what the run has left is ended with it
    slot->state = WORK_TELLING;
    slot->result = ends[slot->end].is_told ? result_of(work, slot) : NULL;
    if (ends[slot->end].is_told && slot->result == NULL)
        return error_no_memory(err);
    if (ends[slot->end].is_told || ends[slot->end].is_given_back)
        return STATUS_OK;
    work->told += slot->end == WORK_STOPPED;
    work_say(work, slot, ends[slot->end].what);
    clear(slot);
    return STATUS_OK;
}

/* Shows the last lines of the run whose failure ended the study. */
static void count_failure(struct work *work, const struct work_slot *slot, const json_t *reply)
{
    enum { LINES = 10 };
    const char *next = json_string_value(json_object_get(reply, "next"));
    work->failed++;
    if (next != NULL && strcmp(next, "stop") == 0)
        run_print_end(&slot->run, LINES, stderr);
}

static enum status tell(struct work *work, struct work_slot *slot, struct error *err)
{
    char    key[WORK_KEY_BYTES];
    json_t *reply = NULL;
    bool    is_value = json_object_get(slot->result, "values") != NULL;
    snprintf(key, sizeof key, "work-%s-%lld-%lld-end", work->nonce, (long long)slot->number, (long long)slot->lease);
    enum status status = work_call(work, &(struct work_request){.method = "POST", .rest = "/observe", .key = key},
                                   json_incref(slot->result), &reply, err);
    if (work_is_away(status))
        return STATUS_OK;
    work->has_news = true;
    work_say(work, slot, status == STATUS_OK ? is_value ? NULL : "failed" : err->text);
    work->told += is_value;
    if (!is_value)
        count_failure(work, slot, reply);
    json_decref(reply);
    clear(slot);
    return status == STATUS_OK || is_lost(err) ? STATUS_OK : status;
}

/* Waits again for whoever asks next, unless the study is over. */
static enum status give_back(struct work *work, struct work_slot *slot, struct error *err)
{
    char rest[64], key[WORK_KEY_BYTES];
    bool is_over = slot->end == WORK_OVER;
    snprintf(rest, sizeof rest, "/trials/%lld/abandon", (long long)slot->number);
    snprintf(key, sizeof key, "work-%s-%lld-%lld-back", work->nonce, (long long)slot->number, (long long)slot->lease);
    json_t     *body = json_pack("{s:I, s:s, s:b}", "lease", (json_int_t)slot->lease, "reason",
                             is_over ? "the study ended" : "interrupted", "requeue", slot->end == WORK_GIVEN_BACK);
    enum status status =
        work_call(work, &(struct work_request){.method = "POST", .rest = rest, .key = key}, body, NULL, err);
    if (work_is_away(status))
        return STATUS_OK;
    work->has_news = true;
    work_say(work, slot, ends[slot->end].what);
    clear(slot);
    return status == STATUS_OK || is_lost(err) ? STATUS_OK : status;
}

static enum status watch(struct work *work, struct work_slot *slot, struct error *err)
{
    bool has_ended = run_has_ended(&slot->run); // asked before the lines are read, so that none is missed
    read_lines(work, slot);
    if (slot->state != WORK_RUNNING)
        return STATUS_OK;
    if (has_ended && run_line(&slot->run) == NULL)
        return come_to_an_end(work, slot, err);
    int64_t limit_ms = work->options->timeout_seconds * 1000;
    if (work->is_ending)
        end_run(work, slot, WORK_GIVEN_BACK);
    else if (limit_ms > 0 && process_clock_ms() - slot->began_ms > limit_ms)
        end_run(work, slot, WORK_LATE);
    else
        beat(work, slot, err);
    return STATUS_OK;
}

static enum status wait_for_end(struct work *work, struct work_slot *slot, struct error *err)
{
    if (run_has_ended(&slot->run))
        return come_to_an_end(work, slot, err);
    if (process_clock_ms() >= slot->kill_at_ms)
        run_signal(&slot->run, SIGKILL);
    return STATUS_OK;
}

enum status work_advance(struct work *work, struct work_slot *slot, struct error *err)
{
    switch (slot->state) {
    case WORK_IDLE:
        return ask(work, slot, err);
    case WORK_RUNNING:
        return watch(work, slot, err);
    case WORK_ENDING:
        return wait_for_end(work, slot, err);
    default:
        return slot->result != NULL ? tell(work, slot, err) : give_back(work, slot, err);
    }
}
