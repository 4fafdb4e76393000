/* See suggest_ask.h. */
#include "service/suggest/suggest_ask.h"

#include "engine/space/used_points.h"
#include "service/app/price.h"
#include "service/app/slots.h"
#include "service/base/clock.h"
#include "service/codec/codec_trial.h"
#include "service/store/ask_inputs.h"
#include "service/suggest/worth.h"

#include <math.h>
#include <string.h>

static bool is_late(void *arg)
{
    struct plan *plan = arg;
    struct error why;
    if (plan->time != PLAN_CUT && slots_go_on(plan->task.app, plan->task.caller, &why) != STATUS_OK)
        plan->time = PLAN_CUT;
    if (plan->time == PLAN_IN_TIME && plan->until_ms > 0 && plan->task.app->monotonic_ms() >= plan->until_ms)
        plan->time = PLAN_LATE;
    return plan->time != PLAN_IN_TIME;
}

static void notify(void *arg, const struct plan_state *state)
{
    const struct suggest_watch *watch = ((struct plan *)arg)->watch;
    if (watch != NULL)
        watch->notify(watch->arg, state);
}

/* Keeps the inputs of a proposal besides the log; after it was made, since it may have been late. */
static void keep_inputs(struct plan *plan, const struct ask *ask)
{
    struct ask_inputs *asked = (struct ask_inputs *)(plan->asked + plan->fresh_len * plan->asked_len);
    *asked = (struct ask_inputs){.remaining = (double)ask->remaining,
                                 .deadline_ms = ask->deadline_ms,
                                 .is_late = plan->time != PLAN_IN_TIME ? 1 : 0};
    if (ask->fixed != NULL)
        memcpy(asked->fixed, ask->fixed, (plan->asked_len - ASKED_FIXED) * sizeof *ask->fixed);
}

static enum status keep_proposal(struct plan *plan, const struct proposal *proposal, const struct ask *ask,
                                 double milliseconds, struct error *err)
{
    if (proposal->fallback != NULL)
        atomic_fetch_add(&plan->task.app->counters.fallbacks, 1);
    keep_inputs(plan, ask);
    const struct spec *spec = &plan->live->spec;
    bool               on_rows = spec->space.kind == SPACE_CANDIDATES;
    unsigned char     *note = arena_alloc(plan->task.caller->arena, proposal->note_bytes + 1, 1);
    if (note == NULL)
        return error_no_memory(err);
    memcpy(note, proposal->note, proposal->note_bytes);
    const char *why;
    plan->notes[plan->fresh_len] = note;
    plan->note_bytes[plan->fresh_len] = proposal->note_bytes;
    struct trial *trial = &plan->fresh[plan->fresh_len++];
    *trial = trial_none();
    trial->number = plan->live->told + 1;
    trial->state = plan->part == NULL ? TRIAL_RUNNING : TRIAL_QUEUED;
    trial->point = on_rows ? NULL : proposal->point;
    trial->row = on_rows ? (int64_t)proposal->row : -1;
    trial->worker = plan->worker;
    trial->model.algorithm = spec_proposer(spec, (uint64_t)trial->number, &why)->name;
    trial->model.fallback = proposal->fallback;
    trial->model.revision = plan->live->revision;
    trial->model.observations = (int64_t)proposal->observations;
    trial->model.mean = spec_sign(spec) * proposal->mean;
    trial->model.stddev = proposal->sd;
    trial->model.stddev_observed = proposal->sd_observed;
    trial->model.compute_ms = round(1e3 * milliseconds) / 1e3;
    const struct event event = {.kind = EVENT_SUGGESTED,
                                .trial = (uint64_t)trial->number,
                                .point = trial->point,
                                .row = proposal->row,
                                .note = note,
                                .note_bytes = proposal->note_bytes};
    plan->live->told = trial->number;
    plan->live->asked_at = plan->live->observations;
    TRY(codec_diagnostics(spec, spec->first, ask->diagnostics, plan->task.caller->arena, &trial->model.diagnostics,
                          err));
    TRY(curves_tell(&plan->live->curves, &event, err));
    return streams_tell(&plan->live->streams, &plan->live->curves, &event, err);
}

static double now_ms(void)
{
    return 1e-3 * (double)clock_us(CLOCK_MONOTONIC);
}

/* The fixed values of proposal i, from 0; NULL: none. */
const double *plan_fixed(const struct plan *plan, size_t i)
{
    return plan->part == NULL ? plan->fixed : plan->part->points + i * plan->part->params_len;
}

/* The budget left after the proposals made so far, as a policy is told; 0: there is no budget. */
static uint64_t remaining(const struct plan *plan)
{
    int64_t left = task_allowance(&plan->task);
    int64_t made = (int64_t)plan->fresh_len;
    return left == INT64_MAX ? 0 : left > made ? (uint64_t)(left - made) : 1; // a queue may be longer than the budget
}

/* As a policy is told: 0 without a deadline. */
static double time_left(const struct plan *plan)
{
    return plan->until_ms > 0 ? fmax((double)(plan->until_ms - plan->task.app->monotonic_ms()), 1) : 0;
}

/* The price model now: some trials counted a moment ago may have ended. */
static struct price_model model_of(const struct plan *plan)
{
    struct price_model model = price_model_of(&plan->task.study);
    model.spec = &plan->live->spec;
    model.values = (double)plan->live->observations;
    model.pending += (double)plan->fresh_len;
    model.has_fit = price_has_fit(model.values, plan->live->asked_at);
    return model;
}

/* So many proposals. */
enum status plan_announce(const struct plan *plan, int64_t count, struct error *err)
{
    struct app              *app = plan->task.app;
    const struct price_model model = session_price(app, &plan->task.study);
    bool                     asks_worth = plan->part == NULL && rules_ask_worth(&plan->task.study.rules);
    double                   gain_ms = asks_worth ? price_gain(app, &model) : 0;
    return slots_announce(plan->task.caller, gain_ms + price_tell(app, &model) + price_batch(app, &model, count), err);
}

/* In a slot, which is given back after each proposal; not within a transaction, for which others wait. */
static enum status propose_next(struct plan *plan, struct proposal *proposal, struct error *err)
{
    struct app              *app = plan->task.app;
    const struct spec       *spec = &plan->live->spec;
    const struct price_model model = model_of(plan);
    size_t                   len = space_point_len(&spec->space) + 1;
    double                  *point = ARENA_NEW(plan->task.caller->arena, double, 2 * len);
    if (point == NULL)
        return error_no_memory(err);
    struct diagnostics diagnostics = {.length_scales = point + len,
                                      .gain = plan->fresh_len == 0 && plan->part == NULL ? &plan->gain : NULL};
    *proposal = (struct proposal){.point = point, .mean = NAN, .sd = NAN, .sd_observed = NAN};
    if (plan->is_group_told == NULL)
        TRY(slots_enter(app, plan->task.caller, price_ask(app, &model), err));
    const struct ask ask = {.trial = (uint64_t)plan->live->told + 1,
                            .fixed = plan_fixed(plan, plan->fresh_len),
                            .late = is_late,
                            .remaining = remaining(plan),
                            .notify = notify,
                            .late_arg = plan,
                            .deadline_ms = time_left(plan),
                            .diagnostics = &diagnostics,
                            .clock_ms = now_ms};
    double           start = now_ms();
    enum status status = streams_ask(&plan->live->streams, &spec->stopping, &plan->live->curves, &ask, proposal, err);
    if (status == STATUS_OK)
        status = keep_proposal(plan, proposal, &ask, now_ms() - start, err);
    if (plan->is_group_told != NULL)
        return status;
    double took_ms = slots_leave(app, plan->task.caller, spec->policy->name);
    if (plan->time != PLAN_CUT)
        price_learn(app, &model, took_ms);
    return status;
}

/* As many as the rule lets go on; in a slot. */
static enum status resume_some(struct plan *plan, int64_t count, struct error *err)
{
    const struct stop_rule *rule = &plan->live->spec.stopping;
    const struct curve     *curve;
    while ((int64_t)plan->resumed_len < count && (plan->resumed_len == 0 || time_left(plan) != 1)) {
        TRY(stop_rule_resume(rule, &plan->live->curves, &curve, plan->task.caller->arena, err));
        if (curve == NULL)
            break;
        const struct event event = {.kind = EVENT_SUGGESTED, .trial = curve->trial};
        plan->resumed[plan->resumed_len++] = (int64_t)curve->trial;
        TRY(curves_tell(&plan->live->curves, &event, err));
    }
    return STATUS_OK;
}

enum status plan_ask_rule(struct plan *plan, int64_t count, struct error *err)
{
    struct app        *app = plan->task.app;
    struct caller     *caller = plan->task.caller;
    struct price_model model = model_of(plan);
    double             price_ms = price_judge(app, &model, (double)plan->live->curves.len) * (double)count;
    if (!plan->live->spec.stopping.resumes || plan->fixed != NULL)
        return STATUS_OK;
    plan->resumed = ARENA_NEW(caller->arena, int64_t, (size_t)count);
    if (plan->resumed == NULL)
        return error_no_memory(err);
    TRY(slots_announce(caller, price_ms, err));
    TRY(slots_enter(app, caller, price_ms, err));
    enum status status = resume_some(plan, count, err);
    (void)slots_leave(app, caller, plan->live->spec.policy->name);
    return status;
}

static enum status compare_gain(struct db_conn *conn, void *arg, struct error *err)
{
    struct plan *plan = arg;
    bool         is_over;
    TRY(worth_is_over(conn, &plan->task, &plan->gain, &is_over, err));
    plan->end = is_over ? PLAN_NOT_WORTH : plan->end;
    return STATUS_OK;
}

/* Once for all proposals of a request: they wait for no result. */
enum status plan_ask_gain(struct plan *plan, struct error *err)
{
    const struct policy *policy = plan->live->spec.policy;
    struct app          *app = plan->task.app;
    const struct ask     ask = {
            .trial = (uint64_t)plan->live->told + 1, .late = is_late, .late_arg = plan, .deadline_ms = time_left(plan)};
    const struct price_model model = model_of(plan);
    double                   price_ms = price_gain(app, &model);
    TRY(slots_enter(app, plan->task.caller, price_ms, err));
    enum status status = policy->gain(plan->live->streams.session, &ask, &plan->gain, err);
    double      took_ms = slots_leave(app, plan->task.caller, policy->name);
    if (plan->time != PLAN_CUT)
        price_learn_part(app, PRICE_GAIN, price_ms, took_ms);
    return status == STATUS_OK ? db_read(app->db, compare_gain, plan, err) : status;
}

static enum status make_room(struct plan *plan, int64_t count, struct proposal **proposal, struct error *err)
{
    struct arena *arena = plan->task.caller->arena;
    plan->fresh = ARENA_NEW(arena, struct trial, (size_t)count);
    plan->notes = ARENA_NEW(arena, const void *, (size_t)count);
    plan->note_bytes = ARENA_NEW(arena, size_t, (size_t)count);
    plan->asked_len = ASKED_FIXED + (plan_fixed(plan, 0) == NULL ? 0 : plan->live->spec.space.params_len);
    plan->asked = arena_alloc(arena, (size_t)count, plan->asked_len * sizeof *plan->asked);
    *proposal = ARENA_NEW(arena, struct proposal, 1);
    bool has_room = plan->fresh != NULL && plan->notes != NULL && plan->note_bytes != NULL && plan->asked != NULL &&
                    *proposal != NULL;
    return has_room ? STATUS_OK : error_no_memory(err);
}

enum status plan_propose(struct plan *plan, int64_t count, struct error *err)
{
    struct proposal *proposal;
    TRY(make_room(plan, count, &proposal, err));
    enum status status = STATUS_OK;
    size_t      whole = 0;
    while (status == STATUS_OK && plan->time != PLAN_CUT && (int64_t)plan->fresh_len < count) {
        status = propose_next(plan, proposal, err);
        whole += status == STATUS_OK && plan->time != PLAN_CUT;
    }
    if (plan->time == PLAN_CUT)
        status = app_go_on(plan->task.app, plan->task.caller, err);
    bool is_short = status == STATUS_BUSY && strcmp(err->code, "deadline_exceeded") == 0 && whole > 0;
    if (status == STATUS_CONFLICT && strcmp(err->code, "search_space_exhausted") == 0)
        plan->end = strcmp(err->reason, USED_POINTS_ALL) == 0 ? PLAN_ALL_USED : PLAN_FIXED_USED;
    if (is_short)
        plan->fresh_len = whole;
    return is_short || plan->end != PLAN_GOES_ON ? STATUS_OK : status;
}

enum status plan_propose_part(struct plan *plan, struct error *err)
{
    struct proposal *proposal;
    TRY(make_room(plan, (int64_t)plan->part->len, &proposal, err));
    while (plan->fresh_len < plan->part->len && plan->time != PLAN_CUT)
        TRY(propose_next(plan, proposal, err));
    return plan->time == PLAN_CUT ? app_go_on(plan->task.app, plan->task.caller, err) : STATUS_OK;
}
