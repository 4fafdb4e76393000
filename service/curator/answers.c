/* See answers.h.  Text: a head line "gnomon-answers-1 CONTEXT", then "TAG STEPS" with TAG in hexadecimal. */
#include "service/curator/answers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONTEXT_SHOWN = 8, TAG_CHARS = 2 * NOISE_TAG_BYTES, LINE_BYTES = 128 };

void answers_path(const char *folder, const unsigned char context[SHA256_BYTES], char *out, size_t out_bytes)
{
    char name[2 * CONTEXT_SHOWN + 1];
    digest_to_hex(context, CONTEXT_SHOWN, name);
    snprintf(out, out_bytes, "%s/answers-%s", folder, name);
}

static void print_line(const struct answer *answer, char out[LINE_BYTES])
{
    digest_to_hex(answer->tag.bytes, sizeof answer->tag.bytes, out);
    snprintf(out + TAG_CHARS, LINE_BYTES - TAG_CHARS, " %" PRId64, answer->steps);
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
    char          line[LINE_BYTES];
    unsigned char digest[SHA256_BYTES];
    print_line(answer, line);
    sha256(line, strlen(line), digest);
    chain_add(&answers->chain, digest);
    answers->given[answers->len++] = *answer;
    return STATUS_OK;
}

struct reading {
    struct answers     *answers;
    const char         *head;
    const struct chain *known;
    bool                is_met;
};

static void meet(struct reading *reading)
{
    const struct chain *chain = &reading->answers->chain;
    reading->is_met = reading->is_met || (reading->known->seq == chain->seq &&
                                          memcmp(reading->known->head, chain->head, sizeof chain->head) == 0);
}

static enum status take_line(void *arg, char *line, size_t number, struct error *err)
{
    struct reading *reading = arg;
    struct answer   answer;
    char           *end = NULL;
    if (number == 1 && strcmp(line, reading->head) != 0)
        return STATUS_CONFLICT;
    if (number == 1) {
        meet(reading);
        return STATUS_OK;
    }
    if (strlen(line) < TAG_CHARS + 2 || line[TAG_CHARS] != ' ')
        return STATUS_CONFLICT;
    line[TAG_CHARS] = '\0';
    errno = 0;
    answer.steps = strtoll(line + TAG_CHARS + 1, &end, 10);
    if (errno != 0 || *end != '\0' || !digest_of_hex(line, answer.tag.bytes, NOISE_TAG_BYTES))
        return STATUS_CONFLICT;
    TRY(keep(reading->answers, &answer, err));
    meet(reading);
    return STATUS_OK;
}

static enum status lost(const char *path, struct error *err)
{
    return error_set(err, STATUS_CONFLICT, "answers_lost", "",
                     "%.100s is gone or lacks answers that were given: rows would be measured again. Restore it from a "
                     "copy; or give it up by gnomon ledger epoch, which is charged like the first answers",
                     path);
}

enum status answers_open(const char *path, const unsigned char context[SHA256_BYTES], const struct chain *known,
                         struct answers *out, struct error *err)
{
    static const struct chain  nothing = {.seq = 0};
    char                       head[LINE_BYTES] = "gnomon-answers-1 ";
    struct reading             reading = {.answers = out, .head = head, .known = known != NULL ? known : &nothing};
    const struct append_reader reader = {.take = take_line,
                                         .arg = &reading,
                                         .code = "other_answers",
                                         .complaint = "is not as it was written: restore the record from a copy"};
    digest_to_hex(context, SHA256_BYTES, head + strlen(head));
    *out = (struct answers){.len = 0};
    if (known != NULL && access(path, F_OK) != 0)
        return lost(path, err);
    TRY(append_open(path, true, &reader, &out->file, err));
    if (known == NULL && append_is_new(out->file))
        return append_line(out->file, head, err);
    return reading.is_met ? STATUS_OK : lost(path, err);
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
    print_line(&answer, line);
    TRY(append_line(answers->file, line, err));
    return keep(answers, &answer, err);
}

void answers_close(struct answers *answers)
{
    append_close(answers->file);
    free(answers->given);
    *answers = (struct answers){.len = 0};
}
