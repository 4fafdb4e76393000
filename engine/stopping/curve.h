/* The learning curves of a study's trials: what was measured after which step, by trial, from the log.
 * Values are as a policy sees them: larger is better.  Knows nothing of rules that stop a trial.
 * Of several metrics there are curves of each, with the same trials at the same places. */
#ifndef GNOMON_ENGINE_CURVE_H
#define GNOMON_ENGINE_CURVE_H

#include "engine/policy/policy.h"

enum curve_state { CURVE_RUNNING, CURVE_COMPLETED, CURVE_STOPPED, CURVE_GONE };

struct curve {
    uint64_t         trial; /* the first member, for numbers_place */
    enum curve_state state;
    size_t           len, room;
    double          *steps, *values, *sums; /* [len] ascending; measured after each; of the values up to each */
    double           final;                 /* CURVE_COMPLETED: what was observed in the end */
    bool             is_whole;              /* the guard of a rule lets it run to the end */
};

/* The note of a suggestion begins with this, its last 0 included, when the trial is to be whole. */
#define CURVE_NOTE_WHOLE "whole 1"
enum { CURVE_NOTE_SPARED = 's' }; /* the note of a first measurement that says so, in older logs */
bool curve_note_is_whole(const struct event *event);

/* The bytes of the mark that the note of a proposal begins with; 0: it has none. */
size_t curve_note_mark(const void *note, size_t note_bytes);

struct curves {
    struct arena *arena;
    size_t        len, room;
    struct curve *items; /* [len] by trial; only trials that are whole, or of which something was ever measured */
    const enum metric_kind *metrics; /* [metrics_len] of several metrics, of whose first objective these are; or NULL */
    size_t                  metrics_len; /* 0: there is one */
    struct curves          *of;          /* [metrics_len] the curves of each; of a constraint, of its slack */
};

void curves_init(struct curves *curves, struct arena *arena);
/* As curves_init, of several metrics [metrics_len], which outlive the curves.  Errors: NO_MEMORY. */
MUST_CHECK enum status curves_init_several(struct curves *curves, struct arena *arena, const enum metric_kind *metrics,
                                           size_t metrics_len, struct error *err);

/* Takes in one event; those that say nothing about a curve change nothing.  A measurement that is not after the last
 * one of its trial is passed over.  Of several metrics it has values.  Errors: NO_MEMORY.  O(log len), or O(len) for a new trial with a smaller number. */
MUST_CHECK enum status curves_tell(struct curves *curves, const struct event *event, struct error *err);

/* The curve of this trial; NULL: it has no measurement. */
const struct curve *curves_find(const struct curves *curves, uint64_t trial);

bool curves_is_whole(const struct curves *curves, uint64_t trial);

/* How many of the curve's steps are at most step. */
size_t curve_upto(const struct curve *curve, double step);

/* Forecasts the final value of a trial from its last measurement, by a line through the completed trials' values at that
 * step and at the end, whose slope is that of parallel curves where they say little.  sd: twice their residual spread, one
 * more residual being the spread of the final values, since the completed trials are not those that were stopped.  False:
 * the trial has no measurement, or no trial was completed.  O(curves log steps). */
bool curves_forecast(const struct curves *curves, uint64_t trial, double *value, double *sd);
/* That line at a step; without a completed trial, or beyond doubles, a value comes to itself. */
struct curve_line {
    double at, final, slope; /* slope >= 0 */
    double sd;               /* as above */
    bool   is_known;
};
struct curve_line curves_line(const struct curves *curves, double step);
double            curve_line_final(const struct curve_line *line, double value);

#endif
