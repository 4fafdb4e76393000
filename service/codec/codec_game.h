/* A game's specification, actions and rounds <-> JSON. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_GAME_H
#define GNOMON_SERVICE_CODEC_CODEC_GAME_H

#include "service/member/codec_read.h"
#include "service/model/game_spec.h"

#include <jansson.h>

/* {"payoffs","total","agents","model","strategy","seed"} as a client wrote them; default_seed is used when there is
 * none.  Errors: INVALID with a pointer ("/agents/0/beliefs/1/level", ...); in a reading that keeps problems, all of them. */
MUST_CHECK enum status codec_game_read(struct reading *in, const json_t *members, uint64_t default_seed,
                                       struct game_spec **out);
/* The stored text -> spec. */
MUST_CHECK enum status codec_game_parse(const char *text, struct arena *arena, struct game_spec **out,
                                        struct error *err);
/* The inverse, everything filled in.  To an agent (viewer) nobody else's reasoning and no seed is shown; agents_len:
 * all.  A new reference; NULL when out of memory. */
json_t *codec_game_spec_json(const struct game_spec *spec, size_t viewer);
/* Members of a struct game_spec, as read, and as written for a viewer. */
extern const struct member codec_game_members[];

/* A row number, or an object of parameters. */
MUST_CHECK enum status codec_game_action(struct reading *in, const json_t *json, const char *where,
                                         struct game_play *out);
json_t *codec_game_action_json(const struct game_spec *spec, size_t agent, int64_t row, const double *point);

#endif
