/* CSV import: what is taken in and what is refused, with the line. */
#include "service/codec/codec_spec.h"
#include "service/portable/trial_csv.h"

#include <CUnit/CUnit.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ARENA_BYTES = 1 << 20 };

/* A parameter has the name of a column. */
static const char mixed[] =
    "{\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}],\"algorithm\":{\"name\":\"random\"},\"space\":"
    "{\"type\":\"parameters\",\"parameters\":[{\"name\":\"lr\",\"type\":\"double\",\"min\":1e-5,\"max\":0.1},"
    "{\"name\":\"value\",\"type\":\"int\",\"min\":-7,\"max\":6},"
    "{\"name\":\"o\",\"type\":\"categorical\",\"values\":[\"a,b\",\"sgd\"]}]}}";
static const char open_rows[] =
    "{\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}],\"algorithm\":{\"name\":\"random\"},\"space\":"
    "{\"type\":\"candidates\",\"rows\":17,\"columns\":3,\"private\":false}}";
static const char private_rows[] =
    "{\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}],\"algorithm\":{\"name\":\"random\"},\"space\":"
    "{\"type\":\"candidates\",\"rows\":17,\"columns\":3,"
    "\"curator_key\":\"9tEmOuZH3Zgy3NwQ14tRqtyJFQI5PRK7oZTIegNX72E\"}}";

struct import {
    struct arena        arena;
    struct spec         spec;
    struct observations read;
    struct error        err;
};

static enum status import(struct import *work, const char *spec, const char *text)
{
    work->err = (struct error){0};
    arena_init(&work->arena, ARENA_BYTES);
    CU_ASSERT_EQUAL_FATAL(codec_spec_parse(spec, &work->arena, &work->spec, &work->err), STATUS_OK);
    enum status status = import_csv(&work->spec, text, strlen(text), &work->arena, &work->read, &work->err);
    for (size_t i = 0; status == STATUS_OK && i < work->read.len; i++)
        if (work->read.items[i].unread != NULL) {
            work->err = *work->read.items[i].unread;
            (void)snprintf(work->err.path, sizeof work->err.path, "/lines/%zu", work->read.items[i].line);
            status = STATUS_INVALID;
        }
    return status;
}

#define HEADER "lr,parameter:value,o,value"

static void test_import(void)
{
    struct import work;
    CU_ASSERT_EQUAL_FATAL(
        import(
            &work, mixed,
            "trial,state,lr,parameter:value,o,value,stddev,worker,created_at,started_at,finished_at,reason,external_id,"
            "labels,metadata,notes,artifacts,duration_seconds\r\n"
            "1,completed,0.01,2,\"a,b\",2.385,,w,,,,,run-1,\"{\"\"a\"\":\"\"b\"\"}\",{},\"{no JSON\",,12.5\r\n"
            "2,running,0.02,-3,sgd,,,,,,,,,,,,,\r\n"
            "3,infeasible,0.02,-3.0,sgd,,,,,,,\"out, \"\"of\"\" memory\",,,,,,\r\n"
            "4,,1e-2,6,sgd,-1.5,0.25,,,,,,,,,,,\r\n"),
        STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(work.read.len, 4);
    const struct observation *items = work.read.items;
    CU_ASSERT(items[0].value == 2.385 && isnan(items[0].stddev) && items[0].trial == 0 && items[0].row == -1);
    CU_ASSERT(items[0].point[0] == 0.01 && items[0].point[1] == 2 && items[0].point[2] == 0);
    CU_ASSERT_STRING_EQUAL(items[0].external_id, "run-1");
    CU_ASSERT_STRING_EQUAL(items[0].said, "{\"labels\":{\"a\":\"b\"},\"notes\":\"{no JSON\","
                                          "\"duration_seconds\":12.5}");
    CU_ASSERT(items[0].number == 1 && strcmp(items[0].worker, "w") == 0);
    CU_ASSERT(items[1].outcome == OUTCOME_QUEUED && items[1].number == 2 && items[1].worker == NULL);
    CU_ASSERT(items[2].outcome == OUTCOME_INFEASIBLE && isnan(items[2].value) && items[2].external_id == NULL);
    CU_ASSERT_STRING_EQUAL(items[2].reason, "out, \"of\" memory");
    CU_ASSERT(items[3].value == -1.5 && items[3].stddev == 0.25 && items[3].point[2] == 1);
    arena_fini(&work.arena);
    CU_ASSERT_EQUAL_FATAL(import(&work, open_rows, "candidate,value\n16,0.5\n0,-0.0\n"), STATUS_OK);
    CU_ASSERT(work.read.len == 2 && work.read.items[0].row == 16 && work.read.items[1].row == 0 &&
              !signbit(work.read.items[1].value));
    arena_fini(&work.arena);
}

static void test_refused(void)
{
    static const struct {
        const char *spec, *text, *path, *code;
    } rows[] = {
        {mixed, "", "/lines/1", "csv_header"},
        {mixed, "lr,o,value\n0.01,sgd,1\n", "/lines/1", "missing_column"},
        {mixed, "lr,parameter:value,o\n0.01,2,sgd\n", "/lines/1", "missing_column"},
        {mixed, HEADER ",x\n0.01,2,sgd,1,1\n", "/lines/1", "unknown_column"},
        {mixed, HEADER ",candidate\n0.01,2,sgd,1,1\n", "/lines/1", "unknown_column"},
        {mixed, HEADER ",parameter:lr\n0.01,2,sgd,1,0.01\n", "/lines/1", "missing_column"},
        {mixed, HEADER "\n0.01,2,sgd,1\n0.5,2,sgd,1\n", "/lines/3", "out_of_range"},
        {mixed, HEADER "\n0.01,2.5,sgd,1\n", "/lines/2", "wrong_type"},
        {mixed, HEADER "\n0.01,2,adam,1\n", "/lines/2", "unknown_value"},
        {mixed, HEADER "\n0.01,2,sgd,nan\n", "/lines/2", "wrong_type"},
        {mixed, HEADER "\n0.01,2,sgd,inf\n", "/lines/2", "wrong_type"},
        {mixed, HEADER "\n0.01,2,sgd,1e999\n", "/lines/2", "wrong_type"},
        {mixed, HEADER "\n0x1p-8,2,sgd,1\n", "/lines/2", "wrong_type"},
        {mixed, HEADER "\n,2,sgd,1\n", "/lines/2", "wrong_type"},
        {mixed, HEADER "\n0.01,2,sgd,\n", "/lines/2", "missing_member"},
        {mixed, HEADER ",state\n0.01,2,sgd,1,failed\n", "/lines/2", "bad_combination"},
        {mixed, HEADER ",state\n0.01,2,sgd,1,halted\n", "/lines/2", "unknown_value"},
        {mixed, "trial," HEADER "\n0,0.01,2,sgd,1\n", "/lines/2", "out_of_range"},
        {mixed, "trial," HEADER "\n1.5,0.01,2,sgd,1\n", "/lines/2", "out_of_range"},
        {mixed, HEADER ",stddev\n0.01,2,sgd,1,-0.5\n", "/lines/2", "out_of_range"},
        {mixed, HEADER ",external_id\n0.01,2,sgd,1,\xff\n", "", "csv_unreadable"},
        {mixed, HEADER "\n0.01,2,sgd\n", "", "csv_width"},
        {mixed, HEADER "\n0.01,2,\"sgd,1\n", "", "csv_unreadable"},
        {open_rows, "value\n1\n", "/lines/1", "missing_column"},
        {open_rows, "candidate,value\n17,1\n", "/lines/2", "out_of_range"},
        {open_rows, "candidate,value\n1.5,1\n", "/lines/2", "out_of_range"},
        {private_rows, "candidate,value\n1,1\n", "", "private_study"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct import work;
        CU_ASSERT_EQUAL(import(&work, rows[i].spec, rows[i].text), STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(work.err.path, rows[i].path);
        CU_ASSERT_STRING_EQUAL(work.err.code, rows[i].code);
        arena_fini(&work.arena);
    }
}

/* An empty cell is a parameter that does not exist; it must be one. */
static void test_conditional(void)
{
    static const char conditional[] =
        "{\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}],\"algorithm\":{\"name\":\"random\"},\"space\":"
        "{\"type\":\"parameters\",\"parameters\":[{\"name\":\"o\",\"type\":\"categorical\",\"values\":[\"adam\","
        "\"sgd\"]},"
        "{\"name\":\"m\",\"type\":\"discrete\",\"values\":[0.5,0.875],\"when\":{\"o\":[\"sgd\"]}},"
        "{\"name\":\"k\",\"type\":\"int\",\"min\":0,\"max\":7}],"
        "\"constraints\":[{\"coefficients\":{\"k\":0.5},\"max\":2.385}]}}";
    static const struct {
        const char *line, *code;
    } rows[] = {
        {"adam,0.5,3,1\n", "inactive_parameter"},
        {"sgd,,3,1\n", "missing_member"},
        {"sgd,0.75,3,1\n", "unknown_value"},
        {"sgd,0.5,,1\n", "wrong_type"},
        {",,3,1\n", "unknown_value"},
        {"sgd,0.5,5,1\n", "constraint_violated"},
    };
    struct import work;
    CU_ASSERT_EQUAL_FATAL(import(&work, conditional, "o,m,k,value\nadam,,4,1.5\nsgd,0.875,0,2.5\n"), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(work.read.len, 2);
    CU_ASSERT(work.read.items[0].point[0] == 0 && isnan(work.read.items[0].point[1]) &&
              work.read.items[0].point[2] == 4);
    CU_ASSERT(work.read.items[1].point[1] == 0.875);
    arena_fini(&work.arena);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "o,m,k,value\n%s", rows[i].line);
        CU_ASSERT_EQUAL(import(&work, conditional, text), STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(work.err.code, rows[i].code);
        CU_ASSERT_STRING_EQUAL(work.err.path, "/lines/2");
        arena_fini(&work.arena);
    }
}

CU_TestInfo suite_trial_csv[] = {{"import", test_import},
                                 {"refused", test_refused},
                                 {"conditional parameters", test_conditional},
                                 CU_TEST_INFO_NULL};
