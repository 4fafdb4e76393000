/* See region.h. */
#include "engine/space/region.h"

#include "engine/math/rng.h"

#include <math.h>

static bool can_cut(const struct param *param, size_t slices)
{
    double count = param_count(param);
    return param->when_len == 0 && (count == 0.0 || fmod(count, (double)slices) == 0.0);
}

/* The parameter to cut into factor times as many slices; params_len when there is none. */
static size_t choose(const struct regions *regions, size_t factor)
{
    size_t best = regions->space->params_len;
    for (size_t i = 0; i < regions->space->params_len; i++)
        if (can_cut(&regions->space->params[i], regions->slices[i] * factor) &&
            (best == regions->space->params_len || regions->slices[i] < regions->slices[best]))
            best = i;
    return best;
}

static size_t largest_prime_factor(size_t n)
{
    size_t factor = 2;
    while (n > factor)
        if (n % factor == 0)
            n /= factor;
        else
            factor++;
    return factor;
}

enum status regions_init(struct regions *regions, const struct space *space, size_t count, struct arena *arena,
                         struct error *err)
{
    if (count < 1 || count > REGIONS_MAX || space->kind != SPACE_PARAMETERS)
        return error_set(err, STATUS_INVALID, "bad_regions", "/regions", "a parameter space has 1 to %d regions",
                         REGIONS_MAX);
    if (count > 1 && (space->constraints_len > 0 || space->forbid_len > 0))
        return error_set(err, STATUS_INVALID, "bad_regions", "/regions",
                         "a space with constraints has no regions of equal volume");
    *regions = (struct regions){.space = space, .count = count, .slices = ARENA_NEW(arena, size_t, space->params_len)};
    if (regions->slices == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < space->params_len; i++)
        regions->slices[i] = 1;
    for (size_t left = count; left > 1;) {
        size_t factor = largest_prime_factor(left), i = choose(regions, factor);
        if (i == space->params_len)
            return error_set(err, STATUS_INVALID, "regions_do_not_divide", "/regions",
                             "no parameter can be cut into %zu equal slices for %zu regions", factor, count);
        regions->slices[i] *= factor;
        left /= factor;
    }
    return STATUS_OK;
}

static size_t slice_of(const struct param *param, double x, size_t slices)
{
    double count = param_count(param), at;
    if (count > 0.0)
        at = param_index(param, x) / (count / (double)slices);
    else
        param_encode(param, x, &at), at *= (double)slices;
    return at < 0.0 ? 0 : at < (double)slices ? (size_t)at : slices - 1;
}

size_t regions_of_point(const struct regions *regions, const double *point)
{
    size_t region = 0;
    for (size_t i = 0; i < regions->space->params_len; i++)
        if (regions->slices[i] > 1)
            region = region * regions->slices[i] + slice_of(&regions->space->params[i], point[i], regions->slices[i]);
    return region;
}

void regions_squeeze(const struct regions *regions, size_t region, double *v)
{
    for (size_t i = regions->space->params_len; i-- > 0;) {
        size_t slices = regions->slices[i];
        double low = (double)(region % slices) / (double)slices, high = (double)(region % slices + 1) / (double)slices;
        v[i] = fmin(low + v[i] / (double)slices, nextafter(high, low));
        region /= slices;
    }
}

size_t regions_of_seat(uint64_t seed, uint64_t seat, size_t count)
{
    struct rng rng = rng_at(seed, 1, RNG_REGION);
    return (rng_below(&rng, count) + (size_t)(seat % count)) % count;
}
