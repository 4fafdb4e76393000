/* Runs the suites of the API. */
#include "tests/unit/api/suites.h"
#include "tests/unit/runner.h"

static const struct suite suites[] = {
#define X(name) {#name, suite_##name},
    API_SUITES(X)
#undef X
};

int main(int argc, char **argv)
{
    return runner_main(suites, sizeof suites / sizeof suites[0], argc, argv);
}
