/* See project.h: the forecast of a release in words and in a small picture. */
#include "engine/finite_set/forecast.h"
#include "service/curator/project.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { HEIGHT = 10, WIDTH = 60, TRIALS = 60, LIMIT_MS = 10000 };

static double clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Regret from the largest down to 0 against trials: o open, x released, . random; the first of them where they meet. */
static void draw(const struct forecast *f)
{
    static const char marks[FORECAST_ARMS] = {
        [FORECAST_OPEN] = 'o', [FORECAST_RELEASED] = 'x', [FORECAST_RANDOM] = '.'};
    double top = 1e-9;
    for (size_t arm = 0; arm < FORECAST_ARMS; arm++)
        top = fmax(top, f->regret[arm][0]);
    for (int line = HEIGHT; line >= 0; line--) {
        char text[WIDTH + 1];
        for (size_t at = 0; at < WIDTH; at++) {
            size_t trial = at * (f->trials - 1) / (WIDTH - 1);
            text[at] = ' ';
            for (size_t arm = FORECAST_ARMS; arm-- > 0;)
                if ((int)rint(f->regret[arm][trial] / top * HEIGHT) == line)
                    text[at] = marks[arm];
        }
        text[WIDTH] = '\0';
        printf("  %5.2f |%s\n", top * line / HEIGHT, text);
    }
    printf("         1%*zu trials\n", WIDTH - 1, f->trials);
}

static void print(const struct forecast *f)
{
    printf(
        "Forecast, without a look at the data: mean regret of po-gp-ucb in standard deviations of a function, %zu "
        "functions\n"
        "drawn with the public length-scales over rows that are uniform in the public box. Rows and outcomes of your "
        "table\n"
        "may be easier or harder; noise of outcomes is left out.\n"
        "  trials   open rows   this release   random   cost of the release\n",
        f->pairs);
    for (size_t k = 0; k < FORECAST_MARKS; k++) {
        size_t t = f->mark[k] - 1;
        printf("  %6zu   %9.3f   %12.3f   %6.3f   %+.3f +- %.3f\n", f->mark[k], f->regret[FORECAST_OPEN][t],
               f->regret[FORECAST_RELEASED][t], f->regret[FORECAST_RANDOM][t], f->cost[k], f->cost_se[k]);
    }
    printf("  on average over the trials: %+.3f +- %.3f   (o open, x this release, . random)\n", f->mean_cost,
           f->mean_cost_se);
    draw(f);
}

enum status project_forecast(const struct release_manifest *manifest, struct error *err)
{
    struct forecast f = {.mechanism = manifest->mechanism,
                         .sides = manifest->sides,
                         .scale = {.centre = manifest->centre,
                                   .length_scales = manifest->length_scales,
                                   .low = manifest->low,
                                   .high = manifest->high,
                                   .radius = manifest->radius},
                         .trials = TRIALS,
                         .clock_ms = clock_ms,
                         .limit_ms = LIMIT_MS};
    struct arena    arena;
    arena_init(&arena, SIZE_MAX);
    enum status status = forecast_run(&f, &arena, err);
    arena_fini(&arena);
    if (status == STATUS_OK)
        print(&f);
    return status;
}
