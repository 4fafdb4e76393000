/* Runs CUnit suites: all of them, those named as arguments, or with -NAME all but that one; with --all before these the
 * slow tests as a whole.
 * Closing line "N passed, N failed" counts tests; the exit code is 1 when anything failed, 2 for a wrong name. */
#ifndef GNOMON_TESTS_RUNNER_H
#define GNOMON_TESTS_RUNNER_H

#include "tests/unit/thorough.h"

#include <CUnit/Basic.h>
#include <stdio.h>
#include <string.h>

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

static int runner_register(const struct suite *suites, size_t len, int argc, char **argv)
{
    int registered = 0;
    for (size_t i = 0; i < len; i++) {
        if (!runner_wants(suites[i].name, argc, argv))
            continue;
        CU_SuiteInfo info[] = {{.pName = suites[i].name, .pTests = suites[i].tests}, CU_SUITE_INFO_NULL};
        if (CU_register_suites(info) != CUE_SUCCESS)
            return 0;
        registered++;
    }
    return registered;
}

static int runner_main(const struct suite *suites, size_t len, int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    thorough = argc > 1 && strcmp(argv[1], "--all") == 0;
    argc -= thorough;
    argv += thorough;
    int wanted = argc < 2 ? (int)len : argv[1][0] == '-' ? (int)len + 1 - argc : argc - 1;
    if (CU_initialize_registry() != CUE_SUCCESS || runner_register(suites, len, argc, argv) != wanted) {
        fprintf(stderr, "no such suite, or it cannot be registered: %s\n", CU_get_error_msg());
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
