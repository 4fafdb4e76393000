/* gnomon project: the curator's release, offline.  Reads raw rows, writes three files: the matrix and its signed manifest,
 * which may leave the house, and the secret file, which may not; and one line in the ledger.
 *
 * Invariants: the ledger has the line, durable, before any of the three has its name, so that a crash leaves a charge
 * without a release and never the reverse; nothing is drawn when the budget does not allow it; nothing appears under its
 * name before all three are complete on the disk. */
#include "engine/math/mat.h"
#include "service/member/codec.h"
#include "service/cli/command.h"
#include "service/file/file.h"
#include "service/curator/project.h"
#include "service/base/random.h"
#include "service/base/version.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OPTION(name, what, member) OPTION_OF(struct project_options, name, what, member)
static const struct options_row options_table[] = {
    {OPTION("in", "FILE", in), .is_required = true, .help = "the raw rows, CSV with a header"},
    {OPTION("columns", "a,b,c", columns), .is_required = true, .help = "the columns to release: numbers without gaps"},
    {OPTION("key", "FILE", key), .is_required = true, .help = "the curator's private key, from gnomon key"},
    {OPTION("mechanism", "NAME", mechanism), .fallback = "auto",
     .choices = "auto|discrete-laplace|isotropic-laplace|discrete-gaussian|projected-gaussian|quadtree|projection-only",
     .help = "auto: the least noise for this epsilon and delta, or quadtree if any change of all columns is protected; "
             "quadtree always protects any change; projection-only has no guarantee"},
    {OPTION("protect", "a=P,b=any,..", protect),
     .help =
         "the difference to hide in each column, in the column's units; any: every difference.  Given with the first "
         "release of the data, for all later releases"},
    {OPTION("region", "a=LOW:HIGH,..", region),
     .help =
         "public: limits of each column, from general knowledge, not from this data; values outside are moved to the "
         "limit.  Given once; wide limits cost nothing"},
    {OPTION("length-scales", "l1,l2,..", length_scales),
     .help = "public: how far each column must move to matter; by default in proportion to the protected moves"},
    {OPTION("centre", "c1,c2,..", centre), .help = "public: by default the middle of the region"},
    {OPTION("radius", "R", radius), .kind = OPTIONS_REAL, .min = 0, .max = 1e9,
     .help = "public: rows farther from the centre than so many length-scales are moved to the edge; by default none "
             "of the "
             "region is"},
    {OPTION("epsilon", "E", epsilon), .kind = OPTIONS_REAL, .is_required = true, .min = 1e-4, .max = 1000,
     .help = "the privacy parameter: smaller protects more; 1 is strong, above 7.4 is weak"},
    {OPTION("delta", "D", delta), .kind = OPTIONS_REAL, .fallback = "0", .min = 0, .max = 0.5,
     .help = "0: pure epsilon-privacy; more than 0, up to the budget's delta: Gaussian noise may be used"},
    {OPTION("dims", "r", dims), .fallback = "auto",
     .help = "columns of the result; auto: as many as the data, ten at most for a projection with noise"},
    {OPTION("rotate", "yes|no", rotate), .fallback = "no", .choices = "yes|no",
     .help = "whether the released columns are mixed by a secret rotation: the guarantee is the same without"},
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
     .help = "the signed manifest; by default a file beside the matrix that ends in .json"},
    {OPTION("secret", "FILE", secret),
     .help = "the secret file that leads back to your rows, mode 0600; by default beside the matrix, .secret"},
    {OPTION("budget-epsilon", "E", budget_epsilon), .kind = OPTIONS_REAL, .min = 0, .max = 1e6,
     .help =
         "how much epsilon all releases of this data may cost together; given with the first release, by default 4"},
    {OPTION("budget-delta", "D", budget_delta), .kind = OPTIONS_REAL, .min = 0, .max = 1,
     .help = "how much delta all releases may cost together: at most 0.1 / rows; by default this, or 1e-5 if less"},
    {OPTION("dry-run", NULL, dry_run), .kind = OPTIONS_SWITCH,
     .help = "say what the release would cost and protect; nothing is drawn, written or charged"},
    {OPTION("accept-clipping", NULL, accept_clipping), .kind = OPTIONS_SWITCH,
     .help = "release even when more than 0.1 % of the rows are moved to a limit"},
    {OPTION("no-guarantee", NULL, no_guarantee), .kind = OPTIONS_SWITCH,
     .help = "release without a guarantee, which projection-only needs"},
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
    if (!options->force && !options->dry_run && access(job->secret_path, F_OK) == 0)
        return error_set(err, STATUS_CONFLICT, "secret_exists", "",
                         "%.150s exists, and with it an earlier release: use that one again, or choose another name "
                         "(--force replaces it)",
                         job->secret_path);
    return STATUS_OK;
}

/* Ledger. */

/* The line of this release, as far as it is known.  NULL: out of memory, or names that are not UTF-8. */
static json_t *release_line(const struct project_job *job)
{
    json_t *names = json_array();
    int     failure = names == NULL;
    for (size_t j = 0; j < job->table.d; j++)
        failure |= json_array_append_new(names, json_string(job->table.names[j]));
    json_t *line = json_pack("{s:s, s:I, s:o, s:o}", "kind", "release", "table", (json_int_t)job->before.table,
                             "columns", names, "release", manifest_release_json(&job->manifest));
    if (failure != 0) {
        json_decref(line);
        line = NULL;
    }
    return line;
}

static enum status read_after(struct project_job *job, struct error *err)
{
    json_t *line = release_line(job);
    if (line == NULL)
        return error_set(err, STATUS_INVALID, "csv_header", "", "the names of the columns are not UTF-8 text");
    enum status status = account_read(&job->ledger, &job->known, (const json_t *const[2]){job->declare, line},
                                      &job->arena, &job->after, err);
    json_decref(line);
    return status;
}

/* Before anything is drawn. */
static enum status check_budget(struct project_job *job, struct error *err)
{
    static const double        SLACK = 1 + 1e-9; /* 0.1 + 0.2 is within 0.3 */
    const struct account      *after = &job->after;
    const struct manifest_cost spent = job->before.spent;
    TRY(read_after(job, err));
    if (after->projections > 0 && after->projections < after->releases)
        return error_set(
            err, STATUS_CONFLICT, "no_bound", "",
            "refused, and nothing written: of this data there are bare projections as well as releases with "
            "a guarantee, or would be, and together nothing bounds what they say");
    if (!job->manifest.differentially_private || after->spent.epsilon <= after->budget_epsilon * SLACK)
        return STATUS_OK;
    return error_set(
        err, STATUS_CONFLICT, "budget_spent", "",
        "refused, and nothing written: this release would bring the data's total from epsilon %.6g to %.6g; "
        "the budget is %g. An earlier release can be used again without a charge",
        spent.epsilon, after->spent.epsilon, after->budget_epsilon);
}

/* Rows at the edge cannot be told apart: a release of them is paid for and says less. */
static enum status check_clipping(const struct project_job *job, struct error *err)
{
    if (project_may_clip(job))
        return STATUS_OK;
    return error_set(
        err, STATUS_INVALID, "clipped", "",
        "refused, nothing written or charged: %zu of %zu rows lie outside the public region and would be moved to its "
        "edge. Look at --region, --centre and --radius again (what anybody may know; too large costs nothing), or say "
        "--accept-clipping. For you alone: a choice made after seeing this number is not covered by the guarantee",
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

/* Takes the release's place in the ledger. */
static enum status take_place(struct project_job *job, struct error *err)
{
    struct manifest_ledger *place = &job->manifest.ledger;
    struct ledger          *ledger = &job->ledger;
    TRY(project_write_declaration(job, err));
    json_t *line = release_line(job);
    if (line == NULL)
        return error_no_memory(err);
    codec_put(&line, "spent",
              json_pack("{s:f, s:f, s:f}", "epsilon", job->after.spent.epsilon, "delta", job->after.spent.delta,
                        "epsilon_any_change", job->after.spent.epsilon_any_change));
    TRY(ledger_prepare(ledger, "release", line, job->key, err));
    memcpy(place->id, ledger->id, sizeof place->id);
    memcpy(place->lines, ledger->digests, sizeof place->lines);
    digest_to_hex(ledger->next_chain.head, SHA256_BYTES, place->head);
    place->seq = ledger->next_chain.seq;
    place->tables = account_tables(ledger);
    place->spent = job->after.spent;
    place->budget = (struct manifest_cost){.epsilon = job->after.budget_epsilon, .delta = job->after.budget_delta};
    return place->tables < 0 ? error_no_memory(err) : STATUS_OK;
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
    secret->centre = is_private ? job->manifest.centre : NULL;
    secret->length_scales = is_private || job->options->length_scales != NULL ? job->manifest.length_scales : NULL;
    secret->radius = is_private ? job->manifest.radius : 0;
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
    TRY(take_place(job, err));
    TRY(write_manifest(job, &drafts[2], err));
    TRY(write_secret(job, &drafts[0], err));
    TRY(ledger_append(&job->ledger, err));
    for (size_t i = 0; i < 3; i++)
        TRY(file_publish(&drafts[i], err));
    return STATUS_OK;
}

static enum status read_inputs(struct project_job *job, struct error *err)
{
    int64_t bytes = 0;
    TRY(check_paths(job, err));
    TRY(sign_key_read(job->options->key, &job->key, err));
    TRY(csv_table_read(job->options->in, &job->csv, err));
    TRY(file_digest(job->options->in, job->secret.data_sha256, &bytes, err));
    TRY(random_hex(job->secret.id, sizeof job->secret.id - 1, err));
    TRY(release_io_table(&job->csv, job->options->columns, &job->arena, &job->table, err));
    TRY(table_marks_tags(&job->csv, job->key, job->manifest.dataset_tag, NULL, err));
    snprintf(job->manifest.tool, sizeof job->manifest.tool, "gnomon " GNOMON_VERSION);
    codec_time((int64_t)time(NULL) * 1000, job->manifest.created_at);
    return ledger_open(job->options->key, job->key, !job->options->dry_run, &job->ledger, err);
}

/* Fills in what is known only after the release is drawn, so that its line can be read. */
static void fill_unknown(struct project_job *job)
{
    struct release_manifest *m = &job->manifest;
    memset(m->sha256, '0', sizeof m->sha256 - 1);
    m->bytes = 1;
    m->rows = (int64_t)job->table.n;
    m->columns = (int64_t)job->table.d;
    m->dtype = m->differentially_private ? NPY_I4 : NPY_F8;
}

static enum status run_job(struct project_job *job, struct file_draft drafts[3], struct error *err)
{
    TRY(read_inputs(job, err));
    TRY(project_declare(job, err));
    TRY(project_plan(job, err));
    fill_unknown(job);
    TRY(check_budget(job, err));
    project_warn(job);
    if (job->manifest.differentially_private)
        job->clipped = project_count_clipped(job);
    if (job->options->dry_run)
        return STATUS_OK;
    TRY(check_clipping(job, err));
    TRY(project_make(job, err));
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
    ledger_close(&job.ledger);
    json_decref(job.declare);
    arena_fini(&job.arena);
    sign_key_free(job.key);
    err->path[0] = '\0'; /* of the plan: options are named in the text */
    return status;
}

const struct command command_project = {
    .name = "project",
    .operands = "",
    .summary = "curator: make a noisy, shuffled release of a CSV, offline",
    .options = options_table,
    .options_bytes = sizeof(struct project_options),
    .run = run,
};
