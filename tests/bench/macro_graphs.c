/* Planning ahead on real graphs (Kharkovskii, sections 4.4.2 and 4.4.3): temperatures of the Intel Berkeley lab (145
 * places in its corridors) and taxi demand of a city centre (2,506 regions): 4 macro-actions of 5 sites from 35 random
 * starts, 20 macro-actions at a site.  The data have no licence that would let them be copied here: DATA names the
 * folder with intel_lab/ and taxi_demand/ (columns as read below); without it the bench says so and does nothing.
 * usage: macro_graphs [--starts N] [--save FOLDER]      N defaults to 35; FOLDER gets what macro_map.py draws
 * Prints graph,agent,output,se,regret,se,nodes,seconds: outputs less the field's mean, simple regret after 20 outputs,
 * of one walk.  ei: one site at a time by expected improvement, over the same graph.
 * The exit code is 1 when a count of the graph is not that of the thesis, or a horizon of 4 is worse than 1 in simple
 * regret beyond two standard errors of the paired difference. */
#include "engine/acquisition/acq.h"
#include "engine/gp/gp.h"
#include "engine/math/mat.h"
#include "tests/bench/lab.h"

enum { STARTS_MAX = 1000 };

static const struct {
    const char *label, *policy;
    double      horizon, likely;
} agents[] = {
    {"H=1", "macro-bo", 1, 0},         {"H=2", "macro-bo-anytime", 2, 0},     {"H=3", "macro-bo-anytime", 3, 0},
    {"H=4", "macro-bo-anytime", 4, 0}, {"most likely H=4", "macro-bo", 4, 1}, {"ei", NULL, 0, 0},
};
enum { AGENTS = sizeof agents / sizeof agents[0] };

/* ---- one site at a time ---- */

static void walk_ei(const struct world *world, const struct graph *graph, const double *outputs, size_t place,
                    struct walk *out)
{
    const struct kernel kernel = {
        .kind = &kernel_se, .dims = 2, .variance = world->signal_variance, .length_scales = world->length_scales};
    struct arena arena;
    struct gp    gp;
    double       X[2 * (OUTPUTS + 1)], y[OUTPUTS + 1], start = walk_seconds();
    arena_init(&arena, 1 << 24);
    *out = (struct walk){.best = outputs[place]};
    if (gp_init(&gp, &arena, &kernel, world->noise_variance, OUTPUTS + 1, NULL) != STATUS_OK)
        abort();
    for (size_t n = 1; n <= OUTPUTS && graph->first[place] < graph->first[place + 1]; n++) {
        double best = -INFINITY;
        size_t chosen = place;
        graph_coordinates(graph, place, X + 2 * (n - 1));
        y[n - 1] = outputs[place] - world->mean;
        if (gp_set_points(&gp, X, NULL, n, NULL) != STATUS_OK || gp_set_values(&gp, y, NULL) != STATUS_OK)
            abort();
        for (uint32_t k = graph->first[place]; k < graph->first[place + 1]; k++) {
            double z[2], mean, var;
            graph_coordinates(graph, graph->to[k], z);
            if (gp_posterior(&gp, (struct points){z, 1}, &mean, &var, &arena, NULL) != STATUS_OK)
                abort();
            double sd = sqrt(var), u = (mean + world->mean - out->best) / fmax(sd, 1e-300);
            double value = sd * (u * 0.5 * erfc(-u / sqrt(2)) + exp(-0.5 * u * u) / sqrt(2 * acos(-1)));
            if (value > best) {
                best = value;
                chosen = graph->to[k];
            }
        }
        place = chosen;
        out->sites[out->len++] = place;
        out->average += outputs[place];
        out->best = fmax(out->best, outputs[place]);
    }
    out->average /= (double)out->len;
    out->seconds = walk_seconds() - start;
    out->nodes = (double)out->len;
    arena_fini(&arena);
}

/* ---- a table ---- */

static void save_walk(FILE *file, const struct world *world, size_t start, const struct graph *graph, size_t agent,
                      const struct walk *walk)
{
    for (size_t i = 0; file != NULL && i <= walk->len; i++)
        fprintf(file, "%s,%zu,%s,%zu,%zu\n", world->name, start, agents[agent].label, i,
                i == 0 ? graph->start : walk->sites[i - 1]);
}

static bool check_counts(const struct world *world, const struct graph *graph)
{
    double sum = 0, len = 0;
    size_t most = 0;
    for (size_t s = 0; s < graph->sites_len; s++) {
        size_t count = graph_count(graph, s);
        sum += (double)count;
        len += count > 0;
        most = count > most ? count : most;
    }
    bool ok = fabs(sum / len - world->macro_actions_mean) < 0.1 && most == world->macro_actions_max;
    printf("# %s: %zu sites, macro-actions of %d sites: mean %.2f, most %zu, %s\n", world->name, graph->sites_len,
           STEPS, sum / len, most, ok ? "as in the thesis" : "NOT as in the thesis");
    return ok;
}

static void run_walk(const struct world *world, struct graph *graph, const double *outputs, size_t agent, uint64_t seed,
                     struct walk *walk)
{
    const uint32_t site = (uint32_t)graph->start;
    if (agents[agent].policy == NULL) {
        walk_ei(world, graph, outputs, graph->start, walk);
        return;
    }
    const struct walker walker = {.label = agents[agent].label,
                                  .policy = agents[agent].policy,
                                  .options = {{"horizon", agents[agent].horizon},
                                              {"samples", 100},
                                              {"length_scale_x", world->length_scales[0]},
                                              {"length_scale_y", world->length_scales[1]},
                                              {"signal_variance", world->signal_variance},
                                              {"noise_variance", world->noise_variance},
                                              {"mean", world->mean},
                                              {agents[agent].likely != 0 ? "outputs" : NULL, 1}}};
    graph->prior_sites = &site;
    graph->prior_values = outputs + site;
    graph->prior_len = 1;
    walk_run(&walker, graph, outputs, ITERATIONS, seed, walk);
}

static bool run_world(const struct world *world, const char *folder, size_t starts, FILE *save)
{
    static double  regret[AGENTS][STARTS_MAX];
    struct moments average[AGENTS] = {{0}}, simple[AGENTS] = {{0}}, difference = {0};
    double         nodes[AGENTS] = {0}, seconds[AGENTS] = {0}, largest = -INFINITY, mean = 0, *outputs;
    struct arena   arena;
    struct graph   graph;
    struct rng     rng = rng_at(4, 1, RNG_TEST);
    arena_init(&arena, 1 << 26);
    if (!read_world(world, folder, &arena, &graph, &outputs))
        return false;
    bool ok = check_counts(world, &graph);
    for (size_t s = 0; s < graph.sites_len; s++) {
        largest = fmax(largest, outputs[s]);
        mean += outputs[s] / (double)graph.sites_len;
    }
    for (size_t i = 0; i < starts; i++) {
        do
            graph.start = rng_below(&rng, graph.sites_len);
        while (graph_count(&graph, graph.start) == 0);
        for (size_t a = 0; a < AGENTS; a++) {
            struct walk walk;
            run_walk(world, &graph, outputs, a, 100 + i, &walk);
            regret[a][i] = largest - fmax(walk.best, outputs[graph.start]);
            moments_add(&average[a], walk.average - mean);
            moments_add(&simple[a], regret[a][i]);
            nodes[a] += walk.nodes;
            seconds[a] += walk.seconds;
            save_walk(save, world, i, &graph, a, &walk);
        }
        moments_add(&difference, regret[3][i] - regret[0][i]);
    }
    for (size_t a = 0; a < AGENTS; a++)
        printf("%s,%s,%.4f,%.4f,%.4f,%.4f,%.3g,%.3g\n", world->name, agents[a].label, moments_mean(&average[a]),
               moments_se(&average[a]), moments_mean(&simple[a]), moments_se(&simple[a]), nodes[a] / (double)starts,
               seconds[a] / (double)starts);
    double z = moments_mean(&difference) / moments_se(&difference);
    printf("# %s: regret of H=4 less that of H=1: %.3f, standard error %.3f, %s\n", world->name,
           moments_mean(&difference), moments_se(&difference), z <= 2 ? "ok" : "NOT OK");
    arena_fini(&arena);
    return ok && z <= 2;
}

int main(int argc, char **argv)
{
    const char *folder = getenv("DATA"), *save = NULL;
    size_t      starts = 35;
    bool        ok = mat_use_one_thread();
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--starts") == 0)
            starts = strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--save") == 0)
            save = argv[i + 1];
    }
    if (folder == NULL || starts < 2 || starts > STARTS_MAX) {
        printf("# DATA names no folder with intel_lab and taxi_demand: nothing was measured\n");
        return folder == NULL ? 0 : 2;
    }
    char path[1024];
    snprintf(path, sizeof path, "%.900s/walks.csv", save == NULL ? "." : save);
    FILE *file = save == NULL ? NULL : fopen(path, "w");
    if (file != NULL)
        fprintf(file, "graph,start,agent,step,site\n");
    printf("graph,agent,output,se,regret,se,nodes,seconds\n");
    for (size_t w = 0; w < sizeof worlds / sizeof worlds[0]; w++) {
        ok = run_world(&worlds[w], folder, starts, file) && ok;
        fflush(stdout);
    }
    if (file != NULL && fclose(file) != 0)
        ok = false;
    return ok ? 0 : 1;
}
