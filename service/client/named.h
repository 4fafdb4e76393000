/* Studies by what people call them. */
#ifndef GNOMON_SERVICE_CLI_NAMED_H
#define GNOMON_SERVICE_CLI_NAMED_H

#include "service/client/client.h"

enum { NAMED_ESCAPED_BYTES = 1024, NAMED_PATH_BYTES = 320 };

/* As a part of an address or of a query.  INVALID "usage" when it is too long for one. */
MUST_CHECK enum status named_escape(const char *text, char out[NAMED_ESCAPED_BYTES], struct error *err);

/* Whether the text, NULL allowed, is an id of what begins so: "std" of studies, "fed", "gam".  What a reply calls an id becomes a part of
 * an address, or a file's name, only after this. */
bool named_is_id(const char *prefix, const char *text);

/* The study with this id or this name, as the server shows it, its own id included: a new reference.
 * Errors: NOT_FOUND "study_not_found"; CONFLICT "ambiguous_name"; as client_json. */
MUST_CHECK enum status named_study(struct client *client, const char *name, json_t **study, struct error *err);

/* "/v1/studies/ID" and the rest; "" for what is no study. */
void named_path(const json_t *study, const char *rest, char out[NAMED_PATH_BYTES]);

#endif
