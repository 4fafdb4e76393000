/* See transfer_session.h. */
#include "engine/transfer/transfer_session.h"

#include "engine/base/numbers.h"
#include "engine/bo/gp_schedule.h"
#include "engine/transfer/transfer_rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIT_FIRST = 5, FIT_LATE = 25, FIT_EVALUATIONS = 30 };
static const double Y_MAX = 1e9, GAP_NONE = -1;

const char *const transfer_units[] = {"together", "each", NULL};

/* Whether the options give all hyper-parameters, so that values are taken as they are. */
static bool is_given(const struct problem *problem)
{
    const double *values = problem->options;
    return !isnan(values[TRANSFER_LENGTH_SCALE]) && !isnan(values[TRANSFER_VARIANCE]) && !isnan(values[TRANSFER_NOISE]);
}

/* ---- units ---- */

struct moments {
    double mean, sd;
};

/* Relative to the largest, so that nothing overflows. */
static struct moments moments_of(const double *values, size_t n)
{
    double largest = 0.0, mean = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(values[i]));
    for (size_t i = 0; i < n && largest > 0.0; i++)
        mean += values[i] / largest / (double)n;
    for (size_t i = 0; i < n && largest > 0.0; i++)
        squares += (values[i] / largest - mean) * (values[i] / largest - mean) / (double)n;
    return (struct moments){.mean = largest * mean, .sd = squares > 1e-26 ? largest * sqrt(squares) : 0.0};
}

static double to_y(const struct transfer_task *task, double value)
{
    double y = value / task->spread - task->centre / task->spread;
    return fmin(fmax(y, -Y_MAX), Y_MAX);
}

/* y in z's place -> z, with the shift and scale of the y, or none when they are given. */
static void standardise(struct transfer_task *task, bool given)
{
    struct moments own = moments_of(task->z, task->n);
    task->shift = given ? 0.0 : own.mean;
    task->scale = given || own.sd == 0.0 ? 1.0 : own.sd;
    for (size_t i = 0; i < task->n; i++)
        task->z[i] = (task->z[i] - task->shift) / task->scale;
}

/* Centre and spread of every earlier study: all values together, or each by its own. */
static void choose_units(struct session *s, double *all)
{
    const struct problem *problem = s->base.problem;
    bool                  given = is_given(problem), each = s->base.problem->options[TRANSFER_UNITS] == TRANSFER_EACH;
    size_t                n = 0;
    for (size_t i = 0; i < problem->earlier_len; i++)
        for (size_t j = 0; j < problem->earlier[i].n; j++)
            all[n++] = problem->earlier[i].values[j];
    struct moments pooled = moments_of(all, n);
    for (size_t i = 0; i < problem->earlier_len; i++) {
        const struct earlier_study *study = &problem->earlier[i];
        struct moments              m = each ? moments_of(study->values, study->n) : pooled;
        struct transfer_task       *task = &s->task[i];
        task->centre = given ? s->base.problem->options[TRANSFER_MEAN] : m.mean;
        task->spread = given || m.sd == 0.0 ? 1.0 : m.sd;
        for (size_t j = 0; j < study->n; j++)
            task->z[j] = to_y(task, study->values[j]);
        if (s->rule->by_rank && !given)
            transfer_rank_scores(study->values, study->n, task->z);
        standardise(task, given);
    }
}

/* Root mean square over the earlier studies of spread * scale, or of the scale alone; 1 without any. */
static double usual(const struct session *s, bool in_values)
{
    double largest = 0.0, squares = 0.0;
    for (size_t i = 0; i < s->base.problem->earlier_len; i++)
        largest = fmax(largest, s->task[i].scale * (in_values ? s->task[i].spread : 1.0));
    for (size_t i = 0; i < s->base.problem->earlier_len && largest > 0.0; i++) {
        double share = s->task[i].scale * (in_values ? s->task[i].spread : 1.0) / largest;
        squares += share * share / (double)s->base.problem->earlier_len;
    }
    return largest > 0.0 ? largest * sqrt(squares) : 1.0;
}

/* ---- opening ---- */

void transfer_session_encode(const struct session *s, const double *point, double *u)
{
    const struct space *space = s->base.problem->space;
    if (transfer_session_on_rows(s))
        memcpy(u, space->rows + (size_t)point[0] * space->columns, space->columns * sizeof *u);
    else
        space_encode(space, point, u);
}

/* So many units of the rows are about a side of a cube that holds them: sqrt(12 columns) root mean squares. */
static double rows_unit(const struct space *space)
{
    double sum = 0.0, n = (double)space->rows_len;
    for (size_t c = 0; c < space->columns; c++) {
        double mean = 0.0, squares = 0.0;
        for (size_t i = 0; i < space->rows_len; i++)
            mean += space->rows[i * space->columns + c] / n;
        for (size_t i = 0; i < space->rows_len; i++)
            squares += pow(space->rows[i * space->columns + c] - mean, 2) / n;
        sum += squares / (double)space->columns;
    }
    return isfinite(sum) && sum > 0.0 ? sqrt(12.0 * sum) * sqrt((double)space->columns) : 1.0;
}

/* Candidates have one length-scale for all columns. */
static void choose_groups(struct session *s)
{
    const struct space *space = s->base.problem->space;
    bool                on_rows = transfer_session_on_rows(s);
    for (size_t i = 0; on_rows && i < space->columns; i++)
        s->group_of[i] = 0;
    if (!on_rows)
        gp_model_groups(space, s->group_of);
    s->model = (struct transfer_model){
        .fit = {.kind = kernel_kinds[(size_t)s->base.problem->options[TRANSFER_KERNEL]],
                .dims = s->dims,
                .groups = on_rows ? 1 : space->params_len,
                .group_of = s->group_of,
                .evaluations = FIT_EVALUATIONS,
                .least_a = HUGE_VAL,
                .from_default = true},
        .unit = on_rows && !is_given(s->base.problem) ? rows_unit(space) : 1.0,
    };
}

/* Replaces estimates by the values that the options give, in the units of the task. */
static void put_given(const struct session *s, const struct transfer_task *task, double *theta)
{
    const double *values = s->base.problem->options;
    size_t        groups = transfer_session_groups(s);
    double        unit = task->spread * task->scale;
    for (size_t i = 0; i < groups && !isnan(values[TRANSFER_LENGTH_SCALE]); i++)
        theta[i] = log(values[TRANSFER_LENGTH_SCALE] / s->model.unit);
    if (!isnan(values[TRANSFER_VARIANCE]))
        theta[groups] = log(values[TRANSFER_VARIANCE]) - 2.0 * log(unit);
    if (!isnan(values[TRANSFER_NOISE]))
        theta[groups + 1] = log(values[TRANSFER_NOISE]) - 2.0 * log(unit);
}

/* The coordinates of parameters that an earlier study does not know. */
static enum status find_lacks(struct session *s, const struct earlier_study *study, struct transfer_task *task,
                              struct error *err)
{
    bool lacks[SPACE_PARAMS_MAX];
    if (study->points == NULL || !space_lacks(s->base.problem->space, study->points, study->n, lacks))
        return STATUS_OK;
    task->lacks = ARENA_NEW(&s->tasks, bool, s->dims);
    for (size_t j = 0; j < s->dims && task->lacks != NULL; j++)
        task->lacks[j] = lacks[s->group_of[j]];
    return task->lacks == NULL ? error_no_memory(err) : STATUS_OK;
}

static enum status task_init(struct session *s, size_t i, struct error *err)
{
    const struct earlier_study *study = &s->base.problem->earlier[i];
    struct transfer_task       *task = &s->task[i];
    struct arena               *arena = &s->tasks;
    *task = (struct transfer_task){.n = study->n,
                                   .X = arena_alloc(arena, study->n, s->dims * sizeof(double)),
                                   .z = ARENA_NEW(arena, double, study->n),
                                   .theta = ARENA_NEW(arena, double, transfer_session_groups(s) + GP_SCALARS)};
    if (task->X == NULL || task->z == NULL || task->theta == NULL)
        return error_no_memory(err);
    for (size_t j = 0; j < study->n; j++) {
        double row = study->rows == NULL ? 0.0 : (double)study->rows[j];
        if (study->rows != NULL && study->rows[j] >= s->base.problem->space->rows_len)
            return error_set(err, STATUS_INVALID, "no_such_row", "/algorithm/earlier_studies", "there is no row %zu",
                             study->rows[j]);
        transfer_session_encode(s, study->rows == NULL ? study->points + j * s->base.problem->space->params_len : &row,
                                task->X + j * s->dims);
    }
    gp_fit_default(&s->model.fit, task->theta);
    task->has_theta = is_given(s->base.problem);
    return find_lacks(s, study, task, err);
}

static enum status tasks_init(struct session *s, struct error *err)
{
    size_t len = s->base.problem->earlier_len, values = 0;
    for (size_t i = 0; i < len; i++)
        TRY(task_init(s, i, err));
    for (size_t i = 0; i < len; i++)
        values += s->task[i].n;
    struct arena_mark mark = arena_mark(&s->base.scratch);
    double           *all = ARENA_NEW(&s->base.scratch, double, values);
    if (all == NULL)
        return error_no_memory(err);
    choose_units(s, all);
    arena_release(&s->base.scratch, mark);
    return STATUS_OK;
}

static bool take_arrays(struct session *s)
{
    const struct space *space = s->base.problem->space;
    struct arena       *kept = &s->base.kept, *tasks = &s->tasks;
    size_t len = s->base.problem->earlier_len, groups = transfer_session_on_rows(s) ? 1 : space->params_len;
    s->group_of = ARENA_NEW(kept, size_t, s->dims);
    s->taken = arena_zalloc(kept, transfer_session_on_rows(s) ? space->rows_len : 0, 1);
    s->v = ARENA_NEW(kept, double, space->params_len + 1);
    s->theta = ARENA_NEW(kept, double, 2 * (groups + GP_SCALARS));
    s->sums = arena_zalloc(kept, len, sizeof *s->sums);
    s->recorded = arena_zalloc(kept, len, sizeof *s->recorded);
    s->task = arena_zalloc(tasks, len, sizeof *s->task);
    s->row_values = arena_zalloc(tasks, len, sizeof *s->row_values);
    s->draws = arena_zalloc(tasks, len, sizeof *s->draws);
    s->start = s->theta == NULL ? NULL : s->theta + groups + GP_SCALARS;
    return s->group_of != NULL && s->taken != NULL && s->v != NULL && s->theta != NULL && s->sums != NULL &&
           s->recorded != NULL && s->task != NULL && s->row_values != NULL && s->draws != NULL;
}

_Static_assert(sizeof(struct session) <= TRANSFER_SESSION_BYTES, "the records have room for the session");

enum status transfer_begin(struct session *s, struct error *err)
{
    const struct problem *problem = s->base.problem;
    const struct space   *space = problem->space;
    s->rule = s->base.policy->rule;
    s->dims = transfer_session_on_rows(s) ? space->columns : space->dims;
    s->seen = GAP_NONE;
    s->nu = 1.0;
    arena_init(&s->tasks, problem->memory_bytes / 2);
    arena_init(&s->base.scratch, problem->memory_bytes / 4);
    if (transfer_session_on_rows(s) && space->rows == NULL)
        return error_set(err, STATUS_CONFLICT, "awaiting_candidates", "/space", "the candidates are not there yet");
    if (!take_arrays(s))
        return error_no_memory(err);
    choose_groups(s);
    trial_log_init(&s->log, &s->base.kept, transfer_session_on_rows(s) ? 1 : space->params_len);
    if (!transfer_session_on_rows(s))
        used_points_init(&s->used, &s->base.kept, space, problem->options[TRANSFER_REPEAT] == 1);
    enum status status = tasks_init(s, err);
    arena_fini(&s->base.scratch);
    return status;
}

void transfer_end(struct session *s)
{
    arena_fini(&s->tasks);
}

bool transfer_leaves(const struct session *s)
{
    return s->leaves;
}

size_t transfer_bytes_beside(const struct session *s)
{
    return s->tasks.taken_bytes;
}

/* ---- notes ---- */

struct note_head {
    char     tag[8];
    double   seen, nu, fitted;        /* fitted: 0, or a theta follows the entries */
    uint32_t len, groups, fits, zero; /* entries; hyper-parameters; fits of earlier studies after that */
};
struct note_entry {
    double sum;
    float  gap, weight; /* for people */
};
static const char NOTE_TAG[8] = "meta 1";

static size_t fit_bytes(size_t groups)
{
    return sizeof(uint32_t) + (groups + GP_SCALARS) * sizeof(float);
}

static size_t theta_bytes(const struct note_head *head)
{
    return head->fitted > 0.0 ? (head->groups + GP_SCALARS) * sizeof(double) : 0;
}

/* False unless the lengths agree. */
static bool read_head(const void *note, size_t bytes, struct note_head *head)
{
    if (note == NULL || bytes < sizeof *head)
        return false;
    memcpy(head, note, sizeof *head);
    bool is_sound = memcmp(head->tag, NOTE_TAG, sizeof head->tag) == 0 && head->len <= EARLIER_STUDIES_MAX &&
                    head->groups <= SPACE_PARAMS_MAX && head->fits <= EARLIER_STUDIES_MAX && head->nu >= 0.0 &&
                    head->nu <= 1.0 && head->seen >= 0.0 && head->seen < 1e15 && head->fitted >= 0.0;
    return is_sound && bytes == sizeof *head + head->len * sizeof(struct note_entry) + theta_bytes(head) +
                                    head->fits * fit_bytes(head->groups);
}

bool transfer_read_note(const void *note, size_t note_bytes, struct transfer_state *out)
{
    struct note_head head;
    if (!read_head(note, note_bytes, &head))
        return false;
    out->nu = head.nu;
    out->rounds = (size_t)head.seen;
    out->len = head.len;
    for (size_t i = 0; i < head.len; i++) {
        struct note_entry entry;
        memcpy(&entry, (const char *)note + sizeof head + i * sizeof entry, sizeof entry);
        out->gaps[i] = entry.gap < 0.0f ? (double)NAN : (double)entry.gap;
        out->weights[i] = (double)entry.weight;
    }
    return true;
}

static bool is_sound_theta(const double *theta, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!(fabs(theta[i]) < 300.0))
            return false;
    return true;
}

static void read_fit(struct session *s, const char *from)
{
    uint32_t i;
    size_t   len = transfer_session_groups(s) + GP_SCALARS;
    memcpy(&i, from, sizeof i);
    if (i >= s->base.problem->earlier_len || is_given(s->base.problem))
        return;
    s->recorded[i] = true;
    if (s->task[i].has_theta)
        return;
    for (size_t k = 0; k < len; k++) {
        float value;
        memcpy(&value, from + sizeof i + k * sizeof value, sizeof value);
        s->task[i].theta[k] = (double)value;
    }
    s->task[i].has_theta = is_sound_theta(s->task[i].theta, len);
}

/* Anything but a sound note is passed over. */
static void read_note(struct session *s, const struct event *event)
{
    struct note_head head;
    size_t           len = transfer_session_groups(s) + GP_SCALARS;
    if (!read_head(event->note, event->note_bytes, &head) || head.len != s->base.problem->earlier_len ||
        head.groups != transfer_session_groups(s))
        return;
    const char *at = (const char *)event->note + sizeof head;
    for (size_t i = 0; i < head.len; i++, at += sizeof(struct note_entry)) {
        memcpy(&s->sums[i], at, sizeof s->sums[i]);
        s->sums[i] = isfinite(s->sums[i]) ? s->sums[i] : 0.0;
    }
    s->seen = head.seen;
    s->nu = head.nu;
    if (head.fitted > 0.0) {
        memcpy(s->theta, at, len * sizeof *s->theta);
        s->fitted = is_sound_theta(s->theta, len) ? head.fitted : 0.0;
    }
    at += theta_bytes(&head);
    for (uint32_t i = 0; i < head.fits; i++, at += fit_bytes(head.groups))
        read_fit(s, at);
}

static void write_fit(const struct session *s, uint32_t i, unsigned char *at)
{
    memcpy(at, &i, sizeof i);
    for (size_t k = 0; k < transfer_session_groups(s) + GP_SCALARS; k++) {
        float value = (float)s->task[i].theta[k];
        memcpy(at + sizeof i + k * sizeof value, &value, sizeof value);
    }
}

void transfer_session_note(const struct session *s, const struct transfer_note *note, struct proposal *out)
{
    size_t groups = transfer_session_groups(s), len = s->base.problem->earlier_len, at = sizeof(struct note_head);
    struct note_head head = {.seen = note->seen,
                             .nu = note->nu,
                             .fitted = note->theta == NULL ? 0.0 : note->fitted,
                             .len = (uint32_t)len,
                             .groups = (uint32_t)groups};
    _Static_assert(sizeof head + EARLIER_STUDIES_MAX * sizeof(struct note_entry) +
                           (SPACE_PARAMS_MAX + GP_SCALARS) * 12 + 4 <=
                       POLICY_NOTE_MAX,
                   "a note has room for one fit of an earlier study at least");
    memcpy(head.tag, NOTE_TAG, sizeof head.tag);
    for (size_t i = 0; i < len; i++, at += sizeof(struct note_entry)) {
        float             gap = isnan(note->gaps[i]) ? (float)GAP_NONE : (float)note->gaps[i];
        struct note_entry entry = {.sum = note->sums[i], .gap = gap, .weight = (float)note->weights[i]};
        memcpy(out->note + at, &entry, sizeof entry);
    }
    if (note->theta != NULL)
        memcpy(out->note + at, note->theta, theta_bytes(&head));
    at += theta_bytes(&head);
    for (uint32_t i = 0; i < len && at + fit_bytes(groups) <= POLICY_NOTE_MAX; i++)
        if (!s->recorded[i] && !is_given(s->base.problem)) {
            write_fit(s, i, out->note + at);
            at += fit_bytes(groups);
            head.fits++;
        }
    memcpy(out->note, &head, sizeof head);
    out->note_bytes = at;
}

/* ---- the log ---- */

enum status transfer_tell(struct session *s, const struct event *event, struct error *err)
{
    struct event own = *event;
    double       row = (double)event->row;
    if (transfer_session_on_rows(s)) {
        if (event->row >= s->base.problem->space->rows_len)
            return error_set(err, STATUS_INVALID, "no_such_row", "/candidate", "there is no row %zu", event->row);
        own.point = &row;
        s->taken_len += s->taken[event->row] == 0;
        s->taken[event->row] = 1;
    } else {
        TRY(policy_use_point(&s->used, event, err));
    }
    TRY(trial_log_tell(&s->log, &own, err));
    if (event->kind == EVENT_SUGGESTED)
        read_note(s, event);
    return STATUS_OK;
}

/* ---- the tasks ---- */

/* The median of each hyper-parameter over the earlier studies. */
static void find_start(struct session *s)
{
    size_t len = s->base.problem->earlier_len, count = transfer_session_groups(s) + GP_SCALARS;
    double values[EARLIER_STUDIES_MAX];
    gp_fit_default(&s->model.fit, s->start);
    for (size_t k = 0; k < count && len > 0; k++) {
        for (size_t i = 0; i < len; i++)
            values[i] = s->task[i].theta[k];
        qsort(values, len, sizeof *values, numbers_order);
        s->start[k] = values[len / 2];
    }
}

enum status transfer_session_ready(struct session *s, const struct ask *ask, struct error *err)
{
    for (; s->tasks_ready < s->base.problem->earlier_len; s->tasks_ready++) {
        struct transfer_task *task = &s->task[s->tasks_ready];
        struct arena_mark     mark = arena_mark(&s->tasks);
        if (ask_is_late(ask))
            return error_set(err, STATUS_BUSY, "deadline", "", "no time left");
        if (!task->has_theta)
            TRY(transfer_task_fit(task, &s->model, NULL, &s->base.scratch, err));
        put_given(s, task, task->theta);
        enum status status = transfer_task_ready(task, &s->model, task->n + TRANSFER_PENDING, &s->tasks, err);
        if (status != STATUS_OK) {
            arena_release(&s->tasks, mark);
            return status;
        }
    }
    find_start(s);
    return STATUS_OK;
}

/* The last TRANSFER_TARGET_ROWS trials with a value, or that have none because they are infeasible: values as they are,
 * and their standard deviations in the place of the noise. */
static enum status gather(struct session *s, struct transfer_task *target, struct error *err)
{
    const struct trial_log *log = &s->log;
    size_t finished = trial_log_finished(log), n = finished < TRANSFER_TARGET_ROWS ? finished : TRANSFER_TARGET_ROWS;
    double worst = HUGE_VAL;
    target->X = arena_alloc(&s->base.scratch, n, s->dims * sizeof(double));
    target->z = ARENA_NEW(&s->base.scratch, double, n);
    target->noise = ARENA_NEW(&s->base.scratch, double, n);
    target->theta = ARENA_NEW(&s->base.scratch, double, transfer_session_groups(s) + GP_SCALARS);
    if (target->X == NULL || target->z == NULL || target->noise == NULL || target->theta == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < log->len; i++)
        if (log->trials[i].state == LOG_OBSERVED)
            worst = fmin(worst, log->trials[i].value);
    for (size_t i = 0, skip = finished - n; i < log->len && log->count[LOG_OBSERVED] > 0; i++) {
        const struct log_trial *trial = &log->trials[i];
        if (!log_trial_is_row(trial))
            continue;
        if (skip > 0) {
            skip--;
            continue;
        }
        bool has_value = log_trial_has_value(trial);
        target->z[target->n] = has_value ? trial->value : worst;
        target->noise[target->n] = has_value ? trial->sd : 0.0;
        transfer_session_encode(s, trial_log_point(log, i), target->X + target->n++ * s->dims);
    }
    return STATUS_OK;
}

/* With few values of its own the study takes the usual spread of the earlier ones into account, as one value more. */
static double own_spread(double sd, size_t n, double usually)
{
    if (n >= FIT_FIRST)
        return sd > 0.0 ? sd : usually;
    double largest = fmax(sd, usually);
    return largest * sqrt(((double)n * pow(sd / largest, 2) + pow(usually / largest, 2)) / (double)(n + 1));
}

static void target_units(const struct session *s, struct transfer_task *target)
{
    bool           given = is_given(s->base.problem), each = s->base.problem->options[TRANSFER_UNITS] == TRANSFER_EACH;
    struct moments own = moments_of(target->z, target->n);
    size_t         n = target->n, len = s->base.problem->earlier_len;
    bool           is_own = each || len == 0;
    target->centre = given ? s->base.problem->options[TRANSFER_MEAN] : is_own ? own.mean : s->task[0].centre;
    target->spread = given     ? 1.0
                     : !is_own ? s->task[0].spread
                               : own_spread(own.sd, n,
                                            len > 0        ? usual(s, true)
                                            : own.sd > 0.0 ? own.sd
                                                           : 1.0);
    for (size_t i = 0; i < n; i++)
        target->z[i] = to_y(target, target->z[i]);
    target->shift = 0.0;
    target->scale = 1.0;
    if (!given && !is_own) {
        own = moments_of(target->z, n);
        target->shift = own.mean * (double)n / ((double)n + (n < FIT_FIRST ? 1.0 : 0.0));
        target->scale = own_spread(own.sd, n, usual(s, false));
    }
}

/* All functions are taken to be drawn from one process (7.2): with earlier studies theirs serves until there are FIT_LATE
 * values, which is better than a fit to few.  (With fits from the fifth value on, the regret of all four algorithms after
 * 10 evaluations is 9 to 16 % larger: tests/bench/transfer_svm --runs 2.)  Then gp's schedule. */
static bool is_fit_due(const struct session *s, size_t observed)
{
    return !is_given(s->base.problem) && observed >= (s->base.problem->earlier_len > 0 ? FIT_LATE : FIT_FIRST) &&
           (double)gp_schedule_milestone(observed) > s->fitted;
}

enum status transfer_session_target(struct session *s, const struct ask *ask, struct transfer_task *target, bool *fits,
                                    struct error *err)
{
    size_t observed = s->log.count[LOG_OBSERVED], len = transfer_session_groups(s) + GP_SCALARS;
    *target = (struct transfer_task){0};
    TRY(gather(s, target, err));
    if (target->n > 0)
        target_units(s, target);
    for (size_t i = 0; i < target->n; i++) {
        double noise = target->noise[i] / target->spread / target->scale;
        target->z[i] = (target->z[i] - target->shift) / target->scale;
        target->noise[i] = fmin(noise * noise, 1e12);
    }
    *fits = ask != NULL && is_fit_due(s, observed);
    memcpy(target->theta, s->fitted > 0.0 ? s->theta : s->start, len * sizeof *target->theta);
    if (*fits) {
        struct transfer_model model = s->model;
        model.fit.late = ask->late;
        model.fit.late_arg = ask->late_arg;
        TRY(transfer_task_fit(target, &model, target->theta, &s->base.scratch, err));
    }
    if (target->n == 0)
        target->spread = target->scale = 1.0;
    put_given(s, target, target->theta);
    return transfer_task_ready(target, &s->model, target->n + TRANSFER_PENDING, &s->base.scratch, err);
}
