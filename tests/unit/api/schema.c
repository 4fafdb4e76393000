/* The schema reader: every kind, every refusal, and that all problems are told, not only the first. */
#include "api/core/schema.h"
#include "tests/unit/api/suites.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static const char *const colours[] = {"red", "green", NULL};
struct sample {
    const char   *name, *colour;
    int64_t       count, inner;
    double        scale, weight;
    bool          on;
    const json_t *any;
};
static const struct member inner_fields[] = {
    {AT(sample, inner), .read = codec_read_integer, .required = true, .min = 2, .max = 9, .fallback = -7},
    {.name = NULL},
};
static const struct member sample_fields[] = {
    {AT(sample, name), .read = codec_read_text, .required = true, .min = 2, .max = 4},
    {AT(sample, colour), .read = codec_read_name, .names = colours},
    {AT(sample, count), .read = codec_read_integer, .nullable = true, .min = -3, .max = 12, .fallback = 11},
    {AT(sample, scale), .read = codec_read_number, .min = -2.385, .max = 1e6, .fallback = 0.125},
    {AT(sample, weight), .read = codec_read_number, .nullable = true, .max = 9, .fallback = 3.5},
    {AT(sample, on), .read = codec_read_bool, .fallback = 1},
    {AT(sample, any), .read = codec_read_kept},
    {.name = "box", .read = codec_read_inside, .nullable = true, .members = inner_fields},
    {.name = NULL},
};

struct fixture {
    struct arena    arena;
    struct problems problems;
    struct sample   sample;
    json_t         *json;
};

static void read(struct fixture *fixture, const char *text)
{
    *fixture = (struct fixture){.json = json_loads(text, JSON_DECODE_ANY, NULL)};
    CU_ASSERT_PTR_NOT_NULL_FATAL(fixture->json);
    arena_init(&fixture->arena, 1 << 20);
    fixture->problems.arena = &fixture->arena;
    schema_read(sample_fields, fixture->json, &fixture->sample, &fixture->problems);
}

static void finish(struct fixture *fixture)
{
    json_decref(fixture->json);
    arena_fini(&fixture->arena);
}

static void test_full(void)
{
    struct fixture f;
    read(&f,
         "{\"name\":\"\xc3\xa9t\xc3\xa9\",\"colour\":\"green\",\"count\":-3,\"scale\":2.5e3,\"on\":false,\"any\":[1],"
         "\"box\":{\"inner\":5}}");
    CU_ASSERT_EQUAL(f.problems.len, 0);
    CU_ASSERT_STRING_EQUAL(f.sample.name, "\xc3\xa9t\xc3\xa9");
    CU_ASSERT_STRING_EQUAL(f.sample.colour, "green");
    CU_ASSERT_EQUAL(f.sample.count, -3);
    CU_ASSERT_EQUAL(f.sample.scale, 2500.0);
    CU_ASSERT_FALSE(f.sample.on);
    CU_ASSERT_PTR_EQUAL(f.sample.any, json_object_get(f.json, "any"));
    CU_ASSERT_EQUAL(f.sample.inner, 5);
    finish(&f);
}

static void test_fallbacks(void)
{
    struct fixture f;
    read(&f, "{\"name\":\"ab\"}");
    CU_ASSERT_EQUAL(f.problems.len, 0);
    CU_ASSERT_EQUAL(f.sample.count, 11);
    CU_ASSERT_EQUAL(f.sample.scale, 0.125);
    CU_ASSERT_EQUAL(f.sample.weight, 3.5);
    CU_ASSERT_TRUE(f.sample.on);
    CU_ASSERT_EQUAL(f.sample.inner, -7);
    CU_ASSERT_PTR_NULL(f.sample.colour);
    finish(&f);
    read(&f, "{\"name\":\"ab\",\"count\":null,\"weight\":null,\"box\":null}");
    CU_ASSERT_EQUAL(f.problems.len, 0);
    CU_ASSERT_EQUAL(f.sample.count, 0);
    CU_ASSERT_EQUAL(f.sample.inner, 0);
    CU_ASSERT(isnan(f.sample.weight)); // not 0, which would be one
    finish(&f);
}

static void test_refusals(void)
{
    static const struct {
        const char *text, *code, *path;
    } rows[] = {
        {"[]", "wrong_type", ""},
        {"{}", "missing_member", "/name"},
        {"{\"name\":null}", "wrong_type", "/name"},
        {"{\"name\":\"a\"}", "out_of_range", "/name"},
        {"{\"name\":\"abcde\"}", "out_of_range", "/name"},
        {"{\"name\":\"ab\",\"colour\":\"blue\"}", "unknown_value", "/colour"},
        {"{\"name\":\"ab\",\"colour\":7}", "wrong_type", "/colour"},
        {"{\"name\":\"ab\",\"count\":13}", "out_of_range", "/count"},
        {"{\"name\":\"ab\",\"count\":-4}", "out_of_range", "/count"},
        {"{\"name\":\"ab\",\"count\":1.5}", "wrong_type", "/count"},
        {"{\"name\":\"ab\",\"count\":true}", "wrong_type", "/count"},
        {"{\"name\":\"ab\",\"count\":\"3\"}", "wrong_type", "/count"},
        {"{\"name\":\"ab\",\"scale\":-2.386}", "out_of_range", "/scale"},
        {"{\"name\":\"ab\",\"scale\":null}", "wrong_type", "/scale"},
        {"{\"name\":\"ab\",\"on\":0}", "wrong_type", "/on"},
        {"{\"name\":\"ab\",\"box\":3}", "wrong_type", "/box"},
        {"{\"name\":\"ab\",\"box\":{}}", "missing_member", "/box/inner"},
        {"{\"name\":\"ab\",\"box\":{\"inner\":10}}", "out_of_range", "/box/inner"},
        {"{\"name\":\"ab\",\"box\":{\"inner\":3,\"x\":1}}", "unknown_member", "/box/x"},
        {"{\"name\":\"ab\",\"a/b~c\":1}", "unknown_member", "/a~1b~0c"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture f;
        struct error   err;
        read(&f, rows[i].text);
        CU_ASSERT_EQUAL(f.problems.len, 1);
        CU_ASSERT_EQUAL(problems_first(&f.problems, &err), STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.code, rows[i].code);
        CU_ASSERT_STRING_EQUAL(err.path, rows[i].path);
        finish(&f);
    }
}

static void test_all_are_told(void)
{
    struct fixture f;
    read(&f, "{\"nme\":1,\"colour\":2,\"count\":99,\"box\":{\"inner\":1}}");
    CU_ASSERT_EQUAL(f.problems.len, 5);
    finish(&f);
    json_t *many = json_object();
    for (int i = 0; i < 3 * PROBLEMS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        json_object_set_new(many, name, json_true());
    }
    char *text = json_dumps(many, 0);
    read(&f, text);
    CU_ASSERT_EQUAL(f.problems.len, PROBLEMS_MAX);
    free(text);
    json_decref(many);
    finish(&f);
}

static void test_query(void)
{
    struct arena            arena;
    struct problems         problems = {.arena = &arena};
    struct sample           sample = {0};
    const struct query_item good[] = {{"name", "ab"}, {"count", "7"}, {"on", "false"}, {"colour", "red"}};
    arena_init(&arena, 1 << 20);
    json_t *json = schema_query(sample_fields, good, 4, &problems);
    schema_read(sample_fields, json, &sample, &problems);
    CU_ASSERT_EQUAL(problems.len, 0);
    CU_ASSERT_EQUAL(sample.count, 7);
    CU_ASSERT_FALSE(sample.on);
    json_decref(json);
    const struct query_item bad[] = {{"count", "7x"}, {"count", ""},    {"count", "-7"}, {"count", "99999999999999999"},
                                     {"on", "yes"},   {"name", "\xff"}, {"nme", "a"},    {"\xff", "a"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        problems.len = 0;
        json_decref(schema_query(sample_fields, &bad[i], 1, &problems));
        CU_ASSERT_EQUAL_FATAL(problems.len, 1);
        CU_ASSERT_STRING_EQUAL(problems.items[0].code, i < 6 ? "wrong_type" : "unknown_member");
        CU_ASSERT_STRING_EQUAL(problems.items[0].path + 1, i < 7 ? bad[i].name : "");
        CU_ASSERT_EQUAL(problems.items[0].path[0], '?');
    }
    const struct query_item twice[] = {{"count", "7"}, {"count", "7"}};
    problems.len = 0;
    json_decref(schema_query(sample_fields, twice, 2, &problems));
    CU_ASSERT_EQUAL(problems.len, 1);
    CU_ASSERT_STRING_EQUAL(problems.items[0].code, "duplicate_name");
    problems.len = 0;
    json_decref(schema_query(NULL, twice, 1, &problems));
    CU_ASSERT_EQUAL(problems.len, 1);
    arena_fini(&arena);
}

CU_TestInfo suite_schema[] = {
    {"every kind", test_full},
    {"what is absent or null", test_fallbacks},
    {"what is refused", test_refusals},
    {"all problems are told", test_all_are_told},
    {"queries", test_query},
    CU_TEST_INFO_NULL,
};
