/* See sweep.h.  YAML is read by libyaml, which is loaded for it: the process that serves has no need of it.  What YAML has
 * beyond JSON's values is refused rather than guessed at: aliases (of which a few lines can stand for gigabytes), tags, names
 * that are no texts, a second document, the same name twice. */
#include "service/cli/sweep.h"

#include "service/file/file.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { FILE_MAX_BYTES = 8 << 20, DEPTH_MAX = 32 };

#define CALLS(X)                    \
    X(yaml_parser_initialize)       \
    X(yaml_parser_delete)           \
    X(yaml_parser_set_input_string) \
    X(yaml_parser_parse)            \
    X(yaml_event_delete)

/* The library's functions, with the types that its header gives them. */
static struct {
#define MEMBER(call) __typeof__(call) *call;
    CALLS(MEMBER)
} lib;

static const struct {
    const char *name;
    void       *member; /* of lib: a pointer to a function, which C does not convert */
} calls[] = {
#define ROW(call) {.name = #call, .member = &lib.call},
    CALLS(ROW)};

static enum status load(struct error *err)
{
    void *opened = dlopen("libyaml-0.so.2", RTLD_NOW);
    if (opened == NULL)
        return error_set(err, STATUS_INTERNAL, "no_libyaml", "",
                         "a sweep in YAML needs libyaml (apt-get install libyaml-0-2): %.80s", dlerror());
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void *call = dlsym(opened, calls[i].name);
        if (call == NULL)
            return error_set(err, STATUS_INTERNAL, "no_libyaml", "", "this libyaml has no %s", calls[i].name);
        memcpy(calls[i].member, &call, sizeof call);
    }
    return STATUS_OK;
}

/* ---- YAML ---- */

struct reader {
    const char   *path;
    yaml_parser_t parser;
    yaml_event_t  event; /* the latest; one of no type needs no release */
};

static enum status refuse(const struct reader *reader, yaml_mark_t where, const char *why, struct error *err)
{
    return error_set(err, STATUS_INVALID, "bad_yaml", "", "%.80s, line %zu: %.60s", reader->path, where.line + 1, why);
}

static enum status next(struct reader *reader, struct error *err)
{
    lib.yaml_event_delete(&reader->event);
    if (lib.yaml_parser_parse(&reader->parser, &reader->event))
        return STATUS_OK;
    if (reader->parser.error == YAML_MEMORY_ERROR)
        return error_no_memory(err);
    const char *why = reader->parser.problem;
    return refuse(reader, reader->parser.problem_mark, why != NULL ? why : "not YAML", err);
}

static bool is_one_of(const char *text, const char *const words[])
{
    while (*words != NULL && strcmp(text, *words) != 0)
        words++;
    return *words != NULL;
}

/* Reads a scalar without quotes by YAML 1.2, so that 1e-5 is a number, and no, on and 1:30 are texts, unlike in 1.1.  NULL,
 * and no error: it is a text. */
static json_t *read_plain(const char *text)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL}, *const falses[] = {"false", "False", "FALSE",
                                                                                          NULL};
    static const char digits[] = "0123456789";
    if (is_one_of(text, nulls))
        return json_null();
    if (is_one_of(text, trues) || is_one_of(text, falses))
        return json_boolean(is_one_of(text, trues));
    const char *at = text + (*text == '+' || *text == '-');
    size_t      whole = strspn(at, digits), part = at[whole] == '.' ? strspn(at + whole + 1, digits) : 0;
    const char *end = at + whole + (at[whole] == '.' ? 1 + part : 0);
    if (whole + part == 0)
        return NULL;
    errno = 0;
    if (*end == '\0' && end == at + whole) {
        long long value = strtoll(text, NULL, 10);
        return errno == 0 ? json_integer(value) : json_real(strtod(text, NULL));
    }
    if (*end == 'e' || *end == 'E') {
        end += 1 + (end[1] == '+' || end[1] == '-');
        size_t exponent = strspn(end, digits);
        if (exponent == 0)
            return NULL;
        end += exponent;
    }
    double value = *end == '\0' ? strtod(text, NULL) : INFINITY;
    return isfinite(value) ? json_real(value) : NULL;
}

static enum status read_scalar(const struct reader *reader, json_t **out, struct error *err)
{
    const char *text = (const char *)reader->event.data.scalar.value;
    *out = reader->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? read_plain(text) : NULL;
    if (*out == NULL)
        *out = json_stringn(text, reader->event.data.scalar.length);
    return *out != NULL ? STATUS_OK : error_no_memory(err);
}

static enum status read_node(struct reader *reader, int depth, json_t **out, struct error *err);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as DEPTH_MAX */
static enum status read_list(struct reader *reader, int depth, json_t *list, struct error *err)
{
    for (;;) {
        json_t *item = NULL;
        TRY(next(reader, err));
        if (reader->event.type == YAML_SEQUENCE_END_EVENT)
            return STATUS_OK;
        TRY(read_node(reader, depth, &item, err));
        if (json_array_append_new(list, item) != 0)
            return error_no_memory(err);
    }
}

static enum status read_name(const struct reader *reader, const json_t *object, char **name, struct error *err)
{
    const yaml_event_t *event = &reader->event;
    if (event->type != YAML_SCALAR_EVENT ||
        strlen((const char *)event->data.scalar.value) != event->data.scalar.length ||
        event->data.scalar.anchor != NULL || event->data.scalar.tag != NULL)
        return refuse(reader, event->start_mark, "a name is a text", err);
    if (json_object_get(object, (const char *)event->data.scalar.value) != NULL)
        return refuse(reader, event->start_mark, "the same name twice", err);
    *name = strdup((const char *)event->data.scalar.value);
    return *name != NULL ? STATUS_OK : error_no_memory(err);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as DEPTH_MAX */
static enum status read_object(struct reader *reader, int depth, json_t *object, struct error *err)
{
    for (;;) {
        json_t *item = NULL;
        char   *name = NULL;
        TRY(next(reader, err));
        if (reader->event.type == YAML_MAPPING_END_EVENT)
            return STATUS_OK;
        TRY(read_name(reader, object, &name, err));
        enum status status = next(reader, err);
        if (status == STATUS_OK)
            status = read_node(reader, depth, &item, err);
        if (status == STATUS_OK && json_object_set_new(object, name, item) != 0)
            status = error_no_memory(err);
        free(name);
        TRY(status);
    }
}

/* Reads a node from its first event, which is here, to its last.
 * NOLINTNEXTLINE(misc-no-recursion): as deep as DEPTH_MAX */
static enum status read_node(struct reader *reader, int depth, json_t **out, struct error *err)
{
    const yaml_event_t *event = &reader->event;
    bool is_list = event->type == YAML_SEQUENCE_START_EVENT, is_object = event->type == YAML_MAPPING_START_EVENT;
    if (event->type == YAML_ALIAS_EVENT)
        return refuse(reader, event->start_mark, "aliases are not taken", err);
    const yaml_char_t *tag = is_list     ? event->data.sequence_start.tag
                             : is_object ? event->data.mapping_start.tag
                                         : event->data.scalar.tag;
    if (tag != NULL)
        return refuse(reader, event->start_mark, "tags are not taken", err);
    if (depth == DEPTH_MAX)
        return refuse(reader, event->start_mark, "nested too deep", err);
    if (!is_list && !is_object)
        return read_scalar(reader, out, err);
    json_t *made = is_list ? json_array() : json_object();
    if (made == NULL)
        return error_no_memory(err);
    enum status status = is_list ? read_list(reader, depth + 1, made, err) : read_object(reader, depth + 1, made, err);
    if (status == STATUS_OK)
        *out = made;
    else
        json_decref(made);
    return status;
}

/* Reads a single document, and refuses a second one. */
static enum status read_stream(struct reader *reader, json_t **out, struct error *err)
{
    TRY(next(reader, err)); /* that it begins */
    TRY(next(reader, err));
    if (reader->event.type == YAML_STREAM_END_EVENT)
        return refuse(reader, reader->event.start_mark, "there is nothing in it", err);
    TRY(next(reader, err));
    TRY(read_node(reader, 0, out, err));
    TRY(next(reader, err)); /* that the document ends */
    TRY(next(reader, err));
    if (reader->event.type != YAML_STREAM_END_EVENT)
        return refuse(reader, reader->event.start_mark, "a second document", err);
    return STATUS_OK;
}

static enum status read_yaml(const char *path, const char *text, size_t length, json_t **out, struct error *err)
{
    struct reader reader = {.path = path};
    TRY(load(err));
    if (!lib.yaml_parser_initialize(&reader.parser))
        return error_no_memory(err);
    lib.yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
    enum status status = read_stream(&reader, out, err);
    if (status != STATUS_OK) {
        json_decref(*out);
        *out = NULL;
    }
    lib.yaml_event_delete(&reader.event);
    lib.yaml_parser_delete(&reader.parser);
    return status;
}

/* ---- both ---- */

static bool is_yaml(const char *path, const char *text)
{
    const char *ending = strrchr(path, '.');
    while (isspace((unsigned char)*text))
        text++;
    return (ending != NULL && (strcmp(ending, ".yaml") == 0 || strcmp(ending, ".yml") == 0)) || *text != '{';
}

enum status sweep_parse(const char *path, const char *text, size_t length, json_t **sweep, struct error *err)
{
    json_error_t where;
    *sweep = NULL;
    if (is_yaml(path, text))
        TRY(read_yaml(path, text, length, sweep, err));
    else if ((*sweep = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where)) == NULL)
        return error_set(err, STATUS_INVALID, "bad_json", "", "%.80s, line %d: %.60s", path, where.line, where.text);
    if (json_is_string(json_object_get(*sweep, "name")))
        return STATUS_OK;
    json_decref(*sweep);
    *sweep = NULL;
    return error_set(err, STATUS_INVALID, "bad_json", "", "%.80s: a study needs a name; gnomon study example shows one",
                     path);
}

enum status sweep_read(const char *path, json_t **sweep, struct error *err)
{
    char  *text = NULL;
    size_t length;
    TRY(file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, FILE_MAX_BYTES, &text, &length, err));
    enum status status = sweep_parse(path, text, length, sweep, err);
    free(text);
    return status;
}
