/* At most a number of threads inside at once.  The others wait, and their owners take turns: who asks once is let in
 * before the second of somebody who asks often. */
#ifndef GNOMON_SERVICE_GATE_H
#define GNOMON_SERVICE_GATE_H

#include "engine/policy/policy.h"
#include "service/app.h"

struct gate *gate_new(size_t slots); /* NULL: no memory */
void         gate_free(struct gate *gate);

/* Where those of an algorithm take a slot for a proposal. */
struct gate *gate_of(const struct app *app, const struct policy *policy);

/* Waits for a slot in the name of the caller's token.  Fails as app_go_on does, and takes none then. */
MUST_CHECK enum status gate_enter(struct gate *gate, const struct app *app, const struct caller *caller,
                                  struct error *err);
void                   gate_leave(struct gate *gate);

/* How many wait now. */
size_t gate_waiting(struct gate *gate);

#endif
