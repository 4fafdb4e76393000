/* gnomon demo: the service doing its two main jobs on real data, against a running server.
 *   1. Hyper-parameters: a parameters study over a tabulated neural network; a suggestion is answered by the nearest
 *      tabulated configuration.
 *   2. Private outsourcing: a release of rows of house prices is made and answered by the curator's programs, run as
 *      their own processes; the server sees neither rows nor names.
 * Each result is set against the best of the table and what as many random rows reach on average.
 * With --all, one study of each other kind as well (demo_kinds.c). */
#include "service/cli/command.h"
#include "service/cli/demo.h"
#include "service/base/file.h"
#include "service/cli/process.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char TUNING_NAME[] = "demo: hyper-parameters", PRIVATE_NAME[] = "demo: private rows";
enum { TUNING_TRIALS = 60, PRIVATE_TRIALS = 60, PROGRESS_EVERY = 10, PATH_BYTES = DEMO_PATH_BYTES };

static const struct options_row options_table[] = {
    COMMAND_SERVER_ROW(struct demo_options, server),
    COMMAND_DATA_ROW(struct demo_options),
    COMMAND_EXAMPLES_ROW(struct demo_options),
    {.flag = "all",
     .kind = OPTIONS_SWITCH,
     .offset = offsetof(struct demo_options, all),
     .help = "one study of every kind, a game and a federation; what an earlier run has made stays as it is"},
    {.flag = NULL},
};

/* ---- what a result is compared with ---- */

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The expected largest of k draws without replacement from n values: sum over the values in descending order of
 * value * C(n-1-i, k-1) / C(n, k), the weights by recursion.  Sorts values. */
static double expect_best(double *values, size_t n, size_t k)
{
    double weight = (double)k / (double)n, sum = 0;
    qsort(values, n, sizeof *values, descending);
    for (size_t i = 0; i < n && weight > 0; i++) {
        sum += weight * values[i];
        if (i + 1 < n)
            weight *= ((double)n - (double)i - (double)k) / ((double)n - (double)i - 1);
    }
    return sum;
}

static enum status post(struct demo *demo, const char *study, const char *verb, json_t *body, json_t **reply,
                        struct error *err)
{
    char path[160];
    snprintf(path, sizeof path, "studies/%.40s%s", study, verb);
    return demo_post(demo, path, body, reply, err);
}

static enum status read_best(struct demo *demo, const char *study, double *best, struct error *err)
{
    json_t *reply = NULL;
    char    path[64];
    snprintf(path, sizeof path, "/v1/studies/%.40s", study);
    TRY(client_json(demo->client, "GET", path, NULL, &reply, err));
    const json_t *value = json_object_get(json_object_get(reply, "best"), "value");
    *best = json_is_number(value) ? json_number_value(value) : (double)NAN;
    json_decref(reply);
    return STATUS_OK;
}

/* ---- 1. hyper-parameters ---- */

static json_t *tuning_study(void)
{
    return json_pack("{s:s, s:[{s:s, s:s}], s:o, s:i, s:{s:i}, s:{s:s}}", "name", TUNING_NAME, "metrics", "name",
                     "accuracy", "goal", "maximize", "space", demo_json(demo_network_space), "seed", 2385, "budget",
                     "trials", TUNING_TRIALS, "labels", "demo", "tuning");
}

static void show_progress(const char *what, int done, int total, double best)
{
    bool is_terminal = isatty(STDOUT_FILENO) == 1;
    if (!is_terminal && done % PROGRESS_EVERY != 0 && done != total)
        return;
    printf("%s%s: %d of %d, best %.5g%s", is_terminal ? "\r" : "", what, done, total, best,
           is_terminal && done < total ? "   " : "\n");
    fflush(stdout);
}

static enum status tune_once(struct demo *demo, const char *study, const json_t *space, double *best, struct error *err)
{
    json_t    *reply = NULL, *point = NULL;
    json_int_t number = 0;
    size_t     row = 0;
    TRY(post(demo, study, "/suggest", json_pack("{s:i}", "count", 1), &reply, err));
    enum status status = STATUS_OK;
    if (json_unpack(reply, "{s:[{s:I, s:o}]}", "trials", "number", &number, "point", &point) != 0)
        status = client_bad_reply(err);
    if (status == STATUS_OK)
        status = demo_find_nearest(demo, space, point, &row, err);
    json_decref(reply);
    if (status != STATUS_OK)
        return status;
    *best = fmax(*best, demo->values[row]);
    return post(demo, study, "/observe", json_pack("{s:I, s:f}", "trial", number, "value", demo->values[row]), NULL,
                err);
}

static enum status tune(struct demo *demo, struct error *err)
{
    char        study[DEMO_ID_BYTES];
    double      best = -INFINITY;
    enum status status = STATUS_OK;
    TRY(demo_read_table(demo, "hpobench/mlp_2tasks.csv", "vehicle", err));
    TRY(demo_create(demo, "studies", tuning_study(), study, err));
    json_t *space = demo_json(demo_network_space);
    for (int i = 1; i <= TUNING_TRIALS && status == STATUS_OK && !process_is_stopped(); i++) {
        status = tune_once(demo, study, space, &best, err);
        show_progress("hyper-parameters of a neural network", i, TUNING_TRIALS, best);
    }
    json_decref(space);
    TRY(status);
    double random = expect_best(demo->values, demo->table.rows, TUNING_TRIALS);
    printf("  found accuracy %.4f in %d trials; best of all %zu tabulated: %.4f; %d random ones reach %.4f on average\n"
           "  study %s\n\n",
           best, TUNING_TRIALS, demo->table.rows, demo->values[0], TUNING_TRIALS, random, study);
    return STATUS_OK;
}

/* ---- 2. private outsourcing ---- */

struct paths {
    char data[PATH_BYTES], matrix[PATH_BYTES], manifest[PATH_BYTES], secret[PATH_BYTES], token[PATH_BYTES],
        key[PATH_BYTES], lines[PATH_BYTES];
};

static void make_paths(const struct demo *demo, struct paths *paths)
{
    snprintf(paths->data, PATH_BYTES, "%.900s/housing/housing_2000.csv", demo->options->examples);
    snprintf(paths->matrix, PATH_BYTES, "%.900s/demo/houses.npy", demo->options->data);
    snprintf(paths->manifest, PATH_BYTES, "%.900s/demo/houses.json", demo->options->data);
    snprintf(paths->secret, PATH_BYTES, "%.900s/demo/houses.secret", demo->options->data);
    snprintf(paths->token, PATH_BYTES, "%.900s/demo/curator.token", demo->options->data);
    snprintf(paths->key, PATH_BYTES, "%.900s/demo/curator.key", demo->options->data);
    snprintf(paths->lines, PATH_BYTES, "%.900s/demo/curator.key.ledger/ledger", demo->options->data);
}

static enum status run_own(const char *const *arguments, struct error *err)
{
    struct process process;
    fflush(stdout);
    TRY(process_start(&(struct process_options){.arguments = arguments, .is_own = true}, &process, err));
    int code = process_wait(&process);
    TRY(process_check_stopped(err));
    return code == 0 ? STATUS_OK
                     : error_set(err, STATUS_INTERNAL, "demo", "", "gnomon %s ended with code %d", arguments[1], code);
}

static enum status make_key(const struct paths *paths, struct error *err)
{
    const char *arguments[] = {"gnomon", "key", "--out", paths->key, NULL};
    if (access(paths->key, F_OK) == 0)
        return STATUS_OK;
    printf("the curator's public key, for the study: ");
    return run_own(arguments, err);
}

/* The region is what anybody knows of California: where it lies, and what people earn there.  Some 30 km and half of
 * the unit of income are protected. */
static enum status project(const struct paths *paths, struct error *err)
{
    const char *arguments[] = {"gnomon",
                               "project",
                               "--columns=longitude,latitude,median_income",
                               "--protect=longitude=0.28,latitude=0.28,median_income=0.56",
                               "--region=longitude=-125:-114,latitude=32:42.5,median_income=0:16",
                               "--epsilon=2.718",
                               "--in",
                               paths->data,
                               "--key",
                               paths->key,
                               "--out",
                               paths->matrix,
                               NULL};
    return run_own(arguments, err);
}

static enum status show_ledger(const struct paths *paths, struct error *err)
{
    const char *arguments[] = {"gnomon", "ledger", "--key", paths->key, NULL};
    return run_own(arguments, err);
}

/* As a curator must: the table is released once, and the release serves every run.  *is_there false: the ledger has one
 * whose files are gone, and another would be another charge. */
static enum status release(const struct paths *paths, bool *is_there, struct error *err)
{
    bool has_files =
        access(paths->matrix, F_OK) == 0 && access(paths->manifest, F_OK) == 0 && access(paths->secret, F_OK) == 0;
    struct stat ledger;
    bool        was_released = stat(paths->lines, &ledger) == 0 && ledger.st_size > 0;
    *is_there = has_files || !was_released;
    if (!*is_there) {
        printf("  left out: %.200s has a release whose files are gone, and a second one would be a second charge\n",
               paths->lines);
        return STATUS_OK;
    }
    TRY(make_key(paths, err));
    if (!has_files)
        return project(paths, err);
    printf("the release of an earlier run is used again, without a charge; its ledger:\n");
    return show_ledger(paths, err);
}

/* Rows, columns and key of the study are those of the manifest. */
static enum status create_private_study(struct demo *demo, const struct paths *paths, char study[DEMO_ID_BYTES],
                                        struct error *err)
{
    char       *text = NULL;
    size_t      length = 0;
    json_int_t  rows = 0, columns = 0;
    const char *key = "";
    TRY(file_read(paths->manifest, 65536, &text, &length, err));
    json_t *manifest = json_loadb(text, length, 0, NULL);
    free(text);
    json_unpack(manifest, "{s:I, s:I, s:s}", "rows", &rows, "columns", &columns, "key", &key);
    json_t *space = json_pack("{s:s, s:I, s:I, s:b, s:s}", "type", "candidates", "rows", rows, "columns", columns,
                              "private", 1, "curator_key", key);
    json_decref(manifest);
    return demo_create(demo, "studies",
                       json_pack("{s:s, s:[{s:s, s:s}], s:o, s:{s:s}, s:i, s:{s:i}, s:{s:s}}", "name", PRIVATE_NAME,
                                 "metrics", "name", "y", "goal", "maximize", "space", space, "algorithm", "name",
                                 "po-gp-ucb", "seed", 2385, "budget", "trials", PRIVATE_TRIALS, "labels", "demo",
                                 "private"),
                       study, err);
}

static enum status write_token(struct demo *demo, const char *path, const char *study, struct error *err)
{
    json_t *reply = NULL;
    TRY(client_json(demo->client, "POST", "/v1/tokens",
                    json_pack("{s:s, s:s, s:s, s:i}", "name", "demo curator", "scope", "curator", "resource", study,
                              "expires_in_seconds", 86400),
                    &reply, err));
    const char *token = json_string_value(json_object_get(reply, "token"));
    enum status status = token == NULL ? client_bad_reply(err) : file_write(path, 0600, token, strlen(token), err);
    json_decref(reply);
    return status;
}

static const char LOG_OF_VALUE[] = "awk -F'\"median_house_value\":' '{ printf \"%.12f\\n\", log($2) }'";

static enum status curate(struct demo *demo, const struct paths *paths, const char *study, struct error *err)
{
    const char *arguments[] = {
        "gnomon",    "curate",      "--server", demo->options->server, "--study",      study,
        "--secret",  paths->secret, "--data",   paths->data,           "--token-file", paths->token,
        "--measure", LOG_OF_VALUE,  NULL};
    return run_own(arguments, err);
}

static void report_private(struct demo *demo, double best, const char *study)
{
    size_t n = demo->table.rows;
    for (size_t i = 0; i < n; i++)
        demo->values[i] = log(demo->values[i]);
    double random = expect_best(demo->values, n, PRIVATE_TRIALS);
    printf("  dearest district found: %.0f $ with %d questions about %zu rows; the dearest of all: %.0f $; the dearest "
           "of\n"
           "  %d random rows: %.0f $ on average\n  study %s; the server was sent neither rows, names nor places\n",
           exp(best), PRIVATE_TRIALS, n, exp(demo->values[0]), PRIVATE_TRIALS, exp(random), study);
}

static enum status outsource(struct demo *demo, struct error *err)
{
    struct paths paths;
    char         folder[PATH_BYTES], study[DEMO_ID_BYTES];
    double       best = 0;
    bool         is_there = false;
    make_paths(demo, &paths);
    snprintf(folder, sizeof folder, "%.900s/demo", demo->options->data);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return error_set(err, STATUS_INVALID, "file", "", "%.150s: %s", folder, strerror(errno));
    TRY(demo_read_table(demo, "housing/housing_2000.csv", "median_house_value", err));
    printf("private rows: the dearest of %zu districts, found without showing them\n", demo->table.rows);
    TRY(release(&paths, &is_there, err));
    if (!is_there)
        return STATUS_OK;
    TRY(create_private_study(demo, &paths, study, err));
    TRY(write_token(demo, paths.token, study, err));
    TRY(curate(demo, &paths, study, err));
    TRY(read_best(demo, study, &best, err));
    report_private(demo, best, study);
    return STATUS_OK;
}

/* Is it for --all, and there already? */
static enum status is_made(struct demo *demo, const char *name, int trials, bool *is_there, struct error *err)
{
    char    id[DEMO_ID_BYTES];
    int64_t done = 0;
    *is_there = false;
    if (demo->options->all) {
        TRY(demo_find(demo, "studies", name, id, &done, err));
        *is_there = done >= trials;
    }
    return STATUS_OK;
}

static enum status run_all(struct demo *demo, struct error *err)
{
    bool is_there = false;
    TRY(is_made(demo, TUNING_NAME, TUNING_TRIALS, &is_there, err));
    if (!is_there)
        TRY(tune(demo, err));
    TRY(process_check_stopped(err));
    TRY(is_made(demo, PRIVATE_NAME, PRIVATE_TRIALS, &is_there, err));
    if (!is_there)
        TRY(outsource(demo, err));
    return demo->options->all ? demo_kinds(demo, err) : STATUS_OK;
}

static enum status run(struct command_call *call, struct error *err)
{
    struct demo demo = {.options = call->options};
    TRY(command_connect_local(demo.options->data, &call->client, err));
    demo.client = call->client;
    enum status status = run_all(&demo, err);
    csv_table_free(&demo.table);
    free(demo.values);
    return status == STATUS_OK ? process_check_stopped(err) : status;
}

const struct command command_demo = {
    .name = "demo",
    .operands = "",
    .summary = "studies on real data against a running service on this machine",
    .options = options_table,
    .options_bytes = sizeof(struct demo_options),
    .watches_signals = true,
    .run = run,
};
