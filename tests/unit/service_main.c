/* Runs the suites of the service. */
#include "tests/unit/runner.h"
#include "tests/unit/service_suites.h"

static const struct suite suites[] = {
#define X(name) {#name, suite_##name},
    SERVICE_SUITES(X)
#undef X
};

int main(int argc, char **argv)
{
    return runner_main(suites, sizeof suites / sizeof suites[0], argc, argv);
}
