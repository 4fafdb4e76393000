/* Functions of db.h that are made of others. */
#include "db/others.h"

enum status db_transact(struct db *db, db_fn fn, void *arg, struct error *err)
{
    struct db_transaction one = {.fn = fn, .arg = arg, .err = err};
    db_transact_all(db, &one, 1);
    return one.status;
}

enum status db_transact_large(struct db *db, struct db_owner owner, db_fn fn, void *arg, struct error *err)
{
    struct db_transaction one = {.owner = owner, .fn = fn, .arg = arg, .err = err, .is_large = true};
    db_transact_all(db, &one, 1);
    return one.status;
}

bool db_is_fresh(struct db *db)
{
    return others_is_fresh(db_others(db));
}

int db_servers(struct db *db)
{
    return others_servers(db_others(db));
}

bool db_is_shared(const struct db *db)
{
    return db_others(db) != NULL;
}

bool db_is_oldest(struct db *db)
{
    return others_is_oldest(db_others(db));
}

bool db_clock_ms(struct db *db, int64_t *ms)
{
    const struct others *others = db_others(db);
    *ms = others == NULL ? 0 : others_clock_ms(others);
    return others != NULL;
}
