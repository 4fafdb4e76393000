/* See agent_ledger.h. */
#include "service/cli/agent_ledger.h"

#include "engine/privacy/accountant.h"
#include "service/file/append.h"
#include "service/member/codec.h"
#include "service/member/codec_read.h"

#include <jansson.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEDERATIONS_MAX = 1000 };

struct line {
    char                  federation[24];
    int64_t               seat;
    struct accountant_run run;
    double                delta;
};
struct ledger {
    struct line *lines; /* [FEDERATIONS_MAX] */
    size_t       len;
    double       budget; /* the least; NaN: none */
};

static void lessen(double *budget, double other)
{
    if (!(*budget <= other) && !isnan(other))
        *budget = other;
}

/* NULL: it is not in the ledger. */
static const struct line *find(const struct ledger *ledger, const char *federation)
{
    for (size_t i = 0; i < ledger->len; i++)
        if (strcmp(ledger->lines[i].federation, federation) == 0)
            return &ledger->lines[i];
    return NULL;
}

static enum status take(void *arg, char *text, size_t number, struct error *err)
{
    struct ledger *ledger = arg;
    struct line    line = {.seat = 0};
    const char    *federation = "";
    double         budget = NAN;
    json_int_t     seat = 0, releases = 0;
    json_t        *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *limit = NULL;
    (void)number, (void)err;
    int  failure = json_unpack(json, "{s:s, s:I, s:F, s:F, s:I, s:F, s:o !}", "federation", &federation, "seat", &seat,
                               "sampling_rate", &line.run.q, "noise_multiplier", &line.run.z, "releases", &releases,
                               "delta", &line.delta, "budget", &limit);
    bool is_limit = failure == 0 && (json_is_null(limit) || (codec_read_is_finite(limit, &budget) && budget > 0));
    snprintf(line.federation, sizeof line.federation, "%s", failure == 0 ? federation : "");
    line.seat = seat;
    line.run.releases = releases > 0 ? (uint64_t)releases : 0;
    json_decref(json);
    if (!is_limit || seat < 1 || releases < 1 || !(line.delta > 0 && line.delta < 1) || ledger->len == FEDERATIONS_MAX)
        return STATUS_CONFLICT;
    lessen(&ledger->budget, budget);
    if (find(ledger, line.federation) == NULL) /* else the line is there for its budget */
        ledger->lines[ledger->len++] = line;
    return STATUS_OK;
}

static double promise(const struct accountant_run *runs, size_t n, double delta, struct arena *arena)
{
    double epsilon;
    return accountant_promise(runs, n, delta, &epsilon, arena, NULL) == STATUS_OK ? epsilon : INFINITY;
}

/* As many releases as the federation itself allows. */
static struct accountant_run run_of(const struct federation_spec *spec, struct arena *arena)
{
    uint64_t              low = 1, high = (uint64_t)federation_releases(spec, spec->rounds) + 1;
    struct accountant_run run = {.q = spec->broadcast.q, .z = spec->broadcast.z};
    while (high - low > 1) {
        run.releases = low + (high - low) / 2;
        *(promise(&run, 1, spec->delta, arena) <= spec->epsilon ? &low : &high) = run.releases;
    }
    run.releases = low;
    return run;
}

int64_t agent_ledger_rounds(const struct federation_spec *spec, struct arena *scratch)
{
    if (!spec->is_private || federation_is_once(spec->study.policy))
        return spec->rounds;
    return (int64_t)run_of(spec, scratch).releases;
}

static struct line plan(const struct agent_charge *charge, struct arena *arena)
{
    struct line line = {.seat = charge->seat, .delta = charge->spec->delta, .run = run_of(charge->spec, arena)};
    snprintf(line.federation, sizeof line.federation, "%s", charge->federation);
    return line;
}

static enum status check_known(const struct line *known, const struct line *now, struct error *err)
{
    if (known->seat != now->seat)
        return error_set(err, STATUS_CONFLICT, "other_seat", "",
                         "the ledger has seat %lld of this federation: the same data on two seats are not covered",
                         (long long)known->seat);
    if (known->run.q != now->run.q || known->run.z != now->run.z || known->delta != now->delta ||
        known->run.releases < now->run.releases)
        return error_set(err, STATUS_CONFLICT, "other_plan", "", "the federation has another plan than was charged");
    return STATUS_OK;
}

static enum status add_up(const struct ledger *ledger, struct agent_total *total, struct arena *arena,
                          struct error *err)
{
    struct accountant_run *runs = ARENA_NEW(arena, struct accountant_run, FEDERATIONS_MAX);
    if (runs == NULL)
        return error_no_memory(err);
    *total = (struct agent_total){.budget = ledger->budget, .federations = ledger->len};
    for (size_t i = 0; i < ledger->len; i++) {
        runs[i] = ledger->lines[i].run;
        total->epsilon += promise(&runs[i], 1, ledger->lines[i].delta, arena);
        total->delta += ledger->lines[i].delta;
    }
    total->planned = fmin(total->epsilon, promise(runs, ledger->len, fmin(total->delta, 0.5), arena));
    return STATUS_OK;
}

static enum status write_line(const struct append_file *file, const struct line *line, double budget, struct error *err)
{
    json_t *json = json_pack("{s:s, s:I, s:f, s:f, s:I, s:f, s:o}", "federation", line->federation, "seat",
                             (json_int_t)line->seat, "sampling_rate", line->run.q, "noise_multiplier", line->run.z,
                             "releases", (json_int_t)line->run.releases, "delta", line->delta, "budget",
                             isnan(budget) ? json_null() : json_real(budget));
    char   *text = codec_dump(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(json);
    if (text == NULL)
        return error_no_memory(err);
    enum status status = append_line(file, text, err);
    free(text);
    return status;
}

static enum status charge_open(const struct append_file *file, struct ledger *ledger, const struct agent_charge *charge,
                               struct agent_total *total, struct arena *arena, struct error *err)
{
    const struct line  now = plan(charge, arena);
    const struct line *known = find(ledger, charge->federation);
    bool               is_less = !isnan(charge->budget) && !(ledger->budget <= charge->budget);
    lessen(&ledger->budget, charge->budget);
    if (known != NULL)
        TRY(check_known(known, &now, err));
    else if (ledger->len < FEDERATIONS_MAX)
        ledger->lines[ledger->len++] = now;
    else
        return error_set(err, STATUS_CONFLICT, "budget_exhausted", "", "the ledger is full");
    TRY(add_up(ledger, total, arena, err));
    if (known == NULL && (!isfinite(total->epsilon) || total->epsilon > total->budget || total->delta >= 0.5))
        return error_set(err, STATUS_CONFLICT, "budget_exhausted", "",
                         "with this federation the ledger's total is epsilon %.4g at delta %.3g, over its budget of %g",
                         total->epsilon, total->delta, total->budget);
    return known == NULL || is_less ? write_line(file, known == NULL ? &now : known, charge->budget, err) : STATUS_OK;
}

enum status agent_ledger_charge(const char *path, const struct agent_charge *charge, struct agent_total *total,
                                struct arena *arena, struct error *err)
{
    struct append_file        *file = NULL;
    struct arena_mark          mark = arena_mark(arena);
    struct ledger              ledger = {.lines = ARENA_NEW(arena, struct line, FEDERATIONS_MAX), .budget = NAN};
    const struct append_reader reader = {
        .take = take, .arg = &ledger, .code = "file", .complaint = "is not one of an agent's ledger"};
    if (ledger.lines == NULL)
        return error_no_memory(err);
    if (!charge->spec->is_private)
        return error_set(err, STATUS_INVALID, "no_guarantee", "",
                         "this federation promises nothing, so nothing adds up: leave --ledger and --budget out");
    enum status status = append_open(path, true, &reader, &file, err);
    if (status == STATUS_OK)
        status = charge_open(file, &ledger, charge, total, arena, err);
    append_close(file);
    arena_release(arena, mark);
    return status;
}
