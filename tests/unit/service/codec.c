/* The JSON text reader, times, labels, and specifications: what is accepted, what is refused and where. */
#include "service/base/text.h"
#include "service/member/codec.h"
#include "engine/registry.h"
#include "service/codec/codec_space.h"
#include "service/codec/codec_spec.h"
#include "service/codec/codec_study.h"
#include "service/codec/codec_trial.h"

#include <CUnit/CUnit.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES = 8 << 20, TEXT_MAX = 2 << 20 };

static enum status parse(const char *text, size_t length, struct error *err)
{
    json_t     *json = NULL;
    enum status status = codec_parse(text, length, &json, err);
    CU_ASSERT_EQUAL(json != NULL, status == STATUS_OK);
    json_decref(json);
    return status;
}

static void test_parse(void)
{
    static const struct {
        const char *text, *code;
    } rows[] = {
        {"{\"a\":[1,2.5,true,null,\"\xc3\xa9\"]}", ""},
        {" [ ] ", ""},
        {"", "malformed_json"},
        {"42", "malformed_json"},
        {"{} {}", "malformed_json"},
        {"{\"a\":1,}", "malformed_json"},
        {"{\"a\":1,\"a\":2}", "malformed_json"},
        {"{\"a\":1,\"\\u0061\":2}", "malformed_json"},
        {"{\"a\":NaN}", "malformed_json"},
        {"{\"a\":-Infinity}", "malformed_json"},
        {"{\"a\":1e999}", "malformed_json"},
        {"{\"a\":9223372036854775808}", "malformed_json"},
        {"{\"a\":\"\\u0000\"}", "malformed_json"},
        {"{\"a\":\"\xff\"}", "malformed_json"},
        {"{\"a\":\"\xc0\xaf\"}", "malformed_json"},
        {"{\"a\":\"\\ud800\"}", "malformed_json"},
        {"\xef\xbb\xbf{}", "malformed_json"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error err = {0};
        enum status  status = parse(rows[i].text, strlen(rows[i].text), &err);
        CU_ASSERT_EQUAL(status, rows[i].code[0] == '\0' ? STATUS_OK : STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.code, rows[i].code);
    }
    static const char with_nul[] = "{\"a\":1\0,\"b\":2}";
    struct error      err = {0};
    CU_ASSERT_EQUAL(parse(with_nul, sizeof with_nul - 1, &err), STATUS_INVALID);
    CU_ASSERT_EQUAL(parse(NULL, 0, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.code, "malformed_json");
}

/* Brackets, colons and commas inside strings do not count; outside they do, however malformed the text is. */
static void test_limits(void)
{
    struct error err = {0};
    char        *text = malloc(TEXT_MAX);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (size_t depth = 32; depth <= 33; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        CU_ASSERT_EQUAL(parse(text, 2 * depth, &err), depth == 32 ? STATUS_OK : STATUS_INVALID);
    }
    CU_ASSERT_STRING_EQUAL(err.code, "malformed_json");
    memset(text, '[', 60001);
    CU_ASSERT_EQUAL(parse(text, 60001, &err), STATUS_TOO_LARGE);
    CU_ASSERT_STRING_EQUAL(err.code, "too_many_tokens");
    memset(text, ',', 400001);
    CU_ASSERT_EQUAL(parse(text, 400001, &err), STATUS_TOO_LARGE);
    size_t length = 0;
    text[length++] = '[';
    for (size_t i = 0; i < 399998; i++, length += 2)
        memcpy(text + length, "7,", 2);
    memcpy(text + length, "7]", 2);
    CU_ASSERT_EQUAL(parse(text, length + 2, &err), STATUS_OK);
    memcpy(text + length, "7,7]", 4);
    CU_ASSERT_EQUAL(parse(text, length + 4, &err), STATUS_TOO_LARGE);
    memcpy(text, "[\"\\\"", 4);
    memset(text + 4, '[', 500000);
    memcpy(text + 500004, "\"]", 2);
    CU_ASSERT_EQUAL(parse(text, 500006, &err), STATUS_OK);
    free(text);
}

static void test_time(void)
{
    static const struct {
        int64_t     ms;
        const char *text;
    } rows[] = {
        {1772357400125, "2026-03-01T09:30:00.125Z"},
        {951782399999, "2000-02-28T23:59:59.999Z"},
        {1, "1970-01-01T00:00:00.001Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[32];
        codec_time(rows[i].ms, text);
        CU_ASSERT_STRING_EQUAL(text, rows[i].text);
    }
    json_t *none = codec_time_json(0), *nan = codec_number(NAN), *infinite = codec_number(-INFINITY);
    CU_ASSERT(json_is_null(none) && json_is_null(nan) && json_is_null(infinite));
}

static enum status read_labels(const json_t *json, struct arena *arena, const char **text, struct error *err)
{
    struct reading in = {.arena = arena, .err = err};
    return codec_read_labels(&in, NULL, json, "/labels", text);
}

static void test_labels(void)
{
    static const struct {
        const char *json, *text, *path;
    } rows[] = {
        {"{\"team\":\"vision\",\"a\":\"\"}", "{\"a\":\"\",\"team\":\"vision\"}", ""},
        {"{}", "{}", ""},
        {"[]", NULL, "/labels"},
        {"{\"\":\"x\"}", NULL, "/labels/"},
        {"{\"k\":7}", NULL, "/labels/k"},
        {"{\"a/b~c\":null}", NULL, "/labels/a~1b~0c"},
    };
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error err = {0};
        const char  *text = NULL;
        json_auto_t *json = json_loads(rows[i].json, 0, NULL);
        enum status  status = read_labels(json, &arena, &text, &err);
        CU_ASSERT_EQUAL(status, rows[i].text != NULL ? STATUS_OK : STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.path, rows[i].path);
        if (rows[i].text != NULL && status == STATUS_OK)
            CU_ASSERT_STRING_EQUAL(text, rows[i].text);
    }
    arena_fini(&arena);
}

static void test_label_sizes(void)
{
    struct arena arena;
    struct error err = {0};
    const char  *text;
    char         name[80], value[600] = "";
    arena_init(&arena, ARENA_BYTES);
    json_auto_t *json = json_object();
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "k%d", i);
        json_object_set_new(json, name, json_string("v"));
    }
    CU_ASSERT_EQUAL(read_labels(json, &arena, &text, &err), STATUS_OK);
    json_object_set_new(json, "k64", json_string("v"));
    CU_ASSERT_EQUAL(read_labels(json, &arena, &text, &err), STATUS_INVALID);
    for (size_t characters = 256; characters <= 257; characters++) { // of two bytes each
        for (size_t i = 0; i < characters; i++)
            memcpy(value + 2 * i, "\xc3\xa9", 3);
        json_auto_t *one = json_pack("{s:s}", "k", value);
        CU_ASSERT_EQUAL(read_labels(one, &arena, &text, &err), characters == 256 ? STATUS_OK : STATUS_INVALID);
    }
    arena_fini(&arena);
}

/* ---- specifications ---- */

#define KEY               ",\"curator_key\":\"9tEmOuZH3Zgy3NwQ14tRqtyJFQI5PRK7oZTIegNX72E\""
#define METRICS           "\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}]"
#define GRAPH(members)    METRICS ",\"space\":{\"type\":\"graph\"" members "}"
#define SPACE(parameters) METRICS ",\"space\":{\"type\":\"parameters\",\"parameters\":[" parameters "]}"
#define LR                "{\"name\":\"lr\",\"type\":\"double\",\"min\":1e-5,\"max\":0.1,\"scale\":\"log\"}"

static enum status read_spec(const char *members, struct arena *arena, struct spec *spec, struct error *err)
{
    char *text = malloc(strlen(members) + 3);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    sprintf(text, "{%s}", members);
    json_auto_t *json = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    free(text);
    return codec_spec(json, 20260301, arena, spec, err);
}

static void test_spec(void)
{
    struct arena arena;
    struct spec  spec;
    struct error err = {0};
    arena_init(&arena, ARENA_BYTES);
    CU_ASSERT_EQUAL_FATAL(
        read_spec(SPACE(LR ",{\"name\":\"layers\",\"type\":\"int\",\"min\":1.0,\"max\":6},"
                           "{\"name\":\"o\",\"type\":\"categorical\",\"values\":[\"adam\",\"sgd\",\"rmsprop\"]}"),
                  &arena, &spec, &err),
        STATUS_OK);
    CU_ASSERT_STRING_EQUAL(spec.metrics[0].name, "loss");
    CU_ASSERT_EQUAL(spec.metrics[0].goal, GOAL_MINIMIZE);
    CU_ASSERT_EQUAL(spec_sign(&spec), -1.0);
    CU_ASSERT_STRING_EQUAL(spec.policy->name, "gp");
    CU_ASSERT_EQUAL(spec.seed, 20260301);
    CU_ASSERT(spec.space.params_len == 3 && spec.space.dims == 5);
    const struct param *params = spec.space.params;
    CU_ASSERT(params[0].scale == SCALE_LOG && params[0].min == 1e-5 && params[0].max == 0.1);
    CU_ASSERT(params[1].kind == PARAM_INT && params[1].min == 1 && params[1].max == 6);
    CU_ASSERT(params[2].kind == PARAM_CATEGORICAL && params[2].choices == 3 && params[2].max == 2);
    CU_ASSERT_STRING_EQUAL(spec.values[2][1].text, "sgd");
    CU_ASSERT(spec.values[0] == NULL && spec.values[1] == NULL);
    CU_ASSERT_EQUAL_FATAL(read_spec(METRICS ",\"space\":{\"type\":\"candidates\",\"rows\":17,\"columns\":3" KEY "},"
                                            "\"algorithm\":{\"name\":\"po-gp-ucb\"},\"seed\":9007199254740991",
                                    &arena, &spec, &err),
                          STATUS_OK);
    CU_ASSERT_STRING_EQUAL(spec.curator_key, "9tEmOuZH3Zgy3NwQ14tRqtyJFQI5PRK7oZTIegNX72E");
    CU_ASSERT(spec.is_private && spec.space.rows_len == 17 && spec.space.columns == 3 && spec.space.rows == NULL);
    CU_ASSERT(spec.seed == 9007199254740991);
    arena_fini(&arena);
}

struct refusal {
    const char *members, *path, *code;
};

static void check_refused(const struct refusal *rows, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        struct arena arena;
        struct spec  spec;
        struct error err = {0};
        arena_init(&arena, ARENA_BYTES);
        CU_ASSERT_EQUAL(read_spec(rows[i].members, &arena, &spec, &err), STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.path, rows[i].path);
        CU_ASSERT_STRING_EQUAL(err.code, rows[i].code);
        arena_fini(&arena);
    }
}

static void test_spec_refused(void)
{
    static const struct refusal rows[] = {
        {"", "/metrics", "missing_member"},
        {METRICS, "/space", "missing_member"},
        {SPACE(LR) ",\"extra\":1", "/extra", "unknown_member"},
        {"\"metrics\":[],\"space\":null", "/metrics", "out_of_range"},
        {"\"metrics\":[{\"name\":\"\",\"goal\":\"maximize\"}],\"space\":null", "/metrics/0/name", "out_of_range"},
        {"\"metrics\":[{\"name\":\"a\",\"goal\":\"max\"}],\"space\":null", "/metrics/0/goal", "unknown_value"},
        {"\"metrics\":[{\"name\":\"a\",\"goal\":\"target\"}],\"space\":null", "/metrics/0/target", "missing_member"},
        {"\"metrics\":[{\"name\":\"a\",\"goal\":\"range\",\"min\":2,\"max\":1}],\"space\":null", "/metrics/0/min",
         "bad_combination"},
        {METRICS ",\"space\":null", "/space", "wrong_type"},
        {METRICS ",\"space\":{}", "/space/type", "missing_member"},
        {METRICS ",\"space\":{\"type\":\"lattice\"}", "/space/type", "unknown_value"},
        {SPACE(""), "/space/parameters", "out_of_range"},
        {SPACE("7"), "/space/parameters/0", "wrong_type"},
        {SPACE("{\"name\":\"x\"}"), "/space/parameters/0/type", "missing_member"},
        {SPACE(LR "," LR), "/space/parameters/1/name", "duplicate_name"},
        {SPACE("{\"name\":\"x\",\"type\":\"double\",\"max\":1}"), "/space/parameters/0/min", "missing_member"},
        {SPACE("{\"name\":\"x\",\"type\":\"double\",\"min\":true,\"max\":1}"), "/space/parameters/0/min", "wrong_type"},
        {SPACE("{\"name\":\"x\",\"type\":\"double\",\"min\":2.5,\"max\":2.49}"), "/space/parameters/0/max",
         "empty_range"},
        {SPACE("{\"name\":\"x\",\"type\":\"double\",\"min\":-1e308,\"max\":1e308}"), "/space/parameters/0/max",
         "bad_bound"},
        {SPACE("{\"name\":\"x\",\"type\":\"double\",\"min\":-1,\"max\":1,\"scale\":\"log\"}"),
         "/space/parameters/0/min", "bad_bound"},
        {SPACE("{\"name\":\"x\",\"type\":\"double\",\"min\":1,\"max\":2,\"scale\":\"exp\"}"),
         "/space/parameters/0/scale", "unknown_value"},
        {SPACE("{\"name\":\"x\",\"type\":\"double\",\"min\":1,\"max\":2,\"values\":[]}"), "/space/parameters/0/values",
         "unknown_member"},
        {SPACE("{\"name\":\"x\",\"type\":\"int\",\"min\":0.5,\"max\":2}"), "/space/parameters/0/min", "wrong_type"},
        {SPACE("{\"name\":\"x\",\"type\":\"int\",\"min\":1,\"max\":9007199254740993}"), "/space/parameters/0/max",
         "wrong_type"},
        {SPACE("{\"name\":\"x\",\"type\":\"categorical\",\"values\":[]}"), "/space/parameters/0/values",
         "out_of_range"},
        {SPACE("{\"name\":\"x\",\"type\":\"categorical\",\"values\":[\"a\",\"b\",\"a\"]}"),
         "/space/parameters/0/values/2", "duplicate_name"},
        {SPACE("{\"name\":\"x\",\"type\":\"categorical\",\"values\":[\"a\",{}]}"), "/space/parameters/0/values/1",
         "wrong_type"},
        {SPACE("{\"name\":\"x\",\"type\":\"categorical\",\"values\":[1,9007199254740993]}"),
         "/space/parameters/0/values/1", "wrong_type"},
        {SPACE("{\"name\":\"x\",\"type\":\"categorical\",\"values\":[-0.0,true,1,0.0]}"),
         "/space/parameters/0/values/3", "duplicate_name"},
        {SPACE("{\"name\":\"x\",\"type\":\"categorical\",\"values\":[1,2],\"default\":\"1\"}"),
         "/space/parameters/0/default", "unknown_value"},
        {SPACE("{\"name\":\"x\",\"type\":\"int\",\"min\":1,\"max\":2,\"default\":3}"), "/space/parameters/0/default",
         "out_of_range"},
        {SPACE("{\"name\":\"x\",\"type\":\"int\",\"min\":1,\"max\":8,\"step\":0}"), "/space/parameters/0/step",
         "out_of_range"},
        {SPACE("{\"name\":\"x\",\"type\":\"int\",\"min\":1,\"max\":8,\"step\":9}"), "/space/parameters/0/step",
         "bad_step"},
        {SPACE("{\"name\":\"x\",\"type\":\"categorical\",\"values\":[\"a\",\"b\"],\"min\":0}"),
         "/space/parameters/0/min", "unknown_member"},
        {METRICS ",\"space\":{\"type\":\"candidates\",\"rows\":0,\"columns\":3}", "/space/rows", "out_of_range"},
        {METRICS ",\"space\":{\"type\":\"candidates\",\"rows\":7,\"columns\":1025}", "/space/columns", "out_of_range"},
        {METRICS ",\"space\":{\"type\":\"candidates\",\"rows\":7,\"columns\":2,\"private\":1}", "/space/private",
         "wrong_type"},
        {METRICS ",\"space\":{\"type\":\"candidates\",\"rows\":7,\"columns\":2}", "/space/curator_key",
         "curator_key_required"},
        {METRICS ",\"space\":{\"type\":\"candidates\",\"rows\":7,\"columns\":2,\"private\":false" KEY "}",
         "/space/curator_key", "unknown_member"},
        {METRICS ",\"space\":{\"type\":\"candidates\",\"rows\":7,\"columns\":2,"
                 "\"curator_key\":\"9tEmOuZH3Zgy3NwQ14tRqtyJFQI5PRK7oZTIegNX72F\"}",
         "/space/curator_key", "bad_key"},
        {SPACE(LR) ",\"algorithm\":{\"name\":\"annealing\"}", "/algorithm/name", "unknown_algorithm"},
        {SPACE(LR) ",\"algorithm\":{}", "/algorithm/name", "missing_member"},
        {SPACE(LR) ",\"algorithm\":{\"name\":\"gp\",\"bta\":4}", "/algorithm/bta", "unknown_member"},
        {SPACE(LR) ",\"algorithm\":{\"name\":\"po-gp-ucb\"}", "/algorithm/name", "wrong_space"},
        {SPACE(LR) ",\"algorithm\":\"gp\"", "/algorithm", "wrong_type"},
        {SPACE(LR) ",\"seed\":-1", "/seed", "out_of_range"},
        {SPACE(LR) ",\"seed\":9007199254740992", "/seed", "out_of_range"},
        {SPACE(LR) ",\"seed\":\"7\"", "/seed", "wrong_type"},
        {METRICS ",\"space\":{\"type\":\"image\",\"height\":9,\"width\":1000000000,\"bound\":1,\"latent_sizes\":[2]}",
         "/space/width", "out_of_range"},
        {METRICS ",\"space\":{\"type\":\"image\",\"height\":9,\"width\":7,\"bound\":1,\"latent_sizes\":[2,[7,8]]}",
         "/space/latent_sizes/1", "bad_size"},
    };
    check_refused(rows, sizeof rows / sizeof rows[0]);
}

static void test_spec_graph_refused(void)
{
    static const struct refusal rows[] = {
        {METRICS ",\"space\":{\"type\":\"graph\"}", "/space/start", "missing_member"},
        {GRAPH(",\"start\":0"), "/space/sites", "bad_combination"},
        {GRAPH(",\"start\":0,\"sites\":[]"), "/space/sites", "out_of_range"},
        {GRAPH(",\"start\":0,\"sites\":[[1,2],[3]]"), "/space/sites/1", "wrong_shape"},
        {GRAPH(",\"start\":0,\"sites\":[[1,2,3,4]]"), "/space/sites", "out_of_range"},
        {GRAPH(",\"start\":0,\"sites\":[[1.5],[2.5]]"), "/space/edges", "bad_combination"},
        {GRAPH(",\"start\":0,\"sites\":[[1.5],[2.5]],\"edges\":[[0,1]]"), "/space/macro_action_length",
         "missing_member"},
        {GRAPH(",\"start\":0,\"sites\":[[1.5],[2.5]],\"macro_action_length\":1,\"edges\":[[0,2]]"), "/space/edges/0",
         "unknown_site"},
        {GRAPH(",\"start\":5,\"sites\":[[1.5],[2.5]],\"macro_action_length\":1,\"edges\":[[0,1]]"), "/space/start",
         "unknown_site"},
        {GRAPH(",\"start\":0,\"sites\":[[1.5],[2.5]],\"macro_action_length\":2,\"edges\":[[0,1]]"), "/space/start",
         "no_macro_action"},
        {GRAPH(",\"start\":1,\"sites\":[[1.5],[2.5]],\"macro_action_length\":1,\"edges\":[[0,1]],\"directed\":true"),
         "/space/start", "no_macro_action"},
        {GRAPH(",\"start\":0,\"sites\":[[1.5],[2.5]],\"site_ids\":[7,7],\"macro_action_length\":1,\"edges\":[]"),
         "/space/site_ids", "duplicate_name"},
        {GRAPH(",\"start\":7,\"sites\":\"x,id\\n1.5,7\\n2.5,nine\",\"macro_action_length\":1,\"edges\":[]"),
         "/space/sites", "csv_value"},
        {GRAPH(",\"start\":7,\"sites\":\"x,id\\n1.5,7\\n2.5,9\",\"macro_action_length\":1,\"edges\":\"a,b\\n7,8\""),
         "/space/edges", "unknown_site"},
        {GRAPH(",\"start\":7,\"sites\":\"x,id\\n1.5,7\\n2.5,9\",\"macro_action_length\":1,\"edges\":\"a\\n7\""),
         "/space/edges", "csv_width"},
        {GRAPH(",\"start\":0,\"sites\":[[1.5],[2.5]],\"macro_actions\":[{\"from\":0,\"sites\":[]}]"),
         "/space/macro_actions/0/sites", "out_of_range"},
        {GRAPH(",\"start\":0,\"sites\":[[1.5],[2.5]],\"macro_actions\":[{\"from\":0,\"sites\":[1,2]}]"),
         "/space/macro_actions/0/sites/1", "unknown_site"},
        {GRAPH(",\"start\":0,\"macro_action_length\":2,\"grid\":{\"width\":3,\"height\":3,\"moves\":\"knight\"}"),
         "/space/grid/moves", "unknown_value"},
        {GRAPH(",\"start\":0,\"macro_action_length\":3,\"grid\":{\"width\":3,\"height\":3,\"moves\":\"straight\"}"),
         "/space/start", "no_macro_action"},
        {GRAPH(",\"start\":0,\"macro_action_length\":1,\"grid\":{\"width\":3,\"height\":3,\"moves\":\"four\"},"
               "\"observations\":[{\"site\":9,\"value\":1}]"),
         "/space/observations/0/site", "unknown_site"},
    };
    check_refused(rows, sizeof rows / sizeof rows[0]);
}

static const char *spec_for(const struct policy *policy)
{
    if (policy->spaces & SPACE_PARAMETERS)
        return "{" SPACE(LR) "}";
    if (policy->spaces & SPACE_GRAPH)
        return "{" GRAPH(
            ",\"start\":4,\"macro_action_length\":1,\"grid\":{\"width\":3,\"height\":3,\"moves\":\"four\"},"
            "\"observations\":\"s,v\\n0,1.5\\n1,2\\n2,2.5\\n5,1\\n8,0.5\"") "}";
    if (policy->spaces & SPACE_CANDIDATES)
        return "{" METRICS ",\"space\":{\"type\":\"candidates\",\"rows\":17,\"columns\":3" KEY "}}";
    if (policy->spaces & SPACE_GRAPH)
        return "{" GRAPH(
            ",\"start\":4,\"macro_action_length\":1,\"grid\":{\"width\":3,\"height\":3,\"moves\":\"four\"},"
            "\"observations\":\"s,v\\n0,1.5\\n1,2\\n2,2.5\\n5,1\\n8,0.5\"") "}";
    return "{" METRICS ",\"space\":{\"type\":\"image\",\"height\":7,\"width\":9,\"channels\":1,\"bound\":0.3,"
           "\"latent_sizes\":[3,5]}}";
}

/* Every option of every algorithm takes the ends of its range and its choices, and nothing beyond. */
static void check_option(const struct policy *policy, const struct option *option, json_t *value, bool accepted)
{
    struct arena arena;
    struct spec  spec;
    struct error err = {0};
    char         path[128];
    arena_init(&arena, ARENA_BYTES);
    json_auto_t *json = json_loads(spec_for(policy), 0, NULL);
    json_object_set_new(json, "algorithm", json_pack("{s:s, s:o}", "name", policy->name, option->name, value));
    for (const struct option *other = policy->options; other->name != NULL; other++)
        if (other->required && other != option)
            json_object_set_new(json_object_get(json, "algorithm"), other->name, json_real(ceil(other->min)));
    enum status status = codec_spec(json, 7, &arena, &spec, &err);
    snprintf(path, sizeof path, "/algorithm/%s", option->name);
    if (!accepted) {
        CU_ASSERT_EQUAL(status, STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.path, path);
    } else { // a combination may still be refused, but not this member's value
        CU_ASSERT(status == STATUS_OK || strcmp(err.code, "out_of_range") != 0);
    }
    arena_fini(&arena);
}

static void check_range(const struct policy *policy, const struct option *option)
{
    bool is_int = option->kind == OPTION_INT;
    check_option(policy, option, json_real(option->min), true);
    check_option(policy, option, json_null(), true);
    check_option(policy, option, json_string("7"), false);
    check_option(policy, option, json_false(), false);
    check_option(policy, option, json_real(is_int ? option->min - 1 : nextafter(option->min, -INFINITY)), false);
    if (isfinite(option->max))
        check_option(policy, option, json_real(is_int ? option->max + 1 : nextafter(option->max, INFINITY)), false);
    if (is_int)
        check_option(policy, option, json_real(option->min + 0.5), false);
}

static void test_options(void)
{
    size_t                      count;
    const struct policy *const *list = policy_list(&count);
    for (size_t p = 0; p < count; p++)
        for (const struct option *option = list[p]->options; option->name != NULL; option++) {
            if (option->kind == OPTION_BOOL) {
                check_option(list[p], option, json_true(), true);
                check_option(list[p], option, json_null(), true);
                check_option(list[p], option, json_integer(1), false);
                continue;
            }
            if (option->kind != OPTION_CHOICE) {
                check_range(list[p], option);
                continue;
            }
            for (size_t c = 0; option->choices[c] != NULL; c++)
                check_option(list[p], option, json_string(option->choices[c]), true);
            check_option(list[p], option, json_string("no-such-choice"), false);
            check_option(list[p], option, json_integer(0), false);
        }
}

/* JSON -> spec -> JSON -> spec -> JSON: the last two are the same bytes, and so are the numbers. */
static void test_round_trip(void)
{
    static const char *const rows[] = {
        SPACE(LR ",{\"name\":\"layers\",\"type\":\"int\",\"min\":-9007199254740992,\"max\":9007199254740992},"
                 "{\"name\":\"\xc3\xa9/~\",\"type\":\"categorical\",\"values\":[\"\\\"\",\"\\n\"]}"),
        SPACE("{\"name\":\"x\",\"type\":\"double\",\"min\":1,\"max\":3}") ",\"algorithm\":{\"name\":\"sobol\"}",
        METRICS ",\"space\":{\"type\":\"parameters\",\"parameters\":["
                "{\"name\":\"a/~\",\"type\":\"discrete\",\"values\":[2,0.1,0.30000000000000004],"
                "\"prior\":{\"normal\":{\"mean\":0.3,\"stddev\":0.7}}},"
                "{\"name\":\"o\",\"type\":\"categorical\",\"values\":[\"x\",\"y\"],\"when\":{\"a/~\":[2,0.1]}},"
                "{\"name\":\"z\",\"type\":\"double\",\"min\":0.5,\"max\":0.999,\"scale\":\"reverse_log\","
                "\"prior\":{\"beta\":{\"a\":2,\"b\":0.5}},\"when\":{\"o\":[\"y\"],\"a/~\":[0.1]}},"
                "{\"name\":\"k\",\"type\":\"int\",\"min\":0,\"max\":7}],\"constraints\":["
                "{\"coefficients\":{\"k\":-0.7,\"a/~\":1},\"min\":-3.5,\"max\":0.1},"
                "{\"coefficients\":{\"k\":1,\"a/~\":-20},\"equals\":2,\"tolerance\":0.125},"
                "{\"coefficients\":{\"k\":1e-300},\"max\":5e-300}]},\"algorithm\":{\"name\":\"gp\",\"repeat\":true}",
        SPACE("{\"name\":\"b\",\"type\":\"categorical\",\"values\":[false,null,1.0,1,\"1\"],\"default\":null},"
              "{\"name\":\"s\",\"type\":\"categorical\",\"values\":[\"S\",\"M\",\"L\"],\"ordered\":true,"
              "\"description\":\"shirt\",\"unit\":\"1\",\"when\":{\"b\":[1.0,null]}},"
              "{\"name\":\"k\",\"type\":\"int\",\"min\":-8,\"max\":64,\"step\":8,\"default\":16},"
              "{\"name\":\"one\",\"type\":\"double\",\"min\":0.1,\"max\":0.1,\"default\":0.1}"),
        SPACE("{\"name\":\"x\",\"type\":\"double\",\"min\":4.9406564584124654e-324,\"max\":0.1}") ",\"seed\":0",
        METRICS ",\"space\":{\"type\":\"candidates\",\"rows\":1000000,\"columns\":1024,\"private\":false}",
        METRICS ",\"space\":{\"type\":\"candidates\",\"rows\":3,\"columns\":2" KEY
                "},\"algorithm\":{\"name\":\"po-gp-ucb\"}",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena arena;
        struct spec  spec, again;
        struct error err = {0};
        arena_init(&arena, ARENA_BYTES);
        CU_ASSERT_EQUAL_FATAL(read_spec(rows[i], &arena, &spec, &err), STATUS_OK);
        json_auto_t *json = codec_spec_json(&spec);
        char        *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
        CU_ASSERT_EQUAL_FATAL(codec_spec_parse(text, &arena, &again, &err), STATUS_OK);
        json_auto_t *json_again = codec_spec_json(&again);
        CU_ASSERT(json_equal(json, json_again));
        for (size_t p = 0; p < spec.space.params_len; p++)
            CU_ASSERT(memcmp(&spec.space.params[p].min, &again.space.params[p].min, 2 * sizeof(double)) == 0);
        for (size_t o = 0; spec.policy->options[o].name != NULL; o++)
            CU_ASSERT(memcmp(&spec.options[o], &again.options[o], sizeof(double)) == 0 || isnan(spec.options[o]));
        free(text);
        arena_fini(&arena);
    }
}

/* Names come back, in the specification and in points, as they were given; so does one that is sent in another way that
 * means it alone.  A whole number of a list of numbers is not written 32.0. */
static void test_as_given(void)
{
    static const char given[] = "[32.0,-3,0,0.5,300]", sorted[] = "\"values\":[-3,0,0.5,32,300]";
    static const char names[] = "[1,1.0,\"1\",true,null,\"true\",-0.25,\"x\\\"y\",7]";
    static const struct {
        const char *sent, *back;
    } rows[] = {{"1", "1"},   {"1.0", "1.0"},   {"\"1\"", "\"1\""},       {"true", "true"},
                {"7.0", "7"}, {"null", "null"}, {"\"true\"", "\"true\""}, {"-25e-2", "-0.25"}};
    struct arena arena;
    struct spec  spec;
    struct error err = {0};
    char         members[600], point[80], cell[CODEC_CELL_MAX];
    double       values[2];
    arena_init(&arena, ARENA_BYTES);
    snprintf(members, sizeof members,
             SPACE("{\"name\":\"d\",\"type\":\"discrete\",\"values\":%s},"
                   "{\"name\":\"c\",\"type\":\"categorical\",\"values\":%s}"),
             given, names);
    CU_ASSERT_EQUAL_FATAL(read_spec(members, &arena, &spec, &err), STATUS_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *json = NULL;
        snprintf(point, sizeof point, "{\"d\":32,\"c\":%s}", rows[i].sent);
        CU_ASSERT_EQUAL_FATAL(codec_parse(point, strlen(point), &json, &err), STATUS_OK);
        CU_ASSERT_EQUAL(codec_point(&(struct reading){.spec = &spec, .err = &err}, json, POINT_WHOLE, "", values),
                        STATUS_OK);
        json_auto_t *back = codec_point_json(&spec, values);
        char        *text = json_dumps(back, JSON_COMPACT | JSON_REAL_PRECISION(17));
        snprintf(point, sizeof point, "{\"d\":32,\"c\":%s}", rows[i].back);
        CU_ASSERT_STRING_EQUAL(text, point);
        free(text);
        json_decref(json);
    }
    for (size_t c = 0; c < 9; c++) { // as cells of a table too
        codec_space_cell(&spec, 1, (double)c, cell);
        CU_ASSERT(codec_space_read_cell(&spec, 1, cell, &values[1]) && values[1] == (double)c);
    }
    CU_ASSERT(!codec_space_read_cell(&spec, 1, "", &values[1]) && !codec_space_read_cell(&spec, 1, "2", &values[1]));
    json_auto_t *json = codec_spec_json(&spec);
    char        *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    CU_ASSERT(strstr(text, sorted) != NULL && strstr(text, names) != NULL);
    free(text);
    arena_fini(&arena);
}

/* An arena of any size gives NO_MEMORY or the result, never anything else; stored text that is wrong is our fault. */
static void test_spec_memory(void)
{
    struct error err = {0};
    struct spec  spec;
    enum status  status = STATUS_NO_MEMORY;
    size_t       refused = 0;
    for (size_t limit = 0; status != STATUS_OK && limit < (1 << 22); limit += limit / 2 + 64) {
        struct arena arena;
        arena_init(&arena, limit);
        status = read_spec(SPACE(LR), &arena, &spec, &err);
        CU_ASSERT(status == STATUS_OK || status == STATUS_NO_MEMORY);
        refused += status == STATUS_NO_MEMORY;
        arena_fini(&arena);
    }
    CU_ASSERT(status == STATUS_OK && refused > 0);
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    CU_ASSERT_EQUAL(codec_spec_parse("{\"metrics\":3", &arena, &spec, &err), STATUS_INTERNAL);
    CU_ASSERT_EQUAL(codec_spec_parse("{\"metrics\":3}", &arena, &spec, &err), STATUS_INTERNAL);
    arena_fini(&arena);
}

/* Promised numbers are never rounded the wrong way. */
static void test_promised_numbers(void)
{
    static const double values[] = {1,    1.25,   2.718281828459045,   0.3,     1.0000001, 9.9999999, 3e-10, 50.9521831,
                                    1e-5, 123456, 0.12345650000000001, 99999.95};
    char                text[TEXT_NUMBER_BYTES];
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        double above = strtod(text_at_most(values[i], text), NULL),
               below = strtod(text_at_least(values[i], text), NULL);
        CU_ASSERT(above >= values[i] * (1 - 0x1p-39) && above <= values[i] * (1 + 1.1e-5));
        CU_ASSERT(below <= values[i] * (1 + 0x1p-39) && below >= values[i] * (1 - 1.1e-5));
    }
    CU_ASSERT_STRING_EQUAL(text_at_most(0.3, text), "0.3");
    CU_ASSERT_STRING_EQUAL(text_at_least(0.14, text), "0.14");
    CU_ASSERT_STRING_EQUAL(text_at_most(3.5 * (1 + 0x1p-40), text), "3.5");
    CU_ASSERT_STRING_EQUAL(text_at_most(2.718281828459045, text), "2.71829");
}

CU_TestInfo suite_codec[] = {
    {"parse", test_parse},
    {"limits", test_limits},
    {"time", test_time},
    {"labels", test_labels},
    {"label sizes", test_label_sizes},
    {"spec", test_spec},
    {"spec refused", test_spec_refused},
    {"graph refused", test_spec_graph_refused},
    {"options", test_options},
    {"round trip", test_round_trip},
    {"values as given", test_as_given},
    {"spec memory", test_spec_memory},
    {"promised numbers", test_promised_numbers},
    CU_TEST_INFO_NULL,
};
