/* PO-GP-UCB, the modeller's part: GP-UCB over the rows of a transformed data set.
 *   next row = argmax mean + sqrt(beta_t) sd,  beta_t = 2 ln(n t^2 pi^2 / (6 delta)),
 *   t = 1 for the first row after the initial ones, and one more with each observation
 * Source: Kharkovskii, ch. 3, Algorithm 3 (each row is asked for once, as the rows' answers are the data).
 * Must not know where the rows come from. */
#include "engine/base/numbers.h"
#include "engine/finite_set/row_policy.h"

#include <math.h>

enum {
    DELTA,
    LENGTH_SCALE,
    SIGNAL_VARIANCE,
    NOISE_VARIANCE,
    MEAN,
    INITIAL,
    RELEASE_NOISE,
    RELEASE_DIMS,
    RELEASE_BOUND,
    RELEASE_SHAPE,
    DENOISE
};

static const char *const shapes[] = {"normal", "laplace", "isotropic-laplace", NULL};

// clang-format off
static const struct option options[] = {
    [DELTA] = {.name = "delta", .kind = OPTION_REAL, .min = 1e-12, .max = 1, .fallback = 0.025,
               .help = "delta' of beta_t, half the probability with which the regret bound may fail"},
    [LENGTH_SCALE] = {.name = "length_scale", .kind = OPTION_REAL, .min = 1e-100, .max = 1e100, .fallback = NAN,
                      .help = "of the kernel, in units of the rows; estimated when not given"},
    [SIGNAL_VARIANCE] = {.name = "signal_variance", .kind = OPTION_REAL, .min = 1e-100, .max = 1e100,
                         .fallback = NAN, .help = "of the function; estimated when not given"},
    [NOISE_VARIANCE] = {.name = "noise_variance", .kind = OPTION_REAL, .min = 0, .max = 1e100, .fallback = NAN,
                        .help = "of a value; estimated when not given; at least 1e-6 of the signal's is used"},
    [MEAN] = {.name = "mean", .kind = OPTION_REAL, .min = -1e100, .max = 1e100, .fallback = NAN,
              .help = "of the function; the mean of the values when not given"},
    [INITIAL] = {.name = "initial", .kind = OPTION_INT, .min = 0, .max = 1000, .fallback = 5,
                 .help = "random rows before the model is asked"},
    [RELEASE_NOISE] = {.name = "release_noise", .kind = OPTION_REAL, .min = 0, .max = 1e100, .fallback = NAN,
                       .help = "variance per coordinate of the noise in the rows; when not given, as their manifest says"},
    [RELEASE_DIMS] = {.name = "release_dims", .kind = OPTION_INT, .min = 0, .max = 1000000, .fallback = NAN,
                      .help = "coordinates that have it; when not given, as the manifest says, or all"},
    [RELEASE_BOUND] = {.name = "release_bound", .kind = OPTION_REAL, .min = 0, .max = 1e100, .fallback = NAN,
                       .help = "of every coordinate before the noise; when not given, as the manifest says, or none"},
    [RELEASE_SHAPE] = {.name = "release_shape", .kind = OPTION_CHOICE, .max = 2, .fallback = NAN, .choices = shapes,
                       .help = "of that noise; when not given, as the manifest says, or normal"},
    [DENOISE] = {.name = "denoise", .kind = OPTION_BOOL, .max = 1, .fallback = NAN,
                 .help = "noisy rows are taken to be where they probably were, by the distribution of all rows; when not "
                         "given, where the manifest says that their noise is independent along all columns of the data"},
    {.name = NULL},
};
// clang-format on

static void score_ucb(const struct row_policy_view *view, size_t m, const double *mean, const double *sd, double *score)
{
    double n = (double)view->problem->space->rows_len;
    double t = fmax((double)view->observations + 1 - view->problem->options[INITIAL], 1);
    double beta = 2 * (log(n) + 2 * log(t) + log(PI_SQUARED / 6 / view->problem->options[DELTA]));
    double width = sqrt(fmax(beta, 0));
    for (size_t k = 0; k < m; k++)
        score[k] = mean[k] + width * sd[k];
}

struct session {
    struct session_base base;
    struct row_policy  *candidates;
};

static enum status begin(struct session *session, struct error *err)
{
    const struct problem  *problem = session->base.problem;
    size_t                 dims = (size_t)fmax(problem->options[RELEASE_DIMS], 0); /* fmax takes the number */
    struct row_policy_rule rule = {
        .kind = &kernel_se,
        .length_scale = problem->options[LENGTH_SCALE],
        .variance = problem->options[SIGNAL_VARIANCE],
        .noise = problem->options[NOISE_VARIANCE],
        .mean = problem->options[MEAN],
        .initial = (size_t)problem->options[INITIAL],
        .release_noise = fmax(problem->options[RELEASE_NOISE], 0),
        .release_dims = dims == 0 ? problem->space->columns : dims,
        .release_bound = fmin(problem->options[RELEASE_BOUND], INFINITY), /* fmin takes the number */
        .release_shape = (unsigned)fmax(problem->options[RELEASE_SHAPE], 0),
        .denoises = problem->options[DENOISE] != 0,
        .spreads = true,
        .each_row_once = true,
        .acquisition = "ucb",
        .score = score_ucb,
    };
    return row_policy_open(&session->base, &rule, &session->candidates, err);
}

static enum status tell(struct session *session, const struct event *event, struct error *err)
{
    return row_policy_tell(session->candidates, event, err);
}

static enum status ask_next(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    return row_policy_ask(session->candidates, ask, out, err);
}

static enum status predict(struct session *session, const struct prediction *wanted, struct error *err)
{
    return row_policy_predict(session->candidates, wanted, err);
}

static enum status residuals(struct session *session, const struct ask *ask, struct arena *arena, struct residual **out,
                             size_t *len, struct error *err)
{
    return row_policy_residuals(session->candidates, ask, arena, out, len, err);
}

const struct policy policy_po_gp_ucb = {
    .name = "po-gp-ucb",
    .help = "GP-UCB over the rows of a privately transformed data set (outsourced optimisation)",
    .spaces = SPACE_CANDIDATES,
    .uses_each_row_once = true,
    .options = options,
    .session_bytes = sizeof(struct session),
    .begin = begin,
    .tell = tell,
    .ask = ask_next,
    .predict = predict,
    .residuals = residuals,
};
