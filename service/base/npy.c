/* The header of an .npy file: a magic string, a version, a length, and a Python dictionary of three entries:
 *   {'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }
 * Read by hand, strictly: each key exactly once, in any order, nothing else.  Pure; no number of the matrix is seen. */
#include "service/base/npy.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { PREAMBLE_1 = 10, PREAMBLE_2 = 12, HEADER_MAX = 4096, ALIGNMENT = 64, LENGTH_DIGITS_MAX = 12 };
static const char magic[] = "\x93NUMPY";

struct scan {
    const char *at, *end;
};
struct header {
    bool          has_descr, has_order, has_shape, is_fortran;
    enum npy_type type;
    size_t        sizes[2], dims;
};

static const struct {
    const char *descr;
    size_t      bytes;
} types[NPY_TYPES] = {
    [NPY_F8] = {"<f8", 8},
    [NPY_F4] = {"<f4", 4},
    [NPY_I4] = {"<i4", 4},
    [NPY_I8] = {"<i8", 8},
};

const char *npy_type_name(enum npy_type type)
{
    return types[type].descr;
}

enum npy_type npy_type_find(const char *descr)
{
    unsigned type = 0;
    while (type < NPY_TYPES && strcmp(types[type].descr, descr) != 0)
        type++;
    return (enum npy_type)type;
}

size_t npy_type_bytes(enum npy_type type)
{
    return types[type].bytes;
}

static enum status not_npy(struct error *err, const char *why)
{
    return error_set(err, STATUS_INVALID, "not_npy", "", "not an .npy file that is accepted: %s", why);
}

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\n'))
        scan->at++;
}

/* Consumes exactly this text, or nothing. */
static bool take_exact(struct scan *scan, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, text, length) != 0)
        return false;
    scan->at += length;
    return true;
}

static bool take(struct scan *scan, const char *text)
{
    skip_blanks(scan);
    return take_exact(scan, text);
}

static bool take_quoted(struct scan *scan, const char *text)
{
    static const char *const quotes[] = {"'", "\""};
    for (size_t i = 0; i < 2; i++) {
        struct scan start = *scan;
        if (take(scan, quotes[i]) && take_exact(scan, text) && take_exact(scan, quotes[i]))
            return true;
        *scan = start;
    }
    return false;
}

static bool take_size(struct scan *scan, size_t *size)
{
    int digits = 0;
    skip_blanks(scan);
    for (*size = 0; scan->at < scan->end && isdigit((unsigned char)*scan->at); scan->at++, digits++) {
        if (digits == LENGTH_DIGITS_MAX)
            return false;
        *size = *size * 10 + (size_t)(*scan->at - '0');
    }
    return digits > 0;
}

/* "(3, 2)": any number of sizes, of which the first two are kept. */
static bool take_shape(struct scan *scan, struct header *header)
{
    size_t size;
    if (!take(scan, "("))
        return false;
    while (!take(scan, ")")) {
        if (!take_size(scan, &size))
            return false;
        if (header->dims < 2)
            header->sizes[header->dims] = size;
        header->dims++;
        if (!take(scan, ",") && (scan->at == scan->end || *scan->at != ')'))
            return false;
    }
    header->has_shape = true;
    return true;
}

static bool take_descr(struct scan *scan, struct header *header)
{
    unsigned type = 0;
    while (type < NPY_TYPES && !take_quoted(scan, types[type].descr))
        type++;
    header->type = (enum npy_type)type;
    header->has_descr = type < NPY_TYPES;
    return header->has_descr;
}

static bool take_order(struct scan *scan, struct header *header)
{
    header->is_fortran = take(scan, "True");
    header->has_order = header->is_fortran || take(scan, "False");
    return header->has_order;
}

static bool take_entry(struct scan *scan, struct header *header)
{
    if (!header->has_descr && take_quoted(scan, "descr"))
        return take(scan, ":") && take_descr(scan, header);
    if (!header->has_order && take_quoted(scan, "fortran_order"))
        return take(scan, ":") && take_order(scan, header);
    if (!header->has_shape && take_quoted(scan, "shape"))
        return take(scan, ":") && take_shape(scan, header);
    return false;
}

static bool take_dictionary(struct scan *scan, struct header *header)
{
    if (!take(scan, "{"))
        return false;
    while (!take(scan, "}")) {
        if (!take_entry(scan, header))
            return false;
        if (!take(scan, ",") && (scan->at == scan->end || *scan->at != '}'))
            return false;
    }
    skip_blanks(scan);
    return scan->at == scan->end && header->has_descr && header->has_order && header->has_shape;
}

/* Where the dictionary is.  Version 1 has a length of two bytes, version 2 of four, little-endian. */
static enum status find_dictionary(const unsigned char *bytes, size_t length, struct scan *scan, struct error *err)
{
    if (length < PREAMBLE_2 || memcmp(bytes, magic, sizeof magic - 1) != 0)
        return not_npy(err, "it does not start as one");
    if ((bytes[6] != 1 && bytes[6] != 2) || bytes[7] != 0)
        return not_npy(err, "its version is not 1.0 or 2.0");
    size_t preamble = bytes[6] == 1 ? PREAMBLE_1 : PREAMBLE_2;
    size_t size = bytes[8] + ((size_t)bytes[9] << 8);
    if (preamble == PREAMBLE_2)
        size += ((size_t)bytes[10] << 16) + ((size_t)bytes[11] << 24);
    if (size > HEADER_MAX || preamble + size > length)
        return not_npy(err, "its header is too long");
    *scan = (struct scan){.at = (const char *)bytes + preamble, .end = (const char *)bytes + preamble + size};
    return STATUS_OK;
}

/* Any shape but an empty one. */
static enum status read_header(const void *bytes, size_t length, struct header *out, size_t *data_offset,
                               struct error *err)
{
    struct scan   scan = {0};
    struct header header = {0};
    TRY(find_dictionary(bytes, length, &scan, err));
    *data_offset = (size_t)(scan.end - (const char *)bytes);
    if (!take_dictionary(&scan, &header))
        return not_npy(err, "its header is not a descr of '<f8', '<f4', '<i4' or '<i8', a fortran_order and a shape");
    if (header.is_fortran)
        return not_npy(err, "it is in Fortran order");
    *out = header;
    return STATUS_OK;
}

enum status npy_vector(const void *bytes, size_t length, struct npy *out, struct error *err)
{
    struct header header;
    size_t        data_offset;
    TRY(read_header(bytes, length, &header, &data_offset, err));
    if (header.dims < 1 || header.dims > 2 || (header.dims == 2 && header.sizes[0] != 1))
        return error_set(err, STATUS_INVALID, "wrong_shape", "", "the array is not a vector");
    *out = (struct npy){
        .rows = 1, .columns = header.sizes[header.dims - 1], .data_offset = data_offset, .type = header.type};
    return STATUS_OK;
}

enum status npy_header(const void *bytes, size_t length, struct npy *out, struct error *err)
{
    struct header header;
    size_t        data_offset;
    TRY(read_header(bytes, length, &header, &data_offset, err));
    if (header.dims != 2 || header.sizes[0] == 0 || header.sizes[1] == 0)
        return error_set(err, STATUS_INVALID, "wrong_shape", "", "the array has not two dimensions, or is empty");
    *out = (struct npy){
        .rows = header.sizes[0], .columns = header.sizes[1], .data_offset = data_offset, .type = header.type};
    return STATUS_OK;
}

size_t npy_write_header(size_t rows, size_t columns, enum npy_type type, unsigned char out[128])
{
    char dictionary[100];
    int  written =
        snprintf(dictionary, sizeof dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu), }",
                 types[type].descr, rows, columns);
    size_t used = (size_t)written, total = (PREAMBLE_1 + used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memcpy(out, magic, sizeof magic - 1);
    out[6] = 1;
    out[7] = 0;
    out[8] = (unsigned char)(total - PREAMBLE_1);
    out[9] = 0;
    memset(out + PREAMBLE_1, ' ', total - PREAMBLE_1);
    memcpy(out + PREAMBLE_1, dictionary, used);
    out[total - 1] = '\n';
    return total;
}
