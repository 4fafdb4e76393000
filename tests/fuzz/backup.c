/* A store in a file that comes from a stranger, as check and restore take one: a whole one with changes, each six bytes:
 * where, in 32 bits, and two for a place of two bytes.  The first byte: how many pages are left, 255 all.  It is taken or refused;
 * what is copied is as sound as a check says, and reading what lies in its rows comes to an end. */
#include "tests/fuzz/file.h"

#include "db/whole/look.h"
#include "service/cli/command.h"

#include <string.h>

static unsigned char *whole, *changed;
static size_t         whole_bytes;

/* Makes a store of the last schema from the store that the tests of migrations begin with. */
static void make_whole(void)
{
    struct error            err;
    struct db              *db = NULL;
    char                    folder[80], path[96];
    const struct db_options options = {.folder = folder, .synchronous = "OFF", .readers = 1};
    FILE                   *stream = fopen("tests/data/stores/003.db", "rb");
    assert(stream != NULL && fseek(stream, 0, SEEK_END) == 0);
    whole_bytes = (size_t)ftell(stream);
    rewind(stream);
    whole = malloc(whole_bytes);
    assert(whole != NULL && fread(whole, 1, whole_bytes, stream) == whole_bytes);
    fclose(stream);
    snprintf(folder, sizeof folder, "%s/data", fuzz_folder_of_process());
    assert(mkdir(folder, 0700) == 0);
    fuzz_file("data/gnomon.db", whole, whole_bytes, path);
    free(whole);
    assert(db_open(&options, &db, &err) == STATUS_OK);
    db_close(db);
    stream = fopen(path, "rb");
    assert(stream != NULL && fseek(stream, 0, SEEK_END) == 0);
    whole_bytes = (size_t)ftell(stream);
    rewind(stream);
    whole = malloc(whole_bytes);
    changed = malloc(whole_bytes);
    assert(whole != NULL && changed != NULL && fread(whole, 1, whole_bytes, stream) == whole_bytes);
    fclose(stream);
    assert(freopen("/dev/null", "w", stdout) != NULL); // for what a check says
}

static size_t change(const uint8_t *bytes, size_t length)
{
    memcpy(changed, whole, whole_bytes);
    for (size_t i = 1; i + 6 <= length; i += 6) {
        uint32_t at;
        memcpy(&at, bytes + i, sizeof at);
        memcpy(changed + at % (whole_bytes - 1), bytes + i + 4, 2);
    }
    size_t left = length > 0 && bytes[0] != 255 ? (size_t)bytes[0] * 4096 : whole_bytes;
    return left < whole_bytes ? left : whole_bytes;
}

static void check_copy(const char *path)
{
    struct error    err;
    struct db_look *look = NULL;
    char            copy[96];
    enum status     status = db_look_open(path, &look, &err);
    assert(status == STATUS_OK || err.code[0] != '\0');
    snprintf(copy, sizeof copy, "%s/copy", fuzz_folder_of_process());
    if (status == STATUS_OK && db_look_copy(look, copy, &err) == STATUS_OK)
        assert(unlink(copy) == 0);
    assert(access(copy, F_OK) != 0);
    db_look_close(look);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char  path[96];
    char *arguments[] = {"--file", path, NULL};
    if (whole == NULL)
        make_whole();
    fuzz_file("backup", changed, change(bytes, length), path);
    int code = command_execute(&command_check, arguments);
    assert(code == COMMAND_DONE || code == COMMAND_CORRUPT || code == COMMAND_SCHEMA || code == COMMAND_FAILED ||
           code == COMMAND_INTERNAL || code == COMMAND_PENDING);
    if (length % 8 == 1) // writing takes longer than reading
        check_copy(path);
    return 0;
}
