/* The ledger of an agent's federations, on its own disk: a line for each federation with a guarantee, durable
 * before the first message to it.  A ledger is for one set of data; its owner says which by naming the file.
 *
 * A line holds the plan as it is public (sampling rate, noise multiplier, releases, delta); epsilon is computed again when
 * it is read.  Releases are as many as stay within the federation's own budget, at most its rounds.  What the federations
 * cost is the sum of epsilons at the sum of deltas: that holds however one was chosen after what came out of another.
 * The budget of a ledger is the least that was ever given. */
#ifndef GNOMON_SERVICE_CLI_AGENT_LEDGER_H
#define GNOMON_SERVICE_CLI_AGENT_LEDGER_H

#include "engine/base/arena.h"
#include "service/model/federation_spec.h"

#include <stddef.h>
#include <stdint.h>

struct agent_charge {
    const char                   *federation; /* id */
    int64_t                       seat;
    const struct federation_spec *spec;
    double                        budget; /* of epsilon; NaN: as in the ledger, if there is one */
};
struct agent_total {
    double epsilon, delta;
    double planned; /* epsilon at the same delta, had all been fixed before the first of them */
    double budget;  /* NaN: none */
    size_t federations;
};

/* How many rounds the promise of a federation has room for; those of its plan where it promises nothing.  What a server says
 * later changes nothing of it. */
int64_t agent_ledger_rounds(const struct federation_spec *spec, struct arena *scratch);

/* Adds the federation unless it is there.  Errors: INVALID "no_guarantee" (fts has no bound that adds up); CONFLICT
 * "budget_exhausted", "other_seat" (the same data on two seats), "other_plan" (another one than was charged), "file" (a
 * line that is not a ledger's); as append_open. */
MUST_CHECK enum status agent_ledger_charge(const char *path, const struct agent_charge *charge,
                                           struct agent_total *total, struct arena *arena, struct error *err);

#endif
