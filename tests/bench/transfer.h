/* Shared by the benches of algorithms that learn from earlier studies: a study from its first value to its last, through the
 * policy interface. */
#ifndef GNOMON_TESTS_TRANSFER_H
#define GNOMON_TESTS_TRANSFER_H

#include "engine/policy/session.h"
#include "tests/bench/grids.h"

#include <string.h>

enum { TRANSFER_OPTIONS_MAX = 32 };

/* "name=value name=value": indices for choices. */
static inline void transfer_set_options(const struct policy *policy, const char *text, double *options)
{
    char copy[256], *state;
    policy_defaults(policy, options);
    snprintf(copy, sizeof copy, "%s", text);
    for (char *item = strtok_r(copy, " ", &state); item != NULL; item = strtok_r(NULL, " ", &state)) {
        char *value = strchr(item, '=');
        if (value == NULL)
            exit(2);
        *value++ = '\0';
        int i = policy_option(policy, item);
        if (i < 0) {
            fprintf(stderr, "%s has no option %s\n", policy->name, item);
            exit(2);
        }
        options[i] = strtod(value, NULL);
    }
}

/* A study over places 0 .. n - 1: the values of an int parameter, or rows. */
struct transfer_run {
    const struct policy *policy;
    struct problem       problem;
    uint64_t             noise_stream;
    double               noise_sd;
    const double        *f;     /* at every place */
    size_t               first; /* the first place, the same for all algorithms */
    size_t               queries;
    size_t              *places; /* [queries + 1] out */
    /* Called after each proposal, number t from 1, with its note; or NULL. */
    void (*look)(void *arg, size_t t, const struct proposal *proposal);
    void *arg;
};

static inline void transfer_tell_place(const struct transfer_run *run, struct session *session, uint64_t trial,
                                       size_t place, const struct proposal *from, struct rng *rng)
{
    struct error err = {0};
    double       point = (double)place;
    struct event event = {.kind = EVENT_SUGGESTED,
                          .trial = trial,
                          .row = place,
                          .point = run->problem.space->kind == SPACE_PARAMETERS ? &point : NULL,
                          .note = from == NULL || from->note_bytes == 0 ? NULL : from->note,
                          .note_bytes = from == NULL ? 0 : from->note_bytes};
    must(run->policy->tell(session, &event, &err), &err);
    event.kind = EVENT_OBSERVED;
    event.note = NULL;
    event.note_bytes = 0;
    event.value = run->f[place] + run->noise_sd * rng_normal(rng);
    must(run->policy->tell(session, &event, &err), &err);
}

static inline void transfer_run_study(struct transfer_run *run)
{
    struct session        *session;
    struct error           err = {0};
    struct rng             rng = rng_at(run->noise_stream, 5, RNG_TEST);
    double                 point[1];
    static struct proposal proposal;
    proposal = (struct proposal){.point = point};
    must(session_open(run->policy, &run->problem, &session, &err), &err);
    run->places[0] = run->first;
    transfer_tell_place(run, session, 1, run->first, NULL, &rng);
    for (size_t t = 1; t <= run->queries; t++) {
        must(run->policy->ask(session, &(struct ask){.trial = t + 1}, &proposal, &err), &err);
        if (proposal.fallback != NULL) {
            fprintf(stderr, "%s fell back at %zu: %s\n", run->policy->name, t, proposal.fallback);
            exit(2);
        }
        run->places[t] = run->problem.space->kind == SPACE_PARAMETERS ? (size_t)point[0] : proposal.row;
        if (run->look != NULL)
            run->look(run->arg, t, &proposal);
        transfer_tell_place(run, session, t + 1, run->places[t], &proposal, &rng);
    }
    session_close(session);
}

#endif
