/* Where a request comes from: the address of the connection or, when that is a trusted proxy, the one that it names in
 * Forwarded (RFC 7239) or X-Forwarded-For.  What a proxy hands on was written by anybody, so the lists are read from
 * their end, as far as each address is a trusted proxy's.  Pure: knows neither sockets nor HTTP. */
#ifndef GNOMON_API_CORE_ADDRESS_H
#define GNOMON_API_CORE_ADDRESS_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct sockaddr;

/* IPv6; IPv4 as ::ffff:a.b.c.d; all zero: none, as of a Unix socket. */
struct address {
    unsigned char bytes[16];
};

struct address address_of(const struct sockaddr *from); /* NULL: none */
bool           address_is_none(const struct address *address);
bool           address_equal(const struct address *a, const struct address *b);

/* The key that limits count by: an IPv4 address, the /64 of an IPv6 address. */
struct address address_key(const struct address *address);

enum { NETWORKS_MAX = 32 };
struct networks {
    struct {
        struct address address;
        unsigned       bits;
    } items[NETWORKS_MAX];
    size_t len;
};

/* "127.0.0.1,10.0.0.0/8,fd00::/8"; NULL or "": none.  Errors: INVALID "usage". */
MUST_CHECK enum status networks_read(const char *text, struct networks *out, struct error *err);
bool                   networks_have(const struct networks *networks, const struct address *address);

/* The last of the addresses that the two kinds of header name, in their order; text NULL: one that cannot be read. */
enum { HOPS_MAX = 16 };
struct hops {
    struct hop {
        const char *text; /* borrowed */
        size_t      length;
    } items[HOPS_MAX]; /* a ring */
    size_t len;        /* of all hops that came */
};
struct forwarded {
    struct hops forwarded, x_forwarded_for;
};

/* Takes one header if it is one of the two; starts from zeroed forwarded. */
void forwarded_header(struct forwarded *forwarded, const char *name, size_t name_length, const char *value);

/* The client's address.  Where a list stops being readable, the trusted proxy that handed it on counts; and so does
 * peer when the two kinds of header disagree, since a proxy that writes the one may let the other pass. */
struct address forwarded_client(const struct forwarded *forwarded, const struct networks *trusted,
                                const struct address *peer);

#endif
