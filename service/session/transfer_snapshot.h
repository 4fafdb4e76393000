/* Earlier studies that an algorithm learns from.  A study is a function of its specification, its log and these data, so
 * they are a snapshot: copied when it is created, whatever becomes of their studies afterwards. */
#ifndef GNOMON_SERVICE_SESSION_TRANSFER_SNAPSHOT_H
#define GNOMON_SERVICE_SESSION_TRANSFER_SNAPSHOT_H

#include "db/db.h"
#include "service/base/page.h"
#include "service/app/app.h"
#include "service/model/study.h"
#include "service/store/task.h"

enum { TRANSFER_PICKS = 5, TRANSFER_LOOKS = 200, TRANSFER_TRIES = 20, TRANSFER_VALUES_MIN = 5 };

/* The snapshot of one earlier study. */
struct transfer_source {
    const char *study;    /* id, or NULL: its data came with the request */
    int64_t     revision; /* of the study when it was copied; 0 without one */
    int64_t     skipped;  /* observations that do not lie in the space, or are beyond EARLIER_VALUES_MAX */
    const char *matrix;   /* candidates: digest of the rows that it is about, or "" */
};
struct transfer_sources {
    const struct earlier_study   *studies; /* [len] */
    const struct transfer_source *sources; /* [len] */
    size_t                        len;
};

/* Reads what new learns from; empty when its algorithm learns from nothing.  Of more than EARLIER_VALUES_MAX values every
 * k-th by rank is taken, the best first.
 * Where new leaves it to the service (is_auto, and no ids): up to TRANSFER_PICKS of the project's studies, of the
 * TRANSFER_LOOKS that changed last those with the largest share of parameters in common, and among these with the most
 * values, the last changed first.  Only what could have been named, with TRANSFER_VALUES_MIN values in the new space, and no
 * agent of a federation, whose observations are its own.  There may be none.
 * Errors, with the pointer of the culprit: INVALID "missing_member" (there is none), "earlier_metrics_differ",
 * "earlier_space_differs", "earlier_parameter_missing"; NOT_FOUND "study_not_found" (also one that the token may not see);
 * FORBIDDEN "not_shareable"; CONFLICT "earlier_study_empty". */
MUST_CHECK enum status transfer_collect(struct app *app, struct caller *caller, const struct spec *new,
                                        struct transfer_sources *out, struct error *err);

/* Within a transaction: stores the snapshot of the task's study, and logs with each earlier study who copied it. */
MUST_CHECK enum status transfer_store(struct db_conn *conn, const struct task *task,
                                      const struct transfer_sources *sources, struct error *err);

/* The snapshot, for a session; on candidates after the matrix, which must be the one that it is about.
 * Errors: CONFLICT "earlier_matrix_differs". */
MUST_CHECK enum status transfer_load(struct db_conn *conn, const char *study, const struct spec *spec,
                                     struct arena *arena, struct transfer_sources *out, struct error *err);
/* Checks that the rows of spec, which are there, are those of the sources: CONFLICT "earlier_matrix_differs". */
MUST_CHECK enum status transfer_check_rows(const struct spec *spec, const struct transfer_sources *sources,
                                           struct error *err);
/* As transfer_load, but without a look at the matrix: for an export. */
MUST_CHECK enum status transfer_snapshot(struct db_conn *conn, const char *study, const struct spec *spec,
                                         struct arena *arena, struct transfer_sources *out, struct error *err);

/* How far each suggestion trusted the earlier studies, in the order of the trials.
 * CONFLICT "no_earlier_studies" when the algorithm learns from none. */
struct transfer_item {
    int64_t trial, rounds;
    double  nu;
    double *weights, *gaps; /* [sources.len]; gaps NaN: not estimated */
};
struct transfer_page {
    struct spec             spec; /* of the study */
    struct transfer_sources sources;
    struct transfer_item   *items;
    size_t                  len;
    const char             *next_cursor; /* or NULL */
};
MUST_CHECK enum status transfer_history(struct app *app, struct caller *caller, const char *study,
                                        const struct page *page, struct transfer_page *out, struct error *err);

#endif
