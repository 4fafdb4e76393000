/* A session over a candidate matrix.  Events are only noted down; ask and predict bring the posterior up to date, so that
 * reading a long log costs one pass with the hyper-parameters that hold at its end.
 * The posterior is a function of (rows, log, hyper-parameters): when the hyper-parameters are not bitwise those it was built
 * with, it is built again from the first observation on. */
#include "engine/finite_set/row_policy.h"

#include "engine/gp/table_fit.h"
#include "engine/gp/table_gp.h"
#include "engine/gp/gp_loo.h"
#include "engine/math/mat.h"
#include "engine/privacy/denoise.h"
#include "engine/privacy/mechanism.h"
#include "engine/math/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIT_FIRST = 5, FIT_LAST = 320, BLOCK = 512, RESIDUALS_MAX = 4000, EXACT_MAX = 2000, DENOISE_BYTES = 32 << 20 };
enum { ROW_TAKEN = 1, ROW_INFEASIBLE = 2 };
static const double NOISE_DEFAULT = 0.01, RATIO_MIN = 1e-6, RATIO_MAX = 1e6;

/* The note of a proposal that was the first to use a fit. */
struct note {
    char   tag[8];
    double observations;                  /* from which count the fit holds: what it was made on */
    double length_scale, variance, noise; /* variances in units of the spread of those observations, squared */
};
static const char NOTE_TAG[8] = "candfit1";

struct hypers {
    double length_scale, variance, ratio; /* variance in units of the present spread squared; ratio: noise/variance */
};

struct waiting {
    uint64_t trial;
    size_t   row;
};

struct row_policy {
    struct arena          *arena; /* the session's */
    const struct problem  *problem;
    struct row_policy_rule rule;
    struct table_gp        gp;
    unsigned char         *flags;             /* [rows_len] */
    size_t                 taken, infeasible; /* rows with a flag */
    size_t                *rows;              /* [observed] the log's observations, in order */
    double                *values;            /* [observed] */
    uint64_t              *trials;            /* [observed] */
    size_t                 observed, observed_room;
    struct waiting        *waiting;      /* [pending] trials without a result, in order */
    size_t                *pending_rows; /* [pending] scratch */
    size_t                 pending, pending_room;
    struct note            fit; /* the last one recorded; observations 0: none */
    double                 length_default;
    const double          *places, *spread; /* [rows_len][columns] for the model; NULL: rows are exact */
};

/* Mean squared distance of a row from the centre, square root. */
static double rows_spread(const struct space *space, const double *rows)
{
    double sum = 0, n = (double)space->rows_len;
    for (size_t c = 0; c < space->columns; c++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < space->rows_len; i++)
            mean += rows[i * space->columns + c] / n;
        for (size_t i = 0; i < space->rows_len; i++) {
            double difference = rows[i * space->columns + c] - mean;
            squares += difference * difference / n;
        }
        sum += squares;
    }
    return isfinite(sum) && sum > 0 ? sqrt(sum) : 1;
}

/* The spread without the rows' noise, and at least a quarter of it. */
static double length_guess(const struct row_policy *c)
{
    const struct row_policy_rule *rule = &c->rule;
    double spread = rows_spread(c->problem->space, c->places), noise = (double)rule->release_dims * rule->release_noise;
    return rule->release_noise > 0 ? sqrt(fmax(spread * spread - noise, spread * spread / 16)) : spread;
}

/* Moves noisy rows to where each of them probably was. */
static enum status denoise_places(struct row_policy *c, struct error *err)
{
    const struct space *space = c->problem->space;
    bool                helps = false;
    size_t              count = space->rows_len * space->columns;
    struct arena_mark   mark = arena_mark(c->arena);
    struct denoise      d = {.rows = space->rows,
                             .n = space->rows_len,
                             .columns = space->columns,
                             .variance = c->rule.release_noise,
                             .bound = c->rule.release_bound,
                             .shape = c->rule.release_shape,
                             .means = ARENA_NEW(c->arena, double, count),
                             .variances = ARENA_NEW(c->arena, double, count)};
    if (d.means == NULL || d.variances == NULL)
        return error_no_memory(err);
    TRY(denoise_rows(&d, c->arena, &helps, err));
    if (!helps) {
        arena_release(c->arena, mark);
        return STATUS_OK;
    }
    c->places = d.means;
    c->spread = d.variances;
    c->rule.release_noise = 0; /* it is in the variances */
    return STATUS_OK;
}

static enum status place_rows(struct row_policy *c, struct error *err)
{
    const struct row_policy_rule *rule = &c->rule;
    const struct space           *space = c->problem->space;
    c->places = space->rows;
    c->spread = rule->spreads ? space->row_variances : NULL;
    /* A session with little memory leaves rows where they are, always: what it proposes must not depend on luck. */
    bool has_room = c->arena->limit_bytes / 2 > DENOISE_BYTES + 16 * space->rows_len * space->columns;
    bool denoises = rule->denoises && rule->release_noise > 0 && rule->release_dims == space->columns;
    return denoises && has_room && c->spread == NULL ? denoise_places(c, err) : STATUS_OK;
}

enum status row_policy_open(struct session_base *base, const struct row_policy_rule *rule, struct row_policy **out,
                            struct error *err)
{
    const struct space *space = base->problem->space;
    struct arena       *arena = &base->kept;
    if (space->rows == NULL)
        return error_set(err, STATUS_CONFLICT, "awaiting_candidates", "/space", "the candidates are not there yet");
    struct row_policy *c = *out = arena_zalloc(arena, 1, sizeof *c);
    unsigned char     *flags = arena_zalloc(arena, space->rows_len, 1);
    if (c == NULL || flags == NULL)
        return error_no_memory(err);
    *c = (struct row_policy){.arena = arena, .problem = base->problem, .rule = *rule, .flags = flags};
    TRY(place_rows(c, err));
    TRY(table_gp_init(&c->gp, arena, c->places, space->rows_len, space->columns, err));
    c->length_default = isnan(rule->length_scale) ? length_guess(c) : rule->length_scale;
    c->gp.spread = c->spread;
    return STATUS_OK;
}

static void flag_row(struct row_policy *c, size_t row, int flag)
{
    c->taken += c->flags[row] == 0;
    c->infeasible += flag == ROW_INFEASIBLE && !(c->flags[row] & ROW_INFEASIBLE);
    c->flags[row] = (unsigned char)(c->flags[row] | flag);
}

static void note_read(struct row_policy *c, const struct event *event)
{
    struct note note;
    if (event->note == NULL || event->note_bytes != sizeof note)
        return;
    memcpy(&note, event->note, sizeof note);
    bool is_sound = note.observations >= 1 && note.observations <= (double)c->observed && note.length_scale > 0 &&
                    isfinite(note.length_scale) && note.variance > 0 && isfinite(note.variance) && note.noise > 0 &&
                    isfinite(note.noise);
    if (memcmp(note.tag, NOTE_TAG, sizeof note.tag) == 0 && is_sound)
        c->fit = note;
}

static enum status waiting_add(struct row_policy *c, const struct event *event, struct error *err)
{
    size_t room = c->pending_room, rows_room = room;
    void  *rows = arena_grown(c->arena, c->pending_rows, c->pending, sizeof *c->pending_rows, &rows_room);
    void  *waiting = arena_grown(c->arena, c->waiting, c->pending, sizeof *c->waiting, &room);
    if (rows == NULL || waiting == NULL)
        return error_no_memory(err);
    c->pending_rows = rows;
    c->waiting = waiting;
    c->pending_room = room;
    c->waiting[c->pending++] = (struct waiting){.trial = event->trial, .row = event->row};
    return STATUS_OK;
}

static void waiting_remove(struct row_policy *c, uint64_t trial)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->pending; i++)
        if (c->waiting[i].trial != trial)
            c->waiting[kept++] = c->waiting[i];
    c->pending = kept;
}

static enum status observation_add(struct row_policy *c, const struct event *event, struct error *err)
{
    size_t room[3] = {c->observed_room, c->observed_room, c->observed_room};
    void  *rows = arena_grown(c->arena, c->rows, c->observed, sizeof *c->rows, &room[0]);
    void  *trials = arena_grown(c->arena, c->trials, c->observed, sizeof *c->trials, &room[1]);
    void  *values = arena_grown(c->arena, c->values, c->observed, sizeof *c->values, &room[2]);
    if (rows == NULL || trials == NULL || values == NULL)
        return error_no_memory(err);
    c->rows = rows;
    c->trials = trials;
    c->values = values;
    c->observed_room = room[0];
    c->rows[c->observed] = event->row;
    c->trials[c->observed] = event->trial;
    c->values[c->observed++] = event->value;
    return STATUS_OK;
}

enum status row_policy_tell(struct row_policy *c, const struct event *event, struct error *err)
{
    if (event->row >= c->problem->space->rows_len)
        return error_set(err, STATUS_INVALID, "no_such_row", "/candidate", "there is no row %zu", event->row);
    flag_row(c, event->row, event->kind == EVENT_INFEASIBLE ? ROW_TAKEN | ROW_INFEASIBLE : ROW_TAKEN);
    if (event->kind == EVENT_SUGGESTED) {
        note_read(c, event);
        return waiting_add(c, event, err);
    }
    waiting_remove(c, event->trial);
    return event->kind == EVENT_OBSERVED ? observation_add(c, event, err) : STATUS_OK;
}

/* How values are centred and scaled: value = centre + spread * standardised. */
struct scaling {
    double centre, spread;
};

/* Over the first n observations.  The spread is taken relative to the largest deviation, against over- and
 * underflow; all equal: 1. */
static struct scaling scaling_of(const struct row_policy *c, size_t n)
{
    struct scaling s = {.centre = c->rule.mean, .spread = 1};
    double         largest = 0, squares = 0;
    if (isnan(s.centre)) {
        s.centre = 0;
        for (size_t i = 0; i < n; i++)
            s.centre += c->values[i] / (double)n;
    }
    if (!isnan(c->rule.variance))
        return s;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(c->values[i] - s.centre));
    for (size_t i = 0; i < n && largest > 0; i++)
        squares += pow((c->values[i] - s.centre) / largest, 2) / (double)n;
    s.spread = largest > 0 && n > 1 ? largest * sqrt(squares) : 1;
    return s;
}

static double clamped_ratio(double ratio)
{
    return fmin(fmax(ratio, RATIO_MIN), RATIO_MAX); /* NaN: the lower end */
}

/* The hyper-parameters in force with this fit: given by the rule, else fitted, else the defaults. */
static struct hypers hypers_with(const struct row_policy *c, const struct note *fit)
{
    bool          has_fit = fit->observations > 0;
    double        spread = scaling_of(c, has_fit ? (size_t)fit->observations : c->observed).spread;
    struct hypers h = {
        .length_scale = has_fit ? fit->length_scale : c->length_default,
        .variance = has_fit                   ? fit->variance
                    : isnan(c->rule.variance) ? 1
                                              : c->rule.variance,
        .ratio = has_fit ? fit->noise / fit->variance : NOISE_DEFAULT,
    };
    if (!isnan(c->rule.noise))
        h.ratio = c->rule.noise / (h.variance * spread * spread);
    h.ratio = clamped_ratio(h.ratio);
    return h;
}

static bool has_open_hypers(const struct row_policy_rule *rule)
{
    return isnan(rule->length_scale) || isnan(rule->variance) || isnan(rule->noise);
}

/* A count 5 2^k, k = 0 .. 6, was reached since the last fit. */
static bool is_fit_due(const struct row_policy *c)
{
    size_t milestone = FIT_FIRST;
    while (milestone * 2 <= c->observed && milestone < FIT_LAST)
        milestone *= 2;
    return has_open_hypers(&c->rule) && c->observed >= FIT_FIRST && (double)milestone > c->fit.observations;
}

/* Fits on the last FIT_LAST observations at most; the present hyper-parameters are where the priors are centred for
 * the first fit only, so that priors do not wander from fit to fit. */
static enum status fit_now(struct row_policy *c, const struct ask *ask, struct note *note, struct error *err)
{
    size_t         columns = c->problem->space->columns, n = c->observed < FIT_LAST ? c->observed : FIT_LAST;
    size_t         first = c->observed - n;
    struct scaling s = scaling_of(c, c->observed);
    struct arena   scratch;
    arena_init(&scratch, c->arena->limit_bytes - c->arena->taken_bytes);
    double *X = ARENA_NEW(&scratch, double, n *columns), *y = ARENA_NEW(&scratch, double, n);
    double *S = ARENA_NEW(&scratch, double, n *columns);
    for (size_t i = 0; X != NULL && y != NULL && S != NULL && i < n; i++) {
        memcpy(X + i * columns, c->places + c->rows[first + i] * columns, columns * sizeof *X);
        if (c->spread != NULL)
            memcpy(S + i * columns, c->spread + c->rows[first + i] * columns, columns * sizeof *S);
        y[i] = (c->values[first + i] - s.centre) / s.spread;
    }
    bool             has_noise = !isnan(c->rule.noise), has_variance = !isnan(c->rule.variance);
    double           variance = has_variance ? c->rule.variance : 1;
    struct table_fit fit = {
        .kind = c->rule.kind,
        .n = n,
        .columns = columns,
        .X = X,
        .S = c->spread != NULL ? S : NULL,
        .rows = c->rows + first,
        .y = y,
        .length_scale = c->length_default,
        .variance = variance,
        .noise = fmax(has_noise ? c->rule.noise / (s.spread * s.spread) : NOISE_DEFAULT * variance, 1e-300),
        .fixed_length_scale = !isnan(c->rule.length_scale),
        .fixed_variance = has_variance,
        .fixed_noise = has_noise,
        .release_noise = c->rule.release_noise,
        .release_dims = c->rule.release_dims,
        .late = ask->late,
        .late_arg = ask->late_arg,
    };
    enum status status = X == NULL || y == NULL || S == NULL ? error_no_memory(err) : table_fit(&fit, &scratch, err);
    arena_fini(&scratch);
    *note = (struct note){.observations = (double)c->observed,
                          .length_scale = fit.length_scale,
                          .variance = fit.variance,
                          .noise = fit.noise};
    memcpy(note->tag, NOTE_TAG, sizeof note->tag);
    return status;
}

static bool is_late(const struct ask *ask)
{
    return ask != NULL && ask->late != NULL && ask->late(ask->late_arg);
}

/* The posterior of the whole log under h.  ask == NULL: no deadline, and pending rows are left alone.
 * Errors: NO_MEMORY, NUMERIC; BUSY when the deadline came first (what was done is kept). */
static enum status catch_up(struct row_policy *c, const struct ask *ask, const struct hypers *h, struct error *err)
{
    struct table_gp        *gp = &c->gp;
    struct mechanism_kernel kernel =
        mechanism_effective_kernel(h->length_scale, 1, c->rule.release_noise, c->rule.release_dims);
    if (gp->length_scale != kernel.length_scale || gp->noise != h->ratio || gp->kind != c->rule.kind) {
        gp->own = kernel.row_variance;
        table_gp_reset(gp, c->rule.kind, kernel.length_scale, h->ratio);
    }
    while (gp->observed < c->observed) {
        if (is_late(ask))
            return error_set(err, STATUS_BUSY, "deadline", "", "no time left");
        size_t i = gp->observed;
        TRY(table_gp_observe(gp, c->rows[i], c->values[i] - c->values[0], err));
    }
    if (ask == NULL)
        return STATUS_OK;
    for (size_t i = 0; i < c->pending; i++)
        c->pending_rows[i] = c->waiting[i].row;
    for (size_t count = gp->pending < c->pending ? gp->pending : c->pending; count <= c->pending; count++) {
        if (is_late(ask))
            return error_set(err, STATUS_BUSY, "deadline", "", "no time left");
        TRY(table_gp_set_pending(gp, c->pending_rows, count, err));
    }
    return STATUS_OK;
}

static bool is_allowed(const struct row_policy *c, size_t row)
{
    return c->rule.each_row_once ? c->flags[row] == 0 : !(c->flags[row] & ROW_INFEASIBLE);
}

static size_t allowed_count(const struct row_policy *c)
{
    return c->problem->space->rows_len - (c->rule.each_row_once ? c->taken : c->infeasible);
}

/* A row of those allowed, uniformly; a function of (seed, trial, log). */
static size_t random_row(const struct row_policy *c, uint64_t trial)
{
    struct rng rng = rng_at(c->problem->seed, trial, RNG_INITIAL);
    size_t     skip = rng_below(&rng, allowed_count(c)), row = 0;
    while (!is_allowed(c, row) || skip-- > 0)
        row++;
    return row;
}

/* From the model's numbers to the units of values. */
struct lens {
    double origin, centre, factor;
};

static struct lens lens_of(const struct row_policy *c, const struct hypers *h)
{
    struct scaling s = scaling_of(c, c->observed);
    double         origin = c->observed > 0 ? c->values[0] : 0;
    return (struct lens){.origin = origin, .centre = s.centre - origin, .factor = sqrt(h->variance) * s.spread};
}

static double mean_at(const struct row_policy *c, const struct lens *lens, size_t row)
{
    return lens->origin + table_gp_mean(&c->gp, row, lens->centre);
}

/* From the standard deviation of a row's mean to that of a value of it. */
static double with_noise(const struct row_policy *c, const struct lens *lens, double sd)
{
    return sqrt(sd * sd + lens->factor * lens->factor * c->gp.noise);
}

/* The allowed row with the highest score; rows_len when no score is finite. */
static size_t best_row(const struct row_policy *c, const struct lens *lens, uint64_t trial, double *highest)
{
    struct row_policy_view view = {.problem = c->problem, .observations = c->observed, .best = NAN, .trial = trial};
    size_t                 n = c->problem->space->rows_len, best = n;
    double                 mean[BLOCK], sd[BLOCK], score[BLOCK];
    *highest = -INFINITY;
    for (size_t i = 0; i < c->observed; i++)
        view.best = fmax(view.best, mean_at(c, lens, c->rows[i]));
    for (view.first = 0; view.first < n; view.first += BLOCK) {
        size_t m = n - view.first < BLOCK ? n - view.first : BLOCK;
        for (size_t k = 0; k < m; k++) {
            mean[k] = mean_at(c, lens, view.first + k);
            sd[k] = lens->factor * table_gp_sd(&c->gp, view.first + k, true);
        }
        c->rule.score(&view, m, mean, sd, score);
        for (size_t k = 0; k < m; k++)
            if (score[k] > *highest && score[k] < INFINITY && is_allowed(c, view.first + k)) {
                *highest = score[k];
                best = view.first + k;
            }
    }
    return best;
}

static void diagnose(const struct row_policy *c, const struct hypers *h, struct diagnostics *out)
{
    struct scaling s = scaling_of(c, c->observed);
    out->kernel = c->rule.kind->name;
    out->signal_variance = h->variance;
    out->noise_variance = h->variance * h->ratio;
    out->jitter = 0;
    out->condition = gp_loo_condition(c->gp.L, c->gp.observed, c->gp.room);
    out->length_scales[0] = h->length_scale;
    out->values.unit = c->rule.release_noise > 0 || c->spread != NULL ? 0 : 1; /* noisy rows have no exact place */
    out->values.centre = s.centre;
    out->values.spread = s.spread;
}

/* Fits when it is time, brings the posterior up to date and fills the proposal. */
static enum status propose(struct row_policy *c, const struct ask *ask, struct proposal *out, struct error *err)
{
    struct note note = c->fit; /* a new one holds from the trial that brings it back */
    bool        fits = is_fit_due(c) && !is_late(ask);
    double      began = fits && ask->clock_ms != NULL ? ask->clock_ms() : NAN, score;
    if (fits && fit_now(c, ask, &note, err) == STATUS_NO_MEMORY)
        return STATUS_NO_MEMORY;
    double        fit_ms = isnan(began) ? NAN : ask->clock_ms() - began;
    struct hypers h = hypers_with(c, &note);
    TRY(catch_up(c, ask, &h, err));
    struct lens lens = lens_of(c, &h);
    size_t      row = best_row(c, &lens, ask->trial, &score);
    if (row == c->problem->space->rows_len)
        return error_set(err, STATUS_NUMERIC, "not_finite", "", "no row has a finite score");
    out->row = row;
    out->mean = mean_at(c, &lens, row);
    out->sd = lens.factor * table_gp_sd(&c->gp, row, true);
    out->sd_observed = with_noise(c, &lens, out->sd);
    if (ask->diagnostics != NULL) {
        diagnose(c, &h, ask->diagnostics);
        ask->diagnostics->acquisition = c->rule.acquisition;
        ask->diagnostics->acquisition_value = score;
        ask->diagnostics->fit_ms = fit_ms;
    }
    if (fits) {
        memcpy(out->note, &note, sizeof note);
        out->note_bytes = sizeof note;
    }
    return STATUS_OK;
}

enum status row_policy_ask(struct row_policy *c, const struct ask *ask, struct proposal *out, struct error *err)
{
    if (allowed_count(c) == 0)
        return error_set(err, STATUS_CONFLICT, "search_space_exhausted", "", "every candidate has been used");
    out->fallback = NULL;
    out->observations = c->observed;
    out->mean = out->sd = out->sd_observed = NAN;
    out->note_bytes = 0;
    out->row = random_row(c, ask->trial);
    if (c->observed == 0 || c->taken < c->rule.initial)
        return STATUS_OK;
    enum status status = propose(c, ask, out, err);
    if (status != STATUS_OK)
        out->fallback = proposal_fallback(status);
    return STATUS_OK;
}

/* Beyond EXACT_MAX observations, where that would take long, as proposals have it: rounded to single precision. */
static enum status predict_rows(const struct row_policy *c, const struct prediction *wanted, const struct lens *lens,
                                struct error *err)
{
    const struct table_rows rows = {wanted->rows, wanted->m};
    bool                    is_exact = c->observed <= EXACT_MAX;
    if (is_exact)
        TRY(table_gp_exact(&c->gp, rows, lens->centre, wanted->mean, wanted->sd, err));
    for (size_t i = 0; i < wanted->m; i++) {
        wanted->mean[i] = is_exact ? lens->origin + wanted->mean[i] : mean_at(c, lens, wanted->rows[i]);
        if (wanted->sd != NULL)
            wanted->sd[i] = lens->factor * (is_exact ? wanted->sd[i] : table_gp_sd(&c->gp, wanted->rows[i], false));
        if (wanted->sd_observed != NULL)
            wanted->sd_observed[i] = with_noise(c, lens, wanted->sd[i]);
    }
    return STATUS_OK;
}

enum status row_policy_predict(struct row_policy *c, const struct prediction *wanted, struct error *err)
{
    const size_t *rows = wanted->rows;
    size_t        m = wanted->m;
    double       *mean = wanted->mean, *sd = wanted->sd;
    struct hypers h = hypers_with(c, &c->fit);
    for (size_t i = 0; i < m; i++)
        if (rows[i] >= c->problem->space->rows_len)
            return error_set(err, STATUS_INVALID, "no_such_row", "/candidates", "there is no row %zu", rows[i]);
    if (c->observed == 0)
        return policy_no_values(err);
    TRY(catch_up(c, NULL, &h, err));
    struct lens lens = lens_of(c, &h);
    TRY(predict_rows(c, wanted, &lens, err));
    if (wanted->diagnostics != NULL)
        diagnose(c, &h, wanted->diagnostics);
    return mat_is_finite(mean, m) && (sd == NULL || mat_is_finite(sd, m))
               ? STATUS_OK
               : error_set(err, STATUS_NUMERIC, "not_finite", "", "the posterior is not finite");
}

static int by_trial(const void *a, const void *b)
{
    const struct residual *x = a, *y = b;
    return (x->trial > y->trial) - (x->trial < y->trial);
}

/* alpha_i / C_ii and 1 / C_ii of gp_loo.h; the factor is relative to the signal's variance, values are not. */
static enum status residuals_of(const struct row_policy *c, const struct lens *lens, const struct ask *ask,
                                struct arena *arena, struct residual *out, struct error *err)
{
    const struct table_gp *gp = &c->gp;
    size_t                 n = c->observed;
    double                *alpha = ARENA_NEW(arena, double, n), *diagonal = ARENA_NEW(arena, double, n);
    if (alpha == NULL || diagonal == NULL)
        return error_no_memory(err);
    const struct gp_factor factor = {gp->L, n, gp->room, ask == NULL ? NULL : ask->late,
                                     ask == NULL ? NULL : ask->late_arg};
    TRY(gp_loo_diagonal(&factor, diagonal, arena, err));
    for (size_t i = 0; i < n; i++)
        alpha[i] = gp->beta[i] - lens->centre * gp->beta_one[i];
    mat_solve_upper(gp->L, n, gp->room, alpha);
    for (size_t i = 0; i < n; i++) {
        double error = alpha[i] / diagonal[i], sd = lens->factor / sqrt(diagonal[i]);
        double z = error / sd;
        out[i] = (struct residual){.trial = c->trials[i],
                                   .value = c->values[i],
                                   .mean = c->values[i] - error,
                                   .sd = lens->factor * sqrt(fmax(1 / diagonal[i] - gp->noise, 0)),
                                   .sd_observed = sd,
                                   .z = z,
                                   .log_density = gp_loo_log_density(z, sd)};
        if (!isfinite(out[i].mean) || !isfinite(out[i].z))
            return error_set(err, STATUS_NUMERIC, "not_finite", "", "the residuals are not finite");
    }
    qsort(out, n, sizeof *out, by_trial);
    return STATUS_OK;
}

enum status row_policy_residuals(struct row_policy *c, const struct ask *ask, struct arena *arena,
                                 struct residual **out, size_t *len, struct error *err)
{
    struct hypers h = hypers_with(c, &c->fit);
    if (c->observed == 0)
        return policy_no_values(err);
    if (c->observed > RESIDUALS_MAX)
        return error_set(err, STATUS_CONFLICT, "too_many_observations", "", "residuals are for up to %d observations",
                         RESIDUALS_MAX);
    TRY(catch_up(c, NULL, &h, err));
    struct lens lens = lens_of(c, &h);
    *len = c->observed;
    *out = ARENA_NEW(arena, struct residual, *len);
    if (*out == NULL)
        return error_no_memory(err);
    struct arena_mark mark = arena_mark(arena);
    TRY(residuals_of(c, &lens, ask, arena, *out, err));
    arena_release(arena, mark);
    return STATUS_OK;
}
