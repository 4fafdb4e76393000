/* Points, observations, trials and studies <-> JSON. */
#include "service/codec/codec_spec.h"
#include "service/codec/codec_study.h"
#include "service/codec/codec_trial.h"
#include "service/model/study.h"
#include "service/model/trial.h"

#include <CUnit/CUnit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES = 1 << 20 };

static const char mixed[] =
    "{\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}],\"algorithm\":{\"name\":\"random\"},\"seed\":7,\"space\":"
    "{\"type\":\"parameters\",\"parameters\":["
    "{\"name\":\"lr\",\"type\":\"double\",\"min\":1e-5,\"max\":0.1,\"scale\":\"log\"},"
    "{\"name\":\"n\",\"type\":\"int\",\"min\":-7,\"max\":6},"
    "{\"name\":\"o\",\"type\":\"categorical\",\"values\":[\"adam\",\"sgd\"]}]}}";
static const char open_rows[] =
    "{\"metrics\":[{\"name\":\"loss\",\"goal\":\"maximize\"}],\"algorithm\":{\"name\":\"random\"},\"space\":"
    "{\"type\":\"candidates\",\"rows\":17,\"columns\":3,\"private\":false}}";
static const char private_rows[] =
    "{\"metrics\":[{\"name\":\"loss\",\"goal\":\"maximize\"}],\"algorithm\":{\"name\":\"random\"},\"space\":"
    "{\"type\":\"candidates\",\"rows\":17,\"columns\":3,"
    "\"curator_key\":\"9tEmOuZH3Zgy3NwQ14tRqtyJFQI5PRK7oZTIegNX72E\"}}";

static void read_spec(const char *text, struct arena *arena, struct spec *spec)
{
    struct error err = {0};
    arena_init(arena, ARENA_BYTES);
    CU_ASSERT_EQUAL_FATAL(codec_spec_parse(text, arena, spec, &err), STATUS_OK);
}

static void test_point(void)
{
    static const struct {
        const char *json;
        bool        partial;
        const char *path, *code;
        double      point[3];
    } rows[] = {
        {"{\"lr\":0.0031,\"n\":4,\"o\":\"sgd\"}", false, "", "", {0.0031, 4, 1}},
        {"{\"lr\":1e-5,\"n\":-7.0,\"o\":\"adam\"}", false, "", "", {1e-5, -7, 0}},
        {"{\"lr\":0.1,\"n\":-0.0,\"o\":\"adam\"}", false, "", "", {0.1, 0, 0}},
        {"{\"n\":3}", true, "", "", {NAN, 3, NAN}},
        {"{}", true, "", "", {NAN, NAN, NAN}},
        {"{\"n\":3}", false, "/p/lr", "missing_member", {0}},
        {"{\"lr\":0.11,\"n\":4,\"o\":\"sgd\"}", false, "/p/lr", "out_of_range", {0}},
        {"{\"lr\":1,\"n\":4,\"o\":\"sgd\"}", false, "/p/lr", "out_of_range", {0}},
        {"{\"lr\":true,\"n\":4,\"o\":\"sgd\"}", false, "/p/lr", "wrong_type", {0}},
        {"{\"lr\":\"0.01\",\"n\":4,\"o\":\"sgd\"}", false, "/p/lr", "wrong_type", {0}},
        {"{\"lr\":0.01,\"n\":4.5,\"o\":\"sgd\"}", false, "/p/n", "wrong_type", {0}},
        {"{\"lr\":0.01,\"n\":7,\"o\":\"sgd\"}", false, "/p/n", "out_of_range", {0}},
        {"{\"lr\":0.01,\"n\":4,\"o\":\"rmsprop\"}", false, "/p/o", "unknown_value", {0}},
        {"{\"lr\":0.01,\"n\":4,\"o\":1}", false, "/p/o", "wrong_type", {0}},
        {"{\"lr\":0.01,\"n\":4,\"o\":\"sgd\",\"x/y\":1}", false, "/p/x~1y", "unknown_member", {0}},
        {"[0.01,4,1]", false, "/p", "wrong_type", {0}},
    };
    struct arena arena;
    struct spec  spec;
    read_spec(mixed, &arena, &spec);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error err = {0};
        double       point[3];
        json_auto_t *json = json_loads(rows[i].json, 0, NULL);
        enum status  status = codec_point(&(struct reading){.spec = &spec, .err = &err}, json,
                                         rows[i].partial ? POINT_PART : POINT_WHOLE, "/p", point);
        CU_ASSERT_EQUAL(status, rows[i].code[0] == '\0' ? STATUS_OK : STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.path, rows[i].path);
        CU_ASSERT_STRING_EQUAL(err.code, rows[i].code);
        for (size_t k = 0; status == STATUS_OK && k < 3; k++)
            CU_ASSERT(point[k] == rows[i].point[k] || (isnan(point[k]) && isnan(rows[i].point[k])));
    }
    double       point[3] = {0.1, -3, 1};
    json_auto_t *json = codec_point_json(&spec, point);
    char        *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    CU_ASSERT_STRING_EQUAL(text, "{\"lr\":0.10000000000000001,\"n\":-3,\"o\":\"sgd\"}");
    free(text);
    arena_fini(&arena);
}

struct row {
    const char *json, *path, *code;
};

static void check_refused(const char *spec_text, const struct row *rows, size_t len)
{
    struct arena arena;
    struct spec  spec;
    read_spec(spec_text, &arena, &spec);
    for (size_t i = 0; i < len; i++) {
        struct error       err = {0};
        struct observation observation;
        struct reading     in = {.spec = &spec, .arena = &arena, .err = &err};
        json_auto_t       *json = json_loads(rows[i].json, 0, NULL);
        CU_ASSERT_EQUAL(codec_observation(&in, json, "/observations/3", &observation), STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.path, rows[i].path);
        CU_ASSERT_STRING_EQUAL(err.code, rows[i].code);
    }
    arena_fini(&arena);
}

static void test_observation_refused(void)
{
    static const struct row parameters[] = {
        {"7", "/observations/3", "wrong_type"},
        {"{\"value\":1}", "/observations/3", "bad_combination"},
        {"{\"trial\":1,\"point\":{},\"value\":1}", "/observations/3", "bad_combination"},
        {"{\"trial\":1}", "/observations/3", "bad_combination"},
        {"{\"trial\":1,\"value\":1,\"state\":\"failed\"}", "/observations/3", "bad_combination"},
        {"{\"trial\":1,\"value\":1,\"values\":{\"loss\":1}}", "/observations/3", "bad_combination"},
        {"{\"trial\":1,\"state\":\"failed\",\"stddev\":0.5}", "/observations/3", "bad_combination"},
        {"{\"trial\":1,\"value\":1,\"reason\":\"x\"}", "/observations/3", "bad_combination"},
        {"{\"trial\":0,\"value\":1}", "/observations/3/trial", "out_of_range"},
        {"{\"trial\":1.5,\"value\":1}", "/observations/3/trial", "wrong_type"},
        {"{\"trial\":1,\"value\":null}", "/observations/3/value", "wrong_type"},
        {"{\"trial\":1,\"value\":true}", "/observations/3/value", "wrong_type"},
        {"{\"trial\":1,\"value\":1,\"stddev\":-0.5}", "/observations/3/stddev", "out_of_range"},
        {"{\"trial\":1,\"values\":{\"accuracy\":1}}", "/observations/3/values/accuracy", "unknown_member"},
        {"{\"trial\":1,\"values\":{}}", "/observations/3/values/loss", "missing_member"},
        {"{\"trial\":1,\"state\":\"completed\"}", "/observations/3/state", "unknown_value"},
        {"{\"trial\":1,\"value\":1,\"external_id\":\"\"}", "/observations/3/external_id", "out_of_range"},
        {"{\"trial\":1,\"value\":1,\"extra\":1}", "/observations/3/extra", "unknown_member"},
        {"{\"candidate\":3,\"value\":1}", "/observations/3/candidate", "wrong_space"},
        {"{\"point\":{\"lr\":5},\"value\":1}", "/observations/3/point/lr", "out_of_range"},
    };
    static const struct row rows[] = {
        {"{\"candidate\":17,\"value\":1}", "/observations/3/candidate", "out_of_range"},
        {"{\"candidate\":-1,\"value\":1}", "/observations/3/candidate", "out_of_range"},
        {"{\"point\":{},\"value\":1}", "/observations/3/point", "wrong_space"},
    };
    static const struct row private[] = {
        {"{\"candidate\":3,\"value\":1}", "/observations/3/candidate", "private_study"},
        {"{\"point\":{\"x\":1},\"value\":1}", "/observations/3/point", "private_study"},
    };
    check_refused(mixed, parameters, sizeof parameters / sizeof parameters[0]);
    check_refused(open_rows, rows, sizeof rows / sizeof rows[0]);
    check_refused(private_rows, private, sizeof private / sizeof private[0]);
}

static void test_observation(void)
{
    struct arena       arena;
    struct spec        spec;
    struct error       err = {0};
    struct observation o;
    struct reading     in = {.spec = &spec, .arena = &arena, .err = &err};
    read_spec(mixed, &arena, &spec);
    json_auto_t *value = json_pack("{s:{s:f, s:i, s:s}, s:{s:f}, s:f, s:s}", "point", "lr", 0.02, "n", 5, "o", "sgd",
                                   "values", "loss", -2.385, "stddev", 0.25, "external_id", "run-881");
    CU_ASSERT_EQUAL_FATAL(codec_observation(&in, value, "", &o), STATUS_OK);
    CU_ASSERT(o.trial == 0 && o.row == -1 && o.outcome == OUTCOME_VALUE && o.value == -2.385 && o.stddev == 0.25);
    CU_ASSERT(o.point != NULL && o.point[0] == 0.02 && o.point[1] == 5 && o.point[2] == 1);
    CU_ASSERT_STRING_EQUAL(o.external_id, "run-881");
    json_auto_t *failed = json_pack("{s:i, s:s, s:s}", "trial", 17, "state", "infeasible", "reason", "too large");
    CU_ASSERT_EQUAL_FATAL(codec_observation(&in, failed, "", &o), STATUS_OK);
    CU_ASSERT(o.trial == 17 && o.point == NULL && o.outcome == OUTCOME_INFEASIBLE && isnan(o.value));
    CU_ASSERT_STRING_EQUAL(o.reason, "too large");
    arena_fini(&arena);
    read_spec(open_rows, &arena, &spec);
    json_auto_t *row = json_pack("{s:i, s:f}", "candidate", 0, "value", 1e-300);
    CU_ASSERT_EQUAL_FATAL(codec_observation(&in, row, "", &o), STATUS_OK);
    CU_ASSERT(o.row == 0 && o.trial == 0 && o.value == 1e-300 && isnan(o.stddev) && o.external_id == NULL);
    arena_fini(&arena);
}

static void check_text(json_t *json, const char *expected)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_STRING_EQUAL(text, expected);
    free(text);
    json_decref(json);
}

static void test_trial(void)
{
    struct arena arena;
    struct spec  spec;
    read_spec(mixed, &arena, &spec);
    double       point[3] = {0.0625, 4, 1};
    struct trial trial = {.number = 3,
                          .state = TRIAL_COMPLETED,
                          .point = point,
                          .row = -1,
                          .worker = "gpu-7",
                          .value = 2.5,
                          .stddev = NAN,
                          .external_id = "x",
                          .created_ms = 1772357400125,
                          .started_ms = 1772357400500,
                          .finished_ms = 1772357401000,
                          .said = {.labels = "{\"a\":\"b\"}", .notes = "", .duration_seconds = 0.5},
                          .model = {.algorithm = "gp",
                                    .revision = 5,
                                    .observations = 2,
                                    .mean = 1.75,
                                    .stddev = 0.5,
                                    .stddev_observed = 0.625,
                                    .compute_ms = 1.25}};
    check_text(
        codec_trial_json(&spec, &trial, (struct lease_clock){0}),
        "{\"number\":3,\"state\":\"completed\",\"point\":{\"lr\":0.0625,\"n\":4,\"o\":\"sgd\"},"
        "\"candidate\":null,\"worker\":\"gpu-7\",\"lease\":null,\"value\":2.5,\"values\":{\"loss\":2.5},"
        "\"stddev\":null,\"stddevs\":null,\"reason\":null,\"external_id\":\"x\",\"labels\":{\"a\":\"b\"},"
        "\"metadata\":{},\"notes\":\"\",\"artifacts\":[],\"duration_seconds\":0.5,\"model\":{\"algorithm\":\"gp\","
        "\"revision\":5,"
        "\"observations\":2,\"mean\":1.75,\"stddev\":0.5,\"stddev_observed\":0.625,\"fallback\":null,\"compute_ms\":1."
        "25,\"diagnostics\":null},"
        "\"created_at\":\"2026-03-01T09:30:00.125Z\",\"started_at\":\"2026-03-01T09:30:00.500Z\","
        "\"finished_at\":\"2026-03-01T09:30:01.000Z\",\"corrected_at\":null}");
    struct trial running = {.number = 1,
                            .state = TRIAL_RUNNING,
                            .row = 16,
                            .worker = "",
                            .value = NAN,
                            .stddev = NAN,
                            .lease_ms = 1772357401125,
                            .lease = 2,
                            .said.duration_seconds = NAN,
                            .created_ms = 1772357400125};
    check_text(
        codec_trial_json(&spec, &running,
                         (struct lease_clock){.now_ms = 1772357400000, .shift_ms = -1000, .lease_ms = 3600000}),
        "{\"number\":1,\"state\":\"running\",\"point\":null,\"candidate\":16,\"worker\":\"\","
        "\"lease\":{\"id\":2,\"expires_at\":\"2026-03-01T09:30:00.125Z\",\"expires_in_seconds\":1.125,"
        "\"heartbeat_seconds\":1200},\"value\":null,\"values\":null,"
        "\"stddev\":null,\"stddevs\":null,\"reason\":null,\"external_id\":null,\"labels\":{},\"metadata\":{},"
        "\"notes\":null,\"artifacts\":[],\"duration_seconds\":null,\"model\":null,"
        "\"created_at\":\"2026-03-01T09:30:00.125Z\",\"started_at\":null,\"finished_at\":null,\"corrected_at\":null}");
    arena_fini(&arena);
}

static void check_diagnostics(const struct spec *spec, const struct diagnostics *d, const char *expected)
{
    struct arena arena, small;
    struct error err = {0};
    const char  *text = "";
    arena_init(&arena, 1 << 16);
    arena_init(&small, 16);
    CU_ASSERT_EQUAL_FATAL(codec_diagnostics(spec, 0, d, &arena, &text, &err), STATUS_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_STRING_EQUAL(text, expected);
    struct trial trial = {.number = 1, .worker = "", .row = -1, .model = {.algorithm = "gp", .diagnostics = text}};
    json_auto_t *shown = codec_trial_json(spec, &trial, (struct lease_clock){0}),
                *wanted = json_loads(expected, 0, NULL);
    CU_ASSERT(json_equal(json_object_get(json_object_get(shown, "model"), "diagnostics"), wanted));
    CU_ASSERT_EQUAL(codec_diagnostics(spec, 0, d, &small, &text, &err), STATUS_NO_MEMORY);
    arena_fini(&arena);
    arena_fini(&small);
}

static void test_diagnostics(void)
{
    struct arena       arena;
    struct spec        spec;
    struct error       err;
    const char        *text = "";
    double             scales[3] = {0.123456789, 2.385, 1e-300};
    struct diagnostics d = {.length_scales = scales,
                            .signal_variance = 1.09,
                            .noise_variance = 0.000214,
                            .condition = INFINITY,
                            .fit_ms = NAN,
                            .acquisition_value = -0.8341239999};
    read_spec(mixed, &arena, &spec);
    CU_ASSERT_EQUAL(codec_diagnostics(&spec, 0, &d, &arena, &text, &err), STATUS_OK);
    CU_ASSERT_PTR_NULL(text); /* no model */
    d.kernel = "matern52";
    d.acquisition = "log-ei";
    d.values.unit = 2, d.values.centre = -0.5, d.values.spread = 0.25;
    d.values.top = 1.5, d.values.c = 0.125, d.values.warp_centre = 3, d.values.warp_scale = 0.1;
    check_diagnostics(&spec, &d,
                      "{\"kernel\":\"matern52\",\"output\":{\"sign\":-1.0,\"origin\":0.0,\"unit\":2.0,\"centre\":-0.5,"
                      "\"spread\":0.25,\"warp\":{\"top\":1.5,\"c\":0.125,\"centre\":3.0,\"scale\":"
                      "0.10000000000000001}},\"length_scales\":{\"lr\":0.123456789,\"n\":2.3849999999999998,"
                      "\"o\":1e-300},\"signal_variance\":1.0900000000000001,\"noise_variance\":0.000214,"
                      "\"jitter\":0.0,\"condition\":null,\"fit_ms\":null,"
                      "\"acquisition\":\"log-ei\",\"acquisition_value\":-0.83412399989999997}");
    arena_fini(&arena);
    read_spec(open_rows, &arena, &spec);
    d.condition = 87.4;
    d.acquisition = "ucb";
    d.values.warp_scale = 0;
    check_diagnostics(&spec, &d,
                      "{\"kernel\":\"matern52\",\"output\":{\"sign\":1.0,\"origin\":0.0,\"unit\":2.0,\"centre\":-0.5,"
                      "\"spread\":0.25,\"warp\":null},\"length_scales\":{\"columns\":0.123456789},"
                      "\"signal_variance\":1.0900000000000001,\"noise_variance\":0.000214,"
                      "\"jitter\":0.0,\"condition\":87.400000000000006,\"fit_ms\":null,\"acquisition\":\"ucb\","
                      "\"acquisition_value\":-0.83412399989999997}");
    arena_fini(&arena);
}

static void test_study(void)
{
    struct arena arena;
    struct study study = {.id = "std_7f3kq2mavx5d4w2c",
                          .name = "resnet",
                          .labels = "{\"team\":\"vision\"}",
                          .notes = "",
                          .state = STUDY_ACTIVE,
                          .rules = rules_none(),
                          .revision = 4,
                          .trials_total = 3,
                          .trials = {[TRIAL_RUNNING] = 2, [TRIAL_FAILED] = 1},
                          .best_trial = 2,
                          .best_value = 0.75,
                          .created_by = "tok_a",
                          .owner = "Ana",
                          .created_ms = 1772357400125,
                          .updated_ms = 1772357401000};
    read_spec(open_rows, &arena, &study.spec);
    study.spec.seed = 42;
    study.rules.budget_trials = 100;
    check_text(codec_study_json(&study),
               "{\"id\":\"std_7f3kq2mavx5d4w2c\",\"name\":\"resnet\",\"state\":\"active\",\"reason\":null,"
               "\"revision\":4,\"space_revision\":0,\"metrics\":[{\"name\":\"loss\",\"goal\":\"maximize\"}],"
               "\"space\":{\"type\":\"candidates\",\"rows\":17,\"columns\":3,\"private\":false},"
               "\"algorithm\":{\"name\":\"random\",\"repeat\":false},\"stopping\":null,\"seed\":42,\"stop_when\":null,"
               "\"parallelism\":null,\"lease_seconds\":3600,\"shareable\":true,\"budget\":{"
               "\"trials\":100},"
               "\"labels\":{\"team\":\"vision\"},\"notes\":\"\",\"trials\":{\"total\":3,\"queued\":0,\"running\":2,"
               "\"completed\":0,\"failed\":1,\"infeasible\":0,\"abandoned\":0,\"stopped\":0,\"retracted\":0,"
               "\"imported\":0},\"best\":{"
               "\"trial\":2,"
               "\"value\":0.75},\"spent\":{\"trials\":2,\"cost\":null},\"ends_at\":null,"
               "\"created_by\":\"tok_a\",\"owner\":\"Ana\","
               "\"created_at\":\"2026-03-01T09:30:00.125Z\",\"updated_at\":\"2026-03-01T09:30:01.000Z\"}");
    arena_fini(&arena);
}

CU_TestInfo suite_codec_trial[] = {
    {"point", test_point}, {"observation", test_observation}, {"observation refused", test_observation_refused},
    {"trial", test_trial}, {"diagnostics", test_diagnostics}, {"study", test_study},
    CU_TEST_INFO_NULL,
};
