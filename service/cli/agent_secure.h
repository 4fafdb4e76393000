/* The four messages of a member of a secure federation.  Everything that must not be made twice is in the journal before it is
 * sent: the secret, the keys that were seen, the vector, the list of members.  A server that later shows other keys or
 * another list gets nothing. */
#ifndef GNOMON_SERVICE_CLI_AGENT_SECURE_H
#define GNOMON_SERVICE_CLI_AGENT_SECURE_H

#include "service/cli/agent_log.h"
#include "service/client/patience.h"
#include "service/model/secure.h"

struct agent_secure {
    struct patience     *patience;
    struct agent_log    *log;
    struct arena        *arena;                         /* scratch */
    const char          *features_sha256, *fingerprint; /* fingerprint: NULL, the server is believed */
    struct secure        secure;
    struct secure_member member;
    double              *column; /* [seats][SECURE_COLUMN_LEN] or NULL: not read yet */
    int64_t              sent;   /* the last round this process has sent for, or was absent in */
};

/* secure is the federation's, without keys; makes the secret if the journal has none.  Errors: of the journal. */
MUST_CHECK enum status agent_secure_open(struct agent_secure *agent, size_t seat, struct error *err);

/* Sends for the open round, once.  vector [features]: of this member, for SECURE_VECTORS, where none is in the journal.  A
 * member that is too late is absent, which is no failure.
 * Errors: CONFLICT "other_fingerprint", "other_keys", "other_list", and those of secure.h: the server does what it must not. */
MUST_CHECK enum status agent_secure_send(struct agent_secure *agent, int64_t round, const double *vector,
                                         struct error *err);

#endif
