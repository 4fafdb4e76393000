/* Open connections: the deadline of the phase each is in, the thread that cuts those that are late, which one makes room
 * in a full house, and how many one address may have.  Also counts failed authentications by address.  Knows nothing of HTTP.
 * Invariant: a descriptor is in the list from when the library announces it until before the library closes it, both
 * under one lock, so shutdown(2) never meets a descriptor that means something else by now. */
#ifndef GNOMON_API_HTTP_CONNS_H
#define GNOMON_API_HTTP_CONNS_H

#include "api/base/address.h"
#include "api/base/trace.h"
#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Connections that share a limit, and how many of them were cut by conns_shed and are not removed yet. */
struct conns_group {
    _Atomic int64_t shed;
};

/* A connection's order is the time since which it waits for its client, or 0 while the server has a whole request of it.
 * CONN_READS is added where the client is to read an answer: what it sends meanwhile stays unread.  CONN_LATER is added where
 * it has shown its token, too: conns_shed takes such a one after all others. */
#define CONN_LATER (INT64_C(1) << 50)
#define CONN_READS (INT64_C(1) << 51)
enum { CONNS_YOUNG_MS = 20 }; /* who waits for less is not sent away: the server may not have come to it yet */

struct conn {
    struct conn          *next, *before;
    struct conns_group   *group;
    int                   fd;
    _Atomic int64_t       order;       /* in which conns_shed takes connections, the least first; 0: it does not */
    bool                  is_shed;     /* under the lock */
    bool                  has_asked;   /* see conns_has_asked */
    struct address        address;     /* of the other end */
    _Atomic int64_t       deadline_ms; /* monotonic; 0: none */
    _Atomic(const char *) farewell;    /* what a late client is told before it is cut: text; late makes it; or NULL */
    char                  late[TRACE_ID_MAX + 1]; /* the id of the request whose body is awaited */
    char                  text[1536];             /* for the farewell, written before it is one */
    bool                  is_tls;   /* a TLS connection gets no farewell: another thread would write into its records */
    atomic_bool          *has_left; /* see conns_watch */
    struct arena          spare;    /* kept for the next request, or empty; to be given back before conns_remove */
};

struct conns;

/* reaped counts what was late, shed what made room.  memory: of requests, or NULL. */
struct conns_options {
    int64_t (*now_ms)(void);
    _Atomic uint64_t  *reaped, *shed;
    struct arena_pool *memory;
    /* The farewell of a client whose body is late, for the id of its request; or NULL. */
    const char *(*late)(const char *id, char *text, size_t room);
};
/* Starts the thread.  Once a second it gives memory back to the system that requests had and nobody uses: what they took
 * would stay.  It takes too long for the threads that serve connections. */
MUST_CHECK enum status conns_start(const struct conns_options *options, struct conns **out, struct error *err);
void                   conns_stop(struct conns *conns);

/* How many connections the address has whose key it is, with those that were promised; 0 of none.  A promise counts until
 * conns_add keeps it, or for some seconds when the library does not: another thread adds it, and many are let in before. */
size_t conns_count(struct conns *conns, const struct address *key);
void   conns_promise(struct conns *conns, const struct address *key);

/* NULL when out of memory: the connection is then to be cut by the caller. */
struct conn *conns_add(struct conns *conns, struct conns_group *group, int fd, const struct sockaddr *from,
                       int64_t deadline_ms);
void         conns_remove(struct conns *conns, struct conn *conn);

/* Cuts the connection of the group that has waited longest without a whole request, and for CONNS_YOUNG_MS at least; but none
 * whose client has sent what is still to be read.  False: there is none.  Its place is free when conns_remove has lowered
 * group->shed. */
bool conns_shed(struct conns *conns, struct conns_group *group);

/* Bytes have come through the socket that nobody has read, of TLS, too; its end is none. */
bool conns_has_unread(int fd);

/* From now on *has_left becomes true, within about a second, when the client has closed the connection: the library does
 * not look at one that is suspended.  A client that closes only its own direction counts as gone: nothing that is
 * waiting for an answer does, and the two cannot be told apart.  NULL: it is not looked at any more. */
void conns_watch(struct conns *conns, struct conn *conn, atomic_bool *has_left);

/* The rank of a new connection: how many the address has had since its last whole request, and one more where there was none within a
 * minute.  One that asks goes before one that nobody has seen, and that before whoever only connects. */
unsigned conns_newcomer(struct conns *conns, const struct address *key);
void     conns_has_asked(struct conns *conns, struct conn *conn); /* from the connection's thread; NULL: nothing */

/* Failed authentications within a minute. */
enum { CONNS_FAILURES_MAX = 10 };
void conns_count_failure(struct conns *conns, const struct address *address);
bool conns_is_blocked(struct conns *conns, const struct address *address);

#endif
