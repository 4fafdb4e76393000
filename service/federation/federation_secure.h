/* Secure federations in the store: what service/model/secure.h computes, from messages and broadcasts.  For this folder. */
#ifndef GNOMON_SERVICE_FEDERATION_FEDERATION_SECURE_H
#define GNOMON_SERVICE_FEDERATION_FEDERATION_SECURE_H

#include "service/federation/federation.h"

/* Sets how many messages close the open round: those who sent in the round before, or as many as it takes without them. */
MUST_CHECK enum status federation_secure_expect(struct db_conn *conn, struct federation *federation, struct error *err);

/* A message of the open round: its sender was there in the round before, and keys are keys.
 * CONFLICT "round_closed"; INVALID "out_of_range". */
MUST_CHECK enum status federation_secure_check(struct db_conn *conn, const struct federation *federation,
                                               const struct federation_message *message, struct arena *arena,
                                               struct error *err);

/* The release, out [features], from the openings [seats][..] and the broadcasts before.  Errors: as secure_sum. */
MUST_CHECK enum status federation_secure_sum(struct db_conn *conn, struct secure *secure, const double *openings,
                                             double *out, struct arena *arena, struct error *err);

/* file: the broadcast of SECURE_SHARES; becomes what one seat was sent in it, or for seat 0 the digests alone. */
MUST_CHECK enum status federation_secure_column(const struct federation *federation, int64_t seat,
                                                struct federation_file *file, struct arena *arena, struct error *err);

#endif
