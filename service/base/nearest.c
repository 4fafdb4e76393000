#include "service/base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct nearest nearest_to(const char *wanted, size_t length)
{
    struct nearest nearest = {.wanted = wanted, .length = length, .edits = 2 + length / 4};
    return nearest;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The distance of two words: a row of the table of distances between their beginnings is replaced in place. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[NEAREST_CHARACTERS + 1];
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            bool   is_same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            size_t replaced = diagonal + !is_same;
            diagonal = row[j];
            row[j] = smaller(replaced, 1 + smaller(row[j], row[j - 1]));
        }
    }
    return row[b_length];
}

void nearest_consider(struct nearest *nearest, const char *word)
{
    size_t length = strlen(word), shorter = smaller(length, nearest->length);
    if (shorter == 0 || length > NEAREST_CHARACTERS || nearest->length > NEAREST_CHARACTERS)
        return;
    bool   is_beginning = shorter >= 3 && strncasecmp(word, nearest->wanted, shorter) == 0;
    size_t edits = edit_distance(nearest->wanted, nearest->length, word, length);
    edits = is_beginning ? smaller(edits, 1) : edits;
    if (edits >= nearest->edits || (edits >= shorter && edits > 0))
        return;
    nearest->edits = edits;
    (void)snprintf(nearest->hint, sizeof nearest->hint, "; did you mean %s?", word);
}
