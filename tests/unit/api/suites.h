/* The unit-test suites of the API: one line here and one file <name>.c each. */
#ifndef GNOMON_TESTS_API_SUITES_H
#define GNOMON_TESTS_API_SUITES_H

#include <CUnit/CUnit.h>

#define API_SUITES(X) \
    X(address)        \
    X(gate)           \
    X(trace)          \
    X(route)          \
    X(schema)         \
    X(reply)          \
    X(dispatch)       \
    X(conns)          \
    X(request_job)    \
    X(workers)

#define X(name) extern CU_TestInfo suite_##name[];
API_SUITES(X)
#undef X

#endif
