/* A study's trials as CSV, and back as observations.
 * Columns: trial, state, the parameters (or candidate), value, stddev, worker, created_at, started_at, finished_at, reason,
 * external_id, then the members of TRIAL_ANNOTATIONS (db/members.h), as JSON unless they are texts, and outside.  Several metrics have columns
 * "value:NAME" and "stddev:NAME" each instead of value and stddev, and so have those that are only recorded.  A parameter whose name is one of these, or starts with "parameter:", "value:" or "stddev:", is written
 * "parameter:NAME"; that form is always understood.  Import reads rows in every state, and by the number of the trial
 * it knows one again; the columns that only the service can know (times) are not used. */
#include "service/member/codec.h"
#include "service/codec/codec_annotations.h"
#include "service/codec/codec_space.h"
#include "service/codec/codec_trial.h"
#include "service/base/csv.h"
#include "service/base/nearest.h"
#include "service/file/written.h"
#include "service/store/rows.h"
#include "service/portable/trial_csv.h"
#include "service/portable/study_document.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 32 };
static const char   prefix[] = "parameter:";
static const double number_max = 9007199254740991.0; /* 2^53 - 1 */

/* ---- a line as the trial of a document ---- */

struct column {
    const char *name;            /* in the file */
    const char *object, *member; /* in the trial: an object of it, or NULL, and its member; NULL: it is not used */
    json_t *(*read)(const struct spec *spec, size_t param, const char *cell); /* NULL where the cell cannot be read */
    size_t param;
};
struct line {
    const struct spec   *spec;
    const struct column *columns;
    struct arena        *arena;
    struct error        *err;
    size_t               columns_len, number; /* in the file */
};

/* A reason that begins with a verb is said of the column; column "": of the line. */
static enum status refuse(const struct line *line, const char *column, const char *code, const char *why)
{
    static const char *const verbs[] = {"must ", "is ", "has ", "does "};
    char                     path[32], text[sizeof line->err->text];
    bool                     is_said = false;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        is_said = is_said || strncmp(why, verbs[i], strlen(verbs[i])) == 0;
    snprintf(path, sizeof path, "/lines/%zu", line->number);
    snprintf(text, sizeof text, "%s", why); // it may be the error's own
    if (column[0] == '\0')
        return error_set(line->err, STATUS_INVALID, code, path, "line %zu: %s", line->number, text);
    return error_set(line->err, STATUS_INVALID, code, path,
                     is_said ? "line %zu: column %.64s %s" : "line %zu, column %.64s: %s", line->number, column, text);
}

static json_t *read_text(const struct spec *spec, size_t param, const char *cell)
{
    (void)spec, (void)param;
    return json_string(cell);
}

static json_t *read_json(const struct spec *spec, size_t param, const char *cell)
{
    (void)spec, (void)param;
    return codec_load(cell, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES);
}

static json_t *read_number(const struct spec *spec, size_t param, const char *cell)
{
    char  *end;
    double value = strtod(cell, &end);
    (void)spec, (void)param;
    return cell[0] == '\0' || *end != '\0' || strspn(cell, "+-.eE0123456789") != strlen(cell) ? NULL : json_real(value);
}

static json_t *read_whole(const struct spec *spec, size_t param, const char *cell)
{
    json_t *json = read_number(spec, param, cell);
    double  value = json_number_value(json);
    bool    is_whole = json != NULL && fabs(value) <= number_max && floor(value) == value;
    json_decref(json);
    return is_whole ? json_integer((json_int_t)value) : NULL;
}

/* A text that is no value of the parameter is refused by who reads the point. */
static json_t *read_parameter(const struct spec *spec, size_t param, const char *cell)
{
    double place;
    if (param_is_number(&spec->space.params[param]))
        return read_number(spec, param, cell);
    return codec_space_read_cell(spec, param, cell, &place) ? codec_space_value_json(spec, param, place)
                                                            : json_string(cell);
}

static const char *expected(const struct column *column, const char *cell)
{
    return column->read == read_json    ? "must be JSON"
           : strchr(cell, ',') != NULL  ? "must be a number, with a point and no comma"
           : column->read == read_whole ? "must be a whole number"
                                        : "must be a number";
}

/* ---- reading the header ---- */

static const struct column known_columns[] = {
    {.name = "trial", .member = "number", .read = read_whole},
    {.name = "state", .member = "state", .read = read_text},
    {.name = "candidate", .member = "candidate", .read = read_whole},
    {.name = "worker", .member = "worker", .read = read_text},
    {.name = "outside", .member = "outside", .read = read_text},
    {.name = "created_at"},
    {.name = "started_at"},
    {.name = "finished_at"},
};

/* Besides the parameters and metrics. */
static bool find_known(const char *name, struct column *column)
{
    for (size_t i = 0; i < sizeof known_columns / sizeof known_columns[0]; i++)
        if (strcmp(known_columns[i].name, name) == 0) {
            *column = known_columns[i];
            return true;
        }
    const struct member *told = codec_member(codec_told_members, name),
                        *said = codec_member(codec_annotation_members, name), *member = told != NULL ? told : said;
    if (member == NULL)
        return false;
    bool is_text = told != NULL || member->read == codec_read_text || member->read == codec_read_name;
    *column = (struct column){.name = member->name,
                              .member = member->name,
                              .read = member->read == codec_read_number ? read_number
                                      : is_text                         ? read_text
                                                                        : read_json};
    return true;
}

static const char value_prefix[] = "value:", stddev_prefix[] = "stddev:";

/* The first metric with columns by name. */
static size_t named_from(const struct spec *spec)
{
    return spec->metrics_len > 1 ? 0 : 1;
}

/* A column of one of several metrics. */
static bool find_metric(const struct spec *spec, const char *name, struct column *column)
{
    bool        is_stddev = strncmp(name, stddev_prefix, sizeof stddev_prefix - 1) == 0;
    bool        is_value = strncmp(name, value_prefix, sizeof value_prefix - 1) == 0;
    const char *wanted = name + (is_stddev ? sizeof stddev_prefix : sizeof value_prefix) - 1;
    for (size_t k = named_from(spec); (is_value || is_stddev) && k < spec_metrics_all(spec); k++)
        if (strcmp(spec->metrics[k].name, wanted) == 0) {
            *column = (struct column){.name = name,
                                      .object = is_value ? "values" : "stddevs",
                                      .member = spec->metrics[k].name,
                                      .read = read_number,
                                      .param = k};
            return true;
        }
    return false;
}

static bool find_param(const struct spec *spec, const char *name, size_t *param)
{
    bool        is_prefixed = strncmp(name, prefix, sizeof prefix - 1) == 0;
    const char *wanted = is_prefixed ? name + sizeof prefix - 1 : name;
    for (*param = 0; *param < spec->space.params_len; ++*param)
        if (strcmp(spec->space.params[*param].name, wanted) == 0)
            return true;
    return false;
}

static enum status refuse_column(const struct line *line, const char *name)
{
    const struct spec         *spec = line->spec;
    const struct member *const tables[] = {codec_told_members, codec_annotation_members};
    struct nearest             nearest = nearest_to(name, strlen(name));
    struct error               own;
    for (size_t i = 0; i < spec->space.params_len; i++)
        nearest_consider(&nearest, spec->space.params[i].name);
    for (size_t k = 0; k < sizeof known_columns / sizeof *known_columns; k++)
        nearest_consider(&nearest, known_columns[k].name);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct member *member = tables[t]; member->name != NULL; member++)
            nearest_consider(&nearest, member->name);
    enum status status = nearest_refuse(&nearest, &own, "unknown_column", "", "column", "the study lists them");
    return status == STATUS_INVALID ? refuse(line, name, own.code, own.text) : status;
}

static bool is_of(const struct column *column, const char *object)
{
    return column->object != NULL && strcmp(column->object, object) == 0;
}

/* A parameter may be there plainly or with the prefix, and not both. */
static enum status check_params(const struct line *line, const struct csv_table *table, const struct column *columns)
{
    for (size_t p = 0; p < line->spec->space.params_len; p++) {
        size_t count = 0;
        for (size_t i = 0; i < table->columns; i++)
            count += columns[i].read == read_parameter && columns[i].param == p;
        if (count != 1)
            return refuse(line, line->spec->space.params[p].name, "missing_column",
                          count == 0 ? "is required" : "is there more than once");
    }
    return STATUS_OK;
}

static enum status read_header(const struct csv_table *table, struct line *line, struct column *columns)
{
    const struct spec *spec = line->spec;
    size_t             values = 0, metrics = spec->metrics_len;
    bool               has_candidate = false, is_rows = spec->space.kind == SPACE_CANDIDATES;
    line->number = 1;
    if (spec->space.kind == SPACE_GRAPH)
        return refuse(line, "sites", "not_supported", "the trials of a graph are imported as JSON");
    for (size_t i = 0; i < table->columns; i++) {
        const char *name = csv_table_name(table, i);
        if (find_metric(spec, name, &columns[i])) {
            values += is_of(&columns[i], "values") && columns[i].param < metrics;
            continue;
        }
        bool is_known = find_known(name, &columns[i]), is_value = is_known && strcmp(name, "value") == 0;
        if (metrics > 1 && (is_value || (is_known && strcmp(name, "stddev") == 0)))
            return refuse(line, name, "unknown_column", "a study of several metrics has a column value:NAME for each");
        if (!is_known) {
            columns[i] = (struct column){.name = name, .object = "point", .read = read_parameter};
            if (!find_param(spec, name, &columns[i].param))
                return refuse_column(line, name);
            columns[i].member = spec->space.params[columns[i].param].name;
        }
        values += is_value;
        has_candidate |= is_known && strcmp(name, "candidate") == 0;
    }
    if (values != metrics)
        return refuse(line, "value", "missing_column",
                      metrics > 1 ? "is required: value:NAME, for each metric that is modelled" : "is required");
    if (has_candidate != is_rows)
        return refuse(line, "candidate", is_rows ? "missing_column" : "unknown_column",
                      is_rows ? "is required of a study of candidates"
                              : "must be left out: the study has no candidates");
    return check_params(line, table, columns);
}

/* ---- import ---- */

/* A trial's number of a metric: a single one's stands beside its lists. */
static const json_t *number_of(const struct spec *spec, const json_t *trial, bool is_stddev, size_t k)
{
    if (k < named_from(spec))
        return json_object_get(trial, is_stddev ? "stddev" : "value");
    return json_object_get(json_object_get(trial, is_stddev ? "stddevs" : "values"), spec->metrics[k].name);
}

/* Checks what a document leaves out: numbers that do not go together. */
static enum status check_result(const struct line *line, const json_t *trial)
{
    const struct spec *spec = line->spec;
    enum outcome       outcome;
    size_t             given = 0;
    bool               has_any = false, is_one = spec_metrics_all(spec) == 1;
    for (size_t k = 0; k < spec_metrics_all(spec); k++) {
        const json_t *value = number_of(spec, trial, false, k), *stddev = number_of(spec, trial, true, k);
        if (k >= spec->metrics_len && value == NULL && stddev != NULL)
            return refuse(line, spec->metrics[k].name, "bad_combination", "a stddev goes with a value");
        given += k < spec->metrics_len && value != NULL;
        has_any |= k < spec->metrics_len && (value != NULL || stddev != NULL);
    }
    if (!outcome_of_state(json_string_value(json_object_get(trial, "state")), &outcome) || outcome == OUTCOME_STOPPED)
        return STATUS_OK; // of a stopped one the value is the last of a curve, which a table does not have
    if (outcome == OUTCOME_VALUE && given < spec->metrics_len)
        return refuse(line, "value", is_one ? "missing_member" : "bad_combination",
                      is_one ? "a completed trial needs a value" : "a completed trial has all values");
    return outcome != OUTCOME_VALUE && has_any
               ? refuse(line, "value", "bad_combination", "only a completed trial has a value")
               : STATUS_OK;
}

/* Refuses a line by the pointer into its trial, which a column or none stands for. */
static enum status refuse_at(const struct line *line, const struct error *own)
{
    for (size_t i = 0; i < line->columns_len; i++) {
        const struct column *column = &line->columns[i];
        char                 object[CODEC_PATH_MAX] = "", path[CODEC_PATH_MAX];
        if (column->member == NULL)
            continue;
        if (column->object != NULL)
            codec_read_path(object, "", column->object);
        codec_read_path(path, object, column->member);
        size_t length = strlen(path);
        if (strncmp(path, own->path, length) == 0 && (own->path[length] == '\0' || own->path[length] == '/'))
            return refuse(line, column->name, own->code, own->text);
    }
    return refuse(line, "", own->code, own->text);
}

/* The trial as a document has it, from cells that are not empty. */
static enum status read_cells(const struct line *line, const struct csv_table *table, size_t row, json_t *trial)
{
    const struct spec *spec = line->spec;
    for (size_t i = 0; i < line->columns_len; i++) {
        const struct column *column = &line->columns[i];
        const char          *cell = csv_table_cell(table, row, i);
        bool is_always = column->read == read_parameter && spec->space.params[column->param].when_len == 0;
        if (column->member == NULL || (cell[0] == '\0' && !is_always))
            continue;
        json_t *value = column->read(spec, column->param, cell);
        if (value == NULL)
            return refuse(line, column->name, column->read == read_whole ? "out_of_range" : "wrong_type",
                          expected(column, cell));
        json_t *to = column->object == NULL ? trial : json_object_get(trial, column->object);
        if (to == NULL && json_object_set_new(trial, column->object, to = json_object()) != 0)
            to = NULL;
        if (json_object_set_new(to, column->member, value) != 0)
            return error_no_memory(line->err);
    }
    return STATUS_OK;
}

/* Puts a single metric among the recorded ones, as a document has it. */
static bool join_lists(const struct spec *spec, json_t *trial)
{
    static const char *const names[][2] = {{"value", "values"}, {"stddev", "stddevs"}};
    bool                     good = true;
    for (size_t i = 0; i < 2 && named_from(spec) == 1; i++) {
        json_t *list = json_object_get(trial, names[i][1]), *own = json_object_get(trial, names[i][0]);
        good = good && (list == NULL || own == NULL || json_object_set(list, spec->metrics[0].name, own) == 0);
    }
    return good;
}

/* *problems: all that is wrong with the line's values, each said of its column. */
static enum status read_trial(const struct line *line, json_t *trial, struct problems *problems,
                              struct observation *out)
{
    struct error   own;
    struct reading in = {.spec = line->spec, .arena = line->arena, .err = &own, .problems = problems};
    enum status    whole = STATUS_OK;
    if (json_object_get(trial, "state") == NULL && json_object_set_new(trial, "state", json_string("completed")) != 0)
        return error_no_memory(line->err);
    TRY(check_result(line, trial));
    if (!join_lists(line->spec, trial))
        return error_no_memory(line->err);
    enum status status = codec_read_on(&in, study_document_trial(&in, trial, "", out), &whole);
    if (status != STATUS_OK) {
        *line->err = own;
        return status;
    }
    for (size_t i = 0; i < problems->len; i++) {
        (void)refuse_at(line, &problems->items[i]);
        problems->items[i] = *line->err;
    }
    return whole;
}

static enum status read_table(const struct csv_table *table, struct line *line, struct observations *out)
{
    struct column  *columns = ARENA_NEW(line->arena, struct column, table->columns + 1);
    struct problems problems = {.arena = line->arena};
    size_t          unread = 0;
    out->items = ARENA_NEW(line->arena, struct observation, table->rows + 1);
    if (columns == NULL || out->items == NULL)
        return error_no_memory(line->err);
    TRY(read_header(table, line, columns));
    line->columns = columns;
    line->columns_len = table->columns;
    for (size_t row = 0; row < table->rows; row++) {
        struct observation *item = &out->items[out->len++];
        json_t             *trial = json_object();
        line->number = table->lines[row + 1];
        problems.len = 0;
        enum status status = trial == NULL ? error_no_memory(line->err) : read_cells(line, table, row, trial);
        if (status == STATUS_OK)
            status = read_trial(line, trial, &problems, item);
        json_decref(trial);
        if (status != STATUS_INVALID && status != STATUS_OK)
            return status;
        if (status == STATUS_INVALID && problems.len == 0)
            problems_add(&problems, line->err);
        for (size_t k = 0; k < problems.len; k++)
            problems.items[k].path[0] = '\0'; // the line is known
        if (status == STATUS_INVALID)
            TRY(observation_keep_unread(item, &unread, problems.items, problems.len, line->arena, line->err));
        item->line = line->number;
    }
    return STATUS_OK;
}

enum status import_csv(const struct spec *spec, const char *text, size_t length, struct arena *arena,
                       struct observations *out, struct error *err)
{
    struct line      line = {.spec = spec, .arena = arena, .err = err};
    struct csv_table table = {0};
    *out = (struct observations){0};
    if (spec->is_private)
        return error_set(err, STATUS_INVALID, "private_study", "", "a private study accepts no rows by number");
    if (spec->space.kind == SPACE_IMAGE)
        return error_set(err, STATUS_INVALID, "wrong_space", "", "images are imported as JSON, not as CSV");
    if (length == 0)
        return error_set(err, STATUS_INVALID, "csv_header", "/lines/1", "there is no header");
    if (!codec_is_utf8(text, length))
        return error_set(err, STATUS_INVALID, "csv_unreadable", "", "the text is not UTF-8");
    enum status status = csv_table_parse(text, length, &table, err);
    if (status == STATUS_OK && table.rows > STUDY_DOCUMENT_MAX)
        status = error_set(err, STATUS_TOO_LARGE, "too_many_rows", "", "more than %d lines: send them in parts",
                           STUDY_DOCUMENT_MAX);
    if (status == STATUS_OK)
        status = read_table(&table, &line, out);
    csv_table_free(&table);
    return status;
}

/* ---- export ---- */

/* The text that is written.  For a spreadsheet each cell that it would compute has an apostrophe before it, which spreadsheets
 * take for "this is text". */
struct table {
    FILE *to;
    bool  for_spreadsheet;
};

/* Whether a spreadsheet would compute the cell: it begins as a formula does, in ASCII or in full width, and is no number. */
static bool is_formula(const char *cell)
{
    static const char *const wide[] = {"\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"};
    char                    *end;
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        if (strncmp(cell, wide[i], 3) == 0)
            return true;
    (void)strtod(cell, &end);
    return *cell != '\0' && strchr("=+-@\t\r\n", *cell) != NULL && (end == cell || *end != '\0');
}

static void write_text(const struct table *out, const char *text)
{
    size_t length = text == NULL ? 0 : strlen(text);
    bool   needs_quotes = length > 0 && (strpbrk(text, ",\"\r\n") != NULL || text[0] == ' ' || text[length - 1] == ' ');
    if (needs_quotes)
        fputc('"', out->to);
    if (out->for_spreadsheet && length > 0 && is_formula(text))
        fputc('\'', out->to);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"')
            fputc('"', out->to);
        fputc(text[i], out->to);
    }
    if (needs_quotes)
        fputc('"', out->to);
}

/* The shortest of the precisions that reads back equal; nothing for NaN. */
static void write_number(const struct table *out, double value)
{
    char text[NUMBER_MAX] = "";
    for (int precision = 15; !isnan(value) && precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*g", precision, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, out->to);
}

/* Writes a member of a struct, between these two texts. */
static void write_cell(const struct table *out, const struct member *member, const void *from, const char *before,
                       const char *after)
{
    const void *at = (const char *)from + member->offset;
    fputs(before, out->to);
    if (member->read == codec_read_number)
        write_number(out, *(const double *)at);
    else
        write_text(out, *(const char *const *)at);
    fputs(after, out->to);
}

static void write_time(const struct table *out, int64_t ms)
{
    char text[32] = "";
    if (ms != 0)
        codec_time(ms, text);
    fputs(text, out->to);
}

static void write_header(const struct table *out, const struct spec *spec)
{
    fputs("trial,state,", out->to);
    for (size_t i = 0; i < spec->space.params_len; i++) {
        const char   *name = spec->space.params[i].name;
        char          column[sizeof prefix + 4 * 128];
        struct column known;
        bool          is_plain = !find_known(name, &known) && strncmp(name, prefix, sizeof prefix - 1) != 0 &&
                        strncmp(name, value_prefix, sizeof value_prefix - 1) != 0 &&
                        strncmp(name, stddev_prefix, sizeof stddev_prefix - 1) != 0;
        snprintf(column, sizeof column, "%s%s", is_plain ? "" : prefix, name);
        write_text(out, column);
        fputc(',', out->to);
    }
    if (spec->space.kind == SPACE_CANDIDATES)
        fputs("candidate,", out->to);
    if (spec->space.kind == SPACE_GRAPH)
        fputs("sites,values,", out->to);
    for (size_t k = named_from(spec); k < spec_metrics_all(spec); k++) {
        char column[sizeof stddev_prefix + 4 * 128];
        snprintf(column, sizeof column, "%s%s", value_prefix, spec->metrics[k].name);
        write_text(out, column);
        fputc(',', out->to);
        snprintf(column, sizeof column, "%s%s", stddev_prefix, spec->metrics[k].name);
        write_text(out, column);
        fputc(',', out->to);
    }
    for (const struct member *told = codec_told_members; told->name != NULL; told++)
        if (codec_told_is_number(told) && spec->metrics_len == 1)
            fprintf(out->to, "%s,", told->name);
    fputs("worker,created_at,started_at,finished_at", out->to);
    for (const struct member *told = codec_told_members; told->name != NULL; told++)
        if (!codec_told_is_number(told))
            fprintf(out->to, ",%s", told->name);
    for (const struct member *said = codec_annotation_members; said->name != NULL; said++)
        fprintf(out->to, ",%s", said->name);
    fputs(spec->space.kind == SPACE_PARAMETERS ? ",outside\r\n" : "\r\n", out->to);
}

static void write_place(const struct table *out, const struct spec *spec, const struct trial *trial)
{
    for (size_t i = 0; i < spec->space.params_len; i++) {
        double value = trial->point != NULL ? trial->point[i] : (double)NAN;
        char   cell[CODEC_CELL_MAX];
        cell[0] = '\0';
        if (param_is_number(&spec->space.params[i]))
            write_number(out, value);
        else if (!isnan(value))
            codec_space_cell(spec, i, value, cell);
        write_text(out, cell);
        fputc(',', out->to);
    }
    if (spec->space.kind == SPACE_CANDIDATES)
        fprintf(out->to, "%lld,", (long long)trial->row);
    size_t steps = spec->space.kind == SPACE_GRAPH ? space_point_len(&spec->space) : 0;
    for (size_t i = 0; i < steps && !isnan(trial->point[i]); i++)
        fprintf(out->to, "%s%lld", i > 0 ? " " : "", (long long)spec_site_id(spec, (size_t)trial->point[i]));
    fputs(steps > 0 ? "," : "", out->to);
    bool is_list = steps > 1 && trial->values != NULL && !isnan(trial->values[1]);
    if (out->for_spreadsheet && is_list && trial->values[0] < 0) // no number
        fputc('\'', out->to);
    for (size_t i = 0; i < steps && trial->values != NULL && !isnan(trial->values[i]); i++) {
        fputs(i > 0 ? " " : "", out->to);
        write_number(out, trial->values[i]);
    }
    fputs(steps > 0 ? "," : "", out->to);
}

static void write_trial(const struct table *out, const struct spec *spec, const struct trial *trial)
{
    fprintf(out->to, "%lld,%s,", (long long)trial->number, trial_state_names[trial->state]);
    write_place(out, spec, trial);
    for (size_t i = 2 * named_from(spec); i < 2 * spec_metrics_all(spec); i++) {
        write_number(out, trial->values != NULL ? trial->values[i] : (double)NAN);
        fputc(',', out->to);
    }
    for (const struct member *told = codec_told_members; told->name != NULL; told++)
        if (codec_told_is_number(told) && spec->metrics_len == 1)
            write_cell(out, told, &trial->told, "", ",");
    write_text(out, trial->worker);
    fputc(',', out->to);
    write_time(out, trial->created_ms);
    fputc(',', out->to);
    write_time(out, trial->started_ms);
    fputc(',', out->to);
    write_time(out, trial->finished_ms);
    for (const struct member *told = codec_told_members; told->name != NULL; told++)
        if (!codec_told_is_number(told))
            write_cell(out, told, &trial->told, ",", "");
    for (const struct member *said = codec_annotation_members; said->name != NULL; said++)
        write_cell(out, said, &trial->said, ",", "");
    if (spec->space.kind == SPACE_PARAMETERS)
        fputs(codec_is_outside(spec, trial->point) ? ",context" : ",", out->to);
    fputs("\r\n", out->to);
}

struct export
{
    struct task   task;
    struct trial *trials;
    size_t        len;
};

static enum status read_export(struct db_conn *conn, void *arg, struct error *err)
{
    struct export *work = arg;
    TRY(task_open(conn, &work->task, err));
    return rows_trials(db_query(conn, work->task.caller->arena, err, SQL_TRIAL_LIST,
                                BIND(TEXT(work->task.id), INT(0), TEXT(""), INT(INT64_MAX))),
                       &work->trials, &work->len, err);
}

static char *write_export(const struct export *work, bool for_spreadsheet, size_t *length)
{
    struct written     to;
    const struct table out = {.to = written_open(&to), .for_spreadsheet = for_spreadsheet};
    if (out.to == NULL)
        return NULL;
    write_header(&out, &work->task.study.spec);
    for (size_t i = 0; i < work->len; i++)
        write_trial(&out, &work->task.study.spec, &work->trials[i]);
    char *text = written_close(&to);
    *length = to.length;
    return text;
}

enum status export_csv(struct app *app, struct caller *caller, const struct csv_asked *asked, const char **text,
                       size_t *length, struct error *err)
{
    struct export work = {.task = task_of(app, caller, asked->study)};
    TRY(task_read(&work.task, read_export, err));
    if (work.task.study.spec.space.kind == SPACE_IMAGE)
        return error_set(err, STATUS_INVALID, "wrong_space", "", "images are exported as JSON, not as CSV");
    char *written = write_export(&work, asked->for_spreadsheet, length);
    *text = written == NULL ? NULL : arena_strndup(caller->arena, written, *length);
    free(written);
    return *text != NULL ? STATUS_OK : error_no_memory(err);
}
