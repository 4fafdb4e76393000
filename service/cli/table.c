/* See table.h. */
#include "service/cli/table.h"

#include "service/client/plain.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_BYTES = 48 };

struct table {
    size_t columns, len, capacity;
    char **cells; /* row by row */
    bool   has_failed;
};

enum status table_new(size_t columns, struct table **out, struct error *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return error_no_memory(err);
    (*out)->columns = columns;
    return STATUS_OK;
}

void table_free(struct table *table)
{
    for (size_t i = 0; table != NULL && i < table->len; i++)
        free(table->cells[i]);
    if (table != NULL)
        free(table->cells);
    free(table);
}

void table_add(struct table *table, const char *text)
{
    if (table->len == table->capacity) {
        size_t capacity = table->capacity == 0 ? 64 : table->capacity * 2;
        char **cells = realloc(table->cells, capacity * sizeof *cells);
        if (cells == NULL) {
            table->has_failed = true;
            return;
        }
        table->cells = cells;
        table->capacity = capacity;
    }
    char *copy = strdup(text != NULL ? text : "");
    if (copy == NULL)
        table->has_failed = true;
    else
        table->cells[table->len++] = copy;
}

void table_add_value(struct table *table, const json_t *value)
{
    char text[CELL_BYTES];
    if (json_is_string(value)) {
        table_add(table, json_string_value(value));
        return;
    }
    snprintf(text, sizeof text, "%s", json_is_true(value) ? "true" : json_is_false(value) ? "false" : "");
    if (json_is_integer(value))
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    if (json_is_real(value))
        snprintf(text, sizeof text, "%.6g", json_real_value(value));
    table_add(table, text);
}

void table_add_seconds(struct table *table, const json_t *seconds)
{
    char      text[CELL_BYTES] = "";
    long long whole = (long long)json_number_value(seconds);
    if (json_is_number(seconds) && whole >= 3600)
        snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    else if (json_is_number(seconds))
        snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
    table_add(table, text);
}

/* ---- how wide ---- */

/* Characters, as a terminal counts those of most languages. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static bool is_number(const char *text)
{
    char *end = NULL;
    (void)strtod(text, &end);
    return end != text && (*end == '\0' || *end == ':');
}

/* Characters from the decimal point on: 0.0031 has 5, 4 has 0; 1e-05 is put under the others as it is. */
static size_t behind_point(const char *text)
{
    const char *point = strchr(text, '.');
    return point != NULL ? strlen(point) : 0;
}

struct column {
    bool   has_numbers;
    size_t before, behind, width; /* before and behind: of numbers */
};

static struct column measure(const struct table *table, size_t column)
{
    struct column out = {.has_numbers = true};
    for (size_t i = column; i < table->len; i += table->columns) {
        const char *cell = table->cells[i];
        if (i >= table->columns && cell[0] != '\0')
            out.has_numbers = out.has_numbers && is_number(cell);
    }
    for (size_t i = column; i < table->len; i += table->columns) {
        const char *cell = table->cells[i];
        size_t      width = width_of(cell), behind = behind_point(cell);
        if (i >= table->columns && out.has_numbers && width - behind > out.before)
            out.before = width - behind;
        if (i >= table->columns && out.has_numbers && behind > out.behind)
            out.behind = behind;
        if (width > out.width)
            out.width = width;
    }
    if (out.before + out.behind > out.width)
        out.width = out.before + out.behind;
    return out;
}

/* Prints a cell, and returns the rest of the column's width. */
static size_t print_cell(const char *cell, const struct column *column, bool is_name, FILE *stream)
{
    size_t width = width_of(cell), behind = 0;
    if (column->has_numbers && !is_name && cell[0] != '\0')
        behind = column->behind - behind_point(cell);
    size_t before = column->has_numbers ? column->width - width - behind : 0;
    fprintf(stream, "%*s", (int)before, "");
    plain_print(stream, cell);
    return column->width - before - width;
}

static size_t width_that_counts(const struct table *table, size_t row)
{
    size_t last = table->columns;
    while (last > 0 && table->cells[row * table->columns + last - 1][0] == '\0')
        last--;
    return last;
}

enum status table_print(const struct table *table, FILE *stream, struct error *err)
{
    struct column *columns = calloc(table->columns, sizeof *columns);
    if (table->has_failed || columns == NULL) {
        free(columns);
        return error_no_memory(err);
    }
    for (size_t i = 0; i < table->columns; i++)
        columns[i] = measure(table, i);
    for (size_t row = 0; (row + 1) * table->columns <= table->len; row++) {
        size_t last = width_that_counts(table, row), left = 0;
        for (size_t i = 0; i < last; i++) {
            fprintf(stream, "%*s", (int)(i > 0 ? left + 2 : 0), "");
            left = print_cell(table->cells[row * table->columns + i], &columns[i], row == 0, stream);
        }
        fputc('\n', stream);
    }
    free(columns);
    return STATUS_OK;
}
