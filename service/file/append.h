/* A text file that is only ever appended to, line by line, by one process at a time: the journals and the ledger of the
 * command line.  A line is there for good when append_line returns, and one that a crash cut short is taken off when the
 * file is opened next.  Knows nothing of what the lines say: who opens a file reads them all, and refuses a line that is
 * not his. */
#ifndef GNOMON_SERVICE_BASE_APPEND_H
#define GNOMON_SERVICE_BASE_APPEND_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct append_file;

/* take is called for each line, without its newline; number from 1.  STATUS_CONFLICT, for which it sets no error, says
 * that the file cannot have this line: append_open then fails with the code and "line NUMBER of PATH COMPLAINT". */
struct append_reader {
    enum status (*take)(void *arg, char *line, size_t number, struct error *err);
    void       *arg;
    const char *code, *complaint;
};

/* may_create: opened for appending, mode 0600, made when it is not there; else read only, whoever writes, and a torn line
 * is left alone.  Errors: NOT_FOUND "file"; BUSY "locked"; INVALID "file" (unreadable, too large, a symbolic link);
 * CONFLICT, as the reader says; NO_MEMORY; what take says.  *out is NULL then. */
MUST_CHECK enum status append_open(const char *path, bool may_create, const struct append_reader *reader,
                                   struct append_file **out, struct error *err);
/* Whether the file had no line when it was opened. */
bool append_is_new(const struct append_file *file);
/* Appends a line, which is given without a newline.  FULL or INVALID "file": then nobody may act on the line. */
MUST_CHECK enum status append_line(const struct append_file *file, const char *line, struct error *err);
void                   append_close(struct append_file *file); /* NULL is allowed */

#endif
