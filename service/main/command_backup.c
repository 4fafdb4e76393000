/* gnomon backup: a copy of the store as it is at one moment, while a server serves or not; examined, then named. */
#include "db/whole/look.h"
#include "service/app/watch.h"
#include "service/base/digest.h"
#include "service/file/file.h"
#include "service/cli/command.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct backup_options {
    const char *data, *database, *to;
};

#define OPTION(name, what, member) OPTION_OF(struct backup_options, name, what, member)
static const struct options_row options_table[] = {
    COMMAND_DATA_ROW(struct backup_options),
    COMMAND_DATABASE_ROW(struct backup_options),
    {OPTION("to", "FILE", to), .is_required = true, .help = "the new file for the copy; an existing file is refused"},
    {.flag = NULL},
};

/* The server tells from its time how old the last backup is.  Where we may not write, it does not.  Another user's file, as root
 * leaves it, could not be touched. */
static void note_backup(const char *folder)
{
    char path[1100];
    snprintf(path, sizeof path, "%.1024s/" WATCH_BACKUP, folder);
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

static enum status run(struct command_call *call, struct error *err)
{
    const struct backup_options *options = call->options;
    struct db_look              *look = NULL;
    char                         path[1100], sha256[SHA256_HEX_BYTES];
    int64_t                      bytes;
    TRY(command_check_file(options->database, "pg_dump or pg_basebackup", err));
    umask(077);
    snprintf(path, sizeof path, "%.1024s/gnomon.db", options->data);
    TRY(db_look_open(path, &look, err));
    int         schema = db_look_schema(look);
    enum status status = db_look_copy(look, options->to, err);
    db_look_close(look);
    TRY(status);
    TRY(file_digest(options->to, sha256, &bytes, err));
    note_backup(options->data);
    printf("%s: %lld bytes, schema %d, sha256 %s\n", options->to, (long long)bytes, schema, sha256);
    return STATUS_OK;
}

const struct command command_backup = {
    .name = "backup",
    .operands = "",
    .summary = "copy the store to a file, whether or not the server runs",
    .options = options_table,
    .options_bytes = sizeof(struct backup_options),
    .run = run,
};
