/* The Pareto set of a study. */
#include "engine/acquisition/pareto.h"

#include "service/app/price.h"
#include "service/app/slots.h"
#include "service/store/rows.h"
#include "service/study/study.h"
#include "service/trial/trial_pareto.h"

#include <math.h>

/* Over so many vectors the hypervolume would take seconds. */
static const size_t volume_max[OBJECTIVES_MAX + 1] = {0, 100000, 100000, 2000, 300};

struct work {
    struct task          task;
    struct pareto_reply *out;
    bool                 is_cut;
};

static bool is_late(void *arg)
{
    struct work *work = arg;
    struct error why;
    work->is_cut = work->is_cut || slots_go_on(work->task.app, work->task.caller, &why) != STATUS_OK;
    return work->is_cut;
}

static enum status read_feasible(struct db_conn *conn, void *arg, struct error *err)
{
    struct work         *work = arg;
    struct pareto_reply *out = work->out;
    TRY(task_open(conn, &work->task, err));
    out->study = work->task.study;
    return rows_trials(db_query(conn, work->task.caller->arena, err, SQL_TRIAL_FEASIBLE, BIND(TEXT(work->task.id))),
                       &out->trials, &out->len, err);
}

/* out [objectives], larger is better. */
static void objectives_of(const struct spec *spec, const struct trial *trial, double *out)
{
    if (trial->values == NULL)
        *out = spec_worth(spec, trial->value);
    for (size_t k = 0; k < spec->metrics_len && trial->values != NULL; k++)
        if (spec->kinds[k] == METRIC_OBJECTIVE)
            *out++ = spec_value(spec, k, trial->values[2 * k]);
}

/* The reference point of a front: reference [m] out, signed as for a policy, and out->reference in the users' units.  Returns
 * whether any objective has a threshold. */
static bool find_reference(const double *values, size_t m, struct pareto_reply *out, double *reference)
{
    const struct spec *spec = &out->study.spec;
    pareto_reference(values, out->len, m, reference);
    bool has_thresholds = spec_set_thresholds(spec, reference);
    for (size_t j = 0, k = 0; j < m; j++, k++) {
        while (spec->kinds[k] != METRIC_OBJECTIVE)
            k++;
        out->reference[k] = 0.0 + metric_threshold_sign(&spec->metrics[k]) * reference[j]; // 0.0 +: never -0.0
    }
    return has_thresholds;
}

/* Keeps the trials of the front; of one objective, the first of them. */
static enum status reduce(struct work *work, double *values, size_t m, struct error *err)
{
    double               reference[OBJECTIVES_MAX];
    struct pareto_reply *out = work->out;
    struct arena        *arena = work->task.caller->arena;
    bool                *is_best = ARENA_NEW(arena, bool, 2 * out->len + 1);
    size_t               kept = 0;
    struct pareto_set    set = {
           .values = values, .n = out->len, .m = m, .reference = reference, .late = is_late, .late_arg = work};
    if (is_best == NULL)
        return error_no_memory(err);
    if (find_reference(values, m, out, reference))
        out->attains = is_best + out->len;
    TRY(pareto_front_of(&set, is_best, arena, err));
    for (size_t i = 0; i < out->len; i++) {
        if (!is_best[i] || (m == 1 && kept > 0))
            continue;
        for (size_t j = 0; j < m; j++)
            values[kept * m + j] = values[i * m + j];
        if (out->attains != NULL)
            out->attains[kept] = spec_attains(&out->study.spec, out->trials[i].values);
        out->trials[kept++] = out->trials[i];
    }
    out->len = set.n = kept;
    return kept > volume_max[m] ? STATUS_OK : pareto_hypervolume(&set, &out->hypervolume, arena, err);
}

static enum status find_front(struct work *work, struct error *err)
{
    struct pareto_reply *out = work->out;
    struct arena        *arena = work->task.caller->arena;
    TRY(task_read(&work->task, read_feasible, err));
    size_t  m = out->study.spec.objectives;
    double *values = ARENA_NEW(arena, double, (out->len + 1) * m);
    if (values == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < out->len; i++)
        objectives_of(&out->study.spec, &out->trials[i], values + i * m);
    enum status status = out->len == 0 ? STATUS_OK : reduce(work, values, m, err);
    return work->is_cut ? app_go_on(work->task.app, work->task.caller, err) : status;
}

/* In a slot from the first row on: that many may go through their whole study. */
enum status trial_pareto(struct app *app, struct caller *caller, const char *id, struct pareto_reply *out,
                         struct error *err)
{
    struct work work = {.task = task_of(app, caller, id), .out = out};
    *out = (struct pareto_reply){.hypervolume = NAN};
    TRY(study_find(app, caller, id, &out->study, err));
    const struct price_model model = price_model_of(&out->study);
    double                   price_ms = price_pareto(app, model.values, out->study.spec.objectives);
    TRY(slots_announce(caller, price_ms, err));
    TRY(slots_enter(app, caller, price_ms, err));
    enum status status = find_front(&work, err);
    double      took_ms = slots_leave(app, caller, NULL);
    if (status == STATUS_OK)
        price_learn_part(app, PRICE_PARETO, price_ms, took_ms);
    return status;
}
