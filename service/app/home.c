/* See home.h.  A table of fixed size, one entry a slot, the newest wins. */
#include "service/app/home.h"

#include "service/base/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 16384 };

struct slot {
    char id[24], project[24];
};
struct homes {
    pthread_rwlock_t lock;
    struct slot      slots[SLOTS];
};

struct homes *homes_new(void)
{
    struct homes *homes = calloc(1, sizeof *homes);
    if (homes != NULL)
        pthread_rwlock_init(&homes->lock, NULL);
    return homes;
}

void homes_free(struct homes *homes)
{
    if (homes == NULL)
        return;
    pthread_rwlock_destroy(&homes->lock);
    free(homes);
}

static bool is_kept(struct homes *homes, const char *id, struct slot *out)
{
    pthread_rwlock_rdlock(&homes->lock);
    *out = homes->slots[text_hash(id) % SLOTS];
    pthread_rwlock_unlock(&homes->lock);
    return strcmp(out->id, id) == 0;
}

static void keep(struct homes *homes, const struct slot *slot)
{
    pthread_rwlock_wrlock(&homes->lock);
    homes->slots[text_hash(slot->id) % SLOTS] = *slot;
    pthread_rwlock_unlock(&homes->lock);
}

enum status home_find(struct db_conn *conn, const char *id, char project[24], struct error *err)
{
    struct db_rows rows = db_query(conn, NULL, err, SQL_HOME, BIND(TEXT(id)));
    project[0] = '\0';
    while (db_next(&rows))
        snprintf(project, 24, "%s", row_home(&rows)->project);
    return db_done(&rows);
}

static enum status check(const struct caller *caller, const char *thing, const char *project, struct error *err)
{
    return project[0] != '\0' && caller_has(caller, project) ? STATUS_OK : caller_no_such(thing, err);
}

enum status home_check_in(struct db_conn *conn, const struct caller *caller, const char *thing, const char *id,
                          struct error *err)
{
    char project[24];
    TRY(caller_sees(caller, thing, id, err));
    TRY(home_find(conn, id, project, err));
    return check(caller, thing, project, err);
}

static enum status look_up(struct db_conn *conn, void *arg, struct error *err)
{
    struct slot *slot = arg;
    return home_find(conn, slot->id, slot->project, err);
}

enum status home_check_from_memory(struct app *app, const struct caller *caller, const char *thing, const char *id,
                                   struct error *err)
{
    struct slot slot;
    TRY(caller_sees(caller, thing, id, err));
    if (strlen(id) >= sizeof slot.id)
        return caller_no_such(thing, err);
    return is_kept(app->homes, id, &slot) ? check(caller, thing, slot.project, err) : STATUS_BUSY;
}

enum status home_check(struct app *app, const struct caller *caller, const char *thing, const char *id,
                       struct error *err)
{
    struct slot slot = {.project = ""};
    enum status status = home_check_from_memory(app, caller, thing, id, err);
    if (status != STATUS_BUSY)
        return status;
    snprintf(slot.id, sizeof slot.id, "%s", id);
    TRY(db_read(app->db, look_up, &slot, err));
    if (slot.project[0] != '\0')
        keep(app->homes, &slot);
    return check(caller, thing, slot.project, err);
}
