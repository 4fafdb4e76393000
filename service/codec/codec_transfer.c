/* See codec_transfer.h. */
#include "service/codec/codec_constraint.h"
#include "service/codec/codec_transfer.h"

#include "service/member/codec.h"
#include "service/codec/codec_trial.h"
#include "service/codec/codec_space.h"
#include "service/model/trial.h"

#include <math.h>
#include <string.h>

enum { NAME_MAX_CHARACTERS = 200 };

struct transfer_form {
    const json_t *meta, *studies, *observations, *defaults;
};
#define KEPT .nullable = true, .read = codec_read_kept
static const struct member transfer_members[] = {
    {AT(transfer_form, meta), KEPT},
    {AS(transfer_form, studies, "earlier_studies"), KEPT},
    {AS(transfer_form, observations, "earlier_observations"), KEPT},
    {AS(transfer_form, defaults, "earlier_defaults"), KEPT},
    {.name = NULL},
};

bool codec_transfer_is_member(const char *key)
{
    return codec_member(transfer_members, key) != NULL;
}

/* ---- reading ---- */

/* The matrix comes after the study, so that nobody knows yet which earlier studies are about the same rows. */
static enum status read_meta(struct reading *in, const json_t *json, struct spec *spec)
{
    static const char *const   names[] = {"auto", NULL};
    static const struct member member = {.names = names};
    int                        which = -1;
    TRY(codec_read_choice(in, &member, json, "/algorithm/meta", &which));
    if (spec->space.kind != SPACE_PARAMETERS)
        return error_set(in->err, STATUS_INVALID, "wrong_space", "/algorithm/meta",
                         "earlier studies of candidates are not picked: name those with the same matrix");
    spec->earlier.is_auto = true;
    return STATUS_OK;
}

static enum status read_ids(struct reading *in, const json_t *list, struct spec_earlier *earlier)
{
    static const struct member id = {.min = 1, .max = 64};
    const char                *where = "/algorithm/earlier_studies";
    TRY(codec_read_list(in, list, where, earlier->is_auto ? 0 : 1,
                        EARLIER_STUDIES_MAX)); // there may have been none to pick
    const char **ids = ARENA_NEW(in->arena, const char *, json_array_size(list) + 1);
    if (ids == NULL)
        return error_no_memory(in->err);
    for (size_t i = 0; i < json_array_size(list); i++) {
        char path[CODEC_PATH_MAX];
        codec_read_path_item(path, where, i);
        TRY(codec_read_text(in, &id, json_array_get(list, i), path, &ids[i]));
        for (size_t k = 0; k < i; k++)
            if (strcmp(ids[k], ids[i]) == 0)
                return error_set(in->err, STATUS_INVALID, "duplicate_name", path, "is there twice");
    }
    earlier->ids = ids;
    earlier->ids_len = json_array_size(list);
    return STATUS_OK;
}

static enum status read_defaults(struct reading *in, const json_t *object, struct spec *spec)
{
    const char *where = "/algorithm/earlier_defaults", *key;
    json_t     *value;
    double     *defaults = ARENA_NEW(in->arena, double, spec->space.params_len + 1);
    if (!json_is_object(object))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an object");
    if (defaults == NULL)
        return error_no_memory(in->err);
    for (size_t i = 0; i < spec->space.params_len; i++)
        defaults[i] = NAN;
    json_object_foreach ((json_t *)object, key, value) {
        char   path[CODEC_PATH_MAX];
        size_t i;
        codec_read_path(path, where, key);
        TRY(spec_find_param(spec, key, "unknown_member", path, &i, in->err));
        TRY(codec_space_value(spec, i, value, path, &defaults[i], in->err));
    }
    spec->earlier.defaults = defaults;
    return STATUS_OK;
}

/* The room of one earlier study in the spec's own space. */
struct room {
    double *points, *values;
    size_t *rows;
};

static enum status study_room(struct reading *in, const struct spec *spec, size_t n, struct room *room,
                              struct earlier_study *out)
{
    bool on_rows = spec->space.kind == SPACE_CANDIDATES;
    room->points = on_rows ? NULL : arena_alloc(in->arena, n, spec->space.params_len * sizeof(double));
    room->rows = on_rows ? ARENA_NEW(in->arena, size_t, n) : NULL;
    room->values = ARENA_NEW(in->arena, double, n);
    if ((on_rows ? (void *)room->rows : (void *)room->points) == NULL || room->values == NULL)
        return error_no_memory(in->err);
    *out = (struct earlier_study){.points = room->points, .rows = room->rows, .values = room->values, .n = n};
    return STATUS_OK;
}

/* A parameter that a point of a study lacks must be missing in all its points. */
static enum status check_same_names(struct reading *in, const char *where, const struct spec *spec,
                                    const double *points, size_t n)
{
    const struct space *space = &spec->space;
    bool                lacks[SPACE_PARAMS_MAX];
    char                item[CODEC_PATH_MAX], path[CODEC_PATH_MAX];
    (void)space_lacks(space, points, n, lacks);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < space->params_len; i++)
            if (lacks[i] && !isnan(points[j * space->params_len + i])) {
                codec_read_path_item(item, where, j);
                codec_read_path(path, item, "point");
                return error_set(in->err, STATUS_INVALID, "bad_combination", path,
                                 "has %.60s, which other points of this earlier study lack", space->params[i].name);
            }
    return STATUS_OK;
}

static enum status read_earlier(struct reading *of, const json_t *json, const char *where, struct observation *item)
{
    TRY(codec_observation_rest(of, json, where, item));
    return item->trial == 0 && item->outcome == OUTCOME_VALUE
               ? STATUS_OK
               : error_set(of->err, STATUS_INVALID, "bad_combination", where,
                           "needs a point or candidate, and a value");
}

static enum status read_observations(struct reading *in, const json_t *list, const char *where, const struct spec *spec,
                                     struct earlier_study *out)
{
    struct room    room;
    struct reading of = {.spec = spec, .arena = in->arena, .err = in->err, .problems = in->problems};
    enum status    whole = STATUS_OK;
    size_t         n = json_array_size(list);
    TRY(study_room(in, spec, n, &room, out));
    for (size_t j = 0; j < n; j++) {
        char               path[CODEC_PATH_MAX];
        struct observation item;
        struct arena_mark  mark = arena_mark(in->arena);
        enum status        own = STATUS_OK;
        codec_read_path_item(path, where, j);
        TRY(codec_read_on(in, read_earlier(&of, json_array_get(list, j), path, &item), &own));
        whole = own == STATUS_OK ? whole : own;
        if (own != STATUS_OK)
            continue; // its problem may lie above the mark
        if (room.rows != NULL)
            room.rows[j] = (size_t)item.row;
        else
            memcpy(room.points + j * spec->space.params_len, item.point, spec->space.params_len * sizeof *room.points);
        room.values[j] = spec_sign(spec) * item.value;
        arena_release(in->arena, mark);
    }
    TRY(whole);
    return room.rows != NULL ? STATUS_OK : check_same_names(in, where, spec, room.points, n);
}

struct given_form {
    const char   *name;
    const json_t *observations;
};
static const struct member given_members[] = {
    {AT(given_form, name), .required = true, .read = codec_read_text, .min = 1, .max = NAME_MAX_CHARACTERS},
    {AT(given_form, observations), .required = true, .read = codec_read_kept},
    {.name = NULL},
};

static enum status read_given(struct reading *in, const json_t *list, struct spec *spec)
{
    const char *where = "/algorithm/earlier_observations";
    TRY(codec_read_list(in, list, where, 1, EARLIER_STUDIES_MAX));
    struct earlier_study *given = ARENA_NEW(in->arena, struct earlier_study, json_array_size(list));
    if (given == NULL)
        return error_no_memory(in->err);
    for (size_t i = 0; i < json_array_size(list); i++) {
        char              item[CODEC_PATH_MAX], path[CODEC_PATH_MAX];
        struct given_form form = {0};
        codec_read_path_item(item, where, i);
        TRY(codec_read_object(in, given_members, json_array_get(list, i), item, &form));
        codec_read_path(path, item, "observations");
        TRY(codec_read_list(in, form.observations, path, 1, EARLIER_VALUES_MAX));
        TRY(read_observations(in, form.observations, path, spec, &given[i]));
        given[i].name = form.name;
    }
    spec->earlier.given = given;
    spec->earlier.given_len = json_array_size(list);
    return STATUS_OK;
}

enum status codec_transfer_read(struct reading *in, const json_t *algorithm, struct spec *spec)
{
    struct transfer_form form = {0};
    spec->earlier = (struct spec_earlier){0};
    if (spec->is_private)
        return error_set(in->err, STATUS_INVALID, "not_supported", "/algorithm/name",
                         "a private study learns from no other: rows of different releases cannot be compared");
    json_t     *own = codec_pick(transfer_members, algorithm);
    enum status status =
        own == NULL ? error_no_memory(in->err) : codec_read_object(in, transfer_members, own, "/algorithm", &form);
    json_decref(own); // its members are the algorithm's
    TRY(status);
    if (form.meta != NULL)
        TRY(read_meta(in, form.meta, spec));
    if (form.defaults != NULL)
        TRY(read_defaults(in, form.defaults, spec));
    if (form.studies != NULL)
        TRY(read_ids(in, form.studies, &spec->earlier));
    if (form.observations != NULL)
        TRY(read_given(in, form.observations, spec));
    if (spec->earlier.ids_len + spec->earlier.given_len > EARLIER_STUDIES_MAX)
        return error_set(in->err, STATUS_INVALID, "out_of_range", "/algorithm/earlier_observations",
                         "there may be %d earlier studies in all", EARLIER_STUDIES_MAX);
    return STATUS_OK;
}

/* ---- writing ---- */

static json_t *defaults_json(const struct spec *spec)
{
    json_t *object = json_object();
    for (size_t i = 0; i < spec->space.params_len; i++)
        if (!isnan(spec->earlier.defaults[i]))
            codec_put(&object, spec->space.params[i].name, codec_space_value_json(spec, i, spec->earlier.defaults[i]));
    return object;
}

int codec_transfer_write(const struct spec *spec, json_t *algorithm)
{
    int     failed = 0;
    json_t *ids = spec->earlier.ids != NULL ? json_array() : NULL;
    if (spec->earlier.is_auto)
        failed |= json_object_set_new(algorithm, "meta", json_string("auto"));
    for (size_t i = 0; i < spec->earlier.ids_len; i++)
        failed |= json_array_append_new(ids, json_string(spec->earlier.ids[i]));
    if (spec->earlier.ids != NULL)
        failed |= json_object_set_new(algorithm, "earlier_studies", ids);
    if (spec->earlier.defaults != NULL)
        failed |= json_object_set_new(algorithm, "earlier_defaults", defaults_json(spec));
    return failed == 0 ? 0 : -1;
}

static json_t *observation_json(const struct spec *spec, const struct earlier_study *study, size_t j)
{
    json_t *value = codec_number(spec_sign(spec) * study->values[j]);
    if (study->rows != NULL)
        return json_pack("{s:I, s:o}", "candidate", (json_int_t)study->rows[j], "value", value);
    return json_pack("{s:o, s:o}", "point", codec_point_json(spec, study->points + j * spec->space.params_len), "value",
                     value);
}

int codec_transfer_write_whole(const struct spec *spec, const struct earlier_study *studies, size_t len,
                               json_t *algorithm)
{
    json_t *list = json_array();
    for (size_t i = 0; i < len; i++) {
        json_t *observations = json_array();
        for (size_t j = 0; j < studies[i].n; j++)
            codec_append(&observations, observation_json(spec, &studies[i], j));
        codec_append(&list, json_pack("{s:s, s:o}", "name", studies[i].name, "observations", observations));
    }
    (void)json_object_del(algorithm, "meta");
    (void)json_object_del(algorithm, "earlier_studies");
    return json_object_set_new(algorithm, "earlier_observations", list);
}

/* ---- from one space to another ---- */

static size_t find_param(const struct space *space, const char *name)
{
    size_t i = 0;
    while (i < space->params_len && strcmp(space->params[i].name, name) != 0)
        i++;
    return i;
}

static bool has_default(const struct spec *spec, size_t i)
{
    return spec->earlier.defaults != NULL && !isnan(spec->earlier.defaults[i]);
}

size_t codec_transfer_shared(const struct spec *spec, const struct spec *source)
{
    const struct space *space = &spec->space;
    bool                is_known[SPACE_PARAMS_MAX];
    size_t              shared = 0;
    for (size_t i = 0; i < space->params_len; i++) {
        const struct param *param = &space->params[i];
        bool                is_there = find_param(&source->space, param->name) < source->space.params_len;
        is_known[i] = is_there || has_default(spec, i);
        for (size_t c = 0; c < param->when_len; c++)
            is_known[i] = is_known[i] && is_known[param->when[c].parent];
        shared += is_there && is_known[i];
    }
    return shared;
}

enum status codec_transfer_check_names(const struct spec *spec, const struct spec *source, const char *where,
                                       struct error *err)
{
    if (codec_transfer_shared(spec, source) > 0)
        return STATUS_OK;
    return error_set(
        err, STATUS_INVALID, "earlier_parameter_missing", where,
        "it has no parameter of the new space, or none that does not depend on one that it lacks: say their "
        "values there in earlier_defaults");
}

/* By way of JSON, where a value is what the client wrote, whatever the kind of parameter. */
static bool align_value(const struct spec *spec, size_t i, const struct spec *source, const double *point, double *out)
{
    size_t       k = find_param(&source->space, spec->space.params[i].name);
    struct error ignored;
    if (k == source->space.params_len || isnan(point[k])) {
        *out = spec->earlier.defaults == NULL ? (double)NAN : spec->earlier.defaults[i];
        return !isnan(*out) || k == source->space.params_len;
    }
    json_auto_t *value = codec_space_value_json(source, k, point[k]);
    return value != NULL && codec_space_value(spec, i, value, "", out, &ignored) == STATUS_OK;
}

bool codec_transfer_align(const struct spec *spec, const struct spec *source, const double *point, double *out)
{
    for (size_t i = 0; i < spec->space.params_len; i++) {
        bool is_active = space_is_active(&spec->space, out, i);
        out[i] = NAN;
        if (is_active && !align_value(spec, i, source, point, &out[i]))
            return false;
    }
    return space_broken_rest(&spec->space, out, CODEC_ROUNDING_SLACK) == NULL && !space_forbids(&spec->space, out);
}

json_t *codec_transfer_names(const struct spec *spec, const struct earlier_study *study)
{
    size_t  len = spec->space.params_len;
    json_t *list = study->points == NULL ? json_null() : json_array();
    for (size_t i = 0; i < len && study->points != NULL; i++) {
        size_t j = 0;
        while (j < study->n && isnan(study->points[j * len + i]))
            j++;
        if (j < study->n)
            codec_append(&list, json_string(spec->space.params[i].name));
    }
    return list;
}
