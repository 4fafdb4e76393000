/* Asking about one resource of a server that may be away for a while. */
#ifndef GNOMON_SERVICE_CLI_PATIENCE_H
#define GNOMON_SERVICE_CLI_PATIENCE_H

#include "service/client/client.h"

#include <stdbool.h>

/* How long the server may be away before a program gives up; counts from the first failure in a row. */
struct patience {
    struct client *client;
    const char    *collection, *id; /* the resource: "studies" and the study's */
    long           limit_ms, waited_ms, pause_ms;
};
enum { PATIENCE_PATH_BYTES = 320 };

/* "/v1/COLLECTION/ID" and the rest. */
void patience_path(const struct patience *patience, const char *rest, char out[PATIENCE_PATH_BYTES]);

/* After a failed call: true when it is worth another try, after a pause that doubles up to 5 s.  False for refusals,
 * after a stop signal, and when the limit is used up. */
bool patience_retry(struct patience *patience, const struct error *err);
/* After a call that worked. */
void patience_reset(struct patience *patience);

/* client_json with patience, of any path and of one of the resource. */
MUST_CHECK enum status patience_json(struct patience *patience, const char *method, const char *path, json_t *body,
                                     json_t **reply, struct error *err);
MUST_CHECK enum status patience_call(struct patience *patience, const char *method, const char *rest, json_t *body,
                                     json_t **reply, struct error *err);

#endif
