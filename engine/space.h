/* Search spaces: what a point is, and how it is laid out for a model.
 * A parameter point is p doubles in natural units: a double's value, an int's value, a categorical's index.
 * A candidate point is a row number.  A model sees the unit cube: one coordinate for a number (log scale applied),
 * one coordinate per value (one-hot) for a categorical.  Depends on status and arena only. */
#ifndef GNOMON_ENGINE_SPACE_H
#define GNOMON_ENGINE_SPACE_H

#include "engine/arena.h"
#include "engine/status.h"

#include <stdbool.h>
#include <stdint.h>

enum space_kind { SPACE_PARAMETERS = 1, SPACE_CANDIDATES = 2 }; /* flags: struct policy.spaces */
enum param_kind { PARAM_DOUBLE, PARAM_INT, PARAM_CATEGORICAL };
enum scale { SCALE_LINEAR, SCALE_LOG };

enum { SPACE_PARAMS_MAX = 1000, SPACE_DIMS_MAX = 4000, SPACE_CANDIDATES_MAX = 1000000, SPACE_COLUMNS_MAX = 1024 };

struct param {
    const char     *name;
    enum param_kind kind;
    enum scale      scale;
    double          min, max; /* inclusive; a categorical has 0 and choices - 1 */
    size_t          choices;  /* categorical only */
};

struct space {
    enum space_kind     kind;
    const struct param *params; /* [params_len], SPACE_PARAMETERS */
    size_t              params_len;
    size_t              dims;    /* unit-cube coordinates of a parameter point */
    const double       *rows;    /* [rows_len][columns] row-major, SPACE_CANDIDATES; NULL until the matrix is there */
    size_t              rows_len, columns;
};

/* Checks the bounds of every parameter (finite, min < max, log needs min > 0, ints are integers within 2^53,
 * finite max - min), sizes, and sets space->dims.  Errors: INVALID with path "/space/parameters/<i>/<member>". */
MUST_CHECK enum status space_init(struct space *space, struct error *err);

/* True if the point lies in the space: inside the bounds, ints integral, categories in range, all finite. */
bool space_has(const struct space *space, const double *point);

/* Natural units -> unit cube, u[dims].  space_decode(space_encode(x)) is x for categoricals and for ints of up to 2^50
 * values (log scale: up to 2^40), and within 4 ulp of the larger bound for doubles on a linear scale.  An int is at (k - min) / (max - min) (log: of the logarithms). */
void space_encode(const struct space *space, const double *point, double *u);

/* Unit cube -> the nearest valid point; the result always satisfies space_has, whatever u holds (NaN counts as 0). */
void space_decode(const struct space *space, const double *u, double *point);

/* The point at the quantiles v[params_len] in [0, 1) of the uniform distribution (log scale: of the logarithm).  Every
 * int value and every choice has its full share: for random and quasi-random designs, where rounding a point of the
 * unit cube would give the end values of an int half of theirs. */
void space_quantile(const struct space *space, const double *v, double *point);

/* How many distinct points there are; SIZE_MAX when infinite or over 2^53. */
size_t space_count(const struct space *space);

#endif
