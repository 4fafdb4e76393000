/* See gp_steps.h. */
#include "engine/bo/gp_steps.h"

#include <stdlib.h>
#include <string.h>

struct step {
    double value;
    size_t row;
};

static int best_first(const void *a, const void *b)
{
    double x = ((const struct step *)a)->value, y = ((const struct step *)b)->value;
    return (x < y) - (x > y);
}

static bool is_continuous(const struct space *space)
{
    for (size_t i = 0; i < space->params_len; i++)
        if (space->params[i].kind == PARAM_DOUBLE && space->params[i].min < space->params[i].max)
            return true;
    return false;
}

/* The best value is there twice, or two others of the better half are: a single one may be what all penalties have.
 * steps [len], the best first. */
static bool has_equals(const struct gp_model *model, const struct step *steps, size_t len)
{
    size_t dims = model->space->dims, found = 0;
    double last = NAN;
    for (size_t i = 1; i < (len + 1) / 2; i++)
        if (steps[i].value == steps[i - 1].value && steps[i].value != last &&
            memcmp(model->X + steps[i].row * dims, model->X + steps[i - 1].row * dims, dims * sizeof(double)) != 0) {
            found += steps[i].value == steps[0].value ? 2 : 1;
            last = steps[i].value;
        }
    return found > 1;
}

enum status gp_steps_find(const struct gp_model *model, double *gap, struct error *err)
{
    struct arena_mark mark = arena_mark(model->scratch);
    struct step      *steps = ARENA_NEW(model->scratch, struct step, model->n);
    size_t            len = 0, next = 1;
    *gap = 0.0;
    if (steps == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < model->n; k++) {
        const struct log_trial *trial = &model->log->trials[model->row[k]];
        if (trial->state == LOG_OBSERVED && !gp_model_is_doubted(model, k))
            steps[len++] = (struct step){trial->value, k};
    }
    qsort(steps, len, sizeof *steps, best_first);
    while (next < len && steps[next].value == steps[0].value)
        next++;
    if (next < len && is_continuous(model->space) && has_equals(model, steps, len))
        *gap = model->z[steps[0].row] - model->z[steps[next].row];
    arena_release(model->scratch, mark);
    return STATUS_OK;
}
