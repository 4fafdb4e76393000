/* gnomon project: the curator's transform, offline.  Reads raw rows, writes three files: the matrix and its manifest,
 * which may leave the house, and the secret file, which may not.  Rows are shuffled first, so that a row's number says
 * nothing.  Nothing appears under its name before all three are complete on the disk. */
#include "engine/arena.h"
#include "engine/mat.h"
#include "engine/projection.h"
#include "service/candidates.h"
#include "service/codec.h"
#include "service/command.h"
#include "service/csv.h"
#include "service/file.h"
#include "service/random.h"
#include "service/secret.h"
#include "service/version.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COLUMNS_MAX = 1024, AUTO_DIMS_MAX = 64 };
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the matrix is written as it is in memory");

struct project_options {
    const char *in, *columns, *length_scales, *dims, *out, *manifest, *secret;
    double      epsilon, delta;
    bool        force;
};

#define MEMBER(name) .offset = offsetof(struct project_options, name)
static const struct config_row options_table[] = {
    {.flag = "in",
     .value = "FILE",
     .kind = CONFIG_TEXT,
     MEMBER(in),
     .is_required = true,
     .help = "the raw rows, CSV with a header"},
    {.flag = "columns",
     .value = "a,b,c",
     .kind = CONFIG_TEXT,
     MEMBER(columns),
     .is_required = true,
     .help = "the columns to project: numbers without gaps"},
    {.flag = "length-scales",
     .value = "l1,l2,..",
     .kind = CONFIG_TEXT,
     MEMBER(length_scales),
     .help = "one for each column, which is divided by it; without them, the columns are taken as they are"},
    {.flag = "epsilon",
     .value = "E",
     .kind = CONFIG_REAL,
     MEMBER(epsilon),
     .is_required = true,
     .min = 1e-6,
     .max = 1e6,
     .help = "parameter of the threshold omega (not a privacy guarantee)"},
    {.flag = "delta",
     .value = "D",
     .kind = CONFIG_REAL,
     MEMBER(delta),
     .is_required = true,
     .min = 1e-12,
     .max = 0.5,
     .help = "parameter of the threshold omega (not a privacy guarantee)"},
    {.flag = "dims",
     .value = "r",
     .kind = CONFIG_TEXT,
     MEMBER(dims),
     .fallback = "auto",
     .help = "columns of the result, 1..1024; auto takes the largest r (up to 64) that needs no lifting"},
    {.flag = "out",
     .value = "FILE.npy",
     .kind = CONFIG_TEXT,
     MEMBER(out),
     .is_required = true,
     .help = "the projected matrix"},
    {.flag = "manifest",
     .value = "FILE",
     .kind = CONFIG_TEXT,
     MEMBER(manifest),
     .help = "what is said about the matrix; by default beside it, .json"},
    {.flag = "secret",
     .value = "FILE",
     .kind = CONFIG_TEXT,
     MEMBER(secret),
     .help = "the map back to the rows, mode 0600; by default beside the matrix, .secret"},
    {.flag = "force",
     .kind = CONFIG_SWITCH,
     MEMBER(force),
     .help = "replace an existing secret file; the study made with it can then not go on"},
    {.flag = NULL},
};

/* All arrays live in the arena. */
struct job {
    struct project_options options;
    struct arena           arena;
    struct csv_table       table;
    size_t                 n, d;
    const char           **names;         /* [d] */
    size_t                *columns;       /* [d] of the table */
    double                *length_scales; /* [d] or NULL */
    double                *X, *M, *Z;
    struct projection      projection;
    struct secret          secret;
    char                   manifest_path[1024], secret_path[1024];
    int64_t                matrix_bytes;
};

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "out of memory");
}

static enum status usage(struct error *err, const char *text)
{
    return error_set(err, STATUS_INVALID, "usage", "", "%s", text);
}

/* Splits at commas, in place of a copy in the arena.  Returns how many, COLUMNS_MAX + 1 for too many. */
static size_t split(struct arena *arena, const char *list, const char **parts)
{
    char  *copy = arena_strndup(arena, list, strlen(list));
    size_t len = 0;
    for (char *at = copy; at != NULL && len <= COLUMNS_MAX; len++) {
        char *comma = strchr(at, ',');
        if (comma != NULL)
            *comma++ = '\0';
        if (len < COLUMNS_MAX)
            parts[len] = at;
        at = comma;
    }
    return len;
}

static enum status find_columns(struct job *job, struct error *err)
{
    job->names = ARENA_NEW(&job->arena, const char *, COLUMNS_MAX);
    job->columns = ARENA_NEW(&job->arena, size_t, COLUMNS_MAX);
    if (job->names == NULL || job->columns == NULL)
        return no_memory(err);
    job->d = split(&job->arena, job->options.columns, job->names);
    if (job->d == 0 || job->d > COLUMNS_MAX)
        return usage(err, "--columns takes 1 to 1024 names");
    for (size_t j = 0; j < job->d; j++) {
        TRY(csv_table_column(&job->table, job->names[j], &job->columns[j], err));
        for (size_t k = 0; k < j; k++)
            if (job->columns[k] == job->columns[j])
                return error_set(err, STATUS_INVALID, "usage", "", "--columns names \"%.100s\" twice", job->names[j]);
    }
    return STATUS_OK;
}

static enum status read_length_scales(struct job *job, struct error *err)
{
    if (job->options.length_scales == NULL)
        return STATUS_OK;
    const char **parts = ARENA_NEW(&job->arena, const char *, COLUMNS_MAX);
    job->length_scales = ARENA_NEW(&job->arena, double, COLUMNS_MAX);
    if (parts == NULL || job->length_scales == NULL)
        return no_memory(err);
    if (split(&job->arena, job->options.length_scales, parts) != job->d)
        return usage(err, "--length-scales takes one number for each column");
    for (size_t j = 0; j < job->d; j++) {
        char *end = NULL;
        job->length_scales[j] = strtod(parts[j], &end);
        if (end == parts[j] || *end != '\0' || !(job->length_scales[j] > 0) || !isfinite(job->length_scales[j]))
            return usage(err, "--length-scales takes positive numbers");
    }
    return STATUS_OK;
}

/* X: the chosen columns, in the secret order of the rows. */
static enum status load_rows(struct job *job, struct error *err)
{
    size_t n = job->n = job->table.rows, d = job->d;
    if (n <= d)
        return error_set(err, STATUS_INVALID, "too_few_rows", "", "%zu rows for %zu columns: more rows are needed", n,
                         d);
    job->X = ARENA_NEW(&job->arena, double, n *d);
    job->secret.rows = ARENA_NEW(&job->arena, uint32_t, n);
    job->secret.len = n;
    if (job->X == NULL || job->secret.rows == NULL)
        return no_memory(err);
    TRY(random_permutation(job->secret.rows, n, err));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            TRY(csv_table_number(&job->table, job->secret.rows[i], job->columns[j], &job->X[i * d + j], err));
    for (size_t j = 0; j < d; j++) {
        size_t i = 1;
        while (i < n && job->X[i * d + j] == job->X[j])
            i++;
        if (i == n)
            return error_set(err, STATUS_INVALID, "constant_column", "",
                             "column \"%.100s\" has the same value in every "
                             "row",
                             job->names[j]);
    }
    return projection_prepare(job->X, n, d, job->length_scales, &job->secret.scale, err);
}

static enum status project(struct job *job, size_t dims, struct error *err)
{
    struct arena *arena = &job->arena;
    double       *copy = ARENA_NEW(arena, double, job->n * job->d);
    job->M = ARENA_NEW(arena, double, job->d *dims);
    job->Z = ARENA_NEW(arena, double, job->n *dims);
    if (copy == NULL || job->M == NULL || job->Z == NULL)
        return no_memory(err);
    memcpy(copy, job->X, job->n * job->d * sizeof *copy);
    TRY(random_normals(job->M, job->d * dims, err));
    job->projection = (struct projection){.epsilon = job->options.epsilon, .delta = job->options.delta, .dims = dims};
    return projection_apply(&job->projection, copy, job->n, job->d, job->M, job->Z, arena, err);
}

/* With "auto", a first projection to one column measures the smallest singular value. */
static enum status choose_dims_and_project(struct job *job, struct error *err)
{
    char *end = NULL;
    long  dims = strtol(job->options.dims, &end, 10);
    if (strcmp(job->options.dims, "auto") != 0) {
        if (*end != '\0' || dims < 1 || dims > COLUMNS_MAX)
            return usage(err, "--dims takes a number in 1..1024, or auto");
        return project(job, (size_t)dims, err);
    }
    struct arena_mark mark = arena_mark(&job->arena);
    TRY(project(job, 1, err));
    arena_release(&job->arena, mark);
    double sigma_min = job->projection.sigma_min;
    size_t advised = projection_advise(job->options.epsilon, job->options.delta, sigma_min, AUTO_DIMS_MAX);
    if (advised == 0)
        return error_set(err, STATUS_INVALID, "no_dims", "",
                         "the smallest singular value %.4g is below omega(1) = %.4g: "
                         "no number of columns avoids lifting; raise --epsilon or give --dims",
                         sigma_min, projection_omega(job->options.epsilon, job->options.delta, 1));
    return project(job, advised, err);
}

static enum status write_matrix(struct job *job, struct file_draft *draft, struct error *err)
{
    unsigned char header[128];
    size_t        header_bytes = npy_write_header(job->n, job->projection.dims, header);
    fwrite(header, 1, header_bytes, draft->stream);
    fwrite(job->Z, sizeof(double), job->n * job->projection.dims, draft->stream);
    TRY(file_finish(draft, err));
    return file_digest(draft->temporary, job->secret.matrix_sha256, &job->matrix_bytes, err);
}

static enum status write_manifest(const struct job *job, struct file_draft *draft, struct error *err)
{
    const struct projection *p = &job->projection;
    char                     now[32];
    codec_time((int64_t)time(NULL) * 1000, now);
    json_t *manifest =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:s, s:{s:f, s:f, s:f, s:f, s:b, s:I}}", "mechanism",
                  "projection-only", "tool", "gnomon " GNOMON_VERSION, "created_at", now, "rows", (json_int_t)job->n,
                  "columns", (json_int_t)p->dims, "bytes", (json_int_t)job->matrix_bytes, "dtype", "<f8", "sha256",
                  job->secret.matrix_sha256, "parameters", "epsilon", p->epsilon, "delta", p->delta, "omega", p->omega,
                  "sigma_min", p->sigma_min, "lifted", (int)p->lifted, "dims_advised", (json_int_t)p->dims_advised);
    int failure = manifest != NULL ? json_dumpf(manifest, draft->stream, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : -1;
    json_decref(manifest);
    fputc('\n', draft->stream);
    if (failure != 0)
        return error_set(err, STATUS_FULL, "file", "", "the manifest cannot be written");
    return file_finish(draft, err);
}

static enum status write_files(struct job *job, struct file_draft drafts[3], struct error *err)
{
    TRY(file_begin(&drafts[0], job->secret_path, 0600, err));
    TRY(file_begin(&drafts[1], job->options.out, 0600, err));
    TRY(file_begin(&drafts[2], job->manifest_path, 0600, err));
    TRY(write_matrix(job, &drafts[1], err));
    TRY(write_manifest(job, &drafts[2], err));
    job->secret.columns = job->names;
    job->secret.columns_len = job->d;
    job->secret.length_scales = job->length_scales;
    job->secret.normals = job->M;
    job->secret.dims = job->projection.dims;
    TRY(secret_write(&job->secret, drafts[0].stream, err));
    TRY(file_finish(&drafts[0], err));
    for (size_t i = 0; i < 3; i++)
        TRY(file_publish(&drafts[i], err));
    return STATUS_OK;
}

static void report(const struct job *job)
{
    const struct projection *p = &job->projection;
    printf("%zu rows, %zu columns -> %zu columns, %lld bytes in %s\n", job->n, job->d, p->dims,
           (long long)job->matrix_bytes, job->options.out);
    printf("smallest singular value %.6g, threshold omega(%zu) = %.6g: %s\n", p->sigma_min, p->dims, p->omega,
           p->lifted ? "below it, singular values were lifted to sqrt(s^2 + omega^2)" : "not below it, nothing lifted");
    printf("advice: the largest r without lifting is %zu%s\n", p->dims_advised,
           p->dims_advised > 0 ? "; accuracy is usually best there" : ": lifting always happens at this epsilon");
    if (p->dims > p->dims_advised)
        fprintf(stderr, "gnomon: warning: %zu columns are more than advised: lifting distorts the distances\n",
                p->dims);
    printf("This release carries NO differential privacy guarantee; epsilon and delta only set the threshold.\n"
           "It is the rows through a secret linear map: names, units and row order are gone, but distances, clusters\n"
           "and outliers stay visible, and whoever knows a few of the rows can compute all the others.\n"
           "Keep %s: it is the only way back from a candidate to its row.\n",
           job->secret_path);
}

static enum status check_paths(struct job *job, struct error *err)
{
    const struct project_options *options = &job->options;
    if (options->manifest != NULL)
        snprintf(job->manifest_path, sizeof job->manifest_path, "%s", options->manifest);
    else
        secret_neighbour(options->out, ".json", job->manifest_path, sizeof job->manifest_path);
    if (options->secret != NULL)
        snprintf(job->secret_path, sizeof job->secret_path, "%s", options->secret);
    else
        secret_neighbour(options->out, ".secret", job->secret_path, sizeof job->secret_path);
    if (!options->force && access(job->secret_path, F_OK) == 0)
        return error_set(err, STATUS_CONFLICT, "secret_exists", "",
                         "%.150s exists, and with it an earlier projection: "
                         "move it away, or use --force",
                         job->secret_path);
    return STATUS_OK;
}

static enum status run_job(struct job *job, struct file_draft drafts[3], struct error *err)
{
    int64_t bytes = 0;
    TRY(check_paths(job, err));
    TRY(csv_table_read(job->options.in, &job->table, err));
    TRY(file_digest(job->options.in, job->secret.data_sha256, &bytes, err));
    TRY(random_hex(job->secret.id, sizeof job->secret.id - 1, err));
    TRY(find_columns(job, err));
    TRY(read_length_scales(job, err));
    TRY(load_rows(job, err));
    TRY(choose_dims_and_project(job, err));
    return write_files(job, drafts, err);
}

static int run(char **arguments)
{
    struct error      err;
    struct job        job = {.n = 0};
    struct file_draft drafts[3] = {{.stream = NULL}, {.stream = NULL}, {.stream = NULL}};
    if (!mat_use_one_thread())
        fprintf(stderr, "gnomon: warning: OpenBLAS is the OpenMP flavour\n");
    enum status status = config_read(options_table, arguments, &job.options, NULL, 0, &err);
    if (status == STATUS_OK) {
        arena_init(&job.arena, SIZE_MAX);
        status = run_job(&job, drafts, &err);
        if (status == STATUS_OK)
            report(&job);
        for (size_t i = 0; i < 3; i++)
            file_discard(&drafts[i]);
        csv_table_free(&job.table);
        arena_fini(&job.arena);
    }
    return status == STATUS_OK ? COMMAND_DONE : command_fail(&err);
}

const struct command command_project = {
    .name = "project",
    .operands = "",
    .summary = "curator: transform a CSV into a matrix that may be uploaded, offline",
    .options = options_table,
    .run = run,
};
