/* See fts.h. */
#include "engine/federated/fts.h"

#include <math.h>

const char *const fts_schedules[] = {"root", "linear", "square", NULL}; /* enum fts_schedule */

enum status fts_features(const struct fts_shared *shared, const struct space *space, struct arena *arena,
                         struct rff *out, struct error *err)
{
    struct rng rng = rng_at(shared->seed, 0, RNG_FEATURES);
    double    *length_scales = ARENA_NEW(arena, double, space->dims);
    if (length_scales == NULL)
        return error_no_memory(err);
    for (size_t j = 0; j < space->dims; j++)
        length_scales[j] = shared->length_scale;
    struct kernel kernel = {.kind = &kernel_se, .dims = space->dims, .variance = 1.0, .length_scales = length_scales};
    return rff_draw(out, &kernel, shared->count, &rng, arena, err);
}

double fts_own_probability(enum fts_schedule schedule, bool is_first_second, uint64_t t)
{
    double n = (double)(is_first_second && t < 2 ? 2 : t);
    switch (schedule) {
    case FTS_ROOT:
        return 1.0 - 1.0 / sqrt(n);
    case FTS_LINEAR:
        return 1.0 - 1.0 / n;
    case FTS_SQUARE:
        return 1.0 - 1.0 / (n * n);
    }
    return 1.0;
}
