/* The common part of sessions with a gp_model. */
#include "engine/surrogate/gp_study.h"

#include "engine/math/sobol.h"

#include <math.h>
#include <string.h>

void gp_memory_begin(struct gp_memory *memory, size_t bytes)
{
    memory->cache.limit_bytes = bytes / 8 * 5;
    if (memory->cache.arena.taken_bytes > memory->cache.limit_bytes)
        gp_cache_drop(&memory->cache);
    arena_init(&memory->scratch, bytes - memory->cache.limit_bytes);
}

void gp_memory_end(struct gp_memory *memory)
{
    arena_fini(&memory->scratch);
}

void gp_memory_drop(struct gp_memory *memory)
{
    arena_fini(&memory->scratch);
    gp_cache_drop(&memory->cache);
}

size_t gp_memory_bytes(const struct gp_memory *memory)
{
    return memory->cache.arena.taken_bytes + memory->scratch.taken_bytes;
}

enum status gp_study_init(struct gp_study *study, bool repeats, struct error *err)
{
    const struct space *space = study->base.problem->space;
    study->group_of = ARENA_NEW(&study->base.kept, size_t, space->dims);
    study->unit = ARENA_NEW(&study->base.kept, double, space->params_len);
    if (study->group_of == NULL || study->unit == NULL)
        return error_no_memory(err);
    gp_model_groups(space, study->group_of);
    trial_log_init(&study->log, &study->base.kept, space->params_len);
    study->log.band = problem_band(study->base.problem, 0);
    used_points_init(&study->used, &study->base.kept, space, repeats);
    return STATUS_OK;
}

void gp_study_end(struct session *session)
{
    gp_memory_drop(&((struct gp_study *)(void *)session)->memory);
}

size_t gp_study_bytes(const struct session *session)
{
    return gp_memory_bytes(&((const struct gp_study *)(const void *)session)->memory);
}

enum status gp_study_tell(struct gp_study *study, const struct event *event, struct error *err)
{
    TRY(trial_log_tell(&study->log, event, err));
    return policy_use_point(&study->used, event, err);
}

void gp_study_begin(struct gp_study *study)
{
    gp_memory_begin(&study->memory, study->base.problem->memory_bytes - study->base.kept.taken_bytes);
}

enum status gp_study_quasi_random(const struct gp_study *study, const struct ask *ask, const struct space *view,
                                  double *point, struct error *err)
{
    sobol_start(study->base.problem->seed, ask->trial, view->params_len, study->unit);
    (void)space_prior_quantile(view, study->unit, point);
    if (!used_points_find(&study->used, view, point))
        return used_points_exhausted(err);
    return STATUS_OK;
}

enum status gp_study_theta(struct gp_model *model, const struct gp_fit *fit, const struct gp_record *record,
                           bool is_due, double *theta, struct error *err)
{
    TRY(gp_model_rows(model, is_due ? 0 : record->fitted, err));
    if (is_due)
        return gp_model_fit(model, fit, record->fitted > 0 ? record->theta : NULL, theta, err);
    memcpy(theta, record->theta, (fit->groups + GP_SCALARS) * sizeof *theta);
    return STATUS_OK;
}

enum status gp_study_has_values(const struct gp_study *study, struct error *err)
{
    if (study->log.count[LOG_OBSERVED] > 0)
        return STATUS_OK;
    return policy_no_values(err);
}

enum status gp_study_describe(const struct gp_model *model, const double *u, struct proposal *out, struct error *err)
{
    struct gp settled = gp_model_settled(model);
    TRY(gp_posterior(&settled, (struct points){u, 1}, &out->mean, &out->sd, model->scratch, err));
    out->sd = sqrt(out->sd);
    gp_model_units(model, &out->mean, &out->sd, &out->sd_observed);
    out->observations = model->n;
    return STATUS_OK;
}

struct rng *gp_study_pending(const struct gp_study *study, const struct ask *ask, struct rng *rng)
{
    if (ask == NULL)
        return NULL;
    *rng = rng_at(study->base.problem->seed, ask->trial, RNG_PENDING);
    return rng;
}
