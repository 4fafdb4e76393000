/* Federated Thompson sampling on functions drawn from a Gaussian process, against the figures of an independent
 * implementation, and the speed of a round at the server.
 *   federated [FTS_FUNCTIONS [DE_FUNCTIONS]]        0 leaves a part out
 * The setting is that of the thesis (B.4.1, C.2): 1,000 points on [0, 1], squared exponential with length-scale 0.03,
 * functions scaled to [0, 1], noise variance 0.01; simple regret of the noise-free function, initial points included.
 * fts: an agent and 50 others whose functions differ by d at every point and who have t_n values each.
 * de:  200 agents, all at once; the sums, clipping, sampling and noise of dp-fts-de are the engine's broadcast.
 * A figure is ok within two standard errors of the reference, of both together; a table when four fifths of it are and
 * none is beyond four: rows share their functions and a row is one curve, so that figures stray together. */
#include "engine/federated/broadcast.h"
#include "engine/math/mat.h"
#include "tests/bench/bench.h"
#include "tests/bench/synthetic.h"

enum { FUNCTIONS_MAX = 200, TIMES = 5, ROWS_MAX = 16 };

struct tally {
    int figures, outside, far, broken;
};

static double se_of(const double *x, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += pow(x[i] - mean, 2);
    return sqrt(squares / ((double)n - 1) / (double)n);
}

static double mean_of(const double *x, size_t n)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    return mean;
}

/* A figure of the authors, and its standard error. */
struct target {
    double mean, se;
};

static void check_figure(struct tally *tally, const char *name, const char *when, const double *x, size_t n,
                         struct target target)
{
    double mean = mean_of(x, n), se = se_of(x, n), z = (mean - target.mean) / hypot(se, target.se);
    tally->figures++;
    tally->outside += fabs(z) > 2;
    tally->far += fabs(z) > 4;
    printf("%s,%s,%.4f,%.4f,%.4f,%.4f,%.1f,%s\n", name, when, mean, se, target.mean, target.se, z,
           fabs(z) <= 2 ? "ok" : "outside");
}

/* Paired: a is below b by at least so many standard errors of the difference. */
static void check_below(struct tally *tally, const char *what, double least, const double *a, const double *b, size_t n)
{
    double d[FUNCTIONS_MAX];
    for (size_t i = 0; i < n; i++)
        d[i] = a[i] - b[i];
    double mean = mean_of(d, n), se = se_of(d, n);
    tally->broken += !(mean <= -least * se);
    printf("order,%s,%.4f,%.4f,,,%.1f,%s\n", what, mean, se, mean / se, mean <= -least * se ? "ok" : "NOT");
}

static void check_within(struct tally *tally, const char *what, const double *a, const double *b, size_t n,
                         double limit)
{
    double d[FUNCTIONS_MAX];
    for (size_t i = 0; i < n; i++)
        d[i] = a[i] - b[i];
    double mean = mean_of(d, n), slack = 2 * se_of(d, n);
    tally->broken += fabs(mean) > limit + slack;
    printf("equal,%s,%.4f,%.4f,%.4f,,,%s\n", what, mean, slack / 2, limit, fabs(mean) <= limit + slack ? "ok" : "NOT");
}

static bool report(const char *name, const struct tally *tally)
{
    bool is_ok = tally->far == 0 && tally->outside * 5 <= tally->figures && tally->broken == 0;
    printf("# %s: %d of %d figures within two standard errors, %d beyond four, %d orderings broken: %s\n", name,
           tally->figures - tally->outside, tally->figures, tally->far, tally->broken, is_ok ? "ok" : "NOT OK");
    return is_ok;
}

/* --- fts --- */

enum { OTHERS = 50, FTS_TRIALS = 50 };
static const int    fts_times[TIMES] = {1, 5, 10, 20, 50};
static const char  *fts_names[TIMES] = {"t=1", "t=5", "t=10", "t=20", "t=50"};
static const double rounding = 0.0005; /* the reference's standard errors, where it prints none */

struct fts_row {
    const char *name;
    double      d;
    size_t      values, features; /* of the others; 0: none */
    bool        is_square;        /* 1 - 1/t^2 */
    double      target[TIMES], se[TIMES];
};
// clang-format off
static const struct fts_row fts_rows[] = {
    {"ts", 0, 0, 0, false, {.361, .205, .132, .052, .002}, {.010, .008, .007, .004, .0005}},
    {"d=.02 n=40 M=50", .02, 40, 50, false, {.246, .057, .032, .013, .001}, {.010, .004, .003, .001, .0005}},
    {"d=.02 n=40 M=100", .02, 40, 100, false, {.231, .067, .032, .013, .002}, {.010, .005, .002, .001, .0005}},
    {"d=.02 n=100 M=50", .02, 100, 50, false, {.152, .031, .019, .010, .002}, {.010, .003, .002, .001, .0005}},
    {"d=.02 n=100 M=100", .02, 100, 100, false, {.162, .019, .010, .005, .001}, {.010, .002, .001, .001, .0005}},
    {"d=.02 n=100 M=200", .02, 100, 200, false, {.155, .018, .009, .004, .001}, {.010, .002, .001, .001, .0005}},
    {"d=1.2 n=40 M=50", 1.2, 40, 50, false, {.336, .176, .116, .053, .002}, {.010, .007, .006, .004, .0005}},
    {"d=1.2 n=100 M=100", 1.2, 100, 100, false, {.321, .145, .086, .043, .002}, {.011, .007, .005, .003, .0005}},
    {"d=1.2 n=100 M=100 square", 1.2, 100, 100, true, {.343, .175, .107, .042, .002}, {.010, .007, .005, .003, .0005}},
};
// clang-format on
enum { FTS_ROWS = sizeof fts_rows / sizeof fts_rows[0] };

/* Where each of the others' functions, as sent, has its maximum. */
static void others_peaks(struct synthetic *s, const struct fts_row *row, const double *f, struct rng *rng,
                         size_t *peaks)
{
    struct features features;
    features_draw(&features, s, row->features, rng);
    for (size_t n = 0; n < OTHERS; n++) {
        struct data data = {0};
        double      omega[FEATURES_MAX], g[POINTS];
        synthetic_shift(f, row->d, rng, g);
        for (size_t k = 0; k < row->values; k++)
            data_add(&data, data_fresh(&data, 0, POINTS, rng), g, rng);
        features_message(&features, s, &data, rng, omega);
        peaks[n] = features_argmax(&features, omega, s->work);
    }
}

/* regret[i]: at fts_times[i]. */
static void fts_run(struct synthetic *s, const struct fts_row *row, const double *f, const size_t *peaks,
                    struct rng *rng, double *regret)
{
    struct data data = {0};
    bool        is_used[OTHERS] = {false};
    size_t      left = row->features == 0 ? 0 : OTHERS;
    data_add(&data, rng_below(rng, POINTS), f, rng);
    double best = f[data.at[0]];
    for (int t = 1, i = 0; t <= FTS_TRIALS; t++) {
        enum fts_schedule schedule = row->is_square ? FTS_SQUARE : FTS_ROOT;
        size_t            at = POINTS, skip;
        if (left > 0 && rng_uniform(rng) >= fts_own_probability(schedule, true, (uint64_t)t)) {
            skip = rng_below(rng, left--);
            size_t n = 0;
            while (is_used[n] || skip-- > 0)
                n++;
            is_used[n] = true;
            at = peaks[n];
        }
        if (at == POINTS) {
            synthetic_draw(s, rng, s->work);
            at = synthetic_thompson(s, &data, rng, s->work);
        }
        data_add(&data, at, f, rng);
        best = fmax(best, f[at]);
        if (i < TIMES && t == fts_times[i])
            regret[i++] = 1 - best;
    }
}

static double fts_regrets[FTS_ROWS][TIMES][FUNCTIONS_MAX]; /* mean of two runs for each function */

/* Every row twice on the function k. */
static void fts_function(struct synthetic *s, size_t k)
{
    double     f[POINTS], regret[TIMES];
    struct rng rng = rng_at(20260, k, RNG_TEST);
    synthetic_function(s, &rng, f);
    for (size_t r = 0; r < FTS_ROWS; r++)
        for (uint64_t run = 0; run < 2; run++) {
            size_t     peaks[OTHERS];
            struct rng others = rng_at(20261 + run, k, RNG_TEST), own = rng_at(20263 + run, k, RNG_TEST);
            if (fts_rows[r].features > 0)
                others_peaks(s, &fts_rows[r], f, &others, peaks);
            fts_run(s, &fts_rows[r], f, peaks, &own, regret);
            for (size_t i = 0; i < TIMES; i++)
                fts_regrets[r][i][k] = (run == 0 ? 0 : fts_regrets[r][i][k]) + regret[i] / 2;
        }
}

static bool fts_table(struct synthetic *s, size_t functions)
{
    struct tally tally = {0};
    for (size_t k = 0; k < functions; k++)
        fts_function(s, k);
    for (size_t r = 0; r < FTS_ROWS; r++)
        for (size_t i = 0; i < TIMES; i++)
            check_figure(&tally, fts_rows[r].name, fts_names[i], fts_regrets[r][i], functions,
                         (struct target){fts_rows[r].target[i], hypot(fts_rows[r].se[i], rounding)});
    for (size_t r = 1; r <= 5; r++)
        for (size_t i = 1; i <= 3; i++)
            check_below(&tally, "similar agents help", 2, fts_regrets[r][i], fts_regrets[0][i], functions);
    check_within(&tally, "n=40: 50 and 100 features alike", fts_regrets[1][2], fts_regrets[2][2], functions, 0.005);
    check_below(&tally, "n=100: 100 features better than 50", 2, fts_regrets[4][2], fts_regrets[3][2], functions);
    check_below(&tally, "100 features: n=100 better than 40", 2, fts_regrets[4][3], fts_regrets[2][3], functions);
    for (size_t r = 6; r < FTS_ROWS; r++) {
        check_within(&tally, "d=1.2: no harm at t=20", fts_regrets[r][3], fts_regrets[0][3], functions, 0.015);
        check_within(&tally, "d=1.2: no harm at t=50", fts_regrets[r][4], fts_regrets[0][4], functions, 0.004);
    }
    return report("fts", &tally);
}

/* --- distributed exploration --- */

enum { AGENTS = 200, DE_TRIALS = 40, DE_INITIAL = 10, DE_FEATURES = 50, REGIONS_MOST = 4 };
static const int   de_times[TIMES] = {1, 5, 10, 20, 40};
static const char *de_names[TIMES] = {"t=1", "t=5", "t=10", "t=20", "t=40"};

struct de_row {
    const char *name;
    size_t      regions;              /* 0: Thompson sampling alone */
    double      clip, q, z;           /* clip 0: without privacy */
    bool        is_uniform, is_whole; /* equal weights; initial points anywhere */
    double      target[TIMES], se[TIMES], mean, mean_se;
};
// clang-format off
static const struct de_row de_rows[] = {
    {"ts", 0, 0, 1, 0, false, false, {.160, .118, .082, .034, .006}, {.010, .008, .006, .003, .001}, .0499, .0028},
    {"fts", 1, 0, 1, 0, false, false, {.087, .065, .046, .023, .006}, {.011, .011, .008, .004, .001}, .0302, .0043},
    {"de P=2", 2, 0, 1, 0, false, false, {.076, .043, .032, .021, .006}, {.011, .007, .006, .004, .001}, .0241, .0037},
    {"de P=3", 3, 0, 1, 0, false, false, {.063, .033, .023, .016, .006}, {.011, .005, .004, .003, .001}, .0192, .0032},
    {"de P=4", 4, 0, 1, 0, false, false, {.044, .022, .016, .011, .004}, {.006, .004, .004, .003, .001}, .0126, .0024},
    {"de P=2 equal weights", 2, 0, 1, 0, true, false, {.127, .096, .071, .035, .007}, {.014, .013, .010, .004, .001}, .0444, .0050},
    {"de P=2 whole domain", 2, 0, 1, 0, false, true, {.109, .074, .052, .021, .006}, {.013, .012, .009, .003, .001}, .0320, .0042},
    {"dp P=1 S=8 q=.25", 1, 8, .25, 1, false, false, {.155, .087, .057, .022, .005}, {.011, .011, .008, .002, .001}, .0366, .0034},
    {"dp P=2 S=11 q=.15", 2, 11, .15, 1, false, false, {.183, .130, .088, .037, .008}, {.014, .013, .009, .003, .001}, .0550, .0044},
    {"dp P=2 S=11 q=.25", 2, 11, .25, 1, false, false, {.178, .114, .072, .027, .006}, {.012, .012, .008, .003, .001}, .0458, .0039},
    {"dp P=2 S=11 q=.5", 2, 11, .5, 1, false, false, {.144, .076, .046, .020, .004}, {.014, .010, .006, .003, .001}, .0322, .0035},
    {"dp P=2 S=40 q=.25", 2, 40, .25, 1, false, false, {.190, .135, .096, .045, .009}, {.012, .012, .008, .004, .001}, .0607, .0040},
};
// clang-format on
enum { DE_TS, DE_FTS, DE_2, DE_3, DE_4, DE_EQUAL, DE_WHOLE, DP_FTS, DP_15, DP_25, DP_50, DP_40, DE_ROWS };
_Static_assert(sizeof de_rows / sizeof de_rows[0] == DE_ROWS, "a name for each row");

struct de_agent {
    struct data data;
    double      f[POINTS], omega[DE_FEATURES], best, most;
};

static void de_begin(const struct de_row *row, const double *f, struct rng *rng, struct de_agent *agents)
{
    size_t regions = row->regions == 0 || row->is_whole ? 1 : row->regions;
    for (size_t n = 0; n < AGENTS; n++) {
        struct de_agent *a = &agents[n];
        size_t           from = n % regions * POINTS / regions, until = (n % regions + 1) * POINTS / regions;
        a->data = (struct data){0};
        a->best = a->most = -INFINITY;
        synthetic_shift(f, 0.02, rng, a->f);
        for (size_t i = 0; i < POINTS; i++)
            a->most = fmax(a->most, a->f[i]);
        for (size_t k = 0; k < DE_INITIAL; k++) {
            data_add(&a->data, data_fresh(&a->data, from, until, rng), a->f, rng);
            a->best = fmax(a->best, a->f[a->data.at[k]]);
        }
    }
}

/* Without privacy (FTS-DE; FTS for one region): out [regions][features] += phi_n message, for every agent. */
static void add_average(const struct broadcast *b, size_t n, const double *message, double *out)
{
    for (size_t i = 0; i < b->regions; i++) {
        double share = b->region_of[n] == i ? b->own[i] : b->other[i];
        for (size_t j = 0; j < b->features; j++)
            out[i * b->features + j] += share * message[j];
    }
}

/* The server's broadcast after `round`; without privacy the plain average. */
static void de_broadcast(const struct de_row *row, uint64_t round, const struct de_agent *agents, struct rng *rng,
                         double *out)
{
    size_t           region_of[AGENTS], joint = row->regions * DE_FEATURES;
    struct sampler   sampler;
    uint8_t          subset[AGENTS / 8];
    int64_t          sums[REGIONS_MOST * DE_FEATURES] = {0}, k[DE_FEATURES];
    struct broadcast b = {.agents = AGENTS,
                          .features = DE_FEATURES,
                          .regions = row->regions,
                          .region_of = region_of,
                          .schedule = {.a = row->is_uniform ? 1 : 16, .b = 1, .hold = 5, .decay = 5},
                          .round = round,
                          .clip = row->clip > 0 ? row->clip : 1,
                          .q = row->q,
                          .z = row->z > 0 ? row->z : 1,
                          .noise = BROADCAST_WORST};
    for (size_t n = 0; n < AGENTS; n++)
        region_of[n] = n % row->regions;
    sampler_init(&sampler, bits_of_rng, rng);
    check(broadcast_plan(&b, NULL));
    check(broadcast_draw(&b, &sampler, subset, NULL));
    memset(out, 0, joint * sizeof *out);
    for (size_t n = 0; n < AGENTS; n++)
        if (row->clip == 0)
            add_average(&b, n, agents[n].omega, out);
        else if (broadcast_has(subset, n))
            broadcast_add(&b, n, agents[n].omega, k, sums);
    if (row->clip > 0)
        check(broadcast_finish(&b, sums, &sampler, out, NULL));
}

/* The one place where all agents that follow the broadcast go. */
static size_t de_argmax(const struct features *features, size_t regions, const double *vectors, double *work)
{
    size_t best = 0;
    double most = -INFINITY;
    for (size_t i = 0; i < regions; i++) {
        features_values(features, vectors + i * DE_FEATURES, work);
        for (size_t at = i * POINTS / regions; at < (i + 1) * POINTS / regions; at++)
            if (work[at] > most) {
                most = work[at];
                best = at;
            }
    }
    return best;
}

/* regret [DE_TRIALS]: the agents' mean. */
static void de_run(struct synthetic *s, const struct de_row *row, const double *f, size_t number, double *regret)
{
    static struct de_agent agents[AGENTS];
    static double          draws[AGENTS][POINTS], z[AGENTS * RANK_MAX];
    struct features        features;
    double                 vectors[REGIONS_MOST * DE_FEATURES];
    struct rng             rng = rng_at(20270, number, RNG_TEST), shared = rng_at(20271, number, RNG_TEST);
    features_draw(&features, s, DE_FEATURES, &shared);
    de_begin(row, f, &rng, agents);
    for (int t = 1; t <= DE_TRIALS; t++) {
        size_t followed = POINTS;
        regret[t - 1] = 0;
        synthetic_draws(s, &rng, AGENTS, z, draws[0]);
        if (row->regions > 0) {
            for (size_t n = 0; n < AGENTS; n++)
                features_message(&features, s, &agents[n].data, &rng, agents[n].omega);
            de_broadcast(row, (uint64_t)t - 1, agents, &rng, vectors);
            followed = de_argmax(&features, row->regions, vectors, s->work);
        }
        for (size_t n = 0; n < AGENTS; n++) {
            struct de_agent *a = &agents[n];
            size_t           at = followed;
            if (followed == POINTS || rng_uniform(&rng) < fts_own_probability(FTS_ROOT, false, (uint64_t)t))
                at = synthetic_thompson(s, &a->data, &rng, draws[n]);
            data_add(&a->data, at, a->f, &rng);
            a->best = fmax(a->best, a->f[at]);
            regret[t - 1] += (a->most - a->best) / AGENTS;
        }
    }
}

static double de_regrets[DE_ROWS][TIMES + 1][FUNCTIONS_MAX]; /* the last: mean over t */

static void de_orders(struct tally *tally, size_t functions)
{
    static const struct {
        const char *what;
        double      least; /* one where the reference itself, with 30 functions, shows no more */
        int         below, above;
    } orders[] = {
        {"fts < ts", 2, DE_FTS, DE_TS},
        {"de P=3 < fts", 2, DE_3, DE_FTS},
        {"de P=4 < de P=2", 2, DE_4, DE_2},
        {"de P=2 < ts", 2, DE_2, DE_TS},
        {"de P=2 < equal weights", 2, DE_2, DE_EQUAL},
        {"de P=2 < whole domain", 1, DE_2, DE_WHOLE},
        {"dp q=.5 < q=.15", 2, DP_50, DP_15},
        {"dp q=.5 < ts", 2, DP_50, DE_TS},
        {"dp S=11 < S=40", 2, DP_25, DP_40},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        check_below(tally, orders[i].what, orders[i].least, de_regrets[orders[i].below][TIMES],
                    de_regrets[orders[i].above][TIMES], functions);
}

static bool de_table(struct synthetic *s, size_t functions)
{
    struct tally tally = {0};
    for (size_t k = 0; k < functions; k++) {
        double     f[POINTS], regret[DE_TRIALS];
        struct rng rng = rng_at(20260, 1000 + k, RNG_TEST);
        synthetic_function(s, &rng, f);
        for (size_t r = 0; r < DE_ROWS; r++) {
            de_run(s, &de_rows[r], f, k, regret);
            for (size_t i = 0; i < TIMES; i++)
                de_regrets[r][i][k] = regret[de_times[i] - 1];
            de_regrets[r][TIMES][k] = mean_of(regret, DE_TRIALS);
        }
    }
    for (size_t r = 0; r < DE_ROWS; r++) {
        for (size_t i = 0; i < TIMES; i++)
            check_figure(&tally, de_rows[r].name, de_names[i], de_regrets[r][i], functions,
                         (struct target){de_rows[r].target[i], hypot(de_rows[r].se[i], rounding)});
        check_figure(&tally, de_rows[r].name, "mean", de_regrets[r][TIMES], functions,
                     (struct target){de_rows[r].mean, de_rows[r].mean_se});
    }
    de_orders(&tally, functions);
    return report("de", &tally);
}

/* --- speed --- */

/* A round of 1,000 agents, 200 features, 4 regions, all of them drawn. */
static bool round_speed(void)
{
    enum { MANY = 1000, WIDE = 200, BOXES = 4, ROUNDS = 20, LIMIT_MS = 50 };
    static double    messages[MANY][WIDE], out[BOXES * WIDE];
    static int64_t   sums[BOXES * WIDE], k[WIDE];
    size_t           region_of[MANY];
    uint8_t          subset[MANY / 8];
    struct rng       rng = rng_at(1, 1, RNG_TEST);
    struct sampler   sampler;
    struct broadcast b = {.agents = MANY,
                          .features = WIDE,
                          .regions = BOXES,
                          .region_of = region_of,
                          .schedule = {.a = 16, .b = 1, .hold = 5, .decay = 30},
                          .round = 20,
                          .clip = 22,
                          .q = 1,
                          .z = 1};
    for (size_t n = 0; n < MANY; n++) {
        region_of[n] = n % BOXES;
        for (size_t j = 0; j < WIDE; j++)
            messages[n][j] = rng_normal(&rng);
    }
    sampler_init(&sampler, bits_of_rng, &rng);
    double began = cpu_ms();
    for (int round = 0; round < ROUNDS; round++) {
        memset(sums, 0, sizeof sums);
        check(broadcast_plan(&b, NULL));
        check(broadcast_draw(&b, &sampler, subset, NULL));
        for (size_t n = 0; n < MANY; n++)
            if (broadcast_has(subset, n))
                broadcast_add(&b, n, messages[n], k, sums);
        check(broadcast_finish(&b, sums, &sampler, out, NULL));
    }
    double ms = (cpu_ms() - began) / ROUNDS;
    printf("round,1000 agents M=200 P=4,%.2f ms,,%d,,,%s\n", ms, LIMIT_MS, ms < LIMIT_MS ? "ok" : "NOT");
    return ms < LIMIT_MS;
}

int main(int argc, char **argv)
{
    static struct synthetic s;
    size_t                  fts = argc > 1 ? (size_t)atoi(argv[1]) : 200, de = argc > 2 ? (size_t)atoi(argv[2]) : 30;
    if (fts > FUNCTIONS_MAX || de > FUNCTIONS_MAX)
        return 2;
    mat_use_one_thread();
    synthetic_init(&s);
    puts("what,when,measured,se,reference,reference_se,z,verdict");
    bool is_ok = round_speed();
    is_ok &= fts < 2 || fts_table(&s, fts);
    is_ok &= de < 2 || de_table(&s, de);
    return is_ok ? 0 : 1;
}
