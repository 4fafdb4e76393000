/* Private outcomes, as they may be told: what was measured of a row, or a public default where it could not be, cut to
 * the public range, with the noise of its row (noise.h), once (answers.h).
 * The ledger has a line of kind "outcomes" before the first answer, and one more whenever a run has added answers: how many
 * there are, and the head of their chain.  A record without them is refused; who has lost it begins the next epoch, which
 * is charged (gnomon ledger epoch).  Lines:
 *   outcomes  table, context, epoch;  answers, head: of the record
 *   epoch     table, context, epoch;  release: what its manifest says of it
 * Who is answered once is a row, in whatever release of its table; in a partition (cells, a tree), where an answer may
 * not tell that its row lies in this leaf, a candidate of this release. */
#ifndef GNOMON_SERVICE_CURATOR_OUTCOMES_H
#define GNOMON_SERVICE_CURATOR_OUTCOMES_H

#include "service/base/csv.h"
#include "service/manifest/manifest.h"
#include "service/curator/answers.h"
#include "service/curator/ledger.h"
#include "service/curator/secret.h"

struct outcomes {
    const struct release_manifest *manifest;
    const char                    *key_path;
    struct sign_key               *key;
    struct noise_key               noise;
    unsigned char                  context[SHA256_BYTES];
    struct noise_tag              *tags; /* [candidates] */
    struct answers                 answers;
    int64_t                        noted; /* how many of them the ledger knows of */
    bool                           is_open;
};

/* The ledger's record of the answers of a release. */
struct outcomes_charge {
    char         base[SHA256_HEX_BYTES]; /* the context at epoch 0 */
    int64_t      table, epoch;           /* table 0: the release is not in the ledger */
    bool         is_begun;               /* answers were given in this epoch, or may have been */
    struct chain record;                 /* what they were */
};
void outcomes_charge_of(const struct ledger *ledger, const struct release_manifest *manifest,
                        struct outcomes_charge *out);

struct outcomes_of {
    const char                    *key_path; /* both must outlive the struct */
    const struct release_manifest *manifest; /* with outcomes, planned */
    const struct secret           *secret;
    const struct csv_table        *table;
};
/* Errors: as sign_key_read, ledger_open, ledger_append, answers_open; INVALID "other_key" unless the key signed the
 * manifest; CONFLICT "not_charged" (the ledger knows nothing of the release), "wrong_data" (the table is another one than
 * the manifest's).  outcomes_close in every case. */
MUST_CHECK enum status outcomes_open(const struct outcomes_of *of, struct outcomes *out, struct error *err);
/* Finds the answer of a candidate; false: it has none. */
bool outcomes_find(const struct outcomes *outcomes, size_t candidate, double *value);
/* Answers a candidate that has no answer yet, for good; measured NaN: with the default's value.  Errors: as answers_add. */
MUST_CHECK enum status outcomes_settle(struct outcomes *outcomes, size_t candidate, double measured, double *value,
                                       struct error *err);
void                   outcomes_close(struct outcomes *outcomes);

#endif
