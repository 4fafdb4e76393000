/* See witness.h.  The file has one line, of LINE_BYTES; those of earlier versions have two, of which the one with the greater
 * counter holds.  The counter is there twice, and a line ends with its newline: one that was cut off is none. */
#define _GNU_SOURCE /* statx */
#include "db/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 512, PATH_BYTES = 4096 };

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

/* The identity of a file: its number, and when it was made, if the file system keeps that. */
struct place {
    uint64_t number;
    int64_t  made_ns;
};

static struct place place_of(int fd)
{
    struct statx about;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &about) != 0)
        return (struct place){.number = 0};
    int64_t made_ns = about.stx_btime.tv_sec * 1000000000 + about.stx_btime.tv_nsec;
    return (struct place){.number = about.stx_ino, .made_ns = (about.stx_mask & STATX_BTIME) != 0 ? made_ns : 0};
}

/* False: the line is not whole. */
static bool read_line(const char *line, const struct place *is, struct witness *out)
{
    int64_t      again = -1;
    struct place said = *is;
    int found = sscanf(line, "gnomon-witness 1 %39s %" SCNd64 " %" SCNd64 " . %" SCNu64 " %" SCNd64 " .", out->store,
                       &out->counter, &again, &said.number, &said.made_ns);
    out->is_copy = found > 3 && (found < 5 || said.number != is->number || said.made_ns != is->made_ns);
    return found >= 3 && out->counter == again && line[LINE_BYTES - 1] == '\n';
}

enum status witness_read(const char *folder, struct witness *out, struct error *err)
{
    char path[PATH_BYTES], text[2 * LINE_BYTES + 1] = "";
    *out = (struct witness){.counter = 0};
    TRY(path_of(folder, path, err));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? STATUS_OK : fail(path, err);
    struct place is = place_of(fd);
    ssize_t      length = pread(fd, text, sizeof text - 1, 0);
    enum status  status = length < 0 ? fail(path, err) : STATUS_OK;
    close(fd);
    for (int i = 0; i < 2; i++) {
        struct witness own = {.is_new = false};
        if (read_line(text + i * LINE_BYTES, &is, &own) && (out->store[0] == '\0' || own.counter > out->counter))
            *out = own;
    }
    return status;
}

bool witness_is_ahead(const struct witness *known, const struct witness *own, bool is_shared)
{
    bool is_newcomer =
        is_shared && known->store[0] == '\0' && own->counter >= 0; // a store that was moved elsewhere has less
    bool is_new = own->is_new && known->counter == 0;
    bool is_copy = known->is_copy && !is_shared;
    return !is_new && !is_newcomer &&
           (is_copy || strcmp(known->store, own->store) != 0 || known->counter > own->counter);
}

/* ---- writing ---- */

/* The file itself, where a link leads to it. */
static void follow(char path[PATH_BYTES])
{
    char    target[PATH_BYTES], folder[PATH_BYTES];
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0)
        return;
    target[length] = '\0';
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    if (target[0] == '/')
        snprintf(path, PATH_BYTES, "%s", target);
    else
        snprintf(path, PATH_BYTES, "%.2000s/%.2000s", folder, target);
}

static bool sync_folder_of(const char *path)
{
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    int  fd = open(folder[0] == '\0' ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_good = fd >= 0 ? fsync(fd) == 0 || errno == EINVAL : errno == EACCES;
    if (fd >= 0)
        close(fd);
    return is_good;
}

static bool write_line(int fd, const struct witness *witness, bool is_hasty)
{
    char         line[LINE_BYTES];
    struct place place = place_of(fd);
    int length = snprintf(line, sizeof line, "gnomon-witness 1 %s %" PRId64 " %" PRId64 " . %" PRIu64 " %" PRId64 " .",
                          witness->store, witness->counter, witness->counter, place.number, place.made_ns);
    memset(line + length, ' ', sizeof line - (size_t)length);
    line[sizeof line - 1] = '\n';
    return pwrite(fd, line, sizeof line, 0) == LINE_BYTES && (is_hasty || fsync(fd) == 0);
}

/* Empties the old file, so that its line is not found under another name either, which a hard link may have given it. */
static void empty_old(int fd)
{
    struct stat about;
    if (fstat(fd, &about) == 0 && about.st_nlink > 0)
        (void)!ftruncate(fd, 0);
    close(fd);
}

enum status witness_write(const char *folder, const struct witness *witness, bool is_hasty, struct error *err)
{
    char path[PATH_BYTES], part[PATH_BYTES + 8];
    TRY(path_of(folder, path, err));
    follow(path);
    snprintf(part, sizeof part, "%s.part", path);
    (void)unlink(part);
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(part, err);
    int         old = open(path, O_WRONLY | O_CLOEXEC);
    bool        is_good = write_line(fd, witness, is_hasty) && rename(part, path) == 0;
    enum status status = is_good && (is_hasty || sync_folder_of(path)) ? STATUS_OK : fail(path, err);
    close(fd);
    if (old >= 0 && is_good)
        empty_old(old);
    else if (old >= 0)
        close(old);
    return status;
}
