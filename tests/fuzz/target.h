/* What every fuzz target is: one function of bytes.  It frees what it takes and asserts what must hold. */
#ifndef GNOMON_TESTS_FUZZ_TARGET_H
#define GNOMON_TESTS_FUZZ_TARGET_H

#undef NDEBUG
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum { FUZZ_ARENA_BYTES = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

#endif
