/* Types and functions shared by the files of a game; no other file includes it.
 *   game_bound.c   what is read off the models: cells, inputs, upper confidence bounds
 *   game_level0.c  mixed strategies
 *   game_state.c   the log, the models and their fits
 *   game_reason.c  what an agent does in the open round
 *   game_response.c  best responses
 *
 * Bounds are in the units of the payoffs when the options have a variance; otherwise they are standardised by the mean
 * and the spread of the payoffs so far, so that a learning rate means the same in every game. */
#ifndef GNOMON_ENGINE_GAME_STATE_H
#define GNOMON_ENGINE_GAME_STATE_H

#include "engine/game/game.h"
#include "engine/gp/joint_gp.h"
#include "engine/math/rng.h"

/* An agent's actions as the model sees them. */
struct actions {
    const struct space *space;
    size_t              n, dims, at; /* listed actions, features of one, where they stand in a joint input */
    double             *features;    /* [n][dims] scaled by the length-scale, or by the range of each column */
    double             *points;      /* [n][params_len] of a set of parameters, otherwise NULL */
    double             *scales;      /* [dims] */
};

/* The state of a mixed strategy of an agent, kept for those that somebody plays or thinks of. */
struct mixed {
    double *gains; /* [n] sums of bounds (GP-MW) or of estimated payoffs (EXP3); NULL: not kept */
    double *waves; /* [n][features] EXP3 */
};

/* A Gaussian process for the agents whose payoffs have the same hyper-parameters. */
struct group {
    struct joint_gp gp;
    double          variance;                 /* of the signal, in units of the squared spread or of the payoffs */
    size_t          members[GAME_AGENTS_MAX]; /* agents by output */
    size_t          fitted;                   /* rounds at the last fit; 0: none */
};

struct game {
    struct arena               arena;
    const struct game_problem *problem;
    struct actions             actions[GAME_AGENTS_MAX];
    size_t                     dims, cells; /* of a joint input; 0 cells: there is no table */
    double                    *table;       /* [cells][dims], the last agent's action changing fastest */
    struct group               groups[GAME_AGENTS_MAX];
    size_t                     groups_len, group_of[GAME_AGENTS_MAX], output_of[GAME_AGENTS_MAX];
    struct mixed               mixed[GAME_AGENTS_MAX][GAME_STRATEGY_COUNT];
    size_t                     rounds, room;
    double                    *inputs;                                         /* [room][dims] */
    size_t                    *cell_of;                                        /* [room]; with a table */
    double                    *payoffs;                                        /* [room][agents_len] */
    double                     offset[GAME_AGENTS_MAX], unit[GAME_AGENTS_MAX]; /* bounds are (bound - offset) / unit */
    double                     centre[GAME_AGENTS_MAX];                        /* the prior mean */
};

/* The weight of the standard deviation in the open round, for an agent. */
double game_beta_root(const struct game *game, size_t agent);

/* The standard deviation of an agent's payoffs before anything is known, in their units. */
double game_signal(const struct game *game, size_t agent);

/* Upper confidence bound of an agent at a cell, or at m <= JOINT_BLOCK joint inputs; spare as joint_gp_at, and 2
 * JOINT_BLOCK more behind it. */
double game_bound_at_cell(const struct game *game, size_t agent, size_t cell, double beta_root);
void   game_bounds(const struct game *game, size_t agent, const double *inputs, size_t m, double *spare, double *out);
size_t game_spare(const struct game *game); /* the number of spare doubles */

/* The cell of rows [agents_len]. */
size_t game_cell(const struct game *game, const size_t *rows);

/* Scaled features [dims] of an action. */
void game_encode(const struct actions *actions, const struct game_action *action, double *features);

/* Which mixed strategies are needed, and memory for them.  NO_MEMORY. */
MUST_CHECK enum status game_level0_init(struct game *game, struct error *err);
/* Takes in the round that was just told.  NO_MEMORY, NUMERIC. */
MUST_CHECK enum status game_level0_tell(struct game *game, struct error *err);

/* The stream of an agent in the open round. */
struct rng game_rng(const struct game *game, size_t agent, enum rng_purpose purpose);
/* An index by its probability. */
size_t game_draw(struct rng *rng, const double *p, size_t n);

#endif
