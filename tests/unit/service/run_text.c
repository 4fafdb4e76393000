/* What a run is given and what it says. */
#include "service/cli/run_text.h"
#include "tests/unit/service/suites.h"

#include <stdlib.h>
#include <string.h>

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
    {"a program gets its point", test_program},
    {"its environment", test_environment},
    {"a line that is a step", test_step},
    {"a text that is a result", test_result},
    CU_TEST_INFO_NULL,
};
