/* See store_rules.h. */
#include "service/main/store_rules.h"

#include "service/base/digest.h"

#include <stdio.h>
#include <string.h>

static const enum sql rules[] = {SQL_CHECK_COUNTERS, SQL_CHECK_NUMBERS, SQL_CHECK_BEST,   SQL_CHECK_REVISIONS,
                                 SQL_CHECK_EVENTS,   SQL_CHECK_TALLY,   SQL_CHECK_LEDGER, SQL_CHECK_BUDGETS};
static const enum sql digests[] = {SQL_CHECK_BROADCASTS, SQL_CHECK_FEATURES, SQL_CHECK_MATRICES};

static enum status check_rule(struct db_conn *conn, enum sql rule, db_say *say, void *arg, struct error *err)
{
    struct db_rows rows = db_query(conn, NULL, err, rule, BIND_NONE);
    while (db_next(&rows))
        say(arg, row_finding(&rows)->finding);
    return db_done(&rows);
}

/* Digests bytes that come in pieces, one after the other. */
struct digesting {
    char                 name[160], wanted[SHA256_HEX_BYTES];
    struct sha256_state *state; /* NULL: none yet */
};

static void end_digest(struct digesting *digesting, db_say *say, void *arg)
{
    char is[SHA256_HEX_BYTES], text[200];
    if (digesting->state == NULL)
        return;
    sha256_hex_final(digesting->state, is);
    digesting->state = NULL;
    if (strcmp(is, digesting->wanted) == 0)
        return;
    snprintf(text, sizeof text, "%s is not what was stored", digesting->name);
    say(arg, text);
}

static enum status check_digests(struct db_conn *conn, enum sql sql, db_say *say, void *arg, struct error *err)
{
    struct digesting now = {.state = NULL};
    struct db_rows   rows = db_query(conn, NULL, err, sql, BIND_NONE);
    while (db_next(&rows)) {
        const struct row_digested *row = row_digested(&rows);
        if (strcmp(now.name, row->name) != 0 || now.state == NULL) {
            end_digest(&now, say, arg);
            snprintf(now.name, sizeof now.name, "%s", row->name);
            snprintf(now.wanted, sizeof now.wanted, "%s", row->sha256);
            now.state = sha256_start();
            rows.status = now.state == NULL ? error_no_memory(err) : STATUS_OK;
        }
        if (now.state != NULL)
            sha256_add(now.state, row->data.bytes, row->data.length);
    }
    end_digest(&now, say, arg);
    return db_done(&rows);
}

enum status store_rules(struct db_conn *conn, db_say *say, void *arg, struct error *err)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        TRY(check_rule(conn, rules[i], say, arg, err));
    for (size_t i = 0; i < sizeof digests / sizeof *digests; i++)
        TRY(check_digests(conn, digests[i], say, arg, err));
    return STATUS_OK;
}
