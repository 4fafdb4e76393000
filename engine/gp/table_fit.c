/* At most three unknowns and no gradient: a compass search needs no more than the likelihood itself. */
#include "engine/gp/table_fit.h"

#include "engine/gp/table_gp.h"

#include "engine/math/mat.h"

#include <math.h>
#include <string.h>

enum { LENGTH, VARIANCE, NOISE, UNKNOWNS };
static const double PRIOR_SD[UNKNOWNS] = {1.5, 1.0, 2.0};
static const double NOISE_MIN = 1e-6; /* of the variance: keeps every pivot of the factor well above rounding */

struct search {
    const struct table_fit *fit;
    double                  centre[UNKNOWNS];      /* of the priors, logarithms */
    double                 *r2, *K, *spare;        /* [n][n] */
    double                 *v;                     /* [n] */
    double                  theta[UNKNOWNS], best; /* where the search stands */
};

static enum status search_init(struct search *s, const struct table_fit *fit, struct arena *scratch, struct error *err)
{
    size_t n = fit->n;
    *s = (struct search){
        .fit = fit,
        .centre = {log(fit->length_scale), log(fit->variance), log(fit->noise)},
        .r2 = ARENA_NEW(scratch, double, n *n),
        .K = ARENA_NEW(scratch, double, n *n),
        .spare = ARENA_NEW(scratch, double, n *n),
        .v = ARENA_NEW(scratch, double, n),
        .best = INFINITY,
    };
    memcpy(s->theta, s->centre, sizeof s->theta);
    if (s->r2 == NULL || s->K == NULL || s->spare == NULL || s->v == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++) {
            double sum = 0;
            for (size_t c = 0; c < fit->columns; c++) {
                double difference = fit->X[i * fit->columns + c] - fit->X[k * fit->columns + c];
                sum += difference * difference;
            }
            s->r2[i * n + k] = sum;
        }
    return STATUS_OK;
}

static bool is_same_row(const struct table_fit *fit, size_t i, size_t k)
{
    return fit->rows != NULL ? fit->rows[i] == fit->rows[k] : i == k;
}

static double expected(const struct table_fit *fit, size_t i, size_t k, double length_scale)
{
    size_t d = fit->columns;
    return is_same_row(fit, i, k)
               ? 1
               : table_gp_expected(fit->X + i * d, fit->S + i * d, fit->X + k * d, fit->S + k * d, d, length_scale);
}

/* Minus the logarithm of likelihood times prior, without constants; INFINITY where it cannot be computed. */
static double cost(const struct search *s, const double theta[UNKNOWNS])
{
    const struct table_fit *fit = s->fit;
    size_t                  n = fit->n;
    double                  variance = exp(theta[VARIANCE]), inverse = exp(-2 * theta[LENGTH]), sum = 0, jitter;
    double                  length_scale = exp(theta[LENGTH]), wider = 1 + 2 * fit->release_noise * inverse,
           rho = pow(wider, -0.5 * (double)fit->release_dims);
    double own = variance * (1 - rho);
    double noise = fmax(exp(theta[NOISE]), NOISE_MIN * variance);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++) {
            double shared = fit->S != NULL
                                ? variance * expected(fit, i, k, length_scale)
                                : variance * rho * kernel_value(fit->kind, s->r2[i * n + k] * inverse / wider);
            s->K[i * n + k] = shared + (fit->S == NULL && is_same_row(fit, i, k) ? own : 0);
        }
    for (size_t i = 0; i < n; i++)
        s->K[i * n + i] += noise;
    if (mat_cholesky(s->K, n, n, s->spare, &jitter, NULL) != STATUS_OK)
        return INFINITY;
    memcpy(s->v, fit->y, n * sizeof *s->v);
    mat_solve_lower(s->K, n, n, s->v);
    for (int k = 0; k < UNKNOWNS; k++)
        sum += pow((theta[k] - s->centre[k]) / PRIOR_SD[k], 2);
    sum = 0.5 * (sum + mat_dot(s->v, s->v, n) + mat_log_det(s->K, n, n));
    return isfinite(sum) ? sum : INFINITY;
}

static bool is_late(const struct search *s)
{
    return s->fit->late != NULL && s->fit->late(s->fit->late_arg);
}

/* Moves to theta + step along one unknown if that is better. */
static bool try_step(struct search *s, const double from[UNKNOWNS], int unknown, double step)
{
    double theta[UNKNOWNS];
    memcpy(theta, from, sizeof theta);
    theta[unknown] += step;
    double value = cost(s, theta);
    if (!(value < s->best))
        return false;
    s->best = value;
    memcpy(s->theta, theta, sizeof theta);
    return true;
}

static void search_grid(struct search *s, const bool fixed[UNKNOWNS])
{
    double from[UNKNOWNS];
    for (int noise = -1; noise <= 1 && !(fixed[NOISE] && noise != -1); noise++)
        for (int length = -4; length <= 2 && !is_late(s); length++) {
            memcpy(from, s->centre, sizeof from);
            from[NOISE] += fixed[NOISE] ? 0 : 2.0 * noise;
            try_step(s, from, LENGTH, fixed[LENGTH] ? 0 : 0.5 * length);
        }
}

static void search_compass(struct search *s, const bool fixed[UNKNOWNS])
{
    for (double step = 0.5; step >= 1.0 / 32 && !is_late(s);) {
        bool moved = false;
        for (int k = 0; k < UNKNOWNS && !is_late(s); k++)
            if (!fixed[k])
                moved |= try_step(s, s->theta, k, step) || try_step(s, s->theta, k, -step);
        step = moved ? step : step / 2;
    }
}

enum status table_fit(struct table_fit *fit, struct arena *scratch, struct error *err)
{
    const bool    fixed[UNKNOWNS] = {fit->fixed_length_scale, fit->fixed_variance, fit->fixed_noise};
    struct search s;
    TRY(search_init(&s, fit, scratch, err));
    search_grid(&s, fixed);
    search_compass(&s, fixed);
    if (s.best == INFINITY)
        return error_set(err, STATUS_NUMERIC, "no_fit", "", "no likelihood was finite");
    fit->length_scale = fixed[LENGTH] ? fit->length_scale : exp(s.theta[LENGTH]);
    fit->variance = fixed[VARIANCE] ? fit->variance : exp(s.theta[VARIANCE]);
    fit->noise = fmax(fixed[NOISE] ? fit->noise : exp(s.theta[NOISE]), NOISE_MIN * fit->variance);
    return STATUS_OK;
}
