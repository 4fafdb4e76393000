/* A fuzz target: a function of bytes.  It frees what it takes and asserts what must hold. */
#ifndef GNOMON_TESTS_FUZZ_TARGET_H
#define GNOMON_TESTS_FUZZ_TARGET_H

#undef NDEBUG
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FUZZ_ARENA_BYTES = 64 << 20 };

/* As a string, which the caller frees: to its first NUL. */
static inline char *fuzz_text(const uint8_t *bytes, size_t length)
{
    char *text = malloc(length + 1);
    assert(text != NULL);
    for (size_t i = 0; i < length; i++)
        text[i] = (char)bytes[i];
    text[length] = '\0';
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

#endif
