/* gnomon agent: one agent of a federation.  The observations stay here: points are chosen and measured on this machine,
 * and only vectors of the shared random features are sent, one in each round.
 *
 * Invariants: what is known is in the journal, durable, before anything is made of it; an agent that was killed goes on
 * with the same points.  What other agents send can be late or absent: then an own draw takes its place. */
#include "service/client/client.h"
#include "service/member/codec.h"
#include "service/codec/codec_trial.h"
#include "service/codec/codec_federation.h"
#include "service/cli/command.h"
#include "service/cli/agent_ledger.h"
#include "service/cli/agent_log.h"
#include "service/cli/agent_secure.h"
#include "service/client/measure.h"
#include "service/client/plain.h"
#include "service/client/process.h"
#include "service/base/random.h"
#include "service/client/patience.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FAILURES_MAX = 5, POLL_MIN_MS = 50, POLL_MAX_MS = 2000, ARENA_BYTES = 256 << 20 };

struct agent_options {
    struct command_server at;
    const char           *federation, *measure, *journal, *ledger, *fingerprint;
    int64_t               trials, patience_seconds, wait_seconds, seed;
    double                budget;
    bool                  dry_run, accept_noise;
};

#define OPTION(name, what, member) OPTION_OF(struct agent_options, name, what, member)
static const struct options_row options_table[] = {
    COMMAND_SERVER_ROWS(struct agent_options),
    {OPTION("federation", "ID", federation), .is_required = true,
     .help = "the federation that your token has a seat in"},
    {OPTION("measure", "CMD", measure),
     .help = "/bin/sh runs CMD for each trial: CMD reads the point, a JSON object, from standard input, and prints a "
             "number; "
             "an exit code from 1 to 125 means that the point cannot be measured.  Required without --dry-run"},
    {OPTION("trials", "N", trials), .kind = OPTIONS_INT, .fallback = "0", .min = 0, .max = 1000000,
     .help =
         "how many trials to make in all; 0: the initial trials, then one for each round (rank-mean: those that follow "
         "the release).  When the federation is over, the agent makes the rest alone"},
    {OPTION("journal", "FILE", journal),
     .help = "the agent's journal: points, values, secrets; by default ./FEDERATION-AGENT.journal"},
    {OPTION("ledger", "FILE", ledger),
     .help = "a file that adds up what all federations cost these data, before anything is sent"},
    {OPTION("budget", "EPSILON", budget), .kind = OPTIONS_REAL, .fallback = "0", .min = 0, .max = 1e6,
     .help = "the budget of the ledger: the agent joins no federation that would exceed it; 0: keep the ledger's "
             "budget, if there is one"},
    {OPTION("fingerprint", "HEX", fingerprint),
     .help =
         "the fingerprint of all members' keys in a secure federation, which the members compare: if the server shows "
         "other keys, nothing is sent, and you see their fingerprint; ? shows it and sends nothing.  Without this "
         "option "
         "you trust the server's keys"},
    {OPTION("dry-run", NULL, dry_run), .kind = OPTIONS_SWITCH,
     .help = "print what joining would bring and cost, and do nothing else"},
    {OPTION("accept-noise", NULL, accept_noise), .kind = OPTIONS_SWITCH,
     .help = "join although the release is likelier to hurt than to help, with few members or a small epsilon"},
    {OPTION("wait", "SECONDS", wait_seconds), .kind = OPTIONS_INT, .fallback = "3600", .min = 0, .max = 604800,
     .help = "how long to wait for the others in a round; then the next trial is made without them"},
    {OPTION("seed", "N", seed), .kind = OPTIONS_INT, .fallback = "-1", .min = -1, .max = 9007199254740991.0,
     .help = "the seed of a new journal's random choices; -1: from the system"},
    COMMAND_PATIENCE_ROW(struct agent_options),
    {.flag = NULL},
};

struct agent {
    const struct agent_options *options;
    struct patience             patience;
    struct arena                arena; /* of the specification */
    struct federation_spec      spec;
    struct agent_log            log;
    struct agent_secure         secure;
    char                        features_sha256[65];
    int64_t                     seat, initial, trials; /* trials: to make in all */
    int64_t                     rounds;                /* of the plan that was agreed to */
    int64_t                     sent;                  /* the last round that it has sent for, as far as it knows */
    bool                        is_over;               /* the federation is */
    bool                        is_reader;             /* it was over from the start: nothing is ever sent */
    bool                        is_alone;              /* the federation was over before this trial was chosen */
    double                     *vector;                /* [features] */
    struct proposal             proposal;
    double                     *length_scales; /* [params_len] of its model */
    size_t                      measured, failures_in_a_row;
};

static bool is_secure(const struct agent *a)
{
    return a->spec.aggregation == FEDERATION_SECURE;
}

/* ---- joining ---- */

static enum status find_seat(struct agent *a, struct error *err)
{
    json_t *who = NULL;
    TRY(patience_json(&a->patience, "GET", "/v1/whoami", NULL, &who, err));
    const char *resource = json_string_value(json_object_get(who, "resource"));
    const char *agent = json_string_value(json_object_get(who, "agent"));
    bool        is_member = resource != NULL && agent != NULL && strcmp(resource, a->options->federation) == 0;
    a->seat = is_member ? strtoll(agent, NULL, 10) : 0;
    json_decref(who);
    return a->seat > 0
               ? STATUS_OK
               : error_set(err, STATUS_FORBIDDEN, "other_agent", "",
                           "the token is not of an agent of %.40s: 'POST ../agents' makes one", a->options->federation);
}

static enum status set_region(struct agent *a, struct error *err)
{
    const struct policy *policy = a->spec.study.policy;
    size_t               len = 0;
    while (policy->options[len].name != NULL)
        len++;
    double *options = ARENA_NEW(&a->arena, double, len);
    if (options == NULL)
        return error_no_memory(err);
    federation_options(&a->spec, a->seat, options);
    a->spec.study.options = options;
    a->initial = (int64_t)options[policy_option(policy, "initial")];
    return STATUS_OK;
}

static enum status read_federation(struct agent *a, struct error *err)
{
    static const char *const members[] = {"metrics", "space",         "algorithm",   "seats",   "minimum_agents",
                                          "rounds",  "round_seconds", "aggregation", "weights", "privacy"};
    json_t                  *shown = NULL, *spec = json_object();
    enum status              status = patience_call(&a->patience, "GET", "", NULL, &shown, err);
    for (size_t i = 0; i < sizeof members / sizeof *members && status == STATUS_OK; i++) {
        json_t *member = json_object_get(shown, members[i]);
        if (member != NULL)
            codec_put(&spec, members[i], json_incref(member));
    }
    if (status == STATUS_OK)
        status = spec == NULL ? error_no_memory(err) : codec_federation(spec, &a->arena, &a->spec, err);
    const char *digest = json_string_value(json_object_get(shown, "features_sha256"));
    const char *state = json_string_value(json_object_get(shown, "state"));
    snprintf(a->features_sha256, sizeof a->features_sha256, "%s", digest == NULL ? "" : digest);
    a->is_reader = state != NULL && strcmp(state, "completed") == 0;
    json_decref(shown);
    json_decref(spec);
    TRY(status);
    return set_region(a, err);
}

static bool is_near(const json_t *row, const struct rff *rff, size_t i)
{
    const double tolerance = 1e-8;
    bool         is_same = json_array_size(row) == rff->dims + 1;
    for (size_t j = 0; j <= rff->dims && is_same; j++) {
        double own = j < rff->dims ? rff->frequencies[i * rff->dims + j] : rff->phases[i];
        is_same = fabs(json_number_value(json_array_get(row, j)) - own) <= tolerance * (1 + fabs(own));
    }
    return is_same;
}

/* The server's features against those that this program makes from the same numbers. */
static enum status check_features(struct agent *a, struct error *err)
{
    struct rff rff;
    json_t    *reply = NULL;
    TRY(federation_public(&a->spec, &a->arena, &rff, err));
    TRY(patience_call(&a->patience, "GET", "/random-features", NULL, &reply, err));
    const json_t *rows = json_object_get(reply, "features");
    const char   *digest = json_string_value(json_object_get(reply, "sha256"));
    bool is_same = json_array_size(rows) == rff.count && digest != NULL && strcmp(digest, a->features_sha256) == 0;
    for (size_t i = 0; i < rff.count && is_same; i++)
        is_same = is_near(json_array_get(rows, i), &rff, i);
    json_decref(reply);
    return is_same ? STATUS_OK
                   : error_set(err, STATUS_CONFLICT, "wrong_features", "",
                               "the federation's public functions are not those of its specification");
}

static enum status open_log(struct agent *a, struct error *err)
{
    char                  path[256];
    struct agent_identity identity = {.federation = a->options->federation,
                                      .features_sha256 = a->features_sha256,
                                      .seat = a->seat,
                                      .seed = (uint64_t)a->options->seed};
    snprintf(path, sizeof path, "%.40s-%lld.journal", a->options->federation, (long long)a->seat);
    if (a->options->seed < 0) {
        TRY(random_bytes(&identity.seed, sizeof identity.seed, err));
        identity.seed >>= 11;
    }
    return agent_log_open(a->options->journal != NULL ? a->options->journal : path, &identity, &a->spec, &a->log, err);
}

/* Before the journal is there, and long before the first message. */
static enum status charge(struct agent *a, struct error *err)
{
    const struct agent_options *options = a->options;
    const struct agent_charge   charge = {.federation = options->federation,
                                          .seat = a->seat,
                                          .spec = &a->spec,
                                          .budget = options->budget > 0 ? options->budget : (double)NAN};
    struct agent_total          total;
    if (a->is_reader) {
        fprintf(stderr,
                "gnomon: the federation is over: what it released is read, nothing is sent, and nothing is charged\n");
        return STATUS_OK;
    }
    if (options->ledger == NULL && options->budget > 0)
        return error_set(err, STATUS_INVALID, "usage", "", "--budget is of a --ledger");
    if (options->ledger == NULL) {
        if (a->spec.is_private)
            fprintf(stderr, "gnomon: no --ledger: what this federation costs is not added to what others cost\n");
        return STATUS_OK;
    }
    TRY(agent_ledger_charge(options->ledger, &charge, &total, &a->arena, err));
    fprintf(stderr, "gnomon: federations in the ledger: %zu, together epsilon %.4g", total.federations, total.epsilon);
    if (total.planned < total.epsilon)
        fprintf(stderr, " (%.4g, had all been chosen before the first)", total.planned);
    fprintf(stderr, ", delta %.3g\n", total.delta);
    return STATUS_OK;
}

/* Three sentences: the noise, the help, the cost. */
static void tell_forecast(const struct agent *a)
{
    const struct federation_spec *spec = &a->spec;
    const struct rank_forecast    forecast = federation_forecast(spec);
    if (!federation_is_once(spec->study.policy)) {
        printf("There is no forecast for %s.\n", spec->study.policy->name);
        return;
    }
    printf("With %lld members at epsilon %g and delta %g, noise is about %.0f %% of what comes out: a standard "
           "deviation of "
           "%.3g in each of %zu numbers.\n",
           (long long)spec->seats, spec->epsilon, spec->delta, 100 * forecast.share, forecast.sd, spec->features);
    if (forecast.hurts)
        printf("That is likelier to hurt than to help: only with --accept-noise can it be joined.\n");
    else
        printf("Where the members' problems are alike, such a release has lowered the mean regret of the first 20 "
               "trials by "
               "about %.0f %% against working alone, give or take 25; where they are not, it brings nothing, or costs "
               "a little.\n",
               fmax(0, -100 * forecast.change));
    printf("Your vector is sent once, after %lld trials of your own, and costs you epsilon %g at delta %g%s.\n",
           (long long)a->initial, spec->epsilon, spec->delta,
           a->is_reader ? "; but the release is out, so that you send nothing and it costs you nothing"
                        : ", however many read what comes of it");
}

/* Whether the forecast lets the agent join. */
static enum status check_forecast(const struct agent *a, struct error *err)
{
    if (!federation_is_once(a->spec.study.policy) || a->options->accept_noise || !federation_forecast(&a->spec).hurts)
        return STATUS_OK;
    return error_set(
        err, STATUS_CONFLICT, "mostly_noise", "",
        "the release is likelier to hurt than to help (--dry-run says why): it is joined only with --accept-noise");
}

/* How many trials what comes from the others is for. */
static int64_t after_of(const struct federation_spec *spec)
{
    return federation_is_once(spec->study.policy) ? (int64_t)federation_option(spec, "guided") : spec->rounds;
}

static enum status join(struct agent *a, struct error *err)
{
    TRY(find_seat(a, err));
    TRY(read_federation(a, err));
    TRY(check_features(a, err));
    if (a->options->dry_run)
        return STATUS_OK;
    TRY(check_forecast(a, err));
    TRY(charge(a, err));
    a->rounds = agent_ledger_rounds(&a->spec, &a->arena);
    a->vector = ARENA_NEW(&a->arena, double, a->spec.features);
    a->proposal.point = ARENA_NEW(&a->arena, double, a->spec.study.space.params_len);
    a->length_scales = ARENA_NEW(&a->arena, double, a->spec.study.space.params_len);
    if (a->vector == NULL || a->proposal.point == NULL || a->length_scales == NULL)
        return error_no_memory(err);
    TRY(open_log(a, err));
    a->sent = a->log.round; // whose message is in a broadcast
    a->secure = (struct agent_secure){.patience = &a->patience,
                                      .log = &a->log,
                                      .arena = &a->arena,
                                      .features_sha256 = a->features_sha256,
                                      .fingerprint = a->options->fingerprint,
                                      .secure = federation_secure(&a->spec, a->options->federation)};
    if (is_secure(a) && !a->is_reader)
        TRY(agent_secure_open(&a->secure, (size_t)a->seat, err));
    a->trials = a->options->trials > 0 ? a->options->trials : a->initial + after_of(&a->spec);
    fprintf(stderr, "gnomon: agent %lld of %lld, %lld of %lld trials in the journal\n", (long long)a->seat,
            (long long)a->spec.seats, (long long)a->log.trials, (long long)a->trials);
    return STATUS_OK;
}

/* ---- measuring ---- */

/* *value NaN: the command says that the point cannot be measured. */
static enum status measure(struct agent *a, double *value, struct error *err)
{
    struct measure how = {.command = a->options->measure};
    json_t        *json = codec_point_json(&a->spec.study, a->log.point);
    char          *text = codec_dump(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    enum status    status = text == NULL ? error_no_memory(err) : measure_run(&how, text, value, err);
    json_decref(json);
    free(text);
    return status;
}

static enum status run_trial(struct agent *a, struct error *err)
{
    double  value;
    int64_t trial = a->log.pending;
    TRY(measure(a, &value, err)); // else the trial stays open
    TRY(agent_log_ended(&a->log, value, err));
    if (isnan(value))
        return ++a->failures_in_a_row < FAILURES_MAX
                   ? STATUS_OK
                   : error_set(err, STATUS_INVALID, "measure_failed", "",
                               "the measure command failed for %d trials in a row", FAILURES_MAX);
    a->failures_in_a_row = 0;
    a->measured++;
    fprintf(stderr, "gnomon: trial %lld of %lld, value %.6g, best %.6g%s\n", (long long)trial, (long long)a->trials,
            value, a->log.best,
            !a->log.is_weighed             ? a->is_alone ? ", alone" : ""
            : a->log.help.last.is_followed ? ", after the release"
                                           : ", not after the release");
    return STATUS_OK;
}

static enum status ask(struct agent *a, struct error *err)
{
    struct diagnostics diagnostics = {.length_scales = a->length_scales};
    const struct ask   ask = {.trial = (uint64_t)a->log.trials + 1, .diagnostics = &diagnostics};
    a->proposal.note_bytes = 0;
    a->proposal.fallback = NULL;
    TRY(a->spec.study.policy->ask(a->log.session, &ask, &a->proposal, err));
    return agent_log_suggested(&a->log, &a->proposal, &diagnostics.release, err);
}

/* ---- rounds ---- */

struct state {
    char    name[16], reason[40];
    int64_t round, closed, received;
};

static enum status read_state(struct agent *a, struct state *out, struct error *err)
{
    json_t     *reply = NULL;
    const char *name = "";
    json_int_t  closed = 0, received = 0;
    TRY(patience_call(&a->patience, "GET", "", NULL, &reply, err));
    int failure =
        json_unpack(reply, "{s:s, s:I, s:I}", "state", &name, "rounds_closed", &closed, "received", &received);
    const char *reason = json_string_value(json_object_get(reply, "reason"));
    *out = (struct state){.round = closed + 1, .closed = closed, .received = received};
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(out->reason, sizeof out->reason, "%s", reason == NULL ? "" : reason);
    json_decref(reply);
    return failure == 0 ? STATUS_OK : client_bad_reply(err);
}

static enum status take_broadcast(struct agent *a, int64_t round, const json_t *reply, struct error *err)
{
    const json_t     *rows = json_object_get(reply, "vectors");
    size_t            features = a->spec.features, len = json_array_size(rows);
    size_t            wanted = a->spec.is_private ? a->spec.broadcast.regions : (size_t)a->spec.seats;
    struct arena_mark mark = arena_mark(&a->arena);
    double           *matrix = ARENA_NEW(&a->arena, double, wanted *features);
    if (matrix == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < wanted * features; i++) {
        const json_t *number = json_array_get(json_array_get(rows, i / features), i % features);
        if (len != wanted || !json_is_number(number))
            return client_bad_reply(err);
        matrix[i] = json_number_value(number);
    }
    enum status status = agent_log_received(&a->log, round, matrix, wanted, a->seat, err);
    arena_release(&a->arena, mark);
    return status;
}

/* Whether there is something to send.  Of a federation in one round the release is of use before that, too. */
static bool is_ready(const struct agent *a)
{
    return a->log.trials >= a->initial && a->log.values > 0;
}

/* Receives a broadcast.  CONFLICT while the round is open, and when it will never close. */
static enum status receive(struct agent *a, int64_t round, struct error *err)
{
    char    path[64];
    json_t *reply = NULL;
    snprintf(path, sizeof path, "/rounds/%lld/broadcast", (long long)round);
    TRY(patience_call(&a->patience, "GET", path, NULL, &reply, err));
    enum status status = take_broadcast(a, round, reply, err);
    json_decref(reply);
    return status;
}

/* Sends what a secure federation waits for; the vector only when there is one. */
static enum status send_secure(struct agent *a, const struct state *state, struct error *err)
{
    bool is_needed = state->round == SECURE_VECTORS && a->log.kept[AGENT_VECTOR].bytes == NULL;
    if (a->is_reader || a->secure.sent >= state->round || strcmp(state->name, "active") != 0 ||
        (is_needed && !is_ready(a)))
        return STATUS_OK;
    enum status status = is_needed ? a->spec.study.policy->message(a->log.session, 1, a->vector, err) : STATUS_OK;
    if (status == STATUS_OK)
        return agent_secure_send(&a->secure, state->round, a->vector, err);
    if (status != STATUS_NUMERIC)
        return status;
    a->secure.sent = state->round;
    fprintf(stderr, "gnomon: nothing to send: %s\n", err->text);
    return STATUS_OK;
}

/* Late and conflicting messages are no failure: another one of ours is there, or the round went on without. */
static enum status send(struct agent *a, int64_t round, struct error *err)
{
    char                 path[256];
    const struct policy *policy = a->spec.study.policy;
    enum status          status = policy->message(a->log.session, (uint64_t)round, a->vector, err);
    if (status == STATUS_OK) {
        json_t *body = json_array();
        for (size_t i = 0; i < a->spec.features; i++)
            codec_append(&body, json_real(a->vector[i]));
        snprintf(path, sizeof path, "/rounds/%lld/messages/%lld?features=%s", (long long)round, (long long)a->seat,
                 a->features_sha256);
        status = patience_call(&a->patience, "PUT", path, body, NULL, err);
    }
    if (status == STATUS_OK || status == STATUS_CONFLICT || status == STATUS_NUMERIC)
        a->sent = round;
    if (status == STATUS_NUMERIC) // the model has no finite answer: this round goes on without us
        fprintf(stderr, "gnomon: nothing to send in round %lld: %s\n", (long long)round, err->text);
    return status == STATUS_CONFLICT || status == STATUS_NUMERIC ? STATUS_OK : status;
}

static enum status end(struct agent *a, const struct state *state, struct error *err)
{
    a->is_over = true;
    if (state->closed > a->log.round && (!is_secure(a) || state->closed == SECURE_ROUNDS))
        TRY(receive(a, state->closed, err));
    fprintf(stderr, "gnomon: the federation is over after %lld rounds: ", (long long)state->closed);
    plain_print(stderr, state->reason);
    fputc('\n', stderr);
    return STATUS_OK;
}

/* A server that goes on beyond the plan gets nothing more, and is heard no more. */
static bool is_beyond(struct agent *a, const struct state *state)
{
    bool is_open = strcmp(state->name, "completed") != 0;
    a->is_over = state->closed + is_open > a->rounds;
    if (a->is_over)
        fprintf(stderr, "gnomon: the server is in round %lld of a plan of %lld: nothing more is sent\n",
                (long long)state->closed + is_open, (long long)a->rounds);
    return a->is_over;
}

/* Sends for the open round and waits for its broadcast: one broadcast for each trial, as long as there are any. */
static enum status take_part(struct agent *a, struct error *err)
{
    struct state state;
    long         waited_ms = 0, pause_ms = POLL_MIN_MS;
    while (!process_is_stopped()) {
        TRY(read_state(a, &state, err));
        if (is_beyond(a, &state))
            return STATUS_OK;
        if (strcmp(state.name, "completed") == 0)
            return end(a, &state, err);
        if (is_secure(a))
            TRY(send_secure(a, &state, err));
        bool is_closed = a->sent > 0 && a->sent <= state.closed && a->log.round < state.closed;
        if (is_closed) {
            TRY(receive(a, state.closed, err));
            fprintf(stderr, "gnomon: round %lld of %lld received\n", (long long)state.closed,
                    (long long)a->spec.rounds);
            return STATUS_OK;
        }
        if (!is_ready(a))
            return STATUS_OK;
        if (a->sent < state.round && !a->is_reader && !is_secure(a) && strcmp(state.name, "active") == 0) {
            TRY(send(a, state.round, err));
            continue;
        }
        if (waited_ms >= a->options->wait_seconds * 1000) {
            fprintf(stderr, "gnomon: round %lld is late (%lld of %lld have sent): going on without it\n",
                    (long long)state.round, (long long)state.received, (long long)a->spec.seats);
            return STATUS_OK;
        }
        process_sleep_ms(pause_ms);
        waited_ms += pause_ms;
        pause_ms = 2 * pause_ms < POLL_MAX_MS ? 2 * pause_ms : POLL_MAX_MS;
    }
    return STATUS_OK;
}

static enum status work(struct agent *a, struct error *err)
{
    while (!process_is_stopped()) {
        if (a->log.pending > 0) {
            TRY(run_trial(a, err));
            continue;
        }
        if (a->log.trials >= a->trials) // the others may still need what a member of a secure federation has to say
            return is_secure(a) && !a->is_over ? take_part(a, err) : STATUS_OK;
        a->is_alone = a->is_over;
        if ((is_ready(a) || federation_is_once(a->spec.study.policy)) && !a->is_over)
            TRY(take_part(a, err));
        if (!process_is_stopped())
            TRY(ask(a, err));
    }
    return STATUS_OK;
}

/* Says how the release was used, beside the forecast. */
static void tell_help(const struct agent *a)
{
    const struct agent_help   *help = &a->log.help;
    const struct rank_forecast forecast = federation_forecast(&a->spec);
    if (help->weighed == 0)
        return;
    fprintf(
        stderr,
        "gnomon: %lld of the %lld trials that the release could guide follow it; by the values then its model had a "
        "probability of %.2g (0.8 before any)\n",
        (long long)help->followed, (long long)help->weighed, help->last.weight);
    if (help->followed == 0)
        return; // whatever their values became, the release had no part in it
    fprintf(stderr, "gnomon: forecast: %+.0f %% of the mean regret of 20 trials; measured: ", 100 * forecast.change);
    if (isfinite(help->before))
        fprintf(stderr, "the best value went from %.6g to %.6g in them\n", help->before, help->after);
    else
        fprintf(stderr, "the best value in them is %.6g, where there was none before\n", help->after);
}

/* To standard output: the best trial's point, as the measure command got it. */
static void tell_best(const struct agent *a)
{
    json_t *json = codec_point_json(&a->spec.study, a->log.best_point);
    char   *text = codec_dump(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    printf("best of %lld trials: value %.10g\n%s\n", (long long)a->log.trials, a->log.best, text == NULL ? "" : text);
    json_decref(json);
    free(text);
}

static enum status run(struct command_call *call, struct error *err)
{
    const struct agent_options *options = call->options;
    struct agent                a = {.options = options};
    TRY(command_check_id("federation", "fed", options->federation, err));
    if (options->measure == NULL && !options->dry_run)
        return error_set(err, STATUS_INVALID, "usage", "", "--measure is missing");
    TRY(command_connect(&options->at, &call->client, err));
    a.patience = (struct patience){.client = call->client,
                                   .collection = "federations",
                                   .id = options->federation,
                                   .limit_ms = (long)options->patience_seconds * 1000};
    arena_init(&a.arena, ARENA_BYTES);
    enum status status = join(&a, err);
    if (options->dry_run && status == STATUS_OK)
        tell_forecast(&a);
    else if (status == STATUS_OK)
        status = work(&a, err);
    if (process_is_stopped())
        status = process_check_stopped(err);
    if (status == STATUS_OK && !options->dry_run) {
        fprintf(stderr, "gnomon: done: %lld trials\n", (long long)a.log.trials);
        tell_help(&a);
    }
    if (a.log.values > 0)
        tell_best(&a);
    agent_log_close(&a.log);
    arena_fini(&a.arena);
    return status;
}

const struct command command_agent = {
    .name = "agent",
    .operands = "",
    .summary = "take a seat in a federation: points and values stay with you, only vectors are sent",
    .options = options_table,
    .options_bytes = sizeof(struct agent_options),
    .watches_signals = true,
    .run = run,
};
