/* The curator's ledger: what has been released of a data set, one signed line each, every line bound to the one before.
 * Only ever appended to, and durable before a release gets its name: a crash in between leaves a charge without a
 * release, never a release without a charge.  Knows nothing of rows.
 * Not protected against: an owner of the key who deletes the file or its last lines. */
#ifndef GNOMON_SERVICE_CURATOR_LEDGER_H
#define GNOMON_SERVICE_CURATOR_LEDGER_H

#include "engine/base/status.h"
#include "service/base/append.h"
#include "service/base/sign.h"

#include <stdbool.h>
#include <stddef.h>

struct ledger_entry {
    char   at[32], dataset_tag[65], mechanism[24], matrix_sha256[65];
    double epsilon, delta;  /* of the rows; epsilon NaN: no guarantee */
    double distance;        /* Delta, scaled space; 0 without a guarantee */
    double outcome_epsilon; /* 0: outcomes are not private */
    /* Of a guaranteed release, else NULL: the public numbers by which a change of a row is measured, canonical JSON,
     * {"columns":{NAME:{"centre","length_scale"},..},"radius"}.  Borrowed; of a ledger's entries: the ledger's. */
    const char *scale;
};

struct ledger {
    struct append_file  *file;    /* locked */
    struct ledger_entry *entries; /* [len] */
    size_t               len;
    char                 key[SIGN_PUBLIC_CHARS]; /* of every line; "" when there is none */
    char                 last_sha256[65];        /* of the last line */
};

/* Reads and verifies the whole file.  may_create: opens it for appending, mode 0600, and cuts off a line that a crash
 * left unfinished; otherwise a file that is not there is NOT_FOUND "file".
 * Errors: CONFLICT "edited_ledger", naming the line; BUSY "locked"; INVALID "file"; NO_MEMORY.  ledger_close always. */
MUST_CHECK enum status ledger_open(const char *path, bool may_create, struct ledger *out, struct error *err);
/* Durable when it returns.  Errors: CONFLICT "other_key" (the file is another curator's); FULL or INVALID "file". */
MUST_CHECK enum status ledger_append(struct ledger *ledger, const struct ledger_entry *entry,
                                     const struct sign_key *key, struct error *err);
void                   ledger_close(struct ledger *ledger);

/* Whether the guaranteed releases and next are by the same public numbers.  A distance of 1 is another change of a row
 * for every radius, so epsilons by different numbers do not add up to anything.  CONFLICT "other_scale", which names what
 * differs. */
MUST_CHECK enum status ledger_check_scale(const struct ledger *ledger, const struct ledger_entry *next,
                                          struct error *err);

/* All entries, and next (or NULL), of one scale, together, for a row that moves by at most distance, the largest of
 * theirs.  A release made for a smaller one is charged for the larger: pure epsilon-DP: epsilon D/Delta; zero-concentrated
 * (discrete Gaussian): rho (D/Delta)^2; projected Gaussian: k = ceil(D/Delta) steps, k epsilon and
 * k e^((k-1) epsilon) delta; cells and outcomes: as they are.  Pure epsilons add, rhos add and are turned into one
 * epsilon at the sum of their deltas, the rest adds. */
struct ledger_total {
    double epsilon, delta, distance;
    size_t releases, unguaranteed; /* of these, without any guarantee: the sum says nothing about them */
};
struct ledger_total ledger_sum(const struct ledger *ledger, const struct ledger_entry *next);

#endif
