/* A private tree of cells over a public box, for any change of a row: each cell is halved along every column while its
 * noisy count says that this is worth it.  Pure, as release.h; random bits come through a sampler.
 *
 * Why a tree is epsilon-DP for tables of n rows of which one is any other:
 *  1. A row lies in one node of each level; the box and n are public, rows outside count as its border.  So one changed
 *     row changes at most two counts of a level, each by 1: l1 sensitivity 2.
 *  2. A count of level l gets noise with P(k) ~ exp(-t_l |k|), exactly (sampler.h), with 2 t_l <= epsilon_l, as t_l was
 *     rounded down to a multiple of 2^-32.  The counts of a level, noisy, are epsilon_l-DP, and the sum of epsilon_l over
 *     the levels is epsilon: all noisy counts of the full tree together are epsilon-DP.  n is the root's, and costs nothing.
 *  3. Which nodes are split, dropped or never looked at (so that their noise need not be drawn), the counts made
 *     consistent, and the decks' sizes are functions of the noisy counts and of n.
 *
 * A leaf is answered by a deck of b cards, b by its noisy count.  With m rows in it: b of them without repetition if
 * m >= b, else all of them and b - m blanks; in a uniformly random order, drawn once.
 * Why tree and answers together are (epsilon + 2 epsilon_y)-DP, if each card gives one answer, epsilon_y-DP for any change
 * of its value (a blank has a public value), with noise of its own:
 *  4. Take row i out of a leaf.  Map each deck that holds its card to the one with a blank there (m <= b) or with a
 *     uniform row that was not drawn (m > b), and every other deck to itself: the law of decks with row i goes over into
 *     the law of decks without it, and at most one card is another.  Given everything else the answers' law changes by a
 *     factor of at most e^epsilon_y; so it does when mixed over the decks.
 *  5. A changed row is taken out of one leaf and put into another, the reverse of 4: 2 epsilon_y (once epsilon_y when it
 *     stays in its leaf).  b does not depend on the rows but through the noisy counts.
 * An answer without noise says which row gave it: then the guarantee is the tree's alone.
 *
 * Depth, shares (epsilon_l ~ 2^(l/3)) and the rules for splitting and dropping were found by simulation; the proof does not
 * use them.  What must not leave the curator: first and rows of a leaf, the order of rows, the decks. */
#ifndef GNOMON_ENGINE_QUADTREE_H
#define GNOMON_ENGINE_QUADTREE_H

#include "engine/privacy/release.h"

enum { QUADTREE_LEVELS_MAX = 20, QUADTREE_COLUMNS_MAX = 10 /* levels times columns is at most 20 */ };

/* The box is centre +- radius length-scales; in scaled space +- MECHANISM_NORM.  Cells of level l have a side of
 * 2 MECHANISM_NORM / 2^l, and a centre on the lattice: indices that are odd multiples of 2^(levels - l). */
struct quadtree {
    size_t   rows, columns;              /* in */
    double   epsilon;                    /* in */
    size_t   levels;                     /* in: 0, or those of a planned tree; out: below the root, >= 1 */
    uint64_t rates[QUADTREE_LEVELS_MAX]; /* as levels: [levels] t_l = rate / 2^32, of level 1 first */
    double   gamma;                      /* out: lattice step, scaled space: 2 MECHANISM_NORM / 2^(levels + 1) */
};

/* Depth and shares, by public numbers; a tree that has levels keeps them, if they cost epsilon: the proof asks for no more,
 * so that trees of other rules remain readable.  Errors: INVALID bad_epsilon, bad_size, bad_dims (too many columns);
 * bad_rates; too_few_rows when the noise would hide all. */
MUST_CHECK enum status quadtree_plan(struct quadtree *tree, struct error *err);

struct quadtree_leaf {
    size_t deck;        /* cards, >= 1 */
    size_t first, rows; /* private: these of `order` lie in it */
};
struct quadtree_leaves {
    struct quadtree_leaf *leaves;  /* [len] in the order of the tree */
    int64_t              *indices; /* [len][columns] their centres */
    size_t                len;     /* >= 1 */
    size_t                cards;   /* of all decks: at most the number of rows */
    size_t               *order;   /* [rows] all rows in the order of the tree, those of no leaf included */
};

struct quadtree_data {
    struct release_scale scale;
    const double        *rows; /* raw, [rows][columns] */
};

/* Grows the tree over the rows.  Memory of the result is the arena's.
 * Errors: as quadtree_plan; bad_scale; not_finite names the row; NO_MEMORY; what the source of bits returns. */
MUST_CHECK enum status quadtree_grow(struct quadtree *tree, const struct quadtree_data *data, struct sampler *sampler,
                                     struct arena *arena, struct quadtree_leaves *out, struct error *err);

/* A leaf's deck: cards [leaf->deck], rows of the table or QUADTREE_BLANK.  scratch [max(deck, rows)]. */
#define QUADTREE_BLANK SIZE_MAX
MUST_CHECK enum status quadtree_deal(const struct quadtree_leaf *leaf, const size_t *order, struct sampler *sampler,
                                     size_t *scratch, size_t *cards, struct error *err);

/* The level of the cell with this centre; SIZE_MAX when it is no cell's. */
size_t quadtree_level(const struct quadtree *tree, const int64_t *index);
/* Variance per coordinate of a uniform point of a cell, scaled space: side^2 / 12. */
double quadtree_variance(size_t level);
/* Whether n centres, each as often as its leaf has cards, are leaves of one tree: cells in order, none within another. */
bool quadtree_is_partition(const struct quadtree *tree, const int64_t *indices, size_t n);

#endif
