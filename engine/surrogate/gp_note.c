/* Fits as bytes.  Notes stay on one machine, and a fit that is lost is made again: numbers are stored as they are. */
#include "engine/surrogate/gp_note.h"

#include <string.h>

size_t gp_note_bytes(size_t models, size_t theta_len)
{
    return sizeof(struct gp_note) + models * (1 + theta_len) * sizeof(double);
}

void gp_note_write(const struct gp_note *head, const struct gp_record *records, size_t theta_len, struct proposal *out)
{
    unsigned char *at = out->note + sizeof *head;
    memcpy(out->note, head, sizeof *head);
    for (size_t p = 0; p < head->models; p++) {
        memcpy(at, &records[p].fitted, sizeof records[p].fitted);
        memcpy(at + sizeof records[p].fitted, records[p].theta, theta_len * sizeof(double));
        at += (1 + theta_len) * sizeof(double);
    }
    out->note_bytes = gp_note_bytes(head->models, theta_len);
}

/* The bytes of an event need not be aligned; record->theta has room for them. */
static void record_read(const unsigned char *at, size_t theta_len, struct gp_record *record)
{
    memcpy(&record->fitted, at, sizeof record->fitted);
    memcpy(record->theta, at + sizeof record->fitted, theta_len * sizeof(double));
}

void gp_note_read(const struct event *event, const struct gp_fit *fit, size_t models_min, size_t models_max,
                  struct gp_note *head, struct gp_record *records)
{
    size_t         len = fit->groups + GP_SCALARS;
    struct gp_note read;
    double         theta[POLICY_NOTE_MAX / sizeof(double)];
    if (event->note == NULL || event->note_bytes < sizeof read)
        return;
    memcpy(&read, event->note, sizeof read);
    if (memcmp(read.tag, head->tag, sizeof read.tag) != 0 || read.finished == 0 || read.models < models_min ||
        read.models > models_max || event->note_bytes != gp_note_bytes(read.models, len))
        return;
    const unsigned char *at = (const unsigned char *)event->note + sizeof read;
    for (size_t p = 0; p < read.models; p++) {
        struct gp_record record = {.theta = theta};
        record_read(at + p * (1 + len) * sizeof *theta, len, &record);
        if (record.fitted == 0 || !gp_fit_allows(fit, theta))
            return;
    }
    for (size_t p = 0; p < read.models; p++)
        record_read(at + p * (1 + len) * sizeof *theta, len, &records[p]);
    *head = read;
}
