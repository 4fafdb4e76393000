/* Whether the newest loop of BOS2 is to be left: Bayesian optimal stopping of its best value so far.
 * The best value b of the loop's first i trials becomes the error e_i = START (T - b) / (T - b_1), T = 2 goal - b_1, so
 * that a loop begins at START and has to come below START / 2 to reach the goal: units and offsets of values do not
 * matter. */
#include "engine/bos2/bos2.h"
#include "engine/stopping/stopping.h"

#include <math.h>

enum { PATHS = 10000 };
static const double START = 0.9, GAMMA = 0.99; /* k1 grows by 1 / GAMMA a loop */

/* errors, and epochs for the warm_up: borrowed. */
static struct stopping problem_of(const struct bos2_loop *loop, const struct bos2_settings *settings, uint64_t seed,
                                  const double *errors, double *epochs)
{
    struct stopping problem = stopping_recommended();
    for (size_t i = 0; i < settings->warm_up; i++)
        epochs[i] = (double)(i + 1);
    problem.last = settings->steps;
    problem.seen = settings->warm_up;
    problem.epochs = epochs;
    problem.errors = errors;
    problem.incumbent = START / 2.0;
    problem.k1 /= pow(GAMMA, (double)loop->note.loop);
    problem.paths = PATHS;
    problem.rng = rng_at(seed, loop->note.first, RNG_PATHS);
    return problem;
}

enum status bos2_is_stopped(const struct bos2_loop *loop, const struct bos2_settings *settings, uint64_t seed,
                            bool *stopped, struct arena *scratch, struct error *err)
{
    size_t  n = loop->observed, warm_up = settings->warm_up;
    double *errors = ARENA_NEW(scratch, double, n + 1), *epochs = ARENA_NEW(scratch, double, warm_up), sum = 0.0;
    *stopped = false;
    if (errors == NULL || epochs == NULL)
        return error_no_memory(err);
    if (!settings->stops || loop->note.loop == 0 || n <= warm_up || n >= settings->steps)
        return STATUS_OK;
    double best = loop->values[0], goal = loop->note.goal, top = 2.0 * goal - best;
    for (size_t i = 0; i < n; i++) {
        best = fmax(best, loop->values[i]);
        errors[i] = START * (top - best) / (top - loop->values[0]);
    }
    if (!(best < goal) || !isfinite(top - loop->values[0]))
        return STATUS_OK;
    struct stopping      problem = problem_of(loop, settings, seed, errors, epochs);
    struct stopping_rule rule;
    enum status          status = stopping_solve(&problem, scratch, scratch, &rule, err);
    if (status != STATUS_OK)
        return status == STATUS_NO_MEMORY ? status : STATUS_OK; /* without a rule there is no reason to leave */
    for (size_t i = warm_up; i < n && i + 1 < settings->steps && !*stopped; i++) {
        sum += errors[i];
        *stopped = stopping_decide(&rule, i + 1, sum / (double)(i + 1 - warm_up)) == STOPPING_WORSE;
    }
    return STATUS_OK;
}
