/* gnomon curate: the curator's side of a private study.  Uploads the projected matrix, then answers the service's
 * questions: the candidate's raw row goes to a command on this machine, the number it prints goes to the service.
 * Ends with what the curator wants to know: which of his rows is the best.
 *
 * Invariants: nothing is sent to a study that is not private and this curator's, nor more answers than were agreed to,
 * whatever the server says later; a value is in the journal, durable, before it is sent; a row with a value in the
 * journal is never measured again; nothing that a command prints leaves but that one number.  Private outcomes: that
 * number leaves as outcomes.h makes it, a measurement that fails too, and what was measured is written nowhere; nothing
 * that a row does ends the run. */
#include "service/client/client.h"
#include "service/cli/command.h"
#include "service/base/csv.h"
#include "service/file/file.h"
#include "service/file/written.h"
#include "service/member/codec.h"
#include "service/curator/journal.h"
#include "service/curator/outcomes.h"
#include "service/client/measure.h"
#include "service/client/process.h"
#include "service/curator/release_io.h"
#include "service/curator/secret.h"
#include "service/client/upload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAILURES_MAX = 5, POLL_MS = 2000, ROWS_SHOWN = 20 };

struct curate_options {
    struct command_server at;
    const char           *study, *secret, *data, *key, *matrix, *manifest, *measure;
    int64_t               patience_seconds, max_answers, answer_every;
    bool                  yes, best, retry_failed;
};

#define OPTION(name, what, member) OPTION_OF(struct curate_options, name, what, member)
static const struct options_row options_table[] = {
    COMMAND_SERVER_ROWS(struct curate_options),
    {OPTION("study", "ID", study), .is_required = true, .help = "the study that waits for candidates"},
    {OPTION("secret", "FILE", secret), .is_required = true,
     .help = "the secret file of gnomon project; the journal of measured rows is kept beside it"},
    {OPTION("data", "FILE", data), .is_required = true, .help = "the raw rows that were projected, CSV"},
    {OPTION("key", "FILE", key),
     .help = "private outcomes: the key that signed the release; the record of answers is kept beside it"},
    {OPTION("measure", "CMD", measure),
     .help =
         "/bin/sh runs CMD for each row: CMD reads the raw row, a JSON object, from standard input, has its number in "
         "GNOMON_ROW (from 1), and prints a number; an exit code from 1 to 125 means that the row cannot be measured"},
    {OPTION("max-answers", "N", max_answers), .kind = OPTIONS_INT, .min = 1, .max = 1e9,
     .help =
         "how many answers may be sent for this study, over all runs; by default the study's budget at the first run"},
    {OPTION("answer-every", "SECONDS", answer_every), .kind = OPTIONS_INT, .min = 1, .max = 1e6,
     .help = "send each answer so many seconds after the question, so that nobody learns how long CMD took; a CMD that "
             "runs "
             "longer than nine tenths of the time is ended, and the row cannot be measured"},
    {OPTION("yes", NULL, yes), .kind = OPTIONS_SWITCH, .help = "do not ask whether that many answers may be sent"},
    {OPTION("best", NULL, best), .kind = OPTIONS_SWITCH,
     .help = "print the best row so far, and do nothing else; needs no server"},
    {OPTION("retry-failed", NULL, retry_failed), .kind = OPTIONS_SWITCH,
     .help = "begin with the rows whose measurement failed"},
    {OPTION("matrix", "FILE", matrix),
     .help = "the released matrix; by default the file beside the secret file that ends in .npy"},
    {OPTION("manifest", "FILE", manifest),
     .help = "the matrix's manifest; by default the file beside the secret file that ends in .json"},
    COMMAND_PATIENCE_ROW(struct curate_options),
    {.flag = NULL},
};

struct curator {
    const struct curate_options *options;
    struct release_manifest      manifest;
    struct patience              patience;
    struct secret                secret;
    struct csv_table             table;
    struct journal               journal;
    struct outcomes              outcomes; /* private ones */
    bool                         is_tried; /* the command is taken to work: the next two say why */
    size_t                       tried;    /* a row that was measured and not asked for; SIZE_MAX: none */
    double                       tried_value;
    int64_t                      due_ms; /* when the next answer may leave */
    char                         worker[40];
    char                         matrix_path[1024], manifest_path[1024], *manifest_text;
    size_t                       measured, answered, retried, failures_in_a_row;
};

struct trial {
    json_int_t number, lease, candidate;
};

/* Prints a cell as JSON: a number as it is written in the file, anything else as a string. */
static enum status print_cell(FILE *stream, const char *cell, struct error *err)
{
    json_t *number = json_loads(cell, JSON_DECODE_ANY, NULL);
    bool    is_number = json_is_number(number);
    json_decref(number);
    json_t *text = is_number ? NULL : json_string(cell);
    char   *quoted = codec_dump(text, JSON_ENCODE_ANY);
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
        char   *quoted = codec_dump(name, JSON_ENCODE_ANY);
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
    struct written to;
    *out = NULL;
    if (written_open(&to) == NULL)
        return error_no_memory(err);
    enum status status = print_row(table, row, to.stream, err);
    *out = written_close(&to);
    return *out == NULL && status == STATUS_OK ? error_no_memory(err) : status;
}

static bool has_row(const struct curator *c, size_t candidate)
{
    return c->secret.rows[candidate] != SECRET_BLANK;
}

static unsigned long row_number(const struct curator *c, size_t candidate)
{
    return (unsigned long)c->secret.rows[candidate] + 1;
}

/* *value NaN: the row cannot be measured. */
static enum status measure(struct curator *c, size_t candidate, double *value, struct error *err)
{
    struct measure how = {.command = c->options->measure, .fails_all = c->manifest.has_outcomes};
    char           number[24], *json = NULL;
    if (c->options->answer_every > 0)
        how.deadline_ms = process_clock_ms() + c->options->answer_every * 900;
    snprintf(number, sizeof number, "%lu", row_number(c, candidate));
    enum status status = row_json(&c->table, c->secret.rows[candidate], &json, err);
    if (status == STATUS_OK && setenv("GNOMON_ROW", number, 1) != 0)
        status = error_no_memory(err);
    if (status == STATUS_OK)
        status = measure_run(&how, json, value, err);
    free(json);
    return status;
}

/* The candidate with a row that has the best value; SIZE_MAX: none has one. */
static size_t best_of(const struct curator *c)
{
    const double *values = c->journal.values;
    size_t        best = SIZE_MAX;
    double        sign = c->journal.is_minimized ? -1 : 1;
    for (size_t k = 0; k < c->journal.len; k++)
        if (isfinite(values[k]) && has_row(c, k) && (best == SIZE_MAX || sign * values[k] > sign * values[best]))
            best = k;
    return best;
}

static void show_progress(struct curator *c, double value)
{
    size_t best = best_of(c);
    bool   is_terminal = isatty(STDERR_FILENO) == 1;
    fprintf(stderr, "%sgnomon: %zu of %zu answered, value %.6g", is_terminal ? "\r" : "", c->journal.answers,
            c->journal.limit, value);
    if (best != SIZE_MAX)
        fprintf(stderr, ", best %.6g (row %lu)", c->journal.values[best], row_number(c, best));
    fputs(is_terminal ? "   " : "\n", stderr);
}

static enum status report(struct curator *c, const struct trial *trial, double value, struct error *err)
{
    char external_id[64];
    snprintf(external_id, sizeof external_id, "%s-%lld", c->secret.id, (long long)trial->number);
    TRY(patience_call(&c->patience, "POST", "/observe",
                      json_pack("{s:I, s:I, s:f, s:s}", "trial", trial->number, "lease", trial->lease, "value", value,
                                "external_id", external_id),
                      NULL, err));
    c->answered++;
    c->failures_in_a_row = 0;
    show_progress(c, value);
    return STATUS_OK;
}

static enum status report_failure(struct curator *c, const struct trial *trial, struct error *err)
{
    TRY(patience_call(&c->patience, "POST", "/observe",
                      json_pack("{s:I, s:I, s:s, s:s}", "trial", trial->number, "lease", trial->lease, "state",
                                "failed", "reason", "the measurement failed"),
                      NULL, err));
    if (++c->failures_in_a_row < FAILURES_MAX)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "measure_failed", "", "the measure command failed for %d rows in a row",
                     FAILURES_MAX);
}

static void begin_answer(struct curator *c)
{
    c->due_ms = process_clock_ms() + c->options->answer_every * 1000;
}

static enum status wait_answer(const struct curator *c, struct error *err)
{
    if (c->options->answer_every == 0)
        return STATUS_OK;
    process_sleep_until(c->due_ms);
    return process_check_stopped(err);
}

/* Once a row fails it is answered for good, so that a command which is wrong, and not its rows, must be known before.
 * Rows are tried that nobody asked for: what they do says nothing of the one that is asked for, and is written nowhere,
 * so that a later run, too, takes as long for them as for others.  Where fewer are left than may be tried, one of them
 * would decide alone, and there is little to lose. */
static enum status try_command(struct curator *c, size_t asked, struct error *err)
{
    size_t tries = 0;
    double told = 0;
    c->due_ms = process_clock_ms() + c->options->answer_every * 1000 * FAILURES_MAX; // however many fail
    for (size_t k = 0; k < c->secret.len && tries < FAILURES_MAX && !c->is_tried; k++) {
        if (k == asked || !has_row(c, k) || outcomes_find(&c->outcomes, k, &told))
            continue;
        tries++;
        c->tried = k;
        TRY(measure(c, k, &c->tried_value, err));
        c->is_tried = !isnan(c->tried_value);
    }
    if (!c->is_tried && tries == FAILURES_MAX)
        return error_set(
            err, STATUS_INVALID, "measure_failed", "",
            "the measure command was tried on %zu rows and failed each time: nothing was told. With private "
            "outcomes a row that fails is answered for good, so that it must work first",
            tries);
    c->measured += c->is_tried;
    c->is_tried = true;
    TRY(wait_answer(c, err));
    begin_answer(c);
    return STATUS_OK;
}

static enum status find_private(struct curator *c, size_t candidate, double *value, struct error *err)
{
    double measured = (double)NAN;
    if (outcomes_find(&c->outcomes, candidate, value))
        return STATUS_OK;
    if (!c->is_tried)
        TRY(try_command(c, candidate, err));
    bool is_known = candidate == c->tried && !isnan(c->tried_value);
    if (is_known)
        measured = c->tried_value;
    else if (has_row(c, candidate))
        TRY(measure(c, candidate, &measured, err));
    if (!isnan(measured))
        c->measured += !is_known;
    else if (has_row(c, candidate))
        fprintf(stderr, "gnomon: row %lu cannot be measured: it is answered as %g, with noise\n",
                row_number(c, candidate), c->manifest.outcome_default);
    return outcomes_settle(&c->outcomes, candidate, measured, value, err);
}

/* The value that may be sent, found for the first time only; NaN: it cannot be. */
static enum status find_value(struct curator *c, size_t candidate, double *value, struct error *err)
{
    if (c->manifest.has_outcomes)
        return find_private(c, candidate, value, err);
    TRY(measure(c, candidate, value, err));
    c->measured += isnan(*value) ? 0 : 1;
    return STATUS_OK;
}

static enum status answer(struct curator *c, const struct trial *trial, struct error *err)
{
    if (trial->candidate < 0 || trial->candidate >= (json_int_t)c->secret.len)
        return error_set(err, STATUS_INTERNAL, "bad_reply", "", "the server asks for candidate %lld of %zu",
                         (long long)trial->candidate, c->secret.len);
    size_t candidate = (size_t)trial->candidate;
    double value = c->journal.values[candidate];
    begin_answer(c);
    if (isfinite(value)) { // it was sent before, or was about to be
        TRY(wait_answer(c, err));
        return report(c, trial, value, err);
    }
    if (c->journal.answers >= c->journal.limit)
        return error_set(
            err, STATUS_CONFLICT, "answers_spent", "",
            "%zu rows' values were sent, as agreed, and the study asks for more: --max-answers N allows it",
            c->journal.answers);
    TRY(find_value(c, candidate, &value, err));
    TRY(journal_append(&c->journal, candidate, isnan(value) ? (double)INFINITY : value, err));
    TRY(wait_answer(c, err));
    return isnan(value) ? report_failure(c, trial, err) : report(c, trial, value, err);
}

static enum status ask(struct curator *c, struct trial *trial, bool *is_done, struct error *err)
{
    json_t *reply = NULL;
    trial->number = 0;
    enum status status = patience_call(&c->patience, "POST", "/suggest",
                                       json_pack("{s:i, s:s}", "count", 1, "worker", c->worker), &reply, err);
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
    return failure == 0 ? STATUS_OK : client_bad_reply(err);
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
    const struct curate_options *options = c->options;
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
    bool may_be_blank = c->manifest.has_outcomes && mechanism_is_partition(c->manifest.mechanism.kind);
    for (size_t k = 0; k < c->secret.len && !may_be_blank; k++)
        if (!has_row(c, k))
            return error_set(err, STATUS_INVALID, "bad_secret", "", "the secret file has no row for candidate %zu", k);
    return c->manifest.has_outcomes ? mechanism_plan_outcome(&c->manifest.outcomes, err) : STATUS_OK;
}

static enum status check_data(struct curator *c, struct error *err)
{
    char        digest[65];
    int64_t     bytes = 0;
    const char *path = c->options->data;
    TRY(file_digest(path, digest, &bytes, err));
    if (strcmp(digest, c->secret.data_sha256) != 0)
        return error_set(err, STATUS_INVALID, "wrong_data", "",
                         "%.100s is not the file that was released: a copy that was edited, or only saved again, is "
                         "another. Take the one "
                         "whose SHA-256 is %s",
                         path, c->secret.data_sha256);
    TRY(csv_table_read(path, &c->table, err));
    if (c->table.rows == c->secret.data_rows)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "wrong_data", "", "%.150s has %zu rows, the release %zu", path, c->table.rows,
                     c->secret.data_rows);
}

static enum status open_journals(struct curator *c, bool may_create, struct error *err)
{
    char              path[1200];
    struct journal_of of = {.path = path, .secret_id = c->secret.id, .study = c->options->study, .len = c->secret.len};
    snprintf(path, sizeof path, "%.1000s.%.40s.journal", c->options->secret, c->options->study);
    TRY(journal_open(&of, may_create, &c->journal, err));
    return STATUS_OK;
}

static enum status open_outcomes(struct curator *c, struct error *err)
{
    if (!c->manifest.has_outcomes || c->options->best)
        return STATUS_OK;
    if (c->options->key == NULL)
        return error_set(err, STATUS_INVALID, "usage", "",
                         "--key is missing: outcomes are private, and their noise comes from the key");
    TRY(outcomes_open(
        &(struct outcomes_of){
            .key_path = c->options->key, .manifest = &c->manifest, .secret = &c->secret, .table = &c->table},
        &c->outcomes, err));
    return STATUS_OK;
}

/* Checks that every row can be passed on: one that cannot would end the run when it is asked for, and so be told. */
static enum status check_rows(const struct curator *c, struct error *err)
{
    for (size_t k = 0; k < c->secret.len && c->manifest.has_outcomes; k++) {
        char *json = NULL;
        if (!has_row(c, k))
            continue;
        enum status status = row_json(&c->table, c->secret.rows[k], &json, err);
        free(json);
        TRY(status);
    }
    return STATUS_OK;
}

/* Finds every error on this side before the server is asked. */
static enum status prepare(struct curator *c, struct error *err)
{
    TRY(command_check_id("study", "std", c->options->study, err));
    if (!c->options->best && c->options->measure == NULL)
        return error_set(err, STATUS_INVALID, "usage", "", "--measure is missing");
    TRY(secret_read(c->options->secret, &c->secret, err));
    TRY(check_data(c, err));
    TRY(check_release(c, err));
    TRY(check_rows(c, err));
    TRY(open_journals(c, !c->options->best, err));
    TRY(open_outcomes(c, err));
    snprintf(c->worker, sizeof c->worker, "curator-%s", c->secret.id);
    return STATUS_OK;
}

/* ---- what the curator agrees to ---- */

struct ask_inputs {
    json_int_t budget; /* 0: none */
    bool       is_minimized;
};

static enum status other_study(const char *text, struct error *err)
{
    return error_set(err, STATUS_CONFLICT, "other_study", "", "%s; nothing was sent to it", text);
}

/* Is it a private study of this curator, for this release? */
static enum status read_study(const struct curator *c, json_t *study, struct ask_inputs *out, struct error *err)
{
    const char *kind = "", *key = "", *goal = "";
    int         is_private = 0;
    json_int_t  rows = 0;
    json_t     *metrics = json_object_get(study, "metrics"), *space = json_object_get(study, "space");
    *out = (struct ask_inputs){.budget = 0};
    json_unpack(space, "{s:s, s:b, s:s, s:I}", "type", &kind, "private", &is_private, "curator_key", &key, "rows",
                &rows);
    json_unpack(study, "{s:{s:I}}", "budget", "trials", &out->budget);
    json_unpack(json_array_get(metrics, 0), "{s:s}", "goal", &goal);
    out->is_minimized = strcmp(goal, "minimize") == 0;
    if (strcmp(kind, "candidates") != 0 || !is_private)
        return other_study("the study is not private: it may ask for anything and show it to anybody", err);
    if (strcmp(key, c->secret.key) != 0)
        return other_study("the study is another curator's: its curator_key is not the one that signed this release",
                           err);
    if (rows != (json_int_t)c->secret.len)
        return other_study("the study was made for another number of rows than this release has", err);
    return json_array_size(metrics) == 1 ? STATUS_OK : other_study("the study has more than one metric", err);
}

/* Checks that the study's manifest, if it has one, is this release's. */
static enum status check_manifest(struct curator *c, struct error *err)
{
    json_t *candidates = NULL;
    TRY(patience_call(&c->patience, "GET", "/candidates", NULL, &candidates, err));
    const json_t *manifest = json_object_get(candidates, "manifest");
    const char   *sha256 = json_string_value(json_object_get(manifest, "sha256"));
    bool          is_other =
        manifest != NULL && !json_is_null(manifest) && (sha256 == NULL || strcmp(sha256, c->secret.matrix_sha256) != 0);
    json_decref(candidates);
    return is_other ? other_study("the study has the manifest of another release", err) : STATUS_OK;
}

/* On a terminal a person says so; elsewhere whoever wrote the command has. */
static enum status confirm(const struct curator *c, size_t limit, struct error *err)
{
    char line[16] = "";
    fprintf(stderr, "gnomon: up to %zu of %zu rows' values will be sent to this study, %s\n", limit, c->secret.len,
            c->manifest.has_outcomes ? "with noise" : "as they are measured");
    if (c->options->yes || isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1)
        return STATUS_OK;
    fputs("gnomon: go on? [y/N] ", stderr);
    bool is_agreed = fgets(line, sizeof line, stdin) != NULL && (line[0] == 'y' || line[0] == 'Y');
    return is_agreed ? STATUS_OK
                     : error_set(err, STATUS_INVALID, "not_agreed", "",
                                 "nothing was sent; --max-answers N sets another limit");
}

/* Once: what the server says of its budget later changes nothing. */
static enum status agree(struct curator *c, const struct ask_inputs *asked, struct error *err)
{
    size_t limit = (size_t)c->options->max_answers;
    if (limit == 0 && c->journal.limit == 0) {
        if (asked->budget <= 0)
            return error_set(
                err, STATUS_INVALID, "usage", "",
                "the study has no budget: say with --max-answers N how many of %zu rows' values may be sent",
                c->secret.len);
        limit = asked->budget < (json_int_t)c->secret.len ? (size_t)asked->budget : c->secret.len;
        TRY(confirm(c, limit, err));
    }
    return limit == 0 || limit == c->journal.limit ? STATUS_OK
                                                   : journal_agree(&c->journal, limit, asked->is_minimized, err);
}

/* ---- what failed before ---- */

/* A trial that somebody else has put back already is no failure. */
static enum status retry_page(struct curator *c, json_t *trials, struct error *err)
{
    size_t  i = 0;
    json_t *trial = NULL;
    json_array_foreach (trials, i, trial) {
        char verb[64];
        snprintf(verb, sizeof verb, "/trials/%lld/retry",
                 (long long)json_integer_value(json_object_get(trial, "number")));
        enum status status = patience_call(&c->patience, "POST", verb, NULL, NULL, err);
        if (status != STATUS_OK && strcmp(err->code, "trial_not_failed") != 0)
            return status;
        c->retried += status == STATUS_OK;
    }
    return STATUS_OK;
}

static enum status retry_failed(struct curator *c, struct error *err)
{
    static const char FIRST[] = "/trials?state=failed&limit=1000";
    char              verb[sizeof FIRST + 300];
    enum status       status = STATUS_OK;
    snprintf(verb, sizeof verb, "%s", FIRST);
    for (bool has_more = true; has_more && status == STATUS_OK && !process_is_stopped();) {
        json_t *page = NULL;
        TRY(patience_call(&c->patience, "GET", verb, NULL, &page, err));
        const char *next = json_string_value(json_object_get(page, "next_cursor"));
        has_more = next != NULL && next[strspn(next, "0123456789abcdef")] == '\0';
        if (has_more)
            snprintf(verb, sizeof verb, "%s&cursor=%.256s", FIRST, next);
        status = retry_page(c, json_object_get(page, "trials"), err);
        json_decref(page);
    }
    if (status == STATUS_OK || c->retried > 0)
        fprintf(stderr, "gnomon: %zu failed row%s asked again\n", c->retried, c->retried == 1 ? " is" : "s are");
    return status;
}

/* ---- the end ---- */

static void tell_failures(const struct curator *c)
{
    size_t      failures = journal_failures(&c->journal), shown = 0;
    const char *plural = failures == 1 ? "" : "s", *it = failures == 1 ? "it" : "them";
    if (failures == 0)
        return;
    fprintf(stderr, "gnomon: %zu row%s could not be measured:", failures, plural);
    for (size_t i = 0; i < c->journal.len && shown < ROWS_SHOWN; i++)
        if (isinf(c->journal.values[i]))
            fprintf(stderr, "%s %lu", shown++ > 0 ? "," : "", row_number(c, i));
    fprintf(stderr, "%s. The same command with --retry-failed asks for %s again, as far as the study's budget allows\n",
            failures > shown ? ", .." : "", it);
}

/* Prints the best of the answered rows, and its value, to standard output. */
static enum status tell_best(const struct curator *c, struct error *err)
{
    size_t best = best_of(c);
    char  *json = NULL;
    if (best == SIZE_MAX) {
        puts("best: no row has a value yet");
        return STATUS_OK;
    }
    TRY(row_json(&c->table, c->secret.rows[best], &json, err));
    printf("best of %zu answers: row %lu of %s, value %.10g%s\n", c->journal.answers, row_number(c, best),
           c->options->data, c->journal.values[best],
           c->manifest.has_outcomes ? " (every value carries noise: another row may be better)" : "");
    fputs(json, stdout);
    free(json);
    return STATUS_OK;
}

static enum status curate(struct curator *c, struct error *err)
{
    const struct curate_options *options = c->options;
    struct ask_inputs            asked;
    json_t                      *study = NULL;
    TRY(patience_call(&c->patience, "GET", "", NULL, &study, err));
    enum status status = read_study(c, study, &asked, err);
    json_decref(study);
    TRY(status);
    TRY(check_manifest(c, err));
    if (c->manifest.has_outcomes && asked.is_minimized && c->manifest.outcome_default <= c->manifest.outcomes.low)
        fputs("gnomon: the study minimises, and a row that cannot be measured is answered as the least there is: a "
              "release "
              "with --y-default=HIGH would not look for such rows\n",
              stderr);
    TRY(agree(c, &asked, err));
    TRY(upload_run(
        &(struct upload){.patience = &c->patience, .matrix_path = c->matrix_path, .manifest = c->manifest_text}, err));
    struct error retry_err = {.status = STATUS_OK};
    if (options->retry_failed && retry_failed(c, &retry_err) != STATUS_OK &&
        strcmp(retry_err.code, "budget_exhausted") != 0) {
        *err = retry_err;
        return err->status;
    }
    TRY(answer_all(c, err)); /* what a short budget still let be asked again is measured before the end says so */
    if (retry_err.status != STATUS_OK)
        *err = retry_err;
    return retry_err.status;
}

/* Whatever ended the run, the curator hears what it has found. */
static enum status work(struct curator *c, struct error *err)
{
    struct error ignored;
    enum status  status = curate(c, err);
    if (process_is_stopped())
        status = process_check_stopped(err);
    if (isatty(STDERR_FILENO) == 1 && c->answered > 0)
        fputc('\n', stderr);
    if (status == STATUS_OK)
        fprintf(stderr, "gnomon: done: %zu answers, %zu rows measured by this run\n", c->answered, c->measured);
    tell_failures(c);
    if (c->journal.answers == 0)
        return status;
    enum status told = tell_best(c, status == STATUS_OK ? err : &ignored);
    return status == STATUS_OK ? told : status;
}

static enum status run(struct command_call *call, struct error *err)
{
    const struct curate_options *options = call->options;
    struct curator               c = {.options = options, .tried = SIZE_MAX};
    enum status                  status = prepare(&c, err);
    if (status == STATUS_OK && !options->best)
        status = command_connect(&options->at, &call->client, err);
    c.patience = (struct patience){.client = call->client,
                                   .collection = "studies",
                                   .id = options->study,
                                   .limit_ms = (long)options->patience_seconds * 1000};
    if (status == STATUS_OK)
        status = options->best ? tell_best(&c, err) : work(&c, err);
    journal_close(&c.journal);
    outcomes_close(&c.outcomes);
    csv_table_free(&c.table);
    secret_free(&c.secret);
    free(c.manifest_text);
    return status;
}

const struct command command_curate = {
    .name = "curate",
    .operands = "",
    .summary = "curator: upload a release, then measure the rows that the server asks for",
    .options = options_table,
    .options_bytes = sizeof(struct curate_options),
    .watches_signals = true,
    .run = run,
};
