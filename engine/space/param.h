/* A parameter of a search space: which values it has, and the maps between them and [0, 1].
 * Natural units throughout: a double's, an int's or a discrete number's value, a categorical's or an ordinal's index.  A
 * single value is allowed of every kind: a constant, which is at 0.
 * What differs between the kinds is one row of a table each.  Knows nothing of other parameters. */
#ifndef GNOMON_ENGINE_PARAM_H
#define GNOMON_ENGINE_PARAM_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { PARAM_CHOICES_MAX = 4000, PARAM_NUMBERS_MAX = 20000 }; /* of names, of a list of numbers */
/* An ordinal is a categorical whose choices have an order, in which they are equally far apart.  A stepped number is a
 * double whose values are min + k step, each the double nearest to that decimal number: a grid, as an int is. */
enum param_kind { PARAM_DOUBLE, PARAM_INT, PARAM_CATEGORICAL, PARAM_DISCRETE, PARAM_ORDINAL, PARAM_STEPPED };
/* Position of x in [0, 1]: (x - min) / (max - min); ln(x / min) / ln(max / min), fine near min; and its mirror image,
 * 1 - ln((min + max - x) / min) / ln(max / min), as fine near max.  Both logarithmic ones need min > 0. */
enum scale { SCALE_LINEAR, SCALE_LOG, SCALE_REVERSE_LOG };

/* The user's prior of good values: normal(mean a, standard deviation b) in natural units, or beta(a, b) of the position on
 * the scale; either truncated to the range. */
enum prior_kind { PRIOR_NONE, PRIOR_NORMAL, PRIOR_BETA };
struct prior {
    enum prior_kind kind;
    double          a, b;
};

/* A parameter, parent, has one of these values, or none of them; without values: it lies within [min, max].  Where it does
 * not exist, no condition on it holds.  In a list all conditions must hold up to the next that begins an alternative. */
struct condition {
    size_t        parent;
    const double *values; /* [values_len]; NULL: a range, of numbers */
    size_t        values_len;
    bool          is_not;
    bool          is_or;    /* not of the first */
    double        min, max; /* either may be infinite */
};

struct param {
    const char             *name;
    enum param_kind         kind;
    enum scale              scale;
    double                  min, max; /* inclusive; of choices 0 and choices - 1, a discrete has its end values */
    double                  step;     /* what values are apart: of an int (0: 1), of a stepped number above 0 */
    size_t                  choices;  /* categorical, ordinal and discrete */
    const double           *values;   /* [choices] ascending, discrete only */
    struct prior            prior;    /* of numbers */
    const struct condition *when;     /* [when_len] on earlier parameters: where it exists.  space.h */
    size_t                  when_len;
    bool                    is_context; /* each ask holds it, and the best point depends on it */
};

/* Finite bounds, min <= max, min > 0 on a logarithmic scale, integers within 2^53, a range of whole steps, ascending
 * values that differ on the scale, a linear scale of steps, a prior whose bulk is in the range.  Errors: INVALID with path "/space/parameters/<i>/<member>". */
MUST_CHECK enum status param_refuse(struct error *err, size_t i, const char *member, const char *code, const char *why);
MUST_CHECK enum status param_check(const struct param *p, size_t i, struct error *err);

bool param_has(const struct param *p, double x);
/* The last value of an int or a stepped number from min on that is at most max, by param_rounded's measure. */
double param_last(const struct param *p);
/* The bound, listed value or step that x, finite, misses by at most eight units in the last place (of a stepped number: of
 * its larger bound); else x. */
double param_rounded(const struct param *p, double x);
/* Whether a model can say where x is: a number anywhere on the scale, up to PARAM_REACH ranges beyond an end, of an int
 * an integer; a name, and the value of a range of one, as in param_has. */
enum { PARAM_REACH = 10 };
bool param_reaches(const struct param *p, double x);
/* Numbers take part in sums and have priors; names do not. */
static inline bool param_is_number(const struct param *p)
{
    return p->kind != PARAM_CATEGORICAL && p->kind != PARAM_ORDINAL;
}
size_t param_width(const struct param *p); /* coordinates of the unit cube: 1, or one per choice of a categorical */

/* Value -> u[param_width] (one-hot for a categorical), and the nearest value back; NaN counts as 0.  NaN, no value, is
 * the middle: 0.5, or 1 / choices each, so that all such points agree.  A number out of the range is on the scale
 * continued: below 0, or above 1. */
void   param_encode(const struct param *p, double x, double *u);
double param_decode(const struct param *p, const double *u);

/* The value next to a number within the bounds: in natural units, of a discrete one on its scale. */
double param_nearest(const struct param *p, double x);

/* The value at quantile v of the uniform distribution over the scale, or of the prior if there is one; v is cut to
 * [0, 1].  Every int, discrete number and choice has its full share. */
double param_quantile(const struct param *p, double v);
double param_prior_quantile(const struct param *p, double v);

/* The value at quantile v of those within [low, high], which lies in the bounds; NaN when there is none. */
double param_quantile_within(const struct param *p, double low, double high, double v);

/* d value / d position of a number on its scale. */
double param_slope(const struct param *p, double x);

/* Values as numbers 0 .. count - 1 in ascending order; the count of a double is 0, but of a constant one 1. */
double param_count(const struct param *p);
double param_index(const struct param *p, double x);
double param_value(const struct param *p, double index);

#endif
