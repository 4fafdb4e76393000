/* See reason.h. */
#include "service/store/reason.h"

#include <string.h>
#include <strings.h>

size_t reason_length(const char *reason)
{
    size_t length = strcspn(reason, "\r\n");
    if (length <= REASON_BYTES)
        return length;
    length = REASON_BYTES;
    while (length > 0 && ((unsigned char)reason[length] & 0xc0) == 0x80) // the rest of a character
        length--;
    return length;
}

static bool is_of_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+';
}

bool reason_is_alike(const char *one, const char *other)
{
    const char *a = one, *b = other, *end_a = one + reason_length(one), *end_b = other + reason_length(other);
    for (;; a++, b++) {
        while (a < end_a && is_of_number(*a))
            a++;
        while (b < end_b && is_of_number(*b))
            b++;
        if (a == end_a || b == end_b)
            return a == end_a && b == end_b;
        if (*a != *b)
            return false;
    }
}

bool reason_is_memory(const char *reason)
{
    static const char *const words[] = {"out of memory",
                                        "out-of-memory",
                                        "outofmemory",
                                        "out_of_memory",
                                        "memoryerror",
                                        "oom-kill",
                                        "oomkilled",
                                        "cannot allocate memory",
                                        "unable to allocate",
                                        "failed to allocate memory",
                                        "bad_alloc",
                                        "resource_exhausted",
                                        "signal 9",
                                        "exit code 137",
                                        "exit status 137",
                                        "exit code -9",
                                        "sigkill"};
    for (; *reason != '\0'; reason++)
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (strncasecmp(reason, words[i], strlen(words[i])) == 0)
                return true;
    return false;
}
