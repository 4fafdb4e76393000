/* In which project a study, a federation or a game is.  None ever moves to another and no id is given twice, so what was
 * found once stays true: it is kept in memory, and looking costs a request nothing. */
#ifndef GNOMON_SERVICE_APP_HOME_H
#define GNOMON_SERVICE_APP_HOME_H

#include "service/app/app.h"

struct homes *homes_new(void); /* NULL: no memory */
void          homes_free(struct homes *homes);

/* NOT_FOUND "<thing>_not_found" unless there is a "study", "federation" or "game" with this id that the caller may see: one
 * in its project, and the one that its token is bound to if it is.  May read the store; from_memory: BUSY instead. */
MUST_CHECK enum status home_check(struct app *app, const struct caller *caller, const char *thing, const char *id,
                                  struct error *err);
MUST_CHECK enum status home_check_from_memory(struct app *app, const struct caller *caller, const char *thing,
                                              const char *id, struct error *err);
/* As home_check, within a read or a transaction on conn. */
MUST_CHECK enum status home_check_in(struct db_conn *conn, const struct caller *caller, const char *thing,
                                     const char *id, struct error *err);
/* The project of the resource, or "" when there is no such resource. */
MUST_CHECK enum status home_find(struct db_conn *conn, const char *id, char project[24], struct error *err);

#endif
