/* Every coin with a rational bias p/q is thrown by comparing random words with the digits of p/q in base 2^32, as many
 * as it takes; a coin of bias exp(-p/q) is the parity of a run of coins p/q, p/2q, p/3q, ... (CKS 2020, Algorithm 1).
 * Numbers stay below 2^63 except for products, which are 128 bits wide: the bounds stand where they are formed. */
#include "engine/privacy/sampler.h"

#include <stdbool.h>

__extension__ typedef unsigned __int128 wide;

/* Longer runs than these have probability below 1/1000! and e^-1000, and so many refusals one below 2^-1000. */
enum { RUN_MAX = 1000, REFUSALS_MAX = 4000 };

void sampler_init(struct sampler *sampler, sampler_bits *bits, void *arg)
{
    sampler->bits = bits;
    sampler->arg = arg;
    sampler->used = SAMPLER_WORDS;
    sampler->error.status = STATUS_OK;
}

void sampler_wipe(struct sampler *sampler)
{
    volatile uint32_t *words = sampler->words;
    for (size_t i = 0; i < SAMPLER_WORDS; i++)
        words[i] = 0;
    sampler->used = SAMPLER_WORDS;
}

static bool is_failed(const struct sampler *sampler)
{
    return sampler->error.status != STATUS_OK;
}

static void fail_not_random(struct sampler *sampler)
{
    if (!is_failed(sampler))
        error_set(&sampler->error, STATUS_INTERNAL, "not_random", "", "the source of random bits is broken");
}

static enum status result(const struct sampler *sampler, struct error *err)
{
    if (is_failed(sampler) && err != NULL)
        *err = sampler->error;
    return sampler->error.status;
}

static void refill(struct sampler *sampler)
{
    if (!is_failed(sampler) &&
        sampler->bits(sampler->arg, sampler->words, sizeof sampler->words, &sampler->error) != STATUS_OK &&
        !is_failed(sampler))
        error_set(&sampler->error, STATUS_INTERNAL, "no_random_bits", "", "the source of random bits failed");
    sampler->used = 0;
}

static inline uint32_t next_word(struct sampler *sampler)
{
    if (sampler->used == SAMPLER_WORDS)
        refill(sampler);
    uint32_t word = sampler->words[sampler->used];
    sampler->words[sampler->used++] = 0;
    return word;
}

static uint64_t next_u64(struct sampler *sampler)
{
    uint64_t high = next_word(sampler);
    return high << 32 | next_word(sampler);
}

/* 0 .. bound - 1: the high half of word * bound, without the low halves that would favour some (Lemire 2019). */
static uint32_t below_small(struct sampler *sampler, uint32_t bound)
{
    uint32_t refused = (0 - bound) % bound;
    for (int i = 0; i < REFUSALS_MAX; i++) {
        uint64_t product = (uint64_t)next_word(sampler) * bound;
        if ((uint32_t)product >= refused)
            return (uint32_t)(product >> 32);
    }
    fail_not_random(sampler);
    return 0;
}

enum status sampler_u64(struct sampler *sampler, uint64_t *out, struct error *err)
{
    *out = next_u64(sampler);
    return result(sampler, err);
}

enum status sampler_below(struct sampler *sampler, uint64_t bound, uint64_t *out, struct error *err)
{
    uint64_t refused = (0 - bound) % bound, draw = 0;
    int      i = 0;
    do
        draw = next_u64(sampler);
    while (draw < refused && ++i < REFUSALS_MAX);
    if (draw < refused)
        fail_not_random(sampler);
    *out = draw % bound;
    return result(sampler, err);
}

/* True with probability p/q, 0 <= p < q < 2^63.  p << 32 < 2^95. */
static bool coin(struct sampler *sampler, uint64_t p, uint64_t q)
{
    while (p > 0) {
        wide     shifted = (wide)p << 32;
        uint32_t digit = (uint32_t)(shifted / q), word = next_word(sampler);
        if (word != digit)
            return word < digit;
        p = (uint64_t)(shifted % q);
    }
    return false;
}

/* True with probability 1/k. */
static bool coin_one_in(struct sampler *sampler, uint32_t k)
{
    if (k == 2)
        return (next_word(sampler) & 1) == 0;
    return k == 1 || below_small(sampler, k) == 0;
}

/* True with probability exp(-1). */
static bool coin_exp_one(struct sampler *sampler)
{
    uint32_t k = 1;
    while (k < RUN_MAX && coin_one_in(sampler, k))
        k++;
    if (k == RUN_MAX)
        fail_not_random(sampler);
    return k % 2 == 1;
}

/* True with probability exp(-p/q), 0 <= p < q < 2^63.  A coin p/(k q) is a coin p/q and a coin 1/k. */
static bool coin_exp_fraction(struct sampler *sampler, uint64_t p, uint64_t q)
{
    uint32_t k = 1;
    while (k < RUN_MAX && coin(sampler, p, q) && coin_one_in(sampler, k))
        k++;
    if (k == RUN_MAX)
        fail_not_random(sampler);
    return k % 2 == 1;
}

/* As coin_exp_fraction for q = 2^32, where a coin is a single comparison. */
static bool coin_exp_word(struct sampler *sampler, uint32_t p)
{
    uint32_t k = 1;
    while (k < RUN_MAX && next_word(sampler) < p && coin_one_in(sampler, k))
        k++;
    if (k == RUN_MAX)
        fail_not_random(sampler);
    return k % 2 == 1;
}

/* Geometric: how many coins exp(-1) fall on true in a row. */
static uint64_t run_of_exp_one(struct sampler *sampler)
{
    uint64_t run = 0;
    while (run < RUN_MAX && coin_exp_one(sampler))
        run++;
    if (run == RUN_MAX)
        fail_not_random(sampler);
    return run;
}

/* P(u) ~ exp(-u / 2^32) over u = 0, 1, 2, ...: the low word by rejection, the high part geometric.  < 2^42. */
static uint64_t exponential_words(struct sampler *sampler)
{
    for (int i = 0; i < REFUSALS_MAX && !is_failed(sampler); i++) {
        uint32_t low = next_word(sampler);
        if (coin_exp_word(sampler, low))
            return run_of_exp_one(sampler) << 32 | low;
    }
    fail_not_random(sampler);
    return 0;
}

/* P(u) ~ exp(-u / scale), scale < 2^31.  < 2^41. */
static uint64_t exponential(struct sampler *sampler, uint32_t scale)
{
    for (int i = 0; i < REFUSALS_MAX && !is_failed(sampler); i++) {
        uint32_t low = below_small(sampler, scale);
        if (coin_exp_fraction(sampler, low, scale))
            return run_of_exp_one(sampler) * scale + low;
    }
    fail_not_random(sampler);
    return 0;
}

/* A magnitude and a sign, where 0 has one sign only.  False: draw again. */
static bool with_sign(struct sampler *sampler, uint64_t magnitude, int64_t *out)
{
    bool negative = next_word(sampler) & 1;
    *out = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return !negative || magnitude > 0;
}

/* Algorithm 2 with s = rate and t = 2^32. */
enum status sampler_laplace(struct sampler *sampler, uint64_t rate, int64_t *out, struct error *err)
{
    int i = 0;
    while (!with_sign(sampler, exponential_words(sampler) / rate, out) && ++i < REFUSALS_MAX)
        continue;
    if (i == REFUSALS_MAX)
        fail_not_random(sampler);
    return result(sampler, err);
}

/* floor(sqrt(square)), by digits. */
static uint64_t root(wide square)
{
    uint64_t found = 0;
    for (int bit = 63; bit >= 0; bit--) {
        uint64_t trial = found | 1ULL << bit;
        if ((wide)trial * trial <= square)
            found = trial;
    }
    return found;
}

/* True with probability exp(-x / 2^48). */
static bool coin_exp(struct sampler *sampler, uint64_t x)
{
    for (uint64_t whole = x >> 48; whole > 0; whole--)
        if (!coin_exp_one(sampler))
            return false;
    return coin_exp_fraction(sampler, x & ((1ULL << 48) - 1), 1ULL << 48);
}

/* |k_j| rate' < 2^43, so rate |k| < 2^47.1 for d <= 16 and the square below, times 2^32, is less than 2^127. */
enum status sampler_isotropic(struct sampler *sampler, uint64_t rate, size_t d, int64_t *out, struct error *err)
{
    enum { PROPOSALS_MAX = 1 << 16 };
    uint64_t narrow = root((wide)rate * rate / d);
    for (int i = 0; i < PROPOSALS_MAX && !is_failed(sampler); i++) {
        uint64_t sum = 0;
        wide     squares = 0;
        for (size_t j = 0; j < d; j++) {
            TRY(sampler_laplace(sampler, narrow, &out[j], err));
            uint64_t magnitude = out[j] < 0 ? (uint64_t)-out[j] : (uint64_t)out[j];
            sum += magnitude;
            squares += (wide)magnitude * magnitude;
        }
        if (coin_exp(sampler, root(((wide)rate * rate * squares) << 32) - (narrow * sum << 16)))
            return result(sampler, err);
    }
    fail_not_random(sampler);
    return result(sampler, err);
}

/* True with probability exp(-(y - sigma)^2 / (2 sigma^2)); y < 2^41, so the square is below 2^82 and its integer part in
 * units of 2 sigma^2 < 2^63 below 2^20. */
static bool coin_gaussian(struct sampler *sampler, uint64_t y, uint64_t sigma)
{
    uint64_t distance = y > sigma ? y - sigma : sigma - y, q = 2 * sigma * sigma;
    wide     square = (wide)distance * distance;
    for (uint64_t whole = (uint64_t)(square / q); whole > 0; whole--)
        if (!coin_exp_one(sampler))
            return false;
    return coin_exp_fraction(sampler, (uint64_t)(square % q), q);
}

/* Algorithm 3 with t = sigma: its proof holds for every t, and with t = sigma all numbers are small. */
enum status sampler_gaussian(struct sampler *sampler, uint32_t sigma, int64_t *out, struct error *err)
{
    for (int i = 0; i < REFUSALS_MAX && !is_failed(sampler); i++) {
        uint64_t magnitude = exponential(sampler, sigma);
        if (with_sign(sampler, magnitude, out) && coin_gaussian(sampler, magnitude, sigma))
            return result(sampler, err);
    }
    fail_not_random(sampler);
    return result(sampler, err);
}
