/* The unit-test suites of the engine: one line here and one file <name>.c each.
 * A suite is an array of tests named suite_<name>, ended by CU_TEST_INFO_NULL. */
#ifndef GNOMON_TESTS_SUITES_H
#define GNOMON_TESTS_SUITES_H

#include <CUnit/CUnit.h>

#include <math.h>
#include <stdbool.h>

#define ENGINE_SUITES(X) \
    X(arena)             \
    X(rng)               \
    X(decimate)          \
    X(sobol)             \
    X(space)             \
    X(space_forms)       \
    X(space_equation)    \
    X(space_face)        \
    X(space_forbid)      \
    X(used_points)       \
    X(mat)               \
    X(kernel)            \
    X(kernel_contract)   \
    X(rff)               \
    X(gp)                \
    X(gp_model)          \
    X(acq)               \
    X(policy_gp)         \
    X(policy_gp_log)     \
    X(policy_gp_pending) \
    X(policy_gp_limits)  \
    X(guards)            \
    X(pareto)            \
    X(ehvi)              \
    X(several)           \
    X(trust_region)      \
    X(turbo)             \
    X(evolution)         \
    X(auto)              \
    X(sensitivity)       \
    X(reach)             \
    X(gp_loo)            \
    X(gain)              \
    X(steps)             \
    X(context)           \
    X(drift)             \
    X(failure)           \
    X(table_gp)          \
    X(projection)        \
    X(mechanism)         \
    X(curve)             \
    X(sampler)           \
    X(release)           \
    X(quadtree)          \
    X(denoise)           \
    X(release_checks)    \
    X(release_kernel)    \
    X(stopping)          \
    X(stop_rule)         \
    X(streams)           \
    X(judge)             \
    X(accountant)        \
    X(region)            \
    X(broadcast)         \
    X(game)              \
    X(fts)               \
    X(rank_mean)         \
    X(image)             \
    X(additive)          \
    X(linear_ts)         \
    X(bos2)              \
    X(graph)             \
    X(macro)             \
    X(transfer)          \
    X(contract)

#define X(name) extern CU_TestInfo suite_##name[];
ENGINE_SUITES(X)
#undef X

/* A struct param without what few have. */
#define PARAM(text, type, units, low, high, n)                                                                    \
    {                                                                                                             \
        .name = (text), .kind = PARAM_##type, .scale = SCALE_##units, .min = (low), .max = (high), .choices = (n) \
    }

/* |actual - expected| <= tolerance; false for NaN. */
#define CHECK_NEAR(actual, expected, tolerance) CU_ASSERT(fabs((double)(actual) - (expected)) <= (tolerance))

#endif
