/* See game_spec.h. */
#include "service/model/game_spec.h"

#include <string.h>

const char *const games_state_names[GAMES_STATE_COUNT + 1] = {
    [GAMES_ACTIVE] = "active", [GAMES_COMPLETED] = "completed"};

size_t games_agent(const struct game_spec *spec, const char *name)
{
    size_t a = 0;
    while (a < spec->problem.agents_len && strcmp(spec->names[a], name) != 0)
        a++;
    return a;
}
