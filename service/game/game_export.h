/* A game as lines of JSON: service/portable/EXPORT.md. */
#ifndef GNOMON_SERVICE_GAME_GAME_EXPORT_H
#define GNOMON_SERVICE_GAME_GAME_EXPORT_H

#include "service/app/app.h"

/* A snapshot, in a file without a name that the caller closes.  It leaves out an open round, whose plays are shown to
 * nobody.  NOT_FOUND "game_not_found"; FULL "disk_full". */
MUST_CHECK enum status games_export(struct app *app, struct caller *caller, const char *id, int *file, int64_t *bytes,
                                    struct error *err);

#endif
