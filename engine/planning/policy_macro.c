
#include "engine/policy/session.h" /* Planning ahead with macro-actions: macro-bo and macro-bo-anytime.           Kharkovskii, chapter 4
 * A suggestion is the macro-action with the greatest expected sum of outputs over the next `horizon` macro-actions
 * (and beta times the information gained), adapting to what will be seen.  With horizon 1 this is DB-GP-UCB.
 * The plan is made anew for each suggestion from the log alone; what a deadline cut short is not found again by a
 * replay, and need not be: the macro-action that was chosen is in the log.
 * Plans for one stage, two, .. come first, so that there is always something to say; the failure of the first alone (a
 * model that is not finite, too little memory) makes the choice random, and the proposal says so. */
#include "engine/gp/gp_loo.h"
#include "engine/planning/macro_model.h"
#include "engine/planning/macro_plan.h"
#include "engine/math/mat.h"
#include "engine/math/rng.h"

#include <math.h>
#include <string.h>

enum {
    HORIZON,
    SAMPLES,
    EPSILON,
    BETA,
    THRESHOLD,
    KERNEL,
    LENGTH_SCALE,
    LENGTH_SCALE_X,
    LENGTH_SCALE_Y,
    LENGTH_SCALE_Z,
    SIGNAL_VARIANCE,
    NOISE_VARIANCE,
    MEAN,
    OUTPUTS,         /* macro-bo */
    NODES = OUTPUTS, /* macro-bo-anytime */
    GAP
};
enum { SAMPLES_MAX = 10000, PRIOR_MIN = 5 };
enum { OUTPUTS_SAMPLED, OUTPUTS_LIKELY };

static const char *const outputs[] = {"sampled", "most_likely", NULL};

#define ESTIMATED "; estimated from the prior observations when absent"
// clang-format off
#define COMMON_OPTIONS                                                                                                 \
    OPTION_INTEGER("horizon", 1, MACRO_HORIZON_MAX, 3, "macro-actions that a plan looks ahead; cut to the remaining budget"), \
    OPTION_INTEGER("samples", 1, SAMPLES_MAX, 100, "output vectors drawn at each stage of a plan"),                           \
    OPTION_NUMBER("epsilon", 1e-300, 1e300, NAN,                                                                              \
           "expected loss that is acceptable: sets the samples by theorem 4.3, where 10,000 are enough"),              \
    OPTION_NUMBER("beta", 0, 1e9, 0, "weight of the information that is gained"),                                             \
    OPTION_NUMBER("threshold", 0, 1e300, NAN,                                                                                 \
           "a sampled value farther than this from that of the most likely outputs is replaced by it"),                \
    {.name = "kernel", .kind = OPTION_CHOICE, KERNEL_CHOICES_ANY_UNITS, .fallback = KERNEL_SE,                                   \
     .help = "covariance function of the field"},                                                                      \
    OPTION_NUMBER("length_scale", 1e-300, 1e300, NAN, "of the field, in every direction" ESTIMATED),                          \
    OPTION_NUMBER("length_scale_x", 1e-300, 1e300, NAN, "of the first coordinate"),                                           \
    OPTION_NUMBER("length_scale_y", 1e-300, 1e300, NAN, "of the second coordinate"),                                          \
    OPTION_NUMBER("length_scale_z", 1e-300, 1e300, NAN, "of the third coordinate"),                                           \
    OPTION_NUMBER("signal_variance", 1e-300, 1e300, NAN, "of the field" ESTIMATED),                                           \
    OPTION_NUMBER("noise_variance", 1e-300, 1e300, NAN, "of a measurement" ESTIMATED),                                        \
    OPTION_NUMBER("mean", -1e300, 1e300, NAN, "of the field before any measurement" ESTIMATED)
// clang-format on

static const struct option sampled_options[] = {
    COMMON_OPTIONS,
    {.name = "outputs",
     .kind = OPTION_CHOICE,
     .max = 1,
     .choices = outputs,
     .fallback = OUTPUTS_SAMPLED,
     .help = "sampled: what may be seen is drawn; most_likely: the means are taken for it (nonmyopic GP-UCB)"},
    {.name = NULL},
};
static const struct option anytime_options[] = {
    COMMON_OPTIONS,
    OPTION_NUMBER("nodes", 1, 1e15, 1e6, "a plan stops after this many nodes, its first expansion apart"),
    OPTION_NUMBER("gap", 0, 1e300, 0, "... or when the bounds of the best value are this close"),
    {.name = NULL},
};

extern const struct policy policy_macro_bo_anytime; /* below */

struct session {
    struct session_base base;
    bool                is_anytime;
    struct macro_model  model;
};

/* The hyper-parameters as macro_model wants them. */
static void read_theta(const struct problem *problem, double *theta)
{
    const struct graph *graph = problem->space->graph;
    size_t              dims = graph->dims;
    for (size_t j = 0; j < dims; j++) {
        double own = problem->options[LENGTH_SCALE_X + j];
        theta[j] = log(isnan(own) ? problem->options[LENGTH_SCALE] : own);
    }
    theta[dims] = log(problem->options[SIGNAL_VARIANCE]);
    theta[dims + 1] = log(problem->options[NOISE_VARIANCE]);
    theta[dims + 2] = graph->sign * problem->options[MEAN];
}

static enum status check(const struct problem *problem, struct error *err)
{
    double theta[MACRO_THETA_MAX];
    bool   is_given = true;
    size_t dims = problem->space->graph->dims;
    read_theta(problem, theta);
    for (size_t k = 0; k < dims + 3; k++)
        is_given = is_given && !isnan(theta[k]);
    for (size_t j = dims; j < GRAPH_DIMS_MAX; j++)
        if (!isnan(problem->options[LENGTH_SCALE_X + j]))
            return error_set(err, STATUS_INVALID, "bad_combination",
                             j == 1 ? "/algorithm/length_scale_y" : "/algorithm/length_scale_z",
                             "the sites have %zu coordinates", dims);
    if (!is_given && problem->space->graph->prior_len < PRIOR_MIN)
        return error_set(err, STATUS_INVALID, "hyper_parameters_required", "/algorithm",
                         "length_scale, signal_variance, noise_variance and mean must be given, or the space must "
                         "have at least %d prior observations to estimate them from",
                         PRIOR_MIN);
    return STATUS_OK;
}

/* ---- a session ---- */

static enum status begin(struct session *s, struct error *err)
{
    double                    theta[MACRO_THETA_MAX];
    const struct problem     *problem = s->base.problem;
    const struct kernel_kind *kind = kernel_kinds[(size_t)problem->options[KERNEL]];
    arena_init(&s->base.scratch, problem->memory_bytes - problem->memory_bytes / 4);
    s->is_anytime = s->base.policy == &policy_macro_bo_anytime;
    read_theta(problem, theta);
    TRY(macro_model_fit(problem->space->graph, kind, theta, &s->base.scratch, err));
    arena_fini(&s->base.scratch);
    macro_model_init(&s->model, problem->space, &s->base.kept, kind, theta);
    return STATUS_OK;
}

static enum status tell(struct session *s, const struct event *event, struct error *err)
{
    return macro_model_tell(&s->model, event, err);
}

/* ---- a plan ---- */

/* The best choice so far. */
struct choice {
    struct macro_action action; /* global site numbers, in kept memory */
    double              value, mean, sd;
    const char         *stopped;
    struct plan_state   state;
    double              samples, samples_needed;
};

struct planning {
    struct session     *s;
    const struct ask   *ask;
    struct macro_root   root;
    struct macro_search search;
    double             *point;  /* of the best so far */
    double              end_ms; /* by the clock of the ask; NaN: only ask->late knows */
    struct choice       best;
};

/* Milliseconds to the deadline, less those that giving the memory back takes: a tenth a megabyte. */
static double left_ms(void *arg)
{
    const struct planning *p = arg;
    if (ask_is_late(p->ask))
        return 0;
    return isnan(p->end_ms) ? INFINITY
                            : p->end_ms - ask_clock_ms(p->ask) - 1e-7 * (double)p->s->base.scratch.taken_bytes;
}

static bool poll_late(void *arg)
{
    return left_ms(arg) <= 0;
}

static void poll_notify(void *arg, const struct plan_state *state)
{
    const struct ask *ask = ((const struct planning *)arg)->ask;
    if (ask->notify != NULL)
        ask->notify(ask->late_arg, state);
}

/* The samples of a stage: given, or those of the theorem where they can be had. */
static void set_samples(struct planning *p, const struct macro_tree *tree, struct choice *choice, double *threshold)
{
    const struct problem *problem = p->s->base.problem;
    double                epsilon = problem->options[EPSILON], H = (double)tree->horizon, lambda = 0;
    choice->samples = problem->options[SAMPLES];
    choice->samples_needed = NAN;
    *threshold = problem->options[THRESHOLD];
    if (!isnan(epsilon)) {
        double theta = tree->steps[0].theta, needed = macro_tree_samples(tree, epsilon, &lambda);
        choice->samples_needed = needed;
        choice->samples = needed <= SAMPLES_MAX ? needed : choice->samples;
        if (p->s->is_anytime)
            lambda = theta > 0 ? 1 / (4 * H / epsilon + 1 / (2 * theta)) : 0; // theorem 4.4
        if (isnan(*threshold))
            *threshold = theta + (p->s->is_anytime ? 2 * lambda : lambda * H);
    }
    p->search.samples = (size_t)choice->samples;
    p->search.lambda = p->s->is_anytime ? lambda : 0;
}

/* (4.9) and (4.12): a value too far from that of the most likely outputs is replaced by it.  threshold NaN: never. */
static void settle(double *values, const double *likely, size_t len, double threshold)
{
    for (size_t a = 0; a < len; a++)
        if (fabs(values[a] - likely[a]) > threshold)
            values[a] = likely[a];
}

/* The index of the greatest value, of equal ones a random one; SIZE_MAX when a value is not finite. */
static size_t greatest(const struct planning *p, const double *values, size_t len)
{
    double     best = -INFINITY, largest = 0;
    size_t     chosen = SIZE_MAX, ties = 0;
    struct rng rng = rng_at(p->s->base.problem->seed, p->ask->trial, RNG_MACRO_TIES);
    if (!mat_is_finite(values, len))
        return SIZE_MAX;
    for (size_t a = 0; a < len; a++) {
        best = fmax(best, values[a]);
        largest = fmax(largest, fabs(values[a]));
    }
    for (size_t a = 0; a < len; a++)
        if (values[a] >= best - 1e-9 * largest && rng_below(&rng, ++ties) == 0)
            chosen = a;
    return chosen;
}

/* Mean and standard deviation of the field's average over the chosen macro-action. */
static void describe(const struct macro_tree *tree, const struct macro_step *step, double prior_mean,
                     struct choice *choice)
{
    double k = (double)step->action.len, sum = 0, variance = 0;
    for (size_t i = 0; i < step->action.len; i++) {
        sum += tree->means[step->action.sites[i]];
        for (size_t j = 0; j < step->action.len; j++)
            variance += macro_tree_covariance(tree, step->action.sites[i], step->action.sites[j]);
    }
    choice->mean = prior_mean + sum / k;
    choice->sd = sqrt(fmax(0, variance)) / k;
}

static void keep(struct planning *p, const struct macro_tree *tree, size_t chosen, struct choice *choice)
{
    const struct macro_step *step = &tree->steps[tree->steps[0].first + chosen];
    for (size_t i = 0; i < p->s->model.point_len; i++)
        p->point[i] = i < step->action.len ? (double)macro_tree_site(tree, step->action.sites[i]) : NAN;
    describe(tree, step, p->s->model.mean, choice);
    choice->state = p->search.progress;
    p->best = *choice;
}

/* Why an anytime search ended. */
static const char *reason(const struct planning *p, bool is_short)
{
    const struct macro_search *search = &p->search;
    if (is_short)
        return "memory";
    if (poll_late((void *)(uintptr_t)p))
        return "deadline";
    if (search->progress.nodes >= search->nodes_max && search->progress.gap > search->gap_max)
        return "nodes";
    return search->progress.gap > 0 ? "gap" : "finished";
}

static enum status evaluate(struct planning *p, const struct macro_tree *tree, struct choice *choice, double *values,
                            struct error *err)
{
    const struct problem *problem = p->s->base.problem;
    bool                  is_short = false;
    choice->stopped = "finished";
    if (!p->s->is_anytime && problem->options[OUTPUTS] == OUTPUTS_LIKELY) {
        p->search.progress = (struct plan_state){.nodes = (double)tree->len, .gap = NAN, .horizon = tree->horizon};
        macro_plan_likely(tree, values);
        return STATUS_OK;
    }
    if (!p->s->is_anytime)
        return macro_plan_sample(tree, &p->search, &p->s->base.scratch, values, err);
    TRY(macro_plan_anytime(tree, &p->search, &p->s->base.scratch, values, &is_short, err));
    choice->stopped = reason(p, is_short);
    return STATUS_OK;
}

/* Makes a plan of this many stages; the first plan is not cut short. */
static enum status plan_ahead(struct planning *p, size_t horizon, struct error *err)
{
    struct session                 *s = p->s;
    bool                            wants = s->is_anytime || !isnan(s->base.problem->options[EPSILON]);
    const struct macro_tree_options options = {
        .horizon = horizon, .wants_bounds = wants, .left_ms = horizon > 1 ? left_ms : NULL, .left_arg = p};
    struct macro_tree tree;
    struct choice     choice = {0};
    double            threshold;
    TRY(macro_tree_build(&p->root, &options, &s->base.scratch, &tree, err));
    size_t len = tree.steps[0].children;
    if (len == 0)
        return error_set(err, STATUS_CONFLICT, "search_space_exhausted", "",
                         "no macro-action leaves the site where the agent stands");
    double *values = ARENA_NEW(&s->base.scratch, double, 2 * len);
    if (values == NULL)
        return error_no_memory(err);
    p->search.late = horizon > 1 ? poll_late : NULL;
    set_samples(p, &tree, &choice, &threshold);
    TRY(evaluate(p, &tree, &choice, values, err));
    if (!isnan(threshold)) {
        macro_plan_likely(&tree, values + len);
        settle(values, values + len, len, threshold + (s->is_anytime ? p->search.progress.gap : 0));
    }
    size_t chosen = greatest(p, values, len);
    if (chosen == SIZE_MAX)
        return error_set(err, STATUS_NUMERIC, "numeric", "", "the values of the plan are not finite");
    choice.value = values[chosen];
    keep(p, &tree, chosen, &choice);
    return STATUS_OK;
}

static enum status attempt(struct planning *p, size_t horizon, struct error *err)
{
    struct arena_mark mark = arena_mark(&p->s->base.scratch);
    enum status       status = plan_ahead(p, horizon, err);
    arena_release(&p->s->base.scratch, mark);
    return status;
}

/* A plan of one stage, then of more, each of which costs little beside the next: the answer is the deepest that was
 * finished.  Of the anytime search all but the last are finished when each macro-action has its bounds; where the last
 * does not fit into memory, the one before it takes its place and searches on.
 * *why: what kept it from the horizon, or NULL. */
static enum status plan_all(struct planning *p, size_t horizon, const char **why, struct error *err)
{
    struct error ignored;
    enum status  status = STATUS_OK;
    double       nodes_max = p->search.nodes_max;
    *why = NULL;
    TRY(attempt(p, 1, err));
    for (size_t h = 2; h <= horizon && status == STATUS_OK; h++) {
        p->search.nodes_max = h < horizon ? 0 : nodes_max;
        status = attempt(p, h, &ignored);
    }
    if (status == STATUS_OK)
        return STATUS_OK;
    *why = p->best.stopped = proposal_fallback(status);
    p->search.nodes_max = nodes_max;
    if (status == STATUS_NO_MEMORY && p->s->is_anytime && p->best.state.horizon > 2)
        (void)attempt(p, p->best.state.horizon, &ignored);
    return STATUS_OK;
}

/* ---- a proposal ---- */

static void diagnose_model(const struct macro_model *model, const struct gp *gp, struct diagnostics *out)
{
    *out = (struct diagnostics){
        .acquisition_value = NAN,
        .kernel = model->kernel.kind->name,
        .signal_variance = model->kernel.variance,
        .noise_variance = model->noise_variance,
        .jitter = gp->jitter,
        .condition = gp->n == 0 ? 1 : gp_loo_condition(gp->L, gp->n, gp->capacity),
        .fit_ms = NAN,
        .length_scales = out->length_scales,
        .values = {.unit = 1, .centre = model->mean, .spread = 1},
    };
    memcpy(out->length_scales, model->length_scales, model->graph->dims * sizeof *out->length_scales);
}

static void diagnose(const struct planning *p, const struct gp *gp, struct diagnostics *out)
{
    const struct choice *best = &p->best;
    diagnose_model(&p->s->model, gp, out);
    out->acquisition = p->s->is_anytime ? "macro-bo-anytime" : "macro-bo";
    out->acquisition_value = best->value;
    out->plan.state = best->state;
    out->plan.samples = best->samples;
    out->plan.samples_needed = best->samples_needed;
    out->plan.stopped = best->stopped;
}

/* Without a model: any macro-action that leaves this site. */
static enum status choose_randomly(struct planning *p, struct proposal *out, struct error *err)
{
    struct session      *s = p->s;
    struct macro_actions actions;
    struct rng           rng = rng_at(s->base.problem->seed, p->ask->trial, RNG_POINT);
    TRY(graph_actions(s->model.graph, s->base.problem->seed, p->root.site, &s->base.scratch, &actions, err));
    if (actions.len == 0)
        return error_set(err, STATUS_CONFLICT, "search_space_exhausted", "",
                         "no macro-action leaves the site where the agent stands");
    const struct macro_action *action = &actions.at[rng_below(&rng, actions.len)];
    for (size_t i = 0; i < s->model.point_len; i++)
        out->point[i] = i < action->len ? (double)action->sites[i] : NAN;
    return STATUS_OK;
}

static size_t horizon_of(const struct session *s, const struct ask *ask)
{
    size_t horizon = (size_t)s->base.problem->options[HORIZON];
    return ask->remaining > 0 && ask->remaining < horizon ? (size_t)ask->remaining : horizon;
}

static enum status propose(struct planning *p, struct proposal *out, struct error *err)
{
    struct session *s = p->s;
    struct gp       gp = {0};
    double         *blocked;
    p->root.site = macro_model_place(&s->model);
    TRY(macro_model_blocked(&s->model, &s->base.scratch, &blocked, &p->root.blocked_len, err));
    TRY(macro_model_gp(&s->model, true, &s->base.scratch, &gp, &out->observations, err));
    p->root.gp = &gp;
    p->root.blocked = blocked;
    TRY(plan_all(p, horizon_of(s, p->ask), &out->fallback, err));
    memcpy(out->point, p->point, s->model.point_len * sizeof *out->point);
    out->mean = p->best.mean;
    out->sd = p->best.sd;
    out->sd_observed = sqrt(p->best.sd * p->best.sd + s->model.noise_variance / (double)p->best.action.len);
    if (p->ask->diagnostics != NULL)
        diagnose(p, &gp, p->ask->diagnostics);
    return STATUS_OK;
}

static enum status ask_next(struct session *s, const struct ask *ask, struct proposal *out, struct error *err)
{
    struct planning p = {
        .s = s, .ask = ask, .end_ms = ask->deadline_ms > 0 ? ask_clock_ms(ask) + ask->deadline_ms : NAN};
    p.root.graph = s->model.graph;
    p.root.seed = s->base.problem->seed;
    p.root.beta = s->base.problem->options[BETA];
    p.root.site = s->model.graph->start;
    p.search = (struct macro_search){.seed = s->base.problem->seed,
                                     .trial = ask->trial,
                                     .nodes_max = s->is_anytime ? s->base.problem->options[NODES] : INFINITY,
                                     .gap_max = s->is_anytime ? s->base.problem->options[GAP] : 0,
                                     .notify = poll_notify,
                                     .arg = &p};
    proposal_clear(out);
    if (ask->diagnostics != NULL)
        ask->diagnostics->kernel = NULL;
    p.point = ARENA_NEW(&s->base.scratch, double, s->model.point_len);
    enum status status = p.point == NULL ? error_no_memory(err) : propose(&p, out, err);
    if (status == STATUS_NUMERIC || status == STATUS_NO_MEMORY) {
        out->fallback = status == STATUS_NUMERIC ? "numerical" : "memory";
        out->observations = 0;
        arena_fini(&s->base.scratch);
        p.root.site = macro_model_place(&s->model);
        status = choose_randomly(&p, out, err);
    }
    arena_fini(&s->base.scratch);
    return status;
}

static enum status predict(struct session *s, const struct prediction *wanted, struct error *err)
{
    size_t      dims = s->model.graph->dims, m = wanted->m, measured;
    struct gp   gp;
    double     *X = arena_alloc(&s->base.scratch, m, dims * sizeof *X), *var = ARENA_NEW(&s->base.scratch, double, m);
    enum status status = STATUS_OK;
    if (X == NULL || var == NULL)
        status = error_no_memory(err);
    for (size_t i = 0; status == STATUS_OK && i < m; i++)
        graph_coordinates(s->model.graph, wanted->rows[i], X + i * dims);
    if (status == STATUS_OK)
        status = macro_model_gp(&s->model, false, &s->base.scratch, &gp, &measured, err);
    if (status == STATUS_OK && measured == 0)
        status = policy_no_values(err);
    if (status == STATUS_OK)
        status = gp_posterior(&gp, (struct points){X, m}, wanted->mean, var, &s->base.scratch, err);
    for (size_t i = 0; status == STATUS_OK && i < m; i++) {
        wanted->mean[i] += s->model.mean;
        if (wanted->sd != NULL)
            wanted->sd[i] = sqrt(var[i]);
        if (wanted->sd_observed != NULL)
            wanted->sd_observed[i] = sqrt(var[i] + gp.noise_variance);
    }
    if (status == STATUS_OK && wanted->diagnostics != NULL)
        diagnose_model(&s->model, &gp, wanted->diagnostics);
    arena_fini(&s->base.scratch);
    if (status == STATUS_OK && !mat_is_finite(wanted->mean, m))
        return error_set(err, STATUS_NUMERIC, "numeric", "", "the posterior is not finite");
    return status;
}

/* Members that both records have in common. */
#define IN_COMMON                                                                                        \
    .spaces = SPACE_GRAPH, .plans_ahead = true, .check = check, .session_bytes = sizeof(struct session), \
    .kept_share = 4, .begin = begin, .tell = tell, .ask = ask_next, .predict = predict

const struct policy policy_macro_bo = {
    .name = "macro-bo",
    .help = "nonmyopic planning with macro-actions over a graph by stochastic sampling (epsilon-Macro-BO)",
    .options = sampled_options,
    IN_COMMON,
};

const struct policy policy_macro_bo_anytime = {
    .name = "macro-bo-anytime",
    .help = "the same by a search between bounds that may be stopped at any time",
    .options = anytime_options,
    IN_COMMON,
};
