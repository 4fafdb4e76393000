/* gnomon verify --data DIR: see verify_store.h.  gnomon verify FILE: whether the study of an export is what its log says, without a server.  The export becomes a study in
 * a store of its own, in a folder that is gone afterwards, and is asked there what GET /v1/studies/{study}/verify asks. */
#include "engine/math/mat.h"
#include "service/base/digest.h"
#include "service/file/file.h"
#include "service/candidates/candidates.h"
#include "service/cli/command.h"
#include "service/main/app_open.h"
#include "service/main/verify_store.h"
#include "service/portable/import.h"
#include "service/insight/verify.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 8 << 20, ARENA_BYTES = 1 << 28 };

struct verify_options {
    const char *candidates, *data, *database, *study, *head;
    int64_t     session_bytes;
};
#define OPTION(name, what, member) OPTION_OF(struct verify_options, name, what, member)
static const struct options_row options_table[] = {
    {OPTION("candidates", "FILE", candidates),
     .help = "the matrix of a study of candidates; an export does not contain the matrix"},
    {OPTION("session-bytes", "N", session_bytes), .environment = "GNOMON_SESSION_BYTES", .kind = OPTIONS_INT,
     .fallback = "536870912", .min = 1048576, .max = 1e15,
     .help = "memory for a model, as on the server: with less memory, models may be smaller"},
    {OPTION("data", "DIR", data), .help = "instead of an export: check that nothing in the store of this folder was "
                                          "altered, whether or not a server runs"},
    COMMAND_DATABASE_ROW(struct verify_options),
    {OPTION("study", "ID", study), .help = "with --data: only the rows of this study, federation or game"},
    {OPTION("head", "FILE", head),
     .help = "with --data: heads of the log that were kept elsewhere (serve --head-file); the log must contain them"},
    {.flag = NULL},
};

/* ---- the file ---- */

static enum status import(struct app *app, struct caller *caller, const char *name, struct import_status *out,
                          struct error *err)
{
    char                sha256[SHA256_HEX_BYTES];
    struct import_piece piece = {.offset = 0};
    size_t              length;
    TRY(file_digest(name, sha256, &piece.total_bytes, err));
    FILE *file = fopen(name, "rb");
    char *bytes = malloc(PIECE_BYTES);
    piece.bytes = bytes;
    enum status status = file == NULL    ? error_set(err, STATUS_INVALID, "file", "", "%.200s cannot be read", name)
                         : bytes == NULL ? error_no_memory(err)
                                         : STATUS_OK;
    while (status == STATUS_OK && (length = fread(bytes, 1, PIECE_BYTES, file)) > 0) {
        piece.length = length;
        status = import_append(app, caller, sha256, &piece, out, err);
        piece.offset += (int64_t)length;
    }
    free(bytes);
    if (file != NULL)
        fclose(file);
    TRY(status);
    return out->study != NULL ? STATUS_OK
                              : error_set(err, STATUS_INVALID, "no_study", "",
                                          "the file is the export of no study: a game has no suggestions");
}

static enum status upload(struct app *app, struct caller *caller, const char *study, const char *name,
                          struct error *err)
{
    struct candidates_status reply;
    char                    *bytes = malloc(CANDIDATES_PIECE_MAX);
    FILE                    *file = fopen(name, "rb");
    struct stat              about;
    struct candidates_piece  piece = {.bytes = bytes};
    enum status              status = bytes == NULL ? error_no_memory(err) : STATUS_OK;
    if (status == STATUS_OK && (file == NULL || fstat(fileno(file), &about) != 0))
        status = error_set(err, STATUS_INVALID, "file", "", "%.200s cannot be read", name);
    while (status == STATUS_OK && (piece.length = fread(bytes, 1, CANDIDATES_PIECE_MAX, file)) > 0) {
        piece.total_bytes = (int64_t)about.st_size;
        status = candidates_append(app, caller, study, &piece, &reply, err);
        piece.offset += (int64_t)piece.length;
    }
    free(bytes);
    if (file != NULL)
        fclose(file);
    return status;
}

/* ---- what is said ---- */

static void print_items(const char *what, const struct verify_item *items, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const struct verify_item *item = &items[i];
        printf("%s: trial %lld, line %lld", what, (long long)item->trial, (long long)item->revision);
        if (item->step > 0)
            printf(", step %lld", (long long)item->step);
        printf(": %s%s%s", item->what, item->name != NULL ? " " : "", item->name != NULL ? item->name : "");
        if (!isnan(item->recorded) && !isnan(item->recomputed))
            printf(" is %.17g, made again %.17g", item->recorded, item->recomputed);
        printf(" (%s)\n", item->cause);
    }
}

/* Page by page. */
static enum status verify(struct app *app, struct caller *caller, const char *study, bool *is_same, struct error *err)
{
    struct verify_report report;
    struct page          page = {.limit = PAGE_MAX};
    int64_t              compared = 0, same = 0, seen = 0;
    char                 cursor[32];
    do {
        struct arena_mark mark = arena_mark(caller->arena);
        TRY(study_verify(app, caller, study, &page, &report, err));
        compared += report.suggestions + report.decisions;
        same += report.same;
        seen = report.seen > 0 ? report.seen : seen;
        print_items("different", report.different, report.different_len);
        print_items("skipped", report.skipped, report.skipped_len);
        if (report.next_cursor != NULL)
            snprintf(cursor, sizeof cursor, "%s", report.next_cursor);
        page.cursor = cursor;
        arena_release(caller->arena, mark);
    } while (report.next_cursor != NULL);
    *is_same = same == compared;
    printf("%lld of %lld suggestions and decisions are the same", (long long)same, (long long)compared);
    if (seen > 0)
        printf("; they speak for values up to line %lld of the log", (long long)seen);
    putchar('\n');
    return STATUS_OK;
}

/* ---- the store ---- */

static void remove_store(const char *folder)
{
    DIR                 *open = opendir(folder);
    const struct dirent *entry;
    while (open != NULL && (entry = readdir(open)) != NULL)
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(open), entry->d_name, 0);
    if (open != NULL)
        closedir(open);
    (void)rmdir(folder);
}

static enum status run_in(const char *folder, const struct command_call *call, bool *is_same, struct error *err)
{
    const struct verify_options *options = call->options;
    struct app                  *app = NULL;
    struct arena                 arena;
    TRY(app_open(&(struct app_options){.folder = folder,
                                       .synchronous = "OFF",
                                       .compute_slots = 1,
                                       .sessions_bytes = (size_t)options->session_bytes,
                                       .session_bytes = (size_t)options->session_bytes},
                 &app, err));
    arena_init(&arena, ARENA_BYTES);
    struct caller        caller = {.token_id = "local", .scope = SCOPE_ADMIN, .arena = &arena};
    struct import_status imported = {0};
    enum status          status = import(app, &caller, call->operands[0], &imported, err);
    if (status == STATUS_OK && options->candidates != NULL)
        status = upload(app, &caller, imported.study, options->candidates, err);
    if (status == STATUS_OK)
        status = verify(app, &caller, imported.study, is_same, err);
    arena_fini(&arena);
    app_close(app);
    return status;
}

static enum status run(struct command_call *call, struct error *err)
{
    const char                  *base = getenv("TMPDIR");
    char                         folder[1100];
    bool                         is_same = false;
    const struct verify_options *options = call->options;
    if ((call->operands[0] == NULL) == (options->data == NULL) ||
        (options->data == NULL && (options->head != NULL || options->study != NULL)))
        return error_set(err, STATUS_INVALID, "usage", "", "verify takes the file of an export, or --data");
    if (options->data != NULL)
        return verify_store(&(struct verify_store){.folder = options->data,
                                                   .database = options->database,
                                                   .study = options->study,
                                                   .head_file = options->head},
                            err);
    (void)mat_use_one_thread(); // as the server does: sums in another order have other last bits
    umask(077);
    snprintf(folder, sizeof folder, "%.1024s/gnomon-verify-XXXXXX", base == NULL ? "/tmp" : base);
    if (mkdtemp(folder) == NULL)
        return error_set(err, STATUS_INVALID, "file", "", "%.200s cannot be made", folder);
    enum status status = run_in(folder, call, &is_same, err);
    remove_store(folder);
    call->exit_code = is_same ? COMMAND_DONE : COMMAND_FAILED;
    return status;
}

const struct command command_verify = {
    .name = "verify",
    .operands = "FILE",
    .summary = "make every suggestion of an exported study again, and compare; or verify a store",
    .options = options_table,
    .options_bytes = sizeof(struct verify_options),
    .operands_max = 1,
    .run = run,
};
