/* How many studies and trials are in each state, and how much privacy is left: what is asked for every few seconds, and
 * is not worth a look through the store each time. */
#ifndef GNOMON_SERVICE_STUDY_CENSUS_H
#define GNOMON_SERVICE_STUDY_CENSUS_H

#include "service/app/app.h"

/* Within a transaction: fills app->census, unless nothing was written since (was_busy, from the second time on). */
MUST_CHECK enum status census_take(struct app *app, struct db_conn *conn, bool was_busy, struct error *err);

#endif
