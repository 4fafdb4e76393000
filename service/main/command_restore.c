/* gnomon restore: makes a backup the store of a folder that has none, or takes note that an older copy is in its place.
 * What was debited and revoked after the copy was made is forgotten, and nobody knows it.  So the acknowledgement ends every
 * federation that promised privacy, rather than let it spend the same budget again; tokens are the operator's to judge. */
#include "db/whole/look.h"
#include "service/app/event_log.h"
#include "service/base/digest.h"
#include "service/file/file.h"
#include "service/cli/command.h"
#include "service/federation/federation.h"
#include "service/main/app_open.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARENA_BYTES = 64 << 20 };

struct restore_options {
    const char *data, *database, *sha256;
    bool        acknowledges, revokes;
};

#define OPTION(name, what, member) OPTION_OF(struct restore_options, name, what, member)
static const struct options_row options_table[] = {
    COMMAND_DATA_ROW(struct restore_options),
    COMMAND_DATABASE_ROW(struct restore_options),
    {OPTION("sha256", "HEX", sha256), .help = "the digest that gnomon backup printed: any other file is refused"},
    {OPTION("acknowledge-rollback", NULL, acknowledges), .kind = OPTIONS_SWITCH,
     .help =
         "instead of FILE: let the server use the folder's store, which is an older copy.  Federations that promise "
         "privacy end, because nobody knows what they have spent since"},
    {OPTION("revoke-tokens", NULL, revokes), .kind = OPTIONS_SWITCH,
     .help =
         "with --acknowledge-rollback: revoke every token, because the copy does not know which were revoked since"},
    {.flag = NULL},
};

/* ---- a copy ---- */

static enum status check_digest(const char *file, const char *wanted, struct error *err)
{
    char    sha256[SHA256_HEX_BYTES];
    int64_t bytes;
    TRY(file_digest(file, sha256, &bytes, err));
    return strcmp(sha256, wanted) == 0
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "digest_mismatch", "", "%.80s has sha256 %s", file, sha256);
}

static enum status restore(const char *file, const struct restore_options *options, struct error *err)
{
    TRY(command_check_file(options->database, "pg_restore, or its archive", err));
    if (options->sha256 != NULL)
        TRY(check_digest(file, options->sha256, err));
    TRY(db_restore(file, options->data, err));
    printf("%s: restored; before it serves anybody: gnomon restore --data %s --acknowledge-rollback\n", options->data,
           options->data);
    return STATUS_OK;
}

/* ---- the acknowledgement ---- */

struct acknowledging {
    struct app   *app;
    struct arena *arena;
    bool          revokes;
    int64_t       now_ms, ended, revoked;
};

/* Ends a federation; *more: there may be others. */
static enum status end_one(struct db_conn *conn, struct acknowledging *work, bool *more, struct error *err)
{
    struct federation federation = {.state = FEDERATION_COMPLETED};
    struct db_rows    rows = db_query(conn, work->arena, err, SQL_FEDERATIONS_OF_STATE, BIND(TEXT("")));
    *more = false;
    while (!*more && db_next(&rows)) {
        rows.status = federation_read(row_federation(&rows), work->arena, &federation, err);
        *more = rows.status == STATUS_OK && federation.spec.is_private && federation.state != FEDERATION_COMPLETED;
    }
    TRY(db_done(&rows));
    work->ended += *more;
    return !*more ? STATUS_OK
                  : federation_set_state(conn, &federation, FEDERATION_COMPLETED, "store_rolled_back",
                                         &(struct federation_by){.actor = "local", .at_ms = work->now_ms}, err);
}

static enum status acknowledge_in(struct db_conn *conn, void *arg, struct error *err)
{
    struct acknowledging *work = arg;
    work->ended = work->revoked = 0;
    for (bool more = true; more;) {
        struct arena_mark mark = arena_mark(work->arena);
        TRY(end_one(conn, work, &more, err));
        arena_release(work->arena, mark);
    }
    if (work->revokes)
        TRY(db_exec(conn, &work->revoked, err, SQL_TOKEN_REVOKE_ALL, BIND(INT(work->now_ms))));
    TRY(db_exec(conn, NULL, err, SQL_WITNESS_ADVANCE, BIND(INT(db_witnessed(work->app->db) + 1))));
    return event_log(conn, EVENT(.at_ms = work->now_ms, .kind = "store.rollback_acknowledged", .actor = "local"), err);
}

static enum status acknowledge(const struct restore_options *options, struct error *err)
{
    struct app  *app = NULL;
    struct arena arena;
    char         path[1100];
    snprintf(path, sizeof path, "%.1024s/gnomon.db", options->data);
    if (options->database == NULL && access(path, F_OK) != 0)
        return error_set(err, STATUS_NOT_FOUND, "no_store", "", "there is no store in %.150s", options->data);
    TRY(app_open(
        &(struct app_options){
            .folder = options->data, .database = options->database, .synchronous = "FULL", .compute_slots = 1},
        &app, err));
    bool is_rolled_back = db_is_rolled_back(app->db);
    arena_init(&arena, ARENA_BYTES);
    struct acknowledging work = {.app = app, .arena = &arena, .revokes = options->revokes, .now_ms = app->now_ms()};
    enum status          status = is_rolled_back ? db_transact(app->db, acknowledge_in, &work, err) : STATUS_OK;
    arena_fini(&arena);
    app_close(app);
    TRY(status);
    if (!is_rolled_back)
        printf("%s: was not rolled back\n", options->data);
    else
        printf("%s: acknowledged; %lld federations ended, %lld tokens revoked\n", options->data, (long long)work.ended,
               (long long)work.revoked);
    return STATUS_OK;
}

static enum status run(struct command_call *call, struct error *err)
{
    const struct restore_options *options = call->options;
    const char                   *file = call->operands[0];
    if ((file != NULL) == options->acknowledges)
        return error_set(err, STATUS_INVALID, "usage", "", "restore takes FILE, or --acknowledge-rollback");
    if (options->revokes && !options->acknowledges)
        return error_set(err, STATUS_INVALID, "usage", "", "--revoke-tokens belongs to --acknowledge-rollback");
    umask(077);
    return file != NULL ? restore(file, options, err) : acknowledge(options, err);
}

const struct command command_restore = {
    .name = "restore",
    .operands = "[FILE]",
    .summary = "make a store of a backup, in an empty folder; acknowledge an older copy",
    .options = options_table,
    .options_bytes = sizeof(struct restore_options),
    .operands_max = 1,
    .run = run,
};
