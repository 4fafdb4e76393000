/* A member's first 20 trials with the release of a federation, against `gp` alone and others that know something: the mean
 * capped regret of trials 1..5, 1..10 and 1..20, (best - found) / (best - median) of the task, and the difference from `gp` with
 * its standard error; after how many trials the regret is that of 20 trials of `gp`; and the difference that rank_forecast.h
 * foretells.
 *   rank_mean [WORLD MEMBERS SEEDS FIRST [ARMS]]     without: landmine 28 1 101, and 1 if rank-3 does not help.  WORLD: landmine,
 * svm, mlp, branin, branin-far, hartmann, hartmann-far, camel, ackley, unrelated, hartmann-unrelated
 * MEMBERS: 10,20,50, say: fewer members are some of the most.  ARMS: words of the names of those to run; all when it is left out.
 * Each member has 20 trials of its own by `gp`; a task that is tried is no member's.  Of few tasks several members have each.
 * The release has a total of epsilon for one member against zeros at delta 1e-5, `vote3` pure: three candidates by the exponential
 * mechanism.  `transfer` has all trials of the members, `fts`
 * every member's vector, `secure` the members' own noise in place of the server's (masks add up to nothing, and are left out),
 * `dp-fts-de` one broadcast at epsilon 3.
 * svm and mlp need DATA, a folder with svm_benchmark_tst and hpobench_tabular.  Where mlp has no value its nearest neighbour's
 * stands.  Functions are shifted by 0.07 sides (far: 0.2), scaled as much and mixed with a random function; unrelated: the tasks
 * that are tried are mirrored, and the random function is five times as large as the members' own.
 * Standard errors are of groups that are independent: the runs of one seed, which share their members, or of one task of data. */
#include "engine/policy/session.h"
#include "engine/federated/broadcast.h"
#include "engine/federated/fts.h"
#include "engine/federated/masked_sum.h"
#include "engine/federated/rank_forecast.h"
#include "engine/federated/rank_mean.h"
#include "engine/math/mat.h"
#include "engine/privacy/accountant.h"
#include "engine/registry.h"
#include "tests/bench/rank_worlds.h"

enum { TRIALS = 20, PORTFOLIO = 5, FTS_FEATURES = 50, VOTES_MADE = 3, SIZES = 4, RUNS = 1000 };

/* ---- studies ---- */

struct agent {
    const struct policy *policy;
    struct problem       problem;
    double               options[32];
    struct session      *session;
    struct proposal      proposal;
    double               point[PARAMS];
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
    must(session_open(a->policy, &a->problem, &a->session, NULL), NULL);
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
    size_t task;
    double points[TRIALS][PARAMS], values[TRIALS], rank[RANK_FEATURES_MAX], fts[FTS_FEATURES], mean[RANK_CANDIDATES],
        quality[RANK_CANDIDATES];
};
static struct member members[TASKS_MAX];
enum { FEATURES = 20 };

static void member_run(struct member *m, const struct world *w, size_t task, uint64_t seed,
                       const struct rank_basis *basis)
{
    static struct agent gp, own, fts;
    double              order[RANK_CANDIDATES];
    m->task = task;
    agent_init(&gp, w, "gp", task, seed);
    agent_init(&own, w, "rank-mean", task, seed);
    agent_init(&fts, w, "fts", task, seed);
    set(&own, "features", (double)FEATURES);
    agent_open(&gp);
    agent_open(&own);
    agent_open(&fts);
    for (size_t t = 0; t < TRIALS; t++) {
        m->values[t] = agent_step(&gp, w);
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
    session_close(gp.session);
    session_close(own.session);
    session_close(fts.session);
}

/* ---- arms ---- */

enum kind { ALONE, RANDOM, OPEN, TRANSFER, VOTES, FTS, DE, RANK };
static const struct arm {
    const char *name;
    enum kind   kind;
    double      epsilon, guided;
    size_t      after; /* trials before the release comes */
    bool        is_secure;
} arms[] = {
    {.name = "gp", .kind = ALONE},
    {.name = "random-5", .kind = RANDOM},
    {.name = "open-portfolio", .kind = OPEN},
    {.name = "transfer", .kind = TRANSFER},
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
    {.name = "rank-3-after-10", .kind = RANK, .epsilon = 3, .guided = 5, .after = 10},
};
enum { ARMS = sizeof arms / sizeof arms[0] };
static struct results {
    size_t members, runs;
    double regrets[ARMS][RUNS][TRIALS];
    size_t group[RUNS];
} results[SIZES];

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

/* All that the others know, as earlier studies. */
static void give_trials(struct agent *a, const struct world *w, const size_t *others, size_t n)
{
    static struct earlier_study studies[TASKS_MAX];
    static double               points[TASKS_MAX][TRIALS * PARAMS];
    size_t                      len = w->space.params_len;
    for (size_t i = 0; i < n; i++) {
        const struct member *m = &members[others[i]];
        for (size_t t = 0; t < TRIALS; t++)
            memcpy(points[i] + t * len, m->points[t], len * sizeof(double));
        studies[i] = (struct earlier_study){.name = "other", .points = points[i], .values = m->values, .n = TRIALS};
    }
    a->problem.earlier = studies;
    a->problem.earlier_len = n;
}

/* An agent that is to do as the arm says, with its options set and open. */
static void open_arm(struct agent *a, const struct arm *arm, const struct world *w, size_t task, uint64_t seed,
                     const size_t *others, size_t n)
{
    static const char *policies[] = {[ALONE] = "gp", [RANDOM] = "gp", [OPEN] = "gp",      [TRANSFER] = "transfer",
                                     [VOTES] = "gp", [FTS] = "fts",   [DE] = "dp-fts-de", [RANK] = "rank-mean"};
    agent_init(a, w, policies[arm->kind], task, seed + 77);
    if (arm->kind == RANK) {
        set(a, "features", (double)FEATURES);
        set(a, "guided", arm->guided);
        set(a, "release_sd", release_sd(arm, n));
    }
    if (arm->kind == TRANSFER)
        give_trials(a, w, others, n);
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
    open_arm(&a, arm, w, task, seed, others, n);
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
    session_close(a.session);
}

static bool is_asked(size_t arm, const char *only)
{
    return arm == 0 || only == NULL || strstr(only, arms[arm].name) != NULL;
}

/* Members are drawn from those that have another task. */
static void run_task(const struct world *w, size_t task, size_t made_len, uint64_t seed, const struct rank_basis *basis,
                     const char *only)
{
    size_t                others[TASKS_MAX], n = 0;
    struct rng            rng = rng_at(seed, task, RNG_TEST);
    const struct results *larger = NULL; /* has what knows no member already */
    for (size_t o = 0; o < made_len; o++)
        if (members[o].task != task)
            others[n++] = o;
    for (size_t size = SIZES; size-- > 0;) {
        struct results *to = &results[size];
        if (to->members == 0)
            continue;
        while (n > to->members)
            others[rng_below(&rng, n)] = others[n - 1], n--;
        for (size_t k = 0; k < ARMS; k++)
            if (is_asked(k, only) && (arms[k].kind > RANDOM || larger == NULL))
                run_arm(&arms[k], w, task, seed, others, n, basis, to->regrets[k][to->runs]);
            else if (is_asked(k, only))
                memcpy(to->regrets[k][to->runs], larger->regrets[k][to->runs], sizeof larger->regrets[k][0]);
        larger = to;
        to->group[to->runs++] = w->tasks > 0 ? task : seed;
    }
}

static double mean_to(const double *regret, size_t trials)
{
    double sum = 0;
    for (size_t t = 0; t < trials; t++)
        sum += regret[t] / (double)trials;
    return sum;
}

/* The mean difference of arms over so many trials, and its standard error by groups. */
static double differ(const struct results *from, const size_t pair[2], size_t trials, double *se)
{
    double d[RUNS], gain = 0, squares = 0, groups = 0, n = (double)from->runs;
    for (size_t r = 0; r < from->runs; r++) {
        d[r] = mean_to(from->regrets[pair[0]][r], trials) - mean_to(from->regrets[pair[1]][r], trials);
        gain += d[r] / n;
    }
    for (size_t r = 0; r < from->runs; r++) {
        double sum = 0;
        bool   is_first = true;
        for (size_t q = 0; q < from->runs; q++)
            if (from->group[q] == from->group[r]) {
                is_first = is_first && q >= r;
                sum += d[q] - gain;
            }
        groups += is_first;
        squares += is_first ? sum * sum : 0;
    }
    *se = sqrt(squares * groups / (groups - 1)) / n;
    return gain;
}

/* The mean regret of an arm after each trial. */
static void curve_of(const struct results *from, size_t arm, double curve[TRIALS])
{
    for (size_t t = 0; t < TRIALS; t++) {
        curve[t] = 0;
        for (size_t r = 0; r < from->runs; r++)
            curve[t] += from->regrets[arm][r][t] / (double)from->runs;
    }
}

/* Prints what rank_forecast.h foretells of rank-mean, and the regret of vote3 less that of rank-mean. */
static void print_beside(const struct results *from, size_t arm, double alone, const char *only)
{
    double se, n = (double)from->members, multiplier = release_sd(&arms[arm], from->members) * n;
    if (arms[arm].kind == RANK && arms[arm].epsilon > 0)
        printf(",%+.3f", rank_forecast(from->members, FEATURES, multiplier).change * alone);
    for (size_t k = 0; k < ARMS && arms[arm].kind == VOTES; k++)
        if (arms[k].kind == RANK && arms[k].epsilon == arms[arm].epsilon && is_asked(k, only)) {
            double less = differ(from, (size_t[]){arm, k}, TRIALS, &se);
            printf(",,%+.3f,%.3f", less, se);
            return;
        }
}

/* Returns the difference of rank-3 over 20 trials in standard errors. */
static double report(const struct world *w, const struct results *from, const char *only)
{
    double alone[TRIALS], curve[TRIALS], se, gain, z = 0;
    curve_of(from, 0, alone);
    for (size_t k = 0; k < ARMS; k++) {
        size_t reached = 0;
        if (!is_asked(k, only))
            continue;
        curve_of(from, k, curve);
        while (reached < TRIALS && curve[reached] > alone[TRIALS - 1])
            reached++;
        printf("%s,%zu,%s,%zu,%.3f,%.3f,%.3f,%.3f,%.3f,%zu", w->name, from->members, arms[k].name, from->runs, curve[0],
               curve[2], curve[4], curve[9], curve[19], reached + 1);
        for (size_t trials = 5; trials <= TRIALS; trials *= 2) {
            gain = differ(from, (size_t[]){k, 0}, trials, &se);
            printf(",%.3f,%+.3f,%.3f", mean_to(curve, trials), gain, se);
        }
        if (strcmp(arms[k].name, "rank-3") == 0)
            z = gain / se;
        print_beside(from, k, mean_to(alone, TRIALS), only);
        printf("\n");
    }
    fflush(stdout);
    return z;
}

/* The members run, and then every task that has none or, where tasks are data, each of them. */
static void run_seed(struct world *w, size_t wanted, uint64_t seed, const struct rank_basis *basis, const char *only)
{
    bool   is_data = w->tasks > 0;
    size_t clones = is_data ? (wanted + w->tasks - 2) / (w->tasks - 1) : 1;
    size_t made_len = is_data ? w->tasks * clones : wanted, tasks = is_data ? w->tasks : wanted + TARGETS;
    if (!is_data)
        make_tasks(w, wanted, seed);
    for (size_t i = 0; i < made_len; i++) {
        size_t task = is_data ? i % w->tasks : i;
        member_run(&members[i], w, task, seed + 10000 * (i / (is_data ? w->tasks : made_len)), basis);
    }
    for (size_t t = is_data ? 0 : wanted; t < tasks; t++)
        run_task(w, t, made_len, seed, basis, only);
    fprintf(stderr, "%s seed %llu\n", w->name, (unsigned long long)seed);
}

/* The sizes of federations, the least first; returns the largest. */
static size_t read_sizes(const char *text)
{
    size_t most = 0;
    for (size_t i = 0; i < SIZES && *text != 0; i++) {
        char *end;
        results[i].members = most = strtoul(text, &end, 10);
        text = *end == ',' ? end + 1 : end;
    }
    return most;
}

int main(int argc, char **argv)
{
    bool          is_told = argc > 4;
    struct world *w = find_world(is_told ? argv[1] : "landmine");
    if (w == NULL || (argc > 1 && !is_told)) {
        fprintf(stderr, "rank_mean [WORLD MEMBERS SEEDS FIRST [ARMS]]\n");
        return 2;
    }
    size_t            wanted = read_sizes(is_told ? argv[2] : "28"), seeds = is_told ? (size_t)atoi(argv[3]) : 1;
    size_t            first = is_told ? (size_t)atoi(argv[4]) : 101;
    const char       *only = argc > 5 ? argv[5] : NULL;
    struct arena      arena;
    struct rank_basis basis;
    is_unrelated = strstr(w->name, "unrelated") != NULL;
    (void)mat_use_one_thread();
    arena_init(&arena, 1 << 26);
    must(space_init(&w->space, NULL), NULL);
    must(space_hold(&w->space, NULL, &arena, &w->space, NULL), NULL);
    if ((w->value == landmine_value && !read_landmine()) || (w->value == svm_value && !read_svm()) ||
        (w->value == net_value && !read_nets())) {
        printf("# the data of %s are not there\n", w->name);
        return 0;
    }
    must(rank_basis_init(&basis, &w->space, FEATURES, &arena, NULL), NULL);
    printf("world,members,arm,runs,@1,@3,@5,@10,@20,reached,mean 1-5,difference,s.e.,mean 1-10,difference,s.e.,"
           "mean 1-20,difference,s.e.,forecast,less rank-mean,s.e.\n");
    for (size_t seed = first; seed < first + seeds; seed++)
        run_seed(w, wanted, seed, &basis, only);
    double z = 0;
    for (size_t i = 0; i < SIZES && results[i].members > 0; i++)
        z = report(w, &results[i], only);
    arena_fini(&arena);
    return is_told || z < -2 ? 0 : 1;
}
