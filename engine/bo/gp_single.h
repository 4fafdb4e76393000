/* A model of all values of a study, from note to note: gp, fts and, but for the choice of rows, turbo.
 * The model is made anew from the log for each proposal, with the hyper-parameters of the last note in the log; they are
 * fitted again, and leave as a note, on the schedule of gp_schedule.h. */
#ifndef GNOMON_ENGINE_GP_SINGLE_H
#define GNOMON_ENGINE_GP_SINGLE_H

#include "engine/surrogate/gp_note.h"

/* The course of values over time (gp_drift.h). */
enum gp_course { GP_STEADY, GP_LINE, GP_STEP };

struct gp_single {
    struct gp_study          *study;
    const struct kernel_kind *kernel;
    struct gp_note            head;                 /* of notes: whose they are */
    struct gp_record          record;               /* the last one of the log */
    bool                      doubts;               /* of the model .. */
    bool                      near_mean, is_robust; /* .. too */
    bool                      drifts;               /* whether values may drift .. */
    enum gp_course            course;               /* .. and do, by the last note */
};
/* tag: of at most 7 characters.  Errors: NO_MEMORY. */
MUST_CHECK enum status gp_single_open(struct gp_study *study, const struct kernel_kind *kernel, const char *tag,
                                      struct gp_single *single, struct error *err);

size_t gp_single_theta_len(const struct gp_single *single);

/* Reads the note of an event that the study has been told. */
void gp_single_tell(struct gp_single *single, const struct event *event);

/* The hyper-parameters of a proposal. */
struct gp_choice {
    double        *theta;  /* [theta_len] */
    bool           is_due; /* theta is new, and to be recorded */
    double         fit_ms; /* NaN unless is_due */
    enum gp_course course;
};

/* The model of every value, and of the pending trials when there is a stream for these; gp_study_begin was called.  ask
 * NULL: none, the model is for predictions.  Errors: NO_MEMORY, NUMERIC. */
MUST_CHECK enum status gp_single_model(const struct gp_single *single, const struct ask *ask, struct rng *pending,
                                       struct gp_model *model, struct gp_choice *choice, struct error *err);

/* The choice as the note of the proposal, when it is due. */
void gp_single_note(const struct gp_single *single, const struct gp_choice *choice, struct proposal *out);

#endif
