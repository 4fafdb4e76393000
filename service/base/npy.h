/* NumPy's .npy files: the header of a matrix or a vector of numbers.  Pure. */
#ifndef GNOMON_SERVICE_BASE_NPY_H
#define GNOMON_SERVICE_BASE_NPY_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum npy_type { NPY_F8, NPY_F4, NPY_I4, NPY_I8, NPY_TYPES };
const char   *npy_type_name(enum npy_type type);  /* "<f8" */
enum npy_type npy_type_find(const char *descr);   /* NPY_TYPES: none of the list */
size_t        npy_type_bytes(enum npy_type type); /* of one number */

struct npy {
    size_t        rows, columns, data_offset;
    enum npy_type type;
};
/* Two dimensions, C order, a type of the list.  *data_offset: where the numbers start.  Errors: INVALID "not_npy",
 * "wrong_shape".  Fuzzed. */
MUST_CHECK enum status npy_header(const void *bytes, size_t length, struct npy *out, struct error *err);
/* As npy_header for a vector: one dimension, or one row.  *out: rows is 1. */
MUST_CHECK enum status npy_vector(const void *bytes, size_t length, struct npy *out, struct error *err);
/* Writes a 1.0 header for [rows][columns] into out (at most 128 bytes, a multiple of 64); returns its length. */
size_t npy_write_header(size_t rows, size_t columns, enum npy_type type, unsigned char out[128]);

#endif
