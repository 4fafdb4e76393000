/* gnomon curate: the curator's side of a private study.  Uploads the projected matrix, then answers the service's
 * questions: the candidate's raw row goes to a command on this machine, the number it prints goes to the service.
 *
 * Invariants: a value is in the journal, durable, before it is sent; a row with a value in the journal is never
 * measured again; nothing that a command prints leaves but that one number.  Private outcomes: noise is drawn once for a
 * row, before the journal sees the value, and what was measured is written nowhere. */
#include "engine/release.h"
#include "service/client.h"
#include "service/command.h"
#include "service/csv.h"
#include "service/file.h"
#include "service/journal.h"
#include "service/process.h"
#include "service/random.h"
#include "service/release_io.h"
#include "service/secret.h"
#include "service/upload.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEASURE_ATTEMPTS = 2, FAILURES_MAX = 5, POLL_MS = 2000, OUTPUT_BYTES = 4096 };

struct curate_options {
    struct command_server at;
    const char           *study, *secret, *data, *matrix, *manifest, *measure;
    int64_t               patience_s;
};

#define MEMBER(name) .offset = offsetof(struct curate_options, name)
static const struct config_row options_table[] = {
    COMMAND_SERVER_ROWS(struct curate_options),
    {.flag = "study",
     .value = "ID",
     .kind = CONFIG_TEXT,
     MEMBER(study),
     .is_required = true,
     .help = "the study that waits for candidates"},
    {.flag = "secret",
     .value = "FILE",
     .kind = CONFIG_TEXT,
     MEMBER(secret),
     .is_required = true,
     .help = "the secret file of gnomon project; the journal of measured rows is kept beside it"},
    {.flag = "data",
     .value = "FILE",
     .kind = CONFIG_TEXT,
     MEMBER(data),
     .is_required = true,
     .help = "the raw rows that were projected, CSV"},
    {.flag = "measure",
     .value = "CMD",
     .kind = CONFIG_TEXT,
     MEMBER(measure),
     .is_required = true,
     .help = "run by /bin/sh; gets the raw row as a JSON object on standard input, prints one number"},
    {.flag = "matrix",
     .value = "FILE",
     .kind = CONFIG_TEXT,
     MEMBER(matrix),
     .help = "the projected matrix; by default beside the secret file, .npy"},
    {.flag = "manifest",
     .value = "FILE",
     .kind = CONFIG_TEXT,
     MEMBER(manifest),
     .help = "its manifest; by default beside the secret file, .json"},
    {.flag = "patience",
     .environment = "GNOMON_PATIENCE",
     .value = "SECONDS",
     .kind = CONFIG_INT,
     MEMBER(patience_s),
     .fallback = "300",
     .min = 0,
     .max = 604800,
     .help = "how long the server may be away before this gives up"},
    {.flag = NULL},
};

struct curator {
    struct curate_options   options;
    struct release_manifest manifest;
    struct client          *client;
    struct patience         patience;
    struct secret           secret;
    struct csv_table        table;
    struct journal          journal;
    char                    worker[40];
    char                    matrix_path[1024], manifest_path[1024], *manifest_text;
    json_int_t              budget_trials; /* 0: none */
    size_t                  measured, answered, failures_in_a_row;
};

struct trial {
    json_int_t number, lease, candidate;
};

static enum status call(struct curator *c, const char *method, const char *verb, json_t *body, json_t **reply,
                        struct error *err)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/studies/%.40s%s", c->options.study, verb);
    return patience_json(&c->patience, c->client, method, path, body, reply, err);
}

/* One cell as JSON: a number as it is written in the file, anything else as a string. */
static enum status print_cell(FILE *stream, const char *cell, struct error *err)
{
    json_t *number = json_loads(cell, JSON_DECODE_ANY, NULL);
    bool    is_number = json_is_number(number);
    json_decref(number);
    json_t *text = is_number ? NULL : json_string(cell);
    char   *quoted = text != NULL ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
    json_decref(text);
    if (!is_number && quoted == NULL)
        return error_set(err, STATUS_INVALID, "csv_value", "", "a value is not UTF-8 text");
    fputs(is_number ? cell : quoted, stream);
    free(quoted);
    return STATUS_OK;
}

static enum status print_row(const struct csv_table *table, size_t row, FILE *stream, struct error *err)
{
    for (size_t j = 0; j < table->columns; j++) {
        json_t *name = json_string(csv_table_name(table, j));
        char   *quoted = name != NULL ? json_dumps(name, JSON_ENCODE_ANY) : NULL;
        json_decref(name);
        if (quoted == NULL)
            return error_set(err, STATUS_INVALID, "csv_header", "", "the name of column %zu is not UTF-8 text", j + 1);
        fprintf(stream, "%s%s:", j == 0 ? "{" : ",", quoted);
        free(quoted);
        TRY(print_cell(stream, csv_table_cell(table, row, j), err));
    }
    fputs("}\n", stream);
    return STATUS_OK;
}

static enum status row_json(const struct csv_table *table, size_t row, char **out, struct error *err)
{
    size_t length = 0;
    *out = NULL;
    FILE *stream = open_memstream(out, &length);
    if (stream == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "out of memory");
    enum status status = print_row(table, row, stream, err);
    if (fclose(stream) != 0 && status == STATUS_OK)
        status = error_set(err, STATUS_NO_MEMORY, "no_memory", "", "out of memory");
    return status;
}

static bool is_one_number(const char *output, double *value)
{
    char *end = NULL;
    *value = strtod(output, &end);
    bool is_number = end != output && isfinite(*value);
    while (isspace((unsigned char)*end))
        end++;
    return is_number && *end == '\0';
}

static enum status draw_bits(void *arg, void *out, size_t length, struct error *err)
{
    (void)arg;
    return random_bytes(out, length, err);
}

/* What may be known of a measured value: itself, or itself with the manifest's noise. */
static enum status protect(const struct curator *c, double *value, struct error *err)
{
    struct sampler sampler;
    if (!c->manifest.has_outcomes)
        return STATUS_OK;
    sampler_init(&sampler, draw_bits, NULL);
    enum status status = release_outcome(&c->manifest.outcomes, *value, &sampler, value, err);
    sampler_wipe(&sampler);
    return status;
}

/* *is_measured false: the command failed MEASURE_ATTEMPTS times. */
static enum status measure(struct curator *c, size_t row, double *value, bool *is_measured, struct error *err)
{
    char output[OUTPUT_BYTES], *json = NULL;
    *is_measured = false;
    enum status status = row_json(&c->table, row, &json, err);
    for (int i = 0; i < MEASURE_ATTEMPTS && status == STATUS_OK && !*is_measured && !process_is_stopped(); i++) {
        int code = 0;
        status = process_run_shell(c->options.measure, json, output, sizeof output, &code, err);
        *is_measured = status == STATUS_OK && code == 0 && is_one_number(output, value);
        if (status == STATUS_OK && !*is_measured)
            fprintf(stderr, "gnomon: the measure command %s (exit code %d)\n",
                    code == 0 ? "did not print one finite number" : "failed", code);
    }
    free(json);
    return status;
}

static void show_progress(struct curator *c, const json_t *reply, double value)
{
    double        best = (double)NAN;
    const json_t *member = json_object_get(json_object_get(reply, "best"), "value");
    if (json_is_number(member))
        best = json_number_value(member);
    bool is_terminal = isatty(STDERR_FILENO) == 1;
    fprintf(stderr, is_terminal ? "\r" : "");
    fprintf(stderr, "gnomon: %zu", c->answered);
    if (c->budget_trials > 0)
        fprintf(stderr, " of %lld", (long long)c->budget_trials);
    fprintf(stderr, " answered, value %.6g, best %.6g%s", value, best, is_terminal ? "   " : "\n");
}

static enum status report(struct curator *c, const struct trial *trial, double value, struct error *err)
{
    char    external_id[64];
    json_t *reply = NULL;
    snprintf(external_id, sizeof external_id, "%s-%lld", c->secret.id, (long long)trial->number);
    enum status status = call(c, "POST", "/observe",
                              json_pack("{s:I, s:I, s:f, s:s}", "trial", trial->number, "lease", trial->lease, "value",
                                        value, "external_id", external_id),
                              &reply, err);
    if (status == STATUS_OK) {
        c->answered++;
        c->failures_in_a_row = 0;
        show_progress(c, reply, value);
    }
    json_decref(reply);
    return status;
}

static enum status report_failure(struct curator *c, const struct trial *trial, struct error *err)
{
    if (process_is_stopped()) /* the command died of the same signal: the trial stays ours */
        return STATUS_OK;
    TRY(call(c, "POST", "/observe",
             json_pack("{s:I, s:I, s:s, s:s}", "trial", trial->number, "lease", trial->lease, "state", "failed",
                       "reason", "the measurement failed"),
             NULL, err));
    if (++c->failures_in_a_row < FAILURES_MAX)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "measure_failed", "", "the measure command failed for %d trials in a row",
                     FAILURES_MAX);
}

static enum status answer(struct curator *c, const struct trial *trial, struct error *err)
{
    if (trial->candidate < 0 || trial->candidate >= (json_int_t)c->secret.len)
        return error_set(err, STATUS_INTERNAL, "bad_reply", "", "the server asks for candidate %lld of %zu",
                         (long long)trial->candidate, c->secret.len);
    size_t candidate = (size_t)trial->candidate;
    if (!isnan(c->journal.values[candidate]))
        return report(c, trial, c->journal.values[candidate], err);
    double value = 0;
    bool   is_measured = false;
    TRY(measure(c, c->secret.rows[candidate], &value, &is_measured, err));
    if (!is_measured)
        return report_failure(c, trial, err);
    TRY(protect(c, &value, err));
    TRY(journal_append(&c->journal, candidate, value, err));
    c->measured++;
    return report(c, trial, value, err);
}

static enum status ask(struct curator *c, struct trial *trial, bool *is_done, struct error *err)
{
    json_t *reply = NULL;
    trial->number = 0;
    enum status status =
        call(c, "POST", "/suggest", json_pack("{s:i, s:s}", "count", 1, "worker", c->worker), &reply, err);
    *is_done = status == STATUS_CONFLICT && strcmp(err->code, "study_completed") == 0;
    bool waits = status == STATUS_CONFLICT &&
                 (strcmp(err->code, "study_paused") == 0 || strcmp(err->code, "all_handed_out") == 0);
    if (waits)
        process_sleep_ms(POLL_MS);
    if (*is_done || waits)
        return STATUS_OK;
    if (status != STATUS_OK)
        return status;
    int failure = json_unpack(reply, "{s:[{s:I, s:{s:I}, s:I}]}", "trials", "number", &trial->number, "lease", "id",
                              &trial->lease, "candidate", &trial->candidate);
    json_decref(reply);
    return failure == 0 ? STATUS_OK
                        : error_set(err, STATUS_INTERNAL, "bad_reply", "",
                                    "the server's suggestion is not "
                                    "understood");
}

static enum status answer_all(struct curator *c, struct error *err)
{
    bool is_done = false;
    while (!is_done && !process_is_stopped()) {
        struct trial trial;
        TRY(ask(c, &trial, &is_done, err));
        if (trial.number == 0)
            continue;
        enum status status = answer(c, &trial, err);
        if (status == STATUS_CONFLICT && strcmp(err->code, "trial_finished") == 0)
            fprintf(stderr, "gnomon: trial %lld was already finished\n", (long long)trial.number);
        else if (status == STATUS_CONFLICT && strcmp(err->code, "lease_lost") == 0)
            fprintf(stderr, "gnomon: trial %lld took too long and went to somebody else\n", (long long)trial.number);
        else if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* The matrix, its manifest and the secret file belong together. */
static enum status check_release(struct curator *c, struct error *err)
{
    const struct curate_options *options = &c->options;
    secret_neighbour(options->secret, ".npy", c->matrix_path, sizeof c->matrix_path);
    secret_neighbour(options->secret, ".json", c->manifest_path, sizeof c->manifest_path);
    if (options->matrix != NULL)
        snprintf(c->matrix_path, sizeof c->matrix_path, "%s", options->matrix);
    if (options->manifest != NULL)
        snprintf(c->manifest_path, sizeof c->manifest_path, "%s", options->manifest);
    TRY(release_io_manifest(c->manifest_path, c->matrix_path, &c->manifest, &c->manifest_text, err));
    if (strcmp(c->manifest.sha256, c->secret.matrix_sha256) != 0 || strcmp(c->manifest.key, c->secret.key) != 0)
        return error_set(err, STATUS_INVALID, "wrong_matrix", "",
                         "%.80s, its manifest and the secret file are not of the same release", c->matrix_path);
    return c->manifest.has_outcomes ? mechanism_plan_outcome(&c->manifest.outcomes, err) : STATUS_OK;
}

static enum status check_data(struct curator *c, struct error *err)
{
    char        digest[65];
    int64_t     bytes = 0;
    const char *path = c->options.data;
    TRY(file_digest(path, digest, &bytes, err));
    if (strcmp(digest, c->secret.data_sha256) != 0)
        return error_set(err, STATUS_INVALID, "wrong_data", "", "%.150s is not the file that was released", path);
    TRY(csv_table_read(path, &c->table, err));
    if (c->table.rows == c->secret.data_rows)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "wrong_data", "", "%.150s has %zu rows, the release %zu", path, c->table.rows,
                     c->secret.data_rows);
}

/* One answer for a row is one charge: with noise the journal is the release's, whatever the study. */
static enum status open_journal(struct curator *c, struct error *err)
{
    char path[1200];
    bool is_of_release = c->manifest.has_outcomes;
    if (is_of_release)
        snprintf(path, sizeof path, "%.1000s.journal", c->options.secret);
    else
        snprintf(path, sizeof path, "%.1000s.%.40s.journal", c->options.secret, c->options.study);
    return journal_open(path, c->secret.id, is_of_release ? JOURNAL_ALL_STUDIES : c->options.study, c->secret.len,
                        &c->journal, err);
}

/* Everything that can be wrong on this side is found before the server is asked. */
static enum status prepare(struct curator *c, struct error *err)
{
    TRY(command_check_study(c->options.study, err));
    TRY(secret_read(c->options.secret, &c->secret, err));
    TRY(check_data(c, err));
    TRY(check_release(c, err));
    TRY(open_journal(c, err));
    snprintf(c->worker, sizeof c->worker, "curator-%s", c->secret.id);
    return command_connect(&c->options.at, &c->client, err);
}

static enum status curate(struct curator *c, struct error *err)
{
    const struct curate_options *options = &c->options;
    json_t                      *study = NULL;
    TRY(prepare(c, err));
    c->patience.limit_ms = (long)options->patience_s * 1000;
    TRY(call(c, "GET", "", NULL, &study, err));
    json_unpack(study, "{s?{s?I}}", "budget", "trials", &c->budget_trials);
    json_decref(study);
    TRY(upload_run(&(struct upload){.client = c->client,
                                    .patience = &c->patience,
                                    .study = options->study,
                                    .matrix_path = c->matrix_path,
                                    .manifest = c->manifest_text},
                   err));
    return answer_all(c, err);
}

static int run(char **arguments)
{
    struct error   err;
    struct curator c = {.journal.file.fd = -1};
    enum status    status = config_read(options_table, arguments, &c.options, NULL, 0, &err);
    if (status != STATUS_OK)
        return command_fail(&err);
    process_watch_signals();
    status = curate(&c, &err);
    if (process_is_stopped())
        status = error_set(&err, STATUS_BUSY, "interrupted", "", "interrupted: the same command goes on");
    if (isatty(STDERR_FILENO) == 1 && c.answered > 0)
        fputc('\n', stderr);
    if (status == STATUS_OK)
        fprintf(stderr, "gnomon: done: %zu answers, %zu rows measured by this run\n", c.answered, c.measured);
    client_close(c.client);
    journal_close(&c.journal);
    csv_table_free(&c.table);
    secret_free(&c.secret);
    free(c.manifest_text);
    return status == STATUS_OK ? COMMAND_DONE : command_fail(&err);
}

const struct command command_curate = {
    .name = "curate",
    .operands = "",
    .summary = "curator: upload the projected matrix, then measure the rows that the service asks for",
    .options = options_table,
    .run = run,
};
