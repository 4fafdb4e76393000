/* The service's memory of curators' ledgers: the heads that signed manifests vouch for.  A manifest brings the digests of
 * all lines up to its own, so that every head before it can be computed and compared. */
#ifndef GNOMON_SERVICE_CANDIDATES_CURATOR_LEDGER_H
#define GNOMON_SERVICE_CANDIDATES_CURATOR_LEDGER_H

#include "db/db.h"
#include "engine/base/arena.h"
#include "service/manifest/manifest.h"

/* Remembers the manifest's line with its matrix, and all lines before.  CONFLICT "ledger_fork": a line is known with
 * another head, or this one with another matrix, so the ledger was taken back to an earlier copy, or goes on twice. */
struct curator_release {
    const char                   *key, *sha256;
    const struct manifest_ledger *ledger;
};
MUST_CHECK enum status curator_ledger_extend(struct db_conn *conn, const struct curator_release *release,
                                             struct arena *arena, struct error *err);

/* Counts the known ledgers of this key: several ledgers mean several totals. */
MUST_CHECK enum status curator_ledger_count(struct db_conn *conn, const char *key, struct arena *arena, int64_t *count,
                                            struct error *err);

#endif
