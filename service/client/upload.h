/* Sends a candidate matrix to a study: the manifest, then the file in ranges, going on where the server has it after
 * every interruption. */
#ifndef GNOMON_SERVICE_CLI_UPLOAD_H
#define GNOMON_SERVICE_CLI_UPLOAD_H

#include "service/client/patience.h"

struct upload {
    struct patience *patience; /* of the study */
    const char      *matrix_path;
    const char      *manifest; /* its text; the caller has compared it with the matrix */
};
/* Returns when the study has the whole matrix; progress on standard error.  Errors: what the server refuses with. */
MUST_CHECK enum status upload_run(const struct upload *upload, struct error *err);

#endif
