/* See secret.h. */
#include "service/curator/secret.h"
#include "service/file/file.h"
#include "service/member/codec.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char format_name[] = "gnomon-secret-2";
enum { FILE_MAX_BYTES = 64 << 20 };

static json_t *real_array(const double *values, size_t len)
{
    json_t *array = json_array();
    for (size_t i = 0; i < len && values != NULL; i++)
        codec_append(&array, json_real(values[i]));
    return array;
}

static json_t *row_array(const struct secret *secret)
{
    json_t *array = json_array();
    for (size_t i = 0; i < secret->len; i++)
        codec_append(&array, secret->rows[i] == SECRET_BLANK ? json_null() : json_integer(secret->rows[i]));
    return array;
}

static json_t *name_array(const struct secret *secret)
{
    json_t *array = json_array();
    for (size_t i = 0; i < secret->columns_len; i++)
        codec_append(&array, json_string(secret->columns[i]));
    return array;
}

enum status secret_write(const struct secret *secret, FILE *stream, struct error *err)
{
    json_t *document =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:f, s:f, s:i, s:o, s:o}", "format", format_name, "id",
                  secret->id, "data_sha256", secret->data_sha256, "matrix_sha256", secret->matrix_sha256, "key",
                  secret->key, "data_rows", (json_int_t)secret->data_rows, "columns", name_array(secret), "centre",
                  real_array(secret->centre, secret->columns_len), "length_scales",
                  real_array(secret->length_scales, secret->columns_len), "radius", secret->radius, "scale",
                  secret->scale, "dims", (int)secret->dims, "normals",
                  real_array(secret->normals, secret->columns_len * secret->dims), "rows", row_array(secret));
    bool is_written = document != NULL && json_array_size(json_object_get(document, "rows")) == secret->len &&
                      json_dumpf(document, stream, JSON_COMPACT | JSON_REAL_PRECISION(17)) == 0;
    json_decref(document);
    return is_written ? STATUS_OK : error_set(err, STATUS_FULL, "file", "", "the secret file cannot be written");
}

static int by_number(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

/* False when out of memory, too.  What is needed follows from the file, not from how many rows it says that there are. */
static bool are_apart(const uint32_t *rows, size_t len)
{
    uint32_t *sorted = malloc(len * sizeof *sorted);
    bool      is_good = sorted != NULL;
    if (sorted == NULL)
        return false;
    memcpy(sorted, rows, len * sizeof *sorted);
    qsort(sorted, len, sizeof *sorted, by_number);
    for (size_t i = 1; i < len; i++)
        is_good = is_good && (sorted[i] != sorted[i - 1] || sorted[i] == SECRET_BLANK);
    sign_wipe(sorted, len * sizeof *sorted);
    free(sorted);
    return is_good;
}

static bool take_rows(const json_t *rows, struct secret *out)
{
    out->len = json_array_size(rows);
    out->rows = calloc(out->len > 0 ? out->len : 1, sizeof *out->rows);
    bool is_good = out->rows != NULL && out->len > 0;
    for (size_t i = 0; i < out->len && is_good; i++) {
        const json_t *row = json_array_get(rows, i);
        json_int_t    value = json_integer_value(row);
        out->rows[i] = json_is_null(row) ? SECRET_BLANK : (uint32_t)value;
        is_good = json_is_null(row) || (json_is_integer(row) && value >= 0 && value < (json_int_t)out->data_rows);
    }
    return is_good && are_apart(out->rows, out->len);
}

/* NULL for an array of another length. */
static double *take_reals(const json_t *array, size_t len)
{
    double *reals = json_array_size(array) == len ? calloc(len, sizeof *reals) : NULL;
    for (size_t i = 0; i < len && reals != NULL; i++)
        reals[i] = json_number_value(json_array_get(array, i));
    return reals;
}

static bool take(json_t *document, struct secret *out)
{
    const char *format = "", *id = "", *data = "", *matrix = "", *key = "";
    json_t     *rows = NULL, *centre = NULL, *length_scales = NULL, *columns = NULL;
    json_int_t  data_rows = 0;
    if (json_unpack(document, "{s:s, s:s, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:F, s:F, s:o}", "format", &format, "id",
                    &id, "data_sha256", &data, "matrix_sha256", &matrix, "key", &key, "data_rows", &data_rows,
                    "columns", &columns, "centre", &centre, "length_scales", &length_scales, "radius", &out->radius,
                    "scale", &out->scale, "rows", &rows) != 0)
        return false;
    if (strcmp(format, format_name) != 0 || strlen(id) != sizeof out->id - 1 || strlen(data) != 64 ||
        strlen(matrix) != 64 || !sign_is_public(key) || data_rows < 1 || data_rows > UINT32_MAX)
        return false;
    memcpy(out->id, id, sizeof out->id);
    memcpy(out->data_sha256, data, sizeof out->data_sha256);
    memcpy(out->matrix_sha256, matrix, sizeof out->matrix_sha256);
    memcpy(out->key, key, sizeof out->key);
    out->data_rows = (size_t)data_rows;
    out->columns_len = json_array_size(columns);
    out->centre = take_reals(centre, out->columns_len);
    out->length_scales = take_reals(length_scales, out->columns_len);
    return take_rows(rows, out);
}

enum status secret_read(const char *path, struct secret *out, struct error *err)
{
    char  *text = NULL;
    size_t length = 0;
    *out = (struct secret){.len = 0};
    if (file_read_private(path, FILE_MAX_BYTES, &text, &length, err) == STATUS_NOT_FOUND)
        return error_set(
            err, STATUS_NOT_FOUND, "no_secret", "",
            "%.100s: there is no such secret file. Without it no candidate leads back to its row: look for "
            "a copy, or make a new release (a second charge)",
            path);
    if (text == NULL)
        return err->status;
    json_t *document = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    bool    is_good = document != NULL && take(document, out);
    json_decref(document);
    sign_wipe(text, length);
    free(text);
    return is_good ? STATUS_OK
                   : error_set(err, STATUS_INVALID, "bad_secret", "",
                               "%.150s is not a secret file of "
                               "gnomon project",
                               path);
}

void secret_free(struct secret *secret)
{
    sign_wipe(secret->rows, secret->len * sizeof *secret->rows);
    free(secret->rows);
    free((void *)(uintptr_t)secret->centre);
    free((void *)(uintptr_t)secret->length_scales);
    *secret = (struct secret){.len = 0};
}

void secret_neighbour(const char *path, const char *extension, char *out, size_t out_bytes)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash != NULL ? slash : path, '.');
    size_t      stem = dot != NULL && dot != path ? (size_t)(dot - path) : strlen(path);
    snprintf(out, out_bytes, "%.*s%s", (int)stem, path, extension);
}
