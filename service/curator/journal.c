/* See journal.h.  Text: a head line "gnomon-journal-2 <secret> <study>", then "<candidate> <value>",
 * "<candidate> failed" and "agreed <answers> maximize|minimize"; the last line about a thing holds. */
#include "service/curator/journal.h"

#include <math.h>
#include <stdint.h>
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

static enum status take_text(struct journal *journal, char *text, const char *head, struct error *err)
{
    size_t number = 0;
    char  *newline = NULL;
    for (char *line = text; (newline = strchr(line, '\n')) != NULL; line = newline + 1) {
        *newline = '\0';
        bool is_good = number++ == 0 ? strcmp(line, head) == 0 : take_line(journal, line);
        if (!is_good)
            return error_set(
                err, STATUS_CONFLICT, "other_journal", "",
                "line %zu of the journal is not of this secret and study: look for the one that is. Without "
                "it rows are measured, and private outcomes charged, a second time",
                number);
    }
    return STATUS_OK;
}

enum status journal_open(const struct journal_of *of, bool may_create, struct journal *out, struct error *err)
{
    char head[LINE_BYTES], line[LINE_BYTES + 2];
    snprintf(head, sizeof head, "gnomon-journal-2 %s %s", of->secret_id, of->study);
    snprintf(line, sizeof line, "%s\n", head);
    *out = (struct journal){.len = of->len, .values = malloc(of->len * sizeof *out->values), .file.fd = -1};
    if (out->values == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < of->len; i++)
        out->values[i] = (double)NAN;
    TRY(append_open(of->path, may_create, &out->file, err));
    TRY(take_text(out, out->file.text, head, err));
    bool is_new = out->file.length == 0;
    append_forget(&out->file);
    return is_new && may_create ? append_line(&out->file, line, err) : STATUS_OK;
}

enum status journal_append(struct journal *journal, size_t candidate, double value, struct error *err)
{
    char line[LINE_BYTES];
    if (isinf(value))
        snprintf(line, sizeof line, "%zu %s\n", candidate, FAILED);
    else
        snprintf(line, sizeof line, "%zu %.17g\n", candidate, value);
    TRY(append_line(&journal->file, line, err));
    keep(journal, candidate, value);
    return STATUS_OK;
}

enum status journal_agree(struct journal *journal, size_t limit, bool is_minimized, struct error *err)
{
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "%s%zu %s\n", AGREED, limit, goals[is_minimized]);
    TRY(append_line(&journal->file, line, err));
    journal->limit = limit;
    journal->is_minimized = is_minimized;
    return STATUS_OK;
}

size_t journal_best(const struct journal *journal)
{
    size_t best = SIZE_MAX;
    double sign = journal->is_minimized ? -1 : 1;
    for (size_t i = 0; i < journal->len; i++)
        if (isfinite(journal->values[i]) &&
            (best == SIZE_MAX || sign * journal->values[i] > sign * journal->values[best]))
            best = i;
    return best;
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
    append_close(&journal->file);
    free(journal->values);
    *journal = (struct journal){.file.fd = -1};
}
