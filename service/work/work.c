/* See work.h: what its slots share. */
#include "service/work/work.h"

#include "service/client/named.h"
#include "service/client/plain.h"
#include "service/client/run_text.h"

#include <stdlib.h>
#include <string.h>

enum { AWAY_PAUSE_MIN_MS = 100, AWAY_PAUSE_MAX_MS = 5000 };

/* ---- the server, which may be away ---- */

bool work_is_away(enum status status)
{
    return status == STATUS_BUSY || status == STATUS_FULL;
}

static void note_away(struct work *work, const struct error *err)
{
    int64_t now = process_clock_ms();
    if (work->away_since_ms == 0) {
        fputs("gnomon: ", stderr);
        plain_print(stderr, err->text);
        fputs("; trying again\n", stderr);
        work->away_since_ms = now;
    }
    work->away_pause_ms = work->away_pause_ms == 0 ? AWAY_PAUSE_MIN_MS : work->away_pause_ms * 2;
    if (work->away_pause_ms > AWAY_PAUSE_MAX_MS)
        work->away_pause_ms = AWAY_PAUSE_MAX_MS;
    work->away_until_ms = now + work->away_pause_ms;
    if (now - work->away_since_ms > work->options->patience_seconds * 1000 && !work->is_ending) {
        work->failure = *err;
        work->is_ending = true;
    }
}

enum status work_call(struct work *work, const struct work_request *request, json_t *body, json_t **reply,
                      struct error *err)
{
    char path[NAMED_PATH_BYTES];
    if (reply != NULL)
        *reply = NULL;
    if (process_clock_ms() < work->away_until_ms) {
        json_decref(body);
        return error_set(err, STATUS_BUSY, "unreachable", "", "the server is away");
    }
    named_path(work->study, request->rest, path);
    enum status status = client_call(
        work->client, &(struct client_request){.method = request->method, .path = path, .key = request->key}, body,
        reply, err);
    if (work_is_away(status)) {
        note_away(work, err);
        return status;
    }
    if (work->away_since_ms != 0)
        fputs("gnomon: the server is there again\n", stderr);
    work->away_since_ms = work->away_until_ms = work->away_pause_ms = 0;
    return status;
}

enum status work_check_program(const struct work *work, struct error *err)
{
    return run_text_check_program(&(struct run_text_program){.words = work->program,
                                                             .space = json_object_get(work->study, "space"),
                                                             .wants_flags = strcmp(work->options->as, "flags") == 0},
                                  err);
}

/* ---- strays ---- */

static bool is_of_run(pid_t pid, void *arg)
{
    const struct work *work = arg;
    char               variable[RUN_PATH_BYTES + 16];
    for (int64_t i = 0; i < work->options->parallel; i++) {
        const struct work_slot *slot = &work->slots[i];
        snprintf(variable, sizeof variable, "GNOMON_RUN=%s", slot->run.folder);
        if (slot->state != WORK_IDLE && !slot->run.is_over &&
            (pid == slot->run.process.pid || process_has_variable(pid, variable)))
            return true;
    }
    return false;
}

void work_sweep(struct work *work)
{
    enum { EVERY_MS = 1000 };
    int64_t now = process_clock_ms();
    if (now < work->sweep_at_ms)
        return;
    work->sweep_at_ms = now + EVERY_MS;
    process_end_adopted(is_of_run, work);
}

void work_sweep_all(struct work *work)
{
    enum { ROUNDS = 500, ROUND_MS = 10 };
    for (int i = 0; i < ROUNDS && work->slots != NULL && process_end_adopted(is_of_run, work) > 0; i++)
        process_sleep_ms(ROUND_MS);
}

/* ---- what people see ---- */

static void print_value(const json_t *value)
{
    char *text = json_is_real(value) ? NULL : run_text_value(value);
    if (json_is_real(value))
        printf("%.6g", json_real_value(value));
    else
        plain_print(stdout, text != NULL ? text : "");
    free(text);
}

static void print_pairs(const json_t *object, const char *between)
{
    const char *name;
    json_t     *value;
    json_object_foreach ((json_t *)(uintptr_t)object, name, value) {
        fputs(between, stdout);
        plain_print(stdout, name);
        fputc('=', stdout);
        print_value(value);
    }
}

void work_say(const struct work *work, const struct work_slot *slot, const char *what)
{
    const json_t *values = json_object_get(slot->result, "values");
    int64_t       seconds = (process_clock_ms() - slot->began_ms) / 1000;
    (void)work;
    printf("trial %lld", (long long)slot->number);
    if (what == NULL) {
        print_pairs(values, "  ");
    } else {
        fputs("  ", stdout);
        plain_print(stdout, what);
        fputs(slot->reason[0] != '\0' ? ": " : "", stdout);
        plain_print(stdout, slot->reason);
    }
    printf("  %lld:%02lld ", (long long)(seconds / 60), (long long)(seconds % 60));
    print_pairs(slot->point, " ");
    fputc('\n', stdout);
    fflush(stdout);
}
