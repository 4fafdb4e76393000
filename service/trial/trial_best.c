/* See trial_best.h. */
#include "service/trial/trial_best.h"

#include "service/app/price.h"
#include "service/app/slots.h"
#include "service/session/session.h"
#include "service/store/rows.h"
#include "service/trial/trial.h"

#include <math.h>
#include <string.h>

enum {
    PIECE = 1000,     // points between two looks whether somebody still waits
    TRIALS_MAX = 2000 // as many as a model keeps: those with the best values
};

const char *const best_rule_names[] = {"auto", "observed", "model", NULL};

struct work {
    struct app        *app;
    struct caller     *caller;
    const char        *id;
    struct best_reply *out;
    struct live       *live;
    struct trial      *trials; /* [len] feasible */
    size_t             len;
    bool               has_stddev, has_repeats;
};

static enum status read_trials(struct db_conn *conn, void *arg, struct error *err)
{
    struct work   *work = arg;
    struct db_rows rows;
    TRY(db_find(conn, NULL, &rows, err, SQL_TRIAL_NOISE, BIND(TEXT(work->id))));
    work->has_stddev = row_noise(&rows)->has_stddev != 0;
    work->has_repeats = row_noise(&rows)->has_repeats != 0;
    if (!work->has_stddev && !work->has_repeats && work->out->rule != BEST_MODEL)
        return STATUS_OK;
    const struct spec_order order = spec_order(&work->out->study.spec);
    return rows_trials(
        db_query(conn, work->caller->arena, err, SQL_TRIAL_TOP,
                 BIND(TEXT(work->id), REAL(order.sign), REAL(order.low), REAL(order.high), INT(TRIALS_MAX))),
        &work->trials, &work->len, err);
}

static enum status predict(struct work *work, const struct prediction *wanted, struct error *err)
{
    return work->live->spec.policy->predict(work->live->streams.session, wanted, err);
}

/* The places of trials: points or rows, whichever the space has. */
struct places {
    double *points;
    size_t *rows;
};

static enum status find_places(struct work *work, struct places *out, struct error *err)
{
    const struct space *space = &work->live->spec.space;
    size_t              len = space_point_len(space);
    bool                on_rows = space->kind == SPACE_CANDIDATES;
    *out = (struct places){0};
    if (on_rows)
        out->rows = ARENA_NEW(work->caller->arena, size_t, work->len);
    else
        out->points = arena_alloc(work->caller->arena, work->len, len * sizeof(double));
    if (out->rows == NULL && out->points == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < work->len; i++)
        if (on_rows)
            out->rows[i] = (size_t)work->trials[i].row;
        else
            memcpy(out->points + i * len, work->trials[i].point, len * sizeof(double));
    return STATUS_OK;
}

/* The first of those with the best mean; of equal means, as at one point, the one with the best value. */
static enum status choose(struct work *work, struct error *err)
{
    const struct spec *spec = &work->live->spec;
    struct places      at;
    double             mean[PIECE], best = -HUGE_VAL, value = -HUGE_VAL;
    size_t             chosen = 0, len = space_point_len(&spec->space);
    TRY(find_places(work, &at, err));
    for (size_t from = 0; from < work->len; from += PIECE) {
        size_t m = work->len - from < PIECE ? work->len - from : PIECE;
        TRY(slots_go_on(work->app, work->caller, err));
        TRY(predict(work,
                    &(struct prediction){.points = at.points == NULL ? NULL : at.points + from * len,
                                         .rows = at.rows == NULL ? NULL : at.rows + from,
                                         .m = m,
                                         .mean = mean},
                    err));
        for (size_t i = 0; i < m; i++) {
            double own = spec_worth(spec, work->trials[from + i].value),
                   worth = spec_worth(spec, spec_sign(spec) * mean[i]);
            if (worth > best || (worth == best && own > value)) {
                best = worth;
                value = own;
                chosen = from + i;
            }
        }
    }
    struct best_reply *out = work->out;
    TRY(predict(work,
                &(struct prediction){.points = at.points == NULL ? NULL : at.points + chosen * len,
                                     .rows = at.rows == NULL ? NULL : at.rows + chosen,
                                     .m = 1,
                                     .mean = &out->mean,
                                     .sd = &out->stddev,
                                     .sd_observed = &out->stddev_observed},
                err));
    out->mean = spec_sign(spec) * out->mean;
    out->trial = work->trials[chosen];
    return STATUS_OK;
}

static enum status choose_in_slot(struct work *work, double price_ms, struct error *err)
{
    TRY(session_catch_up(work->app, work->caller, &work->out->study, work->live, err));
    TRY(slots_enter(work->app, work->caller, price_ms, err));
    enum status status = choose(work, err);
    double      took_ms = slots_leave(work->app, work->caller, work->live->spec.policy->name);
    if (status == STATUS_OK)
        price_learn_part(work->app, PRICE_MEANS, price_ms, took_ms);
    return status;
}

static enum status predict_places(struct work *work, struct error *err)
{
    const struct price_model model = session_price(work->app, &work->out->study);
    double                   price_ms = price_means(work->app, &model, (double)work->len);
    TRY(slots_announce(work->caller, price_ms, err));
    TRY(session_lock(work->app, work->caller, work->id, SESSION_ALONE, &work->live, err));
    enum status status = choose_in_slot(work, price_ms, err);
    session_unlock(work->app, work->live);
    return status;
}

/* A model of all values, over places that a trial is at. */
static bool has_model(const struct spec *spec)
{
    bool is_place = spec->space.kind == SPACE_PARAMETERS || spec->space.kind == SPACE_CANDIDATES;
    return spec->policy->predict != NULL && !spec->policy->is_local && is_place && spec->objectives == 1;
}

enum status trial_best_by(struct app *app, struct caller *caller, const char *id, enum best_rule rule,
                          struct best_reply *out, struct error *err)
{
    struct work work = {.app = app, .caller = caller, .id = id, .out = out};
    *out = (struct best_reply){.rule = rule, .mean = NAN, .stddev = NAN, .stddev_observed = NAN};
    TRY(trial_best(app, caller, id, &out->study, &out->trial, err));
    out->observed = out->trial.number;
    bool is_possible = has_model(&out->study.spec);
    if (rule == BEST_MODEL && !is_possible)
        return error_set(err, STATUS_CONFLICT, "no_model", "", "the algorithm %s has no model of all values",
                         out->study.spec.policy->name);
    if (rule != BEST_OBSERVED && is_possible && out->trial.number > 0)
        TRY(db_read(app->db, read_trials, &work, err));
    out->noisy = work.has_stddev ? "stddev" : work.has_repeats ? "repeats" : NULL;
    out->rule = work.len > 0 ? BEST_MODEL : BEST_OBSERVED;
    if (work.len == 0)
        return STATUS_OK;
    struct trial observed = out->trial;
    enum status  status = predict_places(&work, err);
    if (status == STATUS_NUMERIC && rule == BEST_AUTO) {
        out->trial = observed;
        out->rule = BEST_OBSERVED;
        return STATUS_OK;
    }
    return status;
}
