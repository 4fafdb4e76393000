/* The curator's memory of what was measured: appended and made durable before a value is sent, so that neither a crash
 * of this side nor of the server makes a row be measured again.  A line cut short by a crash does not count. */
#ifndef GNOMON_SERVICE_JOURNAL_H
#define GNOMON_SERVICE_JOURNAL_H

#include "engine/status.h"
#include "service/append.h"

#include <stdbool.h>
#include <stddef.h>

#define JOURNAL_ALL_STUDIES "-"

struct journal {
    struct append_file file;
    double            *values; /* [len] by candidate; NaN: not measured */
    size_t             len;
};

/* Opens or creates, mode 0600, for len candidates.  study: or JOURNAL_ALL_STUDIES, for outcomes with private noise: a row
 * is answered once, whoever asks, because a second answer would be a second charge.  Errors: CONFLICT "other_journal" (another secret or study, or a line
 * that makes no sense); BUSY "locked" (another curate uses it); INVALID "file"; NO_MEMORY.  journal_close in every case. */
MUST_CHECK enum status journal_open(const char *path, const char *secret_id, const char *study, size_t len,
                                    struct journal *out, struct error *err);
MUST_CHECK enum status journal_append(struct journal *journal, size_t candidate, double value, struct error *err);
void                   journal_close(struct journal *journal);

#endif
