/* Values and failures that a search must not be ruined by: the median regret under each, against that of the same studies
 * without it.
 *   hostile [SEEDS [FIRST_SEED [NAME ...]]]        20 seeds from 8001 on; NAME: a function, or development
 * A line for each function and trouble, after 40 trials: median regret, its ratio to the clean one's, that of random search
 * under the same trouble, and how many trials failed (mean).  Ratios count regrets below 1e-4 of what random search has as
 * that much.  Choices are made on the functions that development names, on other seeds.  Where a share of the space is hit that
 * has the optimum (the ratio then says how much it is worth), random search shows what is left. */
#include "engine/policy/session.h"
#include "engine/math/mat.h"
#include "tests/bench/functions.h"
#include "engine/registry.h"

#include <float.h>

enum { TRIALS = 40, SEEDS_MAX = 50 };
static const double SMALL = 1e-4, WRONG = -1e12;

/* Troubles of a trial at u of the unit cube, with the measured regret r. */
struct trouble {
    const char *name;
    double      first;     /* what the first trial is told to have; NAN: what it has */
    double      share;     /* of the last coordinate's range, from below: trials there .. */
    double      penalty;   /* .. have this value; NAN: fail */
    double      chance;    /* of failing anywhere */
    double      drift;     /* added by each trial, in shares of what random points have */
    double      wrong;     /* the chance of -1e12 anywhere */
    bool        has_clock; /* the number of the trial is a context */
    double      step;      /* added to the second half of the trials, in the same shares */
    bool        is_said;   /* that trials there are infeasible */
};

static const struct trouble troubles[] = {
    {"clean", NAN, 0, 0, 0, 0, 0, false, 0, false},
    {"first 1e12", 1e12, 0, 0, 0, 0, 0, false, 0, false},
    {"first 1e20", 1e20, 0, 0, 0, 0, 0, false, 0, false},
    {"first DBL_MAX", DBL_MAX, 0, 0, 0, 0, 0, false, 0, false},
    {"first -1e12", -1e12, 0, 0, 0, 0, 0, false, 0, false},
    {"first -1e3", -1e3, 0, 0, 0, 0, 0, false, 0, false},
    {"one in 20 -1e12", NAN, 0, 0, 0, 0, 0.05, false, 0, false},
    {"penalty 1e4", NAN, 0.25, 1e4, 0, 0, 0, false, 0, false},
    {"penalty 1e6", NAN, 0.25, 1e6, 0, 0, 0, false, 0, false},
    {"penalty 1e10", NAN, 0.25, 1e10, 0, 0, 0, false, 0, false},
    {"penalty DBL_MAX", NAN, 0.25, DBL_MAX, 0, 0, 0, false, 0, false},
    {"fails there", NAN, 0.25, NAN, 0, 0, 0, false, 0, false},
    {"infeasible there", NAN, 0.25, NAN, 0, 0, 0, false, 0, true},
    {"fails by chance", NAN, 0, 0, 0.2, 0, 0, false, 0, false},
    {"drift", NAN, 0, 0, 0, 0.01, 0, false, 0, false},
    {"drift down", NAN, 0, 0, 0, -0.01, 0, false, 0, false},
    {"drift tenfold", NAN, 0, 0, 0, 0.1, 0, false, 0, false},
    {"step", NAN, 0, 0, 0, 0, 0, false, 0.2, false},
    {"drift with a clock", NAN, 0, 0, 0, 0.01, 0, true, 0, false},
    {"clock without drift", NAN, 0, 0, 0, 0, 0, true, 0, false},
};
enum { TROUBLES = sizeof troubles / sizeof troubles[0] };

struct outcome {
    double regret;
    size_t failed;
};

/* The optima of the functions with two parameters and of hartmann3 lie elsewhere. */
static bool is_there(const struct study *study, const struct trouble *trouble, const double *point)
{
    double u[DIMS_MAX];
    space_encode(&study->space, point, u);
    return u[study->space.dims - 1] < trouble->share;
}

/* The study once more, with one more parameter. */
static void add_clock(struct study *study)
{
    size_t       d = study->function->d;
    struct error err = {0};
    study_close(study);
    if (study->function->params != NULL)
        memcpy(study->box, study->function->params, d * sizeof *study->box);
    study->box[d] = (struct param){.name = "clock", .kind = PARAM_DOUBLE, .min = 1, .max = TRIALS, .is_context = true};
    study->space = (struct space){.kind = SPACE_PARAMETERS, .params = study->box, .params_len = d + 1};
    must(space_init(&study->space, &err), &err);
    must(session_open(study->policy, &study->problem, &study->session, &err), &err);
}

static struct outcome run(const struct function *function, const char *name, const struct trouble *trouble,
                          uint64_t seed, double scale)
{
    struct study   study;
    struct outcome out = {.regret = INFINITY};
    struct rng     rng = rng_at(seed, 1, RNG_TEST);
    double         point[DIMS_MAX], fixed[DIMS_MAX], now;
    study_open(&study, function, policy_find(name), seed, NULL, 0);
    if (trouble->has_clock)
        add_clock(&study);
    for (size_t j = 0; j < function->d; j++)
        fixed[j] = NAN;
    for (uint64_t trial = 1; trial <= TRIALS; trial++) {
        fixed[function->d] = (double)trial;
        study_ask_with(&study, trial, trouble->has_clock ? fixed : NULL, point);
        double value = study_measure(&study, point, &now) +
                       scale * (trouble->drift * (double)trial + (2 * trial > TRIALS ? trouble->step : 0));
        bool is_hit = is_there(&study, trouble, point), fails = rng_uniform(&rng) < trouble->chance;
        bool is_wrong = trouble->wrong > 0 && rng_uniform(&rng) < trouble->wrong;
        if (is_wrong)
            value = WRONG;
        else if (is_hit || (trial == 1 && !isnan(trouble->first)))
            value = is_hit ? trouble->penalty : trouble->first;
        else if (!fails)
            out.regret = fmin(out.regret, now);
        fails |= isnan(value);
        out.failed += fails;
        struct event event = {.kind = !fails             ? EVENT_OBSERVED
                                      : trouble->is_said ? EVENT_INFEASIBLE
                                                         : EVENT_FAILED,
                              .trial = trial,
                              .point = point,
                              .value = fails ? 0 : -value};
        struct error err = {0};
        must(study.policy->tell(study.session, &event, &err), &err);
    }
    study_close(&study);
    return out;
}

static double median_of(const struct function *function, const char *name, const struct trouble *trouble, size_t seeds,
                        uint64_t first, double scale, double *failed)
{
    double regret[SEEDS_MAX];
    *failed = 0;
    for (size_t s = 0; s < seeds; s++) {
        struct outcome out = run(function, name, trouble, first + s, scale);
        regret[s] = fmax(out.regret, 0);
        *failed += (double)out.failed / (double)seeds;
    }
    qsort(regret, seeds, sizeof *regret, numbers_order);
    return quantile(regret, seeds, 0.5);
}

static void compare_all(const struct function *function, size_t seeds, uint64_t first)
{
    double ignored, failed, random = median_of(function, "random", &troubles[0], seeds, first, 0, &ignored), clean = 0;
    for (size_t k = 0; k < TROUBLES; k++) {
        double regret = median_of(function, "gp", &troubles[k], seeds, first, random, &failed);
        double by_chance = median_of(function, "random", &troubles[k], seeds, first, random, &ignored);
        clean = k == 0 ? regret : clean;
        printf("%s,%s,%zu,%.3g,%.2f,%.3g,%.1f\n", function->name, troubles[k].name, seeds, regret,
               fmax(regret, SMALL * random) / fmax(clean, SMALL * random), by_chance, failed);
        fflush(stdout);
    }
}

static bool is_chosen(const struct function *f, char *const *names)
{
    bool is_any = *names == NULL && f->noise == 0 && f->d < 20 && f->d > 1;
    for (; *names != NULL; names++)
        is_any |= strcmp(*names, f->name) == 0 || (function_is_development(f) && strcmp(*names, "development") == 0);
    return is_any;
}

int main(int argc, char **argv)
{
    struct function_seeds own = {.first = 8001};
    if (!function_seeds_read(argc, argv, SEEDS_MAX, &own))
        return 64;
    mat_use_one_thread();
    puts("function,trouble,seeds,regret_40,ratio,random_40,failed");
    for (const struct function *f = functions; f < functions + FUNCTIONS; f++)
        if (is_chosen(f, own.names))
            compare_all(f, own.seeds, own.first);
    return 0;
}
