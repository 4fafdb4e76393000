/* RM-GP-UCB and RM-GP-TS: each earlier study weighs as much as it seems to resemble the present one, all together less
 * and less.
 *   zeta(x) = nu sum_i w_i [mean_i(x) + sqrt(tau) sd_i(x)] + (1 - nu) [mean(x) + sqrt(beta) sd(x)]      (7.1)
 *   w by follow-the-regularised-leader from the estimated function gaps   Lemma 7.1, (7.4)
 *   nu_1 = 1, nu_t = nu_(t-1) min(r, (sum_i w_i gap_i)^-epsilon)          end of 7.5.2
 * A round is the value of one query after the initial values: a point that came with its result, unasked, is none,
 * or who brings many values would never hear of the earlier studies.  When several came since the last proposal, their
 * gaps are taken from the posterior of all of them.  Of what was brought before the first proposal the gaps are summed
 * once, without a step of nu.  The Thompson form maximises, with probability nu, the weighted sum of one draw of each
 * earlier study, and else a draw of the study itself, each a sum of random Fourier features (D.5 of the paper).
 * Source: Dai, thesis, ch. 7 and appendix D; Dai et al., robust meta-Bayesian optimisation, appendix D.5. */
#include "engine/base/numbers.h"
#include "engine/transfer/transfer_weights.h"
#include "engine/transfer/transfer.h"

#include <math.h>

enum { WEIGHTS = TRANSFER_OWN, GAP, ETA, DECAY, POWER, WIDTH, BETA, DELTA };
enum { WEIGHTS_ONLINE, WEIGHTS_FIXED };
enum { GAP_MEAN, GAP_MAX };
enum { WIDTH_CONSTANT, WIDTH_THEORY, WIDTH_SCHEDULE };
static const char *const weight_names[] = {"online", "fixed", NULL};
static const char *const gap_names[] = {"mean", "max", NULL};
static const char *const width_names[] = {"constant", "theory", "schedule", NULL};

// clang-format off
static const struct option options[] = {
    TRANSFER_OPTIONS(TRANSFER_TOGETHER),
    [WEIGHTS] = {.name = "weights", .kind = OPTION_CHOICE, .max = 1, .choices = weight_names,
                 .help = "weights of the earlier studies: learnt, or all equal"},
    [GAP] = {.name = "gap", .kind = OPTION_CHOICE, .max = 1, .choices = gap_names,
             .help = "estimated gap to an earlier study: the mean over its points, or the largest as in the regret bound"},
    [ETA] = {.name = "eta", .kind = OPTION_REAL, .min = 0, .max = 1e6, .fallback = 1,
             .help = "learning rate of the weights (eta N^1.5 of the thesis)"},
    [DECAY] = {.name = "decay", .kind = OPTION_REAL, .min = 0.01, .max = 0.999, .fallback = 0.7,
               .help = "r: nu shrinks at least by this factor with every value of a trial that was asked for"},
    [POWER] = {.name = "power", .kind = OPTION_REAL, .min = 0, .max = 10, .fallback = 0.7,
               .help = "epsilon: nu shrinks by the factor (mean gap)^-epsilon where that is less than r"},
    [WIDTH] = {.name = "width", .kind = OPTION_CHOICE, .max = 2, .choices = width_names,
               .help = "width of the confidence bounds: sqrt(beta), that of the regret bound, or 0.2 d ln(2 t)"},
    [BETA] = {.name = "beta", .kind = OPTION_REAL, .min = 0, .max = 1e6, .fallback = 4,
              .help = "squared width of the bounds when it is constant"},
    [DELTA] = {.name = "delta", .kind = OPTION_REAL, .min = 1e-12, .max = 1, .fallback = 0.1,
               .help = "probability with which the bounds of the theory may fail"},
    {.name = NULL},
};
// clang-format on

/* Logarithm of the number of points; 1000 along each parameter where there is no number. */
static double log_points(const struct space *space)
{
    size_t count = space->kind == SPACE_CANDIDATES ? space->rows_len : space_count(space);
    return count == SIZE_MAX ? (double)space->params_len * log(1000.0) : log((double)count);
}

/* sqrt(beta_t) and sqrt(tau) of Theorem 7.1, or what stands for them. */
static void choose_widths(const struct problem *problem, double t, double *own, double *earlier)
{
    double points = log_points(problem->space), delta = problem->options[DELTA];
    double dims =
        problem->space->kind == SPACE_CANDIDATES ? (double)problem->space->columns : (double)problem->space->params_len;
    switch ((int)problem->options[WIDTH]) {
    case WIDTH_THEORY:
        *own = sqrt(2.0 * (points + log(t * t * PI_SQUARED / (2.0 * delta))));
        *earlier = sqrt(2.0 * (points + log(3.0 * (double)problem->earlier_len / delta)));
        break;
    case WIDTH_SCHEDULE:
        *own = sqrt(0.2 * dims * log(2.0 * t));
        *earlier = 1.0;
        break;
    default:
        *own = *earlier = sqrt(problem->options[BETA]);
    }
}

static enum status estimate_gaps(struct transfer_view *view, double width, struct error *err)
{
    bool largest = view->problem->options[GAP] == GAP_MAX;
    for (size_t i = 0; i < view->len; i++) {
        const struct transfer_task *task = &view->task[i];
        struct arena_mark           mark = arena_mark(view->scratch);
        double                     *arrays = ARENA_NEW(view->scratch, double, 3 * task->n);
        if (arrays == NULL)
            return error_no_memory(err);
        double *y = arrays, *mean = arrays + task->n, *sd = arrays + 2 * task->n;
        TRY(transfer_task_posterior(view->target, (struct points){task->X, task->n}, mean, sd, view->scratch, err));
        for (size_t j = 0; j < task->n; j++)
            y[j] = transfer_task_y(task, j);
        view->gaps[i] = transfer_weights_gap(y, mean, sd, task->n, width, largest);
        arena_release(view->scratch, mark);
    }
    return STATUS_OK;
}

static void set_weights(struct transfer_view *view)
{
    bool fixed = view->problem->options[WEIGHTS] == WEIGHTS_FIXED;
    transfer_weights_follow(view->sums, view->len, fixed ? 0.0 : view->problem->options[ETA], view->weights);
}

/* The rounds since the last note, which says how many values counted then, the initial ones among them. */
static enum status play(struct transfer_view *view, double width, struct error *err)
{
    double initial = view->problem->options[TRANSFER_INITIAL], counted = initial + (double)view->rounds;
    double seen = view->seen < 0.0 ? initial : view->seen, rounds = counted - seen;
    double times = view->seen < 0.0 && view->has_given ? fmax(rounds, 1.0) : rounds;
    if (view->len == 0) {
        view->nu = 0.0;
        return STATUS_OK;
    }
    if (times >= 1.0) {
        TRY(estimate_gaps(view, width, err));
        for (size_t i = 0; i < view->len; i++)
            view->sums[i] += times * view->gaps[i];
    }
    set_weights(view);
    if (rounds >= 1.0)
        view->nu *= pow(transfer_weights_decay(view->weights, view->gaps, view->len, view->problem->options[DECAY],
                                               view->problem->options[POWER]),
                        rounds);
    view->seen = fmax(seen, counted);
    return STATUS_OK;
}

static enum status weigh(struct transfer_view *view, struct error *err)
{
    double t = (double)view->rounds + 1.0, own, earlier;
    choose_widths(view->problem, t, &own, &earlier);
    TRY(play(view, own, err));
    for (size_t i = 0; i < view->len; i++) {
        view->factors[i] = view->nu * view->weights[i];
        view->widths[i] = earlier;
    }
    view->factors[view->len] = 1.0 - view->nu;
    view->widths[view->len] = own;
    return STATUS_OK;
}

static double combine(const struct transfer_view *view, const struct transfer_parts *parts)
{
    double sum = 0.0;
    for (size_t i = 0; i < parts->k; i++) {
        parts->dmean[i] = view->factors[parts->active[i]];
        parts->dsd[i] = parts->dmean[i] * view->widths[parts->active[i]];
        sum += parts->dmean[i] * parts->mean[i] + parts->dsd[i] * parts->sd[i];
    }
    return sum;
}

static enum status weigh_draws(struct transfer_view *view, struct error *err)
{
    struct rng rng = rng_at(view->problem->seed, view->trial, RNG_WEIGHTS);
    TRY(weigh(view, err));
    bool own = rng_uniform(&rng) >= view->nu;
    for (size_t i = 0; i < view->len; i++)
        view->factors[i] = own ? 0.0 : view->weights[i];
    view->factors[view->len] = own ? 1.0 : 0.0;
    view->draws = true;
    return STATUS_OK;
}

static const struct transfer_rule rule_ucb = {.acquisition = "ucb", .weigh = weigh, .combine = combine};
static const struct transfer_rule rule_ts = {.acquisition = "thompson", .weigh = weigh_draws, .combine = combine};

const struct policy policy_rm_gp_ucb = {
    .name = "rm-gp-ucb",
    .help = "learns from earlier studies: a weighted combination of their upper confidence bounds and its own, robust "
            "against studies that do not resemble it",
    .options = options,
    .rule = &rule_ucb,
    TRANSFER_POLICY,
};

const struct policy policy_rm_gp_ts = {
    .name = "rm-gp-ts",
    .help = "learns from earlier studies: as rm-gp-ucb, with functions drawn from the models",
    .options = options,
    .rule = &rule_ts,
    TRANSFER_POLICY,
};
