/* At most a number of threads inside at once.  The others wait, and their owners take turns: who asks once is let in
 * before the second of somebody who asks often. */
#ifndef GNOMON_SERVICE_APP_SLOTS_H
#define GNOMON_SERVICE_APP_SLOTS_H

#include "engine/policy/policy.h"
#include "service/app/app.h"

struct slots *slots_new(size_t count); /* NULL: no memory */
void          slots_free(struct slots *slots);

/* Where those of an algorithm take a slot for a proposal. */
struct slots *slots_of(const struct app *app, const struct policy *policy);

/* Waits for a slot in the name of the caller's token.  Fails as app_go_on does, and takes none then. */
MUST_CHECK enum status slots_enter(struct slots *slots, const struct app *app, struct caller *caller,
                                   struct error *err);
/* The same caller.  algorithm: which one computed, a text that stays; NULL: none. */
void slots_leave(struct slots *slots, struct caller *caller, const char *algorithm);

/* How many wait now. */
size_t slots_waiting(struct slots *slots);

/* How long those waited who were let in, and what was computed in slots, by algorithm ("": none). */
enum { SLOTS_WAITS = 8, SLOTS_ALGORITHMS = 32 };
extern const int64_t slots_bounds_us[SLOTS_WAITS];
struct slots_stats {
    uint64_t waits[SLOTS_WAITS + 1], waited_us; /* of those up to each bound, not cumulative; the last: of the others */
    struct slots_computed {
        const char *algorithm; /* NULL ends the list, if it is not full */
        uint64_t    times, us;
    } computed[SLOTS_ALGORITHMS];
};
void slots_stats(struct slots *slots, struct slots_stats *out);

#endif
