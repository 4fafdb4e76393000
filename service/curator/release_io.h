/* Input and output of the curator's commands: columns of a CSV as a matrix, lists of numbers from the command line, and
 * matrices as .npy files.  Everything lives in the caller's arena. */
#ifndef GNOMON_SERVICE_CURATOR_RELEASE_IO_H
#define GNOMON_SERVICE_CURATOR_RELEASE_IO_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "service/base/npy.h"
#include "service/base/csv.h"
#include "service/manifest/manifest.h"
#include "service/file/sign.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct release_table {
    const char **names;   /* [d] */
    size_t      *columns; /* [d] of the CSV */
    double      *rows;    /* [n][d], private */
    size_t       n, d;
};
/* The columns of a list "a,b,c".  Errors, all INVALID: "usage" (none, too many, one twice), "csv_column"; "csv_value" with
 * line and column; "too_few_rows" for less than two; NO_MEMORY. */
MUST_CHECK enum status release_io_table(const struct csv_table *csv, const char *list, struct arena *arena,
                                        struct release_table *out, struct error *err);
/* Overwrites the rows and the CSV's own text. */
void release_io_wipe(struct release_table *table, struct csv_table *csv);

/* "1,2.5,-3": len finite numbers.  flag names the option in the error: INVALID "usage". */
MUST_CHECK enum status release_io_numbers(const char *flag, const char *list, size_t len, struct arena *arena,
                                          double **out, struct error *err);

/* indices [rows][columns] as <i4 or <i8, values as <f8.  The stream keeps its errors for file_finish. */
void release_io_write_indices(FILE *stream, const int64_t *indices, size_t rows, size_t columns, enum npy_type type);
void release_io_write_values(FILE *stream, const double *values, size_t rows, size_t columns);

/* The manifest in a file, verified (as manifest_verify), and the digest of the matrix beside it compared: INVALID
 * "wrong_matrix".  *text: canonical; the caller frees it. */
MUST_CHECK enum status release_io_manifest(const char *path, const char *matrix_path, struct release_manifest *out,
                                           char **text, struct error *err);

#endif
