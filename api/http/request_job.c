/* See request_job.h. */
#include "api/http/request_job.h"

#include "api/core/dispatch.h"
#include "api/core/reply.h"

#include <stdio.h>

static bool unlink_running(struct request *request)
{
    struct requests *shared = request->shared;
    pthread_mutex_lock(&shared->lock);
    bool linked = !request->abandoned;
    if (linked)
        request_unlink(&shared->running, request);
    pthread_mutex_unlock(&shared->lock);
    return linked;
}

/* What the worker is to do; false: nothing, the request was taken from it.  From then on the stage is the connection's
 * own again, so it is read here and not later. */
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
            atomic_store(&request->call.has_left, true); // ends what it computes
            request_unlink(&requests->running, request);
        }
        pthread_mutex_unlock(&requests->lock);
        if (request == NULL)
            return;
        MHD_resume_connection(request->connection);
    }
}

/* What others did never counts against a token that is in force: only after it turned out to be none is it asked how
 * many such there were from the address. */
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

/* A token that was revoked follows nothing any more. */
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

bool request_is_due(const struct request *request)
{
    struct requests *shared = request->shared;
    return request->seen != atomic_load(&shared->commits) || atomic_load(&shared->draining) ||
           atomic_load(&request->call.has_left) || shared->app->monotonic_ms() >= request->call.follow.until_ms;
}

/* The lock is held.  What was written since its answer was made nobody tells again. */
static void link_following(struct request *request)
{
    struct requests *shared = request->shared;
    request_link(&shared->following, request);
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
        request_unlink(&shared->running, request);
        link_following(request);
    }
    pthread_mutex_unlock(&shared->lock);
}

/* Its answer is not complete, and there is nothing of it to be sent. */
static bool is_to_wait(const struct request *request, enum stage stage)
{
    const struct call *call = &request->call;
    bool               has_begun = stage == STAGE_FOLLOW || !call->follow.is_stream;
    return !request->failed && call->follow.again != NULL && call->reply.length == 0 && has_begun;
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
    } else if (stage != STAGE_CHECK || request_is_streamed(request)) {
        request->failed = !dispatch_run(call);
        request->before_pieces = call->follow.again != NULL ? arena_mark(&call->arena) : request->before_pieces;
        request->is_again = call->follow.again != NULL;
    }
    if (stage != STAGE_SENT && is_to_wait(request, stage))
        wait_on(request);
    else if (unlink_running(request))
        MHD_resume_connection(request->connection);
    if (request_let_go(request))
        request_free(request);
}

static struct workers_job job_of(struct request *request, enum route_lane lane)
{
    struct workers_job job = {.run = run_job, .arg = request, .lane = lane, .owner = ""};
    snprintf(job.owner, sizeof job.owner, "%s", request->call.caller.token_id);
    return job;
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
    request->call.until_ms = app_until(shared->app, shared->app->monotonic_ms());
    request->seen = atomic_load(&shared->commits);
    request_unlink(&shared->following, request);
    request_link(&shared->running, request);
    atomic_fetch_add(&request->refs, 1);
    atomic_fetch_add(&shared->traffic.queued, 1);
    if (workers_submit(shared->workers, &job, &error) == STATUS_OK)
        return true;
    atomic_fetch_sub(&shared->traffic.queued, 1);
    (void)request_let_go(request); /* the connection's own hold remains */
    request_unlink(&shared->running, request);
    request_link(&shared->following, request);
    return false;
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
    struct workers_job job = job_of(request, stage == STAGE_WORK ? request->call.route->lane : LANE_SHORT);
    if (workers_submit(shared->workers, &job, &error) == STATUS_OK)
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
