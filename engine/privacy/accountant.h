/* The privacy loss of many releases of the Poisson-subsampled Gaussian: sampling rate q, noise multiplier z (standard
 * deviation over sensitivity), T releases.  Neighbours: one agent's vector is there, or zero in its place.
 * Knows nothing of vectors, rounds or ledgers.
 *
 *   P = (1 - q) N(0, z^2) + q N(1, z^2),  Q = N(0, z^2)
 *   log A(a) = log E_Q[(P/Q)^a],  the Renyi divergence of order a > 1 is log A(a) / (a - 1)      Mironov et al. 2019
 *   integer a:  log sum_i C(a, i) (1 - q)^(a - i) q^i exp((i^2 - i) / (2 z^2))
 *   other a:    the integral, by the trapezoidal rule in log space
 * The divergence of Q from P is never larger (there), so one direction will do; the exact estimate takes the larger.
 * T releases cost T log A(a) / (a - 1) at each order, and curves of several runs on the same agents add up.
 *   classic     epsilon = min_a  rdp(a) + log(1/delta) / (a - 1)                                  Mironov 2017
 *   improved    epsilon = min_a  rdp(a) + log(1 - 1/a) - log(delta a) / (a - 1), at least 0       Balle et al. 2020
 * The moments accountant of the thesis (6.3.4; Abadi et al. 2016) is classic with the orders lambda + 1, lambda = 1..32.
 *
 * What may be promised: improved with INTEGER orders.  For these the divergence of the exact discrete Gaussian that
 * broadcast.h draws is given by the same formula: E_Q[(N_d/N_0)^i] = exp((i^2 - i) |d|^2 / (2 sigma^2)) for a shift d of
 * integers, as sum_k exp(-(k - i d)^2 / (2 sigma^2)) does not depend on the integer i d. */
#ifndef GNOMON_ENGINE_ACCOUNTANT_H
#define GNOMON_ENGINE_ACCOUNTANT_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum accountant_orders {
    ACCOUNTANT_INTEGER, /* 2..64, then up to 512: what may be promised */
    ACCOUNTANT_FINE,    /* 1.1, 1.2 .. 10.9, 11..64, then up to 1024: tighter, for the continuous Gaussian */
    ACCOUNTANT_MOMENTS  /* 2..33: the thesis' */
};
enum accountant_conversion { ACCOUNTANT_CLASSIC, ACCOUNTANT_IMPROVED };
enum { ACCOUNTANT_ORDERS_MAX = 160, ACCOUNTANT_RELEASES_MAX = 1000000000 };

/* log A(order); order > 1, 0 < q <= 1, z >= ACCOUNTANT_Z_MIN.  O(order), or about 30 (16 + order) terms when
 * the order is no integer. */
#define ACCOUNTANT_Z_MIN 0.1
double accountant_log_moment(double q, double z, double order);

/* log(P/Q) at x, for any x. */
double accountant_log_ratio(double q, double z, double x);

/* What has been spent, at every order. */
struct accountant {
    enum accountant_orders kind;
    size_t                 len;
    double                 order[ACCOUNTANT_ORDERS_MAX], rdp[ACCOUNTANT_ORDERS_MAX];
};
/* Nothing spent. */
void accountant_init(struct accountant *accountant, enum accountant_orders kind);
/* Adds releases of one kind; 0 of them change nothing.
 * Errors: INVALID bad_sampling_rate (not in (0, 1]), bad_noise_multiplier (below ACCOUNTANT_Z_MIN or over 1e6),
 * bad_releases.  Some 0.2 ms for integers, 3 ms for the others. */
MUST_CHECK enum status accountant_spend(struct accountant *accountant, double q, double z, uint64_t releases,
                                        struct error *err);
/* The epsilon for what was spent; 0 when nothing was.  order NULL or out: the best one.  Errors: INVALID bad_delta (not
 * in (0, 1)); NUMERIC when it is not finite. */
MUST_CHECK enum status accountant_epsilon(const struct accountant *accountant, enum accountant_conversion conversion,
                                          double delta, double *epsilon, double *order, struct error *err);

/* One run: q and z as they were in every release. */
struct accountant_run {
    double   q, z, delta;
    uint64_t releases;
};
/* What may be promised after run->releases: improved, integer orders.  Grows with releases.  Errors: as the two above. */
MUST_CHECK enum status accountant_promise(const struct accountant_run *run, double *epsilon, struct error *err);

/* The least z, rounded up to 1e-4, with which run->releases keep the promise of epsilon; run->z is not read.
 * kind ACCOUNTANT_INTEGER for a promise; ACCOUNTANT_FINE for the continuous Gaussian.
 * Errors: as accountant_promise; INVALID bad_epsilon (not positive, or no z up to 1e6 will do). */
MUST_CHECK enum status accountant_multiplier(const struct accountant_run *run, double epsilon,
                                             enum accountant_orders kind, double *z, struct error *err);

/* The exact epsilon of the continuous Gaussian: never below it but for 1e-5, and within 3e-4 for up to 10^4 releases.  By
 * the privacy loss distribution: both directions, each discretised so that it dominates (Doroshenko et al. 2022, connect
 * the dots), composed by FFT.  Information, not a promise.  Errors: INVALID as above; NO_MEMORY (about 3 MiB); NUMERIC
 * "out_of_range" (delta below 1e-12, or losses that do not fit on the grid).  50 ms. */
MUST_CHECK enum status accountant_estimate(const struct accountant_run *run, double *epsilon, struct arena *scratch,
                                           struct error *err);

#endif
