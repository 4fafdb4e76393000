/* A suggestion for a word that is not known: of the words that are, the one that was probably meant. */
#ifndef GNOMON_SERVICE_BASE_NEAREST_H
#define GNOMON_SERVICE_BASE_NEAREST_H

#include <stddef.h>

enum { NEAREST_CHARACTERS = 64 };

struct nearest {
    const char *wanted; /* the unknown word */
    size_t      length, edits;
    char        hint[NEAREST_CHARACTERS + 24]; /* "; did you mean WORD?", or "" */
};

/* A search for the word nearest to the first length bytes of wanted, which must outlive it. */
struct nearest nearest_to(const char *wanted, size_t length);
/* Considers a known word.  A word is near if at most 1 + length / 4 letters have to be added, removed or replaced (Levenshtein
 * 1966), without regard to case, or if either is the beginning of the other and has three letters.  Of words that are equally
 * near, the first is suggested.  Cost: the product of the lengths, of words of at most NEAREST_CHARACTERS bytes. */
void nearest_consider(struct nearest *nearest, const char *word);

#endif
