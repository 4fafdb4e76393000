/* A request on its worker.  The library's two calls that a worker needs are planted here: the moment at which a client may
 * have its answer is the one at which its connection is resumed. */
#include "api/http/request_job.h"

#include "api/core/reply.h"
#include "api/core/route.h"
#include "service/app/app.h"
#include "tests/unit/api/suites.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

static struct {
    sem_t           is_resumed;
    struct request *request;
    enum status     next; /* of another request of the token, when it was resumed */
} seen;

void MHD_suspend_connection(struct MHD_Connection *connection)
{
    (void)connection;
}

void MHD_resume_connection(struct MHD_Connection *connection)
{
    (void)connection;
    const struct workers_job next = {.lane = LANE_SHORT, .owner = "token", .cost = 1000};
    struct error             err;
    seen.next = workers_would_take(seen.request->shared->workers, &next, &err);
    sem_post(&seen.is_resumed);
}

static enum status answer(struct call *call, struct error *err)
{
    (void)err;
    reply_text(call, "text/plain", "good", 4);
    return STATUS_OK;
}

static int64_t no_time(void)
{
    return 0;
}

static struct request *request_new(struct requests *shared)
{
    static const struct route route = {.method = "GET", .path = "/", .lane = LANE_SHORT, .handle = answer};
    struct request           *request = calloc(1, sizeof *request);
    CU_ASSERT_PTR_NOT_NULL_FATAL(request);
    request->shared = shared;
    atomic_init(&request->refs, 1);
    request->call =
        (struct call){.app = shared->app, .traffic = &shared->traffic, .route = &route, .body = "", .uri = "/"};
    arena_init(&request->call.arena, 1 << 20);
    strcpy(request->call.caller.token_id, "token");
    return request;
}

/* Beside another request of that cost the token is refused a second, so each must be over when its answer can be read. */
static void test_who_has_an_answer_may_ask_again(void)
{
    static struct requests shared;
    struct app             app = {.monotonic_ms = no_time, .options.compute_ms = 1};
    struct error           err;
    shared = (struct requests){.app = &app};
    pthread_mutex_init(&shared.lock, NULL);
    CU_ASSERT_EQUAL_FATAL(sem_init(&seen.is_resumed, 0, 0), 0);
    CU_ASSERT_EQUAL_FATAL(workers_start(2, &(struct workers_lane){2, 9, 100}, 1, 0, &shared.workers, &err), STATUS_OK);
    for (int i = 0; i < 5; i++) {
        seen.request = request_new(&shared);
        CU_ASSERT_EQUAL(request_submit(seen.request, STAGE_WORK), MHD_YES);
        while (sem_wait(&seen.is_resumed) != 0)
            continue;
        CU_ASSERT_EQUAL(seen.next, STATUS_OK);
        CU_ASSERT(!seen.request->failed && seen.request->call.reply.length == 4);
        if (request_let_go(seen.request))
            request_free(seen.request);
    }
    workers_stop(shared.workers);
    sem_destroy(&seen.is_resumed);
    pthread_mutex_destroy(&shared.lock);
}

static void hold(void *arg)
{
    pthread_mutex_lock(arg);
    pthread_mutex_unlock(arg);
}

/* A request that follows, and for which no worker has room when something happened, is still to be told. */
static void test_who_finds_no_room_is_due_as_before(void)
{
    static struct requests shared;
    struct app             app = {.monotonic_ms = no_time, .options.compute_ms = 1};
    struct error           err;
    pthread_mutex_t        lock = PTHREAD_MUTEX_INITIALIZER;
    struct workers_job     filler = {.run = hold, .arg = &lock, .owner = "token"};
    atomic_bool            draining = false;
    shared = (struct requests){.app = &app};
    CU_ASSERT_EQUAL_FATAL(workers_start(1, &(struct workers_lane){1, 1, 0}, 1, 0, &shared.workers, &err), STATUS_OK);
    pthread_mutex_lock(&lock);
    while (workers_submit(shared.workers, &filler, &err) == STATUS_OK)
        continue;
    struct request *request = request_new(&shared);
    request->call.draining = &draining;
    request->call.follow.until_ms = 1;
    request_link(&shared.following, request);
    CU_ASSERT(!request_is_due(request));
    atomic_fetch_add(&shared.commits, 1);
    CU_ASSERT(request_is_due(request));
    CU_ASSERT(!request_submit_again(request));
    CU_ASSERT(request_is_due(request) && shared.following == request && shared.running == NULL);
    pthread_mutex_unlock(&lock);
    workers_stop(shared.workers);
    CU_ASSERT(request_let_go(request));
    request_free(request);
}

CU_TestInfo suite_request_job[] = {
    {"who finds no room is due as before", test_who_finds_no_room_is_due_as_before},
    {"who has an answer may ask again", test_who_has_an_answer_may_ask_again},
    CU_TEST_INFO_NULL,
};
