/* transfer: what to take when there are earlier studies.  The study's values are a line in what the earlier studies
 * predict, with slopes of either sign, and a Gaussian process of what is left (transfer_slopes.h):
 *   mean(x) = c + sum_i b_i mean_i(x) + what is left,   sd(x)^2 = s sd_left(x)^2;   expected improvement is maximised
 * So a study that resembles this one leads from the first trial on, one that is the wrong way round leads the other way,
 * and one that says nothing gets the slope 0.  The values of earlier studies stand as the scores of their ranks, since the
 * few very bad ones of a search would otherwise be most of what is learnt.
 *
 * The first trial is the best that the earlier studies predict.  The second is one that no model chose, in the middle,
 * where gp begins (a random one of candidates): beside the first it tells whether their advice is good or bad, which a
 * second piece of it would not.  So is every trial that is asked for before two have values, at Sobol points; and after
 * that while all are equal and EQUAL_MAX at most: on a plateau they tell nothing of the advice.
 * From the GP_FROMth value on a trial is left to the algorithm gp, which knows nothing of earlier studies, with
 * probability 1 - nu:
 *   nu = KEPT^(n - GP_FROM) / (1 + evidence for no slopes / (ODDS evidence for slopes))
 * The choice of the constants, and the tables on which none was made: tests/bench/transfer_tables. */
#include "engine/acquisition/acq.h"
#include "engine/policy/session.h"
#include "engine/bo/policy_gp.h"
#include "engine/transfer/transfer_slopes.h"
#include "engine/transfer/transfer.h"

#include <math.h>
#include <string.h>

enum { GP_FROM = 5, EQUAL_MAX = 3 };
static const double ODDS = 4, KEPT = 0.9;

// clang-format off
static const struct option options[] = {
    TRANSFER_OPTIONS(TRANSFER_EACH),
    {.name = NULL},
};
// clang-format on

/* ---- the rule ---- */

/* Replaces the values in the study's own model by their residuals from the line. */
static enum status set_rest(struct transfer_view *view, double constant, struct error *err)
{
    struct transfer_task *target = view->target;
    size_t                n = target->n;
    double               *z = ARENA_NEW(view->scratch, double, n);
    if (z == NULL)
        return error_no_memory(err);
    for (size_t j = 0; j < n; j++) {
        z[j] = view->y[j] - constant;
        for (size_t i = 0; i < view->len; i++)
            z[j] -= view->factors[i] * view->point_mean[i * n + j];
        z[j] = (z[j] - target->shift) / target->scale;
    }
    return n > 0 ? gp_set_values(&target->gp, z, err) : STATUS_OK;
}

/* Slopes, and nu.  Two values are the fewest that can speak for or against them. */
static enum status find_slopes(struct transfer_view *view, struct transfer_slopes *line, struct error *err)
{
    const struct gp       *gp = &view->target->gp;
    double                 n = (double)view->target->n;
    struct transfer_slopes none;
    *line = transfer_slopes_of(view->len, view->factors);
    line->n = view->target->n, line->y = view->y, line->means = view->point_mean, line->L = gp->L,
    line->ld = gp->capacity;
    none = *line;
    none.len = 0;
    none.scale = 1.0;
    TRY(transfer_slopes_find(line, view->scratch, err));
    TRY(transfer_slopes_find(&none, view->scratch, err));
    view->nu = n < 2.0 ? 1.0 : pow(KEPT, fmax(n - GP_FROM, 0.0)) / (1.0 + exp(none.evidence - line->evidence) / ODDS);
    return STATUS_OK;
}

static bool are_equal(const double *y, size_t n)
{
    for (size_t j = 1; j < n; j++)
        if (y[j] != y[0])
            return false;
    return true;
}

static enum status weigh(struct transfer_view *view, struct error *err)
{
    size_t                 len = view->len, n = view->target->n;
    struct rng             rng = rng_at(view->problem->seed, view->trial, RNG_WEIGHTS);
    struct transfer_slopes line = {.s = 1.0};
    double                 sum = 0.0;
    view->seen = (double)view->observations;
    view->nu = 0.0;
    if (len > 0) {
        TRY(find_slopes(view, &line, err));
        TRY(set_rest(view, line.constant, err));
    }
    for (size_t i = 0; i < len; i++)
        sum += fabs(view->factors[i]);
    for (size_t i = 0; i < len; i++)
        view->weights[i] = sum > 0.0 ? fabs(view->factors[i]) / sum : 0.0;
    view->plain = len > 0 && view->tried > 0 && n <= EQUAL_MAX && are_equal(view->y, n);
    view->leaves = n >= GP_FROM && rng_uniform(&rng) >= view->nu;
    view->factors[len] = 1.0;
    view->widths[len] = sqrt(line.s);
    view->bests[len] = -HUGE_VAL; /* without the constant, which every mean lacks, too */
    for (size_t j = 0; j < n; j++)
        view->bests[len] = fmax(view->bests[len], view->y[j] - line.constant);
    return STATUS_OK;
}

/* The study itself is always the last part; without values there is nothing to improve on. */
static double combine(const struct transfer_view *view, const struct transfer_parts *parts)
{
    size_t     own = parts->k - 1;
    struct acq acq = {.kind = ACQ_LOG_EI, .best = view->bests[view->len]};
    double     sum = 0.0, by_mean = 1.0, by_sd = 0.0, width = view->widths[view->len];
    for (size_t i = 0; i < parts->k; i++)
        sum += view->factors[parts->active[i]] * parts->mean[i];
    double value = view->target->n == 0 ? sum : acq_value(&acq, sum, width * parts->sd[own], &by_mean, &by_sd);
    for (size_t i = 0; i < parts->k; i++) {
        parts->dmean[i] = by_mean * view->factors[parts->active[i]];
        parts->dsd[i] = i == own ? by_sd * width : 0.0;
    }
    return value;
}

static const struct transfer_rule rule = {.acquisition = "log-ei",
                                          .wants_points = true,
                                          .by_rank = true,
                                          .starts_as_gp = true,
                                          .weigh = weigh,
                                          .combine = combine};

/* ---- the session: the models, and gp ---- */

static const struct policy models = {.rule = &rule, TRANSFER_POLICY};

struct session {
    struct session_base  base;
    struct problem       models_problem;
    struct session      *models;
    struct session_inner gp;
};

static enum status begin(struct session *s, struct error *err)
{
    const struct problem *problem = s->base.problem;
    session_inner_init(&s->gp, &policy_gp, problem, problem->options[TRANSFER_REPEAT]);
    policy_set(&policy_gp, s->gp.options, "initial", 0);
    s->models_problem = *problem;
    s->models_problem.memory_bytes = s->gp.problem.memory_bytes =
        (problem->memory_bytes - s->base.kept.taken_bytes) / 2;
    s->gp.problem.earlier_len = 0;
    TRY(session_open_inner(&s->base, &models, &s->models_problem, &s->models, err));
    return session_open_inner(&s->base, &policy_gp, &s->gp.problem, &s->gp.session, err);
}

/* ---- notes: that of the models; behind it that of gp, where gp proposed ---- */

struct note_head {
    char     tag[8];
    uint64_t models_bytes;
};
static const char NOTE_TAG[8] = "pair 1";

static bool is_pair(const void *note, size_t bytes, struct note_head *head)
{
    if (note == NULL || bytes < sizeof *head)
        return false;
    memcpy(head, note, sizeof *head);
    return memcmp(head->tag, NOTE_TAG, sizeof head->tag) == 0 && head->models_bytes <= bytes - sizeof *head;
}

static enum status tell(struct session *s, const struct event *event, struct error *err)
{
    struct event     first = *event, second = *event;
    struct note_head head;
    if (is_pair(event->note, event->note_bytes, &head)) {
        first.note = (const char *)event->note + sizeof head;
        first.note_bytes = head.models_bytes;
        second.note = (const char *)first.note + head.models_bytes;
        second.note_bytes = event->note_bytes - sizeof head - head.models_bytes;
    }
    TRY(models.tell(s->models, &first, err));
    return policy_gp.tell(s->gp.session, &second, err);
}

static bool read_note(const void *note, size_t note_bytes, struct transfer_state *out)
{
    struct note_head head;
    return is_pair(note, note_bytes, &head)
               ? transfer_read_note((const char *)note + sizeof head, head.models_bytes, out)
               : transfer_read_note(note, note_bytes, out);
}

/* Prefers gp's note when there is no room for both: it is the one that saves work. */
static enum status leave_to_gp(struct session *s, const struct ask *ask, struct proposal *out, struct error *err)
{
    struct note_head head = {.models_bytes = out->note_bytes};
    struct arena     arena;
    memcpy(head.tag, NOTE_TAG, sizeof head.tag);
    arena_init(&arena, POLICY_NOTE_MAX + 64);
    unsigned char *first = ARENA_NEW(&arena, unsigned char, out->note_bytes);
    if (first == NULL)
        return error_no_memory(err);
    memcpy(first, out->note, out->note_bytes);
    enum status status = policy_gp.ask(s->gp.session, ask, out, err);
    size_t      before = sizeof head + head.models_bytes;
    if (status == STATUS_OK && before + out->note_bytes <= POLICY_NOTE_MAX) {
        memmove(out->note + before, out->note, out->note_bytes);
        memcpy(out->note, &head, sizeof head);
        memcpy(out->note + sizeof head, first, head.models_bytes);
        out->note_bytes += before;
    }
    arena_fini(&arena);
    return status;
}

/* ---- the rest ---- */

static enum status ask_next(struct session *s, const struct ask *ask, struct proposal *out, struct error *err)
{
    TRY(models.ask(s->models, ask, out, err));
    return transfer_leaves(s->models) ? leave_to_gp(s, ask, out, err) : STATUS_OK;
}

static enum status predict(struct session *s, const struct prediction *wanted, struct error *err)
{
    return policy_gp.predict(s->gp.session, wanted, err);
}

static enum status residuals(struct session *s, const struct ask *ask, struct arena *arena, struct residual **out,
                             size_t *len, struct error *err)
{
    return policy_gp.residuals(s->gp.session, ask, arena, out, len, err);
}

const struct policy policy_transfer = {
    .name = "transfer",
    .help =
        "learns from earlier studies, what to take: led by what they predict as far as the study's own values bear it "
        "out, in either direction, and more and more as gp",
    .spaces = SPACE_PARAMETERS | SPACE_CANDIDATES,
    .uses_each_row_once = true,
    .options = options,
    .session_bytes = sizeof(struct session),
    .begin = begin,
    .tell = tell,
    .ask = ask_next,
    .predict = predict,
    .residuals = residuals,
    .read_transfer = read_note,
};
