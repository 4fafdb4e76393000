/* A release's manifest, signed by its curator: struct <-> canonical JSON text, the signature, and the check that
 * every number in it is the one that follows from the others.  The curator writes it and the server reads it with the
 * same code; the curator's ledger holds what it says of the release too.  Must not know of the command line, of requests
 * or of the store.
 *
 * Canonical text: UTF-8 JSON, compact, keys sorted, reals with 17 digits.  The signature is over the canonical text of
 * the manifest without its member "signature". */
#ifndef GNOMON_SERVICE_CODEC_MANIFEST_H
#define GNOMON_SERVICE_CODEC_MANIFEST_H

#include "engine/base/status.h"
#include "engine/privacy/curve.h"
#include "engine/privacy/mechanism.h"
#include "engine/privacy/projection.h"
#include "engine/privacy/quadtree.h"
#include "service/file/chain.h"
#include "service/base/npy.h"
#include "service/file/sign.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MANIFEST_MAX_BYTES = 1 << 18,
    MANIFEST_SIDES_MAX = 64,
    MANIFEST_COLUMNS_MAX = MECHANISM_COLUMNS_MAX,
    MANIFEST_LINES_MAX = 1000,
    MANIFEST_ID_CHARS = 17
};
#define MANIFEST_PROJECTION_ONLY "projection-only"

/* The cost: for the protected change of a row, and for any change of one row. */
struct manifest_cost {
    double epsilon, delta, epsilon_any_change;
};

/* The release's place in its curator's ledger: who knows an earlier head can compute this one from the lines. */
struct manifest_ledger {
    char                 id[MANIFEST_ID_CHARS], head[SHA256_HEX_BYTES];
    int64_t              seq, tables;                             /* lines; declared tables of the key */
    unsigned char        lines[MANIFEST_LINES_MAX][SHA256_BYTES]; /* [seq] digests */
    struct manifest_cost spent, budget; /* guaranteed: on the data set, this release included; of the budget no
                                           epsilon_any_change */
};

struct release_manifest {
    bool             differentially_private; /* false: projection-only */
    struct mechanism mechanism; /* of a guaranteed release; rows, columns (of the data) and dims included */
    /* guaranteed, [mechanism.columns], raw units: the public interval, the scale and the protected move (INFINITY: any) */
    double                   low[MANIFEST_COLUMNS_MAX], high[MANIFEST_COLUMNS_MAX], protect[MANIFEST_COLUMNS_MAX];
    double                   centre[MANIFEST_COLUMNS_MAX], length_scales[MANIFEST_COLUMNS_MAX];
    double                   radius;                    /* of the ball, in units of the length-scales */
    double                   epsilon_any_change;        /* of the rows */
    size_t                   sides[MANIFEST_SIDES_MAX]; /* cells: [mechanism.columns] cells for each column */
    struct quadtree          tree; /* quadtree: rows of the data, levels and rates; the rest follows from mechanism */
    struct projection        projection; /* projection-only */
    bool                     has_outcomes;
    struct mechanism_outcome outcomes;
    char   outcome_name[33];      /* what is measured, letters, digits, '_' and '-': another one is another charge */
    double outcome_default;       /* the answer of a row that cannot be measured, before its noise */
    struct manifest_cost   total; /* rows and answers; only of private outcomes: of others nothing bounds it */
    struct manifest_ledger ledger;
    int64_t                rows, columns, bytes; /* of the matrix */
    enum npy_type          dtype;
    char sha256[65], dataset_tag[65], tool[64], created_at[32], key[SIGN_PUBLIC_CHARS], signature[SIGN_CHARS];
};

/* "discrete-laplace", ..., "projection-only". */
const char *manifest_mechanism(const struct release_manifest *manifest);

/* Whether a text may be an outcome_name: nothing private fits in. */
bool manifest_is_outcome_name(const char *name);

/* Curves of a guaranteed release, rows first, then private answers if it has them; moves [mechanism.columns] in the place
 * of protect (NULL: those).  Errors: as relation_shift. */
enum { MANIFEST_CURVES_MAX = 2 };
MUST_CHECK enum status manifest_curves(const struct release_manifest *manifest, const double *moves, bool any_change,
                                       struct privacy_curve curves[MANIFEST_CURVES_MAX], size_t *len,
                                       struct error *err);
/* Plans a guaranteed release: what is asked for, relation and scale are there; fills distances, mechanism and outcomes,
 * epsilon_any_change and total.  Errors: as relation_shift, mechanism_plan, mechanism_plan_outcome, curves_epsilon. */
MUST_CHECK enum status manifest_plan(struct release_manifest *manifest, struct error *err);

/* The members that say what was released, and back: what a line of the ledger holds.  NULL: out of memory. */
json_t                *manifest_release_json(const struct release_manifest *manifest);
MUST_CHECK enum status manifest_read_release(const json_t *members, struct release_manifest *out, struct error *err);

/* Fills key and signature.  Errors: NO_MEMORY; as sign_make. */
MUST_CHECK enum status manifest_sign(struct release_manifest *manifest, const struct sign_key *key, struct error *err);

/* The canonical text, signature included; the caller frees it.  Errors: NO_MEMORY. */
MUST_CHECK enum status manifest_text(const struct release_manifest *manifest, char **text, struct error *err);

/* Reads JSON text in any layout (3 for 3.0, any order): exactly the documented members, each of its type.  INVALID
 * "bad_manifest" with the member's pointer.  Says nothing of truth: the next two do. */
MUST_CHECK enum status manifest_read(const char *text, size_t length, struct release_manifest *out, struct error *err);

/* INVALID "bad_signature" unless the manifest's own key verifies its signature.  Whose key it is, the caller compares. */
MUST_CHECK enum status manifest_check_signature(const struct release_manifest *manifest, struct error *err);

/* Recomputes everything that follows from epsilon, delta, relation, scale, sizes, range and the ledger's lines: INVALID
 * "not_a_release", whose text and pointer name the first number that is another one. */
MUST_CHECK enum status manifest_check_numbers(const struct release_manifest *manifest, struct error *err);

/* All three. */
MUST_CHECK enum status manifest_verify(const char *text, size_t length, struct release_manifest *out,
                                       struct error *err);

#endif
