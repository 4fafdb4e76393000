/* See transport.h. */
#include "service/client/transport.h"

#include <stdlib.h>
#include <string.h>

enum { REPLY_MAX_BYTES = 256 << 20 };

bool reply_take(struct client_reply *reply, const char *bytes, size_t length)
{
    if (reply->sink != NULL && reply->http_status / 100 == 2)
        return fwrite(bytes, 1, length, reply->sink) == length;
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

enum status transport_private_address(const struct client *client, struct error *err)
{
    return error_set(err, STATUS_INVALID, "private_address", "",
                     "%s %.100s has an address that is not of the internet: --allow-private allows it", client->option,
                     client->address);
}
