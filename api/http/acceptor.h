/* Takes connections from the listening sockets and hands them to the library's threads.
 *
 * The library would do so itself.  But to stop it there is only MHD_quiesce_daemon, which removes the socket from sets that
 * its threads remove it from, too, and who comes second aborts the process (Debian 12's 0.9.75: tests/fault/ends).  Here
 * one thread owns the sockets, and one number limits the connections.  When only a 16th of the places is left, each newcomer
 * sends away whoever has waited longest without a whole request.  Where all others have one, these places are for addresses
 * without a connection, and when they are taken, too, more wait in the backlog. */
#ifndef GNOMON_API_HTTP_ACCEPTOR_H
#define GNOMON_API_HTTP_ACCEPTOR_H

#include "api/http/anteroom.h"
#include "engine/base/status.h"

#include <stddef.h>

enum {
    ACCEPTOR_SHED_MAX = 64, /* connections of a listener that were cut and are still to be closed */
    /* descriptors of a listener beside its connections: its socket and its anteroom's epoll are two of them */
    ACCEPTOR_BESIDE = ANTEROOM_MAX + ACCEPTOR_SHED_MAX + 2
};

struct acceptor;
struct listener;

/* Listeners without a daemon are left out.  After a failure, too, *out is to be stopped. */
enum status acceptor_start(struct listener *listeners, size_t len, struct acceptor **out, struct error *err);

/* Refuses new connections from its return on; one that was just accepted is still served.  A second call does nothing. */
void acceptor_close(struct listener *listener);

/* Closes all and ends the thread: before the daemons are stopped and the sockets' numbers given back.  NULL does nothing. */
void acceptor_stop(struct acceptor *acceptor);

#endif
