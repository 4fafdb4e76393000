/* See options.h.  Every value is checked by the same three rules: it parses to its end, it is in range, it is one of
 * the choices. */
#include "service/cli/options.h"

#include "service/base/nearest.h"
#include "service/member/codec.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static enum status usage(struct error *err, const struct options_row *row, const char *problem, const char *value)
{
    return error_set(err, STATUS_INVALID, "usage", "", "--%s %s%s%s", row->flag, problem, value != NULL ? ": " : "",
                     value != NULL ? value : "");
}

static bool is_path(const struct options_row *row)
{
    return row->value != NULL && (strcmp(row->value, "FILE") == 0 || strcmp(row->value, "DIR") == 0);
}

static bool is_choice(const char *choices, const char *value)
{
    size_t length = strcspn(value, "|");
    if (value[length] == '|')
        return false;
    for (const char *c = choices; c != NULL; c = strchr(c, '|')) {
        c += *c == '|';
        if (strncmp(c, value, length) == 0 && (c[length] == '|' || c[length] == '\0'))
            return true;
    }
    return false;
}

static enum status refuse_choice(const struct options_row *row, const char *text, struct error *err)
{
    struct nearest nearest = nearest_to(text, strlen(text));
    char           word[NEAREST_CHARACTERS + 1];
    for (const char *c = row->choices; *c != '\0'; c += strcspn(c, "|"), c += *c == '|') {
        (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(c, "|"), c);
        nearest_consider(&nearest, word);
    }
    return error_set(err, STATUS_INVALID, "usage", "", "--%s takes one of %s, not %s%s", row->flag, row->choices, text,
                     nearest.hint);
}

static enum status store_number(const struct options_row *row, const char *text, char *member, struct error *err)
{
    char *end = NULL;
    errno = 0;
    if (row->kind == OPTIONS_INT) {
        long long number = strtoll(text, &end, 10);
        if (errno != 0 || end == text || *end != '\0')
            return usage(err, row, "takes a whole number, not", text);
        if ((double)number < row->min || (double)number > row->max)
            return error_set(err, STATUS_INVALID, "usage", "", "--%s is %lld, not in %.0f..%.0f", row->flag, number,
                             row->min, row->max);
        *(int64_t *)(void *)member = number;
        return STATUS_OK;
    }
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(number))
        return usage(err, row, "takes a number, not", text);
    if (number < row->min || number > row->max)
        return error_set(err, STATUS_INVALID, "usage", "", "--%s is %g, not in %g..%g", row->flag, number, row->min,
                         row->max);
    *(double *)(void *)member = number;
    return STATUS_OK;
}

static enum status store(const struct options_row *row, const char *text, void *out, struct error *err)
{
    char *member = (char *)out + row->offset;
    switch (row->kind) {
    case OPTIONS_SWITCH:
        if (!is_choice("0|1|false|true", text))
            return usage(err, row, "takes 0 or 1, not", text);
        *(bool *)(void *)member = is_choice("1|true", text);
        return STATUS_OK;
    case OPTIONS_TEXT:
        if (row->choices != NULL && !is_choice(row->choices, text))
            return refuse_choice(row, text, err);
        if (!is_path(row) && !codec_is_utf8(text, strlen(text)))
            return usage(err, row, "takes text in UTF-8, not", text);
        *(const char **)(void *)member = text;
        return STATUS_OK;
    default:
        return store_number(row, text, member, err);
    }
}

static const size_t member_bytes[] = {
    [OPTIONS_TEXT] = sizeof(char *),
    [OPTIONS_INT] = sizeof(int64_t),
    [OPTIONS_REAL] = sizeof(double),
    [OPTIONS_SWITCH] = sizeof(bool),
};

static enum status read_defaults(const struct options_row *rows, void *out, struct error *err)
{
    for (const struct options_row *row = rows; row->flag != NULL; row++) {
        const char *text = row->environment != NULL ? getenv(row->environment) : NULL;
        if (text == NULL)
            text = row->fallback;
        memset((char *)out + row->offset, 0, member_bytes[row->kind]);
        if (text != NULL)
            TRY(store(row, text, out, err));
    }
    return STATUS_OK;
}

static enum status refuse_unknown(const struct options_row *rows, const char *name, size_t length, struct error *err)
{
    struct nearest nearest = nearest_to(name, length);
    for (const struct options_row *row = rows; row->flag != NULL; row++)
        nearest_consider(&nearest, row->flag);
    return error_set(err, STATUS_INVALID, "usage", "", "there is no option --%.*s%s", (int)length, name,
                     nearest.hint[0] != '\0' ? nearest.hint : "; --help lists the options");
}

static const struct options_row *find(const struct options_row *rows, const char *name, size_t length)
{
    for (const struct options_row *row = rows; row->flag != NULL; row++)
        if (strlen(row->flag) == length && strncmp(row->flag, name, length) == 0)
            return row;
    return NULL;
}

/* "--flag value", "--flag=value" or "--switch"; moves *arguments past what it read. */
static enum status read_flag(const struct options_row *rows, char ***arguments, void *out, struct error *err)
{
    const char               *name = *(*arguments)++ + 2;
    const char               *equals = strchr(name, '=');
    const struct options_row *row = find(rows, name, strcspn(name, "="));
    if (row == NULL)
        return refuse_unknown(rows, name, strcspn(name, "="), err);
    if (equals != NULL)
        return store(row, equals + 1, out, err);
    if (row->kind == OPTIONS_SWITCH)
        return store(row, "1", out, err);
    if (**arguments == NULL)
        return usage(err, row, "needs a value", NULL);
    return store(row, *(*arguments)++, out, err);
}

/* A required member has no fallback, and 0 is outside its range: all bytes zero means that nothing was given. */
static enum status check_required(const struct options_row *rows, const void *out, struct error *err)
{
    static const char zero[sizeof(int64_t)];
    for (const struct options_row *row = rows; row->flag != NULL; row++)
        if (row->is_required && memcmp((const char *)out + row->offset, zero, member_bytes[row->kind]) == 0)
            return usage(err, row, "is missing", NULL);
    return STATUS_OK;
}

enum status options_read(const struct options_row *rows, char **arguments, void *out, const char **operands,
                         size_t operands_max, struct error *err)
{
    size_t len = 0;
    for (size_t i = 0; i < operands_max; i++)
        operands[i] = NULL;
    TRY(read_defaults(rows, out, err));
    while (*arguments != NULL) {
        if (strncmp(*arguments, "--", 2) == 0) {
            TRY(read_flag(rows, &arguments, out, err));
            continue;
        }
        if (len == operands_max)
            return error_set(err, STATUS_INVALID, "usage", "", "unexpected argument: %.*s",
                             (int)strcspn(*arguments, ":"), *arguments);
        operands[len++] = *arguments++;
    }
    return check_required(rows, out, err);
}

void options_print_help(const struct options_row *rows, FILE *stream)
{
    for (const struct options_row *row = rows; row->flag != NULL; row++) {
        fprintf(stream, "  --%s%s%s\n      %s", row->flag, row->value != NULL ? " " : "",
                row->value != NULL ? row->value : "", row->help);
        if (row->choices != NULL)
            fprintf(stream, "; one of %s", row->choices);
        if (row->kind == OPTIONS_INT)
            fprintf(stream, "; %.0f..%.0f", row->min, row->max);
        if (row->kind == OPTIONS_REAL)
            fprintf(stream, "; %g..%g", row->min, row->max);
        if (row->fallback != NULL)
            fprintf(stream, "; default %s", row->fallback);
        if (row->is_required)
            fputs("; required", stream);
        if (row->environment != NULL)
            fprintf(stream, " [%s]", row->environment);
        fputc('\n', stream);
    }
}
