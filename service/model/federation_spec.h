/* A federation as the service and its agents know it. */
#ifndef GNOMON_SERVICE_MODEL_FEDERATION_SPEC_H
#define GNOMON_SERVICE_MODEL_FEDERATION_SPEC_H

#include "db/members.h"
#include "engine/federated/broadcast.h"
#include "engine/federated/fts.h"
#include "engine/federated/rank_forecast.h"
#include "service/model/secure.h"
#include "service/model/spec.h"

enum {
    FEDERATION_SEATS_MAX = 10000,
    FEDERATION_NUMBERS_MAX = 4000000, /* of one broadcast without privacy: seats times features */
    FEDERATION_ROUNDS_MAX = 100000
};

enum federation_state { FEDERATION_ACTIVE, FEDERATION_PAUSED, FEDERATION_COMPLETED, FEDERATION_STATES };
extern const char *const federation_state_names[FEDERATION_STATES + 1];

/* The vectors are added up by the server, which sees them, or the members under masks, in SECURE_ROUNDS rounds. */
enum federation_aggregation { FEDERATION_BY_SERVER, FEDERATION_SECURE };
extern const char *const federation_aggregation_names[];

/* Immutable.  A private federation (dp-fts-de, rank-mean) aggregates; the other one (fts) hands every vector to every
 * agent.  rank-mean has one round, in which every seat counts alike. */
struct federation_spec {
    struct spec                 study; /* space, metric, algorithm and its options, as a study of an agent has them */
    int64_t                     seats, minimum, rounds, round_ms;
    size_t                      features; /* M */
    bool                        is_private;
    enum federation_aggregation aggregation;
    /* private */
    struct broadcast broadcast; /* the in part, but for region_of and round */
    double           epsilon, delta;
};

struct federation {
    char                   id[24];
    enum federation_state  state;
    struct federation_spec spec;
    int64_t                version;
    int64_t                round;   /* the open one, from 1; after the last one: rounds closed + 1 */
    double                 epsilon; /* spent */
    int64_t expected, needed;       /* messages with which the open round closes at once, and at its deadline */
    FEDERATION_GIVEN(DECLARE)
    FEDERATION_KEPT(DECLARE) /* reason: or NULL */
    FEDERATION_OPEN(DECLARE) /* received: messages of the open round, and its deadline on steady_ms(); 0: none yet */
};

struct federation_new {
    const char            *spec_text; /* codec_federation_json as text */
    struct federation_spec spec;
    FEDERATION_GIVEN(DECLARE)
};

/* Whether the algorithm's vectors are added up, with noise; and whether one release of them is all there is, which whoever
 * joins later reads. */
bool federation_aggregates(const struct policy *policy);
bool federation_is_once(const struct policy *policy);

/* So many broadcasts are so many releases: of a secure federation the last one alone has anything of the vectors. */
int64_t federation_releases(const struct federation_spec *spec, int64_t broadcasts);
/* A secure federation as its members and the server compute it, without keys. */
struct secure federation_secure(const struct federation_spec *spec, const char *id);

double federation_option(const struct federation_spec *spec, const char *name); /* of its algorithm */
/* The region in which the agent of a seat begins: public, and fixed before anybody takes part. */
size_t federation_region(const struct federation_spec *spec, int64_t seat);

/* The option follows from the federation and the seat, so that nobody may give it: region, release_sd. */
bool federation_derives(const char *option);
/* The algorithm's options as the agent of a seat has them, with those that follow. */
void federation_options(const struct federation_spec *spec, int64_t seat, double *options);

/* The forecast of a federation in one round. */
struct rank_forecast federation_forecast(const struct federation_spec *spec);

/* The public functions of the members' vectors, as numbers [count][dims] and [count]: frequencies and phases of random
 * features, or the orders of rank-mean's products of cosines and their share in themselves.  Errors: NO_MEMORY. */
MUST_CHECK enum status federation_public(const struct federation_spec *spec, struct arena *arena, struct rff *out,
                                         struct error *err);

#endif
