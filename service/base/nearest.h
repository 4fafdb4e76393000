/* A suggestion for a word that is not known: of the words that are, the one that was probably meant. */
#ifndef GNOMON_SERVICE_BASE_NEAREST_H
#define GNOMON_SERVICE_BASE_NEAREST_H

#include "engine/base/status.h"

#include <stddef.h>

enum { NEAREST_CHARACTERS = 64, NEAREST_LISTED = 12 };

struct nearest {
    const char *wanted; /* the unknown word */
    size_t      length, edits;
    char        hint[NEAREST_CHARACTERS + 24]; /* "; did you mean WORD?", or "" */
    char        list[200];                     /* the words, with commas; "" when they are too long, or not there */
    size_t      known;                         /* how many words were considered */
};

/* A search for the word nearest to the first length bytes of wanted, which must outlive it. */
struct nearest nearest_to(const char *wanted, size_t length);
/* Considers a known word.  A word is near if at most 1 + length / 4 letters have to be added, removed or replaced (Levenshtein
 * 1966), without regard to case, or if either is the beginning of the other and has three letters.  Of words that are equally
 * near, the first is suggested.  Cost: the product of the lengths, of words of at most NEAREST_CHARACTERS bytes. */
void nearest_consider(struct nearest *nearest, const char *word);
/* INVALID at path: the wanted word is none of the known ones.  The text says which these are, up to NEAREST_LISTED, and of more
 * where (such as "openapi.yaml has all"), then which was probably meant.  noun: what all of them are, in the singular.  Every
 * refusal of a word of a list is made here: a check of the sources looks for others. */
MUST_CHECK enum status nearest_refuse(const struct nearest *nearest, struct error *err, const char *code,
                                      const char *path, const char *noun, const char *where);

#endif
