/* The exact privacy loss by its distribution.  See accountant.h.
 * One direction is (N, D): the loss log(N/D)(x) under x ~ N; "remove" has N = P, D = Q, "add" the other way round.
 * A bin of losses [l, l + h) with masses n under N and m under D becomes masses at its ends that keep both:
 *   low + high = n,  low exp(-l) + high exp(-l - h) = m
 * so that the discrete pair has the same hockey-stick divergences at the points of the grid and larger ones between.
 * Its T-fold convolution is the T-th power of its transform, on a window beyond which Chernoff bounds see a share of
 * delta only; wrapped around, that share cannot change epsilon noticeably. */
#include "engine/privacy/accountant.h"
#include "engine/math/fft.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { GRID = 1 << 16, COARSE = 1024, TILTS = 48 };
static const double SDS = 9.5;         /* of the noise, on either side: 1e-21 lies beyond */
static const double DELTA_MIN = 1e-12; /* what rounding in the transforms leaves of delta */
static const double SHARE = 1e-5;      /* of delta, beyond each end of the window */

struct direction {
    double q, z;
    bool   is_remove;
};

/* Masses at losses (first + i) h, i < len. */
struct losses {
    double  h;
    int64_t first;
    size_t  len;
    double *mass;
    double  infinite; /* what lies beyond the last */
};

/* The x at which log(P/Q) is l: -infinity at log(1 - q) and below. */
static double point_at(const struct direction *d, double l)
{
    double inside = 1.0 - (1.0 - d->q) * exp(-l);
    return inside > 0.0 ? d->z * d->z * (l + log(inside) - log(d->q)) + 0.5 : -HUGE_VAL;
}

/* Phi(b) - Phi(a), a <= b, without cancellation in either tail. */
static double normal_between(double a, double b)
{
    double mirror = a + b > 0.0 ? 1.0 : -1.0, near = a + b > 0.0 ? a : b, far = a + b > 0.0 ? b : a;
    return 0.5 * (erfc(mirror * near * sqrt(0.5)) - erfc(mirror * far * sqrt(0.5)));
}

/* Masses of [a, b] under N and D. */
static void masses_between(const struct direction *d, double a, double b, double *n, double *m)
{
    double base = normal_between(a / d->z, b / d->z), moved = normal_between((a - 1.0) / d->z, (b - 1.0) / d->z);
    double mixture = (1.0 - d->q) * base + d->q * moved;
    *n = d->is_remove ? mixture : base;
    *m = d->is_remove ? base : mixture;
}

/* Where the loss is in [low, high] under N, but for 1e-21. */
static void loss_range(const struct direction *d, double *low, double *high)
{
    double left = accountant_log_ratio(d->q, d->z, -SDS * d->z);
    double right = accountant_log_ratio(d->q, d->z, (d->is_remove ? 1.0 : 0.0) + SDS * d->z);
    *low = d->is_remove ? left : -right;
    *high = d->is_remove ? right : -left;
}

/* losses->h is set; mass has room for len = 2 + range / h. */
static void discretise(const struct direction *d, struct losses *out)
{
    double low, high, h = out->h;
    loss_range(d, &low, &high);
    out->first = (int64_t)floor(low / h);
    size_t bins = (size_t)((int64_t)ceil(high / h) - out->first);
    out->len = bins + 1;
    memset(out->mass, 0, out->len * sizeof *out->mass);
    double l = (double)out->first * h, n, m;
    double edge = d->is_remove ? point_at(d, l) : point_at(d, -l), beyond = d->is_remove ? -HUGE_VAL : HUGE_VAL;
    masses_between(d, fmin(edge, beyond), fmax(edge, beyond), &out->mass[0], &m);
    for (size_t i = 0; i < bins; i++) {
        l = (double)(out->first + (int64_t)i) * h;
        double next = point_at(d, d->is_remove ? l + h : -(l + h));
        masses_between(d, fmin(edge, next), fmax(edge, next), &n, &m);
        double upper = (n - m * exp(l)) / -expm1(-h);
        upper = upper >= 0.0 && upper <= n ? upper : upper < 0.0 ? 0.0 : n; /* NaN: all at the upper end */
        out->mass[i] += n - upper;
        out->mass[i + 1] += upper;
        edge = next;
    }
    masses_between(d, fmin(edge, -beyond), fmax(edge, -beyond), &out->infinite, &m);
}

/* log E exp(tilt loss). */
static double log_mean_exp(const struct losses *losses, double tilt)
{
    double largest = -HUGE_VAL, sum = 0.0;
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < losses->len; i++) {
            double term = losses->mass[i] > 0.0
                              ? log(losses->mass[i]) + tilt * (double)(losses->first + (int64_t)i) * losses->h
                              : -HUGE_VAL;
            if (pass == 0)
                largest = fmax(largest, term);
            else
                sum += exp(term - largest);
        }
    return largest + log(sum);
}

/* [low, high]: the sum of T losses lies beyond either end with probability at most share (Chernoff). */
static void window_of(const struct losses *losses, double releases, double share, double *low, double *high)
{
    *high = (double)(losses->first + (int64_t)losses->len) * losses->h * releases;
    *low = (double)losses->first * losses->h * releases;
    for (int k = 0; k < TILTS; k++) {
        double tilt = exp2(0.5 * (double)k - 8.0);
        *high = fmin(*high, (releases * log_mean_exp(losses, tilt) - log(share)) / tilt);
        *low = fmax(*low, -(releases * log_mean_exp(losses, -tilt) - log(share)) / tilt);
    }
}

/* x [GRID][2] := T-th power of each number. */
static void raise_to(double *x, double releases)
{
    for (size_t k = 0; k < GRID; k++) {
        double *c = x + 2 * k, size = exp(0.5 * releases * log(c[0] * c[0] + c[1] * c[1]));
        double  angle = releases * atan2(c[1], c[0]);
        c[0] = size * cos(angle);
        c[1] = size * sin(angle);
    }
}

/* The least epsilon >= 0 at which the masses p at (start + k) h leave at most delta; at(k) finds p.
 * above: mass of larger losses; scaled: the same, each times exp(l_k - its loss). */
static double epsilon_from(const double *x, int64_t start, int64_t origin, double h, double delta)
{
    double above = 0.0, scaled = 0.0;
    for (int64_t k = GRID - 1; k >= 0; k--) {
        double  l = (double)(start + k) * h;
        int64_t at = (start + k - origin) % GRID;
        if (l < 0.0 || above - scaled > delta)
            return fmax(0.0, l + log((above - delta) / scaled));
        double mass = fmax(x[2 * (at < 0 ? at + GRID : at)], 0.0);
        above += mass;
        scaled = exp(-h) * (scaled + mass);
    }
    return NAN;
}

static enum status estimate_one(const struct direction *d, const struct accountant_run *run, double *epsilon,
                                struct arena *scratch, struct error *err)
{
    double        low, high, start, end, releases = (double)run->releases;
    struct losses losses = {.mass = ARENA_NEW(scratch, double, GRID + 2)};
    struct fft    fft;
    double       *x = arena_zalloc(scratch, GRID, 2 * sizeof *x);
    if (losses.mass == NULL || x == NULL)
        return error_no_memory(err);
    TRY(fft_init(&fft, GRID, scratch, err));
    loss_range(d, &low, &high);
    losses.h = (high - low) / COARSE;
    discretise(d, &losses);
    window_of(&losses, releases, SHARE * run->delta, &start, &end);
    losses.h = 1.05 * fmax(high - low, end - start) / (GRID - 8);
    discretise(d, &losses);
    for (size_t i = 0; i < losses.len; i++)
        x[2 * i] = losses.mass[i];
    fft_run(&fft, x, false);
    raise_to(x, releases);
    fft_run(&fft, x, true);
    double margin = 0.5 * ((double)GRID * losses.h - (end - start));
    *epsilon = epsilon_from(x, (int64_t)floor((start - margin) / losses.h), losses.first * (int64_t)run->releases,
                            losses.h, run->delta - releases * losses.infinite);
    return STATUS_OK;
}

enum status accountant_estimate(const struct accountant_run *run, double *epsilon, struct arena *scratch,
                                struct error *err)
{
    double            promise;
    struct arena_mark mark = arena_mark(scratch);
    TRY(accountant_promise(run, &promise, err)); /* checks the run */
    *epsilon = 0.0;
    for (int i = 0; i < 2 && run->releases > 0; i++) {
        struct direction d = {.q = run->q, .z = run->z, .is_remove = i == 0};
        double           one = NAN;
        enum status      status = estimate_one(&d, run, &one, scratch, err);
        arena_release(scratch, mark);
        if (status != STATUS_OK)
            return status;
        *epsilon = fmax(*epsilon, one);
        if (run->delta < DELTA_MIN || !isfinite(one))
            return error_set(err, STATUS_NUMERIC, "out_of_range", "", "the privacy loss cannot be computed exactly");
    }
    return STATUS_OK;
}
