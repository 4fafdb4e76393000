/* Knowledge that a parameter is monotone: sizes (width, depth, batch) of which more makes the loss smaller, until the memory is
 * full and a trial fails for that reason.  Who knows that can say without measuring that a larger trial fails, too.
 *   monotone [SEEDS [FIRST_SEED]]            20 seeds from 1; each seed is another problem
 * One CSV line per kind and way: the median regret after 20 and 40 measurements, with how many seeds it is below that of `gp`, and
 * how many suggestions (mean) were answered without a measurement.  Three sizes and two other parameters.
 *   random    at random
 *   gp        measures all that is suggested; a trial that fails is infeasible
 *   client    the same, but says infeasible at once where every size is at least that of a trial that failed
 *   oracle    says so of all that would fail: the most that knowledge of what fails can save
 * Kinds: `hidden`, a trial that fails has no value; `alone`, memory grows in the first size alone, and the other two are free, so
 * that their best value is the largest; `held` is `alone` with these held there, as who knows that would. */
#include "engine/registry.h"
#include "tests/bench/functions.h"

enum { SEEDS_MOST = 100, D_ALL = 5, SIZES = 3, AT = 2, EVERY = 20, ASKED_MOST = 400, SEARCHED = 200000 };

struct place {
    double fall[SIZES], decay[SIZES], best_at[D_ALL], bend[D_ALL], weight[SIZES], tilt, limit, best;
    bool   is_alone;
};

static double memory_of(const struct place *p, const double *x)
{
    double rest = p->is_alone ? 0 : p->weight[1] * exp(1.5 * x[1]) + p->weight[2] * x[2] * (1 + x[0]);
    return p->weight[0] * exp(2 * x[0]) + rest;
}

static double loss_of(const struct place *p, const double *x)
{
    double loss = 0;
    for (size_t j = 0; j < SIZES; j++)
        loss += p->fall[j] * exp(-p->decay[j] * x[j]);
    for (size_t j = SIZES; j < D_ALL; j++)
        loss += p->bend[j] * square(x[j] - p->best_at[j] - p->tilt * (x[0] - 0.5));
    return loss + 0.5 * (x[3] - p->best_at[3]) * (x[4] - p->best_at[4]);
}

static double within(struct rng *rng, double low, double high)
{
    return low + (high - low) * rng_uniform(rng);
}

/* The limit leaves 30 to 60 % of the cube; the best point is that of a long random search that ends in small steps. */
static void make_place(struct place *p, bool is_alone, uint64_t seed)
{
    static double memory[2000];
    struct rng    rng = rng_at(seed, 2, RNG_TEST);
    double        x[D_ALL], best[D_ALL] = {0};
    *p = (struct place){.is_alone = is_alone, .tilt = within(&rng, -0.4, 0.4), .best = INFINITY};
    for (size_t j = 0; j < SIZES; j++) {
        p->fall[j] = within(&rng, 0.3, 1);
        p->decay[j] = within(&rng, 1, 4);
        p->weight[j] = within(&rng, 0.3, 1);
    }
    for (size_t j = SIZES; j < D_ALL; j++) {
        p->bend[j] = within(&rng, 1, 4);
        p->best_at[j] = within(&rng, 0.2, 0.8);
    }
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
        for (size_t j = 0; j < D_ALL; j++)
            x[j] = rng_uniform(&rng);
        memory[i] = memory_of(p, x);
    }
    qsort(memory, sizeof memory / sizeof *memory, sizeof *memory, compare);
    p->limit = quantile(memory, sizeof memory / sizeof *memory, within(&rng, 0.3, 0.6));
    for (size_t i = 0; i < SEARCHED; i++) {
        double side = i < SEARCHED / 4 ? 2 : pow(0.5, 24.0 * (double)i / SEARCHED - 4);
        for (size_t j = 0; j < D_ALL; j++)
            x[j] = fmin(fmax(best[j] + side * within(&rng, -1, 1), 0), 1);
        if (memory_of(p, x) <= p->limit && loss_of(p, x) < p->best) {
            p->best = loss_of(p, x);
            memcpy(best, x, sizeof best);
        }
    }
}

enum way { RANDOM, GP, CLIENT, ORACLE, WAYS };
static const char *const way_names[WAYS] = {"random", "gp", "client", "oracle"};

struct outcome {
    double regret[AT], unmeasured;
};

static bool is_larger(const double *x, const double *failed)
{
    for (size_t j = 0; j < SIZES; j++)
        if (x[j] < failed[j])
            return false;
    return true;
}

static bool is_known(enum way way, const struct place *p, const double *x, double (*failed)[D_ALL], size_t len)
{
    bool known = way == ORACLE && memory_of(p, x) > p->limit;
    for (size_t i = 0; i < len && way == CLIENT && !known; i++)
        known = is_larger(x, failed[i]);
    return known;
}

static const struct function sizes = {.name = "sizes", .d = D_ALL, .upper = 1};

static struct outcome run(const struct place *p, enum way way, bool holds, uint64_t seed)
{
    static struct study study;
    static double       failed[ASKED_MOST][D_ALL];
    struct outcome      out = {.unmeasured = 0};
    struct error        err = {0};
    double              point[D_ALL], best = INFINITY, fixed[D_ALL] = {NAN, 1, 1, NAN, NAN};
    size_t              failed_len = 0, measured = 0;
    study_open(&study, &sizes, policy_find(way == RANDOM ? "random" : "gp"), seed, NULL, 0);
    for (uint64_t trial = 1; measured < AT * EVERY && trial < ASKED_MOST; trial++) {
        study_ask_with(&study, trial, holds ? fixed : NULL, point);
        bool known = is_known(way, p, point, failed, failed_len);
        if (memory_of(p, point) > p->limit) {
            struct event event = {.kind = EVENT_INFEASIBLE, .trial = trial, .point = point};
            must(study.policy->tell(study.session, &event, &err), &err);
            memcpy(failed[failed_len++], point, sizeof point);
        } else {
            study_tell(&study, trial, point, loss_of(p, point));
            best = fmin(best, loss_of(p, point));
        }
        out.unmeasured += known;
        if (!known && ++measured % EVERY == 0)
            out.regret[measured / EVERY - 1] = fmax(best - p->best, 0);
    }
    study_close(&study);
    return out;
}

static void report(const char *kind, bool is_alone, bool holds, size_t seeds, uint64_t first)
{
    static struct outcome all[WAYS][SEEDS_MOST];
    for (enum way way = RANDOM; way < WAYS; way++) {
        double sorted[AT][SEEDS_MOST], unmeasured = 0;
        size_t below[AT] = {0};
        for (size_t s = 0; s < seeds; s++) {
            struct place place;
            make_place(&place, is_alone, first + s);
            all[way][s] = run(&place, way, holds, first + s);
            unmeasured += all[way][s].unmeasured / (double)seeds;
            for (size_t a = 0; a < AT; a++)
                sorted[a][s] = all[way][s].regret[a];
        }
        printf("%s,%s,%zu", kind, way_names[way], seeds);
        for (size_t a = 0; a < AT; a++) {
            for (size_t s = 0; s < seeds && way > GP; s++)
                below[a] += all[way][s].regret[a] < all[GP][s].regret[a];
            qsort(sorted[a], seeds, sizeof **sorted, compare);
            printf(",%.3g,%zu", quantile(sorted[a], seeds, 0.5), below[a]);
        }
        printf(",%.1f\n", unmeasured);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    struct function_seeds own = {.first = 1};
    if (!function_seeds_read(argc, argv, SEEDS_MOST, &own)) {
        fprintf(stderr, "monotone [SEEDS [FIRST_SEED]], at most %d seeds\n", SEEDS_MOST);
        return 2;
    }
    puts("kind,way,seeds,regret_20,below_gp_20,regret_40,below_gp_40,unmeasured");
    report("hidden", false, false, own.seeds, own.first);
    report("alone", true, false, own.seeds, own.first);
    report("held", true, true, own.seeds, own.first);
    return 0;
}
