/* A thin wrapper of NLopt that remembers the best point, whatever made the search stop. */
#include "engine/math/minimize.h"

#include <math.h>
#include <nlopt.h>
#include <string.h>

enum { LBFGS_MEMORY = 10 }; /* pairs of differences that are kept */

struct run {
    const struct minimize *problem;
    nlopt_opt              opt;
    size_t                 evaluations;
    double                *best, *gradient; /* [dims] */
    double                *limit_gradient;  /* [limits_len][dims] */
    double                 value;
    bool                   is_limited;
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
    if (value < run->value && (!run->is_limited || problem->is_allowed(problem->arg, x))) {
        run->value = value;
        memcpy(run->best, x, dims * sizeof *x);
    }
    if (gradient != NULL)
        memcpy(gradient, run->gradient, dims * sizeof *gradient);
    return value;
}

static void evaluate_limits(unsigned len, double *g, unsigned dims, const double *x, double *gradient, void *arg)
{
    struct run *run = arg;
    (void)len, (void)dims;
    run->problem->limits(run->problem->arg, x, g, gradient != NULL ? gradient : run->limit_gradient);
}

static bool configure_limits(struct run *run, struct arena *scratch)
{
    size_t  len = run->problem->limits_len;
    double *tolerances = arena_zalloc(scratch, len, sizeof *tolerances);
    run->limit_gradient = arena_alloc(scratch, len, run->problem->dims * sizeof(double));
    return tolerances != NULL && run->limit_gradient != NULL &&
           nlopt_add_inequality_mconstraint(run->opt, (unsigned)len, evaluate_limits, run, tolerances) == NLOPT_SUCCESS;
}

static bool configure(struct run *run, struct arena *scratch)
{
    const struct minimize *problem = run->problem;
    nlopt_opt              opt = run->opt;
    return nlopt_set_lower_bounds(opt, problem->lower) == NLOPT_SUCCESS &&
           nlopt_set_upper_bounds(opt, problem->upper) == NLOPT_SUCCESS &&
           nlopt_set_min_objective(opt, evaluate, run) == NLOPT_SUCCESS &&
           nlopt_set_maxeval(opt, (int)problem->evaluations) == NLOPT_SUCCESS &&
           nlopt_set_ftol_rel(opt, problem->f_tolerance) == NLOPT_SUCCESS &&
           nlopt_set_xtol_abs1(opt, problem->x_tolerance) == NLOPT_SUCCESS &&
           nlopt_set_vector_storage(opt, LBFGS_MEMORY) == NLOPT_SUCCESS &&
           (!run->is_limited || configure_limits(run, scratch));
}

static enum status minimize(const struct minimize *problem, nlopt_algorithm algorithm, double *x, double *value,
                            struct arena *scratch, struct error *err)
{
    size_t            dims = problem->dims;
    struct arena_mark mark = arena_mark(scratch);
    struct run        run = {.problem = problem, .value = HUGE_VAL, .is_limited = algorithm != NLOPT_LD_LBFGS};
    double           *moving = ARENA_NEW(scratch, double, dims);
    run.best = ARENA_NEW(scratch, double, dims);
    run.gradient = ARENA_NEW(scratch, double, dims);
    run.opt = nlopt_create(algorithm, (unsigned)dims);
    nlopt_result result = NLOPT_OUT_OF_MEMORY;
    if (moving != NULL && run.best != NULL && run.gradient != NULL && run.opt != NULL && configure(&run, scratch)) {
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
        return error_no_memory(err);
    return STATUS_OK;
}

enum status minimize_lbfgs(const struct minimize *problem, double *x, double *value, struct arena *scratch,
                           struct error *err)
{
    return minimize(problem, NLOPT_LD_LBFGS, x, value, scratch, err);
}

enum status minimize_within(const struct minimize *problem, double *x, double *value, struct arena *scratch,
                            struct error *err)
{
    return minimize(problem, NLOPT_LD_SLSQP, x, value, scratch, err);
}
