/* From trials to a Gaussian process. */
#include "engine/surrogate/gp_model.h"

#include "engine/base/numbers.h"
#include "engine/math/mat.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double NOISE_MAX = 1e12; /* of a value with a sd, in units of the spread squared */

void gp_model_groups(const struct space *space, size_t *group_of)
{
    for (size_t i = 0; i < space->params_len; i++) {
        for (size_t j = 0; j < param_width(&space->params[i]); j++)
            *group_of++ = i;
    }
}

/* Rows since the fit beyond which all are factored again, at most a share of the limit; spare rows. */
enum { APPENDED_MAX = 256, APPENDED_SHARE = 8, ROOM = 32 };
/* So many points that wait for a value are appended one by one. */
enum { TOGETHER = 32 };
static const double NEAR_MEAN = 0.5;        /* of the deviation of a pending trial's value */
static const double SPREAD_OF_MEDIAN = 2.0; /* the robust deviation is at most so many distances of the median */

void gp_cache_drop(struct gp_cache *cache)
{
    arena_fini(&cache->arena);
    *cache = (struct gp_cache){.limit_bytes = cache->limit_bytes};
}

/* Pending trials that are taken into account. */
static size_t waiting_of(const struct trial_log *log)
{
    size_t waiting = log->count[LOG_PENDING] + log->count[LOG_FAILED];
    return waiting < MODEL_PENDING_MAX ? waiting : MODEL_PENDING_MAX;
}

static size_t capacity_for(size_t n, size_t waiting)
{
    return n + n / 8 + ROOM + waiting;
}

/* The factor must fit into the cache; 256 columns of a posterior, the inputs and the matrices of a fit into three
 * quarters of the scratch memory. */
static size_t rows_max(const struct gp_model *model, size_t cache_bytes)
{
    double scratch = 0.75 * (double)model->scratch->limit_bytes / sizeof(double), dims = (double)model->space->dims;
    size_t waiting = waiting_of(model->log), n = MODEL_ROWS_MAX + MODEL_ROWS_MAX / 16;
    double capacity, fit;
    do {
        n -= n / 16 + 1;
        capacity = (double)capacity_for(n, waiting) + 8.0;
        fit = fmin((double)n, MODEL_FIT_ROWS_MAX);
    } while (n > 0 && ((capacity + dims + 10.0) * capacity * sizeof(double) > (double)cache_bytes ||
                       (double)n * (300.0 + 3.0 * dims) + 2.0 * fit * fit > scratch));
    size_t limit = model->limit > 0 && model->limit < MODEL_ROWS_MAX ? model->limit : MODEL_ROWS_MAX;
    return n < limit ? n : limit;
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

/* Marks the k of n places with the largest keys among those not marked.  heap [k] scratch. */
static void mark_largest(const double *key, size_t n, size_t k, bool *marked, size_t *heap)
{
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        if (marked[i])
            continue;
        if (len < k) {
            heap[len++] = i;
            for (size_t at = len / 2; len == k && at-- > 0;)
                sift(heap, len, at, key);
        } else if (k > 0 && key[i] > key[heap[0]]) {
            heap[0] = i;
            sift(heap, len, 0, key);
        }
    }
    for (size_t h = 0; h < len; h++)
        marked[heap[h]] = true;
}

/* Infeasible trials come last, and those outside the space. */
static double value_key(const struct trial_log *log, const struct log_trial *trial)
{
    return trial->state == LOG_OBSERVED ? trial_log_worth(log, trial->value) : -HUGE_VAL;
}

/* key[i] := minus the squared distance of the trial at order[i] to the best of them. */
static void key_by_nearness(const struct gp_model *model, const size_t *order, size_t n, double *key, double *u)
{
    const struct trial_log *log = model->log;
    size_t                  dims = model->space->dims, best = 0;
    for (size_t i = 1; i < n; i++)
        if (value_key(log, &log->trials[order[i]]) > value_key(log, &log->trials[order[best]]))
            best = i;
    space_encode(model->space, trial_log_point(log, order[best]), u);
    for (size_t i = 0; i < n; i++) {
        key[i] = 0.0;
        space_encode(model->space, trial_log_point(log, order[i]), u + dims);
        for (size_t j = 0; j < dims; j++)
            key[i] -= (u[dims + j] - u[j]) * (u[dims + j] - u[j]);
    }
}

/* Keeps limit of the first n places of the order, moved to its front in their order. */
static enum status thin(struct gp_model *model, size_t *order, size_t n, size_t limit, struct error *err)
{
    struct arena_mark mark = arena_mark(model->scratch);
    double           *key = ARENA_NEW(model->scratch, double, n);
    double           *u = ARENA_NEW(model->scratch, double, 2 * model->space->dims);
    bool             *marked = arena_zalloc(model->scratch, n, sizeof *marked);
    size_t           *heap = ARENA_NEW(model->scratch, size_t, limit), third = limit / 3;
    if (key == NULL || u == NULL || heap == NULL || marked == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++)
        key[i] = value_key(model->log, &model->log->trials[order[i]]);
    mark_largest(key, n, third, marked, heap);
    for (size_t i = 0; i < n; i++)
        key[i] = (double)i;
    mark_largest(key, n, third, marked, heap);
    key_by_nearness(model, order, n, key, u);
    mark_largest(key, n, limit - 2 * third, marked, heap);
    for (size_t i = 0, k = 0; i < n; i++)
        if (marked[i])
            order[k++] = order[i];
    arena_release(model->scratch, mark);
    return STATUS_OK;
}

static enum status select_rows(struct gp_model *model, size_t fitted, size_t limit, struct error *err)
{
    size_t n = trial_log_finished(model->log);
    model->row = ARENA_NEW(model->scratch, size_t, n);
    if (model->row == NULL || limit == 0)
        return error_no_memory(err);
    trial_log_order(model->log, model->row);
    model->row += model->skipped;
    n -= model->skipped;
    size_t base =
        fitted == 0 || fitted > n || n - fitted > APPENDED_MAX || n - fitted > limit / APPENDED_SHARE ? n : fitted;
    model->n = n;
    model->base = base;
    if (base <= limit)
        return STATUS_OK;
    TRY(thin(model, model->row, base, limit, err));
    memmove(model->row + limit, model->row + base, (n - base) * sizeof *model->row);
    model->base = limit;
    model->n = limit + n - base;
    return STATUS_OK;
}

static const struct log_trial *trial_of(const struct gp_model *model, size_t k)
{
    return &model->log->trials[model->row[k]];
}

/* How many different ones of the sorted values there are twice or more often. */
static size_t repeated(const double *values, size_t len)
{
    size_t count = 0;
    for (size_t i = 1; i < len; i++)
        count += values[i] == values[i - 1] && (i == 1 || values[i - 1] != values[i - 2]);
    return count;
}

/* The standard deviation, or twice the distance of the median from the best where that is less: then a few of the worst
 * make the deviation, and in its units all others would look alike.  values [len > 0] are sorted. */
static double robust_spread(const double *values, size_t len, double deviation)
{
    double distance = SPREAD_OF_MEDIAN * (values[len - 1] - values[len / 2]);
    return distance > 1e-10 * deviation && distance < deviation ? distance : deviation;
}

bool gp_model_is_doubted(const struct gp_model *model, size_t k)
{
    const struct log_trial *trial = trial_of(model, k);
    return trial->state == LOG_OBSERVED && (trial->value > model->above || trial->value < model->below);
}

static bool is_counted(const struct gp_model *model, size_t k)
{
    return log_trial_has_value(trial_of(model, k)) && !gp_model_is_doubted(model, k);
}

/* The limits of all values.  A single value too far below all others says nothing of its neighbours: it is in doubt, and its
 * point to be measured again, until there is another. */
static void find_limits(struct gp_model *model)
{
    size_t len = 0, beyond = 0, last = 0;
    for (size_t k = 0; k < model->n; k++)
        if (is_counted(model, k))
            model->z[len++] = trial_log_worth(model->log, trial_of(model, k)->value); /* not in use yet */
    model->limits = value_limits(model->z, len);
    for (size_t k = 0; k < model->n; k++)
        if (trial_log_worth(model->log, trial_of(model, k)->value) < model->limits.low && is_counted(model, k)) {
            beyond++;
            last = model->row[k];
        }
    const struct log_trial *alone = &model->log->trials[last];
    if (!model->doubts || beyond != 1 || alone->state != LOG_OBSERVED || !(alone->value < model->limits.wrong))
        return;
    model->below = model->limits.low;
    if (model->again == model->log->len && trial_log_is_alone(model->log, last))
        model->again = last;
}

double gp_model_limited(const struct gp_model *model, double value)
{
    const struct band *band = model->log->band;
    if (band == NULL)
        return fmin(fmax(value, model->limits.low), model->limits.high);
    return fmin(fmax(value, band->low + model->limits.low), band->high - model->limits.low);
}

static double value_at(const struct gp_model *model, size_t k)
{
    return gp_model_limited(model, trial_of(model, k)->value);
}

/* From the observed of the base (of all, when none of the base is), unit first, so that neither huge nor tiny values
 * leave the range of doubles.  *worst: of all rows, in units. */
static void find_units(struct gp_model *model, double *worst)
{
    double largest = 0.0, sum = 0.0, squares = 0.0, count = 0.0;
    size_t n = model->base, len = 0;
    for (size_t k = 0; k < model->n; k++)
        if (is_counted(model, k))
            largest = fmax(largest, fabs(value_at(model, k)));
    model->unit = largest > 0.0 ? largest : 1.0;
    *worst = HUGE_VAL;
    for (size_t k = 0; k < model->n; k++) {
        bool is_observed = is_counted(model, k);
        model->y[k] = is_observed ? value_at(model, k) / model->unit : NAN;
        *worst = is_observed ? fmin(*worst, model->y[k]) : *worst;
        n = k == n && count == 0.0 ? model->n : n;
        sum += is_observed && k < n ? model->y[k] : 0.0;
        count += is_observed && k < n ? 1.0 : 0.0;
    }
    model->centre = sum / count;
    for (size_t k = 0; k < n; k++)
        if (!isnan(model->y[k])) {
            squares += (model->y[k] - model->centre) * (model->y[k] - model->centre);
            model->z[len++] =
                model->log->band == NULL ? model->y[k] : trial_log_worth(model->log, value_at(model, k)) / model->unit;
        }
    model->spread = len == 0 ? 0.0 : sqrt(squares / count); /* 0: none is a number */
    qsort(model->z, len, sizeof *model->z, numbers_order);
    if (len > 0 && (model->is_robust || repeated(model->z, len) == 1)) /* a single one: of penalties */
        model->spread = robust_spread(model->z, len, model->spread);
    if (!(model->spread > 1e-13))
        model->spread = 1.0;
}

static void standardise(struct gp_model *model)
{
    double worst;
    find_limits(model);
    find_units(model, &worst);
    for (size_t k = 0; k < model->n; k++) {
        double y = isnan(model->y[k]) ? worst : model->y[k], sd = trial_of(model, k)->sd;
        model->y[k] = (y - model->centre) / model->spread;
        sd = sd / model->unit / model->spread;
        model->noise[k] = gp_model_is_doubted(model, k) ? NOISE_MAX : fmin(sd * sd, NOISE_MAX);
    }
}

enum status gp_model_rows(struct gp_model *model, size_t fitted, struct error *err)
{
    struct arena *scratch = model->scratch;
    size_t        dims = model->space->dims;
    model->above = HUGE_VAL;
    model->below = -HUGE_VAL;
    model->again = model->log->len;
    if (model->doubts)
        TRY(trial_log_doubts(model->log, scratch, &model->above, &model->again, err));
    TRY(select_rows(model, fitted, rows_max(model, model->cache->limit_bytes), err));
    model->X = arena_alloc(scratch, model->n, dims * sizeof(double));
    model->y = ARENA_NEW(scratch, double, model->n);
    model->noise = ARENA_NEW(scratch, double, model->n);
    model->z = ARENA_NEW(scratch, double, model->n);
    model->warped_noise = ARENA_NEW(scratch, double, model->n);
    if (model->X == NULL || model->y == NULL || model->noise == NULL || model->z == NULL || model->warped_noise == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < model->n; k++)
        space_encode(model->space, trial_log_point(model->log, model->row[k]), model->X + k * dims);
    standardise(model);
    return STATUS_OK;
}

/* The rows of the base that a fit looks at, in scratch memory. */
static enum status fit_data(struct gp_model *model, struct gp_data *data, struct error *err)
{
    struct arena *scratch = model->scratch;
    size_t        dims = model->space->dims, n = model->base < MODEL_FIT_ROWS_MAX ? model->base : MODEL_FIT_ROWS_MAX;
    double       *X = arena_alloc(scratch, n, dims * sizeof *X), *y = ARENA_NEW(scratch, double, n);
    double       *noise = ARENA_NEW(scratch, double, n), *trend = ARENA_NEW(scratch, double, n);
    if (X == NULL || y == NULL || noise == NULL || trend == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < n; k++) {
        size_t i = k * model->base / n;
        memcpy(X + k * dims, model->X + i * dims, dims * sizeof *X);
        y[k] = model->y[i];
        noise[k] = model->noise[i];
        trend[k] = model->trend == NULL ? 0.0 : model->trend[model->row[i]];
    }
    *data = (struct gp_data){
        .n = n, .dims = dims, .X = X, .y = y, .noise = noise, .trend = model->trend == NULL ? NULL : trend};
    return STATUS_OK;
}

enum status gp_model_fit(struct gp_model *model, const struct gp_fit *fit, const double *warm, double *theta,
                         struct error *err)
{
    struct arena_mark mark = arena_mark(model->scratch);
    struct gp_data    data;
    TRY(fit_data(model, &data, err));
    TRY(gp_fit_run(fit, &data, warm, theta, model->scratch, err));
    arena_release(model->scratch, mark);
    return STATUS_OK;
}

enum status gp_model_likelihood(struct gp_model *model, const struct gp_fit *fit, const double *theta, double *value,
                                struct error *err)
{
    struct arena_mark mark = arena_mark(model->scratch);
    struct gp_data    data;
    TRY(fit_data(model, &data, err));
    TRY(gp_fit_value(fit, &data, theta, value, model->scratch, err));
    arena_release(model->scratch, mark);
    return STATUS_OK;
}

void gp_anchors_keep(struct gp_anchors *anchors, size_t place, double key)
{
    size_t at = anchors->len;
    if (at < MODEL_ANCHORS)
        anchors->len++;
    else if (!(key > anchors->key[--at]))
        return;
    for (; at > 0 && key > anchors->key[at - 1]; at--) {
        anchors->key[at] = anchors->key[at - 1];
        anchors->place[at] = anchors->place[at - 1];
    }
    anchors->key[at] = key;
    anchors->place[at] = place;
}

double gp_model_standard(const struct gp_model *model, double value)
{
    return warp_value(&model->warp, (value / model->unit - model->centre) / model->spread);
}

double gp_model_noise_at(const struct gp_model *model, size_t k)
{
    const struct gp *gp = model->gp;
    return gp->noise_variance + gp->noise[k] + gp->jitter;
}

/* K alpha = z - N alpha with N the diagonal of all noise. */
double gp_model_mean_at(const struct gp_model *model, size_t k)
{
    return model->z[k] - gp_model_noise_at(model, k) * model->gp->alpha[k];
}

/* Once a value lies in the band, the next ones are to come close to its middle: nothing else is left to gain. */
static void set_band(struct gp_model *model)
{
    const struct band *band = model->log->band;
    model->band = (struct band){NAN, NAN};
    if (band == NULL)
        return;
    model->band.low = gp_model_standard(model, band->low);
    model->band.high = gp_model_standard(model, band->high);
    for (size_t k = 0; k < model->n; k++)
        if (trial_of(model, k)->state == LOG_OBSERVED && gp_model_worth(model, gp_model_mean_at(model, k)) == 0.0)
            model->band.low = model->band.high = gp_model_standard(model, 0.5 * band->low + 0.5 * band->high);
}

static void rank_rows(struct gp_model *model)
{
    set_band(model);
    for (size_t k = 0; k < model->n; k++)
        if (trial_of(model, k)->state == LOG_OBSERVED)
            gp_anchors_keep(&model->anchors, model->row[k], gp_model_worth(model, gp_model_mean_at(model, k)));
    model->best = model->anchors.len > 0 ? model->anchors.key[0] : 0.0;
}

/* The most recent MODEL_PENDING_MAX points that wait for a value or failed: of these, those in a state. */
static size_t points_in(const struct gp_model *model, enum log_state state, double *U)
{
    const struct trial_log *log = model->log;
    size_t                  m = 0, taken = 0;
    for (size_t i = log->len; i-- > 0 && taken < MODEL_PENDING_MAX;) {
        taken += log->trials[i].state == LOG_PENDING || log->trials[i].state == LOG_FAILED;
        if (log->trials[i].state == state)
            space_encode(model->space, trial_log_point(log, i), U + m++ * model->space->dims);
    }
    return m;
}

/* U [m][dims].  A point that makes the factor singular adds nothing and is left out. */
static enum status append_each(struct gp_model *model, struct points U, bool is_exact, struct error *err)
{
    for (size_t i = 0; i < U.n; i++, U.at += model->space->dims)
        if ((is_exact ? gp_append_exact(model->gp, U.at, err) : gp_append(model->gp, U.at, 0.0, err)) ==
            STATUS_NO_MEMORY)
            return STATUS_NO_MEMORY;
    return STATUS_OK;
}

static enum status append_all(struct gp_model *model, const double *U, size_t m, bool is_exact, struct error *err)
{
    for (size_t from = 0; from < m; from += GP_CHUNK) {
        struct points points = {U + from * model->space->dims, m - from < GP_CHUNK ? m - from : GP_CHUNK};
        if (points.n <= TOGETHER || gp_append_many(model->gp, points, is_exact, model->scratch, err) != STATUS_OK)
            TRY(append_each(model, points, is_exact, err));
    }
    return STATUS_OK;
}

static enum status append_failed(struct gp_model *model, double *U, size_t room, struct error *err)
{
    double *mean = ARENA_NEW(model->scratch, double, 2 * room);
    size_t  m = points_in(model, LOG_FAILED, U);
    if (mean == NULL)
        return error_no_memory(err);
    TRY(gp_posterior(model->gp, (struct points){U, m}, mean, mean + m, model->scratch, err));
    for (size_t i = 0; i < m; i++)
        model->best = fmax(model->best, gp_model_worth(model, mean[i]));
    return append_all(model, U, m, false, err);
}

/* With beta = L^-1 y the values are y = L beta: what is known fixes the first of beta, those of failed trials are 0 as
 * their values are the mean, and to draw a value is to draw its beta from N(0, 1), or nearer to the mean. */
static enum status append_pending(struct gp_model *model, double *U, struct rng *rng, struct error *err)
{
    struct gp   *gp = model->gp;
    const double sd = model->near_mean ? NEAR_MEAN : 1;
    TRY(append_all(model, U, points_in(model, LOG_PENDING, U), true, err));
    double *beta = arena_zalloc(model->scratch, gp->n, sizeof *beta);
    model->alpha = ARENA_NEW(model->scratch, double, model->settled);
    if (beta == NULL || model->alpha == NULL)
        return error_no_memory(err);
    memcpy(model->alpha, gp->alpha, model->settled * sizeof *model->alpha);
    memcpy(beta, model->z, model->n * sizeof *beta);
    mat_solve_lower(gp->L, model->n, gp->capacity, beta);
    for (size_t i = model->settled; i < gp->n; i++) {
        beta[i] = sd * rng_normal(rng);
        model->best = fmax(model->best, gp_model_worth(model, mat_dot(gp->L + i * gp->capacity, beta, i + 1)));
    }
    memcpy(gp->alpha, beta, gp->n * sizeof *beta);
    mat_solve_upper(gp->L, gp->n, gp->capacity, gp->alpha);
    return STATUS_OK;
}

static enum status append_waiting(struct gp_model *model, size_t room, struct rng *pending, struct error *err)
{
    double *U = arena_alloc(model->scratch, room, model->space->dims * sizeof *U);
    if (U == NULL)
        return error_no_memory(err);
    if (model->log->count[LOG_FAILED] > 0)
        TRY(append_failed(model, U, room, err));
    model->settled = model->gp->n;
    model->alpha = model->gp->alpha;
    return model->log->count[LOG_PENDING] > 0 ? append_pending(model, U, pending, err) : STATUS_OK;
}

struct gp gp_model_settled(const struct gp_model *model)
{
    struct gp gp = *model->gp;
    gp.n = model->settled;
    gp.alpha = model->alpha;
    return gp;
}

/* True if the cache holds the beginning of these rows under the same hyper-parameters. */
static bool cache_fits(const struct gp_cache *cache, const struct gp_model *model, const struct kernel *kernel,
                       double noise_variance)
{
    const struct gp *gp = &cache->gp;
    size_t           rows = cache->rows, dims = kernel->dims;
    return rows > 0 && rows <= model->n && cache->base == model->base && cache->noise == noise_variance &&
           capacity_for(0, waiting_of(model->log)) - ROOM + model->n <= gp->capacity &&
           gp->kernel.kind == kernel->kind && gp->kernel.variance == kernel->variance &&
           memcmp(gp->kernel.length_scales, kernel->length_scales, dims * sizeof(double)) == 0 &&
           memcmp(gp->X, model->X, rows * dims * sizeof(double)) == 0 &&
           memcmp(gp->noise, model->warped_noise, rows * sizeof(double)) == 0;
}

/* Factors the first n rows at once. */
static enum status factor(struct gp_cache *cache, const struct gp_model *model, size_t n, struct error *err)
{
    cache->gp.noise_variance = cache->noise;
    enum status status = gp_set_points_raised(&cache->gp, model->X, model->warped_noise, n, err);
    cache->rows = status == STATUS_OK ? n : 0;
    return status;
}

/* Brings the cache up to the model's rows; when a row cannot be appended, all up to it are factored at once. */
static enum status extend(struct gp_cache *cache, const struct gp_model *model, struct error *err)
{
    size_t dims = model->space->dims;
    gp_truncate(&cache->gp, cache->rows);
    while (cache->rows < model->n) {
        size_t      k = cache->rows;
        enum status status = gp_append(&cache->gp, model->X + k * dims, model->warped_noise[k], err);
        if (status == STATUS_NUMERIC)
            status = factor(cache, model, k + 1, err);
        if (status != STATUS_OK)
            return status;
        cache->rows = k + 1;
    }
    return STATUS_OK;
}

static enum status refresh(struct gp_cache *cache, const struct gp_model *model, const struct kernel *kernel,
                           double noise_variance, struct error *err)
{
    if (!cache_fits(cache, model, kernel, noise_variance)) {
        size_t room = capacity_for(model->n, waiting_of(model->log));
        gp_cache_drop(cache);
        arena_init(&cache->arena, cache->limit_bytes);
        TRY(gp_init(&cache->gp, &cache->arena, kernel, noise_variance, room, err));
        cache->base = model->base;
        cache->noise = noise_variance;
        TRY(factor(cache, model, model->base, err));
    }
    return extend(cache, model, err);
}

void gp_model_warp(struct gp_model *model, double log_a)
{
    warp_make(&model->warp, model->y, model->base, log_a);
    for (size_t k = 0; k < model->n; k++) {
        double slope = warp_slope(&model->warp, model->y[k]);
        model->z[k] = warp_value(&model->warp, model->y[k]);
        model->warped_noise[k] = model->noise[k] * slope * slope;
    }
}

enum status gp_model_condition(struct gp_model *model, const struct gp_fit *fit, const double *theta,
                               struct rng *pending, struct error *err)
{
    double       *length_scales = ARENA_NEW(model->scratch, double, fit->dims), noise_variance;
    size_t        waiting = pending != NULL ? waiting_of(model->log) : 0;
    struct kernel kernel;
    if (length_scales == NULL)
        return error_no_memory(err);
    gp_model_warp(model, theta[fit->groups + 2]);
    gp_fit_expand(fit, theta, length_scales, &kernel, &noise_variance);
    TRY(refresh(model->cache, model, &kernel, noise_variance, err));
    model->gp = &model->cache->gp;
    TRY(gp_set_values(model->gp, model->z, err));
    rank_rows(model);
    model->settled = model->gp->n;
    model->alpha = model->gp->alpha;
    return waiting > 0 ? append_waiting(model, waiting, pending, err) : STATUS_OK;
}

static double clamp_finite(double x)
{
    return fmin(fmax(x, -DBL_MAX), DBL_MAX);
}

void gp_model_units(const struct gp_model *model, double *mean, double *sd, double *observed)
{
    double y = fmax(warp_inverse(&model->warp, *mean), -DBL_MAX), slope = warp_slope(&model->warp, y);
    double all = sqrt(*sd * *sd + model->gp->noise_variance);
    *mean = clamp_finite((model->centre + model->spread * y) * model->unit);
    *sd = clamp_finite(model->spread * (*sd / slope) * model->unit);
    if (observed != NULL)
        *observed = clamp_finite(model->spread * (all / slope) * model->unit);
}
