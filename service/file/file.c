/* See file.h. */
#include "service/file/file.h"
#include "service/base/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static enum status fail(struct error *err, const char *path)
{
    enum status status = errno == ENOSPC ? STATUS_FULL : errno == ENOENT ? STATUS_NOT_FOUND : STATUS_INVALID;
    return error_set(err, status, "file", "", "%.180s: %s", path, strerror(errno));
}

static enum status read_stream(FILE *stream, size_t limit_bytes, char **text, size_t *length)
{
    size_t room = 4096;
    char  *bytes = malloc(room + 1);
    *length = 0;
    for (; bytes != NULL; room *= 2) {
        *length += fread(bytes + *length, 1, room - *length, stream);
        if (*length < room || *length > limit_bytes)
            break;
        char *larger = realloc(bytes, room * 2 + 1);
        if (larger == NULL)
            free(bytes);
        bytes = larger;
    }
    if (bytes == NULL)
        return STATUS_NO_MEMORY;
    bytes[*length] = '\0';
    *text = bytes;
    return *length > limit_bytes ? STATUS_TOO_LARGE : ferror(stream) ? STATUS_INVALID : STATUS_OK;
}

static enum status read_file(FILE *stream, const char *path, size_t limit_bytes, char **text, size_t *length,
                             struct error *err)
{
    enum status status = read_stream(stream, limit_bytes, text, length);
    fclose(stream);
    if (status == STATUS_OK)
        return STATUS_OK;
    free(*text);
    *text = NULL;
    return error_set(err, status == STATUS_TOO_LARGE ? STATUS_INVALID : status, "file", "", "%.150s: %s", path,
                     status == STATUS_TOO_LARGE ? "the file is too large" : "cannot be read");
}

enum status file_read(const char *path, size_t limit_bytes, char **text, size_t *length, struct error *err)
{
    *text = NULL;
    FILE *stream = fopen(path, "re");
    return stream != NULL ? read_file(stream, path, limit_bytes, text, length, err) : fail(err, path);
}

/* Whether only its owner may read the file; or it is root's on a file system that is read-only here, as secrets of a cluster
 * are mounted, where the mount decided who may read it.  A terminal belongs to whoever sits before it. */
static bool is_private(FILE *stream, const struct stat *about)
{
    struct statvfs system;
    if ((about->st_mode & (S_IRWXG | S_IRWXO)) == 0 || S_ISCHR(about->st_mode))
        return true;
    return about->st_uid == 0 && (about->st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
           fstatvfs(fileno(stream), &system) == 0 && (system.f_flag & ST_RDONLY) != 0;
}

/* The permissions are those of the opened file, not of the name. */
enum status file_read_private(const char *path, size_t limit_bytes, char **text, size_t *length, struct error *err)
{
    struct stat about;
    *text = NULL;
    FILE *stream = fopen(path, "re");
    if (stream == NULL)
        return fail(err, path);
    if (fstat(fileno(stream), &about) == 0 && is_private(stream, &about))
        return read_file(stream, path, limit_bytes, text, length, err);
    fclose(stream);
    return error_set(err, STATUS_INVALID, "open_file", "",
                     "%.80s has mode %04o: others may have read or changed it. Once that is ruled out: chmod 600 %.80s",
                     path, (unsigned)about.st_mode & 07777u, path);
}

enum status file_digest(const char *path, char sha256[65], int64_t *bytes, struct error *err)
{
    FILE *stream = fopen(path, "re");
    if (stream == NULL)
        return fail(err, path);
    struct sha256_state *state = sha256_start();
    unsigned char        piece[16384];
    size_t               length = 0;
    *bytes = 0;
    while (state != NULL && (length = fread(piece, 1, sizeof piece, stream)) > 0) {
        sha256_add(state, piece, length);
        *bytes += (int64_t)length;
    }
    enum status status = state == NULL ? STATUS_NO_MEMORY : ferror(stream) ? STATUS_INVALID : STATUS_OK;
    if (state != NULL)
        sha256_hex_final(state, sha256);
    fclose(stream);
    return status == STATUS_OK ? STATUS_OK : error_set(err, status, "file", "", "%.150s: cannot be read", path);
}

enum status file_begin(struct file_draft *draft, const char *path, mode_t mode, struct error *err)
{
    draft->stream = NULL;
    draft->temporary[0] = '\0';
    if (strlen(path) >= sizeof draft->path)
        return error_set(err, STATUS_INVALID, "file", "", "a path of more than %zu bytes", sizeof draft->path - 1);
    snprintf(draft->path, sizeof draft->path, "%s", path);
    snprintf(draft->temporary, sizeof draft->temporary, "%s.XXXXXX", path);
    int fd = mkstemp(draft->temporary); /* 0600 from the start */
    if (fd < 0) {
        draft->temporary[0] = '\0';
        return fail(err, path);
    }
    draft->stream = fdopen(fd, "w");
    if (draft->stream != NULL && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fchmod(fd, mode) == 0)
        return STATUS_OK;
    enum status status = fail(err, path);
    if (draft->stream == NULL)
        close(fd);
    file_discard(draft);
    return status;
}

enum status file_finish(struct file_draft *draft, struct error *err)
{
    bool        is_good = fflush(draft->stream) == 0 && !ferror(draft->stream) && fsync(fileno(draft->stream)) == 0;
    enum status status = is_good ? STATUS_OK : fail(err, draft->path);
    if (fclose(draft->stream) != 0 && status == STATUS_OK)
        status = fail(err, draft->path);
    draft->stream = NULL;
    return status;
}

enum status file_sync_folder_of(const char *path, struct error *err)
{
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL)
        snprintf(folder, sizeof folder, ".");
    else
        slash[slash == folder] = '\0';
    int         fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum status status = fd >= 0 && fsync(fd) == 0 ? STATUS_OK : fail(err, folder);
    if (fd >= 0)
        close(fd);
    return status;
}

enum status file_publish(struct file_draft *draft, struct error *err)
{
    if (rename(draft->temporary, draft->path) != 0)
        return fail(err, draft->path);
    draft->temporary[0] = '\0';
    return file_sync_folder_of(draft->path, err);
}

void file_discard(struct file_draft *draft)
{
    if (draft->stream != NULL)
        fclose(draft->stream);
    if (draft->temporary[0] != '\0')
        unlink(draft->temporary);
    draft->stream = NULL;
    draft->temporary[0] = '\0';
}
