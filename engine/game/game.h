/* Repeated games between agents with unknown payoffs: R2-B2 and R2-B2-Lite (Dai, thesis, ch. 8 and appendix E).
 * Knows nothing of tokens, JSON or the store.
 *
 * Every agent picks an action, the joint action is played, every agent gets a payoff, and all of it is known to all
 * afterwards (perfect monitoring).  Payoffs are modelled by Gaussian processes over joint actions with a squared
 * exponential kernel for each agent's action, multiplied; alpha is the upper confidence bound
 *   alpha_t(x) = mean_t(x) + sqrt(beta_t) sd_t(x)                                                            (8.2)
 *   level 0     a draw from a mixed strategy: random, GP-MW (E.1) or EXP3 (8.3.1.1)
 *   level 1     argmax over own x of E[alpha_t(x, x')], x' from the others' level-0 strategies          (8.3), (E.1)
 *   Lite        the same against one draw of x'                                                         (8.8), (E.2)
 *   level k     argmax against what the others do at the levels the agent believes them to have         (8.6), (E.3)
 * Joint actions that fit in a table have their posterior kept up to date one round at a time, and expectations are
 * exact; otherwise they are means over samples, and agents with parameters also search around the best of a list.
 *
 * Invariant: a game is a cache of a pure function of (problem, log).  open, then tell over the log, gives bitwise the
 * same actions as a game that lived through it.  Randomness is rng_at(seed, round and agent, purpose); what an agent
 * samples of the others' strategies is not what they play. */
#ifndef GNOMON_ENGINE_GAME_H
#define GNOMON_ENGINE_GAME_H

#include "engine/base/arena.h"
#include "engine/space/space.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GAME_AGENTS_MAX = 8,
    GAME_LEVEL_MAX = 4,
    GAME_MINDS_MAX = 128,
    GAME_ROUNDS_MAX = 1000,     /* with a table */
    GAME_ROUNDS_SAMPLED = 300,  /* without */
    GAME_ACTIONS_MAX = 4096,    /* of a finite set */
    GAME_LIST_LEN = 256,        /* of quasi-random points that stand for a set of parameters where a list is needed */
    GAME_CELLS_MAX = 65536,     /* joint actions of a table */
    GAME_NUMBERS_MAX = 1 << 21, /* ... and numbers that describe them */
    GAME_PAIRS_MAX = 65536,     /* of a listed action and a sample */
    GAME_FEATURES_MAX = 64
};

enum game_sum { GAME_GENERAL, GAME_COMMON, GAME_CONSTANT };
enum game_strategy { GAME_RANDOM, GAME_GP_MW, GAME_EXP3, GAME_STRATEGY_COUNT };

/* How somebody reasons, or is believed to.  Every level of others is below level; others [agents_len], NULL for
 * oneself, is not looked at on level 0.  id: its number among all of the problem's. */
struct game_mind {
    unsigned                 level;
    const struct game_mind **others;
    size_t                   id;
};

struct game_agent {
    const struct space     *actions;      /* parameters without constraints, or rows */
    double                  length_scale; /* in units of the rows or of the unit cube; NaN: estimated */
    double                  mean;         /* of its payoffs; of all agents when the options have a variance */
    enum game_strategy      level0[GAME_AGENTS_MAX]; /* of each agent as this one believes; its own at its own index */
    const struct game_mind *mind;
    bool                    is_lite; /* level 1 only */
};

struct game_options {
    double variance;          /* of payoffs; NaN: mean and variance are those of the log */
    double noise;             /* variance; NaN: estimated or 1 % of the payoffs' variance */
    bool   theory;            /* beta_t = 2 log(|X_1| t^2 pi^2 / (3 delta)) instead of log(2 t) */
    double beta_scale, delta; /* beta_t is multiplied by the one; the other is for theory */
    double learning_rate;     /* eta of GP-MW and EXP3; for standardised payoffs where there is no variance */
    double uniform_share;     /* gamma of EXP3 */
    size_t features;          /* of EXP3 */
    size_t samples;           /* used without a table; fewer when a list is long: GAME_PAIRS_MAX */
    size_t initial;           /* rounds of uniform play before anything else, from 1 */
};

struct game_problem {
    const struct game_agent *agents; /* [agents_len] from 2; length_scale of all or of none */
    size_t                   agents_len;
    size_t                   minds; /* the number of ids, at most GAME_MINDS_MAX */
    enum game_sum            sum;   /* which agents' payoffs tell the same of the kernel */
    struct game_options      options;
    uint64_t                 seed;
    size_t                   memory_bytes;
};

struct game_action {
    size_t        row;   /* of a finite set */
    const double *point; /* [params_len] natural units; NULL for a row */
};

struct game;

/* How many rounds a game may have: GAME_ROUNDS_MAX if its joint actions fit in a table. */
size_t game_rounds_max(const struct game_problem *problem);

/* How many joint actions there are in the table, 0 without one; and how many models with hyper-parameters of their
 * own. */
size_t game_cells(const struct game_problem *problem);
size_t game_groups(const struct game_problem *problem);

/* Estimates for a game of so many rounds: of the dearest agent's action after them, and of telling them all to a game
 * that was just opened, in seconds of one core, good to a factor of two; and of the bytes that they add to it. */
double game_act_seconds(const struct game_problem *problem, size_t rounds);
double game_tell_seconds(const struct game_problem *problem, size_t rounds);
double game_rounds_bytes(const struct game_problem *problem, size_t rounds);

/* *out is NULL on failure.  The problem and what it points to outlive the game.  Errors: NO_MEMORY. */
MUST_CHECK enum status game_open(const struct game_problem *problem, struct game **out, struct error *err);

/* The next round: actions and payoffs [agents_len], larger is better.  An agent's action lies in its set.
 * With a table O(cells (rounds + columns)).  Errors: NO_MEMORY, NUMERIC; the game is then good for nothing but close. */
MUST_CHECK enum status game_tell(struct game *game, const struct game_action *actions, const double *payoffs,
                                 struct error *err);

/* Asked every few milliseconds; true: what is computed ends with BUSY "deadline_exceeded". */
struct game_patience {
    bool (*late)(void *arg);
    void *arg;
};

/* The agent's action for the open round; a pure function of the log.  The point is in scratch.  patience: or NULL.
 * O(cells level) with a table, otherwise O(list samples rounds^2 level).  Errors: NO_MEMORY, BUSY. */
MUST_CHECK enum status game_act(const struct game *game, size_t agent, const struct game_patience *patience,
                                struct arena *scratch, struct game_action *out, struct error *err);

/* The agent's level-0 strategy over its finite set, or over its list: p [their length].  O(list). */
void game_strategy_of(const struct game *game, size_t agent, enum game_strategy strategy, double *p);

/* out [rounds]: after each round the mean external regret (8.1) of the agent, with today's posterior mean for the
 * payoffs that nobody saw; without a table against the listed actions and those that were played.  O(cells), or
 * O((list + rounds) rounds^2).  Errors: NO_MEMORY. */
MUST_CHECK enum status game_regret(const struct game *game, size_t agent, struct arena *scratch, double *out,
                                   struct error *err);

/* The agent's best response to an action of another agent, by today's posterior mean, while the rest go on doing what they
 * did in the rounds so far. */
struct game_response {
    struct game_action other, own; /* points are the game's */
    double             mean, sd;   /* of the agent's payoff, without noise */
};
/* How many of another agent's actions its curve is over: all of a finite set, the first of a list; 0 before the first
 * round, and when the two have more than GAME_CELLS_MAX pairs. */
size_t game_curve_len(const struct game *game, size_t agent, size_t other);
/* pair: the agent and the other.  out [game_curve_len]: the first of equally good ones.
 * O(pairs rounds + rounds^2 others).  Errors: NO_MEMORY, BUSY. */
MUST_CHECK enum status game_curve(const struct game *game, const size_t pair[2], const struct game_patience *patience,
                                  struct arena *scratch, struct game_response *out, struct error *err);

size_t game_bytes(const struct game *game);
void   game_close(struct game *game); /* NULL is allowed */

#endif
