/* The curator's memory of what was measured: appended and made durable before a value is sent, so that neither a crash
 * of this side nor of the server makes a row be measured again.  A line cut short by a crash does not count. */
#ifndef GNOMON_SERVICE_CURATOR_JOURNAL_H
#define GNOMON_SERVICE_CURATOR_JOURNAL_H

#include "engine/base/status.h"
#include "service/file/append.h"

#include <stdbool.h>
#include <stddef.h>

struct journal {
    struct append_file *file;
    double             *values;       /* [len] by candidate; NaN: not measured, INFINITY: the measurement failed */
    size_t              len, answers; /* how many values */
    size_t              limit;        /* of answers, as agreed to; 0: nothing was */
    bool                is_minimized; /* the study, when that was agreed to */
};

/* Opens for len candidates; may_create: for appending too, made with mode 0600 when it is not there.  Errors: CONFLICT
 * "other_journal" (another secret or study, or a line that makes no sense); BUSY "locked" (another curate uses it);
 * NOT_FOUND or INVALID "file"; NO_MEMORY.  journal_close in every case. */
struct journal_of {
    const char *path, *secret_id, *study;
    size_t      len;
};
MUST_CHECK enum status journal_open(const struct journal_of *of, bool may_create, struct journal *out,
                                    struct error *err);
/* value INFINITY: the measurement failed. */
MUST_CHECK enum status journal_append(struct journal *journal, size_t candidate, double value, struct error *err);
/* How many answers the curator allows, and what the study is after. */
MUST_CHECK enum status journal_agree(struct journal *journal, size_t limit, bool is_minimized, struct error *err);
size_t                 journal_failures(const struct journal *journal);
void                   journal_close(struct journal *journal);

#endif
