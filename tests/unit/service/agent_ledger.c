/* An agent's ledger: federations add up, a budget holds, restarts cost nothing, and what cannot be added up is refused. */
#include "service/cli/agent_ledger.h"

#include "engine/privacy/accountant.h"
#include "tests/unit/service/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct place {
    struct arena arena;
    struct error err;
    char         folder[64], path[96];
};

static struct place *place_new(void)
{
    struct place *place = calloc(1, sizeof *place);
    arena_init(&place->arena, 4 << 20);
    snprintf(place->folder, sizeof place->folder, "gnomon-ledger-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(place->folder));
    snprintf(place->path, sizeof place->path, "%s/ledger", place->folder);
    return place;
}

static void place_end(struct place *place)
{
    unlink(place->path);
    CU_ASSERT_EQUAL(rmdir(place->folder), 0);
    arena_fini(&place->arena);
    free(place);
}

static struct federation_spec plan(double q, double z, int64_t rounds)
{
    return (struct federation_spec){.is_private = true,
                                    .seats = 5,
                                    .rounds = rounds,
                                    .epsilon = 1000,
                                    .delta = 0.0137,
                                    .broadcast = {.q = q, .z = z}};
}

static enum status charge(struct place *place, const char *id, const struct federation_spec *spec, double budget,
                          struct agent_total *total)
{
    const struct agent_charge charge = {.federation = id, .seat = 2, .spec = spec, .budget = budget};
    return agent_ledger_charge(place->path, &charge, total, &place->arena, &place->err);
}

static double promised(struct place *place, const struct accountant_run *runs, size_t n, double delta)
{
    double epsilon = NAN;
    CU_ASSERT_EQUAL(accountant_promise(runs, n, delta, &epsilon, &place->arena, NULL), STATUS_OK);
    return epsilon;
}

static void test_adds_up(void)
{
    struct place               *place = place_new();
    const struct accountant_run runs[] = {{0.385, 0.93, 9}, {0.17, 1.7, 31}};
    struct federation_spec      first = plan(0.385, 0.93, 9), second = plan(0.17, 1.7, 31);
    struct agent_total          total;
    double alone = promised(place, &runs[0], 1, 0.0137), other = promised(place, &runs[1], 1, 0.0137);
    CU_ASSERT_EQUAL(charge(place, "fed_a", &first, NAN, &total), STATUS_OK);
    CU_ASSERT_TRUE(total.federations == 1 && total.epsilon == alone && isnan(total.budget));
    CU_ASSERT_EQUAL(charge(place, "fed_b", &second, NAN, &total), STATUS_OK);
    CU_ASSERT_TRUE(total.federations == 2 && total.delta == 2 * 0.0137);
    CHECK_NEAR(total.epsilon, alone + other, 1e-12);
    CHECK_NEAR(total.planned, promised(place, runs, 2, 2 * 0.0137), 1e-12);
    CU_ASSERT_TRUE(total.planned < total.epsilon && total.planned > alone - 0.5);
    /* Again: nothing is added, and nothing forgotten. */
    CU_ASSERT_EQUAL(charge(place, "fed_a", &first, NAN, &total), STATUS_OK);
    CU_ASSERT_TRUE(total.federations == 2);
    CHECK_NEAR(total.epsilon, alone + other, 1e-12);
    place_end(place);
}

/* The charge is the budget at which the federation itself stops. */
static void test_own_budget(void)
{
    struct place          *place = place_new();
    struct federation_spec spec = plan(0.385, 0.93, 1000);
    struct agent_total     total;
    spec.epsilon = 3;
    CU_ASSERT_EQUAL(charge(place, "fed_a", &spec, NAN, &total), STATUS_OK);
    CU_ASSERT_TRUE(total.epsilon <= 3 && total.epsilon > 2);
    place_end(place);
}

static void test_budget(void)
{
    struct place          *place = place_new();
    struct federation_spec spec = plan(0.385, 0.93, 9);
    struct agent_total     total;
    double                 alone = promised(place, &(struct accountant_run){0.385, 0.93, 9}, 1, 0.0137);
    CU_ASSERT_EQUAL(charge(place, "fed_a", &spec, 0.9 * alone, &total), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(place->err.code, "budget_exhausted");
    CU_ASSERT_EQUAL(charge(place, "fed_a", &spec, 1.9 * alone, &total), STATUS_OK);
    CU_ASSERT_EQUAL(charge(place, "fed_b", &spec, 3 * alone, &total), STATUS_CONFLICT); /* the least ever given */
    CU_ASSERT_EQUAL(charge(place, "fed_b", &spec, NAN, &total), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(place->err.code, "budget_exhausted");
    CU_ASSERT_EQUAL(charge(place, "fed_a", &spec, NAN, &total), STATUS_OK);
    CU_ASSERT_TRUE(total.federations == 1);
    place_end(place);
}

/* A smaller budget holds from then on, with whatever federation it comes; a larger one does not take it back. */
static void test_budget_later(void)
{
    struct place          *place = place_new();
    struct federation_spec spec = plan(0.385, 0.93, 9);
    struct agent_total     total;
    double                 alone = promised(place, &(struct accountant_run){0.385, 0.93, 9}, 1, 0.0137);
    CU_ASSERT_EQUAL(charge(place, "fed_a", &spec, 3 * alone, &total), STATUS_OK);
    CU_ASSERT_EQUAL(charge(place, "fed_a", &spec, 1.5 * alone, &total), STATUS_OK);
    CU_ASSERT_EQUAL(charge(place, "fed_a", &spec, 4 * alone, &total), STATUS_OK);
    CU_ASSERT_TRUE(total.federations == 1 && total.budget == 1.5 * alone);
    CHECK_NEAR(total.epsilon, alone, 1e-12);
    CU_ASSERT_EQUAL(charge(place, "fed_b", &spec, NAN, &total), STATUS_CONFLICT);
    place_end(place);
}

static void write_line(const char *path, const char *line)
{
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fprintf(file, "%s\n", line);
    fclose(file);
}

static void test_refused(void)
{
    static const char *const lines[] = {
        "{}",
        "{\"federation\":\"fed_a\",\"seat\":0,\"sampling_rate\":0.5,\"noise_multiplier\":1,\"releases\":3,\"delta\":0."
        "01,"
        "\"budget\":null}",
        "{\"federation\":\"fed_a\",\"seat\":1,\"sampling_rate\":0.5,\"noise_multiplier\":1,\"releases\":0,\"delta\":0."
        "01,"
        "\"budget\":null}",
        "{\"federation\":\"fed_a\",\"seat\":1,\"sampling_rate\":0.5,\"noise_multiplier\":1,\"releases\":3,\"delta\":1."
        "5,"
        "\"budget\":null}",
        "{\"federation\":\"fed_a\",\"seat\":1,\"sampling_rate\":0.5,\"noise_multiplier\":1,\"releases\":3,\"delta\":0."
        "01,"
        "\"budget\":\"none\"}",
        "{\"federation\":\"fed_a\",\"seat\":1,\"sampling_rate\":0.5,\"noise_multiplier\":1,\"releases\":3,\"delta\":0."
        "01,"
        "\"budget\":null,\"more\":1}",
    };
    struct place          *place = place_new();
    struct federation_spec spec = plan(0.385, 0.93, 9), other = plan(0.385, 0.5, 9), open = {.is_private = false};
    struct agent_total     total;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        write_line(place->path, lines[i]);
        CU_ASSERT_EQUAL(charge(place, "fed_b", &spec, NAN, &total), STATUS_CONFLICT);
        CU_ASSERT_STRING_EQUAL(place->err.code, "file");
    }
    /* A line whose run makes no sense has no bound: nothing may be added to it. */
    write_line(place->path, "{\"federation\":\"fed_a\",\"seat\":1,\"sampling_rate\":0.5,\"noise_multiplier\":0,"
                            "\"releases\":3,\"delta\":0.01,\"budget\":null}");
    CU_ASSERT_EQUAL(charge(place, "fed_b", &spec, NAN, &total), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(place->err.code, "budget_exhausted");
    unlink(place->path);
    CU_ASSERT_EQUAL(charge(place, "fed_a", &open, NAN, &total), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(place->err.code, "no_guarantee");
    CU_ASSERT_EQUAL(charge(place, "fed_a", &spec, NAN, &total), STATUS_OK);
    CU_ASSERT_EQUAL(charge(place, "fed_a", &other, NAN, &total), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(place->err.code, "other_plan");
    const struct agent_charge seat = {.federation = "fed_a", .seat = 3, .spec = &spec, .budget = NAN};
    CU_ASSERT_EQUAL(agent_ledger_charge(place->path, &seat, &total, &place->arena, &place->err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(place->err.code, "other_seat");
    place_end(place);
}

CU_TestInfo suite_agent_ledger[] = {
    {"federations add up", test_adds_up}, {"a federation's own budget", test_own_budget},
    {"the ledger's budget", test_budget}, {"a smaller budget later", test_budget_later},
    {"refusals", test_refused},           CU_TEST_INFO_NULL,
};
