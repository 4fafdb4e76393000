/* Bearer tokens: 256 random bits, stored as a hash, scoped, expirable, revocable. */
#ifndef GNOMON_SERVICE_APP_TOKEN_H
#define GNOMON_SERVICE_APP_TOKEN_H

#include "service/base/page.h"
#include "service/app/app.h"
#include "service/model/token.h"

struct token_filter {
    const char *project; /* or NULL: all that the caller may see */
    struct page page;
};

struct token_cache    *token_cache_new(void); /* NULL: no memory */
void                   token_cache_free(struct token_cache *cache);
MUST_CHECK enum status token_cache_load(struct app *app, struct error *err); /* once, when the store is open */

MUST_CHECK enum status token_create(struct app *app, struct caller *caller, const struct token_new *new,
                                    struct token *out, struct error *err);
/* The two halves of it, for use cases that make a token in a transaction of their own: a token that is not stored yet,
 * and its row and event. */
MUST_CHECK enum status token_draw(struct app *app, const struct token_new *new, struct token *out, struct error *err);
MUST_CHECK enum status token_add(struct db_conn *conn, struct caller *caller, struct token *token, struct error *err);
/* Draws a secret without storing it: for whoever gives the same secret to a server and to its clients. */
MUST_CHECK enum status token_secret(char secret[64], struct error *err);
/* An administrator's token with this secret, without an end, when the store never had a token.
 * INVALID "first_token" when it is not one of token_secret. */
MUST_CHECK enum status token_make_first(struct app *app, struct caller *caller, const char *secret, bool *is_made,
                                        struct error *err);
MUST_CHECK enum status token_list(struct app *app, struct caller *caller, const struct token_filter *filter,
                                  struct token_page *out, struct error *err);
MUST_CHECK enum status token_revoke(struct app *app, struct caller *caller, const char *id, struct error *err);
/* A new secret, which is shown once; the old one is good for overlap_ms more.  Of the caller's own token, or one that it made:
 * NOT_FOUND "token_not_found" of another.  FORBIDDEN "old_secret": the caller's has been rotated meanwhile, so of several that
 * rotate their own at once the first has the new secret; "forbidden": it reads one thing alone, which links share.
 * CONFLICT "rotated_meanwhile": the same of a token that it made. */
MUST_CHECK enum status token_rotate(struct app *app, struct caller *caller, const char *id, int64_t overlap_ms,
                                    struct token *out, struct error *err);
/* Within a transaction that gives access or takes it: FORBIDDEN "old_secret" when the caller's token has a new secret since. */
MUST_CHECK enum status token_check_secret(struct db_conn *conn, const struct caller *caller, struct error *err);
/* Within a transaction of the store's own: writes when tokens were last used, once a minute or at_once; *more: there are
 * others.  Only the writer calls it. */
MUST_CHECK enum status token_note_uses(struct app *app, struct db_conn *conn, bool at_once, bool *more,
                                       struct error *err);
/* After a use case of its own has revoked tokens that were bound to the resource. */
void token_forget(struct app *app, const char *resource);
void token_forget_project(struct app *app, const char *project);
/* Fills caller->token_id, scope and study.  UNAUTHORISED without detail.  cached_only: no query is made; BUSY when the
 * token is not in memory yet (the caller asks again from a thread that may wait). */
MUST_CHECK enum status token_check(struct app *app, const char *secret, bool cached_only, struct caller *caller,
                                   struct error *err);
MUST_CHECK enum status token_find(struct app *app, struct caller *caller, struct token *out,
                                  struct error *err); /* whoami */
/* Within a transaction: what the caller's token is called; NULL: it is not there. */
MUST_CHECK enum status token_name(struct db_conn *conn, const struct caller *caller, const char **out,
                                  struct error *err);

#endif
