/* Sums that show whether rows are as they were written: one of each row, in the row, and one of many rows, in the log.
 *
 * The sum of a row has 64 bits: a bit that fell over always changes it, anything else with a probability of 1 - 2^-64.  It
 * protects against the disk, not against people: whoever can write to the store can make it anew.  So every column of every
 * table, but for those that sum_loose names, is also bound to the log's chain
 * (chain.h): the digests of the rows, as 32 numbers of 64 bits, are added up, modulo 2^64 each (Bellare and Micciancio 1997,
 * with vectors as in Lewi et al. 2019), and each commit hashes the total into its last line.  It does not depend on the order,
 * and one row more, less or another changes it by one addition. */
#ifndef GNOMON_DB_SUM_H
#define GNOMON_DB_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sums a row's values, in the order of its columns.  Begin with 0. */
enum sum_kind { SUM_NONE = 1, SUM_NUMBER, SUM_REAL, SUM_TEXT, SUM_BLOB };
uint64_t sum_bytes(uint64_t sum, enum sum_kind kind, const void *bytes, size_t length);

/* Columns that change without a line of the log, or are proven otherwise, and why that is enough.  A change of this list comes
 * with a migration, which binds all rows anew; sum_list goes on to know what each earlier schema bound. */
struct sum_loose {
    const char *table, *columns, *why; /* columns: "a,b", or "*" */
};
enum { SUM_LOOSE = 16 };
extern const struct sum_loose sum_loose[SUM_LOOSE];
/* Schemas before SUM_FIRST have no total. */
enum { SUM_FIRST = 4 };
/* Writes those columns, of "a,b", that a schema binds to the log, in the order of their digest.  "": none of this table. */
void sum_list(int schema, const char *table, const char *columns, char *out, size_t room);

enum { TOTAL_LANES = 32, TOTAL_BYTES = 8 * TOTAL_LANES, ROW_DIGEST_BYTES = 32 };
struct total {
    uint64_t lanes[TOTAL_LANES];
};
/* A row more (is_added) or less, by its digest. */
void total_add_row(struct total *total, const unsigned char digest[ROW_DIGEST_BYTES], bool is_added);
void total_add(struct total *total, const struct total *more);
bool total_is_zero(const struct total *total);
/* As it is stored: little-endian. */
void total_write(const struct total *total, unsigned char out[TOTAL_BYTES]);
/* Reads a total; no bytes mean zero.  False: another length. */
bool total_read(const void *bytes, size_t length, struct total *out);

#endif
