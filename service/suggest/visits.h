/* Where the agent of a graph study stands, and whether it can have done what is reported: called in the transaction
 * that writes it, so that two reports cannot both begin at the same place.
 * The agent stands at the end of the newest macro-action that is not failed, infeasible or abandoned; at its last
 * measured site if it was cut short. */
#ifndef GNOMON_SERVICE_STUDY_VISITS_H
#define GNOMON_SERVICE_STUDY_VISITS_H

#include "service/store/rows.h"

/* The trials's macro-action can follow: INVALID "wrong_place" at path.  Of other spaces: nothing is checked. */
MUST_CHECK enum status visits_check(struct db_conn *conn, const struct task *task, const double *point,
                                    const char *path, struct error *err);

/* Values for a trial: not more than sites (INVALID "wrong_length"), and fewer only while the agent has not moved on
 * (CONFLICT "agent_moved_on"). */
MUST_CHECK enum status visits_check_values(struct db_conn *conn, const struct task *task, const struct trial *trial,
                                           const double *values, struct error *err);

/* True if values only add to what was measured of a macro-action that was cut short. */
bool visits_extends(const struct spec *spec, const struct trial *trial, const double *values);

#endif
