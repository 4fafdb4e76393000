/* See turns.h: start-time fair queueing, twice. */
#include "db/turns.h"

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t project_at(const struct turns *turns, const struct db_owner *owner)
{
    return later(turns->projects[owner->project % TURNS_SLOTS].had, turns->clock);
}

static int64_t token_at(const struct turns *turns, const struct db_owner *owner)
{
    return later(turns->tokens[owner->token % TURNS_SLOTS], turns->projects[owner->project % TURNS_SLOTS].clock);
}

bool turns_before(const struct turns *turns, const struct db_owner *a, const struct db_owner *b)
{
    if (a->project == b->project)
        return token_at(turns, a) < token_at(turns, b);
    return project_at(turns, a) < project_at(turns, b);
}

void turns_charge(struct turns *turns, const struct db_owner *owner, int64_t rows)
{
    int64_t project = project_at(turns, owner), token = token_at(turns, owner);
    turns->clock = project;
    turns->projects[owner->project % TURNS_SLOTS].had = project + rows;
    turns->projects[owner->project % TURNS_SLOTS].clock = token;
    turns->tokens[owner->token % TURNS_SLOTS] = token + rows;
}
