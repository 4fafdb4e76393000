/* The health listener of a server that waits for the database: /livez and /metrics, and 503 to all else. */
#ifndef GNOMON_API_HTTP_SPARE_H
#define GNOMON_API_HTTP_SPARE_H

#include "engine/base/status.h"

struct spare;
/* Errors: those of server_socket, INTERNAL "listen". */
MUST_CHECK enum status spare_start(const char *host, const char *port, struct spare **out, struct error *err);
int                    spare_port(const struct spare *spare);
void                   spare_stop(struct spare *spare); /* its port is free then; NULL: nothing */

#endif
