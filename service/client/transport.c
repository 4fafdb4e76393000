/* See transport.h. */
#include "service/client/transport.h"

#include <stdlib.h>
#include <string.h>

enum { REPLY_MAX_BYTES = 256 << 20 };

bool reply_take(struct client_reply *reply, const char *bytes, size_t length)
{
    if (length > REPLY_MAX_BYTES - reply->length)
        return false;
    char *larger = realloc(reply->bytes, reply->length + length + 1);
    if (larger == NULL)
        return false;
    memcpy(larger + reply->length, bytes, length);
    reply->bytes = larger;
    reply->length += length;
    reply->bytes[reply->length] = '\0';
    return true;
}
