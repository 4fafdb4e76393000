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

/* The message of SECURE_SHARES of a seat, from 0: its part of digests [seats][SECURE_WORDS], which are the broadcast, and of shares
 * [seats][seats][SECURE_SHARE_LEN], the first index being who reads them. */
void federation_secure_deal(const struct secure *secure, size_t seat, const double *message, double *digests,
                            double *shares);
/* Writes for each seat what it was sent, in the place of the messages: it is there until the federation is over. */
MUST_CHECK enum status federation_secure_hand_out(struct db_conn *conn, const struct secure *secure,
                                                  const double *shares, int64_t now_ms, struct error *err);
/* file: the broadcast of SECURE_SHARES; becomes the digests and what a seat was sent, if that is there. */
MUST_CHECK enum status federation_secure_column(struct db_conn *conn, const struct federation *federation, int64_t seat,
                                                struct federation_file *file, struct arena *arena, struct error *err);

#endif
