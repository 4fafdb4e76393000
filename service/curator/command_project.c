/* gnomon project: the curator's release, offline.  Reads raw rows, writes three files: the matrix and its signed manifest,
 * which may leave the house, and the secret file, which may not; and one line in the ledger.
 *
 * Invariants: the ledger has the line, durable, before any of the three has its name, so that a crash leaves a charge
 * without a release and never the reverse; nothing is drawn when the budget does not allow it; nothing appears under its
 * name before all three are complete on the disk. */
#include "engine/math/mat.h"
#include "service/codec/codec.h"
#include "service/cli/command.h"
#include "service/base/file.h"
#include "service/curator/project.h"
#include "service/base/random.h"
#include "service/base/version.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OPTION(name, what, member) .flag = name, .value = what, .offset = offsetof(struct project_options, member)
static const struct options_row options_table[] = {
    {OPTION("in", "FILE", in), .is_required = true, .help = "the raw rows, CSV with a header"},
    {OPTION("columns", "a,b,c", columns), .is_required = true, .help = "the columns to release: numbers without gaps"},
    {OPTION("key", "FILE", key), .is_required = true, .help = "the curator's private key, from gnomon key"},
    {OPTION("mechanism", "NAME", mechanism), .fallback = "auto",
     .choices =
         "auto|discrete-laplace|isotropic-laplace|discrete-gaussian|projected-gaussian|cells|quadtree|projection-only",
     .help = "auto takes the noise that needs less for this epsilon and delta; cells and quadtree protect any change "
             "of a row; "
             "projection-only has no guarantee"},
    {OPTION("centre", "c1,c2,..", centre),
     .help = "public: the middle of each column's range, from general knowledge and not from this data"},
    {OPTION("length-scales", "l1,l2,..", length_scales),
     .help = "public: how far each column must move to matter; projection-only may do without"},
    {OPTION("radius", "R", radius), .kind = OPTIONS_REAL, .min = 0, .max = 1e9,
     .help = "public: rows farther from the centre than this many length-scales are clipped to the edge"},
    {OPTION("distance", "D", distance), .kind = OPTIONS_REAL, .fallback = "1", .min = 1e-4, .max = 50,
     .help = "the protected change of a row, on the scale where the radius is 25; 50 is any change within it"},
    {OPTION("epsilon", "E", epsilon), .kind = OPTIONS_REAL, .is_required = true, .min = 1e-4, .max = 1000,
     .help = "the privacy parameter: smaller protects more; 1 is strong, above 7.4 is weak"},
    {OPTION("delta", "D", delta), .kind = OPTIONS_REAL, .fallback = "0", .min = 0, .max = 0.5,
     .help = "0 for pure epsilon-privacy; what a Gaussian may use otherwise, below 1 / rows"},
    {OPTION("dims", "r", dims), .fallback = "auto",
     .help = "columns of the result; auto: as many as the data, ten at most for a projection with noise"},
    {OPTION("rotate", "yes|no", rotate), .fallback = "no", .choices = "yes|no",
     .help = "whether the released columns are mixed by a secret rotation: the guarantee is the same without"},
    {OPTION("sides", "k1,k2,..", sides),
     .help = "cells: how many along each column, from centre - R l to centre + R l"},
    {OPTION("y-range", "LOW,HIGH", y_range),
     .help = "public limits of the outcomes, for private outcomes; --y-range=LOW,HIGH when LOW is negative"},
    {OPTION("y-epsilon", "E", y_epsilon), .kind = OPTIONS_REAL, .min = 0, .max = 1000,
     .help = "private outcomes: the epsilon of each answer"},
    {OPTION("y-default", "Y", y_default),
     .help =
         "private outcomes: public, the answer of a row that cannot be measured, before its noise; by default LOW, for "
         "a study that maximises"},
    {OPTION("y-name", "NAME", y_name), .fallback = "y",
     .help = "private outcomes: public, what is measured; a row is answered once for each name, and each is charged"},
    {OPTION("y-sensitivity", "S", y_sensitivity), .kind = OPTIONS_REAL, .min = 0, .max = 1e300,
     .help = "private outcomes: how far a protected change of a row may move its outcome; by default the whole range"},
    {OPTION("out", "FILE.npy", out), .is_required = true, .help = "the matrix that may be uploaded"},
    {OPTION("manifest", "FILE", manifest),
     .help = "what is said about the matrix, signed; by default beside it, .json"},
    {OPTION("secret", "FILE", secret),
     .help = "the map back to the rows, mode 0600; by default beside the matrix, .secret"},
    {OPTION("ledger", "FILE", ledger),
     .help = "what was released of this data so far; by default beside the data, .ledger"},
    {OPTION("budget-epsilon", "E", budget_epsilon), .kind = OPTIONS_REAL, .fallback = "4", .min = 1e-4, .max = 1e6,
     .help = "a release that would bring the data's total above this is refused"},
    {OPTION("budget-delta", "D", budget_delta), .kind = OPTIONS_REAL, .fallback = "1e-5", .min = 0, .max = 1,
     .help = "the same for delta"},
    {OPTION("allow-clipping", NULL, allow_clipping), .kind = OPTIONS_SWITCH,
     .help = "release even when more than half of the rows lie outside the radius"},
    {OPTION("no-guarantee", NULL, no_guarantee), .kind = OPTIONS_SWITCH, .help = "needed for projection-only"},
    {OPTION("force", NULL, force), .kind = OPTIONS_SWITCH,
     .help = "replace an existing secret file; a study made with it cannot continue"},
    {.flag = NULL},
};

static void choose_path(const char *given, const char *beside, const char *extension, char *out, size_t room)
{
    if (given != NULL)
        snprintf(out, room, "%s", given);
    else
        secret_neighbour(beside, extension, out, room);
}

static enum status check_paths(struct project_job *job, struct error *err)
{
    const struct project_options *options = job->options;
    choose_path(options->manifest, options->out, ".json", job->manifest_path, sizeof job->manifest_path);
    choose_path(options->secret, options->out, ".secret", job->secret_path, sizeof job->secret_path);
    if (options->ledger != NULL)
        snprintf(job->ledger_path, sizeof job->ledger_path, "%s", options->ledger);
    else
        snprintf(job->ledger_path, sizeof job->ledger_path, "%.1000s.ledger", options->in);
    if (!options->force && access(job->secret_path, F_OK) == 0)
        return error_set(err, STATUS_CONFLICT, "secret_exists", "",
                         "%.150s exists, and with it an earlier release: use that one again, or choose another name "
                         "(--force replaces it)",
                         job->secret_path);
    return STATUS_OK;
}

/* Ledger. */

/* See struct ledger_entry.  The caller frees it; NULL when out of memory. */
static char *scale_text(const struct project_job *job)
{
    json_t *columns = json_object();
    int     failure = columns == NULL;
    for (size_t j = 0; j < job->table.d && failure == 0; j++)
        failure = json_object_set_new(
            columns, job->table.names[j],
            json_pack("{s:f, s:f}", "centre", job->centre[j], "length_scale", job->length_scales[j]));
    json_t *scale = json_pack("{s:o, s:f}", "columns", columns, "radius", job->options->radius);
    char   *text = failure == 0 ? json_dumps(scale, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(scale);
    return text;
}

static void fill_entry(struct project_job *job)
{
    const struct release_manifest *manifest = &job->manifest;
    struct ledger_entry           *entry = &job->entry;
    bool                           is_private = manifest->differentially_private;
    snprintf(entry->at, sizeof entry->at, "%s", manifest->created_at);
    snprintf(entry->dataset_tag, sizeof entry->dataset_tag, "%s", manifest->dataset_tag);
    snprintf(entry->mechanism, sizeof entry->mechanism, "%s", manifest_mechanism(manifest));
    snprintf(entry->matrix_sha256, sizeof entry->matrix_sha256, "%s", manifest->sha256);
    entry->epsilon = is_private ? manifest->mechanism.epsilon : (double)NAN;
    entry->delta = manifest->mechanism.delta;
    entry->distance = manifest->mechanism.distance;
    double answers = mechanism_is_partition(manifest->mechanism.kind) ? 2 : 1; // a moved row changes those of two cells
    entry->outcome_epsilon = manifest->has_outcomes ? answers * manifest->outcomes.epsilon : 0;
    entry->scale = job->scale;
}

static enum status check_budget(struct project_job *job, const struct ledger *ledger, struct error *err)
{
    static const double           SLACK = 1 + 1e-9; /* 0.1 + 0.2 is within 0.3 */
    const struct project_options *options = job->options;
    char                          key[SIGN_PUBLIC_CHARS];
    sign_key_public(job->key, key);
    if (ledger->key[0] != '\0' && strcmp(ledger->key, key) != 0)
        return error_set(err, STATUS_CONFLICT, "other_key", "", "the ledger is signed by another key than this one");
    fill_entry(job);
    TRY(ledger_check_scale(ledger, &job->entry, err));
    job->total = ledger_sum(ledger, &job->entry);
    bool is_within =
        job->total.epsilon <= options->budget_epsilon * SLACK && job->total.delta <= options->budget_delta * SLACK;
    if (is_within || !job->manifest.differentially_private)
        return STATUS_OK;
    return error_set(err, STATUS_CONFLICT, "budget_spent", "",
                     "refused, and nothing written: this release would bring the data's total to epsilon %g, delta %g; "
                     "the budget is %g and %g. An earlier release can be used again without a charge",
                     job->total.epsilon, job->total.delta, options->budget_epsilon, options->budget_delta);
}

/* Before anything is drawn; leaves no file behind where there was none. */
static enum status check_ledger(struct project_job *job, struct error *err)
{
    struct ledger ledger;
    enum status   status = ledger_open(job->ledger_path, false, &ledger, err);
    if (status == STATUS_OK || status == STATUS_NOT_FOUND)
        status = check_budget(job, &ledger, err);
    ledger_close(&ledger);
    return status;
}

static enum status charge(struct project_job *job, struct error *err)
{
    struct ledger ledger;
    enum status   status = ledger_open(job->ledger_path, true, &ledger, err);
    if (status == STATUS_OK)
        status = check_budget(job, &ledger, err);
    if (status == STATUS_OK)
        status = ledger_append(&ledger, &job->entry, job->key, err);
    ledger_close(&ledger);
    return status;
}

/* Rows at the edge cannot be told apart: a release of them is paid for and says nothing. */
static enum status check_clipping(const struct project_job *job, struct error *err)
{
    if (job->options->allow_clipping || 2 * job->clipped <= job->table.n)
        return STATUS_OK;
    return error_set(
        err, STATUS_INVALID, "clipped", "",
        "refused, nothing written or charged: %zu of %zu rows lie outside the public radius and would be "
        "moved to its edge. Look at --centre, --length-scales and --radius again (what anybody may know; too "
        "large is better), or say --allow-clipping",
        job->clipped, job->table.n);
}

/* Files. */

static enum status write_matrix(struct project_job *job, struct file_draft *draft, struct error *err)
{
    struct release_manifest *manifest = &job->manifest;
    size_t                   rows = (size_t)manifest->rows, columns = (size_t)manifest->columns;
    if (manifest->differentially_private)
        release_io_write_indices(draft->stream, job->indices, rows, columns, manifest->dtype);
    else
        release_io_write_values(draft->stream, job->values, rows, columns);
    TRY(file_finish(draft, err));
    return file_digest(draft->temporary, manifest->sha256, &manifest->bytes, err);
}

static enum status write_manifest(struct project_job *job, struct file_draft *draft, struct error *err)
{
    char *text = NULL;
    TRY(manifest_sign(&job->manifest, job->key, err));
    TRY(manifest_text(&job->manifest, &text, err));
    fprintf(draft->stream, "%s\n", text);
    free(text);
    return file_finish(draft, err);
}

static enum status write_secret(struct project_job *job, struct file_draft *draft, struct error *err)
{
    struct secret *secret = &job->secret;
    bool           is_private = job->manifest.differentially_private;
    memcpy(secret->matrix_sha256, job->manifest.sha256, sizeof secret->matrix_sha256);
    memcpy(secret->key, job->manifest.key, sizeof secret->key);
    secret->columns = job->table.names;
    secret->columns_len = job->table.d;
    secret->centre = is_private ? job->centre : NULL;
    secret->length_scales = job->length_scales;
    secret->radius = is_private ? job->options->radius : 0;
    secret->normals = job->normals;
    secret->dims = (size_t)job->manifest.columns;
    TRY(secret_write(secret, draft->stream, err));
    return file_finish(draft, err);
}

static enum status write_files(struct project_job *job, struct file_draft drafts[3], struct error *err)
{
    TRY(file_begin(&drafts[0], job->secret_path, 0600, err));
    TRY(file_begin(&drafts[1], job->options->out, 0600, err));
    TRY(file_begin(&drafts[2], job->manifest_path, 0600, err));
    TRY(write_matrix(job, &drafts[1], err));
    TRY(write_manifest(job, &drafts[2], err));
    TRY(write_secret(job, &drafts[0], err));
    TRY(charge(job, err));
    for (size_t i = 0; i < 3; i++)
        TRY(file_publish(&drafts[i], err));
    return STATUS_OK;
}

static enum status run_job(struct project_job *job, struct file_draft drafts[3], struct error *err)
{
    int64_t bytes = 0;
    TRY(check_paths(job, err));
    TRY(sign_key_read(job->options->key, &job->key, err));
    TRY(csv_table_read(job->options->in, &job->csv, err));
    TRY(file_digest(job->options->in, job->secret.data_sha256, &bytes, err));
    TRY(random_hex(job->secret.id, sizeof job->secret.id - 1, err));
    TRY(release_io_table(&job->csv, job->options->columns, &job->arena, &job->table, err));
    TRY(project_plan(job, err));
    TRY(release_io_tag(&job->table, job->key, &job->arena, job->manifest.dataset_tag, err));
    snprintf(job->manifest.tool, sizeof job->manifest.tool, "gnomon " GNOMON_VERSION);
    codec_time((int64_t)time(NULL) * 1000, job->manifest.created_at);
    job->scale = job->manifest.differentially_private ? scale_text(job) : NULL;
    if (job->manifest.differentially_private && job->scale == NULL)
        return error_set(err, STATUS_INVALID, "csv_header", "", "the names of the columns are not UTF-8 text");
    TRY(check_ledger(job, err));
    project_warn(job);
    TRY(project_make(job, err));
    TRY(check_clipping(job, err));
    return write_files(job, drafts, err);
}

static enum status run(struct command_call *call, struct error *err)
{
    struct project_job job = {.options = call->options};
    struct file_draft  drafts[3] = {{.stream = NULL}, {.stream = NULL}, {.stream = NULL}};
    if (!mat_use_one_thread())
        fprintf(stderr, "gnomon: warning: OpenBLAS is the OpenMP flavour\n");
    arena_init(&job.arena, SIZE_MAX);
    enum status status = run_job(&job, drafts, err);
    if (status == STATUS_OK)
        project_report(&job);
    for (size_t i = 0; i < 3; i++)
        file_discard(&drafts[i]);
    project_wipe(&job);
    csv_table_free(&job.csv);
    free(job.scale);
    arena_fini(&job.arena);
    sign_key_free(job.key);
    err->path[0] = '\0'; /* of the plan: options are named in the text */
    return status;
}

const struct command command_project = {
    .name = "project",
    .operands = "",
    .summary = "curator: make a release of a CSV that may be uploaded, offline",
    .options = options_table,
    .options_bytes = sizeof(struct project_options),
    .run = run,
};
