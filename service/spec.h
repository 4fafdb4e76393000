/* A study's immutable specification, and its JSON form.
 * codec.c is the only file of service/ that knows jansson; what it makes lives in an arena and holds no json_t. */
#ifndef GNOMON_SERVICE_SPEC_H
#define GNOMON_SERVICE_SPEC_H

#include "engine/policy.h"
#include "engine/space.h"
#include "engine/status.h"

#include <stdbool.h>
#include <stdint.h>

enum goal { GOAL_MAXIMIZE, GOAL_MINIMIZE };

struct spec {
    const char               *metric;
    enum goal                 goal;
    struct space              space;       /* candidates: rows == NULL here; the session has the matrix */
    const char *const *const *values;      /* [params_len] the strings of each categorical, NULL for the others */
    bool                      is_private;  /* candidates: only a release with its signed manifest is accepted */
    const char               *curator_key; /* private: whose manifest, as 43 characters of base64url; otherwise NULL */
    const struct policy      *policy;
    const double             *options; /* as struct problem */
    uint64_t                  seed;
    int64_t                   lease_ms;
};

/* Larger is better inside; the user's own sign outside. */
static inline double spec_sign(const struct spec *spec)
{
    return spec->goal == GOAL_MAXIMIZE ? 1.0 : -1.0;
}

#endif
