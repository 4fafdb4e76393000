/* The worth of a model's words: the order of parameters by their shares (importances), and intervals of values, at points that
 * nobody tried and where the next trial is.
 *   coverage [SEEDS [FIRST_SEED [NAME ...]]]
 * Studies of gp on functions in [0, 1]^d, whose total indices follow from their formulas (Ishigami & Homma 1990; Sobol' 1993; sums
 * and products of terms of one parameter), after 10, 20 and 40 values.  One CSV line for each function and number of values: of all
 * pairs of parameters the part of which the order is right, of those that stand in different groups (a share is at least APART
 * times the largest of the next group, as on the page) how many there are and the part that is right, of how many studies the
 * largest shares are a group of at most half of the parameters, and so are in truth; and the part of values, noise included, that
 * intervals hold which are as wide as reach.h makes them by the study's own forecasts, at random points and at the trials since the
 * last line, before they ran.  Functions of functions.h, named, have the latter alone. */
#include "engine/math/mat.h"
#include "engine/math/reach.h"
#include "engine/math/sensitivity.h"
#include "engine/registry.h"
#include "tests/bench/functions.h"

enum { D_MAX = 8, POINTS = 200, AT = 3, TRIALS = 40 };
static const double APART = 3;
static const size_t values_at[AT] = {10, 20, TRIALS};

/* Terms of one parameter: their variances over their means squared make every index of sums and of products. */
struct term {
    double mean, variance;
};
struct known {
    const char *name;
    size_t      d;
    double      noise;
    double (*value)(const double *x, size_t d);
    void (*shares)(double *total);
};

static double ishigami(const double *x, size_t d)
{
    (void)d;
    double a = PI * (2 * x[0] - 1), b = PI * (2 * x[1] - 1), c = PI * (2 * x[2] - 1);
    return sin(a) + 7 * square(sin(b)) + 0.1 * pow(c, 4) * sin(a);
}
static void ishigami_shares(double *total)
{
    double first = square(1 + 0.1 * pow(PI, 4) / 5) / 2, second = 49.0 / 8;
    double both = 0.01 * pow(PI, 8) * (1.0 / 18 - 1.0 / 50), all = first + second + both;
    total[0] = (first + both) / all, total[1] = second / all, total[2] = both / all;
}

static double g_of(const double *x, const double *a, size_t d)
{
    double product = 1;
    for (size_t j = 0; j < d; j++)
        product *= (fabs(4 * x[j] - 2) + a[j]) / (1 + a[j]);
    return product;
}
static void product_shares(const struct term *terms, size_t d, double *total)
{
    double all = 1;
    for (size_t j = 0; j < d; j++)
        all *= 1 + terms[j].variance / square(terms[j].mean);
    for (size_t j = 0; j < d; j++) {
        double own = terms[j].variance / square(terms[j].mean);
        total[j] = own * all / (1 + own) / (all - 1);
    }
}
static void g_shares(const double *a, size_t d, double *total)
{
    struct term terms[D_MAX];
    for (size_t j = 0; j < d; j++)
        terms[j] = (struct term){1, 1 / (3 * square(1 + a[j]))};
    product_shares(terms, d, total);
}
static void sum_shares(const double *variances, size_t d, double *total)
{
    double all = 0;
    for (size_t j = 0; j < d; j++)
        all += variances[j];
    for (size_t j = 0; j < d; j++)
        total[j] = variances[j] / all;
}

static const double g_steep_a[] = {0, 1, 4.5, 9}, g_mild_a[] = {0.5, 3, 9}, g_flat_a[] = {1, 1, 99, 99, 99, 99};
static double       g_steep(const double *x, size_t d)
{
    return g_of(x, g_steep_a, d);
}
static double g_mild(const double *x, size_t d)
{
    return g_of(x, g_mild_a, d);
}
static double g_flat(const double *x, size_t d)
{
    return g_of(x, g_flat_a, d);
}
static void g_steep_shares(double *total)
{
    g_shares(g_steep_a, 4, total);
}
static void g_mild_shares(double *total)
{
    g_shares(g_mild_a, 3, total);
}
static void g_flat_shares(double *total)
{
    g_shares(g_flat_a, 6, total);
}

static double linear(const double *x, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += x[j] * (double)(d - j);
    return sum;
}
static void linear_shares(double *total)
{
    sum_shares((double[]){16, 9, 4, 1}, 4, total);
}
static double half(const double *x, size_t d)
{
    (void)d;
    return 3 * x[0] + 2 * x[1];
}
static void half_shares(double *total)
{
    sum_shares((double[]){9, 4, 0, 0, 0}, 5, total);
}
static double bowl(const double *x, size_t d)
{
    (void)d;
    return 5 * square(x[0] - 0.3) + 2 * square(x[1] - 0.6) + square(x[2] - 0.5);
}
static double bowl_variance(double c)
{
    return 1.0 / 5 - 1.0 / 9 + 4 * c * c * (1.0 / 3 - 1.0 / 4) - 4 * c * (1.0 / 4 - 1.0 / 6);
}
static void bowl_shares(double *total)
{
    sum_shares((double[]){25 * bowl_variance(0.3), 4 * bowl_variance(0.6), bowl_variance(0.5)}, 3, total);
}
static double waves(const double *x, size_t d)
{
    (void)d;
    return sin(2 * PI * x[0]) + 0.5 * sin(2 * PI * x[1]) + 0.5 * x[2];
}
static void waves_shares(double *total)
{
    sum_shares((double[]){0.5, 0.125, 1.0 / 48}, 3, total);
}
static double product(const double *x, size_t d)
{
    (void)d;
    return x[0] * (x[1] + 0.25) * (x[2] + 1);
}
static void product3_shares(double *total)
{
    product_shares((struct term[]){{0.5, 1.0 / 12}, {0.75, 1.0 / 12}, {1.5, 1.0 / 12}}, 3, total);
}
static double growth(const double *x, size_t d)
{
    (void)d;
    return exp(3 * x[0]) + 6 * x[1] + 2 * x[2];
}
static void growth_shares(double *total)
{
    double mean = (exp(3.0) - 1) / 3;
    sum_shares((double[]){(exp(6.0) - 1) / 6 - mean * mean, 3, 1.0 / 3}, 3, total);
}

static const struct known knowns[] = {
    {"ishigami", 3, 0, ishigami, ishigami_shares},
    {"g_steep4", 4, 0, g_steep, g_steep_shares},
    {"g_mild3", 3, 0, g_mild, g_mild_shares},
    {"g_flat6", 6, 0, g_flat, g_flat_shares},
    {"linear4", 4, 0, linear, linear_shares},
    {"linear4_noisy", 4, 0.75, linear, linear_shares},
    {"half5", 5, 0, half, half_shares},
    {"half5_noisy", 5, 0.5, half, half_shares},
    {"bowl3", 3, 0, bowl, bowl_shares},
    {"bowl3_noisy", 3, 0.2, bowl, bowl_shares},
    {"waves3", 3, 0, waves, waves_shares},
    {"product3", 3, 0, product, product3_shares},
    {"growth3", 3, 0, growth, growth_shares},
    {"hartmann3", 3, 0, hartmann, NULL},
    {"hartmann6", 6, 0, hartmann, NULL},
};
enum { KNOWNS = sizeof knowns / sizeof knowns[0] };

static enum status values(void *arg, const double *V, size_t m, double *out, struct error *err)
{
    const struct study *study = arg;
    return study->policy->predict(study->session, &(struct prediction){.points = V, .m = m, .mean = out}, err);
}

struct counts {
    size_t pairs, ordered, apart, apart_ordered, named, named_right, values, within, forecasts, came;
};

/* Parameters by their shares, largest first, and the group of each. */
static void rank(const struct sensitivity_result *found, size_t d, size_t *order, size_t *group)
{
    for (size_t j = 0; j < d; j++) {
        size_t at = j;
        for (; at > 0 && found->index[order[at - 1]].total < found->index[j].total; at--)
            order[at] = order[at - 1];
        order[at] = j;
    }
    group[0] = 0;
    for (size_t k = 1; k < d; k++)
        group[k] = group[k - 1] + (found->index[order[k]].total * APART <= found->index[order[k - 1]].total);
}

/* Whether parameter a matters at least as much as b in truth. */
static bool is_above(const double *total, size_t a, size_t b)
{
    return total[a] >= total[b] - 1e-9;
}

static void count_orders(const double *total, const size_t *order, const size_t *group, size_t d, struct counts *counts)
{
    size_t first = 0;
    bool   is_right = true;
    while (first < d && group[first] == 0)
        first++;
    for (size_t a = 0; a < d; a++)
        for (size_t b = a + 1; b < d; b++) {
            bool is_ordered = is_above(total, order[a], order[b]), is_apart = group[a] < group[b];
            counts->pairs++;
            counts->ordered += is_ordered;
            counts->apart += is_apart;
            counts->apart_ordered += is_apart && is_ordered;
            is_right = is_right && (a >= first || b < first || is_ordered);
        }
    if (first <= d / 2) {
        counts->named++;
        counts->named_right += is_right;
    }
}

static void count_shares(struct study *study, const struct known *known, struct arena *arena, struct counts *counts)
{
    double             total[D_MAX];
    size_t             order[D_MAX], group[D_MAX];
    struct error       err = {0};
    struct sensitivity s = {
        .dims = known->d, .samples = 512, .seed = study->problem.seed, .values = values, .arg = study};
    struct sensitivity_result now;
    struct arena_mark         mark = arena_mark(arena);
    known->shares(total);
    must(sensitivity_run(&s, arena, &now, &err), &err);
    rank(&now, known->d, order, group);
    count_orders(total, order, group, known->d, counts);
    arena_release(arena, mark);
}

/* The forecasts so far, with room for the one that is made now. */
struct record {
    size_t n;
    double off[TRIALS + 1], began[TRIALS + 1], came[TRIALS + 1];
};
/* The half-width of a forecast that is made now. */
static double reach_now(struct record *record, struct arena *arena)
{
    double       out[TRIALS + 1];
    struct error err = {0};
    record->off[record->n] = record->came[record->n] = (double)NAN;
    record->began[record->n] = (double)record->n;
    const struct reach all = {.n = record->n + 1, .off = record->off, .began = record->began, .came = record->came};
    must(reach_of(&all, out, arena, &err), &err);
    return out[record->n];
}

static double off_by(struct study *study, const double *point, double value)
{
    double       mean, sd, observed;
    struct error err = {0};
    must(study->policy->predict(
             study->session,
             &(struct prediction){.points = point, .m = 1, .mean = &mean, .sd = &sd, .sd_observed = &observed}, &err),
         &err);
    return fabs(-value - mean) / observed;
}

static void count_values(struct study *study, double reach, struct rng *rng, struct counts *counts)
{
    double           point[DIMS_MAX], regret;
    const struct rng kept = study->rng;
    for (size_t i = 0; i < POINTS; i++) {
        for (size_t j = 0; j < study->function->d; j++)
            point[j] = param_quantile(&study->space.params[j], rng_uniform(rng));
        counts->within += off_by(study, point, study_measure(study, point, &regret)) <= reach;
        counts->values++;
    }
    study->rng = kept;
}

/* The forecast of a trial that is about to run. */
static void count_forecast(struct study *study, const double *point, double value, struct record *record, double reach,
                           struct counts *counts)
{
    record->off[record->n] = off_by(study, point, value);
    record->came[record->n] = (double)record->n + 0.5;
    counts->came += record->off[record->n++] <= reach;
    counts->forecasts++;
}

/* known NULL: the shares of the function's parameters are not known. */
static void run(const struct function *function, const struct known *known, uint64_t seed, struct arena *arena,
                struct counts *counts)
{
    struct study  study;
    double        point[DIMS_MAX], regret;
    struct record record = {0};
    struct rng    rng = rng_at(seed, 1, RNG_TEST);
    size_t        first = function->d < 3 ? 2 * function->d + 2 : 8;
    study_open(&study, function, policy_find("gp"), seed, NULL, 0);
    for (uint64_t trial = 1, at = 0; at < AT; trial++) {
        study_ask(&study, trial, point);
        double value = study_measure(&study, point, &regret);
        if (trial > first)
            count_forecast(&study, point, value, &record, reach_now(&record, arena), &counts[at]);
        study_tell(&study, trial, point, value);
        if (trial < values_at[at])
            continue;
        if (known != NULL && known->shares != NULL)
            count_shares(&study, known, arena, &counts[at]);
        count_values(&study, reach_now(&record, arena), &rng, &counts[at++]);
    }
    study_close(&study);
}

static double part(double of, size_t all)
{
    return all == 0 ? (double)NAN : of / (double)all;
}

static void print(const char *name, size_t n, const struct counts *c)
{
    printf("%s,%zu,%zu,%.3f,%zu,%.3f,%zu,%.3f,%.3f,%.3f\n", name, n, c->pairs, part((double)c->ordered, c->pairs),
           c->apart, part((double)c->apart_ordered, c->apart), c->named, part((double)c->named_right, c->named),
           part((double)c->within, c->values), part((double)c->came, c->forecasts));
    fflush(stdout);
}

static void add(struct counts *all, const struct counts *one)
{
    all->pairs += one->pairs, all->ordered += one->ordered;
    all->apart += one->apart, all->apart_ordered += one->apart_ordered;
    all->named += one->named, all->named_right += one->named_right;
    all->values += one->values, all->within += one->within;
    all->forecasts += one->forecasts, all->came += one->came;
}

/* Runs the function with all seeds, unless others are named. */
static void report(const struct function_seeds *own, const struct function *function, const struct known *known,
                   struct arena *arena, struct counts *all)
{
    struct counts counts[AT] = {0};
    bool          is_named = own->names[0] == NULL && known != NULL;
    for (size_t i = 0; own->names[i] != NULL; i++)
        is_named = is_named || strcmp(own->names[i], function->name) == 0;
    for (size_t s = 0; is_named && s < own->seeds; s++)
        run(function, known, own->first + s, arena, counts);
    for (size_t at = 0; is_named && at < AT; at++) {
        print(function->name, values_at[at], &counts[at]);
        add(&all[at], &counts[at]);
    }
}

int main(int argc, char **argv)
{
    struct function_seeds own = {.first = 7001};
    static struct counts  all[AT];
    struct arena          arena;
    if (!function_seeds_read(argc, argv, 1000, &own) || own.seeds == 0)
        return 64;
    mat_use_one_thread();
    arena_init(&arena, (size_t)1 << 30);
    printf("function,values,pairs,right,apart,apart_right,named,named_right,within,forecasts_within\n");
    for (size_t k = 0; k < KNOWNS; k++) {
        const struct known   *known = &knowns[k];
        const struct function function = {
            .name = known->name, .value = known->value, .d = known->d, .upper = 1, .noise = known->noise};
        report(&own, &function, known, &arena, all);
    }
    for (size_t k = 0; k < FUNCTIONS; k++)
        if (functions[k].d < 20 && strncmp(functions[k].name, "hartmann", 8) != 0) // which is above
            report(&own, &functions[k], NULL, &arena, all);
    for (size_t at = 0; at < AT; at++)
        print("all", values_at[at], &all[at]);
    return 0;
}
