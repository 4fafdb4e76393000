/* Who computes now.  Whoever computes announces first what it costs (price.h) and then has a slot while it does.
 *
 * What costs next to nothing does not wait.  What is short waits for others that are short, never for what is long: it
 * has a slot beside those of all.  What is long looks up at its poll points, and gives way to others when it is their
 * turn.  Whose turn it is follows from the time that each token has had: he who has had least is next, so a token that asks
 * for much takes nothing from one that asks for little.  What was announced too low is what it turns out to be. */
#ifndef GNOMON_SERVICE_APP_SLOTS_H
#define GNOMON_SERVICE_APP_SLOTS_H

#include "service/app/app.h"

enum { SLOTS_SHORT_MS = 25 };

struct slots *slots_new(size_t count); /* NULL: no memory */
void          slots_free(struct slots *slots);

/* Of a request, before it computes: what all of it will cost.  BUSY "deferred" when that is not short and the caller has
 * a thread that others need: it is to ask again in a thread that may wait (see struct caller). */
MUST_CHECK enum status slots_announce(struct caller *caller, double price_ms, struct error *err);

/* That, of something else that may take long. */
enum status slots_defer(struct caller *caller, struct error *err);

/* Waits for a slot in the name of the caller's token, for a part that costs so much.  Fails as app_go_on does, and takes
 * none then. */
MUST_CHECK enum status slots_enter(struct app *app, struct caller *caller, double price_ms, struct error *err);
/* From within, as often as there is a moment for it: app_go_on, which it fails as, and a pause when others are next. */
MUST_CHECK enum status slots_go_on(struct app *app, struct caller *caller, struct error *err);
/* algorithm: which one computed, a text that stays; NULL: none.  How many milliseconds of the processor it took. */
double slots_leave(struct app *app, struct caller *caller, const char *algorithm);

/* How many wait now. */
size_t slots_waiting(struct slots *slots);

/* How long those waited who were let in, and what was computed in slots, by algorithm ("": none). */
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
