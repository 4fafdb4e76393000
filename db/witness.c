/* See witness.h.  The file is two lines of PLACE_BYTES, of which the one with the greater counter holds, and the other is written next.  The counter is
 * there twice: a line that was cut off in the middle has two different ones. */
#include "db/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PLACE_BYTES = 512, PATH_BYTES = 4096 };

static enum status fail(const char *path, struct error *err)
{
    return error_set(err, errno == ENOSPC ? STATUS_FULL : STATUS_INTERNAL, errno == ENOSPC ? "disk_full" : "witness",
                     "", "%.150s: %s", path, strerror(errno));
}

static enum status path_of(const char *folder, char path[PATH_BYTES], struct error *err)
{
    if ((size_t)snprintf(path, PATH_BYTES, "%s/gnomon.witness", folder) < PATH_BYTES)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "path", "", "the path of the data folder is too long");
}

/* False: the line is not whole. */
static bool read_line(const char *line, struct witness *out)
{
    int64_t again = -1;
    bool    is_whole =
        sscanf(line, "gnomon-witness 1 %39s %" SCNd64 " %" SCNd64 " .", out->store, &out->counter, &again) == 3;
    return is_whole && out->counter == again;
}

/* place: of the line that holds; -1: of none. */
static enum status read_places(const char *path, struct witness *out, int *place, struct error *err)
{
    char text[2 * PLACE_BYTES + 1] = "";
    *out = (struct witness){.counter = 0};
    *place = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? STATUS_OK : fail(path, err);
    ssize_t     length = pread(fd, text, sizeof text - 1, 0);
    enum status status = length < 0 ? fail(path, err) : STATUS_OK;
    close(fd);
    for (int i = 0; i < 2; i++) {
        struct witness own;
        if (!read_line(text + i * PLACE_BYTES, &own) || (*place >= 0 && own.counter <= out->counter))
            continue;
        *out = own;
        *place = i;
    }
    return status;
}

enum status witness_read(const char *folder, struct witness *out, struct error *err)
{
    char path[PATH_BYTES];
    int  place;
    TRY(path_of(folder, path, err));
    return read_places(path, out, &place, err);
}

bool witness_is_ahead(const struct witness *known, const struct witness *own, bool is_shared)
{
    bool is_newcomer =
        is_shared && known->store[0] == '\0' && own->counter >= 0; // a store that was moved elsewhere has less
    bool is_new = (known->counter == 0 && own->counter == 0) || is_newcomer;
    return !is_new && (strcmp(known->store, own->store) != 0 || known->counter > own->counter);
}

/* The name of the file itself, where a link leads to it: of a new one, the folder must be told. */
static enum status sync_name(const char *path, struct error *err)
{
    char    folder[PATH_BYTES], target[PATH_BYTES];
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length >= 0)
        target[length] = '\0';
    bool is_absolute = length > 0 && target[0] == '/';
    snprintf(folder, sizeof folder, "%s", is_absolute ? target : path);
    *strrchr(folder, '/') = '\0';
    int  fd = open(folder[0] == '\0' ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_good = fd >= 0 ? fsync(fd) == 0 || errno == EINVAL : errno == EACCES;
    if (!is_good)
        fail(folder, err);
    if (fd >= 0)
        close(fd);
    return is_good ? STATUS_OK : STATUS_INTERNAL;
}

enum status witness_write(const char *folder, const struct witness *witness, bool is_hasty, struct error *err)
{
    char           path[PATH_BYTES], line[PLACE_BYTES];
    struct witness last;
    int            place;
    TRY(path_of(folder, path, err));
    TRY(read_places(path, &last, &place, err));
    int length = snprintf(line, sizeof line, "gnomon-witness 1 %s %" PRId64 " %" PRId64 " .", witness->store,
                          witness->counter, witness->counter);
    memset(line + length, ' ', sizeof line - (size_t)length);
    line[sizeof line - 1] = '\n';
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(path, err);
    off_t       start = place == 0 ? PLACE_BYTES : 0; // not where the last one is
    bool        is_good = pwrite(fd, line, sizeof line, start) == PLACE_BYTES && (is_hasty || fsync(fd) == 0);
    enum status status = is_good ? STATUS_OK : fail(path, err);
    close(fd);
    return status == STATUS_OK && place < 0 && !is_hasty ? sync_name(path, err) : status;
}
