/* See sparkline.h. */
#include "service/store/sparkline.h"

#include "service/member/codec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct line {
    size_t  len;
    int64_t trials[SPARKLINE_POINTS + 1];
    double  values[SPARKLINE_POINTS + 1];
};

static double gain(const struct line *line, size_t i)
{
    return fabs(line->values[i] - line->values[i - 1]);
}

/* A trial that is better than all before it, those with a higher number included. */
static void append(struct line *line, int64_t trial, double value)
{
    while (line->len > 0 && line->trials[line->len - 1] >= trial)
        line->len--;
    line->trials[line->len] = trial;
    line->values[line->len++] = value;
    if (line->len <= SPARKLINE_POINTS)
        return;
    size_t least = 1;
    for (size_t i = 2; i + 1 < line->len; i++)
        if (gain(line, i) < gain(line, least))
            least = i;
    line->len--;
    memmove(line->trials + least, line->trials + least + 1, (line->len - least) * sizeof line->trials[0]);
    memmove(line->values + least, line->values + least + 1, (line->len - least) * sizeof line->values[0]);
}

/* Parses a stored sparkline.  INTERNAL: the text is none. */
static enum status parse(const char *text, struct line *out, struct error *err)
{
    json_t       *json = codec_load(text, 0);
    const json_t *trials = json_object_get(json, "trial"), *values = json_object_get(json, "value");
    size_t        len = json_array_size(trials);
    bool          is_line = len > 0 && len <= SPARKLINE_POINTS && json_array_size(values) == len;
    out->len = is_line ? len : 0;
    for (size_t i = 0; i < out->len; i++) {
        out->trials[i] = json_integer_value(json_array_get(trials, i));
        out->values[i] = json_number_value(json_array_get(values, i));
    }
    json_decref(json);
    return is_line ? STATUS_OK
                   : error_set(err, STATUS_INTERNAL, "store_corrupt", "", "a stored sparkline cannot be read");
}

static enum status put(struct db_conn *conn, const char *study, const struct line *line, struct error *err)
{
    json_t *trials = json_array(), *values = json_array();
    for (size_t i = 0; i < line->len; i++) {
        codec_append(&trials, json_integer(line->trials[i]));
        codec_append(&values, codec_number(line->values[i]));
    }
    json_t     *json = json_pack("{s:o, s:o}", "trial", trials, "value", values);
    char       *text = codec_dump(json, JSON_COMPACT);
    enum status status = text == NULL ? error_no_memory(err)
                                      : db_exec(conn, NULL, err, SQL_SPARKLINE_PUT, BIND(TEXT(study), TEXT(text)));
    free(text);
    json_decref(json);
    return status;
}

enum status sparkline_get(struct db_conn *conn, const char *study, struct arena *arena, const char **out,
                          struct error *err)
{
    struct db_rows rows;
    TRY(db_find(conn, arena, &rows, err, SQL_SPARKLINE, BIND(TEXT(study))));
    *out = row_sparkline(&rows) == NULL ? NULL : row_sparkline(&rows)->points;
    return STATUS_OK;
}

enum status sparkline_add(struct db_conn *conn, const struct task *task, struct error *err)
{
    struct line line = {0};
    const char *text;
    TRY(sparkline_get(conn, task->id, task->caller->arena, &text, err));
    if (text != NULL)
        TRY(parse(text, &line, err));
    append(&line, task->study.best_trial, task->study.best_value);
    return put(conn, task->id, &line, err);
}

enum status sparkline_redo(struct db_conn *conn, const char *study, const struct spec_order *order, struct error *err)
{
    struct line    line = {0};
    double         best = -INFINITY;
    struct db_rows rows = db_query(conn, NULL, err, SQL_TRIALS_AS_ENDED, BIND(TEXT(study)));
    while (db_next(&rows)) {
        const struct row_best *row = row_best(&rows);
        if (spec_order_worth(order, row->value) <= best)
            continue;
        best = spec_order_worth(order, row->value);
        append(&line, row->number, row->value);
    }
    TRY(db_done(&rows));
    if (line.len == 0)
        return db_exec(conn, NULL, err, SQL_SPARKLINE_DELETE, BIND(TEXT(study)));
    return put(conn, study, &line, err);
}
