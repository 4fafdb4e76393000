/* Random bits for tests of what takes them through a sampler: reproducible, and not fit for anything else. */
#ifndef GNOMON_TESTS_BITS_H
#define GNOMON_TESTS_BITS_H

#include "engine/math/rng.h"
#include "engine/base/status.h"

#include <string.h>

/* The argument is a struct rng. */
static inline enum status bits_of_rng(void *arg, void *out, size_t length, struct error *err)
{
    (void)err;
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = rng_u64((struct rng *)arg);
        memcpy((char *)out + i, &word, length - i < 8 ? length - i : 8);
    }
    return STATUS_OK;
}

#endif
