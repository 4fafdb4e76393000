/* One Gaussian process for each metric, and the acquisition function over all of them. */
#include "engine/policy_metrics.h"

#include "engine/acq_metrics.h"
#include "engine/acq_search.h"
#include "engine/gp_insight.h"
#include "engine/pareto.h"
#include "engine/rng.h"

#include <math.h>
#include <string.h>

enum {
    PARTS_MAX = ACQ_METRICS_MAX,
    REFIT_ALWAYS = 40,
    REFIT_STEP = 100,
    FEW = 60,
    EXPLOIT_EVERY = 4,
    EXTREME_EVERY = 4
};
static const double GREEDY_SD = 0.1, PLAIN_WARP = 6.9; /* log a: as good as no warp */
static const double SD_MIN = 1e-12;                    /* standardised; keeps the logarithm finite at observed points */

struct part {
    struct trial_log log;
    struct gp_cache  cache;
    struct arena     scratch;
    double          *theta;  /* [params_len + HYPER] the last recorded fit ... */
    size_t           fitted; /* ... and how many values it was made from */
    struct gp_model  model;  /* of the proposal being made */
    double          *work;   /* [3 n + 2 dims] of its gradients */
};

/* Parts 0 .. objectives - 1 are the objectives, then the constraints, then the one for infeasible trials. */
struct metrics {
    const struct problem *problem;
    struct metrics_rule   rule;
    struct arena         *kept;
    struct part          *parts;                /* [len + 1] */
    size_t                objectives, len;      /* len: without the last part */
    size_t                metric_of[PARTS_MAX]; /* which metric of the problem a part models */
    size_t                finished, known;      /* at the last recorded fit: finished trials, parts */
};

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "the study does not fit into its memory limit");
}

/* --- notes: head, then for each part how many values its fit was made from and theta --- */

struct note_head {
    char     tag[8];
    uint64_t finished, parts;
};
static const char NOTE_TAG[8] = "metric1";

static size_t theta_len(const struct problem *problem)
{
    return problem->space->params_len + HYPER;
}

static size_t note_bytes(const struct problem *problem, size_t parts)
{
    return sizeof(struct note_head) + parts * (1 + theta_len(problem)) * sizeof(double);
}

enum status metrics_check(const struct problem *problem, struct error *err)
{
    if (problem->metrics_len < 2 || note_bytes(problem, problem->metrics_len + 1) <= POLICY_NOTE_MAX)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "not_supported", "/metrics",
                     "%zu metrics of %zu parameters are more than this algorithm models", problem->metrics_len,
                     problem->space->params_len);
}

enum status metrics_open(const struct problem *problem, const struct metrics_rule *rule, struct arena *kept,
                         struct metrics **out, struct error *err)
{
    struct metrics *own = *out = ARENA_NEW(kept, struct metrics, 1);
    if (own == NULL)
        return no_memory(err);
    *own = (struct metrics){.problem = problem, .rule = *rule, .kept = kept};
    size_t len = problem->metrics_len > 0 ? problem->metrics_len : 1;
    for (int kind = METRIC_OBJECTIVE; kind <= METRIC_CONSTRAINT; kind++)
        for (size_t k = 0; k < len; k++)
            if ((problem->metrics_len > 0 ? (int)problem->metrics[k] : METRIC_OBJECTIVE) == kind) {
                own->objectives += kind == METRIC_OBJECTIVE;
                own->metric_of[own->len++] = k;
            }
    own->parts = arena_zalloc(kept, own->len + 1, sizeof *own->parts);
    if (own->parts == NULL)
        return no_memory(err);
    for (size_t p = 0; p <= own->len; p++) {
        trial_log_init(&own->parts[p].log, kept, problem->space->params_len);
        own->parts[p].theta = ARENA_NEW(kept, double, theta_len(problem));
        if (own->parts[p].theta == NULL)
            return no_memory(err);
    }
    return STATUS_OK;
}

void metrics_drop(struct metrics *own)
{
    for (size_t p = 0; own != NULL && own->parts != NULL && p <= own->len; p++) {
        arena_fini(&own->parts[p].scratch);
        gp_cache_drop(&own->parts[p].cache);
    }
}

size_t metrics_bytes(const struct metrics *own)
{
    size_t bytes = 0;
    for (size_t p = 0; p <= own->len; p++)
        bytes += own->parts[p].cache.arena.taken_bytes + own->parts[p].scratch.taken_bytes;
    return bytes;
}

static size_t finished(const struct metrics *own)
{
    return trial_log_finished(own->rule.log);
}

static size_t active(const struct metrics *own)
{
    return own->rule.log->count[LOG_INFEASIBLE] > 0 ? own->len + 1 : own->len;
}

bool metrics_is_needed(const struct metrics *own)
{
    return active(own) > 1;
}

static struct gp_fit fit_settings(const struct metrics *own, const struct ask *ask)
{
    size_t n = finished(own);
    return (struct gp_fit){
        .kind = own->rule.kind,
        .dims = own->problem->space->dims,
        .groups = own->problem->space->params_len,
        .group_of = own->rule.group_of,
        .starts = n < FEW      ? FIT_DEFAULT | FIT_NOISY | FIT_WARPED
                  : n % 4 == 0 ? FIT_DEFAULT
                               : 0,
        .evaluations = n < FEW || own->known == 0 ? 60 : 20,
        .late = ask == NULL ? NULL : ask->late,
        .late_arg = ask == NULL ? NULL : ask->late_arg,
    };
}

static void note_write(const struct metrics *own, size_t parts, double *const *theta, struct proposal *out)
{
    struct note_head head = {.finished = finished(own), .parts = parts};
    size_t           len = theta_len(own->problem);
    unsigned char   *at = out->note + sizeof head;
    memcpy(head.tag, NOTE_TAG, sizeof head.tag);
    memcpy(out->note, &head, sizeof head);
    for (size_t p = 0; p < parts; p++) {
        double fitted = (double)trial_log_finished(&own->parts[p].log);
        memcpy(at, &fitted, sizeof fitted);
        memcpy(at + sizeof fitted, theta[p], len * sizeof(double));
        at += (1 + len) * sizeof(double);
    }
    out->note_bytes = note_bytes(own->problem, parts);
}

/* Anything but a sound note is passed over: the fits are then made again. */
static enum status note_read(struct metrics *own, const struct event *event, struct error *err)
{
    struct note_head     head;
    size_t               len = theta_len(own->problem), doubles;
    struct gp_fit        fit = fit_settings(own, NULL);
    struct arena_mark    mark = arena_mark(own->kept);
    const unsigned char *note = event->note;
    if (note == NULL || event->note_bytes < sizeof head)
        return STATUS_OK;
    memcpy(&head, note, sizeof head);
    if (memcmp(head.tag, NOTE_TAG, sizeof head.tag) != 0 || head.parts < own->len || head.parts > own->len + 1 ||
        event->note_bytes != note_bytes(own->problem, head.parts))
        return STATUS_OK;
    doubles = head.parts * (1 + len);
    double *read = ARENA_NEW(own->kept, double, doubles);
    bool    is_sound = head.finished > 0;
    if (read == NULL)
        return no_memory(err);
    memcpy(read, note + sizeof head, doubles * sizeof *read);
    for (size_t p = 0; p < head.parts; p++)
        is_sound = is_sound && read[p * (1 + len)] >= 1.0 && read[p * (1 + len)] <= 1e15 &&
                   gp_fit_allows(&fit, read + p * (1 + len) + 1);
    for (size_t p = 0; is_sound && p < head.parts; p++) {
        own->parts[p].fitted = (size_t)read[p * (1 + len)];
        memcpy(own->parts[p].theta, read + p * (1 + len) + 1, len * sizeof *read);
    }
    own->finished = is_sound ? head.finished : own->finished;
    own->known = is_sound ? head.parts : own->known;
    arena_release(own->kept, mark);
    return STATUS_OK;
}

/* What an infeasible trial is to the metrics, and to the last part. */
static const double VALUE_FEASIBLE = 0.5, VALUE_INFEASIBLE = -0.5;

/* An infeasible trial is to the metrics one that failed, and to the last part one with a value. */
static enum status tell_part(struct metrics *own, size_t p, const struct event *event, struct error *err)
{
    struct event told = *event;
    bool         is_last = p == own->len;
    size_t       k = own->metric_of[p], len = own->problem->metrics_len;
    if (event->kind == EVENT_INFEASIBLE)
        told.kind = is_last ? EVENT_OBSERVED : EVENT_FAILED;
    if (event->kind == EVENT_OBSERVED && !is_last && event->values != NULL) {
        told.value = event->values[k];
        told.stddev = event->values[len + k];
    }
    if (is_last) {
        told.value = event->kind == EVENT_OBSERVED ? VALUE_FEASIBLE : VALUE_INFEASIBLE;
        told.stddev = 0.0;
    }
    return trial_log_tell(&own->parts[p].log, &told, err);
}

enum status metrics_tell(struct metrics *own, const struct event *event, struct error *err)
{
    for (size_t p = 0; own->len > 1 && p <= own->len; p++)
        TRY(tell_part(own, p, event, err));
    return event->kind == EVENT_SUGGESTED ? note_read(own, event, err) : STATUS_OK;
}

/* --- the models --- */

static size_t milestone(size_t n)
{
    if (n <= REFIT_ALWAYS)
        return n;
    size_t size = REFIT_ALWAYS;
    for (size_t step; step = size / 10 < REFIT_STEP ? size / 10 : REFIT_STEP, size + step <= n;)
        size += step;
    return size;
}

/* One metric: the log that tell_part would have made of the session's. */
static enum status derive_log(struct metrics *own, size_t p, struct error *err)
{
    struct trial_log *log = &own->parts[p].log;
    *log = *own->rule.log;
    log->trials = ARENA_NEW(&own->parts[p].scratch, struct log_trial, log->len);
    if (log->trials == NULL)
        return no_memory(err);
    memset(log->count, 0, sizeof log->count);
    for (size_t i = 0; i < log->len; i++) {
        struct log_trial *trial = &log->trials[i];
        *trial = own->rule.log->trials[i];
        bool is_infeasible = trial->state == LOG_INFEASIBLE;
        if (p == own->len) {
            trial->value = is_infeasible ? VALUE_INFEASIBLE : VALUE_FEASIBLE;
            trial->stddev = 0.0;
        }
        if (is_infeasible)
            trial->state = p == own->len ? LOG_OBSERVED : LOG_FAILED;
        log->count[trial->state]++;
    }
    return STATUS_OK;
}

/* Equal shares of what the logs leave, whichever parts are in use: a full cache must not change an answer. */
static enum status begin(struct metrics *own, struct error *err)
{
    size_t share = (own->problem->memory_bytes - own->kept->taken_bytes) / (own->len + 1);
    for (size_t p = 0; p <= own->len; p++) {
        struct part *part = &own->parts[p];
        part->cache.limit_bytes = share / 8 * 5;
        if (part->cache.arena.taken_bytes > part->cache.limit_bytes)
            gp_cache_drop(&part->cache);
        arena_init(&part->scratch, share - part->cache.limit_bytes);
    }
    for (size_t p = 0; own->len == 1 && p <= own->len; p++)
        TRY(derive_log(own, p, err));
    return STATUS_OK;
}

static void end(struct metrics *own)
{
    for (size_t p = 0; p <= own->len; p++)
        arena_fini(&own->parts[p].scratch);
}

/* The posterior of a part, under the recorded fit or a new one; theta [theta_len] out. */
static enum status condition(const struct metrics *own, struct part *part, const struct gp_fit *fit, bool is_due,
                             bool with_pending, double *theta, struct error *err)
{
    size_t len = theta_len(own->problem), fitted = part->fitted;
    part->model = (struct gp_model){.space = own->problem->space, .log = &part->log, .scratch = &part->scratch};
    TRY(gp_model_rows(&part->model, &part->cache, is_due ? 0 : fitted, err));
    if (is_due)
        TRY(gp_model_fit(&part->model, fit, fitted > 0 ? part->theta : NULL, theta, err));
    else
        memcpy(theta, part->theta, len * sizeof *theta);
    if (own->objectives > 1 && part < own->parts + own->objectives)
        theta[fit->groups + 2] = PLAIN_WARP; /* it would favour the ends of the front */
    TRY(gp_model_condition(&part->model, fit, theta, with_pending, &part->cache, err));
    part->work = ARENA_NEW(&part->scratch, double, 3 * part->model.gp->n + 2 * fit->dims);
    return part->work == NULL ? no_memory(err) : STATUS_OK;
}

/* A value of a part's metric in the units of its model. */
static double standard(const struct gp_model *model, double value)
{
    return warp_value(&model->warp, (value / model->unit - model->centre) / model->spread);
}

/* --- what is to be improved on --- */

/* Places of the log that the acquisition function starts from: observed, or pending with a guess of their values. */
struct known {
    size_t  len;
    size_t *place;       /* [len] */
    double *f;           /* [len][objectives] posterior means */
    bool   *is_observed; /* [len] */
    size_t  anchors[MODEL_ANCHORS], anchors_len;
};

static bool is_feasible(const struct metrics *own, size_t place)
{
    for (size_t p = own->objectives; p < own->len; p++)
        if (own->parts[p].log.trials[place].value < 0.0)
            return false;
    return own->parts[0].log.trials[place].state == LOG_OBSERVED;
}

/* The posterior mean at row k of a model; see rank_rows of gp_model. */
static double mean_at_row(const struct gp_model *model, size_t k)
{
    const struct gp *gp = model->gp;
    return model->z[k] - (gp->noise_variance + gp->noise[k] + gp->jitter) * gp->alpha[k];
}

/* f [log.len][parts] := posterior means at the rows of the models and at the pending points, NaN elsewhere. */
static enum status fill_means(struct metrics *own, double *f, size_t parts, struct error *err)
{
    const struct trial_log *log = &own->parts[0].log;
    struct arena           *scratch = &own->parts[0].scratch;
    size_t                  dims = own->problem->space->dims, waiting = 0;
    double                 *u = ARENA_NEW(scratch, double, dims), var;
    if (u == NULL)
        return no_memory(err);
    for (size_t i = 0; i < log->len * parts; i++)
        f[i] = NAN;
    for (size_t p = 0; p < parts; p++)
        for (size_t k = 0; k < own->parts[p].model.n; k++)
            f[own->parts[p].model.row[k] * parts + p] = mean_at_row(&own->parts[p].model, k);
    for (size_t i = log->len; i-- > 0 && waiting < MODEL_PENDING_MAX;) {
        bool is_known = own->parts[own->len].log.trials[i].state == LOG_OBSERVED;
        if (is_known || (log->trials[i].state != LOG_PENDING && log->trials[i].state != LOG_FAILED))
            continue;
        space_encode(own->problem->space, trial_log_point(log, i), u);
        for (size_t p = 0; p < parts; p++)
            TRY(gp_posterior(own->parts[p].model.gp, u, 1, &f[i * parts + p], &var, scratch, err));
        waiting++;
    }
    return STATUS_OK;
}

/* Feasible as observed, or as far as the means of a pending trial go. */
static bool is_usable(const struct metrics *own, const struct acq_metrics *acq, const double *f, size_t place,
                      size_t parts)
{
    if (own->parts[0].log.trials[place].state == LOG_OBSERVED && !is_feasible(own, place))
        return false;
    for (size_t p = 0; p < parts; p++)
        if (isnan(f[p]) ||
            (p >= own->objectives && own->parts[0].log.trials[place].state != LOG_OBSERVED && f[p] < acq->bound[p]))
            return false;
    return true;
}

static enum status find_known(struct metrics *own, const struct acq_metrics *acq, size_t parts, struct known *known,
                              struct error *err)
{
    const struct trial_log *log = &own->parts[0].log;
    struct arena           *scratch = &own->parts[0].scratch;
    double                 *f = arena_alloc(scratch, log->len, parts * sizeof *f);
    known->f = arena_alloc(scratch, log->len, own->objectives * sizeof *f);
    known->place = ARENA_NEW(scratch, size_t, log->len);
    known->is_observed = ARENA_NEW(scratch, bool, log->len);
    if (f == NULL || known->f == NULL || known->place == NULL || known->is_observed == NULL)
        return no_memory(err);
    TRY(fill_means(own, f, parts, err));
    for (size_t i = 0; i < log->len; i++) {
        if (!is_usable(own, acq, f + i * parts, i, parts))
            continue;
        known->place[known->len] = i;
        known->is_observed[known->len] = log->trials[i].state == LOG_OBSERVED;
        memcpy(known->f + known->len++ * own->objectives, f + i * parts, own->objectives * sizeof *f);
    }
    return STATUS_OK;
}

/* The inverse of a weight is uniform on the simplex but for its smallest values, so that the best values lie on a
 * direction uniform from the ideal point; in units of the extent of the non-dominated places.  Every EXTREME_EVERY-th
 * trial looks for an end of the front, every other one improves the scalarised posterior mean. */
static enum status scalarise(struct metrics *own, const struct known *known, const struct ask *ask,
                             struct acq_metrics *acq, struct error *err)
{
    size_t     m = own->objectives;
    struct rng rng = rng_at(own->problem->seed, ask->trial, RNG_WEIGHTS);
    double     direction[OBJECTIVES_MAX], total = 0.0;
    bool      *is_best = ARENA_NEW(&own->parts[0].scratch, bool, known->len);
    if (is_best == NULL)
        return no_memory(err);
    TRY(pareto_front(known->f, known->len, m, is_best, &own->parts[0].scratch, err));
    for (size_t k = 0; k < m; k++) {
        direction[k] = 1.0 / (0.2 - log1p(-rng_uniform(&rng)));
        if (ask->trial % EXTREME_EVERY == 0)
            direction[k] = k == ask->trial / EXTREME_EVERY % m ? 1.0 : 1e-3;
        total += direction[k];
    }
    for (size_t k = 0; k < m; k++) {
        double low = HUGE_VAL, high = -HUGE_VAL;
        for (size_t i = 0; i < known->len; i++) {
            low = is_best[i] ? fmin(low, known->f[i * m + k]) : low;
            high = is_best[i] ? fmax(high, known->f[i * m + k]) : high;
        }
        double extent = high - low > 1e-3 ? high - low : 1.0;
        acq->reference[k] = ask->trial % EXTREME_EVERY == 0 ? high + extent : high;
        acq->weight[k] = direction[k] / total / extent;
    }
    for (size_t s = 0; s < ACQ_SAMPLES; s++)
        for (size_t k = 0; k < m; k++)
            acq->samples[s][k] = ask->trial % 2 == 1 ? GREEDY_SD
                                 : s % 2 == 0        ? rng_normal(&rng)
                                                     : -acq->samples[s - 1][k];
    return STATUS_OK;
}

/* Keeps the places with the largest keys, largest first. */
static void keep_anchor(struct known *known, double *keys, size_t place, double key)
{
    size_t at = known->anchors_len;
    if (at < MODEL_ANCHORS)
        known->anchors_len++;
    else if (!(key > keys[--at]))
        return;
    for (; at > 0 && key > keys[at - 1]; at--) {
        keys[at] = keys[at - 1];
        known->anchors[at] = known->anchors[at - 1];
    }
    keys[at] = key;
    known->anchors[at] = place;
}

/* Nothing feasible: the places that miss the bounds by least. */
static void rank_by_violation(const struct metrics *own, const struct acq_metrics *acq, struct known *known)
{
    double keys[MODEL_ANCHORS];
    for (size_t i = 0; i < own->parts[0].log.len; i++) {
        double key = 0.0;
        if (own->parts[0].log.trials[i].state != LOG_OBSERVED)
            continue;
        for (size_t p = own->objectives; p < own->len; p++)
            key += fmin(0.0, standard(&own->parts[p].model, own->parts[p].log.trials[i].value) - acq->bound[p]);
        keep_anchor(known, keys, i, key);
    }
}

static enum status aim(struct metrics *own, const struct ask *ask, size_t parts, struct acq_metrics *acq,
                       struct known *known, struct error *err)
{
    double keys[MODEL_ANCHORS];
    size_t worst, observed = 0;
    *known = (struct known){0};
    *acq =
        (struct acq_metrics){.objectives = own->objectives, .first = own->objectives, .len = parts, .best = -HUGE_VAL};
    for (size_t p = own->objectives; p < parts; p++)
        acq->bound[p] = standard(&own->parts[p].model, 0.0);
    TRY(find_known(own, acq, parts, known, err));
    for (size_t i = 0; i < known->len; i++)
        observed += known->is_observed[i];
    if (observed == 0) {
        acq->objectives = 0;
        rank_by_violation(own, acq, known);
        return STATUS_OK;
    }
    acq->is_greedy = own->objectives == 1 && ask->trial % EXPLOIT_EVERY == 0;
    if (own->objectives > 1)
        TRY(scalarise(own, known, ask, acq, err));
    for (size_t i = 0; i < known->len; i++) {
        const double *f = known->f + i * own->objectives;
        double        key = own->objectives == 1 ? f[0] : acq_metrics_scalar(acq, f, &worst);
        acq->best = fmax(acq->best, key);
        if (known->is_observed[i])
            keep_anchor(known, keys, known->place[i], key);
    }
    return STATUS_OK;
}

/* --- the search --- */

struct target {
    struct metrics    *own;
    struct acq_metrics acq;
};

static enum status scores(void *arg, const double *U, size_t m, double *out, struct error *err)
{
    struct target    *target = arg;
    struct metrics   *own = target->own;
    struct arena     *scratch = &own->parts[0].scratch;
    struct arena_mark mark = arena_mark(scratch);
    size_t            parts = target->acq.len;
    double           *mean = arena_alloc(scratch, parts, m * sizeof *mean);
    double           *var = arena_alloc(scratch, parts, m * sizeof *var);
    if (mean == NULL || var == NULL)
        return no_memory(err);
    for (size_t p = 0; p < parts; p++)
        TRY(gp_posterior(own->parts[p].model.gp, U, m, mean + p * m, var + p * m, &own->parts[p].scratch, err));
    for (size_t i = 0; i < m; i++) {
        double at[PARTS_MAX] = {0}, sd[PARTS_MAX] = {0}, dmean[PARTS_MAX], dsd[PARTS_MAX];
        for (size_t p = 0; p < parts; p++) {
            at[p] = mean[p * m + i];
            sd[p] = sqrt(var[p * m + i]) + SD_MIN;
        }
        out[i] = acq_metrics_value(&target->acq, at, sd, dmean, dsd);
    }
    arena_release(scratch, mark);
    return STATUS_OK;
}

static double slope(void *arg, const double *u, double *gradient)
{
    struct target *target = arg;
    size_t         dims = target->own->problem->space->dims, parts = target->acq.len;
    double         mean[PARTS_MAX] = {0}, sd[PARTS_MAX] = {0}, dmean[PARTS_MAX], dsd[PARTS_MAX];
    for (size_t p = 0; p < parts; p++) {
        const struct part *part = &target->own->parts[p];
        size_t             n = part->model.gp->n;
        struct gp_slope    at = {.dmean = part->work + 3 * n, .dvar = part->work + 3 * n + dims};
        gp_gradient(part->model.gp, u, part->work, &at);
        mean[p] = at.mean;
        sd[p] = sqrt(at.var) + SD_MIN;
    }
    double value = acq_metrics_value(&target->acq, mean, sd, dmean, dsd);
    memset(gradient, 0, dims * sizeof *gradient);
    for (size_t p = 0; p < parts; p++) {
        const struct part *part = &target->own->parts[p];
        const double      *by_mean = part->work + 3 * part->model.gp->n, *by_var = by_mean + dims;
        for (size_t j = 0; j < dims; j++)
            gradient[j] += dmean[p] * by_mean[j] + (sd[p] > SD_MIN ? dsd[p] * by_var[j] / (2.0 * sd[p]) : 0.0);
    }
    return value;
}

static size_t clamp_size(double x, size_t low, size_t high)
{
    return x > (double)high ? high : x > (double)low ? (size_t)x : low;
}

/* As much work as policy_gp does for one model of the same size, if there are not too many parts. */
static enum status search(struct metrics *own, const struct ask *ask, const struct space *space, struct target *target,
                          const struct known *known, double *point, struct error *err)
{
    struct arena *scratch = &own->parts[0].scratch;
    double        n = (double)own->parts[0].model.gp->n, squared = n * n * (double)target->acq.len;
    double       *anchors = arena_alloc(scratch, MODEL_ANCHORS, space->params_len * sizeof *anchors);
    if (anchors == NULL)
        return no_memory(err);
    for (size_t k = 0; k < known->anchors_len; k++)
        memcpy(anchors + k * space->params_len, trial_log_point(&own->parts[0].log, known->anchors[k]),
               space->params_len * sizeof *anchors);
    struct acq_search search = {
        .space = space,
        .finite = own->rule.used,
        .anchors = anchors,
        .anchors_len = known->anchors_len,
        .seed = own->problem->seed,
        .trial = ask->trial,
        .samples = clamp_size(1.2e8 / squared, 32, clamp_size(1e6 / (double)space->dims, 64, 500)),
        .starts = squared < 5e5     ? 4
                  : squared < 2.4e6 ? 2
                                    : 1,
        .evaluations = clamp_size(2.4e7 / squared, 3, 40),
        .late = ask->late,
        .late_arg = ask->late_arg,
        .scores = scores,
        .slope = slope,
        .arg = target,
    };
    return acq_search_run(&search, point, scratch, err);
}

static enum status condition_all(struct metrics *own, const struct ask *ask, bool is_due, double **theta,
                                 struct error *err)
{
    struct gp_fit fit = fit_settings(own, ask);
    for (size_t p = 0; p < active(own); p++) {
        theta[p] = ARENA_NEW(&own->parts[p].scratch, double, theta_len(own->problem));
        if (theta[p] == NULL)
            return no_memory(err);
        TRY(condition(own, &own->parts[p], &fit, is_due, true, theta[p], err));
    }
    return STATUS_OK;
}

/* Milliseconds that nothing but the diagnostics sees. */
static double now(const struct ask *ask)
{
    return ask->clock_ms == NULL ? NAN : ask->clock_ms();
}

static enum status propose(struct metrics *own, const struct ask *ask, const struct space *view, struct proposal *out,
                           struct error *err)
{
    const struct space *space = own->problem->space;
    struct part        *first = &own->parts[0];
    double             *theta[PARTS_MAX], mean, var;
    bool                is_due = milestone(finished(own)) > own->finished || active(own) > own->known;
    struct target       target = {.own = own};
    struct known        known;
    double              began = now(ask);
    TRY(condition_all(own, ask, is_due, theta, err));
    double fit_ms = is_due ? now(ask) - began : NAN;
    TRY(aim(own, ask, active(own), &target.acq, &known, err));
    double *point = ARENA_NEW(&first->scratch, double, space->params_len + space->dims);
    if (point == NULL)
        return no_memory(err);
    TRY(search(own, ask, view, &target, &known, point, err));
    space_encode(space, point, point + space->params_len);
    TRY(gp_posterior(first->model.gp, point + space->params_len, 1, &mean, &var, &first->scratch, err));
    memcpy(out->point, point, space->params_len * sizeof *point);
    if (ask->diagnostics != NULL) {
        gp_insight_diagnose(&first->model, own->rule.group_of, ask->diagnostics);
        ask->diagnostics->acquisition = "log-ei";
        ask->diagnostics->fit_milliseconds = fit_ms;
        TRY(scores(&target, point + space->params_len, 1, &ask->diagnostics->acquisition_value, err));
    }
    out->mean = mean;
    out->sd = sqrt(var);
    gp_model_units(&first->model, &out->mean, &out->sd);
    out->observations = first->model.n;
    if (is_due)
        note_write(own, active(own), theta, out);
    return STATUS_OK;
}

enum status metrics_ask(struct metrics *own, const struct ask *ask, const struct space *view, struct proposal *out,
                        struct error *err)
{
    enum status status = begin(own, err);
    if (status == STATUS_OK)
        status = propose(own, ask, view, out, err);
    end(own);
    return status;
}

enum status metrics_begin_model(struct metrics *own, struct gp_model *model, struct error *err)
{
    struct part  *first = &own->parts[0];
    struct gp_fit fit = fit_settings(own, NULL);
    TRY(begin(own, err));
    double *theta = ARENA_NEW(&first->scratch, double, theta_len(own->problem));
    if (theta == NULL)
        return no_memory(err);
    TRY(condition(own, first, &fit, first->fitted == 0, false, theta, err));
    *model = first->model;
    return STATUS_OK;
}

void metrics_end_model(struct metrics *own)
{
    end(own);
}
