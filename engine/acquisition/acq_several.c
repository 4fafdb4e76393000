/* Feasibility-weighted log-EI, log-EHVI and scalarised log-EI. */
#include "engine/acquisition/acq_several.h"

#include "engine/base/numbers.h"
#include "engine/acquisition/acq.h"
#include "engine/acquisition/acq_band.h"
#include "engine/acquisition/acq_h.h"

#include <math.h>

static const double RHO = 0.05;
static const double TAU = 1e-3; /* width of the bend that stands for max(0, improvement), in units of the weights */
static const double DEMAND = 1.0, UNWANTED = -1e6, UNWANTED_SLOPE = 1e3, UNWANTED_FAR = 500.0;

const char *acq_several_name(const struct acq_several *acq)
{
    bool is_expected = acq->reach == ACQ_EXPECTED;
    if (acq->objectives == 0)
        return "feasibility";
    if (acq->objectives == 1)
        return is_expected ? "log-ei" : "ucb";
    if (acq->is_volume)
        return "log-ehvi";
    return is_expected ? "scalarized-log-ei" : "scalarized-ucb";
}

double acq_several_scalar(const struct acq_several *acq, const double *f, size_t *worst)
{
    double sum = 0.0, least = HUGE_VAL;
    for (size_t k = 0; k < acq->objectives; k++) {
        double c = acq->weight[k] * (f[k] - acq->reference[k]);
        sum += c;
        if (c < least) {
            least = c;
            *worst = k;
        }
    }
    return least + RHO * sum;
}

/* log(tau log(1 + exp(x / tau))), and its derivative. */
static double log_softplus(double x, double *slope)
{
    double t = x / TAU, e = exp(-fabs(t)), positive = t > 0.0 ? t + log1p(e) : log1p(e);
    if (t < -30.0) {
        *slope = 1.0 / TAU;
        return t + log(TAU);
    }
    *slope = (t > 0.0 ? 1.0 : e) / (1.0 + e) / positive / TAU;
    return log(positive) + log(TAU);
}

/* The logarithm of the mean over the samples, by the largest of them. */
static double log_ei_scalar(const struct acq_several *acq, const double *mean, const double *sd, double *dmean,
                            double *dsd)
{
    double value[ACQ_SAMPLES], slope[ACQ_SAMPLES], f[OBJECTIVES_MAX], largest = -HUGE_VAL, sum = 0.0;
    size_t worst[ACQ_SAMPLES] = {0};
    for (size_t s = 0; s < ACQ_SAMPLES; s++) {
        for (size_t k = 0; k < acq->objectives; k++)
            f[k] = mean[k] + sd[k] * acq->samples[s][k];
        value[s] = log_softplus(acq_several_scalar(acq, f, &worst[s]) - acq->best, &slope[s]);
        largest = fmax(largest, value[s]);
    }
    for (size_t s = 0; s < ACQ_SAMPLES; s++)
        sum += exp(value[s] - largest);
    for (size_t s = 0; s < ACQ_SAMPLES; s++)
        for (size_t k = 0; k < acq->objectives; k++) {
            double share = exp(value[s] - largest) / sum * slope[s];
            double by_f = share * acq->weight[k] * (RHO + (k == worst[s] ? 1.0 : 0.0));
            dmean[k] += by_f;
            dsd[k] += by_f * acq->samples[s][k];
        }
    return largest + log(sum / ACQ_SAMPLES);
}

static double one_value(const struct acq_several *acq, double mean, double sd, double *dmean, double *dsd)
{
    bool             is_banded = acq->is_banded[0];
    const struct acq one = {.kind = is_banded || acq->reach == ACQ_EXPECTED ? ACQ_LOG_EI : ACQ_UCB,
                            .best = acq->best,
                            .beta = acq->beta,
                            .band = acq->band[0],
                            .is_banded = is_banded};
    return acq_value(&one, mean, sd, dmean, dsd);
}

/* Several objectives. */
static double all_value(const struct acq_several *acq, const double *mean, const double *sd, double *dmean, double *dsd)
{
    struct acq_moments moments[OBJECTIVES_MAX];
    double             at[OBJECTIVES_MAX], spread[OBJECTIVES_MAX], value;
    for (size_t k = 0; k < acq->objectives; k++) {
        moments[k] = acq->is_banded[k] ? acq_band_moments(&acq->band[k], mean[k], sd[k])
                                       : (struct acq_moments){mean[k], sd[k], {{1.0, 0.0}, {0.0, 1.0}}};
        at[k] = moments[k].mean;
        spread[k] = moments[k].sd;
    }
    value =
        acq->is_volume ? ehvi_value(&acq->ehvi, at, spread, dmean, dsd) : log_ei_scalar(acq, at, spread, dmean, dsd);
    for (size_t k = 0; k < acq->objectives; k++) {
        double by_at = dmean[k], by_spread = dsd[k];
        if (!acq->is_banded[k])
            continue;
        dmean[k] = moments[k].to[0][0] * by_at + moments[k].to[0][1] * by_spread;
        dsd[k] = moments[k].to[1][0] * by_at + moments[k].to[1][1] * by_spread;
    }
    return value;
}

double acq_several_value(const struct acq_several *acq, const double *mean, const double *sd, double *dmean,
                         double *dsd)
{
    double value = 0.0, slope;
    for (size_t k = 0; k < acq->len; k++)
        dmean[k] = dsd[k] = 0.0;
    if (acq->objectives == 1)
        value = one_value(acq, mean[0], sd[0], &dmean[0], &dsd[0]);
    else if (acq->objectives > 1)
        value = all_value(acq, mean, sd, dmean, dsd);
    for (size_t k = acq->first; k < acq->len; k++) {
        double s = k + 1 == acq->len ? hypot(sd[k], acq->floor) : sd[k], z = (mean[k] - acq->bound[k]) / s;
        value += acq_log_phi(z, &slope);
        if (k + 1 == acq->len && acq->is_demanded && z < DEMAND) {
            value = UNWANTED + UNWANTED_SLOPE * fmax(z - DEMAND, -UNWANTED_FAR);
            slope = UNWANTED_SLOPE;
            for (size_t j = 0; j < k; j++)
                dmean[j] = dsd[j] = 0.0;
        }
        dmean[k] = slope / s;
        dsd[k] = -slope * z / s * (sd[k] / s);
    }
    return value;
}
