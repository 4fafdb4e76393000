/* gnomon import: an export becomes a study; or trials go from a file into a study, all or none; many of them in parts, each
 * all or none. */
#include "service/client/client.h"
#include "service/cli/command.h"
#include "service/file/file.h"
#include "service/member/codec.h"
#include "service/client/plain.h"
#include "service/client/whole_import.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_MAX_BYTES = 512 << 20, PART_BYTES = 4 << 20, PART_TRIALS = 2000 };

struct import_options {
    struct command_server at;
    const char           *study, *format, *in;
    bool                  dry_run;
};

#define OPTION(name, what, member) OPTION_OF(struct import_options, name, what, member)
static const struct options_row options_table[] = {
    COMMAND_SERVER_ROWS(struct import_options),
    {OPTION("study", "ID", study), .help = "which study the trials of the file go into; without it the file is a whole "
                                           "study, and makes one"},
    {OPTION("in", "FILE", in), .help = "FILE; with --study: an export as JSON, {\"observations\":[...]}, or CSV with a "
                                       "column for each parameter and \"value\""},
    {OPTION("format", "FORMAT", format), .fallback = "auto", .choices = "auto|json|csv",
     .help = "auto: csv when the file's name ends in .csv"},
    {OPTION("dry-run", NULL, dry_run), .kind = OPTIONS_SWITCH, .help = "check everything, change nothing"},
    {.flag = NULL},
};

static bool is_csv(const struct import_options *options)
{
    size_t length = strlen(options->in);
    if (strcmp(options->format, "auto") != 0)
        return strcmp(options->format, "csv") == 0;
    return length > 4 && strcmp(options->in + length - 4, ".csv") == 0;
}

struct part {
    const char *text, *type;
    size_t      bytes;
};

static enum status send_part(const struct import_options *options, struct client *client, const struct part *part,
                             struct client_reply *reply, struct error *err)
{
    char path[160];
    snprintf(path, sizeof path, "/v1/studies/%.60s/import?dry_run=%s", options->study,
             options->dry_run ? "true" : "false");
    return client_send(
        client,
        &(struct client_request){
            .method = "POST", .path = path, .body = part->text, .body_bytes = part->bytes, .content_type = part->type},
        reply, err);
}

static enum status send_whole(const struct import_options *options, struct client *client, const struct part *part,
                              struct error *err)
{
    struct client_reply reply;
    TRY(send_part(options, client, part, &reply, err));
    plain_print_lines(stdout, reply.bytes != NULL ? reply.bytes : "");
    fputc('\n', stdout);
    free(reply.bytes);
    return STATUS_OK;
}

/* ---- in parts ---- */

/* {"id": .., "trials": [..]} with the trials from *next on that go into a request; *next is then the first that does
 * not.  NULL when out of memory. */
static char *write_part(const json_t *id, const json_t *trials, size_t *next, size_t *bytes)
{
    char  *text = NULL, *name = codec_dump(id, JSON_ENCODE_ANY);
    FILE  *out = open_memstream(&text, bytes);
    size_t first = *next;
    bool   failed = out == NULL || (id != NULL && name == NULL);
    if (!failed)
        fprintf(out, "{%s%s%s\"trials\":[", name == NULL ? "" : "\"id\":", name == NULL ? "" : name,
                name == NULL ? "" : ",");
    while (!failed && *next < json_array_size(trials) && *next - first < PART_TRIALS &&
           (*next == first || ftell(out) < PART_BYTES)) {
        if (*next > first)
            fputc(',', out);
        char *trial = codec_dump(json_array_get(trials, (*next)++), JSON_COMPACT | JSON_REAL_PRECISION(17));
        failed = trial == NULL || fputs(trial, out) < 0;
        free(trial);
    }
    if (out != NULL) {
        fputs("]}", out);
        failed = ferror(out) != 0 || failed;
        failed = fclose(out) != 0 || failed;
    }
    free(name);
    if (failed)
        free(text);
    return failed ? NULL : text;
}

static const char *const counts[] = {"imported", "queued", "duplicates", "skipped"};
enum { COUNTS = sizeof counts / sizeof counts[0] };

/* Every trial has an identity (its study and number), so that the parts may be sent again, whichever were taken. */
static enum status send_parts(const struct import_options *options, struct client *client, const json_t *document,
                              struct error *err)
{
    const json_t *trials = json_object_get(document, "trials");
    json_int_t    sums[COUNTS] = {0};
    for (size_t next = 0; next < json_array_size(trials);) {
        struct client_reply reply;
        size_t              first = next;
        struct part         part = {.type = "application/json"};
        char               *text = write_part(json_object_get(document, "id"), trials, &next, &part.bytes);
        if (text == NULL)
            return error_no_memory(err);
        part.text = text;
        enum status status = send_part(options, client, &part, &reply, err);
        free(text);
        if (status != STATUS_OK) {
            fprintf(stderr, "gnomon: trials %zu to %zu of the document were refused, %zu before them were taken\n",
                    first, next - 1, first);
            return status;
        }
        json_auto_t *json = json_loads(reply.bytes != NULL ? reply.bytes : "", 0, NULL);
        for (size_t i = 0; i < COUNTS; i++)
            sums[i] += json_integer_value(json_object_get(json, counts[i]));
        free(reply.bytes);
    }
    printf("{");
    for (size_t i = 0; i < COUNTS; i++)
        printf("\"%s\":%lld,", counts[i], (long long)sums[i]);
    printf("\"dry_run\":%s}\n", options->dry_run ? "true" : "false");
    return STATUS_OK;
}

/* An export that is too large for one request goes in parts; what else there is has no numbers and goes as it is. */
static enum status import(const struct import_options *options, struct client *client, struct error *err)
{
    char       *text = NULL;
    struct part part = {.type = is_csv(options) ? "text/csv" : "application/json"};
    TRY(file_read(options->in, INPUT_MAX_BYTES, &text, &part.bytes, err));
    part.text = text;
    json_auto_t *document = is_csv(options) ? NULL : json_loadb(text, part.bytes, JSON_REJECT_DUPLICATES, NULL);
    bool is_large = part.bytes > PART_BYTES || json_array_size(json_object_get(document, "trials")) > PART_TRIALS;
    bool is_split = is_large && json_is_array(json_object_get(document, "trials"));
    enum status status =
        is_split ? send_parts(options, client, document, err) : send_whole(options, client, &part, err);
    free(text);
    return status;
}

static enum status make_study(const struct import_options *options, struct client *client, struct error *err)
{
    json_t     *reply = NULL;
    enum status status = options->dry_run ? error_set(err, STATUS_INVALID, "usage", "", "--dry-run goes with --study")
                                          : whole_import(client, options->in, &reply, err);
    char       *text = status == STATUS_OK ? codec_dump(reply, JSON_COMPACT) : NULL;
    if (text != NULL)
        plain_print_lines(stdout, text);
    if (text != NULL)
        fputc('\n', stdout);
    free(text);
    json_decref(reply);
    return status;
}

/* An Optuna storage is brought in by the Python client, where the mapping is. */
static enum status check_kind(const char *path, struct error *err)
{
    static const char magic[] = "SQLite format 3";
    char              start[sizeof magic] = "";
    FILE             *file = fopen(path, "re");
    size_t            length = file != NULL ? fread(start, 1, sizeof start, file) : 0;
    if (file != NULL)
        fclose(file);
    if (length < sizeof start || memcmp(start, magic, sizeof magic) != 0)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "file", "",
                     "%.100s is a database; studies of Optuna's come in by: python3 -m gnomon import-optuna %.60s",
                     path, path);
}

static enum status run(struct command_call *call, struct error *err)
{
    struct import_options options = *(const struct import_options *)call->options;
    if ((options.in == NULL) == (call->operands[0] == NULL))
        return error_set(err, STATUS_INVALID, "usage", "", "import needs one FILE");
    if (options.in == NULL)
        options.in = call->operands[0];
    TRY(check_kind(options.in, err));
    if (options.study != NULL)
        TRY(command_check_id("study", "std", options.study, err));
    TRY(command_connect(&options.at, &call->client, err));
    return options.study == NULL ? make_study(&options, call->client, err) : import(&options, call->client, err);
}

const struct command command_import = {
    .name = "import",
    .operands = "[FILE]",
    .operands_max = 1,
    .summary = "a study from its export, or trials from JSON or CSV into a study",
    .options = options_table,
    .options_bytes = sizeof(struct import_options),
    .run = run,
};
