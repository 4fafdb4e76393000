/* A live policy session: a cache of (specification, seed, log). */
#ifndef GNOMON_SERVICE_SESSION_LIVE_H
#define GNOMON_SERVICE_SESSION_LIVE_H

#include "engine/base/arena.h"
#include "engine/stopping/streams.h"
#include "service/model/spec.h"

/* A space before it grew. */
struct session_space {
    int64_t     revision; /* the revision that made the space this; 0: creation */
    int64_t     until;    /* the revision at which it grew */
    const char *spec;     /* the text of the specification then; NULL: nobody knows */
};

struct live {
    char                        study[24];
    struct arena                arena;          /* specification and matrix */
    struct spec                 spec;           /* with the rows, once the session was needed */
    struct streams              streams;        /* their session NULL until then */
    struct game                *game;           /* of a game; seq is then the last round it was told */
    int64_t                     seq, revision;  /* of the log: told up to here */
    int64_t                     made;           /* session_replay: of a batch, told the suggestions before this line */
    int64_t                     space_revision; /* that the specification is of */
    const struct session_space *former;         /* NULL: the present one */
    double                     *former_point;   /* [params_len] room */
    int64_t                     corrected;      /* the last line that corrected or retracted a result */
    int64_t                     told;           /* trials up to this number were told as suggested */
    int64_t                     observations;
    int64_t                     asked_at;     /* observations when a proposal was made last; -1: none was */
    struct arena                curves_arena; /* studies with stopping: what was measured of running trials */
    struct curves               curves;
    bool                        is_slack; /* some request got no new trial lately */
    int64_t round, sent; /* agents of federations: the last broadcast it was told, the last round sent for */
};

#endif
