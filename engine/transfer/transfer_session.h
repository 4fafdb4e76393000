/* A session of the algorithms that learn from earlier studies: the log, the earlier studies as tasks, what the last
 * note says.  Shared by transfer_session.c (all of that), transfer_proposal.c (proposals) and the rules
 * (policy_rm_gp.c, ...).
 *
 * A rule's state moves in rounds, one for each value of the study: sums of estimated gaps and nu.  It travels in every
 * note, so that a rebuild need not repeat the posteriors of the past; so does the last fit of the study's own
 * hyper-parameters.  Those of an earlier study are a function of its data alone; notes carry them as far as they fit,
 * each what no earlier note has, and what no note has is made again.
 * On parameter spaces inputs are points of the unit cube, on candidates the rows as they are. */
#ifndef GNOMON_ENGINE_TRANSFER_SESSION_H
#define GNOMON_ENGINE_TRANSFER_SESSION_H

#include "engine/space/used_points.h"
#include "engine/transfer/transfer_task.h"
#include "engine/transfer/transfer.h"
#include "engine/gp/rff.h"
#include "engine/policy/session.h"
#include "engine/policy/trial_log.h"

enum { TRANSFER_TARGET_ROWS = 1000, TRANSFER_PENDING = 16 };

struct transfer_draws { /* random features of an earlier study, for Thompson sampling */
    struct rff           rff;
    struct rff_posterior posterior;
    bool                 is_ready;
};

struct session {
    struct session_base         base; /* kept: the log; scratch: a proposal.  Both have fixed shares, as tasks */
    const struct transfer_rule *rule;
    struct arena                tasks; /* the earlier studies */
    struct trial_log            log;   /* candidates: points of one number, the row */
    struct used_points          used;  /* parameters */
    unsigned char              *taken; /* [rows_len] candidates */
    size_t                      taken_len, dims;
    struct transfer_model       model;
    size_t                     *group_of; /* [dims] */
    struct transfer_task       *task;     /* [earlier_len] */
    size_t                      tasks_ready;
    bool                       *recorded; /* [earlier_len] a note has this fit */
    float                **row_values; /* [earlier_len][2 rows_len] mean and sd at every row, made when first needed */
    struct transfer_draws *draws;      /* [earlier_len] */
    double                *start;      /* [groups + GP_SCALARS] the middle of the earlier studies' hyper-parameters */
    double                *v;          /* [params_len + 1] scratch */
    bool                   leaves;     /* the last proposal is left to another algorithm */
    /* of the last note that says so */
    double  seen, nu; /* values that the rounds were made from; seen < 0: no round yet */
    double *sums;     /* [earlier_len] */
    double  fitted;   /* values that theta was made from; 0: none */
    double *theta;    /* [groups + GP_SCALARS] */
};

static inline bool transfer_session_on_rows(const struct session *s)
{
    return s->base.problem->space->kind == SPACE_CANDIDATES;
}

static inline size_t transfer_session_groups(const struct session *s)
{
    return s->model.fit.groups;
}

/* The coordinates of a trial of the log, or of a candidate. */
void transfer_session_encode(const struct session *s, const double *point, double *u);

/* Fits and factors the earlier studies that are not ready yet; between them late is polled.
 * Errors: NO_MEMORY; BUSY "deadline" (what was done is kept). */
MUST_CHECK enum status transfer_session_ready(struct session *s, const struct ask *ask, struct error *err);

/* The study itself as a task, from the values of its log (the worst value for what is infeasible), with the
 * hyper-parameters of the last fit, or of a new one when it is time (*fits), or before the first those in the middle of
 * the earlier studies'.  All in scratch.  target->n is 0 without values.  Errors: NO_MEMORY. */
MUST_CHECK enum status transfer_session_target(struct session *s, const struct ask *ask, struct transfer_task *target,
                                               bool *fits, struct error *err);

/* A proposal's note, but for the fits of earlier studies. */
struct transfer_note {
    double        seen, nu;
    const double *sums, *gaps, *weights; /* [earlier_len] */
    const double *theta;                 /* a new fit, or NULL */
    double        fitted;
};
void transfer_session_note(const struct session *s, const struct transfer_note *note, struct proposal *out);

#endif
