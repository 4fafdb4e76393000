/* Games: create, find, list, complete, delete; the agents' actions and observations.  A round is open until every agent's
 * action is known and every payoff; what is known of an open round is shown to nobody.
 * The model is a session in the cache of sessions, a cache of (specification, complete rounds). */
#ifndef GNOMON_SERVICE_GAME_GAMES_H
#define GNOMON_SERVICE_GAME_GAMES_H

#include "service/base/page.h"
#include "service/app/app.h"
#include "service/model/game_spec.h"
#include "service/app/token.h"

MUST_CHECK enum status games_create(struct app *app, struct caller *caller, const struct game_new *new,
                                    struct game_row *out, struct error *err);
/* NOT_FOUND "game_not_found" when there is no such game or the token may not see it, as one of scope agent without an
 * agent. */
MUST_CHECK enum status games_find(struct app *app, struct caller *caller, const char *id, struct game_row *out,
                                  struct error *err);
struct game_page {
    struct game_row *games; /* without specification, open round and viewer: a page of these has no bound */
    size_t           len;
    const char      *next_cursor;
};
MUST_CHECK enum status games_list(struct app *app, struct caller *caller, const struct page *page,
                                  struct game_page *out, struct error *err);
MUST_CHECK enum status games_complete(struct app *app, struct caller *caller, const char *id, struct game_row *out,
                                      struct error *err);
MUST_CHECK enum status games_delete(struct app *app, struct caller *caller, const char *id, struct error *err);
/* A token that speaks for one agent and sees nothing else. */
struct game_token {
    const char *agent;
    int64_t     expires_in_ms;
};
MUST_CHECK enum status games_token(struct app *app, struct caller *caller, const char *id,
                                   const struct game_token *asked, struct token *out, struct error *err);

/* ---- rounds ---- */

struct game_turn {
    const struct game_spec *spec;
    size_t                  agent;
    int64_t                 round;
    struct game_action      action;
};
/* The agent's action for the open round; asked again it is the same.  FORBIDDEN for another agent's token,
 * NOT_FOUND "agent_not_found", CONFLICT "game_completed". */
MUST_CHECK enum status games_suggest(struct app *app, struct caller *caller, const char *id, const char *agent,
                                     struct game_turn *out, struct error *err);

/* An observation of some or all agents' actions and payoffs of a round.  Where the game says how payoffs add up, those that
 * are missing follow from the others. */
struct game_observation {
    int64_t          round;
    struct game_play plays[GAME_AGENTS_MAX];
    const char      *where[GAME_AGENTS_MAX]; /* pointers of the payoffs, for errors; or NULL */
};
struct game_observed {
    const struct game_spec *spec;
    int64_t                 round;
    bool                    is_duplicate, is_closed;
    struct game_play        plays[GAME_AGENTS_MAX];
};
/* CONFLICT "round_observed" when the same was observed with other numbers, "round_not_open"; INVALID
 * "payoffs_differ", "payoffs_do_not_add_up", "missing_member". */
MUST_CHECK enum status games_observe(struct app *app, struct caller *caller, const char *id,
                                     const struct game_observation *observation, struct game_observed *out,
                                     struct error *err);

struct game_round {
    int64_t          number;
    struct game_play plays[GAME_AGENTS_MAX];
    double           mean[GAME_AGENTS_MAX];   /* of the payoffs so far */
    double           regret[GAME_AGENTS_MAX]; /* mean external regret so far by the model of now */
};
struct game_rounds {
    const struct game_spec *spec;
    struct game_round      *rounds;
    size_t                  len;
    const char             *next_cursor;
    bool                    is_over; /* the game: until then regrets are what the model knows now */
};
MUST_CHECK enum status games_rounds(struct app *app, struct caller *caller, const char *id, const struct page *page,
                                    struct game_rounds *out, struct error *err);

/* The best responses of an agent to each of the others, by the model of now. */
struct game_curves {
    const struct game_spec *spec;
    size_t                  agent;
    int64_t                 rounds;                  /* that the model knows */
    struct game_response   *curves[GAME_AGENTS_MAX]; /* [lens] in the agent's own sign; none of itself */
    size_t                  lens[GAME_AGENTS_MAX];
};
/* FORBIDDEN for another agent's token, NOT_FOUND "agent_not_found". */
MUST_CHECK enum status games_responses(struct app *app, struct caller *caller, const char *id, const char *agent,
                                       struct game_curves *out, struct error *err);

/* Inside a transaction: what may have changed of a game that was found before; the specification never does, and may
 * take long to read.  NOT_FOUND "game_not_found". */
MUST_CHECK enum status games_refresh(struct db_conn *conn, const char *id, struct arena *arena, struct game_row *game,
                                     struct error *err);
/* Completes the game when its rounds are used up, and writes what changed; logs kind. */
MUST_CHECK enum status games_save(struct db_conn *conn, struct game_row *game, const char *kind,
                                  const struct caller *caller, int64_t now_ms, struct error *err);

#endif
