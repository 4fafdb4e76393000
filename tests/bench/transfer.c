/* The synthetic experiment of RM-GP-UCB and RM-GP-TS (Dai, thesis, D.2.1.1 and 7.6.1): functions drawn from a Gaussian
 * process on 1,000 points of [0, 1], four earlier studies of 20 points with known gaps, 50 queries.
 * usage: earlier [--functions N] [--from K] [--only TEXT]      N functions from number K on; 40 unless said otherwise,
 * the full table has 200.  TEXT: rows whose name contains it
 * Prints one CSV line per row and time: simple regret, reference of an independent implementation, z = (mean -
 * reference) / sqrt(se^2 + reference_se^2).  The exit code is 1 when some z exceeds 3.6, when more exceed 2 than 99 % of
 * samples of independent cells would, when an order of TARGETS is broken, or when the weights of the unlike studies
 * do not fall below 0.05 within 10 queries in 90 % of the runs. */
#include "engine/gp/kernel.h"
#include "engine/registry.h"
#include "tests/bench/transfer.h"

enum {
    POINTS = 1000,
    STUDIES = 4,
    VALUES = 20,
    QUERIES_MAX = 50,
    TIMES = 7,
    FUNCTIONS_MAX = 1000,
    REFERENCE_RUNS = 200
};
static const double NOISE_SD = 0.1, LENGTH_SCALE = 0.05, Z_MAX = 3.6, Z_COUNTED = 2;
static const size_t times[TIMES] = {1, 2, 3, 5, 10, 20, 50};

enum gaps { NONE, MIXED, ADVERSE, ALIKE, GAPS };
static const double gap_sizes[GAPS][STUDIES] = {
    [NONE] = {0}, [MIXED] = {.05, .05, 4, 4}, [ADVERSE] = {8, 8, 8, 8}, [ALIKE] = {.05, .05, .05, .05}};

struct row {
    const char *name, *policy, *options;
    enum gaps   gaps;
    double      mean[TIMES], se[TIMES];
};

// clang-format off
static const struct row rows[] = {
    {"gp-ucb schedule", "rm-gp-ucb", "width=2", NONE, {1.2483, .9593, .7662, .5380, .3471, .2961, .2583}, {.0611, .0559, .0500, .0416, .0334, .0317, .0293}},
    {"gp-ucb 2", "rm-gp-ucb", "", NONE, {1.2508, .9473, .7692, .5319, .1418, .0261, .0209}, {.0613, .0562, .0507, .0416, .0159, .0080, .0078}},
    {"gp-ucb theory", "rm-gp-ucb", "width=1", NONE, {1.2668, .9647, .7757, .5292, .2330, .0156, .0014}, {.0622, .0541, .0490, .0357, .0161, .0024, .0002}},
    {"gp-ts", "rm-gp-ts", "width=2", NONE, {1.2734, 1.0476, .8257, .5392, .1854, .0353, .0112}, {.0630, .0573, .0496, .0409, .0213, .0078, .0049}},
    {"ucb online schedule", "rm-gp-ucb", "width=2", MIXED, {.7723, .3412, .1773, .1362, .1226, .1189, .1025}, {.0490, .0301, .0192, .0183, .0178, .0178, .0159}},
    {"ucb fixed schedule", "rm-gp-ucb", "width=2 weights=1", MIXED, {.7723, .6775, .5676, .3631, .2547, .2073, .1828}, {.0490, .0423, .0378, .0327, .0277, .0253, .0238}},
    {"ucb online 2", "rm-gp-ucb", "", MIXED, {.7748, .2286, .1379, .0815, .0538, .0104, .0052}, {.0479, .0200, .0134, .0091, .0076, .0028, .0021}},
    {"ucb fixed 2", "rm-gp-ucb", "weights=1", MIXED, {.7748, .4742, .2706, .1624, .0742, .0098, .0058}, {.0479, .0366, .0233, .0165, .0101, .0029, .0023}},
    {"ucb online theory", "rm-gp-ucb", "width=1", MIXED, {.9001, .4763, .3358, .2487, .1766, .0146, .0012}, {.0534, .0348, .0244, .0187, .0138, .0021, .0002}},
    {"ucb fixed theory", "rm-gp-ucb", "width=1 weights=1", MIXED, {.9001, .5423, .4207, .3066, .1986, .0159, .0014}, {.0534, .0377, .0301, .0220, .0143, .0022, .0002}},
    {"ts online schedule", "rm-gp-ts", "width=2", MIXED, {.7432, .3912, .2329, .0978, .0409, .0118, .0019}, {.0461, .0348, .0265, .0129, .0072, .0032, .0014}},
    {"ts fixed", "rm-gp-ts", "width=2 weights=1", MIXED, {.7372, .6576, .5850, .4218, .1999, .0550, .0102}, {.0475, .0446, .0419, .0335, .0222, .0108, .0048}},
    {"ucb eta=.01 schedule", "rm-gp-ucb", "width=2 eta=.01", MIXED, {.7723, .6597, .5662, .3634, .2567, .2142, .1896}, {.0490, .0413, .0375, .0319, .0277, .0256, .0239}},
    {"ucb eta=.1 schedule", "rm-gp-ucb", "width=2 eta=.1", MIXED, {.7723, .6488, .5164, .3220, .2367, .2036, .1652}, {.0490, .0413, .0364, .0293, .0261, .0248, .0225}},
    {"ucb eta=10 schedule", "rm-gp-ucb", "width=2 eta=10", MIXED, {.7723, .1451, .1085, .0734, .0646, .0633, .0554}, {.0490, .0167, .0135, .0117, .0115, .0115, .0096}},
    {"ucb eta=100 schedule", "rm-gp-ucb", "width=2 eta=100", MIXED, {.7723, .1965, .1275, .0910, .0815, .0797, .0722}, {.0490, .0244, .0153, .0141, .0139, .0139, .0124}},
    {"ucb max schedule", "rm-gp-ucb", "width=2 gap=1", MIXED, {.7723, .2128, .1725, .1452, .1356, .1319, .1154}, {.0490, .0223, .0213, .0206, .0205, .0204, .0189}},
    {"ucb max theory", "rm-gp-ucb", "width=1 gap=1", MIXED, {.9001, .4850, .3018, .2467, .1754, .0155, .0011}, {.0534, .0377, .0241, .0197, .0141, .0022, .0002}},
    {"adverse ucb r=.7 eps=.7 schedule", "rm-gp-ucb", "width=2", ADVERSE, {1.0890, .9650, .7785, .5049, .3032, .2543, .2204}, {.0541, .0519, .0483, .0396, .0324, .0311, .0291}},
    {"adverse ucb r=.7 eps=.7 2", "rm-gp-ucb", "", ADVERSE, {1.1065, .8859, .6761, .3820, .1488, .0271, .0186}, {.0548, .0500, .0448, .0319, .0162, .0083, .0075}},
    {"adverse ucb r=.7 eps=.7 theory", "rm-gp-ucb", "width=1", ADVERSE, {1.0987, .8472, .7097, .4446, .2320, .0117, .0013}, {.0538, .0490, .0441, .0334, .0178, .0014, .0002}},
    {"adverse ucb r=.99 eps=0.2 schedule", "rm-gp-ucb", "width=2 decay=.99 power=0.2", ADVERSE, {1.0890, .9834, .9537, .8023, .4919, .2362, .1870}, {.0541, .0524, .0522, .0456, .0384, .0288, .0261}},
    {"adverse ucb r=.99 eps=0.7 schedule", "rm-gp-ucb", "width=2 decay=.99 power=0.7", ADVERSE, {1.0890, .9654, .7595, .4921, .2997, .2494, .2090}, {.0541, .0519, .0482, .0376, .0323, .0302, .0276}},
    {"adverse ucb r=.99 eps=1.5 schedule", "rm-gp-ucb", "width=2 decay=.99 power=1.5", ADVERSE, {1.0890, .8607, .6577, .4649, .3458, .2776, .2481}, {.0541, .0503, .0452, .0395, .0350, .0321, .0307}},
    {"adverse ts r=.7 eps=.7", "rm-gp-ts", "width=2", ADVERSE, {1.0605, .9121, .7427, .5125, .2348, .0604, .0037}, {.0535, .0507, .0468, .0406, .0267, .0118, .0020}},
    {"adverse ts r=.99 eps=.7", "rm-gp-ts", "width=2 decay=.99 power=.7", ADVERSE, {1.0722, .9276, .7481, .5042, .2261, .0679, .0132}, {.0549, .0506, .0447, .0369, .0258, .0146, .0050}},
    {"alike ucb schedule", "rm-gp-ucb", "width=2", ALIKE, {.0633, .0517, .0407, .0320, .0292, .0280, .0271}, {.0084, .0076, .0065, .0060, .0059, .0059, .0059}},
};
// clang-format on
enum { ROWS = sizeof rows / sizeof rows[0] };

/* Results of one row: simple regret of every function at every time. */
struct result {
    double *regret; /* [functions][TIMES] */
    int     runs, settled;
    double  weights[STUDIES + 1]; /* sums at the fifth query: of the studies, and of nu */
    bool    done;
};

static double factor[POINTS * POINTS];

static void make_factor(void)
{
    struct error  err = {0};
    double        x[POINTS], spare[POINTS], jitter, scale = LENGTH_SCALE;
    struct kernel kernel = {.kind = &kernel_se, .dims = 1, .variance = 1, .length_scales = &scale};
    for (size_t i = 0; i < POINTS; i++)
        x[i] = (double)i / (POINTS - 1);
    kernel_matrix(&kernel, x, POINTS, factor, POINTS);
    must(mat_cholesky(factor, POINTS, POINTS, spare, &jitter, &err), &err);
}

static void draw_function(uint64_t number, double *f)
{
    struct rng rng = rng_at(number, 1, RNG_TEST);
    for (size_t i = 0; i < POINTS; i++)
        f[i] = rng_normal(&rng);
    mat_multiply_lower(factor, POINTS, POINTS, f);
}

/* Earlier studies; their inputs are the same whatever the gaps are. */
struct earlier {
    struct earlier_study study[STUDIES];
    double               points[STUDIES][VALUES], values[STUDIES][VALUES];
};

static void make_earlier(uint64_t number, enum gaps gaps, const double *f, struct earlier *out)
{
    struct rng rng = rng_at(number, 2, RNG_TEST);
    for (size_t i = 0; i < STUDIES; i++) {
        for (size_t j = 0; j < VALUES; j++) {
            size_t place = rng_below(&rng, POINTS);
            out->points[i][j] = (double)place;
            out->values[i][j] = f[place] + gap_sizes[gaps][i] * (2 * rng_uniform(&rng) - 1);
            out->values[i][j] += NOISE_SD * rng_normal(&rng);
        }
        out->study[i] = (struct earlier_study){.points = out->points[i], .values = out->values[i], .n = VALUES};
    }
}

struct watched {
    struct result *result;
    bool           settled;
};

static void look(void *arg, size_t t, const struct proposal *proposal)
{
    struct watched              *watched = arg;
    static struct transfer_state state;
    if (!policy_find("rm-gp-ucb")->read_transfer(proposal->note, proposal->note_bytes, &state) || state.len < STUDIES)
        return;
    watched->settled |= t <= 10 && state.weights[2] < 0.05 && state.weights[3] < 0.05;
    for (size_t i = 0; i < STUDIES && t == 5; i++)
        watched->result->weights[i] += state.weights[i];
    watched->result->weights[STUDIES] += t == 5 ? state.nu : 0;
}

static void run_function(const struct row *row, uint64_t number, const double *f, struct result *result)
{
    static const struct param param = {.name = "x", .kind = PARAM_INT, .min = 0, .max = POINTS - 1};
    struct space              space = {.kind = SPACE_PARAMETERS, .params = &param, .params_len = 1};
    struct earlier            earlier;
    struct error              err = {0};
    double                    options[TRANSFER_OPTIONS_MAX], best = -INFINITY, optimum = f[0];
    size_t                    places[QUERIES_MAX + 1], at = 0;
    struct watched            watched = {.result = result};
    struct rng                rng = rng_at(number, 3, RNG_TEST);
    must(space_init(&space, &err), &err);
    make_earlier(number, row->gaps, f, &earlier);
    struct transfer_run run = {.policy = policy_find(row->policy),
                               .problem = {.space = &space,
                                           .options = options,
                                           .seed = number,
                                           .memory_bytes = 1 << 27,
                                           .earlier = earlier.study,
                                           .earlier_len = row->gaps == NONE ? 0 : STUDIES},
                               .noise_stream = number,
                               .noise_sd = NOISE_SD,
                               .f = f,
                               .first = rng_below(&rng, POINTS),
                               .queries = QUERIES_MAX,
                               .places = places,
                               .look = look,
                               .arg = &watched};
    transfer_set_options(run.policy,
                         "kernel=3 length_scale=.05 signal_variance=1 noise_variance=.01 initial=1 repeat=1", options);
    double own[TRANSFER_OPTIONS_MAX];
    transfer_set_options(run.policy, row->options, own);
    for (int i = 0; run.policy->options[i].name != NULL; i++)
        if (own[i] != run.policy->options[i].fallback && !isnan(own[i]))
            options[i] = own[i];
    transfer_run_study(&run);
    for (size_t i = 0; i < POINTS; i++)
        optimum = fmax(optimum, f[i]);
    for (size_t t = 0; t <= QUERIES_MAX; t++) {
        best = fmax(best, f[places[t]]);
        if (t == times[at])
            result->regret[(size_t)result->runs * TIMES + at++] = optimum - best;
    }
    result->runs++;
    result->settled += watched.settled;
}

struct moments {
    double mean, se;
};

static struct moments moments_of(const double *values, int n, size_t stride)
{
    struct moments m = {0, 0};
    for (int i = 0; i < n; i++)
        m.mean += values[(size_t)i * stride] / n;
    for (int i = 0; i < n; i++)
        m.se += pow(values[(size_t)i * stride] - m.mean, 2);
    m.se = sqrt(m.se / fmax(n - 1, 1) / n);
    return m;
}

/* How many cells of the row are beyond Z_COUNTED, and beyond Z_MAX. */
static void report(const struct row *row, const struct result *result, int *counted, int *beyond)
{
    for (size_t k = 0; k < TIMES; k++) {
        struct moments m = moments_of(result->regret + k, result->runs, TIMES);
        double         expected = row->se[k] * sqrt((double)REFERENCE_RUNS / result->runs);
        double         z = (m.mean - row->mean[k]) / hypot(fmax(m.se, expected), row->se[k]);
        printf("%s,%zu,%.4f,%.4f,%.4f,%.4f,%.2f,%s\n", row->name, times[k], m.mean, m.se, row->mean[k], row->se[k], z,
               fabs(z) <= Z_COUNTED ? "ok" : "not");
        *counted += fabs(z) > Z_COUNTED;
        *beyond += fabs(z) > Z_MAX;
    }
    fflush(stdout);
}

static const struct result *find(const struct result *results, const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0 && results[i].done)
            return &results[i];
    return NULL;
}

/* a is ahead of b at time number k: the paired difference is at most slack. */
static int check_order(const struct result *results, const char *a, const char *b, size_t k, double slack)
{
    const struct result *x = find(results, a), *y = find(results, b);
    double               difference[FUNCTIONS_MAX];
    if (x == NULL || y == NULL)
        return 0;
    for (int i = 0; i < x->runs; i++)
        difference[i] = x->regret[(size_t)i * TIMES + k] - y->regret[(size_t)i * TIMES + k];
    struct moments m = moments_of(difference, x->runs, 1);
    bool           holds = m.mean <= slack;
    printf("order: %s - %s at %zu,,%.4f,%.4f,,,,%s\n", a, b, times[k], m.mean, m.se, holds ? "ok" : "not");
    return !holds;
}

/* A difference in the right direction is asked for; where equality is expected, two standard errors that the reference
 * gives for as many functions (at times 5, 10, 20, 50). */
static int check_orders(const struct result *results, int functions)
{
    static const double adverse_se[TIMES] = {0, 0, 0, .0449, .0186, .0059, .0057};
    int                 failures = 0;
    for (size_t k = 1; k <= 4; k++) {
        failures += check_order(results, "ucb online 2", "gp-ucb 2", k, 0);
        failures += check_order(results, "ucb fixed 2", "gp-ucb 2", k, 0);
        failures += check_order(results, "ts online schedule", "gp-ts", k, 0);
        failures += check_order(results, "ucb online theory", "gp-ucb theory", k, 0);
    }
    for (size_t k = 1; k <= 3; k++)
        failures += check_order(results, "ucb online 2", "ucb fixed 2", k, 0);
    failures += check_order(results, "ucb online schedule", "ucb eta=.01 schedule", 3, 0);
    failures += check_order(results, "adverse ucb r=.99 eps=0.7 schedule", "adverse ucb r=.99 eps=0.2 schedule", 3, 0);
    for (size_t k = 3; k < TIMES; k++)
        failures += check_order(results, "adverse ucb r=.7 eps=.7 2", "gp-ucb 2", k,
                                2 * adverse_se[k] * sqrt((double)REFERENCE_RUNS / functions));
    return failures;
}

static int check_weights(const struct result *results)
{
    const struct result *online = find(results, "ucb online 2");
    if (online == NULL)
        return 0;
    double n = online->runs, share = online->settled / n;
    double unlike = (online->weights[2] + online->weights[3]) / n;
    printf("weights of the unlike studies below 0.05 within 10 queries,,%.4f,,0.9,,,%s\n", share,
           share >= 0.9 ? "ok" : "not");
    printf("their sum at the fifth query (mean),,%.4f,,0.0083,,,%s\n", unlike, unlike < 0.02 ? "ok" : "not");
    printf("nu at the fifth query (mean),,%.4f,,0.0963,,,%s\n", online->weights[STUDIES] / n,
           fabs(online->weights[STUDIES] / n - 0.0963) < 0.03 ? "ok" : "not");
    return (share < 0.9) + (unlike >= 0.02) + (fabs(online->weights[STUDIES] / n - 0.0963) >= 0.03);
}

/* The least k with P(Binomial(n, p) > k) <= 1 %. */
static int binomial_limit(int n, double p)
{
    double term = pow(1 - p, n), sum = term;
    int    k = 0;
    while (sum < 0.99) {
        term *= (double)(n - k) / (k + 1) * p / (1 - p);
        sum += term;
        k++;
    }
    return k;
}

static int run_rows(int functions, int from, const char *only)
{
    static struct result results[ROWS];
    static double        f[POINTS];
    int                  counted = 0, beyond = 0, cells = 0;
    puts("row,t,mean,se,reference,reference_se,z,verdict");
    for (size_t i = 0; i < ROWS; i++) {
        if (only != NULL && strstr(rows[i].name, only) == NULL)
            continue;
        results[i].regret = doubles((size_t)functions * TIMES);
        for (int run = 0; run < functions; run++) {
            draw_function((uint64_t)from + (uint64_t)run, f);
            run_function(&rows[i], (uint64_t)from + (uint64_t)run, f, &results[i]);
        }
        results[i].done = true;
        report(&rows[i], &results[i], &counted, &beyond);
        cells += TIMES;
    }
    int failures = check_orders(results, functions) + check_weights(results), limit = binomial_limit(cells, 0.0455);
    printf("cells beyond %g standard errors: %d of %d (at most %d); beyond %g: %d\n", Z_COUNTED, counted, cells, limit,
           Z_MAX, beyond);
    for (size_t i = 0; i < ROWS; i++)
        free(results[i].regret);
    return failures + beyond + (counted > limit);
}

int main(int argc, char **argv)
{
    int         functions = 40, from = 1;
    const char *only = NULL;
    for (int i = 1; i < argc; i += 2) {
        bool has_value = i + 1 < argc;
        if (has_value && strcmp(argv[i], "--functions") == 0 && atoi(argv[i + 1]) > 1 &&
            atoi(argv[i + 1]) <= FUNCTIONS_MAX)
            functions = atoi(argv[i + 1]);
        else if (has_value && strcmp(argv[i], "--from") == 0 && atoi(argv[i + 1]) > 0)
            from = atoi(argv[i + 1]);
        else if (has_value && strcmp(argv[i], "--only") == 0)
            only = argv[i + 1];
        else
            return fprintf(stderr, "usage: earlier [--functions 2..%d] [--from K] [--only TEXT]\n", FUNCTIONS_MAX), 2;
    }
    mat_use_one_thread();
    make_factor();
    return run_rows(functions, from, only) == 0 ? 0 : 1;
}
