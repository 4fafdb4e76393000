/* See queue.h. */
#include "db/writer/queue.h"

#include "db/moment.h"

enum { BATCH_ROWS = 256, LARGE_ROWS_A_SECOND = 20000, LARGE_REST = 9 }; /* a row is some 50 us of the writer's */

/* A large one leaves the writer to others for nine times as long as the one before took: while they write one after the
 * other, the queue is empty between two of theirs, and it would always be its turn. */
static bool may_run(const struct queue *queue, const struct job *job, bool is_stopping)
{
    return !job->of->is_large || is_stopping || !queue->is_shared || moment_seconds() >= queue->large_at;
}

struct job **queue_next(struct queue *queue, bool is_stopping)
{
    struct job **best = NULL;
    for (struct job **at = &queue->first; *at != NULL; at = &(*at)->next)
        if (may_run(queue, *at, is_stopping) &&
            (best == NULL || turns_before(&queue->turns, &(*at)->of->owner, &(*best)->of->owner)))
            best = at;
    return best;
}

static size_t rows_of(const struct job *job)
{
    return job->of->rows > 1 ? job->of->rows : 1;
}

/* Takes it out of the queue, links those that come with it, and returns the last of them. */
static struct job *take(struct queue *queue, struct job **place)
{
    struct job *job = *place, *last = &job[job->len - 1];
    *place = job->next;
    queue->len -= job->len;
    for (struct job *each = job; each <= last; each++)
        each->next = each < last ? each + 1 : NULL;
    if (job->of->is_large) {
        queue->large_token = job->of->owner.token;
        queue->is_shared = false;
    } else {
        queue->is_shared |= job->of->owner.token != queue->large_token;
        turns_charge(&queue->turns, &job->of->owner, (int64_t)(rows_of(job) * job->len));
    }
    for (queue->last = queue->first; queue->last != NULL && queue->last->next != NULL; queue->last = queue->last->next)
        continue;
    return last;
}

struct job *queue_take(struct queue *queue, struct job *jobs, bool is_stopping)
{
    struct job *last = jobs, **place;
    size_t      rows = 0;
    for (; last != NULL && last->next != NULL; last = last->next)
        rows += rows_of(last);
    while (rows < BATCH_ROWS && (place = queue_next(queue, is_stopping)) != NULL) {
        struct job *next = *place;
        if (last != NULL && (last->of->is_large || next->of->is_large))
            break;
        rows += rows_of(next) * next->len;
        struct job *end = take(queue, place);
        *(last != NULL ? &last->next : &jobs) = next;
        last = end;
    }
    return jobs;
}

void queue_charge(struct queue *queue, const struct job *job, double spent_seconds)
{
    if (job == NULL || !job->of->is_large)
        return;
    turns_charge(&queue->turns, &job->of->owner, 1 + (int64_t)(spent_seconds * LARGE_ROWS_A_SECOND));
    queue->large_at = moment_seconds() + LARGE_REST * spent_seconds;
}

/* Counts the jobs that are taken together: the first, or all up to the next large one. */
static size_t count_together(const struct job *jobs, size_t len)
{
    size_t count = 1;
    while (!jobs->of->is_large && count < len && !jobs[count].of->is_large)
        count++;
    return count;
}

void queue_add(struct queue *queue, struct job *jobs, size_t len)
{
    for (size_t i = 0; i < len; i += jobs[i].len) {
        jobs[i].len = count_together(&jobs[i], len - i);
        *(queue->last != NULL ? &queue->last->next : &queue->first) = &jobs[i];
        queue->last = &jobs[i];
        queue->len += jobs[i].len;
    }
}
