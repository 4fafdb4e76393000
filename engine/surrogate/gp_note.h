/* Fits of one or several models as the note of a proposal: a head, then for each model how many values its fit was made
 * from and theta. */
#ifndef GNOMON_ENGINE_GP_NOTE_H
#define GNOMON_ENGINE_GP_NOTE_H

#include "engine/surrogate/gp_study.h"

struct gp_note {
    char     tag[8];   /* whose: a note with another is none */
    uint64_t finished; /* trials of the study at the fit; 0: no note */
    uint64_t models;
};

/* Bytes of a note; at most POLICY_NOTE_MAX is the caller's business. */
size_t gp_note_bytes(size_t models, size_t theta_len);

/* records [head->models] with theta_len numbers each. */
void gp_note_write(const struct gp_note *head, const struct gp_record *records, size_t theta_len, struct proposal *out);

/* A sound note of at most models_max models whose theta the fit allows is taken into *head and records
 * [models_max]; anything else is passed over, *head and records stay, and a fit is then made again. */
void gp_note_read(const struct event *event, const struct gp_fit *fit, size_t models_min, size_t models_max,
                  struct gp_note *head, struct gp_record *records);

#endif
