/* A whole study as lines of JSON: see EXPORT.md. */
#ifndef GNOMON_SERVICE_STUDY_EXPORT_H
#define GNOMON_SERVICE_STUDY_EXPORT_H

#include "service/app/app.h"
#include "service/codec/codec_line.h"

/* A snapshot, written to a file without a name that the caller closes: memory does not grow with the study.  FORBIDDEN
 * "forbidden" when what the study was sent is not for this token; FULL "disk_full". */
struct export_file {
    int     file;
    int64_t bytes;
};
MUST_CHECK enum status study_export(struct app *app, struct caller *caller, const char *study, struct export_file *out,
                                    struct error *err);

#endif
