/* See append.h.  The file is read through the descriptor that holds the lock: closing any other one of the same file
 * would give the lock up. */
#include "service/file/append.h"
#include "service/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 256 << 20 };

struct append_file {
    int  fd; /* holds the lock */
    bool is_new;
    char path[];
};

static enum status fail(const char *path, struct error *err)
{
    enum status status = errno == ENOSPC ? STATUS_FULL : errno == ENOENT ? STATUS_NOT_FOUND : STATUS_INVALID;
    if (errno == ELOOP)
        return error_set(err, STATUS_INVALID, "file", "", "%.150s is a symbolic link: name the file itself", path);
    return error_set(err, status, "file", "", "%.150s: %s", path, strerror(errno));
}

/* The whole lines; the caller frees *text.  A torn one is taken off the file when it is ours to write. */
static enum status read_lines(struct append_file *file, bool may_write, char **text, size_t *kept, struct error *err)
{
    off_t   end = lseek(file->fd, 0, SEEK_END);
    size_t  length = 0;
    ssize_t got = 1;
    if (end < 0 || end > FILE_MAX_BYTES)
        return error_set(err, STATUS_INVALID, "file", "", "%.150s: too large or unreadable", file->path);
    *text = malloc((size_t)end + 1);
    if (*text == NULL)
        return error_no_memory(err);
    while (got > 0 && length < (size_t)end) {
        got = pread(file->fd, *text + length, (size_t)end - length, (off_t)length);
        length += got > 0 ? (size_t)got : 0;
    }
    if (got < 0)
        return fail(file->path, err);
    for (*kept = length; *kept > 0 && (*text)[*kept - 1] != '\n';)
        --*kept;
    file->is_new = *kept == 0;
    return *kept < length && may_write && ftruncate(file->fd, (off_t)*kept) != 0 ? fail(file->path, err) : STATUS_OK;
}

/* A line with a NUL in it, which a power loss can leave, is nobody's, and hides none of those behind it. */
static enum status take_lines(const struct append_file *file, const struct append_reader *reader, char *text,
                              size_t length, struct error *err)
{
    size_t number = 0;
    char  *newline = NULL;
    for (char *line = text; line < text + length; line = newline + 1) {
        newline = memchr(line, '\n', (size_t)(text + length - line));
        *newline = '\0';
        bool        is_text = strlen(line) == (size_t)(newline - line);
        enum status status = is_text ? reader->take(reader->arg, line, number + 1, err) : STATUS_CONFLICT;
        number++;
        if (status == STATUS_CONFLICT)
            return error_set(err, status, reader->code, "", "line %zu of %.80s %s", number, file->path,
                             reader->complaint);
        TRY(status);
    }
    return STATUS_OK;
}

static enum status open_file(struct append_file *file, bool may_create, const struct append_reader *reader,
                             struct error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int          flags = may_create ? O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC : O_RDONLY | O_CLOEXEC;
    char        *text = NULL;
    size_t       length = 0;
    file->fd = open(file->path, flags | O_NOFOLLOW, 0600); // a link may lead anywhere, or nowhere yet
    if (file->fd < 0)
        return fail(file->path, err);
    if (may_create && fcntl(file->fd, F_SETLK, &lock) != 0)
        return error_set(err, STATUS_BUSY, "locked", "", "%.150s is used by another process", file->path);
    enum status status = read_lines(file, may_create, &text, &length, err);
    if (status == STATUS_OK)
        status = take_lines(file, reader, text, length, err);
    free(text);
    // Perhaps just made: nobody may write a line, and act on it, in a file whose name a power loss takes away.
    return status == STATUS_OK && file->is_new && may_create ? file_sync_folder_of(file->path, err) : status;
}

enum status append_open(const char *path, bool may_create, const struct append_reader *reader, struct append_file **out,
                        struct error *err)
{
    size_t length = strlen(path);
    *out = malloc(sizeof **out + length + 1);
    if (*out == NULL)
        return error_no_memory(err);
    **out = (struct append_file){.fd = -1};
    memcpy((*out)->path, path, length + 1);
    enum status status = open_file(*out, may_create, reader, err);
    if (status != STATUS_OK) {
        append_close(*out);
        *out = NULL;
    }
    return status;
}

bool append_is_new(const struct append_file *file)
{
    return file->is_new;
}

enum status append_line(const struct append_file *file, const char *line, struct error *err)
{
    size_t             length = strlen(line);
    char               newline[] = "\n";
    const struct iovec whole[] = {{(void *)(uintptr_t)line, length}, {newline, 1}};
    errno = ENOSPC; /* for a write that was cut short */
    if (writev(file->fd, whole, 2) == (ssize_t)length + 1 && fsync(file->fd) == 0)
        return STATUS_OK;
    return fail(file->path, err);
}

void append_close(struct append_file *file)
{
    if (file != NULL && file->fd >= 0)
        close(file->fd);
    free(file);
}
