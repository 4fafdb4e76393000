/* Runs CUnit suites: all of them, those named as arguments, or with -NAME all but that one; with --all before these the
 * slow tests as a whole; with PART=K/N in the environment one of N parts of these.
 * Closing line "N passed, N failed" counts tests; the exit code is 1 when anything failed, 2 for a wrong name. */
#ifndef GNOMON_TESTS_RUNNER_H
#define GNOMON_TESTS_RUNNER_H

#include "tests/unit/thorough.h"

#include <CUnit/Basic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct suite {
    const char  *name;
    CU_TestInfo *tests;
};

bool thorough;

static bool runner_wants(const char *name, int argc, char **argv)
{
    bool wanted = argc < 2 || argv[1][0] == '-';
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i] + (argv[i][0] == '-'), name) == 0)
            return argv[i][0] != '-';
    return wanted;
}

static bool runner_knows(const struct suite *suites, size_t len, const char *name)
{
    size_t i = 0;
    while (i < len && strcmp(name + (name[0] == '-'), suites[i].name) != 0)
        i++;
    return i < len;
}

/* Each suite that is wanted; with PART=K/N in the environment the N-th ones, from the K-th on. */
static bool runner_register(const struct suite *suites, size_t len, int argc, char **argv)
{
    size_t      part = 0, parts = 1;
    const char *asked = getenv("PART");
    if (asked != NULL && asked[0] != '\0' && (sscanf(asked, "%zu/%zu", &part, &parts) != 2 || part < 1 || part > parts))
        return false;
    for (int i = 1; i < argc; i++)
        if (!runner_knows(suites, len, argv[i]))
            return false;
    for (size_t i = part % parts; i < len; i += parts) {
        CU_SuiteInfo info[] = {{.pName = suites[i].name, .pTests = suites[i].tests}, CU_SUITE_INFO_NULL};
        if (runner_wants(suites[i].name, argc, argv) && CU_register_suites(info) != CUE_SUCCESS)
            return false;
    }
    return true;
}

static int runner_main(const struct suite *suites, size_t len, int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *place = getenv("TMPDIR"); /* what the tests make is in folders of its own there */
    if (chdir(place != NULL ? place : "/tmp") != 0)
        return 2;
    thorough = argc > 1 && strcmp(argv[1], "--all") == 0;
    argc -= thorough;
    argv += thorough;
    if (CU_initialize_registry() != CUE_SUCCESS || !runner_register(suites, len, argc, argv)) {
        fprintf(stderr, "no such suite or PART, or it cannot be registered: %s\n", CU_get_error_msg());
        return 2;
    }
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_ErrorCode ran = CU_basic_run_tests();
    CU_basic_show_failures(CU_get_failure_list());
    unsigned failed = CU_get_number_of_tests_failed();
    unsigned bad = CU_get_number_of_failures() + (ran != CUE_SUCCESS);
    printf("\n%u passed, %u failed\n", CU_get_number_of_tests_run() - failed, failed);
    CU_cleanup_registry();
    return bad == 0 ? 0 : 1;
}

#endif
