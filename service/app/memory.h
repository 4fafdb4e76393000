/* Memory that requests take together: their arenas, their bodies, JSON, and for as long as they compute the models that
 * they compute with.  What does not fit is refused or waits a moment; models that are kept have a limit of their own
 * (session.h). */
#ifndef GNOMON_SERVICE_APP_MEMORY_H
#define GNOMON_SERVICE_APP_MEMORY_H

#include "service/app/app.h"

/* Before something that may take much: waits up to a second until a quarter of all is free.  A caller who has a thread that
 * others need is deferred (slots.h) instead.  Errors: BUSY "busy"; those of app_go_on. */
MUST_CHECK enum status memory_admit(const struct app *app, struct caller *caller, struct error *err);

/* Holds so many bytes until memory_let_go, at most half of all memory: a single request is served whatever it takes. */
MUST_CHECK enum status memory_hold(const struct app *app, struct caller *caller, double bytes, struct error *err);
void                   memory_let_go(const struct app *app, struct caller *caller);

/* Half the memory of this machine or control group, in bytes. */
size_t memory_default(void);

#endif
