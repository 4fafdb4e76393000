/* Acquisition functions. */
#include "engine/acquisition/acq.h"

#include "engine/acquisition/acq_band.h"
#include "engine/math/mat.h"

#include <math.h>

const char *const acq_names[] = {
    [ACQ_LOG_EI] = "log-ei", [ACQ_UCB] = "ucb", [ACQ_THOMPSON] = "thompson", [ACQ_THOMPSON + 1] = NULL};

/* With h = sqrt(s^2 + t^2), without the difference: 1 - t/h = s^2 / (h (h + t)). */
double acq_log_worth(double sd, double t, double *dsd)
{
    double h = sqrt(sd * sd + t * t);
    *dsd += 2.0 / sd - sd / (h * h) - sd / (h * (h + t));
    return 2.0 * log(sd) - log(h) - log(h + t);
}

static double log_ei(const struct acq *acq, double mean, double sd, double *dmean, double *dsd)
{
    double value = acq_log_h((mean - acq->best) / sd, dmean, dsd);
    *dmean /= sd;
    *dsd /= sd;
    return value + log(sd);
}

double acq_value(const struct acq *acq, double mean, double sd, double *dmean, double *dsd)
{
    if (acq->kind == ACQ_UCB) {
        *dmean = 1.0;
        *dsd = sqrt(acq->beta);
        return mean + *dsd * sd;
    }
    double value = acq->is_banded ? acq_band_log_ei(&acq->band, acq->best, mean, sd, dmean, dsd)
                                  : log_ei(acq, mean, sd, dmean, dsd);
    return acq->noise_sd > 0.0 ? value + acq_log_worth(sd, acq->noise_sd, dsd) : value;
}

void acq_add_gradient(const struct gp_slope *at, size_t dims, double dmean, double dsd, double *gradient)
{
    double sd = sqrt(at->var);
    for (size_t j = 0; j < dims; j++)
        gradient[j] += dmean * at->dmean[j] + (sd > 0.0 ? dsd * at->dvar[j] / (2.0 * sd) : 0.0);
}

double acq_beta(size_t d, size_t t)
{
    return 0.2 * (double)d * log(2.0 * (double)t);
}

enum status acq_thompson(const struct gp *gp, struct points Z, struct rng *rng, double *out, struct arena *scratch,
                         struct error *err)
{
    size_t            m = Z.n;
    struct arena_mark mark = arena_mark(scratch);
    double           *C = arena_alloc(scratch, m, m * sizeof *C), *mean = ARENA_NEW(scratch, double, m), jitter;
    enum status       status = STATUS_OK;
    if (C == NULL || mean == NULL)
        status = error_no_memory(err);
    if (status == STATUS_OK)
        status = gp_joint(gp, Z, mean, C, scratch, err);
    if (status == STATUS_OK) /* differences of size 1e-16 of the prior variance are noise, whatever C's own scale is */
        for (size_t i = 0; i < m; i++)
            C[i * m + i] += 1e-10 * gp->kernel.variance;
    if (status == STATUS_OK)
        status = mat_cholesky(C, m, m, out, &jitter, err);
    if (status == STATUS_OK) {
        for (size_t i = 0; i < m; i++)
            out[i] = rng_normal(rng);
        mat_multiply_lower(C, m, m, out);
        mat_axpy(m, 1.0, mean, out);
    }
    arena_release(scratch, mark);
    return status;
}
