/* See account.h. */
#include "service/curator/account.h"
#include "service/member/codec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status bad_entry(int64_t line, struct error *err)
{
    return error_set(err, STATUS_INVALID, "bad_entry", "",
                     "line %lld of the ledger is not one that this version writes", (long long)line);
}

static bool is_kind(const json_t *entry, const char *kind)
{
    const char *given = json_string_value(json_object_get(entry, "kind"));
    return given != NULL && strcmp(given, kind) == 0;
}

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

/* Which tables are one data set. */

/* parents [len + 1] of the lines by number, each its own or a line before it. */
static size_t root_of(const size_t *parents, size_t line)
{
    while (parents[line] != line)
        line = parents[line];
    return line;
}

static void join(size_t *parents, size_t line, const json_t *joins)
{
    size_t  i = 0;
    json_t *other = NULL;
    json_array_foreach (joins, i, other) {
        json_int_t number = json_integer_value(other);
        if (number < 1 || number >= (json_int_t)line)
            continue;
        size_t a = root_of(parents, (size_t)number), b = root_of(parents, line);
        parents[a > b ? a : b] = a < b ? a : b;
    }
}

/* The line of the table that an entry is about: its own, of a declaration. */
static size_t table_of(const json_t *entry, size_t line)
{
    return is_kind(entry, "declare") ? line : (size_t)json_integer_value(json_object_get(entry, "table"));
}

/* Comparing a table with those that were declared. */

static enum status read_columns(const json_t *declared, struct arena *arena, struct table_columns *out,
                                struct error *err)
{
    size_t       len = json_object_size(declared), used = 0;
    const char **names = ARENA_NEW(arena, const char *, len + 1), *name = NULL;
    double      *moves = ARENA_NEW(arena, double, len + 1);
    json_t      *column = NULL;
    if (names == NULL || moves == NULL)
        return error_no_memory(err);
    json_object_foreach ((json_t *)(uintptr_t)declared, name, column) {
        const json_t *move = json_object_get(column, "move");
        names[used] = name;
        moves[used++] = json_is_number(move) ? json_number_value(move) : (double)INFINITY;
    }
    *out = (struct table_columns){.names = names, .moves = moves, .len = len};
    return STATUS_OK;
}

/* The table's marks on the columns of another table; none when it lacks these columns. */
static enum status mark_alike(const struct account_table *table, const json_t *entry, struct arena *arena,
                              struct table_marks *out, struct error *err)
{
    struct table_columns columns;
    TRY(read_columns(json_object_get(entry, "columns"), arena, &columns, err));
    enum status status = table_marks_make(table->csv, table->key, &columns, out, err);
    if (status != STATUS_INVALID)
        return status;
    free(out->lists);
    *out = (struct table_marks){.n = 0};
    return STATUS_OK;
}

struct comparing {
    const struct ledger        *ledger;
    const struct account_table *table;
    struct table_marks          own;
    struct arena               *arena;
};

static enum status compare(const struct comparing *comparing, size_t line, bool *meets, struct error *err)
{
    char               path[1200];
    struct table_marks theirs, alike = {.n = 0};
    const json_t      *entry = json_array_get(comparing->ledger->entries, line - 1);
    const char        *tag = json_string_value(json_object_get(entry, "tag"));
    const char        *sha256 = json_string_value(json_object_get(entry, "marks"));
    if (tag == NULL || sha256 == NULL)
        return bad_entry((int64_t)line, err);
    *meets = strcmp(tag, comparing->table->tag) == 0;
    if (*meets)
        return STATUS_OK;
    snprintf(path, sizeof path, "%s/%zu.marks", comparing->ledger->folder, line);
    TRY(table_marks_read(path, sha256, &theirs, err));
    enum status status = mark_alike(comparing->table, entry, comparing->arena, &alike, err);
    *meets = table_marks_meet(&comparing->own, &theirs) || table_marks_meet(&alike, &theirs);
    free(theirs.lists);
    free(alike.lists);
    return status;
}

static enum status find_joins(const struct comparing *comparing, struct account_table *table, struct error *err)
{
    const json_t *entries = comparing->ledger->entries;
    for (size_t line = 1; line <= json_array_size(entries); line++) {
        bool meets = false;
        if (!is_kind(json_array_get(entries, line - 1), "declare"))
            continue;
        TRY(compare(comparing, line, &meets, err));
        if (meets)
            table->joins[table->joins_len++] = (int64_t)line;
    }
    return STATUS_OK;
}

enum status account_find(const struct ledger *ledger, struct account_table *table, struct arena *arena,
                         struct error *err)
{
    struct comparing comparing = {.ledger = ledger, .table = table, .arena = arena};
    table->joins_len = 0;
    table->joins = ARENA_NEW(arena, int64_t, json_array_size(ledger->entries) + 1);
    if (table->joins == NULL)
        return error_no_memory(err);
    enum status status = table_marks_make(table->csv, table->key, &table->columns, &comparing.own, err);
    if (status == STATUS_OK)
        status = find_joins(&comparing, table, err);
    free(comparing.own.lists);
    return status;
}

/* Reading. */

struct reading {
    const struct ledger  *ledger;
    size_t               *parents; /* root_of */
    struct account       *account;
    struct arena         *arena;
    struct privacy_curve *curves, *any; /* [curves_len] */
    size_t                curves_len;
    json_t              **releases; /* [releases_len] lines of kind release */
    size_t                releases_len;
};

static enum status take_column(struct reading *reading, const char *name, const json_t *column, struct error *err)
{
    struct account         *account = reading->account;
    const json_t           *move = json_object_get(column, "move");
    struct relation_column  given = {.move = json_is_number(move) ? json_number_value(move) : (double)INFINITY,
                                     .low = number_of(column, "low"),
                                     .high = number_of(column, "high")};
    struct relation_column *known = (struct relation_column *)(uintptr_t)account_column(account, name);
    if (known != NULL) {
        given.move = fmax(given.move, known->move);
        *known = given;
        return STATUS_OK;
    }
    if (account->columns_len >= MECHANISM_COLUMNS_MAX)
        return error_set(err, STATUS_INVALID, "bad_relation", "", "a data set has at most %d declared columns",
                         MECHANISM_COLUMNS_MAX);
    account->names[account->columns_len] = name;
    account->columns[account->columns_len++] = given;
    return STATUS_OK;
}

static enum status take_declaration(struct reading *reading, const json_t *entry, int64_t line, const char *tag,
                                    struct error *err)
{
    struct account *account = reading->account;
    const char     *name = NULL, *own_tag = json_string_value(json_object_get(entry, "tag"));
    json_t         *columns = json_object_get(entry, "columns"), *column = NULL;
    if (own_tag == NULL || !json_is_object(columns))
        return bad_entry(line, err);
    if (account->tables++ == 0) { // the first one's hold
        account->budget_epsilon = number_of(entry, "epsilon");
        account->budget_delta = number_of(entry, "delta");
        account->order = number_of(entry, "order");
    }
    if (strcmp(own_tag, tag) == 0)
        account->table = line;
    json_object_foreach (columns, name, column)
        TRY(take_column(reading, name, column, err));
    return STATUS_OK;
}

static enum status take_entry(struct reading *reading, json_t *entry, int64_t line, const char *tag, struct error *err)
{
    if (is_kind(entry, "declare"))
        return take_declaration(reading, entry, line, tag, err);
    if (is_kind(entry, "budget"))
        reading->account->budget_epsilon = number_of(entry, "epsilon");
    else if (is_kind(entry, "release") || is_kind(entry, "epoch"))
        reading->releases[reading->releases_len++] = entry;
    return STATUS_OK;
}

/* A release under another table's declaration, or before a move grew, is charged by the moves that hold now. */
static enum status take_moves(const struct account *account, const json_t *names, size_t len, double *moves,
                              struct error *err)
{
    if (json_array_size(names) != len)
        return error_set(err, STATUS_INVALID, "bad_entry", "", "a release in the ledger lacks a name of a column");
    for (size_t c = 0; c < len; c++) {
        const char                   *name = json_string_value(json_array_get(names, c));
        const struct relation_column *column = name != NULL ? account_column(account, name) : NULL;
        moves[c] = column != NULL ? column->move : (double)INFINITY;
    }
    return STATUS_OK;
}

static bool answers_rows(const json_t *release)
{
    const char         *name = json_string_value(json_object_get(release, "mechanism"));
    enum mechanism_kind kind = name != NULL ? mechanism_find(name) : MECHANISM_KINDS;
    return !mechanism_is_partition(kind);
}

/* Private answers to rows: the same plan for the same table is the same noise, which is charged once. */
static bool is_charged(const struct reading *reading, size_t at)
{
    const json_t *own = json_object_get(reading->releases[at], "release");
    for (size_t i = 0; i < at && answers_rows(own); i++) {
        const json_t *other = json_object_get(reading->releases[i], "release");
        if (answers_rows(other) && json_equal(json_object_get(other, "outcomes"), json_object_get(own, "outcomes")) &&
            json_equal(json_object_get(other, "dataset_tag"), json_object_get(own, "dataset_tag")))
            return true;
    }
    return false;
}

static enum status take_release(struct reading *reading, size_t at, struct release_manifest *release, struct error *err)
{
    struct account *account = reading->account;
    double          moves[MANIFEST_COLUMNS_MAX];
    size_t          len = 0;
    const json_t   *entry = reading->releases[at];
    TRY(manifest_read_release(json_object_get(entry, "release"), release, err));
    account->releases++;
    account->projections += !release->differentially_private;
    if (!release->differentially_private)
        return STATUS_OK;
    if (is_kind(entry, "epoch")) { // only the answers are given anew
        size_t               at_curve = reading->curves_len++;
        struct privacy_curve answers =
            curve_of_outcomes(&release->outcomes, mechanism_is_partition(release->mechanism.kind));
        reading->curves[at_curve] = reading->any[at_curve] = answers;
        return STATUS_OK;
    }
    size_t d = release->mechanism.columns;
    TRY(take_moves(account, json_object_get(entry, "columns"), d, moves, err));
    TRY(manifest_curves(release, moves, false, reading->curves + reading->curves_len, &len, err));
    TRY(manifest_curves(release, moves, true, reading->any + reading->curves_len, &len, err));
    reading->curves_len += release->has_outcomes && is_charged(reading, at) ? 1 : len;
    return STATUS_OK;
}

/* A single release was chosen before any result was known; each of several knew the results of those before it. */
static enum status add_up(const struct reading *reading, const struct privacy_curve *curves, double delta,
                          double *epsilon, struct error *err)
{
    const struct account *account = reading->account;
    return account->releases <= 1 ? curves_epsilon(curves, reading->curves_len, delta, epsilon, reading->arena, err)
                                  : curves_filter(curves, reading->curves_len, delta, account->order, epsilon, err);
}

/* Pure releases just add up, without a delta; where many small ones do better with one, they take it. */
static enum status spend(struct reading *reading, struct error *err)
{
    static const double   WORTH_IT = 0.9;
    struct account       *account = reading->account;
    struct manifest_cost *spent = &account->spent;
    bool                  is_pure = true;
    double                sum = 0;
    for (size_t i = 0; i < reading->curves_len; i++)
        is_pure = is_pure && reading->curves[i].kind == CURVE_PURE;
    TRY(add_up(reading, reading->curves, account->budget_delta, &spent->epsilon, err));
    spent->delta = account->budget_delta;
    if (is_pure) {
        TRY(add_up(reading, reading->curves, 0, &sum, err));
        bool is_worth_it = account->releases > 1 && spent->epsilon < WORTH_IT * sum;
        spent->epsilon = is_worth_it ? spent->epsilon : sum;
        spent->delta = is_worth_it ? spent->delta : 0;
    }
    return add_up(reading, reading->any, spent->delta, &spent->epsilon_any_change, err);
}

static enum status read_lines(struct reading *reading, size_t root, const char *tag, struct error *err)
{
    const json_t *entries = reading->ledger->entries;
    for (size_t line = 1; line <= json_array_size(entries); line++) {
        json_t *entry = json_array_get(entries, line - 1);
        size_t  table = table_of(entry, line);
        if (table < 1 || table > line)
            return bad_entry((int64_t)line, err);
        if (root != 0 && root_of(reading->parents, table) == root)
            TRY(take_entry(reading, entry, (int64_t)line, tag, err));
    }
    return STATUS_OK;
}

static enum status prepare(struct reading *reading, struct error *err)
{
    size_t          lines = json_array_size(reading->ledger->entries) + 2;
    struct account *account = reading->account;
    *account = (struct account){.names = ARENA_NEW(reading->arena, const char *, MECHANISM_COLUMNS_MAX),
                                .columns = ARENA_NEW(reading->arena, struct relation_column, MECHANISM_COLUMNS_MAX)};
    reading->curves = ARENA_NEW(reading->arena, struct privacy_curve, MANIFEST_CURVES_MAX * lines);
    reading->any = ARENA_NEW(reading->arena, struct privacy_curve, MANIFEST_CURVES_MAX * lines);
    reading->releases = ARENA_NEW(reading->arena, json_t *, lines);
    bool has_memory = account->names != NULL && account->columns != NULL && reading->curves != NULL &&
                      reading->any != NULL && reading->releases != NULL;
    return has_memory ? STATUS_OK : error_no_memory(err);
}

static size_t *find_parents(const struct ledger *ledger, struct arena *arena)
{
    size_t  len = json_array_size(ledger->entries);
    size_t *parents = ARENA_NEW(arena, size_t, len + 1);
    for (size_t line = 0; line <= len && parents != NULL; line++)
        parents[line] = line;
    for (size_t line = 1; line <= len && parents != NULL; line++)
        join(parents, line, json_object_get(json_array_get(ledger->entries, line - 1), "joins"));
    return parents;
}

/* root 0: no table yet. */
static enum status read_account(struct reading *reading, size_t root, const char *tag, const json_t *const next[2],
                                struct error *err)
{
    struct release_manifest *release = arena_alloc(reading->arena, 1, sizeof *release);
    if (release == NULL)
        return error_no_memory(err);
    TRY(prepare(reading, err));
    TRY(read_lines(reading, root, tag, err));
    for (size_t i = 0; i < 2; i++)
        if (next[i] != NULL)
            TRY(take_entry(reading, (json_t *)(uintptr_t)next[i], (int64_t)reading->ledger->chain.seq + 1, tag, err));
    for (size_t i = 0; i < reading->releases_len; i++)
        TRY(take_release(reading, i, release, err));
    return reading->curves_len > 0 ? spend(reading, err) : STATUS_OK;
}

enum status account_read(const struct ledger *ledger, const struct account_table *table, const json_t *const next[2],
                         struct arena *arena, struct account *out, struct error *err)
{
    struct reading reading = {.ledger = ledger, .account = out, .arena = arena, .parents = find_parents(ledger, arena)};
    size_t         root = 0;
    if (reading.parents == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < table->joins_len; i++) { // the joined tables are one data set from now on
        size_t met = root_of(reading.parents, (size_t)table->joins[i]);
        root = root == 0 ? met : root;
        size_t first = root < met ? root : met;
        reading.parents[root] = reading.parents[met] = first;
        root = first;
    }
    return read_account(&reading, root, table->tag, next, err);
}

enum status account_of(const struct ledger *ledger, int64_t line, const json_t *next, struct arena *arena,
                       struct account *out, struct error *err)
{
    const json_t *const nexts[2] = {next, NULL};
    struct reading reading = {.ledger = ledger, .account = out, .arena = arena, .parents = find_parents(ledger, arena)};
    if (reading.parents == NULL)
        return error_no_memory(err);
    size_t root = root_of(reading.parents, (size_t)line);
    TRY(read_account(&reading, root, "", nexts, err));
    out->table = (int64_t)root;
    return STATUS_OK;
}

int64_t account_tables(const struct ledger *ledger)
{
    json_t *tags = json_object(), *entry = NULL;
    size_t  i = 0;
    json_array_foreach (ledger->entries, i, entry)
        if (is_kind(entry, "declare") && json_is_string(json_object_get(entry, "tag")))
            codec_put(&tags, json_string_value(json_object_get(entry, "tag")), json_null());
    int64_t tables = tags == NULL ? -1 : (int64_t)json_object_size(tags);
    json_decref(tags);
    return tables;
}

const struct relation_column *account_column(const struct account *account, const char *name)
{
    for (size_t c = 0; c < account->columns_len; c++)
        if (strcmp(account->names[c], name) == 0)
            return &account->columns[c];
    return NULL;
}
