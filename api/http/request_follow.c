/* See request_follow.h.
 * Invariant: a request is in following only while its connection is suspended, and whoever takes it out of the list
 * hands it to a worker or leaves it there. */
#include "api/http/request_follow.h"

#include "api/http/request_job.h"
#include "service/app/app_transact.h"
#include "service/base/clock.h"

#include <string.h>
#include <time.h>

enum { TICK_MS = 500, REST_MS = 25 };

/* Hands requests that follow to the workers.  Requests that no worker takes stay, and are tried again; those whose turn has
 * not come go after the others.  The lock is held; true: all were taken. */
static bool hand_out(struct requests *requests)
{
    bool            is_done = true;
    struct request *next;
    for (struct request *request = requests->following; request != NULL; request = next) {
        next = request->next;
        if (request_is_due(request) && request_has_turn(request))
            is_done &= request_submit_again(request);
    }
    return is_done;
}

/* Many commits in a row are one occasion: each has at most REST_MS to wait for it. */
static void *follow(void *arg)
{
    struct requests *requests = arg;
    pthread_mutex_lock(&requests->lock);
    while (!requests->follower_stops) {
        const struct timespec until = clock_after_ms(TICK_MS);
        if (!requests->is_urgent)
            (void)pthread_cond_timedwait(&requests->happened, &requests->lock, &until);
        requests->is_urgent = false;
        requests->is_urgent |= !hand_out(requests);
        pthread_mutex_unlock(&requests->lock);
        nanosleep(&(struct timespec){.tv_nsec = REST_MS * 1000000L}, NULL);
        pthread_mutex_lock(&requests->lock);
    }
    pthread_mutex_unlock(&requests->lock);
    return NULL;
}

enum status request_follow_start(struct requests *requests, struct error *err)
{
    clock_cond_init(&requests->happened);
    if (pthread_create(&requests->follower, NULL, follow, requests) != 0)
        return error_set(err, STATUS_BUSY, "threads", "", "cannot start a thread");
    requests->is_following = true;
    app_on_commit(requests->app, request_follow_wake, requests);
    return STATUS_OK;
}

void request_follow_stop(struct requests *requests)
{
    if (!requests->is_following)
        return;
    app_on_commit(requests->app, NULL, NULL);
    pthread_mutex_lock(&requests->lock);
    requests->follower_stops = true;
    pthread_cond_signal(&requests->happened);
    pthread_mutex_unlock(&requests->lock);
    pthread_join(requests->follower, NULL);
    pthread_cond_destroy(&requests->happened);
    requests->is_following = false;
}

void request_follow_wake(void *arg)
{
    struct requests *requests = arg;
    atomic_fetch_add(&requests->commits, 1);
    pthread_mutex_lock(&requests->lock);
    requests->is_urgent = true;
    pthread_cond_signal(&requests->happened);
    pthread_mutex_unlock(&requests->lock);
}

/* On the connection's thread.  A piece that was sent whole makes way for the next, which a worker brings. */
ssize_t request_follow_read(void *cls, uint64_t position, char *out, size_t room)
{
    struct request *request = cls;
    struct call    *call = &request->call;
    (void)position;
    request_resumed(request);
    if (request->abandoned)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t left = call->reply.length - request->streamed, length = left < room ? left : room;
    memcpy(out, call->reply.bytes + request->streamed, length);
    request->streamed += length;
    if (length > 0)
        return (ssize_t)length;
    if (call->follow.again == NULL)
        return MHD_CONTENT_READER_END_OF_STREAM;
    request_suspend_to_follow(request);
    return 0;
}
