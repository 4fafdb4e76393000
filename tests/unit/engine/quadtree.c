/* The private tree: its plan, its geometry, the law of its decks, and an attack that its noise has to withstand. */
#include "engine/privacy/quadtree.h"

#include "tests/unit/bits.h"
#include "tests/unit/engine/suites.h"

#include <math.h>
#include <string.h>

enum { N = 1777, D = 2 };
static const double               centre[D] = {3.1, -40}, length_scales[D] = {2.385, 11};
static const struct release_scale scale = {.centre = centre, .length_scales = length_scales, .radius = 4.7};

struct fixture {
    struct arena   arena;
    struct rng     rng;
    struct sampler sampler;
    double        *rows;
};

/* Two clusters, and some rows that lie outside of the box. */
static void setup(struct fixture *f, uint64_t seed)
{
    struct rng data = rng_at(17, 3, RNG_TEST);
    arena_init(&f->arena, 1 << 22);
    f->rng = rng_at(seed, 4, RNG_TEST);
    sampler_init(&f->sampler, bits_of_rng, &f->rng);
    f->rows = ARENA_NEW(&f->arena, double, N *D);
    CU_ASSERT_FATAL(f->rows != NULL);
    for (size_t i = 0; i < N * D; i++)
        f->rows[i] = centre[i % D] + length_scales[i % D] * (rng_normal(&data) + (i % (2 * D) < D ? -2.3 : 1.9));
}

static struct quadtree plan_of(double epsilon)
{
    return (struct quadtree){.rows = N, .columns = D, .epsilon = epsilon};
}

/* epsilon_l ~ 2^(l/3), rounded down; depth by rows and epsilon alone. */
static void test_plan(void)
{
    struct quadtree tree = plan_of(1.385);
    CU_ASSERT_EQUAL_FATAL(quadtree_plan(&tree, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(tree.levels, 4); /* log4(1777 * 1.385 / 8) + 0.35 = 4.48 */
    CHECK_NEAR(tree.gamma, 50.0 / 32, 0);
    double sum = 0;
    for (size_t l = 0; l < 4; l++)
        sum += 2 * (double)tree.rates[l] * 0x1p-32;
    CU_ASSERT(sum <= 1.385);
    CHECK_NEAR(sum, 1.385, 1e-8);
    CHECK_NEAR((double)tree.rates[3] / (double)tree.rates[0], 2, 1e-8);
    tree = plan_of(0.03);
    CU_ASSERT(quadtree_plan(&tree, NULL) == STATUS_OK && tree.levels == 1);
    tree = plan_of(11.08); /* eight times as much: three halves of a level more */
    CU_ASSERT(quadtree_plan(&tree, NULL) == STATUS_OK && tree.levels == 5);
    static const struct {
        struct quadtree tree;
        const char     *code;
    } refused[] = {
        {{.rows = N, .columns = D, .epsilon = 0}, "bad_epsilon"},
        {{.rows = 0, .columns = D, .epsilon = 1}, "bad_size"},
        {{.rows = N, .columns = 11, .epsilon = 1}, "bad_dims"},
        {{.rows = 50, .columns = 1, .epsilon = 0.1}, "too_few_rows"},
        {{.rows = 900, .columns = 9, .epsilon = 1}, "too_few_rows"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct error err = {.code = ""};
        tree = refused[i].tree;
        CU_ASSERT(quadtree_plan(&tree, &err) == STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.code, refused[i].code);
    }
}

/* A tree of another rule is read as it was made, if its noise costs its epsilon. */
static void test_planned_before(void)
{
    static const struct {
        size_t   levels;
        uint64_t rates[QUADTREE_LEVELS_MAX];
        bool     is_good;
    } cases[] = {
        {2, {950247199, 1197236448}, true}, /* of 2,000 rows, three columns and four length-scales, by version 0.1.0 */
        {2, {950247199, 1197236450}, false},  {2, {950247199, 1197236400}, false},   {1, {950247199}, false},
        {3, {0, 0, UINT64_C(1) << 31}, true}, {7, {0, 0, UINT64_C(1) << 31}, false}, /* 21 halvings */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error    err = {.code = ""};
        struct quadtree tree = {.rows = 2000, .columns = 3, .epsilon = 1, .levels = cases[i].levels};
        memcpy(tree.rates, cases[i].rates, sizeof tree.rates);
        CU_ASSERT_EQUAL(quadtree_plan(&tree, &err), cases[i].is_good ? STATUS_OK : STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.code, cases[i].is_good ? "" : "bad_rates");
        CU_ASSERT(memcmp(tree.rates, cases[i].rates, sizeof tree.rates) == 0 && tree.levels == cases[i].levels);
        CHECK_NEAR(tree.gamma, 25 / exp2((double)cases[i].levels), 0);
    }
}

/* All copies of all leaves, as a matrix. */
static size_t cards_of(const struct quadtree_leaves *leaves, int64_t *K)
{
    size_t n = 0;
    for (size_t i = 0; i < leaves->len; i++)
        for (size_t k = 0; k < leaves->leaves[i].deck; k++)
            memcpy(K + D * n++, leaves->indices + D * i, D * sizeof *K);
    return n;
}

/* Every row of a leaf lies in its cell, clamped to the box; with hardly any noise every deck is the count. */
static void test_leaves(void)
{
    static const double epsilons[] = {0.7, 2.385, 900};
    for (size_t e = 0; e < 3; e++) {
        struct fixture         f;
        struct quadtree        tree = plan_of(epsilons[e]);
        struct quadtree_leaves leaves;
        static int64_t         K[N * D];
        size_t                 in_leaves = 0;
        setup(&f, 71 + e);
        CU_ASSERT_EQUAL_FATAL(quadtree_grow(&tree, &(struct quadtree_data){.scale = scale, .rows = f.rows}, &f.sampler,
                                            &f.arena, &leaves, NULL),
                              STATUS_OK);
        CU_ASSERT_FATAL(leaves.cards <= N && cards_of(&leaves, K) == leaves.cards);
        CU_ASSERT(quadtree_is_partition(&tree, K, leaves.cards));
        for (size_t i = 0; i < leaves.len; i++) {
            const struct quadtree_leaf *leaf = &leaves.leaves[i];
            const int64_t              *index = leaves.indices + i * D;
            double                      side = 50 / exp2((double)quadtree_level(&tree, index));
            CHECK_NEAR(quadtree_variance(quadtree_level(&tree, index)), side * side / 12, 1e-12);
            for (size_t k = 0; k < leaf->rows; k++)
                for (size_t c = 0; c < D; c++) {
                    double x = f.rows[leaves.order[leaf->first + k] * D + c];
                    x = fmin(fmax((x - centre[c]) / (length_scales[c] * scale.radius) * 25, -25), 25);
                    CU_ASSERT(fabs(x - (double)index[c] * tree.gamma) <= side / 2 * (1 + 1e-12));
                }
            CU_ASSERT(e < 2 || leaf->deck == leaf->rows);
            in_leaves += leaf->rows;
        }
        CU_ASSERT(e < 2 || (in_leaves == N && leaves.cards == N));
        CU_ASSERT(in_leaves > N * 3 / 4 && leaves.cards > N * 3 / 4);
        arena_fini(&f.arena);
    }
}

/* Few rows and much noise: parts that are all too small are kept as one, so that no tree is empty. */
static void test_never_empty(void)
{
    static const double row = 0.5, origin = 0, unit = 1;
    struct fixture      f;
    size_t              empty = 0;
    setup(&f, 79);
    for (size_t i = 0; i < 60; i++)
        f.rows[i] = row + (double)(i % 15) - 7;
    for (size_t i = 0; i < 2000; i++) {
        struct quadtree        tree = {.rows = 60, .columns = 1, .epsilon = 1};
        struct quadtree_leaves leaves;
        struct arena_mark      mark = arena_mark(&f.arena);
        struct quadtree_data   data = {.rows = f.rows, .scale = {&origin, &unit, 8, NULL, NULL}};
        int64_t                K[60];
        CU_ASSERT_EQUAL_FATAL(quadtree_grow(&tree, &data, &f.sampler, &f.arena, &leaves, NULL), STATUS_OK);
        size_t at = 0;
        for (size_t l = 0; l < leaves.len; l++)
            for (size_t k = 0; k < leaves.leaves[l].deck; k++)
                K[at++] = leaves.indices[l];
        empty += at == 0 || at != leaves.cards || !quadtree_is_partition(&tree, K, at);
        arena_release(&f.arena, mark);
    }
    CU_ASSERT_EQUAL(empty, 0);
    arena_fini(&f.arena);
}

static void test_bad_rows(void)
{
    struct fixture         f;
    struct quadtree        tree = plan_of(1);
    struct quadtree_leaves leaves;
    struct error           err = {.code = ""};
    setup(&f, 75);
    f.rows[7 * D + 1] = NAN;
    CU_ASSERT(quadtree_grow(&tree, &(struct quadtree_data){.scale = scale, .rows = f.rows}, &f.sampler, &f.arena,
                            &leaves, &err) == STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.code, "not_finite");
    struct release_scale empty = {.centre = centre, .length_scales = (const double[]){2, 0}, .radius = 3};
    CU_ASSERT(quadtree_grow(&tree, &(struct quadtree_data){.scale = empty, .rows = f.rows}, &f.sampler, &f.arena,
                            &leaves, &err) == STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.code, "bad_scale");
    struct arena small;
    arena_init(&small, 1 << 14);
    CU_ASSERT(quadtree_grow(&tree, &(struct quadtree_data){.scale = scale, .rows = f.rows}, &f.sampler, &small, &leaves,
                            &err) == STATUS_NO_MEMORY);
    arena_fini(&small);
    arena_fini(&f.arena);
}

/* Lists that are no set of leaves: other numbers, another order, a cell within a cell, a border too far. */
static void test_partition(void)
{
    struct quadtree tree = {.rows = N, .columns = 2, .epsilon = 1, .levels = 3};
    static const struct {
        int64_t K[3 * 2];
        size_t  n;
        bool    is_good;
    } cases[] = {
        {{-4, -4, -4, -4, 4, -4}, 3, true},
        {{-7, -7, -5, -7, 4, 4}, 3, true},
        {{4, -4, -4, -4}, 2, false},
        {{-4, -4, 4, -4, -4, -4}, 3, false},
        {{-4, -4, -7, -7}, 2, false},
        {{-7, -7, -4, -4}, 2, false},
        {{-4, -2}, 1, false},
        {{0, 0}, 1, false},
        {{-9, -9}, 1, false},
        {{9, 7}, 1, false},
        {{4, 12}, 1, false},
        {{-4, -3}, 1, false},
        {{6, 6, 7, 7}, 2, false},
        {{-6, -6, 6, 6}, 2, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CU_ASSERT_EQUAL(quadtree_is_partition(&tree, cases[i].K, cases[i].n), cases[i].is_good);
    CU_ASSERT(!quadtree_is_partition(&tree, cases[0].K, 0));
}

/* Three rows and two cards: each ordered pair in a sixth of the decks.  One row and three cards: any place for it. */
static void test_deal(void)
{
    enum { DEALS = 30000 };
    static const size_t order[] = {90, 91, 92, 93, 94};
    struct fixture      f;
    size_t              pairs[9] = {0}, places[3] = {0}, scratch[3], cards[3];
    setup(&f, 76);
    for (int i = 0; i < DEALS; i++) {
        struct quadtree_leaf leaf = {.deck = 2, .first = 1, .rows = 3};
        CU_ASSERT_FATAL(quadtree_deal(&leaf, order, &f.sampler, scratch, cards, NULL) == STATUS_OK);
        CU_ASSERT_FATAL(cards[0] >= 91 && cards[0] <= 93 && cards[1] >= 91 && cards[1] <= 93);
        pairs[(cards[0] - 91) * 3 + cards[1] - 91]++;
        leaf = (struct quadtree_leaf){.deck = 3, .first = 4, .rows = 1};
        CU_ASSERT_FATAL(quadtree_deal(&leaf, order, &f.sampler, scratch, cards, NULL) == STATUS_OK);
        size_t blanks = 0;
        for (size_t k = 0; k < 3; k++) {
            places[k] += cards[k] == 94;
            blanks += cards[k] == QUADTREE_BLANK;
        }
        CU_ASSERT_FATAL(blanks == 2);
    }
    for (size_t k = 0; k < 9; k++)
        CHECK_NEAR((double)pairs[k] / DEALS, k % 4 == 0 ? 0 : 1.0 / 6, 4.5 * sqrt(5.0 / 36 / DEALS));
    for (size_t k = 0; k < 3; k++)
        CHECK_NEAR((double)places[k] / DEALS, 1.0 / 3, 4.5 * sqrt(2.0 / 9 / DEALS));
    arena_fini(&f.arena);
}

/* ---- what the answers of a deck tell ---- */

enum { CARDS_MAX = 3, ROWS_MAX = 4, OUTPUTS = 1 << CARDS_MAX };

/* Chosen draws in the place of random bits: whatever bound one is below of, it is the next of these. */
struct script {
    uint32_t words[2 * CARDS_MAX];
};
static enum status bits_of_script(void *arg, void *out, size_t length, struct error *err)
{
    (void)err;
    memset(out, 0, length);
    memcpy(out, arg, sizeof(struct script));
    return STATUS_OK;
}

/* 2^32 + low is the 64 bits that are drawn: what is left of it by bound is the choice. */
static void script_choice(struct script *script, size_t i, uint64_t bound, uint64_t choice)
{
    uint64_t left = (UINT64_C(1) << 32) % bound;
    script->words[2 * i] = 1;
    script->words[2 * i + 1] = (uint32_t)((choice + bound - left) % bound);
}

/* Where outcomes are bits, and an answer is the outcome's with odds e to 1, as for epsilon 1: the law of all answers of a
 * deck, over every way in which it can be dealt.  values: of the leaf's rows, then the blank's. */
static void law_of(size_t deck, size_t rows, const int *values, int blank, double law[OUTPUTS])
{
    static const size_t  order[ROWS_MAX] = {0, 1, 2, 3};
    struct quadtree_leaf leaf = {.deck = deck, .rows = rows};
    size_t               slots = deck > rows ? deck : rows, ways = 1, scratch[ROWS_MAX], cards[CARDS_MAX];
    double               hit = 1 / (1 + exp(-1));
    for (size_t i = 0; i < deck; i++)
        ways *= slots - i;
    for (size_t o = 0; o < OUTPUTS; o++)
        law[o] = 0;
    for (size_t way = 0; way < ways; way++) {
        struct script  script = {{0}};
        struct sampler sampler;
        size_t         left = way;
        for (size_t i = 0; i < deck; left /= slots - i, i++)
            script_choice(&script, i, slots - i, left % (slots - i));
        sampler_init(&sampler, bits_of_script, &script);
        CU_ASSERT_FATAL(quadtree_deal(&leaf, order, &sampler, scratch, cards, NULL) == STATUS_OK);
        for (size_t o = 0; o < (size_t)1 << deck; o++) {
            double p = 1.0 / (double)ways;
            for (size_t i = 0; i < deck; i++)
                p *= (int)(o >> i & 1) == (cards[i] == QUADTREE_BLANK ? blank : values[cards[i]]) ? hit : 1 - hit;
            law[o] += p;
        }
    }
}

static double largest_loss(size_t deck, const double one[OUTPUTS], const double other[OUTPUTS])
{
    double most = 0;
    for (size_t o = 0; o < (size_t)1 << deck; o++)
        most = fmax(most, fabs(log(one[o] / other[o])));
    return most;
}

/* Decks of one to three cards, leaves of none to three rows and one more, every outcome, both blanks: one row more or
 * less, or another outcome of one, costs exactly what one answer costs, and never more. */
static void test_deck_loss(void)
{
    double most_added = 0, most_changed = 0;
    for (size_t deck = 1; deck <= CARDS_MAX; deck++)
        for (size_t rows = 0; rows < ROWS_MAX; rows++)
            for (int word = 0; word < 1 << (rows + 2); word++) {
                int    values[ROWS_MAX], blank = word >> (rows + 1) & 1;
                double without[OUTPUTS], with[OUTPUTS], changed[OUTPUTS], sum = 0;
                for (size_t i = 0; i <= rows; i++)
                    values[i] = word >> i & 1;
                law_of(deck, rows, values, blank, without);
                law_of(deck, rows + 1, values, blank, with);
                values[rows] = !values[rows];
                law_of(deck, rows + 1, values, blank, changed);
                for (size_t o = 0; o < (size_t)1 << deck; o++)
                    sum += with[o];
                CHECK_NEAR(sum, 1, 1e-12);
                most_added = fmax(most_added, largest_loss(deck, with, without));
                most_changed = fmax(most_changed, largest_loss(deck, with, changed));
            }
    CHECK_NEAR(most_added, 1, 1e-9);
    CHECK_NEAR(most_changed, 1, 1e-9);
}

/* Forty rows on a line in two halves, one of them on either side; the attacker names the side by the decks. */
CU_TestInfo suite_quadtree[] = {
    {"plan", test_plan},
    {"leaves", test_leaves},
    {"bad rows", test_bad_rows},
    {"partition", test_partition},
    {"deal", test_deal},
    {"what a deck tells", test_deck_loss},
    {"never empty", test_never_empty},
    {"planned before", test_planned_before},
    CU_TEST_INFO_NULL,
};
