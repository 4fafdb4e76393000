/* Context variables: what a study pays when a part of each point is given, not chosen.
 *   contexts [SEEDS [FIRST_SEED [development]]]
 * Every trial comes with a context drawn at random; the regret of a trial is what its value lacks to the best value in
 * that context.  Four ways to go about it:
 *   context    one study, its context parameters declared as such, held at each ask
 *   fixed      the same study without the declaration: held parameters like any others
 *   ignored    one study of the other parameters alone, to which the context is noise
 *   separate   a study of the other parameters for each of the contexts (the categorical one), or for each quarter of
 *              the range of the first
 *   random     any point
 * A line: the mean over the seeds, with its standard error, of the mean regret of all trials and of their last third; and
 * the mean over the seeds of log10 of the latter over that of `context`.  Choices were made on the functions called
 * development, with other seeds than the default.  The exit code is 1 when `context` has not the least regret in the last
 * third, summed over the functions as logarithms. */
#include "tests/bench/trials.h"

#include "engine/policy/session.h"
#include "engine/math/rng.h"

enum { CONTEXT, FIXED, IGNORED, SEPARATE, RANDOM, WAYS, PARTS = 4, CONTEXT_TRIALS = 60, DIMS = 6 };
static const char *const ways[WAYS] = {"context", "fixed", "ignored", "separate", "random"};

static double square(double x)
{
    return x * x;
}

/* Functions of u in the unit cube, larger is better, the last of whose coordinates are the context. */
static double hartmann(const double *u)
{
    static const double alpha[4] = {1, 1.2, 3, 3.2};
    static const double A[4][6] = {
        {10, 3, 17, 3.5, 1.7, 8}, {.05, 10, 17, .1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, .05, 10, .1, 14}};
    static const double P[4][6] = {{.1312, .1696, .5569, .0124, .8283, .5886},
                                   {.2329, .4135, .8307, .3736, .1004, .9991},
                                   {.2348, .1451, .3522, .2883, .3047, .6650},
                                   {.4047, .8828, .8732, .5743, .1091, .0381}};
    double              sum = 0.0;
    for (int i = 0; i < 4; i++) {
        double q = 0.0;
        for (int j = 0; j < 6; j++)
            q += A[i][j] * square(u[j] - P[i][j]);
        sum += alpha[i] * exp(-q);
    }
    return sum;
}

static double branin(const double *u)
{
    double x = 15.0 * u[1] - 5.0, y = 15.0 * u[0];
    return -square(y - 5.1 / (4.0 * PI * PI) * x * x + 5.0 / PI * x - 6.0) - 10.0 * (1.0 - 1.0 / (8.0 * PI)) * cos(x);
}

/* The best place moves with the context, and what it is worth too: cold days are worse than warm ones. */
static double heating(const double *u)
{
    double best = 0.2 + 0.6 * u[3], other = 0.5 + 0.3 * sin(4.0 * u[3]);
    return 3.0 * u[3] - 4.0 * square(u[0] - best) - 3.0 * square(u[1] - other) - 2.0 * square(u[2] - u[0] * u[3]) +
           0.2 * cos(7.0 * (u[0] + u[1]));
}

/* The context is worth four times as much as any choice. */
static double weather(const double *u)
{
    return 80.0 * u[1] - 30.0 * square(u[0] - 0.8 + 0.6 * u[1]);
}

/* Ackley's, its centre on a curve of the context. */
static double ackley(const double *u)
{
    double squares = 0.0, cosines = 0.0, centre[3] = {0.3 + 0.4 * u[3], 0.7 - 0.3 * u[3] * u[3], 0.45};
    for (int j = 0; j < 3; j++) {
        double x = 6.0 * (u[j] - centre[j]);
        squares += x * x / 3.0;
        cosines += cos(2.0 * PI * x) / 3.0;
    }
    return 20.0 * exp(-0.2 * sqrt(squares)) + exp(cosines) - 20.0 - exp(1.0) + 2.0 * u[3];
}

/* Four customers, two of which are alike. */
static double customers(const double *u)
{
    static const double at[PARTS][3] = {{0.2, 0.6, 0.4}, {0.25, 0.65, 0.45}, {0.7, 0.3, 0.8}, {0.5, 0.8, 0.1}};
    static const double worth[PARTS] = {0.0, 1.0, -2.0, 4.0};
    double              sum = 0.0;
    size_t              c = (size_t)u[3];
    for (int j = 0; j < 3; j++)
        sum += (1.0 + j) * square(u[j] - at[c][j]);
    return worth[c] - sum - 0.1 * (1.0 - cos(9.0 * (u[0] - at[c][0])));
}

/* Four machines that differ in scale and by a shift of their settings. */
static double machines(const double *u)
{
    size_t c = (size_t)u[2];
    double x = u[0] + 0.08 * (double)c, y = u[1] - 0.06 * (double)c;
    return (1.0 + 0.5 * (double)c) * exp(-8.0 * square(x - 0.55) - 5.0 * square(y - 0.35)) + 0.3 * sin(5.0 * x * y);
}

static const struct question {
    const char *name;
    double (*value)(const double *u);
    size_t d, context; /* the last so many of d */
    bool   is_categorical, is_development;
    double noise;
} questions[] = {
    {"heating4/1", heating, 4, 1, false, true, 0.0},    {"customers4/1", customers, 4, 1, true, true, 0.0},
    {"weather2/1", weather, 2, 1, false, true, 0.0},    {"noisy_heating4/1", heating, 4, 1, false, true, 0.1},
    {"hartmann6/1", hartmann, 6, 1, false, false, 0.0}, {"hartmann6/2", hartmann, 6, 2, false, false, 0.0},
    {"branin2/1", branin, 2, 1, false, false, 0.0},     {"ackley4/1", ackley, 4, 1, false, false, 0.0},
    {"machines3/1", machines, 3, 1, true, false, 0.0},  {"noisy_branin2/1", branin, 2, 1, false, false, 3.0},
};
enum { QUESTIONS = sizeof questions / sizeof questions[0] };

/* Where the context is u's, by random points and steps from the best of them. */
static double best_at(const struct question *q, const double *given)
{
    double     u[DIMS], best[DIMS], value = -HUGE_VAL;
    struct rng rng = rng_at(1, 1, RNG_THOMPSON);
    size_t     free = q->d - q->context;
    memcpy(u, given, sizeof u);
    for (int i = 0; i < 4000; i++) {
        double step = i < 1500 ? HUGE_VAL : pow(0.995, i - 1500);
        for (size_t j = 0; j < free; j++)
            u[j] = step > 1.0 ? rng_uniform(&rng) : fmin(fmax(best[j] + 0.3 * step * rng_normal(&rng), 0.0), 1.0);
        if (q->value(u) > value) {
            value = q->value(u);
            memcpy(best, u, sizeof best);
        }
    }
    return value;
}

struct side {
    struct session *session;
    struct space    space;
    struct param    params[DIMS];
    struct problem  problem;
    double          options[32];
    uint64_t        trials;
};

static void side_open(struct side *side, const struct policy *policy, const struct question *q, int way, uint64_t seed)
{
    size_t len = way == CONTEXT || way == FIXED || way == RANDOM ? q->d : q->d - q->context;
    memset(side, 0, sizeof *side);
    for (size_t j = 0; j < len; j++) {
        bool is_context = j >= q->d - q->context;
        side->params[j] = (struct param){.name = "x", .kind = PARAM_DOUBLE, .max = 1.0};
        if (is_context && q->is_categorical)
            side->params[j] =
                (struct param){.name = "x", .kind = PARAM_CATEGORICAL, .max = PARTS - 1, .choices = PARTS};
        side->params[j].is_context = is_context && way == CONTEXT;
    }
    side->space = (struct space){.kind = SPACE_PARAMETERS, .params = side->params, .params_len = len};
    policy_defaults(policy, side->options);
    side->problem =
        (struct problem){.space = &side->space, .options = side->options, .seed = seed, .memory_bytes = 200 << 20};
    check(space_init(&side->space, NULL));
    check(session_open(policy, &side->problem, &side->session, NULL));
}

/* Runs a trial in a context; u [DIMS] has the context, and gets the rest. */
static void side_step(struct side *side, const struct policy *policy, const struct question *q, double *u, double noise)
{
    static struct proposal proposal;
    double                 fixed[DIMS];
    bool                   holds = side->space.params_len == q->d;
    uint64_t               trial = ++side->trials;
    for (size_t j = 0; j < q->d; j++)
        fixed[j] = j < q->d - q->context ? NAN : u[j];
    proposal.point = u; // what is not of this space stays
    check(policy->ask(side->session, &(struct ask){.trial = trial, .fixed = holds ? fixed : NULL}, &proposal, NULL));
    struct event event = {
        .kind = EVENT_SUGGESTED, .trial = trial, .point = u, .note = proposal.note, .note_bytes = proposal.note_bytes};
    check(policy->tell(side->session, &event, NULL));
    event = (struct event){.kind = EVENT_OBSERVED, .trial = trial, .point = u, .value = q->value(u) + noise};
    check(policy->tell(side->session, &event, NULL));
}

/* regret [2]: of all trials, of the last third. */
static void study(const struct question *q, int way, uint64_t seed, double *regret)
{
    static struct side   sides[PARTS];
    const struct policy *policy = policy_find(way == RANDOM ? "random" : "gp");
    struct rng           rng = rng_at(seed, 7, RNG_THOMPSON);
    size_t               sides_len = way == SEPARATE ? PARTS : 1;
    for (size_t s = 0; s < sides_len; s++)
        side_open(&sides[s], policy, q, way, seed + 1000 * s);
    regret[0] = regret[1] = 0.0;
    for (size_t t = 0; t < CONTEXT_TRIALS; t++) {
        double u[DIMS] = {0};
        for (size_t j = q->d - q->context; j < q->d; j++)
            u[j] = q->is_categorical ? (double)rng_below(&rng, PARTS) : rng_uniform(&rng);
        double first = u[q->d - q->context], best = best_at(q, u);
        size_t part = way != SEPARATE ? 0 : (size_t)(q->is_categorical ? first : first * PARTS);
        side_step(&sides[part], policy, q, u, q->noise * rng_normal(&rng));
        double lost = fmax(best - q->value(u), 0.0);
        regret[0] += lost / CONTEXT_TRIALS;
        regret[1] += 3 * t >= 2 * CONTEXT_TRIALS ? 3.0 * lost / CONTEXT_TRIALS : 0.0;
    }
    for (size_t s = 0; s < sides_len; s++)
        session_close(sides[s].session);
}

static void mean_of(const double *values, size_t n, double *mean, double *error)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += values[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += square(values[i] - sum);
    *mean = sum;
    *error = n > 1 ? sqrt(squares / (double)(n - 1) / (double)n) : 0.0;
}

int main(int argc, char **argv)
{
    size_t        seeds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
    uint64_t      first = argc > 2 ? strtoul(argv[2], NULL, 10) : 8001;
    bool          is_development = argc > 3, is_worse = false;
    static double regret[WAYS][2][SEEDS_MAX];
    double        total[WAYS] = {0};
    seeds = seeds < 1 ? 1 : seeds > SEEDS_MAX ? SEEDS_MAX : seeds;
    printf("# %zu seeds from %d, %d trials each\n", seeds, (int)first, CONTEXT_TRIALS);
    printf("function,way,regret,error,last_third,error,log10_to_context,cpu_s\n");
    for (size_t k = 0; k < QUESTIONS; k++) {
        if (questions[k].is_development != is_development)
            continue;
        for (int way = 0; way < WAYS; way++) {
            double start = cpu_seconds(), mean[2], error[2], ratio = 0.0;
            for (size_t s = 0; s < seeds; s++) {
                double both[2];
                study(&questions[k], way, first + s, both);
                regret[way][0][s] = both[0];
                regret[way][1][s] = both[1];
                ratio += log10((both[1] + 1e-9) / (regret[CONTEXT][1][s] + 1e-9)) / (double)seeds;
            }
            for (int i = 0; i < 2; i++)
                mean_of(regret[way][i], seeds, &mean[i], &error[i]);
            total[way] += ratio;
            printf("%s,%s,%.3g,%.2g,%.3g,%.2g,%.2f,%.1f\n", questions[k].name, ways[way], mean[0], error[0], mean[1],
                   error[1], ratio, cpu_seconds() - start);
            fflush(stdout);
        }
    }
    for (int way = 1; way < WAYS; way++)
        is_worse |= total[way] < 0.0;
    return is_worse;
}
