/* A game as lines of JSON: service/study/EXPORT.md. */
#ifndef GNOMON_SERVICE_GAME_GAME_EXPORT_H
#define GNOMON_SERVICE_GAME_GAME_EXPORT_H

#include "service/app/app.h"

/* One snapshot, in a file without a name that the caller closes.  Of an open round nothing is in it, since what is known of
 * one is shown to nobody.  NOT_FOUND "game_not_found"; FULL "disk_full". */
MUST_CHECK enum status games_export(struct app *app, struct caller *caller, const char *id, int *file, int64_t *bytes,
                                    struct error *err);

#endif
