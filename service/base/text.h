/* Text in arenas, a hash of it, and bytes as text. */
#ifndef GNOMON_SERVICE_BASE_TEXT_H
#define GNOMON_SERVICE_BASE_TEXT_H

#include "engine/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* printf into the arena; NULL when it is full. */
char *text_format(struct arena *arena, const char *format, ...) __attribute__((format(__printf__, 2, 3)));

/* "" for NULL. */
const char *text_or_empty(const char *text);
/* The names of a set, with spaces between them; names: NULL at the end, all of them fit. */
enum { TEXT_NAMES_BYTES = 128 };
const char *text_names(const char *const *names, int64_t set, char out[TEXT_NAMES_BYTES]);

/* Six digits of a number that is promised: at_most, never below it; at_least, never above it.  Not of 0 or infinity. */
enum { TEXT_NUMBER_BYTES = 24 };
const char *text_at_most(double value, char out[TEXT_NUMBER_BYTES]);
const char *text_at_least(double value, char out[TEXT_NUMBER_BYTES]);

/* A number with as few digits (15 to 17) as read back equal: for messages. */
enum { TEXT_REAL_BYTES = 40 };
const char *text_number(double value, char out[TEXT_REAL_BYTES]);
/* A finite number as JSON has it: the same, and a point or an exponent. */
size_t text_real(double value, char out[TEXT_REAL_BYTES]);

uint32_t text_hash(const char *text); /* FNV-1a, for tables in memory */

/* Base64url without padding, and a NUL: four characters of out for every three bytes that were begun. */
extern const char text_base64url_digits[];
void              text_base64url(const void *bytes, size_t length, char *out);
/* Back, from so many characters into (3 * length) / 4 bytes; false unless they are the one text of those bytes. */
bool text_of_base64url(const char *text, size_t length, unsigned char *out);

#endif
