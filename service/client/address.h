/* Which addresses the internet has, and which are of this machine, of a network of one's own, or of nobody. */
#ifndef GNOMON_SERVICE_CLI_ADDRESS_H
#define GNOMON_SERVICE_CLI_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* Neither loopback, private, link-local, shared, multicast nor reserved (the special-purpose registries of IANA); an
 * address of IPv6 that stands for one of IPv4 is what that one is.  Of another family: no. */
bool address_is_public(const struct sockaddr *address);

/* Asks for the addresses of a host, [::1] in brackets: false when it has some and none is public. */
bool address_may_be_public(const char *host);

#endif
