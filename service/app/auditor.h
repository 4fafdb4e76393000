/* The auditor of the store while it is served.  It verifies every row and every line of the log against its sum, once a day
 * and at the start, piece by piece; and it writes the head of the log's chain elsewhere, again and again, as later proof
 * that the log was not changed. */
#ifndef GNOMON_SERVICE_APP_AUDITOR_H
#define GNOMON_SERVICE_APP_AUDITOR_H

#include "service/app/app.h"
#include "service/model/event.h"

struct auditor_options {
    const char *head_file; /* each head a line, "seq hash time-of-the-line"; NULL: nowhere */
    int64_t     head_seconds;
    int64_t     keep_seconds; /* how old lines of the log become: retention.h; 0: they stay */
};
struct auditor;

/* Opens the file: before the process gives up to open any.  Errors: those of append_open (service/file/append.h). */
MUST_CHECK enum status auditor_open(const struct auditor_options *options, struct auditor **out, struct error *err);
/* Starts a thread.  Heads are written at once, every so many seconds, and when it is stopped.  BUSY "threads". */
MUST_CHECK enum status auditor_start(struct auditor *auditor, struct app *app, struct error *err);
/* Waits for its end, frees.  NULL is allowed. */
void auditor_stop(struct auditor *auditor);

/* Reads a line of such a file: false if it is none. */
bool auditor_read_head(const char *line, struct event_head *out);

#endif
