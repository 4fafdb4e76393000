/* See secret.h. */
#include "service/secret.h"
#include "service/file.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char format_name[] = "gnomon-secret-1";
enum { FILE_MAX_BYTES = 64 << 20 };

static json_t *real_array(const double *values, size_t len)
{
    json_t *array = json_array();
    for (size_t i = 0; i < len && values != NULL; i++)
        json_array_append_new(array, json_real(values[i]));
    return array;
}

static json_t *row_array(const struct secret *secret)
{
    json_t *array = json_array();
    for (size_t i = 0; i < secret->len; i++)
        json_array_append_new(array, json_integer(secret->rows[i]));
    return array;
}

static json_t *name_array(const struct secret *secret)
{
    json_t *array = json_array();
    for (size_t i = 0; i < secret->columns_len; i++)
        json_array_append_new(array, json_string(secret->columns[i]));
    return array;
}

enum status secret_write(const struct secret *secret, FILE *stream, struct error *err)
{
    json_t *document = json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:o, s:f, s:i, s:o, s:o}", "format", format_name, "id", secret->id, "data_sha256",
        secret->data_sha256, "matrix_sha256", secret->matrix_sha256, "columns", name_array(secret), "length_scales",
        real_array(secret->length_scales, secret->columns_len), "scale", secret->scale, "dims", (int)secret->dims,
        "normals", real_array(secret->normals, secret->columns_len * secret->dims), "rows", row_array(secret));
    bool is_written = document != NULL && json_array_size(json_object_get(document, "rows")) == secret->len &&
                      json_dumpf(document, stream, JSON_COMPACT | JSON_REAL_PRECISION(17)) == 0;
    json_decref(document);
    return is_written ? STATUS_OK : error_set(err, STATUS_FULL, "file", "", "the secret file cannot be written");
}

static bool take_rows(const json_t *rows, struct secret *out)
{
    out->len = json_array_size(rows);
    out->rows = calloc(out->len > 0 ? out->len : 1, sizeof *out->rows);
    bool *is_seen = calloc(out->len > 0 ? out->len : 1, sizeof *is_seen);
    bool  is_good = out->rows != NULL && is_seen != NULL && out->len > 0;
    for (size_t i = 0; i < out->len && is_good; i++) {
        const json_t *row = json_array_get(rows, i);
        json_int_t    value = json_integer_value(row);
        is_good = json_is_integer(row) && value >= 0 && value < (json_int_t)out->len && !is_seen[value];
        if (is_good) {
            is_seen[value] = true;
            out->rows[i] = (uint32_t)value;
        }
    }
    free(is_seen);
    return is_good;
}

static bool take(json_t *document, struct secret *out)
{
    const char *format = "", *id = "", *data = "", *matrix = "";
    json_t     *rows = NULL;
    if (json_unpack(document, "{s:s, s:s, s:s, s:s, s:o}", "format", &format, "id", &id, "data_sha256", &data,
                    "matrix_sha256", &matrix, "rows", &rows) != 0)
        return false;
    if (strcmp(format, format_name) != 0 || strlen(id) != sizeof out->id - 1 || strlen(data) != 64 ||
        strlen(matrix) != 64)
        return false;
    memcpy(out->id, id, sizeof out->id);
    memcpy(out->data_sha256, data, sizeof out->data_sha256);
    memcpy(out->matrix_sha256, matrix, sizeof out->matrix_sha256);
    return take_rows(rows, out);
}

enum status secret_read(const char *path, struct secret *out, struct error *err)
{
    char  *text = NULL;
    size_t length = 0;
    *out = (struct secret){.len = 0};
    TRY(file_read(path, FILE_MAX_BYTES, &text, &length, err));
    json_t *document = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    bool    is_good = document != NULL && take(document, out);
    json_decref(document);
    free(text);
    return is_good ? STATUS_OK
                   : error_set(err, STATUS_INVALID, "bad_secret", "",
                               "%.150s is not a secret file of "
                               "gnomon project",
                               path);
}

void secret_free(struct secret *secret)
{
    free(secret->rows);
    secret->rows = NULL;
}

void secret_neighbour(const char *path, const char *extension, char *out, size_t out_bytes)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash != NULL ? slash : path, '.');
    size_t      stem = dot != NULL && dot != path ? (size_t)(dot - path) : strlen(path);
    snprintf(out, out_bytes, "%.*s%s", (int)stem, path, extension);
}
