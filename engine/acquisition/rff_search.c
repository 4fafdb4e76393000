/* See rff_search.h. */
#include "engine/acquisition/rff_search.h"

enum { STARTS = 4, EVALUATIONS = 30 };

double rff_search_value(void *function, const double *u, double *gradient)
{
    struct rff_search *f = function;
    size_t             region = 0;
    if (f->regions != NULL && f->regions->count > 1) {
        space_decode(f->space, u, f->point);
        region = regions_of_point(f->regions, f->point);
    }
    return rff_value(f->rff, f->omega + region * f->rff->count, u, gradient, f->spare);
}

static enum status scores(void *arg, const double *U, size_t m, double *out, struct error *err)
{
    const struct rff_search *f = arg;
    (void)err;
    for (size_t k = 0; k < m; k++)
        out[k] = rff_search_value(arg, U + k * f->space->dims, NULL);
    return STATUS_OK;
}

enum status rff_search_run(struct rff_search *function, struct acq_search *search, double *point, struct arena *scratch,
                           struct error *err)
{
    function->spare = ARENA_NEW(scratch, double, 2 * function->rff->count);
    function->point = ARENA_NEW(scratch, double, function->space->params_len);
    if (function->spare == NULL || function->point == NULL)
        return error_no_memory(err);
    search->starts = STARTS;
    search->evaluations = EVALUATIONS;
    search->scores = scores;
    search->slope = rff_search_value;
    search->arg = function;
    return acq_search_run(search, point, scratch, err);
}
