/* Sweeps: what YAML says is what JSON would have said, and what is hostile or ambiguous is refused with its line. */
#include "service/cli/sweep.h"
#include "tests/unit/service/suites.h"

#include <stdlib.h>
#include <string.h>

static void test_same_as_json(void)
{
    static const struct {
        const char *yaml, *json; // all but the name
    } cases[] = {
        {"v: [1, -2, +3, 010, 9007199254740993]", "{\"v\": [1, -2, 3, 10, 9007199254740993]}"},
        {"v: [1e-5, 1E5, -.5, 1., 2.385e+1]", "{\"v\": [1e-5, 1e5, -0.5, 1.0, 23.85]}"},
        {"v: [99999999999999999999]", "{\"v\": [1e20]}"},
        {"v: [true, False, ~, null, ]", "{\"v\": [true, false, null, null]}"},
        {"v:", "{\"v\": null}"},
        {"v: [no, on, y, 1:30, 0x10, 1_0, 2026-11-23, 1e, 1e999, ., +, ++1, .inf]",
         "{\"v\": [\"no\", \"on\", \"y\", \"1:30\", \"0x10\", \"1_0\", \"2026-11-23\", \"1e\", \"1e999\", \".\", \"+\","
         " \"++1\", \".inf\"]}"},
        {"v: [\"1\", '2', \"a\\u00e9\\\"\", 'it''s']", "{\"v\": [\"1\", \"2\", \"a\\u00e9\\\"\", \"it's\"]}"},
        {"v: |\n  two\n  lines\n", "{\"v\": \"two\\nlines\\n\"}"},
        {"# why\nspace:\n  parameters:\n  - {name: lr, min: 1e-5} # log\n  - name: n\n    when: {lr: [1]}\n",
         "{\"space\": {\"parameters\": [{\"name\": \"lr\", \"min\": 1e-5}, {\"name\": \"n\", \"when\": {\"lr\": "
         "[1]}}]}}"},
        {"v: &a []\n1: {}", "{\"v\": [], \"1\": {}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char         text[512];
        struct error err = {.status = STATUS_OK};
        json_t      *got = NULL, *wanted = json_loads(cases[i].json, 0, NULL);
        int          length = snprintf(text, sizeof text, "name: s\n%s", cases[i].yaml);
        CU_ASSERT_EQUAL(sweep_parse("-", text, (size_t)length, &got, &err), STATUS_OK);
        json_object_set_new(wanted, "name", json_string("s"));
        CU_ASSERT(got != NULL && json_equal(got, wanted));
        json_decref(got);
        json_decref(wanted);
    }
}

static void test_either(void)
{
    static const struct {
        const char *path, *text, *code; // "": it is taken
    } cases[] = {
        {"a.json", "{\"name\": \"s\"}", ""},
        {"a.json", "name: s", ""},
        {"a.yaml", "{name: s}", ""},
        {"a.yml", "{\"name\": \"s\", \"a\": [1,\n\t2]}", ""},
        {"a.json", "{name: s}", "bad_json"},
        {"-", " \n{\"name\": \"s\", \"name\": \"t\"}", "bad_json"},
        {"a.yaml", "{name: s, name: t}", "bad_yaml"},
        {"a", "goal: x", "bad_json"},
        {"a", "- name", "bad_json"},
        {"a", "name: 7", "bad_json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err = {.status = STATUS_OK};
        json_t      *got = NULL;
        enum status  status = sweep_parse(cases[i].path, cases[i].text, strlen(cases[i].text), &got, &err);
        CU_ASSERT_STRING_EQUAL(status == STATUS_OK ? "" : err.code, cases[i].code);
        CU_ASSERT((got != NULL) == (status == STATUS_OK));
        json_decref(got);
    }
}

static void test_refused(void)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"a: &a [x, x]\nb: [*a, *a]\nname: s", "line 2: aliases are not taken"},
        {"name: s\nv: *v", "line 2: aliases are not taken"},
        {"name: !!python/object:os.system s", "line 1: tags are not taken"},
        {"name: s\nv: !t {a: 1}", "line 2: tags are not taken"},
        {"name: s\nv: ! [1]", "line 2: tags are not taken"},
        {"name: s\n[v]: 1", "line 2: a name is a text"},
        {"name: s\n\"v\\0w\": 1", "line 2: a name is a text"},
        {"name: s\nv: {w: 1,\n w: 2}", "line 3: the same name twice"},
        {"name: s\n---\nname: t", "line 2: a second document"},
        {"# nothing\n", "there is nothing in it"},
        {"", "there is nothing in it"},
        {"name: s\nv: [1, 2\nw: 3", "line 3: "},
        {"name: \xff", "line 1: "},
        {"name: s\n\tv: 1", "line 2: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err = {.status = STATUS_OK};
        json_t      *got = NULL;
        CU_ASSERT_EQUAL(sweep_parse("s.yaml", cases[i].text, strlen(cases[i].text), &got, &err), STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.code, "bad_yaml");
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].why));
        CU_ASSERT_PTR_NULL(got);
    }
}

/* A megabyte of any opening mark ends where it is too deep, without a stack of that depth. */
static void test_deep(void)
{
    static const char *const marks[] = {"[", "- ", "{a: ", "[{a: ", "- - ? "};
    enum { BYTES = 1 << 20 };
    char *text = calloc(1, BYTES + 8);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        struct error err = {.status = STATUS_OK};
        json_t      *got = NULL;
        size_t       mark = strlen(marks[i]);
        for (size_t at = 0; at + mark <= BYTES; at += mark)
            memcpy(text + at, marks[i], mark + 1);
        CU_ASSERT_EQUAL(sweep_parse("s.yaml", text, strlen(text), &got, &err), STATUS_INVALID);
        CU_ASSERT(strstr(err.text, "nested too deep") != NULL || strstr(err.text, "a name is a text") != NULL);
    }
    free(text);
}

CU_TestInfo suite_sweep[] = {
    {"YAML says the same as JSON", test_same_as_json},
    {"which of them it is", test_either},
    {"what is refused, and in which line", test_refused},
    {"nested without end", test_deep},
    CU_TEST_INFO_NULL,
};
