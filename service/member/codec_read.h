/* Reading a JSON object by a table of its members.
 * The table says name, reader, where the value goes and its range; unknown members are refused, a missing required
 * one too, each with its JSON Pointer. */
#ifndef GNOMON_SERVICE_CODEC_CODEC_READ_H
#define GNOMON_SERVICE_CODEC_CODEC_READ_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "service/model/spec.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { CODEC_PATH_MAX = sizeof((struct error *)0)->path };

enum { PROBLEMS_MAX = 100 };
struct problems {
    struct arena *arena;
    struct error *items; /* [PROBLEMS_MAX] once there is a problem */
    size_t        len;
};
/* Keeps a copy of the problem while there is room. */
void problems_add(struct problems *problems, const struct error *problem);
/* OK without problems; otherwise err is the first of them, and its status is returned. */
MUST_CHECK enum status problems_first(const struct problems *problems, struct error *err);

struct reading {
    const struct spec *spec;  /* of the study, where the meaning depends on it; or NULL */
    struct arena      *arena; /* to which texts are copied; NULL: they are borrowed from the JSON */
    struct error      *err;
    struct problems   *problems; /* gets what is INVALID, and reading goes on; NULL: the first one ends it */
};
/* Where several things are read: keeps what is INVALID among the problems, if there are any to be kept, so that the next thing
 * is read, too.  *whole becomes INVALID: the reader returns it in the end, and uses nothing of what was read. */
MUST_CHECK enum status codec_read_on(struct reading *in, enum status status, enum status *whole);

struct writing; /* codec_write.h: how the members are written */
struct member {
    const char *name; /* NULL ends the table */
    bool        required;
    bool        nullable;   /* null leaves what is there, but of a number: NaN; in a reply: there may be none */
    bool        optional;   /* in a reply: left out when there is none */
    const char *refused;    /* why the member is refused whenever it is given; then no other rule of it counts */
    bool        is_pointer; /* written of a struct that is pointed to */
    bool        is_many;    /* in a query: may come more than once, and is read as an array */
    bool        is_edit;    /* when it is absent it stays as it is, though it is required or has a default */
    enum status (*read)(struct reading *in, const struct member *member, const json_t *json, const char *where,
                        void *out);
    json_t *(*write)(const struct writing *out, const struct member *member); /* NULL: as it is read */
    size_t               offset;   /* of what the reader fills, in the object's struct */
    double               min, max; /* inclusive: of a number, or of a string's length in characters */
    double               fallback; /* of a number, an integer or a bool that is absent; 0: it stays as it is */
    const char          *text;     /* of a text, a name or labels that are absent; NULL: they stay as they are */
    const char *const   *names;    /* of a choice, ended by NULL */
    const struct member *members;  /* of an object inside */
};

#define AT(type, member) .name = #member, .offset = offsetof(struct type, member)
/* As AT under another name. */
#define AS(type, member, shown) .name = shown, .offset = offsetof(struct type, member)

/* The member of this name, or NULL; and a new object of those that json has, NULL when out of memory. */
const struct member *codec_member(const struct member *members, const char *name);
json_t              *codec_pick(const struct member *members, const json_t *json);

/* Reads in the order of the table.  A member whose name is "" stands for those of its own table, which are read later:
 * here they are only known, and there if they are required.  What an absent member fills stays as it was. */
MUST_CHECK enum status codec_read_object(struct reading *in, const struct member *members, const json_t *json,
                                         const char *where, void *out);
/* Refuses members that the table has not, or refuses. */
MUST_CHECK enum status codec_read_only(struct reading *in, const struct member *members, const json_t *json,
                                       const char *where);
/* Gives what is absent in json its default. */
void codec_read_absent(const struct member *members, const json_t *json, void *out);
/* Readers: out is const char **, double *, int64_t *, int * (the place in the names), const char ** (the name), bool *,
 * const json_t ** (kept for later, borrowed), and the struct itself: an object whose members are members of it. */
MUST_CHECK enum status codec_read_text(struct reading *in, const struct member *member, const json_t *json,
                                       const char *where, void *out);
/* A text of more than max characters loses its middle, and shows that: who reports why a run failed must not be refused for it. */
MUST_CHECK enum status codec_read_reason(struct reading *in, const struct member *member, const json_t *json,
                                         const char *where, void *out);
MUST_CHECK enum status codec_read_number(struct reading *in, const struct member *member, const json_t *json,
                                         const char *where, void *out);
MUST_CHECK enum status codec_read_integer(struct reading *in, const struct member *member, const json_t *json,
                                          const char *where, void *out);
MUST_CHECK enum status codec_read_choice(struct reading *in, const struct member *member, const json_t *json,
                                         const char *where, void *out);
MUST_CHECK enum status codec_read_name(struct reading *in, const struct member *member, const json_t *json,
                                       const char *where, void *out);
/* An array of names: int64_t, a set of bits by their places. */
MUST_CHECK enum status codec_read_set(struct reading *in, const struct member *member, const json_t *json,
                                      const char *where, void *out);
/* RFC 3339, in UTC and so with a Z at its end: int64_t, milliseconds. */
MUST_CHECK enum status codec_read_time(struct reading *in, const struct member *member, const json_t *json,
                                       const char *where, void *out);
MUST_CHECK enum status codec_read_bool(struct reading *in, const struct member *member, const json_t *json,
                                       const char *where, void *out);
MUST_CHECK enum status codec_read_kept(struct reading *in, const struct member *member, const json_t *json,
                                       const char *where, void *out);

/* Leaves alone what is read elsewhere, as all of a member so named. */
#define CODEC_KNOWN(text)                        \
    {                                            \
        .name = (text), .read = codec_read_known \
    }
MUST_CHECK enum status codec_read_known(struct reading *in, const struct member *member, const json_t *json,
                                        const char *where, void *out);
MUST_CHECK enum status codec_read_inside(struct reading *in, const struct member *member, const json_t *json,
                                         const char *where, void *out);

/* Checks that it is an array of so many items. */
MUST_CHECK enum status codec_read_list(const struct reading *in, const json_t *json, const char *where, size_t least,
                                       size_t most);

/* The place in the names of the word that a member of an object holds: it decides which table to read the object by. */
MUST_CHECK enum status codec_read_word(struct reading *in, const json_t *json, const char *where, const char *name,
                                       const char *const *names, int *word);
#define codec_read_type(in, json, where, names, type) codec_read_word(in, json, where, "type", names, type)

/* A finite number, or an integral one within +-2^53 (3 and 3.0; never a boolean); false otherwise.  -0 becomes 0. */
bool codec_read_is_finite(const json_t *json, double *value);
bool codec_read_is_integral(const json_t *json, double *value);

/* where + "/" + name, escaped as a JSON Pointer and cut at a character when it is too long. */
void codec_read_path(char out[CODEC_PATH_MAX], const char *where, const char *name);
void codec_read_path_item(char out[CODEC_PATH_MAX], const char *where, size_t item);

size_t codec_read_characters(const char *text); /* of valid UTF-8 */

#endif
