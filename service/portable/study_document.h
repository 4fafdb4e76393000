/* A study as a document: what an export writes, and how an import knows a trial again, so that the same table twice is
 * the same trials once. */
#ifndef GNOMON_SERVICE_STUDY_STUDY_DOCUMENT_H
#define GNOMON_SERVICE_STUDY_STUDY_DOCUMENT_H

#include "service/member/codec_read.h"
#include "service/app/event_log.h"
#include "service/base/digest.h"
#include "service/session/transfer_snapshot.h"
#include "service/model/trial.h"

#include <jansson.h>

/* How each part of a document reads: JSON in the caller's arena, which is given back once it is written; NULL: no memory. */
struct study_document {
    const char *(*study)(void *arg, const struct study *study, const struct transfer_sources *earlier, size_t *length);
    const char *(*event)(void *arg, const struct event_row *event, size_t *length);
    const char *(*trial)(void *arg, const struct study *study, const struct trial *trial, size_t *length);
    void *arg;
    char  sha256[SHA256_HEX_BYTES]; /* out: of the document */
};
struct export_file; /* service/portable/export.h */
/* A whole study as it was at one moment; trials with their curves.  As study_export, and TOO_LARGE "export_too_large" when the
 * points are more than fit into a document. */
MUST_CHECK enum status study_document_write(struct app *app, struct caller *caller, const char *study,
                                            struct study_document *how, struct export_file *out, struct error *err);

/* The most trials of a document. */
enum { STUDY_DOCUMENT_MAX = 10000 };

/* Reads a trial of a document as codec_observation reads an observation; what the service alone knows of a trial is not read. */
MUST_CHECK enum status study_document_trial(struct reading *in, const json_t *json, const char *where,
                                            struct observation *out);

/* Gives an external id to each item that has none: to a trial of a study (source) "<its id>/<number>", otherwise
 * a digest of what the row says and how many such rows are before it. */
MUST_CHECK enum status study_document_identify(const struct spec *spec, const char *source, struct observation *items,
                                               size_t len, struct arena *arena, struct error *err);

/* Within a transaction: what was measured of a trial while it ran elsewhere, as reports that nobody judged.
 * INVALID "out_of_range" (path "/curve/<i>/step") beyond the study's epochs. */
MUST_CHECK enum status study_document_curve(struct db_conn *conn, struct task *task, int64_t trial,
                                            const struct observation *item, struct error *err);

#endif
