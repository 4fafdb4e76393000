/* See gp_single.h. */
#include "engine/bo/gp_single.h"

#include "engine/surrogate/gp_drift.h"
#include "engine/bo/gp_schedule.h"

#include <math.h>
#include <string.h>

size_t gp_single_theta_len(const struct gp_single *single)
{
    return single->study->log.params_len + GP_SCALARS;
}

enum status gp_single_open(struct gp_study *study, const struct kernel_kind *kernel, const char *tag,
                           struct gp_single *single, struct error *err)
{
    *single = (struct gp_single){.study = study, .kernel = kernel, .head.models = 1};
    memcpy(single->head.tag, tag, strlen(tag));
    single->record.theta = ARENA_NEW(&study->base.kept, double, gp_single_theta_len(single));
    return single->record.theta == NULL ? error_no_memory(err) : STATUS_OK;
}

static struct gp_fit fit_settings(const struct gp_single *single, const struct ask *ask)
{
    return gp_schedule_fit(single->study, single->kernel, single->record.fitted == 0, ask);
}

/* A fit of values that drift has a tag of its own, and so has one of values with a step. */
static struct gp_note head_of(const struct gp_single *single, enum gp_course course)
{
    static const char tags[][sizeof single->head.tag] = {[GP_LINE] = "gpdrift", [GP_STEP] = "gpstep"};
    struct gp_note    head = single->head;
    if (course != GP_STEADY)
        memcpy(head.tag, tags[course], sizeof head.tag);
    return head;
}

void gp_single_tell(struct gp_single *single, const struct event *event)
{
    struct gp_fit fit = fit_settings(single, NULL);
    if (event->kind != EVENT_SUGGESTED)
        return;
    for (enum gp_course course = GP_STEADY; course <= (single->drifts ? GP_STEP : GP_STEADY); course++) {
        struct gp_note head = head_of(single, course);
        gp_note_read(event, &fit, 1, 1, &head, &single->record);
        if (head.finished > 0)
            single->course = course;
    }
}

enum status gp_single_model(const struct gp_single *single, const struct ask *ask, struct rng *pending,
                            struct gp_model *model, struct gp_choice *choice, struct error *err)
{
    struct gp_study  *study = single->study;
    struct gp_memory *memory = &study->memory;
    uint64_t          fitted = single->record.fitted;
    struct gp_fit     fit = fit_settings(single, ask);
    double            began = ask == NULL ? NAN : ask_clock_ms(ask);
    *model = (struct gp_model){.space = study->base.problem->space,
                               .log = &study->log,
                               .cache = &memory->cache,
                               .scratch = &memory->scratch,
                               .limit = gp_schedule_rows(ask, 1),
                               .doubts = single->doubts,
                               .near_mean = single->near_mean,
                               .is_robust = single->is_robust};
    choice->theta = ARENA_NEW(&memory->scratch, double, gp_single_theta_len(single));
    choice->is_due = ask == NULL ? fitted == 0 : gp_schedule_milestone(trial_log_finished(&study->log)) > fitted;
    if (choice->theta == NULL)
        return error_no_memory(err);
    if (single->course != GP_STEADY)
        TRY(gp_drift_level(model, &fit, single->record.theta, single->course == GP_STEP, err));
    TRY(gp_study_theta(model, &fit, &single->record, choice->is_due, choice->theta, err));
    if (single->drifts && choice->is_due)
        TRY(gp_drift_test(model, &fit, fitted, choice->theta, err));
    choice->course = model->drift == 0.0 ? GP_STEADY : model->from > 0.0 ? GP_STEP : GP_LINE;
    choice->fit_ms = choice->is_due && ask != NULL ? ask_clock_ms(ask) - began : NAN;
    return gp_model_condition(model, &fit, choice->theta, pending, err);
}

void gp_single_note(const struct gp_single *single, const struct gp_choice *choice, struct proposal *out)
{
    struct gp_record record = {.fitted = trial_log_finished(&single->study->log), .theta = choice->theta};
    struct gp_note   head = head_of(single, choice->course);
    head.finished = record.fitted;
    if (choice->is_due)
        gp_note_write(&head, &record, gp_single_theta_len(single), out);
}
