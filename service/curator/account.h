/* The account of one data set in a ledger: the tables that are its versions, what is protected, the budget, and the
 * spending.  Costs are computed from the mechanisms' integers, for the relation that holds now.
 *
 * Lines, by kind, with what a ledger adds to each:
 *   declare  tag, rows: of a table;  joins: [number of an earlier declare line, ..] whose tables this one is a version of;
 *            columns: {NAME: {move: P or null for any, low, high}, ..};  marks: digest of its file of marks;
 *            epsilon, delta, order: budget and order of the filter, which hold when it joins nothing
 *   budget   table: number of a declare line;  epsilon
 *   outcomes, epoch  of private answers: outcomes.h; an epoch is charged as the answers of its release are
 *   release  table;  columns: [NAME, ..], in the order of the release;  release: what its manifest says of it;
 *            spent: after it, for the reader
 * A declare line without columns is of a table that has bare projections only. */
#ifndef GNOMON_SERVICE_CURATOR_ACCOUNT_H
#define GNOMON_SERVICE_CURATOR_ACCOUNT_H

#include "engine/base/arena.h"
#include "engine/privacy/relation.h"
#include "service/manifest/manifest.h"
#include "service/curator/ledger.h"
#include "service/curator/table_marks.h"

struct account {
    int64_t                 table; /* number of the declare line of the table asked for; 0: it has none */
    size_t                  tables, releases, projections; /* declared tables; releases, of which without a guarantee */
    const char            **names;                         /* [columns_len] */
    struct relation_column *columns;                       /* [columns_len] */
    size_t                  columns_len;
    double                  budget_epsilon, budget_delta, order;
    struct manifest_cost    spent;
};

/* A table as it is now, and its columns that were or are to be declared. */
struct account_table {
    const struct csv_table *csv;
    const struct sign_key  *key;
    const char             *tag;
    struct table_columns    columns; /* those to be declared, or none */
    int64_t                *joins;   /* out [joins_len]: declare lines whose tables it meets */
    size_t                  joins_len;
};
/* Compares with every table of the ledger; in the arena.  Errors: as table_marks_make, table_marks_read. */
MUST_CHECK enum status account_find(const struct ledger *ledger, struct account_table *table, struct arena *arena,
                                    struct error *err);

/* Reads the account of the table's data set, and how it is after next: the bodies of a declare and a release line with their
 * kind, not in the ledger yet (NULL: none).  All in the arena; names are borrowed.
 * Errors: INVALID bad_entry, no_bound; NO_MEMORY. */
MUST_CHECK enum status account_read(const struct ledger *ledger, const struct account_table *table,
                                    const json_t *const next[2], struct arena *arena, struct account *out,
                                    struct error *err);
/* As account_read by the number of a declare line; out->table: the first of its data set.  next: a body and kind, or
 * NULL. */
MUST_CHECK enum status account_of(const struct ledger *ledger, int64_t line, const json_t *next, struct arena *arena,
                                  struct account *out, struct error *err);

/* How many tables, versions included, the key has declared; -1: out of memory. */
int64_t account_tables(const struct ledger *ledger);

/* The declared column of this name, or NULL. */
const struct relation_column *account_column(const struct account *account, const char *name);

#endif
