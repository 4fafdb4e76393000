/* The result of every function that can fail, and the object that says why.
 * Shared by all layers; knows nothing of HTTP.  A status is a category; the code is the stable name that
 * clients may test for; the text is for people.  The error is filled once, where it is understood. */
#ifndef GNOMON_ENGINE_STATUS_H
#define GNOMON_ENGINE_STATUS_H

#include <stdint.h>

#define MUST_CHECK __attribute__((warn_unused_result))

enum status {
    STATUS_OK,           /* done */
    STATUS_INVALID,      /* the input is not acceptable, whatever the state */
    STATUS_UNAUTHORISED, /* no token, or not a valid one */
    STATUS_FORBIDDEN,    /* a valid token without the scope */
    STATUS_NOT_FOUND,    /* no such thing, or not visible to this token */
    STATUS_CONFLICT,     /* acceptable input, but not in this state */
    STATUS_STALE,        /* If-Match names another version */
    STATUS_TOO_LARGE,    /* over a documented limit */
    STATUS_BUSY,         /* try again later */
    STATUS_FULL,         /* the disk is full; nothing was written */
    STATUS_NO_MEMORY,    /* an allocation or a memory limit */
    STATUS_NUMERIC,      /* a computation has no finite answer */
    STATUS_INTERNAL,     /* a fault of ours or of the machine */
};

struct error {
    enum status status;
    char        code[40];  /* stable, snake_case: "trial_finished" */
    char        path[128]; /* JSON Pointer of the culprit, "?name" of a query parameter, or "" */
    char        text[400];
    /* Only the refusals that know these set them; error_set leaves them empty. */
    char        reason[40];          /* what ended the thing that is over, or "" */
    int         retry_after_seconds; /* when to ask again, 0: not known */
    const char *next;                /* what a worker does about it, a static word; or NULL */
    int64_t     lease_ends_ms;       /* the next lease to end, milliseconds since 1970; 0: none */
};

/* Fills err (which may be NULL) and returns status, so that a failure is one line.  Passwords in the text become ***,
 * whoever wrote it: all between :// and the last @, and after password=. */
enum status error_set(struct error *err, enum status status, const char *code, const char *path, const char *text, ...)
    __attribute__((format(__printf__, 5, 6)));

/* CONFLICT "<thing>_<state>": the state does not allow the request.  reason: why the thing is in that state, or NULL. */
enum status error_state(struct error *err, const char *thing, const char *state, const char *reason);

/* NO_MEMORY "no_memory": a study, a game, a release does not fit into its memory limit, or into memory. */
enum status error_no_memory(struct error *err);

/* The one macro with control flow: allowed only where nothing needs releasing. */
#define TRY(call)                        \
    do {                                 \
        enum status try_status = (call); \
        if (try_status != STATUS_OK)     \
            return try_status;           \
    } while (0)

#endif
