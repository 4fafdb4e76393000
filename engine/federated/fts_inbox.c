/* See fts_inbox.h. */
#include "engine/federated/fts_inbox.h"

#include "engine/math/mat.h"

#include <string.h>

void fts_inbox_init(struct fts_inbox *inbox, struct arena *arena, size_t doubles, bool is_broadcast)
{
    *inbox = (struct fts_inbox){.arena = arena, .doubles = doubles, .is_broadcast = is_broadcast};
}

/* The sender's place, a new one if need be. */
static enum status place_of(struct fts_inbox *inbox, uint64_t sender, struct fts_received **out, struct error *err)
{
    size_t i = 0;
    while (i < inbox->len && inbox->received[i].sender != sender)
        i++;
    struct fts_received *received = arena_grown(inbox->arena, inbox->received, i, sizeof *received, &inbox->room);
    if (received == NULL)
        return error_no_memory(err);
    inbox->received = received;
    *out = &inbox->received[i];
    if (i < inbox->len)
        return STATUS_OK;
    **out = (struct fts_received){.sender = sender, .vectors = ARENA_NEW(inbox->arena, double, inbox->doubles)};
    if ((*out)->vectors == NULL)
        return error_no_memory(err);
    inbox->len++;
    return STATUS_OK;
}

enum status fts_inbox_put(struct fts_inbox *inbox, const struct event *event, struct error *err)
{
    struct fts_received *place;
    if (event->vectors_len != inbox->doubles || !mat_is_finite(event->vectors, inbox->doubles))
        return error_set(err, STATUS_INVALID, "bad_vectors", "", "what an agent receives is %zu finite numbers",
                         inbox->doubles);
    inbox->serial++;
    if (inbox->is_broadcast && event->round < inbox->round)
        return STATUS_OK;
    inbox->round = event->round + 1;
    TRY(place_of(inbox, inbox->is_broadcast ? 0 : event->sender, &place, err));
    place->serial = inbox->serial;
    place->is_used = false;
    memcpy(place->vectors, event->vectors, inbox->doubles * sizeof *place->vectors);
    return STATUS_OK;
}

void fts_inbox_use(struct fts_inbox *inbox, uint64_t serial)
{
    for (size_t i = 0; i < inbox->len; i++)
        inbox->received[i].is_used |= inbox->received[i].serial == serial;
}

const struct fts_received *fts_inbox_pick(const struct fts_inbox *inbox, struct rng *rng)
{
    size_t unused = 0, i = 0;
    for (size_t k = 0; k < inbox->len; k++)
        unused += !inbox->received[k].is_used;
    if (unused == 0)
        return NULL;
    size_t skip = rng_below(rng, unused);
    while (inbox->received[i].is_used || skip-- > 0)
        i++;
    return &inbox->received[i];
}
