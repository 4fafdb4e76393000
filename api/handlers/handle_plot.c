/* Data that pages draw: plots that are small whatever the study's size, and curves. */
#include "api/handlers/handlers.h"
#include "api/handlers/show.h"
#include "api/core/route.h"
#include "service/codec/codec_space.h"
#include "service/codec/codec_study.h"
#include "service/insight/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct member plot_get_query[] = {
    {AT(plot_request, metric), .read = codec_read_text, .min = 1, .max = 128},
    {AT(plot_request, x), .read = codec_read_text, .min = 1, .max = 128},
    {AT(plot_request, y), .read = codec_read_text, .min = 1, .max = 128},
    {AT(plot_request, points), .read = codec_read_integer, .min = 10, .max = PLOT_POINTS_MAX},
    {AT(plot_request, from), .read = codec_read_integer, .min = 1, .max = 9007199254740991.0},
    {AT(plot_request, to), .read = codec_read_integer, .min = 1, .max = 9007199254740991.0},
    {.name = NULL},
};
const struct form form_plot_get = {.query = plot_get_query, .bytes = sizeof(struct plot_request)};

/* Seven digits are more than a screen has. */
static json_t *rounded(double value)
{
    char text[32];
    if (!isfinite(value))
        return json_null();
    snprintf(text, sizeof text, "%.7g", value);
    return json_real(strtod(text, NULL));
}

static json_t *cell_json(const struct spec *spec, const struct plot_column *column, size_t i)
{
    if (column->what == PLOT_TEXT)
        return column->texts[i][0] == '\0' ? json_null() : json_string(column->texts[i]);
    double value = column->numbers[i];
    if (isnan(value))
        return json_null();
    switch (column->what) {
    case PLOT_INTEGER:
        return json_integer((json_int_t)value);
    case PLOT_TIME:
        return codec_time_json((int64_t)value);
    case PLOT_VALUE: {
        const struct param *param = &spec->space.params[column->param];
        return param->kind == PARAM_DOUBLE ? rounded(value) : codec_space_value_json(spec, column->param, value);
    }
    default:
        return rounded(value);
    }
}

static json_t *table_json(const struct spec *spec, const struct plot_table *table)
{
    json_t *object = json_object();
    for (const struct plot_column *column = table->columns; column < table->columns + table->columns_len; column++) {
        json_t *list = json_array();
        for (size_t i = 0; i < table->len; i++)
            codec_append(&list, cell_json(spec, column, i));
        codec_put(&object, column->name, list);
    }
    return object;
}

static json_t *render_plot(struct call *call, const void *result)
{
    const struct plot *plot = result;
    const struct spec *spec = &plot->study.spec;
    call->reply.etag = show_log_etag(call, plot->study.revision);
    json_t *json = json_pack("{s:s, s:s, s:I, s:I, s:I, s:o}", "kind", plot_kind_names[plot->kind], "metric",
                             spec->metrics[plot->metric].name, "revision", (json_int_t)plot->study.revision, "of",
                             (json_int_t)plot->of, "shown", (json_int_t)plot->shown, "trials",
                             codec_study_counts_json(&plot->study));
    for (size_t i = 0; i < plot->tables_len; i++)
        codec_put(&json, plot->tables[i].name, table_json(spec, &plot->tables[i]));
    return json;
}

enum status handle_plot_get(struct call *call, struct error *err)
{
    struct plot_request *request = call->input;
    size_t               kind = 0;
    while (plot_kind_names[kind] != NULL && strcmp(plot_kind_names[kind], call->params[1]) != 0)
        kind++;
    if (kind == PLOT_KIND_COUNT)
        return error_set(err, STATUS_NOT_FOUND, "not_found", "", "there is no such plot");
    request->kind = (enum plot_kind)kind;
    bool is_had;
    TRY(show_is_had(call, &is_had, err));
    if (is_had)
        return STATUS_OK;
    return plot_make(call->app, &call->caller, call->params[0], request,
                     CALL_RESULT(call, struct plot, 200, render_plot), err);
}

/* ---- curves ---- */

static json_t *numbers_json(const double *values, size_t len, bool are_steps)
{
    json_t *list = json_array();
    for (size_t i = 0; i < len; i++)
        codec_append(&list, are_steps ? json_integer((json_int_t)values[i]) : codec_number(values[i]));
    return list;
}

static json_t *render_curves(struct call *call, const void *result)
{
    const struct curves_page *page = result;
    json_t                   *list = json_array();
    (void)call;
    for (const struct whole_curve *curve = page->items; curve < page->items + page->len; curve++)
        codec_append(&list, json_pack("{s:I, s:s, s:o, s:o}", "trial", (json_int_t)curve->trial, "state", curve->state,
                                      "steps", numbers_json(curve->steps, curve->len, true), "values",
                                      numbers_json(curve->values, curve->len, false)));
    return show_page("curves", list, page->next_cursor);
}

static const struct member curves_get_query[] = {
    PAGED(page, ), // of the request's first member
    {AT(curves_request, metric), .read = codec_read_text, .min = 1, .max = 128},
    {.name = NULL},
};
const struct form form_curves_get = {.query = curves_get_query, .bytes = sizeof(struct curves_request)};

HANDLE_PAGE(curves_get, plot_curves, curves_page, render_curves)
