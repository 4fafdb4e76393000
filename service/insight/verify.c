/* See verify.h.  A session of its own lives through the log as the study's own did: at each line that the program made,
 * it has been told what had been seen then, and is asked the same. */
#include "service/insight/verify.h"

#include "engine/stopping/stop_rule.h"
#include "service/app/price.h"
#include "service/app/slots.h"
#include "service/codec/codec_grow.h"
#include "service/codec/codec_spec.h"
#include "service/codec/codec_trial.h"
#include "service/session/session.h"
#include "service/store/ask_inputs.h"
#include "service/store/rows.h"
#include "service/study/study.h"

#include <math.h>
#include <string.h>

enum { ATTEMPTS = 3, FORMER_MAX = 100 };
static const double ROUNDING = 1e-6; /* relative: what another processor or another OpenBLAS may make of a number */

struct work {
    struct app           *app;
    struct caller        *caller;
    const char           *id;
    struct live          *live;
    struct verify_report *out;
    int64_t               after, limit, stop_ms;
    struct row_made       row; /* the next one */
    bool                  has_row, is_cut;
    int64_t               space_revision;     /* after a page */
    struct session_space  former[FORMER_MAX]; /* [former_len] the last one first */
    size_t                former_len;
};

/* ---- comparing ---- */

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static const char *cause_of(double recorded, double recomputed)
{
    double scale = fmax(fabs(recorded), fabs(recomputed));
    return fabs(recorded - recomputed) <= ROUNDING * scale ? "rounding" : "content";
}

static void add(struct verify_item *list, size_t *len, const struct row_made *row, struct verify_item item)
{
    item.trial = row->trial;
    item.revision = row->revision;
    item.step = row->step;
    if (*len < VERIFY_LISTED)
        list[(*len)++] = item;
}

static void differs(struct work *work, const struct row_made *row, struct verify_item item)
{
    if (item.cause == NULL)
        item.cause = cause_of(item.recorded, item.recomputed);
    add(work->out->different, &work->out->different_len, row, item);
}

static void skip(struct work *work, const struct row_made *row, const char *cause)
{
    add(work->out->skipped, &work->out->skipped_len, row,
        (struct verify_item){
            .what = row->step > 0 ? "decision" : "point", .cause = cause, .recorded = NAN, .recomputed = NAN});
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_bytes(const struct db_blob *stored, const void *bytes, size_t length)
{
    return stored->length == length && (length == 0 || memcmp(stored->bytes, bytes, length) == 0);
}

static bool compare_point(struct work *work, const struct row_made *row, const struct proposal *made)
{
    const struct space *space = &work->live->spec.space;
    const double       *stored = session_point(work->live, row->point.bytes);
    size_t              len = space->kind == SPACE_CANDIDATES ? 0 : space_point_len(space);
    for (size_t i = 0; i < len; i++)
        if (!is_same(stored[i], made->point[i])) {
            differs(work, row,
                    (struct verify_item){
                        .what = "point",
                        .name = space->kind == SPACE_PARAMETERS ? work->out->study.spec.space.params[i].name : NULL,
                        .recorded = stored[i],
                        .recomputed = made->point[i]});
            return false;
        }
    bool is_row = space->kind != SPACE_CANDIDATES || row->row == (int64_t)made->row;
    if (!is_row)
        differs(
            work, row,
            (struct verify_item){
                .what = "point", .recorded = (double)row->row, .recomputed = (double)made->row, .cause = "content"});
    return is_row;
}

/* The first difference is named. */
static bool compare(struct work *work, const struct row_made *row, const struct proposal *made)
{
    double      mean = spec_sign(&work->live->spec) * made->mean;
    const char *other = !same_text(row->fallback, made->fallback)               ? "fallback"
                        : !same_bytes(&row->note, made->note, made->note_bytes) ? "note"
                                                                                : NULL;
    if (!compare_point(work, row, made))
        return false;
    if (!is_same(row->model_mean, mean))
        differs(work, row, (struct verify_item){.what = "mean", .recorded = row->model_mean, .recomputed = mean});
    else if (!is_same(row->model_stddev, made->sd))
        differs(work, row,
                (struct verify_item){.what = "stddev", .recorded = row->model_stddev, .recomputed = made->sd});
    else if (other != NULL)
        differs(work, row, (struct verify_item){.what = other, .recorded = NAN, .recomputed = NAN, .cause = "content"});
    else
        return true;
    return false;
}

/* ---- the space as it was ---- */

static enum status read_former(struct db_conn *conn, void *arg, struct error *err)
{
    struct work   *work = arg;
    struct arena  *arena = work->caller->arena;
    const char    *spec = NULL;
    struct spec    parsed;
    struct db_rows rows;
    struct db_rows now = db_query(conn, arena, err, SQL_STUDY_SPEC, BIND(TEXT(work->id)));
    while (db_next(&now))
        spec = row_spec(&now)->spec;
    TRY(db_done(&now));
    work->former_len = 0;
    rows = db_query(conn, NULL, err, SQL_SPACE_GROWN, BIND(TEXT(work->id), INT(FORMER_MAX)));
    while (db_next(&rows)) {
        struct session_space *space = &work->former[work->former_len++];
        *space = (struct session_space){.until = row_grown(&rows)->revision};
        if (work->former_len > 1)
            space[-1].revision = space->until;
        if (spec == NULL || codec_ungrow(spec, row_grown(&rows)->detail, arena, &spec, NULL) != STATUS_OK)
            spec = NULL;
        struct arena_mark mark = arena_mark(arena);
        if (spec != NULL && codec_spec_parse(spec, arena, &parsed, NULL) == STATUS_OK)
            space->spec = spec;
        arena_release(arena, mark);
    }
    TRY(db_done(&rows));
    if (work->former_len == FORMER_MAX) // the space may have grown before
        work->former[FORMER_MAX - 1].spec = NULL;
    return STATUS_OK;
}

/* The space that a line of the log was made in; NULL: the present one. */
static const struct session_space *space_at(const struct work *work, int64_t revision)
{
    size_t k = work->former_len;
    while (k > 0 && work->former[k - 1].until < revision)
        k--;
    return k > 0 ? &work->former[k - 1] : NULL;
}

/* ---- making again ---- */

static bool is_late(void *arg)
{
    struct work *work = arg;
    struct error why;
    work->is_cut = work->is_cut || slots_go_on(work->app, work->caller, &why) != STATUS_OK;
    return work->is_cut;
}

/* Whether the expected gain is the same, where the study asked for it; it was in time then, so it is not late now. */
static enum status same_gain(struct work *work, const struct row_made *row, bool *same, struct error *err)
{
    const struct policy *policy = work->live->spec.policy;
    struct gain          recorded, made;
    *same = true;
    TRY(codec_diagnostics_gain(row->diagnostics, &recorded, err));
    if (isnan(recorded.expected) || policy->gain == NULL)
        return STATUS_OK;
    TRY(policy->gain(work->live->streams.session,
                     &(struct ask){.trial = (uint64_t)row->trial, .late = is_late, .late_arg = work}, &made, err));
    if (work->is_cut)
        return app_go_on(work->app, work->caller, err);
    *same = is_same(recorded.expected, made.expected);
    if (!*same)
        differs(
            work, row,
            (struct verify_item){.what = "expected_gain", .recorded = recorded.expected, .recomputed = made.expected});
    return STATUS_OK;
}

static enum status ask_again(struct work *work, const struct row_made *row, struct proposal *made, struct error *err)
{
    const struct space      *space = &work->live->spec.space;
    const struct ask_inputs *asked = row->asked.bytes;
    bool                     has_fixed = row->asked.length > ASKED_FIXED * sizeof(double);
    double                  *point = ARENA_NEW(work->caller->arena, double, space_point_len(space) + 1);
    if (point == NULL)
        return error_no_memory(err);
    *made = (struct proposal){.point = point, .mean = NAN, .sd = NAN, .sd_observed = NAN};
    const struct ask ask = {.trial = (uint64_t)row->trial,
                            .fixed = has_fixed ? asked->fixed : NULL,
                            .late = is_late,
                            .late_arg = work,
                            .deadline_ms = asked->deadline_ms,
                            .remaining = (uint64_t)asked->remaining};
    TRY(streams_ask(&work->live->streams, &work->live->spec.stopping, &work->live->curves, &ask, made, err));
    return work->is_cut ? app_go_on(work->app, work->caller, err) : STATUS_OK;
}

static enum status check_suggestion(struct work *work, const struct row_made *row, bool *same, struct error *err)
{
    const struct ask_inputs *asked = row->asked.bytes;
    const char              *why = asked == NULL                                                 ? "not_recorded"
                                   : asked->is_late != 0 || same_text(row->fallback, "deadline") ? "deadline"
                                                                                                 : NULL;
    struct proposal         *made = ARENA_NEW(work->caller->arena, struct proposal, 1);
    if (made == NULL)
        return error_no_memory(err);
    if (why != NULL) {
        skip(work, row, why);
        return STATUS_OK;
    }
    bool is_gain_same;
    TRY(same_gain(work, row, &is_gain_same, err));
    enum status status = ask_again(work, row, made, err);
    if (status == STATUS_CONFLICT) { // nothing is left to propose
        differs(work, row,
                (struct verify_item){.what = "point", .recorded = NAN, .recomputed = NAN, .cause = "content"});
        status = STATUS_OK;
    } else if (status == STATUS_OK) {
        bool was_short = same_text(row->fallback, "memory"), is_short = same_text(made->fallback, "memory");
        if (is_short && !was_short)
            return error_no_memory(err);
        if (was_short && !is_short) {
            skip(work, row, "memory");
            return STATUS_OK;
        }
        *same = is_gain_same && compare(work, row, made);
        if (!isnan(row->model_mean))
            work->out->seen = row->seen;
    }
    if (status == STATUS_OK)
        work->out->suggestions++;
    return status;
}

static enum status check_decision(struct work *work, const struct row_made *row, bool *same, struct error *err)
{
    const struct spec       *spec = &work->live->spec;
    double                   values[METRICS_MAX];
    const struct measurement measurement = {.trial = (uint64_t)row->trial,
                                            .step = (size_t)row->step,
                                            .value = spec_sign(spec) * row->measured,
                                            .values = spec_measured(spec, row->measured_outcome.bytes, values)};
    struct verdict          *made = ARENA_NEW(work->caller->arena, struct verdict, 1);
    if (made == NULL)
        return error_no_memory(err);
    if (same_text(row->reason, "no_rule")) {
        skip(work, row, "imported");
        return STATUS_OK;
    }
    TRY(spec->stopping.kind == STOP_RULE_OWN
            ? spec->policy->judge(work->live->streams.session, &measurement, made, err)
            : stop_rule_judge(&spec->stopping, &work->live->curves, &measurement, made, work->caller->arena, err));
    *same = (row->stop != 0) == made->stop && same_text(row->reason, made->reason) &&
            row->next_step == (int64_t)made->next_step && same_bytes(&row->measured_note, made->note, made->note_bytes);
    if (!*same)
        differs(work, row,
                (struct verify_item){.what = "decision",
                                     .recorded = (double)(row->stop != 0),
                                     .recomputed = (double)made->stop,
                                     .cause = "content"});
    work->out->decisions++;
    work->out->seen = row->revision;
    return STATUS_OK;
}

/* That the rule went on with this trial: it saw all of the log before. */
static enum status check_resumed(struct work *work, const struct row_made *row, bool *same, struct error *err)
{
    const struct curve *curve;
    TRY(stop_rule_resume(&work->live->spec.stopping, &work->live->curves, &curve, work->caller->arena, err));
    double trial = curve == NULL ? (double)NAN : (double)curve->trial;
    *same = (double)row->trial == trial;
    if (!*same)
        differs(work, row,
                (struct verify_item){
                    .what = "decision", .recorded = (double)row->trial, .recomputed = trial, .cause = "content"});
    work->out->decisions++;
    work->out->seen = row->revision;
    return STATUS_OK;
}

static enum status check_one(struct work *work, const struct row_made *row, struct error *err)
{
    bool                    is_resumed = same_text(row->kind, "trial.resumed");
    bool                    is_decision = row->step > 0 || is_resumed, same = false;
    int64_t                 before = row->measured_seen > 0 ? row->measured_seen : row->revision - 1;
    const struct session_at at = {.seen = is_decision ? before : row->seen,
                                  .made = is_decision ? before + 1 : row->revision, // no batch
                                  .space_revision = work->out->study.space_revision,
                                  .space = space_at(work, row->revision)};
    if (at.space != NULL && at.space->spec == NULL) {
        skip(work, row, "space_grew");
        return STATUS_OK;
    }
    TRY(session_replay(work->app, work->live, &at, err));
    TRY(is_resumed    ? check_resumed(work, row, &same, err)
        : is_decision ? check_decision(work, row, &same, err)
                      : check_suggestion(work, row, &same, err));
    work->out->same += same;
    return STATUS_OK;
}

static double price_one(const struct work *work)
{
    struct price_model model = price_model_of(&work->out->study);
    model.pending = 0;
    return price_verify(work->app, &model, (double)(work->row.trial - 1));
}

/* In a slot, which is given back after each. */
static enum status check_in_turn(struct work *work, struct error *err)
{
    double price_ms = price_one(work);
    TRY(slots_enter(work->app, work->caller, price_ms, err));
    enum status status = check_one(work, &work->row, err);
    price_learn_part(work->app, PRICE_VERIFY, price_ms,
                     slots_leave(work->app, work->caller, work->out->study.spec.policy->name));
    return status;
}

/* ---- a page ---- */

/* Reads row by row: points may be images. */
static enum status read_row(struct db_conn *conn, void *arg, struct error *err)
{
    struct work   *work = arg;
    struct db_rows rows;
    TRY(db_find(conn, work->caller->arena, &rows, err, SQL_EVENT_MADE, BIND(TEXT(work->id), INT(work->after), INT(1))));
    work->has_row = row_made(&rows) != NULL;
    if (work->has_row)
        work->row = *row_made(&rows);
    return STATUS_OK;
}

/* The rows compared before the time ended are a page; none is an error. */
static enum status check_page(struct work *work, struct error *err)
{
    struct arena *arena = work->caller->arena;
    for (int64_t i = 0;; i++) {
        struct arena_mark mark = arena_mark(arena);
        TRY(db_read(work->app->db, read_row, work, err));
        if (!work->has_row)
            return STATUS_OK;
        bool        is_over = i == work->limit || (i > 0 && work->app->monotonic_ms() >= work->stop_ms);
        enum status status = is_over ? STATUS_OK : check_in_turn(work, err);
        arena_release(arena, mark);
        is_over = is_over || (status == STATUS_BUSY && i > 0 && strcmp(err->code, "deadline_exceeded") == 0);
        if (is_over)
            return page_next(arena, work->after, &work->out->next_cursor, err);
        TRY(status);
        work->after = work->row.revision;
    }
}

static enum status announce(const struct work *work, struct error *err)
{
    struct price_model model = price_model_of(&work->out->study);
    double             longest_ms = 1000 * VERIFY_SECONDS;
    int64_t            total = work->out->study.trials_total, count = total < work->limit ? total + 1 : work->limit;
    model.news = (double)work->out->study.revision;
    double price_ms = price_tell(work->app, &model) + price_batch(work->app, &model, count);
    return slots_announce(work->caller, fmin(price_ms, longest_ms), err);
}

static enum status prepare(struct work *work, struct error *err)
{
    struct arena *arena = work->caller->arena;
    work->out->different = ARENA_NEW(arena, struct verify_item, VERIFY_LISTED);
    work->out->skipped = ARENA_NEW(arena, struct verify_item, VERIFY_LISTED);
    if (work->out->different == NULL || work->out->skipped == NULL)
        return error_no_memory(err);
    if (work->out->study.space_revision > 0)
        TRY(db_read(work->app->db, read_former, work, err));
    return session_alone(work->app, work->caller, work->id, &work->live, err);
}

static enum status try_page(struct work *work, const char *cursor, struct error *err)
{
    *work->out = (struct verify_report){0};
    TRY(study_find(work->app, work->caller, work->id, &work->out->study, err));
    TRY(page_after(cursor, &work->after, err));
    TRY(announce(work, err));
    TRY(prepare(work, err));
    enum status status = check_page(work, err);
    session_alone_end(work->app, work->live);
    return status;
}

static enum status read_space_revision(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    struct study now;
    TRY(rows_study_get(conn, work->id, work->caller->arena, &now, err));
    work->space_revision = now.space_revision;
    return STATUS_OK;
}

/* Each comparison reads the store as it is then.  Lines that were read stay, but a space that grew meanwhile changed all
 * points: what was compared before and after that would be of two spaces, so the page begins anew. */
enum status study_verify(struct app *app, struct caller *caller, const char *study, const struct page *page,
                         struct verify_report *out, struct error *err)
{
    struct work  work = {.app = app, .caller = caller, .id = study, .out = out, .limit = page_limit(page->limit)};
    struct error why;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        work.stop_ms = app->monotonic_ms() + 1000 * VERIFY_SECONDS;
        caller->space_of[0] = '\0'; // any space will do now
        enum status status = try_page(&work, page->cursor, &why);
        TRY(db_read(app->db, read_space_revision, &work, err));
        if (work.space_revision == out->study.space_revision && status != STATUS_OK && err != NULL)
            *err = why;
        if (work.space_revision == out->study.space_revision)
            return status;
    }
    return error_set(err, STATUS_BUSY, "busy", "", "the space grew while it was compared");
}
