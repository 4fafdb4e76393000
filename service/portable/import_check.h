/* Checks of the numbers and texts of an imported line: each returns OK, or INVALID with the member's pointer. */
#ifndef GNOMON_SERVICE_STUDY_IMPORT_CHECK_H
#define GNOMON_SERVICE_STUDY_IMPORT_CHECK_H

#include "db/db.h"
#include "service/member/codec_read.h"
#include "service/model/trial.h"

enum { IMPORT_TEXT_MAX = 64, IMPORT_DETAIL_MAX = 1000, IMPORT_NAME_MAX = 200 }; /* characters */

/* "bad_export" */
enum status            import_bad(struct error *err, const char *path, const char *text);
MUST_CHECK enum status import_check_text(const char *text, size_t least, size_t most, const char *path,
                                         struct error *err); /* NULL is allowed */
MUST_CHECK enum status import_check_count(int64_t value, int64_t least, int64_t most, const char *path,
                                          struct error *err);
/* Checks the members that a client gives, in the row of a line; members that the line lacks get their defaults. */
MUST_CHECK enum status import_check_given(const struct member *members, const json_t *line, const char *where,
                                          void *row, struct arena *arena, struct error *err);
MUST_CHECK enum status import_check_note(const struct db_blob *note, const char *path, struct error *err);

/* The values of a trial in this state: value, stddev and outcome of the row. */
MUST_CHECK enum status import_check_values(const struct spec *spec, const struct row_trial_whole *row,
                                           enum trial_state state, struct error *err);
/* A measurement of several metrics has a value of each that is modelled, another one has none. */
MUST_CHECK enum status import_check_measured(const struct spec *spec, const struct row_measured *row,
                                             struct error *err);
/* Checks values, feasibility, place, and the members of struct trial_annotations. */
MUST_CHECK enum status import_check_trial(const struct spec *spec, const struct row_trial_whole *row,
                                          enum trial_state state, struct error *err);

#endif
