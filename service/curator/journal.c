/* See journal.h.  Text: a head line "gnomon-journal-2 <secret> <study>", then "<candidate> <value>",
 * "<candidate> failed" and "agreed <answers> maximize|minimize"; the last line about a thing holds. */
#include "service/curator/journal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 96 };
static const char        AGREED[] = "agreed ", FAILED[] = "failed";
static const char *const goals[] = {"maximize", "minimize"};

static void keep(struct journal *journal, size_t candidate, double value)
{
    journal->answers += (size_t)(isfinite(value) != 0) - (size_t)(isfinite(journal->values[candidate]) != 0);
    journal->values[candidate] = value;
}

static bool take_agreement(struct journal *journal, const char *line)
{
    char *end = NULL;
    journal->limit = strtoull(line, &end, 10);
    journal->is_minimized = *end == ' ' && strcmp(end + 1, goals[1]) == 0;
    return journal->limit > 0 && *end == ' ' && strcmp(end + 1, goals[journal->is_minimized]) == 0;
}

static bool take_line(struct journal *journal, char *line)
{
    char *end = NULL;
    if (strncmp(line, AGREED, sizeof AGREED - 1) == 0)
        return take_agreement(journal, line + sizeof AGREED - 1);
    unsigned long long candidate = strtoull(line, &end, 10);
    if (end == line || *end != ' ' || candidate >= journal->len)
        return false;
    char  *number = end + 1;
    bool   is_failed = strcmp(number, FAILED) == 0;
    double value = is_failed ? (double)INFINITY : strtod(number, &end);
    if (!is_failed && (end == number || *end != '\0' || !isfinite(value)))
        return false;
    keep(journal, (size_t)candidate, value);
    return true;
}

struct reader {
    struct journal *journal;
    char            head[LINE_BYTES];
};

static enum status take(void *arg, char *line, size_t number, struct error *err)
{
    struct reader *reader = arg;
    (void)err;
    bool is_good = number == 1 ? strcmp(line, reader->head) == 0 : take_line(reader->journal, line);
    return is_good ? STATUS_OK : STATUS_CONFLICT;
}

enum status journal_open(const struct journal_of *of, bool may_create, struct journal *out, struct error *err)
{
    struct reader reader = {.journal = out};
    snprintf(reader.head, sizeof reader.head, "gnomon-journal-2 %s %s", of->secret_id, of->study);
    *out = (struct journal){.len = of->len, .values = malloc(of->len * sizeof *out->values)};
    if (out->values == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < of->len; i++)
        out->values[i] = (double)NAN;
    TRY(append_open(of->path, may_create,
                    &(struct append_reader){.take = take,
                                            .arg = &reader,
                                            .code = "other_journal",
                                            .complaint = "is not of this secret and study: look for the journal that "
                                                         "is. Without it rows are measured a second time"},
                    &out->file, err));
    return append_is_new(out->file) && may_create ? append_line(out->file, reader.head, err) : STATUS_OK;
}

enum status journal_append(struct journal *journal, size_t candidate, double value, struct error *err)
{
    char line[LINE_BYTES];
    if (isinf(value))
        snprintf(line, sizeof line, "%zu %s", candidate, FAILED);
    else
        snprintf(line, sizeof line, "%zu %.17g", candidate, value);
    TRY(append_line(journal->file, line, err));
    keep(journal, candidate, value);
    return STATUS_OK;
}

enum status journal_agree(struct journal *journal, size_t limit, bool is_minimized, struct error *err)
{
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "%s%zu %s", AGREED, limit, goals[is_minimized]);
    TRY(append_line(journal->file, line, err));
    journal->limit = limit;
    journal->is_minimized = is_minimized;
    return STATUS_OK;
}

size_t journal_failures(const struct journal *journal)
{
    size_t failures = 0;
    for (size_t i = 0; i < journal->len; i++)
        failures += isinf(journal->values[i]) != 0;
    return failures;
}

void journal_close(struct journal *journal)
{
    append_close(journal->file);
    free(journal->values);
    *journal = (struct journal){.file = NULL};
}
