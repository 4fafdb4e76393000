/* Completes studies that are over but wait for trials whose workers are gone, since no request would. */
#ifndef GNOMON_SERVICE_STUDY_KEEPER_H
#define GNOMON_SERVICE_STUDY_KEEPER_H

#include "service/app/app.h"

struct keeper;

/* Starts a thread that looks once a second.  BUSY "threads" when the system gives none. */
MUST_CHECK enum status keeper_start(struct app *app, struct keeper **out, struct error *err);
/* Waits for its end, frees.  NULL is allowed. */
void keeper_stop(struct keeper *keeper);

/* Completes the studies whose time is up, or of which another rule is met, and of which no trial is held. */
MUST_CHECK enum status keeper_look(struct app *app, struct error *err);

#endif
