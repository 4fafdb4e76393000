/* What a project may use, and has used.
 *
 * Requests a second: a bucket that fills at that rate up to `burst`; every request with a token of the project takes one out.
 * Each of several servers has a part of the rate and of the bucket, by what is asked of it (quota_share).
 * Seconds of the processor a day (UTC): what slots.h measures of its computations.  Both are kept in memory; the seconds are
 * written once a minute and at the end, and beside other servers within a second when they are worth telling.  Whoever has
 * spent them computes nothing more that day; what was begun is finished.
 * Trials, bytes and studies (with federations and games) are counted by triggers of the store, so that no transaction that
 * adds to them goes beyond.  Bytes are an estimate: db/migrations/004.sql says of what. */
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
/* Milliseconds that its computations took today: the row's, or what is known since. */
int64_t quota_computed_ms(struct app *app, const struct row_project *row);

/* Of several servers, ten times a second: what is asked of all of them, in thousandths of the limit, and of this one.  The parts
 * are made of what all see, so they come to the whole: as is asked of each, and in equal parts what nobody asks for, or a
 * twentieth of it.  A server that does not tell has an equal part, and takes one when it cannot look for some seconds. */
void   quota_share(struct app *app, const struct db_wants *all, struct db_wants *own);
double quota_part(const struct db_wants *all, const char *project);

/* A request comes.  Error "rate_limited", with when to ask again. */
MUST_CHECK enum status quota_take(struct app *app, struct caller *caller, struct error *err);
/* It is to compute, and has computed.  Error "cpu_exhausted". */
MUST_CHECK enum status quota_compute(const struct app *app, const struct caller *caller, struct error *err);
void                   quota_charge(const struct app *app, const struct caller *caller, int64_t us);

/* Within a transaction, around what it does.  Error "quota_exceeded" when that adds to what is over its limit then. */
struct quota_mark {
    double trials, bytes, studies;
};
MUST_CHECK enum status quota_begin(struct db_conn *conn, const struct caller *caller, struct quota_mark *mark,
                                   struct error *err);
MUST_CHECK enum status quota_end(struct db_conn *conn, const struct caller *caller, const struct quota_mark *mark,
                                 struct error *err);
/* So many bytes of a reply are kept for repeats: they count as stored on this day and the next, in memory alone, so from the
 * start of the process on and of this server. */
void quota_keep(const struct app *app, const struct caller *caller, size_t bytes);

/* Error "quota_exceeded" when so many bytes beside what is stored would be over the limit. */
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
