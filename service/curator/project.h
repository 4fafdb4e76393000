/* gnomon project, its parts: command_project.c reads and writes, project_declare.c says what is protected,
 * project_make.c plans and computes, project_report.c explains.  One job is one release.  All arrays live in its arena. */
#ifndef GNOMON_SERVICE_CURATOR_PROJECT_H
#define GNOMON_SERVICE_CURATOR_PROJECT_H

#include "engine/base/arena.h"
#include "engine/privacy/mechanism.h"
#include "engine/privacy/projection.h"
#include "engine/privacy/release.h"
#include "service/base/csv.h"
#include "service/manifest/manifest.h"
#include "service/curator/account.h"
#include "service/curator/ledger.h"
#include "service/curator/release_io.h"
#include "service/curator/secret.h"

#include <stdbool.h>

struct project_options {
    const char *in, *columns, *key, *mechanism, *protect, *region, *centre, *length_scales, *dims, *rotate, *out,
        *manifest, *secret, *y_range, *y_default, *y_name;
    double radius, epsilon, delta, y_epsilon, y_sensitivity, budget_epsilon, budget_delta;
    bool   no_guarantee, accept_clipping, dry_run, force;
};

struct project_job {
    const struct project_options *options;
    struct arena                  arena;
    struct csv_table              csv;
    struct release_table          table;
    struct sign_key              *key;
    struct release_manifest       manifest;
    struct secret                 secret;
    struct ledger                 ledger;
    struct account_table          known;         /* the table, as the ledger knows it */
    json_t                       *declare;       /* the line that is to be written before the release's, or NULL */
    struct account                before, after; /* of this release, with what is declared for it */
    char                          manifest_path[1024], secret_path[1024];
    /* what was made: one of the two */
    int64_t *indices;
    double  *values, *normals; /* [rows][columns]; M */
    size_t   clipped, blanks;  /* of trees: candidates that no row of their own cell answers for */
};

/* Reads --protect and --region, finds the table in the ledger and what is declared for it, and says in job->declare what
 * is new.  Errors: INVALID usage, not_declared, no_region, bad_delta; CONFLICT weaker_relation, other_region, other_budget;
 * as account_find, account_read. */
MUST_CHECK enum status project_declare(struct project_job *job, struct error *err);
/* Writes job->declare, and the table's marks before it. */
MUST_CHECK enum status project_write_declaration(struct project_job *job, struct error *err);

/* Reads the options about the mechanism and plans it: the manifest's numbers, without randomness and without a look at a
 * value.  Errors: INVALID "usage", "no_consent"; as manifest_plan. */
MUST_CHECK enum status project_plan(struct project_job *job, struct error *err);
/* How many rows lie outside the public intervals or the ball: for the curator alone. */
size_t project_count_clipped(const struct project_job *job);
/* Whether so many, which are job->clipped, are few or accepted. */
bool project_may_clip(const struct project_job *job);
/* Draws the release: indices or values, the secret's rows, the manifest's rows, columns and dtype. */
MUST_CHECK enum status project_make(struct project_job *job, struct error *err);
/* Overwrites what is private and lies in the arena. */
void project_wipe(struct project_job *job);

/* Makes a quadtree, of which project_make.c knows nothing more. */
MUST_CHECK enum status project_tree_make(struct project_job *job, struct sampler *sampler, struct error *err);

/* Both print plain words: the report on standard output, warnings on standard error. */
void project_warn(const struct project_job *job);
void project_report(const struct project_job *job);

#endif
