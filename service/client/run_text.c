/* See run_text.h. */
#include "service/client/run_text.h"

#include "service/base/text.h"
#include "service/file/written.h"
#include "service/client/point.h"
#include "service/member/codec.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

char *run_text_value(const json_t *value)
{
    char text[TEXT_REAL_BYTES];
    if (json_is_string(value))
        return strdup(json_string_value(value));
    if (!json_is_real(value))
        return codec_dump(value, JSON_ENCODE_ANY | JSON_COMPACT);
    text_real(json_real_value(value), text);
    return strdup(text);
}

void run_text_free(char **strings)
{
    for (char **s = strings; s != NULL && *s != NULL; s++)
        free(*s);
    free(strings);
}

/* ---- what it is given ---- */

/* The first {name} of a parameter at or behind text; *name and *length are the name's. */
static const char *find_place(const struct run_text_program *program, const char *text, size_t *length)
{
    for (const char *open = strchr(text, '{'); open != NULL; open = strchr(open + 1, '{')) {
        *length = strcspn(open + 1, "}");
        if (open[1 + *length] == '}' && point_parameter(program->space, open + 1, *length) != NULL)
            return open;
    }
    return NULL;
}

static char *fill_word(const struct run_text_program *program, const char *word)
{
    struct written to;
    size_t         length;
    FILE          *out = written_open(&to);
    if (out == NULL)
        return NULL;
    for (const char *open; (open = find_place(program, word, &length)) != NULL; word = open + length + 2) {
        char *name = strndup(open + 1, length);
        char *value = name != NULL ? run_text_value(json_object_get(program->point, name)) : NULL;
        fprintf(out, "%.*s%s", (int)(open - word), word, value != NULL ? value : "");
        free(value);
        free(name);
    }
    fputs(word, out);
    return written_close(&to);
}

static char *join(const char *before, const char *name, const char *value)
{
    size_t bytes = value != NULL ? strlen(before) + strlen(name) + strlen(value) + 2 : 0;
    char  *text = bytes > 0 ? malloc(bytes) : NULL;
    if (text != NULL)
        snprintf(text, bytes, "%s%s=%s", before, name, value);
    return text;
}

char **run_text_program(const struct run_text_program *program)
{
    size_t words = 0, length, points = json_object_size(program->point);
    bool   has_place = false;
    for (; program->words[words] != NULL; words++)
        has_place = has_place || find_place(program, program->words[words], &length) != NULL;
    char **out = calloc(words + points + 1, sizeof *out);
    bool   failed = out == NULL;
    for (size_t i = 0; i < words && !failed; i++)
        failed = (out[i] = fill_word(program, program->words[i])) == NULL;
    const char *name;
    json_t     *value;
    json_object_foreach ((json_t *)(uintptr_t)program->point, name, value) {
        if (has_place || !program->wants_flags || failed)
            break;
        char *text = run_text_value(value);
        failed = (out[words++] = join("--", name, text)) == NULL;
        free(text);
    }
    if (!failed)
        return out;
    run_text_free(out);
    return NULL;
}

/* ---- what may stand in it ---- */

/* Programs that join their words to a text and let a shell read it, often at another machine. */
static const char *const joining[] = {"ssh", "autossh", "rsh", "pdsh", "clush", "mosh", "parallel", "watch"};

static bool joins_words(const char *word)
{
    const char *slash = strrchr(word, '/');
    for (size_t i = 0; i < sizeof joining / sizeof joining[0]; i++)
        if (strcmp(slash != NULL ? slash + 1 : word, joining[i]) == 0)
            return true;
    return false;
}

static bool is_plain(const char *text)
{
    return text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+/-")] == '\0';
}

static enum status refuse_text(const char *name, const char *text, const char *instead, struct error *err)
{
    return error_set(
        err, STATUS_INVALID, "usage", "",
        "%.40s: \"%.40s\" does not stand in a command, where a shell may read it (only A-Z a-z 0-9 . _ + / -, "
        "and no - in front): use %s",
        name, text, instead);
}

/* As --name=value behind the program. */
static enum status check_flag(const json_t *parameter, struct error *err)
{
    static const char instead[] = "--as json";
    const char       *name = json_string_value(json_object_get(parameter, "name"));
    size_t            i;
    const json_t     *value;
    if (name == NULL || !is_plain(name))
        return refuse_text("a name", name != NULL ? name : "", instead, err);
    json_array_foreach (json_object_get(parameter, "values"), i, value) {
        const char *text = json_string_value(value);
        if (text != NULL && !is_plain(text))
            return refuse_text(name, text, instead, err);
    }
    return STATUS_OK;
}

/* As {name} in a word. */
static enum status check_place(const json_t *parameter, struct error *err)
{
    size_t        i;
    const json_t *value;
    json_array_foreach (json_object_get(parameter, "values"), i, value) {
        const char *text = json_string_value(value);
        if (text != NULL && (!is_plain(text) || text[0] == '-'))
            return refuse_text(json_string_value(json_object_get(parameter, "name")), text,
                               "--as env, and \"$PARAM_...\" in its place", err);
    }
    return STATUS_OK;
}

enum status run_text_check_program(const struct run_text_program *program, struct error *err)
{
    bool          has_place = false, is_joined = false;
    size_t        i, length = 0;
    const json_t *parameter;
    for (char *const *word = program->words; *word != NULL; word++) {
        const char *at = *word;
        is_joined = is_joined || joins_words(at);
        for (; (at = find_place(program, at, &length)) != NULL; at += length + 2) {
            has_place = true;
            TRY(check_place(point_parameter(program->space, at + 1, length), err));
        }
    }
    if (!is_joined || has_place || !program->wants_flags)
        return STATUS_OK;
    json_array_foreach (json_object_get(program->space, "parameters"), i, parameter)
        TRY(check_flag(parameter, err));
    return STATUS_OK;
}

static bool is_named(const json_t *variables, const char *entry)
{
    size_t      length = strcspn(entry, "=");
    const char *name;
    json_t     *value;
    json_object_foreach ((json_t *)(uintptr_t)variables, name, value) {
        if (strlen(name) == length && strncmp(name, entry, length) == 0)
            return true;
    }
    return false;
}

char **run_text_environment(const json_t *variables)
{
    size_t count = 0, len = 0;
    while (environ[count] != NULL)
        count++;
    char      **out = calloc(count + json_object_size(variables) + 1, sizeof *out);
    bool        failed = out == NULL;
    const char *name;
    json_t     *value;
    json_object_foreach ((json_t *)(uintptr_t)variables, name, value) {
        char *text = failed ? NULL : run_text_value(value);
        failed = failed || (out[len++] = join("", name, text)) == NULL;
        free(text);
    }
    for (char **entry = environ; *entry != NULL && !failed; entry++)
        if (!is_named(variables, *entry))
            failed = (out[len++] = strdup(*entry)) == NULL;
    if (!failed)
        return out;
    run_text_free(out);
    return NULL;
}

/* ---- what it says ---- */

static const char STEP[] = "{step}", VALUE[] = "{value}";

static bool has_once(const char *pattern, const char *word)
{
    const char *first = strstr(pattern, word);
    return first != NULL && strstr(first + 1, word) == NULL;
}

enum status run_text_check_pattern(const char *pattern, struct error *err)
{
    return has_once(pattern, STEP) && has_once(pattern, VALUE)
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "usage", "", "--steps takes a line with {step} and {value}, not %.100s",
                           pattern);
}

static const char *skip_space(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

/* Moves *line past a number; false when there is none. */
static bool read_place(const char **pattern, const char **line, int64_t *step, double *value)
{
    bool  is_step = strncmp(*pattern, STEP, sizeof STEP - 1) == 0;
    char *end = NULL;
    if (isspace((unsigned char)**line))
        return false;
    if (is_step)
        *step = strtoll(*line, &end, 10);
    else
        *value = strtod(*line, &end);
    bool is_read = end != *line && (!is_step || *step >= 1);
    *line = end;
    *pattern += is_step ? sizeof STEP - 1 : sizeof VALUE - 1;
    return is_read;
}

bool run_text_step(const char *pattern, const char *line, int64_t *step, double *value)
{
    pattern = skip_space(pattern);
    line = skip_space(line);
    while (*pattern != '\0') {
        if (strncmp(pattern, STEP, sizeof STEP - 1) == 0 || strncmp(pattern, VALUE, sizeof VALUE - 1) == 0) {
            if (!read_place(&pattern, &line, step, value))
                return false;
        } else if (isspace((unsigned char)*pattern)) {
            pattern = skip_space(pattern);
            if (*pattern != '\0' && !isspace((unsigned char)*line))
                return false;
            line = skip_space(line);
        } else if (*pattern++ != *line++) {
            return false;
        }
    }
    return *skip_space(line) == '\0';
}

static bool is_metric(const json_t *metrics, const char *name, size_t length)
{
    size_t        i;
    const json_t *metric;
    json_array_foreach (metrics, i, metric) {
        const char *own = json_string_value(json_object_get(metric, "name"));
        if (own != NULL && strlen(own) == length && strncmp(own, name, length) == 0)
            return true;
    }
    return false;
}

/* Numbers that JSON cannot say count as given, and the result as not finite. */
static bool put(json_t *values, const char *name, double number, bool *is_finite)
{
    *is_finite = *is_finite && isfinite(number);
    return json_object_set_new(values, name, json_real(isfinite(number) ? number : 0)) == 0;
}

static bool take_object(const char *text, const json_t *metrics, json_t *values, bool *is_finite)
{
    json_t     *object = json_loads(text, 0, NULL), *value;
    const char *name;
    bool        is_good = json_is_object(object);
    json_object_foreach (object, name, value) {
        if (is_metric(metrics, name, strlen(name)))
            is_good = is_good && json_is_number(value) && put(values, name, json_number_value(value), is_finite);
    }
    json_decref(object);
    return is_good && json_object_size(values) > 0;
}

/* accuracy=0.9, accuracy: 0.9, accuracy 0.9; several with white space or commas between them. */
static bool take_pairs(const char *text, const json_t *metrics, json_t *values, bool *is_finite)
{
    static const char between[] = " \t\r\n,;";
    for (text += strspn(text, between); *text != '\0'; text += strspn(text, between)) {
        size_t      length = strcspn(text, "=: \t");
        const char *number = text + length;
        char       *end = NULL, *name = strndup(text, length);
        number += strspn(number, "=: \t");
        double value = strtod(number, &end);
        bool   is_good = name != NULL && is_metric(metrics, name, length) && end != number &&
                       (*end == '\0' || strchr(between, *end) != NULL) && put(values, name, value, is_finite);
        free(name);
        if (!is_good)
            return false;
        text = end;
    }
    return json_object_size(values) > 0;
}

bool run_text_result(const char *text, const json_t *metrics, json_t **values, bool *is_finite)
{
    const char *first = json_string_value(json_object_get(json_array_get(metrics, 0), "name"));
    char       *end = NULL;
    double      number = strtod(text, &end);
    *is_finite = true;
    *values = json_object();
    text = skip_space(text);
    bool is_number = end != NULL && end > text && *skip_space(end) == '\0';
    bool is_good = *values != NULL && first != NULL &&
                   (is_number      ? put(*values, first, number, is_finite)
                    : *text == '{' ? take_object(text, metrics, *values, is_finite)
                                   : take_pairs(text, metrics, *values, is_finite));
    if (!is_good) {
        json_decref(*values);
        *values = NULL;
    }
    return is_good;
}
