/* A member's first 20 trials with the release of a federation, against `gp` alone and others that know something: the mean
 * capped regret of trials 1..10 and 1..20, (best - found) / (best - median) of the task, and the difference from `gp`.
 *   rank_mean [WORLD MEMBERS SEEDS FIRST [ARMS]]     without: landmine 28 1 101, and 1 if rank-3 does not help.  WORLD: landmine,
 * svm, branin, hartmann, hartmann-far, camel, ackley, unrelated
 * ARMS: words of the names of those to run; all when it is left out.
 * Each member has 20 trials of its own by `gp`; a task that is tried is no member's.  The release has a total of epsilon for
 * one member against zeros at delta 1e-5, `vote3` pure: three candidates by the exponential mechanism.  `fts` gets
 * every member's vector, `secure` the members' own noise in place of the server's (masks add up to nothing, and are left out),
 * `dp-fts-de` one broadcast at epsilon 3.
 * svm needs DATA, a folder with svm_benchmark_tst, which has no licence that would allow a copy here.  Functions
 * are shifted by 0.07 sides (far: 0.2), scaled as much and mixed with a random function; unrelated: the tasks that are
 * tried are mirrored, and the random function is five times as large as the members' own. */
#include "engine/federated/broadcast.h"
#include "engine/federated/fts.h"
#include "engine/federated/masked_sum.h"
#include "engine/federated/rank_mean.h"
#include "engine/math/mat.h"
#include "engine/privacy/accountant.h"
#include "engine/registry.h"
#include "tests/bench/functions.h"

enum { TASKS_MAX = 240, TRIALS = 20, CONFIGS = 288, WAVES = 60, TARGETS = 12, PORTFOLIO = 5, FTS_FEATURES = 50 };
enum { LEVELS = 14, CELLS_MAX = 16384, VOTES_MADE = 3 };

/* ---- worlds ---- */

struct made_task {
    double scale[3], shift[3], frequency[WAVES][3], phase[WAVES], weight[WAVES];
};
struct world {
    const char  *name;
    struct space space;
    size_t       tasks; /* 0: as many as there are members, and TARGETS more */
    double (*value)(size_t task, const double *point);
    double spread, share;
    double (*base)(const double *u); /* of made tasks, the larger the better */
};
static double           auc[29][41][41], accuracy[50][CONFIGS];
static int              config_at[3][LEVELS][LEVELS];
static struct made_task made[TASKS_MAX];
static size_t           made_dims, made_members;
static bool             is_unrelated;
static double (*made_base)(const double *u);

static double landmine_value(size_t task, const double *point)
{
    return auc[task][(size_t)point[0]][(size_t)point[1]];
}

static double svm_value(size_t task, const double *point)
{
    size_t kernel = (size_t)point[0], other = kernel == 0 ? (size_t)point[2] : kernel == 1 ? (size_t)point[3] : 0;
    return accuracy[task][config_at[kernel][(size_t)point[1]][other]];
}

static double branin_base(const double *u)
{
    return -log1p(branin((double[]){15 * u[0] - 5, 15 * u[1]}, 2)) / 1.15;
}

static double hartmann_base(const double *u)
{
    return -hartmann(u, 3) / .95;
}

static double camel_base(const double *u)
{
    return -log1p(camel((double[]){4 * u[0] - 2, 2 * u[1] - 1}, 2) + 1.0317);
}

static double ackley_base(const double *u)
{
    return -ackley((double[]){6 * u[0] - 3, 6 * u[1] - 3, 6 * u[2] - 3}, 3) / 1.5;
}

static double made_value(size_t task, const double *point)
{
    const struct made_task *m = &made[task];
    double                  u[3], sum = 0;
    for (size_t j = 0; j < made_dims; j++) {
        double x = is_unrelated && task >= made_members ? 1 - point[j] : point[j];
        u[j] = fmin(fmax((x - .5) * m->scale[j] + .5 + m->shift[j], -.2), 1.2);
    }
    for (size_t w = 0; w < WAVES; w++) {
        double phase = m->phase[w];
        for (size_t j = 0; j < made_dims; j++)
            phase += m->frequency[w][j] * point[j];
        sum += m->weight[w] * cos(phase) * sqrt(2.0 / WAVES);
    }
    return made_base(u) + sum;
}

static const struct param     cube[] = {{.name = "x", .kind = PARAM_DOUBLE, .max = 1},
                                        {.name = "y", .kind = PARAM_DOUBLE, .max = 1},
                                        {.name = "z", .kind = PARAM_DOUBLE, .max = 1}};
static const struct param     grid[] = {{.name = "C", .kind = PARAM_INT, .max = 40},
                                        {.name = "gamma", .kind = PARAM_INT, .max = 40}};
static const double           radial[] = {0}, polynomial[] = {1};
static const struct condition if_radial[] = {{.parent = 0, .values = radial, .values_len = 1}};
static const struct condition if_polynomial[] = {{.parent = 0, .values = polynomial, .values_len = 1}};
static const struct param     machine[] = {
        {.name = "kernel", .kind = PARAM_CATEGORICAL, .max = 2, .choices = 3},
        {.name = "C", .kind = PARAM_INT, .max = 11},
        {.name = "gamma", .kind = PARAM_INT, .max = 13, .when = if_radial, .when_len = 1},
        {.name = "degree", .kind = PARAM_INT, .max = 8, .when = if_polynomial, .when_len = 1}};
static struct world worlds[] = {
    {"landmine", {.kind = SPACE_PARAMETERS, .params = grid, .params_len = 2}, 29, landmine_value, 0, 0, NULL},
    {"svm", {.kind = SPACE_PARAMETERS, .params = machine, .params_len = 4}, 50, svm_value, 0, 0, NULL},
    {"branin", {.kind = SPACE_PARAMETERS, .params = cube, .params_len = 2}, 0, made_value, .07, .2, branin_base},
    {"hartmann", {.kind = SPACE_PARAMETERS, .params = cube, .params_len = 3}, 0, made_value, .07, .2, hartmann_base},
    {"hartmann-far", {.kind = SPACE_PARAMETERS, .params = cube, .params_len = 3}, 0, made_value, .2, .4, hartmann_base},
    {"camel", {.kind = SPACE_PARAMETERS, .params = cube, .params_len = 2}, 0, made_value, .07, .2, camel_base},
    {"ackley", {.kind = SPACE_PARAMETERS, .params = cube, .params_len = 3}, 0, made_value, .07, .2, ackley_base},
    {"unrelated", {.kind = SPACE_PARAMETERS, .params = cube, .params_len = 2}, 0, made_value, .07, .2, branin_base},
};

static bool read_landmine(void)
{
    char  line[512];
    FILE *file = fopen("tests/data/landmine/auc_41x41.csv", "r");
    for (size_t row = 0; file != NULL && row < 29 * 41 && fgets(line, sizeof line, file) != NULL; row++) {
        char *at = strchr(strchr(line, ',') + 1, ',');
        for (size_t i = 0; i < 41; i++)
            auc[row / 41][row % 41][i] = 1e-4 * (double)strtol(at + 1, &at, 10);
    }
    if (file != NULL)
        fclose(file);
    return auc[28][40][40] > 0;
}

/* The place of x among the sorted distinct levels. */
static size_t level_of(double *levels, size_t *len, double x)
{
    size_t at = 0;
    while (at < *len && levels[at] < x - 1e-9)
        at++;
    if (at < *len && fabs(levels[at] - x) < 1e-9)
        return at;
    memmove(levels + at + 1, levels + at, (*len - at) * sizeof *levels);
    levels[at] = x;
    ++*len;
    return at;
}

static bool read_numbers(const char *file, size_t lines, size_t cells, double *out)
{
    static char line[1 << 14];
    char        path[1024];
    const char *folder = getenv("DATA");
    snprintf(path, sizeof path, "%.900s/svm_benchmark_tst/%s", folder == NULL ? "." : folder, file);
    FILE *in = fopen(path, "r");
    bool  good = in != NULL && fgets(line, sizeof line, in) != NULL;
    for (size_t row = 0; good && row < lines; row++) {
        good = fgets(line, sizeof line, in) != NULL;
        char *at = strchr(line, ',');
        for (size_t i = 0; i < cells && at != NULL; i++, at = strchr(at + 1, ','))
            out[row * cells + i] = strtod(at + 1, NULL);
    }
    if (in != NULL)
        fclose(in);
    return good;
}

static bool read_svm(void)
{
    static double rows[CONFIGS][6];
    double        levels[3][CONFIGS];
    size_t        len[3] = {0};
    if (!read_numbers("configs.csv", CONFIGS, 6, rows[0]) ||
        !read_numbers("accuracy_matrix_50x288.csv", 50, CONFIGS, accuracy[0]))
        return false;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < CONFIGS; i++) {
            size_t kernel = rows[i][0] > .5 ? 0 : rows[i][1] > .5 ? 1 : 2, c = level_of(levels[0], &len[0], rows[i][3]);
            size_t other = kernel == 2 ? 0 : level_of(levels[1 + kernel], &len[1 + kernel], rows[i][4 + kernel]);
            config_at[kernel][c][other] = i;
        }
    return len[0] == 12 && len[1] == 14 && len[2] == 9;
}

static void make_tasks(const struct world *w, size_t members, uint64_t seed)
{
    struct rng rng = rng_at(seed, 900, RNG_TEST);
    made_dims = w->space.params_len;
    made_base = w->base;
    made_members = members;
    for (size_t t = 0; t < members + TARGETS; t++) {
        struct made_task *m = &made[t];
        double            share = w->share * (is_unrelated && t >= members ? 5 : 1);
        for (size_t j = 0; j < made_dims; j++) {
            m->scale[j] = exp(w->spread * rng_normal(&rng));
            m->shift[j] = w->spread * rng_normal(&rng);
        }
        for (size_t i = 0; i < WAVES; i++) {
            for (size_t j = 0; j < made_dims; j++)
                m->frequency[i][j] = rng_normal(&rng) / .25;
            m->phase[i] = 2 * PI * rng_uniform(&rng);
            m->weight[i] = share * rng_normal(&rng);
        }
    }
}

/* The best and the median value of a task, over its points or a grid of them. */
static void levels_of(const struct world *w, size_t task, double *best, double *median)
{
    static double values[CELLS_MAX];
    double        point[4], side = w->space.params_len == 2 ? 127 : 24;
    size_t        len = 0;
    bool          is_finite = w->space.params != cube;
    if (is_finite) {
        (void)space_first(&w->space, point);
        do
            values[len++] = w->value(task, point);
        while (space_step(&w->space, point));
    } else {
        size_t cells = (size_t)pow(side + 1, (double)w->space.params_len);
        for (; len < cells; len++) {
            for (size_t j = 0, i = len; j < w->space.params_len; j++, i /= (size_t)side + 1)
                point[j] = (double)(i % ((size_t)side + 1)) / side;
            values[len] = w->value(task, point);
        }
    }
    *best = -HUGE_VAL;
    for (size_t i = 0; i < len; i++)
        *best = fmax(*best, values[i]);
    double low = -1e3, high = *best;
    for (int i = 0; i < 60; i++) {
        size_t below = 0;
        *median = (low + high) / 2;
        for (size_t k = 0; k < len; k++)
            below += values[k] <= *median;
        *(2 * below < len ? &low : &high) = *median;
    }
}

/* ---- studies ---- */

struct agent {
    const struct policy *policy;
    struct problem       problem;
    double               options[32];
    struct session      *session;
    struct proposal      proposal;
    double               point[4];
    uint64_t             trials;
    size_t               task;
};

static void set(struct agent *a, const char *name, double value)
{
    a->options[policy_option(a->policy, name)] = value;
}

static void agent_init(struct agent *a, const struct world *w, const char *policy, size_t task, uint64_t seed)
{
    memset(a, 0, sizeof *a);
    a->policy = policy_find(policy);
    a->task = task;
    policy_defaults(a->policy, a->options);
    a->problem = (struct problem){
        .space = &w->space, .options = a->options, .seed = seed * 1000 + task, .memory_bytes = 64 << 20};
    if (policy_option(a->policy, "length_scale") >= 0) {
        set(a, "features", FTS_FEATURES);
        set(a, "length_scale", .3);
        set(a, "initial", 3);
    }
}

static void agent_open(struct agent *a)
{
    must(a->policy->open(a->policy, &a->problem, &a->session, NULL), NULL);
    a->proposal.point = a->point;
}

static double agent_tell(struct agent *a, const struct world *w, const double *point, bool has_note)
{
    double       value = w->value(a->task, point);
    struct event event = {.kind = EVENT_SUGGESTED, .trial = ++a->trials, .point = point};
    if (has_note && a->proposal.note_bytes > 0) {
        event.note = a->proposal.note;
        event.note_bytes = a->proposal.note_bytes;
    }
    must(a->policy->tell(a->session, &event, NULL), NULL);
    event = (struct event){.kind = EVENT_OBSERVED, .trial = a->trials, .point = point, .value = value};
    must(a->policy->tell(a->session, &event, NULL), NULL);
    return value;
}

static double agent_step(struct agent *a, const struct world *w)
{
    must(a->policy->ask(a->session, &(struct ask){.trial = a->trials + 1}, &a->proposal, NULL), NULL);
    return agent_tell(a, w, a->point, true);
}

static void agent_receive(struct agent *a, uint64_t sender, const double *vectors, size_t len)
{
    must(a->policy->tell(
             a->session,
             &(struct event){
                 .kind = EVENT_RECEIVED, .round = 1, .sender = sender, .vectors = vectors, .vectors_len = len},
             NULL),
         NULL);
}

/* ---- members ---- */

struct member {
    double points[TRIALS][4], rank[RANK_FEATURES_MAX], fts[FTS_FEATURES], mean[RANK_CANDIDATES],
        quality[RANK_CANDIDATES];
};
static struct member members[TASKS_MAX];
enum { FEATURES = 20 };

static void member_run(struct member *m, const struct world *w, size_t task, uint64_t seed,
                       const struct rank_basis *basis)
{
    static struct agent gp, own, fts;
    double              order[RANK_CANDIDATES];
    agent_init(&gp, w, "gp", task, seed);
    agent_init(&own, w, "rank-mean", task, seed);
    agent_init(&fts, w, "fts", task, seed);
    set(&own, "features", (double)FEATURES);
    agent_open(&gp);
    agent_open(&own);
    agent_open(&fts);
    for (size_t t = 0; t < TRIALS; t++) {
        agent_step(&gp, w);
        memcpy(m->points[t], gp.point, sizeof m->points[t]);
        agent_tell(&own, w, gp.point, false);
        agent_tell(&fts, w, gp.point, false);
    }
    must(own.policy->message(own.session, 1, m->rank, NULL), NULL);
    must(fts.policy->message(fts.session, 1, m->fts, NULL), NULL);
    struct prediction wanted = {.points = basis->points, .m = RANK_CANDIDATES, .mean = m->mean};
    must(gp.policy->predict(gp.session, &wanted, NULL), NULL);
    for (size_t c = 0; c < RANK_CANDIDATES; c++) {
        order[c] = 0;
        for (size_t i = 0; i < RANK_CANDIDATES; i++)
            order[c] += m->mean[i] < m->mean[c];
        m->quality[c] = pow(order[c] / (RANK_CANDIDATES - 1), 4);
    }
    gp.policy->close(gp.session);
    own.policy->close(own.session);
    fts.policy->close(fts.session);
}

/* ---- arms ---- */

enum kind { ALONE, SOON, RANDOM, OPEN, VOTES, FTS, DE, RANK };
static const struct arm {
    const char *name;
    enum kind   kind;
    double      epsilon, guided;
    size_t      after; /* trials before the release comes */
    bool        is_secure;
} arms[] = {
    {.name = "gp", .kind = ALONE},
    {.name = "gp-initial-3", .kind = SOON},
    {.name = "random-5", .kind = RANDOM},
    {.name = "open-portfolio", .kind = OPEN},
    {.name = "vote3-3", .kind = VOTES, .epsilon = 3},
    {.name = "vote3-1", .kind = VOTES, .epsilon = 1},
    {.name = "fts", .kind = FTS},
    {.name = "dp-fts-de-3", .kind = DE, .epsilon = 3},
    {.name = "rank-open", .kind = RANK, .guided = 5},
    {.name = "rank-3", .kind = RANK, .epsilon = 3, .guided = 5},
    {.name = "rank-1", .kind = RANK, .epsilon = 1, .guided = 5},
    {.name = "rank-.5", .kind = RANK, .epsilon = .5, .guided = 5},
    {.name = "secure-3", .kind = RANK, .epsilon = 3, .guided = 5, .is_secure = true},
    {.name = "secure-1", .kind = RANK, .epsilon = 1, .guided = 5, .is_secure = true},
    {.name = "rank-3-all", .kind = RANK, .epsilon = 3, .guided = 20},
    {.name = "rank-3-after-5", .kind = RANK, .epsilon = 3, .guided = 5, .after = 5},
    {.name = "rank-3-after-10", .kind = RANK, .epsilon = 3, .guided = 5, .after = 10},
    {.name = "rank-1-after-10", .kind = RANK, .epsilon = 1, .guided = 5, .after = 10},
};
enum { ARMS = sizeof arms / sizeof arms[0] };
static double regrets[ARMS][1000][TRIALS];
static size_t runs;

static double multiplier(double epsilon)
{
    static double         known[2][16];
    static size_t         len;
    struct arena          arena;
    struct accountant_run run = {.q = 1, .releases = 1};
    for (size_t i = 0; i < len; i++)
        if (known[0][i] == epsilon)
            return known[1][i];
    arena_init(&arena, 1 << 26);
    must(accountant_multiplier(&run, 1e-5, epsilon, &arena, NULL), NULL);
    arena_fini(&arena);
    known[0][len] = epsilon;
    known[1][len++] = run.z;
    return run.z;
}

static enum status bits(void *rng, void *out, size_t length, struct error *err)
{
    unsigned char *at = out;
    (void)err;
    for (size_t i = 0; i < length; i++)
        at[i] = (unsigned char)rng_u64(rng);
    return STATUS_OK;
}

/* The server's broadcast of the vectors of the others. */
static void release(const size_t *others, size_t n, bool is_rank, double epsilon, struct rng *rng, double *out)
{
    static size_t    region_of[TASKS_MAX];
    size_t           len = is_rank ? FEATURES : FTS_FEATURES;
    int64_t          k[RANK_FEATURES_MAX], sums[RANK_FEATURES_MAX] = {0};
    struct sampler   sampler;
    struct broadcast b = {.agents = n,
                          .features = len,
                          .regions = 1,
                          .region_of = region_of,
                          .schedule = {.a = 1, .b = 1},
                          .clip = is_rank ? 1 : 8,
                          .q = 1,
                          .z = epsilon > 0 ? multiplier(epsilon) : 0.1};
    sampler_init(&sampler, bits, rng);
    must(broadcast_plan(&b, NULL), NULL);
    for (size_t i = 0; i < n; i++)
        broadcast_add(&b, i, is_rank ? members[others[i]].rank : members[others[i]].fts, k, sums);
    if (epsilon > 0)
        must(broadcast_finish(&b, sums, &sampler, out, NULL), NULL);
    else
        for (size_t j = 0; j < len; j++)
            out[j] = b.step * (double)sums[j];
}

/* The members' sum, each with its share of the noise. */
static void release_masked(const size_t *others, size_t n, double epsilon, struct rng *rng, double *out)
{
    int64_t                     k[RANK_FEATURES_MAX];
    uint64_t                    own[RANK_FEATURES_MAX], sums[RANK_FEATURES_MAX] = {0};
    struct sampler              sampler;
    struct masked_sum           plan;
    const struct masked_scratch scratch = {.sampler = &sampler, .k = k};
    sampler_init(&sampler, bits, rng);
    must(masked_plan(n, multiplier(epsilon), &plan, NULL), NULL);
    for (size_t i = 0; i < n; i++) {
        must(masked_quantise(&plan, members[others[i]].rank, FEATURES, &scratch, own, NULL), NULL);
        for (size_t j = 0; j < FEATURES; j++)
            sums[j] += own[j];
    }
    for (size_t j = 0; j < FEATURES; j++)
        out[j] = (double)(int64_t)sums[j] / MASKED_STEPS / (double)n;
}

/* The standard deviation of the release's noise, as federation_forecast has it. */
static double release_sd(const struct arm *arm, size_t n)
{
    struct masked_sum plan;
    double            z = arm->epsilon > 0 ? multiplier(arm->epsilon) : 0;
    if (!arm->is_secure)
        return z / (double)n;
    must(masked_plan(n, z, &plan, NULL), NULL);
    return z / (double)n * sqrt((double)n / (double)plan.honest);
}

/* The candidate that adds most to the members' best so far.  With noise, a scale of Gumbel's law: that is the exponential
 * mechanism, of 1 / noise for a member against none, since a gain is in 0 .. 1 and no member lessens it. */
static size_t greedy(const size_t *others, size_t n, double *best, double noise, struct rng *rng)
{
    size_t chosen = 0;
    double most = -HUGE_VAL;
    for (size_t c = 0; c < RANK_CANDIDATES; c++) {
        double gain = 0;
        for (size_t i = 0; i < n; i++)
            gain += fmax(0, members[others[i]].quality[c] - best[i]);
        gain -= noise > 0 ? noise * log(-log(rng_uniform(rng))) : 0;
        if (gain > most) {
            most = gain;
            chosen = c;
        }
    }
    for (size_t i = 0; i < n; i++)
        best[i] = fmax(best[i], members[others[i]].quality[chosen]);
    return chosen;
}

/* An agent that is to do as the arm says, with its options set and open. */
static void open_arm(struct agent *a, const struct arm *arm, const struct world *w, size_t task, uint64_t seed,
                     size_t members_len)
{
    static const char *policies[] = {[ALONE] = "gp", [SOON] = "gp", [RANDOM] = "gp",    [OPEN] = "gp",
                                     [VOTES] = "gp", [FTS] = "fts", [DE] = "dp-fts-de", [RANK] = "rank-mean"};
    agent_init(a, w, policies[arm->kind], task, seed + 77);
    if (arm->kind == RANK) {
        set(a, "features", (double)FEATURES);
        set(a, "guided", arm->guided);
        set(a, "release_sd", release_sd(arm, members_len));
    }
    if (arm->kind == SOON)
        set(a, "initial", 3);
    agent_open(a);
}

/* Gives the agent the others' messages, or the release, which it receives now or after the arm's trials. */
static void learn(struct agent *a, const struct arm *arm, const size_t *others, size_t n, struct rng *rng,
                  double *vector)
{
    for (size_t i = 0; i < n && arm->kind == FTS; i++)
        agent_receive(a, i + 1, members[others[i]].fts, FTS_FEATURES);
    if (arm->kind != RANK && arm->kind != DE)
        return;
    if (arm->is_secure)
        release_masked(others, n, arm->epsilon, rng, vector);
    else
        release(others, n, arm->kind == RANK, arm->epsilon, rng, vector);
    if (arm->after == 0)
        agent_receive(a, 0, vector, arm->kind == RANK ? FEATURES : FTS_FEATURES);
}

static void run_arm(const struct arm *arm, const struct world *w, size_t task, uint64_t seed, const size_t *others,
                    size_t n, const struct rank_basis *basis, double *regret)
{
    static struct agent a;
    double              vector[RANK_FEATURES_MAX], quality[TASKS_MAX] = {0}, best, median, found = -HUGE_VAL;
    struct rng          rng = rng_at(seed, 7000 + task, RNG_TEST);
    static const size_t given[] = {[RANDOM] = PORTFOLIO, [OPEN] = PORTFOLIO, [VOTES] = VOTES_MADE, [RANK] = 0};
    double              noise = arm->kind == VOTES ? VOTES_MADE / arm->epsilon : 0;
    open_arm(&a, arm, w, task, seed, n);
    learn(&a, arm, others, n, &rng, vector);
    levels_of(w, task, &best, &median);
    for (size_t t = 0; t < TRIALS; t++) {
        if (arm->after > 0 && t == arm->after)
            agent_receive(&a, 0, vector, FEATURES);
        bool   is_given = t < given[arm->kind];
        size_t c = !is_given             ? 0
                   : arm->kind == RANDOM ? rng_below(&rng, RANK_CANDIDATES)
                                         : greedy(others, n, quality, noise, &rng);
        double value = is_given ? agent_tell(&a, w, basis->points + c * w->space.params_len, false) : agent_step(&a, w);
        found = fmax(found, value);
        regret[t] = fmin(1, fmax(0, (best - found) / (best - median)));
    }
    a.policy->close(a.session);
}

static void run_task(const struct world *w, size_t task, size_t wanted, uint64_t seed, const struct rank_basis *basis,
                     const char *only)
{
    size_t     others[TASKS_MAX], n = 0, tasks = w->tasks > 0 ? w->tasks : wanted;
    struct rng rng = rng_at(seed, task, RNG_TEST);
    for (size_t o = 0; o < tasks; o++)
        if (o != task)
            others[n++] = o;
    while (n > wanted)
        others[rng_below(&rng, n)] = others[n - 1], n--;
    for (size_t k = 0; k < ARMS; k++)
        if (k == 0 || only == NULL || strstr(only, arms[k].name) != NULL)
            run_arm(&arms[k], w, task, seed, others, n, basis, regrets[k][runs]);
    runs++;
}

static double mean_to(const double *regret, size_t trials)
{
    double sum = 0;
    for (size_t t = 0; t < trials; t++)
        sum += regret[t] / (double)trials;
    return sum;
}

/* Returns the difference of rank-3 over 20 trials in standard errors. */
static double report(const struct world *w, size_t wanted, const char *only)
{
    double z = 0;
    for (size_t k = 0; k < ARMS; k++) {
        double              at[5] = {0}, mean[2] = {0}, gain[2] = {0}, squares[2] = {0}, n = (double)runs;
        static const size_t times[5] = {1, 3, 5, 10, 20};
        if (k > 0 && only != NULL && strstr(only, arms[k].name) == NULL)
            continue;
        for (size_t r = 0; r < runs; r++) {
            for (int i = 0; i < 5; i++)
                at[i] += regrets[k][r][times[i] - 1] / n;
            for (int b = 0; b < 2; b++) {
                double own = mean_to(regrets[k][r], 10u * (unsigned)(b + 1)),
                       d = own - mean_to(regrets[0][r], 10u * (unsigned)(b + 1));
                mean[b] += own / n;
                gain[b] += d / n;
                squares[b] += d * d / n;
            }
        }
        printf("%s,%zu,%s,%zu,%.3f,%.3f,%.3f,%.3f,%.3f", w->name, wanted, arms[k].name, runs, at[0], at[1], at[2],
               at[3], at[4]);
        for (int b = 0; b < 2; b++) {
            double se = sqrt(fmax(squares[b] - gain[b] * gain[b], 0) / (n - 1));
            z = strcmp(arms[k].name, "rank-3") == 0 ? gain[b] / se : z;
            printf(",%.3f,%+.3f,%.3f", mean[b], gain[b], se);
        }
        printf("\n");
    }
    fflush(stdout);
    return z;
}

static struct world *find_world(const char *name)
{
    struct world *found = NULL;
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++)
        if (strcmp(worlds[i].name, name) == 0)
            found = &worlds[i];
    return found;
}

/* The members run, and then every task that has none or, where tasks are data, each of them. */
static void run_seed(struct world *w, size_t wanted, uint64_t seed, const struct rank_basis *basis, const char *only)
{
    bool   is_data = w->tasks > 0;
    size_t tasks = is_data ? w->tasks : wanted + TARGETS;
    if (!is_data)
        make_tasks(w, wanted, seed);
    for (size_t t = 0; t < (is_data ? tasks : wanted); t++)
        member_run(&members[t], w, t, seed, basis);
    for (size_t t = is_data ? 0 : wanted; t < tasks; t++)
        run_task(w, t, wanted, seed, basis, only);
    fprintf(stderr, "%s seed %llu\n", w->name, (unsigned long long)seed);
}

int main(int argc, char **argv)
{
    bool          is_told = argc > 4;
    struct world *w = find_world(is_told ? argv[1] : "landmine");
    if (w == NULL || (argc > 1 && !is_told)) {
        fprintf(stderr, "rank_mean [WORLD MEMBERS SEEDS FIRST [ARMS]]\n");
        return 2;
    }
    size_t            wanted = is_told ? (size_t)atoi(argv[2]) : 28, seeds = is_told ? (size_t)atoi(argv[3]) : 1;
    size_t            first = is_told ? (size_t)atoi(argv[4]) : 101;
    const char       *only = argc > 5 ? argv[5] : NULL;
    struct arena      arena;
    struct rank_basis basis;
    is_unrelated = strcmp(w->name, "unrelated") == 0;
    (void)mat_use_one_thread();
    arena_init(&arena, 1 << 26);
    must(space_init(&w->space, NULL), NULL);
    must(space_hold(&w->space, NULL, &arena, &w->space, NULL), NULL);
    if ((w->value == landmine_value && !read_landmine()) || (w->value == svm_value && !read_svm())) {
        printf("# the data of %s are not there\n", w->name);
        return 0;
    }
    must(rank_basis_init(&basis, &w->space, FEATURES, &arena, NULL), NULL);
    printf("world,members,arm,runs,@1,@3,@5,@10,@20,mean 1-10,difference,s.e.,mean 1-20,difference,s.e.\n");
    for (size_t seed = first; seed < first + seeds; seed++)
        run_seed(w, wanted, seed, &basis, only);
    double z = report(w, wanted, only);
    arena_fini(&arena);
    return is_told || z < -2 ? 0 : 1;
}
