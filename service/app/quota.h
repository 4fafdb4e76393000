/* The limits of a project, and its use of them.
 *
 * Requests a second: a bucket that fills at that rate up to `burst`; every request with a token of the project takes one out.
 * Seconds of the processor a day (UTC), measured by slots.h.  Both are kept in memory; the seconds are written once a minute
 * and at the end.  A project that has spent them starts no computation that day; running ones are finished.
 * Trials, bytes and studies (with federations and games) are counted by triggers of the store, so that no transaction that
 * adds to them exceeds the limit.  Bytes are an estimate, see db/migrations/004.sql. */
#ifndef GNOMON_SERVICE_APP_QUOTA_H
#define GNOMON_SERVICE_APP_QUOTA_H

#include "db/db.h"
#include "service/app/app.h"

/* NaN: there is no limit. */
struct limits {
    PROJECT_LIMITS(DECLARE)
};

struct quotas *quotas_new(void); /* NULL: no memory */
void           quotas_free(struct quotas *quotas);

/* The project's, which stays for as long as the process; its limits are those of the row from now on.  NULL: no memory. */
struct quota *quota_learn(struct app *app, const struct row_project *row);
/* Milliseconds of today's computations: those of the row, or of memory if that knows more. */
int64_t quota_computed_ms(struct app *app, const struct row_project *row);

/* Charges a request to the bucket.  Error "rate_limited", with when to ask again. */
MUST_CHECK enum status quota_take(struct app *app, struct caller *caller, struct error *err);
/* quota_compute before a computation, error "cpu_exhausted"; quota_charge after it. */
MUST_CHECK enum status quota_compute(const struct app *app, const struct caller *caller, struct error *err);
void                   quota_charge(const struct app *app, const struct caller *caller, int64_t us);

/* Both within a transaction, around its work.  Error "quota_exceeded" when the work adds to a count then over its limit. */
struct quota_mark {
    double trials, bytes, studies;
};
MUST_CHECK enum status quota_begin(struct db_conn *conn, const struct caller *caller, struct quota_mark *mark,
                                   struct error *err);
MUST_CHECK enum status quota_end(struct db_conn *conn, const struct caller *caller, const struct quota_mark *mark,
                                 struct error *err);
/* Replies kept for repeats, of a token: when they would be more than QUOTA_KEPT_BYTES with so many bytes, or nobody knows, all
 * but the newest half of that are to be trimmed first.  quota_keep, when it is done: they count as stored on this day and the
 * next, in memory alone, so from the start of the process on and of this server. */
enum { QUOTA_KEPT_BYTES = 4 << 20, QUOTA_KEPT_ROW_BYTES = 300 /* of each, beside its text */ };
bool quota_is_to_trim(const struct app *app, const struct caller *caller, size_t bytes);
void quota_keep(const struct app *app, const struct caller *caller, size_t bytes, bool is_trimmed);

/* Adds to the bytes that the project's bodies take while they are received, and returns the sum.  NULL: 0. */
int64_t quota_hold_bodies(struct quota *quota, int64_t bytes);

/* Error "quota_exceeded" when so many bytes more than stored would be over the limit. */
MUST_CHECK enum status quota_has_room(struct db_conn *conn, const struct caller *caller, double bytes,
                                      struct error *err);

/* As token_note_uses. */
MUST_CHECK enum status quota_note(struct app *app, struct db_conn *conn, bool at_once, struct error *err);

/* RateLimit-Policy and RateLimit of draft-ietf-httpapi-ratelimit-headers-10; "" where nothing is limited. */
struct quota_headers {
    char policy[96], state[96];
};
void quota_show(const struct app *app, const struct caller *caller, struct quota_headers *out);

#endif
