/* Live policy sessions: caches of (specification, seed, log), in a list bounded in bytes, one lock each.
 * The lock also orders what creates trials: those who bring points of their own share it (and a commit), whoever asks
 * the model has it alone, so that a proposal gets the trial number that keys its randomness. */
#ifndef GNOMON_SERVICE_SESSION_SESSION_H
#define GNOMON_SERVICE_SESSION_SESSION_H

#include "service/app/app.h"
#include "service/app/price.h"
#include "service/session/live.h"

#include <semaphore.h>

struct session_cache *session_cache_new(void);
void                  session_cache_free(struct session_cache *cache);

/* The study's entry, locked; SESSION_SHARED: only the lock, the model is not to be touched.  NO_MEMORY.
 * SESSION_PLAN is for what may take minutes: whoever comes meanwhile gets BUSY "planning" instead of waiting;
 * SESSION_QUEUE is the same for those that can wait for the end of another plan.  BUSY "deferred" as slots_announce
 * instead of waiting, but for SESSION_SHARED. */
enum session_use { SESSION_SHARED, SESSION_ALONE, SESSION_PLAN, SESSION_QUEUE };
MUST_CHECK enum status session_lock(struct app *app, struct caller *caller, const char *study, enum session_use use,
                                    struct live **out, struct error *err);
/* Unlocks; the oldest entries over the limit go. */
void session_unlock(struct app *app, struct live *live);
/* Callers who want the same of a session join: the first leads, holds the lock, and works for all who join meanwhile.  *out:
 * the session for a leader, who takes the members (itself the first), serves them and leaves with them; NULL: this member
 * has been served.  Errors: as session_lock. */
struct session_member {
    struct session_member *next;
    sem_t                  turn;
    bool                   leads, is_done;
};
MUST_CHECK enum status session_join(struct app *app, const char *study, struct session_member *member,
                                    struct live **out, struct error *err);
struct session_member *session_members(struct app *app, struct live *live, size_t most);
void                   session_leave(struct app *app, struct live *live, struct session_member *served);
/* A moment, for a look at the study without the lock: who has the lock later knows by session_is_as_of whether anybody has
 * had it since, so that trials and space are as they were. */
uint64_t session_moment(struct app *app);
bool     session_is_as_of(struct app *app, const struct live *live, uint64_t moment);
/* The price of the session's model, as far as it is known without the lock. */
struct price_model session_price(struct app *app, const struct study *study);
/* Whether there is a session that knew all of the log when its last user left, and whose last requests got new trials. */
bool session_is_there(struct app *app, const char *study);
/* Opens what is missing and tells the session every event of the log that it does not know yet, in a slot.  study: as it
 * was a moment ago, for the price. */
MUST_CHECK enum status session_catch_up(struct app *app, struct caller *caller, const struct study *study,
                                        struct live *live, struct error *err);
/* As session_catch_up, after fn has read the study anew (task_open), and what else it wants, in the same transaction; if fn
 * fails, the session is told nothing.  look NULL: the study is as the session is to know it (session_is_as_of). */
struct session_look {
    db_fn fn;
    void *arg;
};
MUST_CHECK enum status session_catch_up_with(struct app *app, struct caller *caller, const struct study *study,
                                             struct live *live, const struct session_look *look, struct error *err);
/* As session_catch_up within the transaction that has read the study, without a slot, for an open session that is not far
 * behind, else BUSY "busy".  If the transaction fails, a session that was told something is to be forgotten. */
MUST_CHECK enum status session_catch_up_within(struct db_conn *conn, struct app *app, const struct study *study,
                                               struct live *live, bool *was_told, struct error *err);
/* The problem of a specification, as an algorithm is opened with it. */
struct transfer_sources;
struct problem session_problem(const struct spec *spec, const struct transfer_sources *earlier, size_t memory_bytes);
/* Forgets the model, which was told something that the log does not have. */
void session_forget(struct live *live);
/* Drops the session of a deleted study; a request that still uses the model finds out when it writes. */
void session_drop(struct app *app, const char *study);

/* A session of the caller's own, which nobody else sees: as it was when a line of the log was made.  It lies in the
 * caller's arena, and ends with session_alone_end.  There are as many at once as all models together may be of the largest
 * size: BUSY "busy"; NO_MEMORY. */
MUST_CHECK enum status session_alone(struct app *app, struct caller *caller, const char *study, struct live **out,
                                     struct error *err);
void                   session_alone_end(struct app *app, struct live *live);
/* Tells the session the log up to line `seen`, then the suggestions of its batch before line `made`.  In a log that several
 * servers wrote a later line may come from a server that had seen less: then the session begins anew. */
struct session_at {
    int64_t                     seen, made, space_revision; /* the last: of the study now */
    const struct session_space *space; /* as it was then, valid while the session lives; NULL: as it is now */
};
/* The point of a trial, as it is stored, in the space of the session: without what it got when the space grew.  Borrowed,
 * until the next one. */
const double          *session_point(struct live *live, const double *point);
MUST_CHECK enum status session_replay(struct app *app, struct live *live, const struct session_at *at,
                                      struct error *err);

struct session_stats {
    size_t entries, bytes;
};
void session_stats(struct app *app, struct session_stats *out);

#endif
