/* The route table and its parser. */
#include "api/handlers/handlers.h"
#include "api/core/route.h"
#include "tests/unit/api/suites.h"

#include <string.h>

static enum status find(struct call *call, const char *method, const char *uri, struct error *err)
{
    *call = (struct call){.uri = uri};
    *err = (struct error){.status = STATUS_OK};
    arena_init(&call->arena, 1 << 20);
    return route_find(call, method, err);
}

static void test_table(void)
{
    for (size_t i = 0; i < route_table_len; i++) {
        const struct route *route = &route_table[i];
        CU_ASSERT_PTR_NOT_NULL_FATAL(route->handle);
        CU_ASSERT_EQUAL((route->flags & ROUTE_PUBLIC) != 0, route->scopes == 0);
        bool is_of_agents = route->scopes == 1u << SCOPE_AGENT; // what speaks for an agent is its own alone
        bool is_of_operators = route->scopes == 1u << SCOPE_OPERATOR;
        CU_ASSERT(route->scopes == 0 || is_of_agents || is_of_operators || route->scopes & 1u << SCOPE_ADMIN);
        CU_ASSERT(!(route->flags & ROUTE_CHANGES) || strcmp(route->method, "POST") == 0);
        bool has_json = route->body == BODY_JSON || route->body == BODY_OPTIONAL || route->body == BODY_IMPORT;
        CU_ASSERT_EQUAL(has_json, route->form != NULL && route->form->body != NULL);
        CU_ASSERT(route->body == BODY_NONE || strcmp(route->method, "GET") != 0);
        for (size_t j = 0; j < i; j++)
            CU_ASSERT(strcmp(route->method, route_table[j].method) != 0 ||
                      strcmp(route->path, route_table[j].path) != 0);
    }
}

/* Every member of every form lies in its struct, and has a name of its own. */
static void check_fields(const struct member *members, size_t bytes)
{
    for (const struct member *member = members; member != NULL && member->name != NULL; member++) {
        bool is_later = member->name[0] == '\0'; // they are read into another struct
        CU_ASSERT(member->read == codec_read_inside || is_later || member->offset + sizeof(bool) <= bytes);
        CU_ASSERT_EQUAL(member->read == codec_read_inside || is_later, member->members != NULL);
        CU_ASSERT(member->read != codec_read_name || member->names != NULL);
        bool is_ranged =
            member->read == codec_read_integer || member->read == codec_read_number || member->read == codec_read_text;
        CU_ASSERT(!is_ranged || member->min < member->max || member->max == member->min);
        for (const struct member *other = members; other < member; other++)
            CU_ASSERT(member->name[0] == '\0' || strcmp(other->name, member->name) != 0);
        check_fields(member->members, is_later ? SIZE_MAX : bytes);
    }
}

static void test_forms(void)
{
    for (size_t i = 0; i < route_table_len; i++)
        if (route_table[i].form != NULL) {
            check_fields(route_table[i].form->body, route_table[i].form->bytes);
            check_fields(route_table[i].form->query, route_table[i].form->bytes);
        }
}

/* Every route is found by its own pattern, with the parameters that the pattern names. */
static void test_every_route(void)
{
    for (size_t i = 0; i < route_table_len; i++) {
        struct call  call;
        struct error err;
        size_t       params = 0;
        CU_ASSERT_EQUAL(find(&call, route_table[i].method, route_table[i].path, &err), STATUS_OK);
        CU_ASSERT_PTR_EQUAL(call.route, &route_table[i]);
        for (const char *brace = strchr(route_table[i].path, '{'); brace != NULL; brace = strchr(brace + 1, '{'))
            CU_ASSERT_EQUAL(strncmp(call.params[params++], brace, strcspn(brace, "/")), 0);
        arena_fini(&call.arena);
    }
}

static void test_found(void)
{
    struct call  call;
    struct error err;
    CU_ASSERT_EQUAL(find(&call, "HEAD", "/v1/studies/std_%61bc/trials/17", &err), STATUS_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(call.route);
    CU_ASSERT_PTR_EQUAL(call.route->handle, handle_trial_get);
    CU_ASSERT_STRING_EQUAL(call.params[0], "std_abc");
    CU_ASSERT_STRING_EQUAL(call.params[1], "17");
    arena_fini(&call.arena);
    CU_ASSERT_EQUAL(find(&call, "GET", "/v1/studies?name=a+b%2Bc&label=k%3Av=w&limit=", &err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(call.query_len, 3);
    CU_ASSERT_STRING_EQUAL(call.query[0].value, "a b+c");
    CU_ASSERT_STRING_EQUAL(call.query[1].value, "k:v=w");
    CU_ASSERT_STRING_EQUAL(call.query[2].name, "limit");
    CU_ASSERT_STRING_EQUAL(call.query[2].value, "");
    arena_fini(&call.arena);
    CU_ASSERT_EQUAL(find(&call, "GET", "/livez?", &err), STATUS_OK);
    CU_ASSERT_EQUAL(call.query_len, 0);
    arena_fini(&call.arena);
}

static void test_refused(void)
{
    static const struct {
        const char *method, *uri, *code, *allow;
    } rows[] = {
        {"GET", "/v1/studies/", "not_found", NULL},
        {"GET", "/v1/studies/a/b", "not_found", NULL},
        {"GET", "/v1", "not_found", NULL},
        {"GET", "/livezz", "not_found", NULL},
        {"GET", "/v1/studies/a/trials/", "not_found", NULL},
        {"GET", "/v1/studies/a/trials/1/2", "not_found", NULL},
        {"GET", "/v1/studies//trials", "bad_request", NULL},
        {"PUT", "/v1/studies/a", "method_not_allowed", "GET, HEAD, PATCH, DELETE, OPTIONS"},
        {"GET", "/v1/studies/a/suggest", "method_not_allowed", "POST, OPTIONS"},
        {"DELETE", "/v1/studies/a/candidates", "method_not_allowed", "POST, PUT, GET, HEAD, OPTIONS"},
        {"OPTIONS", "/", "method_not_allowed", "GET, HEAD, OPTIONS"},
        {"GET", "/livez?a", "bad_request", NULL},
        {"GET", "/livez?=a", "bad_request", NULL},
        {"GET", "/livez?a=b&&c=d", "bad_request", NULL},
        {"GET", "/livez?a=&b=&c=&d=&e=&f=&g=&h=&i=&j=&k=&l=&m=&n=&o=&p=&q=", "bad_request", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct call  call;
        struct error err;
        CU_ASSERT_NOT_EQUAL(find(&call, rows[i].method, rows[i].uri, &err), STATUS_OK);
        CU_ASSERT_STRING_EQUAL(err.code, rows[i].code);
        if (rows[i].allow != NULL)
            CU_ASSERT_STRING_EQUAL(call.reply.allow, rows[i].allow);
        arena_fini(&call.arena);
    }
}

static void test_no_memory(void)
{
    struct call  call = {.uri = "/v1/studies/std_x?limit=3"};
    struct error err;
    arena_init(&call.arena, 64);
    CU_ASSERT_EQUAL(route_find(&call, "GET", &err), STATUS_NO_MEMORY);
    arena_fini(&call.arena);
}

CU_TestInfo suite_route[] = {
    {"the table is sound", test_table},
    {"the forms are sound", test_forms},
    {"every route is found", test_every_route},
    {"parameters and queries", test_found},
    {"what is refused", test_refused},
    {"no memory", test_no_memory},
    CU_TEST_INFO_NULL,
};
