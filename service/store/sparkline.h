/* The best so far of a study with one objective, as lists show it: every trial that was the best one when it ended, by
 * number, up to SPARKLINE_POINTS.  Of more, those with the smallest gains are left out, the first and the last never. */
#ifndef GNOMON_SERVICE_STORE_SPARKLINE_H
#define GNOMON_SERVICE_STORE_SPARKLINE_H

#include "service/store/task.h"

enum { SPARKLINE_POINTS = 60 };

/* The study has another best trial, which is better than the one before. */
MUST_CHECK enum status sparkline_add(struct db_conn *conn, const struct task *task, struct error *err);
/* From all trials: after a correction, when others are feasible, for a study that came from elsewhere.  O(n log n) of its trials. */
MUST_CHECK enum status sparkline_redo(struct db_conn *conn, const char *study, const struct spec_order *order,
                                      struct error *err);
/* As JSON text, {"trial": [...], "value": [...]}; NULL when no trial was the best one yet. */
MUST_CHECK enum status sparkline_get(struct db_conn *conn, const char *study, struct arena *arena, const char **out,
                                     struct error *err);

#endif
