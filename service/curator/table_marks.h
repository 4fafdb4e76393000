/* By which a table, and a copy, a part or a slightly changed version of it, is recognised again: digests under a secret of
 * the curator's key, so that they say nothing without it.
 *
 * A row is its cells, columns in the order of their names, numbers by their value.  Equal rows are counted, so that each
 * has a tag of its own.  A table's tag is a digest of its rows' tags: rows and columns in any order, in any file.
 * Marks are 64 bits of digests, in ascending lists of one mark for each row: of whole rows; of each declared column alone;
 * of the declared columns' values on grids of cells as wide as the protected moves, each grid shifted by another fraction
 * of a cell.  Of d such columns and d + 1 grids each column can put two rows that are closer than move / (d + 1) into
 * different cells of at most one grid, so that they share a cell in at least one. */
#ifndef GNOMON_SERVICE_CURATOR_TABLE_MARKS_H
#define GNOMON_SERVICE_CURATOR_TABLE_MARKS_H

#include "engine/base/status.h"
#include "service/base/csv.h"
#include "service/file/sign.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TABLE_ROW_TAG_BYTES = 16, TABLE_GRIDS_MAX = 17 };

/* The declared columns: numbers in every row of the table. */
struct table_columns {
    const char *const *names; /* [len] */
    const double      *moves; /* [len] > 0; INFINITY: any, not on a grid */
    size_t             len;
};

struct table_marks {
    size_t    n, columns, grids;
    uint64_t *lists; /* [1 + columns + grids][n]; the caller's to free */
};

/* The table's tag, and of each row (out may be NULL) its tag.  Errors: NO_MEMORY. */
MUST_CHECK enum status table_marks_tags(const struct csv_table *csv, const struct sign_key *key, char tag[65],
                                        unsigned char (*rows)[TABLE_ROW_TAG_BYTES], struct error *err);

/* Errors: INVALID csv_column, csv_value; NO_MEMORY. */
MUST_CHECK enum status table_marks_make(const struct csv_table *csv, const struct sign_key *key,
                                        const struct table_columns *columns, struct table_marks *out,
                                        struct error *err);

/* Whether the two may be versions of one table: they have a whole row in common; or, of the smaller one's rows, half in a
 * column or on a grid.  The grids are those of one table: of as many columns with the same moves. */
bool table_marks_meet(const struct table_marks *one, const struct table_marks *other);

/* A file of mode 0600, durable; sha256 of it.  Reading: INVALID "table_marks" unless it is the one with this digest;
 * NOT_FOUND "table_marks". */
MUST_CHECK enum status table_marks_write(const struct table_marks *marks, const char *path, char sha256[65],
                                         struct error *err);
MUST_CHECK enum status table_marks_read(const char *path, const char *sha256, struct table_marks *out,
                                        struct error *err);

#endif
