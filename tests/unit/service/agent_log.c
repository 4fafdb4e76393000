/* An agent's journal: what it holds is what a session is told, and what it cannot mean is refused by its line. */
#include "service/member/codec.h"
#include "service/codec/codec_federation.h"
#include "service/cli/agent_log.h"
#include "tests/unit/service/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEAT = 2, FEATURES = 10, REGIONS = 2, TRIALS = 5 };

static const char members[] =
    "{\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}],\"space\":{\"type\":\"parameters\",\"parameters\":["
    "{\"name\":\"x\",\"type\":\"double\",\"min\":-1.5,\"max\":2.25},"
    "{\"name\":\"w\",\"type\":\"double\",\"min\":0.01,\"max\":7,\"scale\":\"log\"}]},"
    "\"algorithm\":%s,\"seats\":3,\"rounds\":9%s}";
static const char private_algorithm[] = "{\"name\":\"dp-fts-de\",\"features\":10,\"regions\":2,\"initial\":2}";
static const char open_algorithm[] = "{\"name\":\"fts\",\"features\":10,\"initial\":2}";
static const char privacy[] =
    ",\"privacy\":{\"epsilon\":9,\"delta\":0.0137,\"sampling_rate\":0.385,\"clip\":9.5,\"noise_multiplier\":0.93}";

struct place {
    struct arena           arena;
    struct federation_spec spec;
    struct agent_log       log;
    struct agent_identity  identity;
    struct proposal        proposal;
    char                   folder[64], path[96];
    struct error           err;
};

static struct place *place_new(bool is_private)
{
    struct place *place = calloc(1, sizeof *place);
    char          text[1024];
    json_t       *json = NULL;
    arena_init(&place->arena, 16 << 20);
    snprintf(text, sizeof text, members, is_private ? private_algorithm : open_algorithm, is_private ? privacy : "");
    CU_ASSERT_EQUAL_FATAL(codec_parse(text, strlen(text), &json, &place->err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(codec_federation(json, &place->arena, &place->spec, &place->err), STATUS_OK);
    json_decref(json);
    snprintf(place->folder, sizeof place->folder, "gnomon-agent-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(place->folder));
    snprintf(place->path, sizeof place->path, "%s/journal", place->folder);
    place->identity = (struct agent_identity){"fed_abcdefghij234567", "0123", SEAT, 4711};
    place->proposal.point = ARENA_NEW(&place->arena, double, 2);
    return place;
}

static enum status reopen(struct place *place)
{
    agent_log_close(&place->log);
    return agent_log_open(place->path, &place->identity, &place->spec, &place->log, &place->err);
}

static void place_end(struct place *place)
{
    agent_log_close(&place->log);
    unlink(place->path);
    CU_ASSERT_EQUAL(rmdir(place->folder), 0);
    arena_fini(&place->arena);
    free(place);
}

static void suggest(struct place *place)
{
    const struct ask ask = {.trial = (uint64_t)place->log.trials + 1};
    place->proposal.note_bytes = 0;
    CU_ASSERT_EQUAL_FATAL(place->spec.study.policy->ask(place->log.session, &ask, &place->proposal, &place->err),
                          STATUS_OK);
    const struct release_use use = {.is_followed = ask.trial > 3,
                                    .weight = ask.trial > 2 ? 0.1 * (double)ask.trial : 0};
    CU_ASSERT_EQUAL_FATAL(agent_log_suggested(&place->log, &place->proposal, &use, &place->err), STATUS_OK);
}

static void receive(struct place *place, int64_t round)
{
    size_t rows = place->spec.is_private ? REGIONS : 3;
    double matrix[3 * FEATURES];
    for (size_t i = 0; i < rows * FEATURES; i++)
        matrix[i] = sin(0.385 * (double)(i + 1) * (double)round);
    CU_ASSERT_EQUAL_FATAL(agent_log_received(&place->log, round, matrix, rows, SEAT, &place->err), STATUS_OK);
}

/* A run in a single life, or with a new one for every step. */
static void run(bool is_private, bool is_reopened, double *points)
{
    struct place *place = place_new(is_private);
    CU_ASSERT_EQUAL_FATAL(agent_log_open(place->path, &place->identity, &place->spec, &place->log, &place->err),
                          STATUS_OK);
    for (int i = 0; i < TRIALS; i++) {
        if (i >= 2)
            receive(place, i - 1);
        if (is_reopened)
            CU_ASSERT_EQUAL_FATAL(reopen(place), STATUS_OK);
        suggest(place);
        memcpy(points + 2 * i, place->log.point, 2 * sizeof *points);
        if (is_reopened)
            CU_ASSERT_EQUAL_FATAL(reopen(place), STATUS_OK);
        CU_ASSERT_EQUAL(place->log.pending, i + 1);
        CU_ASSERT_EQUAL(memcmp(points + 2 * i, place->log.point, 2 * sizeof *points), 0);
        double value = i == 1 ? (double)NAN : points[2 * i] * points[2 * i] + 0.385;
        CU_ASSERT_EQUAL_FATAL(agent_log_ended(&place->log, value, &place->err), STATUS_OK);
    }
    CU_ASSERT_EQUAL_FATAL(reopen(place), STATUS_OK);
    CU_ASSERT_EQUAL(place->log.trials, TRIALS);
    CU_ASSERT_EQUAL(place->log.values, TRIALS - 1);
    CU_ASSERT_EQUAL(place->log.round, TRIALS - 2);
    CU_ASSERT_EQUAL(place->log.seed, 4711);
    double best = HUGE_VAL;
    for (int i = 0; i < TRIALS; i++)
        best = i == 1 ? best : fmin(best, points[2 * i] * points[2 * i] + 0.385);
    CU_ASSERT_EQUAL(place->log.best, best);
    const struct agent_help *help = &place->log.help;
    CU_ASSERT_TRUE(help->weighed == TRIALS - 2 && help->followed == TRIALS - 3);
    CU_ASSERT_TRUE(help->last.is_followed && help->last.weight == 0.1 * TRIALS);
    CU_ASSERT_TRUE(help->after == best && help->before >= best);
    place_end(place);
}

static void test_restart(void)
{
    for (int is_private = 0; is_private < 2; is_private++) {
        double lived[2 * TRIALS], again[2 * TRIALS];
        run(is_private == 1, false, lived);
        run(is_private == 1, true, again);
        CU_ASSERT_EQUAL(memcmp(lived, again, sizeof lived), 0);
    }
}

static size_t lines(const struct place *place)
{
    size_t n = 0;
    int    c;
    FILE  *file = fopen(place->path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    while ((c = fgetc(file)) != EOF)
        n += c == '\n';
    fclose(file);
    return n;
}

/* News in a broadcast of everybody's vectors: not the agent's own, not zeros, not known ones. */
static void test_news(void)
{
    struct place *place = place_new(false);
    double        matrix[3 * FEATURES] = {0};
    CU_ASSERT_EQUAL_FATAL(reopen(place), STATUS_OK);
    size_t before = lines(place);
    matrix[0] = 0.385;
    matrix[FEATURES] = 2.385;
    CU_ASSERT_EQUAL(agent_log_received(&place->log, 1, matrix, 3, SEAT, &place->err), STATUS_OK);
    CU_ASSERT_EQUAL(lines(place), before + 1);
    CU_ASSERT_EQUAL(agent_log_received(&place->log, 2, matrix, 3, SEAT, &place->err), STATUS_OK);
    CU_ASSERT_EQUAL(lines(place), before + 1);
    matrix[2 * FEATURES + 3] = -1.75;
    CU_ASSERT_EQUAL(agent_log_received(&place->log, 3, matrix, 3, SEAT, &place->err), STATUS_OK);
    CU_ASSERT_EQUAL(lines(place), before + 2);
    CU_ASSERT_EQUAL(place->log.round, 3);
    place_end(place);
}

static void append_text(const struct place *place, const char *text)
{
    FILE *file = fopen(place->path, "a");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
}

static void test_refusals(void)
{
    static const char *const bad[] = {
        "no JSON\n",
        "{\"trial\":1}\n",
        "{\"trial\":1,\"value\":0.5}\n",                                     /* of no trial */
        "{\"trial\":1,\"point\":[0.5],\"note\":\"\"}\n",                     /* too short */
        "{\"trial\":1,\"point\":[0.5,99],\"note\":\"\"}\n",                  /* outside */
        "{\"trial\":1,\"point\":[0.5,1],\"note\":\"xy\"}\n",                 /* no hexadecimal */
        "{\"round\":1,\"sender\":0,\"vectors\":[1,2]}\n",                    /* too short */
        "{\"round\":1,\"sender\":4,\"vectors\":[1,2,3,4,5,6,7,8,9,10]}\n",   /* no such seat */
        "{\"round\":1,\"sender\":1,\"vectors\":[1,2,3,4,5,6,7,8,9,null]}\n", /* no number */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct place *place = place_new(false);
        CU_ASSERT_EQUAL_FATAL(reopen(place), STATUS_OK);
        agent_log_close(&place->log);
        append_text(place, bad[i]);
        CU_ASSERT_EQUAL(reopen(place), STATUS_CONFLICT);
        CU_ASSERT_STRING_EQUAL(place->err.code, "other_journal");
        CU_ASSERT_PTR_NOT_NULL(strstr(place->err.text, "line 2"));
        place_end(place);
    }
}

/* A log of another agent or federation, in use, or cut short by a crash. */
static void test_identity(void)
{
    struct place *place = place_new(true);
    CU_ASSERT_EQUAL_FATAL(reopen(place), STATUS_OK);
    suggest(place);
    agent_log_close(&place->log);
    append_text(place, "{\"trial\":1,\"va");
    CU_ASSERT_EQUAL(reopen(place), STATUS_OK);
    CU_ASSERT_EQUAL(place->log.pending, 1);
    struct agent_identity good = place->identity;
    place->identity.seat = 3;
    CU_ASSERT_EQUAL(reopen(place), STATUS_CONFLICT);
    place->identity = good;
    place->identity.federation = "fed_abcdefghij234566";
    CU_ASSERT_EQUAL(reopen(place), STATUS_CONFLICT);
    place->identity = good;
    place->identity.features_sha256 = "0124";
    CU_ASSERT_EQUAL(reopen(place), STATUS_CONFLICT);
    CU_ASSERT_PTR_NOT_NULL(strstr(place->err.text, "line 1"));
    place_end(place);
}

CU_TestInfo suite_agent_log[] = {
    {"opened anew at every step it goes on with the same points", test_restart},
    {"only news is told", test_news},
    {"lines that make no sense", test_refusals},
    {"whose journal it is", test_identity},
    CU_TEST_INFO_NULL,
};
