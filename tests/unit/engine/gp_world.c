/* See gp_world.h. */
#include "tests/unit/engine/gp_world.h"

#include "engine/policy/session.h"

#include <stdlib.h>
#include <string.h>

const struct policy *gp(void)
{
    return policy_find("gp");
}

struct study *study_new(const struct param *params, size_t len, const double *options)
{
    struct study *s = calloc(1, sizeof *s);
    s->space = (struct space){.kind = SPACE_PARAMETERS, .params = params, .params_len = len};
    CU_ASSERT_EQUAL_FATAL(space_init(&s->space, NULL), STATUS_OK);
    for (size_t i = 0; i < OPTIONS; i++)
        s->options[i] = options == NULL ? gp()->options[i].fallback : options[i];
    s->problem = (struct problem){.space = &s->space, .options = s->options, .seed = 2385, .memory_bytes = 64 << 20};
    s->proposal.point = s->point;
    CU_ASSERT_EQUAL_FATAL(session_open(gp(), &s->problem, &s->session, NULL), STATUS_OK);
    return s;
}

void study_free(struct study *s)
{
    session_close(s->session);
    for (size_t i = 0; i < s->events_len; i++)
        free(s->notes[i]);
    free(s);
}

void study_tell(struct study *s, enum event_kind kind, uint64_t trial, const double *point, double value)
{
    size_t        at = s->events_len++;
    struct event *event = &s->events[at];
    CU_ASSERT_FATAL(at < sizeof s->events / sizeof s->events[0]);
    memcpy(s->points[at], point, s->space.params_len * sizeof *point);
    *event = (struct event){.kind = kind, .trial = trial, .point = s->points[at], .value = value};
    if (kind == EVENT_SUGGESTED && s->proposal.note_bytes > 0) {
        s->notes[at] = malloc(s->proposal.note_bytes);
        event->note = memcpy(s->notes[at], s->proposal.note, s->proposal.note_bytes);
        event->note_bytes = s->proposal.note_bytes;
        s->proposal.note_bytes = 0;
    }
    CU_ASSERT_EQUAL_FATAL(gp()->tell(s->session, event, NULL), STATUS_OK);
}

void study_ask(struct study *s, const double *fixed)
{
    struct ask ask = {.trial = s->trials + 1, .fixed = fixed};
    CU_ASSERT_EQUAL_FATAL(gp()->ask(s->session, &ask, &s->proposal, NULL), STATUS_OK);
    CU_ASSERT_TRUE_FATAL(space_has(&s->space, s->point));
    s->trials++;
}

void study_step(struct study *s, double (*function)(const double *))
{
    study_ask(s, NULL);
    study_tell(s, EVENT_SUGGESTED, s->trials, s->point, 0);
    study_tell(s, EVENT_OBSERVED, s->trials, s->point, function(s->point));
}

void study_check_replay(struct study *s)
{
    static struct proposal a, b;
    struct session        *fresh;
    double                 x[PARAMS_MAX], y[PARAMS_MAX];
    struct ask             ask = {.trial = s->trials + 1};
    a.point = x;
    b.point = y;
    CU_ASSERT_EQUAL_FATAL(session_open(gp(), &s->problem, &fresh, NULL), STATUS_OK);
    for (size_t i = 0; i < s->events_len; i++)
        CU_ASSERT_EQUAL_FATAL(gp()->tell(fresh, &s->events[i], NULL), STATUS_OK);
    CU_ASSERT_EQUAL(gp()->ask(s->session, &ask, &a, NULL), STATUS_OK);
    CU_ASSERT_EQUAL(gp()->ask(fresh, &ask, &b, NULL), STATUS_OK);
    CU_ASSERT(memcmp(x, y, s->space.params_len * sizeof *x) == 0);
    CU_ASSERT(memcmp(&a.mean, &b.mean, sizeof a.mean) == 0 && memcmp(&a.sd, &b.sd, sizeof a.sd) == 0);
    CU_ASSERT(a.note_bytes == b.note_bytes && memcmp(a.note, b.note, a.note_bytes) == 0);
    session_close(fresh);
}

const struct param mixed[4] = {
    {.name = "lr", .kind = PARAM_DOUBLE, .scale = SCALE_LOG, .min = 1e-5, .max = 0.1},
    {.name = "layers", .kind = PARAM_INT, .min = 1, .max = 6},
    {.name = "optimizer", .kind = PARAM_CATEGORICAL, .max = 2, .choices = 3},
    {.name = "momentum", .kind = PARAM_DOUBLE, .min = 0.1, .max = 0.97},
};

const struct param box2[2] = {{.name = "x", .kind = PARAM_DOUBLE, .min = -5, .max = 10},
                              {.name = "y", .kind = PARAM_DOUBLE, .min = 0, .max = 15}};

const struct param small[2] = {{.name = "a", .kind = PARAM_INT, .min = -1, .max = 2},
                               {.name = "b", .kind = PARAM_CATEGORICAL, .max = 4, .choices = 5}};

double mixed_value(const double *x)
{
    return -pow(log10(x[0]) + 2.7, 2) - 0.3 * fabs(x[1] - 4.0) + (x[2] == 1.0 ? 0.6 : 0.0) - pow(x[3] - 0.71, 2);
}

double branin(const double *x)
{
    double pi = acos(-1.0), a = x[1] - 5.1 / (4 * pi * pi) * x[0] * x[0] + 5 / pi * x[0] - 6;
    return -(a * a + 10 * (1 - 1 / (8 * pi)) * cos(x[0]) + 10 - 0.39788735772973816);
}

double noisy_branin(const double *x)
{
    struct rng rng = rng_at((uint64_t)(1e6 * fabs(x[0])), (uint64_t)(1e6 * x[1]), RNG_TEST);
    return branin(x) + 25 * rng_normal(&rng);
}

double small_value(const double *x)
{
    return x[0] * 0.3 + (x[1] == 3.0 ? 1.0 : 0.0);
}
