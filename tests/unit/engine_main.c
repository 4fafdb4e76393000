/* Runs the engine's suites: all of them, or those named as arguments.
 * Closing line "N passed, N failed" counts tests; the exit code is 1 when anything failed, 2 for a wrong name. */
#include "tests/unit/suites.h"

#include <CUnit/Basic.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char  *name;
    CU_TestInfo *tests;
} suites[] = {
#define X(name) {#name, suite_##name},
    ENGINE_SUITES(X)
#undef X
};
enum { SUITES = sizeof suites / sizeof suites[0] };

static bool is_wanted(const char *name, int argc, char **argv)
{
    bool wanted = argc < 2;
    for (int i = 1; i < argc; i++)
        wanted |= strcmp(argv[i], name) == 0;
    return wanted;
}

static int register_wanted(int argc, char **argv)
{
    int registered = 0;
    for (size_t i = 0; i < SUITES; i++) {
        if (!is_wanted(suites[i].name, argc, argv))
            continue;
        CU_SuiteInfo info[] = {{.pName = suites[i].name, .pTests = suites[i].tests}, CU_SUITE_INFO_NULL};
        if (CU_register_suites(info) != CUE_SUCCESS)
            return 0;
        registered++;
    }
    return registered;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (CU_initialize_registry() != CUE_SUCCESS || register_wanted(argc, argv) < (argc < 2 ? (int)SUITES : argc - 1)) {
        fprintf(stderr, "cannot register the suites: %s\n", CU_get_error_msg());
        return 2;
    }
    CU_basic_set_mode(CU_BRM_NORMAL);
    bool finished = CU_basic_run_tests() == CUE_SUCCESS;
    CU_basic_show_failures(CU_get_failure_list());
    unsigned failed = CU_get_number_of_tests_failed();
    bool     passed = finished && CU_get_number_of_failures() == 0;
    printf("\n%u passed, %u failed\n", CU_get_number_of_tests_run() - failed, failed);
    CU_cleanup_registry();
    return passed ? 0 : 1;
}
