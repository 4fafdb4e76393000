/* Graphs: which macro-actions there are at a site, against counts by hand and by a search of another kind, and that
 * neither many sites nor long paths cost what their number would. */
#include "engine/space/graph.h"
#include "engine/space/space.h"
#include "tests/unit/engine/suites.h"

#include <string.h>

static struct graph grid(enum graph_moves moves, size_t width, size_t height, size_t steps)
{
    return (struct graph){.moves = moves,
                          .sites_len = width * height,
                          .dims = 2,
                          .width = width,
                          .height = height,
                          .spacing = 0.25,
                          .steps = steps,
                          .most = 4096,
                          .sign = 1};
}

static size_t actions_len(const struct graph *graph, uint64_t seed, size_t site)
{
    struct macro_actions actions = {.len = SIZE_MAX};
    struct arena         arena;
    arena_init(&arena, 1 << 24);
    CU_ASSERT(graph_actions(graph, seed, site, &arena, &actions, NULL) == STATUS_OK);
    arena_fini(&arena);
    return actions.len;
}

/* Self-avoiding walks on the square lattice: 4, 12, 36, 100, 284, 780 (OEIS A001411). */
static void test_lattice(void)
{
    static const size_t walks[] = {4, 12, 36, 100, 284, 780};
    for (size_t steps = 1; steps <= 6; steps++) {
        struct graph graph = grid(MOVES_FOUR, 15, 15, steps);
        CU_ASSERT_EQUAL(actions_len(&graph, 7, 112), walks[steps - 1]);
        CU_ASSERT_EQUAL(graph_count(&graph, 112), walks[steps - 1]);
    }
    struct graph eight = grid(MOVES_EIGHT, 15, 15, 2), corner = grid(MOVES_FOUR, 3, 3, 2);
    CU_ASSERT_EQUAL(actions_len(&eight, 7, 112), 8 * 7);
    CU_ASSERT_EQUAL(actions_len(&corner, 7, 0), 4); /* right right, right up, up up, up right */
}

static void test_straight(void)
{
    struct graph         graph = grid(MOVES_STRAIGHT, 50, 50, 4);
    struct macro_actions actions;
    struct arena         arena;
    double               x[2];
    arena_init(&arena, 1 << 20);
    CU_ASSERT_FATAL(graph_actions(&graph, 1, 25 * 50 + 25, &arena, &actions, NULL) == STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(actions.len, 4);
    static const uint32_t last[] = {25 * 50 + 29, 25 * 50 + 21, 29 * 50 + 25, 21 * 50 + 25};
    for (size_t a = 0; a < 4; a++)
        CU_ASSERT(actions.at[a].len == 4 && actions.at[a].sites[3] == last[a]);
    CU_ASSERT_EQUAL(actions_len(&graph, 1, 3), 2); /* 3 cells from one edge, on another: two directions are left */
    CU_ASSERT_EQUAL(actions_len(&graph, 1, 4), 3);
    graph.moves = MOVES_STRAIGHT_EIGHT;
    CU_ASSERT_FATAL(graph_actions(&graph, 1, 25 * 50 + 25, &arena, &actions, NULL) == STATUS_OK && actions.len == 8);
    CU_ASSERT_EQUAL(graph_count(&graph, 25 * 50 + 25), 8);
    static const uint32_t diagonal[] = {29 * 50 + 29, 21 * 50 + 21, 21 * 50 + 29, 29 * 50 + 21};
    for (size_t a = 0; a < 4; a++)
        CU_ASSERT(actions.at[a].sites[3] == last[a] && actions.at[4 + a].sites[3] == diagonal[a]);
    CU_ASSERT_EQUAL(actions_len(&graph, 1, 3), 3); /* a diagonal more */
    const double slanted[] = {26 * 50 + 26, 27 * 50 + 27}, far[] = {27 * 50 + 26};
    CU_ASSERT(graph_allows(&graph, 25 * 50 + 25, slanted, 2) && !graph_allows(&graph, 25 * 50 + 25, far, 1));
    graph_coordinates(&graph, 29 * 50 + 25, x);
    CHECK_NEAR(x[0], 6.25, 1e-12);
    CHECK_NEAR(x[1], 7.25, 1e-12);
    arena_fini(&arena);
}

/* A directed ring of 5 with one chord; duplicates and loops are dropped. */
static struct graph ring(struct arena *arena)
{
    static const double coordinates[] = {0.5, 1.5, 2.5, 3.5, 4.5};
    struct graph_edge   edges[] = {{3, 4}, {0, 1}, {1, 2}, {1, 1}, {0, 1}, {2, 3}, {4, 0}, {1, 3}};
    struct graph        graph = {.sites_len = 5, .dims = 1, .coordinates = coordinates, .steps = 3, .most = 20};
    CU_ASSERT_FATAL(graph_set_edges(&graph, edges, 8, arena, NULL) == STATUS_OK);
    return graph;
}

static void test_edges(void)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct graph graph = ring(&arena);
    CU_ASSERT(graph_check(&graph, NULL) == STATUS_OK);
    CU_ASSERT_EQUAL(graph.first[5], 6);
    CU_ASSERT_EQUAL(actions_len(&graph, 3, 0), 2); /* 1 2 3, 1 3 4 */
    CU_ASSERT_EQUAL(actions_len(&graph, 3, 2), 1); /* 3 4 0 */
    const double good[] = {1, 3, 4}, jump[] = {1, 4, 0}, back[] = {2, 3}, none[] = {7}, half[] = {1.5};
    CU_ASSERT(graph_allows(&graph, 0, good, 3) && graph_allows(&graph, 0, good, 1));
    CU_ASSERT(!graph_allows(&graph, 0, jump, 3) && !graph_allows(&graph, 0, back, 2) &&
              graph_allows(&graph, 1, back, 2));
    CU_ASSERT(!graph_allows(&graph, 0, none, 1) && !graph_allows(&graph, 0, half, 1) &&
              !graph_allows(&graph, 0, good, 0));
    struct error err;
    graph.start = 9;
    CU_ASSERT(graph_check(&graph, &err) == STATUS_INVALID && strcmp(err.code, "unknown_site") == 0);
    graph.start = 0;
    graph.steps = 5; /* a simple path has at most 4 edges here */
    CU_ASSERT(graph_check(&graph, &err) == STATUS_INVALID && strcmp(err.code, "no_macro_action") == 0);
    graph.steps = GRAPH_STEPS_MAX + 1;
    CU_ASSERT(graph_check(&graph, &err) == STATUS_INVALID && strcmp(err.code, "out_of_range") == 0);
    arena_fini(&arena);
}

/* The sites of the graph, from the first on. */
static void test_points(void)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct graph        graph = ring(&arena);
    const struct space  space = {.kind = SPACE_GRAPH, .graph = &graph};
    static const double good[][3] = {{1, 3, 4}, {1, 3, NAN}, {0, NAN, NAN}},
                        bad[][3] = {{NAN, NAN, NAN}, {1, NAN, 4}, {1, 5, NAN},        {-1, 3, 4},
                                    {0.5, 3, 4},     {NAN, 3, 4}, {INFINITY, 3, NAN}, {9.76e25, NAN, NAN}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CU_ASSERT(space_has(&space, good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT(!space_has(&space, bad[i]));
    arena_fini(&arena);
}

static void test_listed(void)
{
    static const uint32_t out[] = {1, 2}, far[] = {2, 3, 4}, home[] = {0};
    struct graph_listed   listed[] = {{2, {home, 1}}, {0, {far, 3}}, {0, {out, 2}}};
    struct arena          arena;
    arena_init(&arena, 1 << 20);
    struct graph graph = ring(&arena);
    graph.steps = 0;
    CU_ASSERT_FATAL(graph_set_listed(&graph, listed, 3, &arena, NULL) == STATUS_OK);
    CU_ASSERT_EQUAL(graph.steps, 3);
    CU_ASSERT_EQUAL(actions_len(&graph, 3, 0), 2);
    CU_ASSERT_EQUAL(actions_len(&graph, 3, 1), 0);
    const double begun[] = {2, 3}, other[] = {2, 4};
    CU_ASSERT(graph_allows(&graph, 0, begun, 2) && !graph_allows(&graph, 0, other, 2) &&
              !graph_allows(&graph, 1, begun, 2));
    graph.most = 1;
    CU_ASSERT_EQUAL(actions_len(&graph, 3, 0), 1);
    graph.start = 1;
    CU_ASSERT(graph_check(&graph, NULL) == STATUS_INVALID);
    arena_fini(&arena);
}

/* A sample is of the paths there are, without repetition, the same for the same seed, and every path is as likely. */
static void test_sample(void)
{
    struct graph         graph = grid(MOVES_FOUR, 15, 15, 3);
    struct macro_actions all, some;
    struct arena         arena;
    size_t               hits[36] = {0};
    arena_init(&arena, 1 << 22);
    CU_ASSERT_FATAL(graph_actions(&graph, 1, 112, &arena, &all, NULL) == STATUS_OK && all.len == 36);
    graph.most = 9;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct arena_mark mark = arena_mark(&arena);
        CU_ASSERT_FATAL(graph_actions(&graph, seed, 112, &arena, &some, NULL) == STATUS_OK && some.len == 9);
        for (size_t s = 0, a = 0; s < some.len; s++, a++) { /* in the order of all */
            while (a < all.len && memcmp(all.at[a].sites, some.at[s].sites, 3 * sizeof *all.at[a].sites) != 0)
                a++;
            CU_ASSERT_FATAL(a < all.len);
            hits[a]++;
        }
        arena_release(&arena, mark);
    }
    for (size_t a = 0; a < all.len; a++) /* 500 expected, standard deviation 19.4 */
        CHECK_NEAR(hits[a], 500, 90);
    arena_fini(&arena);
}

/* A million sites and paths of 20: there are about 10^9 from each. */
static void test_huge(void)
{
    struct graph         graph = grid(MOVES_FOUR, 1000, 1000, 20);
    struct macro_actions actions, again;
    struct arena         arena;
    graph.most = 20;
    graph.start = 500500;
    arena_init(&arena, 1 << 20);
    CU_ASSERT(graph_check(&graph, NULL) == STATUS_OK);
    CU_ASSERT_EQUAL(graph_count(&graph, 500500), GRAPH_ACTIONS_MAX + 1);
    CU_ASSERT_FATAL(graph_actions(&graph, 5, 500500, &arena, &actions, NULL) == STATUS_OK);
    CU_ASSERT_FATAL(graph_actions(&graph, 5, 500500, &arena, &again, NULL) == STATUS_OK);
    CU_ASSERT(actions.len == 20 && again.len == 20);
    for (size_t a = 0; a < actions.len; a++) {
        double sites[20];
        bool   repeats = false;
        CU_ASSERT(memcmp(actions.at[a].sites, again.at[a].sites, 20 * sizeof *actions.at[a].sites) == 0);
        for (size_t i = 0; i < 20; i++) {
            sites[i] = actions.at[a].sites[i];
            repeats = repeats || sites[i] == 500500;
            for (size_t j = 0; j < i; j++)
                repeats = repeats || sites[j] == sites[i];
        }
        CU_ASSERT(!repeats && graph_allows(&graph, 500500, sites, 20));
    }
    struct arena tiny;
    struct error err;
    arena_init(&tiny, 64);
    CU_ASSERT(graph_actions(&graph, 5, 500500, &tiny, &actions, &err) == STATUS_NO_MEMORY);
    arena_fini(&tiny);
    arena_fini(&arena);
}

CU_TestInfo suite_graph[] = {
    {"walks on a lattice", test_lattice},
    {"straight moves", test_straight},
    {"edges", test_edges},
    {"points", test_points},
    {"listed macro-actions", test_listed},
    {"sample", test_sample},
    {"huge graph", test_huge},
    CU_TEST_INFO_NULL,
};
