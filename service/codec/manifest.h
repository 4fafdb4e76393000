/* What is said about a release, signed by its curator: struct <-> canonical JSON text, the signature, and the check that
 * every number in it is the one that follows from the others.  The curator writes it and the server reads it with the
 * same code.  Must not know of the command line, of requests or of the store.
 *
 * Canonical text: UTF-8 JSON, compact, keys sorted, reals with 17 digits.  The signature is over the canonical text of
 * the manifest without its member "signature". */
#ifndef GNOMON_SERVICE_CODEC_MANIFEST_H
#define GNOMON_SERVICE_CODEC_MANIFEST_H

#include "engine/privacy/mechanism.h"
#include "engine/privacy/projection.h"
#include "engine/privacy/quadtree.h"
#include "engine/base/status.h"
#include "service/base/npy.h"
#include "service/base/sign.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MANIFEST_MAX_BYTES = 16384, MANIFEST_SIDES_MAX = 64 };
#define MANIFEST_PROJECTION_ONLY "projection-only"

struct release_manifest {
    bool                     differentially_private; /* false: projection-only */
    struct mechanism         mechanism; /* of a guaranteed release; rows, columns (of the data) and dims included */
    double                   distance_raw, radius; /* guaranteed: Delta and the ball, in units of the length-scales */
    size_t                   sides[MANIFEST_SIDES_MAX]; /* cells: [mechanism.columns] cells for each column */
    struct quadtree          tree; /* quadtree: rows of the data, levels and rates; the rest follows from mechanism */
    struct projection        projection; /* projection-only */
    bool                     has_outcomes;
    struct mechanism_outcome outcomes;
    char   outcome_name[33];      /* what is measured, letters, digits, '_' and '-': another one is another charge */
    double outcome_default;       /* the answer of a row that cannot be measured, before its noise */
    struct mechanism_total total; /* guaranteed */
    int64_t                rows, columns, bytes; /* of the matrix */
    enum npy_type          dtype;
    char sha256[65], dataset_tag[65], tool[64], created_at[32], key[SIGN_PUBLIC_CHARS], signature[SIGN_CHARS];
};

/* "discrete-laplace", ..., "projection-only". */
const char *manifest_mechanism(const struct release_manifest *manifest);

/* As outcome_name has to be: nothing that is private fits in. */
bool manifest_is_outcome_name(const char *name);

/* Fills key, total and signature.  Errors: NO_MEMORY; as sign_make. */
MUST_CHECK enum status manifest_sign(struct release_manifest *manifest, const struct sign_key *key, struct error *err);

/* The canonical text, signature included; the caller frees it.  Errors: NO_MEMORY. */
MUST_CHECK enum status manifest_text(const struct release_manifest *manifest, char **text, struct error *err);

/* Reads JSON text in any layout (3 for 3.0, any order): exactly the documented members, each of its type.  INVALID
 * "bad_manifest" with the member's pointer.  Says nothing of truth: the next two do. */
MUST_CHECK enum status manifest_read(const char *text, size_t length, struct release_manifest *out, struct error *err);

/* INVALID "bad_signature" unless the manifest's own key verifies its signature.  Whose key it is, the caller compares. */
MUST_CHECK enum status manifest_check_signature(const struct release_manifest *manifest, struct error *err);

/* Recomputes everything that follows from epsilon, delta, distance, radius, sizes and range: INVALID "not_a_release",
 * whose text and pointer name the first number that is another one. */
MUST_CHECK enum status manifest_check_numbers(const struct release_manifest *manifest, struct error *err);

/* All three. */
MUST_CHECK enum status manifest_verify(const char *text, size_t length, struct release_manifest *out,
                                       struct error *err);

#endif
