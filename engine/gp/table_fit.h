/* Hyper-parameters of an isotropic GP from a few observed rows: the maximum of likelihood times prior.
 * Knows nothing of sessions.  gp_fit does the same for one length-scale per coordinate, with gradients; here there
 * are at most three unknowns, any of which may be given. */
#ifndef GNOMON_ENGINE_TABLE_FIT_H
#define GNOMON_ENGINE_TABLE_FIT_H

#include "engine/base/arena.h"
#include "engine/gp/kernel.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct table_fit {
    const struct kernel_kind *kind;
    size_t                    n, columns;
    const double             *X;               /* [n][columns] the observed rows */
    const double             *S;               /* [n][columns] their variances, as spread of table_gp.h; NULL: none */
    const size_t             *rows;            /* [n] the row of each value; NULL: all different */
    const double             *y;               /* [n] centred values in units of their spread */
    double                    length_scale;    /* in: where the prior is centred; out */
    double                    variance, noise; /* in: where the prior is centred; out, units of y squared */
    bool                      fixed_length_scale, fixed_variance, fixed_noise; /* not estimated */
    double release_noise; /* s^2 of the rows, SE kernel only: see mechanism_effective_kernel; 0: none */
    size_t release_dims;  /* p */
    bool (*late)(void *); /* polled between evaluations; NULL: no deadline */
    void *late_arg;
};

/* Maximises log N(y; 0, variance K + noise I) + log-normal priors: sd 1.5 for length_scale, 1 for variance, 2 for
 * noise, over the logarithms (Rasmussen & Williams 2006, (5.8) plus prior): a grid over length_scale and noise, then
 * a compass search down to steps of 1/32.  Deterministic unless late says otherwise.  noise >= 1e-6 variance on
 * return.  Errors: NO_MEMORY; NUMERIC when no evaluation was finite (values stay).  About 100 n^3 / 3. */
MUST_CHECK enum status table_fit(struct table_fit *fit, struct arena *scratch, struct error *err);

#endif
