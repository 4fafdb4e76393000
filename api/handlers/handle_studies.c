/* Studies: create, list, read, edit, change state, delete. */
#include "api/handlers/handlers.h"
#include "api/core/reply.h"
#include "api/handlers/show.h"
#include "api/core/route.h"
#include "api/base/json_text.h"
#include "service/app/app_transact.h"
#include "service/app/study_cache.h"
#include "service/base/text.h"
#include "service/codec/codec_grow.h"
#include "service/codec/codec_spec.h"
#include "service/member/codec_write.h"
#include "service/codec/codec_study.h"
#include "service/study/grow.h"
#include "service/trial/clone.h"
#include "service/study/track.h"
#include "service/study/study.h"

#include <string.h>

#define GIVEN(...)  CODEC_MEMBER(study_new, , __VA_ARGS__)
#define EDITED(...) CODEC_EDIT(study_new, , __VA_ARGS__)
// clang-format off
static const struct member studies_post_body[] = {
    NAMED(GIVEN)
    {.name = "", .members = codec_spec_members},
    {.name = "", .members = codec_rules_members},
    STUDY_LABELLED(GIVEN) STUDY_NOTED(GIVEN)
    {.name = NULL},
};
// clang-format on
static enum status read_new(struct call *call, struct error *err);
const struct form  form_studies_post = {.body = studies_post_body, .bytes = sizeof(struct study_new), .rest = read_new};

static json_t *render_study(struct call *call, const void *result)
{
    const struct study *study = result;
    call->reply.etag = reply_etag(call, study->version, study->revision);
    if (call->reply.http == 201)
        call->reply.location = text_format(&call->arena, "/v1/studies/%s", study->id);
    return codec_study_json(study);
}

/* Reads what the tables leave of the body of a new study. */
static enum status read_new(struct call *call, struct error *err)
{
    struct study_new *new = call->input;
    struct reading in = {.arena = &call->arena, .err = err, .problems = &call->problems};
    enum status    whole = STATUS_OK;
    size_t         length;
    json_auto_t   *rules = codec_pick(codec_rules_members, call->json);
    TRY(rules == NULL ? error_no_memory(err) : STATUS_OK);
    TRY(codec_read_on(&in, show_read_spec(call, json_object_get(call->json, "space"), &new->spec, err), &whole));
    const struct spec *spec = whole == STATUS_OK ? &new->spec : NULL;
    TRY(codec_read_on(&in, codec_rules_read(&in, rules, spec, &new->rules), &whole));
    TRY(whole);
    json_auto_t *json = codec_spec_json(spec);
    new->spec_text = json == NULL ? NULL : json_text(json, &call->arena, &length);
    new->rules_text = codec_rules_text(&new->rules, &call->arena);
    return new->spec_text == NULL || new->rules_text == NULL ? error_no_memory(err) : STATUS_OK;
}

enum status handle_studies_post(struct call *call, struct error *err)
{
    return study_create(call->app, &call->caller, call->input, CALL_RESULT(call, struct study, 201, render_study), err);
}

/* ---- by name ---- */

// clang-format off
static const struct member named_put_body[] = {
    NAMED(EDITED)
    {.name = "", .members = codec_spec_members},
    {.name = "", .members = codec_rules_members},
    STUDY_LABELLED(GIVEN) STUDY_NOTED(GIVEN)
    {.name = NULL},
};
// clang-format on
static enum status read_named(struct call *call, struct error *err);
const struct form  form_named_put = {.body = named_put_body, .bytes = sizeof(struct study_new), .rest = read_named};

static json_t *render_ensured(struct call *call, const void *result)
{
    const struct study_ensured *ensured = result;
    call->reply.http = ensured->is_new ? 201 : 200;
    return render_study(call, &ensured->study);
}

/* The name of the path, which the body may say, too. */
static enum status take_name(struct call *call, struct study_new *new, struct error *err)
{
    const char *name = call->params[0];
    size_t      characters = codec_read_characters(name);
    if (characters < 1 || characters > 200 || !codec_is_utf8(name, strlen(name)))
        return error_set(err, STATUS_INVALID, "out_of_range", "/name", "must have 1 to 200 characters");
    if (new->name != NULL && strcmp(new->name, name) != 0)
        return error_set(err, STATUS_INVALID, "bad_combination", "/name", "is another one in the address");
    new->name = name;
    return STATUS_OK;
}

static enum status read_named(struct call *call, struct error *err)
{
    TRY(take_name(call, call->input, err));
    return read_new(call, err);
}

enum status handle_named_put(struct call *call, struct error *err)
{
    struct study_new *new = call->input;
    const struct study_wanted wanted = {.new = new,
                                        .given = {.seed = json_object_get(call->json, "seed") != NULL,
                                                  .algorithm = json_object_get(call->json, "algorithm") != NULL},
                                        .differences = &call->problems};
    return study_ensure(call->app, &call->caller, &wanted, CALL_RESULT(call, struct study_ensured, 200, render_ensured),
                        err);
}

/* ---- list ---- */

struct studies_get_input {
    struct study_filter filter;
    int                 is_basic;
    const char         *order;
    const json_t       *label;
};
static const char *const   study_orders[] = {"created", "-created", "updated", "-updated", NULL};
static const struct member studies_get_query[] = {
    {AS(studies_get_input, filter.states, "state"), .is_many = true, .read = codec_read_set,
     .names = study_state_names},
    {AS(studies_get_input, filter.name, "name"), .read = codec_read_text, .min = 1, .max = 200},
    {AS(studies_get_input, filter.name_part, "name_contains"), .read = codec_read_text, .min = 1, .max = 200},
    {AS(studies_get_input, filter.owner, "owner"), .read = codec_read_text, .min = 1, .max = 200},
    {AS(studies_get_input, filter.owner_part, "owner_contains"), .read = codec_read_text, .min = 1, .max = 200},
    {AT(studies_get_input, label), .is_many = true, .read = codec_read_kept},
    {AS(studies_get_input, filter.updated_since_ms, "updated_since"), .read = codec_read_time},
    {AT(studies_get_input, order), .read = codec_read_name, .names = study_orders},
    VIEWED(studies_get_input),
    {AS(studies_get_input, filter.with_sparkline, "sparkline"), .read = codec_read_bool},
    PAGED(studies_get_input, filter.),
    {.name = NULL},
};
const struct form form_studies_get = {.query = studies_get_query, .bytes = sizeof(struct studies_get_input)};

static const char *const  not_large[] = {"space", NULL};
const struct shown        shown_study = {.members = codec_study_members};
const struct shown        shown_studies = {.members = codec_study_members, PAGE(study_page, studies)};
static const struct shown shown_basic = {
    .members = codec_study_members, .without = not_large, PAGE(study_page, studies)};

static json_t *render_studies(struct call *call, const void *result)
{
    const struct studies_get_input *input = call->input;
    return show_as(call, input->is_basic ? &shown_basic : &shown_studies, result);
}

enum status handle_studies_get(struct call *call, struct error *err)
{
    struct studies_get_input *input = call->input;
    struct study_filter      *filter = &input->filter;
    const struct show_order   order = show_order(study_orders, input->order == NULL ? "-created" : input->order);
    filter->order = (enum study_order)order.order;
    filter->is_up = !order.is_down;
    TRY(show_read_labels(call, input->label, filter->labels, STUDY_LABELS_ASKED_MAX, err));
    return study_list(call->app, &call->caller, filter, CALL_RESULT(call, struct study_page, 200, render_studies), err);
}

/* ---- one ---- */

static void show_view(struct call *call, const struct study_view *view)
{
    call->reply.etag = reply_etag(call, view->version, view->revision);
    reply_text(call, "application/json", view->json, view->json_bytes);
}

bool handle_study_get_cached(struct call *call)
{
    struct study_view view;
    if (!study_cache_get(call->app, call->params[0], caller_is_bound(&call->caller), &call->arena, &view))
        return false;
    show_view(call, &view);
    return true;
}

enum status handle_study_get(struct call *call, struct error *err)
{
    struct study      study;
    struct study_view view;
    uint64_t          generation = study_cache_generation(call->app);
    TRY(study_show(call->app, &call->caller, call->params[0], &study, err));
    json_t *json = codec_study_json(&study);
    view.json = json == NULL ? NULL : json_text(json, &call->arena, &view.json_bytes);
    view.version = study.version;
    view.revision = study.revision;
    view.is_bound = caller_is_bound(&call->caller);
    json_decref(json);
    if (view.json == NULL)
        return error_no_memory(err);
    study_cache_put(call->app, study.id, &view, generation);
    show_view(call, &view);
    return STATUS_OK;
}

/* ---- edit ---- */

/* Members that suggestions are made from cannot be edited. */
#define FIXED(member)                                                                        \
    {                                                                                        \
        .name = member, .refused = "what was suggested was made from it: make another study" \
    }
// clang-format off
static const struct member study_patch_body[] = {
    NAMED(EDITED)
    {.name = "", .members = codec_rules_members},
    STUDY_LABELLED(EDITED) STUDY_NOTED(EDITED)
    FIXED("metrics"), FIXED("space"), FIXED("baseline"), FIXED("algorithm"), FIXED("stopping"), FIXED("seed"),
    {.name = NULL},
};
// clang-format on
static enum status read_edit(struct call *call, struct error *err);
const struct form  form_study_patch = {.body = study_patch_body, .bytes = sizeof(struct study_new), .rest = read_edit};

/* The members of the table that the body has, as text; NULL: none. */
static enum status picked_text(struct call *call, const struct member *members, const char **out, struct error *err)
{
    size_t  length;
    json_t *json = codec_pick(members, call->json);
    bool    has_any = json == NULL || json_object_size(json) > 0;
    *out = json == NULL || !has_any ? NULL : json_text(json, &call->arena, &length);
    json_decref(json);
    return has_any && *out == NULL ? error_no_memory(err) : STATUS_OK;
}

/* The transaction makes the change by the study as it is then; here all that is wrong with it is named. */
static enum status read_edit(struct call *call, struct error *err)
{
    struct reading    in = show_reading(call, NULL, err);
    enum status       whole = STATUS_OK;
    struct study_edit edit;
    struct study      study, *from = &study;
    TRY(picked_text(call, codec_study_edit_members, &edit.said, err));
    TRY(picked_text(call, codec_rules_members, &edit.rules, err));
    TRY(study_find(call->app, &call->caller, call->params[0], &study, err));
    struct study_new said = {STUDY_SAID(TAKE)};
    TRY(codec_read_on(&in, codec_study_edit(&in, edit.said, &said), &whole));
    if (edit.rules == NULL)
        return whole;
    TRY(codec_read_on(&in, codec_rules_edit(&in, &study.spec, edit.rules, &study.rules), &whole));
    return whole;
}

enum status handle_study_patch(struct call *call, struct error *err)
{
    struct study_edit edit;
    if (call->if_match == NULL)
        return error_set(err, STATUS_INVALID, "precondition_required", "",
                         "If-Match must name the ETag that was read, or *");
    TRY(picked_text(call, codec_study_edit_members, &edit.said, err));
    TRY(picked_text(call, codec_rules_members, &edit.rules, err));
    return study_patch(call->app, &call->caller, call->params[0], &edit,
                       CALL_RESULT(call, struct study, 200, render_study), err);
}

/* ---- clone ---- */

struct clone_input {
    struct study_new new;
    int           trials;
    const json_t *metrics, *algorithm, *stopping, *seed;
};
#define SAME(member)                                                                            \
    {                                                                                           \
        .name = member, .refused = "a clone has that of its study: create a study with another" \
    }
#define CLONED(...)  CODEC_MEMBER(clone_input, new., __VA_ARGS__)
#define CHANGED(...) CODEC_EDIT(clone_input, new., __VA_ARGS__)
static const char *const clone_trials[] = {"none", "completed", NULL};
// clang-format off
static const struct member study_clone_body[] = {
    NAMED(CLONED)
    {AT(clone_input, trials), .read = codec_read_choice, .names = clone_trials},
    {AT(clone_input, metrics), .read = codec_read_kept},
    {AT(clone_input, algorithm), .read = codec_read_kept},
    {AT(clone_input, stopping), .read = codec_read_kept},
    {AT(clone_input, seed), .read = codec_read_kept},
    {.name = "", .members = codec_rules_members},
    STUDY_LABELLED(CHANGED) STUDY_NOTED(CHANGED)
    SAME("space"), SAME("baseline"),
    {.name = NULL},
};
// clang-format on

enum status handle_study_clone(struct call *call, struct error *err)
{
    const struct clone_input *input = call->input;
    struct clone_request      request = {.has_algorithm = input->algorithm != NULL,
                                         .has_metrics = input->metrics != NULL,
                                         .with_results = input->trials == 1,
                                         .problems = &call->problems};
    TRY(picked_text(call, codec_study_edit_members, &request.said, err));
    TRY(picked_text(call, codec_spec_members, &request.spec, err));
    TRY(picked_text(call, codec_rules_members, &request.rules, err));
    struct study *out = CALL_RESULT(call, struct study, 201, render_study);
    return study_clone(call->app, &call->caller, call->params[0], &request, out, err);
}

const struct form form_study_clone = {.body = study_clone_body, .bytes = sizeof(struct clone_input), .reads_on = true};

static enum status move(struct call *call, enum study_verb verb, struct error *err)
{
    return study_move(call->app, &call->caller, call->params[0], verb,
                      CALL_RESULT(call, struct study, 200, render_study), err);
}

HANDLE_MOVE(study_pause, STUDY_PAUSE)
HANDLE_MOVE(study_resume, STUDY_RESUME)
HANDLE_MOVE(study_complete, STUDY_COMPLETE)
HANDLE_MOVE(study_reopen, STUDY_REOPEN)

HANDLE_DELETE(study_delete, study_delete)

/* ---- grow ---- */

struct space_grow_input {
    const json_t *parameters;
    int64_t       space_revision;
    bool          knows_space; /* the body has space_revision */
};
static const struct member space_grow_body[] = {
    {AT(space_grow_input, parameters), .required = true, .read = codec_read_kept},
    {AT(space_grow_input, space_revision), .read = codec_read_integer, .min = 0, .max = 9007199254740991.0},
    {.name = NULL},
};

const struct form form_space_grow = {
    .body = space_grow_body, .bytes = sizeof(struct space_grow_input), .reads_on = true};

static enum status grow(struct call *call, struct study *out, struct error *err)
{
    const struct space_grow_input *input = call->input;
    struct study                   study;
    struct growth                  growth;
    call->caller.space_of[0] = '\0';
    TRY(app_replay(call->app, &call->caller, err));
    if (call->caller.idempotency.replayed)
        return STATUS_OK;
    TRY(study_find(call->app, &call->caller, call->params[0], &study, err));
    if (call->problems.len > 0 && input->parameters == NULL)
        return problems_first(&call->problems, err);
    if (call->problems.len == 0 && input->knows_space && input->space_revision != study.space_revision)
        return error_set(err, STATUS_CONFLICT, "space_grew", "/space_revision",
                         "the study's space is that of revision %lld", (long long)study.space_revision);
    struct reading in = {.arena = &call->arena, .err = err, .problems = &call->problems};
    TRY(codec_grow(&in, &study.spec, input->parameters, &growth));
    return study_grow(call->app, &call->caller, study.id, &growth, out, err);
}

enum { TIMES = 10 };
/* When another request has let the space grow meanwhile, this growth is added to that one. */
enum status handle_space_grow(struct call *call, struct error *err)
{
    struct space_grow_input *input = call->input;
    struct study            *out = CALL_RESULT(call, struct study, 200, render_study);
    input->knows_space = json_object_get(call->json, "space_revision") != NULL;
    enum status status = grow(call, out, err);
    for (int i = 1;
         i < TIMES && !input->knows_space && status == STATUS_CONFLICT && strcmp(err->code, "space_grew") == 0; i++)
        status = grow(call, out, err);
    return status;
}

/* ---- more metrics ---- */

struct metrics_add_input {
    const json_t        *metrics;
    struct track_request request;
};
static const struct member metrics_add_body[] = {
    {AT(metrics_add_input, metrics), .required = true, .read = codec_read_kept},
    {.name = NULL},
};

static enum status read_added(struct call *call, struct error *err)
{
    struct metrics_add_input *input = call->input;
    struct reading            in = show_reading(call, NULL, err);
    struct metric            *metrics = NULL;
    if (input->metrics != NULL)
        TRY(codec_metrics_added(&in, input->metrics, "/metrics", &metrics, &input->request.len));
    input->request.metrics = metrics;
    return STATUS_OK;
}
const struct form form_metrics_add = {
    .body = metrics_add_body, .bytes = sizeof(struct metrics_add_input), .rest = read_added};

enum status handle_metrics_add(struct call *call, struct error *err)
{
    const struct metrics_add_input *input = call->input;
    return study_track(call->app, &call->caller, call->params[0], &input->request,
                       CALL_RESULT(call, struct study, 200, render_study), err);
}
