/* gnomon study: studies from the command line: tables for people, the service's own replies for scripts. */
#include "service/client/client.h"
#include "service/cli/command.h"

#include "service/base/random.h"
#include "service/member/codec.h"
#include "service/client/named.h"
#include "service/client/plain.h"
#include "service/client/run_text.h"
#include "service/cli/sweep.h"
#include "service/cli/table.h"

#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 2 * NAMED_ESCAPED_BYTES + 256 };

struct study_options {
    struct command_server at;
    const char           *sort, *state, *owner, *worker, *failed, *infeasible;
    int64_t               limit, count;
    bool                  json, yes;
};

#define OPTION(name, what, member) .flag = name, .value = what, .offset = offsetof(struct study_options, member)
static const struct options_row options_table[] = {
    {OPTION("json", NULL, json), .kind = OPTIONS_SWITCH, .help = "the service's reply as it is, for scripts"},
    {OPTION("sort", "BY", sort), .fallback = "number",
     .choices = "number|-number|value|-value|finished|-finished|updated|-updated",
     .help = "trials: in which order; a - before it, the last one first"},
    {OPTION("limit", "N", limit), .kind = OPTIONS_INT, .fallback = "100", .min = 1, .max = 1000,
     .help = "list, trials: how many at most"},
    {OPTION("state", "STATE", state), .help = "list, trials: only those in this state"},
    {OPTION("owner", "NAME", owner), .help = "list: only those that a token of this name made"},
    {OPTION("worker", "NAME", worker), .help = "ask: who asks; a worker that asks again gets its running trials again"},
    {OPTION("count", "N", count), .kind = OPTIONS_INT, .fallback = "1", .min = 1, .max = 1000,
     .help = "ask: how many trials"},
    {OPTION("failed", "REASON", failed), .help = "tell, without a value: the run failed"},
    {OPTION("infeasible", "REASON", infeasible), .help = "tell, without a value: the point cannot be measured"},
    {OPTION("yes", NULL, yes), .kind = OPTIONS_SWITCH, .help = "delete: without it nothing is deleted"},
    COMMAND_SERVER_ROWS(struct study_options),
    {.flag = NULL},
};

/* ---- a request, and what is made of its reply ---- */

struct ask_inputs {
    const struct study_options *options;
    struct client              *client;
    const char                 *verb;
    const char *const          *operands; /* those behind the verb */
    json_t                     *study, *reply;
    long                        http_status;
};

/* With --json the reply is printed as it is, and a->reply is NULL.  body is taken. */
static enum status ask(struct ask_inputs *a, const char *method, const char *path, json_t *body, struct error *err)
{
    char                key[33];
    struct client_reply answer = {.bytes = NULL};
    char               *text = codec_dump(body, JSON_COMPACT | JSON_REAL_PRECISION(17));
    bool                has_failed = body != NULL && text == NULL;
    json_decref(body);
    if (has_failed)
        return error_no_memory(err);
    enum status status = random_hex(key, sizeof key - 1, err);
    if (status == STATUS_OK)
        status = client_send(a->client,
                             &(struct client_request){.method = method,
                                                      .path = path,
                                                      .key = strcmp(method, "POST") == 0 ? key : NULL,
                                                      .body = text,
                                                      .body_bytes = text != NULL ? strlen(text) : 0,
                                                      .content_type = text != NULL ? "application/json" : NULL},
                             &answer, err);
    free(text);
    TRY(status);
    a->http_status = answer.http_status;
    json_decref(a->reply);
    a->reply = NULL;
    if (a->options->json && answer.length > 0) {
        plain_print_lines(stdout, answer.bytes);
        fputs(answer.bytes[answer.length - 1] == '\n' ? "" : "\n", stdout);
    } else if (answer.length > 0) {
        a->reply = json_loadb(answer.bytes, answer.length, 0, NULL);
        status = a->reply != NULL ? STATUS_OK : client_bad_reply(err);
    }
    free(answer.bytes);
    return status;
}

static enum status ask_study(struct ask_inputs *a, const char *method, const char *rest, json_t *body,
                             struct error *err)
{
    char path[NAMED_PATH_BYTES];
    named_path(a->study, rest, path);
    return ask(a, method, path, body, err);
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

static void print_text(const json_t *object, const char *name)
{
    plain_print(stdout, text_of(object, name));
}

/* "lr  0.0031", one below the other. */
static enum status print_point(const json_t *point, struct error *err)
{
    struct table *table;
    const char   *name;
    json_t       *value;
    TRY(table_new(2, &table, err));
    json_object_foreach ((json_t *)(uintptr_t)point, name, value) {
        table_add(table, name);
        table_add_value(table, value);
    }
    enum status status = table_print(table, stdout, err);
    table_free(table);
    return status;
}

/* The value of a metric in a trial: of the first it may stand alone. */
static const json_t *value_of(const json_t *trial, const json_t *metrics, size_t i)
{
    const char   *name = text_of(json_array_get(metrics, i), "name");
    const json_t *value = json_object_get(json_object_get(trial, "values"), name);
    return value != NULL || i > 0 ? value : json_object_get(trial, "value");
}

/* ---- verbs ---- */

static enum status list(struct ask_inputs *a, struct error *err)
{
    char          path[PATH_BYTES], state[NAMED_ESCAPED_BYTES] = "", owner[NAMED_ESCAPED_BYTES] = "", done[48];
    struct table *table;
    size_t        i;
    const json_t *study;
    if (a->options->state != NULL)
        TRY(named_escape(a->options->state, state, err));
    if (a->options->owner != NULL)
        TRY(named_escape(a->options->owner, owner, err));
    snprintf(path, sizeof path, "/v1/studies?view=basic&limit=%lld%s%s%s%s", (long long)a->options->limit,
             state[0] != '\0' ? "&state=" : "", state, owner[0] != '\0' ? "&owner=" : "", owner);
    TRY(ask(a, "GET", path, NULL, err));
    if (a->reply == NULL)
        return STATUS_OK;
    TRY(table_new(6, &table, err));
    for (i = 0; i < 6; i++)
        table_add(table, (const char *const[]){"name", "id", "state", "trials", "best", "owner"}[i]);
    json_array_foreach (json_object_get(a->reply, "studies"), i, study) {
        const json_t *budget = json_object_get(json_object_get(study, "budget"), "trials");
        long long     trials =
            (long long)json_integer_value(json_object_get(json_object_get(study, "trials"), "completed"));
        snprintf(done, sizeof done, json_is_integer(budget) ? "%lld of %lld" : "%lld", trials,
                 (long long)json_integer_value(budget));
        table_add(table, text_of(study, "name"));
        table_add(table, text_of(study, "id"));
        table_add(table, text_of(study, "state"));
        table_add(table, done);
        table_add_value(table, json_object_get(json_object_get(study, "best"), "value"));
        table_add(table, text_of(study, "owner"));
    }
    enum status status = table_print(table, stdout, err);
    table_free(table);
    if (json_is_string(json_object_get(a->reply, "next_cursor")))
        fputs("there are more: --limit\n", stderr);
    return status;
}

/* Gets or creates the study, so that the same file may be used on every machine. */
static enum status create(struct ask_inputs *a, struct error *err)
{
    char    path[PATH_BYTES], name[NAMED_ESCAPED_BYTES];
    json_t *sweep = NULL;
    TRY(sweep_read(a->operands[0], &sweep, err));
    enum status status = named_escape(text_of(sweep, "name"), name, err);
    snprintf(path, sizeof path, "/v1/studies/by-name/%s", name);
    if (status == STATUS_OK)
        status = ask(a, "PUT", path, json_incref(sweep), err);
    json_decref(sweep);
    if (status != STATUS_OK || a->reply == NULL)
        return status;
    const json_t *parameters = json_object_get(json_object_get(a->reply, "space"), "parameters");
    printf(a->http_status == 201 ? "created " : "there already: ");
    print_text(a->reply, "name");
    printf(" (%s), ", text_of(a->reply, "id"));
    if (parameters != NULL)
        printf("%zu parameter%s, ", json_array_size(parameters), json_array_size(parameters) == 1 ? "" : "s");
    printf("state %s\n", text_of(a->reply, "state"));
    if (parameters != NULL)
        printf("next: gnomon work --study %s -- python3 train.py\n", text_of(a->reply, "id"));
    return STATUS_OK;
}

static enum status example(struct ask_inputs *a, struct error *err)
{
    (void)a;
    (void)err;
    puts("{\n  \"name\": \"sweep\",\n"
         "  \"metrics\": [{\"name\": \"accuracy\", \"goal\": \"maximize\"}],\n"
         "  \"space\": {\"type\": \"parameters\", \"parameters\": [\n"
         "    {\"name\": \"lr\", \"type\": \"double\", \"min\": 1e-5, \"max\": 0.1, \"scale\": \"log\"},\n"
         "    {\"name\": \"layers\", \"type\": \"int\", \"min\": 1, \"max\": 6},\n"
         "    {\"name\": \"optimizer\", \"type\": \"categorical\", \"values\": [\"adam\", \"sgd\"]},\n"
         "    {\"name\": \"momentum\", \"type\": \"double\", \"min\": 0.5, \"max\": 0.99, \"when\": {\"optimizer\": "
         "[\"sgd\"]}}\n"
         "  ]},\n  \"budget\": {\"trials\": 100}\n}");
    return STATUS_OK;
}

static enum status show(struct ask_inputs *a, struct error *err)
{
    static const char *const members[] = {"name", "id", "state", "reason", "seed", "notes", "created_at", "updated_at"};
    struct table            *table;
    const char              *state;
    json_t                  *value;
    TRY(ask_study(a, "GET", "", NULL, err));
    if (a->reply == NULL)
        return STATUS_OK;
    TRY(table_new(2, &table, err));
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        value = json_object_get(a->reply, members[i]);
        if (json_is_null(value) || (json_is_string(value) && json_string_value(value)[0] == '\0'))
            continue;
        table_add(table, members[i]);
        table_add_value(table, value);
    }
    table_add(table, "algorithm");
    table_add(table, text_of(json_object_get(a->reply, "algorithm"), "name"));
    json_object_foreach (json_object_get(a->reply, "trials"), state, value) {
        char text[64];
        snprintf(text, sizeof text, "trials %.40s", state);
        if (json_integer_value(value) == 0)
            continue;
        table_add(table, text);
        table_add_value(table, value);
    }
    enum status status = table_print(table, stdout, err);
    table_free(table);
    return status;
}

static enum status suggest(struct ask_inputs *a, struct error *err)
{
    json_t *body = json_pack("{s:I}", "count", (json_int_t)a->options->count);
    size_t  i;
    json_t *trial;
    if (a->options->worker != NULL)
        codec_put(&body, "worker", json_string(a->options->worker));
    TRY(ask_study(a, "POST", "/suggest", body, err));
    json_array_foreach (json_object_get(a->reply, "trials"), i, trial) {
        printf("trial %lld\n", (long long)json_integer_value(json_object_get(trial, "number")));
        TRY(print_point(json_object_get(trial, "point"), err));
    }
    return STATUS_OK;
}

/* "accuracy=0.9" "cost=3" is one text. */
static json_t *told_values(const struct ask_inputs *a)
{
    char    text[1024] = "";
    json_t *values = NULL;
    bool    is_finite = false;
    size_t  length = 0;
    for (size_t i = 2; a->operands[i] != NULL && length < sizeof text; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s ", a->operands[i]);
    if (length < sizeof text && run_text_result(text, json_object_get(a->study, "metrics"), &values, &is_finite) &&
        is_finite)
        return values;
    json_decref(values);
    return NULL;
}

static enum status tell(struct ask_inputs *a, struct error *err)
{
    const struct study_options *options = a->options;
    const char                 *reason = options->failed != NULL ? options->failed : options->infeasible;
    char                       *end = NULL;
    json_int_t                  trial = strtoll(a->operands[1], &end, 10);
    if (*end != '\0' || trial < 1)
        return error_set(err, STATUS_INVALID, "usage", "", "a trial is a number, not %.40s", a->operands[1]);
    json_t *values = reason == NULL ? told_values(a) : NULL;
    if (reason == NULL && values == NULL)
        return error_set(err, STATUS_INVALID, "usage", "",
                         "tell wants a number, or accuracy=0.9 for each metric, or --failed REASON");
    json_t *body = values != NULL ? json_pack("{s:I, s:o}", "trial", trial, "values", values)
                                  : json_pack("{s:I, s:s, s:s}", "trial", trial, "state",
                                              options->failed != NULL ? "failed" : "infeasible", "reason", reason);
    TRY(ask_study(a, "POST", "/observe", body, err));
    const json_t *best = json_object_get(a->reply, "best");
    if (a->reply != NULL)
        fputs(json_integer_value(json_object_get(a->reply, "accepted")) > 0 ? "accepted" : "known already", stdout);
    if (json_is_object(best))
        printf("; the best is %.6g (trial %lld)", json_number_value(json_object_get(best, "value")),
               (long long)json_integer_value(json_object_get(best, "trial")));
    fputs(a->reply != NULL ? "\n" : "", stdout);
    return STATUS_OK;
}

static bool has_reasons(const json_t *trials)
{
    size_t        i;
    const json_t *trial;
    json_array_foreach (trials, i, trial) {
        if (text_of(trial, "reason")[0] != '\0')
            return true;
    }
    return false;
}

static enum status print_trials(struct ask_inputs *a, const json_t *trials, struct error *err)
{
    const json_t *metrics = json_object_get(a->study, "metrics"), *trial;
    const json_t *parameters = json_object_get(json_object_get(a->study, "space"), "parameters");
    size_t        values = json_array_size(metrics), points = json_array_size(parameters), i;
    bool          with_reasons = has_reasons(trials);
    struct table *table;
    TRY(table_new(4 + values + points + with_reasons, &table, err));
    table_add(table, "trial");
    table_add(table, "state");
    for (i = 0; i < values; i++)
        table_add(table, text_of(json_array_get(metrics, i), "name"));
    for (i = 0; i < points; i++)
        table_add(table, text_of(json_array_get(parameters, i), "name"));
    table_add(table, "took");
    table_add(table, "worker");
    if (with_reasons)
        table_add(table, "reason");
    json_array_foreach (trials, i, trial) {
        table_add_value(table, json_object_get(trial, "number"));
        table_add(table, text_of(trial, "state"));
        for (size_t j = 0; j < values; j++)
            table_add_value(table, value_of(trial, metrics, j));
        for (size_t j = 0; j < points; j++)
            table_add_value(table, json_object_get(json_object_get(trial, "point"),
                                                   text_of(json_array_get(parameters, j), "name")));
        table_add_seconds(table, json_object_get(trial, "duration_seconds"));
        table_add(table, text_of(trial, "worker"));
        if (with_reasons)
            table_add(table, text_of(trial, "reason"));
    }
    enum status status = table_print(table, stdout, err);
    table_free(table);
    return status;
}

static enum status trials(struct ask_inputs *a, struct error *err)
{
    char rest[PATH_BYTES], state[NAMED_ESCAPED_BYTES] = "", path[PATH_BYTES + 128];
    if (a->options->state != NULL)
        TRY(named_escape(a->options->state, state, err));
    snprintf(rest, sizeof rest, "/trials?view=basic&limit=%lld&order=%s%s%s", (long long)a->options->limit,
             a->options->sort, state[0] != '\0' ? "&state=" : "", state);
    snprintf(path, sizeof path, "/v1/studies/%.60s%s", text_of(a->study, "id"), rest);
    TRY(ask(a, "GET", path, NULL, err));
    if (a->reply == NULL)
        return STATUS_OK;
    if (json_is_string(json_object_get(a->reply, "next_cursor")))
        fputs("there are more: --limit\n", stderr);
    return print_trials(a, json_object_get(a->reply, "trials"), err);
}

/* The best trial; of several objectives the front. */
static enum status best(struct ask_inputs *a, struct error *err)
{
    const json_t *metrics = json_object_get(a->study, "metrics");
    size_t        objectives = 0, i;
    const json_t *metric;
    json_array_foreach (metrics, i, metric) {
        objectives +=
            strcmp(text_of(metric, "goal"), "constrain") != 0 && strcmp(text_of(metric, "goal"), "track") != 0;
    }
    TRY(ask_study(a, "GET", objectives > 1 ? "/pareto" : "/best", NULL, err));
    if (a->reply == NULL)
        return STATUS_OK;
    if (objectives > 1)
        return print_trials(a, json_object_get(a->reply, "trials"), err);
    const json_t *trial = json_object_get(a->reply, "trial"), *model = json_object_get(a->reply, "model");
    if (!json_is_object(trial)) {
        puts("no trial has a value yet");
        return STATUS_OK;
    }
    printf("trial %lld", (long long)json_integer_value(json_object_get(trial, "number")));
    json_array_foreach (metrics, i, metric) {
        const json_t *value = value_of(trial, metrics, i);
        fputs("  ", stdout);
        print_text(metric, "name");
        if (json_is_number(value))
            printf(" %.6g", json_number_value(value));
    }
    if (json_is_object(model))
        printf("  (model: %.6g, standard deviation %.2g)", json_number_value(json_object_get(model, "mean")),
               json_number_value(json_object_get(model, "stddev")));
    fputc('\n', stdout);
    return print_point(json_object_get(trial, "point"), err);
}

/* pause, resume, complete and reopen are called as their routes are. */
static enum status change(struct ask_inputs *a, struct error *err)
{
    char rest[16];
    snprintf(rest, sizeof rest, "/%s", a->verb);
    TRY(ask_study(a, "POST", rest, NULL, err));
    if (a->reply != NULL) {
        print_text(a->reply, "name");
        printf(" is %s\n", text_of(a->reply, "state"));
    }
    return STATUS_OK;
}

static enum status delete_study(struct ask_inputs *a, struct error *err)
{
    if (!a->options->yes)
        return error_set(err, STATUS_INVALID, "usage", "", "this deletes the study and all its trials: --yes");
    TRY(ask_study(a, "DELETE", "", NULL, err));
    if (!a->options->json) {
        print_text(a->study, "name");
        puts(" is deleted");
    }
    return STATUS_OK;
}

static const struct verb {
    const char *name, *operands;
    size_t      min, max;
    bool        of_study; /* the first operand is one */
    enum status (*run)(struct ask_inputs *a, struct error *err);
} verbs[] = {
    {.name = "list", .operands = "", .run = list},
    {.name = "example", .operands = "", .run = example},
    {.name = "create", .operands = "FILE", .min = 1, .max = 1, .run = create},
    {.name = "show", .operands = "STUDY", .min = 1, .max = 1, .of_study = true, .run = show},
    {.name = "ask", .operands = "STUDY", .min = 1, .max = 1, .of_study = true, .run = suggest},
    {.name = "tell",
     .operands = "STUDY TRIAL VALUE",
     .min = 2,
     .max = COMMAND_OPERANDS_MAX - 2,
     .of_study = true,
     .run = tell},
    {.name = "best", .operands = "STUDY", .min = 1, .max = 1, .of_study = true, .run = best},
    {.name = "trials", .operands = "STUDY", .min = 1, .max = 1, .of_study = true, .run = trials},
    {.name = "pause", .operands = "STUDY", .min = 1, .max = 1, .of_study = true, .run = change},
    {.name = "resume", .operands = "STUDY", .min = 1, .max = 1, .of_study = true, .run = change},
    {.name = "complete", .operands = "STUDY", .min = 1, .max = 1, .of_study = true, .run = change},
    {.name = "reopen", .operands = "STUDY", .min = 1, .max = 1, .of_study = true, .run = change},
    {.name = "delete", .operands = "STUDY", .min = 1, .max = 1, .of_study = true, .run = delete_study},
};

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof verbs / sizeof verbs[0]; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

static enum status run(struct command_call *call, struct error *err)
{
    struct ask_inputs  a = {.options = call->options, .verb = call->operands[0], .operands = call->operands + 1};
    const struct verb *verb = find_verb(call->operands[0]);
    size_t             count = 0;
    if (verb == NULL)
        return error_set(err, STATUS_INVALID, "usage", "",
                         "gnomon study takes one of list, example, create, show, ask, tell, "
                         "best, trials, pause, resume, complete, reopen, delete");
    while (count < COMMAND_OPERANDS_MAX - 1 && a.operands[count] != NULL)
        count++;
    if (count < verb->min || count > verb->max)
        return error_set(err, STATUS_INVALID, "usage", "", "it is: gnomon study %s %s", verb->name, verb->operands);
    for (size_t i = 0; verb->of_study && i < count; i++)
        if (!codec_is_utf8(a.operands[i], strlen(a.operands[i])))
            return error_set(err, STATUS_INVALID, "usage", "", "not in UTF-8: %.100s", a.operands[i]);
    if (verb->run != example)
        TRY(command_connect(&a.options->at, &call->client, err));
    a.client = call->client;
    enum status status = verb->of_study ? named_study(a.client, a.operands[0], &a.study, err) : STATUS_OK;
    if (status == STATUS_OK)
        status = verb->run(&a, err);
    json_decref(a.study);
    json_decref(a.reply);
    return status;
}

const struct command command_study = {
    .name = "study",
    .operands = "list|example|create|show|ask|tell|best|trials|pause|resume|complete|reopen|delete [STUDY]",
    .operands_max = COMMAND_OPERANDS_MAX - 1,
    .summary = "studies and their trials, as tables or with --json",
    .options = options_table,
    .options_bytes = sizeof(struct study_options),
    .run = run,
};
