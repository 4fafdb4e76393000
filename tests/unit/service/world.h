/* A store in a folder of its own with an application on it, and the steps that most tests begin with.
 * Not for threads: one that calls the application needs a caller and an arena of its own. */
#ifndef GNOMON_TESTS_SERVICE_WORLD_H
#define GNOMON_TESTS_SERVICE_WORLD_H

#include "service/candidates/candidates.h"
#include "service/suggest/suggest.h"
#include "service/trial/trial.h"
#include "tests/unit/service/database.h"

struct world {
    char          folder[64];
    char          database[DATABASE_BYTES]; /* "": in the folder */
    struct app   *app;
    struct arena  arena;
    struct caller caller;
    struct error  err;
};

extern _Atomic int64_t world_clock_ms;      /* what the application takes for the time */
extern _Atomic int64_t world_wall_ahead_ms; /* how much its wall clock was set forward */
/* Asked in place of these clocks, until the world ends; by any thread of the application.  NULL: the clocks. */
extern int64_t (*_Atomic world_wall)(void), (*_Atomic world_monotonic)(void);

struct world *world_new(void);
void          world_open(struct world *world); /* again, after app_close */
void          world_end(struct world *world);
const char   *world_place(const struct world *world); /* of its store: database.h */

/* Members of a study: three parameters to minimise over; 40 rows of 3 columns, private, to maximise over. */
#define WORLD_KEY "9tEmOuZH3Zgy3NwQ14tRqtyJFQI5PRK7oZTIegNX72E"
extern const char *const world_box, *const world_rows;
struct study         world_study(struct world *world, const char *members, const char *algorithm, int64_t budget);
struct suggest_reply world_suggest(struct world *world, const char *study, int64_t count, const char *worker);
enum status          world_observe(struct world *world, const char *study, int64_t trial, double value);
/* So many results of one point of world_box, in one batch. */
void world_observe_many(struct world *world, const char *study, size_t count);

enum { WORLD_ROWS = 40, WORLD_COLUMNS = 3 };
size_t          world_npy(unsigned char *out, double spoil);
struct manifest world_manifest(const unsigned char *bytes, size_t length);
enum status     world_upload(struct world *world, const char *study, const unsigned char *bytes, size_t length,
                             size_t piece, struct candidates_status *out);

#endif
