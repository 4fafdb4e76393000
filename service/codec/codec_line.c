/* See codec_line.h. */
#include "service/codec/codec_line.h"

#include "service/base/text.h"
#include "service/base/version.h"
#include "service/member/codec.h"
#include "service/member/codec_read.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double integer_max = 9007199254740992.0; /* 2^53 */

/* Blobs of doubles that a person may want to read. */
static bool is_vector(const struct db_column *column)
{
    static const char *const names[] = {"point", "outcome", "asked"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(column->name, names[i]) == 0)
            return true;
    return false;
}

static bool may_be_null(const struct db_column *column)
{
    return isupper((unsigned char)column->letter) != 0;
}

/* ---- writing ---- */

void line_free(struct line *line)
{
    free(line->text);
    *line = (struct line){.text = NULL};
}

/* Room for so many characters and a NUL behind what is there, or NULL. */
static char *reserve(struct line *line, size_t more)
{
    if (line->length + more + 1 > line->room && !line->failed) {
        size_t room = 2 * (line->length + more) + 256;
        char  *grown = realloc(line->text, room);
        line->failed = grown == NULL;
        if (grown != NULL) {
            line->text = grown;
            line->room = room;
        }
    }
    return line->failed ? NULL : line->text + line->length;
}

static void put_bytes(struct line *line, const char *bytes, size_t length)
{
    char *at = reserve(line, length);
    if (at == NULL)
        return;
    memcpy(at, bytes, length);
    at[length] = '\0';
    line->length += length;
}

void line_put(struct line *line, const char *text)
{
    put_bytes(line, text, strlen(text));
}

enum status line_again(struct line *line, struct scratch *out, int64_t *lines, struct error *err)
{
    line->length = 0;
    *lines = 0;
    return scratch_again(out, err);
}

enum status line_end(struct line *line, struct scratch *out, int64_t *lines, struct error *err)
{
    line_put(line, "}\n");
    if (line->failed)
        return error_no_memory(err);
    ++*lines;
    TRY(scratch_write(out, line->text, line->length, err));
    line->length = 0;
    return STATUS_OK;
}

void line_put_text(struct line *line, const char *text)
{
    if (text == NULL) {
        line_put(line, "null");
        return;
    }
    line_put(line, "\"");
    for (const char *c = text; *c != '\0';) {
        size_t plain = 0;
        char   escaped[8];
        while ((unsigned char)c[plain] >= 0x20 && c[plain] != '"' && c[plain] != '\\')
            plain++;
        put_bytes(line, c, plain);
        c += plain;
        if (*c == '\0')
            break;
        snprintf(escaped, sizeof escaped, (unsigned char)*c < 0x20 ? "\\u%04x" : "\\%c", (unsigned)(unsigned char)*c);
        line_put(line, escaped);
        c++;
    }
    line_put(line, "\"");
}

void line_put_number(struct line *line, double value)
{
    char digits[TEXT_REAL_BYTES] = "";
    if (isfinite(value))
        put_bytes(line, digits, text_real(value, digits));
    else
        line_put(line, "null");
}

static void put_vector(struct line *line, const struct db_blob *blob)
{
    line_put(line, "[");
    for (size_t i = 0; i < blob->length / sizeof(double); i++) {
        double value;
        memcpy(&value, (const char *)blob->bytes + i * sizeof value, sizeof value);
        line_put(line, i > 0 ? "," : "");
        line_put_number(line, value);
    }
    line_put(line, "]");
}

static void put_bytes_as_text(struct line *line, const struct db_blob *blob)
{
    char *at = reserve(line, 4 * (blob->length / 3 + 1) + 2);
    if (at == NULL)
        return;
    at[0] = '"';
    text_base64url(blob->bytes, blob->length, at + 1);
    line->length += 1 + strlen(at + 1);
    line_put(line, "\"");
}

static void put_column(struct line *line, const struct db_column *column, const struct db_value *value)
{
    char digits[32];
    switch (value->letter) {
    case 'i':
        snprintf(digits, sizeof digits, "%lld", (long long)value->is.i);
        line_put(line, digits);
        break;
    case 'd':
        line_put_number(line, value->is.d);
        break;
    case 's':
        line_put_text(line, value->is.s);
        break;
    default:
        if (value->is.b.length == 0)
            line_put(line, "null");
        else if (is_vector(column))
            put_vector(line, &value->is.b);
        else
            put_bytes_as_text(line, &value->is.b);
    }
}

void line_put_row(struct line *line, const struct db_column *columns, const void *row)
{
    for (const struct db_column *column = columns; column->name != NULL; column++) {
        const struct db_value value = db_column_value(column, row);
        line_put(line, column == columns ? "{\"" : ",\"");
        line_put(line, column->name);
        line_put(line, "\":");
        put_column(line, column, &value);
    }
    line_put(line, "}");
}

void line_put_count(struct line *line, const char *name, int64_t count)
{
    char text[64];
    snprintf(text, sizeof text, ",\"%s\":%lld", name, (long long)count);
    line_put(line, text);
}

void line_put_header(struct line *line, const char *kind, int64_t now_ms)
{
    char at[32];
    codec_time(now_ms, at);
    line_put(line, "{\"header\":{\"format\":\"" LINE_FORMAT "\",\"kind\":");
    line_put_text(line, kind);
    line_put_count(line, "version", LINE_VERSION);
    line_put(line, ",\"program\":\"" GNOMON_VERSION "\",\"exported_at\":");
    line_put_text(line, at);
}

void line_put_end(struct line *line, const char *sha256, int64_t lines)
{
    line_put(line, "{\"end\":{\"sha256\":");
    line_put_text(line, sha256);
    line_put_count(line, "lines", lines);
    line_put(line, "}");
}

/* ---- reading ---- */

static enum status wrong_type(const struct db_column *column, const char *what, struct error *err)
{
    char path[CODEC_PATH_MAX];
    codec_read_path(path, "", column->name);
    return error_set(err, STATUS_INVALID, "wrong_type", path, "must be %s%s", what,
                     may_be_null(column) ? " or null" : "");
}

static enum status read_vector(const struct db_column *column, const json_t *json, struct arena *arena,
                               struct db_blob *out, struct error *err)
{
    size_t  len = json_array_size(json);
    double *values = ARENA_NEW(arena, double, len + 1);
    if (values == NULL)
        return error_no_memory(err);
    if (!json_is_array(json) || len == 0)
        return wrong_type(column, "an array of numbers", err);
    for (size_t i = 0; i < len; i++) {
        const json_t *item = json_array_get(json, i);
        if (!json_is_number(item) && !json_is_null(item))
            return wrong_type(column, "an array of numbers", err);
        values[i] = json_is_null(item) ? (double)NAN : json_number_value(item);
    }
    *out = (struct db_blob){.bytes = values, .length = len * sizeof *values};
    return STATUS_OK;
}

static enum status read_bytes(const struct db_column *column, const json_t *json, struct arena *arena,
                              struct db_blob *out, struct error *err)
{
    size_t         length = json_string_length(json);
    unsigned char *bytes = arena_alloc(arena, length + 1, 1);
    if (bytes == NULL)
        return error_no_memory(err);
    if (!json_is_string(json) || length == 0 || !text_of_base64url(json_string_value(json), length, bytes))
        return wrong_type(column, "bytes in base64url", err);
    *out = (struct db_blob){.bytes = bytes, .length = length * 3 / 4};
    return STATUS_OK;
}

static enum status read_column(const struct db_column *column, const json_t *json, struct arena *arena,
                               struct db_value *out, struct error *err)
{
    double number;
    if (json_is_null(json))
        return may_be_null(column) ? STATUS_OK : wrong_type(column, "given", err);
    switch (out->letter) {
    case 'i':
        if (!codec_read_is_integral(json, &number) || fabs(number) >= integer_max)
            return wrong_type(column, "an integer", err);
        out->is.i = (int64_t)number;
        return STATUS_OK;
    case 'd':
        if (!json_is_number(json))
            return wrong_type(column, "a number", err);
        out->is.d = json_number_value(json);
        return STATUS_OK;
    case 's':
        if (!json_is_string(json))
            return wrong_type(column, "a string", err);
        out->is.s = arena_strndup(arena, json_string_value(json), json_string_length(json));
        return out->is.s != NULL ? STATUS_OK : error_no_memory(err);
    default:
        return is_vector(column) ? read_vector(column, json, arena, &out->is.b, err)
                                 : read_bytes(column, json, arena, &out->is.b, err);
    }
}

static struct db_value none_of(const struct db_column *column)
{
    struct db_value value = {.letter = (char)tolower((unsigned char)column->letter)};
    if (value.letter == 'd' && may_be_null(column))
        value.is.d = (double)NAN;
    else if (value.letter == 's')
        value.is.s = may_be_null(column) ? NULL : "";
    return value;
}

enum status line_read(const json_t *json, const struct db_column *columns, struct arena *arena, void *row,
                      struct error *err)
{
    size_t known = 0;
    if (!json_is_object(json))
        return error_set(err, STATUS_INVALID, "wrong_type", "", "must be an object");
    for (const struct db_column *column = columns; column->name != NULL; column++) {
        const json_t   *member = json_object_get(json, column->name);
        struct db_value value = none_of(column);
        known += member != NULL;
        if (member != NULL)
            TRY(read_column(column, member, arena, &value, err));
        db_column_set(column, &value, row);
    }
    return known == json_object_size(json) ? STATUS_OK
                                           : error_set(err, STATUS_INVALID, "unknown_member", "",
                                                       "there is a member that this version does not know");
}
