/* The promise of a private release of rows, as numbers: noise from (epsilon, delta) and back, and what the modeller
 * needs to know of the noise.  Every input is public, so the curator and the server compute the same.
 * Must not know of rows, randomness or files.
 *
 * Neighbours are data sets in which one row moved by at most `distance` (Delta), in the scaled space where the public
 * ball has radius MECHANISM_NORM.  "mu" of a Gaussian is sensitivity / standard deviation.
 * Sources: Balle & Wang 2018 (analytic Gaussian); Bun & Steinke 2016 and Canonne, Kamath & Steinke 2020 (zCDP, discrete
 * Gaussian, conversion to delta); Dong, Roth & Su 2022 (composition of Gaussians). */
#ifndef GNOMON_ENGINE_MECHANISM_H
#define GNOMON_ENGINE_MECHANISM_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MECHANISM_NORM = 25, MECHANISM_COLUMNS_MAX = 1024, MECHANISM_PROJECTION_SCALE = 64 };
/* delta times the number of rows (or agents) is at most this: a mechanism that publishes each row with probability delta is
 * (0, delta)-DP, and should rarely publish one. */
#define MECHANISM_DELTA_ROWS 0.1

/* delta at which a Gaussian with this mu is (epsilon, delta)-DP, never below the truth and as near as doubles are.
 * mu > 0. */
double mechanism_gaussian_delta(double epsilon, double mu);
/* The least sd per unit of sensitivity with gaussian_delta <= delta.  epsilon > 0, 0 < delta < 1, as for those below. */
double mechanism_gaussian_sigma(double epsilon, double delta);
/* The least epsilon >= 0 with gaussian_delta(epsilon, mu) <= delta; k Gaussians compose to mu^2 = sum mu_i^2. */
double mechanism_gaussian_epsilon(double mu, double delta);

/* As the Gaussian above, for Z = r^-1/2 X M + sigma G with a fresh M [d][r], known to all, and discrete Gaussians M and G, by
 * Renyi divergences: delta = min over a > 1 of exp((a - 1)(R(a) - epsilon)) (1 - 1/a)^a / (a - 1) with
 * (a - 1) R(a) = -r/2 log(1 - a (a - 1) k), k = 1/(r sigma^2).  Proof: given M the divergence of order
 * a is at most a |v'M|^2 / (2 r sigma^2); an entry of v'M is sub-Gaussian with variance |v|^2 (a discrete Gaussian's
 * moment generating function is at most the Gaussian's), so E exp(c (v'M)_j^2) <= (1 - 2 c |v|^2)^-1/2. */
double mechanism_projected_sigma(double epsilon, double delta, size_t r);

enum mechanism_kind {
    MECHANISM_AUTO, /* one of the next three, by public numbers */
    MECHANISM_DISCRETE_LAPLACE,
    MECHANISM_ISOTROPIC_LAPLACE, /* at most 16 columns */
    MECHANISM_DISCRETE_GAUSSIAN,
    MECHANISM_PROJECTED_GAUSSIAN,
    MECHANISM_CELLS,
    MECHANISM_QUADTREE, /* its own numbers: quadtree.h */
    MECHANISM_KINDS
};
/* Counts of public cells are released in the place of rows: any change of a row is protected, and a candidate is a place in
 * a cell. */
bool mechanism_is_partition(enum mechanism_kind kind);
/* The wire name, and back; MECHANISM_KINDS when there is none. */
const char         *mechanism_name(enum mechanism_kind kind);
enum mechanism_kind mechanism_find(const char *name);

struct mechanism {
    enum mechanism_kind kind;     /* in; out: never AUTO */
    double              epsilon;  /* in */
    double              delta;    /* in: 0, or what a Gaussian may use; out: 0 for pure epsilon-DP */
    double              distance; /* in: Delta, scaled space, l2 */
    double distance_l1;           /* in: how far the same rows are apart in l1, where that is known; 0: sqrt(d) Delta */
    size_t rows;                  /* in: n, public */
    size_t columns;               /* in: d, of the data */
    size_t dims;                  /* in: p, of the release; 0: d */
    bool
        keeps_axes; /* in: no secret rotation, so that a released column is one of the data's; out: false where there is
                          another reason for mixing them */
    /* out */
    double gamma; /* lattice step, scaled space: the largest power of two <= 2^-10 Delta */
    double
        sensitivity; /* in steps: l1 (Laplace) or l2 (the others) between neighbours on the lattice, rounding included */
    uint64_t rate;   /* Laplace, cells: P(k) ~ exp(-|k| rate / 2^32), k a coordinate; isotropic: the whole row */
    uint32_t sigma;  /* Gaussians: sd in steps (projected: in steps / (MECHANISM_PROJECTION_SCALE sqrt(p))) */
    double   variance; /* s^2 per coordinate of the released rows, scaled space */
};

/* Fills the out part.  `slack` of the floating-point scaling is in the sensitivity: see release.h.
 * CELLS, QUADTREE: the sensitivity of the counts is 2 (any change of a row), gamma is 1; variance is the caller's (h^2/12).
 * Errors: INVALID bad_epsilon, bad_delta (over 0.1/n, or 0 where a Gaussian needs it), bad_distance, bad_size, bad_dims. */
MUST_CHECK enum status mechanism_plan(struct mechanism *m, struct error *err);

/* Variance of a coordinate of the noise as it is drawn, in steps squared; isotropic: in the limit of a fine lattice. */
double mechanism_noise_variance(const struct mechanism *m);
/* The epsilon that rounding the exponent of sampler_isotropic costs. */
#define MECHANISM_ISOTROPIC_SLACK 0x1p-48

/* l2 error of one scaled and clipped row in floating point is at most this; d = columns. */
double mechanism_scaling_error(size_t columns);

/* Outcomes: each row is answered at most once, with clip(y, low, high) on a lattice plus discrete Laplace noise. */
struct mechanism_outcome {
    double   low, high;   /* in, public */
    double   sensitivity; /* in: s_y, at most high - low; NaN: high - low */
    double   epsilon;     /* in */
    double   gamma;       /* out: the largest power of two <= 2^-10 s_y */
    uint64_t rate;        /* out */
    double   variance;    /* out: of the noise */
};
/* Errors: INVALID bad_range, bad_sensitivity, bad_epsilon. */
MUST_CHECK enum status mechanism_plan_outcome(struct mechanism_outcome *m, struct error *err);

/* Rows and outcomes together, whatever the number of queries and however they were chosen (parallel composition).  With
 * cells or a quadtree the outcomes count twice: a row that moves from one cell to another changes the answers of both
 * (quadtree.h). */
struct mechanism_total {
    double epsilon, delta;
};
struct mechanism_total mechanism_total_of(const struct mechanism *rows, const struct mechanism_outcome *outcomes);

/* E[k(x, x') | z, z'] of the squared exponential when z = x + noise of variance s^2 per coordinate in p dimensions:
 *   rho sf^2 exp(-|z - z'|^2 / (2 (l^2 + 2 s^2))) + (1 - rho) sf^2 [same row],   rho = (l^2 / (l^2 + 2 s^2))^(p/2).
 * The second term belongs to the row: two answers for one row share it. */
struct mechanism_kernel {
    double length_scale, variance, row_variance;
};
struct mechanism_kernel mechanism_effective_kernel(double length_scale, double variance, double s2, size_t p);

#endif
