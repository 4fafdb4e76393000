/* Secret randomness: OpenSSL's CSPRNG for private values, and what is derived from it.
 * Not for anything that must be repeatable: that is engine/math/rng.h. */
#ifndef GNOMON_SERVICE_BASE_RANDOM_H
#define GNOMON_SERVICE_BASE_RANDOM_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* INTERNAL "no_randomness" when the generator fails; out is then all zero. */
MUST_CHECK enum status random_bytes(void *out, size_t length, struct error *err);

/* As random_bytes, as a source of bits whose argument is not used. */
MUST_CHECK enum status random_draw(void *arg, void *out, size_t length, struct error *err);

/* n independent standard normals, by Box and Muller from uniforms of 53 bits in (0, 1]. */
MUST_CHECK enum status random_normals(double *out, size_t n, struct error *err);

/* out [n]: a uniformly random permutation of 0 .. n-1 (Fisher and Yates, without modulo bias).  n < 2^32. */
MUST_CHECK enum status random_permutation(uint32_t *out, size_t n, struct error *err);

/* Overwrites a secret; no compiler leaves this out. */
void random_wipe(void *secret, size_t length);

/* digits lower-case hexadecimal characters and a NUL. */
MUST_CHECK enum status random_hex(char *out, size_t digits, struct error *err);

/* prefix and characters of lower-case base32: "std_" + 16. */
MUST_CHECK enum status random_id(char *out, size_t out_bytes, const char *prefix, size_t characters, struct error *err);

#endif
