/* Benches that search in a table of learning curves: the space of its columns, and the row that a proposal stands for. */
#pragma once

#include "engine/space/space.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARAMS_MAX = 8, CONFIGS_MAX = 1000, EPOCHS_MAX = 200, REPETITIONS_MAX = 100 };

/* params [params_len] out: doubles over the range of their columns, on a logarithmic scale where that spans more than a decade. */
static inline void find_params(const double (*points)[PARAMS_MAX], size_t configs, struct param *params,
                               size_t params_len)
{
    for (size_t j = 0; j < params_len; j++) {
        struct param *param = &params[j];
        *param = (struct param){.name = "x", .kind = PARAM_DOUBLE, .min = HUGE_VAL, .max = -HUGE_VAL};
        for (size_t i = 0; i < configs; i++) {
            param->min = fmin(param->min, points[i][j]);
            param->max = fmax(param->max, points[i][j]);
        }
        param->scale = param->min > 0 && param->max > 10 * param->min ? SCALE_LOG : SCALE_LINEAR;
    }
}

/* The nearest row that was not used; u: the rows in the unit cube. */
static inline size_t find_nearest(const struct space *space, const double *point, const double (*u)[PARAMS_MAX],
                                  const bool *used, size_t configs)
{
    double at[PARAMS_MAX], nearest = HUGE_VAL;
    size_t chosen = 0;
    space_encode(space, point, at);
    for (size_t i = 0; i < configs; i++) {
        double distance = 0.0;
        for (size_t j = 0; j < space->params_len; j++)
            distance += (at[j] - u[i][j]) * (at[j] - u[i][j]);
        if (used[i] || distance >= nearest)
            continue;
        nearest = distance;
        chosen = i;
    }
    return chosen;
}
