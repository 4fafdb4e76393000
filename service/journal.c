/* See journal.h.  Text: a head line "gnomon-journal-1 <secret> <study>", then "<candidate> <value>" lines. */
#include "service/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { JOURNAL_MAX_BYTES = 256 << 20, LINE_BYTES = 96 };

static enum status fail(const char *path, struct error *err)
{
    return error_set(err, errno == ENOSPC ? STATUS_FULL : STATUS_INVALID, "file", "", "%.150s: %s", path,
                     strerror(errno));
}

static enum status append(int fd, const char *line, struct error *err)
{
    size_t length = strlen(line);
    if (write(fd, line, length) != (ssize_t)length || fsync(fd) != 0)
        return fail("the journal", err);
    return STATUS_OK;
}

static bool take_line(struct journal *journal, char *line)
{
    char              *end = NULL;
    unsigned long long candidate = strtoull(line, &end, 10);
    if (end == line || *end != ' ' || candidate >= journal->len)
        return false;
    char  *number = end + 1;
    double value = strtod(number, &end);
    journal->values[candidate] = value;
    return end != number && *end == '\0' && isfinite(value);
}

/* Reads the whole lines of text; *kept_bytes is where the last of them ends. */
static enum status take_text(struct journal *journal, char *text, const char *head, size_t *kept_bytes,
                             struct error *err)
{
    size_t number = 0;
    char  *newline = NULL;
    for (char *line = text; (newline = strchr(line, '\n')) != NULL; line = newline + 1) {
        *newline = '\0';
        bool is_good = number++ == 0 ? strcmp(line, head) == 0 : take_line(journal, line);
        if (!is_good)
            return error_set(err, STATUS_CONFLICT, "other_journal", "",
                             "line %zu of the journal is not of this secret "
                             "and study: move the journal away to start anew",
                             number);
        *kept_bytes = (size_t)(newline - text) + 1;
    }
    return STATUS_OK;
}

/* Through the journal's own descriptor: closing any other one of the same file would give up the lock. */
static enum status read_whole(int fd, const char *path, char **text, size_t *length, struct error *err)
{
    off_t end = lseek(fd, 0, SEEK_END);
    *text = end >= 0 && end <= JOURNAL_MAX_BYTES ? malloc((size_t)end + 1) : NULL;
    if (*text == NULL)
        return error_set(err, STATUS_INVALID, "file", "", "%.150s: too large or unreadable", path);
    *length = 0;
    ssize_t got = 1;
    while (got > 0 && *length < (size_t)end) {
        got = pread(fd, *text + *length, (size_t)end - *length, (off_t)*length);
        *length += got > 0 ? (size_t)got : 0;
    }
    (*text)[*length] = '\0';
    return STATUS_OK;
}

static enum status load(struct journal *journal, const char *path, const char *head, struct error *err)
{
    char  *text = NULL, line[LINE_BYTES + 2];
    size_t length = 0, kept_bytes = 0;
    TRY(read_whole(journal->fd, path, &text, &length, err));
    enum status status = take_text(journal, text, head, &kept_bytes, err);
    free(text);
    if (status == STATUS_OK && kept_bytes < length && ftruncate(journal->fd, (off_t)kept_bytes) != 0)
        status = fail(path, err);
    if (status != STATUS_OK || kept_bytes > 0)
        return status;
    snprintf(line, sizeof line, "%s\n", head);
    return append(journal->fd, line, err);
}

enum status journal_open(const char *path, const char *secret_id, const char *study, size_t len, struct journal *out,
                         struct error *err)
{
    char         head[LINE_BYTES];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(head, sizeof head, "gnomon-journal-1 %s %s", secret_id, study);
    *out = (struct journal){.fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600), .len = len};
    if (out->fd < 0)
        return fail(path, err);
    if (fcntl(out->fd, F_SETLK, &lock) != 0)
        return error_set(err, STATUS_BUSY, "locked", "", "%.150s is used by another process", path);
    out->values = malloc(len * sizeof *out->values);
    if (out->values == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "out of memory");
    for (size_t i = 0; i < len; i++)
        out->values[i] = (double)NAN;
    return load(out, path, head, err);
}

enum status journal_append(struct journal *journal, size_t candidate, double value, struct error *err)
{
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "%zu %.17g\n", candidate, value);
    TRY(append(journal->fd, line, err));
    journal->values[candidate] = value;
    return STATUS_OK;
}

void journal_close(struct journal *journal)
{
    if (journal->fd >= 0)
        close(journal->fd);
    free(journal->values);
    *journal = (struct journal){.fd = -1};
}
