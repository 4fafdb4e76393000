/* Federated Thompson sampling as an agent does it: the algorithms `fts` (thesis ch. 5; Dai et al. 2020) and `dp-fts-de`
 * (ch. 6; Dai et al. 2021), and what their users need beyond struct policy.  Knows nothing of servers.
 *
 * An agent's session is that of any study: suggested and observed trials, and what others sent as EVENT_RECEIVED.
 *   fts        one event per message of another agent: sender is a number of its own, vectors [M] its omega.  A later
 *              one from the same sender takes the place of the earlier and may be used again.
 *   dp-fts-de  one event per broadcast: vectors [P][M], sender is not read.  Only that of the largest round counts.
 * The first `initial` trials are quasi-random points of the agent's own region (the whole space for fts).  Then, at
 * iteration t = 1, 2, ...: with probability p_t the maximum of a draw from the agent's own posterior (fresh features of a
 * squared exponential with the MAP hyper-parameters of the agent's values); else
 *   fts        the maximum of phi(x)'omega of a sender that has not been used, drawn uniformly; its note names it
 *   dp-fts-de  the maximum of phi(x)'omega^(i(x)) of the last broadcast, i(x) the region of x, once per broadcast
 * and an own draw when there is nothing (new) to use: late or absent messages hold up nobody.
 * Options of both: features (M), features_seed (an integer below 2^53), length_scale, noise, centre, spread, schedule,
 * initial, repeat; of dp-fts-de also regions (P) and region (the agent's own, from 0).
 * phi are the shared features, of the unit cube of the space: count, length-scale, noise and seed are options and the
 * same for all agents, as are centre and spread, public numbers in the metric's own units: a value enters a message as
 * (value - centre) / spread, with its sign turned where less is better.
 *
 * policy->message draws omega ~ N(nu, noise Sigma^-1) (rff.h) from all observed values and the stream of (seed, round):
 * the same log and round give the same message, and a message may be sent for any round.  It holds no raw value, but
 * without dp-fts-de's noise it is no private thing either: M numbers can determine M values. */
#ifndef GNOMON_ENGINE_FTS_H
#define GNOMON_ENGINE_FTS_H

#include "engine/gp/rff.h"
#include "engine/space/space.h"

#include <stdint.h>

enum { FTS_FEATURES_MAX = 2000, FTS_FEATURES_MIN = 10 };

/* The features that all agents of a federation share: a squared exponential of variance 1 on the unit cube of space,
 * from the stream of (seed, 0).  The same on one kind of machine; elsewhere within rounding of sin, cos and log.
 * Errors: NO_MEMORY. */
struct fts_shared {
    size_t   count;
    uint64_t seed;
    double   length_scale;
};
MUST_CHECK enum status fts_features(const struct fts_shared *shared, const struct space *space, struct arena *arena,
                                    struct rff *out, struct error *err);

/* p_t, the probability of an own draw at iteration t >= 1.  "root": 1 - 1/sqrt(t), "linear": 1 - 1/t, "square":
 * 1 - 1/t^2.  fts takes p_1 = p_2, dp-fts-de p_1 = 0: its first iteration uses the broadcast. */
enum fts_schedule { FTS_ROOT, FTS_LINEAR, FTS_SQUARE };
extern const char *const fts_schedules[]; /* wire names, NULL ends the list */
double                   fts_own_probability(enum fts_schedule schedule, bool is_first_second, uint64_t t);

#endif
