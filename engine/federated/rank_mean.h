/* `rank-mean`: a federation in one round.  A member measures some trials of its own by `gp`, ranks the posterior mean less two
 * deviations over public candidates, and sends the ranks to the fourth power as coefficients of public functions: a vector of norm at most 1
 * (rank_basis.h).  The sum of the members' vectors, with Gaussian noise (broadcast.h), over the number of seats, is
 * the release: for whoever reads it, the prior mean of the `guided` trials after it came (rank_model.h), as long as that is
 * likelier than none; all other trials are `gp`'s.
 *
 * What is proven, for the neighbouring relation "one member's vector, or zeros in its place": the release is one Gaussian
 * mechanism of l2-sensitivity 1 at full participation (broadcast.h with q = 1, clip 1 and one region; it clips whatever a
 * member sends), so that its (epsilon, delta) is the accountant's for one release.  All else that a reader does is
 * post-processing, at any time and by anybody: who joins late costs nobody anything.  A member replaced by another, rather
 * than by zeros, has sensitivity 2.  The server is trusted: it sees the vectors of the open round, and draws the noise.
 *
 * A member's session is that of any study.  EVENT_RECEIVED is the release, vectors [features].  Its noise's standard
 * deviation in each number is the option release_sd. */
#ifndef GNOMON_ENGINE_RANK_MEAN_H
#define GNOMON_ENGINE_RANK_MEAN_H

#include "engine/federated/rank_basis.h"

#endif
