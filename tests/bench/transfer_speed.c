/* The cost of a suggestion that learns from 60 earlier studies of 130 values (Dai, thesis, D.2.4), in a space of eight
 * parameters: the first one, which fits and factors the earlier studies, and the median of ten after 50 values.
 * Milliseconds of one core (processor time).  In the rows "kept" nothing lets go of the earlier studies: each of them takes
 * part in every evaluation of the acquisition function.  The exit code is 1 when one is over 100 after 50. */
#include "engine/policy/session.h"
#include "engine/base/numbers.h"
#include "tests/bench/transfer.h"
#include "engine/registry.h"
#include "tests/bench/bench.h"

enum { STUDIES = 60, VALUES = 130, PARAMS = 8, VALUES_OWN = 50, REPEATS = 10 };
static const double LIMIT_MS = 100;

static const struct {
    const char *name, *policy, *options;
} rows[] = {
    {"transfer", "transfer", ""},
    {"rm-gp-ucb", "rm-gp-ucb", ""},
    {"rm-gp-ucb kept", "rm-gp-ucb", "weights=1 decay=.999 power=0"},
    {"rm-gp-ts", "rm-gp-ts", ""},
    {"rm-gp-ts kept", "rm-gp-ts", "weights=1 decay=.999 power=0"},
    {"rgpe", "rgpe", ""},
    {"taf", "taf", ""},
};

static struct param         params[PARAMS];
static struct earlier_study studies[STUDIES];
static double               points[STUDIES][VALUES * PARAMS], values[STUDIES][VALUES];

static double function(const double *x, double shift)
{
    double sum = 0;
    for (size_t i = 0; i < PARAMS; i++)
        sum -= pow(x[i] - 0.3 - 0.05 * (double)i - shift, 2) + 0.1 * cos(9 * x[i]);
    return sum;
}

static void make_studies(void)
{
    struct rng rng = rng_at(60, 1, RNG_TEST);
    for (size_t i = 0; i < PARAMS; i++)
        params[i] = (struct param){.name = "x", .kind = PARAM_DOUBLE, .min = 0, .max = 1};
    for (size_t i = 0; i < STUDIES; i++) {
        for (size_t j = 0; j < VALUES * PARAMS; j++)
            points[i][j] = rng_uniform(&rng);
        for (size_t j = 0; j < VALUES; j++)
            values[i][j] = function(points[i] + j * PARAMS, 0.01 * (double)i) + 0.05 * rng_normal(&rng);
        studies[i] = (struct earlier_study){.points = points[i], .values = values[i], .n = VALUES};
    }
}

static double ask_once(const struct policy *policy, struct session *session, uint64_t trial, struct proposal *proposal)
{
    struct error err = {0};
    double       began = cpu_ms();
    must(policy->ask(session, &(struct ask){.trial = trial}, proposal, &err), &err);
    if (proposal->fallback != NULL)
        exit(2);
    return cpu_ms() - began;
}

static void tell_point(const struct policy *policy, struct session *session, uint64_t trial, const double *point,
                       const struct proposal *noted)
{
    struct error err = {0};
    struct event event = {.kind = EVENT_SUGGESTED, .trial = trial, .point = point};
    if (noted != NULL) {
        event.note = noted->note;
        event.note_bytes = noted->note_bytes;
    }
    must(policy->tell(session, &event, &err), &err);
    event = (struct event){.kind = EVENT_OBSERVED, .trial = trial, .point = point, .value = function(point, 0.1)};
    must(policy->tell(session, &event, &err), &err);
}

static int run_row(size_t r)
{
    static struct proposal proposal;
    const struct policy   *policy = policy_find(rows[r].policy);
    struct space           space = {.kind = SPACE_PARAMETERS, .params = params, .params_len = PARAMS};
    double                 options[TRANSFER_OPTIONS_MAX], point[PARAMS], times[REPEATS], first = 0;
    struct error           err = {0};
    struct session        *session;
    must(space_init(&space, &err), &err);
    transfer_set_options(policy, rows[r].options, options);
    struct problem problem = {.space = &space,
                              .options = options,
                              .seed = 7,
                              .memory_bytes = 1 << 28,
                              .earlier = studies,
                              .earlier_len = STUDIES};
    must(session_open(policy, &problem, &session, &err), &err);
    proposal = (struct proposal){.point = point};
    for (uint64_t trial = 1; trial <= VALUES_OWN; trial++) {
        double ms = ask_once(policy, session, trial, &proposal);
        first = trial == 1 ? ms : first;
        tell_point(policy, session, trial, point, &proposal);
    }
    for (uint64_t k = 0; k < REPEATS; k++)
        times[k] = ask_once(policy, session, VALUES_OWN + 1 + k, &proposal);
    qsort(times, REPEATS, sizeof *times, numbers_order);
    double median = times[REPEATS / 2];
    printf("%s,%.0f,%.1f,%.1f,%s\n", rows[r].name, first, median, times[REPEATS - 1],
           median <= LIMIT_MS ? "ok" : "not");
    session_close(session);
    return median > LIMIT_MS;
}

int main(void)
{
    int failures = 0;
    mat_use_one_thread();
    make_studies();
    puts("algorithm,first_ms,median_ms_at_50,largest_ms_at_50,verdict");
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        failures += run_row(r);
    return failures == 0 ? 0 : 1;
}
