/* TLS of the main listener: which certificate it shows, and whose it asks for.  One for the process: the library's
 * callback has no closure. */
#ifndef GNOMON_API_HTTP_TLS_H
#define GNOMON_API_HTTP_TLS_H

#include "engine/base/status.h"

#include <gnutls/abstract.h>

struct tls_files {           /* PEM */
    const char *certificate; /* with the chain that leads to a known authority; NULL: no TLS */
    const char *key;         /* its owner's alone */
    const char *clients;     /* authorities: a client must have a certificate of one of them; NULL: clients need none */
};

/* Reads what these files (which must stay where they are) have now; from the next connection on it is used.  When
 * anything is wrong with them, what was read before stays.
 * Errors: NOT_FOUND, INVALID "file", "open_file"; INVALID "tls_certificate", "tls_key", "tls_clients"; NO_MEMORY. */
MUST_CHECK enum status tls_load(const struct tls_files *files, struct error *err);

/* For MHD_OPTION_HTTPS_PRIORITIES and MHD_OPTION_HTTPS_CERT_CALLBACK2. */
extern const char                     tls_priorities[];
gnutls_certificate_retrieve_function3 tls_give_certificate;

/* To the client at once, past the library; called from the library's thread only. */
void tls_send(gnutls_session_t session, const char *text);

/* Wipes the key. */
void tls_forget(void);

#endif
