/* A study of the gp algorithm that lives: its events are kept, to be read again by another session; and the functions
 * and spaces that its tests share. */
#ifndef GNOMON_TESTS_GP_WORLD_H
#define GNOMON_TESTS_GP_WORLD_H

#include "engine/policy/policy.h"
#include "engine/math/rng.h"
#include "engine/registry.h"
#include "tests/unit/engine/suites.h"

enum { TRIALS = 130, PARAMS_MAX = 6 };
enum { ACQUISITION, KERNEL, BETA, INITIAL, REPEAT, OPTIONS };

struct study {
    struct space    space;
    double          options[OPTIONS];
    struct problem  problem;
    struct session *session;
    size_t          events_len, trials;
    struct event    events[2 * TRIALS + 8];
    double          points[2 * TRIALS + 8][PARAMS_MAX], point[PARAMS_MAX];
    unsigned char  *notes[2 * TRIALS + 8];
    struct proposal proposal;
};

const struct policy *gp(void);

/* options [OPTIONS], or NULL for the defaults. */
struct study *study_new(const struct param *params, size_t len, const double *options);
void          study_free(struct study *s);
void          study_tell(struct study *s, enum event_kind kind, uint64_t trial, const double *point, double value);
void          study_ask(struct study *s, const double *fixed);
void          study_step(struct study *s, double (*function)(const double *));

/* A new session that reads the log proposes what the living one does, bit by bit. */
void study_check_replay(struct study *s);

/* Four parameters of three kinds; a box; 20 points. */
extern const struct param mixed[4], box2[2], small[2];
double                    mixed_value(const double *x);
double                    branin(const double *x);
double                    noisy_branin(const double *x);
double                    small_value(const double *x);

#endif
