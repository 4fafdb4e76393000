/* A thin wrapper of NLopt that remembers the best point, whatever made the search stop. */
#include "engine/minimize.h"

#include <math.h>
#include <nlopt.h>
#include <string.h>

enum { LBFGS_MEMORY = 10 }; /* pairs of differences that are kept */

struct run {
    const struct minimize *problem;
    nlopt_opt              opt;
    size_t                 evaluations;
    double                *best, *gradient; /* [dims] */
    double                 value;
};

static double evaluate(unsigned dims, const double *x, double *gradient, void *arg)
{
    struct run            *run = arg;
    const struct minimize *problem = run->problem;
    if (run->evaluations > 0 && problem->late != NULL && problem->late(problem->late_arg)) {
        nlopt_force_stop(run->opt);
        return run->value;
    }
    run->evaluations++;
    double value = problem->function(problem->arg, x, run->gradient);
    if (!isfinite(value)) {
        nlopt_force_stop(run->opt);
        return run->value;
    }
    if (value < run->value) {
        run->value = value;
        memcpy(run->best, x, dims * sizeof *x);
    }
    if (gradient != NULL)
        memcpy(gradient, run->gradient, dims * sizeof *gradient);
    return value;
}

static bool configure(struct run *run)
{
    const struct minimize *problem = run->problem;
    nlopt_opt              opt = run->opt;
    return nlopt_set_lower_bounds(opt, problem->lower) == NLOPT_SUCCESS &&
           nlopt_set_upper_bounds(opt, problem->upper) == NLOPT_SUCCESS &&
           nlopt_set_min_objective(opt, evaluate, run) == NLOPT_SUCCESS &&
           nlopt_set_maxeval(opt, (int)problem->evaluations) == NLOPT_SUCCESS &&
           nlopt_set_ftol_rel(opt, problem->f_tolerance) == NLOPT_SUCCESS &&
           nlopt_set_xtol_abs1(opt, problem->x_tolerance) == NLOPT_SUCCESS &&
           nlopt_set_vector_storage(opt, LBFGS_MEMORY) == NLOPT_SUCCESS;
}

enum status minimize_lbfgs(const struct minimize *problem, double *x, double *value, struct arena *scratch,
                           struct error *err)
{
    size_t            dims = problem->dims;
    struct arena_mark mark = arena_mark(scratch);
    struct run        run = {.problem = problem, .value = HUGE_VAL};
    double           *moving = ARENA_NEW(scratch, double, dims);
    run.best = ARENA_NEW(scratch, double, dims);
    run.gradient = ARENA_NEW(scratch, double, dims);
    run.opt = nlopt_create(NLOPT_LD_LBFGS, (unsigned)dims);
    nlopt_result result = NLOPT_OUT_OF_MEMORY;
    if (moving != NULL && run.best != NULL && run.gradient != NULL && run.opt != NULL && configure(&run)) {
        for (size_t j = 0; j < dims; j++)
            moving[j] = run.best[j] = fmin(fmax(x[j], problem->lower[j]), problem->upper[j]);
        double last;
        result = nlopt_optimize(run.opt, moving, &last);
        memcpy(x, run.best, dims * sizeof *x);
        *value = run.value;
    }
    nlopt_destroy(run.opt);
    arena_release(scratch, mark);
    if (result == NLOPT_OUT_OF_MEMORY)
        return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "no memory for the optimiser");
    return STATUS_OK;
}
