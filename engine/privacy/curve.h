/* The privacy cost of a mechanism under a neighbouring relation, as a curve, and the cost of several together.
 * A curve is made from the integers that the noise was drawn with, never from a printed epsilon: whoever keeps a ledger
 * stores the mechanism, and makes the curve again when it reads.
 *
 *   discrete Laplace      pure, rate 2^-32 S1                                                        (relation.h: S1, S2)
 *   isotropic Laplace     pure, rate 2^-32 S2 + 2^-48
 *   discrete Gaussian     Gaussian, mu = S2 / sqrt(sigma^2 - 4)
 *   projected Gaussian    Renyi, (a - 1) R(a) = -(dims/2) log(1 - a (a - 1) k), k = (64 S2 / sigma)^2
 *   cells                 pure, rate 2^-32 2: any move may cross a border
 *   outcomes              pure, rate 2^-32 ((high - low)/gamma + 1 + 2^-20), once; twice that for cells: a row that moves
 *                         from one kept cell to another changes both answers
 *
 * The discrete Gaussian is as good as the Gaussian.  Lemma: with s^2 = sigma^2 - 4 > 0, eta = 6 exp(-8 pi^2) < 4e-34, all
 * shifts by integers of M coordinates and mixtures of them, the discrete pair has delta(epsilon) <= e^(M eta)
 * delta_s(epsilon - 2 M eta), delta_s that of the continuous pair of sd s.  Proof: given real x draw y in Z^M from the
 * discrete Gaussian of sd 2 centred at x, which knows neither shift nor data.  If x ~ N(v, s^2), then P(y) = prod
 * Int phi_s(x - v) phi_2(y - x) / Z(x) dx, where Z(x) = sum_j phi_2(j - x) is within 1 +- 2 exp(-8 pi^2) by Poisson
 * summation, so P(y) is phi_sigma(y - v) up to e^(+-eta) a coordinate, as is the exact law.  A rotation makes the continuous
 * pair one-dimensional with mu = |v| / s.  For M <= 10^8 the factor is below 1e-25.
 *
 * delta of a pair at epsilon: sup over events E of P(E) - e^epsilon Q(E).  Composition: pure adds; mu^2 adds; Renyi adds at
 * each order, where pure epsilon has log(p e^((a-1) epsilon) + q e^(-(a-1) epsilon)), p = 1/(1 + e^-epsilon) = 1 - q, and
 * delta = exp((a - 1)(R - epsilon)) (1 - 1/a)^a / (a - 1) (Canonne, Kamath & Steinke 2020).  Pure curves and Gaussians
 * also compose as privacy-loss distributions (pld.h), which is tighter; a projected Gaussian has Renyi divergences only. */
#ifndef GNOMON_ENGINE_PRIVACY_CURVE_H
#define GNOMON_ENGINE_PRIVACY_CURVE_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/privacy/mechanism.h"
#include "engine/privacy/relation.h"

#include <stdbool.h>
#include <stddef.h>

enum curve_kind {
    CURVE_NONE, /* no bound: it cannot be added up with anything */
    CURVE_PURE,
    CURVE_GAUSSIAN,
    CURVE_PROJECTED,
};
struct privacy_curve {
    enum curve_kind kind;
    double          value; /* pure: epsilon; Gaussian: mu; projected: k */
    size_t          dims;  /* projected */
};

/* The curve of a planned mechanism whose rows move by shift.  CURVE_NONE: a sigma too small for the lemma. */
struct privacy_curve curve_of_release(const struct mechanism *m, const struct relation_shift *shift);
/* The curve of private outcomes, for any change of an outcome: s_y of the plan, an assumption on f, does not lessen it. */
struct privacy_curve curve_of_outcomes(const struct mechanism_outcome *m, bool are_of_cells);

/* The least epsilon >= 0 found so that curves fixed beforehand are (epsilon, delta)-DP together: 0 for none of them, their
 * sum when all are pure, INFINITY where delta is 0 and they are not.
 * Errors: INVALID bad_delta (not in [0, 1)), no_bound (a curve is CURVE_NONE); NO_MEMORY (0.3 MiB).  O(n), or some 50 ms when pure curves meet Gaussians. */
MUST_CHECK enum status curves_epsilon(const struct privacy_curve *curves, size_t n, double delta, double *epsilon,
                                      struct arena *scratch, struct error *err);

/* As curves_epsilon, for releases chosen one after the other, each knowing the results before it: at one Renyi order, fixed
 * with delta before the first of them.  Whoever refuses what would raise this number over a budget is (budget, delta)-DP:
 * exp((order - 1)(loss - sum of R)) is a supermartingale, and a sum of pure epsilons needs no such proof.
 * Errors: as above; INVALID bad_order (not over 1). */
MUST_CHECK enum status curves_filter(const struct privacy_curve *curves, size_t n, double delta, double order,
                                     double *epsilon, struct error *err);
/* The order with which a budget has room for most Gaussians.  epsilon > 0, 0 < delta < 1. */
double curves_filter_order(double epsilon, double delta);

#endif
