/* A round of a federation.  See federation.h for what must hold.
 * Secret here: the subset, the sums, the noise before it is added; they live in the arena of the closing request, are
 * overwritten before its transaction ends, and go into no log, event or counter. */
#include "service/app/app_transact.h"
#include "service/base/npy.h"
#include "service/base/digest.h"
#include "service/federation/federation.h"
#include "service/federation/federation_secure.h"
#include "service/base/random.h"
#include "service/app/steady.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NPY_HEADER_MAX = 128 };
static const char closer[] = "federation"; /* the actor of what a deadline or a last message does */

bool federation_is_due(const struct federation *federation, int64_t steady_now_ms)
{
    bool is_late = federation->deadline_ms != 0 && steady_now_ms >= federation->deadline_ms;
    return federation->state == FEDERATION_ACTIVE &&
           (federation->received >= federation->expected || (is_late && federation->received >= federation->needed));
}

/* ---- closing ---- */

struct closing {
    struct db_conn    *conn;
    struct federation *federation;
    struct arena      *arena;
    unsigned char     *file; /* .npy */
    size_t             file_bytes, rows, columns, message_len;
    double            *values;  /* [rows][columns], then into the file */
    double            *shares;  /* of SECURE_SHARES, else NULL */
    double            *message; /* [message_len] */
    int64_t            now_ms;
};

typedef void message_fn(struct closing *closing, void *arg, size_t seat);

static enum status each_message(struct closing *closing, message_fn *take, void *arg, struct error *err)
{
    struct federation *federation = closing->federation;
    size_t             bytes = closing->message_len * sizeof(double);
    struct db_rows     rows = db_query(closing->conn, NULL, err, SQL_FEDERATION_MESSAGE_LIST,
                                       BIND(TEXT(federation->id), INT(federation->round)));
    while (db_next(&rows)) {
        const struct row_message *row = row_message(&rows);
        if (row->data.length != bytes) {
            rows.status = error_set(err, STATUS_INTERNAL, "store_corrupt", "", "a message has another length");
        } else {
            memcpy(closing->message, row->data.bytes, bytes);
            take(closing, arg, (size_t)row->seat - 1);
        }
    }
    random_wipe(closing->message, bytes);
    return db_done(&rows);
}

struct secret {
    struct broadcast plan;
    struct sampler   sampler;
    uint8_t         *subset;
    int64_t         *k, *sums, *spare; /* spare: what was not drawn goes there */
};

/* Every message costs the same time, drawn or not. */
static void add_drawn(struct closing *closing, void *arg, size_t seat)
{
    struct secret *secret = arg;
    int64_t       *sums = broadcast_has(secret->subset, seat) ? secret->sums : secret->spare;
    (void)broadcast_add(&secret->plan, seat, closing->message, secret->k, sums);
}

static enum status plan_round(const struct closing *closing, struct broadcast *plan, struct error *err)
{
    const struct federation_spec *spec = &closing->federation->spec;
    size_t                       *region_of = ARENA_NEW(closing->arena, size_t, plan->agents);
    if (region_of == NULL)
        return error_no_memory(err);
    for (size_t n = 0; n < plan->agents; n++)
        region_of[n] = federation_region(spec, (int64_t)n + 1);
    plan->region_of = region_of;
    plan->round = (uint64_t)(closing->federation->round - 1);
    return broadcast_plan(plan, err);
}

/* The only place that draws. */
static enum status aggregate(struct closing *closing, struct error *err)
{
    struct secret secret = {.plan = closing->federation->spec.broadcast};
    size_t        subset_bytes = (secret.plan.agents + 7) / 8, features = secret.plan.features;
    size_t        sums_bytes = closing->rows * features * sizeof(int64_t);
    TRY(plan_round(closing, &secret.plan, err));
    secret.subset = arena_zalloc(closing->arena, subset_bytes, 1);
    secret.k = ARENA_NEW(closing->arena, int64_t, features);
    secret.sums = arena_zalloc(closing->arena, sums_bytes, 1);
    secret.spare = arena_zalloc(closing->arena, sums_bytes, 1);
    if (secret.subset == NULL || secret.k == NULL || secret.sums == NULL || secret.spare == NULL)
        return error_no_memory(err);
    sampler_init(&secret.sampler, random_draw, NULL);
    enum status status = broadcast_draw(&secret.plan, &secret.sampler, secret.subset, err);
    if (status == STATUS_OK)
        status = each_message(closing, add_drawn, &secret, err);
    if (status == STATUS_OK)
        status = broadcast_finish(&secret.plan, secret.sums, &secret.sampler, closing->values, err);
    sampler_wipe(&secret.sampler);
    random_wipe(secret.subset, subset_bytes);
    random_wipe(secret.sums, sums_bytes);
    random_wipe(secret.spare, sums_bytes);
    random_wipe(secret.k, features * sizeof(int64_t));
    return status;
}

static void keep_last(struct closing *closing, void *arg, size_t seat)
{
    (void)arg;
    size_t features = closing->federation->spec.features;
    memcpy(closing->values + seat * features, closing->message, features * sizeof(double));
}

/* Without privacy: the vectors of the round before, and in their place those that came. */
static enum status collect(struct closing *closing, struct error *err)
{
    const struct federation *federation = closing->federation;
    struct db_rows           rows;
    TRY(db_find(closing->conn, closing->arena, &rows, err, SQL_FEDERATION_BROADCAST_GET,
                BIND(TEXT(federation->id), INT(federation->round - 1))));
    const struct row_blob *row = row_blob(&rows);
    size_t                 bytes = closing->rows * federation->spec.features * sizeof(double);
    if (row != NULL && row->data.length > bytes)
        memcpy(closing->values, (const unsigned char *)row->data.bytes + row->data.length - bytes, bytes);
    return each_message(closing, keep_last, NULL, err);
}

struct masked {
    struct secure secure;
    double       *openings; /* [seats][message_len] in the last round */
};

static void keep_masked(struct closing *closing, void *arg, size_t seat)
{
    struct masked *masked = arg;
    double        *sum = closing->values + masked->secure.seats, *to = masked->openings;
    if (closing->federation->round == SECURE_SHARES) {
        federation_secure_deal(&masked->secure, seat, closing->message, closing->values, closing->shares);
        return;
    }
    if (closing->federation->round == SECURE_VECTORS) {
        closing->values[seat] = 1;
        secure_add(&masked->secure, closing->message, sum);
        return;
    }
    if (closing->federation->round == SECURE_KEYS)
        to = closing->values;
    memcpy(to + seat * closing->message_len, closing->message, closing->message_len * sizeof *to);
}

/* A round of a secure federation: the server lays messages side by side, adds masked vectors, and takes the masks off the sum. */
static enum status add_masked(struct closing *closing, struct error *err)
{
    struct masked masked = {.secure = federation_secure(&closing->federation->spec, closing->federation->id)};
    size_t        seats = masked.secure.seats, bytes = seats * closing->message_len * sizeof(double);
    if (closing->federation->round == SECURE_SHARES) {
        closing->shares = arena_zalloc(closing->arena, seats * seats, SECURE_SHARE_LEN * sizeof(double));
        if (closing->shares == NULL)
            return error_no_memory(err);
    }
    if (closing->federation->round < SECURE_OPENINGS)
        return each_message(closing, keep_masked, &masked, err);
    masked.openings = arena_zalloc(closing->arena, bytes, 1);
    if (masked.openings == NULL)
        return error_no_memory(err);
    enum status status = each_message(closing, keep_masked, &masked, err);
    if (status == STATUS_OK)
        status =
            federation_secure_sum(closing->conn, &masked.secure, masked.openings, closing->values, closing->arena, err);
    random_wipe(masked.openings, bytes);
    return status;
}

/* The reason of an end without a sum; NULL: another failure. */
static const char *why_no_sum(const struct error *err)
{
    static const char *const reasons[] = {"openings_disagree", "sum_impossible"};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (err->status == STATUS_CONFLICT && strcmp(err->code, reasons[i]) == 0)
            return reasons[i];
    return NULL;
}

static enum status fill(struct closing *closing, struct error *err)
{
    const struct federation_spec *spec = &closing->federation->spec;
    bool                          is_secure = spec->aggregation == FEDERATION_SECURE;
    closing->rows = spec->is_private ? spec->broadcast.regions : (size_t)spec->seats;
    closing->columns = closing->message_len = spec->features;
    if (is_secure) {
        const struct secure secure = federation_secure(spec, closing->federation->id);
        enum secure_round   round = (enum secure_round)closing->federation->round;
        closing->message_len = secure_message_len(&secure, round);
        secure_shape(&secure, round, &closing->rows, &closing->columns);
    }
    size_t numbers = closing->rows * closing->columns;
    closing->file = arena_alloc(closing->arena, NPY_HEADER_MAX + numbers * sizeof(double), 1);
    closing->values = arena_zalloc(closing->arena, numbers, sizeof(double));
    closing->message = ARENA_NEW(closing->arena, double, closing->message_len);
    if (closing->file == NULL || closing->values == NULL || closing->message == NULL)
        return error_no_memory(err);
    TRY(is_secure ? add_masked(closing, err) : spec->is_private ? aggregate(closing, err) : collect(closing, err));
    size_t head = npy_write_header(closing->rows, closing->columns, NPY_F8, closing->file);
    memcpy(closing->file + head, closing->values, numbers * sizeof(double));
    closing->file_bytes = head + numbers * sizeof(double);
    return STATUS_OK;
}

/* The debit, then what it pays for, in the same transaction. */
static enum status store(struct closing *closing, double total, struct error *err)
{
    struct federation *federation = closing->federation;
    bool               is_private = federation->spec.is_private;
    double             before = federation->epsilon;
    char               digest[SHA256_HEX_BYTES];
    int64_t            changes = 0;
    sha256_hex(closing->file, closing->file_bytes, digest);
    TRY(db_exec(closing->conn, NULL, err, SQL_FEDERATION_LEDGER_ADD,
                BIND(TEXT(federation->id), INT(federation->round),
                     TEXT(is_private && total > before ? "discrete-gaussian" : "none"),
                     REAL(is_private ? total - before : (double)NAN),
                     REAL(is_private ? federation->spec.delta : (double)NAN), REAL(is_private ? total : (double)NAN),
                     TEXT(digest), INT(closing->now_ms))));
    TRY(db_exec(closing->conn, NULL, err, SQL_FEDERATION_BROADCAST_ADD,
                BIND(TEXT(federation->id), INT(federation->round), INT(federation->received),
                     BLOB(closing->file, closing->file_bytes), INT(closing->now_ms))));
    TRY(db_exec(closing->conn, NULL, err, SQL_FEDERATION_MESSAGE_DROP,
                BIND(TEXT(federation->id), INT(federation->round))));
    if (closing->shares != NULL) {
        const struct secure secure = federation_secure(&federation->spec, federation->id);
        TRY(federation_secure_hand_out(closing->conn, &secure, closing->shares, closing->now_ms, err));
    }
    TRY(db_exec(closing->conn, &changes, err, SQL_FEDERATION_ROUND,
                BIND(TEXT(federation->id), INT(federation->round), INT(federation->round + 1), REAL(total),
                     INT(closing->now_ms))));
    if (changes != 1)
        return error_set(err, STATUS_BUSY, "busy", "", "the round was closed meanwhile");
    return federation_log(closing->conn, "round.closed", federation->id, federation->round,
                          &(struct federation_by){.actor = closer, .at_ms = closing->now_ms}, err);
}

/* After a round: whether there is another one, and it can be paid. */
static enum status go_on(struct closing *closing, struct error *err)
{
    struct federation *federation = closing->federation;
    double             next = 0;
    if (federation->round > federation->spec.rounds)
        return federation_set_state(closing->conn, federation, FEDERATION_COMPLETED, "rounds_completed",
                                    &(struct federation_by){.actor = closer, .at_ms = closing->now_ms}, err);
    TRY(federation_cost(&federation->spec, federation->round, &next, closing->arena, err));
    if (!federation->spec.is_private || next <= federation->spec.epsilon)
        return STATUS_OK;
    return federation_set_state(closing->conn, federation, FEDERATION_COMPLETED, "privacy_budget_exhausted",
                                &(struct federation_by){.actor = closer, .at_ms = closing->now_ms}, err);
}

/* In the caller's transaction: ledger, broadcast, messages, next round or the end. */
static enum status close_round(struct db_conn *conn, struct app *app, struct federation *federation,
                               struct arena *arena, struct error *err)
{
    struct closing    closing = {.conn = conn, .federation = federation, .arena = arena, .now_ms = app->now_ms()};
    struct arena_mark mark = arena_mark(arena);
    double            total = 0;
    TRY(app_check_store(app, err));
    TRY(federation_cost(&federation->spec, federation->round, &total, arena, err));
    total = fmax(total, federation->epsilon); // what was once promised for fewer rounds does not become less
    if (federation->spec.is_private && total > federation->spec.epsilon) // never: go_on has asked before
        return federation_set_state(conn, federation, FEDERATION_COMPLETED, "privacy_budget_exhausted",
                                    &(struct federation_by){.actor = closer, .at_ms = closing.now_ms}, err);
    enum status status = fill(&closing, err);
    if (status != STATUS_OK && why_no_sum(err) != NULL)
        return federation_set_state(conn, federation, FEDERATION_COMPLETED, why_no_sum(err),
                                    &(struct federation_by){.actor = closer, .at_ms = closing.now_ms}, err);
    TRY(status);
    TRY(store(&closing, total, err));
    arena_release(arena, mark);
    federation->epsilon = total;
    federation->round++;
    federation->version++;
    federation->received = federation->deadline_ms = 0;
    federation->updated_ms = closing.now_ms;
    if (federation->spec.aggregation == FEDERATION_SECURE)
        TRY(federation_secure_expect(conn, federation, err));
    return go_on(&closing, err);
}

void federation_count_round(struct app *app, const struct federation *federation)
{
    atomic_fetch_add(&app->counters.federation_rounds, 1);
    atomic_fetch_add(&app->counters.federation_seats, (uint64_t)federation->spec.seats);
    if (federation->spec.is_private)
        db_scrub(app->db);
}

/* ---- messages ---- */

static enum status over(const struct federation *federation, struct error *err)
{
    return error_state(err, "federation", "completed", federation->reason);
}

static enum status check_message(const struct federation *federation, const struct federation_message *message,
                                 struct error *err)
{
    char          where[32];
    size_t        wanted = federation->spec.features;
    bool          is_secure = federation->spec.aggregation == FEDERATION_SECURE;
    struct secure secure = federation_secure(&federation->spec, federation->id);
    if (is_secure && message->round >= SECURE_KEYS && message->round <= SECURE_ROUNDS)
        wanted = secure_message_len(&secure, (enum secure_round)message->round);
    if (strcmp(message->features_sha256, federation->features_sha256) != 0)
        return error_set(err, STATUS_INVALID, "wrong_features", "",
                         "the message was made with other random features than the federation's");
    if (message->len != wanted)
        return error_set(err, STATUS_INVALID, "wrong_length", "", "a message has %zu numbers, not %zu", wanted,
                         message->len);
    for (size_t i = 0; i < message->len; i++) {
        snprintf(where, sizeof where, "/%zu", i);
        if (!isfinite(message->vector[i]))
            return error_set(err, STATUS_INVALID, "not_finite", where, "must be a finite number");
        if (is_secure && !secure_are_words(message->vector + i, 1))
            return error_set(err, STATUS_INVALID, "out_of_range", where, "must be an integer from 0 to 4294967295");
    }
    return STATUS_OK;
}

static enum status check_round(const struct federation *federation, int64_t round, struct error *err)
{
    if (round < federation->round)
        return error_set(err, STATUS_CONFLICT, "round_closed", "", "round %lld is closed; %s", (long long)round,
                         federation->state == FEDERATION_COMPLETED ? "the federation is over"
                                                                   : "send for the open one");
    if (federation->state == FEDERATION_COMPLETED)
        return over(federation, err);
    if (federation->state == FEDERATION_PAUSED)
        return error_state(err, "federation", "paused", NULL);
    if (round > federation->round)
        return error_set(err, STATUS_CONFLICT, "round_not_open", "", "round %lld is the open one",
                         (long long)federation->round);
    return STATUS_OK;
}

static enum status find_message(struct db_conn *conn, const struct federation_delivery *delivery, bool *is_repeat,
                                struct error *err)
{
    const struct federation_message *message = delivery->message;
    struct db_rows                   rows;
    TRY(db_find(conn, delivery->arena, &rows, err, SQL_FEDERATION_MESSAGE_GET,
                BIND(TEXT(delivery->federation->id), INT(message->round), INT(message->seat))));
    const struct row_blob *row = row_blob(&rows);
    size_t                 length = message->len * sizeof(double);
    *is_repeat = row != NULL && row->data.length == length && memcmp(row->data.bytes, message->vector, length) == 0;
    return row == NULL || *is_repeat ? STATUS_OK
                                     : error_set(err, STATUS_CONFLICT, "message_conflict", "",
                                                 "another message of this agent is there already");
}

enum status federation_take(struct db_conn *conn, const struct federation_delivery *delivery,
                            struct federation_receipt *out, struct error *err)
{
    struct app                      *app = delivery->app;
    struct federation               *federation = delivery->federation;
    const struct federation_message *message = delivery->message;
    int64_t                          now_ms = app->now_ms();
    *out = (struct federation_receipt){.round = message->round, .seat = message->seat};
    TRY(check_message(federation, message, err));
    TRY(check_round(federation, message->round, err));
    TRY(find_message(conn, delivery, &out->is_repeat, err));
    if (out->is_repeat)
        return STATUS_OK;
    if (federation->spec.aggregation == FEDERATION_SECURE)
        TRY(federation_secure_check(conn, federation, message, delivery->arena, err));
    federation->version++;
    if (federation->received++ == 0)
        federation->deadline_ms = steady_ms(app) + federation->spec.round_ms;
    TRY(db_exec(conn, NULL, err, SQL_FEDERATION_MESSAGE_ADD,
                BIND(TEXT(federation->id), INT(message->round), INT(message->seat),
                     BLOB(message->vector, message->len * sizeof(double)), INT(now_ms))));
    TRY(db_exec(conn, NULL, err, SQL_FEDERATION_RECEIVED,
                BIND(TEXT(federation->id), INT(federation->received), INT(federation->deadline_ms), INT(now_ms))));
    out->is_closed = federation->received >= federation->expected;
    return out->is_closed ? close_round(conn, app, federation, delivery->arena, err) : STATUS_OK;
}

struct work {
    struct app                      *app;
    struct caller                   *caller;
    const char                      *id;
    struct federation               *federation;
    const struct federation_message *message;
    struct federation_receipt       *receipt;
    struct federation_file          *file;
    struct federation_round_page    *page;
    int64_t                          round, after, limit;
    bool                             is_closed; /* a round was */
};

static enum status find(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    return federation_get(conn, work->id, work->caller->arena, work->federation, err);
}

/* A round whose deadline has passed is closed by whoever comes next. */
static enum status close_due(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    TRY(find(conn, arg, err));
    work->is_closed = federation_is_due(work->federation, steady_ms(work->app));
    if (!work->is_closed)
        return STATUS_OK;
    return close_round(conn, work->app, work->federation, work->caller->arena, err);
}

enum status federation_find(struct app *app, struct caller *caller, const char *id, struct federation *out,
                            struct error *err)
{
    struct work work = {.app = app, .caller = caller, .id = id, .federation = out};
    TRY(caller_sees(caller, "federation", id, err));
    TRY(db_read(app->db, find, &work, err));
    if (!federation_is_due(out, steady_ms(app)))
        return STATUS_OK;
    TRY(db_transact(app->db, close_due, &work, err));
    if (work.is_closed)
        federation_count_round(app, out);
    return STATUS_OK;
}

static enum status send(struct db_conn *conn, void *arg, struct error *err)
{
    struct work                     *work = arg;
    const struct federation_delivery delivery = {
        .app = work->app, .federation = work->federation, .message = work->message, .arena = work->caller->arena};
    TRY(federation_get(conn, work->federation->id, work->caller->arena, work->federation, err));
    return federation_take(conn, &delivery, work->receipt, err);
}

enum status federation_send(struct app *app, struct caller *caller, const char *id,
                            const struct federation_message *message, struct federation_receipt *out, struct error *err)
{
    struct federation federation;
    struct work work = {.app = app, .caller = caller, .federation = &federation, .message = message, .receipt = out};
    char        seat[24];
    snprintf(seat, sizeof seat, "%lld", (long long)message->seat);
    TRY(federation_find(app, caller, id, &federation, err));
    if (caller->scope != SCOPE_AGENT || strcmp(caller->resource, id) != 0 || strcmp(caller->agent, seat) != 0)
        return error_set(err, STATUS_FORBIDDEN, "other_agent", "", "only the agent's own token sends its messages");
    TRY(app_transact(app, caller, send, &work, err));
    atomic_fetch_add(&app->counters.federation_messages, out->is_repeat ? 0 : 1);
    if (out->is_closed)
        federation_count_round(app, &federation);
    return STATUS_OK;
}

/* ---- what is shown ---- */

static enum status read_broadcast(struct db_conn *conn, void *arg, struct error *err)
{
    struct work            *work = arg;
    struct federation_file *file = work->file;
    struct db_rows          rows;
    TRY(db_find(conn, work->caller->arena, &rows, err, SQL_FEDERATION_BROADCAST_GET,
                BIND(TEXT(work->federation->id), INT(work->round))));
    const struct row_blob *row = row_blob(&rows);
    if (row == NULL)
        return error_set(err, STATUS_NOT_FOUND, "round_not_found", "", "there is no such round");
    *file = (struct federation_file){.bytes = row->data.bytes, .length = row->data.length};
    const struct caller *caller = work->caller;
    bool is_member = caller->scope == SCOPE_AGENT && strcmp(caller->resource, work->federation->id) == 0;
    if (work->federation->spec.aggregation == FEDERATION_SECURE && work->round == SECURE_SHARES && is_member)
        TRY(federation_secure_column(conn, work->federation, strtoll(caller->agent, NULL, 10), file, caller->arena,
                                     err));
    sha256_hex(file->bytes, file->length, file->sha256);
    return STATUS_OK;
}

enum status federation_broadcast(struct app *app, struct caller *caller, const char *id, int64_t round,
                                 struct federation_file *out, struct error *err)
{
    struct federation federation;
    struct work       work = {.caller = caller, .federation = &federation, .file = out, .round = round};
    TRY(federation_find(app, caller, id, &federation, err));
    if (round == federation.round && federation.state == FEDERATION_COMPLETED)
        return over(&federation, err);
    if (round == federation.round)
        return error_set(err, STATUS_CONFLICT, "round_open", "", "%lld of %lld agents have sent",
                         (long long)federation.received, (long long)federation.spec.seats);
    return db_read(app->db, read_broadcast, &work, err);
}

static enum status list_rounds(struct db_conn *conn, void *arg, struct error *err)
{
    struct work                  *work = arg;
    struct federation_round_page *out = work->page;
    struct arena                 *arena = work->caller->arena;
    out->len = 0;
    out->next_cursor = NULL;
    out->rounds = ARENA_NEW(arena, struct federation_round, (size_t)work->limit);
    if (out->rounds == NULL)
        return error_no_memory(err);
    struct db_rows rows = db_query(conn, arena, err, SQL_FEDERATION_ROUNDS,
                                   BIND(TEXT(out->federation.id), INT(work->after), INT(work->limit + 1)));
    while (db_next(&rows) && (int64_t)out->len < work->limit) {
        const struct row_round *row = row_round(&rows);
        out->rounds[out->len++] = (struct federation_round){.round = row->round,
                                                            .messages = row->messages,
                                                            .mechanism = row->mechanism,
                                                            .sha256 = row->sha256,
                                                            .epsilon = row->epsilon,
                                                            .total = row->total,
                                                            .at_ms = row->at_ms};
    }
    if (rows.has_row)
        rows.status = page_next(arena, out->rounds[out->len - 1].round, &out->next_cursor, err);
    return db_done(&rows);
}

enum status federation_rounds(struct app *app, struct caller *caller, const char *id, const struct page *page,
                              struct federation_round_page *out, struct error *err)
{
    struct work work = {.caller = caller, .page = out, .limit = page_limit(page->limit)};
    *out = (struct federation_round_page){0};
    TRY(page_after(page->cursor, &work.after, err));
    TRY(federation_find(app, caller, id, &out->federation, err));
    return db_read(app->db, list_rounds, &work, err);
}
