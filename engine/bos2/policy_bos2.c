/* BOS2: Bayesian optimisation with dimension selection and Bayesian optimal stopping (Kharkovskii 2020, chapter 5), for
 * inputs that look like images: how robust is one's own classifier to a small perturbation, what pattern is best.
 * A perturbation is searched for at several resolutions and enlarged bilinearly.  bos2.h has the parts. */
#include "engine/bos2/bos2.h"
#include "engine/policy/session.h"

#include <math.h>
#include <string.h>

enum { INITIAL, STEPS, GROUPS, DECOMPOSITIONS, BETA, STOPPING, MARGIN };
enum { WARM_UP_PART = 5 }; /* of a loop's steps, before which it is not stopped */
_Static_assert(sizeof(struct bos2_note) + SPACE_LATENT_MAX * sizeof(double) <= POLICY_NOTE_MAX, "a note has room");
_Static_assert(sizeof(struct bos2_note) <= POLICY_NOTE_HEAD, "the size is among the first bytes");

// clang-format off
static const struct option options[] = {
    [INITIAL] = OPTION_INTEGER("initial", 1, 1000, 10, "random perturbations in each of three latent sizes before the first model"),
    [STEPS] = OPTION_INTEGER("steps", 5, 500, 40, "trials in one latent size before a size is chosen again"),
    [GROUPS] = OPTION_INTEGER("groups", 1, ADDITIVE_GROUPS_MAX, 12, "groups of coordinates in the additive model"),
    [DECOMPOSITIONS] = OPTION_INTEGER("decompositions", 1, DECOMPOSITIONS_MAX, 20, "random decompositions of which the likeliest is used"),
    [BETA] = OPTION_NUMBER("beta", 0, 1e6, 4, "weight of the variance: each part's mean + sqrt(beta) sd is maximised"),
    [STOPPING] = {.name = "stopping", .kind = OPTION_BOOL, .max = 1, .fallback = 1,
                  .help = "leave a latent size early when Bayesian optimal stopping expects no improvement from it"},
    [MARGIN] = OPTION_NUMBER("margin", 0, 1000, 1.5, "stopping: by how much a latent size is to exceed the best value so far, in standard deviations of the values; 0 as in the thesis"),
    {.name = NULL},
};
// clang-format on

struct session {
    struct session_base  base;
    struct bos2_settings settings;
    struct bos2_log      log;
};

static enum status begin(struct session *session, struct error *err)
{
    const double *given = session->base.problem->options;
    session->settings = (struct bos2_settings){.initial = (size_t)given[INITIAL],
                                               .steps = (size_t)given[STEPS],
                                               .warm_up = (size_t)given[STEPS] / WARM_UP_PART,
                                               .groups = (size_t)given[GROUPS],
                                               .decompositions = (size_t)given[DECOMPOSITIONS],
                                               .sqrt_beta = sqrt(given[BETA]),
                                               .margin = given[MARGIN],
                                               .stops = given[STOPPING] != 0};
    return bos2_log_init(&session->log, session->base.problem->space, &session->base.kept, err);
}

static enum status tell(struct session *session, const struct event *event, struct error *err)
{
    return bos2_log_tell(&session->log, event, err);
}

/* ---- a proposal ---- */

/* The inputs of a proposal. */
struct situation {
    const struct ask *ask;
    struct bos2_loop  loop;
    struct bos2_note  note; /* the note that the proposal will leave */
    double           *u;    /* [SPACE_LATENT_MAX] */
};

/* A loop is worth its trials if it gets beyond the best value before it by a margin.  With the data of all sizes behind
 * it nearly every loop gets beyond that value itself, which would leave nothing to stop. */
static double goal_of(const struct trial_log *log, double margin)
{
    double best = -HUGE_VAL, n = (double)log->count[LOG_OBSERVED], mean = 0.0, square = 0.0;
    for (size_t i = 0; i < log->len; i++)
        if (log->trials[i].state == LOG_OBSERVED) {
            best = fmax(best, log->trials[i].value);
            mean += log->trials[i].value / n;
        }
    for (size_t i = 0; i < log->len; i++)
        if (log->trials[i].state == LOG_OBSERVED)
            square += (log->trials[i].value - mean) * (log->trials[i].value - mean) / n;
    return best + margin * sqrt(square);
}

/* A corner of the cube, which tells more of a nearly linear function than a point inside. */
static void draw_point(const struct session *session, const struct situation *now)
{
    struct rng rng = rng_at(session->base.problem->seed, now->ask->trial, RNG_POINT);
    for (size_t k = 0; k < bos2_dims(&session->log, now->note.size); k++)
        now->u[k] = rng_uniform(&rng) < 0.5 ? -1.0 : 1.0;
}

static bool is_initial(const struct session *session, const struct bos2_loop *loop)
{
    return !loop->has_any || (loop->note.loop == 0 && loop->taken < BOS2_INITIAL_SIZES * session->settings.initial);
}

static bool is_over(const struct session *session, const struct bos2_loop *loop)
{
    return loop->note.loop == 0 || loop->taken >= session->settings.steps;
}

static enum status begin_loop(struct session *session, struct situation *now, struct error *err)
{
    size_t size;
    TRY(bos2_choose_size(&session->log, &session->settings, &size, &session->base.scratch, err));
    now->note = (struct bos2_note){.first = now->ask->trial,
                                   .goal = goal_of(&session->log.log, session->settings.margin),
                                   .loop = now->loop.note.loop + 1,
                                   .size = (uint32_t)size};
    return STATUS_OK;
}

static enum status propose(struct session *session, struct situation *now, struct proposal *out, struct error *err)
{
    bool is_new = is_over(session, &now->loop), is_stopped = false;
    if (!is_new)
        TRY(bos2_is_stopped(&now->loop, &session->settings, session->base.problem->seed, &is_stopped,
                            &session->base.scratch, err));
    is_new = is_new || is_stopped;
    if (is_new)
        TRY(begin_loop(session, now, err));
    struct bos2_search search = {.log = &session->log,
                                 .settings = &session->settings,
                                 .ask = now->ask,
                                 .seed = session->base.problem->seed,
                                 .is_new = is_new,
                                 .note = now->note,
                                 .u = now->u,
                                 .scratch = &session->base.scratch};
    TRY(bos2_search_run(&search, err));
    now->note = search.note;
    out->mean = search.mean;
    out->sd = search.sd;
    out->sd_observed = search.sd_observed;
    out->observations = search.observations;
    return STATUS_OK;
}

static void write_note(const struct session *session, const struct situation *now, struct proposal *out)
{
    size_t bytes_u = bos2_dims(&session->log, now->note.size) * sizeof *now->u;
    memcpy(out->note, &now->note, sizeof now->note);
    memcpy(out->note + sizeof now->note, now->u, bytes_u);
    out->note_bytes = sizeof now->note + bytes_u;
}

static bool read_latent(const void *note, size_t note_bytes, size_t *size)
{
    struct bos2_note head;
    if (note_bytes < sizeof head)
        return false;
    memcpy(&head, note, sizeof head);
    *size = head.size;
    return true;
}

static enum status ask_scratch(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    struct situation now = {.ask = ask, .u = ARENA_NEW(&session->base.scratch, double, SPACE_LATENT_MAX)};
    if (now.u == NULL)
        return error_no_memory(err);
    TRY(bos2_loop_find(&session->log, &now.loop, &session->base.scratch, err));
    now.note = now.loop.note;
    enum status status = STATUS_OK;
    if (is_initial(session, &now.loop)) {
        now.note = (struct bos2_note){.first = now.loop.has_any ? now.loop.note.first : ask->trial, .goal = -HUGE_VAL};
        now.note.size =
            (uint32_t)bos2_initial_size(session->base.problem->space, now.loop.taken, session->settings.initial);
        draw_point(session, &now);
    } else if (session->log.log.count[LOG_OBSERVED] < 2) {
        draw_point(session, &now);
    } else {
        status = propose(session, &now, out, err);
        if (status != STATUS_OK) {
            now.note = now.loop.note;
            draw_point(session, &now);
        }
    }
    out->fallback = proposal_fallback(status);
    bos2_image(&session->log, now.note.size, now.u, out->point);
    write_note(session, &now, out);
    return STATUS_OK;
}

static enum status ask_next(struct session *session, const struct ask *ask, struct proposal *out, struct error *err)
{
    proposal_clear(out);
    if (ask->diagnostics != NULL)
        ask->diagnostics->kernel = NULL;
    arena_init(&session->base.scratch, session->base.problem->memory_bytes - session->base.kept.taken_bytes);
    enum status status = ask_scratch(session, ask, out, err);
    arena_fini(&session->base.scratch);
    return status;
}

const struct policy policy_bos2 = {
    .name = "bos2",
    .help =
        "for inputs that look like images: searches at several resolutions with additive Gaussian processes, chooses "
        "the resolution by Bayesian optimisation and leaves one early that promises nothing better",
    .spaces = SPACE_IMAGE,
    .options = options,
    .session_bytes = sizeof(struct session),
    .begin = begin,
    .tell = tell,
    .ask = ask_next,
    .read_latent = read_latent,
};
