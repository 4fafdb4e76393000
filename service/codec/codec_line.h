/* A row of the store as a line of an export, and back.  A line is a JSON object of one member, whose name says what the
 * line is about: {"trial":{"number":1,"state":"completed",...}}.  The members of that are the row's columns, by name and
 * in their order; blobs of doubles are arrays of numbers (null: NaN), other blobs base64url, what is NULL null.  Numbers
 * read back bit by bit. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_LINE_H
#define GNOMON_SERVICE_CODEC_CODEC_LINE_H

#include "service/file/scratch.h"
#include "db/db.h"
#include "engine/base/arena.h"

#include <jansson.h>

/* Text that grows; all zero to begin with. */
struct line {
    char  *text;
    size_t length, room;
    bool   failed; /* out of memory */
};
void line_free(struct line *line);
void line_put(struct line *line, const char *text);
void line_put_text(struct line *line, const char *text); /* as JSON: in quotes, or null for NULL */
void line_put_number(struct line *line, double value);
void line_put_row(struct line *line, const struct db_column *columns, const void *row); /* the inner object */
/* Nothing of the file was written: all begins again. */
MUST_CHECK enum status line_again(struct line *line, struct scratch *out, int64_t *lines, struct error *err);
/* Closes the outer object, writes the line, counts it, and begins the next. */
MUST_CHECK enum status line_end(struct line *line, struct scratch *out, int64_t *lines, struct error *err);

/* The version of the format that is written, and read: a later one is refused, of an earlier one what it has not is none.
 * A new column of the store is no new version; another meaning is. */
enum { LINE_VERSION = 1 };
#define LINE_FORMAT "gnomon"
/* The beginning of every header (which stays open), and an end, but for the brace that closes either line. */
void line_put_header(struct line *line, const char *kind, int64_t now_ms);
void line_put_end(struct line *line, const char *sha256, int64_t lines);
void line_put_count(struct line *line, const char *name, int64_t count); /* ,"name":count */

/* The inner object into a row, whose texts and blobs are in the arena; a column that the line has not
 * is 0, NaN, NULL, or an empty text.  INVALID with a pointer: "wrong_type", "unknown_member". */
MUST_CHECK enum status line_read(const json_t *json, const struct db_column *columns, struct arena *arena, void *row,
                                 struct error *err);

#endif
