/* From trials to a Gaussian process. */
#include "engine/gp_model.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double NOISE_MAX = 1e12; /* of a value with a stddev, in units of the spread squared */

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "the model does not fit into its memory limit");
}

void gp_model_groups(const struct space *space, size_t *group_of)
{
    for (size_t i = 0; i < space->params_len; i++) {
        for (size_t j = 0; j < param_width(&space->params[i]); j++)
            *group_of++ = i;
    }
}

/* The factor, 256 columns of a posterior and the inputs must fit into half of the memory. */
static size_t rows_max(size_t memory_bytes, size_t dims)
{
    double linear = 300.0 + 3.0 * (double)dims, budget = (double)memory_bytes / 2.0 / sizeof(double);
    double n = 0.5 * (sqrt(linear * linear + 4.0 * budget) - linear);
    return n < MODEL_ROWS_MAX ? (size_t)n : MODEL_ROWS_MAX;
}

static bool is_row(const struct trial *trial)
{
    return trial->state == TRIAL_OBSERVED || trial->state == TRIAL_INFEASIBLE;
}

/* Sifts element at down a heap of n indices whose root has the smallest key. */
static void sift(size_t *heap, size_t n, size_t at, const double *key)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && key[heap[child + 1]] < key[heap[child]])
            child++;
        if (!(key[heap[child]] < key[heap[at]]))
            return;
        size_t swapped = heap[at];
        heap[at] = heap[child];
        heap[child] = swapped;
    }
}

/* Marks the k rows with the largest keys among those not marked.  heap [k] scratch. */
static void mark_largest(const struct trial_log *log, const double *key, size_t k, bool *marked, size_t *heap)
{
    size_t n = 0;
    for (size_t i = 0; i < log->len; i++) {
        if (!is_row(&log->trials[i]) || marked[i])
            continue;
        if (n < k) {
            heap[n++] = i;
            for (size_t at = n / 2; n == k && at-- > 0;)
                sift(heap, n, at, key);
        } else if (k > 0 && key[i] > key[heap[0]]) {
            heap[0] = i;
            sift(heap, n, 0, key);
        }
    }
    for (size_t h = 0; h < n; h++)
        marked[heap[h]] = true;
}

/* Infeasible trials come last. */
static double value_key(const struct trial *trial)
{
    return trial->state == TRIAL_OBSERVED ? trial->value : -HUGE_VAL;
}

/* key[i] := minus the squared distance of trial i to the best observed one. */
static void key_by_nearness(const struct gp_model *model, double *key, double *u)
{
    const struct trial_log *log = model->log;
    size_t                  dims = model->space->dims, best = 0;
    for (size_t i = 1; i < log->len; i++)
        if (value_key(&log->trials[i]) > value_key(&log->trials[best]))
            best = i;
    space_encode(model->space, trial_log_point(log, best), u);
    for (size_t i = 0; i < log->len; i++) {
        key[i] = 0.0;
        space_encode(model->space, trial_log_point(log, i), u + dims);
        for (size_t j = 0; j < dims; j++)
            key[i] -= (u[dims + j] - u[j]) * (u[dims + j] - u[j]);
    }
}

static enum status select_some(struct gp_model *model, size_t n, bool *marked, struct error *err)
{
    const struct trial_log *log = model->log;
    struct arena_mark       mark = arena_mark(model->scratch);
    double                 *key = ARENA_NEW(model->scratch, double, log->len);
    double                 *u = ARENA_NEW(model->scratch, double, 2 * model->space->dims);
    size_t                 *heap = ARENA_NEW(model->scratch, size_t, n), third = n / 3;
    if (key == NULL || u == NULL || heap == NULL)
        return no_memory(err);
    for (size_t i = 0; i < log->len; i++)
        key[i] = value_key(&log->trials[i]);
    mark_largest(log, key, third, marked, heap);
    for (size_t i = 0; i < log->len; i++)
        key[i] = (double)i;
    mark_largest(log, key, third, marked, heap);
    key_by_nearness(model, key, u);
    mark_largest(log, key, n - 2 * third, marked, heap);
    arena_release(model->scratch, mark);
    return STATUS_OK;
}

static enum status select_rows(struct gp_model *model, size_t limit, struct error *err)
{
    const struct trial_log *log = model->log;
    size_t                  n = log->count[TRIAL_OBSERVED] + log->count[TRIAL_INFEASIBLE];
    bool                   *marked = arena_zalloc(model->scratch, log->len, sizeof *marked);
    model->n = n < limit ? n : limit;
    model->row = ARENA_NEW(model->scratch, size_t, model->n);
    if (marked == NULL || model->row == NULL || model->n == 0)
        return no_memory(err);
    if (n > limit)
        TRY(select_some(model, limit, marked, err));
    for (size_t i = 0, k = 0; i < log->len; i++)
        if (marked[i] || (n <= limit && is_row(&log->trials[i])))
            model->row[k++] = i;
    return STATUS_OK;
}

static const struct trial *trial_of(const struct gp_model *model, size_t k)
{
    return &model->log->trials[model->row[k]];
}

/* unit first, so that neither huge nor tiny values leave the range of doubles. */
static void standardise(struct gp_model *model)
{
    double largest = 0.0, sum = 0.0, squares = 0.0, worst = HUGE_VAL, count = 0.0;
    for (size_t k = 0; k < model->n; k++)
        if (trial_of(model, k)->state == TRIAL_OBSERVED)
            largest = fmax(largest, fabs(trial_of(model, k)->value));
    model->unit = largest > 0.0 ? largest : 1.0;
    for (size_t k = 0; k < model->n; k++) {
        model->y[k] = trial_of(model, k)->state == TRIAL_OBSERVED ? trial_of(model, k)->value / model->unit : NAN;
        if (!isnan(model->y[k])) {
            sum += model->y[k];
            count += 1.0;
            worst = fmin(worst, model->y[k]);
        }
    }
    model->centre = sum / count;
    for (size_t k = 0; k < model->n; k++)
        if (!isnan(model->y[k]))
            squares += (model->y[k] - model->centre) * (model->y[k] - model->centre);
    model->spread = sqrt(squares / count);
    if (!(model->spread > 1e-13))
        model->spread = 1.0;
    for (size_t k = 0; k < model->n; k++) {
        double y = isnan(model->y[k]) ? worst : model->y[k], stddev = trial_of(model, k)->stddev;
        model->y[k] = (y - model->centre) / model->spread;
        stddev = stddev / model->unit / model->spread;
        model->noise[k] = fmin(stddev * stddev, NOISE_MAX);
    }
}

enum status gp_model_rows(struct gp_model *model, const struct space *space, const struct trial_log *log,
                          size_t memory_bytes, struct arena *scratch, struct error *err)
{
    *model = (struct gp_model){.space = space, .log = log, .scratch = scratch};
    TRY(select_rows(model, rows_max(memory_bytes, space->dims), err));
    model->X = arena_alloc(scratch, model->n, space->dims * sizeof(double));
    model->y = ARENA_NEW(scratch, double, model->n);
    model->noise = ARENA_NEW(scratch, double, model->n);
    if (model->X == NULL || model->y == NULL || model->noise == NULL)
        return no_memory(err);
    for (size_t k = 0; k < model->n; k++)
        space_encode(space, trial_log_point(log, model->row[k]), model->X + k * space->dims);
    standardise(model);
    return STATUS_OK;
}

enum status gp_model_fit(struct gp_model *model, const struct gp_fit *fit, const double *warm, double *theta,
                         struct error *err)
{
    struct arena_mark mark = arena_mark(model->scratch);
    size_t            dims = model->space->dims, n = model->n < MODEL_FIT_ROWS_MAX ? model->n : MODEL_FIT_ROWS_MAX;
    double           *X = arena_alloc(model->scratch, n, dims * sizeof *X);
    double           *y = ARENA_NEW(model->scratch, double, n), *noise = ARENA_NEW(model->scratch, double, n);
    if (X == NULL || y == NULL || noise == NULL)
        return no_memory(err);
    for (size_t k = 0; k < n; k++) {
        size_t i = k * model->n / n;
        memcpy(X + k * dims, model->X + i * dims, dims * sizeof *X);
        y[k] = model->y[i];
        noise[k] = model->noise[i];
    }
    struct gp_data data = {.n = n, .dims = dims, .X = X, .y = y, .noise = noise};
    TRY(gp_fit_run(fit, &data, warm, theta, model->scratch, err));
    arena_release(model->scratch, mark);
    return STATUS_OK;
}

/* The posterior mean at row k is y_k - N_k alpha_k, N_k all noise of that row: no kernel is evaluated.
 * Keeps the best few, and the best of all. */
static void rank_rows(struct gp_model *model)
{
    double means[MODEL_ANCHORS];
    for (size_t k = 0; k < model->n; k++) {
        const struct gp *gp = &model->gp;
        double           mean = model->y[k] - (gp->noise_variance + gp->noise[k] + gp->jitter) * gp->alpha[k];
        if (trial_of(model, k)->state != TRIAL_OBSERVED)
            continue;
        size_t at = model->anchors_len;
        if (at < MODEL_ANCHORS)
            model->anchors_len++;
        else if (!(mean > means[--at]))
            continue;
        for (; at > 0 && mean > means[at - 1]; at--) {
            means[at] = means[at - 1];
            model->anchors[at] = model->anchors[at - 1];
        }
        means[at] = mean;
        model->anchors[at] = model->row[k];
    }
    model->best = model->anchors_len > 0 ? means[0] : 0.0;
}

/* The most recent MODEL_PENDING_MAX points that wait for a value, or failed. */
static size_t pending_points(const struct gp_model *model, double *U)
{
    const struct trial_log *log = model->log;
    size_t                  m = 0;
    for (size_t i = log->len; i-- > 0 && m < MODEL_PENDING_MAX;)
        if (log->trials[i].state == TRIAL_PENDING || log->trials[i].state == TRIAL_FAILED)
            space_encode(model->space, trial_log_point(log, i), U + m++ * model->space->dims);
    return m;
}

/* A point that makes the factor singular adds nothing and is left out. */
static enum status append_pending(struct gp_model *model, size_t room, struct error *err)
{
    size_t  dims = model->space->dims;
    double *U = arena_alloc(model->scratch, room, dims * sizeof *U);
    double *mean = ARENA_NEW(model->scratch, double, 2 * room);
    if (U == NULL || mean == NULL)
        return no_memory(err);
    size_t m = pending_points(model, U);
    TRY(gp_posterior(&model->gp, U, m, mean, mean + m, model->scratch, err));
    for (size_t i = 0; i < m; i++) {
        if (gp_append(&model->gp, U + i * dims, 0.0, err) == STATUS_NO_MEMORY)
            return STATUS_NO_MEMORY;
        model->best = fmax(model->best, mean[i]);
    }
    return STATUS_OK;
}

enum status gp_model_condition(struct gp_model *model, const struct gp_fit *fit, const double *theta, bool with_pending,
                               struct error *err)
{
    const size_t *count = model->log->count;
    size_t        waiting = with_pending ? count[TRIAL_PENDING] + count[TRIAL_FAILED] : 0;
    double       *length_scales = ARENA_NEW(model->scratch, double, fit->dims), noise_variance;
    struct kernel kernel;
    waiting = waiting < MODEL_PENDING_MAX ? waiting : MODEL_PENDING_MAX;
    if (length_scales == NULL)
        return no_memory(err);
    gp_fit_expand(fit, theta, length_scales, &kernel, &noise_variance);
    TRY(gp_init(&model->gp, model->scratch, &kernel, noise_variance, model->n + waiting, err));
    enum status status = STATUS_NUMERIC;
    for (double noise = noise_variance; status == STATUS_NUMERIC && noise <= 1e4; noise = fmax(100.0 * noise, 1e-6)) {
        model->gp.noise_variance = noise;
        status = gp_set_points(&model->gp, model->X, model->noise, model->n, err);
        if (status == STATUS_OK)
            status = gp_set_values(&model->gp, model->y, err);
    }
    if (status != STATUS_OK)
        return status;
    rank_rows(model);
    return waiting > 0 ? append_pending(model, waiting, err) : STATUS_OK;
}

static double clamp_finite(double x)
{
    return fmin(fmax(x, -DBL_MAX), DBL_MAX);
}

double gp_model_mean(const struct gp_model *model, double mean)
{
    return clamp_finite((model->centre + model->spread * mean) * model->unit);
}

double gp_model_sd(const struct gp_model *model, double sd)
{
    return clamp_finite(model->spread * sd * model->unit);
}
