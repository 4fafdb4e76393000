/* An algorithm beside a rule that stops trials.  To the algorithm a stopped trial is the forecast of what it would have come
 * to.  Where the rule has its guard there are two sessions: one proposes the trials that the rule judges, the other the whole
 * ones.  The latter knows of a stopped trial that it was begun, and nothing else, so that no forecast misleads it.  Which of the
 * two a proposal is from, its note says. */
#ifndef GNOMON_ENGINE_STREAMS_H
#define GNOMON_ENGINE_STREAMS_H

#include "engine/stopping/stop_rule.h"

struct streams {
    const struct policy *policy;
    struct session      *session, *whole; /* whole NULL: the rule has no guard */
};

/* Each session has problem's memory.  Errors: as session_open; then nothing is open. */
MUST_CHECK enum status streams_open(struct streams *streams, const struct policy *policy, const struct problem *problem,
                                    const struct stop_rule *rule, struct error *err);

/* The curves know the event already.  Errors: NO_MEMORY. */
MUST_CHECK enum status streams_tell(const struct streams *streams, const struct curves *curves,
                                    const struct event *event, struct error *err);

/* Errors: as policy->ask. */
MUST_CHECK enum status streams_ask(const struct streams *streams, const struct stop_rule *rule,
                                   const struct curves *curves, const struct ask *ask, struct proposal *out,
                                   struct error *err);

/* As policy->read_transfer, of a proposal's note. */
bool streams_read_transfer(const struct policy *policy, const void *note, size_t note_bytes,
                           struct transfer_state *out);

size_t streams_bytes(const struct streams *streams);
void   streams_close(struct streams *streams); /* twice, too */

#endif
