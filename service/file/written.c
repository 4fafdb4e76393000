/* See written.h. */
#define _GNU_SOURCE /* fopencookie */
#include "service/file/written.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* 0: an error, which the stream remembers. */
static ssize_t keep(void *cookie, const char *bytes, size_t length)
{
    struct written *to = cookie;
    if (length >= to->room - to->length) {
        size_t room = 2 * (to->length + length) + 128;
        char  *bigger = realloc(to->text, room);
        if (bigger == NULL)
            return 0;
        to->text = bigger;
        to->room = room;
    }
    memcpy(to->text + to->length, bytes, length);
    to->length += length;
    to->text[to->length] = '\0';
    return (ssize_t)length;
}

FILE *written_open(struct written *to)
{
    *to = (struct written){.text = NULL};
    to->stream = fopencookie(to, "w", (cookie_io_functions_t){.write = keep});
    return to->stream;
}

char *written_close(struct written *to)
{
    bool is_whole = fflush(to->stream) == 0 && ferror(to->stream) == 0;
    is_whole = fclose(to->stream) == 0 && is_whole;
    if (is_whole && to->text == NULL)
        return calloc(1, 1);
    if (is_whole)
        return to->text;
    free(to->text);
    return NULL;
}
