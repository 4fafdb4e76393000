/* gzip of replies. */
#ifndef GNOMON_API_CORE_COMPRESS_H
#define GNOMON_API_CORE_COMPRESS_H

#include "engine/base/arena.h"
#include "service/file/scratch.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether an Accept-Encoding (RFC 9110 section 12.5.3) takes gzip; NULL takes nothing but the plain text. */
bool compress_is_accepted(const char *accept_encoding);

/* Packs bytes with gzip, in the arena; NULL when there is no memory, or the result would not be smaller. */
const char *compress_gzip(const char *bytes, size_t length, struct arena *arena, size_t *out_length);

/* Unpacks a gzip of `length` bytes, in the arena; NULL when there is no memory, or the bytes are no such gzip. */
const char *compress_gunzip(const unsigned char *packed, size_t packed_length, size_t length, struct arena *arena);

/* Packs the file from its start, a block at a time, into out, which is open. */
MUST_CHECK enum status compress_file(int file, struct scratch *out, struct error *err);

#endif
