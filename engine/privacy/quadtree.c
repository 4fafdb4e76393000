#include "engine/privacy/quadtree.h"

#include "engine/math/mat.h"

#include <math.h>
#include <string.h>

static double share(size_t level)
{
    return cbrt(ldexp(1, (int)level));
}

static const double SPLIT = 2, KEEP = 1.5; /* times the noise of a part's count */

/* Standard deviation of the noise of a count with this rate. */
static double noise_sd(uint64_t rate)
{
    return sqrt(0.5) / sinh((double)rate * 0x1p-33);
}

static enum status plan_check(const struct quadtree *tree, struct error *err)
{
    if (!(tree->epsilon >= 1e-4 && tree->epsilon <= 1000))
        return error_set(err, STATUS_INVALID, "bad_epsilon", "/epsilon", "epsilon must be between 0.0001 and 1000");
    if (tree->rows == 0 || tree->columns == 0)
        return error_set(err, STATUS_INVALID, "bad_size", "", "there must be rows and columns");
    if (tree->columns > QUADTREE_COLUMNS_MAX)
        return error_set(err, STATUS_INVALID, "bad_dims", "/columns", "a quadtree has at most %d columns",
                         QUADTREE_COLUMNS_MAX);
    return STATUS_OK;
}

/* Whether rates that were planned before, here or by an earlier version, cost epsilon: no more, and but for the rounding
 * of each level no less. */
static enum status check_rates(const struct quadtree *tree, struct error *err)
{
    double sum = 0, most = tree->epsilon * 0x1p31;
    for (size_t l = 0; l < tree->levels && l < QUADTREE_LEVELS_MAX; l++)
        sum += (double)tree->rates[l];
    if (tree->levels * tree->columns <= QUADTREE_LEVELS_MAX && sum <= most &&
        sum >= most * (1 - 1e-9) - (double)tree->levels)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "bad_rates", "/rates", "such noise of the levels is not worth epsilon %g",
                     tree->epsilon);
}

enum status quadtree_plan(struct quadtree *tree, struct error *err)
{
    TRY(plan_check(tree, err));
    double columns = (double)tree->columns, sum = 0;
    double by_count = floor(log2((double)tree->rows * tree->epsilon / 8) / columns + 0.35);
    double levels = fmin(by_count, floor(QUADTREE_LEVELS_MAX / columns));
    if (tree->levels > 0) {
        tree->gamma = ldexp(MECHANISM_NORM, -(int)tree->levels);
        return check_rates(tree, err);
    }
    tree->levels = (size_t)fmax(levels, 1);
    tree->gamma = ldexp(MECHANISM_NORM, -(int)tree->levels);
    memset(tree->rates, 0, sizeof tree->rates);
    for (size_t l = 1; l <= tree->levels; l++)
        sum += share(l);
    for (size_t l = 1; l <= tree->levels; l++) /* 2^-48 covers the roundings before the floor */
        tree->rates[l - 1] = (uint64_t)floor(tree->epsilon / 2 * share(l) / sum * 0x1p32 * (1 - 0x1p-48));
    /* So that the root is split, and one of its parts kept: their noisy counts are made to add up to the rows. */
    double sd = noise_sd(tree->rates[0]), rows = (double)tree->rows;
    if (!(rows >= SPLIT * sd && rows >= ldexp(KEEP * sd, (int)tree->columns)))
        return error_set(err, STATUS_INVALID, "too_few_rows", "",
                         "a quadtree needs more rows, fewer columns or a larger epsilon: the noise would hide all");
    return STATUS_OK;
}

/* The growing tree, and the numbers by which it grows. */
struct growth {
    const struct quadtree  *tree;
    struct sampler         *sampler;
    struct arena           *arena;
    struct quadtree_leaves *out;
    uint32_t               *cells; /* [rows][columns] of the deepest level */
    size_t                 *moved; /* [rows] scratch */
};

struct node {
    size_t   level;
    uint32_t at[QUADTREE_COLUMNS_MAX]; /* cell, along each column */
    double   count, variance;          /* estimated from noisy counts */
    size_t   first, rows;              /* of the order */
};

static void emit(struct growth *g, const struct node *node)
{
    struct quadtree_leaves *out = g->out;
    size_t                  d = g->tree->columns, h = g->tree->levels;
    if (out->len == g->tree->rows)
        return;
    for (size_t c = 0; c < d; c++)
        out->indices[out->len * d + c] =
            (2 * (int64_t)node->at[c] + 1) * ((int64_t)1 << (h - node->level)) - ((int64_t)1 << h);
    out->leaves[out->len++] =
        (struct quadtree_leaf){.deck = (size_t)fmax(floor(node->count), 1), .first = node->first, .rows = node->rows};
}

/* Bit c of a child's number is the half of column c that it lies in. */
static size_t child_of(const struct growth *g, size_t row, size_t level)
{
    size_t d = g->tree->columns, child = 0;
    for (size_t c = 0; c < d; c++)
        child |= (size_t)(g->cells[row * d + c] >> (g->tree->levels - level) & 1) << c;
    return child;
}

/* Sorts the node's rows by child: ends[k] := where those of child k end. */
static void sort_rows(struct growth *g, const struct node *node, size_t children, size_t *ends)
{
    size_t *order = g->out->order + node->first, level = node->level + 1, sum = 0;
    memset(ends, 0, children * sizeof *ends);
    for (size_t i = 0; i < node->rows; i++)
        ends[child_of(g, order[i], level)]++;
    for (size_t k = 0; k < children; k++) {
        size_t count = ends[k];
        ends[k] = sum;
        sum += count;
    }
    for (size_t i = 0; i < node->rows; i++)
        g->moved[ends[child_of(g, order[i], level)]++] = order[i];
    memcpy(order, g->moved, node->rows * sizeof *order);
}

static enum status visit(struct growth *g, const struct node *node, struct error *err);

static enum status split(struct growth *g, const struct node *node, double sd, struct error *err)
{
    size_t  d = g->tree->columns, children = (size_t)1 << d;
    size_t *ends = ARENA_NEW(g->arena, size_t, children);
    double *noisy = ARENA_NEW(g->arena, double, children), sum = 0;
    if (ends == NULL || noisy == NULL)
        return error_no_memory(err);
    sort_rows(g, node, children, ends);
    for (size_t k = 0; k < children; k++) {
        int64_t noise = 0;
        TRY(sampler_laplace(g->sampler, g->tree->rates[node->level], &noise, err));
        noisy[k] = (double)(int64_t)(ends[k] - (k > 0 ? ends[k - 1] : 0)) + (double)noise;
        sum += noisy[k];
    }
    double total = (double)children * sd * sd; /* variance of the sum */
    double correction = (node->count - sum) * (total / (total + node->variance)) / (double)children;
    for (size_t k = 0; k < children; k++) {
        struct node child = {.level = node->level + 1, .count = noisy[k] + correction, .variance = sd * sd};
        child.first = node->first + (k > 0 ? ends[k - 1] : 0);
        child.rows = node->first + ends[k] - child.first;
        for (size_t c = 0; c < d; c++)
            child.at[c] = 2 * node->at[c] + (uint32_t)(k >> c & 1);
        if (child.count >= KEEP * sd)
            TRY(visit(g, &child, err));
    }
    return STATUS_OK;
}

static enum status visit(struct growth *g, const struct node *node, struct error *err)
{
    double sd = node->level < g->tree->levels ? noise_sd(g->tree->rates[node->level]) : INFINITY;
    if (node->count < SPLIT * sd) {
        emit(g, node);
        return STATUS_OK;
    }
    struct arena_mark mark = arena_mark(g->arena);
    size_t            before = g->out->len;
    enum status       status = split(g, node, sd, err);
    arena_release(g->arena, mark);
    if (status == STATUS_OK && g->out->len == before) /* no child was worth keeping, so the parent is kept */
        emit(g, node);
    return status;
}

static enum status place_rows(struct growth *g, const struct quadtree_data *data, struct error *err)
{
    const struct release_scale *scale = &data->scale;
    const double               *rows = data->rows;
    size_t                      n = g->tree->rows, d = g->tree->columns;
    double                      cells = ldexp(1, (int)g->tree->levels);
    for (size_t c = 0; c < d; c++) {
        double side = 2 * scale->length_scales[c] * scale->radius, low = scale->centre[c] - side / 2;
        if (!(side > 0) || !isfinite(side) || !isfinite(low))
            return error_set(err, STATUS_INVALID, "bad_scale", "", "column %zu has an empty range", c + 1);
        for (size_t i = 0; i < n; i++) {
            double at = floor((rows[i * d + c] - low) / side * cells);
            g->cells[i * d + c] = (uint32_t)fmin(fmax(at, 0), cells - 1);
        }
    }
    for (size_t i = 0; i < n; i++) {
        g->out->order[i] = i;
        if (!mat_is_finite(rows + i * d, d))
            return error_set(err, STATUS_INVALID, "not_finite", "", "row %zu has a value that is not finite", i + 1);
    }
    return STATUS_OK;
}

static void wipe(void *memory, size_t bytes)
{
    volatile unsigned char *at = memory;
    for (size_t i = 0; i < bytes; i++)
        at[i] = 0;
}

/* Noise may have made more cards than there are rows: a card less for each leaf in turn. */
static void trim_decks(struct quadtree_leaves *leaves, size_t rows)
{
    leaves->cards = 0;
    for (size_t i = 0; i < leaves->len; i++)
        leaves->cards += leaves->leaves[i].deck;
    for (size_t i = 0; leaves->cards > rows; i = (i + 1) % leaves->len)
        if (leaves->leaves[i].deck > 1) {
            leaves->leaves[i].deck--;
            leaves->cards--;
        }
}

enum status quadtree_grow(struct quadtree *tree, const struct quadtree_data *data, struct sampler *sampler,
                          struct arena *arena, struct quadtree_leaves *out, struct error *err)
{
    TRY(quadtree_plan(tree, err));
    size_t n = tree->rows, d = tree->columns, cells = (size_t)1 << d * tree->levels, most = cells < n ? cells : n;
    *out = (struct quadtree_leaves){.leaves = ARENA_NEW(arena, struct quadtree_leaf, most),
                                    .indices = ARENA_NEW(arena, int64_t, most * d),
                                    .order = ARENA_NEW(arena, size_t, n)};
    struct arena_mark mark = arena_mark(arena);
    struct growth     g = {.tree = tree,
                           .sampler = sampler,
                           .arena = arena,
                           .out = out,
                           .cells = ARENA_NEW(arena, uint32_t, n * d),
                           .moved = ARENA_NEW(arena, size_t, n)};
    if (out->leaves == NULL || out->indices == NULL || out->order == NULL || g.cells == NULL || g.moved == NULL)
        return error_no_memory(err);
    enum status status = place_rows(&g, data, err);
    if (status == STATUS_OK)
        status = visit(&g, &(struct node){.count = (double)n, .rows = n}, err);
    trim_decks(out, n);
    wipe(g.cells, n * d * sizeof *g.cells);
    wipe(g.moved, n * sizeof *g.moved);
    arena_release(arena, mark);
    return status;
}

enum status quadtree_deal(const struct quadtree_leaf *leaf, const size_t *order, struct sampler *sampler,
                          size_t *scratch, size_t *cards, struct error *err)
{
    size_t slots = leaf->deck > leaf->rows ? leaf->deck : leaf->rows;
    for (size_t i = 0; i < slots; i++)
        scratch[i] = i < leaf->rows ? order[leaf->first + i] : QUADTREE_BLANK;
    for (size_t i = 0; i < leaf->deck; i++) {
        uint64_t skip = 0;
        TRY(sampler_below(sampler, slots - i, &skip, err));
        cards[i] = scratch[i + skip];
        scratch[i + skip] = scratch[i];
    }
    return STATUS_OK;
}

/* Its trailing zeros tell the level: see the lattice. */
size_t quadtree_level(const struct quadtree *tree, const int64_t *index)
{
    int64_t edge = (int64_t)1 << tree->levels;
    size_t  level = tree->levels;
    while (level > 0 && (index[0] & ((int64_t)1 << (tree->levels - level))) == 0)
        level--;
    int64_t odd = (int64_t)1 << (tree->levels - level);
    for (size_t c = 0; c < tree->columns; c++)
        if (level == 0 || index[c] <= -edge || index[c] >= edge || (index[c] & (2 * odd - 1)) != odd)
            return SIZE_MAX;
    return level;
}

double quadtree_variance(size_t level)
{
    double side = ldexp(2.0 * MECHANISM_NORM, -(int)level);
    return side * side / 12;
}

/* The number of a cell's first part on the deepest level, in the order of the tree. */
static uint64_t first_part(const struct quadtree *tree, const int64_t *index, size_t level)
{
    uint64_t first = 0;
    for (size_t l = 1; l <= tree->levels; l++)
        for (size_t c = tree->columns; c-- > 0;) {
            uint64_t at = (uint64_t)(index[c] + ((int64_t)1 << tree->levels)) >> (tree->levels - level + 1);
            first = first << 1 | (l <= level ? at >> (level - l) & 1 : 0);
        }
    return first;
}

bool quadtree_is_partition(const struct quadtree *tree, const int64_t *indices, size_t n)
{
    size_t   d = tree->columns;
    uint64_t free_from = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t *index = indices + i * d;
        size_t         level = quadtree_level(tree, index);
        if (level == SIZE_MAX)
            return false;
        if (i > 0 && memcmp(index, index - d, d * sizeof *index) == 0)
            continue;
        uint64_t first = first_part(tree, index, level);
        if (first < free_from)
            return false;
        free_from = first + ((uint64_t)1 << d * (tree->levels - level));
    }
    return n > 0;
}
