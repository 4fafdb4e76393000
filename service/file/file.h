/* Files of the command line: read whole, written so that a reader sees the old one or the new one, and digested. */
#ifndef GNOMON_SERVICE_BASE_FILE_H
#define GNOMON_SERVICE_BASE_FILE_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* The whole file with a NUL behind it; the caller frees *text.
 * Errors: NOT_FOUND "file", INVALID "file" (unreadable, or more than limit_bytes), NO_MEMORY. */
MUST_CHECK enum status file_read(const char *path, size_t limit_bytes, char **text, size_t *length, struct error *err);

/* Reads a file that gives access: a key, a secret, a token.  It is its owner's alone, or belongs to root on a file system that is
 * read only here, as a cluster mounts its secrets.  INVALID "open_file" when others may read or write it otherwise. */
MUST_CHECK enum status file_read_private(const char *path, size_t limit_bytes, char **text, size_t *length,
                                         struct error *err);

/* SHA-256 in lower-case hexadecimal, and the length.  Errors: as file_read. */
MUST_CHECK enum status file_digest(const char *path, char sha256[65], int64_t *bytes, struct error *err);

/* A file under way: stream writes beside path; file_finish makes it durable, file_publish gives it its name.
 * file_discard removes what was not published; call it in every case. */
struct file_draft {
    FILE *stream;
    char  path[1024], temporary[1040];
};
MUST_CHECK enum status file_begin(struct file_draft *draft, const char *path, mode_t mode, struct error *err);
MUST_CHECK enum status file_finish(struct file_draft *draft, struct error *err);
MUST_CHECK enum status file_publish(struct file_draft *draft, struct error *err);
void                   file_discard(struct file_draft *draft);

/* Makes the name of a file that was just created last, as file_publish does. */
MUST_CHECK enum status file_sync_folder_of(const char *path, struct error *err);

#endif
