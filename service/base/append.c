/* See append.h.  The file is read through the descriptor that holds the lock: closing any other one of the same file
 * would give the lock up. */
#include "service/base/append.h"
#include "service/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 256 << 20 };

static enum status fail(const char *path, struct error *err)
{
    enum status status = errno == ENOSPC ? STATUS_FULL : errno == ENOENT ? STATUS_NOT_FOUND : STATUS_INVALID;
    if (errno == ELOOP)
        return error_set(err, STATUS_INVALID, "file", "", "%.150s is a symbolic link: name the file itself", path);
    return error_set(err, status, "file", "", "%.150s: %s", path, strerror(errno));
}

static enum status read_whole(struct append_file *file, const char *path, struct error *err)
{
    off_t end = lseek(file->fd, 0, SEEK_END);
    if (end < 0 || end > FILE_MAX_BYTES)
        return error_set(err, STATUS_INVALID, "file", "", "%.150s: too large or unreadable", path);
    file->text = malloc((size_t)end + 1);
    if (file->text == NULL)
        return error_no_memory(err);
    ssize_t got = 1;
    while (got > 0 && file->length < (size_t)end) {
        got = pread(file->fd, file->text + file->length, (size_t)end - file->length, (off_t)file->length);
        file->length += got > 0 ? (size_t)got : 0;
    }
    file->text[file->length] = '\0';
    return got < 0 ? fail(path, err) : STATUS_OK;
}

enum status append_open(const char *path, bool may_create, struct append_file *out, struct error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int          flags = may_create ? O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC : O_RDONLY | O_CLOEXEC;
    *out = (struct append_file){.fd = open(path, flags | O_NOFOLLOW, 0600)}; // a link may lead anywhere, or nowhere yet
    if (out->fd < 0)
        return fail(path, err);
    if (may_create && fcntl(out->fd, F_SETLK, &lock) != 0)
        return error_set(err, STATUS_BUSY, "locked", "", "%.150s is used by another process", path);
    TRY(read_whole(out, path, err));
    size_t kept = out->length;
    while (kept > 0 && out->text[kept - 1] != '\n')
        kept--;
    if (kept < out->length && may_create && ftruncate(out->fd, (off_t)kept) != 0)
        return fail(path, err);
    out->length = kept;
    out->text[kept] = '\0';
    // Perhaps just made: nobody may write a line, and act on it, in a file whose name a power loss takes away.
    return kept == 0 && may_create ? file_sync_folder_of(path, err) : STATUS_OK;
}

enum status append_line(const struct append_file *file, const char *line, struct error *err)
{
    size_t length = strlen(line);
    errno = ENOSPC; /* for a write that was cut short */
    if (write(file->fd, line, length) == (ssize_t)length && fsync(file->fd) == 0)
        return STATUS_OK;
    return fail("the journal or ledger", err);
}

void append_forget(struct append_file *file)
{
    free(file->text);
    file->text = NULL;
}

void append_close(struct append_file *file)
{
    append_forget(file);
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}
