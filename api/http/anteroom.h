/* Connections that have sent nothing yet, and those that have and wait for the library.  Here one costs a descriptor; the library
 * would spend 33 KB and two changes of thread on it, and a handshake.  Invariant: both kinds are in the order in which they came,
 * and together no more than ANTEROOM_MAX. */
#ifndef GNOMON_API_HTTP_ANTEROOM_H
#define GNOMON_API_HTTP_ANTEROOM_H

#include "api/base/address.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ANTEROOM_MAX = 1024, ANTEROOM_PATIENT = 2 };

struct guest {
    struct guest           *next, *before;
    int                     fd;
    socklen_t               length;
    struct sockaddr_storage from;
    struct address          key; /* that limits count by; none: nothing counts */
    int64_t                 since_ms;
    unsigned                rank; /* the lower, the sooner it is let in; see conns_newcomer */
};

/* For one thread.  epoll is readable while a guest has sent something or has left. */
struct anteroom {
    int               epoll;
    struct guest      head, ready, vacant; /* of rings: who has sent nothing, who has, and places */
    struct guest      guests[ANTEROOM_MAX];
    _Atomic uint64_t *shed; /* counts guests that made room */
};

/* False: no descriptor is left, and the anteroom takes nobody. */
bool anteroom_open(struct anteroom *room, _Atomic uint64_t *shed);
void anteroom_close(struct anteroom *room);

/* False: nobody may enter.  In a full room the oldest guest makes room, unless it came after since_ms or has sent something;
 * then the last of those whose rank is ANTEROOM_PATIENT or more. */
bool anteroom_has_room(struct anteroom *room, int64_t since_ms);

/* Takes the descriptor, if there is room. */
void anteroom_enter(struct anteroom *room, const struct guest *guest);

/* The first of those that have sent something or have left, by rank, or NULL; it stays until anteroom_leave, which keeps its
 * descriptor open. */
struct guest *anteroom_ready(struct anteroom *room);
void          anteroom_leave(struct anteroom *room, struct guest *guest);

/* Closes the guests that came before since_ms and have sent nothing, and counts them. */
void anteroom_reap(struct anteroom *room, int64_t since_ms, _Atomic uint64_t *reaped);

#endif
