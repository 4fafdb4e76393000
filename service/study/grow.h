/* A study's space gets more in it: the one change of a specification.
 * It is a line of the log, "space.grown".  Trials that are there, running and queued ones too, get the default of each new
 * parameter that exists in them; what was noted with earlier suggestions, which is about the smaller space, is not read
 * any more.  So whoever reads the log from its beginning has the same model as who was there. */
#ifndef GNOMON_SERVICE_STUDY_GROW_H
#define GNOMON_SERVICE_STUDY_GROW_H

#include "service/app/app.h"
#include "service/codec/codec_grow.h"
#include "service/model/study.h"

/* growth: of the space that the caller read last, or nothing happens.  Errors: CONFLICT "space_grew" (there is a later
 * one); INVALID "not_supported" (agents of federations, and studies that learn from earlier ones: what they share or
 * know is of the space as it was), "default_required" when an earlier trial has a new parameter that has no default. */
MUST_CHECK enum status study_grow(struct app *app, struct caller *caller, const char *study,
                                  const struct growth *growth, struct study *out, struct error *err);

#endif
