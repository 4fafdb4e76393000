/* A game as the service knows it, and what is played in it. */
#ifndef GNOMON_SERVICE_MODEL_GAME_SPEC_H
#define GNOMON_SERVICE_MODEL_GAME_SPEC_H

#include "db/members.h"
#include "engine/game/game.h"
#include "service/model/spec.h"

enum { GAMES_NAME_MAX = 32 };

/* An immutable specification; lives in one arena.  problem points into it. */
struct game_spec {
    struct game_problem     problem;
    struct game_agent       agents[GAME_AGENTS_MAX];
    const char             *names[GAME_AGENTS_MAX];
    enum goal               goals[GAME_AGENTS_MAX];
    struct spec             sets[GAME_AGENTS_MAX];     /* space and values only */
    struct game_mind        minds[GAME_LEVEL_MAX + 1]; /* of each level; all others are one level below */
    const struct game_mind *below[GAME_LEVEL_MAX + 1][GAME_AGENTS_MAX];
    double                  total; /* of constant-sum payoffs as reported; otherwise NaN */
};

/* The agent's index, or agents_len. */
size_t games_agent(const struct game_spec *spec, const char *name);
/* INVALID "unknown_agent" at where. */
MUST_CHECK enum status games_find_agent(const struct game_spec *spec, const char *name, const char *where, size_t *out,
                                        struct error *err);

/* Larger is better inside; the user's own sign outside. */
static inline double games_sign(const struct game_spec *spec, size_t agent)
{
    return spec->goals[agent] == GOAL_MAXIMIZE ? 1.0 : -1.0;
}

enum games_state { GAMES_ACTIVE, GAMES_COMPLETED, GAMES_STATE_COUNT };
extern const char *const games_state_names[GAMES_STATE_COUNT + 1];

struct game_row {
    char              id[24];
    const char       *reason; /* or NULL */
    enum games_state  state;
    struct game_spec *spec;
    const char       *spec_text;              /* as it is stored */
    int64_t           budget_rounds;          /* 0: none but game_rounds_max */
    bool              is_in[GAME_AGENTS_MAX]; /* of the open round: has reported its action */
    size_t            viewer; /* the agent who looks, who sees of the others what is public; agents_len: everything */
    GAME_GIVEN(DECLARE)
    GAME_KEPT(DECLARE) /* rounds: those that are reported */
};

struct game_new {
    const char       *spec_text; /* codec_game_spec_json as text */
    struct game_spec *spec;
    int64_t           budget_rounds;
    GAME_GIVEN(DECLARE)
};

/* The play of an agent in a round, in its own units. */
struct game_play {
    bool          is_in;  /* the action is known */
    int64_t       row;    /* -1: point */
    const double *point;  /* [params_len] */
    double        payoff; /* NaN: not known */
    int64_t       at_ms;
};

#endif
