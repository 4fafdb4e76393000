/* The log of a BOS2 study: images reduced to every size as they come in, so that what is kept does not grow with the
 * image. */
#include "engine/bos2/bos2.h"

#include <math.h>
#include <string.h>

struct image_shape bos2_shape(const struct space *space, size_t size)
{
    return (struct image_shape){
        .height = space->latents[size].height, .width = space->latents[size].width, .channels = space->channels};
}

static struct image_shape whole(const struct space *space)
{
    return (struct image_shape){.height = space->height, .width = space->width, .channels = space->channels};
}

enum status bos2_log_init(struct bos2_log *log, const struct space *space, struct arena *arena, struct error *err)
{
    *log = (struct bos2_log){.space = space, .arena = arena};
    for (size_t s = 0; s < space->latents_len; s++) {
        struct image_shape shape = bos2_shape(space, s);
        log->offset[s + 1] = log->offset[s] + image_len(&shape);
    }
    log->point = ARENA_NEW(arena, double, log->offset[space->latents_len]);
    trial_log_init(&log->log, arena, log->offset[space->latents_len]);
    return log->point == NULL ? error_no_memory(err) : STATUS_OK;
}

void bos2_image(const struct bos2_log *log, size_t size, const double *u, double *point)
{
    const struct space *space = log->space;
    struct image_shape  from = bos2_shape(space, size), to = whole(space);
    image_resize(u, &from, point, &to);
    for (size_t i = 0; i < space_point_len(space); i++)
        point[i] = fmin(fmax(space->bound * point[i], -space->bound), space->bound);
}

/* u of every size. */
static void reduce(struct bos2_log *log, const double *image)
{
    struct image_shape from = whole(log->space);
    for (size_t s = 0; s < log->space->latents_len; s++) {
        struct image_shape to = bos2_shape(log->space, s);
        image_resize(image, &from, log->point + log->offset[s], &to);
    }
    for (size_t i = 0; i < log->log.params_len; i++)
        log->point[i] = fmin(fmax(log->point[i] / log->space->bound, -1.0), 1.0);
}

/* A note of another shape is none: the trial is then a point like a user's. */
static bool read_note(struct bos2_log *log, const struct event *event, struct bos2_step *step)
{
    struct bos2_note note;
    if (event->note == NULL || event->note_bytes < sizeof note)
        return false;
    memcpy(&note, event->note, sizeof note);
    if (note.size >= log->space->latents_len)
        return false;
    size_t bytes = bos2_dims(log, note.size) * sizeof(double);
    if (event->note_bytes != sizeof note + bytes)
        return false;
    memcpy(log->point + log->offset[note.size], (const char *)event->note + sizeof note, bytes);
    step->note = note;
    return true;
}

enum status bos2_log_tell(struct bos2_log *log, const struct event *event, struct error *err)
{
    size_t before = log->log.len, at = before;
    while (at > 0 && log->steps[at - 1].trial > event->trial)
        at--;
    if (at > 0 && log->steps[at - 1].trial == event->trial)
        return trial_log_tell(&log->log, event, err);
    struct bos2_step step = {.trial = event->trial};
    struct event     reduced = *event;
    void            *steps = arena_grown(log->arena, log->steps, before, sizeof *log->steps, &log->room);
    if (steps == NULL)
        return error_no_memory(err);
    log->steps = steps;
    reduce(log, event->point);
    step.is_ours = event->kind == EVENT_SUGGESTED && read_note(log, event, &step);
    reduced.point = log->point;
    TRY(trial_log_tell(&log->log, &reduced, err));
    memmove(log->steps + at + 1, log->steps + at, (before - at) * sizeof *log->steps);
    log->steps[at] = step;
    return STATUS_OK;
}

static bool counts(const struct log_trial *trial)
{
    return trial->state != LOG_FAILED && trial->state != LOG_ABANDONED;
}

/* Values of one loop by the order of their events: insertion, since they nearly are in order. */
static void collect(const struct bos2_log *log, struct bos2_loop *loop, uint64_t *finished)
{
    for (size_t i = 0; i < log->log.len; i++) {
        const struct log_trial *trial = &log->log.trials[i];
        if (!log->steps[i].is_ours || log->steps[i].note.loop != loop->note.loop)
            continue;
        loop->taken += counts(trial);
        if (trial->state != LOG_OBSERVED)
            continue;
        size_t at = loop->observed++;
        for (; at > 0 && finished[at - 1] > trial->finished; at--) {
            finished[at] = finished[at - 1];
            loop->values[at] = loop->values[at - 1];
        }
        finished[at] = trial->finished;
        loop->values[at] = trial->value;
    }
}

enum status bos2_loop_find(const struct bos2_log *log, struct bos2_loop *loop, struct arena *arena, struct error *err)
{
    size_t newest = log->log.len;
    *loop = (struct bos2_loop){0};
    while (newest > 0 && !log->steps[newest - 1].is_ours)
        newest--;
    if (newest == 0)
        return STATUS_OK;
    uint64_t *finished = ARENA_NEW(arena, uint64_t, log->log.len);
    loop->values = ARENA_NEW(arena, double, log->log.len);
    if (finished == NULL || loop->values == NULL)
        return error_no_memory(err);
    loop->has_any = true;
    loop->note = log->steps[newest - 1].note;
    collect(log, loop, finished);
    return STATUS_OK;
}

size_t bos2_initial_size(const struct space *space, size_t k, size_t initial)
{
    size_t       last = space->latents_len - 1;
    const size_t sizes[BOS2_INITIAL_SIZES] = {0, (2 * last + 1) / 3, last};
    return sizes[k / initial % BOS2_INITIAL_SIZES];
}

size_t bos2_tuples(const struct bos2_log *log, size_t initial, struct bos2_tuple *out, size_t *trials)
{
    size_t len = 0;
    *trials = 0;
    for (size_t i = 0; i < log->log.len; i++) {
        const struct log_trial *trial = &log->log.trials[i];
        const struct bos2_note *note = &log->steps[i].note;
        *trials += counts(trial);
        if (!log->steps[i].is_ours || trial->state != LOG_OBSERVED)
            continue;
        size_t k = 0;
        while (k < len && (out[k].loop != note->loop || out[k].size != note->size))
            k++;
        if (k == len)
            out[len++] = (struct bos2_tuple){.loop = note->loop, .size = note->size, .best = -HUGE_VAL};
        out[k].best = fmax(out[k].best, trial->value);
        out[k].trials = (double)(note->loop == 0 ? initial : *trials);
    }
    return len;
}
