/* The simplex method on a condensed tableau: a row per basic variable, a column per non-basic one.
 * Variables 0 .. columns - 1 are x, the rest are slacks. */
#include "engine/math/simplex.h"

#include <math.h>

static const double PIVOT_MIN = 1e-11;

static double *row_of(const struct simplex *lp, size_t row)
{
    return lp->table + row * (lp->columns + 1);
}

/* Bland: the variable with the lowest number among those that raise the objective. */
static size_t entering(const struct simplex *lp)
{
    const double *objective = row_of(lp, lp->rows);
    size_t        best = lp->columns;
    for (size_t j = 0; j < lp->columns; j++)
        if (objective[j] > PIVOT_MIN && (best == lp->columns || lp->outside[j] < lp->outside[best]))
            best = j;
    return best;
}

/* The row that limits the variable first; among equals the one whose variable has the lowest number. */
static size_t leaving(const struct simplex *lp, size_t column)
{
    size_t best = lp->rows;
    double least = HUGE_VAL;
    for (size_t i = 0; i < lp->rows; i++) {
        const double *row = row_of(lp, i);
        if (!(row[column] > PIVOT_MIN))
            continue;
        double ratio = row[lp->columns] / row[column];
        if (ratio < least || (ratio == least && lp->basis[i] < lp->basis[best])) {
            least = ratio;
            best = i;
        }
    }
    return best;
}

static void pivot(struct simplex *lp, size_t r, size_t column)
{
    double *from = row_of(lp, r), scale = 1 / from[column];
    size_t  swapped = lp->basis[r];
    lp->basis[r] = lp->outside[column];
    lp->outside[column] = swapped;
    from[column] = 1;
    for (size_t j = 0; j <= lp->columns; j++)
        from[j] *= scale;
    for (size_t i = 0; i <= lp->rows; i++) {
        double *row = row_of(lp, i), factor = row[column];
        if (i == r || factor == 0)
            continue;
        row[column] = 0;
        for (size_t j = 0; j <= lp->columns; j++)
            row[j] -= factor * from[j];
        if (i < lp->rows)
            row[lp->columns] = fmax(row[lp->columns], 0); /* rounding must not make a right-hand side negative */
    }
}

void simplex_run(struct simplex *lp, double *x)
{
    double *objective = row_of(lp, lp->rows);
    for (size_t j = 0; j <= lp->columns; j++)
        objective[j] = j + 1 == lp->columns ? 1 : 0;
    for (size_t j = 0; j < lp->columns; j++)
        lp->outside[j] = j;
    for (size_t i = 0; i < lp->rows; i++)
        lp->basis[i] = lp->columns + i;
    for (size_t left = 50 * (lp->rows + lp->columns); left > 0; left--) {
        size_t column = entering(lp), row = column < lp->columns ? leaving(lp, column) : lp->rows;
        if (row == lp->rows)
            break;
        pivot(lp, row, column);
    }
    for (size_t j = 0; j < lp->columns; j++)
        x[j] = 0;
    for (size_t i = 0; i < lp->rows; i++)
        if (lp->basis[i] < lp->columns)
            x[lp->basis[i]] = row_of(lp, i)[lp->columns];
}
