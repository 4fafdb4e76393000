/* See answers.h.  Text: a head line "gnomon-answers-1 CONTEXT", then "TAG STEPS" with TAG in hexadecimal. */
#include "service/curator/answers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONTEXT_SHOWN = 8, TAG_CHARS = 2 * NOISE_TAG_BYTES, LINE_BYTES = 128 };

void answers_path(const char *key_path, const unsigned char context[SHA256_BYTES], char *out, size_t out_bytes)
{
    char name[2 * CONTEXT_SHOWN + 1];
    digest_to_hex(context, CONTEXT_SHOWN, name);
    snprintf(out, out_bytes, "%s.%s.answers", key_path, name);
}

static enum status keep(struct answers *answers, const struct answer *answer, struct error *err)
{
    if (answers->len == answers->room) {
        size_t         room = answers->room == 0 ? 64 : 2 * answers->room;
        struct answer *larger = realloc(answers->given, room * sizeof *larger);
        if (larger == NULL)
            return error_no_memory(err);
        answers->given = larger;
        answers->room = room;
    }
    answers->given[answers->len++] = *answer;
    return STATUS_OK;
}

struct reading {
    struct answers *answers;
    const char     *head;
};

static enum status take_line(void *arg, char *line, size_t number, struct error *err)
{
    const struct reading *reading = arg;
    struct answer         answer;
    char                 *end = NULL;
    if (number == 1)
        return strcmp(line, reading->head) == 0 ? STATUS_OK : STATUS_CONFLICT;
    if (strlen(line) < TAG_CHARS + 2 || line[TAG_CHARS] != ' ')
        return STATUS_CONFLICT;
    line[TAG_CHARS] = '\0';
    errno = 0;
    answer.steps = strtoll(line + TAG_CHARS + 1, &end, 10);
    if (errno != 0 || *end != '\0' || !digest_of_hex(line, answer.tag.bytes, NOISE_TAG_BYTES))
        return STATUS_CONFLICT;
    return keep(reading->answers, &answer, err);
}

static enum status lost(const char *path, struct error *err)
{
    return error_set(
        err, STATUS_CONFLICT, "answers_lost", "",
        "%.100s is gone, but rows were answered: measured again, they would get a second answer. Restore it "
        "from a copy",
        path);
}

enum status answers_open(const char *path, const unsigned char context[SHA256_BYTES], bool may_create,
                         struct answers *out, struct error *err)
{
    char                       head[LINE_BYTES] = "gnomon-answers-1 ";
    struct reading             reading = {.answers = out, .head = head};
    const struct append_reader reader = {.take = take_line,
                                         .arg = &reading,
                                         .code = "other_answers",
                                         .complaint = "is not as it was written: restore the record from a copy"};
    digest_to_hex(context, SHA256_BYTES, head + strlen(head));
    *out = (struct answers){.len = 0};
    if (!may_create && access(path, F_OK) != 0)
        return lost(path, err);
    TRY(append_open(path, true, &reader, &out->file, err));
    if (!append_is_new(out->file))
        return STATUS_OK;
    return may_create ? append_line(out->file, head, err) : lost(path, err);
}

bool answers_find(const struct answers *answers, const struct noise_tag *tag, int64_t *steps)
{
    for (size_t i = 0; i < answers->len; i++)
        if (memcmp(answers->given[i].tag.bytes, tag->bytes, sizeof tag->bytes) == 0) {
            *steps = answers->given[i].steps;
            return true;
        }
    return false;
}

enum status answers_add(struct answers *answers, const struct noise_tag *tag, int64_t steps, struct error *err)
{
    struct answer answer = {.tag = *tag, .steps = steps};
    char          line[LINE_BYTES];
    digest_to_hex(tag->bytes, sizeof tag->bytes, line);
    snprintf(line + TAG_CHARS, sizeof line - TAG_CHARS, " %" PRId64, steps);
    TRY(append_line(answers->file, line, err));
    return keep(answers, &answer, err);
}

void answers_close(struct answers *answers)
{
    append_close(answers->file);
    free(answers->given);
    *answers = (struct answers){.len = 0};
}
