/* Whether looking ahead pays: macro-bo-anytime against what looks ahead by other means, or not at all, over the temperatures of
 * the Intel lab (lab.h) and simulated plankton (plankton.h).  All know the field's hyper-parameters and the output at the
 * start, and have the same 20 outputs to see; those that look ahead have the same processor time for a choice.
 *   H=1      the macro-action with the greatest expected sum of outputs
 *   anytime  macro-bo-anytime to the end of the budget, 100 samples
 *   rollout  for each macro-action, H=1 from there to the end on outputs drawn from the posterior, as often as there is time
 *            for, with the same draws for all; takes the greatest mean sum of outputs, or (best) the greatest mean best output
 *   ei, mean one site at a time, to the neighbour of the greatest expected improvement, or posterior mean; anytime, sites: the
 *            anytime form with macro-actions of one site, in the same time for a walk
 * usage: DATA=... macro_peers [--starts N] [--fields N] [--ms T]      35 starts in the lab, 100 fields, 50 ms for a choice
 * Prints field,agent,output,se,regret,se,output of anytime less its,se,regret of anytime less its,se,ahead: outputs less the
 * field's mean, simple regret after 20 outputs, both of one walk; ahead: the mean horizon of the plans, or rollouts of a
 * macro-action.  Without DATA plankton alone. */
#include "engine/gp/gp.h"
#include "tests/bench/lab.h"
#include "tests/bench/plankton.h"

enum { WALKS_MAX = 1000, PATH_MAX = 20, DATA_MAX = PATH_MAX + 1, ACTIONS_MOST = 64 };
enum kind { BY_POLICY, BY_ROLLOUT, BY_SITE };
enum reward { MEAN, BEST };

static const struct agent {
    const char *label;
    enum kind   kind;
    bool        is_single; /* one site at a time */
    enum reward reward;
    double      horizon;
} agents[] = {
    {"anytime", BY_POLICY, false, MEAN, 8},       {"H=1", BY_POLICY, false, MEAN, 1},
    {"rollout", BY_ROLLOUT, false, MEAN, 0},      {"rollout, best", BY_ROLLOUT, false, BEST, 0},
    {"ei, sites", BY_SITE, true, BEST, 0},        {"mean, sites", BY_SITE, true, MEAN, 0},
    {"anytime, sites", BY_POLICY, true, MEAN, 8},
};
enum { AGENTS = sizeof agents / sizeof agents[0] };

struct field {
    const char   *name;
    struct graph  graph, single; /* single: of one site at a time */
    const double *outputs, *length_scales;
    double        variance, noise, mean, most, average; /* mean: of the model */
    size_t        iterations;
};

struct peer {
    const struct field *field;
    const struct agent *agent;
    double              deadline; /* seconds of processor time for a choice */
    uint64_t            seed;
    double              X[2 * DATA_MAX], y[DATA_MAX], best; /* outputs less the model's mean */
    size_t              n, place;
    double              rollouts; /* of a macro-action, of all choices */
};

static void must(bool good)
{
    if (!good)
        abort();
}

static size_t choices_of(const struct field *field, const struct agent *agent)
{
    return agent->is_single ? field->iterations * field->graph.steps : field->iterations;
}

/* ---- rollouts ---- */

/* The sites within reach, by local numbers, what can be done from them, and the posterior. */
struct reach {
    struct arena          arena;
    const struct graph   *graph;
    uint32_t             *local, *sites; /* by site: its number + 1; by number */
    struct macro_actions *actions;       /* by number; len 0: none, or not asked */
    size_t                len, ends_len;
    uint32_t             *ends; /* where macro-actions end, the nearest first */
    double               *means, *C, noise;
    uint64_t              seed;
};

static uint32_t number_of(struct reach *reach, size_t site)
{
    if (reach->local[site] == 0) {
        reach->sites[reach->len++] = (uint32_t)site;
        reach->local[site] = (uint32_t)reach->len;
    }
    return reach->local[site] - 1;
}

static void reach_end(struct reach *reach, size_t site)
{
    uint32_t number = number_of(reach, site);
    for (size_t i = 0; i < reach->ends_len; i++)
        if (reach->ends[i] == number)
            return;
    reach->ends[reach->ends_len++] = number;
}

static void reach_paths(struct reach *reach, size_t place, size_t stages)
{
    size_t from = 0;
    reach_end(reach, place);
    for (size_t t = 0; t < stages; t++) {
        for (size_t to = reach->ends_len; from < to; from++) {
            struct macro_actions *actions = &reach->actions[reach->ends[from]];
            must(graph_actions(reach->graph, reach->seed, reach->sites[reach->ends[from]], &reach->arena, actions,
                               NULL) == STATUS_OK);
            for (size_t a = 0; a < actions->len; a++) {
                for (size_t i = 0; i < actions->at[a].len; i++)
                    (void)number_of(reach, actions->at[a].sites[i]);
                reach_end(reach, actions->at[a].sites[actions->at[a].len - 1]);
            }
        }
    }
}

static void reach_open(struct reach *reach, const struct peer *peer, const struct gp *gp, size_t stages)
{
    size_t sites = peer->field->graph.sites_len;
    *reach = (struct reach){.graph = &peer->field->graph, .noise = peer->field->noise, .seed = peer->seed};
    arena_init(&reach->arena, (size_t)1 << 28);
    reach->local = arena_zalloc(&reach->arena, sites, sizeof *reach->local);
    reach->sites = ARENA_NEW(&reach->arena, uint32_t, sites);
    reach->ends = ARENA_NEW(&reach->arena, uint32_t, sites);
    reach->actions = arena_zalloc(&reach->arena, sites, sizeof *reach->actions);
    must(reach->local != NULL && reach->sites != NULL && reach->ends != NULL && reach->actions != NULL);
    reach_paths(reach, peer->place, stages);
    size_t  m = reach->len;
    double *X = ARENA_NEW(&reach->arena, double, 2 * m);
    reach->means = ARENA_NEW(&reach->arena, double, m);
    reach->C = ARENA_NEW(&reach->arena, double, m *m);
    must(X != NULL && reach->means != NULL && reach->C != NULL);
    for (size_t i = 0; i < m; i++)
        graph_coordinates(reach->graph, reach->sites[i], X + 2 * i);
    must(gp_joint(gp, (struct points){X, m}, reach->means, reach->C, &reach->arena, NULL) == STATUS_OK);
}

/* A path, and the outputs drawn along it: y = means + L z. */
struct path {
    size_t len;
    size_t at[PATH_MAX];
    double L[PATH_MAX][PATH_MAX], z[PATH_MAX];
};

/* The mean of a site given the path, and its row of L. */
static double path_look(const struct reach *reach, const struct path *path, size_t i, double *row)
{
    double mean = reach->means[i];
    for (size_t j = 0; j < path->len; j++) {
        size_t at = path->at[j];
        double sum = i > at ? reach->C[i * reach->len + at] : reach->C[at * reach->len + i];
        for (size_t k = 0; k < j; k++)
            sum -= path->L[j][k] * row[k];
        row[j] = sum / path->L[j][j];
        mean += row[j] * path->z[j];
    }
    return mean;
}

static double path_visit(const struct reach *reach, struct path *path, size_t i, struct rng *rng)
{
    double *row = path->L[path->len], variance = reach->C[i * reach->len + i] + reach->noise;
    double  mean = path_look(reach, path, i, row);
    for (size_t j = 0; j < path->len; j++)
        variance -= row[j] * row[j];
    row[path->len] = sqrt(fmax(variance, 1e-12));
    path->z[path->len] = rng_normal(rng);
    path->at[path->len] = i;
    double output = mean + row[path->len] * path->z[path->len];
    path->len++;
    return output;
}

/* The choice of H=1: the macro-action from the site with the greatest sum of means; NULL: there is none. */
static const struct macro_action *path_greedy(const struct reach *reach, const struct path *path, size_t place)
{
    const struct macro_actions *actions = &reach->actions[place];
    const struct macro_action  *chosen = NULL;
    double                      best = -INFINITY, row[PATH_MAX];
    for (size_t a = 0; a < actions->len; a++) {
        double sum = 0;
        for (size_t i = 0; i < actions->at[a].len; i++)
            sum += path_look(reach, path, reach->local[actions->at[a].sites[i]] - 1, row);
        if (sum > best) {
            best = sum;
            chosen = &actions->at[a];
        }
    }
    return chosen;
}

static double roll_out(const struct reach *reach, const struct macro_action *action, size_t stages, enum reward reward,
                       double best, struct rng *rng)
{
    struct path path = {.len = 0};
    double      sum = 0;
    for (size_t t = 0; t < stages && action != NULL; t++) {
        for (size_t i = 0; i < action->len; i++) {
            double output = path_visit(reach, &path, reach->local[action->sites[i]] - 1, rng);
            sum += output;
            best = fmax(best, output);
        }
        if (t + 1 < stages)
            action = path_greedy(reach, &path, path.at[path.len - 1]);
    }
    return reward == BEST ? best : sum;
}

/* ---- a walk of a peer ---- */

static struct macro_action choose_by_rollout(struct peer *peer, const struct gp *gp, size_t stages, double end)
{
    struct reach reach;
    double       values[ACTIONS_MOST] = {0};
    size_t       chosen = 0, rounds = 0;
    reach_open(&reach, peer, gp, stages);
    const struct macro_actions *actions = &reach.actions[0];
    must(actions->len <= ACTIONS_MOST);
    while (rounds == 0 || !walk_is_late(&end)) {
        for (size_t a = 0; a < actions->len; a++) {
            struct rng rng = rng_at(peer->seed, (uint64_t)peer->n << 32 | rounds, RNG_TEST);
            values[a] += roll_out(&reach, &actions->at[a], stages, peer->agent->reward, peer->best, &rng);
        }
        rounds++;
    }
    for (size_t a = 1; a < actions->len; a++)
        chosen = values[a] > values[chosen] ? a : chosen;
    peer->rollouts += (double)rounds;
    static uint32_t     sites[PATH_MAX];
    struct macro_action action = {.sites = sites};
    if (actions->len > 0) {
        action.len = actions->at[chosen].len;
        memcpy(sites, actions->at[chosen].sites, action.len * sizeof *sites);
    }
    arena_fini(&reach.arena);
    return action;
}

static double improvement(double mean, double sd, double best)
{
    double u = (mean - best) / sd;
    return sd * (u * 0.5 * erfc(-u / sqrt(2)) + exp(-0.5 * u * u) / sqrt(2 * acos(-1)));
}

static struct macro_action choose_site(struct peer *peer, const struct gp *gp, struct arena *arena)
{
    static uint32_t      site;
    struct macro_actions actions;
    double               best = -INFINITY;
    struct macro_action  action = {.sites = &site};
    must(graph_actions(&peer->field->single, 1, peer->place, arena, &actions, NULL) == STATUS_OK);
    for (size_t a = 0; a < actions.len; a++) {
        double x[2], mean, var;
        graph_coordinates(&peer->field->single, actions.at[a].sites[0], x);
        must(gp_posterior(gp, (struct points){x, 1}, &mean, &var, arena, NULL) == STATUS_OK);
        double value = peer->agent->reward == BEST ? improvement(mean, sqrt(fmax(var, 1e-300)), peer->best) : mean;
        if (value > best) {
            best = value;
            site = actions.at[a].sites[0];
            action.len = 1;
        }
    }
    return action;
}

static void see(struct peer *peer, size_t site)
{
    const struct field *field = peer->field;
    graph_coordinates(&field->graph, site, peer->X + 2 * peer->n);
    peer->y[peer->n++] = field->outputs[site] - field->mean;
    peer->best = fmax(peer->best, field->outputs[site] - field->mean);
    peer->place = site;
}

static void walk_peer(struct peer *peer, struct walk *out)
{
    const struct field *field = peer->field;
    const struct kernel kernel = {
        .kind = &kernel_se, .dims = 2, .variance = field->variance, .length_scales = field->length_scales};
    size_t choices = choices_of(field, peer->agent);
    *out = (struct walk){.best = -INFINITY};
    peer->best = -INFINITY;
    see(peer, field->graph.start);
    for (size_t t = 0; t < choices; t++) {
        double       end = walk_processor_seconds() + peer->deadline;
        struct arena arena;
        struct gp    gp;
        arena_init(&arena, 1 << 22);
        must(gp_init(&gp, &arena, &kernel, field->noise, DATA_MAX, NULL) == STATUS_OK);
        must(gp_set_points(&gp, peer->X, NULL, peer->n, NULL) == STATUS_OK);
        must(gp_set_values(&gp, peer->y, NULL) == STATUS_OK);
        struct macro_action action =
            peer->agent->is_single ? choose_site(peer, &gp, &arena) : choose_by_rollout(peer, &gp, choices - t, end);
        for (size_t i = 0; i < action.len; i++) {
            see(peer, action.sites[i]);
            out->average += field->outputs[action.sites[i]];
            out->best = fmax(out->best, field->outputs[action.sites[i]]);
            out->sites[out->len++] = action.sites[i];
        }
        arena_fini(&arena);
    }
    out->average /= (double)out->len;
}

/* ---- a table ---- */

static struct {
    double output[AGENTS][WALKS_MAX], regret[AGENTS][WALKS_MAX], ahead[AGENTS];
    size_t len;
} results;

static double walk_by_policy(const struct field *field, const struct agent *agent, double deadline, uint64_t seed,
                             struct walk *out)
{
    const uint32_t start = (uint32_t)field->graph.start;
    struct graph   graph = agent->is_single ? field->single : field->graph;
    double         horizons = 0;
    size_t         choices = choices_of(field, agent);
    graph.prior_sites = &start;
    graph.prior_values = field->outputs + start;
    graph.prior_len = 1;
    const struct walker walker = {.label = agent->label,
                                  .policy = "macro-bo-anytime",
                                  .options = {{"horizon", agent->horizon},
                                              {"samples", 100},
                                              {"nodes", 1e15},
                                              {"length_scale_x", field->length_scales[0]},
                                              {"length_scale_y", field->length_scales[1]},
                                              {"signal_variance", field->variance},
                                              {"noise_variance", field->noise},
                                              {"mean", field->mean}},
                                  .deadline = deadline * (double)field->iterations / (double)choices};
    walk_run(&walker, &graph, field->outputs, choices, seed, out);
    for (size_t t = 0; t < choices; t++)
        horizons += (double)out->horizon[t] / (double)choices;
    return horizons;
}

static void run_walks(const struct field *field, double deadline, uint64_t seed)
{
    double start = field->outputs[field->graph.start];
    for (size_t a = 0; a < AGENTS; a++) {
        struct walk walk;
        struct peer peer = {.field = field, .agent = &agents[a], .deadline = deadline, .seed = seed};
        if (agents[a].kind == BY_POLICY)
            results.ahead[a] += walk_by_policy(field, &agents[a], deadline, seed, &walk);
        else
            walk_peer(&peer, &walk);
        results.ahead[a] += peer.rollouts / (double)field->iterations;
        results.output[a][results.len] = walk.average - field->average;
        results.regret[a][results.len] = field->most - fmax(walk.best, start);
    }
    results.len++;
}

static void print_table(const char *name)
{
    for (size_t a = 0; a < AGENTS; a++) {
        struct moments output = {0}, regret = {0}, output_less = {0}, regret_less = {0};
        for (size_t i = 0; i < results.len; i++) {
            moments_add(&output, results.output[a][i]);
            moments_add(&regret, results.regret[a][i]);
            moments_add(&output_less, results.output[0][i] - results.output[a][i]);
            moments_add(&regret_less, results.regret[0][i] - results.regret[a][i]);
        }
        printf("%s,\"%s\",%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3g\n", name, agents[a].label, moments_mean(&output),
               moments_se(&output), moments_mean(&regret), moments_se(&regret), moments_mean(&output_less),
               moments_se(&output_less), moments_mean(&regret_less), moments_se(&regret_less),
               results.ahead[a] / (double)results.len);
    }
    memset(&results, 0, sizeof results);
    fflush(stdout);
}

static double average_of(const double *outputs, size_t n, double *most)
{
    double sum = 0;
    *most = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        sum += outputs[i];
        *most = fmax(*most, outputs[i]);
    }
    return sum / (double)n;
}

static void run_plankton(size_t fields, double deadline)
{
    static double       outputs[SITES];
    static const double length_scales[] = {0.5, 0.5};
    for (uint64_t f = 0; f < fields; f++) {
        uint32_t     site;
        struct field field = {
            .name = "plankton", .outputs = outputs, .length_scales = length_scales, .variance = 1, .noise = NOISE};
        (void)draw_field(100000 + f, outputs);
        field.average = average_of(outputs, SITES, &field.most);
        field.iterations = 5;
        field.graph = field.single = begin(100000 + f, outputs, &site);
        field.single.moves = MOVES_FOUR;
        field.single.steps = 1;
        run_walks(&field, deadline, 7000 + f);
    }
    print_table("plankton");
}

static void run_lab(const char *folder, size_t starts, double deadline)
{
    const struct world *world = &worlds[0];
    struct field        field = {.name = world->name,
                                 .length_scales = world->length_scales,
                                 .variance = world->signal_variance,
                                 .noise = world->noise_variance,
                                 .mean = world->mean,
                                 .iterations = ITERATIONS};
    struct arena        arena;
    struct rng          rng = rng_at(77, 1, RNG_TEST);
    double             *outputs;
    arena_init(&arena, 1 << 26);
    must(read_world(world, folder, &arena, &field.graph, &outputs));
    field.outputs = outputs;
    field.average = average_of(outputs, field.graph.sites_len, &field.most);
    for (size_t i = 0; i < starts; i++) {
        do
            field.graph.start = rng_below(&rng, field.graph.sites_len);
        while (graph_count(&field.graph, field.graph.start) == 0);
        field.single = field.graph;
        field.single.steps = 1;
        run_walks(&field, deadline, 9000 + i);
    }
    print_table(world->name);
    arena_fini(&arena);
}

int main(int argc, char **argv)
{
    const char *folder = getenv("DATA");
    size_t      starts = 35, fields = 100;
    double      ms = 50;
    for (int i = 1; i + 1 < argc; i += 2) {
        starts = strcmp(argv[i], "--starts") == 0 ? strtoul(argv[i + 1], NULL, 10) : starts;
        fields = strcmp(argv[i], "--fields") == 0 ? strtoul(argv[i + 1], NULL, 10) : fields;
        ms = strcmp(argv[i], "--ms") == 0 ? strtod(argv[i + 1], NULL) : ms;
    }
    if (!mat_use_one_thread() || starts < 2 || starts > WALKS_MAX || fields < 2 || fields > WALKS_MAX || !(ms > 0))
        return 2;
    printf("field,agent,output,se,regret,se,output of anytime less its,se,regret of anytime less its,se,ahead\n");
    if (folder == NULL)
        printf("# DATA names no folder with intel_lab: plankton alone\n");
    else
        run_lab(folder, starts, 1e-3 * ms);
    run_plankton(fields, 1e-3 * ms);
    return 0;
}
