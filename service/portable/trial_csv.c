/* A study's trials as CSV, and back as observations.
 * Columns: trial, state, the parameters (or candidate), value, stddev, worker, created_at, started_at, finished_at, reason,
 * external_id, labels, metadata, notes, artifacts, duration_seconds (JSON, but for notes).  Several metrics have columns
 * "value:NAME" and "stddev:NAME" each instead of value and stddev, and so have those that are only recorded.  A parameter whose name is one of these, or starts with "parameter:", "value:" or "stddev:", is written
 * "parameter:NAME"; that form is always understood.  Import reads rows in every state, and by the number of the trial
 * it knows one again; the columns that only the service can know (times) are not used. */
#include "service/member/codec.h"
#include "service/codec/codec_annotations.h"
#include "service/codec/codec_space.h"
#include "service/codec/codec_trial.h"
#include "service/base/csv.h"
#include "service/base/nearest.h"
#include "service/base/text.h"
#include "service/file/written.h"
#include "service/store/rows.h"
#include "service/portable/trial_csv.h"
#include "service/portable/study_document.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 32, KNOWN_MAX = 32, COMPARED_MAX = 100 };
static const char   prefix[] = "parameter:";
static const double number_max = 9007199254740991.0; /* 2^53 - 1 */

struct line {
    const struct spec   *spec;
    struct arena        *arena;
    struct error        *err;
    size_t               number; /* in the file */
    const char          *column; /* its name, for errors */
    size_t               param;  /* or metric */
    double              *point, *values;
    bool                 is_anywhere; /* the point may lie outside the space */
    const struct member *member;
    struct observation  *out;
};
struct column {
    const char *name;
    enum status (*read)(struct line *line, const char *cell); /* NULL: not used */
    size_t               param;
    const struct member *member;
};

/* ---- reading cells ---- */

/* A reason that begins with a verb is said of the column. */
static enum status refuse(const struct line *line, const char *code, const char *why)
{
    static const char *const verbs[] = {"must ", "is ", "has ", "does "};
    char                     path[32];
    bool                     is_said = false;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        is_said = is_said || strncmp(why, verbs[i], strlen(verbs[i])) == 0;
    snprintf(path, sizeof path, "/lines/%zu", line->number);
    return error_set(line->err, STATUS_INVALID, code, path,
                     is_said ? "line %zu: column %.64s %s" : "line %zu, column %.64s: %s", line->number, line->column,
                     why);
}

/* Refuses a word that is none of those considered. */
static enum status refuse_word(const struct line *line, const char *code, const struct nearest *nearest,
                               const char *noun)
{
    struct error own;
    enum status  status = nearest_refuse(nearest, &own, code, "", noun, "the study lists them");
    return status == STATUS_INVALID ? refuse(line, own.code, own.text) : status;
}

static enum status refuse_range(const struct line *line, double least, double most)
{
    char why[128], from[TEXT_REAL_BYTES], to[TEXT_REAL_BYTES];
    snprintf(why, sizeof why, "must be within [%s, %s]", text_number(least, from), text_number(most, to));
    return refuse(line, "out_of_range", why);
}

static enum status read_number(struct line *line, const char *cell, double *out)
{
    char  *end;
    double value = strtod(cell, &end);
    if (cell[0] == '\0' || *end != '\0' || strspn(cell, "+-.eE0123456789") != strlen(cell) || !isfinite(value))
        return refuse(line, "wrong_type", "must be a number");
    *out = value + 0.0; // -0 becomes 0, as in JSON
    return STATUS_OK;
}

static enum status read_text(struct line *line, const char *cell, size_t bytes_max, const char **out)
{
    if (cell[0] == '\0')
        return STATUS_OK;
    size_t length = strlen(cell);
    if (length > bytes_max)
        return refuse(line, "out_of_range", "is too long");
    *out = arena_strndup(line->arena, cell, length);
    return *out != NULL ? STATUS_OK : error_no_memory(line->err);
}

static enum status read_state(struct line *line, const char *cell)
{
    struct nearest nearest = nearest_to(cell, strlen(cell));
    if (cell[0] == '\0' || outcome_of_state(cell, &line->out->outcome))
        return STATUS_OK;
    for (size_t i = 0; i < TRIAL_STATE_COUNT; i++)
        nearest_consider(&nearest, trial_state_names[i]);
    return refuse_word(line, "unknown_value", &nearest, "state of a trial");
}

static enum status read_trial(struct line *line, const char *cell)
{
    double number;
    if (cell[0] == '\0')
        return STATUS_OK;
    TRY(read_number(line, cell, &number));
    if (number < 1 || number > number_max || floor(number) != number)
        return refuse(line, "out_of_range", "must be the number of a trial, from 1 on");
    line->out->number = (int64_t)number;
    return STATUS_OK;
}

static enum status read_told(struct line *line, const char *cell)
{
    const struct member *member = line->member;
    void                *to = (char *)&line->out->told + member->offset;
    if (!codec_told_is_number(member))
        return read_text(line, cell, (size_t)member->max, to);
    if (cell[0] == '\0')
        return STATUS_OK;
    TRY(read_number(line, cell, to));
    bool is_within = *(double *)to >= member->min && *(double *)to <= member->max;
    return is_within ? STATUS_OK : refuse_range(line, member->min, member->max);
}

static enum status read_said(struct line *line, const char *cell)
{
    struct error own;
    enum status  status = codec_annotations_cell(line->member, cell, line->arena, &line->out->said, &own);
    return status == STATUS_INVALID ? refuse(line, own.code, own.text) : status;
}

static enum status read_worker(struct line *line, const char *cell)
{
    return read_text(line, cell, TRIAL_WORKER_MAX, &line->out->worker);
}

static enum status read_candidate(struct line *line, const char *cell)
{
    double row;
    TRY(read_number(line, cell, &row));
    if (row < 0 || row >= (double)line->spec->space.rows_len || floor(row) != row)
        return refuse_range(line, 0, (double)line->spec->space.rows_len - 1);
    line->out->row = (int64_t)row;
    return STATUS_OK;
}

static enum status read_outside(struct line *line, const char *cell)
{
    line->is_anywhere = strcmp(cell, "context") == 0;
    if (cell[0] != '\0' && !line->is_anywhere)
        return refuse(line, "unknown_value", "must be context, or empty");
    return line->is_anywhere && !line->spec->policy->takes_outside
               ? refuse(line, "not_supported", "the algorithm learns from points of the space only")
               : STATUS_OK;
}

static enum status refuse_value(const struct line *line, const struct param *param, const char *cell)
{
    struct nearest nearest = nearest_to(cell, strlen(cell));
    char           word[CODEC_CELL_MAX], number[TEXT_REAL_BYTES];
    if (param->choices > COMPARED_MAX) // a file has 10,000 lines
        return refuse(line, "unknown_value", "must be a value of the parameter: the study lists them");
    for (size_t c = 0; c < param->choices; c++) {
        if (!param_is_number(param))
            codec_space_cell(line->spec, line->param, (double)c, word);
        nearest_consider(&nearest, param_is_number(param) ? text_number(param->values[c], number) : word);
    }
    return refuse_word(line, "unknown_value", &nearest, "value of the parameter");
}

/* An empty cell is no value, which check_point judges when the whole line is known. */
static enum status read_parameter(struct line *line, const char *cell)
{
    const struct param *param = &line->spec->space.params[line->param];
    double             *out = &line->point[line->param];
    if (cell[0] == '\0' && param->when_len > 0)
        return STATUS_OK;
    if (!param_is_number(param))
        return codec_space_read_cell(line->spec, line->param, cell, out) ? STATUS_OK : refuse_value(line, param, cell);
    TRY(read_number(line, cell, out));
    if (param->kind == PARAM_INT && floor(*out) != *out)
        return refuse(line, "wrong_type", "must be an integer");
    return STATUS_OK;
}

/* Checks a number as far as is known before the whole line is read. */
static enum status check_number(struct line *line, const struct param *param, double value)
{
    if (line->is_anywhere)
        return param_reaches(param, value) ? STATUS_OK : refuse(line, "out_of_range", "is too far from the scale");
    if (value < param->min || value > param->max)
        return refuse_range(line, param->min, param->max);
    if (param_has(param, value))
        return STATUS_OK;
    char number[TEXT_REAL_BYTES];
    return param->values != NULL ? refuse_value(line, param, text_number(value, number))
                                 : refuse(line, "unknown_value", "must be a whole number of steps above min");
}

static enum status check_point(struct line *line)
{
    const struct space *space = &line->spec->space;
    for (size_t i = 0; i < space->params_len; i++) {
        bool is_active = space_is_active(space, line->point, i);
        line->column = space->params[i].name;
        if (is_active && isnan(line->point[i]))
            return refuse(line, "missing_member", "is required with these values of other parameters");
        if (!is_active && !isnan(line->point[i]))
            return refuse(line, "inactive_parameter", "does not exist with these values of other parameters");
        if (is_active && param_is_number(&space->params[i]))
            TRY(check_number(line, &space->params[i], line->point[i]));
    }
    line->column = "outside";
    if (line->out->outcome == OUTCOME_QUEUED && line->is_anywhere && codec_is_outside(line->spec, line->point))
        return refuse(line, "bad_combination", "nothing outside the space waits to be tried");
    line->column = "parameters";
    if (!line->is_anywhere && space_broken(space, line->point, CODEC_ROUNDING_SLACK) != NULL)
        return refuse(line, "constraint_violated", "they break a constraint of the space");
    if (!line->is_anywhere && space_forbids(space, line->point))
        return refuse(line, "constraint_violated", "they have values that may not occur together");
    return STATUS_OK;
}

static enum status read_metric_value(struct line *line, const char *cell)
{
    return cell[0] == '\0' ? STATUS_OK : read_number(line, cell, &line->values[2 * line->param]);
}

static enum status read_metric_stddev(struct line *line, const char *cell)
{
    double *out = &line->values[2 * line->param + 1];
    if (cell[0] == '\0')
        return STATUS_OK;
    TRY(read_number(line, cell, out));
    return *out >= 0 ? STATUS_OK : refuse(line, "out_of_range", "must not be negative");
}

/* ---- reading the header ---- */

static const struct column known_columns[] = {
    {.name = "trial", .read = read_trial},
    {.name = "state", .read = read_state},
    {.name = "candidate", .read = read_candidate},
    {.name = "worker", .read = read_worker},
    {.name = "outside", .read = read_outside},
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
                        *said = codec_member(codec_annotation_members, name);
    if (told != NULL)
        *column = (struct column){.name = told->name, .read = read_told, .member = told};
    else if (said != NULL)
        *column = (struct column){.name = said->name, .read = read_said, .member = said};
    return told != NULL || said != NULL;
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
            *column =
                (struct column){.name = name, .read = is_value ? read_metric_value : read_metric_stddev, .param = k};
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
    for (size_t i = 0; i < spec->space.params_len; i++)
        nearest_consider(&nearest, spec->space.params[i].name);
    for (size_t k = 0; k < sizeof known_columns / sizeof *known_columns; k++)
        nearest_consider(&nearest, known_columns[k].name);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct member *member = tables[t]; member->name != NULL; member++)
            nearest_consider(&nearest, member->name);
    return refuse_word(line, "unknown_column", &nearest, "column");
}

/* A parameter twice (plainly and with the prefix) is as wrong as one that is missing: the count tells both. */
static enum status read_header(const struct csv_table *table, struct line *line, struct column *columns)
{
    size_t params = 0;
    size_t values = 0, metrics = line->spec->metrics_len;
    bool   has_candidate = false;
    line->number = 1;
    line->column = "sites";
    if (line->spec->space.kind == SPACE_GRAPH)
        return refuse(line, "not_supported", "the trials of a graph are imported as JSON");
    for (size_t i = 0; i < table->columns; i++) {
        const char *name = line->column = csv_table_name(table, i);
        if (find_metric(line->spec, name, &columns[i])) {
            values += columns[i].read == read_metric_value && columns[i].param < metrics;
            continue;
        }
        columns[i] = (struct column){.name = name, .read = read_parameter};
        bool is_known = find_known(name, &columns[i]);
        if (metrics > 1 && columns[i].read == read_told && codec_told_is_number(columns[i].member))
            return refuse(line, "unknown_column", "a study of several metrics has a column value:NAME for each");
        if (!is_known && !find_param(line->spec, name, &columns[i].param))
            return refuse_column(line, name);
        params += !is_known;
        values += strcmp(name, "value") == 0;
        has_candidate |= columns[i].read == read_candidate;
    }
    line->column = "value";
    if (values != metrics)
        return refuse(line, "missing_column",
                      line->spec->metrics_len > 1 ? "is required: value:NAME, for each metric that is modelled"
                                                  : "is required");
    line->column = "candidate";
    bool is_rows = line->spec->space.kind == SPACE_CANDIDATES;
    if (has_candidate != is_rows)
        return refuse(line, is_rows ? "missing_column" : "unknown_column",
                      is_rows ? "is required of a study of candidates"
                              : "must be left out: the study has no candidates");
    line->column = "parameters";
    if (params != line->spec->space.params_len)
        return refuse(line, "missing_column", "each parameter needs exactly one column, by its name");
    return STATUS_OK;
}

/* ---- import ---- */

/* Checks the recorded metrics, and whether any is given. */
static enum status check_recorded(struct line *line, bool *is_recorded)
{
    const struct spec *spec = line->spec;
    for (size_t k = spec->metrics_len; k < spec_metrics_all(spec); k++) {
        line->column = spec->metrics[k].name;
        *is_recorded = *is_recorded || !isnan(line->values[2 * k]);
        if (isnan(line->values[2 * k]) && !isnan(line->values[2 * k + 1]))
            return refuse(line, "bad_combination", "a stddev goes with a value");
    }
    return STATUS_OK;
}

static enum status check_result(struct line *line)
{
    struct observation *out = line->out;
    const struct spec  *spec = line->spec;
    double             *values = line->values;
    bool                has_all = true, has_any = false, is_recorded = false;
    if (values != NULL && named_from(spec) == 1) {
        values[0] = out->value;
        values[1] = out->stddev;
    }
    for (size_t i = 0; values != NULL && i < 2 * spec->metrics_len; i++) {
        has_all = has_all && (i % 2 == 1 || !isnan(values[i]));
        has_any = has_any || !isnan(values[i]);
    }
    if (values != NULL)
        TRY(check_recorded(line, &is_recorded));
    line->column = "value";
    if (out->outcome == OUTCOME_STOPPED) { // its value is the last one of a curve, which a table does not have
        out->value = out->stddev = NAN;
        return STATUS_OK;
    }
    if (values != NULL && (out->outcome == OUTCOME_VALUE ? !has_all : has_any))
        return refuse(line, "bad_combination", "a completed trial has all values, another one none");
    if (values != NULL) {
        out->values = is_recorded || (has_any && spec->metrics_len > 1) ? values : NULL;
        out->value = values[2 * spec->first];
        out->stddev = values[2 * spec->first + 1];
    }
    if (out->outcome == OUTCOME_VALUE && isnan(out->value))
        return refuse(line, "missing_member", "a completed trial needs a value");
    if (out->outcome != OUTCOME_VALUE && (!isnan(out->value) || !isnan(out->stddev)))
        return refuse(line, "bad_combination", "only a completed trial has a value");
    return STATUS_OK;
}

static enum status read_line(const struct csv_table *table, size_t row, const struct column *columns, struct line *line)
{
    line->number = table->lines[row + 1];
    *line->out = observation_none();
    line->out->line = line->number;
    line->point = NULL;
    line->is_anywhere = false;
    if (line->spec->space.kind == SPACE_PARAMETERS) {
        line->out->point = line->point = ARENA_NEW(line->arena, double, line->spec->space.params_len);
        if (line->point == NULL)
            return error_no_memory(line->err);
        for (size_t i = 0; i < line->spec->space.params_len; i++)
            line->point[i] = NAN;
    }
    line->values = NULL;
    if (spec_metrics_all(line->spec) > 1) {
        line->values = ARENA_NEW(line->arena, double, spec_values_len(line->spec));
        if (line->values == NULL)
            return error_no_memory(line->err);
        for (size_t i = 0; i < spec_values_len(line->spec); i++)
            line->values[i] = NAN;
    }
    for (size_t i = 0; i < table->columns; i++) {
        line->column = columns[i].name;
        line->param = columns[i].param;
        line->member = columns[i].member;
        if (columns[i].read != NULL)
            TRY(columns[i].read(line, csv_table_cell(table, row, i)));
    }
    if (line->point != NULL)
        TRY(check_point(line));
    return check_result(line);
}

static enum status read_table(const struct csv_table *table, struct line *line, struct observations *out)
{
    struct column *columns = ARENA_NEW(line->arena, struct column, table->columns + 1);
    size_t         unread = 0;
    out->items = ARENA_NEW(line->arena, struct observation, table->rows + 1);
    if (columns == NULL || out->items == NULL)
        return error_no_memory(line->err);
    TRY(read_header(table, line, columns));
    for (size_t row = 0; row < table->rows; row++) {
        struct observation *item = line->out = &out->items[out->len++];
        enum status         status = read_line(table, row, columns, line);
        if (status != STATUS_INVALID && status != STATUS_OK)
            return status;
        if (status == STATUS_OK)
            continue;
        struct error why = *line->err;
        why.path[0] = '\0'; // the line is known
        TRY(observation_keep_unread(item, &unread, &why, 1, line->arena, line->err));
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
