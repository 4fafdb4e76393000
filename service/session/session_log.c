/* How a session is opened, and told what the log says: the restart, the next lines, and a line of the past are one path.
 * Invariant: a session that was told something the log does not have is forgotten. */
#include "service/session/session.h"
#include "service/app/memory.h"
#include "service/app/price.h"
#include "service/app/slots.h"
#include "service/candidates/candidates.h"
#include "service/codec/codec_spec.h"
#include "service/codec/codec_trial.h"
#include "service/session/transfer_snapshot.h"
#include "service/store/rows.h"
#include "service/base/npy.h"
#include "service/model/federation_spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct vectors {
    double *numbers; /* [rows][columns]; NULL: there is no such broadcast */
    size_t  rows, columns;
};

/* As it came with the study from elsewhere, or of the federation here. */
static enum status read_vectors(struct db_conn *conn, const struct live *live, int64_t round, struct arena *arena,
                                struct vectors *out, struct error *err)
{
    struct db_rows rows =
        db_query(conn, NULL, err, SQL_RECEIVED_ROUND, BIND(TEXT(live->study), TEXT(live->spec.federation), INT(round)));
    struct npy npy;
    *out = (struct vectors){.numbers = NULL};
    if (db_next(&rows)) {
        struct db_blob file = row_blob(&rows)->data;
        rows.status = npy_header(file.bytes, file.length, &npy, err);
        if (rows.status == STATUS_OK) {
            size_t count = npy.rows * npy.columns;
            *out =
                (struct vectors){.numbers = ARENA_NEW(arena, double, count), .rows = npy.rows, .columns = npy.columns};
            if (out->numbers == NULL)
                rows.status = error_no_memory(err);
            else
                memcpy(out->numbers, (const char *)file.bytes + npy.data_offset, count * sizeof(double));
        }
    }
    return db_done(&rows);
}

/* Whether the vector comes from another seat, is not zero, and has changed. */
static bool is_news(const struct live *live, const struct vectors *now, const struct vectors *before, size_t row)
{
    const double *vector = now->numbers + row * now->columns;
    bool          is_zero = true;
    for (size_t i = 0; i < now->columns; i++)
        is_zero = is_zero && vector[i] == 0.0;
    bool is_known = before->numbers != NULL &&
                    memcmp(before->numbers + row * now->columns, vector, now->columns * sizeof *vector) == 0;
    return (int64_t)row + 1 != live->spec.seat && !is_zero && !is_known;
}

static enum status tell_vectors(struct live *live, int64_t round, const struct vectors *now,
                                const struct vectors *before, struct error *err)
{
    bool         is_private = federation_aggregates(live->spec.policy);
    struct event event = {.kind = EVENT_RECEIVED, .round = (uint64_t)round};
    if (is_private) {
        event.vectors = now->numbers;
        event.vectors_len = now->rows * now->columns;
        return streams_tell(&live->streams, &live->curves, &event, err);
    }
    for (size_t row = 0; row < now->rows; row++) {
        if (!is_news(live, now, before, row))
            continue;
        event.sender = row + 1;
        event.vectors = now->numbers + row * now->columns;
        event.vectors_len = now->columns;
        TRY(streams_tell(&live->streams, &live->curves, &event, err));
    }
    return STATUS_OK;
}

/* Tells the session the broadcast that a line of the log names: detail is "<federation> <round>". */
static enum status received_tell(struct db_conn *conn, struct live *live, const char *detail, struct error *err)
{
    struct arena   arena;
    struct vectors now, before;
    const char    *space = detail == NULL ? NULL : strchr(detail, ' ');
    int64_t        round = space == NULL ? 0 : strtoll(space + 1, NULL, 10);
    if (live->spec.federation == NULL || round <= 0)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "a line of the log names no broadcast");
    arena_init(&arena, live->arena.limit_bytes);
    enum status status = read_vectors(conn, live, round, &arena, &now, err);
    if (status == STATUS_OK)
        status = read_vectors(conn, live, live->round, &arena, &before, err);
    if (status == STATUS_OK && now.numbers == NULL)
        status = error_set(err, STATUS_INTERNAL, "store_corrupt", "", "a broadcast of the log is not there");
    if (status == STATUS_OK)
        status = tell_vectors(live, round, &now, &before, err);
    arena_fini(&arena);
    live->round = round;
    live->sent = live->sent > round ? live->sent : round;
    return status;
}

/* ---- the log ---- */

enum { NEAR_LINES = 512 };

/* How a line of the log looks to a policy; the kinds that are not here it does not see. */
// clang-format off
static const struct { const char *kind; enum event_kind event; } kinds[] = {
    {"trial.suggested", EVENT_SUGGESTED}, {"trial.queued", EVENT_SUGGESTED},   {"trial.added", EVENT_SUGGESTED},
    {"trial.observed", EVENT_OBSERVED},   {"trial.infeasible", EVENT_INFEASIBLE}, {"trial.failed", EVENT_FAILED},
    {"trial.abandoned", EVENT_ABANDONED}, {"trial.measured", EVENT_MEASURED}, {"trial.stopped", EVENT_STOPPED},
    {"trial.retried", EVENT_SUGGESTED},
    {"trial.handed_over", EVENT_HANDED_OVER}, {"trial.resumed", EVENT_SUGGESTED},
};
// clang-format on

/* A measurement, or the end of a trial that was stopped at its last one. */
static enum status tell_measured(struct live *live, const struct row_replay *row, struct event *event,
                                 struct error *err)
{
    double values[METRICS_MAX];
    if (event->kind == EVENT_MEASURED) {
        event->step = (size_t)row->step;
        event->value = spec_sign(&live->spec) * row->measured;
        event->values = spec_measured(&live->spec, row->measured_outcome.bytes, values);
        event->note = row->measured_note.bytes;
        event->note_bytes = row->measured_note.length;
    } else {
        const struct curve *curve = curves_find(&live->curves, event->trial);
        if (curve == NULL)
            return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "a stopped trial has no measurement");
        event->value = curve->values[curve->len - 1];
        event->sd = 0;
        live->observations++;
    }
    TRY(curves_tell(&live->curves, event, err));
    return streams_tell(&live->streams, &live->curves, event, err);
}

/* The event of a trial's end as the trial is now: a corrected trial ended with the corrected values, a retracted one as
 * given up, both at the line that ended it.  0 when the line is another. */
static bool is_end(const struct row_replay *row, enum event_kind *kind)
{
    // clang-format off
    static const struct { const char *state; enum event_kind kind; } ends[] = {
        {"completed", EVENT_OBSERVED}, {"failed", EVENT_FAILED},   {"infeasible", EVENT_INFEASIBLE},
        {"abandoned", EVENT_ABANDONED}, {"stopped", EVENT_STOPPED}, {"retracted", EVENT_ABANDONED},
    };
    // clang-format on
    for (size_t i = 0; i < sizeof ends / sizeof *ends && row->state != NULL && row->revision == row->ended; i++)
        if (strcmp(ends[i].state, row->state) == 0) {
            *kind = ends[i].kind;
            return true;
        }
    return false;
}

/* Whether the line counts for nothing, because its trial was retracted. */
static bool is_void(const struct row_replay *row, enum event_kind kind)
{
    return (kind == EVENT_MEASURED || kind == EVENT_HANDED_OVER || kind == EVENT_STOPPED) && row->state != NULL &&
           strcmp(row->state, "retracted") == 0;
}

const double *session_point(struct live *live, const double *point)
{
    const struct space *space = &live->spec.space;
    if (live->former == NULL || point == NULL)
        return point;
    for (size_t i = 0; i < space->params_len; i++)
        live->former_point[i] = space_is_active(space, live->former_point, i) ? point[i] : (double)NAN;
    return live->former_point;
}

/* Whether the line opens a known trial again, whose note was read when it was new. */
static bool is_again(const struct row_replay *row)
{
    return strcmp(row->kind, "trial.retried") == 0 || strcmp(row->kind, "trial.resumed") == 0;
}

/* Adds a suggestion's note or an observation's values to the event; false: the suggestion is known already. */
static bool add_note_or_values(struct live *live, const struct row_replay *row, double *values, struct event *event)
{
    if (event->kind == EVENT_OBSERVED) {
        event->values = spec_event_values(&live->spec, row->outcome.bytes, values);
        live->observations++;
    }
    if (event->kind != EVENT_SUGGESTED || is_again(row))
        return true;
    if (row->trial <= live->told)
        return false;
    bool is_of_space = row->revision > live->space_revision; // a note is about the space of its time
    event->note = is_of_space ? row->note.bytes : NULL;
    event->note_bytes = is_of_space ? row->note.length : 0;
    live->told = row->trial;
    live->asked_at = row->note.length > 0 ? live->observations : live->asked_at;
    return true;
}

static enum status tell_row(struct db_conn *conn, struct live *live, const struct row_replay *row, struct error *err)
{
    const char *kind = row->kind;
    double      values[SPEC_EVENT_VALUES];
    size_t      i = 0, count = sizeof kinds / sizeof *kinds;
    while (i < count && strcmp(kinds[i].kind, kind) != 0)
        i++;
    const double *point = session_point(live, row->point.bytes);
    bool          is_outside = row->trial > 0 && codec_is_outside(&live->spec, point);
    struct event  event = {
         .trial = (uint64_t)row->trial,
         .point = point,
         .row = (size_t)row->row,
         .sd = isnan(row->stddev) ? 0 : row->stddev,
         .is_given = strcmp(kind, "trial.added") == 0,
    };
    if (strcmp(kind, "federation.received") == 0)
        return received_tell(conn, live, row->detail, err);
    if (i < count)
        event.kind = kinds[i].event;
    if ((!is_end(row, &event.kind) && i == count) || is_void(row, event.kind))
        return STATUS_OK;
    event.is_outside = is_outside && event.kind == EVENT_OBSERVED;
    if (is_outside && event.kind == EVENT_SUGGESTED && row->trial > live->told)
        live->told = row->trial;
    if (is_outside && !event.is_outside) // only its value says something
        return STATUS_OK;
    if (event.kind == EVENT_MEASURED || event.kind == EVENT_STOPPED)
        return tell_measured(live, row, &event, err);
    if (event.kind == EVENT_OBSERVED && spec_awaits_baseline(&live->spec)) // a baseline makes the session begin anew
        return STATUS_OK;
    if (event.kind == EVENT_OBSERVED)
        event.value = spec_sign(&live->spec) * row->value;
    struct event noted = event; // that a trial is whole does not depend on the space
    if (event.kind == EVENT_SUGGESTED && !is_again(row)) {
        noted.note = row->note.bytes;
        noted.note_bytes = row->note.length;
    }
    if (event.kind == EVENT_OBSERVED)
        noted.values = spec_event_values(&live->spec, row->outcome.bytes, values);
    if (!is_outside)
        TRY(curves_tell(&live->curves, &noted, err));
    return add_note_or_values(live, row, values, &event) ? streams_tell(&live->streams, &live->curves, &event, err)
                                                         : STATUS_OK;
}

static enum status tell_log(struct db_conn *conn, struct live *live, int64_t last, struct error *err)
{
    struct db_rows rows =
        db_query(conn, NULL, err, SQL_EVENT_REPLAY, BIND(TEXT(live->study), INT(live->seq), INT(last), INT(last)));
    while (db_next(&rows)) {
        rows.status = tell_row(conn, live, row_replay(&rows), err);
        if (rows.status == STATUS_OK)
            live->seq = row_replay(&rows)->seq;
    }
    return db_done(&rows);
}

/* Sets an option that the modeller left open from the manifest. */
static enum status fill_option(struct live *live, const char *name, double value, struct error *err)
{
    int    option = policy_option(live->spec.policy, name);
    size_t len = policy_options_len(live->spec.policy);
    if (option < 0 || isnan(value) || !isnan(live->spec.options[option]))
        return STATUS_OK;
    double *options = ARENA_NEW(&live->arena, double, len);
    if (options == NULL)
        return error_no_memory(err);
    memcpy(options, live->spec.options, len * sizeof *options);
    options[option] = value;
    live->spec.options = options;
    return STATUS_OK;
}

static enum status load_candidates(struct db_conn *conn, struct live *live, struct error *err)
{
    struct candidates_noise noise;
    if (live->spec.space.kind != SPACE_CANDIDATES)
        return STATUS_OK;
    TRY(candidates_load(conn, live->study, &live->spec, &noise, &live->arena, err));
    TRY(fill_option(live, "release_noise", noise.variance, err));
    TRY(fill_option(live, "release_dims", noise.dims, err));
    TRY(fill_option(live, "release_bound", noise.bound, err));
    TRY(fill_option(live, "release_shape", noise.shape, err));
    return fill_option(live, "denoise", noise.denoise, err);
}

static enum status read_spec(struct db_conn *conn, struct live *live, struct error *err)
{
    if (live->former == NULL)
        return rows_spec_get(conn, live->study, &live->arena, &live->spec, err);
    live->space_revision = live->former->revision;
    TRY(codec_spec_parse(live->former->spec, &live->arena, &live->spec, err));
    live->former_point = ARENA_NEW(&live->arena, double, live->spec.space.params_len);
    return live->former_point != NULL ? STATUS_OK : error_no_memory(err);
}

struct problem session_problem(const struct spec *spec, const struct transfer_sources *earlier, size_t memory_bytes)
{
    return (struct problem){
        .space = &spec->space,
        .options = spec->options,
        .seed = spec->seed,
        .metrics = spec->kinds,
        .metrics_len = spec->metrics_len,
        .thresholds = spec->thresholds,
        .memory_bytes = memory_bytes,
        .bands = spec->bands,
        .is_minimized = spec_sign(spec) < 0,
        .earlier = earlier->studies,
        .earlier_len = earlier->len,
    };
}

/* With a specification of its own: what it takes is memory of the model, whose size decides what a model may keep.
 * It knows the baseline of the log up to the line last.  space_revision: of the study's space now. */
static enum status open_session(struct app *app, struct db_conn *conn, struct live *live, int64_t space_revision,
                                int64_t last, struct error *err)
{
    live->space_revision = space_revision;
    TRY(read_spec(conn, live, err));
    TRY(rows_baseline(conn, live->study, last, &live->arena, &live->spec, err));
    TRY(load_candidates(conn, live, err));
    struct transfer_sources earlier;
    TRY(transfer_load(conn, live->study, &live->spec, &live->arena, &earlier, err));
    struct problem *problem = ARENA_NEW(&live->arena, struct problem, 1);
    size_t          curves_bytes = live->spec.stopping.kind == STOP_RULE_OFF ? 0 : app->options.session_bytes / 8;
    arena_init(&live->curves_arena, curves_bytes);
    curves_init(&live->curves, &live->curves_arena);
    if (curves_bytes > 0 && live->spec.metrics_len > 1)
        TRY(curves_init_several(&live->curves, &live->curves_arena, live->spec.kinds, live->spec.metrics_len, err));
    if (problem == NULL || live->arena.taken_bytes + curves_bytes >= app->options.session_bytes)
        return error_no_memory(err);
    *problem = session_problem(&live->spec, &earlier,
                               (app->options.session_bytes - curves_bytes - live->arena.taken_bytes) /
                                   (live->spec.stopping.guard ? 2 : 1)); // of two sessions
    return streams_open(&live->streams, live->spec.policy, problem, &live->spec.stopping, err);
}

struct catch_up {
    struct app         *app;
    struct caller      *caller;
    struct live        *live;
    const struct study *study; /* once it was looked at */
    struct study        anew;
    struct session_look look;       /* fn NULL: none is needed */
    int64_t             last;       /* the line of the log to come up to */
    bool                is_within;  /* a transaction, for which others wait */
    bool                is_telling; /* the look is over */
};

/* A session that was told what the log, up to the line last, says was wrong begins anew. */
static enum status heed_corrections(struct db_conn *conn, struct live *live, int64_t last, struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, NULL, &rows, err, SQL_CORRECTION_LAST, BIND(TEXT(live->study), INT(last))));
    int64_t corrected = row_count(&rows)->count;
    if (live->streams.session != NULL && live->corrected != corrected)
        session_forget(live);
    live->corrected = corrected;
    return STATUS_OK;
}

/* A baseline makes the session begin anew, too, if values were told before it had ended; for a correction see above. */
static enum status heed_baseline(struct db_conn *conn, struct live *live, int64_t last, struct error *err)
{
    struct spec       now = live->spec;
    struct arena_mark mark = arena_mark(&live->arena);
    if (live->streams.session == NULL)
        return STATUS_OK;
    enum status status = rows_baseline(conn, live->study, last, &live->arena, &now, err);
    arena_release(&live->arena, mark);
    if (status == STATUS_OK && now.baseline_ended != live->spec.baseline_ended)
        session_forget(live);
    return status;
}

static enum status catch_up(struct db_conn *conn, struct catch_up *work, struct error *err)
{
    struct live        *live = work->live;
    const struct study *study = work->study;
    TRY(heed_corrections(conn, live, work->last, err));
    TRY(heed_baseline(conn, live, work->last, err));
    if (live->streams.session != NULL && live->space_revision != study->space_revision)
        session_forget(live);
    if (work->is_within && (live->streams.session == NULL || study->revision - live->revision > NEAR_LINES))
        return error_set(err, STATUS_BUSY, "busy", "", "the log has gone on: ask again");
    atomic_fetch_add(
        live->streams.session == NULL ? &work->app->counters.session_misses : &work->app->counters.session_hits, 1);
    if (live->streams.session == NULL)
        TRY(open_session(work->app, conn, live, study->space_revision, work->last, err));
    work->is_telling = true;
    TRY(tell_log(conn, live, work->last, err));
    live->revision = study->revision;
    return STATUS_OK;
}

static enum status read_anew(struct db_conn *conn, void *arg, struct error *err)
{
    struct catch_up  *work = arg;
    struct arena_mark mark = arena_mark(work->caller->arena);
    TRY(rows_study_get(conn, work->live->study, work->caller->arena, &work->anew, err));
    arena_release(work->caller->arena, mark);
    work->study = &work->anew;
    return caller_same_space(work->caller, work->live->study, work->anew.space_revision, err);
}

static enum status look_and_catch_up(struct db_conn *conn, void *arg, struct error *err)
{
    struct catch_up *work = arg;
    if (work->look.fn != NULL)
        TRY(work->look.fn(conn, work->look.arg, err));
    work->is_telling = true;
    return catch_up(conn, work, err);
}

static enum status run_catch_up(struct catch_up *work, struct error *err)
{
    struct app        *app = work->app;
    struct caller     *caller = work->caller;
    struct live       *live = work->live;
    struct price_model model = price_model_of(work->study);
    model.news =
        fmax((double)(work->study->revision - live->seq), 0); // of who joined a group its revision is not known
    double price_ms = price_tell(app, &model);
    TRY(memory_hold(app, caller, price_bytes(app, &model), err));
    TRY(slots_enter(app, caller, price_ms, err));
    enum status status = db_read(app->db, look_and_catch_up, work, err);
    price_learn_part(app, PRICE_TELL, price_ms, slots_leave(app, caller, model.spec->policy->name));
    if (status != STATUS_OK && work->is_telling)
        session_forget(live);
    return status;
}

enum status session_catch_up_with(struct app *app, struct caller *caller, const struct study *study, struct live *live,
                                  const struct session_look *look, struct error *err)
{
    struct catch_up work = {.app = app, .caller = caller, .live = live, .study = study, .last = study->revision};
    if (look != NULL) {
        work.look = *look;
        work.last = INT64_MAX;
    }
    return run_catch_up(&work, err);
}

enum status session_catch_up(struct app *app, struct caller *caller, const struct study *study, struct live *live,
                             struct error *err)
{
    struct catch_up work = {
        .app = app, .caller = caller, .live = live, .study = study, .look.fn = read_anew, .last = INT64_MAX};
    work.look.arg = &work;
    return run_catch_up(&work, err);
}

enum status session_catch_up_within(struct db_conn *conn, struct app *app, const struct study *study, struct live *live,
                                    bool *was_told, struct error *err)
{
    struct catch_up work = {.app = app, .live = live, .study = study, .last = INT64_MAX, .is_within = true};
    const int64_t   before = live->seq;
    enum status     status = catch_up(conn, &work, err);
    *was_told = live->seq != before;
    if (status != STATUS_OK && work.is_telling)
        session_forget(live);
    return status;
}

/* ---- as it was ---- */

struct replay {
    struct app              *app;
    struct live             *live;
    const struct session_at *at;
};

/* The log has a batch's earlier proposals after the events that came meanwhile; the session knew them first. */
static enum status tell_batch(struct db_conn *conn, struct live *live, const struct session_at *at, struct error *err)
{
    struct db_rows rows = db_query(conn, NULL, err, SQL_EVENT_REPLAY,
                                   BIND(TEXT(live->study), INT(live->seq), INT(at->made - 1), INT(at->seen)));
    while (db_next(&rows))
        if (strcmp(row_replay(&rows)->kind, "trial.suggested") == 0)
            rows.status = tell_row(conn, live, row_replay(&rows), err);
    return db_done(&rows);
}

static enum status replay(struct db_conn *conn, void *arg, struct error *err)
{
    struct replay *work = arg;
    struct live   *live = work->live;
    bool           knows_more = work->at->seen < live->revision || work->at->made < live->made;
    if (live->former != work->at->space || knows_more)
        session_forget(live);
    live->former = work->at->space;
    TRY(heed_corrections(conn, live, work->at->seen, err));
    TRY(heed_baseline(conn, live, work->at->seen, err));
    if (live->streams.session == NULL)
        TRY(open_session(work->app, conn, live, work->at->space_revision, work->at->seen, err));
    TRY(tell_log(conn, live, work->at->seen, err));
    live->revision = work->at->seen;
    live->made = work->at->made;
    return tell_batch(conn, live, work->at, err);
}

enum status session_replay(struct app *app, struct live *live, const struct session_at *at, struct error *err)
{
    struct replay work = {.app = app, .live = live, .at = at};
    return db_read(app->db, replay, &work, err);
}
