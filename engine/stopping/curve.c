/* Curves by trial number, each with room that doubles. */
#include "engine/stopping/curve.h"

#include "engine/base/numbers.h"

#include <math.h>
#include <string.h>

enum { ROOM = 16 };

void curves_init(struct curves *curves, struct arena *arena)
{
    *curves = (struct curves){.arena = arena};
}

enum status curves_init_several(struct curves *curves, struct arena *arena, const enum metric_kind *metrics,
                                size_t metrics_len, struct error *err)
{
    curves_init(curves, arena);
    curves->of = ARENA_NEW(arena, struct curves, metrics_len);
    if (curves->of == NULL)
        return error_no_memory(err);
    for (size_t k = 0; k < metrics_len; k++)
        curves_init(&curves->of[k], arena);
    curves->metrics = metrics;
    curves->metrics_len = metrics_len;
    return STATUS_OK;
}

static size_t place_of(const struct curves *curves, uint64_t trial)
{
    return numbers_place(curves->items, curves->len, sizeof *curves->items, trial);
}

static struct curve *find(const struct curves *curves, uint64_t trial)
{
    size_t at = place_of(curves, trial);
    return at < curves->len && curves->items[at].trial == trial ? &curves->items[at] : NULL;
}

const struct curve *curves_find(const struct curves *curves, uint64_t trial)
{
    const struct curve *curve = find(curves, trial);
    return curve != NULL && curve->len > 0 ? curve : NULL;
}

bool curves_is_whole(const struct curves *curves, uint64_t trial)
{
    const struct curve *curve = find(curves, trial);
    return curve != NULL && curve->is_whole;
}

bool curve_note_is_whole(const struct event *event)
{
    return event->kind == EVENT_SUGGESTED && curve_note_mark(event->note, event->note_bytes) > 0;
}

size_t curve_note_mark(const void *note, size_t note_bytes)
{
    bool is_whole = note != NULL && note_bytes >= sizeof CURVE_NOTE_WHOLE &&
                    memcmp(note, CURVE_NOTE_WHOLE, sizeof CURVE_NOTE_WHOLE) == 0;
    return is_whole ? sizeof CURVE_NOTE_WHOLE : 0;
}

static struct curve *insert(struct curves *curves, uint64_t trial)
{
    size_t        at = place_of(curves, trial);
    struct curve *items = arena_grown(curves->arena, curves->items, curves->len, sizeof *items, &curves->room);
    if (items == NULL)
        return NULL;
    curves->items = items;
    memmove(curves->items + at + 1, curves->items + at, (curves->len - at) * sizeof *curves->items);
    curves->items[at] = (struct curve){.trial = trial};
    curves->len++;
    return &curves->items[at];
}

/* The three arrays of a curve lie one behind the other. */
static bool grow(struct curves *curves, struct curve *curve)
{
    size_t  room = curve->room == 0 ? ROOM : 2 * curve->room, bytes = curve->len * sizeof(double);
    double *steps = ARENA_NEW(curves->arena, double, 3 * room);
    if (steps == NULL)
        return false;
    if (curve->len > 0) {
        memcpy(steps, curve->steps, bytes);
        memcpy(steps + room, curve->values, bytes);
        memcpy(steps + 2 * room, curve->sums, bytes);
    }
    curve->steps = steps;
    curve->values = steps + room;
    curve->sums = steps + 2 * room;
    curve->room = room;
    return true;
}

static enum status measure(struct curves *curves, const struct event *event, struct error *err)
{
    struct curve *curve = find(curves, event->trial);
    if (curve == NULL)
        curve = insert(curves, event->trial);
    if (curve == NULL)
        return error_no_memory(err);
    if (curve->len > 0 && (double)event->step <= curve->steps[curve->len - 1])
        return STATUS_OK;
    if (curve->len == curve->room && !grow(curves, curve))
        return error_no_memory(err);
    size_t n = curve->len++;
    curve->steps[n] = (double)event->step;
    curve->values[n] = event->value;
    curve->sums[n] = event->value + (n > 0 ? curve->sums[n - 1] : 0.0);
    if (event->note_bytes == 1 && *(const unsigned char *)event->note == CURVE_NOTE_SPARED)
        curve->is_whole = true;
    return STATUS_OK;
}

static enum status tell_one(struct curves *curves, const struct event *event, struct error *err)
{
    static const enum curve_state states[] = {
        [EVENT_SUGGESTED] = CURVE_RUNNING,   [EVENT_OBSERVED] = CURVE_COMPLETED, [EVENT_INFEASIBLE] = CURVE_GONE,
        [EVENT_FAILED] = CURVE_GONE,         [EVENT_ABANDONED] = CURVE_GONE,     [EVENT_STOPPED] = CURVE_STOPPED,
        [EVENT_HANDED_OVER] = CURVE_RUNNING,
    };
    if (event->kind == EVENT_MEASURED)
        return measure(curves, event, err);
    struct curve *curve = find(curves, event->trial);
    bool          is_whole = curve_note_is_whole(event);
    if (curve == NULL && is_whole) {
        curve = insert(curves, event->trial);
        if (curve == NULL)
            return error_no_memory(err);
    }
    if (curve == NULL)
        return STATUS_OK;
    curve->is_whole = curve->is_whole || is_whole;
    curve->state = states[event->kind];
    if (event->kind == EVENT_OBSERVED)
        curve->final = event->value;
    if (event->kind == EVENT_HANDED_OVER)
        curve->len = 0;
    return STATUS_OK;
}

enum status curves_tell(struct curves *curves, const struct event *event, struct error *err)
{
    struct event of_metric = *event;
    for (size_t k = 0; k < curves->metrics_len; k++) {
        of_metric.value = event->values == NULL ? event->value : event->values[k];
        TRY(tell_one(&curves->of[k], &of_metric, err));
    }
    return tell_one(curves, event, err);
}

size_t curve_upto(const struct curve *curve, double step)
{
    size_t low = 0, high = curve->len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (curve->steps[middle] <= step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sums over the completed trials: of where they were at a step, and of what they came to. */
struct sums {
    double n, at, final, at_at, at_final, final_final; /* the last three: of products of deviations */
};

static struct sums sum_completed(const struct curves *curves, double step)
{
    struct sums sums = {0};
    for (size_t i = 0; i < curves->len; i++) {
        const struct curve *curve = &curves->items[i];
        size_t              known = curve->state == CURVE_COMPLETED ? curve_upto(curve, step) : 0;
        if (known == 0)
            continue;
        double at = curve->values[known - 1] - sums.at, final = curve->final - sums.final;
        sums.n += 1.0;
        double share = (sums.n - 1.0) / sums.n;
        sums.at += at / sums.n;
        sums.final += final / sums.n;
        sums.at_at += share * at * at;
        sums.at_final += share * at * final;
        sums.final_final += share * final * final;
    }
    return sums;
}

struct curve_line curves_line(const struct curves *curves, double step)
{
    struct sums sums = sum_completed(curves, step);
    double      one = sums.n > 1.0 ? sums.final_final / sums.n : 0.25 * (sums.final - sums.at) * (sums.final - sums.at);
    double      weight = sums.at_at + one, slope = weight > 0.0 ? fmax(sums.at_final + one, 0.0) / weight : 1.0;
    double      missed = sums.final_final - 2.0 * slope * sums.at_final + slope * slope * sums.at_at;
    double      sd = 2.0 * sqrt((fmax(missed, 0.0) + one) / (sums.n + 1.0));
    return (struct curve_line){.at = sums.at, .final = sums.final, .slope = slope, .sd = sd, .is_known = sums.n > 0.0};
}

double curve_line_final(const struct curve_line *line, double value)
{
    double final = line->final + line->slope * (value - line->at);
    return line->is_known && isfinite(final) ? final : value;
}

bool curves_forecast(const struct curves *curves, uint64_t trial, double *value, double *sd)
{
    const struct curve *own = curves_find(curves, trial);
    if (own == NULL)
        return false;
    double            last = own->values[own->len - 1];
    struct curve_line line = curves_line(curves, own->steps[own->len - 1]);
    *value = line.final + line.slope * (last - line.at);
    *sd = line.sd;
    return line.is_known && isfinite(*value) && isfinite(*sd);
}
