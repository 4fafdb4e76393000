/* Head: a tag of 8 bytes, first and last as 32-bit numbers of this machine; then the rows. */
#include "engine/stopping/stopping_table.h"

#include <string.h>

static const char TAG[8] = "bosrul1";

static const unsigned char *row_of(const unsigned char *table, size_t epoch)
{
    uint32_t span[2];
    memcpy(span, table + sizeof TAG, sizeof span);
    if (epoch < span[0] || epoch >= span[1])
        return NULL;
    return table + STOPPING_TABLE_HEAD + (epoch - span[0]) * STOPPING_TABLE_ROW;
}

size_t stopping_table_write(const struct stopping_rule *rule, const bool *allowed, unsigned char *out)
{
    const uint32_t span[2] = {(uint32_t)rule->first, (uint32_t)rule->last};
    size_t         rows = rule->last - rule->first;
    memcpy(out, TAG, sizeof TAG);
    memcpy(out + sizeof TAG, span, sizeof span);
    out += STOPPING_TABLE_HEAD;
    memset(out, 0, rows * STOPPING_TABLE_ROW);
    for (size_t i = 0; i < rows; i++)
        for (size_t cell = 0; cell < STOPPING_CELLS && allowed[i]; cell++)
            if (rule->decisions[i * STOPPING_CELLS + cell] == STOPPING_WORSE)
                out[i * STOPPING_TABLE_ROW + cell / 8] |= (unsigned char)(1u << cell % 8);
    return STOPPING_TABLE_HEAD + rows * STOPPING_TABLE_ROW;
}

bool stopping_table_is_sound(const unsigned char *table, size_t bytes, size_t last)
{
    uint32_t span[2];
    if (table == NULL || bytes < STOPPING_TABLE_HEAD || memcmp(table, TAG, sizeof TAG) != 0)
        return false;
    memcpy(span, table + sizeof TAG, sizeof span);
    return span[0] >= 1 && span[0] <= span[1] && span[1] == last && last <= STOPPING_EPOCHS_MAX &&
           bytes == STOPPING_TABLE_HEAD + (size_t)(span[1] - span[0]) * STOPPING_TABLE_ROW;
}

size_t stopping_table_first(const unsigned char *table)
{
    uint32_t first;
    memcpy(&first, table + sizeof TAG, sizeof first);
    return first;
}

bool stopping_table_stops(const unsigned char *table, size_t epoch, double mean)
{
    const unsigned char *row = row_of(table, epoch);
    size_t               cell = stopping_cell(mean);
    return row != NULL && cell < STOPPING_CELLS && (row[cell / 8] >> cell % 8 & 1) != 0;
}

size_t stopping_table_next(const unsigned char *table, size_t epoch)
{
    static const unsigned char nothing[STOPPING_TABLE_ROW];
    size_t                     first = stopping_table_first(table);
    const unsigned char       *row;
    for (size_t next = epoch < first ? first : epoch + 1; (row = row_of(table, next)) != NULL; next++)
        if (memcmp(row, nothing, sizeof nothing) != 0)
            return next;
    return 0;
}
