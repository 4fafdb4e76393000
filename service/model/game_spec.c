/* See game_spec.h. */
#include "service/model/game_spec.h"

#include "service/base/nearest.h"

#include <string.h>

const char *const games_state_names[GAMES_STATE_COUNT + 1] = {
    [GAMES_ACTIVE] = "active", [GAMES_COMPLETED] = "completed"};

enum status games_find_agent(const struct game_spec *spec, const char *name, const char *where, size_t *out,
                             struct error *err)
{
    struct nearest nearest = nearest_to(name, strlen(name));
    *out = games_agent(spec, name);
    if (*out < spec->problem.agents_len)
        return STATUS_OK;
    for (size_t a = 0; a < spec->problem.agents_len; a++)
        nearest_consider(&nearest, spec->names[a]);
    return nearest_refuse(&nearest, err, "unknown_agent", where, "agent of the game", "the game lists them");
}

size_t games_agent(const struct game_spec *spec, const char *name)
{
    size_t a = 0;
    while (a < spec->problem.agents_len && strcmp(spec->names[a], name) != 0)
        a++;
    return a;
}
