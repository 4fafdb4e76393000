/* How well models of earlier studies order the points of the present one: the weights of RGPE and TAF.
 * Pure functions of posteriors and values at the study's n observed points; knows nothing of Gaussian processes.
 * Sources: Feurer, Letham & Bakshy 2018 (RGPE); Wistuba, Schilling & Schmidt-Thieme 2018 (TAF). */
#ifndef GNOMON_ENGINE_TRANSFER_RANK_H
#define GNOMON_ENGINE_TRANSFER_RANK_H

#include "engine/base/arena.h"
#include "engine/math/rng.h"
#include "engine/base/status.h"

#include <stddef.h>

/* The ordered pairs (j, k), j not k, for which guess_j < y_k says something else than y_j < y_k: as a count.
 * With guess_k in the place of y_k when own is not 0: the pairs that guess orders otherwise than y.  O(n^2). */
size_t transfer_rank_errors(const double *guess, const double *y, size_t n, int own);

/* RGPE.  mean and sd [models][n]: posteriors at the observed points, the last model being the study's own, left-one-out.
 * samples independent draws of each; a weight is the share of draws in which that model orders y [n] with the fewest
 * errors, a tie going to the study's own or else the first.  A model whose median error is above the 95th percentile
 * of the own model's is left out first.  weights [models] out, sum 1.
 * Errors: NO_MEMORY.  O(models samples n^2). */
struct transfer_rank {
    size_t        models, n, samples;
    const double *mean, *sd, *y;
};
MUST_CHECK enum status transfer_rank_ensemble(const struct transfer_rank *rank, struct rng *rng, double *weights,
                                              struct arena *scratch, struct error *err);

/* TAF.  Epanechnikov's kernel of the share of pairs that mean [n] orders otherwise than y [n]:
 *   3/4 (1 - (share / bandwidth)^2), 0 beyond the bandwidth; 3/4 without pairs. */
double transfer_rank_kernel(const double *mean, const double *y, size_t n, double bandwidth);

/* Scores of values by their order alone: log(r / (n + 1 - r)) sqrt(3) / pi, r = 1 .. n the rank, of equal values the mean of
 * theirs; the deviation is 1 for large n.  score [n] out, may not be y.  O(n^2). */
void transfer_rank_scores(const double *y, size_t n, double *score);

#endif
