/* Algorithm 4: a tree of samples that grows where its bounds are widest.  See macro_plan.h for what differs.
 * A node is a state d_t; of each of its macro-actions it keeps lower and upper bounds of V at the N samples, and the
 * nodes that have grown from them.  At stage H - 2 and later the values of the samples are exact (the most likely
 * value of the last stage is the value), so such a node keeps its value and nothing else.
 * Invariants: lower <= upper everywhere; bounds only move inwards. */
#include "engine/planning/macro_plan.h"

#include "engine/math/mat.h"

#include <math.h>
#include <string.h>

enum { POLL_SUMS = 1 << 20 };

struct node;
struct branch {          /* a macro-action at a node */
    double        stage; /* R(x_t+1, d_t) */
    double        lower, upper;
    double       *lows, *highs; /* [N] of V at the samples; NULL when lower == upper from the start */
    struct node **nodes;        /* [N] or NULL */
};
struct node {
    size_t         step; /* the path prefix that ends here */
    const double  *z;    /* [sites on the path] */
    double         lower, upper;
    struct branch *branches; /* [children of the step] */
};

/* Samples that all nodes after the same prefix share. */
struct prefix {
    double *z;       /* [N][len]; NULL until it is needed */
    double *y;       /* [N][len] outputs less their mean */
    size_t  nearest; /* the sample closest to the mean */
};

struct grow {
    const struct macro_tree *tree;
    struct macro_search     *search;
    struct arena            *arena;
    struct prefix           *prefixes; /* [steps before the last stage] */
    double                   sums;     /* since the last look at the clock */
    bool                     is_over;  /* the last look at the clock was too late */
    double                  *values;   /* [horizon + 1][N] scratch of best_paths */
};

static bool is_late(const struct macro_search *search)
{
    return search->late != NULL && search->late(search->arg);
}

/* As is_late, but reads the clock only once after each POLL_SUMS additions. */
static bool is_late_after(struct grow *grow, double sums)
{
    grow->sums += sums;
    if (grow->sums >= POLL_SUMS) {
        grow->sums = 0;
        grow->is_over = grow->is_over || is_late(grow->search);
    }
    return grow->is_over;
}

/* ---- samples ---- */

static enum status prefix_draw(struct grow *grow, size_t step, struct prefix **out, struct error *err)
{
    const struct macro_step *own = &grow->tree->steps[step];
    struct prefix           *prefix = &grow->prefixes[step];
    size_t                   N = grow->search->samples, k = own->action.len;
    *out = prefix;
    if (prefix->z != NULL)
        return STATUS_OK;
    double *z = ARENA_NEW(grow->arena, double, N *k), *y = ARENA_NEW(grow->arena, double, N *k);
    if (z == NULL || y == NULL)
        return error_no_memory(err);
    macro_plan_draw(grow->tree, grow->search, step, z);
    double least = INFINITY;
    for (size_t l = 0; l < N; l++) {
        double square = 0;
        for (size_t i = 0; i < k; i++) {
            y[l * k + i] = mat_dot(own->rows + i * (own->before + k) + own->before, z + l * k, i + 1);
            square += y[l * k + i] * y[l * k + i];
        }
        if (square < least) {
            least = square;
            prefix->nearest = l;
        }
    }
    prefix->z = z;
    prefix->y = y;
    return STATUS_OK;
}

static double distance(const struct prefix *prefix, size_t k, size_t i, size_t j)
{
    double square = 0;
    for (size_t d = 0; d < k; d++)
        square += pow(prefix->y[i * k + d] - prefix->y[j * k + d], 2);
    return sqrt(square);
}

/* ---- values ---- */

/* best [N]: after the prefix `from` with z and each of its samples, the best sum of stages below step, later outputs
 * at their means: the most likely value (4.8).  level counts the arrays that are in use.  Worth nothing when it got
 * late meanwhile. */
static void best_paths(struct grow *grow, const double *z, size_t from, size_t step, size_t level)
{
    const struct macro_step *own = &grow->tree->steps[step], *prefix = &grow->tree->steps[from];
    size_t                   N = grow->search->samples, k = prefix->action.len;
    const double            *samples = grow->prefixes[from].z;
    double                  *best = grow->values + level * N, *below = best + N;
    for (size_t l = 0; l < N; l++)
        best[l] = own->children == 0 ? 0 : -INFINITY;
    for (size_t c = own->first; c < own->first + own->children && !is_late_after(grow, (double)(N * k)); c++) {
        const struct macro_step *next = &grow->tree->steps[c];
        double                   base = next->reward;
        for (size_t i = 0; i < prefix->before; i++)
            base += next->g[i] * z[i];
        best_paths(grow, z, from, c, level + 1);
        for (size_t l = 0; l < N; l++) {
            double value = base + below[l];
            for (size_t i = 0; i < k; i++)
                value += next->g[prefix->before + i] * samples[l * k + i];
            best[l] = value > best[l] ? value : best[l];
        }
    }
}

static double mean_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

/* ---- bounds ---- */

static void branch_update(const struct grow *grow, struct branch *branch)
{
    size_t N = grow->search->samples;
    branch->lower = branch->stage + mean_of(branch->lows, N) - grow->search->lambda;
    branch->upper = branch->stage + mean_of(branch->highs, N) + grow->search->lambda;
}

static void node_update(const struct grow *grow, struct node *node)
{
    size_t children = grow->tree->steps[node->step].children;
    double lower = children == 0 ? 0 : -INFINITY, upper = lower;
    for (size_t a = 0; a < children; a++) {
        lower = fmax(lower, node->branches[a].lower);
        upper = fmax(upper, node->branches[a].upper);
    }
    node->lower = lower;
    node->upper = upper;
}

/* The bounds of sample j bound its siblings: V is Lipschitz in the outputs (corollary 1). */
static void refine(const struct grow *grow, struct branch *branch, size_t step, size_t j)
{
    const struct macro_step *own = &grow->tree->steps[step];
    const struct prefix     *prefix = &grow->prefixes[step];
    for (size_t i = 0; i < grow->search->samples; i++) {
        if (i == j)
            continue;
        double b = own->lipschitz * distance(prefix, own->action.len, i, j);
        branch->lows[i] = fmax(branch->lows[i], branch->lows[j] - b);
        branch->highs[i] = fmax(branch->lows[i], fmin(branch->highs[i], branch->highs[j] + b));
    }
}

/* The child's bounds become those of the sample that it grew from. */
static void adopt(const struct grow *grow, struct branch *branch, size_t step, size_t l)
{
    branch->lows[l] = fmax(branch->lows[l], branch->nodes[l]->lower);
    branch->highs[l] = fmax(branch->lows[l], fmin(branch->highs[l], branch->nodes[l]->upper));
    refine(grow, branch, step, l);
    branch_update(grow, branch);
}

/* ---- growing ---- */

static enum status node_expand(struct grow *grow, struct node *node, struct error *err);

/* The node of sample l after a step, expanded. */
static enum status child_new(struct grow *grow, const struct node *node, struct branch *branch, size_t step, size_t l,
                             struct error *err)
{
    const struct macro_step *own = &grow->tree->steps[step];
    struct node             *child = ARENA_NEW(grow->arena, struct node, 1);
    double                  *z = ARENA_NEW(grow->arena, double, own->before + own->action.len);
    if (child == NULL || z == NULL)
        return error_no_memory(err);
    if (own->before > 0)
        memcpy(z, node->z, own->before * sizeof *z);
    memcpy(z + own->before, grow->prefixes[step].z + l * own->action.len, own->action.len * sizeof *z);
    *child = (struct node){.step = step, .z = z};
    TRY(node_expand(grow, child, err));
    branch->nodes[l] = child;
    adopt(grow, branch, step, l);
    return STATUS_OK;
}

/* Bounds at all samples; stage: of the macro-action, from 1.  Before the last two stages a first child grows. */
static enum status branch_expand(struct grow *grow, const struct node *node, struct branch *branch, size_t step,
                                 size_t stage, struct error *err)
{
    const struct macro_step *own = &grow->tree->steps[step];
    size_t                   N = grow->search->samples, H = grow->tree->horizon;
    struct prefix           *prefix;
    branch->stage = own->reward;
    for (size_t i = 0; i < own->before; i++)
        branch->stage += own->g[i] * node->z[i];
    branch->lower = branch->upper = branch->stage;
    grow->search->progress.nodes += stage == H ? 1 : (double)N;
    if (stage == H)
        return STATUS_OK;
    TRY(prefix_draw(grow, step, &prefix, err));
    best_paths(grow, node->z, step, step, 0);
    if (grow->is_over)
        return error_set(err, STATUS_BUSY, "deadline", "", "there is no time left");
    if (stage + 1 == H) {
        grow->search->progress.nodes += (double)N * (double)own->children;
        branch->lower = branch->stage + mean_of(grow->values, N) - grow->search->lambda;
        branch->upper = branch->lower + 2 * grow->search->lambda;
        return STATUS_OK;
    }
    branch->lows = ARENA_NEW(grow->arena, double, N);
    branch->highs = ARENA_NEW(grow->arena, double, N);
    branch->nodes = arena_zalloc(grow->arena, N, sizeof(struct node *));
    if (branch->lows == NULL || branch->highs == NULL || branch->nodes == NULL)
        return error_no_memory(err);
    memcpy(branch->lows, grow->values, N * sizeof *branch->lows);
    for (size_t l = 0; l < N; l++)
        branch->highs[l] = branch->lows[l] + own->excess;
    branch_update(grow, branch);
    return child_new(grow, node, branch, step, prefix->nearest, err);
}

/* Which stage the macro-actions after a step are of. */
static size_t next_stage(const struct macro_tree *tree, size_t step)
{
    size_t stage = 1;
    for (; step != 0; step = tree->steps[step].parent)
        stage++;
    return stage;
}

static enum status node_expand(struct grow *grow, struct node *node, struct error *err)
{
    const struct macro_step *own = &grow->tree->steps[node->step];
    size_t                   stage = next_stage(grow->tree, node->step);
    bool                     is_kept = node->step == 0 || stage + 1 < grow->tree->horizon;
    struct branch            passing;
    if (is_late(grow->search))
        return error_set(err, STATUS_BUSY, "deadline", "", "there is no time left");
    node->branches = is_kept ? arena_zalloc(grow->arena, own->children + 1, sizeof *node->branches) : NULL;
    if (is_kept && node->branches == NULL)
        return error_no_memory(err);
    node->lower = node->upper = own->children == 0 ? 0 : -INFINITY;
    for (size_t a = 0; a < own->children; a++) {
        struct branch *branch = is_kept ? &node->branches[a] : &passing;
        TRY(branch_expand(grow, node, branch, own->first + a, stage, err));
        node->lower = fmax(node->lower, branch->lower);
        node->upper = fmax(node->upper, branch->upper);
    }
    return STATUS_OK;
}

/* The sample with the widest bounds of V. */
static size_t widest(const struct branch *branch, size_t N)
{
    size_t best = 0;
    for (size_t l = 1; l < N; l++)
        if (branch->highs[l] - branch->lows[l] > branch->highs[best] - branch->lows[best])
            best = l;
    return best;
}

/* Walks from a node to a sample that has not grown, and grows it. */
static enum status node_search(struct grow *grow, struct node *node, struct error *err)
{
    const struct macro_step *own = &grow->tree->steps[node->step];
    size_t                   a = 0;
    for (size_t other = 1; other < own->children; other++)
        if (node->branches[other].upper > node->branches[a].upper)
            a = other;
    struct branch *branch = &node->branches[a];
    size_t         l = widest(branch, grow->search->samples), step = own->first + a;
    if (branch->nodes[l] == NULL) {
        TRY(child_new(grow, node, branch, step, l, err));
    } else {
        TRY(node_search(grow, branch->nodes[l], err));
        adopt(grow, branch, step, l);
    }
    node_update(grow, node);
    return STATUS_OK;
}

static void notify(const struct grow *grow, const struct node *root)
{
    struct macro_search *search = grow->search;
    search->progress.gap = root->upper - root->lower;
    if (search->notify != NULL)
        search->notify(search->arg, &search->progress);
}

/* True when the search has nothing more to find, or has come to its limits. */
static bool is_over(const struct grow *grow, const struct node *root)
{
    const struct macro_search *search = grow->search;
    double                     gap = root->upper - root->lower;
    return grow->tree->horizon < 3 || gap <= search->gap_max ||
           gap <= 2 * (double)grow->tree->horizon * search->lambda || search->progress.nodes >= search->nodes_max ||
           is_late(search);
}

static enum status search_all(struct grow *grow, struct node *root, bool *is_short, struct error *err)
{
    enum status status = node_expand(grow, root, err);
    notify(grow, root);
    if (status != STATUS_OK)
        return status;
    for (size_t walks = 1; status == STATUS_OK && !is_over(grow, root); walks++) {
        status = node_search(grow, root, err);
        if (walks % 256 == 0)
            notify(grow, root);
    }
    *is_short = status == STATUS_NO_MEMORY;
    bool is_done = status == STATUS_OK || status == STATUS_NO_MEMORY || status == STATUS_BUSY;
    notify(grow, root);
    return is_done ? STATUS_OK : status;
}

enum status macro_plan_anytime(const struct macro_tree *tree, struct macro_search *search, struct arena *scratch,
                               double *lower, bool *is_short, struct error *err)
{
    struct grow grow = {.tree = tree, .search = search, .arena = scratch};
    struct node root = {.step = 0};
    *is_short = false;
    search->progress = (struct plan_state){.nodes = 1, .gap = NAN, .horizon = tree->horizon};
    grow.prefixes = arena_zalloc(scratch, tree->stage[tree->horizon], sizeof *grow.prefixes);
    grow.values = arena_alloc(scratch, (tree->horizon + 1) * search->samples, sizeof *grow.values);
    if (grow.prefixes == NULL || grow.values == NULL)
        return error_no_memory(err);
    TRY(search_all(&grow, &root, is_short, err));
    for (size_t a = 0; a < tree->steps[0].children; a++)
        lower[a] = root.branches[a].lower;
    return STATUS_OK;
}
