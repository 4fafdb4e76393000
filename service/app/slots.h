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
MUST_CHECK enum status slots_enter(struct slots *slots, const struct app *app, const struct caller *caller,
                                   struct error *err);
void                   slots_leave(struct slots *slots);

/* How many wait now. */
size_t slots_waiting(struct slots *slots);

#endif
