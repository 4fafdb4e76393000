#include "service/cli/demo.h"

#include "service/cli/named.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char demo_network_space[] =
    "{'type': 'parameters', 'parameters': ["
    "{'name': 'alpha', 'type': 'double', 'min': 1e-8, 'max': 1, 'scale': 'log'},"
    "{'name': 'batch_size', 'type': 'int', 'min': 4, 'max': 256, 'scale': 'log'},"
    "{'name': 'depth', 'type': 'int', 'min': 1, 'max': 3},"
    "{'name': 'learning_rate_init', 'type': 'double', 'min': 1e-5, 'max': 1, 'scale': 'log'},"
    "{'name': 'width', 'type': 'int', 'min': 16, 'max': 1024, 'scale': 'log'}]}";

json_t *demo_json(const char *text)
{
    char *copy = strdup(text);
    for (char *c = copy; c != NULL && *c != '\0'; c++)
        if (*c == '\'')
            *c = '"';
    json_t *json = copy != NULL ? json_loads(copy, 0, NULL) : NULL;
    free(copy);
    return json;
}

enum status demo_read_table(struct demo *demo, const char *file, const char *column, struct error *err)
{
    char   path[DEMO_PATH_BYTES];
    size_t j = 0;
    csv_table_free(&demo->table);
    free(demo->values);
    demo->values = NULL;
    snprintf(path, sizeof path, "%.900s/%s", demo->options->examples, file);
    TRY(csv_table_read(path, &demo->table, err));
    if (column == NULL)
        return STATUS_OK;
    TRY(csv_table_column(&demo->table, column, &j, err));
    demo->values = malloc((demo->table.rows + 1) * sizeof *demo->values);
    if (demo->values == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < demo->table.rows; i++)
        TRY(csv_table_number(&demo->table, i, j, &demo->values[i], err));
    return STATUS_OK;
}

static double unit(const json_t *parameter, double x)
{
    double      min = json_number_value(json_object_get(parameter, "min"));
    double      max = json_number_value(json_object_get(parameter, "max"));
    const char *scale = json_string_value(json_object_get(parameter, "scale"));
    return scale != NULL && strcmp(scale, "log") == 0 ? log(x / min) / log(max / min) : (x - min) / (max - min);
}

enum status demo_find_nearest(const struct demo *demo, const json_t *space, const json_t *point, size_t *row,
                              struct error *err)
{
    double least = INFINITY;
    for (size_t i = 0; i < demo->table.rows; i++) {
        double        distance = 0, value = 0;
        size_t        j = 0, column = 0;
        const json_t *parameter;
        json_array_foreach (json_object_get(space, "parameters"), j, parameter) {
            const char *name = json_string_value(json_object_get(parameter, "name"));
            TRY(csv_table_column(&demo->table, name, &column, err));
            TRY(csv_table_number(&demo->table, i, column, &value, err));
            double apart = unit(parameter, value) - unit(parameter, json_number_value(json_object_get(point, name)));
            distance += apart * apart;
        }
        if (distance < least) {
            least = distance;
            *row = i;
        }
    }
    return STATUS_OK;
}

enum status demo_post(struct demo *demo, const char *path, json_t *body, json_t **reply, struct error *err)
{
    char whole[200];
    if (body == NULL)
        return error_no_memory(err);
    snprintf(whole, sizeof whole, "/v1/%.150s", path);
    return client_json(demo->client, "POST", whole, body, reply, err);
}

/* An agent's files have their names from it. */
static bool is_id(const char *collection, const char *text)
{
    return named_is_id(strcmp(collection, "studies") == 0 ? "std"
                       : strcmp(collection, "games") == 0 ? "gam"
                                                          : "fed",
                       text);
}

enum status demo_create(struct demo *demo, const char *collection, json_t *body, char id[DEMO_ID_BYTES],
                        struct error *err)
{
    json_t *reply = NULL;
    TRY(demo_post(demo, collection, body, &reply, err));
    const char *text = json_string_value(json_object_get(reply, "id"));
    enum status status = is_id(collection, text) ? STATUS_OK : client_bad_reply(err);
    snprintf(id, DEMO_ID_BYTES, "%s", status == STATUS_OK ? text : "");
    json_decref(reply);
    return status;
}

enum status demo_find(struct demo *demo, const char *collection, const char *name, char id[DEMO_ID_BYTES],
                      int64_t *done, struct error *err)
{
    bool is_study = strcmp(collection, "studies") == 0;
    char path[400], cursor[300] = "";
    *done = 0;
    id[0] = '\0';
    do {
        json_auto_t *reply = NULL;
        snprintf(path, sizeof path, "/v1/%.20s?limit=100%s%s%s", collection, is_study ? "&view=basic" : "",
                 cursor[0] != '\0' ? "&cursor=" : "", cursor);
        TRY(client_json(demo->client, "GET", path, NULL, &reply, err));
        size_t        i;
        const json_t *item;
        json_array_foreach (json_object_get(reply, collection), i, item) {
            const char *own = json_string_value(json_object_get(item, "name"));
            const char *found = json_string_value(json_object_get(item, "id"));
            json_int_t  n = is_study ? json_integer_value(json_object_get(json_object_get(item, "trials"), "total"))
                                     : json_integer_value(json_object_get(item, "rounds_closed"));
            if (own == NULL || !is_id(collection, found) || strcmp(own, name) != 0 || n < *done)
                continue;
            snprintf(id, DEMO_ID_BYTES, "%s", found);
            *done = n;
        }
        const char *next = json_string_value(json_object_get(reply, "next_cursor"));
        snprintf(cursor, sizeof cursor, "%s", next != NULL ? next : "");
    } while (cursor[0] != '\0');
    return STATUS_OK;
}
