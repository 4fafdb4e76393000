/* Makes the process-wide state with all that hangs on it: store, clock, caches. */
#ifndef GNOMON_SERVICE_MAIN_APP_OPEN_H
#define GNOMON_SERVICE_MAIN_APP_OPEN_H

#include "service/app/app.h"

MUST_CHECK enum status app_open(const struct app_options *options, struct app **out, struct error *err);
void                   app_close(struct app *app);

#endif
