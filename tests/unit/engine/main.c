/* Runs the suites of the engine. */
#include "engine/math/mat.h"
#include "tests/unit/runner.h"
#include "tests/unit/engine/suites.h"

static const struct suite suites[] = {
#define X(name) {#name, suite_##name},
    ENGINE_SUITES(X)
#undef X
};

int main(int argc, char **argv)
{
    if (!mat_use_one_thread())
        return 1;
    return runner_main(suites, sizeof suites / sizeof suites[0], argc, argv);
}
