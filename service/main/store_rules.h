/* Rules that the rows of a store keep among themselves, for gnomon check and gnomon verify: counters are those of the rows, logs
 * have no gaps, ledgers add up, and bytes have the digest that is stored beside them. */
#ifndef GNOMON_SERVICE_MAIN_STORE_RULES_H
#define GNOMON_SERVICE_MAIN_STORE_RULES_H

#include "db/whole/look.h"

/* Says each rule that is broken. */
MUST_CHECK enum status store_rules(struct db_conn *conn, db_say *say, void *arg, struct error *err);

#endif
