/* Slots for computing.  A computation first announces its price (price.h), then holds a slot while it runs.
 *
 * A computation that costs next to nothing does not wait.  A short one waits for other short ones, never for a long one: it
 * has a slot beside the shared ones.  A long one checks at its poll points whether it has to give way.  The turn goes to the
 * token that has had least time so far, so a token that asks for much takes nothing from one that asks for little.  An
 * announced price that was too low is replaced by the time actually used. */
#ifndef GNOMON_SERVICE_APP_SLOTS_H
#define GNOMON_SERVICE_APP_SLOTS_H

#include "service/app/app.h"

enum { SLOTS_SHORT_MS = 25 };

struct slots *slots_new(size_t count); /* NULL: no memory */
void          slots_free(struct slots *slots);

/* Announces the price of all of a request, before it computes.  BUSY "deferred" when that is not short and the caller is on
 * a thread that others need: it is to ask again on a thread that may wait (see struct caller). */
MUST_CHECK enum status slots_announce(struct caller *caller, double price_ms, struct error *err);

/* BUSY "deferred", likewise, for any other work that may take long. */
enum status slots_defer(struct caller *caller, struct error *err);

/* Waits for a slot in the name of the caller's token, for a part that costs so much.  Fails as app_go_on does, and takes no
 * slot then. */
MUST_CHECK enum status slots_enter(struct app *app, struct caller *caller, double price_ms, struct error *err);
/* Called while computing, as often as convenient: fails as app_go_on, and pauses when others are next. */
MUST_CHECK enum status slots_go_on(struct app *app, struct caller *caller, struct error *err);
/* Leaves the slot; returns the processor time in milliseconds.  algorithm: a static text, or NULL. */
double slots_leave(struct app *app, struct caller *caller, const char *algorithm);

/* How many wait now. */
size_t slots_waiting(struct slots *slots);

/* Statistics: the waits for slots, and the time computed in slots by algorithm ("": none). */
enum { SLOTS_WAITS = 8, SLOTS_ALGORITHMS = 32 };
extern const int64_t slots_bounds_us[SLOTS_WAITS];
struct slots_stats {
    uint64_t waits[SLOTS_WAITS + 1], waited_us, pauses;
    uint64_t misjudged; /* took less than half of their price, or more than twice as long */
    int64_t  silent_us; /* since the last sign of life of that which has not shown any for longest; 0: none computes */
    struct slots_computed {
        const char *algorithm; /* NULL ends the list, if it is not full */
        uint64_t    times, us;
    } computed[SLOTS_ALGORITHMS];
};
void slots_stats(struct slots *slots, struct slots_stats *out);

#endif
