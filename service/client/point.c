/* See point.h.  Each type of parameter has one row; a type that this program does not know has no values. */
#include "service/client/point.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static bool is_between(const json_t *parameter, const json_t *value)
{
    double number = json_number_value(value);
    return json_is_number(value) && number >= json_number_value(json_object_get(parameter, "min")) &&
           number <= json_number_value(json_object_get(parameter, "max"));
}

static bool is_whole_between(const json_t *parameter, const json_t *value)
{
    return is_between(parameter, value) && json_number_value(value) == floor(json_number_value(value));
}

/* A whole number may come as 1 or as 1.0. */
static bool is_listed(const json_t *parameter, const json_t *value)
{
    size_t        i;
    const json_t *one;
    json_array_foreach (json_object_get(parameter, "values"), i, one) {
        bool are_numbers = json_is_number(one) && json_is_number(value);
        if (are_numbers ? json_number_value(one) == json_number_value(value) : json_equal(one, value))
            return true;
    }
    return false;
}

static const struct {
    const char *name;
    bool (*has)(const json_t *parameter, const json_t *value);
} types[] = {
    {"double", is_between},
    {"int", is_whole_between},
    {"discrete", is_listed},
    {"categorical", is_listed},
};

static bool has_value(const json_t *parameter, const json_t *value)
{
    const char *type = json_string_value(json_object_get(parameter, "type"));
    for (size_t i = 0; type != NULL && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, type) == 0)
            return types[i].has(parameter, value);
    return false;
}

const json_t *point_parameter(const json_t *space, const char *name, size_t length)
{
    size_t        i;
    const json_t *parameter;
    json_array_foreach (json_object_get(space, "parameters"), i, parameter) {
        const char *own = json_string_value(json_object_get(parameter, "name"));
        if (own != NULL && strlen(own) == length && strncmp(own, name, length) == 0)
            return parameter;
    }
    return NULL;
}

enum status point_check(const json_t *space, const json_t *point, struct error *err)
{
    const char *name;
    json_t     *value;
    if (!json_is_object(point))
        return error_set(err, STATUS_INTERNAL, "bad_reply", "",
                         "the server's answer has no point of the study's space");
    json_object_foreach ((json_t *)(uintptr_t)point, name, value) {
        const json_t *parameter = point_parameter(space, name, strlen(name));
        if (parameter == NULL || !has_value(parameter, value))
            return error_set(err, STATUS_INTERNAL, "bad_reply", "",
                             "the server's answer has a value of %.100s that the study's space does not have", name);
    }
    return STATUS_OK;
}
