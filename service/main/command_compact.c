/* gnomon compact: gives back the room of what was deleted. */
#include "db/whole/look.h"
#include "service/cli/command.h"

#include <stdio.h>
#include <sys/stat.h>

struct compact_options {
    const char *data, *database;
};
static const struct options_row options_table[] = {
    COMMAND_DATA_ROW(struct compact_options), COMMAND_DATABASE_ROW(struct compact_options), {.flag = NULL}};

static enum status run(struct command_call *call, struct error *err)
{
    const struct compact_options *options = call->options;
    struct db_sizes               sizes = {.before = 0};
    TRY(command_check_file(options->database, "its autovacuum, or VACUUM FULL", err));
    umask(077);
    TRY(db_compact(options->data, &sizes, err));
    printf("%s: %lld bytes, was %lld\n", options->data, (long long)sizes.after, (long long)sizes.before);
    return STATUS_OK;
}

const struct command command_compact = {
    .name = "compact",
    .operands = "",
    .summary = "make the file of a store smaller after deletions; no server may run",
    .options = options_table,
    .options_bytes = sizeof(struct compact_options),
    .run = run,
};
