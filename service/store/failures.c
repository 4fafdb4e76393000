/* See failures.h. */
#include "service/store/failures.h"
#include "service/member/codec.h"

#include <string.h>
#include <strings.h>

enum { REASON_BYTES = 300 };

/* The bytes of the first line of a reason, as it is shown: up to REASON_BYTES, whole characters. */
static size_t reason_length(const char *reason)
{
    size_t length = strcspn(reason, "\r\n");
    if (length <= REASON_BYTES)
        return length;
    length = REASON_BYTES;
    while (length > 0 && ((unsigned char)reason[length] & 0xc0) == 0x80) // the rest of a character
        length--;
    return length;
}

static bool is_of_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+';
}

/* Whether the first lines are the same, or differ in digits alone ("tried to allocate 2.5 GiB", "... 12 GiB"). */
static bool reason_is_alike(const char *one, const char *other)
{
    const char *a = one, *b = other, *end_a = one + reason_length(one), *end_b = other + reason_length(other);
    for (;; a++, b++) {
        while (a < end_a && is_of_number(*a))
            a++;
        while (b < end_b && is_of_number(*b))
            b++;
        if (a == end_a || b == end_b)
            return a == end_a && b == end_b;
        if (*a != *b)
            return false;
    }
}

/* Whether the run was out of memory: it says so (Python's MemoryError, CUDA's and malloc's words, std::bad_alloc), or it ended by
 * SIGKILL or with exit code 137, as the kernel, Slurm and Kubernetes end what takes too much. */
static bool reason_is_memory(const char *reason)
{
    static const char *const words[] = {"out of memory",
                                        "out-of-memory",
                                        "outofmemory",
                                        "out_of_memory",
                                        "memoryerror",
                                        "oom-kill",
                                        "oomkilled",
                                        "cannot allocate memory",
                                        "unable to allocate",
                                        "failed to allocate memory",
                                        "bad_alloc",
                                        "resource_exhausted",
                                        "signal 9",
                                        "exit code 137",
                                        "exit status 137",
                                        "exit code -9",
                                        "sigkill"};
    for (; *reason != '\0'; reason++)
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (strncasecmp(reason, words[i], strlen(words[i])) == 0)
                return true;
    return false;
}

enum { ALLOWED_ALIKE = 10, ALLOWED_LEAST = 20, ALLOWED_MOST = 50, ALLOWED_EACH = 4, ALLOWED_BESIDES = 12 };

static bool has_value(const struct study *study)
{
    return study->trials[TRIAL_COMPLETED] + study->trials[TRIAL_STOPPED] > 0;
}

int64_t failures_allowed(const struct study *study)
{
    const struct space *space = &study->spec.space;
    int64_t             said = study->rules.failures_in_a_row;
    int64_t             wide = ALLOWED_EACH * (int64_t)space->params_len + ALLOWED_BESIDES;
    if (said != 0 || has_value(study))
        return said != 0 ? said : ALLOWED_MOST;
    if (space->kind != SPACE_PARAMETERS || wide < ALLOWED_LEAST)
        return ALLOWED_LEAST;
    return wide < ALLOWED_MOST ? wide : ALLOWED_MOST;
}

/* ---- reasons ---- */

struct reason {
    const char *text;
    int64_t     trials, last;
};

struct reasons {
    size_t        len;
    struct reason all[FAILURES_LOOKED_AT];
};

static void count(struct reasons *reasons, const struct row_trial_reason *row)
{
    const char *text = row->reason == NULL ? "" : row->reason;
    for (size_t i = 0; i < reasons->len; i++)
        if (reason_is_alike(reasons->all[i].text, text)) {
            reasons->all[i].trials++;
            return;
        }
    reasons->all[reasons->len++] = (struct reason){.text = text, .trials = 1, .last = row->number};
}

static enum status look(struct db_conn *conn, const struct task *task, struct reasons *out, struct error *err)
{
    struct db_rows rows =
        db_query(conn, task->caller->arena, err, SQL_TRIAL_REASONS, BIND(TEXT(task->id), INT(FAILURES_LOOKED_AT)));
    out->len = 0;
    while (db_next(&rows))
        count(out, row_trial_reason(&rows));
    return db_done(&rows);
}

static bool are_alike(const struct study *study, const struct reasons *reasons)
{
    const char *text = reasons->all[0].text;
    return study->rules.failures_in_a_row == 0 && !has_value(study) && reasons->len == 1 && text[0] != '\0' &&
           !reason_is_memory(text);
}

enum status failures_are_alike(struct db_conn *conn, const struct task *task, bool *out, struct error *err)
{
    const struct study *study = &task->study;
    struct reasons      reasons;
    *out = study->tally.failures_in_a_row >= ALLOWED_ALIKE && study->rules.failures_in_a_row == 0 && !has_value(study);
    if (!*out)
        return STATUS_OK;
    TRY(look(conn, task, &reasons, err));
    *out = are_alike(study, &reasons);
    return STATUS_OK;
}

/* Takes the commonest away; of equals the one whose trial is the last. */
static struct reason pop(struct reasons *reasons)
{
    size_t best = 0;
    for (size_t i = 1; i < reasons->len; i++)
        if (reasons->all[i].trials > reasons->all[best].trials)
            best = i;
    struct reason out = reasons->all[best];
    reasons->len--;
    memmove(reasons->all + best, reasons->all + best + 1, (reasons->len - best) * sizeof out);
    return out;
}

static json_t *write(const struct study *study, struct reasons *reasons)
{
    json_t *list = json_array();
    int64_t allowed = are_alike(study, reasons) ? ALLOWED_ALIKE : failures_allowed(study);
    while (reasons->len > 0 && json_array_size(list) < FAILURES_REASONS) {
        struct reason one = pop(reasons);
        codec_append(&list, json_pack("{s:s%, s:I, s:I, s:b}", "reason", one.text, reason_length(one.text), "trials",
                                      (json_int_t)one.trials, "last", (json_int_t)one.last, "out_of_memory",
                                      reason_is_memory(one.text)));
    }
    return json_pack("{s:I, s:o, s:o}", "in_a_row", (json_int_t)study->tally.failures_in_a_row, "allowed",
                     allowed == RULES_NEVER ? json_null() : json_integer(allowed), "reasons", list);
}

enum status failures_get(struct db_conn *conn, const struct task *task, const char **out, struct error *err)
{
    struct reasons reasons;
    *out = NULL;
    if (task->study.trials[TRIAL_FAILED] == 0)
        return STATUS_OK;
    TRY(look(conn, task, &reasons, err));
    json_t *json = write(&task->study, &reasons);
    *out = codec_dump_in(json, JSON_COMPACT, task->caller->arena);
    json_decref(json);
    return *out == NULL ? error_no_memory(err) : STATUS_OK;
}
