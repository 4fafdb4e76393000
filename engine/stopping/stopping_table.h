/* A solved stopping rule as bytes that a log can keep: per epoch one bit for each cell in which to stop.
 * 16 bytes, and 13 for each epoch: the largest note of a verdict. */
#ifndef GNOMON_ENGINE_STOPPING_TABLE_H
#define GNOMON_ENGINE_STOPPING_TABLE_H

#include "engine/stopping/stopping.h"

enum {
    STOPPING_TABLE_HEAD = 16,
    STOPPING_TABLE_ROW = (STOPPING_CELLS + 7) / 8,
    STOPPING_TABLE_MAX = STOPPING_TABLE_HEAD + STOPPING_TABLE_ROW * STOPPING_EPOCHS_MAX
};

/* Writes the rule without the epochs that are not allowed to stop (allowed [last - first]); returns how many bytes. */
size_t stopping_table_write(const struct stopping_rule *rule, const bool *allowed, unsigned char *out);

/* False for anything that stopping_table_write did not make for a curve of so many epochs. */
bool stopping_table_is_sound(const unsigned char *table, size_t bytes, size_t last);

/* The epoch after which the first decision is taken. */
size_t stopping_table_first(const unsigned char *table);
/* Whether to stop after an epoch from that one on, given the mean since then (stopping_mean). */
bool stopping_table_stops(const unsigned char *table, size_t epoch, double mean);
/* The next epoch behind this one at which some mean stops; 0: none. */
size_t stopping_table_next(const unsigned char *table, size_t epoch);

#endif
