/* The privacy cost of runs of the Poisson-subsampled Gaussian: sampling rate q, noise multiplier z (standard deviation over
 * sensitivity), T releases.  Neighbours: one agent's vector is there, or zero in its place.
 * Knows nothing of vectors, rounds or ledgers.
 *
 * What is drawn is broadcast.h's: integers with discrete Gaussian noise of sd sigma, shifted by an integer vector d with
 * |d| <= D for one agent, a share q' <= q of the time.  By the lemma of curve.h the continuous pair of sd
 * sqrt(sigma^2 - 4) is as bad.  Its delta is convex in the share and that of the pair (Q, Q) is the least of all, so it
 * grows with q'; a larger shift simulates a smaller one, so it grows with |d|; and only the component along d matters:
 *   remove   P = (1 - q) N(0, z^2) + q N(1, z^2) against Q = N(0, z^2);   add   Q against P
 * with z = sqrt(sigma^2 - 4) / D.  As sigma >= 2^22 z0 for the z0 asked for (weights of 2^16, 64 steps of clip or more),
 * z > z0 (1 - 2^-33).  The losses of either direction are composed by pld.h, remove with remove, add with add, and the
 * larger epsilon is the promise: rigorous for a plan that was fixed before its first output.
 * Step of the lattice: half the power of two below 0.2 min(1, sqrt(q^2 (e^(1/z^2) - 1))), a tenth of the standard deviation
 * of one loss (2^-24 or more), whatever T: the promise grows with T, and is at most 0.5 % over the truth (measured). */
#ifndef GNOMON_ENGINE_ACCOUNTANT_H
#define GNOMON_ENGINE_ACCOUNTANT_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

#define ACCOUNTANT_Z_MIN 0.1
enum { ACCOUNTANT_RELEASES_MAX = 1000000000 };

/* A run: q and z as they were in every release. */
struct accountant_run {
    double   q, z;
    uint64_t releases;
};

/* The epsilon that runs on the same agents may promise together at this delta; 0 when nothing was released.
 * Errors: INVALID bad_sampling_rate (not in (0, 1]), bad_noise_multiplier (below ACCOUNTANT_Z_MIN or over 1e6),
 * bad_releases, bad_delta (not in (0, 1)); NO_MEMORY (0.3 MiB); NUMERIC when no finite epsilon is found (a delta below
 * 1e-12 or so).  2 ms for 40 releases, 0.1 s for 10^6. */
MUST_CHECK enum status accountant_promise(const struct accountant_run *runs, size_t n, double delta, double *epsilon,
                                          struct arena *scratch, struct error *err);

/* The least z found, a multiple of 1e-4, with which run->releases keep the promise of epsilon; in: run without z.
 * Errors: as above; INVALID bad_epsilon (not positive, or no z up to 1e6 will do).  Some 20 promises. */
MUST_CHECK enum status accountant_multiplier(struct accountant_run *run, double delta, double epsilon,
                                             struct arena *scratch, struct error *err);

#endif
