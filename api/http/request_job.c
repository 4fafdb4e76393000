/* See request_job.h. */
#include "api/http/request_job.h"

#include "api/core/dispatch.h"
#include "api/core/reply.h"

#include <stdio.h>
#include <string.h>

/* Hands on the turn to the next request that waits for it.  The lock is held. */
static void end_turn(struct request *request)
{
    struct requests *shared = request->shared;
    if (request->turn == NULL)
        return;
    struct request *next = shared->following;
    while (next != NULL && !(request_is_due(next) && request_has_turn(next)))
        next = next->next;
    if (next == NULL || request_submit_again(next))
        return;
    shared->is_urgent = true;
    pthread_cond_signal(&shared->happened);
}

static bool unlink_running(struct request *request)
{
    struct requests *shared = request->shared;
    pthread_mutex_lock(&shared->lock);
    bool linked = !request->abandoned;
    if (linked) {
        request_unlink(&shared->running, request);
        end_turn(request);
    }
    pthread_mutex_unlock(&shared->lock);
    return linked;
}

/* The stage a worker is to run; false: none, the request was taken from it.  From then on the stage is the connection's own
 * again, so it is read here and not later. */
static bool find_stage(struct request *request, enum stage *stage)
{
    pthread_mutex_lock(&request->shared->lock);
    bool abandoned = request->abandoned;
    *stage = abandoned ? STAGE_SENT : request->stage;
    pthread_mutex_unlock(&request->shared->lock);
    return !abandoned;
}

static void link_running(struct request *request)
{
    struct requests *shared = request->shared;
    pthread_mutex_lock(&shared->lock);
    request_link(&shared->running, request);
    pthread_mutex_unlock(&shared->lock);
}

void request_abandon_all(struct requests *requests)
{
    for (;;) {
        pthread_mutex_lock(&requests->lock);
        struct request *request = requests->running;
        if (request != NULL) {
            request->abandoned = true;
            atomic_store(&request->call.has_left, true); // ends its computation
            request_unlink(&requests->running, request);
        }
        pthread_mutex_unlock(&requests->lock);
        if (request == NULL)
            return;
        MHD_resume_connection(request->connection);
    }
}

/* Failures of others never count against a valid token: the failures from the address are counted only once the token is
 * found invalid. */
enum status request_authorise(struct request *request, bool cached_only, struct error *err)
{
    struct requests *shared = request->shared;
    enum status      status = dispatch_authorise(&request->call, cached_only, err);
    if (status != STATUS_UNAUTHORISED || request->call.token == NULL)
        return status;
    atomic_fetch_add(&shared->traffic.refused_auth, 1);
    if (conns_is_blocked(shared->conns, &request->call.address))
        return error_set(err, STATUS_UNAUTHORISED, "too_many_requests", "",
                         "too many invalid tokens from this address");
    conns_count_failure(shared->conns, &request->call.address);
    return status;
}

/* Runs a following request again, unless its token was revoked. */
static void run_again(struct request *request)
{
    struct call *call = &request->call;
    struct error error;
    arena_release(&call->arena, request->before_pieces);
    request->streamed = 0;
    if (request_authorise(request, false, &error) == STATUS_OK) {
        request->failed = !dispatch_again(call);
        return;
    }
    request->failed = true;
    call->follow.again = NULL;
    call->reply.length = 0;
    if (!call->follow.is_stream)
        reply_problem(call, &error);
}

/* It will not be asked again. */
static bool is_at_end(const struct request *request)
{
    return call_is_over(&request->call) || request->shared->app->monotonic_ms() >= request->call.follow.until_ms;
}

bool request_is_due(const struct request *request)
{
    struct requests *shared = request->shared;
    int64_t          look_ms = request->call.follow.look_ms;
    return request->seen != atomic_load(&shared->commits) || is_at_end(request) ||
           (look_ms > 0 && shared->app->monotonic_ms() >= look_ms);
}

bool request_has_turn(const struct request *request)
{
    if (request->turn == NULL || is_at_end(request))
        return true;
    for (const struct request *other = request->shared->running; other != NULL; other = other->next)
        if (other->turn != NULL && strcmp(other->turn, request->turn) == 0)
            return false;
    return true;
}

/* Whether a refusal of `request` answers `other`, too: a like request of the same token that has not looked since. */
static bool is_told(const struct request *other, const struct request *request)
{
    const struct follow *own = &request->call.follow, *its = &other->call.follow;
    return other->turn != NULL && strcmp(other->turn, request->turn) == 0 && own->is_alike && its->is_alike &&
           strcmp(other->call.caller.token_id, request->call.caller.token_id) == 0 && other->seen < request->seen;
}

static void tell_others(const struct request *request)
{
    for (struct request *other = request->shared->following; other != NULL; other = other->next)
        if (is_told(other, request))
            other->seen = request->seen;
}

/* Links the request by age, the oldest first. */
static void link_by_age(struct request **list, struct request *request)
{
    struct request *before = NULL, *next = *list;
    for (; next != NULL && next->started_us < request->started_us; next = next->next)
        before = next;
    request->before = before;
    request->next = next;
    if (next != NULL)
        next->before = request;
    *(before != NULL ? &before->next : list) = request;
}

/* Links a request that follows; commits since its answer wake it at once.  The lock is held. */
static void link_following(struct request *request)
{
    struct requests *shared = request->shared;
    request->waits_us = request_now_us();
    request->turn = request->call.follow.turn;
    if (request->turn != NULL)
        tell_others(request);
    link_by_age(&shared->following, request);
    if (request_is_due(request)) {
        shared->is_urgent = true;
        pthread_cond_signal(&shared->happened);
    }
}

/* Unless it was taken from the worker. */
static void wait_on(struct request *request)
{
    struct requests *shared = request->shared;
    pthread_mutex_lock(&shared->lock);
    if (!request->abandoned) {
        request_watch(request, true); // one that is short is not, until it waits
        request_unlink(&shared->running, request);
        link_following(request);
        end_turn(request);
    }
    pthread_mutex_unlock(&shared->lock);
}

/* Whether the answer is not complete and has nothing to send yet. */
static bool is_to_wait(const struct request *request, enum stage stage)
{
    const struct call *call = &request->call;
    bool               has_begun = stage == STAGE_FOLLOW || !call->follow.is_stream;
    return !request->failed && call->follow.again != NULL && call->reply.length == 0 && has_begun;
}

static void run_job(void *arg);

static struct workers_job job_of(struct request *request, enum route_lane lane)
{
    size_t             bytes = request->declared > 0 ? (size_t)request->declared : request->call.body_bytes;
    struct workers_job job = {.run = run_job, .arg = request, .lane = lane, .owner = "", .bytes = bytes};
    snprintf(job.owner, sizeof job.owner, "%s", request->call.caller.token_id);
    snprintf(job.project, sizeof job.project, "%s", request->call.caller.project);
    return job;
}

static enum status submit(struct requests *shared, const struct workers_job *job, struct error *err)
{
    return workers_submit(job->lane == LANE_SHORT ? shared->workers : shared->long_workers, job, err);
}

/* Defers a request whose handler found a long computation: it is asked again in its turn, and its reading is forgotten.
 * False: too many requests are deferred, and the reply says so. */
static bool defer(struct request *request, struct arena_mark before)
{
    struct call       *call = &request->call;
    struct workers_job job = job_of(request, LANE_COMPUTE);
    struct error       error;
    job.cost = call->caller.spent.price_ms;
    arena_release(&call->arena, before);
    call->problems = (struct problems){.arena = &call->arena};
    call->caller.is_deferred = call->caller.may_defer = false;
    call->caller.space_of[0] = '\0';
    call->reply = (struct reply){0};
    atomic_fetch_add(&request->shared->traffic.queued, 1);
    if (submit(request->shared, &job, &error) == STATUS_OK)
        return true;
    atomic_fetch_sub(&request->shared->traffic.queued, 1);
    reply_problem(call, &error);
    return false;
}

/* True: it was deferred. */
static bool run_handler(struct request *request)
{
    struct call      *call = &request->call;
    struct arena_mark before = arena_mark(&call->arena);
    struct query_item query[CALL_QUERY_MAX]; // reading replaces what cursors stand for
    memcpy(query, call->query, sizeof query);
    request->failed = !dispatch_run(call);
    if (call->caller.is_deferred) {
        memcpy(call->query, query, sizeof query);
        if (defer(request, before))
            return true;
    }
    request->before_pieces = call->follow.again != NULL ? arena_mark(&call->arena) : request->before_pieces;
    request->is_again = call->follow.again != NULL;
    return false;
}

/* On a worker.  CHECK asks for the token and, for an upload, runs the handler without bytes: what is wrong is known
 * before any of the body is read. */
static void run_job(void *arg)
{
    struct request *request = arg;
    struct call    *call = &request->call;
    struct error    error;
    enum stage      stage;
    atomic_fetch_sub(&request->shared->traffic.queued, 1);
    if (!find_stage(request, &stage))
        request->failed = true;
    else if (stage == STAGE_CHECK && request_authorise(request, false, &error) != STATUS_OK) {
        request->failed = true;
        reply_problem(call, &error);
    } else if (request->is_again) {
        run_again(request);
    } else if ((stage != STAGE_CHECK || request_is_streamed(request)) && run_handler(request)) {
        return;
    }
    workers_end_job(); // a client may ask again as soon as it has its answer
    if (stage != STAGE_SENT && is_to_wait(request, stage)) {
        request_free_body(request); // which was read
        wait_on(request);
    } else if (unlink_running(request))
        MHD_resume_connection(request->connection);
    if (request_let_go(request))
        request_free(request);
}

void request_suspend_to_follow(struct request *request)
{
    request->stage = STAGE_FOLLOW;
    request_set_deadline(request, 0);
    request_suspend(request);
    pthread_mutex_lock(&request->shared->lock);
    link_following(request);
    pthread_mutex_unlock(&request->shared->lock);
}

bool request_submit_again(struct request *request)
{
    struct requests   *shared = request->shared;
    struct workers_job job = job_of(request, request->call.route->lane);
    struct error       error;
    const uint64_t     seen = request->seen;
    request->call.until_ms = app_until(shared->app, shared->app->monotonic_ms());
    request->seen = atomic_load(&shared->commits);
    request->waited_us += request_now_us() - request->waits_us;
    request_unlink(&shared->following, request);
    request_link(&shared->running, request);
    atomic_fetch_add(&request->refs, 1);
    atomic_fetch_add(&shared->traffic.queued, 1);
    if (submit(shared, &job, &error) == STATUS_OK)
        return true;
    atomic_fetch_sub(&shared->traffic.queued, 1);
    (void)request_let_go(request); /* the connection's own hold remains */
    request_unlink(&shared->running, request);
    request->waits_us = request_now_us();
    request->seen = seen; // it is due as it was
    link_by_age(&shared->following, request);
    return false;
}

enum status request_would_compute(struct request *request, struct error *err)
{
    struct workers_job job = job_of(request, LANE_COMPUTE);
    job.cost = -1;
    return workers_would_take(request->shared->long_workers, &job, err);
}

static enum status submit_first(struct request *request, enum stage stage, struct error *err)
{
    bool               is_work = stage == STAGE_WORK, is_large = request->call.body_bytes > REQUEST_LARGE_BYTES;
    enum route_lane    own = request->call.route->lane;
    bool               may_defer = is_work && own == LANE_COMPUTE && !request_is_streamed(request);
    bool               begins_there = is_work && own != LANE_SHORT && !may_defer;
    struct workers_job job = job_of(request, begins_there ? own : is_large ? LANE_BULK : LANE_SHORT);
    request->call.caller.may_defer = may_defer;
    if (may_defer && is_large)
        TRY(request_would_compute(request, err));
    return submit(request->shared, &job, err);
}

enum MHD_Result request_submit(struct request *request, enum stage stage)
{
    struct requests *shared = request->shared;
    struct error     error;
    request->stage = stage;
    request->seen = atomic_load(&shared->commits);
    request->call.until_ms = app_until(shared->app, shared->app->monotonic_ms());
    request_set_deadline(request, 0);
    atomic_fetch_add(&request->refs, 1);
    atomic_fetch_add(&shared->traffic.queued, 1);
    request_suspend(request);
    link_running(request);
    if (submit_first(request, stage, &error) == STATUS_OK)
        return MHD_YES;
    atomic_fetch_sub(&shared->traffic.queued, 1);
    if (unlink_running(request)) {
        request->failed = true;
        reply_problem(&request->call, &error);
        MHD_resume_connection(request->connection);
    }
    (void)request_let_go(request); /* the connection's own hold remains */
    return MHD_YES;
}
