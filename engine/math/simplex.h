/* A small linear program: maximise the last variable subject to A x <= b, x >= 0, b >= 0.
 * Dense tableau, Bland's rule (1977): no cycles, no random numbers, the same answer every time. */
#ifndef GNOMON_ENGINE_SIMPLEX_H
#define GNOMON_ENGINE_SIMPLEX_H

#include <stddef.h>

struct simplex {
    size_t  rows, columns; /* constraints and variables */
    double *table;         /* [rows + 1][columns + 1]: A and b; the last row belongs to the solver */
    size_t *basis;         /* [rows] scratch */
    size_t *outside;       /* [columns] scratch */
};

/* x [columns] out; the problem is bounded.  The table is used up.  Stops after 50 (rows + columns) pivots at the
 * point reached by then, which satisfies the constraints like any other.  O(rows columns) a pivot. */
void simplex_run(struct simplex *lp, double *x);

#endif
