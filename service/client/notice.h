/* Messages of gnomon notify: the choice of lines of the log, the message, and its signature.  A message names a study or a
 * federation, the event, and a number; never a point, a value or a text of somebody's. */
#ifndef GNOMON_SERVICE_CLI_NOTICE_H
#define GNOMON_SERVICE_CLI_NOTICE_H

#include "engine/base/status.h"
#include "service/client/patience.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define NOTICE_KINDS "completed,target,budget,failed,privacy"

struct notice_filter {
    unsigned wanted; /* a bit for each row of the table of kinds */
    int64_t  low_percent;
};
/* Reads a list of kinds with commas.  INVALID "usage". */
MUST_CHECK enum status notice_read_kinds(const char *list, struct notice_filter *out, struct error *err);

enum { NOTICE_ID_BYTES = 96 };

/* The message about an event, and its id, which is the same each time; NULL: there is none.  server: tells a federation's
 * spending.  Errors: as patience_json; NO_MEMORY. */
MUST_CHECK enum status notice_of(const struct notice_filter *filter, struct patience *server, const json_t *event,
                                 char id[NOTICE_ID_BYTES], json_t **out, struct error *err);

enum { NOTICE_KEY_BYTES = 32, NOTICE_SIGNATURE_BYTES = 3 + 44 + 1 };

/* "whsec_" and 24 to 32 bytes in base64, as standardwebhooks.com has it.  INVALID "usage". */
MUST_CHECK enum status notice_read_key(const char *text, unsigned char key[NOTICE_KEY_BYTES], struct error *err);

/* "v1," and HMAC-SHA-256 of "id.timestamp.body" in base64.  NO_MEMORY. */
MUST_CHECK enum status notice_sign(const unsigned char key[NOTICE_KEY_BYTES], const char *id, int64_t timestamp,
                                   const char *body, char out[NOTICE_SIGNATURE_BYTES], struct error *err);

#endif
