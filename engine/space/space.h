/* Search spaces: what a point is, and how it is laid out for a model.
 * A parameter point is p doubles in natural units (param.h), NaN for a parameter that does not exist in it because of
 * the values of others; constraints may cut the box.  A candidate point is a row number.  An image point is
 * height * width * channels numbers within +-bound, row by row, the channels of a pixel together.  A point of a graph
 * is a macro-action (graph.h).  A model sees the unit
 * cube: one coordinate for a number on its scale, one per value (one-hot) for a categorical, the middle for no value.
 *   space.c             points and the unit cube, counting
 *   space_condition.c   which parameters exist in a point; the walk over a finite space
 *   space_constraint.c  inequalities of sums and products: the check, and ways into the region
 *   space_equation.c    points where equations tie numbers together
 *   space_face.c        numbers of which at most k may be other than 0
 *   space_forbid.c      combinations of values that may not occur together, and ways out of them
 *   space_centre.c      a point that satisfies the inequalities, or the proof that there is none */
#ifndef GNOMON_ENGINE_SPACE_H
#define GNOMON_ENGINE_SPACE_H

#include "engine/base/arena.h"
#include "engine/space/graph.h"
#include "engine/space/param.h"
#include "engine/base/status.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum space_kind { /* flags: struct policy.spaces */
                  SPACE_PARAMETERS = 1,
                  SPACE_CANDIDATES = 2,
                  SPACE_IMAGE = 4,
                  SPACE_GRAPH = 8
};

enum { SPACE_PARAMS_MAX = 1000, SPACE_DIMS_MAX = 4000, SPACE_CANDIDATES_MAX = 1000000, SPACE_COLUMNS_MAX = 1024 };
enum {
    SPACE_WHEN_MAX = 64,          /* conditions of a parameter */
    SPACE_FORBID_MAX = 1024,      /* conditions of all forbidden combinations */
    SPACE_WHEN_VALUES_MAX = 4096, /* values of all conditions; of all forbidden combinations */
    SPACE_CONSTRAINTS_MAX = 32,
    SPACE_CONSTRAINED_MAX = 100, /* different parameters of all constraints */
    SPACE_WALK_MAX = 65536       /* points of the grid up to which a finite space is walked to count its points */
};

enum { SPACE_IMAGE_MAX = 196608, SPACE_LATENTS_MAX = 32, SPACE_LATENT_MAX = 1024 }; /* numbers, sizes, numbers of one */

/* A size to which an image is reduced for the search: at most the image's. */
struct latent {
    size_t height, width;
};

/* min <= sum of coefficient times value <= max, in natural units, added up in the order of the terms; or the product of
 * values to the power of their coefficients, multiplied in that order, of numbers above 0.  Either bound may be infinite,
 * not both.  Only numbers without conditions take part.  min = max is an equation: points that are made keep it within
 * SPACE_EQUATION of the size of its terms, points of users within tolerance, too. */
struct constraint {
    const size_t *params;       /* [len] ascending */
    const double *coefficients; /* [len] finite, not 0 */
    size_t        len;
    double        min, max; /* min <= max */
    bool          is_product;
    double        tolerance; /* >= 0, of an equation, in units of its sum or product */
    /* above 0: no sum, but at most so many of these numbers, whose ranges hold 0, are used, which is not 0.  The coefficients
     * are 1, the bounds infinite.  To points of users a number within tolerance of 0 is not used. */
    size_t        at_most;
    const double *min_used; /* [len] >= 0: a number that is used is no smaller; 0 where its range has numbers below 0 */
};
#define SPACE_EQUATION 1e-9

struct space {
    enum space_kind          kind;
    const struct param      *params; /* [params_len], SPACE_PARAMETERS */
    size_t                   params_len;
    const struct constraint *constraints; /* [constraints_len] */
    size_t                   constraints_len;
    const struct condition *forbid; /* [forbid_len] a point where one of the alternatives holds is not in the space; the
                                      * parameters of each ascend */
    size_t                  forbid_len;
    size_t                  dims; /* unit-cube coordinates of a parameter point */
    /* set by space_hold */
    const double        *held;        /* [params_len] NaN where free; NULL: all are free */
    const double        *centre;      /* [params_len] satisfies the constraints; NULL without any */
    const size_t        *constrained; /* [constrained_len] the parameters of all constraints, ascending */
    size_t               constrained_len;
    const double        *rows; /* [rows_len][columns] row-major, SPACE_CANDIDATES; NULL until the matrix is there */
    size_t               rows_len, columns;
    const double        *row_variances; /* [rows_len][columns] of where a row is around its place; NULL: none */
    size_t               height, width, channels; /* SPACE_IMAGE */
    double               bound;                   /* of every number of a point, > 0 */
    const struct latent *latents;                 /* [latents_len] by size */
    size_t               latents_len;
    const struct graph  *graph; /* SPACE_GRAPH */
    /* set by space_hold, where there are equations or bands that are as thin */
    const size_t *equations; /* [equations_len] indices of these constraints */
    size_t        equations_len;
    const double *warm; /* [warm_len][params_len] points all over what equations leave, in the constrained parameters */
    size_t        warm_len;
    const struct param *used_params; /* [params_len] with ranges from min_used on; NULL: no constraint says at most */
    const double       *allowed; /* [params_len] a point that is not forbidden; NULL without forbidden combinations */
};

/* How many doubles a stored point has (a graph: the sites of the longest macro-action); 0 where points are rows. */
static inline size_t space_point_len(const struct space *space)
{
    if (space->kind == SPACE_GRAPH)
        return space->graph->steps > GRAPH_DIMS_MAX ? space->graph->steps : GRAPH_DIMS_MAX;
    return space->kind == SPACE_IMAGE ? space->height * space->width * space->channels : space->params_len;
}

/* Checks every parameter (param_check), conditions (earlier parents that are no doubles, values of theirs, some way
 * for all to hold), constraints, sizes, and sets space->dims.  A space with constraints is of use after space_hold.
 * Errors: INVALID with a path into "/space". */
MUST_CHECK enum status space_init(struct space *space, struct error *err);
/* Its parts, of conditions and of constraints. */
MUST_CHECK enum status space_check_conditions(const struct space *space, struct error *err);
MUST_CHECK enum status space_check_constraints(const struct space *space, struct error *err);
MUST_CHECK enum status space_check_forbid(const struct space *space, struct error *err);

/* *held := space with the parameters held whose value in fixed [params_len] is not NaN; fixed NULL: none.  A held parameter
 * exists, because its parents are held too.  Whatever makes points keeps to held values.
 * With constraints: finds held->centre by linear programming, branching on ints and discrete numbers; where a number is in a
 * sum and in a product, by a sequence of linear programs, which may miss a region that is small.
 * Errors: INVALID "no_feasible_point" at /space/constraints, or "constraint_violated" at /fixed; NO_MEMORY. */
MUST_CHECK enum status space_hold(const struct space *space, const double *fixed, struct arena *arena,
                                  struct space *held, struct error *err);

static inline bool space_is_free(const struct space *space, size_t param)
{
    return space->held == NULL || isnan(space->held[param]);
}

/* Whether some parameter is a context. */
bool space_has_context(const struct space *space);

/* Whether a condition holds for a value.  The first alternative from `from` on, which begins one, that holds in a point, or
 * len; and where the alternative that begins at `at` ends. */
bool   space_condition_holds(const struct condition *condition, double value);
size_t space_alternative(const struct condition *list, size_t len, const double *point, size_t from);
size_t space_alternative_end(const struct condition *list, size_t len, size_t at);

/* True if the parameter exists, given the values of those before it (NaN: not there). */
bool space_is_active(const struct space *space, const double *point, size_t param);

/* True if the point lies in the space: each parameter that exists has a value of its own and no other has one, and
 * the constraints hold as double arithmetic computes them.  Of a graph: there are sites, and all are the graph's. */
bool space_has(const struct space *space, const double *point);

/* As space_has, with space_broken's slack for the constraints: the test for points of users. */
bool space_nearly_has(const struct space *space, const double *point, double slack);

/* True if a model can say where the parameter point is, in the space or not (param_reaches); which parameters exist is as
 * in the space, and constraints do not matter. */
bool space_reaches(const struct space *space, const double *point);

/* lacks [params_len] out: the parameters that exist in some of points [n][params_len] but have no value there, because the
 * owner does not know them, and those that depend on such a parameter.  False: there is none. */
bool space_lacks(const struct space *space, const double *points, size_t n, bool *lacks);

/* As space_nearly_has for a point that lacks parameters: those have no value, and constraints on them do not matter. */
bool space_nearly_has_rest(const struct space *space, const double *point, const bool *lacks, double slack);

/* The constraint that the point breaks by more than slack times the rounding error of its sum; NULL: none.
 * slack 0 is what space_has asks for; points that users report have 8. */
const struct constraint *space_broken(const struct space *space, const double *point, double slack);
/* As space_broken for the constraints whose parameters all have values. */
const struct constraint *space_broken_rest(const struct space *space, const double *point, double slack);
/* The sum or product that the constraint bounds; NaN where one of its values is missing. */
double space_total(const struct constraint *c, const double *point);

/* Natural units -> unit cube, u[dims].  space_decode(space_encode(x)) is x for categoricals, discrete numbers and for
 * ints of up to 2^50 values (logarithmic: up to 2^40), and within 4 ulp of the larger bound for doubles on a linear
 * scale.  An int is at (k - min) / (max - min) (log: of the logarithms). */
void space_encode(const struct space *space, const double *point, double *u);

/* Unit cube -> the nearest valid value of each parameter, then space_settle; the result always satisfies space_has,
 * whatever u holds (NaN counts as 0). */
void space_decode(const struct space *space, const double *u, double *point);

/* The point at the quantiles v[params_len] in [0, 1) of the uniform distribution (log scale: of the logarithm), or of
 * the priors.  Every int value and every choice has its full share: for random and quasi-random designs, where
 * rounding a point of the unit cube would give the end values of an int half of theirs.  A draft that breaks a
 * constraint is moved in by space_repair, then each of its parameters to quantile v of what the others leave it:
 * false says so. */
bool space_quantile(const struct space *space, const double *v, double *point);
bool space_prior_quantile(const struct space *space, const double *v, double *point);

/* Makes a point of a draft, in which every value is valid by itself or NaN: puts in the held values, fill[i] for NaN
 * (fill [params_len] without NaN, or NULL when the draft has none), repairs, and takes out what does not exist. */
void space_settle(const struct space *space, const double *fill, double *point);

/* Moves the constrained parameters of a draft that breaks a constraint straight towards the centre, on their scales,
 * about as far as is needed (30 halvings).  The result satisfies all constraints exactly. */
void space_repair(const struct space *space, double *point);

/* Puts each free constrained parameter in turn at quantile v[i] of the values that the constraints leave it given the
 * others; point satisfies the constraints, and does so afterwards. */
void space_spread(const struct space *space, const double *v, double *point);

/* Forbidden combinations (space_forbid.c).  forbids: of a point; draft_forbidden: of a draft, which has a value for every
 * parameter.  escape changes values of a draft, one after the other, until none is left, or makes it space->allowed.
 * keep_out narrows the ranges [low, high] of doubles, so that from a point that is allowed, whose other values stay, no
 * forbidden one is inside. */
bool space_forbids(const struct space *space, const double *point);
bool space_draft_forbidden(const struct space *space, const double *draft);
void space_escape(const struct space *space, double *draft);
void space_keep_out(const struct space *space, const double *point, double *low, double *high);

/* Equations and thin bands (space_equation.c).  begin lists them and finds the warm points, once the centre is there.  draw puts the
 * constrained parameters anywhere, as uniform as a short chain of moves is, a function of v [params_len] alone.  project moves
 * doubles until no constraint is broken; false: that failed.  repair is space_repair: to the nearest point, or for ints to one that
 * is near. */
struct rng;
MUST_CHECK enum status space_equation_begin(struct space *space, struct arena *arena, struct error *err);
void                   space_equation_draw(const struct space *space, const double *v, double *point);
bool                   space_equation_project(const struct space *space, double *point);
void                   space_equation_repair(const struct space *space, double *point);

/* Faces (space_face.c): where constraints say at most k of n, what is not used is held at 0, and the rest is a space as any.
 * begin makes used_params; warm finds the warm points, once the centre is there.  draw and repair are as those of
 * equations.  enter moves a draft to a face that is near; false: none of those tried has a point.  exchange makes other numbers
 * be used, one in, one out, or both: a draft.  rests: the number is not used in this point. */
MUST_CHECK enum status space_face_begin(struct space *space, struct arena *arena, struct error *err);
MUST_CHECK enum status space_face_warm(struct space *space, struct arena *arena, struct error *err);
bool                   space_face_enter(const struct space *space, double *point);
void                   space_face_draw(const struct space *space, const double *v, double *point);
void                   space_face_repair(const struct space *space, double *point);
void                   space_face_exchange(const struct space *space, struct rng *rng, double *point);
bool                   space_face_rests(const struct space *space, const double *point, size_t param);

/* The way of a draft into the constraints that the space has. */
static inline void space_bring_in(const struct space *space, double *point)
{
    (space->used_params != NULL ? space_face_repair
     : space->warm_len > 0      ? space_equation_repair
                                : space_repair)(space, point);
}

/* A stream of random numbers that follows from n numbers, those of the list or all. */
struct rng space_stream(const double *x, size_t n, const size_t *list);

/* A random way down the walk over the constrained parameters.  False: one has infinitely many values, or 200 ways ended
 * before the end; the point is as it was. */
bool space_draw_finite(const struct space *space, struct rng *rng, double *point);

/* The constraints as a maximiser over the unit cube wants them, two rows each (max, min): out [2 constraints_len] is
 * the excess of the sum (of a product: of its logarithm) over the bound as a share of its width over the box, -1 for an
 * infinite bound;
 * gradient [2 constraints_len][dims] that of out by u. */
void space_excess(const struct space *space, const double *u, double *out, double *gradient);

/* A grid walk over the free parameters of a finite space: first, then step until it returns false, which leaves
 * the first point again.  first returns false when the grid has no point (constraints). */
bool space_first(const struct space *space, double *point);
bool space_step(const struct space *space, double *point);

/* How many distinct points there are with the held values.  SIZE_MAX: infinite, or over 2^53.  With conditions, constraints
 * or forbidden combinations it is exact up to a grid of SPACE_WALK_MAX points (with equations: up to as many points of the
 * space), and above it is the grid's, which is too much. */
size_t space_count(const struct space *space);

#endif
