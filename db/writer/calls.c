/* Functions of db.h that are made of others. */
#include "db/db.h"

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
