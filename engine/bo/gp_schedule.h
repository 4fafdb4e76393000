/* How much work a proposal is: when hyper-parameters are fitted again, how hard, and how widely the acquisition
 * function is searched.  All of it falls with the number of values, so that a suggestion stays one of milliseconds.
 * The box that is searched first, and the gain at which the search stays in it, are here, too. */
#ifndef GNOMON_ENGINE_GP_SCHEDULE_H
#define GNOMON_ENGINE_GP_SCHEDULE_H

#include "engine/acquisition/acq_search.h"
#include "engine/surrogate/gp_study.h"

enum { GP_FEW = 60 }; /* values up to which each fit starts from the default, too */

/* The sizes at which a study is fitted again: the largest that is not over n.  Each of the first 40, then growth by a
 * tenth, at most by 100. */
size_t gp_schedule_milestone(size_t n);

/* Settings of a fit of values observations; is_first: nothing is known yet.  ask NULL: no deadline. */
struct gp_fit gp_schedule_fit(const struct gp_study *study, const struct kernel_kind *kind, bool is_first,
                              const struct ask *ask);

/* Rows of each of so many models (struct gp_model, limit), 0: all.  With less than a second one has GP_HURRIED_ROWS: a new
 * factor of MODEL_ROWS_MAX takes a few tenths of one, and nothing can stop it.  ask NULL: no deadline. */
enum { GP_HURRIED_ROWS = 700, GP_HURRIED_MS = 1000 };
size_t gp_schedule_rows(const struct ask *ask, size_t models);

/* Where gp looks first: the trust region around a place of the model's log.  theta: the model's; box [2 dims] out: lower and
 * upper bounds.  Errors: NO_MEMORY. */
MUST_CHECK enum status gp_schedule_box(const struct gp_study *study, const struct gp_model *model, size_t place,
                                       const double *theta, double *box, struct error *err);

/* Whether a gain in units of the values' spread is worth a trial: of the bound over the best, or EI (exp of log-EI). */
bool gp_schedule_is_worth(double gain);
/* Whether log-EI over the best's distance to a band is worth one: a tenth of what is left. */
bool gp_schedule_is_close(double best, double log_ei);

/* A search: near the anchors, places in the study's log, and everywhere or in a box. */
struct gp_search {
    const struct space      *view; /* the space with what the ask holds */
    const struct gp_anchors *anchors;
    double                   rows_squared; /* sum over the models of the squared number of rows */
    enum status (*scores)(void *arg, const double *U, size_t m, double *out, struct error *err);
    double (*slope)(void *arg, const double *u, double *gradient); /* NULL: all points are scored at once */
    void         *arg;
    const double *lower, *upper; /* as in struct acq_search */
};
/* point [params_len] out.  Errors: as acq_search_run. */
MUST_CHECK enum status gp_schedule_search(const struct gp_study *study, const struct ask *ask,
                                          const struct gp_search *wanted, double *point, struct arena *scratch,
                                          struct error *err);

#endif
