/* See curator_ledger.h. */
#include "service/candidates/curator_ledger.h"

#include "db/writer/conn.h"

#include <string.h>

typedef char head_text[SHA256_HEX_BYTES];

/* heads [seq + 1]: after each line. */
static head_text *compute_heads(const struct manifest_ledger *ledger, struct arena *arena)
{
    head_text   *heads = arena_alloc(arena, (size_t)ledger->seq + 1, sizeof *heads);
    struct chain chain = {.seq = 0};
    for (int64_t line = 1; line <= ledger->seq && heads != NULL; line++) {
        chain_add(&chain, ledger->lines[line - 1]);
        digest_to_hex(chain.head, SHA256_BYTES, heads[line]);
    }
    return heads;
}

static enum status refuse(int64_t seq, struct error *err)
{
    return error_set(
        err, STATUS_CONFLICT, "ledger_fork", "/ledger/head",
        "line %lld of this ledger is known as another one: the ledger was taken back to an earlier copy, or "
        "goes on twice. What it has released since is not in its total",
        (long long)seq);
}

static enum status compare(struct db_conn *conn, const struct curator_release *release, head_text *heads,
                           struct arena *arena, int64_t *known, struct error *err)
{
    bool           is_fork = false;
    struct db_rows rows =
        db_query(conn, arena, err, SQL_CURATOR_LEDGER, BIND(TEXT(release->key), TEXT(release->ledger->id)));
    while (db_next(&rows)) {
        const struct row_ledger_line *row = row_ledger_line(&rows);
        if (is_fork || row->seq > release->ledger->seq)
            continue;
        *known = row->seq;
        is_fork =
            strcmp(row->head, heads[row->seq]) != 0 ||
            (row->seq == release->ledger->seq && row->sha256[0] != '\0' && strcmp(row->sha256, release->sha256) != 0);
    }
    TRY(db_done(&rows));
    return is_fork ? refuse(*known, err) : STATUS_OK;
}

enum status curator_ledger_extend(struct db_conn *conn, const struct curator_release *release, struct arena *arena,
                                  struct error *err)
{
    const struct manifest_ledger *ledger = release->ledger;
    head_text                    *heads = compute_heads(ledger, arena);
    int64_t                       known = 0;
    if (heads == NULL)
        return error_no_memory(err);
    TRY(compare(conn, release, heads, arena, &known, err));
    for (int64_t seq = known + (known < ledger->seq); seq <= ledger->seq; seq++)
        TRY(db_exec(conn, NULL, err, SQL_CURATOR_LEDGER_PUT,
                    BIND(TEXT(release->key), TEXT(ledger->id), INT(seq), TEXT(heads[seq]),
                         TEXT(seq == ledger->seq ? release->sha256 : ""))));
    return STATUS_OK;
}

enum status curator_ledger_count(struct db_conn *conn, const char *key, struct arena *arena, int64_t *count,
                                 struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, arena, &rows, err, SQL_CURATOR_LEDGERS, BIND(TEXT(key))));
    const struct row_count *row = row_count(&rows);
    *count = row != NULL ? row->count : 0;
    return STATUS_OK;
}
