/* Schedules of fits and searches. */
#include "engine/bo/gp_schedule.h"

#include "engine/base/numbers.h"
#include "engine/bo/trust_region.h"

#include <math.h>
#include <string.h>

enum { REFIT_ALWAYS = 40, REFIT_SHARE = 10, REFIT_STEP = 100 };
/* For fits: when values are many, every so many values a fit starts from the prior, too. */
enum { FIT_DEFAULT_EVERY = 4, FIT_EVALUATIONS = 60, FIT_EVALUATIONS_MIN = 12, FIT_EVALUATIONS_MAX = 20 };
static const double FIT_WORK = 1400.0; /* evaluations times values */
/* For searches: as many points and evaluations as the squared rows of the models allow. */
enum { SAMPLES_MIN = 32, SAMPLES_JOINT = 400, SAMPLES_MAX = 500 };
enum { EVALUATIONS_MIN = 3, EVALUATIONS_MAX = 40, BOX_SHARE = 2 }; /* a box is smaller */
static const double SAMPLES_DIMS = 1e6, SAMPLES_WORK = 1.2e8;      /* points times dims; points times squared rows */
static const double EVALUATIONS_WORK = 1.2e7;                      /* evaluations times squared rows */
static const struct trust_rule RULE = {.start = 0.5, .least = 0.02, .above = INFINITY, .below = -INFINITY};
static const double            GAIN = 1e-5;  /* the least with which stages 1 and 2 (README.md) are content */
static const double            CLOSER = 0.1; /* the same share of what is left to a band */
static const double CONTEXT_SIDE = 0.2;      /* of the box in a context, where no trial says whether it is too small */

size_t gp_schedule_milestone(size_t n)
{
    if (n <= REFIT_ALWAYS)
        return n;
    size_t size = REFIT_ALWAYS;
    for (size_t step; step = size / REFIT_SHARE < REFIT_STEP ? size / REFIT_SHARE : REFIT_STEP, size + step <= n;)
        size += step;
    return size;
}

struct gp_fit gp_schedule_fit(const struct gp_study *study, const struct kernel_kind *kind, bool is_first,
                              const struct ask *ask)
{
    const struct space *space = study->base.problem->space;
    size_t              values = trial_log_finished(&study->log);
    return (struct gp_fit){
        .kind = kind,
        .dims = space->dims,
        .groups = space->params_len,
        .group_of = study->group_of,
        .least_a = study->log.band == NULL ? 0.0 : HUGE_VAL,
        .from_default = values < GP_FEW || values % FIT_DEFAULT_EVERY == 0,
        .evaluations = values < GP_FEW || is_first
                           ? FIT_EVALUATIONS
                           : numbers_clamp(FIT_WORK / (double)values, FIT_EVALUATIONS_MIN, FIT_EVALUATIONS_MAX),
        .late = ask == NULL ? NULL : ask->late,
        .late_arg = ask == NULL ? NULL : ask->late_arg,
    };
}

size_t gp_schedule_rows(const struct ask *ask, size_t models)
{
    bool is_hurried = ask != NULL && ask->deadline_ms > 0.0 && ask->deadline_ms < GP_HURRIED_MS;
    return is_hurried ? (size_t)(GP_HURRIED_ROWS / sqrt((double)models)) : 0;
}

enum status gp_schedule_box(const struct gp_study *study, const struct gp_model *model, size_t place,
                            const double *theta, double *box, struct error *err)
{
    struct trust_region region;
    struct trust_rule   rule = RULE;
    rule.above = model->above;
    rule.below = model->below;
    TRY(trust_region_find(model->log, rule, model->scratch, &region, err));
    region.length = space_has_context(model->space) ? CONTEXT_SIDE : region.length;
    space_encode(model->space, trial_log_point(model->log, place), box);
    trust_region_box(&region, model->space, study->group_of, theta, box, box);
    return STATUS_OK;
}

bool gp_schedule_is_worth(double gain)
{
    return gain >= GAIN;
}

bool gp_schedule_is_close(double best, double log_ei)
{
    return exp(log_ei) >= CLOSER * -best;
}

/* Beyond about 1,100 rows a point costs a pass over megabytes, so some fifty are scored, half of them near the best
 * ones, and one is refined by a few steps: about six times the work gave no clear gain at 1,500 rows (three functions, three
 * seeds).  A joint sample of many points costs their number cubed. */
enum status gp_schedule_search(const struct gp_study *study, const struct ask *ask, const struct gp_search *wanted,
                               double *point, struct arena *scratch, struct error *err)
{
    size_t  len = study->log.params_len, count = wanted->anchors->len;
    double *anchors = arena_alloc(scratch, count, len * sizeof *anchors), rows_squared = wanted->rows_squared;
    if (anchors == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < count; k++)
        memcpy(anchors + k * len, trial_log_point(&study->log, wanted->anchors->place[k]), len * sizeof *anchors);
    size_t            widest = numbers_clamp(SAMPLES_DIMS / (double)study->base.problem->space->dims, SAMPLES_MIN,
                                  wanted->slope == NULL ? SAMPLES_JOINT : SAMPLES_MAX);
    struct acq_search search = {
        .space = wanted->view,
        .used = &study->used,
        .anchors = anchors,
        .anchors_len = count,
        .lower = wanted->lower,
        .upper = wanted->upper,
        .seed = study->base.problem->seed,
        .trial = ask->trial,
        .samples = numbers_clamp(SAMPLES_WORK / rows_squared, SAMPLES_MIN,
                                 wanted->lower == NULL ? widest : widest / BOX_SHARE),
        .starts = 1,
        .evaluations = numbers_clamp(EVALUATIONS_WORK / rows_squared, EVALUATIONS_MIN, EVALUATIONS_MAX),
        .late = ask->late,
        .late_arg = ask->late_arg,
        .scores = wanted->scores,
        .slope = wanted->slope,
        .arg = wanted->arg,
    };
    TRY(trial_log_pending(&study->log, scratch, &search.pending, &search.pending_len, err));
    return acq_search_run(&search, point, scratch, err);
}
