/* How far earlier studies are to be trusted: the estimates and updates of RM-GP-UCB.
 * Pure functions of numbers; knows nothing of Gaussian processes nor of studies.
 * Source: Dai, thesis, 7.5. */
#ifndef GNOMON_ENGINE_TRANSFER_WEIGHTS_H
#define GNOMON_ENGINE_TRANSFER_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>

/* The function gap of one earlier study, as estimated from the target's posterior at its n points:
 *   |y_j - mean_j| + width sd_j, which is max(|y_j - U_j|, |y_j - L_j|) of Lemma 7.1,
 * the mean over j, or the largest (as the lemma has it; 7.6 recommends the mean).  The lemma's correction for noise is
 * left out, since it is the same for all.  Finite whatever the arguments are. */
double transfer_weights_gap(const double *y, const double *mean, const double *sd, size_t n, double width,
                            bool largest);

/* Follow the regularised leader, (7.4): weights [len] proportional to exp(-rate sums [i]), sum 1, computed from the
 * smallest sum so that nothing underflows to all zeros.  sums finite; len > 0. */
void transfer_weights_follow(const double *sums, size_t len, double rate, double *weights);

/* By what nu shrinks in a round: min(slowest, (sum of weights [i] gaps [i])^-power), end of 7.5.2. */
double transfer_weights_decay(const double *weights, const double *gaps, size_t len, double slowest, double power);

#endif
