/* gnomon audit: attacks a release with everything that its curator knows, and says what the attacks prove.
 * Offline; reads only.  An attack that succeeds beyond a guarantee's bound is a fault of this program: exit code 1.
 * An attack that fails proves nothing: the guarantee rests on the proof in engine/privacy/release.h. */
#include "engine/privacy/audit.h"
#include "engine/math/mat.h"
#include "service/cli/command.h"
#include "service/base/csv.h"
#include "service/base/random.h"
#include "service/curator/release_io.h"
#include "service/curator/secret.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct audit_options {
    const char *matrix, *manifest, *data, *columns, *secret;
};

#define OPTION(name, what, member) OPTION_OF(struct audit_options, name, what, member)
static const struct options_row options_table[] = {
    {OPTION("matrix", "FILE.npy", matrix), .is_required = true, .help = "the released matrix"},
    {OPTION("manifest", "FILE", manifest),
     .help = "the matrix's manifest; by default the file beside the matrix that ends in .json"},
    {OPTION("data", "FILE", data), .is_required = true, .help = "the raw rows, CSV"},
    {OPTION("columns", "a,b,c", columns), .is_required = true,
     .help = "the columns that were released, in the same order"},
    {OPTION("secret", "FILE", secret), .is_required = true, .help = "the secret file: which row is which"},
    {.flag = NULL},
};

/* All arrays live in the arena. */
struct job {
    const struct audit_options *options;
    struct arena                arena;
    struct csv_table            csv;
    struct release_table        table;
    struct release_manifest     manifest;
    struct release_matrix       matrix;
    struct secret               secret;
    char                       *manifest_text;
    double                     *X; /* [rows][d], scaled, in the order of the matrix */
    bool                        is_broken;
};

static double bound_of(const struct job *job)
{
    return audit_success_bound(job->manifest.mechanism.epsilon, job->manifest.mechanism.delta);
}

static void judge(struct job *job, bool is_beyond)
{
    bool has_guarantee = job->manifest.differentially_private;
    job->is_broken |= is_beyond && has_guarantee;
    printf("  %s\n", !has_guarantee ? "(there is no guarantee that this could contradict)"
                     : is_beyond    ? "BEYOND THE GUARANTEE: do not use this release, and report the fault"
                                    : "within the guarantee");
}

/* A raw move as one of scaled space, at most as long as a row can go. */
static double scaled_move(const struct release_manifest *m, size_t c)
{
    double unit = MECHANISM_NORM / (m->length_scales[c] * m->radius);
    return unit * fmin(m->protect[c], m->high[c] - m->low[c]);
}

/* The length of a move that is protected whatever its direction. */
static double shortest_move(const struct release_manifest *m)
{
    double least = m->mechanism.distance;
    for (size_t c = 0; c < m->mechanism.columns; c++)
        least = fmin(least, scaled_move(m, c));
    return least;
}

/* X: the rows as the mechanism saw them, public scale and clipping included. */
static enum status arrange_rows(struct job *job, struct error *err)
{
    const struct secret *secret = &job->secret;
    size_t               d = job->table.d, n = secret->len;
    bool                 is_private = job->manifest.differentially_private;
    job->X = ARENA_NEW(&job->arena, double, n *d);
    if (job->X == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        double *x = job->X + i * d, square = 0;
        for (size_t j = 0; j < d; j++) {
            double unit = is_private ? MECHANISM_NORM / secret->radius : secret->scale;
            x[j] = job->table.rows[secret->rows[i] * d + j];
            if (is_private)
                x[j] = fmin(fmax(x[j], job->manifest.low[j]), job->manifest.high[j]) - secret->centre[j];
            x[j] *= unit / (secret->length_scales != NULL ? secret->length_scales[j] : 1);
            square += x[j] * x[j];
        }
        double factor = is_private && square > MECHANISM_NORM * MECHANISM_NORM ? MECHANISM_NORM / sqrt(square) : 1;
        for (size_t j = 0; j < d; j++)
            x[j] *= factor;
    }
    return STATUS_OK;
}

static enum status attack_columns(struct job *job, struct audit_matrix X, struct audit_matrix Z, uint64_t seed,
                                  struct error *err)
{
    enum { TRIALS_MAX = 1000, TRIALS_MIN = 20 };
    static const double  WORK = 4e9;
    bool                 has_guarantee = job->manifest.differentially_private;
    double               trials = WORK / ((double)X.rows * (double)X.columns * (double)X.columns);
    double               distance = has_guarantee ? shortest_move(&job->manifest) : 1;
    struct audit_columns result = {.trials = (size_t)fmax(fmin(trials, TRIALS_MAX), TRIALS_MIN), .distance = distance};
    TRY(audit_column_space(X, Z, seed, &job->arena, &result, err));
    struct audit_limits limits = audit_limits_of(result.right, result.trials, 0.95);
    printf(
        "Column-space attack on this matrix, one row moved by %g, %zu trials:\n  right in %.1f %% (95 %% confidence: "
        "%.1f to %.1f %%)",
        distance, result.trials, 100 * (double)result.right / (double)result.trials, 100 * limits.low,
        100 * limits.high);
    if (has_guarantee)
        printf("; the guarantee allows %.1f %%", 100 * bound_of(job));
    printf(". Outside the column space: %.3g of the whole\n", result.own_residual);
    judge(job, limits.low > bound_of(job));
    if (has_guarantee)
        return STATUS_OK;
    double              delta = job->manifest.projection.delta;
    struct audit_counts counts = {.trials = result.trials / 2, .right = {result.right / 2, result.right / 2}};
    printf("  any epsilon that this release had at delta %g would be at least %.3g, with 95 %% confidence\n", delta,
           audit_epsilon_bound(&counts, delta));
    return STATUS_OK;
}

static enum status attack_known_rows(struct job *job, struct audit_matrix X, struct audit_matrix Z, uint64_t seed,
                                     struct error *err)
{
    printf("Known-rows attack on this matrix: whoever knows some rows fits a map and computes the others\n");
    for (size_t known = X.columns + 1; known <= X.rows / 2; known *= 10) {
        struct audit_known result = {.known = known};
        TRY(audit_known_rows(X, Z, seed, &job->arena, &result, err));
        printf("  %6zu rows known: the others are off by %.3g (half of them), where guessing the mean is off by %.3g\n",
               known, result.median_error, result.typical);
    }
    return STATUS_OK;
}

static enum status attack_matrix(struct job *job, struct error *err)
{
    uint64_t seed = 0;
    if (mechanism_is_partition(job->manifest.mechanism.kind)) {
        printf("The rows of this matrix are centres of public cells: none of them is a row of yours, moved or not, and "
               "no\nattack begins with them\n");
        return STATUS_OK;
    }
    TRY(random_bytes(&seed, sizeof seed, err));
    TRY(arrange_rows(job, err));
    struct audit_matrix X = {.at = job->X, .rows = job->secret.len, .columns = job->table.d};
    struct audit_matrix Z = {.at = job->matrix.values, .rows = job->matrix.rows, .columns = job->matrix.columns};
    TRY(attack_columns(job, X, Z, seed, err));
    return attack_known_rows(job, X, Z, seed, err);
}

static enum status check_secret(struct job *job, struct error *err)
{
    const struct secret *secret = &job->secret;
    TRY(secret_read(job->options->secret, &job->secret, err));
    bool has_scale = secret->centre != NULL && secret->length_scales != NULL && secret->radius > 0;
    if (strcmp(secret->matrix_sha256, job->manifest.sha256) != 0 || secret->len != job->matrix.rows)
        return error_set(err, STATUS_INVALID, "wrong_matrix", "", "the secret file is of another release");
    if (secret->data_rows != job->table.n || secret->columns_len != job->table.d ||
        (job->manifest.differentially_private && !has_scale))
        return error_set(err, STATUS_INVALID, "wrong_data", "",
                         "the data or the columns are not those of the secret file");
    return STATUS_OK;
}

static enum status load(struct job *job, struct error *err)
{
    const struct audit_options *options = job->options;
    char                        path[1024];
    secret_neighbour(options->matrix, ".json", path, sizeof path);
    TRY(release_io_manifest(options->manifest != NULL ? options->manifest : path, options->matrix, &job->manifest,
                            &job->manifest_text, err));
    TRY(release_io_read(options->matrix, &job->arena, &job->matrix, err));
    TRY(csv_table_read(options->data, &job->csv, err));
    TRY(release_io_table(&job->csv, options->columns, &job->arena, &job->table, err));
    if (job->manifest.differentially_private && job->manifest.mechanism.columns != job->table.d)
        return error_set(err, STATUS_INVALID, "wrong_data", "", "the release was made of %zu columns, not of %zu",
                         job->manifest.mechanism.columns, job->table.d);
    return STATUS_OK;
}

static enum status audit(struct job *job, struct error *err)
{
    const struct release_manifest *m = &job->manifest;
    TRY(load(job, err));
    if (m->differentially_private)
        printf("%s: epsilon %g, for any change of one row epsilon %.6g, delta %g; signature and numbers are in order\n",
               manifest_mechanism(m), m->mechanism.epsilon, m->epsilon_any_change, m->mechanism.delta);
    else
        printf("projection-only: no guarantee is claimed; signature and numbers are in order\n");
    TRY(check_secret(job, err));
    return attack_matrix(job, err);
}

static enum status run(struct command_call *call, struct error *err)
{
    struct job job = {.options = call->options};
    (void)mat_use_one_thread();
    arena_init(&job.arena, SIZE_MAX);
    enum status status = audit(&job, err);
    release_io_wipe(&job.table, &job.csv);
    if (job.X != NULL)
        sign_wipe(job.X, job.secret.len * job.table.d * sizeof *job.X);
    csv_table_free(&job.csv);
    secret_free(&job.secret);
    free(job.manifest_text);
    arena_fini(&job.arena);
    call->exit_code = job.is_broken ? COMMAND_FAILED : COMMAND_DONE;
    return status;
}

const struct command command_audit = {
    .name = "audit",
    .operands = "",
    .summary = "curator: attack a release, and see what the attacks prove",
    .options = options_table,
    .options_bytes = sizeof(struct audit_options),
    .run = run,
};
