/* The input and output of a run. */
#include "service/client/run_text.h"
#include "service/client/named.h"
#include "service/client/point.h"
#include "tests/unit/service/suites.h"

#include <stdlib.h>
#include <string.h>

/* The JSON of a text that has ' for ". */
static json_t *quoted(const char *text)
{
    char copy[1024];
    snprintf(copy, sizeof copy, "%s", text);
    for (char *c = copy; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    return json_loads(copy, JSON_DECODE_ANY, NULL);
}

static void test_program(void)
{
    json_t *space =
        json_loads("{\"parameters\": [{\"name\": \"lr\"}, {\"name\": \"n\"}, {\"name\": \"off\"}]}", 0, NULL);
    json_t *point = json_loads("{\"lr\": 0.0031, \"n\": -4, \"c\": true}", 0, NULL);
    static const struct {
        const char *words[3], *expected[6];
        bool        wants_flags;
    } cases[] = {
        {.words = {"train"}, .expected = {"train", "--lr=0.0031", "--n=-4", "--c=true"}, .wants_flags = true},
        {.words = {"train"}, .expected = {"train"}},
        {.words = {"train", "{lr}x{n}{off}{"}, .expected = {"train", "0.0031x-4{"}, .wants_flags = true},
        {.words = {"awk", "{print} {{lr}}"}, .expected = {"awk", "{print} {0.0031}"}, .wants_flags = true},
        {.words = {"a", "{c}"}, .expected = {"a", "{c}", "--lr=0.0031", "--n=-4", "--c=true"}, .wants_flags = true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char **got = run_text_program(&(struct run_text_program){.words = (char *const *)(uintptr_t)cases[i].words,
                                                                 .point = point,
                                                                 .space = space,
                                                                 .wants_flags = cases[i].wants_flags});
        CU_ASSERT_PTR_NOT_NULL_FATAL(got);
        size_t len = 0;
        for (; got[len] != NULL && cases[i].expected[len] != NULL; len++)
            CU_ASSERT_STRING_EQUAL(got[len], cases[i].expected[len]);
        CU_ASSERT(got[len] == NULL && cases[i].expected[len] == NULL);
        run_text_free(got);
    }
    json_decref(space);
    json_decref(point);
}

static void test_plain_values(void)
{
    static const struct {
        const char *values, *words[4];
        bool        has_no_flags, is_refused;
    } cases[] = {
        {.values = "['adam', 'a-b/c_1.5+e', 3, -1.5, true, null]", .words = {"sh", "-c", "train {opt}"}},
        {.values = "['x; touch y']", .words = {"sh", "-c", "train {opt}"}, .is_refused = true},
        {.values = "['`id`']", .words = {"/opt/run", "{opt}"}, .is_refused = true},
        {.values = "['adam', '$(id)']", .words = {"train", "--opt={n}{opt}"}, .is_refused = true},
        {.values = "['a b']", .words = {"train", "{opt}"}, .is_refused = true},
        {.values = "['a\\nb']", .words = {"train", "{opt}"}, .is_refused = true},
        {.values = "['\u00e4']", .words = {"train", "{opt}"}, .is_refused = true},
        {.values = "['--config']", .words = {"train", "{opt}"}, .is_refused = true},
        {.values = "['x; touch y']", .words = {"sh", "-c", "train {n} \"$GNOMON_POINT\""}},
        {.values = "['x; touch y']", .words = {"sh", "-c", "train \"$@\"", "sh"}},
        {.values = "['x; touch y']", .words = {"/usr/bin/ssh", "host", "train"}, .is_refused = true},
        {.values = "['x; touch y']", .words = {"srun", "ssh", "host"}, .is_refused = true},
        {.values = "['x; touch y']", .words = {"ssh", "host", "train"}, .has_no_flags = true},
        {.values = "['--config']", .words = {"ssh", "host", "train"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err;
        char         text[256];
        snprintf(text, sizeof text,
                 "{'parameters': [{'name': 'n', 'type': 'int', 'min': -1, 'max': 4}, {'name': 'opt', 'values': %s}]}",
                 cases[i].values);
        json_t *space = quoted(text);
        CU_ASSERT_PTR_NOT_NULL_FATAL(space);
        enum status status =
            run_text_check_program(&(struct run_text_program){.words = (char *const *)(uintptr_t)cases[i].words,
                                                              .space = space,
                                                              .wants_flags = !cases[i].has_no_flags},
                                   &err);
        CU_ASSERT(status == (cases[i].is_refused ? STATUS_INVALID : STATUS_OK));
        CU_ASSERT(!cases[i].is_refused || strstr(err.text, cases[i].has_no_flags ? "--as env" : "--as ") != NULL);
        json_decref(space);
    }
}

/* Values from the server that fit their parameter, and some that do not. */
static void test_point(void)
{
    static const char *const fitting[] = {"{'x': -0.5, 'n': 3, 'd': 8, 'c': 'adam', 'e': 1.5}",
                                          "{'x': 2, 'n': 3.0, 'd': 16.0, 'c': null}", "{}"};
    static const char *const others[] = {"{'x': 2.385}",    "{'x': '1; id'}", "{'x': true}",   "{'n': 2.5}",
                                         "{'n': 10}",       "{'d': 9}",       "{'d': '8'}",    "{'c': 'x; id'}",
                                         "{'c': ['adam']}", "{'c': 1}",       "{'other': 1}",  "{'later': 1}",
                                         "['x']",           "null",           "{'c': 'ADAM'}", "{'': 1}"};
    static const char        space_text[] =
        "{'parameters': [{'name': 'x', 'type': 'double', 'min': -1, 'max': 2}, {'name': 'n', 'type': 'int', 'min': 1, "
        "'max': 9}, {'name': 'd', 'type': 'discrete', 'values': [8, 16]}, {'name': 'later', 'type': 'vector'}, "
        "{'name': "
        "'c', 'type': 'categorical', 'values': ['adam', null, true]}, {'name': 'e', 'type': 'categorical', 'values': "
        "[1.5]}]}";
    json_t *space = quoted(space_text);
    for (size_t i = 0; i < sizeof fitting / sizeof fitting[0] + sizeof others / sizeof others[0]; i++) {
        struct error err;
        bool         fits = i < sizeof fitting / sizeof fitting[0];
        json_t      *point = quoted(fits ? fitting[i] : others[i - sizeof fitting / sizeof fitting[0]]);
        enum status  status = point_check(space, point, &err);
        CU_ASSERT(status == (fits ? STATUS_OK : STATUS_INTERNAL));
        json_decref(point);
    }
    json_decref(space);
}

static void test_ids(void)
{
    CU_ASSERT(named_is_id("std", "std_abcdefghij234567"));
    static const char *const others[] = {NULL,
                                         "",
                                         "std_",
                                         "std_abcdefghij23456",
                                         "std_abcdefghij2345677",
                                         "fed_abcdefghij234567",
                                         "std_../../../../etc/",
                                         "std_abcdefghij23456/",
                                         "std_abcdefghij23456.",
                                         "std_ABCDEFGHIJ234567",
                                         "../../pwned",
                                         "std_abcdefghij23456\n"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        CU_ASSERT(!named_is_id("std", others[i]));
}

static void test_environment(void)
{
    setenv("RUN_TEXT_TEST", "old", 1);
    json_t *variables = json_loads("{\"RUN_TEXT_TEST\": \"a b\", \"PARAM_n\": 4}", 0, NULL);
    char  **got = run_text_environment(variables);
    size_t  found = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(got);
    for (size_t i = 0; got[i] != NULL; i++) {
        found += strcmp(got[i], "RUN_TEXT_TEST=a b") == 0 || strcmp(got[i], "PARAM_n=4") == 0;
        CU_ASSERT(strcmp(got[i], "RUN_TEXT_TEST=old") != 0);
    }
    CU_ASSERT(found == 2);
    run_text_free(got);
    json_decref(variables);
    unsetenv("RUN_TEXT_TEST");
}

static void test_step(void)
{
    static const struct {
        const char *pattern, *line;
        int64_t     step; /* 0: no step */
        double      value;
    } cases[] = {
        {.pattern = "{step} {value}", .line = "12 0.871", .step = 12, .value = 0.871},
        {.pattern = "{step} {value}", .line = "  12\t -8.71e-3 \r", .step = 12, .value = -8.71e-3},
        {.pattern = "{step} {value}", .line = "12 0.871 3"},
        {.pattern = "{step} {value}", .line = "12"},
        {.pattern = "{step} {value}", .line = "0 0.871"},
        {.pattern = "{step} {value}", .line = "-1 0.871"},
        {.pattern = "{step} {value}", .line = "1.5 0.871"},
        {.pattern = "{step} {value}", .line = "one 0.871"},
        {.pattern = "{step} {value}", .line = ""},
        {.pattern = "epoch {step}: loss {value} s", .line = "epoch 3:  loss 2.5 s", .step = 3, .value = 2.5},
        {.pattern = "epoch {step}: loss {value} s", .line = "epoch 3: loss 2.5"},
        {.pattern = "epoch {step}: loss {value} s", .line = "epoch 3:loss 2.5 s"},
        {.pattern = "{value}@{step}", .line = "2.5@7", .step = 7, .value = 2.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t step = 0;
        double  value = 0;
        bool    is_step = run_text_step(cases[i].pattern, cases[i].line, &step, &value);
        CU_ASSERT(is_step == (cases[i].step > 0));
        CU_ASSERT(!is_step || (step == cases[i].step && value == cases[i].value));
    }
    struct error err;
    CU_ASSERT(run_text_check_pattern("x {step} {value}", &err) == STATUS_OK);
    CU_ASSERT(run_text_check_pattern("{step}", &err) == STATUS_INVALID);
    CU_ASSERT(run_text_check_pattern("{step} {step} {value}", &err) == STATUS_INVALID);
}

static void test_result(void)
{
    json_t *metrics = json_loads("[{\"name\": \"acc\"}, {\"name\": \"cost\"}]", 0, NULL);
    static const struct {
        const char *text, *expected; /* NULL: none; "not finite" */
    } cases[] = {
        {.text = "0.913", .expected = "{\"acc\":0.913}"},
        {.text = " -2e3 \n", .expected = "{\"acc\":-2000.0}"},
        {.text = "acc=0.5", .expected = "{\"acc\":0.5}"},
        {.text = "acc: 0.5, cost 3", .expected = "{\"acc\":0.5,\"cost\":3.0}"},
        {.text = "{\"acc\": 1, \"cost\": 2.5, \"note\": \"x\"}", .expected = "{\"acc\":1.0,\"cost\":2.5}"},
        {.text = "nan", .expected = "not finite"},
        {.text = "acc=inf", .expected = "not finite"},
        {.text = ""},
        {.text = "0.913 0.5"},
        {.text = "acc"},
        {.text = "acc=0.5x"},
        {.text = "loss=0.5"},
        {.text = "{\"acc\": \"1\"}"},
        {.text = "{\"note\": 1}"},
        {.text = "{"},
        {.text = "best accuracy so far"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *values = NULL;
        bool    is_finite = false, has = run_text_result(cases[i].text, metrics, &values, &is_finite);
        char   *text = has ? json_dumps(values, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15)) : NULL;
        CU_ASSERT(has == (cases[i].expected != NULL));
        CU_ASSERT(has || values == NULL);
        if (text != NULL && is_finite)
            CU_ASSERT_STRING_EQUAL(text, cases[i].expected);
        CU_ASSERT(!has || is_finite == (strcmp(cases[i].expected, "not finite") != 0));
        free(text);
        json_decref(values);
    }
    json_decref(metrics);
}

CU_TestInfo suite_run_text[] = {
    {"a program gets its point", test_program},      {"what a shell may read is plain", test_plain_values},
    {"a point that is not the space's", test_point}, {"ids of replies", test_ids},
    {"its environment", test_environment},           {"a line that is a step", test_step},
    {"a text that is a result", test_result},        CU_TEST_INFO_NULL,
};
