/* The unit-test suites of the service: one line here and one file <name>.c each. */
#ifndef GNOMON_TESTS_SERVICE_SUITES_H
#define GNOMON_TESTS_SERVICE_SUITES_H

#include <CUnit/CUnit.h>

#include <math.h>
#include <stdbool.h>

#define SERVICE_SUITES(X) \
    X(agent_ledger)       \
    X(agent_log)          \
    X(answers)            \
    X(cases)              \
    X(chain)              \
    X(codec)              \
    X(codec_trial)        \
    X(command)            \
    X(cpus)               \
    X(deleting)           \
    X(driver)             \
    X(exporting)          \
    X(federation)         \
    X(large)              \
    X(ledger)             \
    X(manifest)           \
    X(members)            \
    X(noise)              \
    X(npy)                \
    X(operations)         \
    X(plans)              \
    X(postgres)           \
    X(races)              \
    X(retention)          \
    X(schema)             \
    X(memory)             \
    X(secure)             \
    X(slots)              \
    X(spec_cache)         \
    X(steady)             \
    X(store)              \
    X(table_marks)        \
    X(trial_csv)          \
    X(turns)

#define X(name) extern CU_TestInfo suite_##name[];
SERVICE_SUITES(X)
#undef X

/* |actual - expected| <= tolerance; false for NaN. */
#define CHECK_NEAR(actual, expected, tolerance) CU_ASSERT(fabs((double)(actual) - (expected)) <= (tolerance))

#endif
