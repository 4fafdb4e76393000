/* Federations: agents that keep their data and exchange vectors in rounds.
 *   federation_row.c     a row of the store, its state and its log
 *   federation_round.c   a round: messages in, one broadcast out; who finds a federation closes what is due
 *   federation.c         the resource: create, list, change state, delete; its agents and features
 *
 * Invariants: what a federation was created with never changes, nor does who has which seat.  A round is closed by one
 * transaction that writes its line in the ledger, fixes the noise, stores the broadcast and deletes the messages; nothing
 * of a broadcast leaves before that is durable, and what leaves are the stored bytes.  Who was in a sum is known inside
 * that transaction only. */
#ifndef GNOMON_SERVICE_FEDERATION_FEDERATION_H
#define GNOMON_SERVICE_FEDERATION_FEDERATION_H

#include "service/base/page.h"
#include "service/app/app.h"
#include "service/model/federation_spec.h"
#include "service/app/token.h"

/* INVALID "budget_too_small": not even one broadcast is within it. */
MUST_CHECK enum status federation_create(struct app *app, struct caller *caller, const struct federation_new *new,
                                         struct federation *out, struct error *err);
/* Closes a round that is due first.  NOT_FOUND "federation_not_found". */
MUST_CHECK enum status federation_find(struct app *app, struct caller *caller, const char *id, struct federation *out,
                                       struct error *err);
/* The row; inside a transaction. */
MUST_CHECK enum status federation_read(const struct row_federation *from, struct arena *arena, struct federation *out,
                                       struct error *err);
MUST_CHECK enum status federation_get(struct db_conn *conn, const char *id, struct arena *arena, struct federation *out,
                                      struct error *err);

struct federation_filter {
    const char *state, *cursor;
    int64_t     limit;
};
struct federation_page {
    struct federation *federations;
    size_t             len;
    const char        *next_cursor;
};
MUST_CHECK enum status federation_list(struct app *app, struct caller *caller, const struct federation_filter *filter,
                                       struct federation_page *out, struct error *err);

enum federation_verb { FEDERATION_PAUSE, FEDERATION_RESUME, FEDERATION_COMPLETE };
/* Completing drops the messages of the open round: they are in no broadcast.  CONFLICT as error_state. */
MUST_CHECK enum status federation_move(struct app *app, struct caller *caller, const char *id,
                                       enum federation_verb verb, struct federation *out, struct error *err);
/* Revokes the agents' tokens.  Broadcasts cannot be taken back: the ledger keeps its lines. */
MUST_CHECK enum status federation_delete(struct app *app, struct caller *caller, const char *id, struct error *err);
/* The actor of a change, and its time. */
struct federation_by {
    const char *actor;
    int64_t     at_ms;
};
/* Changes the state and writes its line of the log; drops the open round's messages when it is completed. */
MUST_CHECK enum status federation_set_state(struct db_conn *conn, struct federation *federation,
                                            enum federation_state state, const char *reason,
                                            const struct federation_by *by, struct error *err);
MUST_CHECK enum status federation_log(struct db_conn *conn, const char *kind, const char *id, int64_t number,
                                      const struct federation_by *by, struct error *err);

/* ---- agents ---- */

struct federation_agent {
    int64_t      seat, region, created_ms;
    const char  *name, *token_id, *study; /* study: of an agent that the service hosts, or NULL */
    struct token token;                   /* after registering */
};
struct federation_agent_page {
    struct federation_agent *agents;
    size_t                   len;
    const char              *next_cursor;
};
/* Takes the next free seat and makes its token.  After the release of a federation in one round there are more seats, for
 * readers: nobody can send any more.  CONFLICT "federation_full", "federation_completed". */
MUST_CHECK enum status federation_register(struct app *app, struct caller *caller, const char *id, const char *name,
                                           struct federation_agent *out, struct error *err);
/* A new token for a seat; the one before is revoked.  NOT_FOUND "agent_not_found"; CONFLICT "seat_taken" (a study has it,
 * or an agent whose token is good and the caller is no admin). */
MUST_CHECK enum status federation_renew(struct app *app, struct caller *caller, const char *id, int64_t seat,
                                        struct federation_agent *out, struct error *err);
/* The seat's half of registering, inside a transaction of another use case: for a study that the service hosts, which
 * needs no token. */
MUST_CHECK enum status federation_seat(struct db_conn *conn, struct federation *federation,
                                       struct federation_agent *agent, const char *actor, int64_t now_ms,
                                       struct error *err);
MUST_CHECK enum status federation_agents(struct app *app, struct caller *caller, const char *id,
                                         const struct page *page, struct federation_agent_page *out, struct error *err);

/* ---- files ---- */

/* The shared random features: an .npy file [M][dims + 1], a row is the frequencies and the phase of one. */
struct federation_file {
    const void *bytes;
    size_t      length;
    char        sha256[65];
};
MUST_CHECK enum status federation_features(struct app *app, struct caller *caller, const char *id,
                                           struct federation_file *out, struct error *err);

/* ---- rounds ---- */

struct federation_message {
    int64_t       round, seat;
    const char   *features_sha256; /* of the features that made it */
    const double *vector;          /* [len] */
    size_t        len;
};
struct federation_receipt {
    int64_t round, seat;
    bool    is_repeat, is_closed; /* is_closed: with it the round was complete */
};
/* Only the agent's own token may.  The same message again changes nothing.
 * FORBIDDEN "other_agent"; INVALID "wrong_length", "not_finite", "wrong_features"; CONFLICT "round_closed" (late),
 * "round_not_open" (early), "message_conflict" (another one is there), "federation_paused", "federation_completed". */
MUST_CHECK enum status federation_send(struct app *app, struct caller *caller, const char *id,
                                       const struct federation_message *message, struct federation_receipt *out,
                                       struct error *err);
/* Checks and stores inside a transaction; closes the round when it was the last message. */
struct federation_delivery {
    struct app                      *app;
    struct federation               *federation;
    const struct federation_message *message;
    struct arena                    *arena;
};
MUST_CHECK enum status federation_take(struct db_conn *conn, const struct federation_delivery *delivery,
                                       struct federation_receipt *out, struct error *err);

/* The broadcast of a round, an .npy file: private [P][M]; else [seats][M], the last vector of each seat, zeros for a
 * seat that never sent.  CONFLICT "round_open" (ask again), and the reason of the end; NOT_FOUND "round_not_found". */
MUST_CHECK enum status federation_broadcast(struct app *app, struct caller *caller, const char *id, int64_t round,
                                            struct federation_file *out, struct error *err);

struct federation_round {
    int64_t     round, messages, at_ms;
    const char *mechanism, *sha256; /* sha256: of the broadcast */
    double      epsilon, total;     /* of this broadcast, and with it; NaN: none */
};
struct federation_round_page {
    struct federation        federation;
    struct federation_round *rounds;
    size_t                   len;
    const char              *next_cursor;
};
/* Lists the closed rounds, in order. */
MUST_CHECK enum status federation_rounds(struct app *app, struct caller *caller, const char *id,
                                         const struct page *page, struct federation_round_page *out, struct error *err);

/* Whether the open round is to be closed now. */
bool federation_is_due(const struct federation *federation, int64_t steady_now_ms);
/* Counts a round for the metrics once its end is durable, and removes its messages from the journal. */
void federation_count_round(struct app *app, const struct federation *federation);
/* The epsilon of the first `broadcasts` broadcasts together; 0 for none. */
MUST_CHECK enum status federation_cost(const struct federation_spec *spec, int64_t broadcasts, double *epsilon,
                                       struct arena *scratch, struct error *err);

#endif
