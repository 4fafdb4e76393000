/* Plots of a study of any size: the points are chosen here, and the reply says how many trials there are.  See
 * engine/math/decimate.h for the choices. */
#ifndef GNOMON_SERVICE_STUDY_PLOT_H
#define GNOMON_SERVICE_STUDY_PLOT_H

#include "service/app/app.h"
#include "service/base/page.h"
#include "service/model/study.h"

enum plot_kind {
    PLOT_HISTORY,  /* the best so far, and marks by trial number, with what the model forecast of each */
    PLOT_PARALLEL, /* the best trials, and some of the others */
    PLOT_SLICE,    /* over one parameter and the value: the best of each cell */
    PLOT_CONTOUR,  /* over two parameters */
    PLOT_PARETO,   /* the front, and the best of each cell of the others */
    PLOT_CURVES,   /* those of the best, stopped and running trials, and quantiles of the others */
    PLOT_WORKERS,  /* the lease of each trial by worker, over time */
    PLOT_LATENTS,  /* images: in which latent size trials were searched for */
    PLOT_KIND_COUNT
};
extern const char *const plot_kind_names[PLOT_KIND_COUNT + 1]; /* NULL at the end */

struct plot_request {
    enum plot_kind kind;
    const char    *metric, *x, *y; /* or NULL */
    int64_t        points;         /* 0: as many as the kind has; how wide a plot is */
    int64_t        from, to;       /* trial numbers; 0: all */
};

/* A table by columns. */
enum plot_what { PLOT_INTEGER, PLOT_NUMBER, PLOT_TIME, PLOT_TEXT, PLOT_VALUE /* of a parameter */ };
struct plot_column {
    const char        *name;
    enum plot_what     what;
    size_t             param;
    const double      *numbers; /* [len] NaN: none; or NULL */
    const char *const *texts;   /* [len] */
};
struct plot_table {
    const char         *name;
    struct plot_column *columns; /* [columns_len] */
    size_t              columns_len, len;
    const size_t       *rows; /* [len] which trials of the data it is of, or NULL */
};
enum { PLOT_TABLES_MAX = 3, PLOT_POINTS_MAX = 1000 };
struct plot {
    struct study      study;
    enum plot_kind    kind;
    size_t            metric;
    int64_t           of, shown; /* the number of trials it is of, and of those that can be told apart */
    struct plot_table tables[PLOT_TABLES_MAX];
    size_t            tables_len;
};

/* Errors: INVALID "unknown_metric", "unknown_parameter" (path "/x", "/y"), "missing_member"; CONFLICT "no_parameters",
 * "one_objective" (a front of one). */
MUST_CHECK enum status plot_make(struct app *app, struct caller *caller, const char *study,
                                 const struct plot_request *request, struct plot *out, struct error *err);

/* The curves of all trials, whole, in pages. */
struct curves_page {
    struct whole_curve {
        int64_t     trial;
        const char *state;
        double     *steps, *values; /* [len] */
        size_t      len;
    } * items;
    size_t      len;
    const char *next_cursor;
};
struct curves_request {
    struct page page;
    const char *metric; /* NULL: the first objective */
};
/* Errors: INVALID "unknown_metric", "not_modelled". */
MUST_CHECK enum status plot_curves(struct app *app, struct caller *caller, const char *study,
                                   const struct curves_request *request, struct curves_page *out, struct error *err);

#endif
