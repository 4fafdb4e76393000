/* When the bound is searched, and when what it finds is taken. */
#include "engine/bo/gp_bound.h"

#include "engine/acquisition/acq.h"
#include "engine/bo/gp_schedule.h"
#include "engine/surrogate/gp_target.h"

enum { INSIST_EVERY = 4, GREEDY_ROWS = 1000 };
static const double GREEDY = 0.25, GAIN_OF_NOISE = 0.5, NOISE_MUCH = 0.01;

/* Not where values are noisy: parallel workers would gather around the best trial. */
static bool is_insisted(const struct gp_model *model, const struct ask *ask)
{
    return ask->trial % INSIST_EVERY == 0 && model->gp->noise_variance < NOISE_MUCH;
}

bool gp_bound_is_tried(const struct gp_model *model, const struct ask *ask)
{
    return model->n <= GREEDY_ROWS || is_insisted(model, ask);
}

double gp_bound_beta(const struct trial_log *log)
{
    return GREEDY * acq_beta(log->params_len, trial_log_finished(log) + 1);
}

bool gp_bound_is_worth(const struct gp_model *model, const struct ask *ask, double value, double best)
{
    double gain = warp_inverse(&model->warp, value) - warp_inverse(&model->warp, best);
    return is_insisted(model, ask) ||
           (gp_schedule_is_worth(gain) && value - best >= GAIN_OF_NOISE * gp_target_noise_sd(model));
}
