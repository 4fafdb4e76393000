/* The privacy losses that the papers on DP-FTS-DE publish (Dai, thesis, ch. 6; Dai et al. 2021), at delta = N^-1.1.
 * usage: privacy_loss
 * Prints q,z,releases,agents,published,moments,promise: what they printed; the moments accountant that they name,
 *   min over l = 1..32 of (T a(l) + log(1 / delta)) / l,   a(l) = log sum_k C(l + 1, k) (1 - q)^(l + 1 - k) q^k e^(k (k - 1) / 2 z^2);
 * and what the engine's accountant promises for the same releases, which is tighter and an upper bound.
 * The exit code is 1 when the moments accountant is off in a printed digit, or a promise is above it. */
#include "engine/privacy/accountant.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ORDERS = 32 };

// clang-format off
static const struct row {
    double   q, z;
    unsigned releases, agents;
    double   published;
    double   rounding; /* of the printed digits */
} rows[] = {
    {.15, 1, 40, 200, 5.93, .005}, {.25, 1, 40, 200, 9.91, .005}, {.5, 1, 40, 200, 20.12, .005},
    {.25, 1.2, 40, 200, 7.39, .005}, {.25, 1.5, 40, 200, 5.22, .005},
    {.35, 1, 60, 29, 15.17, .005}, {.35, 1.6, 60, 29, 7.12, .005}, {.35, 2, 60, 29, 5.14, .005},
    {.35, 3, 60, 29, 3.05, .005}, {.35, 4, 60, 29, 2.16, .005}, {.1, 1, 60, 29, 3.75, .005},
    {.15, 1, 60, 29, 5.98, .005}, {.2, 1, 60, 29, 7.69, .005}, {.25, 1, 60, 29, 9.82, .005},
};
// clang-format on

static double moments(const struct row *row, double delta)
{
    double least = INFINITY;
    for (int order = 1; order <= ORDERS; order++) {
        double sum = 0;
        for (int k = 0, a = order + 1; k <= a; k++)
            sum += exp(lgamma(a + 1) - lgamma(k + 1) - lgamma(a - k + 1) + (a - k) * log1p(-row->q) + k * log(row->q) +
                       k * (k - 1) / (2 * row->z * row->z));
        least = fmin(least, (row->releases * log(sum) - log(delta)) / order);
    }
    return least;
}

int main(void)
{
    int          wrong = 0;
    struct arena arena;
    struct error err = {0};
    arena_init(&arena, 1 << 20);
    puts("q,z,releases,agents,published,moments,promise,verdict");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double                delta = pow(rows[i].agents, -1.1), same = moments(&rows[i], delta), promise = NAN;
        struct accountant_run run = {rows[i].q, rows[i].z, rows[i].releases};
        if (accountant_promise(&run, 1, delta, &promise, &arena, &err) != STATUS_OK)
            return fprintf(stderr, "%s\n", err.text), 2;
        bool is_same = fabs(same - rows[i].published) <= rows[i].rounding && promise <= same;
        wrong += !is_same;
        printf("%g,%g,%u,%u,%.2f,%.4f,%.4f,%s\n", rows[i].q, rows[i].z, rows[i].releases, rows[i].agents,
               rows[i].published, same, promise, is_same ? "ok" : "NOT");
    }
    arena_fini(&arena);
    return wrong > 0;
}
