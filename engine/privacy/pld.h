/* Privacy-loss distributions on a lattice, always from above: what is computed here is never below the truth.
 * Knows nothing of who is protected or of where the losses come from.
 *
 * A pair of distributions (P, Q) has the loss log(dP/dQ)(x) under x ~ P; delta(epsilon) = E[(1 - exp(epsilon - loss))+],
 * and independent losses add.  A lattice distribution dominates the pair: its delta is at least as large at every epsilon.
 *   connect the dots   the masses A under P and B under Q of the losses in (l, l + h] go to the ends of that bin,
 *                        up = (A - e^l B) / (1 - e^-h) to l + h,  A - up to l
 *                      Both ends together have the same A and B, and of all pairs with losses in the bin theirs is the
 *                      largest in convex order of the likelihood ratio, so the bin is a post-processing of it (Blackwell).
 *   coarsen            the same for one atom at distance u above its lower neighbour: up = mass (1 - e^-u) / (1 - e^-H)
 *   truncate           a mass at the low end moves up to the lowest atom kept, at the high end to infinity
 *   compose            direct convolution: all terms are positive, so rounding is relative, at most (length + 4) 2^-53
 * Rounding: `up` grows by what erfc and the edges of a bin may err (2^-42 of the tail that they are differences of) and
 * nothing else shrinks for it; a product grows by 2^-39; the edges of bins are off by less than 2^-40 in the loss, which
 * the caller adds to epsilon for each release.
 * Sources: Doroshenko et al. 2022 (connect the dots); Sommer, Meiser & Mohammadi 2019 (composition). */
#ifndef GNOMON_ENGINE_PLD_H
#define GNOMON_ENGINE_PLD_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { PLD_ATOMS = 4096 };
#define PLD_ROUNDING 0x1p-40 /* of the loss of one release */

struct pld {
    double  step;
    int64_t first; /* atom i has the loss (first + i) step */
    size_t  len;   /* at most PLD_ATOMS */
    double *mass;  /* [PLD_ATOMS] */
    double  infinity;
};

/* Nothing released: the loss 0 on a lattice of this step.  Errors: NO_MEMORY, as for the others (32 KiB each). */
MUST_CHECK enum status pld_nothing(struct pld *pld, double step, struct arena *arena, struct error *err);
/* Any pure mechanism: a post-processing of the pair (p, 1 - p) against (1 - p, p), p = 1/(1 + e^-epsilon). */
MUST_CHECK enum status pld_pure(struct pld *pld, double epsilon, double step, struct arena *arena, struct error *err);

/* A release of the subsampled Gaussian: P = (1 - q) N(0, z^2) + q N(1, z^2) against Q = N(0, z^2) to remove, the other way
 * round to add; 0 < q < 1.  Tails of at most `cut` are truncated; the step is doubled until the lattice suffices. */
enum pld_side { PLD_REMOVE, PLD_ADD };
struct pld_gaussian {
    double        q, z;
    enum pld_side side;
};
MUST_CHECK enum status pld_subsampled(struct pld *pld, const struct pld_gaussian *gaussian, double step, double cut,
                                      struct arena *arena, struct error *err);

/* The `cut` with which all the truncation of so many releases moves less than 1e-6 delta to infinity. */
double pld_cut(double delta, double releases);
/* to := to and other together, on the coarser of their steps (one is the other times a power of two) or, where the lattice
 * would not suffice, on a coarser one still; each tail of at most `cut` is truncated.  O(len^2). */
MUST_CHECK enum status pld_compose(struct pld *to, const struct pld *other, double cut, struct arena *scratch,
                                   struct error *err);
/* pld := itself times over, by squaring; times > 0. */
MUST_CHECK enum status pld_power(struct pld *pld, uint64_t times, double cut, struct arena *scratch, struct error *err);

/* The least epsilon >= 0 with delta(epsilon) <= delta of pld together with one Gaussian of this mu (0: none); INFINITY
 * when there is none.  delta of the Gaussian: mechanism.h, at negative epsilon too. */
double pld_epsilon(const struct pld *pld, double mu, double delta);

#endif
