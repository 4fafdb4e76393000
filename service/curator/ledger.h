/* The curator's ledger: everything that was done with the tables of one key, one signed line each, in a hash chain.
 * It lives in a folder beside the key, KEY.ledger, and is made with the key: a key whose ledger is missing, shorter than
 * the key remembers, or another one is refused, never begun anew.  KEY holds, behind the key itself, a line with the
 * ledger's id, the number of its lines and its head.
 * Only ever appended to, and durable before a release gets its name: a crash in between leaves a charge without a
 * release, never a release without a charge.  Knows nothing of rows, and not what a line says: that is account.h.
 * Not protected against: an owner of the key who takes key and ledger back to an earlier copy.  A server that has seen a
 * later head refuses what such a ledger releases (service/candidates). */
#ifndef GNOMON_SERVICE_CURATOR_LEDGER_H
#define GNOMON_SERVICE_CURATOR_LEDGER_H

#include "engine/base/status.h"
#include "service/file/append.h"
#include "service/file/chain.h"
#include "service/file/sign.h"
#include "service/manifest/manifest.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { LEDGER_LINES_MAX = MANIFEST_LINES_MAX, LEDGER_ID_CHARS = MANIFEST_ID_CHARS };

struct ledger {
    struct append_file *file;
    char                id[LEDGER_ID_CHARS]; /* random */
    char                key[SIGN_PUBLIC_CHARS];
    char                key_path[1024], folder[1040];            /* the real paths, links resolved */
    json_t             *entries;                                 /* [chain.seq] as they were signed */
    struct chain        chain;                                   /* after the last line */
    unsigned char       digests[LEDGER_LINES_MAX][SHA256_BYTES]; /* [chain.seq] of the lines; and of the next */
    /* between opening and the last line: what the key remembers, and whether it was met */
    int64_t       remembered_seq;
    unsigned char remembered_head[SHA256_BYTES];
    bool          is_met;
    char         *next_line; /* of ledger_prepare */
    struct chain  next_chain;
};

/* Makes the folder with an empty ledger and writes the line for the key's file to stream.  CONFLICT "ledger_exists": of
 * an earlier key of this name. */
MUST_CHECK enum status ledger_create(const char *key_path, FILE *key_stream, struct error *err);

/* Reads and verifies the whole.  writes: locked, and what a crash left of a line is cut off.  The ledger is large: not for
 * a small stack.  Errors: CONFLICT no_ledger (the key's file has no line about one), ledger_missing, ledger_truncated (fewer
 * lines than the key remembers, or others), edited_ledger, which names the line; BUSY locked; INVALID file; NO_MEMORY.
 * ledger_close always. */
MUST_CHECK enum status ledger_open(const char *key_path, const struct sign_key *key, bool writes, struct ledger *out,
                                   struct error *err);
void                   ledger_close(struct ledger *ledger);

/* The next line: body, whose reference is taken, with kind, number, time and signature.  What is in next_chain may then be
 * signed elsewhere; ledger_append makes it so.  Errors: FULL ledger_full; NO_MEMORY. */
MUST_CHECK enum status ledger_prepare(struct ledger *ledger, const char *kind, json_t *body, const struct sign_key *key,
                                      struct error *err);
/* Durable when it returns, in the ledger and then in the key's file.  Errors: FULL or INVALID file. */
MUST_CHECK enum status ledger_append(struct ledger *ledger, struct error *err);

#endif
