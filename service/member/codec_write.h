/* Writing a JSON object by a table of its members: the same tables as codec_read.h has.
 * A member is written as what its reader reads; one that may be none (nullable) is null for 0, NaN, NULL, and an object for
 * a 0 that it begins with.  One whose name is "" stands for the members of the struct at its place, which are written
 * here. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_WRITE_H
#define GNOMON_SERVICE_CODEC_CODEC_WRITE_H

#include "service/member/codec.h"
#include "service/member/codec_read.h"

struct writing {
    const void        *from;      /* the struct */
    const char *const *without;   /* members that are not shown here, ended by NULL; or NULL */
    int64_t            shift_ms;  /* of steady_shift_ms, for what is on the steady clock */
    size_t             viewer;    /* of a game: see struct game_row */
    bool               for_store; /* the JSON is stored: without secrets */
};

/* A new reference; NULL when out of memory. */
json_t *codec_write(const struct member *members, const struct writing *out);
/* Adds the members to an object, which becomes NULL when out of memory. */
void codec_write_into(json_t **object, const struct member *members, const struct writing *out);
/* Writes a list of structs of so many bytes each, from out->from on. */
json_t *codec_write_list(const struct member *members, const struct writing *out, size_t len, size_t bytes);

bool codec_is_without(const char *const *without, const struct member *member);

/* The place of a member in the struct that is written. */
static inline const void *codec_at(const struct writing *out, const struct member *member)
{
    return (const char *)out->from + member->offset;
}

/* An entry of a table, of a line of a list of members (db/members.h).  In a file: with the struct, and where in it the
 * members lie if that is deeper,
 *     #define SHOWN(...) CODEC_MEMBER(token, , __VA_ARGS__)
 * and in a table TOKEN_KEPT(SHOWN). */
#define CODEC_MEMBER(type, in, column, letter, kind, shown, ...) \
    {AS(type, in column, #shown), CODEC_##kind, __VA_ARGS__},
/* An entry of a table by which something is edited: an absent member stays. */
#define CODEC_EDIT(type, in, column, letter, kind, shown, ...) \
    {AS(type, in column, #shown), CODEC_EDIT_##kind, .is_edit = true, __VA_ARGS__},
#define CODEC_TEXT        .read = codec_read_text
#define CODEC_CHOICE      .read = codec_read_name
#define CODEC_INTEGER     .read = codec_read_integer
#define CODEC_NUMBER      .read = codec_read_number, .fallback = (double)NAN
#define CODEC_LABELS      .read = codec_read_labels, .write = codec_write_json
#define CODEC_EDIT_TEXT   CODEC_TEXT
#define CODEC_EDIT_CHOICE CODEC_CHOICE
#define CODEC_EDIT_NUMBER CODEC_NUMBER
#define CODEC_EDIT_LABELS .read = codec_edit_labels
#define CODEC_TIME        .write = codec_write_time
#define CODEC_STEADY      .write = codec_write_steady

/* Writers of what no reader tells: int64_t milliseconds on the wall clock and on the steady one (0: null), an array of
 * characters, one that is a secret, a number with a reader of its own, a text that is JSON, and the only one of its names. */
json_t *codec_write_time(const struct writing *out, const struct member *member);
json_t *codec_write_steady(const struct writing *out, const struct member *member);
json_t *codec_write_characters(const struct writing *out, const struct member *member);
json_t *codec_write_secret(const struct writing *out, const struct member *member);
json_t *codec_write_number(const struct writing *out, const struct member *member);
json_t *codec_write_json(const struct writing *out, const struct member *member);
json_t *codec_write_word(const struct writing *out, const struct member *member);

#endif
