/* A CSV file (RFC 4180, first line a header) as a table of cells, each known by its line and column.
 * Knows nothing of what the columns mean. */
#ifndef GNOMON_SERVICE_BASE_CSV_H
#define GNOMON_SERVICE_BASE_CSV_H

#include "engine/base/status.h"

#include <stddef.h>

struct csv_table {
    size_t  rows, columns; /* without the header */
    char   *text;          /* every cell, header first, each ended by NUL */
    size_t *cells;         /* [rows + 1][columns] where each starts in text */
    size_t *lines;         /* [rows + 1] line of the file on which each row ends, from 1 */
};

/* Errors, all INVALID, naming line and column: "csv_unreadable" (no such file, a NUL byte, a quote out of place),
 * "csv_header" (no header, an empty or duplicate name), "csv_width" (a row of another length).  NO_MEMORY.
 * csv_table_free is to be called in every case. */
MUST_CHECK enum status csv_table_read(const char *path, struct csv_table *out, struct error *err);
/* As csv_table_read for text in memory, length > 0. */
MUST_CHECK enum status csv_table_parse(const char *text, size_t length, struct csv_table *out, struct error *err);
void                   csv_table_free(struct csv_table *table);

const char *csv_table_name(const struct csv_table *table, size_t column);
const char *csv_table_cell(const struct csv_table *table, size_t row, size_t column);

/* The column of this name.  INVALID "csv_column" when there is none. */
MUST_CHECK enum status csv_table_column(const struct csv_table *table, const char *name, size_t *column,
                                        struct error *err);
/* A cell's number.  INVALID "csv_value": missing, not a number, not finite. */
MUST_CHECK enum status csv_table_number(const struct csv_table *table, size_t row, size_t column, double *out,
                                        struct error *err);

#endif
