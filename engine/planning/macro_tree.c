/* See macro_tree.h.  Three passes: the paths, breadth first; means and covariances of the sites on them; then the rows
 * of L of each step, parent by parent, so that the factor of what lies before is put together once for all children. */
#include "engine/planning/macro_tree.h"

#include "engine/math/mat.h"

#include <math.h>
#include <string.h>

/* A site that some path visits, by local number. */
struct macro_site {
    uint32_t             site;
    bool                 is_asked; /* actions are known */
    struct macro_action *actions;  /* sites as local numbers */
    size_t               actions_len;
    double *sums; /* [actions_len] standard deviations of the field's sum along them; NULL until they are needed */
};

struct build {
    const struct macro_root         *root;
    const struct macro_tree_options *options;
    struct arena                    *arena;
    struct macro_tree               *tree;
    /* of the parent at hand */
    size_t    before;
    uint32_t *path;   /* [before] local numbers */
    double   *factor; /* [before][longest] */
    size_t    longest;
    double   *cross; /* [longest][steps] */
    double   *block; /* [steps][steps] */
    double   *spare; /* [longest + steps] */
    size_t    work;  /* since the last look at the clock */
};

/* About so many multiply-adds lie between two looks at the clock: a fraction of a millisecond.  What a step or a call
 * costs besides, most of it memory that is touched for the first time, counts as STEP_WORK. */
enum { POLL_WORK = 1 << 18, STEP_WORK = 256 };

/* Checks that the time left is more than ms. */
static enum status check_left(const struct build *b, double ms, struct error *err)
{
    bool is_late = b->options->left_ms != NULL && b->options->left_ms(b->options->left_arg) <= ms;
    return is_late ? error_set(err, STATUS_BUSY, "deadline", "", "there is no time left") : STATUS_OK;
}

static enum status check_late_after(struct build *b, size_t work, struct error *err)
{
    b->work += work;
    if (b->work < POLL_WORK)
        return STATUS_OK;
    b->work = 0;
    return check_left(b, 0, err);
}

/* ---- the sites ---- */

static bool sites_grow(struct build *b)
{
    struct macro_tree *tree = b->tree;
    size_t             room = tree->sites_room == 0 ? 256 : 2 * tree->sites_room;
    struct macro_site *sites = ARENA_NEW(b->arena, struct macro_site, room);
    uint32_t          *slots = arena_zalloc(b->arena, 2 * room, sizeof *slots);
    if (sites == NULL || slots == NULL)
        return false;
    if (tree->sites_len > 0)
        memcpy(sites, tree->sites, tree->sites_len * sizeof *sites);
    for (size_t i = 0; i < tree->sites_len; i++) {
        size_t slot = sites[i].site * 2654435761u % (2 * room);
        while (slots[slot] != 0)
            slot = (slot + 1) % (2 * room);
        slots[slot] = (uint32_t)i + 1;
    }
    tree->sites = sites;
    tree->sites_room = room;
    tree->slots = slots;
    tree->slots_len = 2 * room;
    return true;
}

/* The local number of a site; false: no memory. */
static bool sites_number(struct build *b, uint32_t site, uint32_t *number)
{
    struct macro_tree *tree = b->tree;
    if (tree->sites_len == tree->sites_room && !sites_grow(b))
        return false;
    size_t slot = site * 2654435761u % tree->slots_len;
    while (tree->slots[slot] != 0 && tree->sites[tree->slots[slot] - 1].site != site)
        slot = (slot + 1) % tree->slots_len;
    if (tree->slots[slot] == 0) {
        tree->sites[tree->sites_len] = (struct macro_site){.site = site};
        tree->slots[slot] = (uint32_t)++tree->sites_len;
    }
    *number = tree->slots[slot] - 1;
    return true;
}

static bool is_blocked(const struct build *b, uint32_t from, const struct macro_action *action)
{
    size_t width = 1 + b->root->graph->steps;
    for (size_t k = 0; k < b->root->blocked_len; k++) {
        const double *row = b->root->blocked + k * width;
        size_t        i = 0;
        while (i < action->len && row[1 + i] == (double)action->sites[i])
            i++;
        if (row[0] == (double)from && i == action->len && (i + 1 == width || isnan(row[1 + i])))
            return true;
    }
    return false;
}

/* The macro-actions of a site, in local numbers. */
static enum status site_ask(struct build *b, uint32_t number, struct error *err)
{
    struct macro_actions actions;
    size_t               kept = 0;
    uint32_t             site = b->tree->sites[number].site;
    TRY(graph_actions(b->root->graph, b->root->seed, site, b->arena, &actions, err));
    for (size_t a = 0; a < actions.len; a++) {
        uint32_t *local = ARENA_NEW(b->arena, uint32_t, actions.at[a].len);
        if (local == NULL)
            return error_no_memory(err);
        if (is_blocked(b, site, &actions.at[a]))
            continue;
        for (size_t i = 0; i < actions.at[a].len; i++)
            if (!sites_number(b, actions.at[a].sites[i], &local[i]))
                return error_no_memory(err);
        actions.at[kept++] = (struct macro_action){.sites = local, .len = actions.at[a].len};
    }
    struct macro_site *own = &b->tree->sites[number]; // the table may have moved
    own->is_asked = true;
    own->actions = actions.at;
    own->actions_len = kept;
    return check_late_after(b, POLL_WORK, err); // a search for paths may have been long
}

/* ---- the paths ---- */

static enum status steps_reserve(struct build *b, size_t more, struct error *err)
{
    struct macro_tree *tree = b->tree;
    size_t             room = tree->len + more;
    struct macro_step *steps = room < UINT32_MAX ? ARENA_NEW(b->arena, struct macro_step, room) : NULL;
    if (steps == NULL)
        return error_no_memory(err);
    if (tree->len > 0)
        memcpy(steps, tree->steps, tree->len * sizeof *steps);
    tree->steps = steps;
    return STATUS_OK;
}

/* Where the agent stands after a step. */
static uint32_t step_end(const struct macro_step *step)
{
    return step->action.sites[step->action.len - 1];
}

/* Counts the steps of the next stage, so that one too large is refused before it is written. */
static enum status count_children(struct build *b, size_t from, size_t to, size_t *count, struct error *err)
{
    const struct macro_tree *tree = b->tree;
    *count = 0;
    for (size_t p = from; p < to; p++) {
        uint32_t at = step_end(&tree->steps[p]);
        if (!tree->sites[at].is_asked)
            TRY(site_ask(b, at, err));
        *count += tree->sites[at].actions_len;
        TRY(check_late_after(b, STEP_WORK / 16, err));
    }
    return STATUS_OK;
}

static void add_children(struct build *b, size_t parent)
{
    struct macro_tree       *tree = b->tree;
    struct macro_step       *own = &tree->steps[parent];
    const struct macro_site *site = &tree->sites[step_end(own)];
    own->first = (uint32_t)tree->len;
    own->children = (uint32_t)site->actions_len;
    tree->widest = site->actions_len > tree->widest ? site->actions_len : tree->widest;
    for (size_t a = 0; a < site->actions_len; a++)
        tree->steps[tree->len++] =
            (struct macro_step){.action = site->actions[a],
                                .parent = (uint32_t)parent,
                                .before = parent == 0 ? 0 : own->before + (uint32_t)own->action.len};
}

static enum status grow_paths(struct build *b, struct error *err)
{
    struct macro_tree *tree = b->tree;
    uint32_t          *here = ARENA_NEW(b->arena, uint32_t, 1);
    size_t             more;
    TRY(steps_reserve(b, 1, err));
    if (here == NULL || !sites_number(b, (uint32_t)b->root->site, here))
        return error_no_memory(err);
    tree->steps[tree->len++] = (struct macro_step){.action = {.sites = here, .len = 1}};
    tree->stage[1] = 1;
    for (size_t t = 1; t <= tree->horizon; t++) {
        TRY(count_children(b, tree->stage[t - 1], tree->stage[t], &more, err));
        TRY(steps_reserve(b, more, err));
        for (size_t p = tree->stage[t - 1]; p < tree->stage[t]; p++) {
            add_children(b, p);
            TRY(check_late_after(b, STEP_WORK * tree->steps[p].children, err));
        }
        tree->stage[t + 1] = tree->len;
    }
    return STATUS_OK;
}

/* ---- what the model says at the sites ---- */

/* The matrices are made in one go: what that takes at most, by entry and observation, is looked at before. */
static const double POSTERIOR_MS = 2e-7;
enum { KERNEL_WORK = 50 }; /* a covariance function, in multiply-adds */

static enum status posterior(struct build *b, struct error *err)
{
    struct macro_tree *tree = b->tree;
    const struct gp   *gp = b->root->gp;
    size_t             m = tree->sites_len, dims = b->root->graph->dims;
    TRY(check_left(b, POSTERIOR_MS * (double)m * (double)m * (double)(gp->n + KERNEL_WORK), err));
    double *X = arena_alloc(b->arena, m, dims * sizeof *X);
    tree->means = arena_zalloc(b->arena, m, sizeof *tree->means);
    tree->covariances = arena_alloc(b->arena, m, m * sizeof *tree->covariances);
    if (X == NULL || tree->means == NULL || tree->covariances == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < m; i++)
        graph_coordinates(b->root->graph, tree->sites[i].site, X + i * dims);
    struct arena_mark mark = arena_mark(b->arena);
    enum status       status = STATUS_OK;
    if (gp->n == 0)
        kernel_matrix(&gp->kernel, X, m, tree->covariances, m);
    else
        status = gp_joint(gp, (struct points){X, m}, tree->means, tree->covariances, b->arena, err);
    arena_release(b->arena, mark);
    return status;
}

/* ---- the rows of L ---- */

uint32_t macro_tree_site(const struct macro_tree *tree, uint32_t number)
{
    return tree->sites[number].site;
}

double macro_tree_covariance(const struct macro_tree *tree, uint32_t i, uint32_t j)
{
    return i > j ? tree->covariances[i * tree->sites_len + j] : tree->covariances[j * tree->sites_len + i];
}

/* The factor and the sites of the path that ends with a step. */
static void load_path(struct build *b, size_t step)
{
    const struct macro_tree *tree = b->tree;
    b->before = step == 0 ? 0 : tree->steps[step].before + tree->steps[step].action.len;
    for (size_t at = step; at != 0; at = tree->steps[at].parent) {
        const struct macro_step *own = &tree->steps[at];
        size_t                   width = own->before + own->action.len;
        for (size_t i = 0; i < own->action.len; i++) {
            b->path[own->before + i] = own->action.sites[i];
            memcpy(b->factor + (own->before + i) * b->longest, own->rows + i * width, width * sizeof *own->rows);
        }
    }
}

/* cross [before][len] := L^-1 Cov(path, new sites): its transpose is the new rows' left part. */
static void solve_cross(struct build *b, const struct macro_action *action)
{
    for (size_t j = 0; j < b->before; j++)
        for (size_t i = 0; i < action->len; i++)
            b->cross[j * action->len + i] = macro_tree_covariance(b->tree, b->path[j], action->sites[i]);
    if (b->before > 0)
        mat_solve_lower_many(b->factor, b->before, b->longest, b->cross, action->len, action->len);
}

/* block [len][len] := the Cholesky factor of Sigma_t(x_t+1). */
static enum status factor_block(struct build *b, const struct macro_action *action, struct error *err)
{
    size_t k = action->len;
    double jitter;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j <= i; j++)
            b->block[i * k + j] = macro_tree_covariance(b->tree, action->sites[i], action->sites[j]) +
                                  (i == j ? b->root->gp->noise_variance : 0);
    if (b->before > 0)
        mat_subtract_gram(b->cross, b->before, k, b->block);
    return mat_cholesky(b->block, k, k, b->spare, &jitter, err);
}

/* |R L^-1|_F for the new rows' left part R = cross'. */
static double weights_norm(struct build *b, size_t len)
{
    double sum = 0;
    for (size_t i = 0; i < len; i++) {
        for (size_t j = 0; j < b->before; j++)
            b->spare[j] = b->cross[j * len + i];
        mat_solve_upper(b->factor, b->before, b->longest, b->spare);
        sum += mat_dot(b->spare, b->spare, b->before);
    }
    return sqrt(sum);
}

static enum status keep_rows(struct build *b, struct macro_step *step, struct error *err)
{
    size_t k = step->action.len, width = b->before + k;
    step->rows = arena_zalloc(b->arena, k, width * sizeof *step->rows);
    if (step->rows == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j < b->before; j++)
            step->rows[i * width + j] = b->cross[j * k + i];
        memcpy(step->rows + i * width + b->before, b->block + i * k, (i + 1) * sizeof *b->block);
    }
    return STATUS_OK;
}

/* beta / 2 log|I + Sigma_f / noise|: what stands on the diagonal of the block, less the noise's share. */
static double information(const struct build *b, size_t k)
{
    double log_det = mat_log_det(b->block, k, k);
    return 0.5 * (log_det - (double)k * log(b->root->gp->noise_variance));
}

/* Computes the whole of a step. */
static enum status compute_whole(struct build *b, struct macro_step *step, bool is_last, struct error *err)
{
    size_t k = step->action.len;
    solve_cross(b, &step->action);
    TRY(factor_block(b, &step->action, err));
    for (size_t j = 0; j < b->before; j++) {
        step->g[j] = 0;
        for (size_t i = 0; i < k; i++)
            step->g[j] += b->cross[j * k + i];
    }
    if (b->root->beta != 0)
        step->reward += b->root->beta * information(b, k);
    double trace = 0;
    for (size_t i = 0; i < k; i++)
        trace += mat_dot(b->block + i * k, b->block + i * k, i + 1);
    step->spread = sqrt(trace);
    if (b->options->wants_bounds)
        step->alpha = weights_norm(b, k);
    return is_last ? STATUS_OK : keep_rows(b, step, err);
}

/* Computes a last step, of which only the sum of its rows matters. */
static void compute_sum(struct build *b, struct macro_step *step)
{
    for (size_t j = 0; j < b->before; j++) {
        step->g[j] = 0;
        for (size_t i = 0; i < step->action.len; i++)
            step->g[j] += macro_tree_covariance(b->tree, b->path[j], step->action.sites[i]);
    }
    if (b->before > 0)
        mat_solve_lower(b->factor, b->before, b->longest, step->g);
}

static enum status compute_children(struct build *b, size_t parent, bool is_last, struct error *err)
{
    struct macro_step *own = &b->tree->steps[parent];
    if (own->children == 0)
        return STATUS_OK;
    load_path(b, parent);
    bool is_whole = !is_last || b->root->beta != 0 || b->options->wants_bounds;
    for (size_t c = own->first; c < own->first + own->children; c++) {
        struct macro_step *step = &b->tree->steps[c];
        step->g = ARENA_NEW(b->arena, double, b->before + 1);
        if (step->g == NULL)
            return error_no_memory(err);
        for (size_t i = 0; i < step->action.len; i++)
            step->reward += b->tree->means[step->action.sites[i]];
        if (is_whole)
            TRY(compute_whole(b, step, is_last, err));
        else
            compute_sum(b, step);
        size_t rows = is_whole ? step->action.len : 1;
        TRY(check_late_after(b, STEP_WORK + rows * (b->before + rows) * (b->before + rows), err));
    }
    return STATUS_OK;
}

static enum status compute_steps(struct build *b, struct error *err)
{
    struct macro_tree *tree = b->tree;
    size_t             steps = b->root->graph->steps;
    b->longest = tree->horizon * steps;
    b->path = ARENA_NEW(b->arena, uint32_t, b->longest);
    b->factor = ARENA_NEW(b->arena, double, b->longest * b->longest);
    b->cross = ARENA_NEW(b->arena, double, b->longest *steps);
    b->block = ARENA_NEW(b->arena, double, steps *steps);
    b->spare = ARENA_NEW(b->arena, double, b->longest + steps);
    if (b->path == NULL || b->factor == NULL || b->cross == NULL || b->block == NULL || b->spare == NULL)
        return error_no_memory(err);
    for (size_t t = 1; t <= tree->horizon; t++)
        for (size_t p = tree->stage[t - 1]; p < tree->stage[t]; p++)
            TRY(compute_children(b, p, t == tree->horizon, err));
    return STATUS_OK;
}

/* ---- bounds ---- */

/* Bounds of the paths that follow a step. */
struct follow {
    double paths, sd; /* how many; the largest sum of their stages' standard deviations */
};

static enum status find_sums(const struct macro_tree *tree, struct macro_site *site, struct arena *arena,
                             struct error *err)
{
    site->sums = ARENA_NEW(arena, double, site->actions_len);
    if (site->sums == NULL)
        return error_no_memory(err);
    for (size_t a = 0; a < site->actions_len; a++) {
        const struct macro_action *action = &site->actions[a];
        double                     variance = 0;
        for (size_t i = 0; i < action->len; i++)
            for (size_t j = 0; j < action->len; j++)
                variance += macro_tree_covariance(tree, action->sites[i], action->sites[j]);
        site->sums[a] = sqrt(fmax(variance, 0));
    }
    return STATUS_OK;
}

static enum status bound_by_knowledge(struct build *b, struct error *err)
{
    struct macro_tree *tree = b->tree;
    struct follow     *follow = arena_zalloc(b->arena, tree->len, sizeof *follow);
    if (follow == NULL)
        return error_no_memory(err);
    for (size_t p = tree->len; p-- > 0;) {
        struct macro_step *own = &tree->steps[p];
        struct macro_site *site = &tree->sites[step_end(own)];
        if (own->children > 0 && site->sums == NULL)
            TRY(find_sums(tree, site, b->arena, err));
        for (size_t c = own->first; c < own->first + own->children; c++) {
            follow[p].paths += fmax(follow[c].paths, 1);
            follow[p].sd = fmax(follow[p].sd, site->sums[c - own->first] + follow[c].sd);
        }
        own->excess = fmin(own->theta, follow[p].sd * sqrt(2 * log(fmax(follow[p].paths, 1))));
        TRY(check_late_after(b, STEP_WORK, err));
    }
    return STATUS_OK;
}

/* From the last stage back: definition B.1 and (B.24), (B.25), the greatest over the macro-actions that follow. */
static enum status compute_bounds(struct build *b, struct error *err)
{
    const struct macro_tree *tree = b->tree;
    for (size_t p = tree->len; p-- > 0;) {
        struct macro_step *own = &tree->steps[p];
        for (size_t c = own->first; c < own->first + own->children; c++) {
            const struct macro_step *next = &tree->steps[c];
            double                   kappa = (double)next->action.len;
            double slope = sqrt(kappa) * next->alpha + next->lipschitz * sqrt(1 + next->alpha * next->alpha);
            own->lipschitz = fmax(own->lipschitz, slope);
            own->theta = fmax(own->theta, next->lipschitz * next->spread + next->theta);
        }
        TRY(check_late_after(b, STEP_WORK, err));
    }
    return STATUS_OK;
}

enum status macro_tree_build(const struct macro_root *root, const struct macro_tree_options *options,
                             struct arena *arena, struct macro_tree *out, struct error *err)
{
    struct build b = {.root = root, .options = options, .arena = arena, .tree = out};
    *out = (struct macro_tree){.horizon = options->horizon};
    TRY(grow_paths(&b, err));
    TRY(posterior(&b, err));
    TRY(compute_steps(&b, err));
    if (!options->wants_bounds)
        return STATUS_OK;
    TRY(compute_bounds(&b, err));
    return bound_by_knowledge(&b, err);
}

double macro_tree_samples(const struct macro_tree *tree, double epsilon, double *lambda)
{
    double H = (double)tree->horizon, K = 0, theta = tree->steps[0].theta;
    for (size_t p = 1; p < tree->len; p++)
        K = fmax(K, tree->steps[p].lipschitz * tree->steps[p].spread);
    *lambda = epsilon / (4 * H * H);
    if (K == 0 || theta == 0)
        return 1;
    double ratio = 4 * K * K / (*lambda * *lambda), delta = fmin(0.5, epsilon / (8 * theta * H));
    double samples = ratio * (H * log(ratio * H * (double)tree->widest / exp(1)) + log(2 / delta));
    return fmax(1, ceil(samples));
}
