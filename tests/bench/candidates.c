/* 100,000 candidates with 50 columns: the median of suggest + observe around 100 observations, through the policy
 * interface with nothing given (so fits happen at 5, 10, .. 80), and the peak of resident memory against the matrix.
 * Exit code 1 when the median is above 60 ms or the peak above 3 times the matrix. */
#include "engine/policy/session.h"
#include "engine/base/numbers.h"
#include "engine/math/mat.h"
#include "engine/registry.h"
#include "engine/math/rng.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 100000, COLUMNS = 50, FIRST = 91, LAST = 110, MEASURED = LAST - FIRST + 1, AT = 100 };
static const double MS_MAX = 60, MATRICES_MAX = 3;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* VmHWM: the peak of resident memory so far. */
static double peak_bytes(void)
{
    char  line[256];
    long  kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return (double)kib * 1024;
}

/* Smooth along a few columns, with a little noise. */
static double measure(const double *row, struct rng *rng)
{
    return sin(1.5 * row[0]) + row[1] * row[2] - 0.5 * row[3] * row[3] + 0.05 * rng_normal(rng);
}

int main(void)
{
    const struct policy   *policy = policy_find("po-gp-ucb");
    double                *rows = malloc(sizeof(double) * ROWS * COLUMNS), options[16], ms[LAST + 1], peak = 0;
    struct space           space = {.kind = SPACE_CANDIDATES, .rows = rows, .rows_len = ROWS, .columns = COLUMNS};
    struct problem         problem = {.space = &space, .options = options, .seed = 2385, .memory_bytes = 1 << 28};
    struct rng             rng = rng_at(1, 1, RNG_TEST);
    struct session        *session = NULL;
    struct error           err = {0};
    static struct proposal p;
    if (rows == NULL)
        return 2;
    mat_use_one_thread();
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++)
        rows[i] = rng_normal(&rng);
    policy_defaults(policy, options);
    must(space_init(&space, &err), &err);
    must(session_open(policy, &problem, &session, &err), &err);
    for (uint64_t trial = 1; trial <= LAST; trial++) {
        double start = now_ms();
        must(policy->ask(session, &(struct ask){.trial = trial}, &p, &err), &err);
        struct event event = {
            .kind = EVENT_SUGGESTED, .trial = trial, .row = p.row, .note = p.note, .note_bytes = p.note_bytes};
        must(policy->tell(session, &event, &err), &err);
        event = (struct event){
            .kind = EVENT_OBSERVED, .trial = trial, .row = p.row, .value = measure(rows + p.row * COLUMNS, &rng)};
        must(policy->tell(session, &event, &err), &err);
        ms[trial] = now_ms() - start;
        if (trial == AT + 1) /* its suggestion took in observation number AT */
            peak = peak_bytes();
        if (p.fallback != NULL) {
            fprintf(stderr, "trial %d fell back: %s\n", (int)trial, p.fallback);
            return 2;
        }
    }
    session_close(session);
    qsort(ms + FIRST, MEASURED, sizeof *ms, numbers_order);
    double median = (ms[FIRST + MEASURED / 2 - 1] + ms[FIRST + MEASURED / 2]) / 2;
    double matrices = peak / ((double)ROWS * COLUMNS * sizeof(double));
    bool   passed = median <= MS_MAX && matrices <= MATRICES_MAX;
    printf("rows,columns,observations,median_ms,slowest_ms,peak_mib,peak_matrices,passed\n");
    printf("%d,%d,%d,%.2f,%.2f,%.1f,%.2f,%s\n", ROWS, COLUMNS, AT, median, ms[LAST], peak / 1048576, matrices,
           passed ? "yes" : "no");
    free(rows);
    return passed ? 0 : 1;
}
