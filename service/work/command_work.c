/* gnomon work: a program of the user's, run for one trial after the other, on as many machines as there are.
 * The slots do the work (work.h); here is how it begins, goes round, and ends. */
#include "service/work/work.h"

#include "service/base/random.h"
#include "service/client/named.h"
#include "service/client/plain.h"
#include "service/client/run_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS_MAX = 1024, TICK_MIN_MS = 2, TICK_MAX_MS = 100 };
enum { LEAVE_MS = 10000 }; /* for giving back, when the server is away */

#define OPTION(name, what, member)     .flag = name, .value = what, .offset = offsetof(struct work_options, member)
#define OPTION_INT(name, what, member) OPTION(name, what, member), .kind = OPTIONS_INT
static const struct options_row options_table[] = {
    COMMAND_SERVER_ROWS(struct work_options),
    {OPTION("study", "STUDY", study), .is_required = true, .help = "the name or the id of the study"},
    {OPTION_INT("parallel", "N", parallel), .fallback = "1", .min = 1, .max = SLOTS_MAX,
     .help = "how many runs at a time"},
    {OPTION("as", "FORM", as), .fallback = "flags", .choices = "flags|env|json",
     .help =
         "how the program gets its parameters: as --lr=0.01; as PARAM_lr in its environment; as a JSON object on its "
         "standard input.  Where the program has {lr}, the value stands there, and no flags are added; such values are "
         "plain: A-Z a-z 0-9 . _ + / -"},
    {OPTION("value", "WHERE", value), .fallback = "last-line",
     .help =
         "last-line, or a file that the program writes into the folder $GNOMON_RUN: a number, accuracy=0.9, or JSON"},
    {OPTION("steps", "PATTERN", steps),
     .help =
         "lines of the program that are values after an epoch, such as \"epoch {step}: accuracy {value}\"; by default "
         "\"{step} {value}\" if the study stops runs early"},
    {OPTION_INT("trials", "N", trials), .fallback = "0", .min = 0, .max = 1000000,
     .help = "how many to run before this ends; 0: until the study ends"},
    {OPTION_INT("timeout", "SECONDS", timeout_seconds), .fallback = "0", .min = 0, .max = 31536000,
     .help = "a run that takes longer is ended, and failed; 0: none is"},
    {OPTION_INT("grace", "SECONDS", grace_seconds), .fallback = "10", .min = 0, .max = 3600,
     .help = "between SIGTERM and SIGKILL, when a run is ended"},
    {OPTION("worker", "NAME", worker),
     .help =
         "a name that is this worker's alone, under which it gets its unfinished trials again; by default that of the "
         "task in Slurm, or of host and process"},
    {OPTION("runs", "DIR", runs), .fallback = "gnomon-runs",
     .help = "where each run has a folder for what it prints: DIR/STUDY/TRIAL"},
    {.flag = "patience",
     .environment = "GNOMON_PATIENCE",
     .value = "SECONDS",
     .kind = OPTIONS_INT,
     .min = 0,
     .max = 604800,
     .fallback = "3600",
     .offset = offsetof(struct work_options, patience_seconds),
     .help = "how long the server may be away, while runs go on, before this gives up"},
    {.flag = NULL},
};

/* ---- what people see ---- */

static void say_study(const json_t *study)
{
    static const char *const others[] = {"stopped", "failed", "infeasible"};
    const json_t            *metric = json_array_get(json_object_get(study, "metrics"), 0);
    const json_t            *trials = json_object_get(study, "trials"), *best = json_object_get(study, "best");
    const json_t            *budget = json_object_get(json_object_get(study, "budget"), "trials");
    plain_print(stdout, json_string_value(json_object_get(study, "name")));
    printf(" (%s)  %s ", json_string_value(json_object_get(study, "id")),
           json_string_value(json_object_get(metric, "goal")));
    plain_print(stdout, json_string_value(json_object_get(metric, "name")));
    printf("  %lld", (long long)json_integer_value(json_object_get(trials, "completed")));
    if (budget != NULL && json_is_integer(budget))
        printf(" of %lld", (long long)json_integer_value(budget));
    printf(" trials done");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (json_integer_value(json_object_get(trials, others[i])) > 0)
            printf(", %lld %s", (long long)json_integer_value(json_object_get(trials, others[i])), others[i]);
    if (json_is_object(best))
        printf("  best %.6g (trial %lld)", json_number_value(json_object_get(best, "value")),
               (long long)json_integer_value(json_object_get(best, "trial")));
    fputc('\n', stdout);
    fflush(stdout);
}

/* ---- from the beginning to the end ---- */

/* Names the worker.  A Slurm job that is queued again has the same numbers, and so finds its trials again. */
static enum status name_worker(const struct work *work, char *out, size_t bytes, struct error *err)
{
    const char *job = getenv("SLURM_ARRAY_JOB_ID"), *task = getenv("SLURM_ARRAY_TASK_ID");
    const char *process = getenv("SLURM_PROCID");
    char        host[64] = "";
    job = job != NULL ? job : getenv("SLURM_JOB_ID");
    gethostname(host, sizeof host - 1);
    if (work->options->worker != NULL)
        snprintf(out, bytes, "%.100s", work->options->worker);
    else if (job != NULL)
        snprintf(out, bytes, "slurm-%.30s-%.20s-%.20s", job, task != NULL ? task : "0",
                 process != NULL ? process : "0");
    else {
        unsigned own = 0; // containers on one host may have its name and the same number
        TRY(random_bytes(&own, sizeof own, err));
        snprintf(out, bytes, "%.60s-%ld-%08x", host, (long)getpid(), own);
    }
    return STATUS_OK;
}

static enum status set_up(struct work *work, struct error *err)
{
    char        name[104], here[RUN_PATH_BYTES / 4] = "";
    const char *runs = work->options->runs;
    const char *algorithm = json_string_value(json_object_get(json_object_get(work->study, "algorithm"), "name"));
    bool        stops = json_is_object(json_object_get(work->study, "stopping")) ||
                 (algorithm != NULL && strcmp(algorithm, "bo-bos") == 0);
    work->steps = work->options->steps != NULL ? work->options->steps : stops ? "{step} {value}" : NULL;
    if (work->steps != NULL)
        TRY(run_text_check_pattern(work->steps, err));
    TRY(work_check_program(work, err));
    if (runs[0] != '/' && getcwd(here, sizeof here) == NULL)
        return error_set(err, STATUS_INVALID, "file", "", "the path of this folder is too long");
    int length = snprintf(work->runs, sizeof work->runs, "%s%s%s", here, here[0] != '\0' ? "/" : "", runs);
    if ((size_t)length >= sizeof work->runs)
        return error_set(err, STATUS_INVALID, "file", "", "--runs: the path is too long: %.60s...", work->runs);
    TRY(name_worker(work, name, sizeof name, err));
    TRY(random_hex(work->nonce, sizeof work->nonce - 1, err));
    work->slots = calloc((size_t)work->options->parallel, sizeof *work->slots);
    if (work->slots == NULL)
        return error_no_memory(err);
    for (int64_t i = 0; i < work->options->parallel; i++) {
        struct work_slot *slot = &work->slots[i];
        slot->run.output = -1;
        if (work->options->parallel == 1)
            snprintf(slot->worker, sizeof slot->worker, "%s", name);
        else
            snprintf(slot->worker, sizeof slot->worker, "%s/%lld", name, (long long)i + 1);
    }
    return STATUS_OK;
}

/* Advances every slot by a step; returns whether there will be another round. */
static bool go_round(struct work *work)
{
    bool is_busy = false;
    work->has_news = false;
    for (int64_t i = 0; i < work->options->parallel; i++) {
        struct error err = {.status = STATUS_OK};
        if (work_advance(work, &work->slots[i], &err) != STATUS_OK && !work->is_ending) {
            work->failure = err;
            work->is_ending = true;
        }
        is_busy = is_busy || work->slots[i].state != WORK_IDLE;
    }
    work_sweep(work);
    bool has_budget = work->options->trials == 0 || work->begun < work->options->trials;
    return is_busy || (!work->is_over && !work->is_ending && has_budget);
}

/* With the server away, what is to be given back stays with its lease in the end. */
static bool is_patient(struct work *work)
{
    int64_t now = process_clock_ms();
    work->is_ending = work->is_ending || process_is_stopped();
    if (!work->is_ending)
        return true;
    if (work->stopped_at_ms == 0)
        work->stopped_at_ms = now;
    if (work->away_since_ms == 0 || now - work->stopped_at_ms < work->options->grace_seconds * 1000 + LEAVE_MS)
        return true;
    fputs("gnomon: the server is away: what was running is handed out again when its lease ends\n", stderr);
    return false;
}

static void go_on(struct work *work)
{
    long pause_ms = TICK_MIN_MS;
    while (is_patient(work) && go_round(work)) {
        pause_ms = work->has_news ? TICK_MIN_MS : pause_ms * 2 > TICK_MAX_MS ? TICK_MAX_MS : pause_ms * 2;
        process_sleep_ms(pause_ms);
    }
}

/* The study as it is now; NULL: it cannot be had. */
static json_t *say_end(struct work *work)
{
    json_t      *study = NULL;
    struct error ignored;
    char         path[NAMED_PATH_BYTES];
    named_path(work->study, "", path);
    if (work->away_since_ms == 0 && client_json(work->client, "GET", path, NULL, &study, &ignored) == STATUS_OK)
        say_study(study);
    return study;
}

/* A script must not take it for a success that the study ended because runs fail, or that no run gave a value. */
static enum status check_some(const struct work *work, const json_t *study, struct error *err)
{
    const json_t *failures = json_object_get(study, "failures");
    const json_t *one = json_array_get(json_object_get(failures, "reasons"), 0);
    const char   *why = json_string_value(json_object_get(study, "reason"));
    const char   *id = json_string_value(json_object_get(work->study, "id"));
    const char   *said = json_string_value(json_object_get(one, "reason"));
    if (why != NULL && strcmp(why, "too_many_failures") == 0 && said != NULL)
        return error_set(err, STATUS_INVALID, "runs_fail", "",
                         "too many runs failed, %lld of them so: %.160s; see %.100s/%.40s, then reopen the study",
                         (long long)json_integer_value(json_object_get(one, "trials")), said, work->runs, id);
    if (work->failed == 0 || work->told > 0)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "runs_fail", "", "no run gave a value, %lld failed; see %.200s/%.40s",
                     (long long)work->failed, work->runs, id != NULL ? id : "");
}

static void clean_up(struct work *work)
{
    work_sweep_all(work);
    for (int64_t i = 0; work->slots != NULL && i < work->options->parallel; i++) {
        run_end(&work->slots[i].run);
        json_decref(work->slots[i].point);
        json_decref(work->slots[i].result);
    }
    free(work->slots);
    json_decref(work->study);
}

static enum status run(struct command_call *call, struct error *err)
{
    struct work work = {.options = call->options, .program = call->program};
    if (call->program == NULL || call->program[0] == NULL)
        return error_set(err, STATUS_INVALID, "usage", "",
                         "work needs a program: gnomon work --study S -- python train.py");
    TRY(command_connect(&work.options->at, &call->client, err));
    work.client = call->client;
    enum status status = named_study(work.client, work.options->study, &work.study, err);
    if (status == STATUS_OK && json_object_get(json_object_get(work.study, "space"), "parameters") == NULL)
        status = error_set(err, STATUS_INVALID, "usage", "", "work is for studies over parameters");
    if (status == STATUS_OK)
        status = set_up(&work, err);
    if (status == STATUS_OK) {
        if (!process_adopt())
            fputs("gnomon: what a run starts in a session of its own is not ended with it on this system\n", stderr);
        say_study(work.study);
        go_on(&work);
        json_t *study = say_end(&work);
        *err = work.failure;
        status = work.failure.status != STATUS_OK ? work.failure.status : process_check_stopped(err);
        if (status == STATUS_OK)
            status = check_some(&work, study, err);
        json_decref(study);
    }
    clean_up(&work);
    return status;
}

const struct command command_work = {
    .name = "work",
    .operands = "",
    .summary = "runs a program for each trial of a study: gnomon work --study S -- python train.py",
    .options = options_table,
    .options_bytes = sizeof(struct work_options),
    .watches_signals = true,
    .takes_program = true,
    .run = run,
};
