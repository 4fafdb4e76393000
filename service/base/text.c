/* See text.h. */
#include "service/base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *text_format(struct arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int   length = vsnprintf(NULL, 0, format, args);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1, 1);
    if (text != NULL)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

/* In steps of at most half the last digit, of which ten are enough.  What sums are enlarged by for their rounding (2^-40)
 * is no reason to print another digit. */
static const char *round_to(double value, int sign, char out[TEXT_NUMBER_BYTES])
{
    snprintf(out, TEXT_NUMBER_BYTES, "%.6g", value);
    for (int step = 1; step <= 20 && sign * strtod(out, NULL) < sign * value * (1 - sign * 0x1p-39); step++)
        snprintf(out, TEXT_NUMBER_BYTES, "%.6g", value + sign * step * 5e-7 * fabs(value));
    return out;
}

const char *text_or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

const char *text_names(const char *const *names, int64_t set, char out[TEXT_NAMES_BYTES])
{
    size_t length = 0;
    out[0] = '\0';
    for (size_t i = 0; names[i] != NULL; i++)
        if (set >> i & 1)
            length +=
                (size_t)snprintf(out + length, TEXT_NAMES_BYTES - length, "%s%s", length > 0 ? " " : "", names[i]);
    return out;
}

const char *text_at_most(double value, char out[TEXT_NUMBER_BYTES])
{
    return round_to(value, 1, out);
}

const char *text_at_least(double value, char out[TEXT_NUMBER_BYTES])
{
    return round_to(value, -1, out);
}

const char *text_number(double value, char out[TEXT_REAL_BYTES])
{
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(out, TEXT_REAL_BYTES - 2, "%.*g", precision, value);
        if (strtod(out, NULL) == value)
            break;
    }
    return out;
}

size_t text_real(double value, char out[TEXT_REAL_BYTES])
{
    size_t length = strlen(text_number(value, out));
    if (strpbrk(out, ".e") == NULL) {
        memcpy(out + length, ".0", 3);
        length += 2;
    }
    return length;
}

uint32_t text_hash(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

const char text_base64url_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void text_base64url(const void *bytes, size_t length, char *out)
{
    const unsigned char *given = bytes;
    uint32_t             bits = 0;
    int                  held = 0;
    for (size_t i = 0; i < length; i++) {
        bits = bits << 8 | given[i];
        for (held += 8; held >= 6; held -= 6)
            *out++ = text_base64url_digits[bits >> (held - 6) & 63];
    }
    if (held > 0)
        *out++ = text_base64url_digits[bits << (6 - held) & 63];
    *out = '\0';
}

static int digit_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool text_of_base64url(const char *text, size_t length, unsigned char *out)
{
    uint32_t bits = 0;
    int      held = 0;
    for (size_t i = 0; i < length; i++) {
        int value = digit_value(text[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            *out++ = (unsigned char)(bits >> held);
        }
    }
    return held < 6 && (bits & ((1u << held) - 1)) == 0; // the unused bits are zero
}
