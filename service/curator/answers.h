/* The record of answers: the noisy number that each row got in one charged release of outcomes (noise.h).  The first
 * measurement is final: a number is recorded, durably, before it leaves, and a repeated question gets the recorded number
 * without a measurement.  Two measurements of one row under the same noise would show their exact difference: a corrected
 * table, a command that is not deterministic, a failure and then a success.
 * One file for each context, beside the curator's ledger; only ever appended to.  Nothing is in it that may not leave. */
#ifndef GNOMON_SERVICE_CURATOR_ANSWERS_H
#define GNOMON_SERVICE_CURATOR_ANSWERS_H

#include "engine/base/status.h"
#include "service/file/append.h"
#include "service/file/chain.h"
#include "service/curator/noise.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answer {
    struct noise_tag tag;
    int64_t          steps; /* release_outcome_value */
};
struct answers {
    struct append_file *file;  /* locked */
    struct answer      *given; /* [len] in the order in which they were */
    size_t              len, room;
    struct chain        chain; /* of all lines of answers */
};

/* The record of this context in a folder. */
void answers_path(const char *folder, const unsigned char context[SHA256_BYTES], char *out, size_t out_bytes);
/* known: what is known of the record from elsewhere, and has to be in it; NULL: it may be begun.
 * Errors: CONFLICT "answers_lost" (not there, or without what is known), "other_answers" (of another context, or a line
 * that makes no sense); BUSY "locked" (another curate is at it); INVALID "file"; NO_MEMORY.  answers_close always. */
MUST_CHECK enum status answers_open(const char *path, const unsigned char context[SHA256_BYTES],
                                    const struct chain *known, struct answers *out, struct error *err);
/* Finds an answer; the first recorded one holds. */
bool answers_find(const struct answers *answers, const struct noise_tag *tag, int64_t *steps);
/* Adds an answer for a tag that has none.  Durable when it returns.  Errors: FULL or INVALID "file"; NO_MEMORY. */
MUST_CHECK enum status answers_add(struct answers *answers, const struct noise_tag *tag, int64_t steps,
                                   struct error *err);
void                   answers_close(struct answers *answers);

#endif
