/* Evaluates the engine's Gaussian process on problems read from standard input, for comparison with another
 * implementation (gp_sklearn.py).  A problem is white-space separated text:
 *   kind n d m variance noise_variance  length_scales[d]  X[n*d] y[n] noise[n]  Z[m*d]
 * kind: the name of one.  The answer is one number a line:
 *   log marginal likelihood, its gradient [d + 2], means [m], standard deviations [m]. */
#include "engine/gp/gp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double number(void)
{
    double x;
    if (scanf("%lf", &x) != 1) {
        fputs("gp_eval: the problem ends too early\n", stderr);
        exit(2);
    }
    return x;
}

static double *numbers(struct arena *arena, size_t n)
{
    double *x = ARENA_NEW(arena, double, n);
    if (x == NULL)
        exit(2);
    for (size_t i = 0; i < n; i++)
        x[i] = number();
    return x;
}

static void print_numbers(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%.17g\n", x[i]);
}

static enum status evaluate(const struct kernel_kind *kind, struct arena *arena, struct error *err)
{
    size_t         n = (size_t)number(), d = (size_t)number(), m = (size_t)number();
    double         variance = number(), noise_variance = number(), value;
    struct kernel  kernel = {.kind = kind, .dims = d, .variance = variance, .length_scales = numbers(arena, d)};
    double        *X = numbers(arena, n * d), *y = numbers(arena, n), *noise = numbers(arena, n);
    double        *Z = numbers(arena, m * d), *gradient = ARENA_NEW(arena, double, d + 2);
    double        *mean = ARENA_NEW(arena, double, m), *var = ARENA_NEW(arena, double, m);
    struct gp_data data = {.n = n, .dims = d, .X = X, .y = y, .noise = noise};
    struct gp_work work;
    struct gp      gp;
    if (gradient == NULL || mean == NULL || var == NULL)
        exit(2);
    TRY(gp_work_init(&work, arena, n, err));
    TRY(gp_likelihood(&data, &kernel, noise_variance, &work, &value, gradient));
    TRY(gp_init(&gp, arena, &kernel, noise_variance, n, err));
    TRY(gp_set_points(&gp, X, noise, n, err));
    TRY(gp_set_values(&gp, y, err));
    TRY(gp_posterior(&gp, (struct points){Z, m}, mean, var, arena, err));
    for (size_t i = 0; i < m; i++)
        var[i] = sqrt(var[i]);
    print_numbers(&value, 1);
    print_numbers(gradient, d + 2);
    print_numbers(mean, m);
    print_numbers(var, m);
    return STATUS_OK;
}

static const struct kernel_kind *find(const char *name)
{
    for (size_t k = 0; k < KERNELS; k++)
        if (strcmp(name, kernel_names[k]) == 0)
            return kernel_kinds[k];
    fputs("gp_eval: no such kernel\n", stderr);
    exit(2);
}

int main(void)
{
    char name[32];
    while (scanf("%31s", name) == 1) {
        struct arena arena;
        struct error err = {.text = "no value"};
        arena_init(&arena, (size_t)1 << 30);
        if (evaluate(find(name), &arena, &err) != STATUS_OK) {
            fprintf(stderr, "gp_eval: %s\n", err.text);
            return 1;
        }
        arena_fini(&arena);
    }
    return 0;
}
