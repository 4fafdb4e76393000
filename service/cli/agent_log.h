/* The log of a federation's agent, on its own disk: points, values, and messages of others.  Each line is a JSON object,
 * appended and made durable before it is used, so that a restart goes on where it was.  The log is also what the agent's
 * session is opened from: the two are told the same, in the same order. */
#ifndef GNOMON_SERVICE_CLI_AGENT_LOG_H
#define GNOMON_SERVICE_CLI_AGENT_LOG_H

#include "engine/policy/policy.h"
#include "service/file/append.h"
#include "service/model/federation_spec.h"

/* A member of a secure federation must know some things again after a restart, each written once: its secret, the digest of
 * all members' keys, who of them sent shares, the masked vector that it sends, and the list of members for which it opened. */
enum agent_kept { AGENT_SECRET, AGENT_KEYS, AGENT_PRESENT, AGENT_VECTOR, AGENT_LIST, AGENT_KEPT };

struct agent_log {
    struct append_file           *file;
    const struct federation_spec *spec;
    struct session               *session;        /* of spec->study.policy; told every line */
    struct arena                  arena;          /* what the lines hold: as long as the session */
    int64_t                       trials, values; /* suggested, and with a value */
    int64_t                       pending;        /* the trial without an end; 0: none */
    double                       *point;          /* [params_len] of the last one suggested */
    double                        best;           /* NaN: none */
    double                       *best_point;     /* [params_len] where there is a best */
    uint64_t                      seed;
    int64_t                       round; /* the last broadcast that was received; 0: none */
    struct agent_help {
        int64_t            weighed, followed; /* trials that the release could guide, and those that follow it */
        struct release_use last;              /* of these */
        double before, after; /* the best value when the release came, and after the last of them; NaN: none */
    } help;
    bool    is_weighed; /* the release was, for the last trial suggested */
    double *vectors;    /* [seats][features] fts: the last of each seat */
    struct agent_kept_bytes {
        unsigned char *bytes; /* NULL: none yet */
        size_t         length;
    } kept[AGENT_KEPT];
};

struct agent_identity {
    const char *federation, *features_sha256;
    int64_t     seat;
    uint64_t    seed; /* for a new log */
};

/* Opens or creates, mode 0600, and tells the lines that are there to a new session.  Errors: CONFLICT "other_journal",
 * BUSY "locked", INVALID "file", NO_MEMORY, those of the policy.  agent_log_close in every case. */
MUST_CHECK enum status agent_log_open(const char *path, const struct agent_identity *identity,
                                      const struct federation_spec *spec, struct agent_log *out, struct error *err);
void                   agent_log_close(struct agent_log *log);

/* Each: the line, then the session. */
MUST_CHECK enum status agent_log_suggested(struct agent_log *log, const struct proposal *proposal,
                                           const struct release_use *use, struct error *err);
/* value NaN: the measurement failed. */
MUST_CHECK enum status agent_log_ended(struct agent_log *log, double value, struct error *err);
/* The broadcast of a round: [rows][features].  fts: what is the agent's own, absent or known is not told. */
MUST_CHECK enum status agent_log_received(struct agent_log *log, int64_t round, const double *matrix, size_t rows,
                                          int64_t own_seat, struct error *err);

/* Durable when it returns; nothing of this kind may be there. */
MUST_CHECK enum status agent_log_keep(struct agent_log *log, enum agent_kept kind, const void *bytes, size_t length,
                                      struct error *err);

#endif
