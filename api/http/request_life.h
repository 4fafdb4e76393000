/* The life of a request: its holders, its waits, its deadline.
 * A request belongs to its connection's thread, or, while it is linked in requests->running, to a worker.  Whoever unlinks
 * it resumes the connection.  It is freed when both have let go (refs). */
#ifndef GNOMON_API_HTTP_REQUEST_LIFE_H
#define GNOMON_API_HTTP_REQUEST_LIFE_H

#include "api/http/request.h"

/* The least rate at which a client must send or take: 50 KB/s. */
enum { REQUEST_RATE_BYTES_PER_MS = 50 };

/* See request_steps.c. */
enum stage { STAGE_HEAD, STAGE_CHECK, STAGE_BODY, STAGE_PIECE, STAGE_WORK, STAGE_DISCARD, STAGE_SENT, STAGE_FOLLOW };

struct request {
    struct requests       *shared;
    struct conn           *conn;
    struct MHD_Connection *connection;
    struct request        *next, *before; /* in requests->running or following, or before that in reading */
    enum stage             stage;
    atomic_int             refs;
    bool                   is_suspended, is_watched, abandoned, expects; /* Expect: 100-continue */
    bool                   failed;                                       /* the last job's reply is an error */
    bool                   is_again;                                     /* the next one is struct follow's */
    char                  *body;
    size_t                 room;                          /* of body, accounted in traffic.body_bytes */
    struct quota          *project;                       /* ... and there; or NULL */
    int64_t                declared, received, discarded; /* bytes; declared -1: chunked */
    int64_t                started_us, body_deadline_ms, suspended_ms;
    size_t                 uri_length; /* of what call.uri has the start of */
    struct arena_mark      empty, before_pieces;
    size_t                 streamed; /* bytes of the reply's present piece that were sent */
    uint64_t               seen;     /* the number of commits before its last answer was made */
    const char            *turn;     /* that it has while a worker asks again for it, or waits for; NULL: none */
    int64_t                waits_us, waited_us; /* since when it follows; and how long it has followed before that */
    struct call            call;                /* last: see struct call */
};

/* Into a list, and out of it, each under its owner's lock. */
void request_link(struct request **list, struct request *request);
void request_unlink(struct request **list, struct request *request);

int64_t request_now_us(void);
bool    request_is_streamed(const struct request *request);

/* When the connection is cut, and what the client is told then; 0, NULL: neither.  One with a deadline waits for its client
 * from now on, and may have to make room.  request_reads, after it: the client has an answer to read, and one that is known
 * makes room after all others. */
void request_set_deadline(struct request *request, int64_t deadline_ms);
void request_reads(struct request *request, bool is_known);
void request_set_farewell(struct request *request, const char *text);

/* The requests of the calling thread whose head the library has begun to read, linked; and one of them is read. */
struct request *request_reading(void);
void            request_head_read(struct request *request);

/* The library leaves the connection alone until it is resumed, which a worker does. */
void request_suspend(struct request *request);
void request_resumed(struct request *request);
/* From now on call.has_left becomes true when the client goes, or no longer.  The request does not run, or its worker calls. */
void request_watch(struct request *request, bool is_watched);

void request_free_body(struct request *request);

/* True for the last one to let go, who frees it. */
bool request_let_go(struct request *request);
void request_free(struct request *request);

#endif
