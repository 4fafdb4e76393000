/* The log as a hash chain: its head vouches for every line, and for their order.
 *   head(0) = 32 zero bytes;  head(n) = SHA-256("gnomon/log/v1" | seq | head(n-1) | SHA-256(line n))
 * A line is its members, each with its length, and the digest of its words instead of them: SHA-256(salt | words).  When they
 * are deleted, with the salt, that digest stays, and the chain holds.
 *
 * Lines may go, too: SHA-256(line n) stays of each (log_gap), so the head of every line, of those that went as well, is what it
 * was.
 *
 * Invariants: the writer adds what a transaction wrote to the chain before it commits; lines go only with db_log_drop. */
#ifndef GNOMON_DB_CHAIN_H
#define GNOMON_DB_CHAIN_H

#include "db/db.h"
#include "db/sum.h"

enum { CHAIN_BYTES = 32, CHAIN_SALT_BYTES = 16 };

struct chain_place {
    int64_t       seq; /* of the line that it is the head of; 0: before the first */
    unsigned char head[CHAIN_BYTES];
};
struct chain_state {
    struct chain_place first, last; /* before the first line that is left; behind the last */
    int64_t            at_ms;       /* when that line was written; 0: none was */
    int64_t            newest;      /* line that there is */
    struct total       total;       /* of the rows that were bound to it last: sum.h */
    bool               has_total;
};
MUST_CHECK enum status chain_read(struct db_conn *conn, struct chain_state *out, struct error *err);
/* That there is a total, and that it is the one of the last line that binds any: what is written next is added to it, and
 * vouched for.  INTERNAL "store_corrupt". */
MUST_CHECK enum status chain_check_total(struct db_conn *conn, const struct chain_state *state, struct error *err);

/* The end of the log, for the writer in a transaction.  Its last line is written when the next one comes, or with what it
 * binds at the end; sooner when a statement looks at the log. */
struct chain_end {
    bool               is_known;
    int64_t            sealed;                                      /* the last line of the transaction before */
    struct chain_place at;                                          /* behind the lines that are written */
    int64_t            at_ms;                                       /* of the last of these */
    struct total       total;                                       /* as it was */
    struct row_line   *last;                                        /* NULL: all lines are written */
    enum status (*settle)(struct db_conn *conn, struct error *err); /* writes it now */
};
/* At its beginning, which reads where that is, and at its end, which binds what was changed to the last line, or to one that says
 * "store.changed" when none is left to be written. */
MUST_CHECK enum status chain_begin(struct db_conn *conn, struct error *err);
MUST_CHECK enum status chain_seal(struct db_conn *conn, struct error *err);
/* Adds a line; the seq in it is not used. */
MUST_CHECK enum status db_log_add(struct db_conn *conn, const struct row_line *line, struct error *err);
/* A line of this program's own. */
MUST_CHECK enum status db_log_say(struct db_conn *conn, const char *kind, struct error *err);

/* Goes on from a place by so many lines, and not beyond `until`; calls `see`, unless it is NULL, for each place that it comes
 * to.  INTERNAL "store_corrupt": a line is missing. */
typedef enum status chain_see(void *arg, const struct chain_place *at, struct error *err);
struct chain_walk {
    struct chain_place at;
    int64_t            until;
    chain_see         *see;
    void              *arg;
    unsigned char      bound[CHAIN_BYTES]; /* by the last of those lines that say so: chain_digest_total */
    bool               has_bound;
    int64_t            gone;  /* how many of the lines had been deleted */
    int64_t            at_ms; /* when the last one was written */
};
void chain_digest_total(const struct total *total, unsigned char out[CHAIN_BYTES]);

MUST_CHECK enum status chain_walk(struct db_conn *conn, struct chain_walk *walk, int64_t lines_max, struct error *err);

/* Deletes the words of a study's lines, in a transaction. */
MUST_CHECK enum status db_log_erase(struct db_conn *conn, const char *study, struct error *err);

/* Deletes so many lines that follow one another, in a transaction that writes another one: it binds what is left of them, and
 * is the last line instead, if need be.  At most CHAIN_DROP_MAX. */
enum { CHAIN_DROP_MAX = 1000 };
MUST_CHECK enum status db_log_drop(struct db_conn *conn, int64_t first, int64_t last, struct error *err);

#endif
