/* See clone.h. */
#include "service/trial/clone.h"

#include "service/app/app_transact.h"
#include "service/base/random.h"
#include "service/codec/codec_annotations.h"
#include "service/codec/codec_spec.h"
#include "service/codec/codec_study.h"
#include "service/codec/codec_trial.h"
#include "service/store/rows.h"
#include "service/trial/observe.h"
#include "service/study/study.h"
#include "service/portable/study_document.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CLONE_ROWS = 10000 }; /* taken for the rows that a clone writes, whatever their number */

struct work {
    struct task                 source;
    const struct clone_request *request;
    struct study_new new;
    struct study_creation creation;
    int64_t               space_revision; /* of the source, from which new is made */
    struct study          fresh;          /* as it is when the transaction begins, which may run twice */
    struct study         *out;
};

/* ---- what it is ---- */

static enum status check(const struct work *work, struct error *err)
{
    const struct study *source = &work->source.study;
    bool                is_of_rows = source->spec.space.kind == SPACE_CANDIDATES;
    if (source->spec.is_private || source->spec.federation != NULL)
        return error_set(err, STATUS_CONFLICT, "not_cloneable", "", "%s",
                         source->spec.is_private
                             ? "the study is private: its release and its budget are for it alone"
                             : "the study is an agent of a federation: its seat cannot be taken twice");
    if (work->request->with_results && !source->rules.is_shareable)
        return error_set(err, STATUS_FORBIDDEN, "not_shareable", "/trials", "no other study may learn from it");
    return work->request->with_results && is_of_rows
               ? error_set(err, STATUS_CONFLICT, "awaiting_candidates", "/trials",
                           "the new study has no candidates yet: upload them, then import the trials")
               : STATUS_OK;
}

/* Values stay where they are, so the metrics have other goals and bounds at most. */
static enum status check_metrics(const struct work *work, struct error *err)
{
    const struct spec *from = &work->source.study.spec, *to = &work->new.spec;
    bool               same = from->metrics_len == to->metrics_len && from->tracked_len == to->tracked_len;
    for (size_t k = 0; same && k < spec_metrics_all(from); k++)
        same = strcmp(from->metrics[k].name, to->metrics[k].name) == 0;
    return same
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "bad_combination", "/metrics",
                           "a clone has the metrics of its study, in their order: with other goals and bounds at most");
}

/* spec: NULL when it was refused. */
static enum status make_rules(struct work *work, struct reading *in, const struct spec *spec)
{
    struct study_new *new = &work->new;
    new->rules = work->source.study.rules;
    if (work->request->has_metrics) // a limit of other goals
        new->rules.better_than = (double)NAN;
    const char *change =
        work->request->rules == NULL ? "{}" : work->request->rules; // another algorithm may not allow them
    TRY(codec_rules_edit(in, spec, change, &new->rules));
    new->rules_text = codec_rules_text(&new->rules, in->arena);
    return new->rules_text == NULL ? error_no_memory(in->err) : STATUS_OK;
}

static enum status make_new(struct work *work, struct error *err)
{
    const struct study         *from = &work->source.study;
    const struct clone_request *request = work->request;
    struct study_new *new = &work->new;
    struct arena  *arena = work->source.caller->arena;
    struct reading in = {.arena = arena, .err = err, .problems = request->problems};
    enum status    whole = STATUS_OK;
    uint64_t       seed;
    *new = (struct study_new){STUDY_SAID(TAKE)};
    TRY(codec_read_on(&in, codec_study_edit(&in, request->said, new), &whole));
    TRY(random_bytes(&seed, sizeof seed, err));
    const char *change = request->spec == NULL ? "{}" : request->spec;
    enum status spec = STATUS_OK;
    TRY(codec_read_on(&in, codec_spec_change(&in, &from->spec, change, seed >> 11, &new->spec), &spec));
    bool is_known = spec == STATUS_OK;
    if (is_known)
        TRY(codec_read_on(&in, check_metrics(work, err), &spec));
    TRY(codec_read_on(&in, make_rules(work, &in, is_known ? &new->spec : NULL), &whole));
    TRY(whole);
    TRY(spec);
    new->spec_text = codec_spec_text(&new->spec, arena);
    return new->spec_text == NULL ? error_no_memory(err) : STATUS_OK;
}

/* The clone's algorithm learns from the same copies, whatever has become of the earlier studies. */
static enum status look(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    TRY(task_open(conn, &work->source, err));
    TRY(check(work, err));
    work->space_revision = work->source.study.space_revision;
    TRY(make_new(work, err));
    return transfer_snapshot(conn, work->source.id, &work->source.study.spec, work->source.caller->arena,
                             &work->creation.earlier, err);
}

/* ---- its results ---- */

static bool outcome_of(enum trial_state state, enum outcome *out)
{
    *out = state == TRIAL_COMPLETED ? OUTCOME_VALUE : state == TRIAL_INFEASIBLE ? OUTCOME_INFEASIBLE : OUTCOME_STOPPED;
    return state == TRIAL_COMPLETED || state == TRIAL_INFEASIBLE || state == TRIAL_STOPPED;
}

static enum status as_observation(struct db_conn *conn, struct work *work, struct trial *trial, enum outcome outcome,
                                  struct observation *item, struct error *err)
{
    struct arena *arena = work->source.caller->arena;
    *item = observation_none();
    item->point = trial->point;
    item->row = trial->row;
    item->outcome = outcome;
    item->value = trial->value;
    item->stddev = trial->stddev;
    item->values = trial->values;
    item->reason = trial->reason;
    item->external_id = trial->external_id;
    item->number = trial->number;
    item->worker = trial->worker;
    TRY(codec_annotations_patch(&trial->said, arena, &item->said, err));
    if (work->source.study.spec.stopping.kind == STOP_RULE_OFF)
        return STATUS_OK;
    TRY(rows_curve(conn, &work->source, trial, err));
    item->curve = trial->curve;
    item->curve_len = trial->curve_len;
    return STATUS_OK;
}

/* Whether the clone takes the trial: another algorithm may have no use for points outside of the space. */
static bool is_wanted(const struct work *work, const struct trial *trial, enum outcome *outcome)
{
    const struct spec *spec = &work->new.spec;
    return outcome_of(trial->state, outcome) &&
           (spec->policy->takes_outside || trial->point == NULL || !codec_is_outside(spec, trial->point));
}

struct page_of {
    struct trial       *trials;
    struct observation *items;
    size_t              trials_len, len;
};

static enum status read_page(struct db_conn *conn, struct work *work, int64_t last, struct page_of *out,
                             struct error *err)
{
    struct arena *arena = work->source.caller->arena;
    size_t        most = trial_points_max(&work->source.study.spec.space);
    enum outcome  outcome;
    *out = (struct page_of){0};
    TRY(rows_trials(db_query(conn, arena, err, SQL_TRIAL_LIST,
                             BIND(TEXT(work->source.id), INT(last), TEXT(""), INT((int64_t)most))),
                    &out->trials, &out->trials_len, err));
    out->items = ARENA_NEW(arena, struct observation, out->trials_len + 1);
    if (out->items == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < out->trials_len; i++)
        if (is_wanted(work, &out->trials[i], &outcome))
            TRY(as_observation(conn, work, &out->trials[i], outcome, &out->items[out->len++], err));
    return study_document_identify(&work->new.spec, work->source.id, out->items, out->len, arena, err);
}

/* Its path is that of an item, which the client did not send. */
static enum status say_where(enum status status, struct error *err)
{
    if (status != STATUS_OK && err != NULL && err->path[0] != '\0')
        snprintf(err->path, sizeof err->path, "/trials");
    return status;
}

/* Page by page, which memory is too small for all of them. */
static enum status copy_results(struct db_conn *conn, struct work *work, struct error *err)
{
    struct caller *caller = work->source.caller;
    struct page_of page = {.trials_len = 1};
    for (int64_t last = 0; page.trials_len > 0;) {
        struct arena_mark    mark = arena_mark(caller->arena);
        struct observe_reply reply;
        TRY(read_page(conn, work, last, &page, err));
        last = page.trials_len == 0 ? last : page.trials[page.trials_len - 1].number;
        const struct observe_request request = {.items = page.items, .len = page.len};
        if (page.len > 0)
            TRY(say_where(trial_observe_in(conn, &work->creation.task, &request, &reply, err), err));
        arena_release(caller->arena, mark);
    }
    return STATUS_OK;
}

/* ---- the whole ---- */

static enum status clone(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    struct task *task = &work->creation.task;
    TRY(task_open(conn, &work->source, err));
    const struct study *source = &work->source.study;
    if (source->space_revision != work->space_revision ||
        spec_metrics_all(&source->spec) != spec_metrics_all(&work->new.spec))
        return error_set(err, STATUS_BUSY, "busy", "", "the study's space or its metrics grow: ask again");
    task->study = work->fresh;
    TRY(study_create_in(conn, &work->creation, err));
    TRY(task_log(conn, task, "study.cloned", 0, work->source.id, err));
    TRY(task_save(conn, task, err));
    if (work->request->with_results)
        TRY(copy_results(conn, work, err));
    TRY(task_open(conn, task, err));
    *work->out = task->study;
    return STATUS_OK;
}

enum status study_clone(struct app *app, struct caller *caller, const char *id, const struct clone_request *request,
                        struct study *out, struct error *err)
{
    struct work work = {.source = task_of(app, caller, id), .request = request, .out = out};
    TRY(task_read(&work.source, look, err));
    struct transfer_sources same = work.creation.earlier;
    TRY(study_prepare(app, caller, &work.new, &work.creation, err));
    work.creation.out = out;
    work.creation.earlier = same;
    if (request->has_algorithm)
        TRY(study_learn(&work.creation, err));
    work.fresh = work.creation.task.study;
    caller->import_source = id;
    caller->writes = request->with_results ? CLONE_ROWS : 0;
    enum status status = app_transact(app, caller, clone, &work, err);
    caller->import_source = NULL;
    return status;
}
