/* Private outcomes, as they may be told: what was measured of a row, or a public default where it could not be, cut to
 * the public range, with the noise of its row (noise.h), once (answers.h).
 * Who is answered once is a row, in whatever release of its table; in a partition (cells, a tree), where an answer may
 * not tell that its row lies in this leaf, a candidate of this release. */
#ifndef GNOMON_SERVICE_CURATOR_OUTCOMES_H
#define GNOMON_SERVICE_CURATOR_OUTCOMES_H

#include "service/base/csv.h"
#include "service/codec/manifest.h"
#include "service/curator/answers.h"
#include "service/curator/secret.h"

struct outcomes {
    const struct release_manifest *manifest;
    struct noise_key               key;
    unsigned char                  context[SHA256_BYTES];
    struct noise_tag              *tags; /* [candidates] */
    struct answers                 answers;
};
struct outcomes_of {
    const char                    *key_path;
    const struct release_manifest *manifest; /* with outcomes, planned; must outlive */
    const struct secret           *secret;
    const struct csv_table        *table;
};
/* Errors: as sign_key_read, answers_open; INVALID "other_key" unless the key signed the manifest.  outcomes_close in every
 * case. */
MUST_CHECK enum status outcomes_open(const struct outcomes_of *of, struct outcomes *out, struct error *err);
/* What a candidate was answered: false when it was not. */
bool outcomes_find(const struct outcomes *outcomes, size_t candidate, double *value);
/* What one who has no answer is answered, from now on; measured NaN: the default's.  Errors: as answers_add. */
MUST_CHECK enum status outcomes_settle(struct outcomes *outcomes, size_t candidate, double measured, double *value,
                                       struct error *err);
void                   outcomes_close(struct outcomes *outcomes);

#endif
