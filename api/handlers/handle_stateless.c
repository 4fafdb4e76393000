/* POST /v1/suggest: specification and observations in, points out, nothing kept. */
#include "api/handlers/handlers.h"
#include "api/handlers/show.h"
#include "service/codec/codec_trial.h"
#include "service/member/codec_read.h"
#include "service/suggest/stateless.h"

#include <string.h>

enum { OBSERVATIONS_MAX = 10000, PENDING_MAX = 1000, MATRIX_MAX = 1000000 };

struct stateless_post_input {
    const json_t            *metrics, *space, *algorithm, *seed, *observations, *pending, *fixed;
    int64_t                  count;
    struct stateless_request request;
};
static enum status         read_request(struct call *call, struct error *err);
static const struct member stateless_post_body[] = {
    {AT(stateless_post_input, metrics), .read = codec_read_kept, .required = true},
    {AT(stateless_post_input, space), .read = codec_read_kept, .required = true},
    {AT(stateless_post_input, algorithm), .read = codec_read_kept},
    {AT(stateless_post_input, seed), .read = codec_read_kept},
    {AT(stateless_post_input, observations), .read = codec_read_kept},
    {AT(stateless_post_input, pending), .read = codec_read_kept},
    {AT(stateless_post_input, fixed), .read = codec_read_kept},
    {AT(stateless_post_input, count), .read = codec_read_integer, .min = 1, .max = 100, .fallback = 1},
    {.name = NULL},
};
const struct form form_stateless_post = {
    .body = stateless_post_body, .bytes = sizeof(struct stateless_post_input), .rest = read_request};

struct shown_suggestions {
    struct stateless_request request;
    struct trial_page        page;
};

/* The members of a trial that mean something without a study. */
static json_t *suggestion_json(const struct spec *spec, const struct trial *trial)
{
    json_t     *json = codec_trial_json(spec, trial, (struct lease_clock){0});
    bool        is_graph = spec->space.kind == SPACE_GRAPH;
    const char *place = is_graph ? "sites" : trial->point != NULL ? "point" : "candidate";
    json_t *own = json_pack("{s:O, s:O}", place, json_object_get(json, place), "model", json_object_get(json, "model"));
    json_decref(json);
    return own;
}

static json_t *render_suggestions(struct call *call, const void *result)
{
    (void)call;
    const struct shown_suggestions *shown = result;
    json_t                         *list = json_array();
    for (size_t i = 0; i < shown->page.len; i++)
        codec_append(&list, suggestion_json(&shown->request.spec, &shown->page.trials[i]));
    return json_pack("{s:o}", "suggestions", list);
}

/* ---- the matrix ---- */

static enum status read_row(struct reading *in, const json_t *row, size_t index, size_t columns, double *out)
{
    enum status whole = STATUS_OK;
    char        where[CODEC_PATH_MAX], path[CODEC_PATH_MAX];
    codec_read_path_item(where, "/space/matrix", index);
    if (!json_is_array(row) || json_array_size(row) != columns)
        return error_set(in->err, STATUS_INVALID, "wrong_shape", where, "every row must have %zu numbers", columns);
    for (size_t i = 0; i < columns; i++) {
        if (codec_read_is_finite(json_array_get(row, i), &out[i]))
            continue;
        codec_read_path_item(path, where, i);
        TRY(codec_read_on(in, error_set(in->err, STATUS_INVALID, "wrong_type", path, "must be a number"), &whole));
    }
    return whole;
}

static enum status read_matrix(struct call *call, const json_t *matrix, double **rows, struct error *err)
{
    size_t len = json_array_size(matrix), columns = 0;
    for (size_t i = 0; i < len && columns == 0; i++) // each row must have as many as the first that has any
        columns = json_array_size(json_array_get(matrix, i));
    if (len < 1 || columns < 1 || columns > SPACE_COLUMNS_MAX || len > MATRIX_MAX / columns)
        return error_set(err, STATUS_INVALID, "wrong_shape", "/space/matrix",
                         "must be an array of arrays of numbers, at most %d of them", MATRIX_MAX);
    *rows = ARENA_NEW(&call->arena, double, len *columns);
    if (*rows == NULL)
        return error_no_memory(err);
    struct reading in = show_reading(call, NULL, err);
    enum status    whole = STATUS_OK;
    for (size_t i = 0; i < len; i++)
        TRY(codec_read_on(&in, read_row(&in, json_array_get(matrix, i), i, columns, *rows + i * columns), &whole));
    return whole;
}

struct matrix_form {
    const json_t *type, *matrix;
};
static const struct member matrix_members[] = {
    {AT(matrix_form, type), .required = true, .read = codec_read_kept},
    {AT(matrix_form, matrix), .required = true, .read = codec_read_kept},
    {.name = NULL},
};

/* A space of candidates brings its matrix, and its shape is the matrix's. */
static enum status read_spec(struct call *call, const json_t *space, struct spec *spec, struct error *err)
{
    const char        *type = json_string_value(json_object_get(space, "type"));
    struct reading     in = show_reading(call, NULL, err);
    enum status        whole = STATUS_OK;
    struct matrix_form form = {0};
    double            *rows = NULL;
    if (type == NULL || strcmp(type, "candidates") != 0)
        return show_read_spec(call, space, spec, err);
    TRY(codec_read_on(&in, codec_read_object(&in, matrix_members, space, "/space", &form), &whole));
    if (form.matrix != NULL)
        TRY(codec_read_on(&in, read_matrix(call, form.matrix, &rows, err), &whole));
    bool    is_read = whole == STATUS_OK; // otherwise a shape that is none of the client's stands for it
    size_t  len = is_read ? json_array_size(form.matrix) : 1;
    size_t  columns = is_read ? json_array_size(json_array_get(form.matrix, 0)) : 1;
    json_t *shape = json_pack("{s:s, s:I, s:I, s:b}", "type", "candidates", "rows", (json_int_t)len, "columns",
                              (json_int_t)columns, "private", 0);
    TRY(codec_read_on(&in, shape == NULL ? error_no_memory(err) : show_read_spec(call, shape, spec, err), &whole));
    json_decref(shape);
    spec->space.rows = rows;
    return whole;
}

/* ---- what is known ---- */

static enum status read_observations(struct call *call, const json_t *list, struct stateless_request *request,
                                     struct error *err)
{
    struct observation *items;
    char                path[CODEC_PATH_MAX];
    if (list == NULL || (json_is_array(list) && json_array_size(list) == 0))
        return STATUS_OK;
    TRY(show_check_list(list, "/observations", OBSERVATIONS_MAX, err));
    TRY(show_read_observations(call, &request->spec, &SHOW_OBSERVATIONS(list), &items, err));
    request->observations = items;
    request->observations_len = json_array_size(list);
    TRY(show_refuse_unread(call, items, request->observations_len, &(struct origin){.where = "/observations"}, err));
    for (size_t i = 0; i < request->observations_len; i++) {
        codec_read_path_item(path, "/observations", i);
        if (items[i].trial > 0)
            return error_set(err, STATUS_INVALID, "bad_combination", path, "there are no trials here: give the point");
    }
    return STATUS_OK;
}

static enum status read_pending(struct call *call, const json_t *list, struct stateless_request *request,
                                struct error *err)
{
    double  *points;
    int64_t *rows;
    if (list == NULL || (json_is_array(list) && json_array_size(list) == 0))
        return STATUS_OK;
    TRY(show_check_list(list, "/pending", PENDING_MAX, err));
    request->pending_len = json_array_size(list);
    if (request->spec.space.kind != SPACE_CANDIDATES) {
        struct reading in = show_reading(call, &request->spec, err);
        TRY(show_read_points(&in, list, POINT_WHOLE, "/pending", &points));
        request->pending = points;
        return STATUS_OK;
    }
    TRY(show_read_rows(call, &request->spec, list, "/pending", &rows, err));
    size_t *indexes = ARENA_NEW(&call->arena, size_t, request->pending_len);
    if (indexes == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < request->pending_len; i++)
        indexes[i] = (size_t)rows[i];
    request->pending_rows = indexes;
    return STATUS_OK;
}

/* Points are read by the specification of the space, which must be right. */
static enum status read_request(struct call *call, struct error *err)
{
    struct stateless_post_input *input = call->input;
    struct stateless_request    *request = &input->request;
    struct reading               in = show_reading(call, NULL, err);
    enum status                  whole = STATUS_OK;
    request->count = input->count;
    TRY(read_spec(call, input->space, &request->spec, err));
    TRY(codec_read_on(&in, read_observations(call, input->observations, request, err), &whole));
    TRY(codec_read_on(&in, read_pending(call, input->pending, request, err), &whole));
    if (input->fixed != NULL)
        TRY(codec_read_on(&in, show_read_fixed(call, &request->spec, input->fixed, &request->fixed, err), &whole));
    return whole;
}

enum status handle_stateless_post(struct call *call, struct error *err)
{
    const struct stateless_post_input *input = call->input;
    struct shown_suggestions          *shown = CALL_RESULT(call, struct shown_suggestions, 200, render_suggestions);
    shown->request = input->request;
    return trial_suggest_stateless(call->app, &call->caller, &shown->request, &shown->page, err);
}
