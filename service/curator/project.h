/* gnomon project, its parts: command_project.c reads and writes, project_make.c computes, project_report.c explains.
 * One job is one release.  All arrays live in its arena. */
#ifndef GNOMON_SERVICE_CURATOR_PROJECT_H
#define GNOMON_SERVICE_CURATOR_PROJECT_H

#include "engine/base/arena.h"
#include "engine/finite_set/forecast.h"
#include "engine/privacy/mechanism.h"
#include "engine/privacy/projection.h"
#include "engine/privacy/release.h"
#include "service/base/csv.h"
#include "service/curator/ledger.h"
#include "service/codec/manifest.h"
#include "service/curator/release_io.h"
#include "service/curator/secret.h"

#include <stdbool.h>

struct project_options {
    const char *in, *columns, *key, *mechanism, *centre, *length_scales, *dims, *rotate, *sides, *out, *manifest,
        *secret, *ledger, *y_range, *y_default, *y_name;
    double radius, distance, epsilon, delta, y_epsilon, y_sensitivity, budget_epsilon, budget_delta;
    bool   no_guarantee, allow_clipping, force;
};

struct project_job {
    const struct project_options *options;
    struct arena                  arena;
    struct csv_table              csv;
    struct release_table          table;
    struct sign_key              *key;
    double                       *centre, *length_scales; /* [d] or NULL */
    struct release_manifest       manifest;
    struct secret                 secret;
    struct ledger_entry           entry;
    char                         *scale; /* of the entry */
    struct ledger_total           total; /* after this release */
    char                          manifest_path[1024], secret_path[1024], ledger_path[1040];
    /* what was made: one of the two */
    int64_t *indices;
    double  *values, *normals; /* [rows][columns]; M */
    size_t   clipped, blanks;  /* of cells and trees: candidates that no row of their own cell answers for */
};

/* Reads the options about the mechanism and plans it: the manifest's numbers, without randomness and without a look at a
 * value.  Errors: INVALID "usage", "no_public_scale", "no_consent"; as mechanism_plan, mechanism_plan_outcome. */
MUST_CHECK enum status project_plan(struct project_job *job, struct error *err);
/* Draws the release: indices or values, the secret's rows, the manifest's rows, columns and dtype. */
MUST_CHECK enum status project_make(struct project_job *job, struct error *err);
/* Overwrites what is private and lies in the arena. */
void project_wipe(struct project_job *job);

/* The same two for a quadtree, of which project_make.c knows no more. */
MUST_CHECK enum status project_tree_plan(struct project_job *job, struct error *err);
MUST_CHECK enum status project_tree_make(struct project_job *job, struct sampler *sampler, struct error *err);

/* Computes (at most some ten seconds) and prints what the release would cost; clock and limit are set here.
 * Errors: as forecast_run. */
MUST_CHECK enum status project_forecast(struct forecast *forecast, struct error *err);

/* In plain words, on standard output; warnings on standard error. */
void project_warn(const struct project_job *job);
void project_report(const struct project_job *job);

#endif
