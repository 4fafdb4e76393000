/* See show.h. */
#include "api/handlers/show.h"

#include "service/codec/codec_spec.h"
#include "service/member/codec_labels.h"
#include "service/codec/codec_trial.h"
#include "service/codec/codec_graph.h"
#include "service/member/codec_read.h"
#include "service/member/codec_write.h"
#include "api/core/route.h"
#include "service/base/random.h"
#include "service/app/steady.h"
#include "service/trial/observe.h"
#include "service/study/study.h"
#include "service/base/etag.h"
#include "service/base/text.h"
#include "service/base/version.h"

#include <stdio.h>
#include <string.h>

const char *const show_views[] = {"full", "basic", NULL};

struct show_order show_order(const char *const *orders, const char *name)
{
    int place = 0;
    while (name != NULL && orders[place] != NULL && strcmp(orders[place], name) != 0)
        place++;
    return (struct show_order){.order = place / 2, .is_down = place % 2 != 0};
}

enum status show_read_labels(struct call *call, const json_t *items, const char **labels, size_t max, struct error *err)
{
    if (json_array_size(items) > max)
        return error_set(err, STATUS_INVALID, "out_of_range", "?label", "at most %zu of them", max);
    for (size_t i = 0; i < max; i++) {
        const char *text = json_string_value(json_array_get(items, i)),
                   *colon = text == NULL ? NULL : strchr(text, ':');
        labels[i] = NULL;
        if (text == NULL)
            continue;
        if (colon == NULL || colon == text)
            return error_set(err, STATUS_INVALID, "wrong_type", "?label", "must be key:value");
        const char *key = arena_strndup(&call->arena, text, (size_t)(colon - text));
        labels[i] = key == NULL ? NULL : codec_label(key, colon + 1, &call->arena);
        if (labels[i] == NULL)
            return error_no_memory(err);
    }
    return STATUS_OK;
}

json_t *show_page(const char *name, json_t *list, const char *next_cursor)
{
    return json_pack("{s:o, s:s?}", name, list, "next_cursor", next_cursor);
}

const char *show_log_etag(struct call *call, int64_t revision)
{
    char        etag[ETAG_BYTES];
    const char *text = text_format(&call->arena, "%s %s %lld", GNOMON_VERSION, call->uri, (long long)revision);
    if (text == NULL)
        return NULL;
    etag_of_bytes(text, strlen(text), etag);
    return arena_strndup(&call->arena, etag, strlen(etag));
}

enum status show_is_had(struct call *call, bool *is_had, struct error *err)
{
    struct study study;
    *is_had = false;
    if (call->if_none_match == NULL)
        return STATUS_OK;
    TRY(study_find(call->app, &call->caller, call->params[0], &study, err));
    const char *etag = show_log_etag(call, study.revision);
    if (etag == NULL)
        return error_no_memory(err);
    *is_had = etag_is_in(call->if_none_match, etag, true);
    if (*is_had) {
        call->reply.http = 304;
        call->reply.etag = etag;
    }
    return STATUS_OK;
}

void show_basic(const struct spec *spec, struct trial *trials, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        trials[i].model.diagnostics = NULL;
        if (spec->space.kind == SPACE_IMAGE)
            trials[i].point = NULL;
    }
}

static json_t *trials_json(const struct spec *spec, const struct trial *trials, size_t len, struct lease_clock clock)
{
    json_t *list = json_array();
    for (size_t i = 0; i < len; i++)
        codec_append(&list, codec_trial_json(spec, &trials[i], clock));
    return list;
}

struct lease_clock show_clock(const struct call *call, const struct study *study, int64_t given_ms)
{
    return (struct lease_clock){
        .now_ms = given_ms, .shift_ms = steady_shift_ms(call->app), .lease_ms = study->rules.lease_ms};
}

json_t *show_trials(const struct call *call, const struct study *study, const struct trial *trials, size_t len)
{
    return trials_json(&study->spec, trials, len, show_clock(call, study, 0));
}

json_t *show_suggested(const struct call *call, const struct suggest_reply *reply)
{
    return json_pack(
        "{s:o, s:I, s:s, s:n}", "trials",
        trials_json(&reply->study.spec, reply->trials, reply->len, show_clock(call, &reply->study, reply->steady_ms)),
        "revision", (json_int_t)reply->revision, "next", study_next_evaluate, "next_seconds");
}

json_t *show_reply(struct call *call, const void *result)
{
    return show_as(call, call->route->shows, result);
}

json_t *show_as(struct call *call, const struct shown *shown, const void *result)
{
    struct writing out = {.from = result,
                          .without = shown->without,
                          .shift_ms = steady_shift_ms(call->app),
                          .for_store = call->for_store};
    if (shown->page == NULL)
        return codec_write(shown->members, &out);
    struct {
        const void *items;
        size_t      len;
        const char *next_cursor;
    } page; // the beginning of every page struct
    memcpy(&page, result, sizeof page);
    out.from = page.items;
    return show_page(shown->page, codec_write_list(shown->members, &out, page.len, shown->bytes), page.next_cursor);
}

json_t *show_of_metric(const struct spec *spec, size_t metric, json_t *object)
{
    json_t *own = json_pack("{s:s, s:s}", "metric", spec->metrics[metric].name, "quantity",
                            spec_is_margin(spec, metric) ? "margin" : "value");
    if (object != NULL && (own == NULL || json_object_update(object, own) != 0)) {
        json_decref(object);
        object = NULL;
    }
    json_decref(own);
    return object;
}

json_t *show_of_quantity(const struct spec *spec, size_t metric, enum quantity quantity, json_t *object)
{
    json_t *shown = show_of_metric(spec, metric, object);
    if (quantity == QUANTITY_FEASIBILITY) {
        codec_put(&shown, "metric", json_null());
        codec_put(&shown, "quantity", json_string(insight_quantity_names[quantity]));
    }
    return shown;
}

/* A fresh seed within 2^53, for a study that brings none. */
static enum status random_seed(uint64_t *seed, struct error *err)
{
    TRY(random_bytes(seed, sizeof *seed, err));
    *seed >>= 11;
    return STATUS_OK;
}

enum status show_read_spec(struct call *call, const json_t *space, struct spec *spec, struct error *err)
{
    struct reading in = {.arena = &call->arena, .err = err, .problems = &call->problems};
    uint64_t       seed;
    TRY(random_seed(&seed, err));
    json_t *own = codec_pick(codec_spec_members, call->json);
    bool    is_made = own != NULL && (space == NULL || json_object_set(own, "space", (json_t *)(uintptr_t)space) == 0);
    enum status status = is_made ? codec_spec_read(&in, own, seed, spec) : error_no_memory(err);
    json_decref(own);
    return status == STATUS_INVALID ? problems_first(&call->problems, err) : status;
}

enum status show_check_list(const json_t *list, const char *where, size_t max, struct error *err)
{
    return codec_read_list(&(struct reading){.err = err}, list, where, 1, max);
}

struct reading show_reading(struct call *call, const struct spec *spec, struct error *err)
{
    return (struct reading){.spec = spec, .arena = &call->arena, .err = err, .problems = &call->problems};
}

static enum status keep(struct call *call, enum status status, const struct error *problem)
{
    if (status == STATUS_INVALID)
        problems_add(&call->problems, problem);
    return status == STATUS_INVALID ? STATUS_OK : status;
}

enum status show_read_points(struct reading *in, const json_t *list, enum point_form form, const char *where,
                             double **points)
{
    const struct space *space = &in->spec->space;
    size_t              point_len = space_point_len(space), len = json_array_size(list);
    enum status         whole = STATUS_OK;
    char                path[CODEC_PATH_MAX];
    if (space->kind == SPACE_CANDIDATES)
        return error_set(in->err, STATUS_INVALID, "wrong_space", where, "the study has candidates, not points");
    if (len > trial_points_max(space))
        return error_set(in->err, STATUS_INVALID, "out_of_range", where,
                         "at most %zu points of this size are taken at once", trial_points_max(space));
    *points = ARENA_NEW(in->arena, double, len *point_len);
    if (*points == NULL)
        return error_no_memory(in->err);
    for (size_t i = 0; i < len; i++) {
        codec_read_path_item(path, where, i);
        TRY(codec_read_on(in, codec_point(in, json_array_get(list, i), form, path, *points + i * point_len), &whole));
    }
    return problems_first(in->problems, in->err);
}

enum status show_read_rows(struct call *call, const struct spec *spec, const json_t *list, const char *where,
                           int64_t **rows, struct error *err)
{
    size_t len = json_array_size(list);
    char   path[CODEC_PATH_MAX];
    if (spec->space.kind != SPACE_CANDIDATES)
        return error_set(err, STATUS_INVALID, "wrong_space", where, "the study has parameters, not candidates");
    *rows = ARENA_NEW(&call->arena, int64_t, len);
    if (*rows == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < len; i++) {
        double row;
        codec_read_path_item(path, where, i);
        if (!codec_read_is_integral(json_array_get(list, i), &row))
            TRY(keep(call, error_set(err, STATUS_INVALID, "wrong_type", path, "must be an integer"), err));
        else if (row < 0 || row >= (double)spec->space.rows_len)
            TRY(keep(call,
                     error_set(err, STATUS_INVALID, "out_of_range", path, "there are %zu rows", spec->space.rows_len),
                     err));
        else
            (*rows)[i] = (int64_t)row;
    }
    return problems_first(&call->problems, err);
}

enum status show_read_sites(struct call *call, const struct spec *spec, const json_t *list, const char *where,
                            int64_t **sites, struct error *err)
{
    size_t   len = json_array_size(list);
    uint32_t site = 0;
    char     path[CODEC_PATH_MAX];
    if (spec->space.kind != SPACE_GRAPH)
        return error_set(err, STATUS_INVALID, "wrong_space", where, "the space is not a graph");
    *sites = ARENA_NEW(&call->arena, int64_t, len);
    if (*sites == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < len; i++) {
        codec_read_path_item(path, where, i);
        TRY(keep(call, codec_graph_site(spec, json_array_get(list, i), path, &site, err), err));
        (*sites)[i] = site;
    }
    return problems_first(&call->problems, err);
}

enum status show_read_fixed(struct call *call, const struct spec *spec, const json_t *json, const double **fixed,
                            struct error *err)
{
    double *point = ARENA_NEW(&call->arena, double, spec->space.params_len + 1);
    if (point == NULL)
        return error_no_memory(err);
    if (spec->space.kind != SPACE_PARAMETERS)
        return error_set(err, STATUS_INVALID, "wrong_space", "/fixed", "the space has no parameters to fix");
    *fixed = point;
    struct reading in = show_reading(call, spec, err);
    return codec_fixed(&in, json, "/fixed", point);
}

enum status show_read_observations(struct call *call, const struct spec *spec, const struct show_list *in,
                                   struct observation **items, struct error *err)
{
    size_t          len = json_array_size(in->list), unread = 0;
    struct problems problems = {.arena = &call->arena};
    struct reading  reading = {.spec = spec, .arena = &call->arena, .err = err, .problems = &problems};
    *items = ARENA_NEW(&call->arena, struct observation, len + 1);
    if (*items == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < len; i++) {
        enum status whole = STATUS_OK;
        problems.len = 0;
        TRY(codec_read_on(&reading, in->read(&reading, json_array_get(in->list, i), "", &(*items)[i]), &whole));
        if (whole != STATUS_OK)
            TRY(observation_keep_unread(&(*items)[i], &unread, problems.items, problems.len, &call->arena, err));
    }
    return STATUS_OK;
}

static struct error placed(const struct origin *origin, size_t item, const struct error *own)
{
    struct error problem = *own;
    size_t       index = origin->indexes == NULL ? item : origin->indexes[item];
    if (origin->where[0] != '\0')
        snprintf(problem.path, sizeof problem.path, "%s/%zu%.90s", origin->where, index, own->path);
    return problem;
}

enum status show_refuse_unread(struct call *call, const struct observation *items, size_t len,
                               const struct origin *origin, struct error *err)
{
    for (size_t i = 0; i < len; i++)
        for (size_t k = 0; k < items[i].unread_len; k++) {
            const struct error problem = placed(origin, i, &items[i].unread[k]);
            problems_add(&call->problems, &problem);
        }
    return problems_first(&call->problems, err);
}

enum status show_observe(struct call *call, const struct observation *items, size_t len, const struct origin *origin,
                         struct observe_reply *out, struct error *err)
{
    const struct observe_request request = {.items = items, .len = len, .in_batch = origin->where[0] != '\0'};
    enum status                  status = trial_observe(call->app, &call->caller, call->params[0], &request, out, err);
    if (status == STATUS_INVALID && call->problems.len > 0) // refused before its items were looked at
        return show_refuse_unread(call, items, len, origin, err);
    for (size_t i = 0; status != STATUS_OK && i < out->errors_len; i++) {
        const struct error problem = placed(origin, out->errors[i].item, &out->errors[i].error);
        problems_add(&call->problems, &problem);
        if (i == 0 && err != NULL)
            *err = problem;
    }
    return status;
}
