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

static void list(struct nearest *nearest, const char *word)
{
    size_t used = strlen(nearest->list), needed = strlen(word) + (used > 0 ? 2 : 0);
    bool   is_whole = nearest->known == 0 || used > 0;
    if (!is_whole || nearest->known == NEAREST_LISTED || used + needed >= sizeof nearest->list)
        nearest->list[0] = '\0';
    else
        (void)snprintf(nearest->list + used, sizeof nearest->list - used, "%s%s", used > 0 ? ", " : "", word);
    nearest->known++;
}

void nearest_consider(struct nearest *nearest, const char *word)
{
    size_t length = strlen(word), shorter = smaller(length, nearest->length);
    list(nearest, word);
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

/* The length of what is shown of the wanted word: it ends with a whole character. */
static int shown(const struct nearest *nearest)
{
    size_t length = smaller(nearest->length, NEAREST_CHARACTERS);
    while (length < nearest->length && length > 0 && ((unsigned char)nearest->wanted[length] & 0xc0) == 0x80)
        length--;
    return (int)length;
}

enum status nearest_refuse(const struct nearest *nearest, struct error *err, const char *code, const char *path,
                           const char *noun, const char *where)
{
    bool        is_listed = nearest->list[0] != '\0';
    const char *words = is_listed ? nearest->list : nearest->known == 0 ? "there is none" : where;
    return error_set(err, STATUS_INVALID, code, path, "\"%.*s\" is no %s here: %s%s%s", shown(nearest), nearest->wanted,
                     noun, is_listed ? "it must be one of " : "", words, nearest->hint);
}
