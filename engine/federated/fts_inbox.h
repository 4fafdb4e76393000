/* Messages that an agent of a federation has received: in `fts` the last of each sender, in `dp-fts-de` the last broadcast.
 * Each message gets a serial number, from 1, and is used once: a later message of the same sender replaces the earlier one,
 * used or not.  A function of the events alone. */
#ifndef GNOMON_ENGINE_FTS_INBOX_H
#define GNOMON_ENGINE_FTS_INBOX_H

#include "engine/base/arena.h"
#include "engine/policy/policy.h"
#include "engine/math/rng.h"

struct fts_received {
    uint64_t sender, serial;
    bool     is_used;
    double  *vectors; /* [doubles] */
};

struct fts_inbox {
    struct arena        *arena;
    size_t               doubles; /* of each event: regions times features */
    bool                 is_broadcast;
    struct fts_received *received; /* [len] */
    size_t               len, room;
    uint64_t             serial, round; /* of the last that came; of the last broadcast, plus 1 */
};

void fts_inbox_init(struct fts_inbox *inbox, struct arena *arena, size_t doubles, bool is_broadcast);

/* Takes in an EVENT_RECEIVED; a broadcast of an earlier round than the last, or of the same, is passed over.
 * Errors: INVALID "bad_vectors" (another length, or not finite); NO_MEMORY.  O(senders + doubles). */
MUST_CHECK enum status fts_inbox_put(struct fts_inbox *inbox, const struct event *event, struct error *err);

/* Marks the message with this serial as used; it may be gone. */
void fts_inbox_use(struct fts_inbox *inbox, uint64_t serial);

/* Draws a message that is not used, each with the same probability; NULL when there is none. */
const struct fts_received *fts_inbox_pick(const struct fts_inbox *inbox, struct rng *rng);

#endif
