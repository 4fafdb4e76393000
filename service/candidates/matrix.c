/* See matrix.h.  The header may lie across pieces: it is read when enough of the file is there, or all of it. */
#include "service/candidates/matrix.h"

#include <math.h>
#include <string.h>

static bool is_integer_type(enum npy_type type)
{
    return type == NPY_I4 || type == NPY_I8;
}

static int64_t integer_at(const unsigned char *bytes, enum npy_type type)
{
    int64_t wide;
    int32_t narrow;
    if (type == NPY_I8) {
        memcpy(&wide, bytes, sizeof wide);
        return wide;
    }
    memcpy(&narrow, bytes, sizeof narrow);
    return narrow;
}

static double real_at(const unsigned char *bytes, enum npy_type type)
{
    double wide;
    float  narrow;
    if (type == NPY_F8) {
        memcpy(&wide, bytes, sizeof wide);
        return wide;
    }
    memcpy(&narrow, bytes, sizeof narrow);
    return (double)narrow;
}

static void take_number(struct matrix *matrix, const unsigned char *bytes)
{
    static const int64_t EXACT = 1LL << 53;
    bool                 is_integer = is_integer_type(matrix->npy.type);
    int64_t              integer = is_integer ? integer_at(bytes, matrix->npy.type) : 0;
    double               real = is_integer ? (double)integer * matrix->scale : real_at(bytes, matrix->npy.type);
    matrix->is_finite = matrix->is_finite && isfinite(real) && integer <= EXACT && integer >= -EXACT;
    if (matrix->got < matrix->want && matrix->reals != NULL)
        matrix->reals[matrix->got] = real;
    if (matrix->got < matrix->want && matrix->integers != NULL)
        matrix->integers[matrix->got] = integer;
    matrix->got++;
}

static void take_bytes(struct matrix *matrix, const unsigned char *bytes, size_t length)
{
    size_t width = npy_type_bytes(matrix->npy.type);
    while (length > 0) {
        if (matrix->carry_len == 0 && length >= width) {
            take_number(matrix, bytes);
            bytes += width;
            length -= width;
            continue;
        }
        matrix->carry[matrix->carry_len++] = *bytes++;
        length--;
        if (matrix->carry_len == width) {
            take_number(matrix, matrix->carry);
            matrix->carry_len = 0;
        }
    }
}

static enum status take_head(struct matrix *matrix, struct error *err)
{
    matrix->is_finite = true;
    TRY(npy_header(matrix->head, matrix->head_len, &matrix->npy, err));
    matrix->has_header = true;
    take_bytes(matrix, matrix->head + matrix->npy.data_offset, matrix->head_len - matrix->npy.data_offset);
    return STATUS_OK;
}

enum status matrix_take(struct matrix *matrix, const void *bytes, size_t length, struct error *err)
{
    const unsigned char *at = bytes;
    if (matrix->digest != NULL)
        sha256_add(matrix->digest, at, length);
    if (!matrix->has_header) {
        size_t room = MATRIX_HEADER_MAX - matrix->head_len, part = room < length ? room : length;
        memcpy(matrix->head + matrix->head_len, at, part);
        matrix->head_len += part;
        at += part;
        length -= part;
        if (matrix->head_len == MATRIX_HEADER_MAX)
            TRY(take_head(matrix, err));
    }
    if (length > 0)
        take_bytes(matrix, at, length);
    return STATUS_OK;
}

enum status matrix_end(struct matrix *matrix, struct error *err)
{
    return matrix->has_header ? STATUS_OK : take_head(matrix, err);
}
