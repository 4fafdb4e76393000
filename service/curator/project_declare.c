/* See project.h.  What is protected is declared once for each data set and then holds for all its releases: a move may
 * only grow, a column may be added, the budget changes by a line of its own. */
#include "service/curator/project.h"
#include "service/member/codec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DECLARED_MAX = MECHANISM_COLUMNS_MAX };
static const double BUDGET_EPSILON = 4, BUDGET_DELTA = 1e-5;

/* A column of --protect and --region; NaN: not given. */
struct given {
    const char *name;
    double      move, low, high;
};
struct given_list {
    struct given *columns; /* [len], room for DECLARED_MAX */
    size_t        len;
};

static enum status usage(struct error *err, const char *flag, const char *item)
{
    return error_set(err, STATUS_INVALID, "usage", "",
                     strcmp(flag, "protect") == 0
                         ? "--protect takes column=move or column=any, with commas between them, not %.80s"
                         : "--region takes column=low:high, with commas between them, not %.80s",
                     item);
}

static struct given *find_given(struct given_list *list, const char *name)
{
    for (size_t i = 0; i < list->len; i++)
        if (strcmp(list->columns[i].name, name) == 0)
            return &list->columns[i];
    if (list->len == DECLARED_MAX)
        return NULL;
    list->columns[list->len] =
        (struct given){.name = name, .move = (double)NAN, .low = (double)NAN, .high = (double)NAN};
    return &list->columns[list->len++];
}

static bool read_number(const char *text, char end, double *out, const char **rest)
{
    char *at = NULL;
    *out = strtod(text, &at);
    *rest = at;
    return at != text && *at == end && isfinite(*out);
}

static bool read_move(const char *text, struct given *given)
{
    const char *rest = NULL;
    if (!isnan(given->move))
        return false;
    if (strcmp(text, "any") == 0)
        given->move = (double)INFINITY;
    else if (!read_number(text, '\0', &given->move, &rest))
        return false;
    return given->move > 0;
}

static bool read_interval(const char *text, struct given *given)
{
    const char *rest = NULL;
    return isnan(given->low) && read_number(text, ':', &given->low, &rest) &&
           read_number(rest + 1, '\0', &given->high, &rest) && given->low < given->high;
}

/* "a=1,b=2": each item to read. */
static enum status read_list(struct project_job *job, const char *flag, const char *list,
                             bool (*read)(const char *text, struct given *given), struct given_list *out,
                             struct error *err)
{
    if (list == NULL)
        return STATUS_OK;
    char *copy = arena_strndup(&job->arena, list, strlen(list));
    if (copy == NULL)
        return error_no_memory(err);
    for (char *item = copy, *comma = NULL; item != NULL; item = comma) {
        size_t column = 0;
        comma = strchr(item, ',');
        if (comma != NULL)
            *comma++ = '\0';
        char *equals = strrchr(item, '=');
        if (equals == NULL || equals == item)
            return usage(err, flag, item);
        *equals = '\0';
        TRY(csv_table_column(&job->csv, item, &column, err));
        struct given *given = find_given(out, csv_table_name(&job->csv, column));
        if (given == NULL || !read(equals + 1, given))
            return usage(err, flag, equals + 1);
    }
    return STATUS_OK;
}

/* A given column against what is declared.  *is_new: it adds something. */
static enum status check_given(const struct project_job *job, struct given *given, bool *is_new, struct error *err)
{
    const struct relation_column *known = account_column(&job->before, given->name);
    if (known == NULL && isnan(given->move))
        return error_set(
            err, STATUS_INVALID, "not_declared", "",
            "--protect says nothing of column \"%.80s\": the difference to hide in it is declared once, as %.80s=5 "
            "in units of the column, or %.80s=any",
            given->name, given->name, given->name);
    if (known == NULL && isnan(given->low))
        return error_set(
            err, STATUS_INVALID, "no_region", "",
            "--region has no interval for column \"%.80s\". Choose it from what anybody may know (limits of a "
            "device, of a form, of earlier publications), never from this data, and generously: it costs "
            "nothing",
            given->name);
    if (known == NULL) {
        *is_new = true;
        return STATUS_OK;
    }
    if (!isnan(given->low) && (given->low != known->low || given->high != known->high))
        return error_set(err, STATUS_CONFLICT, "other_region", "",
                         "column \"%.80s\" was declared with the region %.9g:%.9g, which stays", given->name,
                         known->low, known->high);
    if (!isnan(given->move) && given->move < known->move)
        return error_set(
            err, STATUS_CONFLICT, "weaker_relation", "",
            "column \"%.80s\" was declared with a protected move of %.9g, and a declared move may only grow",
            given->name, known->move);
    *is_new = *is_new || (!isnan(given->move) && given->move > known->move);
    given->move = isnan(given->move) ? known->move : given->move;
    given->low = known->low, given->high = known->high;
    return STATUS_OK;
}

/* Declarations of the data set go on to hold for this version of the table, where it has the column. */
static enum status add_known(struct project_job *job, struct given_list *list, struct error *err)
{
    for (size_t c = 0; c < job->before.columns_len; c++) {
        size_t       column = 0;
        struct error ignored;
        if (csv_table_column(&job->csv, job->before.names[c], &column, &ignored) != STATUS_OK)
            continue;
        struct given *given = find_given(list, csv_table_name(&job->csv, column));
        if (given == NULL)
            return error_set(err, STATUS_INVALID, "usage", "", "at most %d columns can be declared", DECLARED_MAX);
    }
    return STATUS_OK;
}

static bool is_guaranteed(const struct project_job *job)
{
    return strcmp(job->options->mechanism, MANIFEST_PROJECTION_ONLY) != 0;
}

static enum status merge(struct project_job *job, struct given_list *list, bool *is_new, struct error *err)
{
    TRY(add_known(job, list, err));
    for (size_t j = 0; j < job->table.d && is_guaranteed(job); j++)
        if (find_given(list, job->table.names[j]) == NULL)
            return error_set(err, STATUS_INVALID, "usage", "", "at most %d columns can be declared", DECLARED_MAX);
    for (size_t i = 0; i < list->len; i++)
        TRY(check_given(job, &list->columns[i], is_new, err));
    return STATUS_OK;
}

/* Budget and filter of a data set that is new; of a known one, what was declared. */
static enum status choose_budget(struct project_job *job, struct error *err)
{
    const struct project_options *options = job->options;
    struct account               *before = &job->before;
    double                        n = (double)job->table.n;
    bool                          is_new = before->tables == 0;
    if (!is_new && ((options->budget_epsilon > 0 && options->budget_epsilon != before->budget_epsilon) ||
                    (options->budget_delta > 0 && options->budget_delta != before->budget_delta)))
        return error_set(
            err, STATUS_CONFLICT, "other_budget", "",
            "the budget of this data is epsilon %g, delta %g, in the ledger: gnomon ledger budget --key FILE "
            "--data FILE --epsilon E changes it by a signed line; delta stays",
            before->budget_epsilon, before->budget_delta);
    if (is_new) {
        before->budget_epsilon = options->budget_epsilon > 0 ? options->budget_epsilon : BUDGET_EPSILON;
        before->budget_delta =
            options->budget_delta > 0 ? options->budget_delta : fmin(BUDGET_DELTA, MECHANISM_DELTA_ROWS / n);
        before->order = curves_filter_order(before->budget_epsilon, before->budget_delta);
    }
    if (before->budget_delta * n <= MECHANISM_DELTA_ROWS * (1 + 1e-12))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "bad_delta", "",
                     "a budget's delta is at most %g / the number of rows, here %g", MECHANISM_DELTA_ROWS,
                     MECHANISM_DELTA_ROWS / n);
}

static json_t *columns_json(const struct given_list *list)
{
    json_t *columns = json_object();
    for (size_t i = 0; i < list->len; i++) {
        const struct given *given = &list->columns[i];
        json_t             *move = isinf(given->move) ? json_null() : json_real(given->move);
        if (json_object_set_new(columns, given->name,
                                json_pack("{s:o, s:f, s:f}", "move", move, "low", given->low, "high", given->high)) !=
            0)
            return json_decref(columns), NULL;
    }
    return columns;
}

static json_t *joins_json(const struct account_table *known)
{
    json_t *joins = json_array();
    for (size_t i = 0; i < known->joins_len; i++)
        codec_append(&joins, json_integer((json_int_t)known->joins[i]));
    return joins;
}

/* Lists the columns that table_marks_make reads for the marks. */
static enum status list_columns(struct project_job *job, const struct given_list *list, struct error *err)
{
    size_t       d = list->len > 0 ? list->len : job->table.d;
    const char **names = ARENA_NEW(&job->arena, const char *, d);
    double      *moves = ARENA_NEW(&job->arena, double, d);
    if (names == NULL || moves == NULL)
        return error_no_memory(err);
    for (size_t j = 0; j < d; j++) {
        bool is_given = list->len > 0;
        names[j] = is_given ? list->columns[j].name : job->table.names[j];
        moves[j] = is_given && !isnan(list->columns[j].move) ? list->columns[j].move : (double)INFINITY;
    }
    job->known.columns = (struct table_columns){.names = names, .moves = moves, .len = d};
    return STATUS_OK;
}

enum status project_declare(struct project_job *job, struct error *err)
{
    static const json_t *const nothing[2] = {NULL, NULL};
    struct given_list          list = {.columns = ARENA_NEW(&job->arena, struct given, DECLARED_MAX)};
    bool                       is_new = false;
    if (list.columns == NULL)
        return error_no_memory(err);
    TRY(read_list(job, "protect", job->options->protect, read_move, &list, err));
    TRY(read_list(job, "region", job->options->region, read_interval, &list, err));
    job->known.csv = &job->csv;
    job->known.key = job->key;
    job->known.tag = job->manifest.dataset_tag;
    TRY(list_columns(job, &list, err));
    TRY(account_find(&job->ledger, &job->known, &job->arena, err));
    TRY(account_read(&job->ledger, &job->known, nothing, &job->arena, &job->before, err));
    TRY(merge(job, &list, &is_new, err));
    TRY(choose_budget(job, err));
    if (!is_new && job->before.table != 0)
        return STATUS_OK;
    TRY(list_columns(job, &list, err));
    job->declare = json_pack(
        "{s:s, s:s, s:I, s:o, s:o, s:f, s:f, s:f, s:s}", "kind", "declare", "tag", job->manifest.dataset_tag, "rows",
        (json_int_t)job->table.n, "joins", joins_json(&job->known), "columns", columns_json(&list), "epsilon",
        job->before.budget_epsilon, "delta", job->before.budget_delta, "order", job->before.order, "marks", "");
    if (job->declare == NULL)
        return error_set(err, STATUS_INVALID, "csv_header", "", "the names of the columns are not UTF-8 text");
    const json_t *const next[2] = {job->declare, NULL};
    return account_read(&job->ledger, &job->known, next, &job->arena, &job->before, err);
}

enum status project_write_declaration(struct project_job *job, struct error *err)
{
    struct table_marks marks;
    char               path[1100], sha256[SHA256_HEX_BYTES];
    if (job->declare == NULL)
        return STATUS_OK;
    snprintf(path, sizeof path, "%s/%lld.marks", job->ledger.folder, (long long)job->ledger.chain.seq + 1);
    enum status status = table_marks_make(&job->csv, job->key, &job->known.columns, &marks, err);
    if (status == STATUS_OK)
        status = table_marks_write(&marks, path, sha256, err);
    free(marks.lists);
    if (status != STATUS_OK)
        return status;
    codec_put(&job->declare, "marks", json_string(sha256));
    TRY(ledger_prepare(&job->ledger, "declare", json_incref(job->declare), job->key, err));
    return ledger_append(&job->ledger, err);
}
