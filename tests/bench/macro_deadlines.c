/* How far plans ahead run past their deadlines: horizon 8, 200 proposals of walks over grids and random graphs with 1 to
 * 300 earlier values, by both algorithms, 10 to 1,000 samples, deadlines of 20 to 400 ms.  Deadlines and overshoots are in
 * processor time of the thread, so that other work on the machine does not count.
 * usage: macro_deadlines [--walks N]      N defaults to 40, of 5 proposals each
 * Prints graph,algorithm,samples,deadline ms,overshoot ms,horizon of each, then the percentiles; the exit code is 1 when
 * the 99th is beyond 20 ms. */
#include "engine/base/numbers.h"
#include "engine/math/mat.h"
#include "tests/bench/walks.h"

enum { WALKS_MAX = 1000, PLANS = 5, LINKS = 4, PRIOR_MAX = 300 };
static const double LIMIT = 0.020;

/* A graph: of edges, it has sites at random in a square, each linked with some of the nearest. */
struct world {
    const char      *label;
    enum graph_moves moves;
    size_t           side, steps, most;
};
static const struct world worlds[] = {
    {"straight 50x50", MOVES_STRAIGHT, 50, 4, 4},      {"four 30x30", MOVES_FOUR, 30, 3, 36},
    {"eight 40x40", MOVES_EIGHT, 40, 4, 20},           {"eight 1000x1000", MOVES_EIGHT, 1000, 4, 4096},
    {"straight 200x200", MOVES_STRAIGHT, 200, 12, 20}, {"edges of 400", MOVES_EDGES, 20, 5, 20},
};
enum { WORLDS = sizeof worlds / sizeof worlds[0] };

static enum status link_sites(struct graph *graph, struct rng *rng, struct arena *arena)
{
    double            *x = ARENA_NEW(arena, double, 2 * graph->sites_len);
    struct graph_edge *edges = ARENA_NEW(arena, struct graph_edge, 2 * LINKS * graph->sites_len);
    size_t             len = 0;
    if (x == NULL || edges == NULL)
        return STATUS_NO_MEMORY;
    for (size_t i = 0; i < 2 * graph->sites_len; i++)
        x[i] = (double)graph->width * rng_uniform(rng);
    for (uint32_t i = 0; i < graph->sites_len; i++)
        for (size_t k = 0; k < LINKS; k++) {
            uint32_t to = (uint32_t)rng_below(rng, graph->sites_len);
            for (size_t tries = 0; tries < 200; tries++) {
                uint32_t other = (uint32_t)rng_below(rng, graph->sites_len);
                double   near = hypot(x[2 * to] - x[2 * i], x[2 * to + 1] - x[2 * i + 1]);
                if (other != i && hypot(x[2 * other] - x[2 * i], x[2 * other + 1] - x[2 * i + 1]) < near)
                    to = other;
            }
            edges[len++] = (struct graph_edge){i, to};
            edges[len++] = (struct graph_edge){to, i};
        }
    graph->coordinates = x;
    return graph_set_edges(graph, edges, len, arena, NULL);
}

/* Walks with arbitrary values: the plans matter here, not the findings. */
static size_t walk(size_t number, double *over)
{
    struct rng          rng = rng_at(88, number, RNG_TEST);
    const struct world *world = &worlds[number % WORLDS];
    uint32_t            prior[PRIOR_MAX];
    double              values[PRIOR_MAX];
    struct arena        arena;
    struct walk         out;
    arena_init(&arena, 1 << 26);
    struct graph graph = {.moves = world->moves,
                          .sites_len = world->side * world->side,
                          .dims = 2,
                          .width = world->side,
                          .height = world->side,
                          .spacing = 1,
                          .steps = world->steps,
                          .most = world->most,
                          .prior_sites = prior,
                          .prior_values = values,
                          .prior_len = (size_t)exp(log(PRIOR_MAX) * rng_uniform(&rng)),
                          .sign = 1};
    double      *outputs = ARENA_NEW(&arena, double, graph.sites_len);
    if (outputs == NULL || (world->moves == MOVES_EDGES && link_sites(&graph, &rng, &arena) != STATUS_OK))
        abort();
    for (size_t i = 0; i < graph.sites_len; i++)
        outputs[i] = rng_normal(&rng);
    for (size_t i = 0; i < graph.prior_len; i++)
        values[i] = outputs[prior[i] = (uint32_t)rng_below(&rng, graph.sites_len)];
    do
        graph.start = rng_below(&rng, graph.sites_len);
    while (graph_count(&graph, graph.start) == 0);
    size_t              kind = number / WORLDS % 4;
    const struct walker walker = {.label = world->label,
                                  .policy = kind % 2 == 0 ? "macro-bo-anytime" : "macro-bo",
                                  .options = {{"horizon", 8},
                                              {"samples", pow(10, (double)(1 + rng_below(&rng, 3)))},
                                              {"length_scale", 5},
                                              {"signal_variance", 1},
                                              {"noise_variance", 1e-2},
                                              {"mean", 0},
                                              {kind == 3 ? "outputs" : NULL, 1}},
                                  .is_endless = true,
                                  .deadline = 0.020 * exp(log(20) * rng_uniform(&rng))};
    walk_run(&walker, &graph, outputs, PLANS, number, &out);
    size_t plans = out.len / world->steps;
    for (size_t i = 0; i < plans; i++) {
        printf("%s,%s,%.0f,%.0f,%.2f,%zu\n", world->label, walker.policy, walker.options[1].value,
               1e3 * walker.deadline, 1e3 * out.over[i], out.horizon[i]);
        over[i] = out.over[i];
    }
    arena_fini(&arena);
    return plans;
}

int main(int argc, char **argv)
{
    static double over[WALKS_MAX * PLANS];
    size_t        walks = argc == 3 && strcmp(argv[1], "--walks") == 0 ? strtoul(argv[2], NULL, 10) : 40, len = 0;
    if (!mat_use_one_thread() || walks < 1 || walks > WALKS_MAX)
        return 2;
    printf("graph,algorithm,samples,deadline ms,overshoot ms,horizon\n");
    for (size_t i = 0; i < walks; i++)
        len += walk(i, over + len);
    if (len == 0)
        return 1;
    qsort(over, len, sizeof *over, numbers_order);
    double ninety_nine = over[(size_t)ceil(0.99 * (double)len) - 1];
    printf("# %zu plans: overshoot median %.2f ms, 99 %% %.2f ms, most %.2f ms, %s\n", len, 1e3 * over[len / 2],
           1e3 * ninety_nine, 1e3 * over[len - 1], ninety_nine <= LIMIT ? "ok" : "NOT OK");
    return ninety_nine <= LIMIT ? 0 : 1;
}
