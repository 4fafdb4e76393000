/* See transfer_snapshot.h. */
#include "service/app/event_log.h"
#include "service/app/home.h"
#include "service/session/transfer_snapshot.h"

#include "engine/stopping/streams.h"
#include "service/candidates/candidates.h"
#include "service/codec/codec_transfer.h"
#include "service/base/digest.h"
#include "service/store/rows.h"
#include "service/store/spec_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct collect {
    struct app             *app;
    struct caller          *caller;
    const struct spec      *spec;
    struct earlier_study   *studies; /* [room] */
    struct transfer_source *sources;
    size_t                  room, len;
    char                    where[64];
};

/* ---- one earlier study ---- */

static enum status check_metrics(const struct collect *work, const struct spec *source, struct error *err)
{
    const struct metric *own = &work->spec->metrics[0], *other = &source->metrics[0];
    if (source->metrics_len == 1 && strcmp(own->name, other->name) == 0 && own->goal == other->goal)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "earlier_metrics_differ", work->where,
                     "it must have one metric, %.60s, with the same goal", own->name);
}

static enum status check_space(const struct collect *work, const struct spec *source, struct error *err)
{
    const struct space *own = &work->spec->space, *other = &source->space;
    if (source->is_private)
        return error_set(err, STATUS_INVALID, "earlier_space_differs", work->where,
                         "it is private: rows of different releases cannot be compared");
    if (own->kind != other->kind || own->rows_len != other->rows_len || own->columns != other->columns)
        return error_set(err, STATUS_INVALID, "earlier_space_differs", work->where,
                         "its space is of another kind, or its candidates have another shape");
    return own->kind == SPACE_PARAMETERS ? codec_transfer_check_names(work->spec, source, work->where, err) : STATUS_OK;
}

static void digest_rows(const struct space *space, char out[SHA256_HEX_BYTES])
{
    sha256_hex(space->rows, space->rows_len * space->columns * sizeof *space->rows, out);
}

/* The rows are only looked at, in memory of their own. */
static enum status digest_matrix(struct db_conn *conn, const struct collect *work, const struct study *source,
                                 const char **out, struct error *err)
{
    struct arena            arena;
    struct spec             spec = source->spec;
    struct candidates_noise noise;
    char                    digest[SHA256_HEX_BYTES] = "";
    arena_init(&arena, work->app->options.session_bytes);
    enum status status = candidates_load(conn, source->id, &spec, &noise, &arena, err);
    if (status == STATUS_OK)
        digest_rows(&spec.space, digest);
    arena_fini(&arena);
    *out = status == STATUS_OK ? arena_strndup(work->caller->arena, digest, strlen(digest)) : NULL;
    return status == STATUS_OK && *out == NULL ? error_no_memory(err) : status;
}

/* The completed trials that lie in the new space: [len] values signed, and where they are. */
struct gathered {
    double *points, *values; /* candidates: points of one number */
    size_t  len, width;
    int64_t skipped;
};

static enum status gather(struct collect *work, const struct spec *source, const struct trial *trials, size_t len,
                          struct gathered *out, struct error *err)
{
    bool on_rows = source->space.kind == SPACE_CANDIDATES;
    out->width = on_rows ? 1 : work->spec->space.params_len;
    out->points = arena_alloc(work->caller->arena, len + 1, out->width * sizeof *out->points);
    out->values = ARENA_NEW(work->caller->arena, double, len + 1);
    if (out->points == NULL || out->values == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < len; i++) {
        double *point = out->points + out->len * out->width;
        if (on_rows)
            *point = (double)trials[i].row;
        else if (!codec_transfer_align(work->spec, source, trials[i].point, point)) {
            out->skipped++;
            continue;
        }
        out->values[out->len++] = spec_sign(source) * trials[i].value;
    }
    return STATUS_OK;
}

struct ranked {
    double value;
    size_t at;
};

static int best_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Every k-th by rank, the best first, when there are too many. */
static enum status thin(struct collect *work, struct gathered *g, struct error *err)
{
    size_t         keep = EARLIER_VALUES_MAX;
    struct ranked *ranked = ARENA_NEW(work->caller->arena, struct ranked, g->len);
    double        *points = arena_alloc(work->caller->arena, keep, g->width * sizeof *points);
    double        *values = ARENA_NEW(work->caller->arena, double, keep);
    if (g->len <= keep)
        return STATUS_OK;
    if (ranked == NULL || points == NULL || values == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < g->len; i++)
        ranked[i] = (struct ranked){.value = g->values[i], .at = i};
    qsort(ranked, g->len, sizeof *ranked, best_first);
    for (size_t k = 0; k < keep; k++) {
        size_t at = ranked[k * g->len / keep].at;
        memcpy(points + k * g->width, g->points + at * g->width, g->width * sizeof *points);
        values[k] = g->values[at];
    }
    g->skipped += (int64_t)(g->len - keep);
    *g = (struct gathered){.points = points, .values = values, .len = keep, .width = g->width, .skipped = g->skipped};
    return STATUS_OK;
}

static size_t *row_numbers(struct arena *arena, const double *points, size_t len)
{
    size_t *rows = ARENA_NEW(arena, size_t, len);
    for (size_t i = 0; i < len && rows != NULL; i++)
        rows[i] = (size_t)points[i];
    return rows;
}

static enum status to_study(struct arena *arena, bool on_rows, const struct gathered *g, struct earlier_study *out,
                            struct error *err)
{
    const char *name = out->name;
    *out = (struct earlier_study){.name = name, .points = on_rows ? NULL : g->points, .values = g->values, .n = g->len};
    if (!on_rows)
        return STATUS_OK;
    out->rows = row_numbers(arena, g->points, g->len);
    return out->rows == NULL ? error_no_memory(err) : STATUS_OK;
}

/* Copies a study behind those that are copied already; least: how many values it must have here. */
static enum status copy_study(struct db_conn *conn, struct collect *work, const char *id, size_t least,
                              struct error *err)
{
    struct arena   *arena = work->caller->arena;
    size_t          i = work->len;
    struct study    source;
    struct trial   *trials;
    struct gathered g = {0};
    size_t          len;
    TRY(spec_cache_study(work->app, conn, id, arena, &source, err));
    if (!source.rules.is_shareable)
        return error_set(err, STATUS_FORBIDDEN, "not_shareable", work->where, "it is not shareable");
    TRY(check_metrics(work, &source.spec, err));
    TRY(check_space(work, &source.spec, err));
    work->sources[i] = (struct transfer_source){.study = id, .revision = source.revision, .matrix = ""};
    TRY(rows_trials(db_query(conn, arena, err, SQL_TRIAL_FEASIBLE, BIND(TEXT(id))), &trials, &len, err));
    TRY(gather(work, &source.spec, trials, len, &g, err));
    TRY(thin(work, &g, err));
    if (g.len < least)
        return error_set(err, STATUS_CONFLICT, "earlier_study_empty", work->where,
                         "it has no value at a point of the new space (%zu elsewhere)", len);
    bool on_rows = source.spec.space.kind == SPACE_CANDIDATES;
    if (on_rows)
        TRY(digest_matrix(conn, work, &source, &work->sources[i].matrix, err));
    work->sources[i].skipped = g.skipped;
    work->studies[i].name = source.name;
    return to_study(arena, on_rows, &g, &work->studies[i], err);
}

/* A refusal of the store about an earlier study says which. */
static enum status collect_named(struct db_conn *conn, struct collect *work, struct error *err)
{
    const struct spec_earlier *named = &work->spec->earlier;
    for (; work->len < named->ids_len; work->len++) {
        snprintf(work->where, sizeof work->where, "/algorithm/earlier_studies/%zu", work->len);
        enum status status = home_check_in(conn, work->caller, "study", named->ids[work->len], err);
        if (status == STATUS_OK)
            status = copy_study(conn, work, named->ids[work->len], 1, err);
        if (status != STATUS_OK && err != NULL)
            snprintf(err->path, sizeof err->path, "%s", work->where);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* ---- those that fit best ---- */

struct fitting {
    char    id[sizeof((struct study *)NULL)->id];
    double  share; /* of the parameters of both spaces: those in common */
    int64_t values;
};

/* The studies of the project that changed last, [*len] of [TRANSFER_LOOKS]. */
static enum status list_recent(struct db_conn *conn, const struct caller *caller, struct fitting *out, size_t *len,
                               struct error *err)
{
    struct db_rows          rows = db_query(conn, caller->arena, err, SQL_STUDIES_UPDATED_DOWN,
                                            BIND(TEXT(""), TEXT(""), TEXT(""), TEXT(""), TEXT(""), TEXT(""), TEXT(""),
                                                 TEXT(caller->resource), INT(0), INT(INT64_MAX), TEXT(""), INT(TRANSFER_LOOKS),
                                                 TEXT(caller_project(caller)), TEXT(""), TEXT("")));
    const struct arena_mark mark = arena_mark(caller->arena);
    while (db_next(&rows) && *len < TRANSFER_LOOKS) {
        snprintf(out[*len].id, sizeof out[*len].id, "%s", row_study(&rows)->id);
        ++*len;
        arena_release(caller->arena, mark);
    }
    return db_done(&rows);
}

static bool is_fitting(const struct collect *work, const struct study *study)
{
    struct error ignored;
    return study->rules.is_shareable && study->spec.federation == NULL &&
           study->trials[TRIAL_COMPLETED] >= TRANSFER_VALUES_MIN &&
           check_metrics(work, &study->spec, &ignored) == STATUS_OK &&
           check_space(work, &study->spec, &ignored) == STATUS_OK;
}

static bool fits_better(const struct fitting *a, const struct fitting *b)
{
    return a->share > b->share || (a->share == b->share && a->values > b->values);
}

/* Behind those that are as good. */
static void keep_best(struct fitting *best, size_t *len, const struct fitting *one)
{
    size_t at = *len < TRANSFER_TRIES ? (*len)++ : TRANSFER_TRIES;
    for (; at > 0 && fits_better(one, &best[at - 1]); at--)
        if (at < TRANSFER_TRIES)
            best[at] = best[at - 1];
    if (at < TRANSFER_TRIES)
        best[at] = *one;
}

static enum status find_best(struct db_conn *conn, const struct collect *work, struct fitting *best, size_t *len,
                             struct error *err)
{
    struct arena   *arena = work->caller->arena;
    struct fitting *recent = ARENA_NEW(arena, struct fitting, TRANSFER_LOOKS);
    size_t          count = 0;
    if (recent == NULL)
        return error_no_memory(err);
    TRY(list_recent(conn, work->caller, recent, &count, err));
    for (struct fitting *one = recent; one < recent + count; one++) {
        struct arena_mark mark = arena_mark(arena);
        struct study      study;
        TRY(spec_cache_study(work->app, conn, one->id, arena, &study, err));
        if (is_fitting(work, &study)) {
            size_t shared = codec_transfer_shared(work->spec, &study.spec);
            size_t all = work->spec->space.params_len + study.spec.space.params_len - shared;
            one->share = (double)shared / (double)all;
            one->values = study.trials[TRIAL_COMPLETED];
            one->values = one->values < EARLIER_VALUES_MAX ? one->values : EARLIER_VALUES_MAX;
            keep_best(best, len, one);
        }
        arena_release(arena, mark);
    }
    return STATUS_OK;
}

/* A study whose values are out of range is passed over. */
static enum status collect_picked(struct db_conn *conn, struct collect *work, struct error *err)
{
    struct fitting best[TRANSFER_TRIES];
    size_t         len = 0;
    snprintf(work->where, sizeof work->where, "/algorithm/meta");
    TRY(find_best(conn, work, best, &len, err));
    for (size_t k = 0; k < len && work->len < work->room; k++) {
        struct arena     *arena = work->caller->arena;
        struct arena_mark mark = arena_mark(arena);
        struct error      why;
        const char       *id = arena_strndup(arena, best[k].id, strlen(best[k].id));
        enum status status = id == NULL ? error_no_memory(&why) : copy_study(conn, work, id, TRANSFER_VALUES_MIN, &why);
        if (status != STATUS_OK)
            arena_release(arena, mark);
        if (status != STATUS_OK && strcmp(why.code, "earlier_study_empty") != 0) {
            if (err != NULL)
                *err = why;
            return status;
        }
        work->len += status == STATUS_OK;
    }
    return STATUS_OK;
}

static bool picks(const struct spec *spec)
{
    return spec->earlier.is_auto && spec->earlier.ids == NULL;
}

static enum status collect(struct db_conn *conn, void *arg, struct error *err)
{
    struct collect *work = arg;
    work->len = 0; // a transaction may run twice
    return picks(work->spec) ? collect_picked(conn, work, err) : collect_named(conn, work, err);
}

enum status transfer_collect(struct app *app, struct caller *caller, const struct spec *new,
                             struct transfer_sources *out, struct error *err)
{
    size_t given = new->earlier.given_len, room = new->earlier.ids_len;
    *out = (struct transfer_sources){0};
    if (new->policy->read_transfer == NULL)
        return STATUS_OK;
    if (room + given == 0 && !new->earlier.is_auto)
        return error_set(err, STATUS_INVALID, "missing_member", "/algorithm/earlier_studies",
                         "%s needs earlier_studies or earlier_observations", new->policy->name);
    if (picks(new))
        room = EARLIER_STUDIES_MAX - given < TRANSFER_PICKS ? EARLIER_STUDIES_MAX - given : TRANSFER_PICKS;
    struct collect work = {.app = app,
                           .caller = caller,
                           .spec = new,
                           .room = room,
                           .studies = ARENA_NEW(caller->arena, struct earlier_study, room + given + 1),
                           .sources = ARENA_NEW(caller->arena, struct transfer_source, room + given + 1)};
    if (work.studies == NULL || work.sources == NULL)
        return error_no_memory(err);
    if (room > 0)
        TRY(db_read(app->db, collect, &work, err));
    for (size_t i = 0; i < given; i++) {
        work.studies[work.len + i] = new->earlier.given[i];
        work.sources[work.len + i] = (struct transfer_source){.matrix = ""};
    }
    *out = (struct transfer_sources){.studies = work.studies, .sources = work.sources, .len = work.len + given};
    return STATUS_OK;
}

/* ---- the store ---- */

static enum status store_one(struct db_conn *conn, const char *study, const struct transfer_sources *sources, size_t i,
                             size_t width, struct error *err)
{
    const struct earlier_study   *data = &sources->studies[i];
    const struct transfer_source *from = &sources->sources[i];
    double                        rows[EARLIER_VALUES_MAX];
    for (size_t j = 0; j < data->n && data->rows != NULL; j++)
        rows[j] = (double)data->rows[j];
    return db_exec(conn, NULL, err, SQL_TRANSFER_SOURCE_ADD,
                   BIND(TEXT(study), INT((int64_t)i), TEXT(from->study), TEXT(data->name), INT(from->revision),
                        INT(from->skipped), TEXT(from->matrix),
                        BLOB(data->rows != NULL ? rows : data->points, data->n * width * sizeof *rows),
                        BLOB(data->values, data->n * sizeof *data->values)));
}

enum status transfer_store(struct db_conn *conn, const struct task *task, const struct transfer_sources *sources,
                           struct error *err)
{
    const struct space *space = &task->study.spec.space;
    size_t              width = space->kind == SPACE_CANDIDATES ? 1 : space->params_len;
    for (size_t i = 0; i < sources->len; i++) {
        const char *source = sources->sources[i].study;
        TRY(store_one(conn, task->study.id, sources, i, width, err));
        if (source != NULL)
            TRY(event_log(conn,
                          EVENT(.at_ms = task->now_ms, .kind = "study.shared", .study = source,
                                .project = task->study.project, .actor = task->caller->token_id,
                                .detail = task->study.id),
                          err));
    }
    return STATUS_OK;
}

static enum status read_one(const struct row_transfer_source *row, const struct spec *spec, struct arena *arena,
                            struct earlier_study *study, struct transfer_source *source, struct error *err)
{
    size_t          width = spec->space.kind == SPACE_CANDIDATES ? 1 : spec->space.params_len;
    struct gathered g = {.points = (double *)(uintptr_t)row->points.bytes,
                         .values = (double *)(uintptr_t)row->data.bytes,
                         .len = row->data.length / sizeof *g.values,
                         .width = width};
    *source = (struct transfer_source){
        .study = row->source, .revision = row->revision, .skipped = row->skipped, .matrix = row->matrix};
    study->name = row->name;
    if (g.len == 0 || row->points.length != g.len * width * sizeof *g.points)
        return error_set(err, STATUS_INTERNAL, "store_corrupt", "", "the copy of an earlier study is incomplete");
    return to_study(arena, spec->space.kind == SPACE_CANDIDATES, &g, study, err);
}

static enum status read_all(struct db_conn *conn, const char *study, const struct spec *spec, struct arena *arena,
                            struct transfer_sources *out, struct error *err)
{
    struct earlier_study   *studies = ARENA_NEW(arena, struct earlier_study, EARLIER_STUDIES_MAX);
    struct transfer_source *sources = ARENA_NEW(arena, struct transfer_source, EARLIER_STUDIES_MAX);
    *out = (struct transfer_sources){.studies = studies, .sources = sources, .len = 0};
    if (studies == NULL || sources == NULL)
        return error_no_memory(err);
    struct db_rows rows = db_query(conn, arena, err, SQL_TRANSFER_SOURCE_LIST, BIND(TEXT(study)));
    for (; db_next(&rows) && out->len < EARLIER_STUDIES_MAX; out->len++)
        rows.status = read_one(row_transfer_source(&rows), spec, arena, &studies[out->len], &sources[out->len], err);
    return db_done(&rows);
}

enum status transfer_check_rows(const struct spec *spec, const struct transfer_sources *sources, struct error *err)
{
    char digest[SHA256_HEX_BYTES] = "";
    for (size_t i = 0; i < sources->len; i++) {
        const struct transfer_source *source = &sources->sources[i];
        if (source->matrix[0] == '\0')
            continue;
        if (digest[0] == '\0')
            digest_rows(&spec->space, digest);
        if (strcmp(source->matrix, digest) != 0)
            return error_set(err, STATUS_CONFLICT, "earlier_matrix_differs", "",
                             "the candidates are not those of the earlier study %s, so their numbers mean other rows",
                             source->study);
    }
    return STATUS_OK;
}

enum status transfer_snapshot(struct db_conn *conn, const char *study, const struct spec *spec, struct arena *arena,
                              struct transfer_sources *out, struct error *err)
{
    *out = (struct transfer_sources){0};
    return spec->policy->read_transfer == NULL ? STATUS_OK : read_all(conn, study, spec, arena, out, err);
}

enum status transfer_load(struct db_conn *conn, const char *study, const struct spec *spec, struct arena *arena,
                          struct transfer_sources *out, struct error *err)
{
    TRY(transfer_snapshot(conn, study, spec, arena, out, err));
    return spec->policy->read_transfer == NULL ? STATUS_OK : transfer_check_rows(spec, out, err);
}

/* ---- for people ---- */

struct look {
    struct task           task;
    struct transfer_page *out;
    int64_t               after, limit;
};

static enum status add_item(const struct row_trial_note *row, struct look *work, struct transfer_state *state,
                            struct error *err)
{
    struct transfer_page *page = work->out;
    size_t                len = page->sources.len;
    if (!streams_read_transfer(work->task.study.spec.policy, row->note.bytes, row->note.length, state) ||
        state->len != len)
        return STATUS_OK;
    struct transfer_item *item = &page->items[page->len];
    *item = (struct transfer_item){.trial = row->number,
                                   .rounds = (int64_t)state->rounds,
                                   .nu = state->nu,
                                   .weights = ARENA_NEW(work->task.caller->arena, double, len),
                                   .gaps = ARENA_NEW(work->task.caller->arena, double, len)};
    if (item->weights == NULL || item->gaps == NULL)
        return error_no_memory(err);
    memcpy(item->weights, state->weights, len * sizeof *item->weights);
    memcpy(item->gaps, state->gaps, len * sizeof *item->gaps);
    page->len++;
    return STATUS_OK;
}

static enum status read_items(struct db_conn *conn, struct look *work, struct error *err)
{
    struct transfer_state *state = ARENA_NEW(work->task.caller->arena, struct transfer_state, 1);
    struct transfer_page  *page = work->out;
    int64_t                seen = 0, last = work->after;
    page->items = ARENA_NEW(work->task.caller->arena, struct transfer_item, (size_t)work->limit);
    if (state == NULL || page->items == NULL)
        return error_no_memory(err);
    struct db_rows rows = db_query(conn, NULL, err, SQL_TRANSFER_NOTES,
                                   BIND(TEXT(work->task.id), INT(work->after), INT(work->limit + 1)));
    while (db_next(&rows) && seen++ < work->limit) {
        last = row_trial_note(&rows)->number;
        rows.status = add_item(row_trial_note(&rows), work, state, err);
    }
    if (rows.has_row)
        rows.status = page_next(work->task.caller->arena, last, &page->next_cursor, err);
    return db_done(&rows);
}

static enum status history(struct db_conn *conn, void *arg, struct error *err)
{
    struct look       *work = arg;
    const struct spec *spec = &work->task.study.spec;
    TRY(task_open(conn, &work->task, err));
    if (spec->policy->read_transfer == NULL)
        return error_set(err, STATUS_CONFLICT, "no_earlier_studies", "", "the algorithm %s learns from no other study",
                         spec->policy->name);
    TRY(read_all(conn, work->task.id, spec, work->task.caller->arena, &work->out->sources, err));
    work->out->spec = *spec;
    return read_items(conn, work, err);
}

enum status transfer_history(struct app *app, struct caller *caller, const char *study, const struct page *page,
                             struct transfer_page *out, struct error *err)
{
    struct look work = {.task = task_of(app, caller, study), .out = out, .limit = page_limit(page->limit)};
    *out = (struct transfer_page){0};
    TRY(page_after(page->cursor, &work.after, err));
    return task_read(&work.task, history, err);
}
