/* A text file that is only ever appended to, line by line, by one process at a time: a line is there for good when
 * append_line returns, and a line that a crash cut short is taken off when the file is opened next.
 * Knows nothing of what the lines say. */
#ifndef GNOMON_SERVICE_BASE_APPEND_H
#define GNOMON_SERVICE_BASE_APPEND_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct append_file {
    int    fd;     /* holds the lock; -1: closed */
    char  *text;   /* the whole lines that were there, NUL behind; append_forget gives it back */
    size_t length; /* of text */
};

/* may_create: opened for appending, mode 0600, made when it is not there; else read only, whoever writes, and a torn line
 * is left alone.  Errors: NOT_FOUND "file"; BUSY "locked"; INVALID "file" (unreadable, too large, a symbolic link);
 * NO_MEMORY.  append_close always. */
MUST_CHECK enum status append_open(const char *path, bool may_create, struct append_file *out, struct error *err);
/* line ends with a newline.  FULL or INVALID "file": then nobody may act on it. */
MUST_CHECK enum status append_line(const struct append_file *file, const char *line, struct error *err);
void                   append_forget(struct append_file *file);
void                   append_close(struct append_file *file);

#endif
