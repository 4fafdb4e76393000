/* See route.h. */
#include "api/core/route.h"

#include "api/base/gate.h"
#include "service/member/codec_write.h"

#include <string.h>

static int hex_value(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Percent decoding of what gate_uri let through, into the arena; NULL when out of memory. */
static const char *decode(struct arena *arena, const char *text, size_t length, bool plus_is_space)
{
    char *out = arena_strndup(arena, text, length);
    if (out == NULL)
        return NULL;
    size_t to = 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i] == '+' && plus_is_space ? ' ' : text[i];
        if (c == '%' && length - i > 2) {
            c = (char)(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
            i += 2;
        }
        out[to++] = c;
    }
    out[to] = '\0';
    return out;
}

/* Compares segment by segment; the parameters' segments go to params and lengths. */
static bool matches(const char *pattern, const char *path, const char *end, const char **params, size_t *lengths)
{
    size_t found = 0;
    for (size_t i = 0; i < CALL_PARAMS_MAX; i++)
        lengths[i] = 0;
    while (*pattern != '\0' && path < end) {
        if (*pattern == '{') {
            const char *slash = memchr(path, '/', (size_t)(end - path));
            const char *stop = slash == NULL ? end : slash;
            params[found] = path;
            lengths[found++] = (size_t)(stop - path);
            pattern = strchr(pattern, '}') + 1;
            path = stop;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *pattern == '\0' && path == end;
}

static enum status read_query(struct call *call, const char *text, struct error *err)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "&"), name_length = strcspn(text, "=&");
        if (call->query_len == CALL_QUERY_MAX)
            return error_set(err, STATUS_INVALID, "bad_request", "", "more than %d query parameters", CALL_QUERY_MAX);
        if (name_length == 0 || name_length == length)
            return error_set(err, STATUS_INVALID, "bad_request", "", "the query must be name=value&name=value");
        struct query_item *item = &call->query[call->query_len++];
        item->name = decode(&call->arena, text, name_length, true);
        item->value = decode(&call->arena, text + name_length + 1, length - name_length - 1, true);
        if (item->name == NULL || item->value == NULL)
            return error_no_memory(err);
        text += length;
        text += *text == '&';
    }
    return STATUS_OK;
}

/* "GET, PATCH, DELETE" of the methods that the path has. */
static enum status refuse_method(struct call *call, const char *path, const char *end, struct error *err)
{
    char        allow[64] = "";
    const char *params[CALL_PARAMS_MAX];
    size_t      lengths[CALL_PARAMS_MAX], used = 0;
    for (const struct route *route = route_table; route < route_table + route_table_len; route++)
        if (matches(route->path, path, end, params, lengths))
            used += (size_t)snprintf(allow + used, sizeof allow - used, "%s%s", route->method,
                                     strcmp(route->method, "GET") == 0 ? ", HEAD, " : ", ");
    if (used == 0)
        return error_set(err, STATUS_NOT_FOUND, "not_found", "",
                         "there is no such path: /openapi.yaml lists all; none ends with a slash");
    used += (size_t)snprintf(allow + used, sizeof allow - used, "OPTIONS");
    call->reply.allow = arena_strndup(&call->arena, allow, used);
    return error_set(err, STATUS_INVALID, "method_not_allowed", "", "this path has %s", allow);
}

enum status route_find(struct call *call, const char *method, struct error *err)
{
    TRY(gate_uri(call->uri, err));
    const char *path = call->uri, *end = path + strcspn(path, "?");
    size_t      lengths[CALL_PARAMS_MAX] = {0};
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    for (const struct route *route = route_table; route < route_table + route_table_len; route++)
        if (strcmp(route->method, wanted) == 0 && matches(route->path, path, end, call->params, lengths)) {
            call->route = route;
            break;
        }
    if (call->route == NULL)
        return refuse_method(call, path, end, err);
    for (size_t i = 0; i < CALL_PARAMS_MAX && lengths[i] > 0; i++) {
        call->params[i] = decode(&call->arena, call->params[i], lengths[i], false);
        if (call->params[i] == NULL)
            return error_no_memory(err);
    }
    return read_query(call, *end == '?' ? end + 1 : end, err);
}

const char *route_thing(const struct route *route)
{
    static const char *const things[][2] = {{"{study}", "study"}, {"{federation}", "federation"}, {"{game}", "game"}};
    for (size_t i = 0; i < sizeof things / sizeof things[0]; i++)
        if (strstr(route->path, things[i][0]) != NULL)
            return things[i][1];
    return NULL;
}

/* The type of a printed member: name, ! when required, type with range, as in "count=integer:1:100". */
static const char *type_name(const struct member *member)
{
    return member->read == codec_read_text      ? "text"
           : member->read == codec_read_integer ? "integer"
           : member->read == codec_read_number  ? "number"
           : member->read == codec_read_bool    ? "bool"
                                                : "";
}

static void dump_names(FILE *stream, const struct member *member)
{
    for (const char *const *name = member->names; name != NULL && *name != NULL; name++)
        fprintf(stream, "%s%s", name == member->names ? "one:" : ":", *name);
}

static const char *dump_members(FILE *stream, const struct member *members, const char *before)
{
    for (const struct member *member = members; member != NULL && member->name != NULL; member++) {
        const char *type = type_name(member);
        if (member->refused != NULL)
            continue;
        if (member->name[0] == '\0') {
            before = dump_members(stream, member->members, before);
            continue;
        }
        fprintf(stream, "%s%s%s=%s", before, member->name, member->required && !member->is_edit ? "!" : "", type);
        if (type[0] != '\0' && type[0] != 'b')
            fprintf(stream, ":%.16g:%.16g", member->min, member->max);
        dump_names(stream, member);
        before = ",";
    }
    return before;
}

static void dump_input(FILE *stream, const struct member *members)
{
    fputs(dump_members(stream, members, "")[0] == '\0' ? "- " : " ", stream);
}

/* Prints the members of a reply: ! for a member that is always there, ? for one that may be null; inside: before the names
 * of an object's members.  A page begins with its list: "tokens/id!=". */
static void dump_reply(FILE *stream, const struct shown *shown, const struct member *members, const char *inside)
{
    for (const struct member *member = members; member->name != NULL; member++) {
        char path[128];
        if (member->name[0] == '\0')
            dump_reply(stream, shown, member->members, inside);
        if (member->name[0] == '\0' || codec_is_without(shown->without, member))
            continue;
        snprintf(path, sizeof path, "%s%s", inside, member->name);
        fprintf(stream, ",%s%s%s=%s", path, member->optional ? "" : "!",
                member->nullable && !member->optional ? "?" : "", type_name(member));
        dump_names(stream, member);
        snprintf(path, sizeof path, "%s%s/", inside, member->name);
        if (member->members != NULL)
            dump_reply(stream, shown, member->members, path);
    }
}

void route_dump(FILE *stream)
{
    static const char *const bodies[] = {"-", "json", "json?", "json,csv", "npy", "ndjson", "json,npy"};
    for (const struct route *route = route_table; route < route_table + route_table_len; route++) {
        fprintf(stream, "%-6s %-46s %-8s ", route->method, route->path, bodies[route->body]);
        if (route->flags & ROUTE_PUBLIC)
            fprintf(stream, "public");
        const char *before = "";
        for (unsigned scope = SCOPE_AGENT; scope < SCOPE_COUNT; scope++)
            if (route->scopes & 1u << scope) {
                fprintf(stream, "%s%s", before, scope_names[scope]);
                before = ",";
            }
        fputc(' ', stream);
        dump_input(stream, route->form == NULL ? NULL : route->form->query);
        dump_input(stream, route->form == NULL ? NULL : route->form->body);
        fprintf(stream, "%s", route->shows == NULL ? "-" : route->shows->page != NULL ? route->shows->page : "");
        if (route->shows != NULL)
            dump_reply(stream, route->shows, route->shows->members, "");
        fputc('\n', stream);
    }
}
