/* See accountant.h. */
#include "engine/privacy/accountant.h"

#include "engine/privacy/pld.h"

#include <math.h>

static const double Z_MAX = 1e6, DRAWN = 1 - 0x1p-33; /* z of the drawn noise over the z that was asked for */

static enum status check_run(const struct accountant_run *run, struct error *err)
{
    if (!(run->q > 0 && run->q <= 1))
        return error_set(err, STATUS_INVALID, "bad_sampling_rate", "/q", "q must be in (0, 1]");
    if (!(run->z >= ACCOUNTANT_Z_MIN && run->z <= Z_MAX))
        return error_set(err, STATUS_INVALID, "bad_noise_multiplier", "/z", "z must be from %g to %g", ACCOUNTANT_Z_MIN,
                         Z_MAX);
    if (run->releases > ACCOUNTANT_RELEASES_MAX)
        return error_set(err, STATUS_INVALID, "bad_releases", "/releases", "at most %d releases",
                         ACCOUNTANT_RELEASES_MAX);
    return STATUS_OK;
}

static double step_for(const struct accountant_run *run)
{
    int exponent;
    frexp(0.2 * fmin(1, run->q * sqrt(expm1(1 / (run->z * run->z)))), &exponent);
    return fmax(ldexp(1, exponent - 2), 0x1p-24);
}

struct plan {
    const struct accountant_run *runs;
    size_t                       n;
    double                       delta, mu, step, cut;
};

static enum status plan_make(struct plan *plan, struct error *err)
{
    double squares = 0, releases = 0;
    plan->step = 1;
    if (!(plan->delta > 0 && plan->delta < 1))
        return error_set(err, STATUS_INVALID, "bad_delta", "/delta", "delta must be between 0 and 1");
    for (size_t i = 0; i < plan->n; i++) {
        const struct accountant_run *run = &plan->runs[i];
        double                       mu = 1 / (run->z * DRAWN);
        TRY(check_run(run, err));
        if (run->q == 1)
            squares += (double)run->releases * mu * mu;
        else
            plan->step = fmin(plan->step, step_for(run));
        releases += (double)run->releases;
    }
    plan->mu = sqrt(squares);
    plan->cut = pld_cut(plan->delta, releases);
    return STATUS_OK;
}

static enum status side_epsilon(const struct plan *plan, enum pld_side side, double *epsilon, struct arena *scratch,
                                struct error *err)
{
    struct pld all, run;
    double     slack = 0;
    TRY(pld_nothing(&all, plan->step, scratch, err));
    for (size_t i = 0; i < plan->n; i++) {
        const struct pld_gaussian gaussian = {plan->runs[i].q, plan->runs[i].z * DRAWN, side};
        struct arena_mark         mark = arena_mark(scratch);
        if (plan->runs[i].q == 1 || plan->runs[i].releases == 0)
            continue;
        TRY(pld_subsampled(&run, &gaussian, step_for(&plan->runs[i]), plan->cut, scratch, err));
        TRY(pld_power(&run, plan->runs[i].releases, plan->cut, scratch, err));
        TRY(pld_compose(&all, &run, plan->cut, scratch, err));
        slack += (double)plan->runs[i].releases * PLD_ROUNDING;
        arena_release(scratch, mark);
    }
    *epsilon = pld_epsilon(&all, plan->mu, plan->delta) + slack;
    return STATUS_OK;
}

enum status accountant_promise(const struct accountant_run *runs, size_t n, double delta, double *epsilon,
                               struct arena *scratch, struct error *err)
{
    struct plan       plan = {.runs = runs, .n = n, .delta = delta};
    struct arena_mark mark = arena_mark(scratch);
    double            sides[2] = {0, 0};
    TRY(plan_make(&plan, err));
    enum status status = side_epsilon(&plan, PLD_REMOVE, &sides[0], scratch, err);
    if (status == STATUS_OK)
        status = side_epsilon(&plan, PLD_ADD, &sides[1], scratch, err);
    arena_release(scratch, mark);
    *epsilon = fmax(sides[0], sides[1]);
    if (status == STATUS_OK && !isfinite(*epsilon))
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "no finite epsilon is found for this delta");
    return status;
}

enum status accountant_multiplier(struct accountant_run *run, double delta, double epsilon, struct arena *scratch,
                                  struct error *err)
{
    static const double unit = 1e4; /* steps of z per 1 */
    const uint64_t      least = (uint64_t)(ACCOUNTANT_Z_MIN * unit), most = (uint64_t)(Z_MAX * unit);
    uint64_t            low = least - 1, high = most + 1, trial = (uint64_t)unit;
    if (!(epsilon > 0 && isfinite(epsilon)))
        return error_set(err, STATUS_INVALID, "bad_epsilon", "/epsilon", "epsilon must be positive");
    while (high - low > 1) {
        double spent = INFINITY;
        run->z = (double)trial / unit;
        enum status status = accountant_promise(run, 1, delta, &spent, scratch, err);
        if (status != STATUS_OK && status != STATUS_NUMERIC)
            return status;
        *(status == STATUS_OK && spent <= epsilon ? &high : &low) = trial;
        if (high > most && 2 * low <= most) /* none will do so far: twice the noise, half, then the middle */
            trial = 2 * low;
        else if (low < least && high / 2 > low)
            trial = high / 2;
        else
            trial = low + (high - low) / 2;
    }
    run->z = (double)high / unit;
    if (high > most)
        return error_set(err, STATUS_INVALID, "bad_epsilon", "/epsilon",
                         "no noise multiplier up to %g keeps epsilon %g", Z_MAX, epsilon);
    return STATUS_OK;
}
