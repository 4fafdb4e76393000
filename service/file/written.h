/* A stream into memory.  open_memstream() would do, but does not say when memory ends: the text goes on behind what had no room. */
#ifndef GNOMON_SERVICE_BASE_WRITTEN_H
#define GNOMON_SERVICE_BASE_WRITTEN_H

#include <stddef.h>
#include <stdio.h>

struct written {
    FILE  *stream;
    char  *text;
    size_t length, room;
};

/* NULL when memory ends. */
FILE *written_open(struct written *to);

/* Closes it.  The text, to be freed, with a NUL behind its to->length bytes; NULL when memory ended, wherever. */
char *written_close(struct written *to);

#endif
