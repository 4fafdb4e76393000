/* The common part of sessions of algorithms with a gp_model on parameter spaces: the log, the points that were used,
 * quasi-random points, memory for models, and which hyper-parameters a model has.
 * An ask changes none of this but the cached factor, which is a function of the rest. */
#ifndef GNOMON_ENGINE_GP_STUDY_H
#define GNOMON_ENGINE_GP_STUDY_H

#include "engine/policy/session.h"
#include "engine/space/used_points.h"
#include "engine/surrogate/gp_model.h"

/* Memory for one model: a factor that is kept, and what a proposal needs beside it. */
struct gp_memory {
    struct gp_cache cache;
    struct arena    scratch;
};
/* Shares out bytes, which are to depend on the log alone: a full cache must not change an answer. */
void   gp_memory_begin(struct gp_memory *memory, size_t bytes);
void   gp_memory_end(struct gp_memory *memory); /* empties scratch; without begin, or twice, too */
void   gp_memory_drop(struct gp_memory *memory);
size_t gp_memory_bytes(const struct gp_memory *memory);

/* A fit that a note of the log records: how many values it was made from (0: there is none), theta [groups + GP_SCALARS]. */
struct gp_record {
    uint64_t fitted;
    double  *theta;
};

struct gp_study {
    struct session_base base;
    struct trial_log    log;
    struct used_points  used;
    struct gp_memory    memory;   /* for the model of a single metric */
    size_t             *group_of; /* [dims] */
    double             *unit;     /* [params_len] scratch */
};

/* The beginning of a session that starts with a gp_study.  repeats: of used_points_init.  Errors: NO_MEMORY. */
MUST_CHECK enum status gp_study_init(struct gp_study *study, bool repeats, struct error *err);
/* end and bytes_beside of such a session. */
void                   gp_study_end(struct session *session);
size_t                 gp_study_bytes(const struct session *session);
MUST_CHECK enum status gp_study_tell(struct gp_study *study, const struct event *event, struct error *err);

/* gp_memory_begin of study->memory with all that the log leaves. */
void gp_study_begin(struct gp_study *study);

/* The trial's point of sobol_start at the quantiles of the priors, or in a finite space the next one that is not used;
 * view: the space with what the ask holds.  Errors: CONFLICT "search_space_exhausted". */
MUST_CHECK enum status gp_study_quasi_random(const struct gp_study *study, const struct ask *ask,
                                             const struct space *view, double *point, struct error *err);

/* The model's rows and its hyper-parameters, theta [groups + GP_SCALARS] out: those of record, or when is_due a new fit,
 * warm-started from it.  gp_model_condition comes next.  Errors: NO_MEMORY. */
MUST_CHECK enum status gp_study_theta(struct gp_model *model, const struct gp_fit *fit, const struct gp_record *record,
                                      bool is_due, double *theta, struct error *err);

/* CONFLICT "no_observations" while there is none: what predict and residuals answer then. */
MUST_CHECK enum status gp_study_has_values(const struct gp_study *study, struct error *err);

/* Describes, for a proposal, the model it came from: posterior at the point u [dims] of the unit cube without the pending
 * trials, in units, and how many values were seen.  Errors: NO_MEMORY. */
MUST_CHECK enum status gp_study_describe(const struct gp_model *model, const double *u, struct proposal *out,
                                         struct error *err);

/* The stream for the values of pending trials in a proposal; ask NULL: none is wanted, and the result is NULL. */
struct rng *gp_study_pending(const struct gp_study *study, const struct ask *ask, struct rng *rng);

#endif
