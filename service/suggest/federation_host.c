/* See federation_host.h. */
#include "service/suggest/federation_host.h"

#include "service/app/home.h"
#include "service/app/price.h"
#include "service/app/slots.h"
#include "service/codec/codec_federation.h"
#include "service/codec/codec_spec.h"

#include <stdio.h>
#include <string.h>

/* ---- a new study ---- */

static enum status check_study(const struct federation *federation, const struct spec *study, struct error *err)
{
    const struct spec *own = &federation->spec.study;
    if (study->policy != own->policy)
        return error_set(err, STATUS_INVALID, "wrong_algorithm", "/algorithm/name", "the federation's algorithm is %s",
                         own->policy->name);
    TRY(codec_federation_fits(&federation->spec, study, err));
    if (federation->spec.aggregation == FEDERATION_SECURE && federation->round <= SECURE_ROUNDS)
        return error_set(
            err, STATUS_INVALID, "bad_combination", "/algorithm/federation",
            "the server must not see a vector of a secure federation: a study on it can read the release, and "
            "join after it");
    for (size_t i = 0; own->policy->options[i].name != NULL; i++)
        if (memcmp(&study->options[i], &own->policy->options[i].fallback, sizeof(double)) != 0)
            return error_set(err, STATUS_INVALID, "bad_combination", "/algorithm",
                             "option %s follows from the federation", own->policy->options[i].name);
    return STATUS_OK;
}

static enum status take_seat(struct db_conn *conn, const struct task *task, struct federation *federation,
                             int64_t *seat, struct error *err)
{
    const struct study *study = &task->study;
    int64_t             changes = 0;
    if (*seat > 0) {
        TRY(db_exec(conn, &changes, err, SQL_FEDERATION_AGENT_HOST,
                    BIND(TEXT(federation->id), INT(*seat), TEXT(study->id))));
        return changes == 1
                   ? STATUS_OK
                   : error_set(err, STATUS_CONFLICT, "seat_taken", "/algorithm/seat",
                               "seat %lld is not registered, or an agent or another study has it", (long long)*seat);
    }
    struct federation_agent agent = {.name = study->name, .token_id = "", .study = study->id};
    TRY(federation_seat(conn, federation, &agent, task->caller->token_id, task->now_ms, err));
    *seat = agent.seat;
    return STATUS_OK;
}

enum status federation_host(struct db_conn *conn, struct task *task, const struct study_new *new,
                            const char **spec_text, struct error *err)
{
    struct spec      *spec = &task->study.spec;
    struct arena     *arena = task->caller->arena;
    struct federation federation;
    enum status       status = home_check_in(conn, task->caller, "federation", new->spec.federation, err);
    if (status == STATUS_OK)
        status = federation_get(conn, new->spec.federation, arena, &federation, err);
    if (status == STATUS_NOT_FOUND)
        return error_set(err, STATUS_INVALID, "unknown_federation", "/algorithm/federation",
                         "there is no such federation");
    TRY(status);
    TRY(check_study(&federation, &new->spec, err));
    double *options = ARENA_NEW(arena, double, policy_options_len(spec->policy));
    if (options == NULL)
        return error_no_memory(err);
    spec->seat = new->spec.seat;
    TRY(take_seat(conn, task, &federation, &spec->seat, err));
    federation_options(&federation.spec, spec->seat, options);
    spec->options = options;
    *spec_text = codec_spec_text(spec, arena);
    return *spec_text == NULL ? error_no_memory(err) : STATUS_OK;
}

/* ---- a round ---- */

struct sync {
    struct app               *app;
    struct caller            *caller;
    struct live              *live;
    struct federation         federation;
    struct federation_message message;
    struct federation_receipt receipt;
};

static enum status send(struct db_conn *conn, void *arg, struct error *err)
{
    struct sync                     *sync = arg;
    const struct federation_delivery delivery = {
        .app = sync->app, .federation = &sync->federation, .message = &sync->message, .arena = sync->caller->arena};
    TRY(federation_get(conn, sync->live->spec.federation, sync->caller->arena, &sync->federation, err));
    return federation_take(conn, &delivery, &sync->receipt, err);
}

/* A message that comes too late, or that was sent before, is none. */
static enum status send_open(struct sync *sync, struct error *err)
{
    struct live *live = sync->live;
    size_t       features = sync->federation.spec.features;
    int64_t      round = sync->federation.round;
    double      *vector = ARENA_NEW(sync->caller->arena, double, features);
    if (sync->federation.state != FEDERATION_ACTIVE || live->sent >= round)
        return STATUS_OK;
    if (vector == NULL)
        return error_no_memory(err);
    const struct price_model model = {.spec = &live->spec, .values = (double)live->observations};
    double                   price_ms = price_message(sync->app, &model);
    TRY(slots_enter(sync->app, sync->caller, price_ms, err));
    enum status status = live->spec.policy->message(live->streams.session, (uint64_t)round, vector, err);
    price_learn_part(sync->app, PRICE_MESSAGE, price_ms, slots_leave(sync->app, sync->caller, live->spec.policy->name));
    sync->message = (struct federation_message){.round = round,
                                                .seat = live->spec.seat,
                                                .features_sha256 = sync->federation.features_sha256,
                                                .vector = vector,
                                                .len = features};
    if (status == STATUS_OK)
        status = db_transact(sync->app->db, send, sync, err);
    if (status == STATUS_OK && !sync->receipt.is_repeat)
        atomic_fetch_add(&sync->app->counters.federation_messages, 1);
    if (status == STATUS_OK && sync->receipt.is_closed)
        federation_count_round(sync->app, &sync->federation);
    if (status == STATUS_OK || status == STATUS_CONFLICT || status == STATUS_NUMERIC)
        live->sent = round;
    return status == STATUS_CONFLICT || status == STATUS_NUMERIC ? STATUS_OK : status;
}

static enum status log_received(struct db_conn *conn, void *arg, struct error *err)
{
    struct sync *sync = arg;
    struct task  task = task_of(sync->app, sync->caller, sync->live->study);
    char         detail[64];
    snprintf(detail, sizeof detail, "%s %lld", sync->live->spec.federation, (long long)sync->federation.round - 1);
    TRY(task_open(conn, &task, err));
    TRY(task_log(conn, &task, "federation.received", 0, detail, err));
    return task_save(conn, &task, err);
}

struct seat {
    const struct live *live;
    bool               is_own;
};

static enum status find_seat(struct db_conn *conn, void *arg, struct error *err)
{
    struct seat       *seat = arg;
    const struct spec *spec = &seat->live->spec;
    struct db_rows     rows;
    TRY(db_find(conn, NULL, &rows, err, SQL_FEDERATION_IS_HOST,
                BIND(TEXT(spec->federation), INT(spec->seat), TEXT(seat->live->study))));
    seat->is_own = row_count(&rows)->count > 0;
    return STATUS_OK;
}

enum status federation_host_sync(struct app *app, struct caller *caller, const struct study *study, struct live *live,
                                 struct error *err)
{
    const struct spec *spec = &live->spec;
    struct caller      own = {.token_id = "federation", .scope = SCOPE_ADMIN, .arena = caller->arena};
    struct sync       *sync = arena_zalloc(caller->arena, 1, sizeof *sync);
    if (sync == NULL)
        return error_no_memory(err);
    *sync = (struct sync){.app = app, .caller = caller, .live = live};
    double initial = spec->options[policy_option(spec->policy, "initial")];
    bool   is_ready = live->observations > 0 && (double)live->told >= initial;
    if (federation_is_once(spec->policy) ? live->round > 0 : !is_ready)
        return STATUS_OK;
    struct seat seat = {.live = live};
    TRY(db_read(app->db, find_seat, &seat, err));
    if (!seat.is_own) // it was imported: the seat, and what may be spent there, stay with the study that it comes from
        return STATUS_OK;
    enum status status = federation_find(app, &own, spec->federation, &sync->federation, err);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    TRY(status);
    if (is_ready)
        TRY(send_open(sync, err));
    if (sync->federation.round - 1 <= live->round)
        return STATUS_OK;
    TRY(db_transact(app->db, log_received, sync, err));
    return session_catch_up(app, caller, study, live, err);
}
