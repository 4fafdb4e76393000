/* See plain.h. */
#include "service/client/plain.h"

#include <stdbool.h>
#include <stddef.h>

/* U+202A to U+202E, U+2066 to U+2069: what follows is shown in another order than it has. */
static bool turns_around(const unsigned char *text)
{
    return text[0] == 0xe2 && ((text[1] == 0x80 && text[2] >= 0xaa && text[2] <= 0xae) ||
                               (text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9));
}

/* Bytes of the character at text that may be printed; 0: the first byte may not. */
static size_t printable(const unsigned char *text)
{
    if (text[0] < 0x80)
        return text[0] >= 0x20 && text[0] != 0x7f;
    size_t length = text[0] >= 0xf0 && text[0] < 0xf5 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc2 ? 2 : 0;
    if (text[0] >= 0xf5 || (text[0] == 0xc2 && text[1] < 0xa0)) // U+0080 to U+009F are controls too
        return 0;
    if ((text[0] == 0xed && text[1] >= 0xa0) || turns_around(text)) // half of a pair of UTF-16
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

void plain_print(FILE *stream, const char *text)
{
    while (*text != '\0') {
        size_t length = printable((const unsigned char *)text);
        if (length == 0)
            fprintf(stream, "\\x%02x", (unsigned)(unsigned char)*text);
        else
            fwrite(text, 1, length, stream);
        text += length == 0 ? 1 : length;
    }
}
