/* Simulated fields of plankton, the logarithm of its concentration (Kharkovskii, section 4.4.1): 50 x 50 cells of 0.1 km,
 * length-scale 0.5 km, and an agent whose macro-actions are 4 cells straight on. */
#ifndef GNOMON_TESTS_BENCH_PLANKTON_H
#define GNOMON_TESTS_BENCH_PLANKTON_H

#include "engine/gp/kernel.h"
#include "engine/math/mat.h"
#include "tests/bench/walks.h"

enum { SIDE = 50, SITES = SIDE * SIDE };
static const double SPACING = 0.1, LENGTH_SCALE = 0.5, NOISE = 1e-5;

/* outputs [SITES]: L G L', its covariance the product of those along the two sides, and noise. */
static double draw_field(uint64_t number, double *outputs)
{
    static double L[SIDE * SIDE], G[SITES], half[SITES], transposed[SIDE * SIDE], spare[SIDE];
    double        x[SIDE], jitter, largest = -INFINITY;
    struct rng    rng = rng_at(20240, number, RNG_TEST);
    for (size_t i = 0; i < SIDE; i++)
        x[i] = SPACING * (double)i;
    const struct kernel kernel = {.kind = &kernel_se, .dims = 1, .variance = 1.0, .length_scales = &LENGTH_SCALE};
    memset(L, 0, sizeof L);
    kernel_matrix(&kernel, x, SIDE, L, SIDE);
    if (mat_cholesky(L, SIDE, SIDE, spare, &jitter, NULL) != STATUS_OK)
        abort();
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++) {
            L[i * SIDE + j] = j <= i ? L[i * SIDE + j] : 0;
            transposed[j * SIDE + i] = L[i * SIDE + j];
        }
    for (size_t i = 0; i < SITES; i++)
        G[i] = rng_normal(&rng);
    mat_multiply(L, G, SIDE, SIDE, SIDE, half);
    mat_multiply(half, transposed, SIDE, SIDE, SIDE, outputs);
    for (size_t i = 0; i < SITES; i++) {
        largest = fmax(largest, outputs[i]);
        outputs[i] += sqrt(NOISE) * rng_normal(&rng);
    }
    return largest;
}

/* The agent begins in one of the 4 x 4 cells in the middle, whose output it knows. */
static struct graph begin(uint64_t number, const double *outputs, uint32_t *site)
{
    struct rng rng = rng_at(20241, number, RNG_TEST);
    *site = (uint32_t)((23 + rng_below(&rng, 4)) * SIDE + 23 + rng_below(&rng, 4));
    return (struct graph){.moves = MOVES_STRAIGHT,
                          .sites_len = SITES,
                          .dims = 2,
                          .width = SIDE,
                          .height = SIDE,
                          .spacing = SPACING,
                          .steps = 4,
                          .most = 4,
                          .start = *site,
                          .prior_sites = site,
                          .prior_values = outputs + *site,
                          .prior_len = 1,
                          .sign = 1};
}

#endif
