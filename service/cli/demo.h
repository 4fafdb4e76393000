/* Shared parts of the demo: the server, the example data, and how a study is made and found. */
#ifndef GNOMON_SERVICE_CLI_DEMO_H
#define GNOMON_SERVICE_CLI_DEMO_H

#include "service/cli/client.h"
#include "service/base/csv.h"

#include <stdbool.h>

enum { DEMO_ID_BYTES = 64, DEMO_PATH_BYTES = 1100 };

struct demo_options {
    const char *server, *data, *examples;
    bool        all;
};

struct demo {
    const struct demo_options *options;
    struct client             *client; /* through the Unix socket */
    struct csv_table           table;  /* of the last demo_read_table */
    double                    *values; /* [table.rows] of the column that is optimised, larger is better */
};

/* The space of the tabulated networks of hpobench/mlp_2tasks.csv. */
extern const char demo_network_space[];

/* JSON of a text in which ' stands for "; NULL: no memory. */
json_t *demo_json(const char *text);

/* A table of the examples; values: the column, or none for NULL. */
MUST_CHECK enum status demo_read_table(struct demo *demo, const char *file, const char *column, struct error *err);

/* The row of the table that is nearest to the point, each parameter of the space on its own scale from 0 to 1. */
MUST_CHECK enum status demo_find_nearest(const struct demo *demo, const json_t *space, const json_t *point, size_t *row,
                                         struct error *err);

/* POST /v1/PATH.  The reference of body is taken; reply may be NULL. */
MUST_CHECK enum status demo_post(struct demo *demo, const char *path, json_t *body, json_t **reply, struct error *err);
MUST_CHECK enum status demo_create(struct demo *demo, const char *collection, json_t *body, char id[DEMO_ID_BYTES],
                                   struct error *err);

/* Finds, among the "studies", "games" or "federations" of that name, the one with most trials or rounds, and their number;
 * id "" and 0: there is none. */
MUST_CHECK enum status demo_find(struct demo *demo, const char *collection, const char *name, char id[DEMO_ID_BYTES],
                                 int64_t *done, struct error *err);

/* Makes a study, game or federation of each other kind; those that are there already stay as they are. */
MUST_CHECK enum status demo_kinds(struct demo *demo, struct error *err);

#endif
