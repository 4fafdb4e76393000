/* See scratch.h. */
#include "service/file/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum status failed(struct error *err)
{
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG
               ? error_set(err, STATUS_FULL, "disk_full", "", "the disk is full")
               : error_set(err, STATUS_INTERNAL, "store_io", "", "a file cannot be written: %s", strerror(errno));
}

enum status scratch_open(const char *folder, struct scratch *out, struct error *err)
{
    char path[4096];
    out->file = -1;
    out->bytes = 0;
    out->held = 0;
    out->digest = NULL;
    if (snprintf(path, sizeof path, "%s/scratch.XXXXXX", folder) >= (int)sizeof path)
        return error_set(err, STATUS_INTERNAL, "store_io", "", "the folder's name is too long");
    out->file = mkstemp(path); // of mode 0600
    if (out->file < 0)
        return failed(err);
    (void)unlink(path);
    (void)fcntl(out->file, F_SETFD, FD_CLOEXEC);
    out->digest = sha256_start();
    if (out->digest != NULL)
        return STATUS_OK;
    scratch_close(out);
    return error_no_memory(err);
}

enum status scratch_again(struct scratch *scratch, struct error *err)
{
    char                 old[SHA256_HEX_BYTES];
    struct sha256_state *digest = sha256_start();
    if (digest == NULL)
        return error_no_memory(err);
    if (scratch->digest != NULL)
        scratch_digest(scratch, old);
    scratch->digest = digest;
    scratch->bytes = 0;
    scratch->held = 0;
    return ftruncate(scratch->file, 0) == 0 && lseek(scratch->file, 0, SEEK_SET) == 0 ? STATUS_OK : failed(err);
}

static enum status flush(struct scratch *scratch, struct error *err)
{
    for (size_t done = 0; done < scratch->held;) {
        ssize_t n = write(scratch->file, scratch->buffer + done, scratch->held - done);
        if (n < 0 && errno != EINTR)
            return failed(err);
        done += n < 0 ? 0 : (size_t)n;
    }
    scratch->held = 0;
    return STATUS_OK;
}

enum status scratch_write(struct scratch *scratch, const void *bytes, size_t length, struct error *err)
{
    const char *at = bytes;
    if (scratch->digest != NULL)
        sha256_add(scratch->digest, bytes, length);
    scratch->bytes += (int64_t)length;
    while (length > 0) {
        size_t room = sizeof scratch->buffer - scratch->held, part = length < room ? length : room;
        memcpy(scratch->buffer + scratch->held, at, part);
        scratch->held += part;
        at += part;
        length -= part;
        if (scratch->held == sizeof scratch->buffer)
            TRY(flush(scratch, err));
    }
    return STATUS_OK;
}

void scratch_digest(struct scratch *scratch, char out[SHA256_HEX_BYTES])
{
    sha256_hex_final(scratch->digest, out);
    scratch->digest = NULL;
}

enum status scratch_finish(struct scratch *scratch, int *file, struct error *err)
{
    TRY(flush(scratch, err));
    *file = scratch->file;
    scratch->file = -1;
    return STATUS_OK;
}

void scratch_close(struct scratch *scratch)
{
    char digest[SHA256_HEX_BYTES];
    if (scratch->digest != NULL)
        scratch_digest(scratch, digest);
    if (scratch->file >= 0)
        close(scratch->file);
    scratch->file = -1;
}
