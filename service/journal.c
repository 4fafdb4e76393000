/* See journal.h.  Text: a head line "gnomon-journal-1 <secret> <study>", then "<candidate> <value>" lines. */
#include "service/journal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 96 };

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

static enum status take_text(struct journal *journal, char *text, const char *head, struct error *err)
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
    }
    return STATUS_OK;
}

enum status journal_open(const char *path, const char *secret_id, const char *study, size_t len, struct journal *out,
                         struct error *err)
{
    char head[LINE_BYTES], line[LINE_BYTES + 2];
    snprintf(head, sizeof head, "gnomon-journal-1 %s %s", secret_id, study);
    snprintf(line, sizeof line, "%s\n", head);
    *out = (struct journal){.len = len, .values = malloc(len * sizeof *out->values), .file.fd = -1};
    if (out->values == NULL)
        return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "out of memory");
    for (size_t i = 0; i < len; i++)
        out->values[i] = (double)NAN;
    TRY(append_open(path, true, &out->file, err));
    TRY(take_text(out, out->file.text, head, err));
    bool is_new = out->file.length == 0;
    append_forget(&out->file);
    return is_new ? append_line(&out->file, line, err) : STATUS_OK;
}

enum status journal_append(struct journal *journal, size_t candidate, double value, struct error *err)
{
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "%zu %.17g\n", candidate, value);
    TRY(append_line(&journal->file, line, err));
    journal->values[candidate] = value;
    return STATUS_OK;
}

void journal_close(struct journal *journal)
{
    append_close(&journal->file);
    free(journal->values);
    *journal = (struct journal){.file.fd = -1};
}
