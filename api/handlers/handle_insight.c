/* The model's view of the function: importances, slices, residuals. */
#include "api/handlers/handlers.h"
#include "api/handlers/show.h"
#include "service/codec/codec_trial.h"
#include "service/codec/codec_space.h"
#include "service/insight/insight.h"
#include "service/member/codec.h"
#include "service/codec/codec_transfer.h"
#include "service/session/transfer_snapshot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct metric_input {
    const char *metric;
};
static const struct member metric_query[] = {
    {AT(metric_input, metric), .read = codec_read_text, .min = 1, .max = 128},
    {.name = NULL},
};
const struct form form_metric = {.query = metric_query, .bytes = sizeof(struct metric_input)};

/* ---- importances ---- */

struct importances_get_input {
    const char *metric;
    int         quantity;
};
static const struct member importances_get_query[] = {
    {AT(importances_get_input, metric), .read = codec_read_text, .min = 1, .max = 128},
    {AT(importances_get_input, quantity), .read = codec_read_choice, .names = insight_quantity_names},
    {.name = NULL},
};
const struct form form_importances_get = {.query = importances_get_query,
                                          .bytes = sizeof(struct importances_get_input)};

static json_t *importance_json(const struct param *param, const struct sensitivity_index *index, bool is_constant)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", param->name, "first_order",
                     codec_number(is_constant ? NAN : index->first), "first_order_error",
                     codec_number(is_constant ? NAN : index->first_error), "total",
                     codec_number(is_constant ? NAN : index->total), "total_error",
                     codec_number(is_constant ? NAN : index->total_error));
}

static json_t *render_importances(struct call *call, const void *result)
{
    const struct importances        *shown = result;
    const struct sensitivity_result *r = &shown->result;
    const struct space              *space = &shown->study.spec.space;
    json_t                          *list = json_array();
    for (size_t i = 0; i < space->params_len; i++)
        codec_append(&list, importance_json(&space->params[i], &r->index[i], r->is_constant));
    call->reply.etag = show_log_etag(call, shown->revision);
    return show_of_quantity(
        &shown->study.spec, shown->metric, shown->quantity,
        json_pack("{s:o, s:b, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "parameters", list, "constant", r->is_constant,
                  "first_order_sum", codec_number(r->is_constant ? NAN : r->sum), "first_order_sum_error",
                  codec_number(r->is_constant ? NAN : r->sum_error), "mean", codec_number(r->mean), "stddev",
                  codec_number(r->sd), "samples", (json_int_t)r->samples, "evaluations", (json_int_t)r->evaluations,
                  "revision", (json_int_t)shown->revision, "observations", (json_int_t)shown->observations));
}

enum status handle_importances_get(struct call *call, struct error *err)
{
    const struct importances_get_input *input = call->input;
    bool                                is_had;
    TRY(show_is_had(call, &is_had, err));
    if (is_had)
        return STATUS_OK;
    struct importances *out = CALL_RESULT(call, struct importances, 200, render_importances);
    out->quantity = (enum quantity)input->quantity;
    return insight_importances(call->app, &call->caller, call->params[0], input->metric, out, err);
}

/* ---- slices ---- */

_Static_assert(sizeof(enum quantity) == sizeof(int), "choices are ints");
struct slice_get_input {
    struct slice_request request;
    const char          *at;
};
static const struct member slice_get_query[] = {
    {AS(slice_get_input, request.x, "x"), .read = codec_read_text, .required = true, .min = 1, .max = 128},
    {AS(slice_get_input, request.y, "y"), .read = codec_read_text, .min = 1, .max = 128},
    {AS(slice_get_input, request.points, "points"), .read = codec_read_integer, .min = 2, .max = SLICE_AXIS_MAX},
    {AT(slice_get_input, at), .read = codec_read_text, .min = 1, .max = 16},
    {AS(slice_get_input, request.metric, "metric"), .read = codec_read_text, .min = 1, .max = 128},
    {AS(slice_get_input, request.quantity, "quantity"), .read = codec_read_choice, .names = insight_quantity_names},
    {.name = NULL},
};
const struct form form_slice_get = {.query = slice_get_query, .bytes = sizeof(struct slice_get_input)};

static json_t *grid_json(const struct slice *slice, size_t axis)
{
    json_t *list = json_array();
    for (size_t k = 0; k < slice->len[axis]; k++)
        codec_append(&list, codec_space_value_json(&slice->study.spec, slice->param[axis], slice->grid[axis][k]));
    return list;
}

/* A list for one parameter; a list of lists, one for each value of x, for two. */
static json_t *values_json(const struct slice *slice, const double *values)
{
    return slice->axes == 1 ? codec_numbers(values, slice->len[0]) : codec_matrix(values, slice->len[0], slice->len[1]);
}

static json_t *render_slice(struct call *call, const void *result)
{
    const struct slice *slice = result;
    const struct spec  *spec = &slice->study.spec;
    json_t             *names = json_array(), *grid = json_array();
    json_t             *fixed = codec_point_json(spec, slice->point);
    for (size_t a = 0; a < slice->axes; a++) {
        const char *name = spec->space.params[slice->param[a]].name;
        codec_append(&names, json_string(name));
        codec_append(&grid, grid_json(slice, a));
        json_object_del(fixed, name);
    }
    call->reply.etag = show_log_etag(call, slice->revision);
    return show_of_quantity(
        spec, slice->metric, slice->quantity,
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "parameters", names, "grid", grid, "mean",
                  values_json(slice, slice->mean), "stddev", values_json(slice, slice->sd), "stddev_observed",
                  values_json(slice, slice->sd_observed), "fixed", fixed, "trial", (json_int_t)slice->trial, "revision",
                  (json_int_t)slice->revision, "observations", (json_int_t)slice->observations));
}

static enum status read_at(const char *text, int64_t *trial, struct error *err)
{
    *trial = 0;
    if (text == NULL || strcmp(text, "best") == 0)
        return STATUS_OK;
    if (strspn(text, "0123456789") == strlen(text))
        *trial = strtoll(text, NULL, 10);
    return *trial > 0 ? STATUS_OK
                      : error_set(err, STATUS_INVALID, "unknown_value", "/at", "must be best or the number of a trial");
}

enum status handle_slice_get(struct call *call, struct error *err)
{
    struct slice_get_input *input = call->input;
    TRY(read_at(input->at, &input->request.trial, err));
    bool is_had;
    TRY(show_is_had(call, &is_had, err));
    if (is_had)
        return STATUS_OK;
    return insight_slice(call->app, &call->caller, call->params[0], &input->request,
                         CALL_RESULT(call, struct slice, 200, render_slice), err);
}

/* ---- residuals ---- */

static json_t *render_residuals(struct call *call, const void *result)
{
    const struct residuals *shown = result;
    json_t                 *list = json_array();
    for (size_t i = 0; i < shown->len; i++) {
        const struct residual *item = &shown->items[i];
        codec_append(&list, json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "trial", (json_int_t)item->trial, "value",
                                      codec_number(item->value), "mean", codec_number(item->mean), "stddev",
                                      codec_number(item->sd), "stddev_observed", codec_number(item->sd_observed), "z",
                                      codec_number(item->z), "log_density", codec_number(item->log_density)));
    }
    call->reply.etag = show_log_etag(call, shown->revision);
    return show_of_metric(&shown->study.spec, shown->metric,
                          json_pack("{s:o, s:{s:I, s:o, s:o, s:o, s:o}, s:I, s:I}", "residuals", list, "summary",
                                    "trials", (json_int_t)shown->len, "mean_log_density",
                                    codec_number(shown->log_density), "rms", codec_number(shown->rms), "coverage_68",
                                    codec_number(shown->coverage_68), "coverage_95", codec_number(shown->coverage_95),
                                    "revision", (json_int_t)shown->revision, "observations",
                                    (json_int_t)shown->observations));
}

enum status handle_residuals_get(struct call *call, struct error *err)
{
    const struct metric_input *input = call->input;
    bool                       is_had;
    TRY(show_is_had(call, &is_had, err));
    if (is_had)
        return STATUS_OK;
    return insight_residuals(call->app, &call->caller, call->params[0], input->metric,
                             CALL_RESULT(call, struct residuals, 200, render_residuals), err);
}

/* ---- weights that a study has learnt for the earlier studies it was given ---- */

static json_t *sources_json(const struct spec *spec, const struct transfer_sources *sources)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sources->len; i++) {
        const struct transfer_source *source = &sources->sources[i];
        codec_append(&list, json_pack("{s:s?, s:s, s:I, s:I, s:o, s:o}", "study", source->study, "name",
                                      sources->studies[i].name, "observations", (json_int_t)sources->studies[i].n,
                                      "skipped", (json_int_t)source->skipped, "revision",
                                      source->study == NULL ? json_null() : json_integer(source->revision),
                                      "parameters", codec_transfer_names(spec, &sources->studies[i])));
    }
    return list;
}

static json_t *render_transfer(struct call *call, const void *result)
{
    (void)call;
    const struct transfer_page *page = result;
    json_t                     *list = json_array();
    for (size_t i = 0; i < page->len; i++) {
        const struct transfer_item *item = &page->items[i];
        codec_append(&list, json_pack("{s:I, s:I, s:o, s:o, s:o}", "trial", (json_int_t)item->trial, "observations",
                                      (json_int_t)item->rounds, "nu", codec_number(item->nu), "weights",
                                      codec_numbers(item->weights, page->sources.len), "gaps",
                                      codec_numbers(item->gaps, page->sources.len)));
    }
    return json_pack("{s:o, s:o, s:s?}", "studies", sources_json(&page->spec, &page->sources), "suggestions", list,
                     "next_cursor", page->next_cursor);
}

HANDLE_PAGE(study_transfer_get, transfer_history, transfer_page, render_transfer)
