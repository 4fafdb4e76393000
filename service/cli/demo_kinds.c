/* gnomon demo --all: what the two studies of the demo do not show.  A table: each row makes one study, game or
 * federation, and answers it.  Answers are read from the example data where there are some; the others are formulae,
 * and the study's notes say so. */
#include "service/cli/demo.h"
#include "service/base/file.h"
#include "service/codec/codec.h"
#include "service/cli/process.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work;

struct kind {
    const char *name, *collection;
    int         total; /* trials or rounds */
    int         open;  /* suggestions without an answer, at the end */
    const char *body;  /* the request that makes it, without its name, ' for " */
    enum status (*prepare)(struct work *work, struct error *err); /* or NULL */
    /* Answers a trial's outcome, or a round of a game. */
    enum status (*answer)(struct work *work, const json_t *trial, json_t *said, struct error *err);
    enum status (*run)(struct work *work, struct error *err); /* instead of asking and answering; or NULL */
};

enum { PIXELS = 64, HIDDEN = 32, CLASSES = 10, GAME_SIDE = 100, GAME_STEP = 10, FIELD_SIDE = 41, AGENTS = 4 };
enum { FIELD_NUMBERS = FIELD_SIDE * (FIELD_SIDE + 2) }; /* its number, that of the line, and 41 values a line */

struct work {
    struct demo       *demo;
    const struct kind *kind;
    json_t            *body;
    char               id[DEMO_ID_BYTES];
    double             field[FIELD_NUMBERS];
    double             w1[PIXELS * HIDDEN], b1[HIDDEN], w2[HIDDEN * CLASSES], b2[CLASSES], image[PIXELS];
    char              *payoffs; /* the whole file */
    size_t             payoffs_bytes;
};

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static enum status call(struct work *work, const char *verb, json_t *body, json_t **reply, struct error *err)
{
    char path[160];
    snprintf(path, sizeof path, "%.20s/%.40s%.80s", work->kind->collection, work->id, verb);
    return demo_post(work->demo, path, body, reply, err);
}

/* ---- tabulated: learning curves, networks, landmine fields ---- */

static enum status read_curves(struct work *work, struct error *err)
{
    return demo_read_table(work->demo, "learning_curves/mnist_softmax_sgd_300x50.csv", NULL, err);
}

/* Each second epoch of the nearest configuration, until the service says that it is enough. */
static enum status answer_curve(struct work *work, const json_t *trial, json_t *said, struct error *err)
{
    enum { EPOCHS = 25 };
    const struct demo *demo = work->demo;
    size_t             row = 0, column = 0;
    double             value = 0;
    char               verb[40];
    TRY(demo_find_nearest(demo, json_object_get(work->body, "space"), json_object_get(trial, "point"), &row, err));
    TRY(csv_table_column(&demo->table, "e1", &column, err));
    snprintf(verb, sizeof verb, "/trials/%d/report", (int)number_of(trial, "number"));
    for (int step = 1; step <= EPOCHS; step++) {
        json_auto_t *reply = NULL;
        TRY(csv_table_number(&demo->table, row, column + 2 * (size_t)step - 1, &value, err));
        TRY(call(work, verb, json_pack("{s:i, s:f}", "step", step, "value", value), &reply, err));
        const char *decision = json_string_value(json_object_get(reply, "decision"));
        if (decision != NULL && strcmp(decision, "stop") == 0) {
            json_object_clear(said); /* the service has what it needs */
            return STATUS_OK;
        }
    }
    codec_put(&said, "value", json_real(value));
    return STATUS_OK;
}

static enum status read_networks(struct work *work, struct error *err)
{
    json_object_set_new(work->body, "space", demo_json(demo_network_space));
    return demo_read_table(work->demo, "hpobench/mlp_2tasks.csv", "vehicle", err);
}

static enum status answer_network(struct work *work, const json_t *trial, json_t *said, struct error *err)
{
    const json_t *point = json_object_get(trial, "point");
    size_t        row = 0;
    TRY(demo_find_nearest(work->demo, json_object_get(work->body, "space"), point, &row, err));
    codec_put(&said, "values",
              json_pack("{s:f, s:f}", "accuracy", work->demo->values[row], "units",
                        number_of(point, "depth") * number_of(point, "width")));
    return STATUS_OK;
}

static enum status read_numbers(const struct work *work, const char *file, size_t skip, double *out, size_t len,
                                struct error *err)
{
    char   path[DEMO_PATH_BYTES], *text = NULL;
    size_t length = 0;
    snprintf(path, sizeof path, "%.900s/%s", work->demo->options->examples, file);
    TRY(file_read(path, 1 << 20, &text, &length, err));
    char *at = text;
    for (size_t i = 0; i < skip + len; i++) {
        double value = strtod(at, &at);
        at += strspn(at, ",\r\n");
        if (i >= skip)
            out[i - skip] = value;
    }
    free(text);
    return STATUS_OK;
}

static enum status read_field(struct work *work, struct error *err)
{
    const char *field = json_string_value(json_object_get(json_object_get(work->body, "labels"), "field"));
    size_t      skip = field != NULL ? (size_t)atoi(field) * FIELD_NUMBERS : 0;
    return read_numbers(work, "landmine/auc_41x41.csv", skip, work->field, FIELD_NUMBERS, err);
}

static enum status answer_field(struct work *work, const json_t *trial, json_t *said, struct error *err)
{
    (void)err;
    const json_t *point = json_object_get(trial, "point");
    size_t        c = (size_t)lround(number_of(point, "c") * (FIELD_SIDE - 1));
    size_t        g = (size_t)lround(number_of(point, "g") * (FIELD_SIDE - 1));
    codec_put(&said, "value", json_real(work->field[c * (FIELD_SIDE + 2) + 2 + g] / 1e4));
    return STATUS_OK;
}

/* The two fields before it. */
static enum status read_earlier(struct work *work, struct error *err)
{
    static const char *const earlier[] = {"demo: landmine field 10", "demo: landmine field 13"};
    json_t                  *ids = json_array();
    json_object_set_new(json_object_get(work->body, "algorithm"), "earlier_studies", ids);
    for (size_t i = 0; i < sizeof earlier / sizeof *earlier; i++) {
        char    id[DEMO_ID_BYTES];
        int64_t done = 0;
        TRY(demo_find(work->demo, "studies", earlier[i], id, &done, err));
        codec_append(&ids, json_string(id));
    }
    return read_field(work, err);
}

/* ---- formulae ---- */

static enum status answer_optimizer(struct work *work, const json_t *trial, json_t *said, struct error *err)
{
    (void)work, (void)err;
    const json_t *point = json_object_get(trial, "point");
    const char   *optimizer = json_string_value(json_object_get(point, "optimizer"));
    double        lr = log10(number_of(point, "lr")), batch = log2(number_of(point, "batch"));
    bool          is_sgd = optimizer != NULL && strcmp(optimizer, "sgd") == 0;
    double        momentum = is_sgd ? number_of(point, "momentum") : 0.9;
    if (is_sgd && lr > -1.3) {
        codec_put(&said, "state", json_string("failed"));
        codec_put(&said, "reason", json_string("the loss is not a number any more: learning rate too high"));
        return STATUS_OK;
    }
    double loss = 0.23 + 0.11 * pow(lr + (is_sgd ? 1.9 : 3.1), 2) + 0.013 * pow(batch - 6, 2) +
                  1.7 * pow(momentum - 0.92, 2) + (is_sgd ? 0 : 0.04);
    codec_put(&said, "value", json_real(loss));
    return STATUS_OK;
}

static enum status answer_walk(struct work *work, const json_t *trial, json_t *said, struct error *err)
{
    (void)work, (void)err;
    size_t  i;
    json_t *site, *values = json_array();
    json_array_foreach (json_object_get(trial, "sites"), i, site) {
        double x = (double)(json_integer_value(site) % 12), y = (double)(json_integer_value(site) / 12);
        codec_append(&values, json_real(17 + 2.1 * sin(0.55 * x) * cos(0.7 * y) + 0.13 * x));
    }
    codec_put(&said, "values", values);
    return STATUS_OK;
}

/* ---- images: what makes a classifier err ---- */

#define DIGITS "image_classifiers/digits8x8_mlp32_"
static enum status read_classifier(struct work *work, struct error *err)
{
    TRY(read_numbers(work, DIGITS "W1.csv", 0, work->w1, PIXELS * HIDDEN, err));
    TRY(read_numbers(work, DIGITS "b1.csv", 0, work->b1, HIDDEN, err));
    TRY(read_numbers(work, DIGITS "W2.csv", 0, work->w2, HIDDEN * CLASSES, err));
    TRY(read_numbers(work, DIGITS "b2.csv", 0, work->b2, CLASSES, err));
    return read_numbers(work, DIGITS "images50.csv", 0, work->image, PIXELS, err);
}

/* How much more the classifier believes in another digit than in the right one, which is 0: above 0 it errs. */
static enum status answer_image(struct work *work, const json_t *trial, json_t *said, struct error *err)
{
    (void)err;
    const json_t *change = json_object_get(trial, "point");
    double        score[CLASSES], most = -INFINITY;
    memcpy(score, work->b2, sizeof score);
    for (size_t h = 0; h < HIDDEN; h++) {
        double sum = work->b1[h];
        for (size_t i = 0; i < PIXELS; i++) {
            double pixel = work->image[i] / 16 + json_number_value(json_array_get(change, i));
            sum += fmin(1, fmax(0, pixel)) * work->w1[i * HIDDEN + h];
        }
        for (size_t k = 0; k < CLASSES && sum > 0; k++)
            score[k] += sum * work->w2[h * CLASSES + k];
    }
    for (size_t k = 1; k < CLASSES; k++)
        most = fmax(most, score[k]);
    codec_put(&said, "value", json_real(most - score[0]));
    return STATUS_OK;
}

/* ---- a game, round by round ---- */

static enum status read_game(struct work *work, struct error *err)
{
    char path[DEMO_PATH_BYTES];
    snprintf(path, sizeof path, "%.900s/games/game0_2x100x100.npy", work->demo->options->examples);
    return file_read(path, 1 << 20, &work->payoffs, &work->payoffs_bytes, err);
}

static double payoff(const struct work *work, size_t agent, size_t row, size_t column)
{
    size_t from_end = 2 * GAME_SIDE * GAME_SIDE - ((agent * GAME_SIDE + row) * GAME_SIDE + column);
    float  value = 0;
    if (from_end * sizeof value <= work->payoffs_bytes)
        memcpy(&value, work->payoffs + work->payoffs_bytes - from_end * sizeof value, sizeof value);
    return (double)value;
}

static enum status play(struct work *work, struct error *err)
{
    for (int round = 1; round <= work->kind->total && !process_is_stopped(); round++) {
        json_auto_t *row = NULL, *column = NULL;
        TRY(call(work, "/agents/row/suggest", json_object(), &row, err));
        TRY(call(work, "/agents/column/suggest", json_object(), &column, err));
        int    i = (int)number_of(row, "action"), j = (int)number_of(column, "action");
        size_t a = (size_t)i * GAME_STEP, b = (size_t)j * GAME_STEP;
        TRY(call(work, "/observe",
                 json_pack("{s:i, s:{s:i, s:i}, s:{s:f, s:f}}", "round", round, "actions", "row", i, "column", j,
                           "payoffs", "row", payoff(work, 0, a, b), "column", payoff(work, 1, a, b)),
                 NULL, err));
    }
    return STATUS_OK;
}

/* ---- a federation: its agents are processes of their own, each with a field of its own ---- */

static enum status start_agent(struct work *work, int seat, struct process *process, struct error *err)
{
    const struct demo_options *options = work->demo->options;
    char token[DEMO_PATH_BYTES], journal[DEMO_PATH_BYTES], said[DEMO_PATH_BYTES], measure[2 * DEMO_PATH_BYTES],
        seed[16];
    json_auto_t *reply = NULL;
    snprintf(token, sizeof token, "%.900s/demo/%.40s-%d.token", options->data, work->id, seat);
    snprintf(journal, sizeof journal, "%.900s/demo/%.40s-%d.journal", options->data, work->id, seat);
    snprintf(said, sizeof said, "%.900s/demo/%.40s-%d.log", options->data, work->id, seat);
    snprintf(seed, sizeof seed, "%d", 70 + seat);
    TRY(call(work, "/agents", json_pack("{s:o}", "name", json_sprintf("field %d", seat)), &reply, err));
    const char *secret = json_string_value(json_object_get(reply, "token"));
    TRY(secret == NULL ? client_bad_reply(err) : file_write(token, 0600, secret, strlen(secret), err));
    snprintf(measure, sizeof measure,
             "awk -F, -v field=%d '"
             "function at(name) { match(point, \"\\\"\" name \"\\\":[^,}]*\");"
             " return int(substr(point, RSTART + 4, RLENGTH - 4) * 40 + 0.5) } "
             "BEGIN { getline point < \"/dev/stdin\" } "
             "$1 == field && $2 == at(\"c\") { printf \"%%.4f\\n\", $(at(\"g\") + 3) / 1e4 }' "
             "'%.900s/landmine/auc_41x41.csv'",
             seat, options->examples);
    const char *arguments[] = {"gnomon", "agent",        "--server",  options->server, "--federation",
                               work->id, "--token-file", token,       "--journal",     journal,
                               "--seed", seed,           "--measure", measure,         NULL};
    return process_start(
        &(struct process_options){.arguments = arguments, .is_own = true, .error_file = said, .output_file = said},
        process, err);
}

static enum status federate(struct work *work, struct error *err)
{
    struct process agents[AGENTS];
    int            started = 0, code = 0;
    enum status    status = STATUS_OK;
    for (; started < AGENTS && status == STATUS_OK; started++)
        status = start_agent(work, started + 1, &agents[started], err);
    for (int i = 0; i < started - (status != STATUS_OK); i++) {
        while (!process_has_ended(&agents[i])) {
            if (status != STATUS_OK || process_is_stopped())
                kill(agents[i].pid, SIGTERM);
            process_sleep_ms(50);
        }
        code |= process_wait(&agents[i]);
    }
    TRY(status);
    TRY(process_check_stopped(err));
    return code == 0 ? STATUS_OK : error_set(err, STATUS_INTERNAL, "demo", "", "an agent ended with code %d", code);
}

/* ---- the table ---- */

#define MAXIMIZE(name) "'metrics': [{'name': '" name "', 'goal': 'maximize'}]"
#define SQUARE                                                                        \
    "'space': {'type': 'parameters', 'parameters': [{'name': 'c', 'type': 'double', " \
    "'min': 0, 'max': 1}, {'name': 'g', 'type': 'double', 'min': 0, 'max': 1}]}"
#define TEN "[[0],[0.1],[0.2],[0.3],[0.4],[0.5],[0.6],[0.7],[0.8],[0.9]]"

static const struct kind kinds[] = {
    {.name = "demo: learning curves",
     .collection = "studies",
     .total = 24,
     .prepare = read_curves,
     .answer = answer_curve,
     .body = "{" MAXIMIZE(
         "accuracy") ", 'space': {'type': 'parameters', 'parameters': ["
                     "{'name': 'batch_size', 'type': 'int', 'min': 20, 'max': 500},"
                     "{'name': 'C', 'type': 'double', 'min': 1e-6, 'max': 1},"
                     "{'name': 'lr', 'type': 'double', 'min': 0.001, 'max': 0.1}]},"
                     "'stopping': {'rule': 'median', 'epochs': 25, 'warm_up': 4}, 'seed': 71, 'budget': {'trials': 24},"
                     "'labels': {'demo': 'curves'}, 'notes': 'Softmax regression on MNIST; a step is two epochs.'}"},
    {.name = "demo: accuracy against size",
     .collection = "studies",
     .total = 40,
     .prepare = read_networks,
     .answer = answer_network,
     .body = "{'metrics': [{'name': 'accuracy', 'goal': 'maximize'}, {'name': 'units', 'goal': 'minimize'}],"
             "'seed': 17, 'budget': {'trials': 40}, 'labels': {'demo': 'objectives'}}"},
    {.name = "demo: conditional parameters",
     .collection = "studies",
     .total = 26,
     .open = 2,
     .answer = answer_optimizer,
     .body = "{'metrics': [{'name': 'loss', 'goal': 'minimize'}], 'space': {'type': 'parameters', 'parameters': ["
             "{'name': 'optimizer', 'type': 'categorical', 'values': ['adam', 'sgd']},"
             "{'name': 'momentum', 'type': 'double', 'min': 0.5, 'max': 0.999, 'scale': 'reverse_log',"
             " 'when': {'optimizer': ['sgd']}},"
             "{'name': 'lr', 'type': 'double', 'min': 1e-5, 'max': 0.1, 'scale': 'log'},"
             "{'name': 'batch', 'type': 'discrete', 'values': [16, 32, 64, 128, 512], 'scale': 'log'}]},"
             "'seed': 11, 'budget': {'trials': 40}, 'labels': {'demo': 'conditional'},"
             "'notes': 'A formula in the place of a training.'}"},
    {.name = "demo: landmine field 10",
     .collection = "studies",
     .total = 20,
     .prepare = read_field,
     .answer = answer_field,
     .body = "{" MAXIMIZE("auc") ", " SQUARE ", 'seed': 4, 'budget': {'trials': 20},"
                                 "'labels': {'demo': 'earlier', 'field': '10'}}"},
    {.name = "demo: landmine field 13",
     .collection = "studies",
     .total = 20,
     .prepare = read_field,
     .answer = answer_field,
     .body = "{" MAXIMIZE("auc") ", " SQUARE ", 'seed': 12, 'budget': {'trials': 20},"
                                 "'labels': {'demo': 'earlier', 'field': '13'}}"},
    {.name = "demo: landmine field 9, after others",
     .collection = "studies",
     .total = 14,
     .prepare = read_earlier,
     .answer = answer_field,
     .body = "{" MAXIMIZE("auc") ", " SQUARE ", 'algorithm': {'name': 'rgpe'}, 'seed': 7, 'budget': {'trials': 14},"
                                 "'labels': {'demo': 'transfer', 'field': '9'}}"},
    {.name = "demo: a walk",
     .collection = "studies",
     .total = 10,
     .answer = answer_walk,
     .body = "{" MAXIMIZE("temperature") ", 'space': {'type': 'graph', 'grid': {'width': 12, 'height': 7,"
                                         "'moves': 'four'}, 'macro_action_length': 3, 'start': 0, 'observations': "
                                         "[{'site': 0, 'value': 17}]},"
                                         "'algorithm': {'name': 'macro-bo', 'horizon': 1, 'samples': 4, "
                                         "'length_scale': 2, 'signal_variance': 1,"
                                         "'noise_variance': 0.05, 'mean': 17}, 'seed': 3, 'budget': {'trials': 10}, "
                                         "'labels': {'demo': 'walk'},"
                                         "'notes': 'A formula in the place of a thermometer.'}"},
    {.name = "demo: an image that misleads",
     .collection = "studies",
     .total = 30,
     .prepare = read_classifier,
     .answer = answer_image,
     .body =
         "{" MAXIMIZE("margin") ", 'space': {'type': 'image', 'height': 8, 'width': 8, 'bound': 0.3,"
                                "'latent_sizes': [2, 4, 8]}, 'algorithm': {'name': 'bos2', 'initial': 4}, 'seed': 23,"
                                "'budget': {'trials': 30}, 'labels': {'demo': 'image'}, 'notes': 'A digit of eight by "
                                "eight pixels and a"
                                " small network that reads it: above 0 it reads another.'}"},
    {.name = "demo: a game of two",
     .collection = "games",
     .total = 40,
     .prepare = read_game,
     .run = play,
     .body =
         "{'agents': [{'name': 'row', 'level': 1, 'actions': {'type': 'candidates', 'rows': " TEN "}},"
         "{'name': 'column', 'actions': {'type': 'candidates', 'rows': " TEN "}}], 'seed': 42,"
         "'model': {'length_scale': 0.1, 'mean': 0.5, 'variance': 0.04, 'noise': 0.0001}, 'budget': {'rounds': 40}}"},
    {.name = "demo: landmine fields together",
     .collection = "federations",
     .total = 6,
     .run = federate,
     .body = "{" MAXIMIZE(
         "auc") ", " SQUARE ", 'seats': 4, 'minimum_agents': 2, 'rounds': 6, 'round_seconds': 20,"
                "'algorithm': {'name': 'dp-fts-de', 'features': 40, 'features_seed': 2385, 'length_scale': 0.2,"
                "'noise': 0.0001, 'centre': 0.6, 'spread': 0.2, 'initial': 3, 'regions': 4},"
                "'weights': {'a': 4, 'b': 1, 'hold': 2, 'decay': 3},"
                "'privacy': {'epsilon': 20, 'delta': 0.02, 'sampling_rate': 0.5, 'clip': 8, 'noise_multiplier': 1}}"},
};

static enum status ask_and_answer(struct work *work, struct error *err)
{
    char worker[16];
    for (int i = 1; i <= work->kind->total && !process_is_stopped(); i++) {
        json_auto_t *reply = NULL, *said = json_object();
        snprintf(worker, sizeof worker, "gpu-%d", i % 3);
        TRY(call(work, "/suggest", json_pack("{s:s}", "worker", worker), &reply, err));
        const json_t *trial = json_array_get(json_object_get(reply, "trials"), 0);
        if (trial == NULL)
            return client_bad_reply(err);
        if (i > work->kind->total - work->kind->open)
            continue;
        json_object_set(said, "trial", json_object_get(trial, "number"));
        TRY(work->kind->answer(work, trial, said, err));
        if (json_object_size(said) > 0)
            TRY(call(work, "/observe", json_incref(said), NULL, err));
    }
    return STATUS_OK;
}

static enum status make(struct work *work, struct error *err)
{
    const struct kind *kind = work->kind;
    json_object_set_new(work->body, "name", json_string(kind->name));
    if (kind->prepare != NULL)
        TRY(kind->prepare(work, err));
    TRY(demo_create(work->demo, kind->collection, json_incref(work->body), work->id, err));
    TRY(kind->run != NULL ? kind->run(work, err) : ask_and_answer(work, err));
    printf("%s: %d %s, %s\n", kind->name, kind->total, kind->run != NULL ? "rounds" : "trials", work->id);
    fflush(stdout);
    return process_check_stopped(err);
}

enum status demo_kinds(struct demo *demo, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && status == STATUS_OK; i++) {
        struct work work = {.demo = demo, .kind = &kinds[i]};
        int64_t     done = 0;
        TRY(demo_find(demo, kinds[i].collection, kinds[i].name, work.id, &done, err));
        if (done >= kinds[i].total) {
            printf("%s: there already, %s\n", kinds[i].name, work.id);
            continue;
        }
        work.body = demo_json(kinds[i].body);
        status = work.body == NULL ? error_no_memory(err) : make(&work, err);
        json_decref(work.body);
        free(work.payoffs);
    }
    return status;
}
