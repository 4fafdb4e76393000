/* POST /v1/suggest: a session that lives for one request.  Nothing is stored. */
#include "engine/policy/session.h"
#include "service/app/memory.h"
#include "service/app/price.h"
#include "service/app/slots.h"
#include "service/codec/codec_trial.h"
#include "service/session/session.h"
#include "service/session/transfer_snapshot.h"
#include "service/suggest/stateless.h"

#include <math.h>
#include <string.h>

static enum status tell_one(const struct spec *spec, struct session *session, const struct event *event,
                            bool is_observed, struct error *err)
{
    struct event first = *event, context = *event;
    if (codec_is_outside(spec, event->point)) { // see tell_row() in session.c
        context.is_outside = true;
        return event->kind == EVENT_OBSERVED ? spec->policy->tell(session, &context, err) : STATUS_OK;
    }
    first.kind = EVENT_SUGGESTED;
    TRY(spec->policy->tell(session, &first, err));
    return is_observed ? spec->policy->tell(session, event, err) : STATUS_OK;
}

static enum status tell_all(const struct stateless_request *request, struct session *session, uint64_t *number,
                            struct error *err)
{
    static const enum event_kind kinds[] = {
        [OUTCOME_VALUE] = EVENT_OBSERVED, [OUTCOME_FAILED] = EVENT_FAILED, [OUTCOME_INFEASIBLE] = EVENT_INFEASIBLE};
    const struct spec *spec = &request->spec;
    for (size_t i = 0; i < request->observations_len; i++) {
        const struct observation *item = &request->observations[i];
        double                    values[SPEC_EVENT_VALUES];
        struct event              event = {.kind = kinds[item->outcome],
                                           .trial = ++*number,
                                           .point = item->point,
                                           .row = item->point == NULL ? (size_t)item->row : 0,
                                           .value = spec_sign(spec) * item->value,
                                           .sd = isnan(item->stddev) ? 0 : item->stddev,
                                           .values = spec_event_values(spec, item->values, values)};
        TRY(tell_one(spec, session, &event, true, err));
    }
    for (size_t i = 0; i < request->pending_len; i++) {
        struct event event = {.trial = ++*number};
        if (request->pending_rows != NULL)
            event.row = request->pending_rows[i];
        else
            event.point = request->pending + i * space_point_len(&spec->space);
        TRY(tell_one(spec, session, &event, false, err));
    }
    return STATUS_OK;
}

/* A request while it computes. */
struct work {
    struct app                     *app;
    struct caller                  *caller;
    const struct stateless_request *request;
    struct session                 *session;
    bool                            is_over;
};

static bool is_over(void *arg)
{
    struct work *work = arg;
    struct error why;
    work->is_over = work->is_over || slots_go_on(work->app, work->caller, &why) != STATUS_OK;
    return work->is_over;
}

static enum status propose_next(struct work *work, uint64_t number, struct trial *out, struct error *err)
{
    const struct stateless_request *request = work->request;
    const struct spec              *spec = &request->spec;
    struct arena                   *arena = work->caller->arena;
    double                         *point = ARENA_NEW(arena, double, 2 * (space_point_len(&spec->space) + 1));
    struct proposal                *proposal = ARENA_NEW(arena, struct proposal, 1);
    if (point == NULL || proposal == NULL)
        return error_no_memory(err);
    *proposal = (struct proposal){.point = point, .mean = NAN, .sd = NAN, .sd_observed = NAN};
    struct diagnostics diagnostics = {.length_scales = point + space_point_len(&spec->space) + 1};
    const struct ask   ask = {
          .trial = number, .fixed = request->fixed, .diagnostics = &diagnostics, .late = is_over, .late_arg = work};
    TRY(spec_check_context(spec, request->fixed, "/fixed", err));
    TRY(spec->policy->ask(work->session, &ask, proposal, err));
    bool        on_rows = spec->space.kind == SPACE_CANDIDATES;
    const char *why;
    *out = trial_none();
    out->number = (int64_t)number;
    out->state = TRIAL_RUNNING;
    out->point = on_rows ? NULL : point;
    out->row = on_rows ? (int64_t)proposal->row : -1;
    out->model.algorithm = spec_proposer(spec, number, &why)->name;
    out->model.fallback = proposal->fallback;
    out->model.observations = (int64_t)proposal->observations;
    out->model.mean = spec_sign(spec) * proposal->mean;
    out->model.stddev = proposal->sd;
    out->model.stddev_observed = proposal->sd_observed;
    TRY(codec_diagnostics(spec, spec->first, &diagnostics, arena, &out->model.diagnostics, err));
    const struct event event = {.kind = EVENT_SUGGESTED,
                                .trial = number,
                                .point = out->point,
                                .row = proposal->row,
                                .note = proposal->note,
                                .note_bytes = proposal->note_bytes};
    return spec->policy->tell(work->session, &event, err);
}

static enum status open_and_tell(struct work *work, const struct problem *problem, uint64_t *number, struct error *err)
{
    TRY(session_open(work->request->spec.policy, problem, &work->session, err));
    return tell_all(work->request, work->session, number, err);
}

/* Before the proposal of that number. */
static struct price_model model_of(const struct work *work, uint64_t number)
{
    const struct stateless_request *request = work->request;
    return (struct price_model){.spec = &request->spec,
                                .values = (double)request->observations_len,
                                .pending = (double)(number - 1 - request->observations_len),
                                .has_fit = number == request->observations_len + request->pending_len + 1};
}

static enum status propose_in_slot(struct work *work, uint64_t number, struct trial *out, struct error *err)
{
    const struct price_model model = model_of(work, number);
    TRY(slots_enter(work->app, work->caller, price_ask(work->app, &model), err));
    enum status status = propose_next(work, number, out, err);
    double      took_ms = slots_leave(work->app, work->caller, work->request->spec.policy->name);
    if (!work->is_over)
        price_learn(work->app, &model, took_ms);
    return is_over(work) ? app_go_on(work->app, work->caller, err) : status;
}

/* As propose() in suggest.c: a slot for each, and fewer than were asked for when the time or the space is at its end. */
static enum status run(struct work *work, const struct problem *problem, struct trial_page *out, struct error *err)
{
    uint64_t                        number = 0;
    const struct stateless_request *request = work->request;
    const struct price_model        model = model_of(work, 1 + request->observations_len + request->pending_len);
    TRY(slots_announce(work->caller, price_batch(work->app, &model, request->count), err));
    TRY(memory_hold(work->app, work->caller, price_bytes(work->app, &model), err));
    TRY(slots_enter(work->app, work->caller, price_tell(work->app, &model), err));
    enum status status = open_and_tell(work, problem, &number, err);
    slots_leave(work->app, work->caller, request->spec.policy->name);
    while (status == STATUS_OK && (int64_t)out->len < request->count) {
        status = propose_in_slot(work, ++number, &out->trials[out->len], err);
        out->len += status == STATUS_OK;
    }
    bool is_short = status == STATUS_CONFLICT || (status == STATUS_BUSY && strcmp(err->code, "deadline_exceeded") == 0);
    return is_short && out->len > 0 ? STATUS_OK : status;
}

enum status trial_suggest_stateless(struct app *app, struct caller *caller, const struct stateless_request *request,
                                    struct trial_page *out, struct error *err)
{
    if ((size_t)request->count > trial_points_max(&request->spec.space))
        return error_set(err, STATUS_INVALID, "out_of_range", "/count",
                         "at most %zu points of this size go into a reply", trial_points_max(&request->spec.space));
    if (request->spec.federation != NULL)
        return error_set(err, STATUS_INVALID, "not_supported", "/algorithm/federation",
                         "nothing is stored here, so it cannot be an agent of a federation");
    *out = (struct trial_page){.trials = ARENA_NEW(caller->arena, struct trial, (size_t)request->count)};
    if (out->trials == NULL)
        return error_no_memory(err);
    if (request->spec.earlier.is_auto && request->spec.earlier.ids == NULL)
        return error_set(err, STATUS_INVALID, "not_supported", "/algorithm/meta",
                         "nothing is stored here, so what was picked would not stay: name the earlier studies");
    struct transfer_sources earlier;
    TRY(transfer_collect(app, caller, &request->spec, &earlier, err));
    TRY(transfer_check_rows(&request->spec, &earlier, err));
    const struct problem problem = session_problem(&request->spec, &earlier, app->options.session_bytes);
    struct work          work = {.app = app, .caller = caller, .request = request};
    enum status          status = run(&work, &problem, out, err);
    session_close(work.session);
    return status;
}
