/* See broadcast.h. */
#include "engine/federated/broadcast.h"

#include "engine/privacy/accountant.h"

#include <math.h>
#include <string.h>

enum { WEIGHT_ONE = 1 << 16, STEPS_MIN = 64, STEPS_MAX = 1 << 20 };
static const double SIGMA_MAX = 2147483646.0; /* of the sampler */
static const double Z_MAX = 100.0, RATE_MIN = 1e-6, CLIP_MIN = 1e-100, EXPONENT_MAX = 50.0;

double broadcast_exponent(const struct broadcast_schedule *schedule, uint64_t round)
{
    if (round < schedule->hold)
        return schedule->a;
    uint64_t i = round - schedule->hold;
    if (i >= schedule->decay)
        return schedule->b;
    double share = schedule->decay > 1 ? (double)i / (double)(schedule->decay - 1) : 1.0;
    return schedule->a + (schedule->b - schedule->a) * share;
}

static enum status refuse(struct error *err, const char *code, const char *path, const char *why)
{
    return error_set(err, STATUS_INVALID, code, path, "%s", why);
}

static enum status check(const struct broadcast *b, struct error *err)
{
    if (b->agents < 2 || b->agents > BROADCAST_AGENTS_MAX)
        return refuse(err, "bad_agents", "/agents", "a federation has 2 to 2^20 agents");
    if (b->features < 1 || b->features > BROADCAST_FEATURES_MAX)
        return refuse(err, "bad_features", "/features", "there are 1 to 10,000 features");
    if (b->regions < 1 || b->regions > REGIONS_MAX)
        return refuse(err, "bad_regions", "/regions", "there are 1 to 64 regions");
    for (size_t n = 0; n < b->agents; n++)
        if (b->region_of[n] >= b->regions)
            return refuse(err, "bad_regions", "/regions", "an agent is of a region that is not there");
    if (!(b->schedule.b >= 0.0 && b->schedule.a >= b->schedule.b && b->schedule.a <= EXPONENT_MAX))
        return refuse(err, "bad_weights", "/weights", "the exponents of weights are 0 <= b <= a <= 50");
    if (!(b->clip >= CLIP_MIN && isfinite(b->clip)))
        return refuse(err, "bad_clip", "/clip", "the clipping norm must be at least 1e-100");
    if (!(b->q >= RATE_MIN && b->q <= 1.0))
        return refuse(err, "bad_sampling_rate", "/q", "q must be in (0, 1], at least 1e-6");
    if (!(b->z >= ACCOUNTANT_Z_MIN && b->z <= Z_MAX))
        return refuse(err, "bad_noise_multiplier", "/z", "z must be from 0.1 to 100");
    return STATUS_OK;
}

/* phi: softmax over all registered agents, for each region. */
static void set_shares(struct broadcast *b)
{
    double exponent = broadcast_exponent(&b->schedule, b->round), ratio = exp(b->schedule.b - exponent);
    size_t count[REGIONS_MAX] = {0};
    for (size_t n = 0; n < b->agents; n++)
        count[b->region_of[n]]++;
    for (size_t i = 0; i < b->regions; i++) {
        double own = count[i] > 0 ? 1.0 : 0.0;
        double sum = (double)count[i] * own + (double)(b->agents - count[i]) * ratio;
        b->own[i] = own / sum;
        b->other[i] = ratio / sum;
    }
}

/* Integer weights of the largest share; returns that share.  *norm: the largest |W_n|. */
static double set_weights(struct broadcast *b, double *norm)
{
    double largest = 0.0, others = 0.0, most = 0.0;
    for (size_t i = 0; i < b->regions; i++)
        largest = fmax(largest, fmax(b->own[i], b->other[i]));
    for (size_t i = 0; i < b->regions; i++) {
        b->own_weight[i] = (uint32_t)rint(b->own[i] / largest * WEIGHT_ONE);
        b->other_weight[i] = (uint32_t)rint(b->other[i] / largest * WEIGHT_ONE);
        others += pow(b->other_weight[i], 2);
    }
    for (size_t i = 0; i < b->regions; i++)
        most = fmax(most, others + pow(b->own_weight[i], 2) - pow(b->other_weight[i], 2));
    *norm = b->noise == BROADCAST_JOINT ? sqrt(most) : sqrt((double)b->regions) * WEIGHT_ONE;
    return largest;
}

enum status broadcast_plan(struct broadcast *b, struct error *err)
{
    static const double up = 1.0 + 1e-12; /* over the rounding of doubles here */
    double              norm;
    TRY(check(b, err));
    set_shares(b);
    double share = set_weights(b, &norm), steps = floor((SIGMA_MAX - 1.0) / (b->z * norm * up));
    b->clip_steps = steps < STEPS_MAX ? (int64_t)steps : STEPS_MAX;
    if (b->clip_steps < STEPS_MIN)
        return refuse(err, "bad_noise_multiplier", "/z", "z is too large for so many regions");
    b->sigma = (uint32_t)ceil(b->z * norm * (double)b->clip_steps * up);
    b->rate = (uint64_t)floor(b->q * 0x1p32);
    double clip = b->clip / sqrt((double)b->regions);
    b->step = clip / (double)b->clip_steps * share / WEIGHT_ONE / ((double)b->rate * 0x1p-32);
    b->noise_sd = b->step * b->sigma;
    return STATUS_OK;
}

enum status broadcast_draw(const struct broadcast *b, struct sampler *sampler, uint8_t *subset, struct error *err)
{
    uint64_t bits = 0;
    memset(subset, 0, (b->agents + 7) / 8);
    for (size_t n = 0; n < b->agents; n++) {
        TRY(sampler_u64(sampler, &bits, err));
        subset[n / 8] |= (uint8_t)((bits >> 32 < b->rate) << n % 8);
    }
    return STATUS_OK;
}

/* |x| = largest root, of which neither overflows; a NaN or infinity shows in root. */
static void norm_of(const double *x, size_t n, double *largest, double *root)
{
    double sum = 0.0, unit;
    *largest = 0.0;
    for (size_t j = 0; j < n; j++)
        *largest = fmax(*largest, fabs(x[j]));
    unit = *largest > 0.0 ? *largest : 1.0;
    for (size_t j = 0; j < n; j++)
        sum += x[j] / unit * (x[j] / unit);
    *root = sqrt(sum);
}

static int64_t squares_of(const int64_t *k, size_t n)
{
    int64_t sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += k[j] * k[j];
    return sum;
}

/* Rounding of doubles can leave k a step too long, and then all steps shrink by one: |k[j]| <= clip_steps + 1, so 10^4 squares
 * of 2^21 steps stay below 2^56, and 100 of 2^25 below 2^57. */
bool broadcast_clip(const struct broadcast *b, const double *message, int64_t *k)
{
    double clip = b->clip / sqrt((double)b->regions), steps = (double)b->clip_steps, largest, root;
    norm_of(message, b->features, &largest, &root);
    bool is_sound = isfinite(root), is_clipped = !(largest * root <= clip);
    for (size_t j = 0; j < b->features; j++)
        k[j] = !is_sound ? 0 : (int64_t)((is_clipped ? message[j] / largest / root : message[j] / clip) * steps);
    while (squares_of(k, b->features) > b->clip_steps * b->clip_steps)
        for (size_t j = 0; j < b->features; j++)
            k[j] -= (k[j] > 0) - (k[j] < 0);
    return is_clipped;
}

bool broadcast_add(const struct broadcast *b, size_t n, const double *message, int64_t *k, int64_t *sums)
{
    bool is_clipped = broadcast_clip(b, message, k);
    for (size_t i = 0; i < b->regions; i++) {
        int64_t weight = b->region_of[n] == i ? b->own_weight[i] : b->other_weight[i];
        for (size_t j = 0; j < b->features; j++)
            sums[i * b->features + j] += weight * k[j];
    }
    return is_clipped;
}

enum status broadcast_finish(const struct broadcast *b, const int64_t *sums, struct sampler *sampler, double *out,
                             struct error *err)
{
    for (size_t j = 0; j < b->regions * b->features; j++) {
        int64_t noise = 0;
        TRY(sampler_gaussian(sampler, b->sigma, &noise, err));
        out[j] = b->step * (double)(sums[j] + noise);
    }
    return STATUS_OK;
}
