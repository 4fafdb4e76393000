/* Time of one suggestion of the gp policy (fit and acquisition search included) in 6 dimensions on one core, through
 * the policy interface, in a study that goes on: asked, told, asked again.  Machines differ, so times are also given
 * in units of one dpotrf + dpotri of the same size in the same run; the limits are a tenth of Optuna's GP sampler and
 * a thirtieth of BoTorch in such units (33, 455, 2707 ms and 99, 994, 6974 ms on a machine where the unit was 0.059,
 * 2.98, 19.0 ms), and at n = 2000 budgets of 1.5 s with a fit and 20 ms without, where the unit was 137 ms.
 *   what: fit / plain   suggestions with and without a fit, median
 *         likelihood    log marginal likelihood and gradient
 *         posterior     of 10,000 points, in units of the dtrsm in it, of 256 columns at a time
 *         pending       suggestions without a fit while 200 to 400 trials have no value, median
 *         memory        peak of the session in MiB
 *         deadline      a suggestion with a deadline: units of it; there is a model's answer, and late was polled if it
 *                       took longer.  deadline_first: of a session in which nothing is ready
 * Exit code 1 when something is over its limit. */
#include "engine/policy/session.h"
#include "engine/base/numbers.h"
#include "engine/gp/gp.h"
#include "engine/math/mat.h"
#include "engine/registry.h"
#include "engine/math/rng.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* LAPACK itself: the unit is to be free of what engine/mat adds. */
void dpotrf_(const char *uplo, const int *n, double *A, const int *ld, int *info);
void dpotri_(const char *uplo, const int *n, double *A, const int *ld, int *info);
void dtrsm_(const char *side, const char *uplo, const char *trans, const char *diag, const int *m, const int *n,
            const double *alpha, const double *A, const int *lda, double *B, const int *ldb);

enum { D = 6, ASKS_MAX = 128, REPEATS = 9, POINTS = 10000, COLUMNS = 256, PENDING = 400 };

static double median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, numbers_order);
    return n == 0 ? NAN : x[n / 2];
}

static void *room(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL)
        exit(2);
    return memory;
}

static double value(const double *x)
{
    double sum = 0;
    for (size_t j = 0; j < D; j++)
        sum -= (1 + 0.4 * (double)j) * pow(x[j] - 0.3 - 0.07 * (double)j, 2) + 0.05 * cos(9 * x[j]);
    return sum;
}

static struct gp_data data_of(size_t n, double *X, double *y)
{
    struct rng rng = rng_at(n, 1, RNG_TEST);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < D; j++)
            X[i * D + j] = rng_uniform(&rng);
        y[i] = value(X + i * D) * 3 + 2;
    }
    return (struct gp_data){.n = n, .dims = D, .X = X, .y = y};
}

/* Medians of the unit and of the likelihood, taken in turn. */
static void measure_likelihood(size_t n, double *unit, double *likelihood)
{
    double        *X = room(n * D, sizeof *X), *y = room(n, sizeof *y), *A = room(n * n, sizeof *A);
    double         scales[D] = {0.5, 0.6, 0.7, 0.8, 0.9, 1.0}, gradient[D + 2], at, units[REPEATS], times[REPEATS];
    struct kernel  kernel = {.kind = &kernel_matern52, .dims = D, .variance = 1.3, .length_scales = scales};
    struct arena   arena;
    struct gp_work work;
    struct error   err = {0};
    struct gp_data data = data_of(n, X, y);
    size_t         inner = 1 + 200 / n;
    int            order = (int)n, info;
    arena_init(&arena, SIZE_MAX);
    must(gp_work_init(&work, &arena, n, &err), &err);
    for (int r = 0; r < REPEATS; r++) {
        units[r] = 0;
        for (size_t k = 0; k < inner; k++) {
            kernel_matrix(&kernel, X, n, A, n);
            for (size_t i = 0; i < n; i++)
                A[i * n + i] += 0.01;
            double start = cpu_ms();
            dpotrf_("U", &order, A, &order, &info);
            dpotri_("U", &order, A, &order, &info);
            units[r] += (cpu_ms() - start) / (double)inner;
        }
        double start = cpu_ms();
        for (size_t k = 0; k < inner; k++)
            must(gp_likelihood(&data, &kernel, 0.01, &work, &at, gradient), &err);
        times[r] = (cpu_ms() - start) / (double)inner;
    }
    *unit = median(units, REPEATS);
    *likelihood = median(times, REPEATS);
    arena_fini(&arena);
    free(X), free(y), free(A);
}

/* Medians of the dtrsm and of the posterior, taken in turn. */
static void measure_posterior(size_t n, double *unit, double *posterior)
{
    double *X = room(n * D, sizeof *X), *y = room(n, sizeof *y), *Z = room(POINTS * D, sizeof *Z);
    double *B = room(n * COLUMNS, sizeof *B), *mean = room(POINTS, sizeof *mean), *var = room(POINTS, sizeof *var);
    double  scales[D] = {0.5, 0.6, 0.7, 0.8, 0.9, 1.0}, one = 1, units[REPEATS], times[REPEATS];
    struct kernel  kernel = {.kind = &kernel_matern52, .dims = D, .variance = 1.3, .length_scales = scales};
    struct gp_data data = data_of(n, X, y);
    struct rng     rng = rng_at(n, 2, RNG_TEST);
    struct arena   arena;
    struct error   err = {0};
    struct gp      gp;
    int            order = (int)n, columns = COLUMNS;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < POINTS * D; i++)
        Z[i] = rng_uniform(&rng);
    must(gp_init(&gp, &arena, &kernel, 0.01, n, &err), &err);
    must(gp_set_points(&gp, data.X, NULL, n, &err), &err);
    must(gp_set_values(&gp, data.y, &err), &err);
    int ld = (int)gp.capacity;
    for (int r = 0; r < REPEATS; r++) {
        units[r] = 0;
        for (int from = 0; from < POINTS; from += COLUMNS) {
            columns = POINTS - from < COLUMNS ? POINTS - from : COLUMNS;
            kernel_cross(&kernel, X, n, Z + (size_t)from * D, (size_t)columns, B);
            double start = cpu_ms();
            dtrsm_("R", "U", "N", "N", &columns, &order, &one, gp.L, &ld, B, &columns);
            units[r] += cpu_ms() - start;
        }
        double start = cpu_ms();
        must(gp_posterior(&gp, (struct points){Z, POINTS}, mean, var, &arena, &err), &err);
        times[r] = cpu_ms() - start;
    }
    *unit = median(units, REPEATS);
    *posterior = median(times, REPEATS);
    arena_fini(&arena);
    free(X), free(y), free(Z), free(B), free(mean), free(var);
}

struct speed {
    double fit[ASKS_MAX], plain[ASKS_MAX];
    size_t fits, plains, peak_bytes;
};

struct study {
    const struct policy *policy;
    struct param         params[D];
    struct space         space;
    double               options[16], point[D];
    struct problem       problem;
    struct session      *session;
    struct proposal      proposal;
    struct rng           rng;
};

static void open_study(struct study *s, uint64_t seed)
{
    struct error err = {0};
    *s = (struct study){.policy = policy_find("gp"), .rng = rng_at(7, seed, RNG_TEST)};
    for (size_t j = 0; j < D; j++)
        s->params[j] = (struct param){.name = "x", .kind = PARAM_DOUBLE, .max = 1};
    policy_defaults(s->policy, s->options);
    s->space = (struct space){.kind = SPACE_PARAMETERS, .params = s->params, .params_len = D};
    s->problem = (struct problem){.space = &s->space, .options = s->options, .seed = 2385, .memory_bytes = 200 << 20};
    s->proposal.point = s->point;
    must(space_init(&s->space, &err), &err);
    must(session_open(s->policy, &s->problem, &s->session, &err), &err);
}

static void tell_suggested(struct study *s, uint64_t trial)
{
    struct error           err = {0};
    const struct proposal *p = &s->proposal;
    struct event           event = {
                  .kind = EVENT_SUGGESTED, .trial = trial, .point = s->point, .note = p->note, .note_bytes = p->note_bytes};
    must(s->policy->tell(s->session, &event, &err), &err);
}

static void tell(struct study *s, uint64_t trial)
{
    struct error err = {0};
    struct event event = {.kind = EVENT_OBSERVED, .trial = trial, .point = s->point, .value = value(s->point)};
    tell_suggested(s, trial);
    must(s->policy->tell(s->session, &event, &err), &err);
}

static void tell_random(struct study *s, uint64_t trial)
{
    s->proposal.note_bytes = 0;
    for (size_t j = 0; j < D; j++)
        s->point[j] = rng_uniform(&s->rng);
    tell(s, trial);
}

/* A study of n random points, then asks suggestions. */
static void measure_asks(size_t n, size_t asks, struct speed *speed)
{
    static struct study s;
    struct error        err = {0};
    *speed = (struct speed){.fits = 0};
    open_study(&s, n);
    for (uint64_t trial = 1; trial <= n; trial++)
        tell_random(&s, trial);
    for (uint64_t trial = n + 1; trial <= n + asks; trial++) {
        double start = cpu_ms();
        must(s.policy->ask(s.session, &(struct ask){.trial = trial}, &s.proposal, &err), &err);
        double took = cpu_ms() - start;
        if (s.proposal.fallback != NULL)
            fprintf(stderr, "n = %d: fallback %s\n", (int)n, s.proposal.fallback), exit(2);
        if (s.proposal.note_bytes > 0 && trial > n + 1) /* the first fit of all has no start to go on from */
            speed->fit[speed->fits++] = took;
        else if (trial > n + 1)
            speed->plain[speed->plains++] = took;
        size_t held = session_bytes(s.session);
        speed->peak_bytes = held > speed->peak_bytes ? held : speed->peak_bytes;
        tell(&s, trial);
    }
    session_close(s.session);
}

/* Median of the later half of PENDING suggestions of which none gets a value, in a study of n random points. */
static double measure_pending(size_t n)
{
    static struct study s;
    double              times[PENDING];
    struct error        err = {0};
    open_study(&s, n);
    for (uint64_t trial = 1; trial <= n; trial++)
        tell_random(&s, trial);
    for (size_t i = 0; i < PENDING; i++) {
        double start = cpu_ms();
        must(s.policy->ask(s.session, &(struct ask){.trial = n + 1 + i}, &s.proposal, &err), &err);
        times[i] = cpu_ms() - start;
        tell_suggested(&s, n + 1 + i);
    }
    session_close(s.session);
    return median(times + PENDING / 2, PENDING / 2);
}

struct deadline {
    double until_ms;
    bool   is_late;
};

static bool is_late(void *arg)
{
    struct deadline *deadline = arg;
    return deadline->is_late |= cpu_ms() >= deadline->until_ms;
}

static bool print(const char *what, size_t n, double ms, double units, double limit)
{
    bool is_over = units > limit;
    printf("%s,%zu,%.3f,%.3f,%.3f,%s\n", what, n, ms, units, limit, is_over ? "no" : "yes");
    fflush(stdout);
    return !is_over;
}

/* The first suggestion of a session of n random points, in which everything is made, and the next one, both with a
 * deadline. */
static bool measure_deadline(size_t n, double milliseconds)
{
    static struct study s;
    struct error        err = {0};
    bool                passed = true;
    open_study(&s, n);
    for (uint64_t trial = 1; trial <= n; trial++)
        tell_random(&s, trial);
    for (uint64_t trial = n + 1; trial <= n + 2; trial++) {
        double          start = cpu_ms();
        struct deadline deadline = {.until_ms = start + milliseconds};
        struct ask      ask = {.trial = trial, .late = is_late, .late_arg = &deadline, .deadline_ms = milliseconds};
        must(s.policy->ask(s.session, &ask, &s.proposal, &err), &err);
        double took = cpu_ms() - start;
        passed &= print(trial == n + 1 ? "deadline_first" : "deadline", n, took, took / milliseconds, 1.3);
        passed &= s.proposal.fallback == NULL && (took < milliseconds || deadline.is_late);
        tell(&s, trial);
    }
    session_close(s.session);
    return passed;
}

int main(void)
{
    static const struct {
        size_t n, before, asks;        /* the study starts with before random points */
        double fit, plain, likelihood; /* limits in units */
    } sizes[] = {
        {100, 70, 60, 55.9, 55.9, 1.3},      {500, 455, 120, 11.1, 11.1, 1.3},        {1000, 930, 110, 12.2, 12.2, 1.3},
        {2000, 1890, 112, 10.9, 0.146, 1.3}, {10000, 9950, 105, 10.9, 1.5, HUGE_VAL},
    };
    static const double deadlines[] = {50, 200, 1000};
    static struct speed speed;
    bool                passed = true;
    double              unit = 0, likelihood = 0, posterior = 0;
    mat_use_one_thread();
    printf("what,n,ms,units,limit,passed\n");
    measure_posterior(100, &unit, &posterior);
    /* without AVX-512 the covariances take longer, and OpenBLAS's dtrsm is faster */
    passed &=
        print("posterior", 100, posterior, posterior / unit, strcmp(mat_core_name(), "SkylakeX") == 0 ? 1.8 : 3.0);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t n = sizes[i].n;
        if (n <= 2000)
            measure_likelihood(n, &unit, &likelihood);
        if (n <= 2000)
            passed &= print("likelihood", n, likelihood, likelihood / unit, sizes[i].likelihood);
        measure_asks(sizes[i].before, sizes[i].asks, &speed);
        double fit = median(speed.fit, speed.fits), plain = median(speed.plain, speed.plains);
        passed &= print("fit", n, fit, fit / unit, sizes[i].fit);
        passed &= print("plain", n, plain, plain / unit, sizes[i].plain);
        if (n == 100 || n == 1000) {
            double pending = measure_pending(n);
            passed &= print("pending", n, pending, pending / unit, n == 100 ? 150 : 2.0);
        }
        passed &= print("memory", n, (double)speed.peak_bytes / 1048576, (double)speed.peak_bytes / 1048576, 200);
    }
    for (size_t i = 0; i < sizeof deadlines / sizeof deadlines[0]; i++)
        passed &= measure_deadline(10000, deadlines[i]);
    return passed ? 0 : 1;
}
