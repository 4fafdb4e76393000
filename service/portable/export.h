/* A whole study as lines of JSON: see EXPORT.md. */
#ifndef GNOMON_SERVICE_STUDY_EXPORT_H
#define GNOMON_SERVICE_STUDY_EXPORT_H

#include "service/app/app.h"
#include "service/codec/codec_line.h"

/* The columns of each line; those of a trial are the store's own. */
extern const struct line_column export_study_columns[], export_earlier_columns[], export_trial_columns[],
    export_event_columns[], export_measured_columns[], export_correction_columns[], export_round_columns[];

/* A broadcast of a round to a study that is an agent of a federation. */
struct export_round {
    int64_t        round;
    struct db_blob npy;
};

/* A snapshot, written to a file without a name that the caller closes: memory does not grow with the study.  FORBIDDEN
 * "forbidden" when what the study was sent is not for this token; FULL "disk_full". */
struct export_file {
    int     file;
    int64_t bytes;
};
MUST_CHECK enum status study_export(struct app *app, struct caller *caller, const char *study, struct export_file *out,
                                    struct error *err);

#endif
