/* Parts of a plan that the next plan could take over (none is: every plan is made from the log alone).
 * On simulated plankton (plankton.h), 4 macro-actions at a site and 100 samples: a plan, its best macro-action done and
 * seen, and the next plan, whose paths begin among those of the first one.
 * usage: macro_reuse [--fields N]      N defaults to 5 Prints horizon,ends,tables ms,search ms,shared,saved at
 * most,value,interval: processor time of the second plan's tables (paths, factors, bounds) and of the first expansion of its
 * samples; the share of its steps that the first plan had; what taking over their tables would save of the whole; its value;
 * and how far apart the bounds are that the first plan's samples give the value at what was seen, by the Lipschitz constant
 * (corollary 1) and the nearest sample.
 * ends: whether the budget ends with the plan, so that the second one is a stage shorter. */
#include "engine/planning/macro_plan.h"
#include "tests/bench/plankton.h"

enum { STEPS = 4, SAMPLES = 100 };

struct plan_cost {
    double tables, search, value, steps;
    size_t chosen;
};

static void must(bool good)
{
    if (!good)
        abort();
}

static void fit(struct gp *gp, struct arena *arena, const struct graph *graph, const uint32_t *sites, size_t n,
                const double *outputs)
{
    const struct kernel kernel = {
        .kind = &kernel_se, .dims = 2, .variance = 1, .length_scales = (const double[]){LENGTH_SCALE, LENGTH_SCALE}};
    double X[2 * (STEPS + 1)], y[STEPS + 1];
    for (size_t i = 0; i < n; i++) {
        graph_coordinates(graph, sites[i], X + 2 * i);
        y[i] = outputs[sites[i]];
    }
    must(gp_init(gp, arena, &kernel, NOISE, n, NULL) == STATUS_OK);
    must(gp_set_points(gp, X, NULL, n, NULL) == STATUS_OK && gp_set_values(gp, y, NULL) == STATUS_OK);
}

static struct plan_cost plan(const struct macro_root *root, size_t horizon, uint64_t trial, struct arena *arena,
                             struct macro_tree *tree)
{
    const struct macro_tree_options options = {.horizon = horizon, .wants_bounds = true};
    struct macro_search             search = {.samples = SAMPLES, .seed = 5, .trial = trial};
    struct plan_cost                cost = {0};
    double                          lower[8], start = walk_processor_seconds();
    bool                            is_short;
    must(macro_tree_build(root, &options, arena, tree, NULL) == STATUS_OK);
    cost.tables = walk_processor_seconds() - start;
    must(macro_plan_anytime(tree, &search, arena, lower, &is_short, NULL) == STATUS_OK);
    cost.search = walk_processor_seconds() - start - cost.tables;
    for (size_t a = 1; a < tree->steps[0].children; a++)
        cost.chosen = lower[a] > lower[cost.chosen] ? a : cost.chosen;
    cost.value = lower[cost.chosen];
    cost.steps = (double)tree->len;
    return cost;
}

/* Twice the Lipschitz constant times the distance of what was seen from the nearest of the samples. */
static double interval(const struct macro_tree *tree, size_t step, const double *seen)
{
    const struct macro_step  *own = &tree->steps[step];
    const struct macro_search search = {.samples = SAMPLES, .seed = 5, .trial = 1};
    double                    z[SAMPLES * STEPS], nearest = INFINITY;
    macro_plan_draw(tree, &search, step, z);
    for (size_t l = 0; l < SAMPLES; l++) {
        double square = 0;
        for (size_t i = 0; i < STEPS; i++) {
            double y = tree->means[own->action.sites[i]] + mat_dot(own->rows + i * STEPS, z + l * STEPS, i + 1);
            square += pow(y - seen[i], 2);
        }
        nearest = fmin(nearest, sqrt(square));
    }
    return 2 * own->lipschitz * nearest;
}

static void run_pair(uint64_t field, size_t horizon, bool ends, struct moments *out)
{
    static double     outputs[SITES];
    uint32_t          site, sites[STEPS + 1];
    double            seen[STEPS];
    struct arena      arena;
    struct macro_tree first, second;
    struct gp         gp, later;
    arena_init(&arena, (size_t)1 << 30);
    (void)draw_field(field, outputs);
    struct graph      graph = begin(field, outputs, &site);
    struct macro_root root = {.graph = &graph, .seed = 5, .gp = &gp, .site = site};
    fit(&gp, &arena, &graph, &site, 1, outputs);
    struct plan_cost         before = plan(&root, horizon, 1, &arena, &first);
    size_t                   step = first.steps[0].first + before.chosen;
    const struct macro_step *done = &first.steps[step];
    sites[0] = site;
    for (size_t i = 0; i < STEPS; i++) {
        sites[i + 1] = macro_tree_site(&first, done->action.sites[i]);
        seen[i] = outputs[sites[i + 1]];
    }
    fit(&later, &arena, &graph, sites, STEPS + 1, outputs);
    root.gp = &later;
    root.site = sites[STEPS];
    struct plan_cost after = plan(&root, ends ? horizon - 1 : horizon, 2, &arena, &second);
    double shared = (double)second.stage[horizon] / after.steps; /* of stages 1 .. horizon - 1, and the root */
    moments_add(&out[0], 1e3 * after.tables);
    moments_add(&out[1], 1e3 * after.search);
    moments_add(&out[2], shared);
    moments_add(&out[3], shared * after.tables / (after.tables + after.search));
    moments_add(&out[4], after.value);
    moments_add(&out[5], interval(&first, step, seen));
    arena_fini(&arena);
}

int main(int argc, char **argv)
{
    size_t fields = argc == 3 && strcmp(argv[1], "--fields") == 0 ? strtoul(argv[2], NULL, 10) : 5;
    if (!mat_use_one_thread() || fields < 1)
        return 2;
    printf("horizon,ends,tables ms,search ms,shared,saved at most,value,interval\n");
    for (size_t horizon = 4; horizon <= 7; horizon++)
        for (int ends = 0; ends < 2; ends++) {
            struct moments m[6] = {{0}};
            for (uint64_t f = 0; f < fields; f++)
                run_pair(200000 + f, horizon, ends == 1, m);
            printf("%zu,%s,%.2f,%.2f,%.2f,%.2f,%.2f,%.3g\n", horizon, ends == 1 ? "yes" : "no", moments_mean(&m[0]),
                   moments_mean(&m[1]), moments_mean(&m[2]), moments_mean(&m[3]), moments_mean(&m[4]),
                   moments_mean(&m[5]));
        }
    return 0;
}
