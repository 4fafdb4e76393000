/* See codec_graph.h. */
#include "service/codec/codec_graph.h"

#include "service/member/codec_write.h"
#include "service/base/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PER_SITE_DEFAULT = 20 };
static const double        id_max = 9007199254740991.0; /* 2^53 - 1 */
static const char *const   move_names[] = {[MOVES_STRAIGHT] = "straight",
                                           [MOVES_FOUR] = "four",
                                           [MOVES_EIGHT] = "eight",
                                           [MOVES_STRAIGHT_EIGHT] = "straight_eight",
                                           NULL};
static const struct member grid_members[] = {
    {AT(graph, width), .required = true, .read = codec_read_integer, .min = 1, .max = GRAPH_SITES_MAX},
    {AT(graph, height), .required = true, .read = codec_read_integer, .min = 1, .max = GRAPH_SITES_MAX},
    {AT(graph, spacing), .read = codec_read_number, .min = 1e-300, .max = 1e100},
    {AT(graph, moves), .required = true, .read = codec_read_choice, .names = move_names},
    {.name = NULL},
};

struct graph_form {
    const json_t *type, *sites, *site_ids, *grid, *edges, *macro_actions, *start, *observations;
    int64_t       length, per_site;
    bool          is_directed;
};
static const struct member graph_members[] = {
    {AT(graph_form, type), .required = true, .read = codec_read_kept},
    {AT(graph_form, sites), .read = codec_read_kept},
    {AT(graph_form, site_ids), .read = codec_read_kept},
    {AT(graph_form, grid), .read = codec_read_kept},
    {AT(graph_form, edges), .read = codec_read_kept},
    {AS(graph_form, is_directed, "directed"), .read = codec_read_bool},
    {AT(graph_form, macro_actions), .read = codec_read_kept},
    {AS(graph_form, length, "macro_action_length"), .read = codec_read_integer, .min = 1, .max = GRAPH_STEPS_MAX},
    {AS(graph_form, per_site, "macro_actions_per_site"), .read = codec_read_integer, .min = 1,
     .max = GRAPH_ACTIONS_MAX},
    {AT(graph_form, start), .required = true, .read = codec_read_kept},
    {AT(graph_form, observations), .read = codec_read_kept},
    {.name = NULL},
};

/* A space being read. */
struct draft {
    struct reading   *in;
    struct spec      *spec;
    struct graph     *graph;
    struct graph_form form;
    size_t            rows; /* sites, edges and macro-actions so far */
    const char       *where;
    char              path[CODEC_PATH_MAX];
};

static const char *member_path(struct draft *d, const char *member)
{
    codec_read_path(d->path, d->where, member);
    return d->path;
}

static enum status refuse(struct draft *d, const char *code, const char *member, const char *text)
{
    return error_set(d->in->err, STATUS_INVALID, code, member_path(d, member), "%s", text);
}

static enum status count_rows(struct draft *d, size_t more, const char *member)
{
    if (more > GRAPH_ROWS_MAX - d->rows)
        return error_set(d->in->err, STATUS_TOO_LARGE, "graph_too_large", member_path(d, member),
                         "sites, edges and listed macro-actions together are more than %d; a grid may have %d sites",
                         GRAPH_ROWS_MAX, GRAPH_SITES_MAX);
    d->rows += more;
    return STATUS_OK;
}

/* ---- ids ---- */

/* For qsort, which hands nothing on: pairs instead of an order into ids. */
struct named_site {
    int64_t  id;
    uint32_t site;
};

static int compare_ids(const void *a, const void *b)
{
    int64_t x = ((const struct named_site *)a)->id, y = ((const struct named_site *)b)->id;
    return (x > y) - (x < y);
}

/* ids [sites_len] become the names of the sites. */
static enum status set_ids(struct draft *d, const int64_t *ids)
{
    size_t             n = d->graph->sites_len;
    struct named_site *named = ARENA_NEW(d->in->arena, struct named_site, n + 1);
    if (named == NULL)
        return error_no_memory(d->in->err);
    for (size_t i = 0; i < n; i++)
        named[i] = (struct named_site){.id = ids[i], .site = (uint32_t)i};
    qsort(named, n, sizeof *named, compare_ids);
    for (size_t i = 1; i < n; i++)
        if (named[i].id == named[i - 1].id)
            return error_set(d->in->err, STATUS_INVALID, "duplicate_name", member_path(d, "site_ids"),
                             "site %lld is there twice", (long long)named[i].id);
    d->spec->site_ids = ids;
    d->spec->sites_named = named;
    return STATUS_OK;
}

static bool find_site(const struct spec *spec, double id, uint32_t *out)
{
    if (spec->site_ids == NULL) {
        bool is_site = id >= 0 && id < (double)spec->space.graph->sites_len;
        *out = is_site ? (uint32_t)id : 0;
        return is_site;
    }
    const struct named_site  key = {.id = (int64_t)id};
    const struct named_site *found =
        bsearch(&key, spec->sites_named, spec->space.graph->sites_len, sizeof key, compare_ids);
    *out = found == NULL ? 0 : found->site;
    return found != NULL;
}

enum status codec_graph_site(const struct spec *spec, const json_t *json, const char *where, uint32_t *out,
                             struct error *err)
{
    double id;
    if (!codec_read_is_integral(json, &id))
        return error_set(err, STATUS_INVALID, "wrong_type", where, "must be the number of a site");
    if (!find_site(spec, id, out))
        return error_set(err, STATUS_INVALID, "unknown_site", where, "there is no site %.0f", id);
    return STATUS_OK;
}

/* ---- CSV ---- */

/* The reason may name a column, and be cut within a character of it. */
static enum status csv_refuse(struct draft *d, const char *member, const struct error *own)
{
    bool is_text = codec_is_utf8(own->text, strlen(own->text));
    return error_set(d->in->err, STATUS_INVALID, own->code, member_path(d, member), "%s",
                     is_text ? own->text : "cannot be read as CSV");
}

/* Opens a table as text, which must have this many columns; a header with other names will do. */
static enum status csv_open(struct draft *d, const json_t *json, const char *member, size_t columns,
                            struct csv_table *out)
{
    const char  *text = json_string_value(json);
    struct error own;
    *out = (struct csv_table){0};
    if (*text == '\0')
        return refuse(d, "csv_header", member, "there is no header");
    if (csv_table_parse(text, strlen(text), out, &own) != STATUS_OK)
        return csv_refuse(d, member, &own);
    if (columns > 0 && out->columns != columns)
        return error_set(d->in->err, STATUS_INVALID, "csv_width", member_path(d, member), "must have %zu columns",
                         columns);
    return count_rows(d, out->rows, member);
}

static enum status csv_cell(struct draft *d, const struct csv_table *table, size_t row, size_t column,
                            const char *member, double *out)
{
    struct error own;
    if (csv_table_number(table, row, column, out, &own) == STATUS_OK)
        return STATUS_OK;
    return csv_refuse(d, member, &own);
}

static enum status csv_site(struct draft *d, const struct csv_table *table, size_t row, size_t column,
                            const char *member, uint32_t *out)
{
    double id;
    TRY(csv_cell(d, table, row, column, member, &id));
    if (id == floor(id) && fabs(id) <= id_max && find_site(d->spec, id, out))
        return STATUS_OK;
    return error_set(d->in->err, STATUS_INVALID, "unknown_site", member_path(d, member), "line %zu: no site %.17g",
                     table->lines[row + 1], id);
}

/* ---- sites ---- */

static enum status new_sites(struct draft *d, size_t len, size_t dims, double **coordinates, int64_t **ids)
{
    if (len < 1)
        return refuse(d, "out_of_range", "sites", "there must be a site");
    if (dims < 1 || dims > GRAPH_DIMS_MAX)
        return error_set(d->in->err, STATUS_INVALID, "out_of_range", member_path(d, "sites"),
                         "a site has 1 to %d coordinates", GRAPH_DIMS_MAX);
    d->graph->sites_len = len;
    d->graph->dims = dims;
    *coordinates = arena_alloc(d->in->arena, len, dims * sizeof **coordinates);
    *ids = ARENA_NEW(d->in->arena, int64_t, len);
    d->graph->coordinates = *coordinates;
    return *coordinates == NULL || *ids == NULL ? error_no_memory(d->in->err) : STATUS_OK;
}

static enum status read_site_row(struct draft *d, const json_t *row, size_t i, double *out)
{
    char path[CODEC_PATH_MAX];
    codec_read_path_item(path, member_path(d, "sites"), i);
    if (!json_is_array(row) || json_array_size(row) != d->graph->dims)
        return error_set(d->in->err, STATUS_INVALID, "wrong_shape", path, "must be an array of %zu numbers",
                         d->graph->dims);
    for (size_t j = 0; j < d->graph->dims; j++)
        if (!codec_read_is_finite(json_array_get(row, j), &out[j]))
            return error_set(d->in->err, STATUS_INVALID, "wrong_type", path, "must be an array of numbers");
    return STATUS_OK;
}

static enum status read_sites_json(struct draft *d)
{
    const json_t *sites = d->form.sites;
    double       *coordinates;
    int64_t      *ids;
    if (!json_is_array(sites))
        return refuse(d, "wrong_type", "sites", "must be an array of arrays of coordinates, or CSV text");
    TRY(count_rows(d, json_array_size(sites), "sites"));
    TRY(new_sites(d, json_array_size(sites), json_array_size(json_array_get(sites, 0)), &coordinates, &ids));
    for (size_t i = 0; i < d->graph->sites_len; i++)
        TRY(read_site_row(d, json_array_get(sites, i), i, coordinates + i * d->graph->dims));
    if (d->form.site_ids == NULL)
        return STATUS_OK;
    if (!json_is_array(d->form.site_ids) || json_array_size(d->form.site_ids) != d->graph->sites_len)
        return refuse(d, "wrong_shape", "site_ids", "must be an array with an integer for each site");
    for (size_t i = 0; i < d->graph->sites_len; i++) {
        double id;
        if (!codec_read_is_integral(json_array_get(d->form.site_ids, i), &id))
            return refuse(d, "wrong_type", "site_ids", "must be an array of integers");
        ids[i] = (int64_t)id;
    }
    return set_ids(d, ids);
}

/* A column "id", and a coordinate in each other one. */
static enum status fill_sites_csv(struct draft *d, const struct csv_table *table)
{
    double  *coordinates;
    int64_t *ids;
    size_t   id = table->columns;
    for (size_t c = 0; c < table->columns; c++)
        id = strcmp(csv_table_name(table, c), "id") == 0 ? c : id;
    TRY(new_sites(d, table->rows, table->columns - (id < table->columns), &coordinates, &ids));
    for (size_t i = 0; i < table->rows; i++)
        for (size_t c = 0; c < table->columns; c++) {
            double value;
            TRY(csv_cell(d, table, i, c, "sites", &value));
            if (c == id && (value != floor(value) || fabs(value) > id_max))
                return refuse(d, "wrong_type", "sites", "an id is an integer");
            if (c == id)
                ids[i] = (int64_t)value;
            else
                *coordinates++ = value;
        }
    if (d->form.site_ids != NULL)
        return refuse(d, "bad_combination", "site_ids", "CSV has its ids in the column id");
    return id < table->columns ? set_ids(d, ids) : STATUS_OK;
}

static enum status read_sites(struct draft *d)
{
    if (!json_is_string(d->form.sites))
        return read_sites_json(d);
    struct csv_table table;
    enum status      status = csv_open(d, d->form.sites, "sites", 0, &table);
    if (status == STATUS_OK)
        status = fill_sites_csv(d, &table);
    csv_table_free(&table);
    return status;
}

static enum status read_grid(struct draft *d)
{
    struct graph *graph = d->graph;
    char          path[CODEC_PATH_MAX];
    codec_read_path(path, d->where, "grid");
    graph->spacing = 1;
    TRY(codec_read_object(d->in, grid_members, d->form.grid, path, graph));
    graph->sites_len = graph->width * graph->height;
    graph->dims = 2;
    if (graph->sites_len > GRAPH_SITES_MAX)
        return error_set(d->in->err, STATUS_TOO_LARGE, "graph_too_large", path, "a grid has at most %d cells",
                         GRAPH_SITES_MAX);
    return d->form.site_ids == NULL && d->form.edges == NULL && d->form.macro_actions == NULL
               ? STATUS_OK
               : refuse(d, "bad_combination", "grid", "a grid has its own sites and moves");
}

/* ---- edges ---- */

static enum status keep_edges(struct draft *d, struct graph_edge *edges, size_t len)
{
    d->spec->is_directed = d->form.is_directed;
    for (size_t i = 0; i < len && !d->form.is_directed; i++)
        edges[len + i] = (struct graph_edge){.from = edges[i].to, .to = edges[i].from};
    return graph_set_edges(d->graph, edges, d->form.is_directed ? len : 2 * len, d->in->arena, d->in->err);
}

static enum status read_edges_json(struct draft *d, const json_t *json)
{
    char   path[CODEC_PATH_MAX], where[CODEC_PATH_MAX];
    size_t len = json_array_size(json);
    codec_read_path(where, d->where, "edges");
    TRY(count_rows(d, len, "edges"));
    struct graph_edge *edges = ARENA_NEW(d->in->arena, struct graph_edge, 2 * len + 1);
    if (edges == NULL)
        return error_no_memory(d->in->err);
    for (size_t i = 0; i < len; i++) {
        const json_t *row = json_array_get(json, i);
        codec_read_path_item(path, where, i);
        if (!json_is_array(row) || json_array_size(row) != 2)
            return error_set(d->in->err, STATUS_INVALID, "wrong_shape", path, "must be [from, to]");
        TRY(codec_graph_site(d->spec, json_array_get(row, 0), path, &edges[i].from, d->in->err));
        TRY(codec_graph_site(d->spec, json_array_get(row, 1), path, &edges[i].to, d->in->err));
    }
    return keep_edges(d, edges, len);
}

static enum status fill_edges_csv(struct draft *d, const struct csv_table *table)
{
    struct graph_edge *edges = ARENA_NEW(d->in->arena, struct graph_edge, 2 * table->rows + 1);
    if (edges == NULL)
        return error_no_memory(d->in->err);
    for (size_t i = 0; i < table->rows; i++) {
        TRY(csv_site(d, table, i, 0, "edges", &edges[i].from));
        TRY(csv_site(d, table, i, 1, "edges", &edges[i].to));
    }
    return keep_edges(d, edges, table->rows);
}

static enum status read_edges(struct draft *d)
{
    struct csv_table table;
    if (json_is_array(d->form.edges))
        return read_edges_json(d, d->form.edges);
    if (!json_is_string(d->form.edges))
        return refuse(d, "wrong_type", "edges", "must be an array of [from, to], or CSV text");
    enum status status = csv_open(d, d->form.edges, "edges", 2, &table);
    if (status == STATUS_OK)
        status = fill_edges_csv(d, &table);
    csv_table_free(&table);
    return status;
}

/* ---- listed macro-actions ---- */

static enum status read_listed_one(struct draft *d, const json_t *json, const char *where, size_t *steps,
                                   struct graph_listed *out)
{
    char          path[CODEC_PATH_MAX], inner[CODEC_PATH_MAX];
    const json_t *sites = json_object_get(json, "sites");
    size_t        len = json_array_size(sites);
    if (!json_is_object(json) || json_object_size(json) != 2 || !json_is_array(sites))
        return error_set(d->in->err, STATUS_INVALID, "wrong_type", where,
                         "must be an object with the members from and sites");
    codec_read_path(path, where, "from");
    TRY(codec_graph_site(d->spec, json_object_get(json, "from"), path, &out->from, d->in->err));
    codec_read_path(path, where, "sites");
    if (len < 1 || len > GRAPH_STEPS_MAX)
        return error_set(d->in->err, STATUS_INVALID, "out_of_range", path, "must have 1 to %d items", GRAPH_STEPS_MAX);
    if ((*steps += len) > GRAPH_LISTED_STEPS_MAX)
        return error_set(d->in->err, STATUS_TOO_LARGE, "graph_too_large", path, "all together have more than %d sites",
                         GRAPH_LISTED_STEPS_MAX);
    uint32_t *own = ARENA_NEW(d->in->arena, uint32_t, len);
    if (own == NULL)
        return error_no_memory(d->in->err);
    for (size_t i = 0; i < len; i++) {
        codec_read_path_item(inner, path, i);
        TRY(codec_graph_site(d->spec, json_array_get(sites, i), inner, &own[i], d->in->err));
    }
    out->action = (struct macro_action){.sites = own, .len = len};
    return STATUS_OK;
}

static enum status read_listed(struct draft *d)
{
    const json_t *list = d->form.macro_actions;
    size_t        len = json_array_size(list), steps = 0;
    char          path[CODEC_PATH_MAX], where[CODEC_PATH_MAX];
    codec_read_path(where, d->where, "macro_actions");
    if (!json_is_array(list) || len < 1)
        return refuse(d, "wrong_type", "macro_actions", "must be an array of macro-actions");
    if (d->form.length > 0)
        return refuse(d, "bad_combination", "macro_action_length", "listed macro-actions have their own lengths");
    TRY(count_rows(d, len, "macro_actions"));
    struct graph_listed *listed = ARENA_NEW(d->in->arena, struct graph_listed, len);
    if (listed == NULL)
        return error_no_memory(d->in->err);
    for (size_t i = 0; i < len; i++) {
        codec_read_path_item(path, where, i);
        TRY(read_listed_one(d, json_array_get(list, i), path, &steps, &listed[i]));
    }
    return graph_set_listed(d->graph, listed, len, d->in->arena, d->in->err);
}

/* ---- prior observations ---- */

struct prior_form {
    const json_t *site;
    double        value;
};
static const struct member prior_members[] = {
    {AT(prior_form, site), .required = true, .read = codec_read_kept},
    {AT(prior_form, value), .required = true, .read = codec_read_number, .min = -INFINITY, .max = INFINITY},
    {.name = NULL},
};

static enum status read_prior_json(struct draft *d, const json_t *json, uint32_t *sites, double *values)
{
    char path[CODEC_PATH_MAX], inner[CODEC_PATH_MAX], where[CODEC_PATH_MAX];
    codec_read_path(where, d->where, "observations");
    for (size_t i = 0; i < json_array_size(json); i++) {
        struct prior_form form = {0};
        codec_read_path_item(path, where, i);
        TRY(codec_read_object(d->in, prior_members, json_array_get(json, i), path, &form));
        codec_read_path(inner, path, "site");
        TRY(codec_graph_site(d->spec, form.site, inner, &sites[i], d->in->err));
        values[i] = form.value;
    }
    return STATUS_OK;
}

static enum status read_prior_csv(struct draft *d, const struct csv_table *table, uint32_t *sites, double *values)
{
    for (size_t i = 0; i < table->rows; i++) {
        TRY(csv_site(d, table, i, 0, "observations", &sites[i]));
        TRY(csv_cell(d, table, i, 1, "observations", &values[i]));
    }
    return STATUS_OK;
}

static enum status fill_prior(struct draft *d, const json_t *json, const struct csv_table *table)
{
    size_t len = table != NULL ? table->rows : json_array_size(json);
    if (len > GRAPH_PRIOR_MAX)
        return error_set(d->in->err, STATUS_TOO_LARGE, "graph_too_large", member_path(d, "observations"),
                         "at most %d prior observations", GRAPH_PRIOR_MAX);
    uint32_t *sites = ARENA_NEW(d->in->arena, uint32_t, len + 1);
    double   *values = ARENA_NEW(d->in->arena, double, len + 1);
    if (sites == NULL || values == NULL)
        return error_no_memory(d->in->err);
    d->graph->prior_sites = sites;
    d->graph->prior_values = values;
    d->graph->prior_len = len;
    return table != NULL ? read_prior_csv(d, table, sites, values) : read_prior_json(d, json, sites, values);
}

static enum status read_prior(struct draft *d)
{
    const json_t    *json = d->form.observations;
    struct csv_table table;
    if (json == NULL)
        return STATUS_OK;
    if (json_is_array(json))
        return fill_prior(d, json, NULL);
    if (!json_is_string(json))
        return refuse(d, "wrong_type", "observations", "must be an array of site and value, or CSV text");
    enum status status = csv_open(d, json, "observations", 2, &table);
    if (status == STATUS_OK)
        status = fill_prior(d, NULL, &table);
    csv_table_free(&table);
    return status;
}

/* ---- the whole ---- */

static enum status read_moves(struct draft *d)
{
    if (d->form.grid == NULL && (d->form.edges == NULL) == (d->form.macro_actions == NULL))
        return refuse(d, "bad_combination", "edges", "exactly one of edges and macro_actions is needed");
    if (d->form.macro_actions == NULL && d->form.length == 0)
        return refuse(d, "missing_member", "macro_action_length", "is required with edges and with a grid");
    d->graph->steps = (size_t)d->form.length;
    if (d->form.edges != NULL)
        TRY(read_edges(d));
    return d->form.macro_actions != NULL ? read_listed(d) : STATUS_OK;
}

enum status codec_graph(struct reading *in, const json_t *json, const char *where, double sign, struct spec *spec)
{
    struct draft  d = {.in = in, .spec = spec, .where = where, .form = {.per_site = PER_SITE_DEFAULT}};
    struct graph *graph = arena_zalloc(in->arena, 1, sizeof *graph);
    uint32_t      start;
    if (graph == NULL)
        return error_no_memory(in->err);
    d.graph = graph;
    spec->space.graph = graph;
    graph->sign = sign;
    TRY(codec_read_object(in, graph_members, json, where, &d.form));
    graph->most = (size_t)d.form.per_site;
    if ((d.form.grid == NULL) == (d.form.sites == NULL))
        return refuse(&d, "bad_combination", "sites", "exactly one of sites and grid is needed");
    TRY(d.form.grid != NULL ? read_grid(&d) : read_sites(&d));
    TRY(read_moves(&d));
    TRY(codec_graph_site(spec, d.form.start, member_path(&d, "start"), &start, in->err));
    graph->start = start;
    TRY(read_prior(&d));
    return space_init(&spec->space, in->err);
}

/* ---- points and values ---- */

enum status codec_graph_point(const struct spec *spec, const json_t *json, const char *where, double *point,
                              struct error *err)
{
    size_t   len = json_array_size(json), most = space_point_len(&spec->space);
    uint32_t site;
    char     path[CODEC_PATH_MAX];
    if (!json_is_array(json))
        return error_set(err, STATUS_INVALID, "wrong_type", where, "must be an array of sites");
    if (len < 1 || len > spec->space.graph->steps)
        return error_set(err, STATUS_INVALID, "wrong_length", where, "a macro-action has 1 to %zu sites",
                         spec->space.graph->steps);
    for (size_t i = 0; i < most; i++) {
        point[i] = NAN;
        if (i >= len)
            continue;
        codec_read_path_item(path, where, i);
        TRY(codec_graph_site(spec, json_array_get(json, i), path, &site, err));
        point[i] = site;
    }
    return STATUS_OK;
}

json_t *codec_graph_point_json(const struct spec *spec, const double *point)
{
    json_t *list = json_array();
    size_t  len = graph_point_steps(point, space_point_len(&spec->space));
    for (size_t i = 0; i < len; i++)
        codec_append(&list, json_integer(spec_site_id(spec, (size_t)point[i])));
    return list;
}

enum status codec_graph_values(struct reading *in, const json_t *json, const char *where, struct observation *out)
{
    const struct spec *spec = in->spec;
    size_t             len = json_array_size(json), most = space_point_len(&spec->space);
    char               path[CODEC_PATH_MAX];
    double            *values = ARENA_NEW(in->arena, double, most);
    if (!json_is_array(json))
        return error_set(in->err, STATUS_INVALID, "wrong_type", where, "must be an array with a number for each site");
    if (len < 1 || len > spec->space.graph->steps)
        return error_set(in->err, STATUS_INVALID, "wrong_length", where, "a macro-action has 1 to %zu sites",
                         spec->space.graph->steps);
    if (values == NULL)
        return error_no_memory(in->err);
    out->value = -INFINITY;
    for (size_t i = 0; i < most; i++) {
        values[i] = NAN;
        if (i >= len)
            continue;
        codec_read_path_item(path, where, i);
        if (!codec_read_is_finite(json_array_get(json, i), &values[i]))
            return error_set(in->err, STATUS_INVALID, "wrong_type", path, "must be a number");
        out->value = fmax(out->value, spec_sign(spec) * values[i]);
    }
    out->value *= spec_sign(spec);
    out->values = values;
    return STATUS_OK;
}

json_t *codec_graph_values_json(const struct spec *spec, const double *values)
{
    return values == NULL ? json_null()
                          : codec_numbers(values, graph_point_steps(values, space_point_len(&spec->space)));
}

/* ---- writing ---- */

static json_t *ids_json(const struct spec *spec)
{
    json_t *list = json_array();
    for (size_t i = 0; i < spec->space.graph->sites_len; i++)
        codec_append(&list, json_integer(spec->site_ids[i]));
    return list;
}

static json_t *edges_json(const struct spec *spec)
{
    const struct graph *graph = spec->space.graph;
    json_t             *list = json_array();
    for (uint32_t from = 0; from < graph->sites_len; from++)
        for (uint32_t k = graph->first[from]; k < graph->first[from + 1]; k++)
            if (spec->is_directed || from < graph->to[k])
                codec_append(&list, json_pack("[I, I]", (json_int_t)spec_site_id(spec, from),
                                              (json_int_t)spec_site_id(spec, graph->to[k])));
    return list;
}

static json_t *listed_json(const struct spec *spec)
{
    const struct graph *graph = spec->space.graph;
    json_t             *list = json_array();
    for (size_t from = 0; from < graph->sites_len; from++)
        for (uint32_t k = graph->first[from]; k < graph->first[from + 1]; k++) {
            json_t *sites = json_array();
            for (size_t i = 0; i < graph->listed[k].len; i++)
                codec_append(&sites, json_integer(spec_site_id(spec, graph->listed[k].sites[i])));
            codec_append(&list, json_pack("{s:I, s:o}", "from", (json_int_t)spec_site_id(spec, from), "sites", sites));
        }
    return list;
}

static json_t *prior_json(const struct spec *spec)
{
    const struct graph *graph = spec->space.graph;
    json_t             *list = json_array();
    for (size_t i = 0; i < graph->prior_len; i++)
        codec_append(&list, json_pack("{s:I, s:o}", "site", (json_int_t)spec_site_id(spec, graph->prior_sites[i]),
                                      "value", codec_number(graph->prior_values[i])));
    return list;
}

json_t *codec_graph_json(const struct spec *spec)
{
    const struct graph *graph = spec->space.graph;
    json_t             *object = json_pack("{s:s}", "type", "graph");
    if (graph->coordinates == NULL)
        codec_put(&object, "grid", codec_write(grid_members, &(struct writing){.from = graph}));
    else
        codec_put(&object, "sites", codec_matrix(graph->coordinates, graph->sites_len, graph->dims));
    if (spec->site_ids != NULL)
        codec_put(&object, "site_ids", ids_json(spec));
    if (graph->moves == MOVES_LISTED)
        codec_put(&object, "macro_actions", listed_json(spec));
    else
        codec_put(&object, "macro_action_length", json_integer((json_int_t)graph->steps));
    if (graph->moves == MOVES_EDGES) {
        codec_put(&object, "edges", edges_json(spec));
        codec_put(&object, "directed", json_boolean(spec->is_directed));
    }
    codec_put(&object, "macro_actions_per_site", json_integer((json_int_t)graph->most));
    codec_put(&object, "start", json_integer(spec_site_id(spec, graph->start)));
    if (graph->prior_len > 0)
        codec_put(&object, "observations", prior_json(spec));
    return object;
}
