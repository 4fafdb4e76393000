/* Text that somebody else wrote, on its way to a terminal: a server's words may not move the cursor, set the title or
 * write into the clipboard. */
#ifndef GNOMON_SERVICE_CLI_PLAIN_H
#define GNOMON_SERVICE_CLI_PLAIN_H

#include <stdio.h>

/* Control characters (C0, DEL, C1), those that turn the order of text around (UAX 9), and what is not UTF-8 come out as \xHH, the
 * rest as it is. */
void plain_print(FILE *stream, const char *text);

#endif
