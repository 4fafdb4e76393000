/* See verify_store.h. */
#include "service/main/verify_store.h"

#include "db/writer/chain.h"
#include "db/whole/look.h"
#include "service/file/append.h"
#include "service/base/digest.h"
#include "service/client/plain.h"
#include "service/app/auditor.h"
#include "service/main/store_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct heads {
    struct event_head *items; /* by their line */
    size_t             len, room;
};
struct verifying {
    struct heads       heads;
    size_t             next; /* of them */
    struct chain_state chain;
    int64_t            gone; /* lines */
    int                findings;
    int64_t            bound_anew, bound_last; /* lines that say store.changed: how many, and the last */
    const char        *study;
    struct db_look    *look;
    struct witness    *witness; /* out, or NULL */
};

static void say(void *arg, const char *finding)
{
    struct verifying *verifying = arg;
    verifying->findings++;
    plain_print(stdout, finding);
    putchar('\n');
}

static void say_line(struct verifying *verifying, const char *what, int64_t seq)
{
    char text[160];
    snprintf(text, sizeof text, "line %lld of the log %s", (long long)seq, what);
    say(verifying, text);
}

/* ---- heads ---- */

static enum status take_head(void *arg, char *line, size_t number, struct error *err)
{
    struct heads *heads = arg;
    (void)number;
    if (heads->len == heads->room) {
        heads->room = 2 * heads->room + 64;
        struct event_head *items = realloc(heads->items, heads->room * sizeof *items);
        if (items == NULL)
            return error_no_memory(err);
        heads->items = items;
    }
    return auditor_read_head(line, &heads->items[heads->len++]) ? STATUS_OK : STATUS_CONFLICT;
}

static int by_line(const void *a, const void *b)
{
    const struct event_head *one = a, *two = b;
    return (one->seq > two->seq) - (one->seq < two->seq);
}

static enum status read_heads(const char *name, struct heads *heads, struct error *err)
{
    const struct append_reader reader = {
        .take = take_head, .arg = heads, .code = "head_file", .complaint = "is no head of a log"};
    struct append_file *file;
    TRY(append_open(name, false, &reader, &file, err));
    append_close(file);
    if (heads->len > 0)
        qsort(heads->items, heads->len, sizeof *heads->items, by_line);
    return STATUS_OK;
}

/* Compares the heads in the file for the line that the chain is at. */
static enum status compare(void *arg, const struct chain_place *at, struct error *err)
{
    struct verifying *verifying = arg;
    char              hash[SHA256_HEX_BYTES];
    (void)err;
    const struct heads *heads = &verifying->heads;
    if (verifying->next == heads->len || heads->items[verifying->next].seq > at->seq)
        return STATUS_OK;
    digest_to_hex(at->head, CHAIN_BYTES, hash);
    for (bool said = false; verifying->next < heads->len && heads->items[verifying->next].seq == at->seq;
         verifying->next++) {
        if (!said && strcmp(heads->items[verifying->next].hash, hash) != 0) {
            say_line(verifying, "or one before it is not what it was when its head was written down", at->seq);
            said = true;
        }
    }
    return STATUS_OK;
}

/* ---- the log ---- */

/* Checks that the rows are those bound to the log: a value may have been changed together with its row's sum. */
static enum status check_total(struct verifying *verifying, const struct chain_walk *walk, struct error *err)
{
    struct total  total;
    unsigned char digest[CHAIN_BYTES];
    TRY(db_look_total(verifying->look, &total, err));
    if (memcmp(&total, &verifying->chain.total, sizeof total) != 0)
        say(verifying, "rows are not those that the log vouches for");
    chain_digest_total(&verifying->chain.total, digest);
    if (walk->has_bound && memcmp(digest, walk->bound, sizeof digest) != 0)
        say(verifying, "the total of the rows is not the one that the log vouches for");
    return STATUS_OK;
}

static enum status check_log(struct db_conn *conn, struct verifying *verifying, struct error *err)
{
    TRY(chain_read(conn, &verifying->chain, err));
    const struct chain_place *first = &verifying->chain.first, *last = &verifying->chain.last;
    const struct heads       *heads = &verifying->heads;
    struct chain_walk         walk = {.at = *first, .until = INT64_MAX, .see = compare, .arg = verifying};
    while (verifying->next < heads->len && heads->items[verifying->next].seq < first->seq)
        verifying->next++; // retention may have dropped its line
    TRY(compare(verifying, first, err));
    TRY(chain_walk(conn, &walk, INT64_MAX, err));
    verifying->gone = walk.gone;
    if (walk.at.seq != last->seq)
        say_line(verifying, walk.at.seq < last->seq ? "is missing" : "was not written by the service",
                 walk.at.seq < last->seq ? walk.at.seq + 1 : last->seq + 1);
    else if (memcmp(walk.at.head, last->head, CHAIN_BYTES) != 0)
        say_line(verifying, "or one before it is not what was written", last->seq);
    else if (walk.at_ms != 0 && walk.at_ms != verifying->chain.at_ms)
        say_line(verifying, "has another time than the head of the log", last->seq);
    for (; verifying->next < heads->len; verifying->next++)
        say_line(verifying, "is missing: its head was written down", heads->items[verifying->next].seq);
    return check_total(verifying, &walk, err);
}

/* Counts the changes that no request made: they are no fault, but are reported. */
static enum status count_bound_anew(struct db_conn *conn, struct verifying *verifying, struct error *err)
{
    struct db_rows         rows = db_query(conn, NULL, err, SQL_LOG_BOUND_ANEW, BIND_NONE);
    const struct row_gone *row = db_next(&rows) ? row_gone(&rows) : NULL;
    if (row != NULL) {
        verifying->bound_anew = row->times;
        verifying->bound_last = row->last;
    }
    return db_done(&rows);
}

/* A failure that ends the look at the log is reported as a finding like the others. */
static enum status check_whole_log(struct db_conn *conn, struct verifying *verifying, struct error *err)
{
    enum status status = check_log(conn, verifying, err);
    if (status == STATUS_OK)
        status = count_bound_anew(conn, verifying, err);
    if (status != STATUS_INTERNAL || strcmp(err->code, "store_corrupt") != 0)
        return status;
    say(verifying, err->text);
    return STATUS_OK;
}

static enum status check_rows(struct db_conn *conn, void *arg, struct error *err)
{
    struct verifying *verifying = arg;
    if (verifying->witness != NULL)
        TRY(db_look_witness(conn, verifying->witness, err));
    TRY(db_look_damaged(verifying->look, verifying->study, say, verifying, err));
    if (verifying->study != NULL)
        return STATUS_OK;
    TRY(store_rules(conn, say, verifying, err));
    return check_whole_log(conn, verifying, err);
}

static enum status examine(const char *path, struct verifying *verifying, struct error *err)
{
    struct db_look *look = NULL;
    TRY(db_look_open(path, &look, err));
    verifying->look = look;
    enum status status = db_look_examine(look, say, verifying, err);
    if (status == STATUS_OK)
        status = db_look_read(look, check_rows, verifying, err);
    db_look_close(look);
    return status;
}

enum { PATH_BYTES = 1100 };

/* name: of what is looked at; not of a database, whose address may hold a password. */
static enum status verify(const struct verify_store *asked, struct verifying *verifying, char name[PATH_BYTES],
                          struct error *err)
{
    const char *database = asked->file == NULL ? asked->database : NULL;
    snprintf(name, PATH_BYTES, "%.1024s%s", asked->file != NULL ? asked->file : asked->folder,
             asked->file != NULL ? "" : "/gnomon.db");
    if (database != NULL)
        snprintf(name, PATH_BYTES, "the database");
    TRY(examine(database != NULL ? database : name, verifying, err));
    return verifying->findings == 0 ? STATUS_OK
                                    : error_set(err, STATUS_INTERNAL, "store_corrupt", "",
                                                "%.150s is not what was written: restore a backup", name);
}

static void report(const struct verifying *verifying, const char *path)
{
    const struct heads *heads = &verifying->heads;
    int64_t             last = verifying->chain.last.seq;
    printf("%s: nothing was altered; the log has lines %lld to %lld, ", path, (long long)verifying->chain.first.seq + 1,
           (long long)last);
    if (verifying->gone > 0)
        printf("of %lld only digests, ", (long long)verifying->gone);
    printf("%zu heads of it were compared", heads->len);
    if (heads->len == 0)
        printf(" (serve --head-file keeps heads elsewhere, and verify --head compares them)");
    if (heads->len > 0 && heads->items[heads->len - 1].seq < last)
        printf(", and %lld lines came after the last of these", (long long)(last - heads->items[heads->len - 1].seq));
    putchar('\n');
    if (verifying->bound_anew > 0)
        printf("%lld lines say store.changed, the last of them line %lld: rows as they were then are vouched for from "
               "there on, after an upgrade, or because somebody wrote to the store by hand\n",
               (long long)verifying->bound_anew, (long long)verifying->bound_last);
}

enum status verify_store(const struct verify_store *asked, struct error *err)
{
    struct verifying verifying = {.findings = 0, .study = asked->study};
    char             name[PATH_BYTES];
    enum status      status = STATUS_OK;
    if (asked->head_file != NULL)
        status = read_heads(asked->head_file, &verifying.heads, err);
    if (status == STATUS_OK)
        status = verify(asked, &verifying, name, err);
    if (status == STATUS_OK && asked->study != NULL)
        printf("%s: no row of %s was altered\n", name, asked->study);
    else if (status == STATUS_OK)
        report(&verifying, name);
    free(verifying.heads.items);
    return status;
}

enum status verify_store_quietly(const struct verify_store *asked, struct witness *out, struct error *err)
{
    struct verifying verifying = {.findings = 0, .witness = out};
    char             name[PATH_BYTES];
    TRY(verify(asked, &verifying, name, err));
    printf("%s: sound", name);
    return STATUS_OK;
}
