/* See release_io.h. */
#include "service/curator/release_io.h"
#include "service/base/digest.h"
#include "service/file/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 1024 };
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "matrices are written and read as they are in memory");

static enum status usage(struct error *err, const char *text)
{
    return error_set(err, STATUS_INVALID, "usage", "", "%s", text);
}

/* Splits at commas, in place of a copy in the arena.  Returns how many, room + 1 for too many. */
static size_t split(struct arena *arena, const char *list, const char **parts, size_t room)
{
    char  *copy = arena_strndup(arena, list, strlen(list));
    size_t len = 0;
    for (char *at = copy; at != NULL && len <= room; len++) {
        char *comma = strchr(at, ',');
        if (comma != NULL)
            *comma++ = '\0';
        if (len < room)
            parts[len] = at;
        at = comma;
    }
    return len;
}

static enum status find_columns(const struct csv_table *csv, const char *list, struct arena *arena,
                                struct release_table *out, struct error *err)
{
    out->names = ARENA_NEW(arena, const char *, COLUMNS_MAX);
    out->columns = ARENA_NEW(arena, size_t, COLUMNS_MAX);
    if (out->names == NULL || out->columns == NULL)
        return error_no_memory(err);
    out->d = split(arena, list, out->names, COLUMNS_MAX);
    if (out->d == 0 || out->d > COLUMNS_MAX)
        return usage(err, "--columns takes 1 to 1024 names");
    for (size_t j = 0; j < out->d; j++) {
        TRY(csv_table_column(csv, out->names[j], &out->columns[j], err));
        for (size_t k = 0; k < j; k++)
            if (out->columns[k] == out->columns[j])
                return error_set(err, STATUS_INVALID, "usage", "", "--columns names \"%.100s\" twice", out->names[j]);
    }
    return STATUS_OK;
}

enum status release_io_table(const struct csv_table *csv, const char *list, struct arena *arena,
                             struct release_table *out, struct error *err)
{
    TRY(find_columns(csv, list, arena, out, err));
    out->n = csv->rows;
    if (out->n < 2)
        return error_set(err, STATUS_INVALID, "too_few_rows", "", "%zu rows: more are needed", out->n);
    out->rows = ARENA_NEW(arena, double, out->n * out->d);
    if (out->rows == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < out->n; i++)
        for (size_t j = 0; j < out->d; j++)
            TRY(csv_table_number(csv, i, out->columns[j], &out->rows[i * out->d + j], err));
    return STATUS_OK;
}

void release_io_wipe(struct release_table *table, struct csv_table *csv)
{
    sign_wipe(table->rows, table->n * table->d * sizeof *table->rows);
    if (csv->text == NULL || csv->rows == 0)
        return;
    const char *last = csv_table_cell(csv, csv->rows - 1, csv->columns - 1);
    sign_wipe(csv->text, (size_t)(last - csv->text) + strlen(last));
}

enum status release_io_numbers(const char *flag, const char *list, size_t len, struct arena *arena, double **out,
                               struct error *err)
{
    const char **parts = ARENA_NEW(arena, const char *, len);
    *out = ARENA_NEW(arena, double, len);
    if (parts == NULL || *out == NULL)
        return error_no_memory(err);
    if (split(arena, list, parts, len) != len)
        return error_set(err, STATUS_INVALID, "usage", "", "--%s takes %zu numbers with commas between them", flag,
                         len);
    for (size_t j = 0; j < len; j++) {
        char *end = NULL;
        (*out)[j] = strtod(parts[j], &end);
        if (end == parts[j] || *end != '\0' || !isfinite((*out)[j]))
            return error_set(err, STATUS_INVALID, "usage", "", "--%s: not a number: %.40s", flag, parts[j]);
    }
    return STATUS_OK;
}

static void write_header(FILE *stream, size_t rows, size_t columns, enum npy_type type)
{
    unsigned char header[128];
    size_t        length = npy_write_header(rows, columns, type, header);
    fwrite(header, 1, length, stream);
}

void release_io_write_indices(FILE *stream, const int64_t *indices, size_t rows, size_t columns, enum npy_type type)
{
    write_header(stream, rows, columns, type);
    if (type == NPY_I8)
        fwrite(indices, sizeof *indices, rows * columns, stream);
    for (size_t i = 0; i < rows * columns && type == NPY_I4; i++) {
        int32_t index = (int32_t)indices[i];
        fwrite(&index, sizeof index, 1, stream);
    }
}

void release_io_write_values(FILE *stream, const double *values, size_t rows, size_t columns)
{
    write_header(stream, rows, columns, NPY_F8);
    fwrite(values, sizeof *values, rows * columns, stream);
}

enum status release_io_manifest(const char *path, const char *matrix_path, struct release_manifest *out, char **text,
                                struct error *err)
{
    char   *given = NULL, digest[65], why[sizeof err->text];
    size_t  length = 0;
    int64_t bytes = 0;
    *text = NULL;
    TRY(file_read(path, MANIFEST_MAX_BYTES, &given, &length, err));
    enum status status = manifest_verify(given, length, out, err);
    free(given);
    if (status != STATUS_OK) {
        snprintf(why, sizeof why, "%s", err->text);
        return error_set(err, status, err->code, "", "%.100s: %.140s", path, why);
    }
    TRY(file_digest(matrix_path, digest, &bytes, err));
    if (strcmp(digest, out->sha256) != 0 || bytes != out->bytes)
        return error_set(err, STATUS_INVALID, "wrong_matrix", "", "%.100s is not the manifest of the matrix %.100s",
                         path, matrix_path);
    return manifest_text(out, text, err);
}
