/* Whether a study is what its log says: every suggestion and every decision of the stopping rule is made again from the
 * specification, the seed and the log as it was at that moment, and compared bit by bit with what is stored.
 *
 * A value, a point, a fit or an order that was changed afterwards is found by the first suggestion that a model made with
 * it.  What nothing was made from is not: values that came after the last suggestion, and values of algorithms that look
 * at none.  Result says up to where values counted. */
#ifndef GNOMON_SERVICE_STUDY_VERIFY_H
#define GNOMON_SERVICE_STUDY_VERIFY_H

#include "service/app/app.h"
#include "service/base/page.h"
#include "service/model/study.h"

enum { VERIFY_SECONDS = 10, VERIFY_LISTED = 100 }; /* of a page */

/* A difference, or a number that could not be compared. */
struct verify_item {
    int64_t     trial, revision, step; /* step 0: the suggestion */
    const char *what;                  /* "point", "mean", "stddev", "fallback", "note", "decision" */
    const char *name;                  /* of a parameter, or NULL */
    double      recorded, recomputed;  /* NaN: not a number */
    const char *cause;                 /* "rounding", "content"; not compared: "deadline", "memory", "imported",
                                          "not_recorded", "space_grew" */
};
struct verify_report {
    struct study        study;
    int64_t             suggestions, decisions, same;
    int64_t             seen; /* values up to this line of the log were used by a model of this page; 0: none */
    struct verify_item *different, *skipped;
    size_t              different_len, skipped_len;
    const char         *next_cursor; /* or NULL */
};
/* A page of at most page->limit comparisons, fewer when they take longer than VERIFY_SECONDS. */
MUST_CHECK enum status study_verify(struct app *app, struct caller *caller, const char *study, const struct page *page,
                                    struct verify_report *out, struct error *err);

#endif
