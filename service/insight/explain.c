/* See explain.h.  Everything comes from the log up to the line that the suggestion had seen, and from what it left behind;
 * nothing is fitted or asked again. */
#include "service/insight/explain.h"

#include "engine/gp/kernel.h"
#include "engine/registry.h"
#include "service/codec/codec_trial.h"
#include "service/session/session.h"
#include "service/store/ask_inputs.h"
#include "service/store/rows.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const explain_stage_names[] = {"given", "drawn", "initial", "model", "fallback"};

enum { SENTENCE_MAX = 1000 };

struct known { /* a trial, as it was then */
    int64_t       number;
    const double *point;
    int64_t       row;
    bool          is_pending, is_observed, is_feasible;
    double        value;
};
struct work {
    struct task         task;
    struct explanation *out;
    int64_t             number;
    struct known       *known; /* [known_len] by number, from 1 */
    size_t              known_len;
    struct row_made     made;
    bool                has_made;
};

/* ---- what was known ---- */

static void keep_value(struct known *known, const struct spec *spec, const struct row_replay *row)
{
    known->is_observed = true;
    known->is_pending = false;
    known->value = row->value;
    known->is_feasible = spec_is_feasible(spec, row->outcome.bytes) && !codec_is_outside(spec, row->point.bytes);
}

static enum status keep(struct work *work, const struct row_replay *row, struct error *err)
{
    static const char *const opens[] = {"trial.suggested", "trial.queued",  "trial.added",
                                        "trial.retried",   "trial.resumed", NULL};
    static const char *const ends[] = {"trial.infeasible", "trial.failed", "trial.abandoned", "trial.stopped", NULL};
    const struct spec       *spec = &work->task.study.spec;
    work->out->broadcasts += strcmp(row->kind, "federation.received") == 0;
    if (row->trial <= 0 || row->trial > (int64_t)work->known_len || row->trial == work->number)
        return STATUS_OK;
    struct known *known = &work->known[row->trial - 1];
    bool is_end = row->state != NULL && row->revision == row->ended; // of a corrected trial, the result it has now
    if (strcmp(is_end ? row->state : row->kind, is_end ? "completed" : "trial.observed") == 0)
        keep_value(known, spec, row);
    known->is_pending = known->is_pending && !is_end;
    for (size_t i = 0; ends[i] != NULL; i++)
        known->is_pending = known->is_pending && strcmp(row->kind, ends[i]) != 0;
    for (size_t i = 0; opens[i] != NULL; i++)
        if (strcmp(row->kind, opens[i]) == 0) {
            size_t bytes = space_point_len(&spec->space) * sizeof(double);
            known->number = row->trial;
            known->is_pending = true;
            known->row = row->row;
            if (spec->space.kind == SPACE_PARAMETERS && known->point == NULL) {
                double *point = arena_alloc(work->task.caller->arena, bytes, 1);
                if (point == NULL)
                    return error_no_memory(err);
                known->point = memcpy(point, row->point.bytes, bytes);
            }
        }
    return STATUS_OK;
}

/* Up to the line seen, and of what came before the line made the suggestions: its batch. */
static enum status read_known(struct db_conn *conn, struct work *work, struct error *err)
{
    int64_t last = work->has_made ? work->made.revision : 0;
    int64_t seen = work->out->trial.model.algorithm == NULL ? last - 1 : work->made.seen;
    TRY(rows_baseline(conn, work->task.id, seen, work->task.caller->arena, &work->task.study.spec, err));
    struct db_rows rows =
        db_query(conn, NULL, err, SQL_EVENT_REPLAY, BIND(TEXT(work->task.id), INT(0), INT(last - 1), INT(last - 1)));
    while (db_next(&rows)) {
        const struct row_replay *row = row_replay(&rows);
        if (row->revision <= seen || strcmp(row->kind, "trial.suggested") == 0)
            rows.status = keep(work, row, err);
    }
    return db_done(&rows);
}

static enum status read_all(struct db_conn *conn, void *arg, struct error *err)
{
    struct work        *work = arg;
    struct explanation *out = work->out;
    struct arena       *arena = work->task.caller->arena;
    struct db_rows      rows;
    TRY(task_open(conn, &work->task, err));
    TRY(rows_trial_get(conn, &work->task, work->number, &out->trial, err));
    out->study = work->task.study;
    TRY(db_find(conn, arena, &rows, err, SQL_TRIAL_MADE, BIND(TEXT(work->task.id), INT(work->number))));
    work->has_made = row_made(&rows) != NULL;
    if (work->has_made)
        work->made = *row_made(&rows);
    work->known_len = (size_t)work->number;
    work->known = arena_zalloc(arena, work->known_len, sizeof *work->known);
    if (work->known == NULL)
        return error_no_memory(err);
    if (out->study.spec.policy->read_transfer != NULL)
        TRY(transfer_snapshot(conn, work->task.id, &out->study.spec, arena, &out->earlier, err));
    return read_known(conn, work, err);
}

/* ---- what follows from it ---- */

static bool is_drawn(const struct trial *trial)
{
    const struct policy *policy = policy_find(trial->model.algorithm);
    return policy != NULL && policy->only_draws;
}

static void find_stage(struct explanation *out)
{
    bool has_model = out->model.kernel != NULL || !isnan(out->trial.model.mean);
    out->stage = out->trial.model.algorithm == NULL  ? EXPLAIN_GIVEN
                 : out->trial.model.fallback != NULL ? EXPLAIN_FALLBACK
                 : is_drawn(&out->trial)             ? EXPLAIN_DRAWN
                 : has_model                         ? EXPLAIN_MODEL
                                                     : EXPLAIN_INITIAL;
}

static void summarise(const struct work *work, struct explanation *out)
{
    const struct spec *spec = &out->study.spec;
    out->best_value = NAN;
    for (size_t i = 0; i < work->known_len; i++) {
        const struct known *known = &work->known[i];
        out->observations += known->is_observed;
        bool is_better = isnan(out->best_value) || spec_worth(spec, known->value) > spec_worth(spec, out->best_value);
        if (known->is_observed && known->is_feasible && spec->objectives == 1 && is_better) {
            out->best_value = known->value;
            out->best_trial = known->number;
        }
        if (known->is_pending)
            out->pending[out->pending_count++ % EXPLAIN_PENDING] = known->number;
    }
}

static int by_distance(const void *a, const void *b)
{
    const struct explain_neighbour *x = a, *y = b;
    return x->distance != y->distance ? (x->distance > y->distance) - (x->distance < y->distance)
                                      : (x->trial > y->trial) - (x->trial < y->trial);
}

static const struct kernel_kind *kind_of(const char *name)
{
    for (size_t i = 0; name != NULL && i < KERNELS; i++)
        if (strcmp(kernel_names[i], name) == 0)
            return kernel_kinds[i];
    return NULL;
}

/* [dims]: the model's length-scales, or ones; of rows there is one for all. */
static void fill_lengths(const struct space *space, const struct explanation *out, bool is_known, double *lengths)
{
    if (space->kind == SPACE_CANDIDATES) {
        for (size_t j = 0; j < space->columns; j++)
            lengths[j] = is_known ? out->model.length_scales[0] : 1;
        return;
    }
    for (size_t i = 0, j = 0; i < space->params_len; i++)
        for (size_t k = 0; k < param_width(&space->params[i]); k++)
            lengths[j++] = is_known ? out->model.length_scales[i] : 1;
}

/* Where a row or a point is; room [dims] for the point. */
static const double *place_of(const struct space *space, int64_t row, const double *point, double *room)
{
    if (space->kind == SPACE_CANDIDATES)
        return space->rows + (size_t)row * space->columns;
    space_encode(space, point, room);
    return room;
}

/* Measures the distance of every observed trial from here, at [dims] each, and keeps the nearest.  space: with its rows. */
static enum status measure(struct work *work, const struct space *space, struct error *err)
{
    struct explanation       *out = work->out;
    struct arena             *arena = work->task.caller->arena;
    const struct kernel_kind *kind = kind_of(out->model.kernel);
    size_t                    dims = space->kind == SPACE_CANDIDATES ? space->columns : space->dims, len = 0;
    double                   *u = ARENA_NEW(arena, double, dims), *at = ARENA_NEW(arena, double, dims), r2;
    double                   *lengths = ARENA_NEW(arena, double, dims);
    struct explain_neighbour *all = ARENA_NEW(arena, struct explain_neighbour, work->known_len);
    if (u == NULL || at == NULL || lengths == NULL || all == NULL)
        return error_no_memory(err);
    fill_lengths(space, out, kind != NULL, lengths);
    struct kernel kernel = {
        .kind = kind == NULL ? &kernel_se : kind, .dims = dims, .variance = 1, .length_scales = lengths};
    const double *here = place_of(space, out->trial.row, out->trial.point, u);
    for (size_t i = 0; i < work->known_len; i++) {
        const struct known *known = &work->known[i];
        if (!known->is_observed)
            continue;
        kernel_distances(&kernel, here, place_of(space, known->row, known->point, at), 1, &r2);
        all[len++] = (struct explain_neighbour){.trial = known->number,
                                                .distance = sqrt(r2),
                                                .correlation = kind == NULL ? NAN : kernel_value(kind, r2),
                                                .value = known->value};
    }
    qsort(all, len, sizeof *all, by_distance);
    out->nearest_len = len < EXPLAIN_NEAREST ? len : EXPLAIN_NEAREST;
    memcpy(out->nearest, all, out->nearest_len * sizeof *all);
    return STATUS_OK;
}

/* Rows lie in the study's session.  Those of a private study stay numbers: their distances would say where they lie. */
static enum status measure_rows(struct work *work, struct error *err)
{
    struct app    *app = work->task.app;
    struct caller *caller = work->task.caller;
    struct live   *live;
    if (work->out->study.spec.is_private || work->out->observations == 0)
        return STATUS_OK;
    TRY(session_lock(app, caller, work->task.id, SESSION_ALONE, &live, err));
    enum status status = session_catch_up(app, caller, &work->out->study, live, err);
    if (status == STATUS_OK)
        status = measure(work, &live->spec.space, err);
    session_unlock(app, live);
    return status;
}

static enum status find_transfer(struct work *work, struct error *err)
{
    const struct policy   *policy = work->out->study.spec.policy;
    struct transfer_state *state = ARENA_NEW(work->task.caller->arena, struct transfer_state, 1);
    if (state == NULL)
        return error_no_memory(err);
    if (policy->read_transfer != NULL && work->has_made &&
        streams_read_transfer(policy, work->made.note.bytes, work->made.note.length, state))
        work->out->transfer = state;
    return STATUS_OK;
}

/* ---- in words ---- */

struct text {
    char  *at;
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *text, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int count = vsnprintf(text->at + text->len, SENTENCE_MAX - text->len, format, values);
    va_end(values);
    text->len += count < 0 ? 0 : (size_t)count;
    text->len = text->len < SENTENCE_MAX ? text->len : SENTENCE_MAX - 1;
}

static void say_stage(const struct explanation *out, struct text *text)
{
    const char *name = out->trial.model.algorithm;
    say(text, "Trial %lld ", (long long)out->trial.number);
    if (out->stage == EXPLAIN_GIVEN)
        say(text, "is at a point that a user gave%s",
            codec_is_outside(&out->study.spec, out->trial.point) ? ", outside the space" : "");
    if (out->stage == EXPLAIN_DRAWN && out->trial.model.observations == 0)
        say(text, "was drawn by %s, which has no model and looked at no value", name);
    if (out->stage == EXPLAIN_DRAWN && out->trial.model.observations > 0)
        say(text, "was drawn by %s, from where the best of %lld results have led it", name,
            (long long)out->trial.model.observations);
    if (out->stage == EXPLAIN_INITIAL)
        say(text, "belongs to the initial design of %s, which spreads points before its model is asked", name);
    if (out->stage == EXPLAIN_FALLBACK)
        say(text, "is a point of the initial design's kind, because the model of %s could not be used (%s)", name,
            out->trial.model.fallback);
    if (out->stage == EXPLAIN_MODEL)
        say(text, "was chosen by the model of %s from %lld observations", name,
            (long long)out->trial.model.observations);
}

static void say_model(const struct explanation *out, struct text *text)
{
    if (out->model.acquisition != NULL)
        say(text, ", as the place where %s was highest (%.4g)", out->model.acquisition, out->model.acquisition_value);
    if (!isnan(out->trial.model.mean))
        say(text, "; it expected %.6g there, give or take %.2g", out->trial.model.mean, out->trial.model.stddev);
    if (out->best_trial > 0)
        say(text, ", when the best was %.6g (trial %lld)", out->best_value, (long long)out->best_trial);
}

static void say_earlier(const struct explanation *out, struct text *text)
{
    const struct transfer_sources *earlier = &out->earlier;
    bool                           lacks[SPACE_PARAMS_MAX];
    size_t                         count = 0;
    for (size_t i = 0; i < earlier->len; i++)
        count += earlier->studies[i].points != NULL &&
                 space_lacks(&out->study.spec.space, earlier->studies[i].points, earlier->studies[i].n, lacks);
    say(text, "; earlier studies had %.0f %% of the say", 100 * out->transfer->nu);
    if (count > 0)
        say(text, ", %zu of %zu by the parameters that they share with this one", count, earlier->len);
}

/* A space that has grown since may say another one now. */
static void say_choice(const struct explanation *out, struct text *text)
{
    const struct spec   *spec = &out->study.spec;
    const char          *name = out->trial.model.algorithm, *why;
    const struct policy *policy = spec_proposer(spec, (uint64_t)out->trial.number, &why);
    if (why != NULL && name != NULL && strcmp(policy->name, name) == 0)
        say(text, "; %s left it to %s: %s", spec->policy->name, name, why);
}

static void say_federation(const struct explanation *out, struct text *text)
{
    if (out->broadcasts > 0)
        say(text, "; %lld rounds of the federation had come in", (long long)out->broadcasts);
    if (out->model.release.weight > 0)
        say(text, "; the release of the federation was %s, which explained the values with a probability of %.2g",
            out->model.release.is_followed ? "followed" : "not followed", out->model.release.weight);
}

static void say_all(const struct explanation *out, struct text *text)
{
    say_stage(out, text);
    if (out->stage == EXPLAIN_MODEL)
        say_model(out, text);
    say_choice(out, text);
    if (out->stage != EXPLAIN_GIVEN && out->nearest_len > 0)
        say(text, "; the nearest observation was trial %lld, %.3g %s away", (long long)out->nearest[0].trial,
            out->nearest[0].distance, out->model.kernel != NULL ? "length-scales" : "sides of the space");
    if (out->stage != EXPLAIN_GIVEN && out->pending_count > 0)
        say(text, "; %lld pending %s counted", (long long)out->pending_count,
            out->pending_count == 1 ? "trial" : "trials");
    if (out->transfer != NULL)
        say_earlier(out, text);
    say_federation(out, text);
    if (out->fixed != NULL)
        say(text, "; values were fixed by the request");
    say(text, ".");
}

enum status trial_explain(struct app *app, struct caller *caller, const char *study, int64_t number,
                          struct explanation *out, struct error *err)
{
    struct work work = {.task = task_of(app, caller, study), .out = out, .number = number};
    struct text text = {.at = ARENA_NEW(caller->arena, char, SENTENCE_MAX)};
    *out = (struct explanation){.best_value = NAN};
    TRY(task_read(&work.task, read_all, err));
    const struct spec *spec = &out->study.spec;
    out->model.length_scales = ARENA_NEW(caller->arena, double, space_point_len(&spec->space) + 1);
    if (text.at == NULL || out->model.length_scales == NULL)
        return error_no_memory(err);
    TRY(codec_diagnostics_read(spec, out->trial.model.diagnostics, caller->arena, &out->model, err));
    find_stage(out);
    summarise(&work, out);
    if (spec->space.kind == SPACE_PARAMETERS)
        TRY(measure(&work, &spec->space, err));
    if (spec->space.kind == SPACE_CANDIDATES)
        TRY(measure_rows(&work, err));
    if (work.has_made && work.made.asked.length > ASKED_FIXED * sizeof(double))
        out->fixed = ((const struct ask_inputs *)work.made.asked.bytes)->fixed;
    TRY(find_transfer(&work, err));
    say_all(out, &text);
    out->sentence = text.at;
    return STATUS_OK;
}
