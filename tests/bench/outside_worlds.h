/* Worlds that tests/bench/outside.c makes from a seed: functions to be minimised, each with a space of its own, of which
 * no choice of an algorithm can know.  A world is a formula moved and turned, a path of a Gaussian process, a step-like or
 * finite version of these, or a table of tests/data/outward.
 * Values are of the place u [dims] in the unit cube; NAN: the trial is infeasible. */
#ifndef GNOMON_TESTS_BENCH_OUTSIDE_WORLDS_H
#define GNOMON_TESTS_BENCH_OUTSIDE_WORLDS_H

#include "engine/base/numbers.h"
#include "engine/math/rng.h"
#include "engine/policy/policy.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLD_PARAMS = 60, WORLD_DIMS = 80, FEATURES = 200, PEAKS = 21, CELLS = 200, TREES = 12, LEAVES = 16 };
enum { TABLE_ROWS = 6000, TABLE_VALUES = 64, LINE = 512 };

struct world;
struct world_kind {
    const char *class, *name;
    void (*make)(struct world *world, struct rng *rng, int variant);
    int variant;
};

/* Rows of a table: which of each column's values they have, the smallest number first, and what came of them. */
struct table {
    size_t len;
    double at[TABLE_ROWS][12], value[TABLE_ROWS], values[12][TABLE_VALUES];
    char   names[12][TABLE_VALUES][64];
    size_t count[12];
    bool   is_name[12], misses_fail;
};

struct world {
    struct param     params[WORLD_PARAMS];
    struct condition when[WORLD_PARAMS];
    struct space     space;
    size_t           doubles; /* that were asked for; 0: as many as the class has */
    double (*value)(const struct world *world, const double *u);
    double (*form)(const double *z, size_t d); /* of turned coordinates, 0 at 0 */
    double       zoom, centre[WORLD_DIMS], turn[WORLD_DIMS][WORLD_DIMS];
    double       wave[FEATURES][WORLD_DIMS], phase[FEATURES]; /* of a path */
    double       peak[PEAKS][WORLD_DIMS], height[PEAKS], width[PEAKS];
    double       cell[CELLS][WORLD_DIMS], step;
    double       split[TREES][LEAVES], leaf[TREES][LEAVES];
    size_t       by[TREES][LEAVES];
    double       limit;      /* of the second path: beyond it trials are infeasible */
    double       noise;      /* sd of a measurement */
    double       least;      /* the optimum; NAN: looked for */
    bool         is_failing; /* an infeasible trial only fails */
    struct table table;
};

static double square(double x)
{
    return x * x;
}

/* ---- forms: 0 at 0 ---- */

static double ellipsoid(const double *z, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += pow(100, (double)j / (double)(d > 1 ? d - 1 : 1)) * z[j] * z[j];
    return sum;
}

static double rosenbrock(const double *z, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j + 1 < d; j++)
        sum += 100 * square(z[j + 1] + 1 - square(z[j] + 1)) + square(z[j]);
    return sum;
}

static double ridge(const double *z, size_t d)
{
    double sum = 0;
    for (size_t j = 1; j < d; j++)
        sum += z[j] * z[j];
    return z[0] * z[0] + 10 * sqrt(sum);
}

static double powers(const double *z, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += pow(fabs(z[j]), 2 + 4 * (double)j / (double)(d > 1 ? d - 1 : 1));
    return sqrt(sum);
}

static double rastrigin(const double *z, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += z[j] * z[j] + 4 * (1 - cos(2 * PI * z[j]));
    return sum;
}

static double ackley(const double *z, size_t d)
{
    double squares = 0, cosines = 0;
    for (size_t j = 0; j < d; j++) {
        squares += z[j] * z[j] / (double)d;
        cosines += cos(2 * PI * z[j]) / (double)d;
    }
    return 20 - 20 * exp(-0.2 * sqrt(squares)) + exp(1.0) - exp(cosines);
}

static double schaffer(const double *z, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j + 1 < d; j++) {
        double r = sqrt(z[j] * z[j] + z[j + 1] * z[j + 1]);
        sum += sqrt(r) * (1 + square(sin(8 * pow(r, 0.2)))) / (double)(d - 1);
    }
    return sum * sum;
}

static double levy(const double *z, size_t d)
{
    double sum = square(sin(PI * (1 + z[0] / 4)));
    for (size_t j = 0; j + 1 < d; j++)
        sum += square(z[j] / 4) * (1 + 10 * square(sin(PI * (1 + z[j] / 4) + 1)));
    return sum + square(z[d - 1] / 4) * (1 + square(sin(2 * PI * (1 + z[d - 1] / 4))));
}

/* ---- values ---- */

static double form_value(const struct world *world, const double *u)
{
    size_t d = world->space.dims;
    double z[WORLD_DIMS];
    for (size_t i = 0; i < d; i++) {
        z[i] = 0;
        for (size_t j = 0; j < d; j++)
            z[i] += world->turn[i][j] * (u[j] - world->centre[j]) * world->zoom;
    }
    return world->form(z, d);
}

static double path_value(const struct world *world, const double *u)
{
    double sum = 0;
    for (size_t i = 0; i < FEATURES; i++) {
        double along = world->phase[i];
        for (size_t j = 0; j < world->space.dims; j++)
            along += world->wave[i][j] * u[j];
        sum += cos(along);
    }
    return sum * sqrt(2.0 / FEATURES);
}

/* Peaks of different heights and widths, the highest of which is the first (Gallagher & Yuan 2006). */
static double peaks_value(const struct world *world, const double *u)
{
    double best = 0;
    for (size_t k = 0; k < PEAKS; k++) {
        double sum = 0;
        for (size_t j = 0; j < world->space.dims; j++)
            sum += square((u[j] - world->peak[k][j]) / world->width[k]);
        best = fmax(best, world->height[k] * exp(-0.5 * sum / (double)world->space.dims));
    }
    return 10 - best;
}

static double levels_value(const struct world *world, const double *u)
{
    double value = world->form == NULL ? path_value(world, u) : log(1e-3 + form_value(world, u));
    return world->step * floor(value / world->step);
}

static double cells_value(const struct world *world, const double *u)
{
    double least = HUGE_VAL;
    size_t at = 0;
    for (size_t k = 0; k < CELLS; k++) {
        double sum = 0;
        for (size_t j = 0; j < world->space.dims; j++)
            sum += square(u[j] - world->cell[k][j]);
        if (sum < least) {
            least = sum;
            at = k;
        }
    }
    return path_value(world, world->cell[at]);
}

static double trees_value(const struct world *world, const double *u)
{
    double sum = 0;
    for (size_t t = 0; t < TREES; t++) {
        size_t node = 1;
        while (node < LEAVES)
            node = 2 * node + (u[world->by[t][node]] > world->split[t][node]);
        sum += world->leaf[t][node - LEAVES] / TREES;
    }
    return sum;
}

static double slope_value(const struct world *world, const double *u)
{
    double sum = 0;
    for (size_t j = 0; j < world->space.dims; j++)
        sum += world->height[j % PEAKS] * fabs(u[j] - world->centre[j]);
    return sum;
}

static double region_value(const struct world *world, const double *u)
{
    double moved[WORLD_DIMS];
    for (size_t j = 0; j < world->space.dims; j++)
        moved[j] = 1.5 - u[j];
    return path_value(world, moved) > world->limit ? NAN : form_value(world, u);
}

/* The row itself, or the nearest: numbers by their rank from 0 to 1, a different name counts 1. */
static double table_value(const struct world *world, const double *u)
{
    const struct table *table = &world->table;
    double              point[WORLD_PARAMS], least = HUGE_VAL;
    size_t              at = 0, len = world->space.params_len;
    space_decode(&world->space, u, point);
    for (size_t i = 0; i < len; i++)
        point[i] = param_index(&world->params[i], point[i]);
    for (size_t r = 0; r < table->len && least > 0; r++) {
        double sum = 0;
        for (size_t i = 0; i < len; i++) {
            double away = point[i] - table->at[r][i];
            sum += table->is_name[i] ? away != 0 : square(away / fmax((double)table->count[i] - 1, 1));
        }
        if (sum < least) {
            least = sum;
            at = r;
        }
    }
    return table->misses_fail && least > 0 ? NAN : table->value[at];
}

/* ---- spaces ---- */

static void add_param(struct world *world, struct param param)
{
    param.name = "x";
    world->params[world->space.params_len++] = param;
}

static void add_doubles(struct world *world, size_t d)
{
    for (size_t j = 0; j < (world->doubles > 0 ? world->doubles : d); j++)
        add_param(world, (struct param){.kind = PARAM_DOUBLE, .max = 1});
}

static void add_ints(struct world *world, size_t d, size_t levels)
{
    for (size_t j = 0; j < d; j++)
        add_param(world, (struct param){.kind = PARAM_INT, .max = (double)levels - 1});
}

static void close_space(struct world *world)
{
    world->space.kind = SPACE_PARAMETERS;
    world->space.params = world->params;
    if (space_init(&world->space, NULL) != STATUS_OK || world->space.dims > WORLD_DIMS)
        abort();
}

/* A random rotation: Gram and Schmidt on normal vectors; or none. */
static void turn_world(struct world *world, struct rng *rng, bool is_turned)
{
    size_t d = world->space.dims;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++)
            world->turn[i][j] = is_turned ? rng_normal(rng) : i == j;
        for (size_t k = 0; k < i; k++) {
            double along = 0;
            for (size_t j = 0; j < d; j++)
                along += world->turn[i][j] * world->turn[k][j];
            for (size_t j = 0; j < d; j++)
                world->turn[i][j] -= along * world->turn[k][j];
        }
        double length = 0;
        for (size_t j = 0; j < d; j++)
            length += square(world->turn[i][j]);
        for (size_t j = 0; j < d; j++)
            world->turn[i][j] /= sqrt(length);
    }
}

static void make_form(struct world *world, struct rng *rng, double (*form)(const double *, size_t), double zoom)
{
    world->form = form;
    world->zoom = zoom;
    world->value = form_value;
    world->least = 0;
    for (size_t j = 0; j < world->space.dims; j++)
        world->centre[j] = 0.15 + 0.7 * rng_uniform(rng);
    turn_world(world, rng, true);
}

/* Frequencies of a Matern 5/2 kernel: a t distribution with 5 degrees of freedom. */
static void make_path(struct world *world, struct rng *rng, double length)
{
    double lengths[WORLD_DIMS];
    for (size_t j = 0; j < world->space.dims; j++)
        lengths[j] = length * exp(0.5 * rng_normal(rng));
    for (size_t i = 0; i < FEATURES; i++) {
        double chi = 0;
        for (int k = 0; k < 5; k++)
            chi += square(rng_normal(rng)) / 5;
        for (size_t j = 0; j < world->space.dims; j++)
            world->wave[i][j] = rng_normal(rng) / sqrt(chi) / lengths[j];
        world->phase[i] = 2 * PI * rng_uniform(rng);
    }
    world->value = path_value;
    world->least = NAN;
}

static size_t between(struct rng *rng, size_t low, size_t high)
{
    return low + rng_below(rng, high - low + 1);
}

/* ---- classes ---- */

static void make_valley(struct world *world, struct rng *rng, int variant)
{
    static double (*const forms[])(const double *, size_t) = {ellipsoid, rosenbrock, ridge, powers, ellipsoid};
    static const double zooms[] = {2, 4, 2, 2, 2};
    static const size_t low[] = {2, 2, 3, 3, 8}, high[] = {6, 5, 8, 8, 12};
    add_doubles(world, between(rng, low[variant], high[variant]));
    close_space(world);
    make_form(world, rng, forms[variant], zooms[variant]);
}

static void make_peaks(struct world *world, struct rng *rng)
{
    for (size_t k = 0; k < PEAKS; k++) {
        world->height[k] = k == 0 ? 10 : 1 + 8 * (double)k / PEAKS;
        world->width[k] = 0.05 + 0.15 * rng_uniform(rng);
        for (size_t j = 0; j < world->space.dims; j++)
            world->peak[k][j] = 0.05 + 0.9 * rng_uniform(rng);
    }
    world->value = peaks_value;
    world->least = 0;
}

static void make_basins(struct world *world, struct rng *rng, int variant)
{
    static double (*const forms[])(const double *, size_t) = {rastrigin, ackley, schaffer, levy, NULL};
    static const double zooms[] = {4, 12, 10, 16, 1};
    static const size_t low[] = {2, 3, 3, 3, 2}, high[] = {4, 6, 5, 6, 4};
    add_doubles(world, between(rng, low[variant], high[variant]));
    close_space(world);
    if (forms[variant] == NULL)
        make_peaks(world, rng);
    else
        make_form(world, rng, forms[variant], zooms[variant]);
}

static void make_paths(struct world *world, struct rng *rng, int variant)
{
    static const size_t dims[] = {2, 4, 6, 8};
    static const double lengths[] = {0.15, 0.35, 0.5, 0.8};
    add_doubles(world, dims[variant]);
    close_space(world);
    make_path(world, rng, lengths[variant]);
}

/* The noise is a share of the spread of random values. */
static void add_noise(struct world *world, struct rng *rng)
{
    static const double shares[] = {0.03, 0.1, 0.3};
    double              sum = 0, squares = 0, u[WORLD_DIMS];
    for (int i = 0; i < 200; i++) {
        for (size_t j = 0; j < world->space.dims; j++)
            u[j] = rng_uniform(rng);
        double value = world->value(world, u);
        sum += value / 200;
        squares += value * value / 200;
    }
    world->noise = shares[rng_below(rng, 3)] * sqrt(fmax(squares - sum * sum, 0));
}

static void make_noisy(struct world *world, struct rng *rng, int variant)
{
    add_doubles(world, between(rng, 2, 5));
    close_space(world);
    if (variant == 0)
        make_form(world, rng, ellipsoid, 2);
    else if (variant == 1)
        make_path(world, rng, 0.4);
    else
        make_form(world, rng, levy, 12);
    add_noise(world, rng);
}

/* A rate on its logarithm, layers, a method, one of some sizes, a share; conditional: two of them only under some methods. */
static void make_mixed(struct world *world, struct rng *rng, int variant)
{
    static const double sizes[] = {16, 32, 64, 128, 256}, some[] = {0, 2};
    add_param(world, (struct param){.kind = PARAM_CATEGORICAL, .max = 3, .choices = 4});
    add_param(world, (struct param){.kind = PARAM_DOUBLE, .scale = SCALE_LOG, .min = 1e-5, .max = 0.1});
    add_param(world, (struct param){.kind = PARAM_INT, .min = 1, .max = 12});
    add_param(world,
              (struct param){
                  .kind = PARAM_DISCRETE, .scale = SCALE_LOG, .min = 16, .max = 256, .choices = 5, .values = sizes});
    add_doubles(world, 2);
    for (size_t i = 4; variant == 1 && i < 6; i++) {
        world->when[i] = (struct condition){.parent = 0, .values = some, .values_len = 2};
        world->params[i].when = &world->when[i];
        world->params[i].when_len = 1;
    }
    close_space(world);
    if (variant < 2) {
        make_path(world, rng, 0.6);
        return;
    }
    make_form(world, rng, ellipsoid, 2);
    world->least = NAN;
    turn_world(world, rng, false);
}

static void make_tree(struct world *world, struct rng *rng, size_t t, size_t node, double (*box)[2])
{
    size_t d = world->space.dims;
    if (node >= LEAVES) {
        double u[WORLD_DIMS];
        for (size_t j = 0; j < d; j++)
            u[j] = box[j][0] + (box[j][1] - box[j][0]) * rng_uniform(rng);
        world->leaf[t][node - LEAVES] = path_value(world, u);
        return;
    }
    size_t by = rng_below(rng, d);
    double at = box[by][0] + (box[by][1] - box[by][0]) * (0.2 + 0.6 * rng_uniform(rng)), was;
    world->by[t][node] = by;
    world->split[t][node] = at;
    was = box[by][1], box[by][1] = at;
    make_tree(world, rng, t, 2 * node, box);
    box[by][1] = was, was = box[by][0], box[by][0] = at;
    make_tree(world, rng, t, 2 * node + 1, box);
    box[by][0] = was;
}

static void make_steps(struct world *world, struct rng *rng, int variant)
{
    static const size_t dims[] = {4, 3, 5, 4};
    add_doubles(world, dims[variant]);
    close_space(world);
    make_path(world, rng, 0.4);
    if (variant == 0)
        world->value = levels_value, world->step = 0.3;
    if (variant == 1) {
        for (size_t k = 0; k < CELLS; k++)
            for (size_t j = 0; j < world->space.dims; j++)
                world->cell[k][j] = rng_uniform(rng);
        world->value = cells_value;
    }
    for (size_t t = 0; variant == 2 && t < TREES; t++) {
        double box[WORLD_DIMS][2];
        for (size_t j = 0; j < world->space.dims; j++)
            box[j][0] = 0, box[j][1] = 1;
        make_tree(world, rng, t, 1, box);
        world->value = trees_value;
    }
    if (variant == 3) {
        make_form(world, rng, ellipsoid, 2);
        world->value = levels_value, world->step = 0.5;
        world->least = NAN;
    }
}

static void make_grid(struct world *world, struct rng *rng, int variant)
{
    static const size_t dims[] = {3, 4, 6}, levels[] = {12, 8, 10};
    add_ints(world, dims[variant], levels[variant]);
    close_space(world);
    if (variant == 1) {
        make_form(world, rng, ellipsoid, 2);
        world->least = NAN;
    } else
        make_path(world, rng, 0.4);
}

/* The optimum is where some parameters have an end value (variant 0: all of them). */
static void make_corner(struct world *world, struct rng *rng, int variant)
{
    add_doubles(world, between(rng, 3, 7));
    close_space(world);
    make_form(world, rng, ellipsoid, 2);
    turn_world(world, rng, false);
    for (size_t j = 0; j < world->space.dims; j++)
        if (variant == 0 || j % 2 == 0)
            world->centre[j] = (double)rng_below(rng, 2);
}

static void make_slope(struct world *world, struct rng *rng, int variant)
{
    add_doubles(world, between(rng, 2, 10));
    close_space(world);
    for (size_t j = 0; j < world->space.dims; j++)
        world->centre[j] = (double)rng_below(rng, 2);
    for (size_t k = 0; k < PEAKS; k++)
        world->height[k] = pow(10, (variant == 0 ? 2 : 0.3) * rng_uniform(rng));
    world->value = slope_value;
    world->least = 0;
}

/* About a third of the space is infeasible, the optimum of the form itself is not. */
static void make_region(struct world *world, struct rng *rng, int variant)
{
    add_doubles(world, between(rng, 2, 5));
    close_space(world);
    make_path(world, rng, 0.4);
    make_form(world, rng, variant == 2 ? rastrigin : ellipsoid, 2);
    double moved[WORLD_DIMS];
    for (size_t j = 0; j < world->space.dims; j++)
        moved[j] = 1.5 - world->centre[j];
    world->limit = fmax(path_value(world, moved) + 1e-9, 0.4);
    world->value = region_value;
    world->is_failing = variant == 1;
}

/* 20 to 60 parameters; of the last a path along five of them. */
static void make_wide(struct world *world, struct rng *rng, int variant)
{
    static const size_t dims[] = {20, 20, 40, 60};
    add_doubles(world, dims[variant]);
    close_space(world);
    if (variant < 3) {
        make_form(world, rng, variant == 1 ? ackley : ellipsoid, variant == 1 ? 6 : 2);
        return;
    }
    make_path(world, rng, 0.4);
    for (size_t i = 0; i < FEATURES; i++)
        for (size_t j = 5; j < world->space.dims; j++)
            world->wave[i][j] = 0;
}

/* ---- tables ---- */

static size_t index_of(struct table *table, size_t i, const char *text)
{
    size_t k = 0;
    while (k < table->count[i] && strcmp(table->names[i][k], text) != 0)
        k++;
    if (k == table->count[i] && k < TABLE_VALUES) {
        snprintf(table->names[i][k], sizeof table->names[i][k], "%.63s", text);
        table->count[i]++;
    }
    return k;
}

/* Parameters, then value (empty: the trial is infeasible). */
static size_t read_table(struct table *table, const char *path)
{
    char   line[LINE];
    size_t d = 0;
    FILE  *file = fopen(path, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    for (const char *c = line; *c != '\0'; c++)
        d += *c == ',';
    for (; table->len < TABLE_ROWS && fgets(line, sizeof line, file) != NULL; table->len++) {
        char *at = line;
        line[strcspn(line, "\r\n")] = '\0';
        for (size_t i = 0; i < d; i++) {
            size_t len = strcspn(at, ",");
            at[len] = '\0';
            table->at[table->len][i] = (double)index_of(table, i, at);
            at += len + 1;
        }
        table->value[table->len] = *at == '\0' ? NAN : strtod(at, NULL);
    }
    fclose(file);
    return d;
}

/* Numbers are declared by their distinct values. */
static void add_column(struct world *world, size_t i)
{
    struct table *table = &world->table;
    size_t        count = table->count[i];
    double        values[TABLE_VALUES], *sorted = table->values[i];
    for (size_t k = 0; k < count; k++) {
        char *end;
        sorted[k] = values[k] = strtod(table->names[i][k], &end);
        table->is_name[i] |= *end != '\0';
    }
    if (table->is_name[i]) {
        add_param(world, (struct param){.kind = PARAM_CATEGORICAL, .max = (double)count - 1, .choices = count});
        return;
    }
    qsort(sorted, count, sizeof *sorted, numbers_order);
    for (size_t r = 0; r < table->len; r++) {
        double rank = 0;
        while (sorted[(size_t)rank] < values[(size_t)table->at[r][i]])
            rank++;
        table->at[r][i] = rank;
    }
    add_param(
        world,
        (struct param){
            .kind = PARAM_DISCRETE, .min = sorted[0], .max = sorted[count - 1], .choices = count, .values = sorted});
}

static void make_table(struct world *world, struct rng *rng, int variant)
{
    static const struct {
        const char *name;
        bool        is_maximised, misses_fail;
    } tables[] = {{"direct_arylation", true, false}, {"convolution_a4000", false, true},
                  {"storm_latency", false, false},   {"postgresql", false, false},
                  {"forest", false, false},          {"crossed_barrel", true, false},
                  {"photo_wf3", false, false}};
    char path[128];
    (void)rng;
    snprintf(path, sizeof path, "tests/data/outward/%s.csv", tables[variant].name);
    size_t d = read_table(&world->table, path);
    world->table.misses_fail = tables[variant].misses_fail;
    world->least = HUGE_VAL;
    for (size_t r = 0; r < world->table.len; r++) {
        world->table.value[r] *= tables[variant].is_maximised ? -1 : 1;
        world->least = fmin(world->least, world->table.value[r]);
    }
    for (size_t i = 0; i < d; i++)
        add_column(world, i);
    close_space(world);
    world->value = table_value;
}

static const struct world_kind world_kinds[] = {
    {"valleys", "ellipsoid", make_valley, 0},
    {"valleys", "rosenbrock", make_valley, 1},
    {"valleys", "ridge", make_valley, 2},
    {"valleys", "powers", make_valley, 3},
    {"valleys", "ellipsoid12", make_valley, 4},
    {"basins", "rastrigin", make_basins, 0},
    {"basins", "ackley", make_basins, 1},
    {"basins", "schaffer", make_basins, 2},
    {"basins", "levy", make_basins, 3},
    {"basins", "peaks", make_basins, 4},
    {"paths", "path2", make_paths, 0},
    {"paths", "path4", make_paths, 1},
    {"paths", "path6", make_paths, 2},
    {"paths", "path8", make_paths, 3},
    {"noisy", "ellipsoid", make_noisy, 0},
    {"noisy", "path", make_noisy, 1},
    {"noisy", "levy", make_noisy, 2},
    {"mixed", "path", make_mixed, 0},
    {"mixed", "conditional", make_mixed, 1},
    {"mixed", "valley", make_mixed, 2},
    {"steps", "levels", make_steps, 0},
    {"steps", "cells", make_steps, 1},
    {"steps", "trees", make_steps, 2},
    {"steps", "valley", make_steps, 3},
    {"grids", "path1728", make_grid, 0},
    {"grids", "valley4096", make_grid, 1},
    {"grids", "path1e6", make_grid, 2},
    {"corners", "corner", make_corner, 0},
    {"corners", "edge", make_corner, 1},
    {"slopes", "uneven", make_slope, 0},
    {"slopes", "even", make_slope, 1},
    {"regions", "infeasible", make_region, 0},
    {"regions", "failing", make_region, 1},
    {"regions", "basins", make_region, 2},
    {"wide", "ellipsoid20", make_wide, 0},
    {"wide", "ackley20", make_wide, 1},
    {"wide", "ellipsoid40", make_wide, 2},
    {"wide", "path60", make_wide, 3},
    {"tables", "direct_arylation", make_table, 0},
    {"tables", "convolution_a4000", make_table, 1},
    {"tables", "storm_latency", make_table, 2},
    {"tables", "postgresql", make_table, 3},
    {"tables", "forest", make_table, 4},
    {"tables", "crossed_barrel", make_table, 5},
    {"tables", "photo_wf3", make_table, 6},
};
enum { WORLD_KINDS = sizeof world_kinds / sizeof world_kinds[0] };

/* ---- what is known of a world ---- */

static double world_value(const struct world *world, const double *point)
{
    double u[WORLD_DIMS];
    space_encode(&world->space, point, u);
    return world->value(world, u);
}

/* The best of random points, and of random steps from the best few, ever smaller. */
static double world_search(const struct world *world, struct rng *rng)
{
    enum { KEPT = 6, RANDOM = 3000, STEPS = 500, MANY = 10000 /* for those who have thousands of trials */ };
    double best[KEPT][WORLD_DIMS], at[KEPT], u[WORLD_DIMS], point[WORLD_PARAMS], least = HUGE_VAL;
    size_t dims = world->space.dims;
    int    steps = world->doubles > 0 ? MANY : STEPS;
    for (size_t k = 0; k < KEPT; k++)
        at[k] = HUGE_VAL;
    for (size_t i = 0; i < RANDOM; i++) {
        for (size_t j = 0; j < dims; j++)
            u[j] = rng_uniform(rng);
        space_decode(&world->space, u, point);
        double value = world_value(world, point);
        if (value < at[i % KEPT]) {
            at[i % KEPT] = value;
            memcpy(best[i % KEPT], u, dims * sizeof *u);
        }
    }
    for (size_t k = 0; k < KEPT; k++) {
        for (int i = 0; i < steps; i++) {
            double size = 0.3 * pow(1e-5, (double)i / steps);
            for (size_t j = 0; j < dims; j++)
                u[j] = rng_uniform(rng) < 0.5 ? best[k][j] : fmin(fmax(best[k][j] + size * rng_normal(rng), 0), 1);
            space_decode(&world->space, u, point);
            double value = world_value(world, point);
            if (value <= at[k]) {
                at[k] = value;
                memcpy(best[k], u, dims * sizeof *u);
            }
        }
        least = fmin(least, at[k]);
    }
    return least;
}

/* The best point of a small finite space. */
static double world_walk(const struct world *world)
{
    double point[WORLD_PARAMS], least = HUGE_VAL;
    for (bool more = space_first(&world->space, point); more; more = space_step(&world->space, point))
        least = fmin(least, world_value(world, point));
    return least;
}

/* The world of a kind and a seed, of so many doubles; 0: as many as the class has. */
static void world_make(struct world *world, const struct world_kind *kind, uint64_t seed, size_t doubles)
{
    uint64_t   number = (uint64_t)(kind - world_kinds) + 1;
    struct rng rng = rng_at(seed, number, RNG_TEST);
    memset(world, 0, sizeof *world);
    world->doubles = doubles;
    kind->make(world, &rng, kind->variant);
    if (isnan(world->least))
        world->least = space_count(&world->space) <= 65536 ? world_walk(world) : world_search(world, &rng);
}

#endif
