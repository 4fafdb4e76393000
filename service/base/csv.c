/* See csv.h.  The file is fed to libcsv line by line, so that the line is known when a cell is wrong. */
#include "service/base/csv.h"

#include "service/base/nearest.h"

#include <csv.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct csv_table *table;
    struct error     *err;
    enum status       status;
    size_t            line, text_bytes, text_room, cells, cells_room, rows, rows_room, row_start;
};

/* Room for one more element of the given size; doubles. */
static bool grow(void **array, size_t needed, size_t *room, size_t size)
{
    if (needed <= *room)
        return true;
    size_t wanted = *room * 2 > needed ? *room * 2 : needed + 64;
    void  *larger = realloc(*array, wanted * size);
    if (larger == NULL)
        return false;
    *array = larger;
    *room = wanted;
    return true;
}

static void fail(struct reader *reader, enum status status, const char *code, const char *problem)
{
    if (reader->status == STATUS_OK)
        reader->status = error_set(reader->err, status, code, "", "line %zu, column %zu: %s", reader->line,
                                   reader->cells - reader->row_start + 1, problem);
}

static void take_cell(void *bytes, size_t length, void *arg)
{
    struct reader    *reader = arg;
    struct csv_table *table = reader->table;
    if (reader->status != STATUS_OK)
        return;
    if (bytes != NULL && memchr(bytes, '\0', length) != NULL) {
        fail(reader, STATUS_INVALID, "csv_unreadable", "a NUL byte");
        return;
    }
    void *text = table->text, *cells = table->cells;
    bool  has_room = grow(&text, reader->text_bytes + length + 1, &reader->text_room, 1);
    table->text = text;
    has_room = has_room && grow(&cells, reader->cells + 1, &reader->cells_room, sizeof(size_t));
    table->cells = cells;
    if (!has_room) {
        fail(reader, STATUS_NO_MEMORY, "no_memory", "out of memory");
        return;
    }
    if (length > 0)
        memcpy(table->text + reader->text_bytes, bytes, length);
    table->text[reader->text_bytes + length] = '\0';
    table->cells[reader->cells++] = reader->text_bytes;
    reader->text_bytes += length + 1;
}

static void take_row(int terminator, void *arg)
{
    struct reader    *reader = arg;
    struct csv_table *table = reader->table;
    (void)terminator;
    if (reader->status != STATUS_OK)
        return;
    size_t width = reader->cells - reader->row_start;
    if (reader->rows == 0)
        table->columns = width;
    if (reader->rows == 0 && width == 1 && strpbrk(table->text, ";\t") != NULL) {
        reader->status = error_set(reader->err, STATUS_INVALID, "csv_header", "",
                                   "line 1: there is no comma: commas separate cells, not semicolons or tabs");
        return;
    }
    if (width != table->columns) {
        reader->status = error_set(reader->err, STATUS_INVALID, "csv_width", "", "line %zu: %zu columns, expected %zu",
                                   reader->line, width, table->columns);
        return;
    }
    void *lines = table->lines;
    bool  has_room = grow(&lines, reader->rows + 1, &reader->rows_room, sizeof(size_t));
    table->lines = lines;
    if (!has_room) {
        fail(reader, STATUS_NO_MEMORY, "no_memory", "out of memory");
        return;
    }
    table->lines[reader->rows++] = reader->line;
    reader->row_start = reader->cells;
}

static enum status parse(struct reader *reader, struct csv_parser *parser, FILE *stream)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* the byte order mark some spreadsheets write */
    char             *line = NULL;
    size_t            room = 0;
    ssize_t           length = 0;
    while (reader->status == STATUS_OK && (length = getline(&line, &room, stream)) > 0) {
        size_t skip = reader->line++ == 0 && strncmp(line, mark, 3) == 0 ? 3 : 0;
        size_t bytes = (size_t)length - skip;
        if (csv_parse(parser, line + skip, bytes, take_cell, take_row, reader) != bytes)
            fail(reader, STATUS_INVALID, "csv_unreadable", csv_strerror(csv_error(parser)));
    }
    free(line);
    if (ferror(stream))
        fail(reader, STATUS_INVALID, "csv_unreadable", strerror(errno));
    if (reader->status == STATUS_OK && csv_fini(parser, take_cell, take_row, reader) != 0)
        fail(reader, STATUS_INVALID, "csv_unreadable", "a quote is not closed");
    return reader->status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum status check_header(const struct csv_table *table, struct error *err)
{
    if (table->columns == 0)
        return error_set(err, STATUS_INVALID, "csv_header", "", "there is no header line");
    const char **names = malloc(table->columns * sizeof *names);
    if (names == NULL)
        return error_no_memory(err);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < table->columns; i++) {
        names[i] = csv_table_name(table, i);
        if (names[i][0] == '\0' && status == STATUS_OK)
            status = error_set(err, STATUS_INVALID, "csv_header", "", "line 1, column %zu: the name is empty", i + 1);
    }
    qsort(names, table->columns, sizeof *names, compare_names);
    for (size_t i = 1; i < table->columns && status == STATUS_OK; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            status =
                error_set(err, STATUS_INVALID, "csv_header", "", "line 1: two columns are named \"%.100s\"", names[i]);
    free(names);
    return status;
}

static enum status read_stream(FILE *stream, struct csv_table *out, struct error *err)
{
    struct csv_parser parser;
    struct reader     reader = {.table = out, .err = err};
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
        return error_no_memory(err);
    enum status status = parse(&reader, &parser, stream);
    csv_free(&parser);
    if (status != STATUS_OK)
        return status;
    out->rows = reader.rows > 0 ? reader.rows - 1 : 0;
    return check_header(out, err);
}

enum status csv_table_read(const char *path, struct csv_table *out, struct error *err)
{
    *out = (struct csv_table){.text = NULL};
    FILE *stream = fopen(path, "re");
    if (stream == NULL)
        return error_set(err, STATUS_INVALID, "csv_unreadable", "", "%.150s: %s", path, strerror(errno));
    enum status status = read_stream(stream, out, err);
    fclose(stream);
    return status;
}

enum status csv_table_parse(const char *text, size_t length, struct csv_table *out, struct error *err)
{
    *out = (struct csv_table){.text = NULL};
    FILE *stream = fmemopen((void *)text, length, "r");
    if (stream == NULL)
        return error_no_memory(err);
    enum status status = read_stream(stream, out, err);
    fclose(stream);
    return status;
}

void csv_table_free(struct csv_table *table)
{
    free(table->text);
    free(table->cells);
    free(table->lines);
    *table = (struct csv_table){.text = NULL};
}

const char *csv_table_name(const struct csv_table *table, size_t column)
{
    return table->text + table->cells[column];
}

const char *csv_table_cell(const struct csv_table *table, size_t row, size_t column)
{
    return table->text + table->cells[(row + 1) * table->columns + column];
}

enum status csv_table_column(const struct csv_table *table, const char *name, size_t *column, struct error *err)
{
    struct nearest nearest = nearest_to(name, strlen(name));
    for (*column = 0; *column < table->columns; ++*column) {
        if (strcmp(csv_table_name(table, *column), name) == 0)
            return STATUS_OK;
        nearest_consider(&nearest, csv_table_name(table, *column));
    }
    return nearest_refuse(&nearest, err, "csv_column", "", "column", "the first line of the table has all");
}

enum status csv_table_number(const struct csv_table *table, size_t row, size_t column, double *out, struct error *err)
{
    const char *cell = csv_table_cell(table, row, column);
    const char *name = csv_table_name(table, column);
    size_t      line = table->lines[row + 1];
    char       *end = NULL;
    if (cell[0] == '\0')
        return error_set(err, STATUS_INVALID, "csv_value", "",
                         "line %zu, column \"%.80s\": the value is missing: leave out the row, or the column", line,
                         name);
    *out = strtod(cell, &end);
    if (end == cell || *end != '\0' || !isfinite(*out))
        return error_set(err, STATUS_INVALID, "csv_value", "", "line %zu, column \"%.80s\": not a finite number: %.40s",
                         line, name, cell);
    return STATUS_OK;
}
