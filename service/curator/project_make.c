/* See project.h.  Three ways: noise on a lattice, counts of public cells (project_tree.c), and the bare projection of the
 * thesis. */
#include "service/base/npy.h"
#include "service/curator/project.h"
#include "service/base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AUTO_DIMS_MAX = 64, AUTO_PROJECTED_DIMS = 10, DIMS_MAX = 1024 };

static enum status usage(struct error *err, const char *text)
{
    return error_set(err, STATUS_INVALID, "usage", "", "%s", text);
}

static bool is_gaussian(enum mechanism_kind kind)
{
    return kind == MECHANISM_DISCRETE_GAUSSIAN || kind == MECHANISM_PROJECTED_GAUSSIAN;
}

/* Planning. */

/* A list of the options into the manifest's array; NULL: nothing is read. */
static enum status read_reals(struct project_job *job, const char *flag, const char *list, double *out,
                              struct error *err)
{
    double *values = NULL;
    if (list == NULL)
        return STATUS_OK;
    if (job->table.d > MANIFEST_COLUMNS_MAX)
        return usage(err, "at most 1024 columns can be released");
    TRY(release_io_numbers(flag, list, job->table.d, &job->arena, &values, err));
    memcpy(out, values, job->table.d * sizeof *out);
    return STATUS_OK;
}

/* Takes the declaration of each column.  The names are those of the table. */
static void take_relation(struct project_job *job)
{
    struct release_manifest *m = &job->manifest;
    for (size_t j = 0; j < job->table.d; j++) {
        const struct relation_column *column = account_column(&job->before, job->table.names[j]);
        m->protect[j] = column->move;
        m->low[j] = column->low;
        m->high[j] = column->high;
    }
}

/* Noise on a row hides any change of it only if it hides the row: counts are released in its place. */
static void choose_mechanism(struct mechanism *m, const double *protect)
{
    bool is_any = m->kind == MECHANISM_AUTO && m->columns <= QUADTREE_COLUMNS_MAX;
    for (size_t j = 0; j < m->columns && is_any; j++)
        is_any = isinf(protect[j]);
    m->kind = is_any ? MECHANISM_QUADTREE : m->kind;
}

/* By default the scale follows the relation: length-scales like the protected moves, so that the noise hides each column
 * as well as another, and a ball that holds the whole region, so that it clips nothing.  Of a tree: the region's box. */
static enum status choose_scale(struct project_job *job, struct error *err)
{
    static const double           ROOM = 1 + 0x1p-30; /* so that no rounding puts a corner outside */
    const struct project_options *options = job->options;
    struct release_manifest      *m = &job->manifest;
    bool                          is_box = mechanism_is_partition(m->mechanism.kind);
    double                        reach = 0;
    for (size_t j = 0; j < job->table.d; j++) {
        double width = m->high[j] - m->low[j];
        m->centre[j] = m->low[j] + width / 2;
        m->length_scales[j] = is_box ? width / 8 : fmin(m->protect[j], width);
    }
    TRY(read_reals(job, "centre", options->centre, m->centre, err));
    TRY(read_reals(job, "length-scales", options->length_scales, m->length_scales, err));
    for (size_t j = 0; j < job->table.d; j++) {
        if (!(m->length_scales[j] > 0))
            return usage(err, "--length-scales takes positive numbers");
        double far = fmax(fabs(m->high[j] - m->centre[j]), fabs(m->low[j] - m->centre[j])) / m->length_scales[j];
        reach = is_box ? fmax(reach, far) : hypot(reach, far);
    }
    m->radius = options->radius > 0 ? options->radius : reach * ROOM;
    return STATUS_OK;
}

/* 0 for "auto". */
static enum status read_dims(const struct project_job *job, size_t *dims, struct error *err)
{
    char *end = NULL;
    long  number = strtol(job->options->dims, &end, 10);
    *dims = 0;
    if (strcmp(job->options->dims, "auto") == 0)
        return STATUS_OK;
    if (end == job->options->dims || *end != '\0' || number < 1 || number > DIMS_MAX)
        return usage(err, "--dims takes a number in 1..1024, or auto");
    *dims = (size_t)number;
    return STATUS_OK;
}

/* Plans the answer for a row that cannot be measured: the worst possible value, for a study that maximises. */
static enum status plan_default(struct project_job *job, struct error *err)
{
    const struct project_options   *options = job->options;
    const struct mechanism_outcome *outcomes = &job->manifest.outcomes;
    double                         *value = NULL;
    job->manifest.outcome_default = outcomes->low;
    if (!manifest_is_outcome_name(options->y_name))
        return usage(err, "--y-name takes 1 to 32 letters, digits, _ and -");
    snprintf(job->manifest.outcome_name, sizeof job->manifest.outcome_name, "%s", options->y_name);
    if (options->y_default == NULL)
        return STATUS_OK;
    TRY(release_io_numbers("y-default", options->y_default, 1, &job->arena, &value, err));
    job->manifest.outcome_default = *value;
    return *value >= outcomes->low && *value <= outcomes->high ? STATUS_OK
                                                               : usage(err, "--y-default is outside of --y-range");
}

static enum status plan_outcomes(struct project_job *job, struct error *err)
{
    const struct project_options *options = job->options;
    struct mechanism_outcome     *outcomes = &job->manifest.outcomes;
    double                       *range = NULL;
    bool                          has_epsilon = options->y_epsilon > 0, has_range = options->y_range != NULL;
    if (!has_epsilon && !has_range)
        return STATUS_OK;
    if (!has_epsilon || !has_range)
        return usage(err, "private outcomes need both --y-range and --y-epsilon");
    TRY(release_io_numbers("y-range", options->y_range, 2, &job->arena, &range, err));
    *outcomes = (struct mechanism_outcome){.low = range[0], .high = range[1], .epsilon = options->y_epsilon};
    outcomes->sensitivity = options->y_sensitivity > 0 ? options->y_sensitivity : (double)NAN;
    if (mechanism_is_partition(job->manifest.mechanism.kind) && options->y_sensitivity > 0)
        return usage(err, "--y-sensitivity is for a change of a row that is limited, and a quadtree protects any");
    job->manifest.has_outcomes = true;
    return plan_default(job, err);
}

static enum status plan_guaranteed(struct project_job *job, size_t dims, struct error *err)
{
    const struct project_options *options = job->options;
    struct mechanism             *m = &job->manifest.mechanism;
    size_t                        n = job->table.n, d = job->table.d;
    *m = (struct mechanism){.kind = mechanism_find(options->mechanism),
                            .epsilon = options->epsilon,
                            .delta = options->delta,
                            .rows = n,
                            .columns = d,
                            .dims = dims,
                            .keeps_axes = strcmp(options->rotate, "no") == 0};
    job->manifest.differentially_private = true;
    take_relation(job);
    choose_mechanism(m, job->manifest.protect);
    TRY(choose_scale(job, err));
    if (is_gaussian(m->kind) && m->delta <= 0)
        m->delta = job->before.budget_delta;
    if (m->delta > job->before.budget_delta)
        return error_set(err, STATUS_INVALID, "bad_delta", "", "--delta is above the budget's delta, %g",
                         job->before.budget_delta);
    if (m->kind == MECHANISM_PROJECTED_GAUSSIAN && dims == 0)
        m->dims = d < AUTO_PROJECTED_DIMS ? d : AUTO_PROJECTED_DIMS;
    if (m->kind != MECHANISM_PROJECTED_GAUSSIAN && dims > d)
        m->dims = d;
    job->manifest.tree.rows = n;
    TRY(plan_outcomes(job, err));
    return manifest_plan(&job->manifest, err);
}

static enum status plan_projection(struct project_job *job, size_t dims, struct error *err)
{
    const struct project_options *options = job->options;
    if (!options->no_guarantee)
        return error_set(
            err, STATUS_INVALID, "no_consent", "",
            "projection-only has no differential privacy: whoever knows a few rows can compute all others. "
            "If that is acceptable, say --no-guarantee");
    if (options->y_range != NULL || options->y_epsilon > 0)
        return usage(err, "private outcomes need a mechanism with a guarantee");
    if (job->table.n <= job->table.d)
        return error_set(err, STATUS_INVALID, "too_few_rows", "", "%zu rows for %zu columns: more rows are needed",
                         job->table.n, job->table.d);
    job->manifest.projection = (struct projection){.epsilon = options->epsilon, .delta = options->delta, .dims = dims};
    TRY(read_reals(job, "length-scales", options->length_scales, job->manifest.length_scales, err));
    if (!(options->delta > 0))
        return usage(err, "projection-only needs --delta for its threshold, for example 1e-3");
    return STATUS_OK;
}

enum status project_plan(struct project_job *job, struct error *err)
{
    size_t dims = 0;
    TRY(read_dims(job, &dims, err));
    if (strcmp(job->options->mechanism, MANIFEST_PROJECTION_ONLY) == 0)
        return plan_projection(job, dims, err);
    if (job->options->no_guarantee)
        return usage(err, "--no-guarantee belongs to --mechanism projection-only");
    return plan_guaranteed(job, dims, err);
}

/* Making. */

static struct release_scale scale_of(const struct project_job *job)
{
    const struct release_manifest *m = &job->manifest;
    return (struct release_scale){
        .centre = m->centre, .length_scales = m->length_scales, .radius = m->radius, .low = m->low, .high = m->high};
}

size_t project_count_clipped(const struct project_job *job)
{
    const struct release_manifest *m = &job->manifest;
    size_t                         d = job->table.d, clipped = 0;
    bool                           is_box = mechanism_is_partition(m->mechanism.kind);
    for (size_t i = 0; i < job->table.n; i++) {
        double norm = 0;
        bool   is_outside = false;
        for (size_t j = 0; j < d; j++) {
            double x = job->table.rows[i * d + j], far = fabs(x - m->centre[j]) / (m->length_scales[j] * m->radius);
            is_outside = is_outside || x < m->low[j] || x > m->high[j];
            norm = is_box ? fmax(norm, far) : hypot(norm, far);
        }
        clipped += is_outside || norm > 1;
    }
    return clipped;
}

bool project_may_clip(const struct project_job *job)
{
    static const double ACCEPTED = 0.001;
    return job->options->accept_clipping || (double)job->clipped <= ACCEPTED * (double)job->table.n;
}

static struct release release_of(const struct project_job *job)
{
    return (struct release){.mechanism = job->manifest.mechanism, .scale = scale_of(job), .indices = job->indices};
}

static enum status make_noisy(struct project_job *job, struct sampler *sampler, struct error *err)
{
    size_t  n = job->table.n, p = job->manifest.mechanism.dims;
    size_t *order = ARENA_NEW(&job->arena, size_t, n);
    job->indices = ARENA_NEW(&job->arena, int64_t, n * p);
    if (order == NULL || job->indices == NULL)
        return error_no_memory(err);
    struct release release = release_of(job);
    release.order = order;
    TRY(release_make(&release, job->table.rows, sampler, &job->arena, err));
    for (size_t i = 0; i < n; i++)
        job->secret.rows[i] = (uint32_t)order[i];
    sign_wipe(order, n * sizeof *order);
    job->secret.len = n;
    job->manifest.rows = (int64_t)n;
    return STATUS_OK;
}

/* Guaranteed, either way. */
static enum status make_guaranteed(struct project_job *job, struct error *err)
{
    struct sampler sampler;
    sampler_init(&sampler, random_draw, NULL);
    enum status status = job->manifest.mechanism.kind == MECHANISM_QUADTREE ? project_tree_make(job, &sampler, err)
                                                                            : make_noisy(job, &sampler, err);
    sampler_wipe(&sampler);
    sign_wipe(&sampler, sizeof sampler);
    if (status != STATUS_OK)
        return status;
    job->manifest.columns = (int64_t)job->manifest.mechanism.dims;
    size_t count = (size_t)job->manifest.rows * (size_t)job->manifest.columns;
    job->manifest.dtype = release_fits_int32(job->indices, count) ? NPY_I4 : NPY_I8;
    return STATUS_OK;
}

/* Rows in a secret order, for the projection. */
static enum status shuffle_rows(struct project_job *job, double **out, struct error *err)
{
    size_t  n = job->table.n, d = job->table.d;
    double *X = *out = ARENA_NEW(&job->arena, double, n *d);
    if (X == NULL)
        return error_no_memory(err);
    TRY(random_permutation(job->secret.rows, n, err));
    job->secret.len = n;
    for (size_t i = 0; i < n; i++)
        memcpy(X + i * d, job->table.rows + job->secret.rows[i] * d, d * sizeof *X);
    for (size_t j = 0; j < d; j++) {
        size_t i = 1;
        while (i < n && X[i * d + j] == X[j])
            i++;
        if (i == n)
            return error_set(err, STATUS_INVALID, "constant_column", "",
                             "column \"%.100s\" has the same value in every row", job->table.names[j]);
    }
    return projection_prepare(X, n, d, job->options->length_scales != NULL ? job->manifest.length_scales : NULL,
                              &job->secret.scale, err);
}

static enum status project(struct project_job *job, const double *X, size_t dims, struct error *err)
{
    size_t             n = job->table.n, d = job->table.d;
    double            *copy = ARENA_NEW(&job->arena, double, n *d);
    struct projection *p = &job->manifest.projection;
    job->normals = ARENA_NEW(&job->arena, double, d *dims);
    job->values = ARENA_NEW(&job->arena, double, n *dims);
    if (copy == NULL || job->normals == NULL || job->values == NULL)
        return error_no_memory(err);
    memcpy(copy, X, n * d * sizeof *copy);
    TRY(random_normals(job->normals, d * dims, err));
    p->dims = dims;
    enum status status = projection_apply(p, (struct projection_rows){.X = copy, .n = n, .d = d}, job->normals,
                                          job->values, &job->arena, err);
    sign_wipe(copy, n * d * sizeof *copy);
    return status;
}

/* Columns of the projection have a mean of 0 up to rounding; this takes the rounding off too. */
static void centre_columns(double *Z, size_t n, size_t r)
{
    for (size_t j = 0; j < r; j++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += Z[i * r + j];
        for (size_t i = 0; i < n; i++)
            Z[i * r + j] -= sum / (double)n;
    }
}

/* With "auto", a first projection to one column measures the smallest singular value.  More columns than the data have
 * would depend on each other. */
static enum status make_projection(struct project_job *job, struct error *err)
{
    struct projection *p = &job->manifest.projection;
    double            *X = NULL;
    size_t             dims = p->dims, limit = job->table.d < AUTO_DIMS_MAX ? job->table.d : AUTO_DIMS_MAX;
    TRY(shuffle_rows(job, &X, err));
    if (dims == 0) {
        struct arena_mark mark = arena_mark(&job->arena);
        TRY(project(job, X, 1, err));
        arena_release(&job->arena, mark);
        dims = projection_advise(p->epsilon, p->delta, p->sigma_min, limit);
        if (dims == 0)
            return error_set(err, STATUS_INVALID, "no_dims", "",
                             "the smallest singular value %.4g is below omega(1) = %.4g: no number of columns avoids "
                             "lifting; raise --epsilon or give --dims",
                             p->sigma_min, projection_omega(p->epsilon, p->delta, 1));
    }
    enum status status = project(job, X, dims, err);
    sign_wipe(X, job->table.n * job->table.d * sizeof *X);
    if (status != STATUS_OK)
        return status;
    centre_columns(job->values, job->table.n, dims);
    job->manifest.rows = (int64_t)job->table.n;
    job->manifest.columns = (int64_t)dims;
    job->manifest.mechanism.columns = job->table.d;
    job->manifest.dtype = NPY_F8;
    return STATUS_OK;
}

enum status project_make(struct project_job *job, struct error *err)
{
    job->secret.data_rows = job->table.n;
    job->secret.rows = ARENA_NEW(&job->arena, uint32_t, job->table.n); /* no release has more candidates */
    if (job->secret.rows == NULL)
        return error_no_memory(err);
    return job->manifest.differentially_private ? make_guaranteed(job, err) : make_projection(job, err);
}

void project_wipe(struct project_job *job)
{
    size_t d = job->table.d;
    release_io_wipe(&job->table, &job->csv);
    if (job->secret.rows != NULL)
        sign_wipe(job->secret.rows, job->table.n * sizeof *job->secret.rows);
    if (job->normals != NULL)
        sign_wipe(job->normals, d * job->manifest.projection.dims * sizeof *job->normals);
}
