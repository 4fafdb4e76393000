/* gnomon key: the curator's signing key, and the ledger of what it will sign.  The private key stays in its file; the
 * public one is printed, to be given to whoever makes the study. */
#include "service/cli/command.h"
#include "service/file/file.h"
#include "service/file/sign.h"
#include "service/curator/ledger.h"

#include <stdio.h>
#include <unistd.h>

struct key_options {
    const char *out, *in;
};

#define OPTION(name, what, member) OPTION_OF(struct key_options, name, what, member)
static const struct options_row options_table[] = {
    {OPTION("out", "FILE", out),
     .help = "make a key and write it to this new file, mode 0600; the key's ledger is FILE.ledger"},
    {OPTION("in", "FILE", in), .help = "print the public half of this key"},
    {.flag = NULL},
};

static enum status write_key(const char *path, const struct sign_key *key, struct file_draft *draft, struct error *err)
{
    if (access(path, F_OK) == 0)
        return error_set(err, STATUS_CONFLICT, "key_exists", "",
                         "%.150s exists: a key that has signed something is not replaced", path);
    TRY(file_begin(draft, path, 0600, err));
    TRY(sign_key_write(key, draft->stream, err));
    TRY(ledger_create(path, draft->stream, err));
    TRY(file_finish(draft, err));
    return file_publish(draft, err);
}

static enum status make_key(const char *path, struct sign_key **key, struct error *err)
{
    struct file_draft draft = {.stream = NULL};
    TRY(sign_key_new(key, err));
    enum status status = write_key(path, *key, &draft, err);
    file_discard(&draft);
    return status;
}

static enum status run(struct command_call *call, struct error *err)
{
    const struct key_options *options = call->options;
    struct sign_key          *key = NULL;
    char                      text[SIGN_PUBLIC_CHARS];
    if ((options->out == NULL) == (options->in == NULL))
        return error_set(err, STATUS_INVALID, "usage", "", "give one of --out and --in");
    enum status status =
        options->out != NULL ? make_key(options->out, &key, err) : sign_key_read(options->in, &key, err);
    if (status == STATUS_OK) {
        sign_key_public(key, text);
        puts(text);
    }
    sign_key_free(key);
    return status;
}

const struct command command_key = {
    .name = "key",
    .operands = "",
    .summary = "curator: make the key that signs releases, or print its public part",
    .options = options_table,
    .options_bytes = sizeof(struct key_options),
    .run = run,
};
