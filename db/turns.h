/* The order of owners, where several wait: projects take turns by what each has written, and within a project its
 * tokens.  Pure: no clock, no lock.  An owner is a pair of hashes; those that share one share its turns. */
#ifndef GNOMON_DB_TURNS_H
#define GNOMON_DB_TURNS_H

#include "db/db.h"

enum { TURNS_SLOTS = 256 };

/* The rows that each owner has written; after a rest an owner begins at the count of those served meanwhile. */
struct turns {
    struct {
        int64_t had, clock; /* clock: of the project's tokens */
    } projects[TURNS_SLOTS];
    int64_t tokens[TURNS_SLOTS], clock;
};

/* Whether a comes before b, which came earlier. */
bool turns_before(const struct turns *turns, const struct db_owner *a, const struct db_owner *b);
void turns_charge(struct turns *turns, const struct db_owner *owner, int64_t rows);

#endif
