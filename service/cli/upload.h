/* Sends a candidate matrix to a study: the manifest, then the file in ranges, going on where the server has it after
 * every interruption. */
#ifndef GNOMON_SERVICE_CLI_UPLOAD_H
#define GNOMON_SERVICE_CLI_UPLOAD_H

#include "service/cli/client.h"

#include <stdbool.h>

/* How long a server may be away before a program gives up; counts from the first failure in a row. */
struct patience {
    struct client *client; /* of the server */
    long           limit_ms, waited_ms, pause_ms;
};

/* After a failed call: true when it is worth another try, after a pause that doubles up to 5 s.  False for refusals,
 * after a stop signal, and when the limit is used up. */
bool patience_retry(struct patience *patience, const struct error *err);
/* After a call that worked. */
void patience_reset(struct patience *patience);

/* client_json with patience. */
MUST_CHECK enum status patience_json(struct patience *patience, const char *method, const char *path, json_t *body,
                                     json_t **reply, struct error *err);

struct upload {
    struct patience *patience;
    const char      *study, *matrix_path;
    const char      *manifest; /* its text; the caller has compared it with the matrix */
};
/* Returns when the study has the whole matrix; progress on standard error.  Errors: what the server refuses with. */
MUST_CHECK enum status upload_run(const struct upload *upload, struct error *err);

#endif
