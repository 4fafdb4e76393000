/* The search spaces that the contract of the algorithms is tested on: a box, finite and extreme ones, conditions,
 * constraints, priors, candidates, and an image.  For contract.c alone. */
#ifndef GNOMON_TESTS_CONTRACT_SPACES_H
#define GNOMON_TESTS_CONTRACT_SPACES_H

#include "engine/space/space.h"
#include "tests/unit/engine/suites.h"

enum { PARAMS_MAX = 6, TRIALS = 20, EVENTS_MAX = 4 * TRIALS, OPTIONS_MAX = 32, ROWS = 60, COLUMNS = 3 };

static const struct param mixed_params[] = {
    PARAM("lr", DOUBLE, LOG, 1e-5, 0.1, 0),
    PARAM("momentum", DOUBLE, LINEAR, -0.25, 0.985, 0),
    PARAM("layers", INT, LINEAR, 1, 6, 0),
    PARAM("optimiser", CATEGORICAL, LINEAR, 0, 2, 3),
};
static const struct param finite_params[] = {
    PARAM("k", INT, LINEAR, -1, 1, 0),
    PARAM("c", CATEGORICAL, LINEAR, 0, 3, 4),
};
static const struct param wide_params[] = {
    PARAM("wide", DOUBLE, LOG, 1e-300, 1e300, 0),
    PARAM("huge", DOUBLE, LINEAR, -8e307, 8e307, 0),
    PARAM("ints", INT, LINEAR, -9007199254740992.0, 9007199254740992.0, 0),
};
static const double           sgd[] = {1, 2}, deep[] = {2, 3, 4}, mid[] = {32}, widths[] = {16, 32, 48};
static const struct condition if_sgd[] = {{.parent = 0, .values = sgd, .values_len = 2}};
static const struct condition if_deep[] = {{.parent = 2, .values = deep, .values_len = 3}};
static const struct condition if_mid[] = {{.parent = 0, .values = sgd, .values_len = 2},
                                          {.parent = 3, .values = mid, .values_len = 1}};
static const struct param     conditional_params[] = {
        PARAM("optimiser", CATEGORICAL, LINEAR, 0, 2, 3),
        {.name = "momentum", .min = 0.1, .max = 0.985, .scale = SCALE_REVERSE_LOG, .when = if_sgd, .when_len = 1},
        PARAM("layers", INT, LINEAR, 1, 4, 0),
        {.name = "width",
         .kind = PARAM_DISCRETE,
         .scale = SCALE_LOG,
         .min = 16,
         .max = 48,
         .choices = 3,
         .values = widths,
         .when = if_deep,
         .when_len = 1},
        {.name = "decay", .min = 1e-6, .max = 0.25, .scale = SCALE_LOG, .when = if_mid, .when_len = 2},
};
static const double           only_b[] = {1}, many[] = {2, 3}, steps[] = {-0.75, 2.385};
static const struct condition if_b[] = {{.parent = 0, .values = only_b, .values_len = 1}};
static const struct condition if_many[] = {{.parent = 1, .values = many, .values_len = 2}};
static const struct param     conditional_finite_params[] = {
        /* 4 + 1 + 2 * 2 points */
    PARAM("c", CATEGORICAL, LINEAR, 0, 4, 5),
    {.name = "k", .kind = PARAM_INT, .min = 1, .max = 3, .when = if_b, .when_len = 1},
    {.name = "d",
         .kind = PARAM_DISCRETE,
         .min = -0.75,
         .max = 2.385,
         .choices = 2,
         .values = steps,
         .when = if_many,
         .when_len = 1},
};
static const double       used_values[] = {-0.5, 0, 0.125, 1.5};
static const double       parts[] = {0.125, 0.5, 0.875, 3.5};
static const struct param constrained_params[] = {
    PARAM("x", DOUBLE, LINEAR, -1, 2.5, 0),
    PARAM("y", DOUBLE, LOG, 0.01, 10, 0),
    PARAM("k", INT, LINEAR, 0, 6, 0),
    {.name = "d", .kind = PARAM_DISCRETE, .min = 0.125, .max = 3.5, .choices = 4, .values = parts},
};
static const size_t            constrained_xy[] = {0, 1}, constrained_all[] = {0, 1, 2, 3}, finite_both[] = {0, 1};
static const double            plain_sum[] = {1, 2.5}, weights[] = {-0.7, 1.1, 0.3, 0.9}, ones[] = {1, 1};
static const struct constraint constraints[] = {
    {.params = constrained_xy, .coefficients = plain_sum, .len = 2, .min = -INFINITY, .max = 3},
    {.params = constrained_all, .coefficients = weights, .len = 4, .min = 1.3, .max = 2.2},
};
/* A product, a sum that shares a number with it, and a constant. */
static const struct param product_params[] = {
    {.name = "batch", .kind = PARAM_INT, .scale = SCALE_LOG, .min = 8, .max = 512, .step = 8},
    PARAM("layers", INT, LINEAR, 1, 16, 0),
    PARAM("width", DOUBLE, LOG, 0.5, 64, 0),
    PARAM("fixed", DOUBLE, LINEAR, 1.5, 1.5, 0),
};
static const size_t            product_all[] = {0, 1, 2, 3}, product_sum[] = {1, 2};
static const double            exponents[] = {1, 1, 2, -0.5}, product_weights[] = {1, -0.25};
static const struct constraint products[] = {
    {.params = product_all, .coefficients = exponents, .len = 4, .min = 64, .max = 4096, .is_product = true},
    {.params = product_sum, .coefficients = product_weights, .len = 2, .min = 0.5, .max = INFINITY},
};
static const struct param constrained_finite_params[] = {
    /* 10 of 25 points */
    PARAM("a", INT, LINEAR, 0, 4, 0),
    PARAM("b", INT, LINEAR, 0, 4, 0),
};
static const struct constraint at_least_5[] = {
    {.params = finite_both, .coefficients = ones, .len = 2, .min = 4.5, .max = INFINITY},
};
static const struct param prior_params[] = {
    {.name = "lr", .scale = SCALE_LOG, .min = 1e-5, .max = 0.1, .prior = {PRIOR_NORMAL, 0.01, 0.003}},
    {.name = "keep", .scale = SCALE_REVERSE_LOG, .min = 0.1, .max = 0.999, .prior = {PRIOR_BETA, 2, 5}},
    {.name = "k", .kind = PARAM_INT, .min = -3, .max = 9, .prior = {PRIOR_NORMAL, 2.385, 1.5}},
    {.name = "d",
     .kind = PARAM_DISCRETE,
     .min = 16,
     .max = 48,
     .choices = 3,
     .values = widths,
     .prior = {PRIOR_BETA, 0.5, 0.75}},
};
static const struct param angle_params[] = {
    PARAM("degrees", DOUBLE, LINEAR, 0, 360, 0),
    PARAM("radians", DOUBLE, LINEAR, -3.14159265358979, 3.14159265358979, 0),
};
static const struct param stepped_params[] = {
    /* steps, an order, and constants among them */
    {.name = "units", .kind = PARAM_INT, .scale = SCALE_LOG, .min = 2, .max = 34, .step = 8},
    PARAM("size", ORDINAL, LINEAR, 0, 3, 4),
    PARAM("fixed", DOUBLE, LOG, 0.125, 0.125, 0),
    PARAM("only", CATEGORICAL, LINEAR, 0, 0, 1),
    PARAM("x", DOUBLE, LINEAR, -1, 2.5, 0),
    {.name = "share", .kind = PARAM_STEPPED, .min = -0.3, .max = 1.1, .step = 0.1},
};
static const struct param stepped_finite_params[] = {
    /* 3 * 4 points */
    {.name = "k", .kind = PARAM_INT, .min = -5, .max = 5, .step = 5},
    PARAM("size", ORDINAL, LINEAR, 0, 3, 4),
    PARAM("fixed", DOUBLE, LINEAR, 2.385, 2.385, 0),
};
static const double           last_two[] = {1, 2}, the_first[] = {0};
static const struct condition if_not_first[] = {{.parent = 0, .values = the_first, .values_len = 1, .is_not = true},
                                                {.parent = 1, .min = 4, .max = INFINITY, .is_or = true}};
static const struct param     forbidden_params[] = {
        /* alternatives, and combinations of names, ints and doubles that may not be */
    PARAM("optimiser", CATEGORICAL, LINEAR, 0, 2, 3),
    PARAM("layers", INT, LINEAR, 1, 6, 0),
    PARAM("x", DOUBLE, LINEAR, -1, 2.5, 0),
    PARAM("lr", DOUBLE, LOG, 1e-5, 0.1, 0),
    {.name = "momentum", .max = 1, .when = if_not_first, .when_len = 2},
};
static const struct condition forbidden[] = {
    {.parent = 0, .values = last_two, .values_len = 2},
    {.parent = 1, .min = 5, .max = INFINITY},
    {.parent = 2, .min = -INFINITY, .max = 1.25, .is_or = true},
    {.parent = 3, .min = 1e-3, .max = INFINITY},
    {.parent = 0, .values = the_first, .values_len = 1, .is_not = true, .is_or = true},
    {.parent = 4, .min = 0.25, .max = 0.5},
};
static const struct param forbidden_finite_params[] = {
    /* 12 of 5 * 3 points */
    PARAM("k", INT, LINEAR, 0, 4, 0),
    PARAM("c", CATEGORICAL, LINEAR, 0, 2, 3),
};
static const struct condition forbidden_finite[] = {
    {.parent = 0, .min = 3, .max = INFINITY},
    {.parent = 1, .values = the_first, .values_len = 1},
    {.parent = 0, .min = -INFINITY, .max = 0, .is_or = true},
    {.parent = 1, .values = the_first, .values_len = 1},
};
/* Shares of which at most two are used, and a name; and a finite space: 12 of 3 * 4 * 3 points. */
static const struct param used_params[] = {
    PARAM("a", DOUBLE, LINEAR, 0, 1, 0),   PARAM("b", DOUBLE, LINEAR, 0, 0.875, 0),
    PARAM("c", DOUBLE, LINEAR, 0, 1, 0),   PARAM("d", DOUBLE, LINEAR, 0, 0.75, 0),
    PARAM("e", DOUBLE, LINEAR, 0, 0.5, 0), PARAM("oven", CATEGORICAL, LINEAR, 0, 1, 2),
};
static const struct param used_finite_params[] = {
    PARAM("k", INT, LINEAR, 0, 2, 0),
    {.name = "m", .kind = PARAM_DISCRETE, .min = -0.5, .max = 1.5, .choices = 4, .values = used_values},
    {.name = "s", .kind = PARAM_STEPPED, .max = 0.6, .step = 0.3},
};
static const size_t used_shares[] = {0, 1, 2, 3, 4};
static const double five_ones[] = {1, 1, 1, 1, 1}, least[] = {0, 0.125, 0, 0.25, 0}, finite_least[] = {2, 0, 0.5};
static const struct constraint used[] = {
    {.params = used_shares, .coefficients = five_ones, .len = 5, .min = 1, .max = 1},
    {.params = used_shares,
     .coefficients = five_ones,
     .len = 5,
     .min = -INFINITY,
     .max = INFINITY,
     .at_most = 2,
     .min_used = least},
};
static const struct constraint used_finite[] = {
    {.params = used_shares,
     .coefficients = five_ones,
     .len = 3,
     .min = -INFINITY,
     .max = INFINITY,
     .at_most = 2,
     .min_used = finite_least},
};
static double              candidate_rows[ROWS * COLUMNS];
static const struct latent latents[] = {{2, 2}, {1, 2}, {1, 1}};

static const uint32_t     prior_sites[] = {3, 60, 17, 44, 30, 9};
static const double       prior_values[] = {0.385, -1.25, 2.5, 0.75, 1.125, -0.5};
static const struct graph prior_graph = {.moves = MOVES_FOUR,
                                         .sites_len = 64,
                                         .dims = 2,
                                         .width = 8,
                                         .height = 8,
                                         .spacing = 0.75,
                                         .steps = 3,
                                         .most = 6,
                                         .start = 27,
                                         .prior_sites = prior_sites,
                                         .prior_values = prior_values,
                                         .prior_len = 6,
                                         .sign = 1};
static const struct graph straight_graph = {.moves = MOVES_STRAIGHT,
                                            .sites_len = 99,
                                            .dims = 2,
                                            .width = 11,
                                            .height = 9,
                                            .spacing = 0.5,
                                            .steps = 2,
                                            .most = 4,
                                            .start = 49,
                                            .sign = -1};

static struct space spaces[] = {
    {.kind = SPACE_PARAMETERS, .params = mixed_params, .params_len = 4},
    {.kind = SPACE_PARAMETERS, .params = finite_params, .params_len = 2},
    {.kind = SPACE_PARAMETERS, .params = wide_params, .params_len = 3},
    {.kind = SPACE_PARAMETERS, .params = conditional_params, .params_len = 5},
    {.kind = SPACE_PARAMETERS, .params = conditional_finite_params, .params_len = 3},
    {.kind = SPACE_PARAMETERS,
     .params = constrained_params,
     .params_len = 4,
     .constraints = constraints,
     .constraints_len = 2},
    {.kind = SPACE_PARAMETERS,
     .params = constrained_finite_params,
     .params_len = 2,
     .constraints = at_least_5,
     .constraints_len = 1},
    {.kind = SPACE_PARAMETERS, .params = prior_params, .params_len = 4},
    {.kind = SPACE_PARAMETERS, .params = angle_params, .params_len = 2},
    {.kind = SPACE_PARAMETERS, .params = stepped_params, .params_len = 6},
    {.kind = SPACE_PARAMETERS, .params = stepped_finite_params, .params_len = 3},
    {.kind = SPACE_PARAMETERS,
     .params = product_params,
     .params_len = 4,
     .constraints = products,
     .constraints_len = 2},
    {.kind = SPACE_PARAMETERS, .params = forbidden_params, .params_len = 5, .forbid = forbidden, .forbid_len = 6},
    {.kind = SPACE_PARAMETERS,
     .params = forbidden_finite_params,
     .params_len = 2,
     .forbid = forbidden_finite,
     .forbid_len = 4},
    {.kind = SPACE_PARAMETERS, .params = used_params, .params_len = 6, .constraints = used, .constraints_len = 2},
    {.kind = SPACE_PARAMETERS,
     .params = used_finite_params,
     .params_len = 3,
     .constraints = used_finite,
     .constraints_len = 1},
    {.kind = SPACE_CANDIDATES, .rows = candidate_rows, .rows_len = ROWS, .columns = COLUMNS},
    {.kind = SPACE_IMAGE, .height = 2, .width = 2, .channels = 1, .bound = 0.375, .latents = latents, .latents_len = 3},
    {.kind = SPACE_GRAPH, .graph = &prior_graph},
    {.kind = SPACE_GRAPH, .graph = &straight_graph},
};
enum { SPACES = sizeof spaces / sizeof spaces[0] };

/* Earlier studies of each space, for the algorithms that learn from some: two alike, one that is constant. */
enum { EARLIER_STUDIES = 3, EARLIER_VALUES = 7 };
static double               earlier_points[SPACES][EARLIER_STUDIES][EARLIER_VALUES * PARAMS_MAX];
static double               earlier_values[EARLIER_STUDIES][EARLIER_VALUES];
static size_t               earlier_rows[EARLIER_STUDIES][EARLIER_VALUES];
static struct earlier_study earlier_studies[SPACES][EARLIER_STUDIES];

/* Values that some trials of the fixed-value test hold, of each space. */
static const double fixed_values[SPACES][PARAMS_MAX] = {
    {0.0625e-1, 0.125, 5, 1},
    {1, 2},
    {1e10, -4e306, 11},
    {1, 0.5, 3, 32, 0.0625},
    {1, 2, 2.385},
    {0.25, 0.75, 2, 0.875},
    {4, 3},
    {0.05, 0.25, 7, 48},
    {90, 1.5},
    {18, 2, 0.125, 0, 0.75},
    {-5, 3, 2.385},
    {64, 5, 2.25, 1.5},
    {1, 3, 2, 0.01, 0.75},
    {2, 1},
    {0, 0.125, 0.875, 0, 0, 1},
    {2, 0.125, 0},
};

#endif
