/* Trials as CSV text, and back (RFC 4180). */
#ifndef GNOMON_SERVICE_STUDY_TRIAL_CSV_H
#define GNOMON_SERVICE_STUDY_TRIAL_CSV_H

#include "service/app/app.h"
#include "service/model/trial.h"

struct csv_asked {
    const char *study;
    bool        for_spreadsheet; /* cells that would be formulas are made texts, which no import takes back */
};
/* A study's trials as CSV text in the arena. */
MUST_CHECK enum status export_csv(struct app *app, struct caller *caller, const struct csv_asked *asked,
                                  const char **text, size_t *length, struct error *err);
struct observations {
    struct observation *items;
    size_t              len;
};
/* CSV text with a header -> observations for trial_observe.  Errors name the line: path "/lines/7". */
MUST_CHECK enum status import_csv(const struct spec *spec, const char *text, size_t length, struct arena *arena,
                                  struct observations *out, struct error *err);

#endif
