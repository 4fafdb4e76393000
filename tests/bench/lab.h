/* Real graphs to walk on (Kharkovskii, sections 4.4.2 and 4.4.3): temperatures of the Intel Berkeley lab (145 places in its
 * corridors) and taxi demand of a city centre (2,506 regions).  The data have no licence that would let them be copied
 * here: a bench is told the folder with intel_lab/ and taxi_demand/ (columns as read below). */
#ifndef GNOMON_TESTS_BENCH_LAB_H
#define GNOMON_TESTS_BENCH_LAB_H

#include "tests/bench/walks.h"

enum { ROWS_MAX = 20000, COLUMNS_MAX = 8 };
enum { ITERATIONS = 4, STEPS = 5, OUTPUTS = ITERATIONS * STEPS };

struct world {
    const char *name, *sites_file, *x, *y, *value, *edges_file;
    double      first_id, length_scales[2], signal_variance, noise_variance, mean;
    double      macro_actions_mean; /* of the sites that have any: what the thesis counts */
    size_t      macro_actions_max;
};
static const struct world worlds[] = {
    {"intel_lab",
     "intel_lab/temperature_field_145_t1.csv",
     "x_m",
     "y_m",
     "value_c",
     "intel_lab/edges_145.csv",
     1,
     {4.005779, 11.381141},
     .596355,
     .059732,
     17.851283,
     27.06,
     114},
    {"taxi_demand",
     "taxi_demand/slot18_regions.csv",
     "x",
     "y",
     "value",
     "taxi_demand/edges.csv",
     0,
     {.5249, .5687},
     .7486,
     .0111,
     1.5673,
     178.0,
     1193},
};

/* ---- reading ---- */

/* A file of numbers with a header and commas; what is no number is 0. */
struct table {
    char   header[256];
    double cells[ROWS_MAX][COLUMNS_MAX];
    size_t rows;
};

static bool read_table(const char *folder, const char *file, struct table *table)
{
    char path[1024], line[512];
    snprintf(path, sizeof path, "%.900s/%s", folder, file);
    FILE *in = fopen(path, "r");
    table->rows = 0;
    if (in == NULL || fgets(table->header, sizeof table->header, in) == NULL) {
        printf("# %s is not there\n", path);
        return false;
    }
    while (table->rows < ROWS_MAX && fgets(line, sizeof line, in) != NULL) {
        const char *at = line;
        for (size_t c = 0; c < COLUMNS_MAX && at != NULL; c++) {
            table->cells[table->rows][c] = strtod(at, NULL);
            at = strchr(at, ',');
            at = at == NULL ? NULL : at + 1;
        }
        table->rows++;
    }
    fclose(in);
    return true;
}

/* Which column has this name; the data of a bench are as its head says, or it ends. */
static size_t column_of(const struct table *table, const char *name)
{
    size_t column = 0;
    for (const char *at = table->header; at != NULL; column++) {
        size_t length = strcspn(at, ",\r\n");
        if (length == strlen(name) && strncmp(at, name, length) == 0)
            return column;
        at = strchr(at, ',');
        at = at == NULL ? NULL : at + 1;
    }
    printf("# there is no column %s\n", name);
    exit(1);
}

/* The graph and the outputs by site. */
static bool read_world(const struct world *world, const char *folder, struct arena *arena, struct graph *graph,
                       double **outputs)
{
    static struct table sites, edges;
    if (!read_table(folder, world->sites_file, &sites) || !read_table(folder, world->edges_file, &edges))
        return false;
    size_t             x = column_of(&sites, world->x), y = column_of(&sites, world->y);
    size_t             value = column_of(&sites, world->value);
    double            *coordinates = ARENA_NEW(arena, double, 2 * sites.rows);
    struct graph_edge *list = ARENA_NEW(arena, struct graph_edge, edges.rows);
    *outputs = ARENA_NEW(arena, double, sites.rows);
    if (*outputs == NULL || coordinates == NULL || list == NULL)
        return false;
    for (size_t i = 0; i < sites.rows; i++) {
        coordinates[2 * i] = sites.cells[i][x];
        coordinates[2 * i + 1] = sites.cells[i][y];
        (*outputs)[i] = sites.cells[i][value];
    }
    for (size_t i = 0; i < edges.rows; i++)
        list[i] = (struct graph_edge){(uint32_t)(edges.cells[i][0] - world->first_id),
                                      (uint32_t)(edges.cells[i][1] - world->first_id)};
    *graph = (struct graph){
        .sites_len = sites.rows, .dims = 2, .coordinates = coordinates, .steps = STEPS, .most = 20, .sign = 1};
    return graph_set_edges(graph, list, edges.rows, arena, NULL) == STATUS_OK;
}

#endif
